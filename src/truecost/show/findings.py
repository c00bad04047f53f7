"""What the sections of a report are made from: everything that takes computing, once."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from truecost.errors import InputError
from truecost.experiments import resample
from truecost.experiments.reality import bounds_against_reality
from truecost.experiments.results import sweep_table
from truecost.judge import certificate
from truecost.judge.audit import SEED, Audit
from truecost.judge.certificate import Chosen, Evidence, RefusedError
from truecost.judge.selection import instance_means, training_costs
from truecost.matrix import CostMatrix
from truecost.plan.power import Comparison as Apart
from truecost.plan.power import paired_differences, runs_to_tell_apart
from truecost.plan.sizes import Recommendation, runs_needed
from truecost.runs import NO_STATUS, Status, Trajectory
from truecost.stats import bounds
from truecost.stats.allocation import AllocationSizes
from truecost.stats.estimate import TrainingCost, training_cost
from truecost.stats.variance import VarianceComponents, variance_components

FloatArray = NDArray[np.float64]
Progress = Callable[[str, float], None]
# Fewer instances than this have no halves to speak of; more splits than this make a curve no smoother to the eye.
FEWEST_TO_SWEEP = 8
MOST_SWEPT = 200
# The share of the cost range below which a standard error is rounding.
NOTHING = 1e-12
# Points of a curve against N or K: all that are drawn.
POINTS = 60
# How many times the instances of a comparison are taken, to see when it would be shown.
REPEATS = (2, 3, 4, 6, 8, 12, 16)


class Source(NamedTuple):
    """Where the runs come from and what was asked of them, for commands to copy.

    `path` and `kind` are those of the log; the others are words of the command line: `limits` (--low, --high), `metric`
    (--cutoff, --par), `asked` of `audit` and `certify` (--test, --chosen, …) and `audited` of `audit` alone (--default, …).
    """

    path: str
    kind: str = "matrix"
    limits: tuple[str, ...] = ()
    metric: tuple[str, ...] = ()
    asked: tuple[str, ...] = ()
    audited: tuple[str, ...] = ()


class PlugIn(NamedTuple):
    """Lemma 4 and Theorem 2 with estimated variances: ε of the incumbent alone, as one of m, and of the worst of m."""

    training_cost: float
    single: float
    selected: float
    worst: float
    configurations: int
    caveat: str
    rests_on: tuple[str, ...]


class Reach(NamedTuple):
    """On how many `instances` the verdict's own limits would show the difference; None if not even on those `tried`.

    New ones are taken to be like the `seen`; `halved`, as many more are needed, to choose by.
    """

    instances: int | None
    seen: int
    tried: int
    halved: bool


class Rules(NamedTuple):
    """How the audit was asked for valid statements."""

    trajectory: Trajectory | None
    test: CostMatrix | None
    chosen: Chosen | None
    list_size: int | None

    def evidence(self, matrix: CostMatrix, *names: str) -> Evidence | None:
        """What a valid statement about the first of these configurations, or on it and the other one, may use."""
        said: dict[str, Any] = {"seed": SEED}
        if self.test is not None and set(names) <= set(self.test.configurations):
            said["test"] = self.test
        else:
            said |= {"chosen": self.chosen, "list_size": self.list_size}
        try:
            return certificate.gather_evidence(matrix, names[0], trajectory=self.trajectory, **said)
        except RefusedError:
            return None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Findings:
    """What was found in the runs.

    Attributes
    ----------
    matrix, test, trajectory, audit
        The runs, and the audit of them.
    own
        The place of the incumbent.
    costs, components
        Of all configurations; every instance counts alike.
    order, ranked
        Places of the configurations, the least training cost first; those behind the first `ranked` have runs on too few
        instances to be compared with them.
    failed, by_cost
        The share of runs of each configuration that were not solved; `by_cost`, no status is known, and it is the share of
        those that have the highest cost.
    evidence
        What the valid interval was made from; None without one.
    reach
        What it takes to show the incumbent better, where it is not yet, and looks it.
    plug_in, no_plug_in
        Bounds, or why there are none; so with the rest.
    error
        The standard error that is planned for, with as many digits as the plan takes.
    """

    matrix: CostMatrix
    test: CostMatrix | None
    trajectory: Trajectory | None
    audit: Audit
    evidence: Evidence | None
    reach: Reach | None
    own: int
    costs: TrainingCost
    components: VarianceComponents
    order: NDArray[np.intp]
    ranked: int
    failed: FloatArray
    by_cost: bool
    plug_in: PlugIn | None
    no_plug_in: str
    plan: Recommendation | None
    no_plan: str
    error: str
    apart: Apart | None
    sweeps: tuple[pl.DataFrame, ...]
    no_sweeps: str
    source: Source
    unit: str
    seed: int
    notes: tuple[str, ...]

    @property
    def in_unit(self) -> str:
        """The unit as it stands behind a number; nothing where it is only called cost."""
        return "" if self.unit == "cost" else self.unit

    @property
    def adjusted(self) -> bool:
        """Whether configurations have runs on different instances, so that ranks take out how hard those are."""
        there = self.matrix.counts() > 0
        there = there[there.any(axis=1)]
        return bool((there != there[:1]).any())

    @property
    def still(self) -> bool:
        """Whether all runs of the incumbent cost the same, but for rounding."""
        return self.audit.noise.standard_error <= NOTHING * self.matrix.width

    def rounded(self, value: float) -> float:
        """A difference of costs that is 0 but for rounding as 0."""
        return 0.0 if abs(value) <= NOTHING * self.matrix.width else value

    def rng(self) -> np.random.Generator:
        """For a figure of its own, so that it does not depend on what else is drawn."""
        return np.random.default_rng(self.seed)


def find(
    matrix: CostMatrix,
    audit: Audit,
    *,
    test: CostMatrix | None,
    trajectory: Trajectory | None,
    chosen: Chosen | None,
    list_size: int | None,
    source: Source,
    unit: str,
    seed: int,
    notes: Sequence[str],
    progress: Progress,
) -> Findings:
    """Compute what an audit does not have."""
    own = matrix.configurations.index(audit.incumbent)
    components = variance_components(matrix)
    costs = training_cost(matrix, weights="instances", components=components)
    failed, by_cost = _failed(matrix)
    compared = training_costs(*instance_means(matrix))
    plug_in, no_plug_in = _plug_in(matrix, components, own, audit.delta)
    plan, no_plan = _plan(components[own], audit, matrix.width)
    rules = Rules(trajectory, test, chosen, list_size)
    progress("errors against N and K", 0.4)
    sweeps, no_sweeps = _sweeps(matrix, min(audit.splits, MOST_SWEPT), audit.delta, seed)
    return Findings(
        matrix=matrix,
        test=test,
        trajectory=trajectory,
        audit=audit,
        evidence=None if audit.interval is None else rules.evidence(matrix, audit.incumbent),
        reach=_reach(matrix, audit, rules),
        own=own,
        costs=costs,
        components=components,
        order=np.lexsort((costs.cost, compared)),
        ranked=int(np.isfinite(compared).sum()),
        failed=failed,
        by_cost=by_cost,
        plug_in=plug_in,
        no_plug_in=no_plug_in,
        plan=plan,
        no_plan=no_plan,
        error="" if plan is None else _digits(plan, components[own], audit, matrix.width),
        apart=_apart(matrix, audit),
        sweeps=sweeps,
        no_sweeps=no_sweeps,
        source=source,
        unit=unit,
        seed=seed,
        notes=tuple(notes),
    )


def _failed(matrix: CostMatrix) -> tuple[FloatArray, bool]:
    statuses = matrix.statuses
    by_cost = statuses is None or bool((statuses == NO_STATUS).all())
    if statuses is None or by_cost:
        ended = matrix.costs >= matrix.high
    else:
        ended = (statuses != NO_STATUS) & (statuses != Status.SOLVED)
    with np.errstate(invalid="ignore", divide="ignore"):
        return ended.sum(axis=(1, 2)) / matrix.counts().sum(axis=1), by_cost


def _plug_in(matrix: CostMatrix, components: VarianceComponents, own: int, delta: float) -> tuple[PlugIn | None, str]:
    """Bennett's form, each configuration with its own counts and variances, as `truecost bound` has it."""
    counts = matrix.counts()
    some = counts.sum(axis=1) > 0
    sizes = AllocationSizes.of(counts[some])
    kept = components
    if not some.all():
        ran = [name for name, has in zip(matrix.configurations, some, strict=True) if has]
        kept = variance_components(matrix.select(configurations=ran))
    if np.isnan(kept.tau_squared(sizes)).any():
        return None, (
            "The paper's bounds (Lemma 4, Theorem 2) are left out: they need within and across of every configuration, and "
            "some have no two instances with two runs each."
        )
    place = int(some[:own].sum())
    stated: dict[str, Any] = {"width": matrix.width, "delta": delta}
    one = bounds.single(allocation=sizes[place], components=kept[place], **stated)
    m = int(some.sum())
    every = bounds.finite(allocation=sizes, components=kept, configurations=m, tau="per-configuration", **stated)
    epsilons = np.atleast_1d(every.epsilon)
    cost = training_cost(matrix.select(configurations=[matrix.configurations[own]])).cost[0]
    return (
        PlugIn(
            training_cost=float(cost),
            single=float(np.ravel(one.epsilon)[0]),
            selected=float(epsilons[place]),
            worst=float(epsilons.max()),
            configurations=m,
            caveat=every.caveat,
            rests_on=every.rests_on,
        ),
        "",
    )


