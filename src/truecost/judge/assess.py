"""Everything that is said of a set of runs, computed once: whoever speaks of them takes the numbers from here."""

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from truecost.errors import InputError
from truecost.judge import statements
from truecost.judge.costs import Costs, costs_of, instance_means
from truecost.judge.evidence import (
    Chosen,
    Evidence,
    Primary,
    Question,
    RefusedError,
    fixed_before,
    gather_evidence,
    incumbent_of,
)
from truecost.judge.noise import Heaviest, Noise, Spread, heaviest_of, noise_of, spread_of
from truecost.judge.optimism import Optimism, OverTuning, correction, optimism_of, over_tuning_of
from truecost.judge.spoken import Spoken
from truecost.judge.statements import Certificate, Comparison, Grade, Pairs
from truecost.matrix import CostMatrix
from truecost.matrix.imported import Import
from truecost.runs import NO_STATUS, Status, Trajectory
from truecost.stats.random import Rng, seed_of

if TYPE_CHECKING:  # a part loads what it is computed with when it is asked for
    import polars as pl

    from truecost.experiments.fit import Fit
    from truecost.experiments.one_split import OneSplit
    from truecost.judge.beyond import Statement
    from truecost.judge.bounds import PaperBounds
    from truecost.judge.outlook import Outlook, Reach
    from truecost.stats.approximate import Approximate
    from truecost.stats.confidence import UpperBySize
    from truecost.stats.forecast import Width

FloatArray = NDArray[np.float64]
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
# Fewer instances than this have no halves to speak of; more splits than this make a curve no smoother to the eye.
FEWEST_TO_SWEEP = 8
MOST_SWEPT = 200
# Points of a curve against N or K: all that are drawn.
POINTS = 60


def assess(
    runs: CostMatrix | Import,
    *,
    configuration: str | None = None,
    default: str | None = None,
    test: CostMatrix | Import | None = None,
    trajectory: Trajectory | None = None,
    chosen: Chosen | None = None,
    raced: bool | None = None,
    list_size: int | None = None,
    fresh: Sequence[str] | None = None,
    proposal: int | None = None,
    delta: float = 0.05,
    splits: int = 1000,
    primary: Primary | None = None,
    rng: Rng = None,
) -> "Assessment":
    """Assess recorded runs: who is best, what it will cost on new instances, how sure that is, what to do next.

    Parameters
    ----------
    runs
        A matrix, or what `import_runs` found; missing runs are allowed.
    configuration, default
        Who is judged, and what it should be better than: by default what the log says; else the one with the least training
        cost, and nothing.
    test
        Runs on fresh instances; by default the log's own.
    trajectory
        Where the configurations of a bare matrix come from.
    chosen, raced, list_size, fresh, proposal
        How the configuration was chosen, where the log does not say; see `truecost.judge.evidence`.
    delta
        The probability with which each guaranteed statement may be wrong.
    splits
        How many times instances are split in halves, to see what choosing adds.
    primary
        What decides whether it is better than the default: `"mean"` cost, or `"wins"`. By default the mean, and wins where
        the range of the cost is not known.
    rng
        Of every random number. None takes a seed from the costs themselves: the same runs give the same answers, and
        instances that are sorted by difficulty do no harm.
    """
    log = runs if isinstance(runs, Import) else Import(kind="matrix", matrix=runs, trajectory=trajectory or _UNKNOWN)
    asked = Question(
        configuration=configuration,
        default=default,
        chosen=chosen,
        raced=raced,
        list_size=list_size,
        fresh=None if fresh is None else tuple(fresh),
        proposal=proposal,
        delta=delta,
        splits=splits,
        seed=_seed(rng, log.matrix.costs),
        primary=primary,
    )
    if isinstance(test, Import) and test.trajectory.watched is not None:
        # A journal of `validate`: what it has of training is a copy, and looking at it meanwhile has its price.
        log = replace(log, trajectory=replace(log.trajectory, watched=test.trajectory.watched))
        test = test.test
    given = test.matrix if isinstance(test, Import) else test
    if given is not None and chosen not in (None, "test"):
        raise InputError(f"Expected no `chosen` with test runs, which speak for themselves, got {chosen}.")
    found = Assessment(log=log, asked=asked, test=log.test if given is None else given)
    if given is not None:
        statements.check_names(given, found.incumbent)
    return found


def audit(runs: CostMatrix | Import, **asked: Any) -> "Assessment":
    """`assess`, with what an audit speaks of computed at once; parameters as there."""
    found = assess(runs, **asked)
    found.to_dict(*AUDITED)
    return found


