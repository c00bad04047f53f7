"""Count how often limits, the badge and the approximate grade are wrong, and how often they decide.

    python -m bench.coverage [--quick] [FOLDERS…]

Populations are the examples, made-up ones, and tables in the folders given. Samples are drawn from
them, so every true value is known. Errors are counted at the true value, which a scan must reject
to err: never fewer than the errors of the scan. A cell fails where a binomial test rejects "at most
δ" at 0.001; then the exit code is 1.
"""

import argparse
import math
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy

import truecost
from truecost.arrays import BoolArray, FloatArray, IntArray
from truecost.stats import approximate, betting, exact, ladder, quantities
from truecost.stats.quantities import Numbers, Runs, Scale

EXAMPLES = ("kissat", "kissat-large", "lkh", "clasp", "clasp-large")
SIZES, DELTAS, LEVEL = (20, 60), (0.05, 0.2), 0.001
# Tables in folders: what a table does not say.
CUTOFFS = {"main2023.csv": 5000.0, "sat2020-par2.csv": 5000.0}

Rng = np.random.Generator
Quantity = Callable[[Runs, Runs, Scale], Numbers]
QUANTITIES: dict[str, Quantity] = {
    "mean": lambda w, _, s: quantities.mean(w, s),
    "difference": quantities.difference,
    "difference PAR2": lambda w, d, s: quantities.difference(w, d, s, 2.0),
    "margin 5%": lambda w, d, s: quantities.margin(w, d, s, 0.05),
    "wins": quantities.wins,
    "solved": lambda w, *_: quantities.solved(w),
    "solved difference": lambda w, d, _: quantities.solved_difference(w, d),
    "geometric speed-up": quantities.geometric_speed_up,
    "median speed-up": quantities.median_speed_up,
}
TIMED = {"difference PAR2", "geometric speed-up", "median speed-up"}


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

    def runs_on(self, places: IntArray, rng: Rng) -> tuple[Runs, Runs]:
        """A fresh run of both on these instances."""
        winner, default = (
            part(side, places, rng.integers(side.costs.shape[1], size=places.size))
            for side in (self.winner, self.default)
        )
        return winner, default

    def draw(self, n: int, sets: int, rng: Rng) -> tuple[Runs, Runs]:
        """Runs of `sets` samples one after the other: (sets · n, 1)."""
        return self.runs_on(rng.choice(len(self.share), size=sets * n, p=self.share), rng)


def part(runs: Runs, places: Any, run: Any) -> Runs:
    """One run each of these instances."""
    return Runs(costs=runs.costs[places, run][:, None], failed=runs.failed[places, run][:, None])


# ---- populations ---------------------------------------------------------------------------------


def example_pairs(quick: bool) -> Iterator[Population]:
    """The default of each example against those that are best at PAR2 and PAR10."""
    for name in EXAMPLES[:2] if quick else EXAMPLES:
        matrix = truecost.load_example(name)
        scale = Scale(low=matrix.low, high=matrix.high, cutoff=matrix.cutoff, par=matrix.par)
        yield from _pairs(name, matrix.costs, matrix.failed, scale, 0)