def _plan(components: VarianceComponents, audit: Audit, width: float) -> tuple[Recommendation | None, str]:
    error = audit.noise.standard_error
    if math.isnan(components.across.item()):
        return None, "No plan: within and across of the incumbent are not known. Run it twice on some instances first."
    if error <= NOTHING * width:
        return None, "No plan: all runs of the incumbent cost the same, and there is no error to be halved."
    try:
        return runs_needed(error=error / 2, components=components, width=width, delta=audit.delta), ""
    except InputError as refusal:
        return None, f"No plan: {refusal}"


def _digits(plan: Recommendation, components: VarianceComponents, audit: Audit, width: float) -> str:
    """Half of the standard error, rounded up to the fewest digits that give the same plan.

    Half of the error often takes exactly four times the instances, and with an error only a little smaller it is one more.
    """
    exact = Decimal(audit.noise.standard_error / 2)
    for digits in range(3, 18):
        rounded = Context(prec=digits, rounding=ROUND_CEILING).plus(exact)
        again = runs_needed(error=float(rounded), components=components, width=width, delta=audit.delta)
        if (again.instances, again.runs) == (plan.instances, plan.runs):
            return format(rounded, "f")
    return repr(audit.noise.standard_error / 2)


def _reach(matrix: CostMatrix, audit: Audit, rules: Rules) -> Reach | None:
    """The limits of the comparison once more, as if every instance had been drawn several times."""
    found = audit.comparison
    if found is None or found.lower is None or found.upper is None or found.upper < 0 or not found.estimate < 0:
        return None
    evidence = rules.evidence(matrix, audit.incumbent, found.default)
    if evidence is None:
        return None
    pair = evidence.runs.select(configurations=[audit.incumbent, found.default])
    costs = pair.costs[:, (pair.counts() > 0).all(axis=0)]
    seen = costs.shape[1]
    halved = evidence.chosen == "on-half"
    for times in REPEATS:
        names = [str(place) for place in range(times * seen)]
        runs = CostMatrix(np.tile(costs, (1, times, 1)), pair.configurations, names, pair.low, pair.high)
        limits = certificate.difference(evidence._replace(runs=runs), found.default, delta=audit.delta, seed=SEED)
        if limits.upper < 0:
            return Reach(times * seen, seen, times * seen, halved)
    return Reach(None, seen, REPEATS[-1] * seen, halved)


