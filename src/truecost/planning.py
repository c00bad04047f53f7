"""How many new instances would prove a difference, and how many runs an error or a budget takes.

A forecast is never made from the runs that chose the winner: 29 of 34 logs of pure noise would be
promised success. Test runs may be used; of a list that was fixed before, random halves of the
instances choose and the other halves forecast. A tuned log has no such runs: the answer is then
what it would take if the winner truly cost 5, 10 or 20 % less.
"""

import math
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np

from truecost.arrays import FloatArray
from truecost.errors import InputError, counted
from truecost.judge.assess import winner_of
from truecost.judge.assessment import plain
from truecost.judge.costs import costs_of
from truecost.judge.question import Question
from truecost.judge.statements import pair_of
from truecost.matrix import CostMatrix, Log
from truecost.stats import quantities
from truecost.stats.allocation import even_sizes
from truecost.stats.ladder import START, has_ladder
from truecost.stats.quantities import Numbers
from truecost.stats.random import Rng, generator
from truecost.stats.simulation import proving_rows
from truecost.stats.variance import variance_components

# The share of simulated samples in which the difference must be proven, and how many there are.
POWER, DRAWS = 0.8, 200
MOST = 5_000
# Random halves of a list, and true differences of a tuned log, as shares of the default's cost.
HALVES, ASSUMED = 20, (0.05, 0.1, 0.2)
# Runs per instance of which the sizes are shown side by side.
ROUNDS = (1, 2, 5, 10)


class _Paired(NamedTuple):
    """What decides as numbers, at a penalty, and the default's mean cost at it."""

    numbers: Numbers
    penalty: float | None = None
    cost: float = math.nan


