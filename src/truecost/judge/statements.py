"""From evidence to statements: every quantity with its guaranteed limits."""

import math
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from truecost.arrays import FloatArray
from truecost.errors import counted
from truecost.judge.assessment import Ladder, Statement
from truecost.judge.costs import known_means, units_of
from truecost.judge.evidence import Evidence
from truecost.judge.pairs import Pair, pair_of, runs_of, scale_of
from truecost.judge.question import Question
from truecost.stats import approximate, quantities
from truecost.stats.ladder import has_ladder, penalty_ranges
from truecost.stats.quantities import Limits, Numbers, limits

# Times below this part of the cutoff count as equal in a median speed-up.
SHORTEST: Final = 100


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
        evidence = self.evidence
        planned = evidence.planned if evidence.watched else None
        return {"planned": planned, "one_look": evidence.one_look, "rng": self.seed}

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
    side, scale = runs_of(runs, terms.configuration, evidence.sampled), scale_of(runs)
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

    def state(ends: Limits, **fields: Any) -> Statement:
        return terms.with_limits(ends, quantity="difference", no_difference=0.0, **fields)

    gaps, scale = np.subtract(*pair.unit_costs()), pair.scale
    observed = float(gaps.mean())
    fields = {"observed": observed, "penalty": scale.par, **_approximate(pair, terms, gaps)}
    if not pair.bounded:
        return state(_unknown(observed), **fields), None
    sides = pair.ours, pair.theirs, scale
    if not has_ladder(scale):
        return terms.state(quantities.difference(*sides), **fields), None
    ranges = penalty_ranges(*sides, terms.delta, families=pair.families, **terms.looks)
    better, worse = ranges.better, ranges.worse
    at = {penalty: state(ends, penalty=penalty) for penalty, ends in ranges.limits.items()}
    declared = at[scale.par or math.inf] = replace(at[scale.par or math.inf], **fields)
    # What an earlier look proved stays proven, whatever is observed now.
    opposite = (better is not None and observed > 0) or (worse is not None and observed < 0)
    mixed = opposite and not declared.proven
    return declared, Ladder(
        statements=tuple(at.values()), better=better, worse=worse, mixed=mixed
    )  # fmt: skip


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
        if pair.families is None and terms.evidence.looked_once:
            # With very short cutoffs a hundredth of a second is no short time.
            clock = min(quantities.CLOCK, (scale.cutoff or 1.0) / SHORTEST)
            numbers = quantities.median_speed_up(ours, theirs, scale, clock)
            made.append(terms.state(numbers, shift=clock))
        numbers = quantities.geometric_speed_up(ours, theirs, scale)
        made.append(terms.state(numbers, shift=quantities.shift_of(scale)))
    return made