def table_pairs(folders: list[str]) -> Iterator[Population]:
    """Of wide tables in folders: the three best solvers against the one in the middle."""
    for path in sorted(path for folder in folders for path in Path(folder).rglob("*.csv")):
        if path.name not in CUTOFFS:
            continue
        cells = pd.read_csv(path, index_col=0).apply(pd.to_numeric, errors="coerce")
        costs = cells.dropna(axis="columns", how="all").dropna().to_numpy(float)
        # Instances are the longer side.
        costs = (costs if costs.shape[0] < costs.shape[1] else costs.T)[:, :, np.newaxis]
        cutoff = CUTOFFS[path.name]
        failed = costs >= cutoff
        means = np.where(failed, 2 * cutoff, costs).mean(axis=(1, 2))
        scale = Scale(low=0, high=10 * cutoff, cutoff=cutoff, par=10.0)
        yield from _pairs(path.stem, costs, failed, scale, int(means.argsort()[len(costs) // 2]))


def _pairs(
    name: str, costs: FloatArray, failed: BoolArray, scale: Scale, default: int
) -> Iterator[Population]:
    best: dict[int, None] = {}
    for penalty in (2.0, 10.0):
        means = np.where(failed, penalty * (scale.cutoff or 1), costs).mean(axis=(1, 2))
        ranked = [place for place in means.argsort().tolist() if place != default]
        best |= dict.fromkeys(ranked[:3])
    sides = [Runs(costs=costs[place], failed=failed[place]) for place in (*best, default)]
    for place, winner in zip(best, sides, strict=False):
        yield Population(name=f"{name} {place}", winner=winner, default=sides[-1], scale=scale)


def made_up(rng: Rng) -> Iterator[Population]:
    """Populations that are hard on purpose."""
    n, unit = 2000, Scale(low=0, high=1)

    def pair(name: str, winner: Runs, default: Runs, **more: Any) -> Population:
        scale = Scale(low=0, high=100, cutoff=10.0, par=10.0)
        return Population(name=name, winner=winner, default=default, **{"scale": scale} | more)

    def times(values: FloatArray, late: float) -> Runs:
        failed = (rng.random((n, 3)) < late) | (values >= 10)
        return Runs(costs=np.where(failed, 100.0, values), failed=failed)

    def noisy(level: FloatArray, late: float) -> Runs:
        return times(level * rng.gamma(5, 0.2, (n, 3)), late)

    def values(costs: FloatArray) -> Runs:
        return Runs(costs=costs, failed=np.zeros((n, 3), bool))

    base = rng.gamma(1, 1, (n, 1))
    yield pair("rare timeouts", noisy(base, 0.01), noisy(base, 0.012))
    tied = np.round(base * np.ones((1, 3)))
    yield pair("ties", times(tied, 0.05), times(tied, 0.05))
    skewed, calm = rng.lognormal(-3.1, 2.5, (n, 3)), rng.gamma(4, 0.25, (n, 3))
    yield pair("one side σ = 2.5", times(skewed, 0.0), times(calm, 0.02))
    share = rng.beta(0.5, 2, (n, 1))
    first, second = (values((rng.random((n, 3)) < share).astype(float)) for _ in range(2))
    yield pair("0/1 costs", first, second, scale=unit)
    few, half = values(rng.choice([0.2, 0.5, 0.8], (n, 3))), values(np.full((n, 3), 0.5))
    yield pair("few values, sorted", few, half, scale=unit, in_order=True)
    families = rng.integers(60, size=n)
    level = rng.lognormal(0, 1, 60)[families, np.newaxis]
    yield pair("families", noisy(level, 0.01), noisy(level, 0.01), families=families)


def tilted(population: Population, penalty: float) -> Population | None:
    """The same instances, weighted so that the difference at this penalty is 0."""
    pair = population.winner, population.default
    gaps = quantities.difference(*pair, population.scale, penalty).values - 0.5
    if gaps.min() >= 0 or gaps.max() <= 0:
        return None

    def weights(tilt: float) -> FloatArray:
        return np.asarray(scipy.special.softmax(tilt * gaps / np.abs(gaps).max()))

    low, high = -200.0, 200.0
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if weights(middle) @ gaps < 0 else (low, middle)
    balanced = weights(low)
    # A population of a handful of instances is another question.
    if 1 / (balanced**2).sum() < 15:
        return None
    return replace(population, name=f"{population.name} PAR{penalty:g}=0", weights=balanced)


# ---- coverage of limits --------------------------------------------------------------------------


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


def proven_above(
    samples: FloatArray, value: float, delta: float, *, balanced: bool, seed: int = 0
) -> BoolArray:
    """Which samples (sets, n) prove a mean above a value in one look, as `betting.lower` does."""
    orders = betting.orders_of(samples.shape[1], seed)
    goal = (betting.STOP_BALANCED if balanced else betting.STOP) / delta
    capitals = [
        betting.average_capitals(block, value, goal, orders, balanced=balanced)
        for block in np.array_split(samples, math.ceil(len(samples) / 500))
    ]
    return np.concatenate(capitals) >= 1 / delta


def wrong(
    numbers: Numbers, samples: FloatArray, truth: float, delta: float, planned: int | None = None
) -> BoolArray:
    """Which samples (sets, n) reject the true number, so that a lower limit may pass it."""
    n, method = samples.shape[1], numbers.method
    if not 0 < truth < 1:
        return np.zeros(len(samples), bool)
    if planned is not None:
        return betting.proving_samples(
            samples, truth, delta, planned=planned, balanced=numbers.balanced
        )
    if method == "binomial":
        limits = np.array([exact.share_lower(k, n, delta) for k in range(n + 1)])
        return np.asarray(limits[np.rint(samples.sum(axis=1)).astype(int)] > truth)
    if method == "signs" and 0.5 - exact.SIGN_CELL / math.sqrt(n) < truth <= 0.5:
        return np.array([exact.more_wins_than_losses(row, delta) for row in samples])
    balanced = numbers.balanced and method != "signs"
    return proven_above(samples, truth, delta, balanced=balanced)


def limit_cells(populations: list[Population], sets: int, rng: Rng) -> Iterator[Tally]:
    """Every quantity, unit and look, both sides."""
    for population in populations:
        units = ("instance", "seed", *(() if population.families is None else ("family",)))
        for name, quantity in QUANTITIES.items():
            if population.scale.cutoff is None and name in TIMED:
                continue
            for n in SIZES:
                for unit in units:
                    if unit == "family" and name == "median speed-up":
                        continue
                    numbers, truth = unit_samples(population, quantity, unit, n, sets, rng)
                    samples = numbers.values.reshape(sets, n)
                    if population.in_order:
                        samples = np.sort(samples, axis=1)
                    for side, look, delta, misses in _misses(numbers, samples, truth, population):
                        cell = f"{population.name} | {name} | {unit} | {n} | {side} | {look}"
                        yield Tally(f"{cell} | {delta:g}", misses, sets, delta)


def _misses(
    numbers: Numbers, samples: FloatArray, truth: float, population: Population
) -> Iterator[tuple[str, str, float, int]]:
    n = samples.shape[1]
    for delta in DELTAS:
        if numbers.method == "median":
            lower, upper = np.array([exact.median_limits(row, delta) for row in samples]).T
            yield "lower", "one", delta, int((lower > truth + 1e-12).sum())
            yield "upper", "one", delta, int((upper < truth - 1e-12).sum())
            continue
        looks: dict[str, int | None] = {"one": None}
        looks |= {} if population.in_order else {"every": n, "extended": n // 2}
        for look, planned in looks.items():
            yield "lower", look, delta, int(wrong(numbers, samples, truth, delta, planned).sum())
            misses = wrong(numbers, 1 - samples, 1 - truth, delta, planned)
            yield "upper", look, delta, int(misses.sum())


def unit_samples(
    population: Population, quantity: Quantity, unit: str, n: int, sets: int, rng: Rng
) -> tuple[Numbers, float]:
    """The quantity's numbers of `sets` samples, and the true number (of a median: the value)."""
    winner, default, scale = population.winner, population.default, population.scale
    if unit == "family":
        # Families drawn with replacement, each with a fresh run of all its instances.
        codes = population.families
        assert codes is not None
        members = [np.flatnonzero(codes == family) for family in range(codes.max() + 1)]
        drawn = [members[family] for family in rng.integers(len(members), size=sets * n)]
        owners = np.repeat(np.arange(len(drawn)), [one.size for one in drawn])
        fresh = population.runs_on(np.concatenate(drawn), rng)
        everything = quantity(winner, default, scale).by_family(codes.tolist())
        return quantity(*fresh, scale).by_family(owners.tolist()), float(everything.values.mean())
    if unit == "seed":
        # One instance, the one that varies most; its runs are the population.
        place = int(winner.costs.std(axis=1).argmax())
        runs = rng.integers(winner.costs.shape[1], size=(2, 400))
        winner, default = part(winner, place, runs[0]), part(default, place, runs[1])
        population = replace(population, winner=winner, default=default, weights=None)
    numbers = quantity(*population.draw(n, sets, rng), scale)
    if numbers.method != "median":
        return numbers, float(population.share @ quantity(winner, default, scale).values)
    # All pairs of runs of an instance.
    every = range(winner.costs.shape[1])
    ratios = np.concatenate([
        quantity(part(winner, slice(None), a), part(default, slice(None), b), scale).values
        for a in every for b in every
    ])  # fmt: skip
    ranked = ratios.argsort()
    reached = np.tile(population.share, len(every) ** 2)[ranked].cumsum() >= len(every) ** 2 / 2
    return numbers, float(ratios[ranked][reached.argmax()])


def list_cells(sets: int, rng: Rng, quick: bool) -> Iterator[Tally]:
    """The best of ten candidates, the default among them: its mean at δ/m, its difference from the
    default at δ/(m − 1).
    """
    m = 10
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
                    misses: dict[str, int] = defaultdict(int)
                    for place in np.unique(best):
                        mine = samples[best == place]
                        for what, values, truth, share, balanced in (
                            ("mean", 1 - mine[:, place], 1 - true[place], m, False),
                            ("difference", (mine[:, 0] - mine[:, place] + 1) / 2,
                             (true[0] - true[place] + 1) / 2, m - 1, True),
                        ):  # fmt: skip
                            rejected = proven_above(values, truth, delta / share, balanced=balanced)
                            misses[what] += int(rejected.sum())
                    for what, miss in misses.items():
                        cell = f"{name}, {kind} | {what} of the best of a list | {n} | {delta:g}"
                        yield Tally(cell, miss, sets, delta)


# ---- the badge and power -------------------------------------------------------------------------


def penalty_numbers(winner: Runs, default: Runs, scale: Scale, penalty: float) -> FloatArray:
    """The numbers that the ladder tests at a penalty, large where the winner is better."""
    if math.isinf(penalty):
        return quantities.solved_difference(winner, default).values
    return 1 - quantities.difference(winner, default, scale, penalty).values


def climb(
    winner: Runs, default: Runs, scale: Scale, n: int, delta: float = 0.05, seed: int = 0
) -> dict[float, BoolArray]:
    """For each penalty which samples prove the winner better there, as `ladder` climbs."""
    declared = scale.par or 1.0
    outward = [*(k for k in ladder.OUTWARD if k < declared), declared, math.inf]

    def proven(penalty: float, alive: BoolArray) -> BoolArray:
        values = penalty_numbers(winner, default, scale, penalty).reshape(-1, n)
        result = alive.copy()
        if not alive.any():
            return result
        if math.isinf(penalty):
            rows = [exact.more_wins_than_losses(row, delta) for row in values[alive]]
            result[alive] = rows
        else:
            result[alive] = proven_above(values[alive], 0.5, delta, balanced=True, seed=seed)
        return result

    start = proven(ladder.START, np.ones(len(winner.costs) // n, bool))
    climbed = {ladder.START: start}
    for side in (ladder.INWARD, outward):
        alive = start
        for penalty in side:
            alive = climbed[penalty] = proven(penalty, alive)
    return climbed


def badge_cells(nulls: list[Population], sets: int, rng: Rng) -> Iterator[Tally]:
    """False claims per direction, over all penalties that are tested."""
    for population in nulls:
        scale, winner, default = population.scale, population.winner, population.default
        for n in SIZES:
            ours, theirs = population.draw(n, sets, rng)
            for delta in DELTAS:
                for direction, pair, sample in (
                    ("better", (winner, default), (ours, theirs)),
                    ("worse", (default, winner), (theirs, ours)),
                ):
                    false = np.zeros(sets, bool)
                    for penalty, claimed in climb(*sample, scale, n, delta).items():
                        mean = population.share @ penalty_numbers(*pair, scale, penalty)
                        if mean <= 0.5 + 1e-9:
                            false |= claimed
                    cell = f"{population.name} | badge {direction} | {n} | {delta:g}"
                    yield Tally(cell, int(false.sum()), sets, delta)


def power_rows(populations: list[Population], sets: int, rng: Rng) -> Iterator[str]:
    """How often pairs that differ are proven better, and change with the seed of the orders."""
    for n in (20, 50, 100, 200):
        rows: dict[str, list[FloatArray]] = defaultdict(list)
        for population in populations:
            name = population.name.split()[0]
            decisions = _decisions(population, n, sets, rng)
            rows["examples" if name in EXAMPLES else "tables"].append(decisions)
            rows[name].append(decisions)
        for name, parts in rows.items():
            some, declared, alone, won, approx, flip_some, flip_declared = np.hstack(parts).mean(1)
            yield (
                f"n = {n} | {name} ({sets * len(parts)}) | some penalty {some:.3f} | declared "
                f"{declared:.3f} | PAR10 alone {alone:.3f} | wins {won:.3f} | probably or better "
                f"{approx:.3f} | changes with the seed: some {flip_some:.3f}, declared "
                f"{flip_declared:.3f}"
            )


def _decisions(population: Population, n: int, sets: int, rng: Rng) -> FloatArray:
    """What is decided for the winner, (kinds, sets)."""
    scale, (winner, default) = population.scale, population.draw(n, sets, rng)
    first, second = (climb(winner, default, scale, n, seed=seed) for seed in (0, 1))
    par = scale.par or 1.0
    gains = 1 - quantities.difference(winner, default, scale).values.reshape(sets, n)
    won = quantities.wins(winner, default, scale).values.reshape(sets, n)
    discordant = (winner.failed != default.failed).reshape(sets, n).sum(axis=1).tolist()
    signs, _ = directions(0.5 - gains, discordant)
    return np.array([
        first[ladder.START], first[par], proven_above(gains, 0.5, 0.05, balanced=True),
        [exact.more_wins_than_losses(row, 0.05) for row in won], first[par] | (signs < 0),
        first[ladder.START] != second[ladder.START], first[par] != second[par],
    ])  # fmt: skip


# ---- the approximate grade -----------------------------------------------------------------------


def directions(
    differences: FloatArray, discordant: list[int] | list[None]
) -> tuple[IntArray, BoolArray]:
    """On which side of 0 the interval of each sample lies, and which have none."""
    intervals = [
        approximate.probably(row, discordant=number)
        for row, number in zip(differences, discordant, strict=True)
    ]
    signs = np.array([interval.direction for interval in intervals])
    return signs, np.array([bool(interval.reason) for interval in intervals])


def approximate_rows(nulls: list[Population], sets: int, rng: Rng) -> Iterator[str]:
    """Errors per direction among all samples and among statements, and silence."""
    for n in (50, 100, 200):
        shares = []
        for population in nulls:
            winner, default = population.draw(n, sets, rng)
            gaps = quantities.difference(winner, default, population.scale).values - 0.5
            discordant = (winner.failed != default.failed).reshape(sets, n).sum(axis=1).tolist()
            signs, silent = directions(gaps.reshape(sets, n), discordant)
            shares.append([(signs < 0).mean(), (signs > 0).mean(), silent.mean()])
        better, worse, silent = np.array(shares).T
        said = np.maximum(1 - silent, 1e-9)
        yield (
            f"real pairs, difference 0 at PAR10 ({len(nulls)}) | n = {n} | better: mean "
            f"{better.mean():.3f}, worst {better.max():.3f}; worse: mean {worse.mean():.3f}, worst "
            f"{worse.max():.3f} | among statements, both directions "
            f"{(better + worse).sum() / said.sum():.3f} | silent {silent.mean():.2f}"
        )

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
        "1 % huge outliers": lambda n: (
            np.where(rng.random((sets, n)) < 0.01, 100.0, rng.normal(0, 1, (sets, n))) - 1.0
        ),
    }
    for name, draw in tails.items():
        for n in (25, 50, 100):
            signs, silent = directions(draw(n), [None] * sets)
            yield (
                f"{name}, cannot fail | n = {n} | above {(signs > 0).mean():.3f}, below "
                f"{(signs < 0).mean():.3f} | silent {silent.mean():.2f}"
            )


# ---- the program ---------------------------------------------------------------------------------


def report(title: str, tallies: list[Tally]) -> bool:
    """Print the cells by what they count, the worst of each kind; whether any is rejected."""
    print(f"\n## {title}: {len(tallies)} cells of {tallies[0].sets} samples")
    kinds: dict[str, list[Tally]] = defaultdict(list)
    for tally in tallies:
        parts = tally.cell.split(" | ")
        kinds[" | ".join(parts[1:2] + parts[-2:])].append(tally)
    for kind, group in sorted(kinds.items()):
        rates = [tally.misses / tally.sets for tally in group]
        worst = group[int(np.argmax(rates))].cell.split(" | ")[0]
        print(
            f"{kind}: {len(group)} cells, mean {np.mean(rates):.4f}, worst {max(rates):.4f} ({worst})"
        )
    rejected = [tally for tally in tallies if tally.rejected]
    for tally in rejected:
        print(f"REJECTED {tally.cell}: {tally.misses} of {tally.sets}, δ = {tally.delta:g}")
    print(f"rejected at {LEVEL}: {len(rejected)}", flush=True)
    return bool(rejected)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="bench.coverage", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer samples and populations")
    parser.add_argument("folders", nargs="*", help="folders with wide tables")
    asked = parser.parse_args(arguments)
    quick, rng, began = asked.quick, np.random.default_rng(1), time.process_time()
    sets = 300 if quick else 2000
    pairs = [*example_pairs(quick), *table_pairs(asked.folders)]
    print("power", *power_rows(pairs, 2 if quick else 60, rng), sep="\n", flush=True)
    # One pair of each table: the others differ little.
    first = list({pair.name.split()[0]: pair for pair in reversed(pairs)}.values())
    failed = report("limits", [*limit_cells([*first, *made_up(rng)], sets, rng)])
    failed |= report("lists", [*list_cells(sets, rng, quick)])
    nulls = {k: [null for pair in pairs if (null := tilted(pair, k))] for k in (1.0, 3.0, 10.0)}
    failed |= report(
        "badge", [*badge_cells([null for part in nulls.values() for null in part], sets, rng)]
    )
    rows = approximate_rows(nulls[10.0], 200 if quick else 1500, rng)
    print("\napproximate grade", *rows, f"{time.process_time() - began:.0f} CPU s", sep="\n")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
