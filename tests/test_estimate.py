from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.optimize import minimize
from test_variance import costs_3d, gaps, matrix_of

from truecost.errors import InputError
from truecost.stats.estimate import Weights, training_cost
from truecost.stats.variance import VarianceComponents, variance_components

WEIGHTS: list[Weights] = ["runs", "instances", "best"]


def with_counts(
    counts: list[int], rng: np.random.Generator, draws: int, within: float, across: float
) -> NDArray[np.float64]:
    """Normal costs with so many runs on each instance, many data sets as configurations."""
    costs = np.asarray(across**0.5 * rng.standard_normal((draws, len(counts), 1)))
    costs = costs + within**0.5 * rng.standard_normal((draws, len(counts), max(counts)))
    for instance, count in enumerate(counts):
        costs[:, instance, count:] = np.nan
    return np.asarray(costs)


def test_weights_against_loops() -> None:
    """The three training costs would not be the mean of runs, of instance means, and the
    precision-weighted mean.
    """
    costs = gaps(np.random.default_rng(1), (5, 12, 4), 0.3)
    known = VarianceComponents.known(within=2, across=3)
    ours = {w: training_cost(matrix_of(costs), weights=w, components=known) for w in WEIGHTS}
    for row, each in enumerate(costs):
        cells = [cell[~np.isnan(cell)] for cell in each if not np.isnan(cell).all()]
        assert ours["runs"].cost[row] == pytest.approx(np.concatenate(cells).mean())
        assert ours["instances"].cost[row] == pytest.approx(
            np.mean([cell.mean() for cell in cells])
        )
        precise = [1 / (3 + 2 / len(cell)) for cell in cells]
        assert ours["best"].cost[row] == pytest.approx(
            np.average([cell.mean() for cell in cells], weights=precise)
        )
        assert ours["runs"].runs[row] == sum(map(len, cells))
        assert ours["runs"].instances[row] == len(cells)


