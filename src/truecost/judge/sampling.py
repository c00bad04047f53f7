"""From evidence to statements: the sample that limits are made from, and what is stated of it.

Failed runs are never left out: they are not solved, lose against every run that was, whatever they
are charged, and tie with each other; all that is known of their running time is
that it is at least the cutoff; where the runs do not say it, at least the longest of a run that was
solved so far, in the order in which instances are taken. (The longest of all would do for a count,
but bets may not know what comes later.) A speed-up is stated where the cutoff is known or runs time
out, of whatever configuration, which is where costs are running times. Where a run that was stopped
at a limit costs less than some that were solved, it is no failure: the cost is the quality it
reached.

A censored run, stopped at a cap, is neither: it may have been solved, and costs the cap at least.
Limits use the end that goes against them, and what is sure counts: who was stopped at 1 s after the
rival had finished at 0.4 s has lost.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from truecost.arrays import BoolArray, FloatArray, IntArray
from truecost.errors import Refusal
from truecost.judge.evidence import Evidence
from truecost.judge.question import Question, Stream
from truecost.judge.rounds import in_rounds
from truecost.judge.scope import Scope, sampling_design
from truecost.judge.statements import Statement
from truecost.matrix import CostMatrix
from truecost.runs import Status
from truecost.stats import approximate
from truecost.stats.approximate import Approximate
from truecost.stats.assumptions import SAMPLED, SEEDS
from truecost.stats.designs import numbers_of, weights_of
from truecost.stats.grouping import codes_of
from truecost.stats.inversion import ANYTIME, ONE, Look, planned
from truecost.stats.limits import Limit, limit, seeds_assumed
from truecost.stats.quantities import DIFFERENCE, MEAN, Quantity, quantile
from truecost.stats.sample import Design, Ends, Sample, Side, opposite

# Above a half of δ both sides of a comparison could be shown.
MOST_DELTA = 0.4995
INDEPENDENT = Design()


class Sampled(NamedTuple):
    """A sample, when it is looked at, and the part of δ that such a look has."""

    sample: Sample
    look: Look
    part: float


class Statements(Mapping[str, Statement | Refusal]):
    """Statements by the names of their quantities. Each is made when it is first asked for: limits
    take time, and a certificate or a verdict needs one of them.
    """

    def __init__(
        self, which: Sequence[Quantity], make: Callable[[Quantity], Statement | Refusal]
    ) -> None:
        self._quantities = {quantity.name: quantity for quantity in which}
        self._make = make
        self._made: dict[str, Statement | Refusal] = {}

    def __getitem__(self, name: str) -> Statement | Refusal:
        if name not in self._made:
            self._made[name] = self._make(self._quantities[name])
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._quantities)

    def __len__(self) -> int:
        return len(self._quantities)


def statements_of(
    which: Sequence[Quantity],
    evidence: Evidence,
    default: str | None,
    question: Question,
    unknown: Mapping[str, Refusal] = MappingProxyType({}),
) -> Statements:
    """Statements about the evidence's configuration, against a default where one is given, by the
    names of their quantities; `unknown` are refused.

    All of them bet on the instances in one order.
    """
    sampled = sample_of(evidence, default, question.rng(Stream.ORDER))
    evidence = evidence if default is None else evidence.against(default)

    def make(quantity: Quantity) -> Statement | Refusal:
        if quantity.name in unknown:
            return unknown[quantity.name]
        if isinstance(sampled, Refusal):
            return sampled
        return _state(quantity, evidence, sampled, default, question.delta)

    return Statements(which, make)


def _state(
    quantity: Quantity, evidence: Evidence, sampled: Sampled, default: str | None, delta: float
) -> Statement | Refusal:
    sample, _, part = sampled
    if (reason := quantity.refusal(sample)) is not None:
        return Refusal(reason)
    share = evidence.share * part
    # Of a comparison both sides are read, each at level δ; above a half both could be shown.
    spent = delta * share if default is None else min(delta * evidence.share, MOST_DELTA) * part
    stated = _worst(quantity, sampled, quantity.side, spent, evidence.scope)
    other, possible = None, stated.observed
    if default is not None or sample.censored:
        against = _worst(quantity, sampled, opposite(quantity.side), spent, evidence.scope)
        other = against.value if default is not None else None
        possible = against.observed if sample.censored else possible
    return Statement(
        quantity=quantity.name,
        configuration=evidence.configuration,
        default=default,
        side=quantity.side,
        limit=stated.value,
        opposite=other,
        observed=stated.observed,
        possible=possible,
        even=quantity.even,
        delta=delta,
        share=share,
        configurations=evidence.configurations,
        chosen=evidence.chosen,
        sampling_unit=evidence.scope.sampled,
        scope=evidence.scope.phrase,
        instances=stated.instances,
        method=stated.method,
        condition=evidence.condition,
        assumptions=tuple(
            seeds_assumed(quantity, sample) if line == SEEDS else line
            for line in evidence.assumptions
        ),
        same_seed=quantity.pairs and sample.same_seed,
    )


def _worst(quantity: Quantity, sampled: Sampled, side: Side, delta: float, scope: Scope) -> Limit:
    """The limit for every mix within ranges: the worst over corners, each with all of delta."""
    # The quantity is largest, and least, at a corner: means are linear in the mix, their ratios
    # quasi-linear, and a share of runs below a value is a mean. Which corner that is is unknown
    # but fixed, so the worst limit is wrong only where the limit of this one corner is.
    sample, look, _ = sampled
    if not scope.ranges:
        return limit(quantity, sample, side, delta, look)
    limits = [
        limit(
            quantity,
            replace(sample, design=replace(sample.design, mix=np.array(corner))),
            side,
            delta,
            look,
        )
        for corner in scope.corners
    ]
    return (max if side == "upper" else min)(limits, key=attrgetter("value"))


def shown_better(
    quantity: Quantity, evidence: Evidence, default: str, question: Question
) -> dict[str, float]:
    """Every configuration of a list that is shown better than the default, with its limit.

    The limits of a list hold at once, each with its part of δ, so that all of them may be read.
    """
    better: dict[str, float] = {}
    sign = 1 if quantity.side == "lower" else -1
    for name in evidence.runs.configurations:
        if name == default:
            continue
        listed = evidence.of(name)
        sampled = sample_of(listed, default, question.rng(Stream.ORDER))
        if isinstance(sampled, Refusal) or quantity.refusal(sampled.sample) is not None:
            continue
        sample, _, part = sampled
        even = quantity.even or 0.0
        # Most are not even better in what was seen, and limits take time.
        numbers, weights = numbers_of(quantity, sample, quantity.side), weights_of(sample.design)
        if sign * (numbers.observed(weights) - even) <= 0:
            continue
        spent = min(question.delta * listed.against(default).share, MOST_DELTA) * part
        value = _worst(quantity, sampled, quantity.side, spent, listed.scope).value
        if sign * (value - even) > 0:
            better[name] = value
    return better


def realised_of(
    evidence: Evidence, default: str | None, *, delta: float, order: np.random.Generator
) -> tuple[Statement, ...]:
    """What a benchmark shows if each of its instances is run once, from those that were: the mean,
    and the difference to the default's. Sampling without replacement; about these seeds only.
    """
    stated = []
    for quantity, rival in ((MEAN, None), (DIFFERENCE, default)):
        if quantity.even is not None and rival in (None, evidence.configuration):
            continue
        sampled = sample_of(evidence, rival, order)
        if isinstance(sampled, Refusal) or sampled.look.kind != "one":
            continue
        population = evidence.scope.population
        design = Design(kind="without replacement", population=population)
        sample = replace(sampled.sample, design=design)
        used = evidence if rival is None else evidence.against(rival)
        statement = _state(quantity, used, sampled._replace(sample=sample), rival, delta)
        if isinstance(statement, Statement):
            scope = f"if all {population:,} instances are run once"
            assumed = (*SAMPLED["without replacement", "instance"], *evidence.assumptions[2:])
            stated.append(replace(statement, scope=scope, assumptions=assumed))
    return tuple(stated)


def sample_of(
    evidence: Evidence, default: str | None, order: np.random.Generator
) -> Sampled | Refusal:
    """The sample that statements are made from: units on which all of these have runs, in the
    order in which they came, or in a random one where one look is taken.
    """
    names = [evidence.configuration, *([] if default is None else [default])]
    runs, look, part = evidence.runs.select(configurations=names), ONE, 1.0
    if not (runs.counts() > 0).all(axis=0).any():
        if default is None:
            return Refusal(
                f"{evidence.configuration!r} has no runs on the instances that may be used"
            )
        return Refusal(
            f"{evidence.configuration!r} and {default!r} have no instance in common there"
        )
    if evidence.at_all_times or evidence.plans:
        rounds = in_rounds(evidence, names)
        if isinstance(rounds, Refusal):
            return rounds
        runs, part, horizon = rounds
        look = ANYTIME
        if evidence.plans:
            look = Look(kind="recorded", plans=horizon)
        elif horizon:
            look = planned(horizon[0])
    else:
        drawn = _order(runs, evidence.scope, order)
        runs = runs.select(instances=[runs.instances[i] for i in drawn])
    if evidence.scope.sampled == "seed":
        # Seeds that not all of them ran would shift the weights of their instances.
        both = (runs.counts() > 0).all(axis=0)
        runs = runs.select(instances=np.array(runs.instances, dtype=object)[both])
        if len(set(runs.families or ())) < (evidence.scope.population or 0):
            return Refusal("some of these instances have no runs with the same number")
    timed = are_times(evidence.runs)
    sample = read_sample(runs, timed=timed, design=sampling_design(runs, evidence.scope))
    weights = sample.design.weights
    if weights is not None and not weights.any():
        return Refusal("all instances that may be used have the weight 0")
    # Of a long list most are known by their own runs already.
    zero_one = _at_ends(runs) and _at_ends(evidence.runs)
    # In one look nothing says whether later runs had a part in when others were stopped.
    monotone = not evidence.at_all_times and bool(runs.censored.any())
    return Sampled(replace(sample, monotone=monotone, zero_one=zero_one), look, part)


def _at_ends(runs: CostMatrix) -> bool:
    """Whether every cost is one of the two ends of the range."""
    costs = runs.costs
    return bool(((costs == runs.low) | (costs == runs.high) | np.isnan(costs)).all())


def _order(runs: CostMatrix, scope: Scope, rng: np.random.Generator) -> IntArray:
    """A random order of the rows; those of a family together, in a random order of the families,
    which has nothing to do with their sizes.
    """
    drawn = rng.permutation(len(runs.instances))
    if scope.unit != "family":
        return drawn
    codes = codes_of(runs.families or ())
    places = rng.permutation(int(codes.max()) + 1)
    return np.asarray(drawn[places[codes[drawn]].argsort(kind="stable")])


def read_sample(runs: CostMatrix, *, timed: bool, design: Design = INDEPENDENT) -> Sample:
    """The runs of one configuration, or of two, as a sample in the order of the matrix."""
    failed, charged = failed_runs(runs)
    solved = None
    if charged and runs.tells_solved:
        missing = np.isnan(runs.costs)
        sure, possible = (
            np.where(missing, np.nan, mask) for mask in (~failed & ~runs.censored, ~failed)
        )
        solved = _ends(sure, possible)
    sample = Sample(
        costs=_ends(runs.costs, runs.most),
        times=tuple(times_of(runs, failed)),
        solved=solved,
        # A utility says itself what a failed run is worth.
        failed=tuple(failed) if runs.utility is None else None,
        seeds=None if runs.seeds is None else tuple(runs.seeds),
        low=runs.low,
        high=runs.high,
        design=design,
        timed=timed and charged and not np.nanmin(runs.costs) < 0,
        utility=runs.utility is not None,
    )
    return sample[np.asarray((runs.counts() > 0).all(axis=0))]


def _ends(lower: FloatArray, upper: FloatArray) -> tuple[Ends, ...]:
    return tuple(Ends(lower=least, upper=most) for least, most in zip(lower, upper, strict=True))


def approximate_of(
    evidence: Evidence, default: str, *, delta: float, scored: bool = False
) -> tuple[Approximate, ...]:
    """What normal theory says of the difference and the ratio of means: approximate, not
    guaranteed, and without a range.

    Where delta is shared out among a list, so it is here. Nothing for a race, whose numbers of
    instances depend on costs, nothing where runs are censored, and nothing for other sampling
    units than independent instances, or seeds of one instance. The worst of `scored` runs is no
    failure.
    """
    if evidence.scope.kind != "independent" or evidence.scope.unit == "family":
        return ()
    evidence = evidence.against(default)
    runs = evidence.runs.select(configurations=[evidence.configuration, default])
    both = (runs.counts() > 0).all(axis=0)
    if evidence.at_all_times or runs.censored.any() or both.sum() < 2:
        return ()
    failed, charged = failed_runs(runs)
    if failed.any() and not math.isfinite(runs.high):
        return ()  # what a failed run costs is not known, so no mean is
    (ours, theirs), late = runs.costs[:, both], failed[:, both]
    # Where runs can fail, a sample without failures is no better than one with too few of them.
    can_fail = failed.any() or (math.isfinite(runs.high) and not scored)
    watched = runs.utility is None and charged and can_fail
    options: dict[str, Any] = {
        "delta": delta * evidence.share,
        "timeouts": tuple(late) if watched else None,
    }
    made = [approximate.mean_difference(ours, theirs, **options)]
    if runs.utility is None and np.nanmin(runs.costs) >= 0:
        made.append(approximate.mean_ratio(ours, theirs, **options))
    return tuple(made)


def are_times(runs: CostMatrix) -> bool:
    """Whether costs are running times: runs are known to be stopped at a cutoff, or some were."""
    return runs.cutoff is not None or (
        runs.statuses is not None and bool((runs.statuses == Status.TIMEOUT).any())
    )


def times_of(runs: CostMatrix, failed: BoolArray) -> list[Ends]:
    """Running times of each configuration, with what is known of those of failed and of censored
    runs.

    A run that failed took the cutoff at least. Where that is not known, what was solved took no
    longer: the longest so far stands for it, that of the same instance included, so that no later
    instance has a part in it.
    """
    costs, censored = runs.costs, runs.censored
    solved = np.where(failed | censored | np.isnan(costs), 0.0, costs).max(axis=(0, 2))
    longest = (
        np.maximum.accumulate(solved) if runs.cutoff is None else np.full(len(solved), runs.cutoff)
    )
    return [
        Ends(
            lower=np.where(lost, longest[:, np.newaxis], cost),
            upper=np.where(lost | stopped, np.inf, cost),
        )
        for cost, lost, stopped in zip(costs, failed, censored, strict=True)
    ]


def failed_runs(runs: CostMatrix) -> tuple[BoolArray, bool]:
    """Which runs failed, and whether timeouts are among them: one that costs less than some that
    were solved is no failure.
    """
    statuses = runs.statuses
    if statuses is None or not runs.has_statuses:
        return runs.failed, True
    late = statuses == Status.TIMEOUT
    most = np.max(runs.costs[statuses == Status.SOLVED], initial=-np.inf)
    charged = not (runs.costs[late] < most).any()
    return (runs.failed if charged else runs.failed & ~late), charged


# More levels make finer steps, and each of them less certain.
LEVELS = tuple(level / 10 for level in range(1, 10))


@dataclass(frozen=True, slots=True, kw_only=True)
class CostBand:
    """Where the quantiles of a configuration's costs lie, with probability 1 − delta all at once.

    Attributes
    ----------
    levels
        Shares of runs, rising.
    lower
        The cost that the quantile at each level is at least; −inf if nothing is known.
    upper
        The cost that it is at most; inf if nothing is known.
    delta
        The probability with which any of them may be wrong.
    """

    levels: tuple[float, ...]
    lower: tuple[float, ...]
    upper: tuple[float, ...]
    delta: float

    def at(self, cost: float) -> tuple[float, float]:
        """Return what the share of runs with at most this cost is at least and at most."""
        # A quantile of at most `cost` leaves its share at or below it; one above `cost` does not.
        reached = [p for p, end in zip(self.levels, self.upper, strict=True) if end <= cost]
        missed = [p for p, end in zip(self.levels, self.lower, strict=True) if end > cost]
        return max(reached, default=0.0), min(missed, default=1.0)


def cost_band(evidence: Evidence | Refusal, asked: Question) -> CostBand | Refusal:
    """Return the band of the evidence's configuration: δ is shared by all levels and both sides."""
    if isinstance(evidence, Refusal):
        return evidence
    sampled = sample_of(evidence, None, asked.rng(Stream.ORDER))
    if isinstance(sampled, Refusal):
        return sampled
    sample, look, part = sampled
    spent = asked.delta * evidence.share * part / (2 * len(LEVELS))
    ends: dict[str, list[float]] = {"lower": [], "upper": []}
    for level in LEVELS:
        quantity = quantile(level)
        if (reason := quantity.refusal(sample)) is not None:
            return Refusal(reason)
        ends["lower"].append(limit(quantity, sample, "lower", spent, look).value)
        ends["upper"].append(limit(quantity, sample, "upper", spent, look).value)
    return CostBand(
        levels=LEVELS, lower=tuple(ends["lower"]), upper=tuple(ends["upper"]), delta=asked.delta
    )
