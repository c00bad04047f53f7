"""Everything that is said of a set of runs, computed once: whoever speaks of them takes the numbers
from here.
"""

import math
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from truecost.errors import InputError
from truecost.judge import statements
from truecost.judge.estimates import Estimates
from truecost.judge.evidence import Evidence, Primary, RefusedError, gather_evidence
from truecost.judge.spoken import Spoken
from truecost.judge.statements import Certificate, Comparison, Grade, Pairs
from truecost.matrix import CostMatrix
from truecost.runs import Status

if TYPE_CHECKING:  # a part loads what it is computed with when it is asked for
    import polars as pl

    from truecost.judge.beyond import Statement
    from truecost.judge.bounds import PaperBounds
    from truecost.judge.outlook import Outlook, Reach
    from truecost.paper.fit import Fit
    from truecost.paper.one_split import OneSplit
    from truecost.stats.approximate import Approximate
    from truecost.stats.confidence import UpperBySize
    from truecost.stats.forecast import Width

Part = Literal[
    "configurations",
    "certificate",
    "comparison",
    "statements",
    "approximate",
    "optimism",
    "noise",
    "over_tuning",
    "bounds",
    "outlook",
]
AUDITED: tuple[Part, ...] = (
    "certificate",
    "comparison",
    "statements",
    "approximate",
    "optimism",
    "noise",
    "over_tuning",
)