@given(costs_3d)
def test_equal_counts_make_the_three_agree(costs: NDArray[np.float64]) -> None:
    """With the same number of runs everywhere the three weightings would give different training
    costs.
    """
    each = [training_cost(matrix_of(costs), weights=w).cost for w in WEIGHTS]
    np.testing.assert_allclose(each[1], each[0], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(each[2], each[0], rtol=1e-9, atol=1e-9)


@given(
    costs_3d,
    st.randoms(use_true_random=False),
    st.sampled_from(WEIGHTS),
    st.floats(0.1, 100),
    st.floats(-100, 100),
)
def test_order_shift_and_scale(
    costs: NDArray[np.float64], random: object, weights: Weights, scale: float, shift: float
) -> None:
    """Reordering would change a training cost, or adding a constant not shift it, or scaling not
    scale it.
    """
    rng = np.random.default_rng(random.getrandbits(32))  # type: ignore[attr-defined]
    shuffled = rng.permuted(costs[:, rng.permutation(costs.shape[1])], axis=2)
    plain, moved = (
        training_cost(matrix_of(c), weights=weights) for c in (costs, scale * shuffled + shift)
    )
    np.testing.assert_allclose(moved.cost, scale * plain.cost + shift, rtol=1e-7, atol=1e-7 * scale)
    np.testing.assert_allclose(
        moved.standard_error, scale * plain.standard_error, rtol=1e-5, atol=1e-5 * scale
    )


def test_lemma_1_and_2_by_enumeration() -> None:
    """Over every possible sample the mean of runs would be biased, or its variance not that of
    Lemma 2.
    """
    runs_of = {0: (0.0, 4.0), 1: (1.0, 1.0), 2: (10.0, 16.0)}
    counts = (3, 1)
    costs, weights = [], []
    for drawn in product(range(3), repeat=2):
        choices = list(
            product(*(product(runs_of[z], repeat=n) for z, n in zip(drawn, counts, strict=True)))
        )
        for cells in choices:
            cost = np.full((2, 3), np.nan)
            cost[0], cost[1, 0] = cells[0], cells[1][0]
            costs.append(cost)
            weights.append(1 / 9 / len(choices))
    within = float(np.mean([np.var(v) for v in runs_of.values()]))
    across = float(np.var([np.mean(v) for v in runs_of.values()]))
    known = VarianceComponents.known(within=within, across=across)
    true_cost = np.mean([np.mean(v) for v in runs_of.values()])
    for kind in WEIGHTS:
        ours = training_cost(matrix_of(np.array(costs)), weights=kind, components=known)
        assert np.dot(weights, ours.cost) == pytest.approx(true_cost)
        assert np.dot(weights, (ours.cost - true_cost) ** 2) == pytest.approx(ours.variance[0])
        if kind == "runs":
            assert ours.variance[0] == pytest.approx(within / 4 + 10 / 16 * across)


def test_two_instances_three_runs() -> None:
    """The paper's claim of least variance would look true where the mean of instance means beats
    the mean of runs.
    """
    costs = np.array([[[1.0, 1.0], [2.0, np.nan]]])
    known = VarianceComponents.known(within=0, across=1)
    variances = {
        w: training_cost(matrix_of(costs), weights=w, components=known).variance[0] for w in WEIGHTS
    }
    assert variances == pytest.approx({"runs": 5 / 9, "instances": 1 / 2, "best": 1 / 2})


def test_best_weights_have_least_variance() -> None:
    """A numerical search over all weights that sum to one would find an unbiased estimate of
    smaller variance.
    """
    counts, within, across = [1, 2, 5, 3], 7.0, 2.0
    costs = with_counts(counts, np.random.default_rng(2), 1, within, across)
    ours = training_cost(
        matrix_of(costs),
        weights="best",
        components=VarianceComponents.known(within=within, across=across),
    )
    of_mean = across + within / np.array(counts)

    def spread(free: NDArray[np.float64]) -> float:
        full = np.append(free, 1 - free.sum())
        return float((full**2 * of_mean).sum())

    assert ours.variance[0] == pytest.approx(
        minimize(spread, np.full(3, 0.25), tol=1e-14).fun, rel=1e-6
    )


@pytest.mark.parametrize("weights", WEIGHTS)
def test_clustered_error_is_unbiased(weights: Weights) -> None:
    """The squared standard error would not average to the true variance of the estimate, with
    unequal counts.
    """
    rng = np.random.default_rng(3)
    counts, within, across, draws = [1, 2, 2, 4, 4, 1], 0.0, 2.0, 40_000
    costs = with_counts(counts, rng, draws, within, across)
    ours = training_cost(
        matrix_of(costs),
        weights=weights,
        components=VarianceComponents.known(within=within, across=across),
    )
    squares = ours.standard_error**2
    assert abs(squares.mean() - ours.variance[0]) < 4 * squares.std() / np.sqrt(draws)
    assert ours.cost.var() == pytest.approx(ours.variance[0], rel=0.05)


def test_plug_in_is_said() -> None:
    """A variance from estimated components would pass for one from known components."""
    matrix = matrix_of(np.random.default_rng(4).random((2, 5, 2)))
    assert training_cost(matrix).plug_in
    assert training_cost(matrix, components=variance_components(matrix)).plug_in
    assert not training_cost(
        matrix, components=VarianceComponents.known(within=1, across=1)
    ).plug_in


def test_negative_across_counts_as_nothing() -> None:
    """An estimate of `across` below 0 would make weights or variances of the wrong sign."""
    costs = np.array([[[0.0, 10.0, 5.0], [0.0, 10.0, np.nan], [10.0, 0.0, np.nan]]])
    estimated = variance_components(matrix_of(costs))
    assert estimated.across[0] < 0
    clipped = VarianceComponents.known(within=estimated.within, across=0)
    for weights in WEIGHTS:
        ours = training_cost(matrix_of(costs), weights=weights)
        known = training_cost(matrix_of(costs), weights=weights, components=clipped)
        np.testing.assert_allclose(ours.cost, known.cost)
        np.testing.assert_allclose(ours.variance, known.variance)


def test_single_runs_have_a_variance() -> None:
    """With one run each, Lemma 2 would be unknown although it needs only the variance of single
    runs.
    """
    costs = np.random.default_rng(5).random((2, 40, 1))
    ours = training_cost(matrix_of(costs))
    np.testing.assert_allclose(ours.variance, costs[:, :, 0].var(axis=1, ddof=1) / 40)
    np.testing.assert_allclose(ours.standard_error**2, ours.variance)


def test_no_runs_and_one_instance() -> None:
    """A configuration without runs would get a cost, or one with a single instance a standard
    error.
    """
    costs = np.array(
        [
            [[1.0, 2.0], [3.0, 4.0]],
            [[np.nan, np.nan], [np.nan, np.nan]],
            [[5.0, 6.0], [np.nan, np.nan]],
        ]
    )
    for weights in WEIGHTS:
        ours = training_cost(matrix_of(costs), weights=weights)
        assert np.isnan(ours.cost).tolist() == [False, True, False]
        assert np.isnan(ours.standard_error).tolist() == [False, True, True]
        assert ours.runs.tolist() == [4, 0, 2]


def test_bad_input() -> None:
    """An unknown weighting, or components of other configurations, would be taken."""
    matrix = matrix_of(np.ones((3, 4, 2)))
    with pytest.raises(
        InputError, match="weights to be one of runs, instances, best, got 'median'"
    ):
        training_cost(matrix, weights="median")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="1 or 3 configurations, got 2"):
        training_cost(matrix, components=VarianceComponents.known(within=[1, 2], across=1))
