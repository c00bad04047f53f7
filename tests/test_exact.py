from itertools import combinations, permutations, product

import numpy as np
import pytest
from test_resample import runtimes
from test_variance import matrix_of

from truecost.errors import InputError
from truecost.paper import exact
from truecost.stats.allocation import Allocation, even
from truecost.stats.variance import variance_components


@pytest.mark.parametrize("counts", [[1, 1], [2, 1], [2, 2], [2, 0], [1, 2]])
def test_allocations_by_enumeration(counts: list[int]) -> None:
    """Over every split and every choice of runs, the mean squared error would not be the closed
    form.
    """
    costs = np.random.default_rng(1).lognormal(size=(1, 5, 2))
    means = costs[0].mean(axis=1)
    squares = []
    for training in permutations(range(5), 2):
        rest = [z for z in range(5) if z not in training]
        for testing in combinations(rest, 2):
            truth = means[list(testing)].mean()
            for picks in product(*(combinations(range(2), n) for n in counts)):
                runs = [
                    costs[0, z, r]
                    for z, picked in zip(training, picks, strict=True)
                    for r in picked
                ]
                squares.append((np.mean(runs) - truth) ** 2)
    # Every choice of runs weighs alike only if each training pair has as many of them, which holds
    # here.
    ours = exact.mean_squared_error(
        matrix_of(costs), estimator=Allocation.of(counts), test_instances=2
    )
    assert ours.total[0] == pytest.approx(np.mean(squares))


def test_scattered_by_enumeration() -> None:
    """S° with replacement would not have the mean squared error of listing all its draws."""
    costs = np.random.default_rng(2).lognormal(size=(1, 4, 2))
    means = costs[0].mean(axis=1)
    squares = []
    for training in combinations(range(4), 2):
        truth = means[[z for z in range(4) if z not in training]].mean()
        every = product(product(training, range(2)), repeat=3)
        squares += [(np.mean([costs[0, z, r] for z, r in draws]) - truth) ** 2 for draws in every]
    ours = exact.mean_squared_error(matrix_of(costs), estimator="scattered", instances=2, runs=3)
    assert ours.total[0] == pytest.approx(np.mean(squares))


def test_pairs_by_enumeration() -> None:
    """S° over different pairs would not have the mean squared error of listing all its choices."""
    costs = np.random.default_rng(3).lognormal(size=(1, 4, 3))
    means = costs[0].mean(axis=1)
    squares = []
    for training in combinations(range(4), 2):
        truth = means[[z for z in range(4) if z not in training]].mean()
        every = combinations(list(product(training, range(3))), 4)
        squares += [(np.mean([costs[0, z, r] for z, r in pairs]) - truth) ** 2 for pairs in every]
    ours = exact.mean_squared_error(matrix_of(costs), estimator="pairs", instances=2, runs=4)
    assert ours.total[0] == pytest.approx(np.mean(squares))


def test_missing_runs_by_enumeration() -> None:
    """With different numbers of stored runs the closed form would not be the mean over all splits
    and runs.
    """
    costs = np.random.default_rng(4).lognormal(size=(1, 4, 3))
    costs[0, 1, 2] = np.nan
    costs[0, 2, 0] = np.nan
    stored = [[cost for cost in cell if not np.isnan(cost)] for cell in costs[0]]
    means = [np.mean(cell) for cell in stored]
    total = 0.0
    splits = list(permutations(range(4), 2))
    for training in splits:
        truth = np.mean([means[z] for z in range(4) if z not in training])
        choices = list(
            product(combinations(stored[training[0]], 2), combinations(stored[training[1]], 1))
        )
        total += np.mean([(np.mean([*a, *b]) - truth) ** 2 for a, b in choices]) / len(splits)
    ours = exact.mean_squared_error(
        matrix_of(costs), estimator=Allocation.of([2, 1]), test_instances=2
    )
    assert ours.total[0] == pytest.approx(total)


