"""Seeded counts: every bound fails at most as often as it says, on distributions chosen to hurt."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import get_args

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import binomtest

from truecost.stats import bounds
from truecost.stats.allocation import Allocation, concentrated, even
from truecost.stats.synthetic import RuntimeModel
from truecost.stats.variance import VarianceComponents

FloatArray = NDArray[np.float64]
DATA_SETS = 20_000
DELTAS = (0.5, 0.1, 0.01)
FORMS: list[bounds.Form] = list(get_args(bounds.Form))


@dataclass(frozen=True, kw_only=True)
class Source:
    """A distribution of costs with known truth; `draw` takes (generator, instances, largest count)
    per data set.
    """

    name: str
    low: float
    high: float
    true_cost: float
    within: float
    across: float
    draw: Callable[[np.random.Generator, tuple[int, int], int], FloatArray]


def two_point_instances(chance: float, high: float) -> Source:
    """An instance costs `high` with this chance, else nothing: all of the variance is across."""

    def draw(rng: np.random.Generator, shape: tuple[int, int], runs: int) -> FloatArray:
        return np.broadcast_to(high * (rng.random((*shape, 1)) < chance), (*shape, runs)).astype(
            float
        )

    return Source(
        name=f"instances at the ends, {chance:g}",
        low=0,
        high=high,
        true_cost=high * chance,
        within=0,
        across=high**2 * chance * (1 - chance),
        draw=draw,
    )


def two_point_runs(chance: float) -> Source:
    """A run costs 1 with this chance, else nothing: all of the variance is within."""

    def draw(rng: np.random.Generator, shape: tuple[int, int], runs: int) -> FloatArray:
        return (rng.random((*shape, runs)) < chance).astype(float)

    return Source(
        name=f"runs at the ends, {chance:g}",
        low=0,
        high=1,
        true_cost=chance,
        within=chance * (1 - chance),
        across=0,
        draw=draw,
    )


def runtimes() -> Source:
    """Lognormal runtimes, a heavy right tail cut at the cutoff and charged tenfold."""
    model = RuntimeModel(
        locations=np.array([0.0]),
        hardness=1.2,
        interaction=0.0,
        noise=0.8,
        cutoff=10.0,
        factor=10.0,
    )

    def draw(rng: np.random.Generator, shape: tuple[int, int], runs: int) -> FloatArray:
        log_seconds = 1.2 * rng.standard_normal((*shape, 1)) + 0.8 * rng.standard_normal(
            (*shape, runs)
        )
        seconds = np.exp(log_seconds)
        return np.where(seconds >= 10, 100.0, seconds)

    truth = model.components
    return Source(
        name="PAR10",
        low=0,
        high=100,
        true_cost=model.true_cost[0],
        within=truth.within[0],
        across=truth.across[0],
        draw=draw,
    )


def nearly_constant() -> Source:
    """Costs that hardly vary inside a wide range."""

    def draw(rng: np.random.Generator, shape: tuple[int, int], runs: int) -> FloatArray:
        return 0.5 + 1e-6 * (rng.random((*shape, 1)) + rng.random((*shape, runs)))

    variance = 1e-12 / 12
    return Source(
        name="constant",
        low=0,
        high=1,
        true_cost=0.5 + 1e-6,
        within=variance,
        across=variance,
        draw=draw,
    )


SOURCES = [
    two_point_instances(0.5, 1),
    two_point_instances(0.05, 1),
    two_point_instances(0.999, 250),
    two_point_runs(0.9),
    two_point_runs(0.1),
    runtimes(),
    nearly_constant(),
]
ALLOCATIONS = {
    "K=2, N=2": even(2, 2),
    "K=2, N=3": even(3, 2),
    "N<K": even(7, 20),
    "N not a multiple": even(25, 10),
    "five rounds": even(100, 20),
    "concentrated": concentrated(23, 5),
    "uneven": Allocation.of([12, 1, 1, 1, 2]),
}


def training_costs(
    source: Source, allocation: Allocation, rng: np.random.Generator, data_sets: int
) -> FloatArray:
    """The mean of runs in each data set."""
    costs = source.draw(rng, (data_sets, allocation.instances), allocation.largest)
    there = np.arange(allocation.largest) < allocation.counts[:, np.newaxis]
    return np.asarray(np.einsum("dir,ir->d", costs, there / allocation.runs))


def assert_covers(violations: int, delta: float, data_sets: int, what: str) -> None:
    """A share of violations above δ by more than chance fails."""
    answer = binomtest(violations, data_sets, delta, alternative="greater")
    assert answer.pvalue > 1e-4, f"{what}: {violations} of {data_sets} violations at δ = {delta}"


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.name)
@pytest.mark.parametrize("allocation", ALLOCATIONS.values(), ids=ALLOCATIONS.keys())
def test_lemma_4_and_the_largest_consistent_cost(source: Source, allocation: Allocation) -> None:
    """A bound on one configuration would fail more often than δ."""
    estimates = training_costs(source, allocation, np.random.default_rng(20_001), DATA_SETS)
    distinct, which = np.unique(estimates, return_inverse=True)
    components = VarianceComponents.known(within=source.within, across=source.across)
    slack = 1e-12 * source.high  # rounding of means is not a violation
    for form in FORMS:
        for delta in DELTAS:
            bound = bounds.single(
                allocation=allocation,
                components=components,
                width=source.high - source.low,
                delta=delta,
                form=form,
            )
            violations = int((source.true_cost - estimates >= bound.epsilon + slack).sum())
            assert_covers(violations, delta, DATA_SETS, form)
            highest = bounds.highest_true_cost(
                training_cost=np.clip(distinct, source.low, source.high),
                low=source.low,
                high=source.high,
                allocation=allocation,
                components=components,
                delta=delta,
                configurations=1,
                form=form,
            ).value
            violations = int((source.true_cost > highest + slack)[which].sum())
            assert_covers(violations, delta, DATA_SETS, f"largest consistent, {form}")


# Scaled to one range, and independent of each other, which is what makes a union bound hurt most.
SETS = {
    "ten of all kinds": [source for source in SOURCES if source.high == 1] * 2,
    "a hundred coins": [two_point_instances(0.5, 1)] * 100,
}


@pytest.mark.parametrize("sources", SETS.values(), ids=SETS.keys())
@pytest.mark.parametrize("allocation", ALLOCATIONS.values(), ids=ALLOCATIONS.keys())
def test_theorem_2(allocation: Allocation, sources: list[Source]) -> None:
    """A bound on all configurations at once, one ε for all or one each, would fail more often than
    δ.
    """
    rng = np.random.default_rng(20_002)
    errors = np.array(
        [
            source.true_cost - training_costs(source, allocation, rng, DATA_SETS)
            for source in sources
        ]
    )
    components = VarianceComponents.known(
        within=[s.within for s in sources], across=[s.across for s in sources]
    )
    for form in FORMS:
        for delta in DELTAS:
            for tau in get_args(bounds.Tau):
                bound = bounds.finite(
                    allocation=allocation,
                    components=components,
                    width=1,
                    delta=delta,
                    form=form,
                    tau=tau,
                )
                limits = np.broadcast_to(bound.epsilon, (len(sources),))
                violations = int((errors >= limits[:, np.newaxis] + 1e-12).any(axis=0).sum())
                assert_covers(violations, delta, DATA_SETS, f"{form}, {tau}")


@pytest.mark.parametrize(("dimension", "lipschitz"), [(1, 0.2), (3, 0.2), (1, 1e-6)])
@pytest.mark.parametrize("allocation", ALLOCATIONS.values(), ids=ALLOCATIONS.keys())
def test_theorem_3(dimension: int, lipschitz: float, allocation: Allocation) -> None:
    """A bound on a whole ball of configurations would fail more often than δ.

    Costs are L + (1 − 2L)·y + L·⟨θ, a⟩ with y an instance's coin and a its direction, θ in the unit
    ball: Lipschitz with constant L, inside [0, 1], and the largest error over the ball is known
    exactly. With next to no L the configurations are one, and there is little left to be loose by.
    """
    rng = np.random.default_rng(20_003)
    chance, wide = 0.7, 1 - 2 * lipschitz
    shape = (DATA_SETS, allocation.instances)
    coins = lipschitz + wide * (rng.random(shape) < chance)
    directions = rng.standard_normal((*shape, dimension))
    directions /= np.linalg.norm(directions, axis=2, keepdims=True)
    weights = allocation.counts / allocation.runs
    shortfall = lipschitz + wide * chance - coins @ weights
    uniform_error = shortfall + lipschitz * np.linalg.norm(
        np.einsum("dkh,k->dh", directions, weights), axis=1
    )
    across = wide**2 * chance * (1 - chance) + lipschitz**2 / dimension
    components = VarianceComponents.known(within=0, across=across)
    for form in get_args(bounds.SpaceForm):
        for delta in DELTAS:
            bound = bounds.infinite(
                allocation=allocation,
                components=components,
                width=1,
                delta=delta,
                dimension=dimension,
                radius=1,
                lipschitz=lipschitz,
                form=form,
            )
            if form == "printed" and not bound.guaranteed:
                continue
            assert_covers(int((uniform_error >= bound.epsilon).sum()), delta, DATA_SETS, form)


def test_plug_in_bounds_do_fail() -> None:
    """Bounds with estimated variances would look guaranteed: on rare timeouts they miss more often
    than δ.
    """
    rng = np.random.default_rng(20_004)
    allocation, delta, chance = even(20, 20), 0.05, 0.02
    costs = (rng.random((DATA_SETS, 20)) < chance).astype(float)
    estimates, variances = costs.mean(axis=1), costs.var(axis=1, ddof=1)
    epsilon = bounds.single(
        allocation=allocation,
        components=VarianceComponents.known(within=0, across=variances),
        width=1,
        delta=delta,
    ).epsilon
    missed = float((chance - estimates >= epsilon).mean())
    assert missed > 5 * delta
