"""Count how often limits, the badge and the approximate grade are wrong, and how often they decide.

    python -m bench.coverage [--quick] [FOLDERS…]

Populations are the examples, made-up ones, and tables in the folders given. Samples are drawn from
them, so every true value is known. Errors are counted at the one candidate value that matters,
which a scan must reject to err: never fewer than the errors of the scan. A cell fails where a
binomial test rejects "at most δ" at 0.001; then the exit code is 1.
"""

import argparse
import csv
import math
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import scipy

import truecost
from truecost.arrays import BoolArray, FloatArray, IntArray
from truecost.stats import approximate, betting, exact, ladder, quantities, simulation
from truecost.stats.quantities import Numbers, Runs, Scale

EXAMPLES = ("kissat", "kissat-large", "lkh", "clasp", "clasp-large")
SIZES, DELTAS, LEVEL = (20, 60), (0.05, 0.2), 0.001
# Tables in folders: what a table does not say.
KNOWN = {"main2023.csv": 5000.0, "sat2020-par2.csv": 5000.0}
# Cells at whose end bets are made, as in one look and after every unit.
ONE, EVERY = betting.CELLS, betting.FINE_CELLS


@dataclass(frozen=True, kw_only=True)
class Population:
    """Two configurations on all instances there are, each as probable as its weight."""

    name: str
    winner: Runs
    default: Runs
    scale: Scale
    weights: FloatArray | None = None
    families: IntArray | None = None
    in_order: bool = False

    @property
    def share(self) -> FloatArray:
        """The probability of each instance."""
        n = len(self.winner.costs)
        return np.full(n, 1 / n) if self.weights is None else self.weights

    def draw(self, n: int, sets: int, rng: np.random.Generator) -> tuple[Runs, Runs]:
        """Runs of `sets` samples one after the other, a fresh run each: (sets · n, 1)."""
        places = rng.choice(len(self.share), size=sets * n, p=self.share)
        sides = []
        for side in (self.winner, self.default):
            run = rng.integers(side.costs.shape[1], size=places.size)
            sides.append(Runs(costs=side.costs[places, run][:, np.newaxis],
                              failed=side.failed[places, run][:, np.newaxis]))  # fmt: skip
        return sides[0], sides[1]


Quantity = Callable[[Runs, Runs, Scale], Numbers]
QUANTITIES: dict[str, Quantity] = {
    "mean": lambda w, d, s: quantities.mean(w, s),  # noqa: ARG005
    "difference": quantities.difference,
    "difference PAR2": lambda w, d, s: quantities.difference(w, d, s, 2.0 if s.par else None),
    "margin 5%": lambda w, d, s: quantities.margin(w, d, s, 0.05),
    "wins": quantities.wins,
    "solved": lambda w, d, s: quantities.solved(w, s),  # noqa: ARG005
    "solved difference": quantities.solved_difference,
    "geometric speed-up": quantities.geometric_speed_up,
    "median speed-up": quantities.median_speed_up,
}
SPEED_UPS = {"geometric speed-up", "median speed-up"}


# ---- populations ---------------------------------------------------------------------------------


def example_pairs(quick: bool) -> Iterator[Population]:
    """The default of each example against those that are best at PAR2 and PAR10."""
    for name in EXAMPLES[:2] if quick else EXAMPLES:
        matrix = truecost.load_example(name)
        costs, failed, cutoff = matrix.costs, matrix.failed, matrix.cutoff or 1.0
        scale = Scale(low=matrix.low, high=matrix.high, cutoff=cutoff, par=matrix.par)
        yield from _pairs(name, costs, failed, scale, 0)


def _pairs(
    name: str, costs: FloatArray, failed: BoolArray, scale: Scale, default: int
) -> Iterator[Population]:
    best: dict[int, None] = {}
    for penalty in (2.0, 10.0):
        means = np.where(failed, penalty * (scale.cutoff or 1), costs).mean(axis=(1, 2))
        ranked = [place for place in means.argsort().tolist() if place != default]
        best |= dict.fromkeys(ranked[:3])
    for place in best:
        yield Population(
            name=f"{name} {place}", winner=Runs(costs=costs[place], failed=failed[place]),
            default=Runs(costs=costs[default], failed=failed[default]), scale=scale,
        )  # fmt: skip