def test_grid_at_once_equals_one_by_one() -> None:
    """A whole grid would give other numbers than one call each, or mix up K and N."""
    matrix = runtimes(4, 40, 5)
    k, n = exact.grid(40)
    assert k.shape == n.shape == (9, 16)
    assert k[:, 0].tolist() == [4, 6, 8, 10, 12, 14, 16, 18, 20]
    assert n[-1].tolist() == [5, 10, 15, 20, 25, 30, 35, 40, 45, 50, 55, 60, 65, 70, 75, 80]
    for estimator in exact.ESTIMATORS:
        whole = exact.mean_squared_error(matrix, estimator=estimator, instances=k, runs=n)
        assert whole.total.shape == (9, 16, 4)
        for i, j in ((0, 0), (3, 7), (8, 15)):
            one = exact.mean_squared_error(
                matrix, estimator=estimator, instances=k[i, j], runs=n[i, j]
            )
            np.testing.assert_allclose(whole.total[i, j], one.total)
            np.testing.assert_allclose(whole.floor[i, j], one.floor)
            assert whole.mean[i, j] == pytest.approx(one.total.mean())


def test_even_is_an_allocation() -> None:
    """S* by name would differ from S* as counts, or its parts from Lemma 2 with the matrix's own
    components.
    """
    matrix = runtimes(3, 20, 4)
    named = exact.mean_squared_error(matrix, instances=8, runs=13)
    counted = exact.mean_squared_error(matrix, estimator=even(13, 8))
    np.testing.assert_allclose(named.total, counted.total)
    components = variance_components(matrix)
    np.testing.assert_allclose(named.within, components.within / 13)
    np.testing.assert_allclose(named.across, components.across * even(13, 8).sum_of_squares / 169)
    np.testing.assert_allclose(named.floor, matrix.costs.mean(axis=2).var(axis=1, ddof=1) / 10)


def test_paper_rounds_up() -> None:
    """K = 0.15·500 would become 76 by a rounding error."""
    k, n = exact.grid(500)
    assert k[:, 0].tolist() == [50, 75, 100, 125, 150, 175, 200, 225, 250]
    assert n[1, 0] == 19


def test_paper_claims_on_known_components() -> None:
    """On a synthetic matrix S* would not be best at every (K, N), or its advantage over S† not be
    largest at some N ≤ K.

    Its advantage over S° is 0 at N = 1, where the two are the same, and grows to about across/K:
    that part of the paper's claim does not hold.
    """
    matrix = runtimes(40, 60, 5, within_share=0.4)
    k, n = exact.grid(60)
    errors = {
        name: exact.mean_squared_error(matrix, estimator=name, instances=k, runs=n).mean
        for name in exact.ESTIMATORS
    }
    for name in exact.ESTIMATORS:
        assert (errors["even"] <= errors[name] * (1 + 1e-12)).all()
    gap = errors["concentrated"] - errors["even"]
    assert (gap[:, :4].max(axis=1) == gap.max(axis=1)).all()
    assert (gap[:, 3] > 3 * gap[:, -1]).all()
    alone = exact.mean_squared_error(matrix, estimator="scattered", instances=30, runs=[1, 30]).mean
    best = exact.mean_squared_error(matrix, estimator="even", instances=30, runs=[1, 30]).mean
    assert alone[0] == pytest.approx(best[0])
    assert alone[1] > 1.1 * best[1]


def test_bad_input() -> None:
    """A single instance would be split, or an allocation and its sizes both be taken."""
    with pytest.raises(InputError, match="at least 2 instances to split"):
        exact.mean_squared_error(runtimes(2, 1, 2), instances=1, runs=1, test_instances=1)
    with pytest.raises(InputError, match="either an allocation or instances and runs"):
        exact.mean_squared_error(runtimes(2, 4, 2), estimator=even(2, 2), instances=2, runs=2)
