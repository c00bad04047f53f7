"""Seeded counts: limits from the runs alone fail at most as often as they say, on distributions chosen to hurt."""

from collections.abc import Callable
from dataclasses import dataclass
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
DATA_SETS = 20_000
DELTAS = (0.1, 0.01)
METHODS: list[confidence.Method] = list(get_args(confidence.Method))
PAR10 = RuntimeModel(locations=np.array([0.0]), hardness=1.2, interaction=0.0, noise=0.8, cutoff=10.0, factor=10.0)


@dataclass(frozen=True, kw_only=True)
class Source:
    """Costs in [0, 1] with known truth; `draw` takes (generator, (data sets, instances))."""

    name: str
    true_cost: float
    draw: Callable[[np.random.Generator, tuple[int, int]], FloatArray]


def coin(chance: float) -> Source:
    """Solved at once or not at all."""
    return Source(
        name=f"coin {chance:g}", true_cost=chance, draw=lambda rng, shape: (rng.random(shape) < chance).astype(float)
    )


def point(at: float) -> Source:
    """Always the same cost."""
    return Source(name=f"always {at:g}", true_cost=at, draw=lambda _, shape: np.full(shape, at))


def atoms(values: list[float], chances: list[float]) -> Source:
    """A few costs with their chances."""
    return Source(
        name=f"atoms {values}",
        true_cost=float(np.dot(values, chances)),
        draw=lambda rng, shape: rng.choice(values, size=shape, p=chances),
    )


def par10(rng: np.random.Generator, shape: tuple[int, int], runs: int) -> FloatArray:
    """Runs of the model, scaled: a heavy right tail cut at a tenth, and an atom at 1."""
    log_seconds = 1.2 * rng.standard_normal((*shape, 1)) + 0.8 * rng.standard_normal((*shape, runs))
    return np.where(log_seconds >= np.log(10), 1.0, np.exp(np.minimum(log_seconds, np.log(10))) / 100)


def uneven(rng: np.random.Generator, shape: tuple[int, int]) -> FloatArray:
    """Means of one to three such runs; an instance in five has none."""
    costs = par10(rng, shape, 3)
    counts = rng.integers(1, 4, size=shape) * (rng.random(shape) > 0.2)
    counts[:, 0] = 1
    there = np.arange(3) < counts[..., np.newaxis]
    means = (costs * there).sum(axis=2) / np.maximum(counts, 1)
    return np.where(counts > 0, means, np.nan)


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
    Source(name="PAR10", true_cost=MEAN, draw=lambda rng, shape: par10(rng, shape, 1)[:, :, 0]),
    Source(name="PAR10, uneven counts", true_cost=MEAN, draw=uneven),
]
sources = pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.name)


def assert_covers(missed: ArrayLike, delta: float, what: str) -> None:
    """A share of misses above δ by more than chance fails."""
    number, of = int(np.count_nonzero(missed)), np.size(missed)
    answer = binomtest(number, of, delta, alternative="greater")
    assert answer.pvalue > 1e-4, f"{what}: {number} of {of} missed at δ = {delta}"


@pytest.mark.parametrize("method", METHODS)
@sources
def test_limits_of_few_instances(source: Source, method: confidence.Method) -> None:
    """A limit of one configuration, as users get it, would be wrong more often than δ."""
    for instances in (1, 3, 12):
        rng = np.random.default_rng(30_001)
        costs = source.draw(rng, (DATA_SETS, instances))
        both = confidence.interval(costs[:, :, np.newaxis], 0, 1, 0.2, method=method, configurations=1)
        assert_covers(source.true_cost > np.asarray(both.upper) + 1e-12, 0.1, f"upper, {instances}")
        assert_covers(source.true_cost < np.asarray(both.lower) - 1e-12, 0.1, f"lower, {instances}")


