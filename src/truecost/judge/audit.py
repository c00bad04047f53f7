"""The over-tuning report: what the incumbent's training cost hides, and whether it is shown to be better than the default.

Two quantities are kept apart, as Schneider, Bischl and Feurer do (Overtuning in Hyperparameter Optimization, 2025):

optimism
    True cost − training cost of the final incumbent: the paper's selection error, their meta-overfitting. It says that the
    number is too good, not that the choice is bad.
over-tuning
    True cost of the final incumbent − the least true cost an incumbent had on the way. It says that the search went past
    something better. Relative: over the best gain on the first incumbent; 1 says that all of it was lost again.

Estimates (corrected costs, optimism, over-tuning) and valid statements (limits with a confidence, by the rules of
`truecost.judge.certificate`) are different things and have different fields.
"""

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from truecost.errors import InputError
from truecost.judge import certificate
from truecost.judge.certificate import Certificate, Chosen, RefusedError, figure
from truecost.judge.noise import Noise, Spread, noise_of, spread_of
from truecost.judge.selection import correction, instance_means, levels, over_tuning, selection_errors, training_costs
from truecost.matrix import CostMatrix
from truecost.runs import Trajectory

FloatArray = NDArray[np.float64]
# Of the order of instances in betting and of the half that certifies: that of `certificate.certify`, which says the same.
SEED = 0
# How many of the instances that decide a comparison are named.
NAMED = 5
# What choosing on all instances errs by, of what choosing on half of them does: the error falls as 1/√K (the b/√K of the
# paper's fit, which rules it but for the fewest instances).
ALL_FOR_HALF = math.sqrt(0.5)
# What is less than this share of the cost range is rounding.
ROUNDING = 1e-12


class Contribution(NamedTuple):
    """What an instance adds: cost of the incumbent − cost of the default there, and its share in the sum over instances."""

    instance: str
    difference: float
    share: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """The incumbent against the default, paired on common instances; differences below 0 speak for the incumbent.

    Attributes
    ----------
    estimate
        The mean difference on the instances a statement may use, else on all common ones.
    lower, upper
        A valid interval of the difference of true costs, None with a reason where there is none.
    on
        `"test"` or `"training"`: whose instances.
    deciding
        The instances that add the most, the largest first.
    flips
        How many of the instances that speak most for the sign of the estimate have to go until it is gone.
    """

    default: str
    estimate: float
    lower: float | None
    upper: float | None
    on: Literal["test", "training"]
    instances: int
    configurations: int
    method: str | None
    deciding: tuple[Contribution, ...]
    flips: int
    reason: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """An incumbent on the way.

    Attributes
    ----------
    runs
        How many were finished when it became the incumbent, where known.
    training
        Its training cost over all its runs; where incumbents have runs on different instances, how hard those are is taken
        out, as if all had been run on all.
    true
        Its mean cost on test runs, else `training` + the mean selection error of choosing among the configurations there
        were by then; NaN where it has no test runs and the last one has.
    """

    runs: int | None
    configuration: str
    training: float
    true: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """The report.

    Attributes
    ----------
    incumbent, training_cost
        Its name, and the mean of its instance means.
    selection_error
        Held-out − training cost of the configuration with the least training cost on a random half of the instances, mean
        over splits, carried over from half of the instances to all. Where configurations were proposed adaptively it says
        too little, since they know both halves.
    corrected_cost
        training_cost + selection_error for the configuration with the least training cost. For another one the training cost
        itself, but no less than what the least one is corrected to: it was not chosen by its cost alone.
    held_out_cost
        Mean cost on the other half of what was chosen on one.
    test_cost
        Mean of the instance means on test runs; NaN without.
    interval, no_interval
        A valid interval of the incumbent's true cost; where there is none, None and the reason.
    gap, gap_percent
        True cost, on test runs or corrected, − training cost, and in per cent of the training cost: the optimism.
    comparison
        None without a default.
    along
        Every incumbent on the way, the audited one last.
    over_tuning, relative_over_tuning
        See the module. NaN if fewer than two incumbents are known; relative also if none was better than the first.
    true_from
        What true costs are estimated from.
    better
        Whether the incumbent is shown to be better than the default.
    verdict
        In one line.
    """

    incumbent: str
    training_cost: float
    selection_error: float
    corrected_cost: float
    held_out_cost: float
    test_cost: float
    interval: Certificate | None
    no_interval: str | None
    gap: float
    gap_percent: float
    comparison: Comparison | None
    noise: Noise
    spread: Spread
    along: tuple[Point, ...]
    over_tuning: float
    relative_over_tuning: float
    true_from: Literal["test runs", "splits"]
    delta: float
    splits: int
    better: bool
    verdict: str


