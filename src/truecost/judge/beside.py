"""What stands beside the verdict: families, the whole list, a margin, a benchmark's results, folds,
and what figures draw.

Nothing here decides whether a configuration is better; each part is computed when first asked for.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import compress
from typing import TYPE_CHECKING

import numpy as np

from truecost.arrays import BoolArray, FloatArray, log_grid
from truecost.errors import Refusal
from truecost.judge.costs import instance_means
from truecost.judge.evidence import incumbent_of
from truecost.judge.families import FamilyResult, family_results
from truecost.judge.optimism import Heaviest, heaviest_of
from truecost.judge.question import Margin, NonInferiority, Stream
from truecost.judge.sampling import realised_of, shown_better
from truecost.judge.scope import units_of
from truecost.judge.statements import Statement
from truecost.judge.whole_list import WholeList, whole_list
from truecost.matrix import CostMatrix
from truecost.matrix.families import candidates
from truecost.stats.assumptions import NOT_TUNED
from truecost.stats.folds import FoldInterval, corrected_t
from truecost.stats.grouping import Alike, NestedComponents, alike, nested_components
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
# Fewer instances than this cannot show whether groups of them are alike, and have no halves to
# speak of.
FEWEST = 8
# What tells folds of one repetition apart: "cv/repeat1-fold3" is the third of repeat1.
FOLD_NUMBER = re.compile(r"\d+$")
# More splits than this make a curve no smoother to the eye.
MOST_SWEPT = 200
# Points of a curve against N or K: all that are drawn.
POINTS = 60


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Beside:
    """Further answers about the runs of an assessment."""

    assessment: "Assessment"

    def _rng(self, stream: Stream) -> np.random.Generator:
        return self.assessment.question.rng(stream)

    def _common_means(self, matrix: CostMatrix) -> tuple[FloatArray, BoolArray]:
        """Instance means of the incumbent and of a default that is another one, on the instances
        both have runs on; and which these are.
        """
        incumbent, default = self.assessment.incumbent, self.assessment.default
        names = [incumbent, *([] if default in (None, incumbent) else [str(default)])]
        means, known = instance_means(matrix.select(configurations=names))
        both = np.asarray(known.all(axis=0))
        return means[:, both], both

    @cached_property
    def components(self) -> NestedComponents | None:
        """The variance of the incumbent's costs between families, instances and seeds; None where
        it has no families, or too few.
        """
        matrix = self.assessment.log.matrix
        if matrix.families is None:
            return None
        place = matrix.configurations.index(self.assessment.incumbent)
        return nested_components(matrix.charged[place], matrix.families)

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
        return margin.answer(statement.limit, statement.condition)

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
        delta, order = self.assessment.question.delta, self._rng(Stream.REALISED)
        return realised_of(evidence, self.assessment.default, delta=delta, order=order)

    @cached_property
    def likeness(self) -> Alike | None:
        """Whether instances within a family, a folder or under one name are alike, where they are
        the sampling unit; None where that cannot be tested.

        One test of the winner's costs, the default's and their differences, over all groupings.
        """
        matrix = self.assessment.log.matrix
        if not self.assessment.scope.usual:
            return None
        values, both = self._common_means(matrix)
        if both.sum() < FEWEST:
            return None
        if len(values) > 1:
            values = np.vstack([values, values[0] - values[1]])
        instances = list(compress(matrix.instances, both))
        families = None if matrix.families is None else list(compress(matrix.families, both))
        return alike(values, candidates(instances, families), rng=self._rng(Stream.LIKENESS))

    @cached_property
    def family_results(self) -> tuple[FamilyResult, ...]:
        """The configuration against the default, family by family."""
        # Where seeds are sampled, the groups are the instances.
        if isinstance(self.assessment.pair, Refusal) or self.assessment.scope.sampled == "seed":
            return ()
        evidence, default = self.assessment.pair
        evidence = evidence.against(default)
        # One look: neither a race, nor a plan that was extended, perhaps after a look.
        if evidence.at_all_times or len(evidence.plans) > 1 or evidence.runs.families is None:
            return ()
        delta = self.assessment.question.delta * evidence.share
        names = evidence.configuration, default
        return family_results(evidence.runs, *names, delta=delta, rng=self._rng(Stream.FAMILIES))

    @cached_property
    def shown_better(self) -> Mapping[str, Mapping[str, float]]:
        """By mean cost and by wins: which configurations of a list are shown better than the
        default, all of them at once, with their limits. Empty where it is no list.
        """
        if isinstance(self.assessment.pair, Refusal):
            return {}
        evidence, default = self.assessment.pair
        listed = evidence.chosen in ("from-list", "weighted-list") and not evidence.extension
        if not listed or evidence.condition is not None:
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
            rng=self._rng(Stream.WHOLE_LIST),
            # Those of a file say nothing about the space.
            random=assessment.log.kind == "journal"
            and proposed == "beforehand"
            and not assessment.log.origins,
        )
        return sets if fixed or isinstance(sets, Refusal) else replace(sets, condition=NOT_TUNED)

    @cached_property
    def folds(self) -> FoldInterval | Refusal | None:
        """For folds: the corrected resampled t interval of the mean difference to the default, or
        of the mean; None where the units are others.
        """
        if self.assessment.scope.sampled != "fold":
            return None
        means, both = self._common_means(self.assessment.matrix)
        if both.sum() < 2:
            return Refusal("an interval over folds takes two of them at least")
        values = means[0] - (means[1] if len(means) > 1 else 0.0)
        # Where names say nothing of repetitions, all folds are taken for those of one partition.
        folds = {FOLD_NUMBER.sub("", name) for name in self.assessment.matrix.instances}
        size = int(both.sum()) // max(len(folds), 1)
        ratio = 1 / (size - 1) if size > 1 else None
        return corrected_t(values, test_over_train=ratio, delta=self.assessment.question.delta)

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
        scope, matrix = self.assessment.scope, self.assessment.matrix
        if certificate is None or evidence is None or evidence.at_all_times:
            return None
        if scope.weights or (scope.about == "these" and scope.population != 1):
            return None  # other instances cannot appear there
        ends = certificate.estimate, certificate.upper, matrix.low, matrix.high
        delta = self.assessment.question.delta * certificate.share
        return forecast.width(*ends, instances=certificate.instances, delta=delta)

    @cached_property
    def no_sweeps(self) -> str | None:
        """Why errors against N and K cannot be had; None if they can."""
        matrix = self.assessment.matrix
        configurations, instances, _ = matrix.shape
        if configurations < 2:
            return "with one configuration nothing is chosen"
        if instances < FEWEST:
            verb = "is" if instances == 1 else "are"
            return f"that takes {FEWEST} instances, and there {verb} {instances}"
        if matrix.counts().min() == 0:
            return "some configurations have no run on some instances"
        if matrix.censored.any():
            return "some runs were stopped at a cap, and what they cost is not known"
        # The bounds beside the curves need all variances.
        unknown = isinstance(self.assessment.bounds, Refusal)
        return "within and across are not known for every configuration" if unknown else None

    @cached_property
    def split(self) -> "OneSplit":
        """Training and test costs of all configurations on one random split."""
        from truecost.paper.one_split import one_split

        return one_split(self.assessment.matrix, rng=self._rng(Stream.ONE_SPLIT))

    @cached_property
    def limits_by_size(self) -> "UpperBySize":
        """What more instances buy: limits from growing parts of the certificate's instances, in one
        random order.
        """
        from truecost.stats.confidence import upper_by_size

        evidence, delta = self.assessment.evidence, self.assessment.question.delta
        assert evidence is not None  # noqa: S101 - whoever asks has looked
        row = units_of(
            evidence.runs.select(configurations=[evidence.configuration]), evidence.scope
        )
        means, mask = instance_means(row)
        drawn = self._rng(Stream.SIZES).permutation(means[0, mask[0]])
        return upper_by_size(drawn, row.low, row.high, delta * evidence.share)

    @cached_property
    def sweeps(self) -> "tuple[tuple[pl.DataFrame, ...], tuple[Fit, ...]]":
        """Errors against N and K over random splits, and the curve of the selection error in each
        table.
        """
        from truecost.paper import fit, resample
        from truecost.paper.bounds_observed import bounds_against_reality
        from truecost.paper.tables import sweep_table

        matrix, question = self.assessment.matrix, self.assessment.question
        # One split has no spread.
        splits, half = max(2, min(question.splits, MOST_SWEPT)), matrix.shape[1] // 2
        sizes: dict[fit.Kind, int] = {"n": int(matrix.counts().min()) * half, "k": half}
        tables = []
        for kind, size in sizes.items():
            curve = resample.sweep(
                matrix,
                kind,
                splits=splits,
                values=log_grid(1, size, POINTS),
                # The same splits for both curves: they differ only in what is swept.
                rng=self._rng(Stream.SWEEPS),
                levels=(1 - question.delta,),
            )
            bounds = bounds_against_reality(matrix, curve, delta=question.delta)
            tables.append(sweep_table(curve, bounds))
        return tuple(tables), tuple(fit.to_table(table, "selection") for table in tables)

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
