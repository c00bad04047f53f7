"""Seeded counts: limits from the runs alone fail at most as often as they say, on distributions
chosen to hurt.
"""

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import get_args

import numpy as np
import pytest
from numpy.typing import ArrayLike, NDArray
from scipy.stats import binomtest

from truecost.stats import betting, bounds, confidence
from truecost.stats.allocation import even
from truecost.stats.synthetic import RuntimeModel
from truecost.stats.variance import VarianceComponents

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
DATA_SETS = 20_000
# Arrays of this many fit into the memory that a process has already; larger ones are asked of the
# system time and again.
PART = 2_000
DELTAS = (0.1, 0.01)
METHODS: list[confidence.Method] = list(get_args(confidence.Method))
PAR10 = RuntimeModel(
    locations=np.array([0.0]), hardness=1.2, interaction=0.0, noise=0.8, cutoff=10.0, factor=10.0
)


@dataclass(frozen=True, kw_only=True)
class Source:
    """Costs in [0, 1] with known truth; `draw` takes (generator, (data sets, instances))."""

    name: str
    true_cost: float
    draw: Callable[[np.random.Generator, tuple[int, int]], FloatArray]


def coin(chance: float) -> Source:
    """Solved at once or not at all."""
    return Source(
        name=f"coin {chance:g}",
        true_cost=chance,
        draw=lambda rng, shape: (rng.random(shape) < chance).astype(float),
    )


def point(at: float) -> Source:
    """Always the same cost."""
    return Source(name=f"always {at:g}", true_cost=at, draw=lambda _, shape: np.full(shape, at))


def atoms(values: list[float], chances: list[float]) -> Source:
    """A few costs with their chances."""
    return Source(
        name=f"atoms {values}",
        true_cost=float(np.dot(values, chances)),
        draw=lambda rng, shape: np.array(values)[
            np.digitize(rng.random(shape), np.cumsum(chances[:-1]))
        ],
    )


def par10(rng: np.random.Generator, shape: tuple[int, int], runs: int) -> FloatArray:
    """So many runs of the model on each instance, scaled: a heavy right tail cut at a tenth, and an
    atom at 1.
    """
    # In single precision, which is drawn in half the time and whose digits no count of misses can
    # see.
    normal, cutoff = partial(rng.standard_normal, dtype=np.float32), np.float32(np.log(10))
    log_seconds = np.float32(1.2) * normal(shape) + np.float32(0.8) * normal((runs, *shape))
    costs = np.exp(np.minimum(log_seconds, cutoff)).astype(np.float64) / 100
    costs[log_seconds >= cutoff] = 1.0
    return np.asarray(costs)


def uneven(rng: np.random.Generator, shape: tuple[int, int]) -> FloatArray:
    """Means of one to three such runs; an instance in five has none."""
    costs = par10(rng, shape, 3)
    counts = rng.integers(1, 4, size=shape) * (rng.random(shape) > 0.2)
    counts[:, 0] = 1
    totals = sum(np.where(counts > run, costs[run], 0.0) for run in range(3))
    return np.where(counts > 0, totals / np.maximum(counts, 1), np.nan)


MEAN = float(PAR10.true_cost[0]) / 100
SOURCES = [
    coin(0.01),
    coin(0.05),
    coin(0.5),
    coin(0.97),
    point(0.0),
    point(0.3),
    point(1.0),
    atoms([0.0, 0.02, 1.0], [0.5, 0.47, 0.03]),
    atoms([0.49, 0.5, 0.53], [0.5, 0.3, 0.2]),
    Source(name="PAR10", true_cost=MEAN, draw=lambda rng, shape: par10(rng, shape, 1)[0]),
    Source(name="PAR10, uneven counts", true_cost=MEAN, draw=uneven),
]
sources = pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.name)


def distinct(rows: FloatArray) -> tuple[FloatArray, IntArray]:
    """The data sets that differ, and which of them each is: what is the same has the same limits,
    which are found once.
    """
    places: dict[bytes, int] = {}
    which = np.array([places.setdefault(row.tobytes(), len(places)) for row in rows])
    return rows[np.unique(which, return_index=True)[1]], which