def _apart(matrix: CostMatrix, audit: Audit) -> Apart | None:
    """What it takes to tell the incumbent from the default, where nothing is shown yet."""
    found = audit.comparison
    if found is None or found.default == audit.incumbent or not found.estimate or not math.isfinite(found.estimate):
        return None
    if found.lower is not None and found.upper is not None and not found.lower <= 0 <= found.upper:
        return None
    try:
        differences = paired_differences(matrix, audit.incumbent, found.default)
        return runs_to_tell_apart(components=variance_components(differences), difference=found.estimate)
    except InputError:  # too few common instances, or a difference too small for any number of them
        return None


def _sweeps(matrix: CostMatrix, splits: int, delta: float, seed: int) -> tuple[tuple[pl.DataFrame, ...], str]:
    configurations, instances, _ = matrix.shape
    left_out = "How the error falls with more runs and more instances is not drawn: "
    if configurations < 2:
        return (), f"{left_out}with one configuration nothing is chosen."
    if instances < FEWEST_TO_SWEEP:
        return (
            (),
            f"{left_out}that takes {FEWEST_TO_SWEEP} instances, and there {'is' if instances == 1 else 'are'} {instances}.",
        )
    if matrix.counts().min() == 0:
        return (), f"{left_out}some configurations have no run on some instances."
    half = instances // 2
    most = {"n": int(matrix.counts().min()) * half, "k": half}
    swept: list[tuple[str, Callable[..., resample.Sweep]]] = [("n", resample.sweep_n), ("k", resample.sweep_k)]
    tables = []
    for kind, sweep in swept:
        values = np.unique(np.rint(np.geomspace(1, most[kind], POINTS)).astype(np.int64))
        done = sweep(matrix, splits=max(2, splits), rng=np.random.default_rng(seed), values=values, levels=(1 - delta,))
        try:
            tables.append(sweep_table(done, bounds_against_reality(matrix, done, delta=delta)))
        except InputError:
            return (), f"{left_out}within and across are not known for every configuration."
    return tuple(tables), ""