@sources
def test_limits_of_many_instances(source: Source) -> None:
    """A limit would be wrong more often than δ; betting is asked whether it rejects the true cost, which is the same."""
    rng = np.random.default_rng(30_002)
    for instances in (50, 250):
        costs = source.draw(rng, (DATA_SETS, instances))
        for delta in DELTAS:
            for x, mean in ((costs, source.true_cost), (1 - costs, 1 - source.true_cost)):
                if mean > 0:  # no limit is below 0
                    assert_covers(betting.star_rejects(x, mean, 1 / delta), delta, "STaR-Bets")
                    assert_covers(betting.plug_in_rejects(x, mean, 1 / delta, False), delta, "betting")
    costs = costs[:, :50, np.newaxis]
    for delta in DELTAS:
        for method in METHODS[2:]:
            both = confidence.interval(costs, 0, 1, 2 * delta, method=method, configurations=1)
            assert_covers(source.true_cost > np.asarray(both.upper) + 1e-12, delta, method)
            assert_covers(source.true_cost < np.asarray(both.lower) - 1e-12, delta, method)


@sources
def test_sequences_hold_at_all_times(source: Source) -> None:
    """Somebody who looks after every instance would see a limit that is wrong, sooner or later, more often than δ."""
    costs = source.draw(np.random.default_rng(30_003), (DATA_SETS, 150))
    for delta in DELTAS:
        for x, mean in ((costs, source.true_cost), (1 - costs, 1 - source.true_cost)):
            if mean > 0:
                assert_covers(betting.plug_in_rejects(x, mean, 1 / delta, True), delta, "betting")
                limits = np.asarray(betting.bernstein_lower_sequence(x, 1 / delta))
                assert_covers((limits > mean + 1e-12).any(axis=1), delta, "empirical Bernstein")


def test_looking_while_it_runs_breaks_the_others() -> None:
    """Limits for one look would seem good enough for many: a coin shows that they are not, and that `sequence` is."""
    costs = SOURCES[2].draw(np.random.default_rng(30_004), (2000, 250))
    delta, missed = 0.1, np.zeros(2000, bool)
    for instances in range(5, 251, 5):
        missed |= betting.star_rejects(costs[:, :instances], 0.5, 1 / delta)
    assert missed.mean() > 2 * delta
    assert_covers(betting.plug_in_rejects(costs, 0.5, 1 / delta, True), delta, "sequence")


@pytest.mark.parametrize("method", METHODS)
def test_all_configurations_at_once(method: confidence.Method) -> None:
    """The limits of several independent configurations would not all hold together with probability 1 − δ."""
    rng, delta, data_sets = np.random.default_rng(30_005), 0.2, 2000
    several = [source for source in SOURCES if source.name != "always 1"]
    costs = np.stack([source.draw(rng, (data_sets, 20)) for source in several], axis=1)
    truth = np.array([source.true_cost for source in several])
    both = confidence.interval(costs.reshape(-1, 20, 1), 0, 1, delta, method=method, configurations=len(several))
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
    """An order that goes with the costs would pass unshuffled, or break the limits though a random shuffle undid it."""
    rng, delta, data_sets = np.random.default_rng(30_007), 0.1, 4000
    costs = np.sort(SOURCES[9].draw(rng, (data_sets, 60)), axis=1)[:, ::-1]
    assert betting.star_rejects(costs, MEAN, 1 / delta).mean() > 2 * delta
    assert_covers(betting.star_rejects(rng.permuted(costs, axis=1), MEAN, 1 / delta), delta, "shuffled")


@pytest.mark.parametrize("instances", [25, 50, 100])
def test_as_tight_as_promised(instances: int) -> None:
    """The default would not be within 1.5 of Theorem 2 with the true variance, or not be twice as tight as Maurer–Pontil."""
    rng, delta = np.random.default_rng(30_008), 0.05
    model = RuntimeModel(locations=np.array([0.8]), hardness=1.0, interaction=0.3, noise=1.0, cutoff=10.0, factor=10.0)
    matrix = model.draw(instances=500, runs=5, rng=rng)
    means = matrix.costs[0].mean(axis=1)
    draws = rng.choice(means, (400, instances))[:, :, np.newaxis]
    known = VarianceComponents.known(within=0, across=means.var())
    theorem_2 = bounds.single(allocation=even(instances, instances), components=known, width=100, delta=delta).epsilon
    error = {}
    for method in METHODS:
        limits = confidence.upper(draws, 0, 100, delta, method=method, configurations=1)
        error[method] = np.median(np.asarray(limits.upper) - limits.estimate)
    assert min(error, key=error.__getitem__) == "star-bets"
    assert error["star-bets"] <= 1.5 * theorem_2
    assert error["star-bets"] <= error["empirical-bernstein"] / 2