def assert_covers(missed: ArrayLike, delta: float, what: str) -> None:
    """A share of misses above δ by more than chance fails."""
    number, of = int(np.count_nonzero(missed)), np.size(missed)
    answer = binomtest(number, of, delta, alternative="greater")
    assert answer.pvalue > 1e-4, f"{what}: {number} of {of} missed at δ = {delta}"


class Counts:
    """Misses of the same kind, part after part of the data sets."""

    def __init__(self) -> None:
        self._missed = defaultdict[tuple[float, str], list[NDArray[np.bool_]]](list)

    def add(self, missed: NDArray[np.bool_], delta: float, what: str) -> None:
        """Those of one part."""
        self._missed[delta, what].append(missed)

    def assert_cover(self) -> None:
        """As `assert_covers`, of all data sets."""
        for (delta, what), parts in self._missed.items():
            assert_covers(np.concatenate(parts), delta, what)
            assert sum(part.size for part in parts) == DATA_SETS


def sides(costs: FloatArray, source: Source) -> list[tuple[str, FloatArray, float]]:
    """What a lower limit is sought of, the costs and for an upper one their mirror image, with its
    mean.
    """
    both = [("lower", costs, source.true_cost), ("upper", 1 - costs, 1 - source.true_cost)]
    return [each for each in both if each[2] > 0]  # no limit is below 0


@pytest.mark.parametrize("method", METHODS)
@sources
def test_limits_of_few_instances(source: Source, method: confidence.Method) -> None:
    """A limit of one configuration, as users get it, would be wrong more often than δ."""
    for instances in (1, 3, 12):
        rng = np.random.default_rng(30_001)
        costs, which = distinct(source.draw(rng, (DATA_SETS, instances)))
        both = confidence.interval(
            costs[:, :, np.newaxis], 0, 1, 0.2, method=method, configurations=1
        )
        assert_covers(
            source.true_cost > np.asarray(both.upper)[which] + 1e-12, 0.1, f"upper, {instances}"
        )
        assert_covers(
            source.true_cost < np.asarray(both.lower)[which] - 1e-12, 0.1, f"lower, {instances}"
        )