def audit(
    matrix: CostMatrix,
    *,
    rng: np.random.Generator,
    incumbent: str | None = None,
    default: str | None = None,
    test: CostMatrix | None = None,
    trajectory: Trajectory | None = None,
    chosen: Chosen | None = None,
    list_size: int | None = None,
    splits: int = 1000,
    delta: float = 0.05,
) -> Audit:
    """Look for over-tuning in recorded runs.

    Parameters
    ----------
    matrix
        The runs the incumbent was chosen by; missing ones allowed.
    rng
        Draws the splits.
    incumbent, default
        By default the trajectory's; without one the incumbent is what has the least training cost.
    test
        Runs on fresh instances: true costs and valid statements come from there.
    trajectory
        Where the configurations come from.
    chosen, list_size
        How the incumbent was chosen, where the trajectory does not say; see `truecost.judge.certificate`.
    splits
        How many times the instances are split in halves.
    delta
        The probability with which each valid statement may be wrong.
    """
    if splits < 1:
        raise InputError(f"Expected at least 1 split, got {splits}.")
    if not 0 < delta < 1:
        raise InputError(f"Expected delta between 0 and 1, got {delta}.")
    if chosen == "progressive":
        raise InputError("Expected before, from-list or on-half, got progressive: that is for certificates.")
    if chosen == "before" and incumbent is None and test is None:
        certificate.check_before(matrix, incumbent, trajectory)
    incumbent = certificate.incumbent_of(matrix, trajectory) if incumbent is None else incumbent
    if default is None and trajectory is not None and trajectory.default in matrix.configurations:
        default = trajectory.default
    matrix.select(configurations=dict.fromkeys(name for name in (incumbent, default) if name is not None))
    if test is not None:
        test.select(configurations=[incumbent])
    statements = _Statements(matrix, incumbent, default, test, trajectory, chosen, list_size, delta, SEED)
    means, there = instance_means(matrix)
    training = np.where(there.any(axis=1), means.sum(axis=1) / np.maximum(there.sum(axis=1), 1), np.nan)
    own = matrix.configurations.index(incumbent)
    if not there[own].any():
        raise InputError(f"Expected runs of {incumbent!r}, got none.")
    compared = training_costs(means, there)
    route = _route(matrix, incumbent, trajectory, compared)
    errors = selection_errors(means, there, [*(stage.candidates for stage in route), len(means)], splits, rng)
    test_costs = _test_costs(matrix, test)
    from_test = math.isfinite(test_costs.get(incumbent, math.nan))
    comparable = dict(zip(matrix.configurations, levels(means, there).tolist(), strict=True))
    along = tuple(
        Point(
            runs=stage.runs,
            configuration=stage.configuration,
            training=comparable[stage.configuration],
            true=test_costs.get(stage.configuration, math.nan)
            if from_test
            else comparable[stage.configuration] + ALL_FOR_HALF * errors[stage.candidates].error,
        )
        for stage in route
    )
    chosen_among_all = errors[len(means)]
    selection_error = ALL_FOR_HALF * chosen_among_all.error
    if abs(selection_error) <= ROUNDING * matrix.width:
        selection_error = 0.0
    taken = correction(compared, own, selection_error)
    corrected = float(training[own]) + taken
    gap = test_costs[incumbent] - float(training[own]) if from_test else taken
    lost, relative = over_tuning([point.true for point in along])
    comparison = statements.comparison()
    interval, no_interval = statements.interval()
    better = comparison is not None and comparison.upper is not None and comparison.upper < 0
    return Audit(
        incumbent=incumbent,
        training_cost=float(training[own]),
        selection_error=selection_error,
        corrected_cost=corrected,
        held_out_cost=chosen_among_all.held_out,
        test_cost=test_costs.get(incumbent, math.nan),
        interval=interval,
        no_interval=no_interval,
        gap=gap,
        gap_percent=100 * gap / abs(float(training[own])) if training[own] else math.nan,
        comparison=comparison,
        noise=noise_of(matrix, own),
        spread=spread_of(matrix, own),
        along=along,
        over_tuning=lost,
        relative_over_tuning=relative,
        true_from="test runs" if from_test else "splits",
        delta=delta,
        splits=splits,
        better=better,
        verdict=_verdict(incumbent, comparison, delta),
    )