def certify(runs: CostMatrix | Import, configuration: str | None = None, **asked: Any) -> Certificate:
    """What the true cost of a configuration does not exceed; parameters as in `assess`.

    `RefusedError` says why there is no valid statement.
    """
    found = assess(runs, configuration=configuration, **asked)
    if found.certificate is None:
        raise RefusedError(found.no_certificate or "")
    return found.certificate


_UNKNOWN = Trajectory(tool="unknown")
AUDITED: tuple[Part, ...] = (
    "certificate",
    "comparison",
    "statements",
    "approximate",
    "optimism",
    "noise",
    "over_tuning",
)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Assessment(Spoken):
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

    log: Import
    asked: Question
    test: CostMatrix | None

    def __post_init__(self) -> None:
        statements.check_names(self.matrix, self.asked.default)
        if self.asked.configuration is not None:
            statements.check_names(self.matrix, self.asked.configuration)
            statements.check_has_runs(self.matrix, self.asked.configuration)
        if self.asked.chosen == "before":
            fixed_before(self.matrix, self.asked.configuration)

    @property
    def matrix(self) -> CostMatrix:
        """The runs that were there when the configuration was chosen."""
        return self.log.matrix

    @property
    def trajectory(self) -> Trajectory:
        """Where the configurations come from."""
        return self.log.trajectory

    # ---- who ---------------------------------------------------------------------------------------------------------

    @cached_property
    def costs(self) -> Costs:
        """Training costs of all configurations."""
        return costs_of(self.matrix)

    @cached_property
    def incumbent(self) -> str:
        """The configuration that was chosen: as asked, else the log's, else the one with the least training cost."""
        return self.asked.configuration or incumbent_of(self.matrix, self.trajectory)

    @cached_property
    def default(self) -> str | None:
        """What it should be better than, where known."""
        known = self.trajectory.default if self.trajectory.default in self.matrix.configurations else None
        return self.asked.default or known

    @cached_property
    def own(self) -> int:
        """The place of the incumbent."""
        return self.matrix.configurations.index(self.incumbent)

    @property
    def adaptive(self) -> bool:
        """Whether configurations were made from costs on these instances."""
        return self.trajectory.proposed == "adaptively"

    @cached_property
    def fresh(self) -> CostMatrix | None:
        """The test runs on instances that training has not seen; None without any."""
        used = set(self.matrix.instances)
        new = [] if self.test is None else [instance for instance in self.test.instances if instance not in used]
        return self.test.select(instances=new) if self.test is not None and new else None

    @cached_property
    def tested(self) -> Mapping[str, float]:
        """Mean costs on test instances that training has not seen, of those that have runs there."""
        if self.fresh is None:
            return {}
        means = zip(self.fresh.configurations, costs_of(self.fresh).training.tolist(), strict=True)
        return {name: cost for name, cost in means if math.isfinite(cost)}

    def true_cost(self, name: str) -> float:
        """The estimate of a configuration's true cost; NaN is unknown."""
        if name in self.tested:
            return self.tested[name]
        training = float(self.costs.training[self.matrix.configurations.index(name)])
        if name == self.incumbent:
            return self.optimism.true_cost
        if name == self.default:
            # It was there before any cost was seen: nothing was chosen by these.
            return training
        if self.adaptive:
            return math.nan
        place = self.matrix.configurations.index(name)
        return training + correction(self.costs.compared, place, self.optimism.selection_error)

    # ---- what may be said --------------------------------------------------------------------------------------------

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
            # Without a name on-part certifies the winner of the part that chooses, under its own name.
            return gather_evidence(self.matrix, self.asked.configuration, self.asked, self.trajectory, test)
        except RefusedError as refusal:
            if self.test is not None and test is None and asked_for:
                missing = [name for name in names if name not in self.test.configurations]
                said = " and ".join("the default" if name == self.default else f"configuration {name}" for name in missing)
                return RefusedError(f"{said} {'has' if len(missing) == 1 else 'have'} no test runs, and {refusal.reason}")
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
            return statements.certificate(self._evidence, delta=self.asked.delta, rng=self.asked.rng(1))
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
        """The configuration against the default; None without a default, or where the incumbent is the default."""
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
            evidence = found
            try:
                limits = statements.limits_of_difference(found, self.default, delta=self.asked.delta, rng=self.asked.rng(2))
            except RefusedError as refusal:
                reason = refusal.reason
        name = self.incumbent if evidence is None else evidence.configuration
        fresh = self.fresh if self.fresh is not None and {name, self.default} <= set(self.fresh.configurations) else None
        runs = evidence.runs if evidence is not None else fresh if fresh is not None else self.matrix
        pairs = statements.pairs_of(runs, name, self.default)
        tested = fresh is not None if evidence is None else evidence.chosen == "test"
        on: Literal["test", "training"] = "test" if tested else "training"
        said = statements.comparison(pairs, name, self.default, on=on, limits=limits, evidence=evidence, reason=reason)
        return said, pairs, runs

    @cached_property
    def statements(self) -> "tuple[Statement, ...]":
        """What may be said beyond the mean; against the default where both have runs that may be used."""
        from truecost.judge.beyond import statements_of

        for evidence, default in ((self._pair_evidence, self.default), (self._evidence, None)):
            if not isinstance(evidence, RefusedError):
                with suppress(RefusedError):
                    worth, rng = self.log.utility is not None, self.asked.rng(8)
                    return statements_of(evidence, default, delta=self.asked.delta, rng=rng, utility=worth)
        return ()

    @cached_property
    def approximate(self) -> "tuple[Approximate, ...]":
        """What normal theory says of the means against the default: approximate, beside what is guaranteed."""
        from truecost.judge.beyond import approximate_of

        evidence, default = self._pair_evidence, self.default
        if isinstance(evidence, RefusedError) or default in (None, evidence.configuration):
            return ()
        return approximate_of(evidence, default or "", delta=self.asked.delta, utility=self.log.utility is not None)

    @cached_property
    def width(self) -> "Width | None":
        """Where the distance between the certificate's limit and its mean comes from; None without one look at a range."""
        from truecost.stats import forecast

        said, evidence = self.certificate, self.evidence
        if said is None or evidence is None or evidence.at_all_times:
            return None
        low, high, delta = self.matrix.low, self.matrix.high, self.asked.delta * evidence.share
        return forecast.width(said.estimate, said.upper, low, high, instances=said.instances, delta=delta)

    def forecast(self, what: str, *, power: float = 0.8) -> "Reach":
        """How many new instances would show a statement, "wins" or "speed-up=1.5" for instance, if they are like these."""
        from truecost.judge.outlook import Reach, to_show
        from truecost.stats import forecast

        name = self.incumbent if self.comparison is None else self.comparison.configuration
        goal = to_show(self.compared, name, self.default, what, utility=self.log.utility is not None)
        return Reach(what, forecast.instances_needed(goal, self.asked.delta, power=power, rng=self._forecasting))

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

    # ---- estimates ---------------------------------------------------------------------------------------------------

    @cached_property
    def optimism(self) -> Optimism:
        """What the incumbent's training cost hides."""
        return optimism_of(
            self.costs,
            self.own,
            self.tested.get(self.incumbent, math.nan),
            adaptive=self.adaptive and self.incumbent != self.trajectory.default,
            splits=self.asked.splits,
            rng=self.asked.rng(3),
        )

    @cached_property
    def heaviest(self) -> Heaviest | None:
        """The instance that makes up most of the incumbent's mean cost, where one does: on test runs if it has some."""
        if self.fresh is not None and self.incumbent in self.tested:
            return heaviest_of(self.fresh, self.incumbent, "test")
        return heaviest_of(self.matrix, self.incumbent, "training")

    @cached_property
    def over_tuning(self) -> OverTuning:
        """Whether the search went past something better."""
        names = self.matrix.configurations
        return over_tuning_of(self.costs, names, self.incumbent, self.trajectory, self.tested)

    @cached_property
    def noise(self) -> Noise:
        """Where the noise in the incumbent's training cost comes from."""
        return noise_of(self.matrix, self.costs, self.own)

    @cached_property
    def spread(self) -> Spread:
        """How the incumbent's runs were spread."""
        return spread_of(self.matrix, self.costs, self.own)

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
    def failed(self) -> FloatArray:
        """The share of each configuration's runs that failed; censored ones have not. See `failed_by_cost`."""
        statuses = self.matrix.statuses
        if self.failed_by_cost or statuses is None:
            ended = self.matrix.costs >= self.matrix.high
        else:
            ended = ~np.isin(statuses, (NO_STATUS, Status.SOLVED, Status.CENSORED))
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(ended.sum(axis=(1, 2)) / self.costs.runs)

    @cached_property
    def censored(self) -> NDArray[np.int64]:
        """How many runs of each configuration were stopped at a cap."""
        return np.asarray(self.matrix.censored.sum(axis=(1, 2)))

    @property
    def failed_by_cost(self) -> bool:
        """Whether no status is known, and who has the highest cost counts as failed."""
        statuses = self.matrix.statuses
        return statuses is None or bool((statuses == NO_STATUS).all())

    @property
    def failed_known(self) -> bool:
        """Whether statuses, or the highest possible cost, tell which runs failed."""
        return not self.failed_by_cost or math.isfinite(self.matrix.high)

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
        from truecost.experiments.one_split import one_split

        return one_split(self.matrix, rng=self.asked.rng(7))

    @cached_property
    def limits_by_size(self) -> "UpperBySize":
        """What more instances buy: limits from growing parts of the certificate's instances, in one random order."""
        from truecost.stats import confidence

        assert self.evidence is not None  # noqa: S101 - whoever asks has looked
        row = self.evidence.runs.select(configurations=[self.evidence.configuration])
        means, there = instance_means(row)
        costs = self.asked.rng(6).permutation(means[0, there[0]])
        return confidence.upper_by_size(costs, row.low, row.high, self.asked.delta * self.evidence.share)

    @cached_property
    def sweeps(self) -> "tuple[tuple[pl.DataFrame, ...], tuple[Fit, ...]]":
        """Errors against N and K over random splits, and the curve of the selection error in each table."""
        from truecost.experiments import fit, resample
        from truecost.experiments.bounds_observed import bounds_against_reality
        from truecost.experiments.tables import sweep_table

        splits, half = max(2, min(self.asked.splits, MOST_SWEPT)), self.matrix.shape[1] // 2
        most = int(self.matrix.counts().min()) * half
        tables = []
        for sweep, last in ((resample.sweep_n, most), (resample.sweep_k, half)):
            values = np.unique(np.rint(np.geomspace(1, last, POINTS)).astype(np.int64))
            levels = (1 - self.asked.delta,)
            done = sweep(self.matrix, splits=splits, rng=self.asked.rng(5), values=values, levels=levels)
            tables.append(sweep_table(done, bounds_against_reality(self.matrix, done, delta=self.asked.delta)))
        return tuple(tables), tuple(fit.to_table(table, "selection") for table in tables)

    # ---- as plain data -----------------------------------------------------------------------------------------------

    def to_dict(self, *parts: Part) -> dict[str, Any]:
        """The assessment as plain data: who, what it costs, and the parts asked for; the same keys whoever asks."""
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
        place = self.matrix.configurations.index(name)
        costs = self.costs
        return {
            "configuration": name,
            "training_cost": float(costs.training[place]),
            "training_cost_at_least": float(costs.lowest[place]),
            "standard_error": float(costs.standard_error[place]),
            "true_cost": self.true_cost(name),
            "true_cost_from": self._source(name),
            "runs": int(costs.runs[place]),
            "instances": int(costs.instances[place]),
            "censored": int(self.censored[place]),
            "parameters": dict(self.log.parameters.get(name, {})),
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
            return asdict(self.over_tuning) | {"along": [point._asdict() for point in self.over_tuning.along]}
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
                "configuration": self.matrix.configurations[place],
                "rank": rank if costs.ranked[place] else None,
                "training_cost": float(costs.training[place]),
                "training_cost_at_least": float(costs.lowest[place]),
                "standard_error": float(costs.standard_error[place]),
                "runs": int(costs.runs[place]),
                "instances": int(costs.instances[place]),
                "within": float(costs.components.within[place]),
                "across": float(costs.components.across[place]),
                "total": float(costs.components.total[place]),
                "not_solved": float(self.failed[place]) if self.failed_known else None,
                "censored": int(self.censored[place]),
            }
            for rank, place in enumerate(costs.order.tolist(), 1)
        ]

    def __repr__(self) -> str:
        configurations, instances, runs = self.matrix.shape
        size = f"{configurations} configurations x {instances} instances x {runs} runs"
        return f"Assessment({size}, incumbent {self.incumbent!r}, training cost {self.costs.training[self.own]:.4g})"


def _seed(rng: Rng, costs: FloatArray) -> int:
    if rng is not None:
        return seed_of(rng)
    # Of the set of instances, not of their order: whatever the set, all orders of independent draws are equally likely.
    each = sorted(blake2b(column.tobytes(), digest_size=16).digest() for column in np.moveaxis(costs, 1, 0))
    return int.from_bytes(blake2b(b"".join(each), digest_size=6).digest())
