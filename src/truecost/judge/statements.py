"""From evidence to statements: every quantity with its guaranteed limits."""

import math
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

import numpy as np

from truecost.arrays import FloatArray
from truecost.errors import counted
from truecost.judge.assessment import Ladder, SameInstances, Statement
from truecost.judge.costs import common_runs, known_means, units_of
from truecost.judge.evidence import Evidence
from truecost.matrix import CostMatrix
from truecost.matrix.log import Sampled
from truecost.stats import approximate, ladder, quantities
from truecost.stats.quantities import Limits, Numbers, Runs, Scale, limits

# Times below this part of the cutoff are not told apart in a median speed-up.
SHORTEST: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Pair:
    """Runs of two configurations on the units that both have, and how they may be used."""

    runs: CostMatrix  # of the two
    winner: str
    default: str
    sampled: Sampled
    source: Literal["test", "training"] = "training"
    delta: float = math.nan  # of each limit of a comparison; NaN: no statement can be made
    planned: int = 0
    watched: bool = False
    seed: int = 0

    @property
    def ours(self) -> Runs:
        """The winner's."""
        return runs_of(self.runs, self.winner, self.sampled)

    @property
    def theirs(self) -> Runs:
        """The default's."""
        return runs_of(self.runs, self.default, self.sampled)

    @property
    def scale(self) -> Scale:
        """The range of costs."""
        return scale_of(self.runs)

    @property
    def families(self) -> tuple[str, ...] | None:
        """The family of each instance, where families are the units."""
        return self.runs.families if self.sampled == "family" else None

    @property
    def units(self) -> int:
        """How many units there are."""
        return len(self.ours.costs) if self.families is None else len(set(self.families))

    @property
    def bounded(self) -> bool:
        """Whether the range of costs is known."""
        return math.isfinite(self.runs.width)

    @property
    def timed(self) -> bool:
        """Whether costs are running times with a penalty."""
        return self.runs.par is not None

    def unit_costs(self) -> tuple[FloatArray, FloatArray]:
        """The mean cost of each unit, of the winner and of the default."""
        means = known_means(np.stack([self.ours.costs, self.theirs.costs]))
        ours, theirs = units_of(means, self.families)
        return ours, theirs

    def limits(self, numbers: Numbers) -> Limits:
        """The guaranteed limits of a quantity."""
        if self.families is not None:
            numbers = numbers.by_family(self.families)
        return limits(
            numbers, self.delta, planned=self.planned, watched=self.watched, rng=self.seed
        )


def scale_of(runs: CostMatrix) -> Scale:
    """The range of the costs of a matrix."""
    return Scale(low=runs.low, high=runs.high, cutoff=runs.cutoff, par=runs.par)


def runs_of(runs: CostMatrix, name: str, sampled: Sampled) -> Runs:
    """The runs of one configuration: a row for each instance, or for each run of a single one."""
    place = runs.configurations.index(name)
    parts = {"costs": runs.charged, "failed": runs.failed, "seeds": runs.seeds}
    rows = {name: part[place] for name, part in parts.items() if part is not None}
    return Runs(**{name: row.T if sampled == "seed" else row for name, row in rows.items()})


def pair_of(
    runs: CostMatrix, winner: str, default: str, sampled: Sampled, **terms: Any
) -> Pair | None:
    """The runs of both on the instances that both have; None without any."""
    both = common_runs(runs, [winner, default], sampled)
    if both is None:
        return None
    both = both.select(configurations=[winner, default])
    return Pair(runs=both, winner=winner, default=default, sampled=sampled, **terms)


def evidence_pair(evidence: Evidence, winner: str, default: str, delta: float, seed: int) -> Pair:
    """The pair with the terms on which the evidence allows statements."""
    return Pair(
        runs=evidence.runs.select(configurations=[winner, default]),
        winner=winner,
        default=default,
        sampled=evidence.sampled,
        source=evidence.source,
        delta=delta * evidence.share / evidence.rivals,
        planned=evidence.planned,
        watched=evidence.watched,
        seed=seed,
    )


def mean_statements(
    evidence: Evidence, winner: str, delta: float, seed: int
) -> tuple[Statement, ...]:
    """The mean cost of the winner alone, and its solved share."""
    runs, families = evidence.runs, evidence.families
    side, scale = runs_of(runs, winner, evidence.sampled), scale_of(runs)
    delta *= evidence.share / evidence.candidates
    means = units_of(known_means(side.costs[np.newaxis]), families)[0]
    got = [("mean", Limits(float(means.mean()), -math.inf, math.inf))]
    numbers = [quantities.mean(side, scale)] if math.isfinite(runs.width) else []
    numbers += [quantities.solved(side, scale)] if runs.can_fail else []
    for one in numbers:
        by_unit = one if families is None else one.by_family(families)
        how = {"planned": evidence.planned, "watched": evidence.watched, "rng": seed}
        got.append((one.quantity, limits(by_unit, delta, **how)))  # type: ignore[arg-type]
    return tuple(
        Statement(
            quantity=quantity,
            configuration=winner,
            observed=found.observed,
            lower=found.lower,
            upper=found.upper,
            delta=delta,
            units=means.size,
            smaller_is_better=quantity == "mean",
            penalty=scale.par if quantity == "mean" else None,
        )
        for quantity, found in dict(got).items()
    )


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
        delta=pair.delta,
        no_difference=0.0,
        units=pair.units,
        penalty=pair.scale.par,
    )
    if math.isnan(pair.delta):
        return statement
    statement = replace(statement, **_approximate(pair, gaps))
    if not pair.bounded:
        return statement
    got = pair.limits(quantities.difference(pair.ours, pair.theirs, pair.scale))
    if ranges is None:
        return replace(statement, lower=got.lower, upper=got.upper, proven=got.direction)
    return replace(statement, **_on_ladder(got, ranges, pair.scale.par))


