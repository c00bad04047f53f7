from itertools import combinations, permutations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from truecost.arrays import FloatArray
from truecost.errors import InputError
from truecost.matrix import CostMatrix
from truecost.paper.exact import (
    ESTIMATORS,
    Estimator,
    complete,
    estimator_table,
    grid,
    mean_squared_error,
    split_sizes,
    subset_weights,
    training_costs,
)
from truecost.stats.variance import VarianceComponents, variance_components


def matrix_of(costs: FloatArray, high: float = np.inf) -> CostMatrix:
    """A matrix with numbered names."""
    configurations, instances = ([f"{i}" for i in range(n)] for n in costs.shape[:2])
    return CostMatrix(costs, configurations, instances, 0.0, high)


def random_costs(seed: int, *shape: int) -> FloatArray:
    """Costs with differences between instances and between runs."""
    rng = np.random.default_rng(seed)
    return np.asarray(rng.lognormal(size=(*shape[:2], 1)) + rng.exponential(size=shape))


def all_estimates(runs: FloatArray, estimator: str, n: int) -> list[float]:
    """Every equally probable estimate from the runs of one configuration on K training instances,
    (K, R), in the paper's words.
    """
    instances, stored = runs.shape
    orders = [list(order) for order in permutations(range(stored))]
    if estimator == "pairs":
        return [float(np.mean(chosen)) for chosen in combinations(runs.ravel(), n)]
    if estimator == "scattered":
        return [float(np.mean(drawn)) for drawn in product(runs.ravel(), repeat=n)]
    estimates = []
    for sequence in permutations(range(instances)):
        for picks in product(orders, repeat=instances):
            cells = [runs[i, picks[i]] for i in sequence]
            # S* goes round by round over the instances, S† makes all runs of one after another.
            flat = np.array(cells).T if estimator == "even" else np.array(cells)
            estimates.append(float(flat.ravel()[:n].mean()))
    return estimates


def enumerated(costs: FloatArray, estimator: str, k: int, n: int, test: int) -> float:
    """E(û − test mean)² of one configuration, (P, R), over all splits and all draws of runs."""
    squares = []
    for chosen in combinations(range(len(costs)), k):
        rest = sorted(set(range(len(costs))) - set(chosen))
        estimates = all_estimates(costs[list(chosen)], estimator, n)
        for tests in combinations(rest, test):
            truth = costs[list(tests)].mean()
            squares.append(np.mean([(estimate - truth) ** 2 for estimate in estimates]))
    return float(np.mean(squares))


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize(("k", "n"), [(2, 3), (3, 4), (2, 1), (2, 4)])
def test_squared_error_is_that_of_all_splits(estimator: Estimator, k: int, n: int) -> None:
    """The closed form would not be the error of the estimator it names."""
    costs = random_costs(1, 2, 5, 2)
    error = mean_squared_error(matrix_of(costs), estimator, instances=[k], runs=[n]).total[0]
    by_hand = [enumerated(costs[c], estimator, k, n, 2) for c in range(2)]
    assert error == pytest.approx(by_hand, rel=1e-11)


@given(st.integers(0, 10_000), st.integers(8, 20), st.integers(1, 6))
def test_no_estimator_beats_even_spread(seed: int, instances: int, runs: int) -> None:
    """A rival would be ahead of S* somewhere, with an across variance of 0 or more (Theorem 1)."""
    costs = random_costs(seed, 3, instances, runs)
    matrix = matrix_of(costs)
    k, n = grid(matrix)
    # Raw across can be negative by chance; then concentration pays.
    known = variance_components(matrix).across >= 0
    errors = {
        name: mean_squared_error(matrix, name, instances=k, runs=n).total[..., known]
        for name in ESTIMATORS
    }
    for name in ESTIMATORS:
        assert (errors["even"] <= errors[name] * (1 + 1e-9)).all()


def test_parts_are_those_of_lemma_2() -> None:
    """The parts would not be across·Σnᵢ²/N², within/N and V/T with the components of the matrix."""
    matrix = matrix_of(random_costs(4, 3, 12, 4))
    components = variance_components(matrix)
    error = mean_squared_error(matrix, "even", instances=[6], runs=[15])
    assert error.across[0] == pytest.approx(components.across * (3 * 9 + 3 * 4) / 15**2)
    assert error.within[0] == pytest.approx(components.within / 15)
    spread = components.across + components.within / 4
    assert error.floor[0] == pytest.approx(spread / 6)


def test_table_has_every_point_of_the_grid() -> None:
    """A point of the grid would be left out, and not be judged."""
    matrix = matrix_of(random_costs(5, 4, 20, 5))
    table = estimator_table(matrix)
    k, n = grid(matrix)
    assert len(table) == k.size * len(ESTIMATORS)
    row = table[(table.estimator == "pairs") & (table.k == k[2, 3]) & (table.n == n[2, 3])]
    error = mean_squared_error(matrix, "pairs", instances=k, runs=n)
    assert row["squared"].item() == pytest.approx(error.total[2, 3].mean())