def table_pairs(folders: list[str]) -> Iterator[Population]:
    """Of wide tables in folders: the three best solvers against the one in the middle."""
    for path in sorted(path for folder in folders for path in Path(folder).rglob("*.csv")):
        if path.name not in KNOWN:
            continue
        with path.open(encoding="utf-8") as file:
            rows = list(csv.reader(file))
        cells = np.array([[_number(cell) for cell in row[1:]] for row in rows[1:]])
        cells = cells[:, ~np.isnan(cells).all(axis=0)]
        cells = cells[~np.isnan(cells).any(axis=1)]
        # Instances are the longer side.
        costs = (cells if cells.shape[0] < cells.shape[1] else cells.T)[:, :, np.newaxis]
        cutoff = KNOWN[path.name]
        failed = costs >= cutoff
        middle = int(
            np.where(failed, 2 * cutoff, costs).mean(axis=(1, 2)).argsort()[len(costs) // 2]
        )
        scale = Scale(low=0, high=10 * cutoff, cutoff=cutoff, par=10.0)
        yield from _pairs(path.stem, costs, failed, scale, middle)


def _number(cell: str) -> float:
    try:
        return float(cell)
    except ValueError:
        return math.nan


def made_up(rng: np.random.Generator) -> Iterator[Population]:
    """Populations that are hard on purpose."""
    n, scale = 2000, Scale(low=0, high=100, cutoff=10.0, par=10.0)

    def times(values: FloatArray, late: float) -> Runs:
        failed = (rng.random((n, 3)) < late) | (values >= 10)
        return Runs(costs=np.where(failed, 100.0, values), failed=failed)

    base = rng.gamma(1, 1, (n, 1))
    yield Population(name="rare timeouts", winner=times(base * rng.gamma(5, 0.2, (n, 3)), 0.01),
                     default=times(base * rng.gamma(5, 0.2, (n, 3)), 0.012), scale=scale)  # fmt: skip
    tied = np.round(base * np.ones((1, 3)))
    yield Population(name="ties", winner=times(tied, 0.05), default=times(tied, 0.05), scale=scale)
    yield Population(name="one side σ = 2.5", winner=times(rng.lognormal(-3.1, 2.5, (n, 3)), 0.0),
                     default=times(rng.gamma(4, 0.25, (n, 3)), 0.02), scale=scale)  # fmt: skip
    share = rng.beta(0.5, 2, (n, 1))
    zero_one = [(rng.random((n, 3)) < share).astype(float) for _ in range(2)]
    never = np.zeros((n, 3), bool)
    unit = Scale(low=0, high=1)
    yield Population(name="0/1 costs", winner=Runs(costs=zero_one[0], failed=never),
                     default=Runs(costs=zero_one[1], failed=never), scale=unit)  # fmt: skip
    few = rng.choice([0.2, 0.5, 0.8], (n, 3))
    yield Population(name="few values, sorted", winner=Runs(costs=few, failed=never),
                     default=Runs(costs=np.full((n, 3), 0.5), failed=never), scale=unit,
                     in_order=True)  # fmt: skip
    level = rng.lognormal(0, 1, 60)[rng.integers(60, size=n)]
    codes = np.unique(level, return_inverse=True)[1]
    level = level[:, np.newaxis]
    yield Population(name="families", winner=times(level * rng.gamma(5, 0.2, (n, 3)), 0.01),
                     default=times(level * rng.gamma(5, 0.2, (n, 3)), 0.01), scale=scale,
                     families=codes)  # fmt: skip


def tilted(population: Population, penalty: float) -> Population | None:
    """The same instances, weighted so that the difference at this penalty is 0."""
    numbers = quantities.difference(
        population.winner, population.default, population.scale, penalty
    )
    gaps = numbers.values - 0.5
    if gaps.min() >= 0 or gaps.max() <= 0:
        return None
    scaled = gaps / np.abs(gaps).max()

    def weights(tilt: float) -> FloatArray:
        logs = tilt * scaled
        raw = np.exp(logs - logs.max())
        return np.asarray(raw / raw.sum())

    low, high = -200.0, 200.0
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if weights(middle) @ gaps < 0 else (low, middle)
    found = weights(low)
    # A population of a handful of instances is another question.
    if 1 / (found**2).sum() < 15:
        return None
    return replace(population, name=f"{population.name} PAR{penalty:g}=0", weights=found)


# ---- coverage of limits --------------------------------------------------------------------------


def _end(value: float, units: int, per_root: int, decide: float | None) -> float:
    """The end of the cell that a mean lies in."""
    ends = betting.cell_ends(units, per_root, decide)
    return float(ends[np.searchsorted(ends, value, side="left")])


def wrong(
    numbers: Numbers, samples: FloatArray, truth: float, delta: float, planned: int | None
) -> BoolArray:
    """Which samples (sets, n) reject the true number, so that a lower limit may pass it."""
    if not 0 < truth < 1:
        return np.zeros(len(samples), bool)
    decide, n = numbers.deciding_number, samples.shape[1]
    if planned is not None:
        end = _end(truth, planned, EVERY, decide)
        return simulation.proving_rows(samples, truth, delta, planned=planned, watched=True,
                                    balanced=numbers.balanced, end=end)  # fmt: skip
    if numbers.method == "binomial":
        successes = np.rint(samples.sum(axis=1))
        chances = scipy.special.bdtrc(successes - 1, n, truth)
        return np.asarray((chances < delta) & (successes > 0))
    if numbers.method == "signs" and 0.5 - exact.SIGN_CELL / math.sqrt(n) < truth <= 0.5:
        wins, losses = (samples == 1).sum(axis=1), (samples == 0).sum(axis=1)
        chances = scipy.special.bdtr(losses, wins + losses, 0.5)
        return np.asarray((chances <= delta) & (wins > 0))
    balanced = numbers.balanced and numbers.method != "signs"
    return averaged(samples, truth, delta, balanced, _end(truth, n, ONE, decide))


def averaged(
    samples: FloatArray, value: float, delta: float, balanced: bool, end: float, seed: int = 0
) -> BoolArray:
    """One look as in `betting.lower`: capitals averaged over orders."""
    n, orders = samples.shape[1], betting.orders_of(samples.shape[1], seed)
    stop = betting.STOP_BALANCED if balanced else betting.STOP
    reached = np.empty(len(samples), bool)
    for start in range(0, len(samples), 500):
        part = samples[start : start + 500]
        rows = part[:, orders].reshape(-1, n)
        capitals = simulation.final_capitals(rows, value, stop / delta, balanced=balanced, end=end)
        reached[start : start + 500] = capitals.reshape(len(part), -1).mean(axis=1) >= 1 / delta
    return reached


@dataclass
class Tally:
    """Counted errors of a cell."""

    cell: str
    misses: int
    sets: int
    delta: float

    @property
    def rejected(self) -> bool:
        """Whether "at most δ" is rejected."""
        return bool(scipy.special.bdtrc(self.misses - 1, self.sets, self.delta) < LEVEL)


def limit_cells(populations: list[Population], sets: int, rng: np.random.Generator) -> list[Tally]:
    """Every quantity, unit and look, both sides."""
    tallies = []
    for population in populations:
        for name, quantity in QUANTITIES.items():
            if population.scale.cutoff is None and name in SPEED_UPS | {"difference PAR2"}:
                continue
            for n in SIZES:
                for unit in ("instance", "family", "seed"):
                    cell = f"{population.name} | {name} | {unit} | {n}"
                    tallies += _cells(population, name, quantity, unit, n, sets, cell, rng)
    return tallies


def _cells(
    population: Population, name: str, quantity: Quantity, unit: str, n: int, sets: int, cell: str,
    rng: np.random.Generator,
) -> list[Tally]:  # fmt: skip
    drawn = _unit_samples(population, quantity, unit, n, sets, rng)
    if drawn is None or (unit == "family" and name == "median speed-up"):
        return []
    numbers, samples, truth = drawn
    if population.in_order:
        samples = np.sort(samples, axis=1)
    tallies = []
    for delta in DELTAS:
        if numbers.method == "median":
            limits = [exact.median_limits(row, delta) for row in samples]
            missed = [sum(low > truth + 1e-12 for low, _ in limits),
                      sum(high < truth - 1e-12 for _, high in limits)]  # fmt: skip
            tallies += [Tally(f"{cell} | {look} | one | {delta:g}", miss, sets, delta)
                        for look, miss in zip(("lower", "upper"), missed, strict=True)]  # fmt: skip
            continue
        looks = (
            {"one": None} if population.in_order else {"one": None, "every": n, "extended": n // 2}
        )
        for look, planned in looks.items():
            for side, values, value in (
                ("lower", samples, truth),
                ("upper", 1 - samples, 1 - truth),
            ):
                misses = int(wrong(numbers, values, value, delta, planned).sum())
                tallies.append(Tally(f"{cell} | {side} | {look} | {delta:g}", misses, sets, delta))
    return tallies


def _unit_samples(
    population: Population, quantity: Quantity, unit: str, n: int, sets: int,
    rng: np.random.Generator,
) -> tuple[Numbers, FloatArray, float] | None:  # fmt: skip
    """The quantity's numbers, as samples (sets, n), and the true number (median: value)."""
    scale, winner, default = population.scale, population.winner, population.default
    if unit == "family":
        if population.families is None:
            return None
        return _family_samples(population, quantity, n, sets, rng)
    if unit == "seed":
        # One instance, the one that varies most.
        place = int(winner.costs.std(axis=1).argmax())
        runs = rng.integers(winner.costs.shape[1], size=(2, 400))
        one = [Runs(costs=side.costs[place, run][:, np.newaxis],
                    failed=side.failed[place, run][:, np.newaxis])
               for side, run in zip((winner, default), runs, strict=True)]  # fmt: skip
        population = replace(population, winner=one[0], default=one[1], weights=None)
    numbers = quantity(*population.draw(n, sets, rng), scale)
    everything = quantity(population.winner, population.default, scale)
    if everything.method == "median" or numbers.method == "median":
        # All pairs of runs of an instance.
        shape = population.winner.costs.shape
        pairs = (population.winner, population.default)
        first, second = np.indices((shape[1], shape[1])).reshape(2, -1)
        ratios = np.concatenate([
            quantity(Runs(costs=pairs[0].costs[:, [a]], failed=pairs[0].failed[:, [a]]),
                     Runs(costs=pairs[1].costs[:, [b]], failed=pairs[1].failed[:, [b]]), scale).values
            for a, b in zip(first.tolist(), second.tolist(), strict=True)
        ])  # fmt: skip
        weights = np.tile(population.share, first.size) / first.size
        ranked = ratios.argsort()
        reached = weights[ranked].cumsum() >= 0.5 - 1e-12
        return numbers, numbers.values.reshape(sets, n), float(ratios[ranked][reached.argmax()])
    truth = float(population.share @ everything.values)
    return numbers, numbers.values.reshape(sets, n), truth


def _family_samples(
    population: Population, quantity: Quantity, n: int, sets: int, rng: np.random.Generator
) -> tuple[Numbers, FloatArray, float]:
    """Families drawn with replacement, each with a fresh run of all its instances."""
    codes = population.families
    assert codes is not None
    number = int(codes.max()) + 1
    drawn = rng.integers(number, size=sets * n)
    samples, truth = np.empty(sets * n), 0.0
    for family in range(number):
        members, where = np.flatnonzero(codes == family), np.flatnonzero(drawn == family)
        part = Population(
            name="", scale=population.scale,
            winner=Runs(costs=population.winner.costs[members], failed=population.winner.failed[members]),
            default=Runs(costs=population.default.costs[members], failed=population.default.failed[members]),
        )  # fmt: skip
        truth += float(quantity(part.winner, part.default, part.scale).values.mean()) / number
        if not where.size:
            continue
        places = np.tile(np.arange(members.size), where.size)
        sides = [Runs(costs=side.costs[places, run][:, np.newaxis],
                      failed=side.failed[places, run][:, np.newaxis])
                 for side in (part.winner, part.default)
                 for run in [rng.integers(side.costs.shape[1], size=places.size)]]  # fmt: skip
        numbers = quantity(sides[0], sides[1], part.scale)
        samples[where] = numbers.values.reshape(where.size, -1).mean(axis=1)
    # Several runs a unit, whatever a family's size.
    return replace(numbers, method="betting"), samples.reshape(sets, n), truth


def list_cells(sets: int, rng: np.random.Generator, quick: bool) -> list[Tally]:
    """The best of ten candidates, the default among them: its mean at δ/m, its difference from the
    default at δ/(m − 1).
    """
    tallies, m = [], 10
    for name in EXAMPLES[:2] if quick else EXAMPLES:
        matrix = truecost.load_example(name)
        (_, instances, runs), charged = matrix.shape, matrix.costs / matrix.high
        for kind, members in (("all alike", [0] * m), ("as they are", list(range(m)))):
            costs = charged[members]
            true = costs.mean(axis=(1, 2))
            for n in SIZES:
                places = rng.integers(instances, size=(sets, 1, n))
                run = rng.integers(runs, size=(sets, m, n))
                samples = costs[np.arange(m)[:, np.newaxis], places, run]
                best = samples[:, 1:].mean(axis=2).argmin(axis=1) + 1
                for delta in DELTAS:
                    misses = [0, 0]
                    for place in range(1, m):
                        mine = samples[best == place]
                        if not len(mine):
                            continue
                        cost = Numbers(quantity="mean", values=1 - mine[:, place])
                        gap = Numbers(quantity="difference", balanced=True, low=-1, decide=0.0,
                                      values=(mine[:, 0] - mine[:, place] + 1) / 2)  # fmt: skip
                        truths = 1 - true[place], (true[0] - true[place] + 1) / 2
                        for k, (numbers, divisor) in enumerate(((cost, m), (gap, m - 1))):
                            missed = wrong(numbers, numbers.values, float(truths[k]), delta / divisor,
                                           None)  # fmt: skip
                            misses[k] += int(missed.sum())
                    tallies += [Tally(f"{name}, {kind} | {what} of the best of a list | {n} | {delta:g}",
                                      miss, sets, delta)
                                for what, miss in zip(("mean", "difference"), misses, strict=True)]  # fmt: skip
    return tallies


# ---- the badge -----------------------------------------------------------------------------------


def badge_cells(nulls: list[Population], sets: int, rng: np.random.Generator) -> list[Tally]:
    """False claims per direction, over all penalties that are tested."""
    tallies = []
    for population in nulls:
        for n in SIZES:
            winner, default = population.draw(n, sets, rng)
            for delta in DELTAS:
                for sign, direction in ((-1, "better"), (1, "worse")):
                    false = _false_claims(population, winner, default, n, delta, sign)
                    cell = f"{population.name} | badge {direction} | {n} | {delta:g}"
                    tallies.append(Tally(cell, int(false.sum()), sets, delta))
    return tallies


def _false_claims(
    population: Population, winner: Runs, default: Runs, n: int, delta: float, sign: int
) -> BoolArray:
    """Which samples claim a direction at a penalty where it is false, as `ladder` climbs."""
    scale = population.scale
    outward = [*(k for k in ladder.OUTWARD if k < (scale.par or 1)), scale.par or 1.0, math.inf]

    def proven(penalty: float, of: BoolArray) -> tuple[BoolArray, bool]:
        """Of these samples which prove it, and whether it is false."""
        if math.isinf(penalty):
            numbers = quantities.solved_difference(default, winner, scale)
            everything = quantities.solved_difference(population.default, population.winner, scale)
        else:
            numbers = quantities.difference(winner, default, scale, penalty)
            everything = quantities.difference(
                population.winner, population.default, scale, penalty
            )
        gap = sign * (float(population.share @ everything.values) - 0.5)
        values = numbers.values.reshape(-1, n)[of]
        values = values if sign > 0 else 1 - values
        if math.isinf(penalty):
            wins, losses = (values == 1).sum(axis=1), (values == 0).sum(axis=1)
            shows = (wins > 0) & (scipy.special.bdtr(losses, wins + losses, 0.5) <= delta)
        else:
            shows = averaged(values, 0.5, delta, True, 0.5)
        result = of.copy()
        result[of] = shows
        return result, gap <= 1e-9

    start, wrong_start = proven(ladder.START, np.ones(len(winner.costs) // n, bool))
    false = start & wrong_start
    for side in (ladder.INWARD, outward):
        alive = start
        for penalty in side:
            if not alive.any():
                break
            alive, is_false = proven(penalty, alive)
            false |= alive & is_false
    return false


# ---- the approximate grade -----------------------------------------------------------------------


def approximate_rows(nulls: list[Population], sets: int, rng: np.random.Generator) -> list[str]:
    """Errors per direction among all samples and among statements, and silence."""
    rows = []
    for n in (50, 100, 200):
        shares = []
        for population in nulls:
            winner, default = population.draw(n, sets, rng)
            numbers = quantities.difference(winner, default, population.scale)
            differences = numbers.values.reshape(sets, n) - 0.5
            apart = (winner.failed != default.failed).reshape(sets, n).sum(axis=1)
            shares.append(_directions(differences, apart.tolist()))
        worse, better, silent = np.array(shares).T
        said = np.maximum(1 - silent, 1e-9)
        rows.append(
            f"real pairs, difference 0 at PAR10 ({len(nulls)}) | n = {n} | better: mean "
            f"{better.mean():.3f}, worst {better.max():.3f}; worse: mean {worse.mean():.3f}, worst "
            f"{worse.max():.3f} | among statements, both directions {(better + worse).sum() / said.sum():.3f}"
            f" | silent {silent.mean():.2f}"
        )  # fmt: skip

    def huge(n: int) -> FloatArray:
        return np.where(rng.random((sets, n)) < 0.01, 100.0, rng.normal(0, 1, (sets, n))) - 1.0

    def capped(n: int) -> FloatArray:
        top, normal = 300.0, scipy.special.ndtr
        mean = math.exp(3.125) * normal(math.log(top) / 2.5 - 2.5)
        mean += top * normal(-math.log(top) / 2.5)
        return np.asarray(np.minimum(rng.lognormal(0, 2.5, (sets, n)), top) - mean)

    tails: dict[str, Callable[[int], FloatArray]] = {
        "exponential": lambda n: rng.exponential(1, (sets, n)) - 1,
        "one side lognormal σ = 2.5": lambda n: (
            rng.lognormal(-3.125, 2.5, (sets, n)) - rng.exponential(1, (sets, n))
        ),
        "the same in a range of 300 medians": capped,
        "1 % huge outliers": huge,
    }
    for name, draw in tails.items():
        for n in (25, 50, 100):
            above, below, silent = _directions(draw(n), None)
            rows.append(f"{name}, cannot fail | n = {n} | above {above:.3f}, below {below:.3f} | "
                        f"silent {silent:.2f}")  # fmt: skip
    return rows


def _directions(differences: FloatArray, apart: list[int] | None) -> tuple[float, float, float]:
    """How often the interval lies above 0, below, and is not given."""
    answers = [
        approximate.probably(row, discordant=None if apart is None else apart[place])
        for place, row in enumerate(differences)
    ]
    directions = np.array([answer.direction for answer in answers])
    silent = np.array([bool(answer.reason) for answer in answers])
    return float((directions > 0).mean()), float((directions < 0).mean()), float(silent.mean())


# ---- power ---------------------------------------------------------------------------------------


def power_rows(populations: list[Population], sets: int, rng: np.random.Generator) -> list[str]:
    """How often pairs that differ are proven better, and change with the seed of the orders."""
    rows = []
    for n in (20, 50, 100, 200):
        results: dict[str, list[list[bool]]] = {}
        for population in populations:
            for _ in range(sets):
                winner, default = population.draw(n, 1, rng)
                results.setdefault(population.name.split()[0], []).append(
                    _decisions(winner, default, population.scale)
                )
        groups = {
            kind: [
                row for name, part in results.items() if (name in EXAMPLES) == own for row in part
            ]
            for kind, own in (("examples", True), ("tables", False))
        }
        groups = {name: part for name, part in (groups | results).items() if part}
        for name, part in groups.items():
            some, declared, alone, won, approx, flip_some, flip_declared = np.mean(part, axis=0)
            rows.append(
                f"n = {n} | {name} ({len(part)}) | some penalty {some:.3f} | declared {declared:.3f} | "
                f"PAR10 alone {alone:.3f} | wins {won:.3f} | probably or better {approx:.3f} | changes "
                f"with the seed: some {flip_some:.3f}, declared {flip_declared:.3f}"
            )  # fmt: skip
    return rows


def _decisions(winner: Runs, default: Runs, scale: Scale) -> list[bool]:
    first, second = (ladder.penalty_ranges(winner, default, scale, rng=seed) for seed in (0, 1))
    numbers = quantities.difference(winner, default, scale)
    won = quantities.wins(winner, default, scale)
    interval = approximate.probably(
        numbers.values - 0.5, discordant=quantities.discordant(winner, default)
    )
    par = scale.par or 1.0
    some = [ranges.better is not None for ranges in (first, second)]
    declared = [ranges.better is not None and ranges.better[1] >= par for ranges in (first, second)]
    return [
        some[0], declared[0], betting.proves_above(1 - numbers.values, 0.5, balanced=True),
        quantities.limits(won).direction > 0, declared[0] or interval.direction < 0,
        some[0] != some[1], declared[0] != declared[1],
    ]  # fmt: skip


# ---- the program ---------------------------------------------------------------------------------


def report(title: str, tallies: list[Tally]) -> bool:
    """Print the cells by what they count, the worst of each kind; whether any is rejected."""
    print(f"\n## {title}: {len(tallies)} cells of {tallies[0].sets} samples")
    kinds: dict[str, list[Tally]] = {}
    for tally in tallies:
        parts = tally.cell.split(" | ")
        kinds.setdefault(" | ".join(parts[1:2] + parts[-2:]), []).append(tally)
    for kind, part in sorted(kinds.items()):
        rates = [tally.misses / tally.sets for tally in part]
        worst = part[int(np.argmax(rates))]
        print(f"{kind}: {len(part)} cells, mean {np.mean(rates):.4f}, worst {max(rates):.4f} "
              f"({worst.cell.split(' | ')[0]})")  # fmt: skip
    rejected = [tally for tally in tallies if tally.rejected]
    for tally in rejected:
        print(f"REJECTED {tally.cell}: {tally.misses} of {tally.sets}, δ = {tally.delta:g}")
    print(f"rejected at {LEVEL}: {len(rejected)}", flush=True)
    return bool(rejected)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="bench.coverage", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer samples and populations")
    parser.add_argument(
        "folders", nargs="*", help="folders with wide tables, shared/data for example"
    )
    asked = parser.parse_args(arguments)
    quick, rng, begin = asked.quick, np.random.default_rng(1), time.process_time()
    sets = 300 if quick else 2000
    pairs = [*example_pairs(quick), *table_pairs(asked.folders)]
    print("power", *power_rows(pairs, 2 if quick else 60, rng), sep="\n", flush=True)
    print(f"{time.process_time() - begin:.0f} CPU s", flush=True)
    # One pair of each table: the others differ little.
    first = list({pair.name.split()[0]: pair for pair in reversed(pairs)}.values())
    failed = report("limits", limit_cells([*first, *made_up(rng)], sets, rng))
    failed |= report("lists", list_cells(sets, rng, quick))
    print(f"{time.process_time() - begin:.0f} CPU s", flush=True)
    nulls = {k: [null for pair in pairs if (null := tilted(pair, k))] for k in (1.0, 3.0, 10.0)}
    badge = [null for part in nulls.values() for null in part]
    failed |= report("badge", badge_cells(badge, sets, rng))
    print(f"{time.process_time() - begin:.0f} CPU s", flush=True)
    rows = approximate_rows(nulls[10.0], 200 if quick else 1500, rng)
    print("\napproximate grade", *rows, sep="\n")
    print(f"{time.process_time() - begin:.0f} CPU s")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