def _on_ladder(got: Limits, ranges: ladder.PenaltyRanges, penalty: float | None) -> dict[str, Any]:
    """Limits at a penalty that say no more than the grade there."""
    proven = _within(penalty, ranges.worse) - _within(penalty, ranges.better)
    return {
        "lower": max(got.lower, 0.0) if proven > 0 else min(got.lower, 0.0),
        "upper": min(got.upper, 0.0) if proven < 0 else max(got.upper, 0.0),
        "proven": proven,
    }


def _within(value: float | None, ends: tuple[float, float] | None) -> int:
    return int(value is not None and ends is not None and ends[0] <= value <= ends[1])


def _approximate(pair: Pair, gaps: FloatArray) -> dict[str, Any]:
    """The approximate interval, for one look or at the planned end."""
    if pair.watched and pair.units != pair.planned:
        planned = counted(pair.planned, pair.sampled)
        beyond = f"No approximate interval: more than the {planned} planned were run."
        before = f"No approximate interval before all {planned} are run."
        return {"no_approximate": beyond if pair.units > pair.planned else before}
    discordant = None
    if pair.runs.can_fail:
        discordant = quantities.discordant(pair.ours, pair.theirs, pair.families)
    interval = approximate.probably(gaps, pair.delta, discordant=discordant, unit=pair.sampled)
    if interval.reason:
        return {"no_approximate": interval.reason}
    ends = (interval.lower, interval.upper)
    return {"approximate": ends, "probably": interval.direction != 0}


def penalty_ranges(pair: Pair) -> ladder.PenaltyRanges | None:
    """For which penalties better or worse is proven; None where costs have no ladder."""
    if math.isnan(pair.delta) or not ladder.has_ladder(pair.scale):
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
    statements = []
    for penalty in ranges.tried:
        if penalty == declared.penalty:
            statements.append(declared)
            continue
        if math.isinf(penalty):
            numbers = quantities.solved_difference(pair.theirs, pair.ours, pair.scale)
        else:
            numbers = quantities.difference(pair.ours, pair.theirs, pair.scale, penalty)
        got = pair.limits(numbers)
        statements.append(
            replace(
                declared,
                observed=got.observed,
                approximate=None,
                no_approximate="",
                probably=False,
                penalty=penalty,
                **_on_ladder(got, ranges, penalty),
            )
        )
    sign = (declared.observed > 0) - (declared.observed < 0)
    # Proven in one direction at some penalty, observed in the other at the declared one.
    mixed = (ranges.better is not None and sign > 0) or (ranges.worse is not None and sign < 0)
    # What an earlier look proved stays proven, whatever is observed now.
    mixed &= not declared.proven
    return Ladder(
        tried=ranges.tried,
        statements=tuple(statements),
        better=ranges.better,
        worse=ranges.worse,
        declared=float(pair.scale.par or 1.0),
        mixed=bool(mixed),
    )


def comparison(pair: Pair, numbers: Numbers, **fields: Any) -> Statement:
    """A statement on a quantity of which more is better for the winner."""
    got = pair.limits(numbers)
    statement = Statement(
        quantity=numbers.quantity,
        configuration=pair.winner,
        default=pair.default,
        observed=got.observed,
        lower=got.lower,
        upper=got.upper,
        proven=got.direction,
        delta=pair.delta,
        no_difference=numbers.decide,
        smaller_is_better=False,
        units=pair.units,
    )
    return replace(statement, **fields)


def comparisons(pair: Pair, margin: float | None) -> list[Statement]:
    """All comparisons besides the difference of means."""
    ours, theirs, scale = pair.ours, pair.theirs, pair.scale
    made = [comparison(pair, quantities.wins(ours, theirs, scale))]
    if margin is not None and pair.bounded:
        there = quantities.margin(ours, theirs, scale, margin)
        back = quantities.margin(theirs, ours, scale, margin)
        turned = {"configuration": pair.default, "default": pair.winner}
        made.append(comparison(pair, there, penalty=scale.par))
        made.append(comparison(pair, back, penalty=scale.par, **turned))
    if pair.runs.can_fail:
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
    solved: dict[str, int | None] = {}
    ratio = None
    if pair.runs.can_fail:
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
        instances=len(pair.runs.instances),
        source=pair.source,
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
