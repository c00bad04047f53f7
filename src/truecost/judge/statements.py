"""From evidence to statements: every quantity with its guaranteed limits."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from truecost.arrays import BoolArray, FloatArray
from truecost.judge.assessment import Ladder, SameInstances, Statement
from truecost.judge.costs import instance_means, units_of
from truecost.judge.evidence import Evidence
from truecost.matrix import CostMatrix
from truecost.matrix.log import Sampled
from truecost.stats import approximate, ladder, quantities
from truecost.stats.quantities import Numbers, Runs, Scale, limits

# Times below this part of the cutoff are not told apart in a median speed-up.
SHORTEST: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Pair:
    """Runs of two configurations on the units that both have, and how they may be used.

    `delta` is the error probability left for each limit of a comparison; None: no statement can be
    made.
    """

    winner: str
    default: str
    ours: Runs
    theirs: Runs
    scale: Scale
    sampled: Sampled
    families: tuple[str, ...] | None
    instances: int
    can_fail: bool
    timed: bool
    source: str = "training"
    delta: float | None = None
    planned: int = 0
    watched: bool = False
    candidates: int = 1
    seed: int = 0

    @property
    def units(self) -> int:
        """How many units there are."""
        return len(self.ours.costs) if self.families is None else len(set(self.families))

    @property
    def bounded(self) -> bool:
        """Whether the range of costs is known."""
        return math.isfinite(self.scale.high - self.scale.low)

    def unit_costs(self) -> tuple[FloatArray, FloatArray]:
        """The mean cost of each unit, of the winner and of the default."""
        means = instance_means(np.stack([self.ours.costs, self.theirs.costs]))
        ours, theirs = units_of(means, self.families)
        return ours, theirs


def scale_of(runs: CostMatrix) -> Scale:
    """The range of the costs of a matrix."""
    return Scale(low=runs.low, high=runs.high, cutoff=runs.cutoff, par=runs.par)


def runs_of(runs: CostMatrix, name: str, kept: BoolArray, sampled: Sampled) -> Runs:
    """The runs of one configuration: a row for each instance, or for each run of a single one."""
    place = runs.configurations.index(name)
    costs, failed = runs.charged[place][kept], runs.failed[place][kept]
    seeds = None if runs.seeds is None else runs.seeds[place][kept]
    if sampled == "seed":
        costs, failed = costs.T, failed.T
        seeds = None if seeds is None else seeds.T
    return Runs(costs=costs, failed=failed & ~np.isnan(costs), seeds=seeds)


def pair_of(
    runs: CostMatrix, winner: str, default: str, sampled: Sampled, **terms: object
) -> Pair | None:
    """The runs of both on the instances that both have; None without any."""
    both = np.asarray((runs.select(configurations=[winner, default]).counts() > 0).all(axis=0))
    if not both.any():
        return None
    sides = [runs_of(runs, name, both, sampled) for name in (winner, default)]
    if sampled == "seed":
        there = ~(np.isnan(sides[0].costs) | np.isnan(sides[1].costs))[:, 0]
        if not there.any():
            return None
        sides = [
            replace(
                side,
                costs=side.costs[there],
                failed=side.failed[there],
                seeds=None if side.seeds is None else side.seeds[there],
            )
            for side in sides
        ]
    families = None
    if sampled == "family" and runs.families is not None:
        families = tuple(np.array(runs.families, dtype=object)[both].tolist())
    return Pair(
        winner=winner,
        default=default,
        ours=sides[0],
        theirs=sides[1],
        scale=scale_of(runs),
        sampled=sampled,
        families=families,
        instances=int(both.sum()),
        can_fail=runs.can_fail,
        timed=runs.cutoff is not None and runs.par is not None,
        **terms,  # type: ignore[arg-type]
    )


def evidence_pair(
    evidence: Evidence, winner: str, default: str, delta: float, seed: int
) -> Pair | None:
    """The pair with the terms on which the evidence allows statements."""
    return pair_of(
        evidence.runs,
        winner,
        default,
        evidence.sampled,
        source=evidence.source,
        delta=delta * evidence.share / evidence.rivals,
        planned=evidence.planned,
        watched=evidence.watched,
        candidates=evidence.rivals,
        seed=seed,
    )


def mean_statements(
    evidence: Evidence, winner: str, delta: float, seed: int
) -> tuple[Statement, ...]:
    """The mean cost of the winner alone, and its solved share."""
    runs, sampled = evidence.runs, evidence.sampled
    kept = (runs.select(configurations=[winner]).counts() > 0)[0]
    side, scale = runs_of(runs, winner, kept, sampled), scale_of(runs)
    there = ~np.isnan(side.costs).all(axis=1)
    side = replace(side, costs=side.costs[there], failed=side.failed[there], seeds=None)
    families = None
    if sampled == "family" and runs.families is not None:
        families = tuple(np.array(runs.families, dtype=object)[kept].tolist())
    share = delta * evidence.share / evidence.candidates
    means = units_of(instance_means(side.costs[np.newaxis]), families)[0]
    terms = {"configuration": winner, "delta": share, "units": means.size}

    def stated(make: Callable[[Runs, Scale], Numbers]) -> dict[str, float]:
        numbers = make(side, scale)
        numbers = numbers if families is None else numbers.by_family(families)
        got = limits(numbers, share, planned=evidence.planned, watched=evidence.watched, rng=seed)
        return {"observed": got.observed, "lower": got.lower, "upper": got.upper}

    if math.isfinite(scale.high - scale.low):
        values = stated(quantities.mean)
    else:
        values = {"observed": float(means.mean()), "lower": -math.inf, "upper": math.inf}
    made = [Statement(quantity="mean", penalty=scale.par, **terms, **values)]  # type: ignore[arg-type]
    if runs.can_fail:
        solved = stated(quantities.solved)
        made.append(
            Statement(quantity="solved", smaller_is_better=False, **terms, **solved)  # type: ignore[arg-type]
        )
    return tuple(made)


def compare_means(pair: Pair, ranges: ladder.PenaltyRanges | None) -> Statement:
    """The difference of mean costs at the declared penalty.

    With several penalties it is proven at the declared one only if it is proven at all from 2 on.
    """
    ours, theirs = pair.unit_costs()
    gaps = ours - theirs
    statement = Statement(
        quantity="difference",
        configuration=pair.winner,
        default=pair.default,
        observed=float(gaps.mean()),
        lower=-math.inf,
        upper=math.inf,
        delta=math.nan if pair.delta is None else pair.delta,
        no_difference=0.0,
        units=pair.units,
        penalty=pair.scale.par,
    )
    if pair.delta is None:
        return statement
    statement = replace(statement, **_approximate(pair, gaps))  # type: ignore[arg-type]
    if not pair.bounded:
        return statement
    numbers = _numbers(pair, quantities.difference(pair.ours, pair.theirs, pair.scale))
    got = limits(numbers, pair.delta, planned=pair.planned, watched=pair.watched, rng=pair.seed)
    lower, upper, proven = got.lower, got.upper, got.direction
    if ranges is not None:
        declared = pair.scale.par
        proven = -_within(declared, ranges.better) + _within(declared, ranges.worse)
        # Limits never say more than the grade.
        upper = min(upper, 0.0) if proven < 0 else max(upper, 0.0)
        lower = max(lower, 0.0) if proven > 0 else min(lower, 0.0)
    return replace(statement, lower=lower, upper=upper, proven=proven)


def _within(value: float | None, ends: tuple[float, float] | None) -> int:
    return int(value is not None and ends is not None and ends[0] <= value <= ends[1])


def _approximate(pair: Pair, gaps: FloatArray) -> dict[str, object]:
    """The approximate interval, for one look or at the planned end."""
    assert pair.delta is not None  # noqa: S101 - the caller has looked
    if pair.watched and pair.units != pair.planned:
        return {
            "no_approximate": "The approximate interval is for the planned end: "
            f"{pair.units} of {pair.planned} units are there."
        }
    discordant = None
    if pair.can_fail:
        discordant = quantities.discordant(pair.ours, pair.theirs, pair.families)
    interval = approximate.probably(gaps, pair.delta, discordant=discordant)
    if interval.reason:
        reason = interval.reason[0].upper() + interval.reason[1:]
        return {"no_approximate": f"No approximate interval: {reason[0].lower()}{reason[1:]}."}
    return {
        "approximate": (interval.lower, interval.upper),
        "probably": interval.direction != 0,
    }


def _numbers(pair: Pair, numbers: Numbers) -> Numbers:
    return numbers if pair.families is None else numbers.by_family(pair.families)


def penalty_ranges(pair: Pair) -> ladder.PenaltyRanges | None:
    """For which penalties better or worse is proven; None where costs have no ladder."""
    if pair.delta is None or not pair.timed or not ladder.has_ladder(pair.scale):
        return None
    return ladder.penalty_ranges(
        pair.ours,
        pair.theirs,
        pair.scale,
        pair.delta,
        families=pair.families,
        planned=pair.planned,
        watched=pair.watched,
        rng=pair.seed,
    )


def ladder_of(pair: Pair, ranges: ladder.PenaltyRanges, declared: Statement) -> Ladder:
    """The ladder with a statement at each penalty that was tried."""
    assert pair.delta is not None  # noqa: S101 - there is a ladder
    statements = []
    for penalty in ranges.tried:
        if penalty == declared.penalty:
            statements.append(declared)
            continue
        if math.isinf(penalty):
            numbers = quantities.solved_difference(pair.theirs, pair.ours, pair.scale)
        else:
            numbers = quantities.difference(pair.ours, pair.theirs, pair.scale, penalty)
        got = limits(
            _numbers(pair, numbers),
            pair.delta,
            planned=pair.planned,
            watched=pair.watched,
            rng=pair.seed,
        )
        proven = -_within(penalty, ranges.better) + _within(penalty, ranges.worse)
        statements.append(
            replace(
                declared,
                observed=got.observed,
                lower=max(got.lower, 0.0) if proven > 0 else min(got.lower, 0.0),
                upper=min(got.upper, 0.0) if proven < 0 else max(got.upper, 0.0),
                proven=proven,
                approximate=None,
                no_approximate="",
                probably=False,
                penalty=penalty,
            )
        )
    sign = (declared.observed > 0) - (declared.observed < 0)
    # Proven in one direction at some penalty, observed in the other at the declared one.
    mixed = (ranges.better is not None and sign > 0) or (ranges.worse is not None and sign < 0)
    return Ladder(
        tried=ranges.tried,
        statements=tuple(statements),
        better=ranges.better,
        worse=ranges.worse,
        declared=float(pair.scale.par or 1.0),
        mixed=bool(mixed),
    )


def comparison(
    pair: Pair, numbers: Numbers, *, shift: float | None = None, reverse: bool = False
) -> Statement:
    """A statement on a quantity of which more is better for the winner."""
    assert pair.delta is not None  # noqa: S101 - the caller has looked
    got = limits(
        _numbers(pair, numbers),
        pair.delta,
        planned=pair.planned,
        watched=pair.watched,
        rng=pair.seed,
    )
    names = (pair.default, pair.winner) if reverse else (pair.winner, pair.default)
    return Statement(
        quantity=numbers.quantity,
        configuration=names[0],
        default=names[1],
        observed=got.observed,
        lower=got.lower,
        upper=got.upper,
        proven=got.direction,
        delta=pair.delta,
        no_difference=numbers.decide,
        smaller_is_better=False,
        units=pair.units,
        shift=shift,
        penalty=pair.scale.par if numbers.quantity == "margin" else None,
    )


def comparisons(pair: Pair, margin: float | None) -> list[Statement]:
    """All comparisons besides the difference of means."""
    ours, theirs, scale = pair.ours, pair.theirs, pair.scale
    made = [comparison(pair, quantities.wins(ours, theirs, scale))]
    if margin is not None and pair.bounded:
        made.append(comparison(pair, quantities.margin(ours, theirs, scale, margin)))
        back = quantities.margin(theirs, ours, scale, margin)
        made.append(comparison(pair, back, reverse=True))
    if pair.can_fail:
        made.append(comparison(pair, quantities.solved_difference(ours, theirs, scale)))
    if pair.timed:
        if pair.families is None and not pair.watched:
            # With very short cutoffs a hundredth of a second is no short time.
            clock = min(quantities.CLOCK, (scale.cutoff or 1.0) / SHORTEST)
            numbers = quantities.median_speed_up(ours, theirs, scale, clock)
            made.append(comparison(pair, numbers, shift=clock))
        numbers = quantities.geometric_speed_up(ours, theirs, scale)
        made.append(comparison(pair, numbers, shift=quantities.shift_of(scale)))
    return made


def same_instances(pair: Pair, difference: Statement, wins: Statement | None) -> SameInstances:
    """Winner and default on the same instances, run by run."""
    ours, theirs = pair.unit_costs()
    there = pair.ours.there & pair.theirs.there
    mine, rival = pair.ours.failed, pair.theirs.failed
    costs = [np.where(side.failed, np.inf, side.costs) for side in (pair.ours, pair.theirs)]
    if not pair.can_fail:
        costs = [pair.ours.costs, pair.theirs.costs]
    solved: dict[str, int | None] = {}
    ratio = None
    if pair.can_fail:
        both = there & ~mine & ~rival
        solved = {
            "solved_both": int(both.sum()),
            "solved_only_winner": int((there & ~mine & rival).sum()),
            "solved_only_default": int((there & mine & ~rival).sum()),
            "solved_neither": int((there & mine & rival).sum()),
        }
        if pair.timed and both.any() and (spent := float(pair.ours.costs[both].sum())) > 0:
            ratio = float(pair.theirs.costs[both].sum()) / spent
    return SameInstances(
        winner=pair.winner,
        default=pair.default,
        units=pair.units,
        unit=pair.sampled,
        instances=1 if pair.sampled == "seed" else pair.instances,
        source="test" if pair.source == "test" else "training",
        winner_cost=float(ours.mean()),
        default_cost=float(theirs.mean()),
        difference=difference,
        won=int((there & (costs[0] < costs[1])).sum()),
        tied=int((there & (costs[0] == costs[1])).sum()),
        lost=int((there & (costs[0] > costs[1])).sum()),
        wins=wins,
        time_ratio=ratio,
        # Of an unknown range nobody knows; costs that were negative settle it.
        positive=not (-math.inf < pair.scale.low < 0) and not min(map(np.nanmin, costs)) < 0,
        **solved,
    )