# ---- what may be said --------------------------------------------------------------------------------------------------


class _Statements(NamedTuple):
    """What the two valid statements are made from."""

    matrix: CostMatrix
    incumbent: str
    default: str | None
    test: CostMatrix | None
    trajectory: Trajectory | None
    chosen: Chosen | None
    list_size: int | None
    delta: float
    seed: int

    def interval(self) -> tuple[Certificate | None, str | None]:
        test = self._test_with(self.incumbent)
        try:
            return certificate.certify(self.matrix, self.incumbent, delta=self.delta, side="both", **self._rules(test)), None
        except RefusedError as refusal:
            return None, refusal.reason

    def comparison(self) -> Comparison | None:
        if self.default is None:
            return None
        test = self._test_with(self.incumbent, self.default)
        where = self.matrix if test is None else test
        limits, m, reason = None, 0, None
        if self.incumbent == self.default:
            reason = "the incumbent is the default"
        else:
            try:
                evidence = certificate.gather_evidence(self.matrix, self.incumbent, **self._rules(test))
                limits = certificate.difference(evidence, self.default, delta=self.delta, seed=self.seed)
                where, m = evidence.runs, evidence.configurations
            except RefusedError as refusal:
                reason = refusal.reason
                if self.test is not None and test is None:
                    reason = f"{self.default!r} has no test runs, and {reason}"
        means, there = instance_means(where.select(configurations=[self.incumbent]))
        others, there_too = instance_means(where.select(configurations=[self.default]))
        both = (there & there_too)[0]
        apart = (means - others)[0, both]
        names = [name for name, common in zip(where.instances, both, strict=True) if common]
        total = float(apart.sum())
        largest = np.argsort(-np.abs(apart), kind="stable")[:NAMED]
        return Comparison(
            default=self.default,
            estimate=float(apart.mean()) if apart.size else math.nan,
            lower=None if limits is None else limits.lower,
            upper=None if limits is None else limits.upper,
            on="training" if test is None else "test",
            instances=apart.size,
            configurations=m,
            method=None if limits is None else limits.method,
            deciding=tuple(
                Contribution(names[i], float(apart[i]), float(apart[i]) / total if total else math.nan)
                for i in largest
                if apart[i] != 0
            ),
            flips=_flips(apart),
            reason=reason,
        )

    def _rules(self, test: CostMatrix | None) -> dict[str, Any]:
        said = {"chosen": self.chosen, "list_size": self.list_size} if test is None else {}
        return {"trajectory": self.trajectory, "test": test, "seed": self.seed, **said}

    def _test_with(self, *names: str) -> CostMatrix | None:
        """The test runs, if all of these have some."""
        if self.test is None or not all(name in self.test.configurations for name in names):
            return None
        return self.test