# Fewer instances than this have no halves to speak of.
FEWEST_TO_SWEEP = 8


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Assessment(Estimates, Spoken):
    """Everything that is said of a set of runs. Parts are computed when first asked for.

    Attributes
    ----------
    log
        The runs, and what is known of where they come from.
    asked
        What was asked.
    test
        Runs on fresh instances, where there are some.
    """

    # ---- what may be said ------------------------------------------------------------------------

    @cached_property
    def _evidence(self) -> Evidence | RefusedError:
        return self._gathered(self.incumbent)

    @cached_property
    def _pair_evidence(self) -> Evidence | RefusedError:
        names = [self.incumbent, *([] if self.default is None else [self.default])]
        return self._gathered(*names)

    def _gathered(self, *names: str) -> Evidence | RefusedError:
        """Evidence on the first of these; from test runs only if all have some."""
        test = self.test
        asked_for = self.asked.chosen in (None, "test")
        if test is None or not asked_for or not all(name in test.configurations for name in names):
            test = None
        try:
            # Without a name on-part certifies the winner of the part that chooses, under its own
            # name.
            return gather_evidence(
                self.matrix, self.asked.configuration, self.asked, self.trajectory, test
            )
        except RefusedError as refusal:
            if self.test is not None and test is None and asked_for:
                missing = [name for name in names if name not in self.test.configurations]
                said = " and ".join(
                    "the default" if name == self.default else f"configuration {name}"
                    for name in missing
                )
                return RefusedError(
                    f"{said} {'has' if len(missing) == 1 else 'have'} no test runs, and {refusal.reason}"
                )
            return refusal

    @property
    def evidence(self) -> Evidence | None:
        """What the certificate was made from; None where there is none."""
        return None if isinstance(self._evidence, RefusedError) else self._evidence

    @cached_property
    def _certified(self) -> Certificate | RefusedError:
        if isinstance(self._evidence, RefusedError):
            return self._evidence
        try:
            return statements.certificate(
                self._evidence, delta=self.asked.delta, rng=self.asked.rng(1)
            )
        except RefusedError as refusal:
            return refusal

    @property
    def certificate(self) -> Certificate | None:
        """What the true cost does not exceed; for on-part of the winner of the part that chooses."""
        return None if isinstance(self._certified, RefusedError) else self._certified

    @property
    def no_certificate(self) -> str | None:
        """Why there is none."""
        return self._certified.reason if isinstance(self._certified, RefusedError) else None

    @property
    def comparison(self) -> Comparison | None:
        """The configuration against the default; None without a default, or where the incumbent is
        the default.
        """
        return None if self._compared is None else self._compared[0]

    @property
    def pairs(self) -> Pairs:
        """The differences to the default that the comparison speaks of, instance by instance."""
        return Pairs((), *[np.empty(0)] * 4) if self._compared is None else self._compared[1]

    @property
    def compared(self) -> CostMatrix:
        """The runs that the comparison speaks of; without one, all."""
        return self.matrix if self._compared is None else self._compared[2]

    @cached_property
    def _compared(self) -> tuple[Comparison, Pairs, CostMatrix] | None:
        if self.default is None or self.incumbent == self.default:
            return None
        evidence, limits, reason = None, None, None
        found = self._pair_evidence
        if isinstance(found, RefusedError):
            reason = found.reason
        elif found.configuration == self.default:
            reason = "on the part of the instances that chooses, the default itself is the best"
        else:
            evidence = found.against(self.default)
            try:
                limits = statements.limits_of_difference(
                    found, self.default, delta=self.asked.delta, rng=self.asked.rng(2)
                )
            except RefusedError as refusal:
                reason = refusal.reason
        name = self.incumbent if evidence is None else evidence.configuration
        fresh = (
            self.fresh
            if self.fresh is not None and {name, self.default} <= set(self.fresh.configurations)
            else None
        )
        runs = (
            evidence.runs if evidence is not None else fresh if fresh is not None else self.matrix
        )
        pairs = statements.pairs_of(runs, name, self.default)
        tested = fresh is not None if evidence is None else evidence.chosen == "test"
        on: Literal["test", "training"] = "test" if tested else "training"
        said = statements.comparison(
            pairs, name, self.default, on=on, limits=limits, evidence=evidence, reason=reason
        )
        return said, pairs, runs

    @cached_property
    def statements(self) -> "tuple[Statement, ...]":
        """What may be said beyond the mean; against the default where both have runs that may be
        used.
        """
        from truecost.judge.beyond import statements_of

        own = self._evidence
        for evidence, default in ((self._pair_evidence, self.default), (own, None)):
            # One table speaks of one configuration: on-part may have another winner than the one
            # with test runs.
            if isinstance(evidence, RefusedError):
                continue
            if isinstance(own, RefusedError) or evidence.configuration == own.configuration:
                with suppress(RefusedError):
                    worth, rng = self.log.utility is not None, self.asked.rng(8)
                    return statements_of(
                        evidence, default, delta=self.asked.delta, rng=rng, utility=worth
                    )
        return ()

    @cached_property
    def approximate(self) -> "tuple[Approximate, ...]":
        """What normal theory says of the means against the default: approximate, beside what is
        guaranteed.
        """
        from truecost.judge.beyond import approximate_of

        evidence, default = self._pair_evidence, self.default
        if isinstance(evidence, RefusedError) or default in (None, evidence.configuration):
            return ()
        return approximate_of(
            evidence, default or "", delta=self.asked.delta, utility=self.log.utility is not None
        )

    @cached_property
    def width(self) -> "Width | None":
        """Where the distance between the certificate's limit and its mean comes from; None without
        one look at a range.
        """
        from truecost.stats import forecast

        said, evidence = self.certificate, self.evidence
        if said is None or evidence is None or evidence.at_all_times:
            return None
        low, high, delta = self.matrix.low, self.matrix.high, self.asked.delta * evidence.share
        return forecast.width(
            said.estimate, said.upper, low, high, instances=said.instances, delta=delta
        )

    def forecast(self, what: str, *, power: float = 0.8) -> "Reach":
        """How many new instances would show a statement, "wins" or "speed-up=1.5" for instance, if
        they are like these.
        """
        from truecost.judge.outlook import Reach, to_show
        from truecost.stats import forecast

        name = self.incumbent if self.comparison is None else self.comparison.configuration
        goal = to_show(
            self.compared, name, self.default, what, utility=self.log.utility is not None
        )
        return Reach(
            what,
            forecast.instances_needed(goal, self.asked.delta, power=power, rng=self._forecasting),
        )

    @cached_property
    def _forecasting(self) -> int:
        return int(self.asked.rng(4).integers(2**62))

    @property
    def wins(self) -> "Statement | None":
        """The statement of wins against the default, where there is one."""
        return next((each for each in self.statements if each.kind == "wins"), None)

    @property
    def primary(self) -> Primary:
        """Which statement decides whether it is better than the default."""
        watched = self.trajectory.watched
        if self.asked.primary is None and watched is not None:
            return "wins" if watched.primary == "wins" else "mean"
        return self.asked.primary or ("mean" if math.isfinite(self.matrix.width) else "wins")

    @property
    def grade(self) -> Grade:
        """Whether it is shown to be better or worse than the default, by the primary statement."""
        if self.primary == "wins":
            return (self.wins is not None and self.wins.grade) or "open"
        return "open" if self.comparison is None else self.comparison.grade

    @property
    def better(self) -> bool:
        """Whether it is shown to be better than the default, by the primary statement."""
        return self.grade == "better"

    @cached_property
    def bounds(self) -> "PaperBounds | str":
        """The paper's bounds with estimated variances, or why there are none."""
        from truecost.judge.bounds import paper_bounds, subject_of

        try:
            return paper_bounds(subject_of(self.matrix, self.incumbent), delta=self.asked.delta)
        except InputError as refusal:
            return str(refusal)

    @cached_property
    def outlook(self) -> "Outlook":
        """What it would take to know more."""
        from truecost.judge.outlook import outlook_of

        return outlook_of(
            self.matrix,
            self.costs.components[self.own],
            self.noise,
            self.comparison,
            self.compared,
            None if self.wins is None else self.wins.grade,
            delta=self.asked.delta,
            seed=self._forecasting,
        )

    @cached_property
    def no_sweeps(self) -> str | None:
        """Why errors against N and K cannot be had; None where they can."""
        configurations, instances, _ = self.matrix.shape
        if configurations < 2:
            return "with one configuration nothing is chosen"
        if instances < FEWEST_TO_SWEEP:
            return f"that takes {FEWEST_TO_SWEEP} instances, and there {'is' if instances == 1 else 'are'} {instances}"
        if self.matrix.counts().min() == 0:
            return "some configurations have no run on some instances"
        if self.censored.any():
            return "some runs were stopped at a cap, and what they cost is not known"
        if isinstance(self.bounds, str):
            return "within and across are not known for every configuration"
        return None

    @cached_property
    def split(self) -> "OneSplit":
        """Training and test costs of all configurations on one random split."""
        from truecost.paper.one_split import one_split

        return one_split(self.matrix, rng=self.asked.rng(7))

    @cached_property
    def limits_by_size(self) -> "UpperBySize":
        """What more instances buy: limits from growing parts of the certificate's instances, in one
        random order.
        """
        from truecost.judge.curves import limits_by_size

        assert self.evidence is not None  # noqa: S101 - whoever asks has looked
        return limits_by_size(self.evidence, self.asked.delta, self.asked.rng(6))

    @cached_property
    def sweeps(self) -> "tuple[tuple[pl.DataFrame, ...], tuple[Fit, ...]]":
        """Errors against N and K over random splits, and the curve of the selection error in each
        table.
        """
        from truecost.judge.curves import sweeps

        return sweeps(
            self.matrix,
            splits=self.asked.splits,
            delta=self.asked.delta,
            rng=lambda: self.asked.rng(5),
        )

    # ---- as plain data ---------------------------------------------------------------------------

    def to_dict(self, *parts: Part) -> dict[str, Any]:
        """The assessment as plain data: who, what it costs, and the parts asked for; the same keys
        whoever asks.
        """
        matrix = self.matrix
        configurations, instances, each = matrix.shape
        runs = int(self.costs.runs.sum())
        statuses = None
        if matrix.statuses is not None:
            statuses = {status.label: int((matrix.statuses == status).sum()) for status in Status}
        told: dict[str, Any] = {
            "runs": {
                "kind": self.log.kind,
                "configurations": configurations,
                "instances": instances,
                "runs_per_cell": each,
                "runs": runs,
                "missing_runs": matrix.costs.size - runs,
                "low": matrix.low,
                "high": matrix.high,
                "utility": self.log.utility,
                "statuses": statuses,
                "left_out": dict(self.log.left_out),
                "notes": list(self.log.notes),
            },
            "chosen": {
                "tool": self.trajectory.tool,
                "proposed": self.trajectory.proposed,
                "raced": self.trajectory.raced,
                "unfinished": self.trajectory.unfinished,
            },
            "asked": asdict(self.asked),
            "incumbent": self._entry(self.incumbent),
            "default": None if self.default is None else self._entry(self.default),
        }
        return told | {part: self._part(part) for part in parts}

    def _entry(self, name: str) -> dict[str, Any]:
        return {
            **self._counted(self.matrix.configurations.index(name)),
            "true_cost": self.true_cost(name),
            "true_cost_from": self._source(name),
            "parameters": dict(self.log.parameters.get(name, {})),
        }

    def _counted(self, place: int) -> dict[str, Any]:
        costs = self.costs
        return {
            "configuration": self.matrix.configurations[place],
            "training_cost": float(costs.training[place]),
            "training_cost_at_least": float(costs.lowest[place]),
            "standard_error": float(costs.standard_error[place]),
            "runs": int(costs.runs[place]),
            "instances": int(costs.instances[place]),
            "censored": int(self.censored[place]),
        }

    def _source(self, name: str) -> str:
        if name in self.tested:
            return "test runs"
        if name == self.default and name != self.incumbent:
            return "training runs"
        return self.optimism.source

    def _part(self, part: Part) -> Any:
        if part == "configurations":
            return self._table()
        if part == "certificate":
            found = self.certificate
            if found is None:
                return {"reason": self.no_certificate}
            return {**asdict(found), "width": None if self.width is None else asdict(self.width)}
        if part == "comparison":
            compared = self.comparison
            return None if compared is None else {**asdict(compared), "grade": compared.grade}
        if part == "approximate":
            return [asdict(each) for each in self.approximate]
        if part == "statements":
            return [{**asdict(each), "grade": each.grade} for each in self.statements]
        if part == "noise":
            heaviest = None if self.heaviest is None else self.heaviest._asdict()
            return {**asdict(self.noise), "spread": asdict(self.spread), "heaviest": heaviest}
        if part == "over_tuning":
            return asdict(self.over_tuning) | {
                "along": [point._asdict() for point in self.over_tuning.along]
            }
        if part == "bounds":
            return {"reason": self.bounds} if isinstance(self.bounds, str) else asdict(self.bounds)
        if part == "outlook":
            return self._plain_outlook()
        return asdict(self.optimism)

    def _plain_outlook(self) -> dict[str, Any]:
        found, plan = self.outlook, self.outlook.plan
        return {
            "plan": None
            if plan is None
            else {name: getattr(plan, name) for name in ("instances", "runs", "standard_error")},
            "no_plan": found.no_plan,
            "reach": [{"show": each.what, **asdict(each.found)} for each in found.reach],
            "tell_apart": None if found.apart is None else asdict(found.apart),
        }

    def _table(self) -> list[dict[str, Any]]:
        costs = self.costs
        return [
            {
                **self._counted(place),
                "rank": rank if costs.ranked[place] else None,
                "within": float(costs.components.within[place]),
                "across": float(costs.components.across[place]),
                "total": float(costs.components.total[place]),
                "not_solved": float(self.failed[place]) if self.failed_known else None,
            }
            for rank, place in enumerate(costs.order.tolist(), 1)
        ]

    def __repr__(self) -> str:
        configurations, instances, runs = self.matrix.shape
        size = f"{configurations} configurations x {instances} instances x {runs} runs"
        return f"Assessment({size}, incumbent {self.incumbent!r}, training cost {self.costs.training[self.own]:.4g})"