@sources
def test_limits_of_many_instances(source: Source) -> None:
    """A limit would be wrong more often than δ; betting is asked whether it rejects the true cost,
    which is the same.
    """
    rng, counts = np.random.default_rng(30_002), Counts()
    for instances in (50, 250):
        for _ in range(DATA_SETS // PART):
            costs, which = distinct(source.draw(rng, (PART, instances)))
            for delta, (end, x, mean) in product(DELTAS, sides(costs, source)):
                rejects = betting.star_reaches(x, mean, 1 / delta, True, False)[which]
                counts.add(rejects, delta, f"STaR-Bets, {end}, {instances}")
                rejects = betting.plug_in_rejects(x, mean, 1 / delta, False)[which]
                counts.add(rejects, delta, f"betting, {end}, {instances}")
            if instances == 50:
                for delta, method in product(DELTAS, METHODS[2:]):
                    both = confidence.interval(
                        costs[:, :, np.newaxis], 0, 1, 2 * delta, method=method, configurations=1
                    )
                    counts.add(
                        source.true_cost > np.asarray(both.upper)[which] + 1e-12,
                        delta,
                        f"{method}, upper",
                    )
                    counts.add(
                        source.true_cost < np.asarray(both.lower)[which] - 1e-12,
                        delta,
                        f"{method}, lower",
                    )
    counts.assert_cover()


@sources
def test_sequences_hold_at_all_times(source: Source) -> None:
    """Somebody who looks after every instance would see a limit that is wrong, sooner or later,
    more often than δ.
    """
    rng, counts = np.random.default_rng(30_003), Counts()
    for _ in range(DATA_SETS // PART):
        costs, which = distinct(source.draw(rng, (PART, 150)))
        for delta, (end, x, mean) in product(DELTAS, sides(costs, source)):
            counts.add(
                betting.plug_in_rejects(x, mean, 1 / delta, True)[which], delta, f"betting, {end}"
            )
            limits = np.asarray(betting.bernstein_lower_sequence(x, 1 / delta))
            missed = np.asarray((limits > mean + 1e-12).any(axis=1))
            counts.add(missed[which], delta, f"empirical Bernstein, {end}")
    counts.assert_cover()


def test_looking_while_it_runs_breaks_the_others() -> None:
    """Limits for one look would seem good enough for many: a coin shows that they are not, and that
    `sequence` is.
    """
    costs = SOURCES[2].draw(np.random.default_rng(30_004), (2000, 250))
    delta, missed = 0.1, np.zeros(2000, bool)
    for instances in range(5, 251, 5):
        missed |= betting.star_reaches(
            np.ascontiguousarray(costs[:, :instances]), 0.5, 1 / delta, True, False
        )
    assert missed.mean() > 2 * delta
    assert_covers(betting.plug_in_rejects(costs, 0.5, 1 / delta, True), delta, "sequence")


@pytest.mark.parametrize("method", METHODS)
def test_all_configurations_at_once(method: confidence.Method) -> None:
    """The limits of several independent configurations would not all hold together with probability
    1 − δ.
    """
    rng, delta, data_sets = np.random.default_rng(30_005), 0.2, 2000
    several = [source for source in SOURCES if source.name != "always 1"]
    costs = np.stack([source.draw(rng, (data_sets, 20)) for source in several], axis=1)
    truth = np.array([source.true_cost for source in several])
    both = confidence.interval(
        costs.reshape(-1, 20, 1), 0, 1, delta, method=method, configurations=len(several)
    )
    most, least = (np.asarray(end).reshape(data_sets, -1) for end in (both.upper, both.lower))
    assert_covers(((truth > most + 1e-12) | (truth < least - 1e-12)).any(axis=1), delta, method)


@pytest.mark.parametrize("method", METHODS)
def test_differences_of_pairs(method: confidence.Method) -> None:
    """The limits of a difference of two configurations would be wrong more often than δ."""
    rng, delta = np.random.default_rng(30_006), 0.1
    shape = (DATA_SETS, 15)
    hard, first, second = (rng.random(shape) < chance for chance in (0.15, 0.05, 0.1))
    truth = 0.15 + 0.85 * 0.05 - (0.15 + 0.85 * 0.1)
    pair = [(hard | own).astype(float)[:, :, np.newaxis] for own in (first, second)]
    both = confidence.difference(pair[0], pair[1], 0, 1, delta, method=method, configurations=1)
    assert_covers(truth > np.asarray(both.upper) + 1e-12, delta / 2, "upper")
    assert_covers(truth < np.asarray(both.lower) - 1e-12, delta / 2, "lower")


def test_sorted_instances_need_the_shuffle() -> None:
    """An order that goes with the costs would pass unshuffled, or break the limits though a random
    shuffle undid it.
    """
    rng, delta, data_sets = np.random.default_rng(30_007), 0.1, 4000
    costs = np.sort(SOURCES[9].draw(rng, (data_sets, 60)), axis=1)[:, ::-1].copy()
    assert betting.star_reaches(costs, MEAN, 1 / delta, True, False).mean() > 2 * delta
    assert_covers(
        betting.star_reaches(rng.permuted(costs, axis=1), MEAN, 1 / delta, True, False),
        delta,
        "shuffled",
    )


@pytest.mark.parametrize("instances", [25, 50, 100])
def test_as_tight_as_promised(instances: int) -> None:
    """The default would not be within 1.5 of Theorem 2 with the true variance, or not be twice as
    tight as Maurer–Pontil.
    """
    rng, delta = np.random.default_rng(30_008), 0.05
    model = RuntimeModel(
        locations=np.array([0.8]),
        hardness=1.0,
        interaction=0.3,
        noise=1.0,
        cutoff=10.0,
        factor=10.0,
    )
    matrix = model.draw(instances=500, runs=5, rng=rng)
    means = matrix.costs[0].mean(axis=1)
    draws = rng.choice(means, (400, instances))[:, :, np.newaxis]
    known = VarianceComponents.known(within=0, across=means.var())
    theorem_2 = bounds.single(
        allocation=even(instances, instances), components=known, width=100, delta=delta
    ).epsilon
    error = {}
    for method in METHODS:
        limits = confidence.upper(draws, 0, 100, delta, method=method, configurations=1)
        error[method] = np.median(np.asarray(limits.upper) - limits.estimate)
    assert min(error, key=error.__getitem__) == "star-bets"
    assert error["star-bets"] <= 1.5 * theorem_2
    assert error["star-bets"] <= error["empirical-bernstein"] / 2