def _flips(apart: FloatArray) -> int:
    """How many of the differences that speak most for the sum's sign have to go until that is gone."""
    total = float(apart.sum())
    if total == 0 or not apart.size:
        return 0
    against = np.sort(apart * math.copysign(1, total))[::-1]
    left = abs(total) - np.cumsum(against)
    # The last step can miss 0 by rounding.
    return int(np.argmax(left <= 1e-12 * np.abs(apart).sum())) + 1


def _verdict(incumbent: str, comparison: Comparison | None, delta: float) -> str:
    if comparison is None:
        return f"{incumbent} is not compared with a default, since none is known: name it (--default NAME)."
    default = comparison.default
    if incumbent == default:
        return "The incumbent is the default: nothing was gained."
    lower, upper = comparison.lower, comparison.upper
    if lower is None or upper is None:
        return f"{incumbent} is not shown to be better than {default}; no valid statement can be made: {comparison.reason}."
    sure = f"with {100 * (1 - delta):.10g} % confidence its true cost is"
    if upper < 0:
        return f"{incumbent} is better than {default}: {sure} lower by {figure(-upper)} to {figure(-lower)}."
    if lower > 0:
        return f"{incumbent} is worse than {default}: {sure} higher by {figure(lower)} to {figure(upper)}."
    between = f"between {figure(-lower)} lower and {figure(upper)} higher"
    return f"{incumbent} is not shown to be better than {default}: {sure} {between}."


# ---- estimates ---------------------------------------------------------------------------------------------------------


class _Stage(NamedTuple):
    """An incumbent on the way and among how many configurations, in the order of the matrix, it was chosen."""

    runs: int | None
    configuration: str
    candidates: int


def _route(matrix: CostMatrix, incumbent: str, trajectory: Trajectory | None, costs: FloatArray) -> list[_Stage]:
    """The incumbents of the trajectory, else those of looking at one configuration of the list after the other."""
    places = {name: place for place, name in enumerate(matrix.configurations)}
    steps: list[tuple[int | None, str]] = []
    if trajectory is not None and trajectory.steps:
        firsts = ((step.runs, step.configurations[0]) for step in trajectory.steps if step.configurations)
        steps = [(runs, name) for runs, name in firsts if name in places]
    elif trajectory is None or trajectory.proposed != "adaptively":
        least = np.minimum.accumulate(costs)
        new = np.isfinite(costs) & (np.concatenate([[np.inf], least[:-1]]) > costs)
        steps = [(None, matrix.configurations[i]) for i in np.flatnonzero(new)]
    if not steps or steps[-1][1] != incumbent:
        steps.append((None, incumbent))
    # A configuration that stays the best is one incumbent; those seen later are candidates it has beaten.
    candidates = np.maximum.accumulate([places[name] + 1 for _, name in steps])
    changes = [True, *(now != before for (_, before), (_, now) in pairwise(steps))]
    stages = [_Stage(runs, name, int(c)) for (runs, name), c in zip(steps, candidates, strict=True)]
    kept = [stage for stage, change in zip(stages, changes, strict=True) if change]
    return [*kept[:-1], kept[-1]._replace(candidates=len(matrix.configurations))]


def _test_costs(matrix: CostMatrix, test: CostMatrix | None) -> dict[str, float]:
    """Means of instance means on instances that are not in the matrix."""
    new = [] if test is None else sorted(set(test.instances) - set(matrix.instances), key=test.instances.index)
    if test is None or not new:
        return {}
    fresh = test.select(instances=new)
    means, there = instance_means(fresh)
    costs = np.where(there.any(axis=1), means.sum(axis=1) / np.maximum(there.sum(axis=1), 1), np.nan)
    return dict(zip(fresh.configurations, costs.tolist(), strict=True))
