"""What stands beside the verdict: families, the whole list, a margin, a benchmark's results, folds,
and what figures draw.

Nothing here decides whether a configuration is better; each part is computed when first asked for.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from truecost.judge.evidence import incumbent_of
from truecost.judge.families import FamilyResult, components, family_results, folds_of, likeness
from truecost.judge.margin import Margin, NonInferiority, non_inferiority
from truecost.judge.noise import Heaviest, heaviest_of
from truecost.judge.question import Stream
from truecost.judge.refusal import Refusal
from truecost.judge.sampling import realised_of, shown_better
from truecost.judge.statements import Statement
from truecost.judge.whole_list import WholeList, whole_list
from truecost.stats.assumptions import NOT_TUNED
from truecost.stats.folds import FoldInterval
from truecost.stats.grouping import Alike, NestedComponents
from truecost.stats.quantities import DIFFERENCE, WINS

if TYPE_CHECKING:  # a figure loads what computes it when it is drawn
    import polars as pl

    from truecost.judge.assessment import Assessment
    from truecost.paper.fit import Fit
    from truecost.paper.one_split import OneSplit
    from truecost.stats.confidence import UpperBySize
    from truecost.stats.forecast import Width

# Sets for a whole list are computed by default for up to this many configurations.
MOST_UNASKED = 100


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Beside:
    """Further answers about the runs of an assessment."""

    assessment: "Assessment"

    @cached_property
    def components(self) -> NestedComponents | None:
        """The variance of the incumbent's costs between families, instances and seeds."""
        return components(self.assessment.log.matrix, self.assessment.incumbent)

    @cached_property
    def non_inferiority(self) -> NonInferiority | Refusal | None:
        """Whether it costs at most the margin more than the default; None where no margin was
        given.
        """
        if self.assessment.question.margin is None:
            return None
        margin = Margin.parse(self.assessment.question.margin)
        statement = self.assessment.paired[margin.quantity]
        if isinstance(statement, Refusal):
            return statement
        return non_inferiority(margin, statement.limit, statement.condition)

    @cached_property
    def realised(self) -> tuple[Statement, ...]:
        """For a benchmark of which a part was run: what all of it will show, each instance once.

        Descriptive: the results of these seeds, not what to expect of others.
        """
        evidence, scope = self.assessment.pair_evidence, self.assessment.scope
        # Only of a benchmark can all results be in: it has a last instance.
        if (scope.sampled, scope.about) != ("instance", "these") or isinstance(evidence, Refusal):
            return ()
        if scope.population == len(self.assessment.log.matrix.instances):
            return ()  # all of it was run
        order = self.assessment.question.rng(Stream.REALISED)
        return realised_of(
            evidence, self.assessment.default, delta=self.assessment.question.delta, order=order
        )

    @cached_property
    def likeness(self) -> Alike | None:
        """Whether instances within a group are alike, where they are the sampling unit."""
        if not self.assessment.scope.usual:
            return None
        rng = self.assessment.question.rng(Stream.LIKENESS)
        return likeness(
            self.assessment.log.matrix, self.assessment.incumbent, self.assessment.default, rng
        )

    @cached_property
    def family_results(self) -> tuple[FamilyResult, ...]:
        """The configuration against the default, family by family."""
        evidence, default = self.assessment.pair_evidence, self.assessment.default
        if isinstance(evidence, Refusal) or default is None or evidence.at_all_times:
            return ()
        if self.assessment.scope.sampled == "seed":
            return ()  # there the groups are the instances
        evidence = evidence.against(default)
        if evidence.configuration == default or evidence.runs.families is None:
            return ()
        return family_results(
            evidence.runs,
            evidence.configuration,
            default,
            delta=self.assessment.question.delta * evidence.share,
            rng=self.assessment.question.rng(Stream.FAMILIES),
        )

    @cached_property
    def shown_better(self) -> Mapping[str, Mapping[str, float]]:
        """By mean cost and by wins: which configurations of a list are shown better than the
        default, all of them at once, with their limits. Empty where it is no list.
        """
        evidence, default = self.assessment.pair_evidence, self.assessment.default
        if isinstance(evidence, Refusal) or default is None or evidence.condition is not None:
            return {}
        if (
            evidence.chosen not in ("from-list", "weighted-list")
            or evidence.extension
            or evidence.configuration == default
        ):
            return {}
        return {
            quantity.name: shown_better(quantity, evidence, default, self.assessment.question)
            for quantity in (DIFFERENCE, WINS)
        }

    @cached_property
    def whole_list(self) -> WholeList | Refusal:
        """Which of a list may be the best, and which are shown better or worse than the default."""
        assessment, evidence = self.assessment, self.assessment.own_evidence
        proposed, chosen = assessment.trajectory.proposed, assessment.question.chosen
        fixed = proposed == "beforehand" or chosen == "from-list"
        # A table without a default is a competition, as a rule.
        asked = proposed == "unknown" and chosen is None and assessment.default is None
        short = len(assessment.matrix.configurations) <= MOST_UNASKED
        if not fixed and not (asked and short):
            return Refusal("nothing says that the list was fixed before any cost was seen")
        if isinstance(evidence, Refusal):
            return evidence
        if evidence.at_all_times:
            return Refusal("the number of runs depended on observed costs")
        if len(evidence.plans) > 1:
            return Refusal("the plan was extended, perhaps after a look, and these sets take one")
        if assessment.scope.about == "these" or assessment.scope.weights:
            return Refusal("sets for a whole list are about new instances like these")
        sets = whole_list(
            assessment.matrix,
            assessment.default,
            delta=assessment.question.delta,
            rng=assessment.question.rng(Stream.WHOLE_LIST),
            random=assessment.log.kind == "journal" and proposed == "beforehand",
        )
        return sets if fixed or isinstance(sets, Refusal) else replace(sets, condition=NOT_TUNED)

    @cached_property
    def folds(self) -> FoldInterval | Refusal | None:
        """For folds: the approximate interval of the mean difference to the default, or of the
        mean; None where the units are others.
        """
        if self.assessment.scope.sampled != "fold":
            return None
        return folds_of(
            self.assessment.matrix,
            self.assessment.incumbent,
            self.assessment.default,
            delta=self.assessment.question.delta,
        )

    @cached_property
    def winner_by_instances(self) -> str:
        """The configuration that would be chosen if every instance had the same weight."""
        return incumbent_of(self.assessment.log.matrix, self.assessment.trajectory)

    @cached_property
    def width(self) -> "Width | None":
        """Where the distance between the certificate's limit and its mean comes from; None without
        one look at a sample of new units.
        """
        from truecost.stats import forecast

        certificate, evidence = self.assessment.certificate, self.assessment.evidence
        if certificate is None or evidence is None or evidence.at_all_times:
            return None
        scope = self.assessment.scope
        if scope.weights or (scope.about == "these" and scope.population != 1):
            return None  # other instances cannot appear there
        return forecast.width(
            certificate.estimate,
            certificate.upper,
            self.assessment.matrix.low,
            self.assessment.matrix.high,
            instances=certificate.instances,
            delta=self.assessment.question.delta * evidence.share,
        )

    @cached_property
    def no_sweeps(self) -> str | None:
        """Why errors against N and K cannot be had; None if they can."""
        from truecost.judge.curves import no_sweeps

        return no_sweeps(
            self.assessment.matrix, known=not isinstance(self.assessment.bounds, Refusal)
        )

    @cached_property
    def split(self) -> "OneSplit":
        """Training and test costs of all configurations on one random split."""
        from truecost.paper.one_split import one_split

        return one_split(self.assessment.matrix, rng=self.assessment.question.rng(Stream.ONE_SPLIT))

    @cached_property
    def limits_by_size(self) -> "UpperBySize":
        """What more instances buy: limits from growing parts of the certificate's instances, in one
        random order.
        """
        from truecost.judge.curves import limits_by_size

        assert self.assessment.evidence is not None  # noqa: S101 - whoever asks has looked
        return limits_by_size(
            self.assessment.evidence,
            self.assessment.question.delta,
            self.assessment.question.rng(Stream.SIZES),
        )

    @cached_property
    def sweeps(self) -> "tuple[tuple[pl.DataFrame, ...], tuple[Fit, ...]]":
        """Errors against N and K over random splits, and the curve of the selection error in each
        table.
        """
        from truecost.judge.curves import sweeps

        return sweeps(
            self.assessment.matrix,
            splits=self.assessment.question.splits,
            delta=self.assessment.question.delta,
            rng=lambda: self.assessment.question.rng(Stream.SWEEPS),
        )

    @property
    def expected_difference(self) -> float | None:
        """The mean difference to the default on new instances: the observed one, corrected for the
        choice; None if there is nothing to correct, or the correction is unknown.
        """
        comparison, optimism = self.assessment.comparison, self.assessment.optimism
        if comparison is None or comparison.on == "test" or optimism.source != "splits":
            return None
        evidence = self.assessment.pair_evidence
        if not isinstance(evidence, Refusal) and evidence.chosen == "on-part":
            return None
        if comparison.configuration != self.assessment.incumbent or not math.isfinite(optimism.gap):
            return None
        return comparison.observed + optimism.gap

    @cached_property
    def heaviest(self) -> Heaviest | None:
        """The instance that makes up most of the incumbent's mean cost, if one does: of its test
        runs if it has some.
        """
        fresh, incumbent = self.assessment.fresh, self.assessment.incumbent
        if fresh is not None and incumbent in self.assessment.tested:
            return heaviest_of(fresh, incumbent, "test")
        return heaviest_of(self.assessment.matrix, incumbent, "training")
