"""How many new instances would prove a difference, and how many runs an error or a budget takes.

A forecast is never made from the runs that chose the winner: 29 of 34 logs of pure noise would be
promised success. Test runs may be used; of a list that was fixed before, random halves of the
instances choose and the other halves forecast. A tuned log has no such runs: the answer is then
what it would take if the winner truly cost 5, 10 or 20 % less.
"""

import math
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any, Literal, NamedTuple

import numpy as np

from truecost.arrays import FloatArray
from truecost.errors import InputError, counted
from truecost.judge.assess import as_recorded, default_of, row_of, winner_of
from truecost.judge.assessment import plain
from truecost.judge.costs import Costs, costs_of, known_means, units_of
from truecost.judge.evidence import Evidence, gather_evidence, unit_of
from truecost.judge.pairs import pair_of
from truecost.judge.question import Question
from truecost.matrix import CostMatrix, Log
from truecost.matrix.instances import named_once
from truecost.matrix.log import Sampled
from truecost.stats import quantities
from truecost.stats.allocation import even_sizes
from truecost.stats.betting import proving_samples
from truecost.stats.ladder import START, has_ladder
from truecost.stats.quantities import Numbers
from truecost.stats.variance import variance_components

# The share of simulated samples in which the difference must be proven, and how many there are.
POWER, DRAWS = 0.8, 200
MOST, MOST_RUNS = 5_000, 1e15
# Random halves of a list, and true differences of a tuned log, as shares of the default's cost.
HALVES, ASSUMED = 20, (0.05, 0.1, 0.2)

