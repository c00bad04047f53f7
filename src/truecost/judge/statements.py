"""From evidence to statements: every quantity with its guaranteed limits."""

import math
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

import numpy as np

from truecost.arrays import FloatArray
from truecost.errors import counted
from truecost.judge.assessment import Ladder, SameInstances, Statement
from truecost.judge.costs import common_runs, known_means, units_of
from truecost.judge.evidence import Evidence, count_units
from truecost.judge.question import Question
from truecost.matrix import CostMatrix
from truecost.matrix.log import Sampled
from truecost.stats import approximate, quantities
from truecost.stats.ladder import PenaltyRanges, has_ladder, penalty_ranges
from truecost.stats.quantities import Limits, Numbers, Runs, Scale, limits

# Times below this part of the cutoff are not told apart in a median speed-up.
SHORTEST: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Pair:
    """Winner (`ours`) and default (`theirs`) on the units that both have."""

    runs: CostMatrix  # of the two, the winner first
    ours: Runs
    theirs: Runs
    scale: Scale
    sampled: Sampled

    @property
    def families(self) -> tuple[str, ...] | None:
        """The family of each instance, where families are the units."""
        return self.runs.families if self.sampled == "family" else None

    @property
    def bounded(self) -> bool:
        """Whether the range of costs is known."""
        return math.isfinite(self.runs.width)

    def unit_costs(self) -> FloatArray:
        """The mean cost of each unit, of winner and default."""
        return units_of(known_means(np.stack([self.ours.costs, self.theirs.costs])), self.families)


def pair_of(runs: CostMatrix, winner: str, default: str, sampled: Sampled) -> Pair | None:
    """The runs of both on the instances that both have; None without any."""
    names = [winner, default]
    if not set(names) <= set(runs.configurations):
        return None
    if (common := common_runs(runs, names, sampled)) is None:
        return None
    return Pair(
        runs=common.select(configurations=names),
        ours=_runs_of(common, winner, sampled),
        theirs=_runs_of(common, default, sampled),
        scale=_scale_of(common),
        sampled=sampled,
    )


def _runs_of(runs: CostMatrix, name: str, sampled: Sampled) -> Runs:
    """The runs of one configuration: a row for each instance, or for each run of a single one."""
    place = runs.configurations.index(name)
    parts = {"costs": runs.charged, "failed": runs.failed, "seeds": runs.seeds}
    rows = {name: part[place] for name, part in parts.items() if part is not None}
    return Runs(**{name: row.T if sampled == "seed" else row for name, row in rows.items()})


def _scale_of(runs: CostMatrix) -> Scale:
    return Scale(low=runs.low, high=runs.high, cutoff=runs.cutoff, par=runs.par)


def same_instances(pair: Pair, source: Literal["test", "training"]) -> SameInstances:
    """Winner and default on the same instances, run by run."""
    costs = pair.unit_costs()
    cost, rival = costs.mean(axis=1).tolist()
    sides, paired = (pair.ours, pair.theirs), pair.ours.present & pair.theirs.present
    # A failed run loses, whatever it cost.
    mine, theirs = (np.where(side.failed, np.inf, side.costs)[paired] for side in sides)
    # Where the range is unknown, the costs seen may settle that per cent mean nothing.
    negative = -math.inf < pair.scale.low < 0 or bool(np.nanmin(pair.runs.costs) < 0)
    solved: list[int | None] = [None, None]
    if pair.runs.can_fail:
        solved = [int((paired & ~side.failed).sum()) for side in sides]
    return SameInstances(
        source=source,
        runs=pair.runs,
        unit=pair.sampled,
        units=count_units(pair.runs, pair.sampled),
        instances=len(pair.runs.instances),
        winner_cost=cost,
        default_cost=rival,
        difference=float(np.subtract(*costs).mean()),
        change=None if negative else relative_change(cost, rival),
        won=int((mine < theirs).sum()),
        tied=int((mine == theirs).sum()),
        lost=int((mine > theirs).sum()),
        winner_solved=solved[0],
        default_solved=solved[1],
    )


def relative_change(new: float, old: float) -> float | None:
    """(new − old) / old where a per cent means something: both positive and not near 0."""
    if not (new >= 0 and old > 0 and math.isfinite(new) and math.isfinite(old)):
        return None
    change = (new - old) / old
    return change if change <= 10 else None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Terms:
    """Whom statements are about, and on which terms."""

    evidence: Evidence
    configuration: str
    default: str | None
    delta: float
    seed: int

    @property
    def looks(self) -> dict[str, Any]:
        """How often the results may have been looked at, and the seed of the orders."""
        planned = self.evidence.planned if self.evidence.watched else None
        return {"planned": planned, "rng": self.seed}

    def state(self, numbers: Numbers, **fields: Any) -> Statement:
        """A statement on a quantity."""
        quantity, decide = numbers.quantity, numbers.decide
        if (families := self.evidence.families) is not None:
            numbers = numbers.by_family(families)
        ends = limits(numbers, self.delta, **self.looks)
        return self.with_limits(ends, quantity=quantity, no_difference=decide, **fields)

    def with_limits(self, ends: Limits, **fields: Any) -> Statement:
        """A statement with these limits."""
        usual = {
            "configuration": self.configuration,
            "default": self.default,
            "delta": self.delta,
            "observed": ends.observed,
            "lower": ends.lower,
            "upper": ends.upper,
            "proven": ends.direction,
        }
        return Statement(**usual | fields)


def _unknown(observed: float) -> Limits:
    """What is known of a mean whose range is not: what was observed."""
    return Limits(observed, -math.inf, math.inf)