Pilot = Literal["test runs", "fixed before", "random halves", "none"]
PILOTS: dict[Pilot, str] = {
    "test runs": "The forecast uses test runs on {}.",
    "fixed before": "The forecast uses runs of configurations that were fixed before.",
    "random halves": "The forecast uses only runs that did not choose the winner.",
    "none": "All these runs helped to choose the winner, so the forecast is optimistic.",
}


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
    """Runs spread evenly over instances (S*), and the standard error of their mean (Lemma 2)."""

    instances: int
    runs: int
    standard_error: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What would prove a difference, and what an error or a budget comes to.

    Attributes
    ----------
    pilot, units
        Which runs the forecast rests on, and how many units ("instance", "family" or "run") they
        have.
    within, across
        Variance components of the winner's runs; negative estimates count as 0. NaN `within`: only
        their sum is known, and counts as `across`.
    now
        The standard error of the winner's cost as it is.
    sizes
        What reaches `error`, or what `budget` buys, with 1, 2, 5 and 10 runs per instance; of these
        `best` has the fewest runs, or the least error.
    """

    winner: str
    default: str | None
    pilot: Pilot
    units: int
    unit: str
    needs: tuple[Need, ...]
    delta: float
    within: float
    across: float
    now: Size
    error: float | None = None
    budget: int | None = None
    sizes: tuple[Size, ...] = ()
    best: Size | None = None

    def summary(self) -> str:
        """The answer in a few lines."""
        return "\n".join([*self._needed(), *self._sizes()])

    def _needed(self) -> list[str]:
        if self.default is None:
            return ["Nothing to compare with. Name the default with --default."]
        if self.winner == self.default:
            return ["No configuration looks better than the default."]
        if not self.needs:
            return [
                "No forecast: it needs runs of winner and default on the same instances, and the "
                "range of costs (--low and --high, or --cutoff)."
            ]
        units = counted(2, self.unit).removeprefix("2 ")
        sure = f"{100 * POWER:.0f} % chance, {100 * (1 - self.delta):g} % confidence"
        margin = any(need.quantity == "margin" for need in self.needs)
        claim = "within the margin" if margin else "better than the default"
        lines = [f"New {units} needed to prove the winner {claim} ({sure}):"]
        for need in self.needs:
            which = "" if need.penalty is None else f" with PAR{need.penalty:g}"
            names = {"wins": "share of runs won", "margin": "distance to the margin"}
            what = names.get(need.quantity, need.quantity)
            case = f"if the true {what} is {need.difference:.3g}, as seen".replace("-", "−")
            if need.assumed is not None:
                case = f"if it truly costs {100 * need.assumed:g} % less"
            enough = "not to be expected"
            if need.units is not None:
                few = need.units <= MOST
                enough = f"about {need.units:,}" if few else f"more than {MOST:,}"
            lines.append(f"  {enough}{which}, {case}")
        return [*lines, PILOTS[self.pilot].format(counted(self.units, self.unit))]

    def _sizes(self) -> list[str]:
        now = self.now
        lines = [
            f"Standard error of the winner's mean cost now: {now.standard_error:.3g} "
            f"({counted(now.runs, 'run')} on {counted(now.instances, 'instance')})."
        ]
        if self.error is not None:
            lines.append(f"For a standard error of {self.error:g}:")
        elif self.budget is not None:
            lines.append(f"With {counted(self.budget, 'run')}:")
        for size in self.sizes:
            each = size.runs / size.instances
            mark = "  (best)" if size == self.best else ""
            lines.append(
                f"  {counted(size.instances, 'instance')} × {each:.3g} = "
                f"{counted(size.runs, 'run')}: standard error {size.standard_error:.3g}{mark}"
            )
        return lines

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
) -> Plan:
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
    question = Question() if question is None else question
    if error is not None and budget is not None:
        raise InputError("An error and a budget are two questions. Give one of them.")
    if error is not None and not 0 < error < math.inf:
        raise InputError(f"The error is {error:g}. Give a number above 0.")
    if budget is not None and budget < 1:
        raise InputError(f"The budget is {budget}. Give at least 1 run.")
    if instances is not None and instances < 1:
        raise InputError(f"There are {instances} instances. Give at least 1.")
    tables = [log.runs, *([] if log.test is None else [log.test])]
    if all(len(table.instances) == 1 for table in tables):
        # Seeds are the units, and no run is on another instance.
        question, instances = replace(question, sampled="seed"), 1
    elif question.sampled == "seed":
        raise InputError("Seeds are units for a single instance only. Leave out --sampled.")
    winner = winner_of(log, question, costs_of(log.runs, _families(log.runs, question)))
    tested = () if log.test is None else log.test.configurations
    default = log.default if log.default in (*log.runs.configurations, *tested) else None
    pilot, pairs = _pilot(log, question, winner, default)
    table = log.runs if winner in log.runs.configurations or log.test is None else log.test
    within, across, now = _noise(table.select(configurations=[winner]))
    result = Plan(
        winner=winner,
        default=default,
        pilot=pilot,
        units=max((pair.numbers.values.size for pair in pairs), default=0),
        unit={"family": "family", "seed": "run"}.get(question.sampled or "", "instance"),
        needs=tuple(need for pair in pairs for need in _needs(pair, pilot, question)),
        delta=question.delta,
        within=within,
        across=across,
        now=now,
    )
    if error is None and budget is None:
        return result
    if math.isnan(now.standard_error):
        raise InputError(f"{winner} has too few runs to know their noise. Make more.")
    # With single runs the two cannot be told apart: all variance counts as across, which is safe.
    known = (0.0 if math.isnan(within) else within, across)
    if error is not None:
        sizes, best = _for_error(error, *known, instances)
    else:
        sizes, best = _for_budget(budget or 1, *known, instances)
    return replace(result, error=error, budget=budget, sizes=sizes, best=best)


# ---- what would prove it -------------------------------------------------------------------------


def _pilot(
    log: Log, question: Question, winner: str, default: str | None
) -> tuple[Pilot, list[_Paired]]:
    """What decides, at each penalty, from runs that did not choose the winner where there are."""
    if default is None or winner == default:
        return "none", []
    test = log.test
    if test is not None and {winner, default} <= set(test.configurations):
        return "test runs", _pairs(test, question, winner, default)
    if not {winner, default} <= set(log.runs.configurations):
        return "none", []
    if question.basis == "fixed before":
        return "fixed before", _pairs(log.runs, question, winner, default)
    if log.adaptive or question.configuration is not None:
        return "none", _pairs(log.runs, question, winner, default)
    rng = np.random.default_rng(question.seed)
    parts = [_held_out(log.runs, question, default, rng) for _ in range(HALVES)]
    parts = [part for part in parts if part]
    pooled = []
    for column in zip(*parts, strict=True):
        values = np.concatenate([pair.numbers.values for pair in column])
        pooled.append(column[0]._replace(numbers=replace(column[0].numbers, values=values)))
    return "random halves", pooled


def _held_out(
    runs: CostMatrix, question: Question, default: str, rng: np.random.Generator
) -> list[_Paired]:
    """One half of the units chooses whom the other half compares with the default."""
    families = _families(runs, question)
    labels = np.array(runs.instances if families is None else families)
    units = np.unique(labels)
    if units.size < 2:
        return []
    choosing = np.isin(labels, rng.permutation(units)[: units.size // 2])
    names = np.array(runs.instances)
    half = runs.select(instances=names[choosing].tolist())
    ranked = [
        runs.configurations[place] for place in costs_of(half, _families(half, question)).order
    ]
    chosen = next(name for name in ranked if name != default)
    return _pairs(runs.select(instances=names[~choosing].tolist()), question, chosen, default)


def _families(runs: CostMatrix, question: Question) -> tuple[str, ...] | None:
    if question.sampled != "family":
        return None
    if runs.families is None:
        raise InputError("Instances have no families. Give them with --families.")
    return runs.families


def _pairs(runs: CostMatrix, question: Question, winner: str, default: str) -> list[_Paired]:
    """What decides, on the instances that both have; nothing without any."""
    _families(runs, question)
    pair = pair_of(runs, winner, default, question.sampled or "instance")
    if pair is None or not (pair.bounded or question.primary == "wins"):
        return []
    both = pair.ours, pair.theirs, pair.scale
    made: list[_Paired] = []
    if question.primary == "wins":
        made.append(_Paired(quantities.wins(*both)))
    elif question.margin_share is not None:
        made.append(_Paired(quantities.margin(*both, question.margin_share)))
    else:
        for penalty in [START, runs.par] if has_ladder(pair.scale) else [None]:
            cost = quantities.mean(pair.theirs, pair.scale, penalty).observed
            made.append(_Paired(quantities.difference(*both, penalty), penalty, cost))
    if pair.families is None:
        return made
    return [one._replace(numbers=one.numbers.by_family(pair.families)) for one in made]


def _needs(pair: _Paired, pilot: Pilot, question: Question) -> list[Need]:
    numbers, penalty, cost = pair
    values, above = numbers.values, numbers.deciding_number
    assert above is not None  # noqa: S101 - comparisons have one
    if numbers.quantity == "difference":  # winner − default: small is good
        values, above = 1 - values, 1 - above

    def need(values: FloatArray, difference: float, assumed: float | None) -> Need:
        return Need(
            quantity=numbers.quantity,
            penalty=penalty,
            difference=difference,
            assumed=assumed,
            units=instances_needed(
                values, above, question.delta, balanced=numbers.balanced, rng=question.seed
            ),
        )

    if pilot != "none":
        return [need(values, numbers.observed, None)]
    if numbers.quantity != "difference":
        return []
    # The spread of the differences seen, moved to the one assumed.
    moved, width = values - values.mean() + above, numbers.high - numbers.low
    return [
        need(np.clip(moved + share * cost / width, 0, 1), -share * cost, share) for share in ASSUMED
    ]


def instances_needed(
    values: FloatArray,
    above: float,
    delta: float = 0.05,
    *,
    balanced: bool = False,
    rng: Rng = 0,
) -> float | None:
    """How many units drawn from a pilot prove a mean above a value with power `POWER`, to 10 %;
    infinite where `MOST` do not, None where the pilot's mean is not above it.

    A small pilot, or one better than the truth by luck, makes the answer too small.
    """
    if values.size == 0 or not values.mean() > above:
        return None
    if above <= 0:  # a margin that costs in this range cannot miss
        return 1
    seed = int(generator(rng).integers(2**62))

    def enough(n: int) -> bool:
        rows = np.random.default_rng(seed).choice(values, (DRAWS, n))
        return bool(proving_rows(rows, above, delta, balanced=balanced).mean() >= POWER)

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


def _noise(row: CostMatrix) -> tuple[float, float, Size]:
    """within, across and the present size of the runs of one configuration."""
    counts = row.counts()[0]
    used = counts[counts > 0]
    if not used.size:
        raise InputError(
            f"{row.configurations[0]} has no runs. Name a configuration that has some."
        )
    found = variance_components(row)
    within, across, total = (
        float(np.maximum(part[0], 0)) for part in (found.within, found.across, found.total)
    )
    single = len(row.instances) == 1
    if single:
        across = 0.0
    elif math.isnan(across):
        within, across = math.nan, total
    # The mean of instance means.
    spread = across + (0.0 if math.isnan(within) and not single else within) / used
    error = math.sqrt(float(spread.sum())) / used.size
    return within, across, Size(instances=used.size, runs=int(used.sum()), standard_error=error)


def _size(runs: int, instances: int, within: float, across: float) -> Size:
    """By Lemma 2: within/N + (Σ n_i²/N²)·across."""
    instances = min(instances, runs)
    squares = float(even_sizes(runs, instances).sum_of_squares)
    variance = within / runs + squares / runs**2 * across
    return Size(instances=instances, runs=runs, standard_error=math.sqrt(variance))


def _for_error(
    error: float, within: float, across: float, limit: int | None
) -> tuple[tuple[Size, ...], Size | None]:
    """The sizes that reach an error, and the one with the fewest runs."""
    squared, sizes = error**2, []
    rounds = set(ROUNDS)
    if limit is not None:
        if across / limit >= squared:
            raise InputError(
                f"{counted(limit, 'instance')} cannot reach a standard error of {error:g}, however "
                f"often they are run. Use at least {math.floor(across / squared) + 1:,}."
            )
        # On all instances, as often as it takes.
        rounds.add(max(1, math.ceil(within / (limit * squared - across) * (1 - 1e-12))))
    for each in sorted(rounds):
        instances = max(1, math.ceil((across + within / each) / squared * (1 - 1e-12)))
        if limit is None or instances <= limit:
            sizes.append(_size(each * instances, instances, within, across))
    return tuple(sizes), min(sizes, key=lambda size: (size.runs, size.instances), default=None)


def _for_budget(
    budget: int, within: float, across: float, limit: int | None
) -> tuple[tuple[Size, ...], Size | None]:
    """What a number of runs buys, and what of it has the least error."""
    sizes = []
    for each in ROUNDS:
        instances = min(max(1, budget // each), limit or budget)
        sizes.append(_size(budget, instances, within, across))
    distinct = tuple(dict.fromkeys(sizes))
    return distinct, min(distinct, key=lambda size: size.standard_error)