def test_grid_of_the_paper() -> None:
    """K = r₁P and N = r₂K would not be rounded up, or also where only floating point is above."""
    k, n = grid(matrix_of(np.ones((1, 500, 5))))
    assert k[:, 0].tolist() == [50, 75, 100, 125, 150, 175, 200, 225, 250]
    assert n[1].tolist()[:4] == [19, 38, 57, 75]
    assert n[-1, -1] == 1000


@pytest.mark.parametrize(("runs", "last"), [(1, 1), (2, 2), (3, 3), (9, 4)])
def test_grid_ends_with_the_stored_runs(runs: int, last: int) -> None:
    """N would go beyond the stored runs, where there is no error to compute."""
    k, n = grid(matrix_of(np.ones((1, 9, runs))))
    assert (n[:, -1] == last * k[:, -1]).all()
    assert len(set(k[:, 0].tolist())) == len(k)
    assert k.max() <= 4


@pytest.mark.parametrize("size", range(1, 7))
def test_weights_are_those_of_all_subsets(size: int) -> None:
    """The expected largest value of a random subset would not be the average over all subsets."""
    values = np.sort(np.random.default_rng(1).normal(size=6))
    subsets = list(combinations(values, size))
    weights = subset_weights(6, [size])[0]
    assert weights @ values == pytest.approx(np.mean([max(subset) for subset in subsets]))
    assert weights[::-1] @ values == pytest.approx(np.mean([min(subset) for subset in subsets]))


def test_weights_of_many_configurations() -> None:
    """Binomial coefficients would overflow from 1,030 configurations on."""
    sizes = np.array([1, 2, 1500, 3000])
    assert subset_weights(3000, sizes)[:, -1] == pytest.approx(sizes / 3000)


def test_incomplete_matrices_keep_what_every_cell_has() -> None:
    """A schedule that runs out of runs on one instance would not be even, and a cell without runs
    has no mean, whatever would be put there.
    """
    costs = random_costs(6, 2, 3, 3)
    costs[0, 1, 0] = costs[1, 2, 2] = np.nan
    kept = complete(matrix_of(costs)).costs
    assert kept.shape == (2, 3, 2)
    assert kept[0, 1].tolist() == costs[0, 1, 1:].tolist()
    assert kept[0, 0].tolist() == costs[0, 0, :2].tolist()
    costs[1, 2] = np.nan
    with pytest.raises(InputError, match="'1' has no run on instance '2'"):
        complete(matrix_of(costs))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"instances": [0], "runs": [1]}, "at least 1"),
        ({"instances": [2], "runs": [7]}, "Lower N"),
        ({"instances": [5], "runs": [5]}, "no split of 8"),
        ({"estimator": "best", "instances": [2], "runs": [2]}, "Choose one of"),
    ],
)
def test_wrong_questions(options: dict[str, object], message: str) -> None:
    """A question that makes no sense would get a number."""
    matrix = matrix_of(random_costs(8, 2, 8, 3))
    with pytest.raises(InputError, match=message):
        mean_squared_error(matrix, **options)  # type: ignore[arg-type]


def test_one_instance_cannot_be_split() -> None:
    """One instance would be split, with nothing left to test on."""
    with pytest.raises(InputError, match="no split of 1"):
        split_sizes(1)
    with pytest.raises(InputError, match="from 1 to 3"):
        subset_weights(3, [4])


def test_weightings() -> None:
    """Runs or instances would not be weighted as asked, or the weightings differ where counts are
    even.
    """
    costs = np.array([[[1.0, 1.0], [4.0, np.nan]]])
    matrix = matrix_of(costs)
    assert training_costs(matrix, "runs") == pytest.approx([2])
    assert training_costs(matrix, "instances") == pytest.approx([2.5])
    for within, across, expected in (
        (0, 1, 2.5),
        (1, 0, 2),
        (2, 1, (1 / 2 + 4 / 3) / (1 / 2 + 1 / 3)),
    ):
        known = VarianceComponents.known(within=within, across=across)
        assert training_costs(matrix, "best", known) == pytest.approx([expected])
    whole = matrix_of(random_costs(9, 3, 6, 2))
    for weights in ("runs", "instances", "best"):
        assert training_costs(whole, weights) == pytest.approx(whole.costs.mean(axis=(1, 2)))
    empty = matrix.replace(
        costs=np.array([[[1.0], [2.0]], [[np.nan], [np.nan]]]), configurations=["a", "b"]
    )
    assert np.isnan(training_costs(empty)).tolist() == [False, True]