def make_statements(
    evidence: Evidence, question: Question, winner: str, default: str | None
) -> tuple[tuple[Statement, ...], Ladder | None]:
    """All statements, the primary one first; and the difference of means at several penalties."""
    delta = question.delta * evidence.share
    terms = _Terms(
        evidence=evidence,
        configuration=winner,
        default=None,
        delta=delta / evidence.candidates,
        seed=question.seed,
    )
    alone = _alone(terms)
    pair = None
    if default is not None:
        pair = pair_of(evidence.runs, winner, default, evidence.sampled)
    if pair is None:
        return alone, None
    terms = replace(terms, default=default, delta=delta / evidence.rivals)
    difference, penalties = _difference(pair, terms)
    wins = terms.state(quantities.wins(pair.ours, pair.theirs, pair.scale))
    first = (wins, difference) if question.primary == "wins" else (difference, wins)
    return (*first, *_others(pair, terms, question.margin_share), *alone), penalties


def _alone(terms: _Terms) -> tuple[Statement, ...]:
    """The mean cost of the winner alone, and its solved share."""
    evidence, runs = terms.evidence, terms.evidence.runs
    side, scale = _runs_of(runs, terms.configuration, evidence.sampled), _scale_of(runs)
    if math.isfinite(runs.width):
        mean = terms.state(quantities.mean(side, scale), penalty=scale.par)
    else:
        observed = units_of(known_means(side.costs[np.newaxis]), evidence.families).mean()
        mean = terms.with_limits(_unknown(float(observed)), quantity="mean")
    return (mean, terms.state(quantities.solved(side))) if runs.can_fail else (mean,)


def _difference(pair: Pair, terms: _Terms) -> tuple[Statement, Ladder | None]:
    """The difference of mean costs at the declared penalty, and at others.

    With several penalties it is proven at the declared one only if it is proven at all from 2 on.
    """
    gaps, scale = np.subtract(*pair.unit_costs()), pair.scale
    observed = float(gaps.mean())
    fields = {"observed": observed, "penalty": scale.par, **_approximate(pair, terms, gaps)}
    if not pair.bounded:
        fields |= {"quantity": "difference", "no_difference": 0.0}
        return terms.with_limits(_unknown(observed), **fields), None
    declared = terms.state(quantities.difference(pair.ours, pair.theirs, scale), **fields)
    if not has_ladder(scale):
        return declared, None
    ranges = penalty_ranges(
        pair.ours, pair.theirs, scale, terms.delta, families=pair.families, **terms.looks
    )
    declared, others = _on_ladder(declared, ranges), []
    for penalty, ends in ranges.limits.items():
        other = terms.with_limits(ends, quantity="difference", no_difference=0.0, penalty=penalty)
        others.append(declared if penalty == scale.par else _on_ladder(other, ranges))
    # What an earlier look proved stays proven, whatever is observed now.
    mixed = not declared.proven and (
        (ranges.better is not None and observed > 0) or (ranges.worse is not None and observed < 0)
    )
    return declared, Ladder(
        statements=tuple(others), better=ranges.better, worse=ranges.worse, mixed=mixed
    )


def _on_ladder(statement: Statement, ranges: PenaltyRanges) -> Statement:
    """The statement with limits that say no more than the grade at its penalty."""

    def within(ends: tuple[float, float] | None) -> bool:
        return ends is not None and ends[0] <= (statement.penalty or 0.0) <= ends[1]

    proven = within(ranges.worse) - within(ranges.better)
    lower, upper = statement.lower, statement.upper
    return replace(
        statement,
        lower=max(lower, 0.0) if proven > 0 else min(lower, 0.0),
        upper=min(upper, 0.0) if proven < 0 else max(upper, 0.0),
        proven=proven,
    )


def _approximate(pair: Pair, terms: _Terms, gaps: FloatArray) -> dict[str, Any]:
    """The approximate interval, for one look or at the planned end."""
    units, planned = terms.evidence.units, terms.evidence.planned
    if terms.evidence.watched and units != planned:
        count = counted(planned, pair.sampled)
        beyond = f"No approximate interval: more than the {count} planned were run."
        before = f"No approximate interval before all {count} are run."
        return {"no_approximate": beyond if units > planned else before}
    discordant = None
    if pair.runs.can_fail:
        discordant = quantities.discordant(pair.ours, pair.theirs, pair.families)
    interval = approximate.probably(gaps, terms.delta, discordant=discordant, unit=pair.sampled)
    if interval.reason:
        return {"no_approximate": interval.reason}
    return {"approximate": (interval.lower, interval.upper)}


def _others(pair: Pair, terms: _Terms, margin: float | None) -> list[Statement]:
    """All comparisons besides the difference of means and the runs won."""
    ours, theirs, scale = pair.ours, pair.theirs, pair.scale
    made = []
    if margin is not None and pair.bounded:
        winner, default = terms.configuration, terms.default
        kept = quantities.margin(ours, theirs, scale, margin)
        back = quantities.margin(theirs, ours, scale, margin)
        made += [
            terms.state(kept, penalty=scale.par),
            terms.state(back, penalty=scale.par, configuration=default, default=winner),
        ]
    if pair.runs.can_fail:
        made.append(terms.state(quantities.solved_difference(ours, theirs)))
    if scale.par is not None:
        if pair.families is None and not terms.evidence.watched:
            # With very short cutoffs a hundredth of a second is no short time.
            clock = min(quantities.CLOCK, (scale.cutoff or 1.0) / SHORTEST)
            numbers = quantities.median_speed_up(ours, theirs, scale, clock)
            made.append(terms.state(numbers, shift=clock))
        numbers = quantities.geometric_speed_up(ours, theirs, scale)
        made.append(terms.state(numbers, shift=quantities.shift_of(scale)))
    return made
