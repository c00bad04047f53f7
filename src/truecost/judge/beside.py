"""What stands beside the verdict: families, the whole list, a margin, a benchmark's results, folds.

Nothing here decides whether a configuration is better; each part is computed when first asked for.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from truecost.judge.families import FamilyResult, components, family_results, folds_of, likeness
from truecost.judge.margin import Margin, NonInferiority, non_inferiority
from truecost.judge.question import Stream
from truecost.judge.refusal import Refusal
from truecost.judge.sampling import realised_of, shown_better
from truecost.judge.statements import Statement
from truecost.judge.whole_list import WholeList, whole_list
from truecost.stats.folds import FoldInterval
from truecost.stats.grouping import Alike, NestedComponents
from truecost.stats.quantities import DIFFERENCE, WINS

if TYPE_CHECKING:
    from truecost.judge.assessment import Assessment


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
        if self.assessment.asked.margin is None:
            return None
        margin = Margin.parse(self.assessment.asked.margin)
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
        if (scope.sampled, scope.about) != ("instance", "these") or isinstance(evidence, Refusal):
            return ()
        order = self.assessment.asked.rng(Stream.REALISED)
        return realised_of(
            evidence, self.assessment.default, delta=self.assessment.asked.delta, order=order
        )

    @cached_property
    def likeness(self) -> Alike | None:
        """Whether instances within a group are alike, where they are the sampling unit."""
        if not self.assessment.scope.usual:
            return None
        rng = self.assessment.asked.rng(Stream.LIKENESS)
        return likeness(
            self.assessment.log.matrix, self.assessment.incumbent, self.assessment.default, rng
        )

    @cached_property
    def family_results(self) -> tuple[FamilyResult, ...]:
        """The configuration against the default, family by family."""
        evidence, default = self.assessment.pair_evidence, self.assessment.default
        if isinstance(evidence, Refusal) or default is None or evidence.at_all_times:
            return ()
        evidence = evidence.against(default)
        if evidence.configuration == default or evidence.runs.families is None:
            return ()
        return family_results(
            evidence.runs,
            evidence.configuration,
            default,
            delta=self.assessment.asked.delta * evidence.share,
            rng=self.assessment.asked.rng(Stream.FAMILIES),
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
            quantity.name: shown_better(quantity, evidence, default, self.assessment.asked)
            for quantity in (DIFFERENCE, WINS)
        }

    @cached_property
    def whole_list(self) -> WholeList | Refusal:
        """Which of a list may be the best, and which are shown better or worse than the default."""
        if (
            self.assessment.trajectory.proposed != "beforehand"
            and self.assessment.asked.chosen != "from-list"
        ):
            return Refusal("nothing says that the list was fixed before any cost was seen")
        if isinstance(self.assessment.own_evidence, Refusal):
            return self.assessment.own_evidence
        if self.assessment.own_evidence.at_all_times:
            return Refusal("the number of runs depended on observed costs")
        if len(self.assessment.own_evidence.plans) > 1:
            return Refusal("the plan was extended, perhaps after a look, and these sets take one")
        if self.assessment.scope.about == "these":
            return Refusal("sets for a whole list are about new instances")
        return whole_list(
            self.assessment.matrix,
            self.assessment.default,
            delta=self.assessment.asked.delta,
            rng=self.assessment.asked.rng(Stream.WHOLE_LIST),
            random=self.assessment.log.kind == "journal"
            and self.assessment.trajectory.proposed == "beforehand",
        )

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
            delta=self.assessment.asked.delta,
        )