Pilot = Literal["test", "fixed before", "list", "none"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """How many new units would prove that the winner is better, at power `POWER`: None where the
    pilot does not point that way, infinite where `MOST` are not enough.

    `difference` is that of the pilot, or `assumed` as a share of the default's cost.
    """

    quantity: str
    penalty: float | None
    difference: float
    assumed: float | None
    units: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """Runs spread evenly over instances (S*), or over families where these are the units, and the
    standard error of their mean (Lemma 2).
    """

    instances: int
    runs: int
    standard_error: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """What would prove a difference, and what an error or a budget comes to.

    Attributes
    ----------
    pilot, units
        The basis of the runs that the forecast uses, and how many units they have.
    within, across
        Variance components of the winner's runs; negative estimates count as 0. NaN `within`: only
        their sum is known, and counts as `across`.
    now
        The standard error of the winner's cost as it is.
    best
        The fewest runs that reach `error`, or the least error that `budget` runs come to.
    """

    winner: str
    default: str | None
    pilot: Pilot
    units: int
    sampled: Sampled
    needs: tuple[Need, ...]
    delta: float
    within: float
    across: float
    now: Size
    error: float | None
    budget: int | None
    best: Size | None

    def summary(self) -> str:
        """The answer in a few lines."""
        return str(import_module("truecost.show.summaries").forecast_summary(self))

    def to_dict(self) -> dict[str, Any]:
        """Plain data; numbers that are not finite are None."""
        return dict(plain(self))

    def __repr__(self) -> str:
        return self.summary()


def plan(
    log: Log,
    question: Question | None = None,
    *,
    error: float | None = None,
    budget: int | None = None,
    instances: int | None = None,
) -> Forecast:
    """Plan a validation of the winner.

    Parameters
    ----------
    log, question
        The runs there are; whom it is about, what decides, δ, the unit and the seed.
    error, budget
        A standard error of the mean cost to reach, or how many runs can be made.
    instances
        How many instances there are at most; None: as many as needed.
    """
    if error is not None and budget is not None:
        raise InputError("An error and a budget are two questions. Give one of them.")
    for name, value in (("error", error), ("budget", budget), ("instances", instances)):
        if value is not None and not 0 < value < math.inf:
            raise InputError(f"{name} is {value:g}. Give a number above 0.")
    log = named_once(log)
    question = as_recorded(log, question or Question())
    plans = [(log.runs, log.plan), *([] if log.test is None else [(log.test, log.test_plan)])]
    # Seeds are the units only where no table has a second instance.
    sampled = unit_of(*max(plans, key=lambda pair: len(pair[0].instances)), question)
    winner = winner_of(log, question, _ranked(log.runs, sampled))
    default = default_of(log)
    pilot, comparisons = _forecast(log, question, sampled, winner, default)
    if (row := row_of(log, winner)) is None:
        raise InputError(f"{winner} has no runs. Name a configuration that has some.")
    within, across, now = _noise(row, sampled)
    if sampled == "family" and (error is not None or budget is not None):
        raise InputError("Runs for an error or a budget are planned for instances, not families.")
    if math.isnan(now.standard_error) and (error is not None or budget is not None):
        raise InputError(f"{winner} has too few runs to know their noise. Make more.")
    limit = 1 if sampled == "seed" else instances  # no run is on another instance
    return Forecast(
        winner=winner,
        default=default,
        pilot=pilot,
        units=max((one.numbers.values.size for one in comparisons), default=0),
        sampled=sampled,
        needs=tuple(need for one in comparisons for need in _needs(one, pilot, question)),
        delta=question.delta,
        within=within,
        across=across,
        now=now,
        error=error,
        budget=budget,
        best=_best_size(error, budget, float(np.nan_to_num(within)), across, limit),
    )


def _ranked(runs: CostMatrix, sampled: Sampled) -> Costs:
    return costs_of(runs, runs.families if sampled == "family" else None)


# ---- what would prove it -------------------------------------------------------------------------


class _Comparison(NamedTuple):
    """What decides as numbers, at a penalty, and the default's mean cost at it."""

    numbers: Numbers
    penalty: float | None = None
    cost: float = math.nan


def _forecast(
    log: Log, question: Question, sampled: Sampled, winner: str, default: str | None
) -> tuple[Pilot, list[_Comparison]]:
    """What decides, from runs that did not choose the winner where there are any."""
    if default is None or winner == default:
        return "none", []
    evidence = gather_evidence(log, question, winner, default)
    if isinstance(evidence, Evidence) and default in evidence.runs.configurations:
        if evidence.basis != "list":
            return evidence.basis, _comparisons(evidence.runs, question, sampled, winner, default)
        if question.configuration is None:
            return "list", _held_out(evidence.runs, question, sampled, default)
    for table in (log.runs, log.test):
        if table is not None and {winner, default} <= set(table.configurations):
            return "none", _comparisons(table, question, sampled, winner, default)
    return "none", []


def _held_out(
    runs: CostMatrix, question: Question, sampled: Sampled, default: str
) -> list[_Comparison]:
    """Halves of the units choose whom the other halves compare with the default; all pooled."""
    families = runs.families if sampled == "family" else None
    labels, names = np.array(families or runs.instances), np.array(runs.instances)
    units, rng = np.unique(labels), np.random.default_rng(question.seed)
    halves = []
    for _ in range(HALVES if units.size > 1 else 0):
        choosing = np.isin(labels, rng.permutation(units)[: units.size // 2])
        half = runs.select(instances=names[choosing].tolist())
        ranked = [runs.configurations[place] for place in _ranked(half, sampled).order]
        chosen = next(name for name in ranked if name != default)
        rest = runs.select(instances=names[~choosing].tolist())
        halves.append(_comparisons(rest, question, sampled, chosen, default))
    pooled = []
    for parts in zip(*filter(None, halves), strict=True):
        values = np.concatenate([part.numbers.values for part in parts])
        pooled.append(parts[0]._replace(numbers=replace(parts[0].numbers, values=values)))
    return pooled


def _comparisons(
    runs: CostMatrix, question: Question, sampled: Sampled, winner: str, default: str
) -> list[_Comparison]:
    """What decides, on the instances that both have; nothing without any."""
    pair = pair_of(runs, winner, default, sampled)
    if pair is None or not (pair.bounded or question.primary == "wins"):
        return []
    sides = pair.ours, pair.theirs, pair.scale
    if question.primary == "wins":
        made = [_Comparison(quantities.wins(*sides))]
    elif question.margin_share is not None:
        made = [_Comparison(quantities.margin(*sides, question.margin_share))]
    else:
        made = [
            _Comparison(
                quantities.difference(*sides, penalty),
                penalty,
                quantities.mean(pair.theirs, pair.scale, penalty).observed,
            )
            for penalty in ([START, runs.par] if has_ladder(pair.scale) else [None])
        ]
    if pair.families is None:
        return made
    return [one._replace(numbers=one.numbers.by_family(pair.families)) for one in made]


def _needs(comparison: _Comparison, pilot: Pilot, question: Question) -> list[Need]:
    numbers, penalty, cost = comparison
    values, above = numbers.values, numbers.deciding_number or 0.0
    if numbers.quantity == "difference":  # winner − default: small is good
        values, above = 1 - values, 1 - above

    cases: list[tuple[float | None, float, FloatArray]] = [(None, numbers.observed, values)]
    if pilot == "none":
        # The spread of the differences seen, moved to the one assumed.
        moved, width = values - values.mean() + above, numbers.high - numbers.low
        cases = [
            (share, -share * abs(cost), np.clip(moved + share * abs(cost) / width, 0, 1))
            for share in (ASSUMED if numbers.quantity == "difference" else ())
        ]
    how: dict[str, Any] = {"balanced": numbers.balanced, "seed": question.seed}
    return [
        Need(
            quantity=numbers.quantity,
            penalty=penalty,
            difference=difference,
            assumed=assumed,
            units=units_needed(values, above, question.delta, **how),
        )
        for assumed, difference, values in cases
    ]


def units_needed(
    values: FloatArray, above: float, delta: float = 0.05, *, balanced: bool = False, seed: int = 0
) -> float | None:
    """How many units drawn from a pilot prove a mean above a value with power `POWER`, to 10 %;
    infinite where `MOST` do not, None where the pilot's mean is not above it.

    A small pilot, or one better than the truth by luck, makes the answer too small.
    """
    if values.size == 0 or not values.mean() > above:
        return None
    if above <= 0:  # a margin that costs in this range cannot miss
        return 1
    draws = int(np.random.default_rng(seed).integers(2**62))

    def enough(n: int) -> bool:
        samples = np.random.default_rng(draws).choice(values, (DRAWS, n))
        return bool(proving_samples(samples, above, delta, balanced=balanced).mean() >= POWER)

    few, many = 0, 8
    while not enough(many):
        if many == MOST:
            return math.inf
        few, many = many, min(2 * many, MOST)
    while many - few > max(1, many // 10):
        middle = (few + many) // 2
        few, many = (few, middle) if enough(middle) else (middle, many)
    return many


# ---- runs and instances for an error or a budget -------------------------------------------------


def _noise(row: CostMatrix, sampled: Sampled) -> tuple[float, float, Size]:
    """within, across and the present size of the runs of one configuration; of family means the
    variance counts as across.
    """
    counts = row.counts()[0]
    used, single = counts[counts > 0], len(row.instances) == 1
    if sampled == "family":
        means = units_of(known_means(row.charged), row.families)[0]
        means = means[~np.isnan(means)]
        across = float(means.var(ddof=1)) if means.size > 1 else math.nan
        error = math.sqrt(across / means.size)
        return math.nan, across, Size(
            instances=means.size, runs=int(used.sum()), standard_error=error
        )  # fmt: skip
    parts = variance_components(row)
    within, across, total = (
        max(float(part[0]), 0.0) for part in (parts.within, parts.across, parts.total)
    )
    if single:
        across = 0.0
    elif math.isnan(across):
        # The two cannot be separated: all variance counts as across, which is safe.
        within, across = math.nan, total
    # The mean of instance means.
    spread = across + (within if single else np.nan_to_num(within)) / used
    error = math.sqrt(float(spread.sum())) / used.size
    return within, across, Size(instances=used.size, runs=int(used.sum()), standard_error=error)


def _best_size(
    error: float | None, budget: int | None, within: float, across: float, limit: int | None
) -> Size | None:
    """The fewest runs that reach an error, or the least error of a budget, on so many instances at
    most: each run on a new one as long as there are any.
    """
    if error is None and budget is None:
        return None
    if error is None:
        runs = budget or 1
        return _size(runs, min(runs, limit or runs), within, across)
    squared, rounds = error**2, 1
    if squared * MOST_RUNS <= across + within:
        raise InputError(f"A standard error of {error:g} takes too many runs. Give a larger one.")

    def needed() -> int:
        return max(1, math.ceil((across + within / rounds) / squared * (1 - 1e-12)))

    if limit is not None and needed() > limit:
        if across / limit >= squared:
            raise InputError(
                f"{counted(limit, 'instance')} cannot reach a standard error of {error:g}, however "
                f"often they are run. Use at least {math.floor(across / squared) + 1:,}."
            )
        rounds = math.ceil(within / (limit * squared - across) * (1 - 1e-12))
    return _size(rounds * needed(), needed(), within, across)


def _size(runs: int, instances: int, within: float, across: float) -> Size:
    """By Lemma 2: within/N + (Σ n_i²/N²)·across."""
    squares = float(even_sizes(runs, instances).sum_of_squares)
    variance = within / runs + squares / runs**2 * across
    return Size(instances=instances, runs=runs, standard_error=math.sqrt(variance))
