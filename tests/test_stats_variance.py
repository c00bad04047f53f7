import dataclasses
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

from truecost.errors import InputError
from truecost.matrix import CostMatrix
from truecost.stats import variance
from truecost.stats.allocation import even, even_sizes
from truecost.stats.variance import VarianceComponents, variance_components

costs_3d = hnp.arrays(
    np.float64,
    st.tuples(st.integers(1, 4), st.integers(2, 6), st.integers(2, 4)),
    # What is smaller than 1e-150 is refused: its square is 0.
    elements=st.one_of(st.just(0.0), st.floats(1e-140, 100)),
)


def matrix_of(costs: NDArray[np.float64], low: float = -1e6, high: float = 1e6) -> CostMatrix:
    """A matrix with made-up names."""
    m, p = costs.shape[:2]
    return CostMatrix(costs, [f"c{i}" for i in range(m)], [f"i{i}" for i in range(p)], low, high)


def gaps(
    rng: np.random.Generator, shape: tuple[int, int, int], share: float
) -> NDArray[np.float64]:
    """Costs of which a share is missing."""
    costs = rng.lognormal(size=shape) + rng.lognormal(size=(shape[0], shape[1], 1))
    costs[rng.random(shape) < share] = np.nan
    return costs


@given(costs_3d)
def test_balanced_agrees_with_analysis_of_variance(costs: NDArray[np.float64]) -> None:
    """With equal counts the components would not be those of the textbook's one-way random-effects
    table.
    """
    _, instances, runs = costs.shape
    means = costs.mean(axis=2)
    within_square = ((costs - means[..., None]) ** 2).sum(axis=(1, 2)) / (instances * (runs - 1))
    between_square = (
        runs * ((means - means.mean(axis=1, keepdims=True)) ** 2).sum(axis=1) / (instances - 1)
    )
    ours = variance_components(matrix_of(costs))
    np.testing.assert_allclose(ours.within, within_square, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(
        ours.across, (between_square - within_square) / runs, rtol=1e-9, atol=1e-9
    )
    np.testing.assert_allclose(ours.total, ours.within + ours.across, rtol=1e-9, atol=1e-9)


def test_unbiased_when_counts_depend_on_the_instance() -> None:
    """Over every possible sample the estimates would not average to the true components where
    counts differ by instance.
    """
    runs_of = {
        0: (0.0, 4.0),
        1: (1.0, 1.0),
        2: (10.0, 16.0),
    }  # two equally likely costs for each of three instances
    count_of = {0: 2, 1: 3, 2: 4}
    within, across, weight = 0.0, 0.0, 0.0
    for drawn in product(range(3), repeat=2):
        counts = [count_of[z] for z in drawn]
        choices = list(
            product(*(product(runs_of[z], repeat=n) for z, n in zip(drawn, counts, strict=True)))
        )
        for cells in choices:
            costs = np.full((1, 2, 4), np.nan)
            for i, cell in enumerate(cells):
                costs[0, i, : len(cell)] = cell
            ours = variance_components(matrix_of(costs))
            probability = 1 / 9 / len(choices)
            within += probability * ours.within[0]
            across += probability * ours.across[0]
            weight += probability
    assert weight == pytest.approx(1)
    true_within = np.mean([np.var(runs_of[z]) for z in range(3)])
    true_across = np.var([np.mean(runs_of[z]) for z in range(3)])
    assert within == pytest.approx(true_within)
    assert across == pytest.approx(true_across)


def test_repeats_of_easy_instances_speak_of_easy_instances() -> None:
    """What is documented as a limit would not be one: repeats on easy instances only tell of those,
    `total` of all.
    """
    rng = np.random.default_rng(14)
    draws, instances = 4000, 40
    hard = rng.random((draws, instances)) < 0.5
    costs = np.where(hard, 10.0, 0.0)[:, :, np.newaxis] + np.where(hard, 5, 1)[
        :, :, np.newaxis
    ] * rng.standard_normal((draws, instances, 2))
    costs[:, :, 1][hard] = np.nan
    ours = variance_components(matrix_of(costs))
    assert np.nanmean(ours.within) == pytest.approx(1, rel=0.05)
    assert ours.total.mean() == pytest.approx(13 + 25, rel=0.02)


def test_total_is_unbiased_whatever_the_counts() -> None:
    """The variance of a single run would be estimated wrongly from unequal counts, single runs
    among them.
    """
    rng = np.random.default_rng(5)
    instances, draws = 6, 40_000
    level = rng.normal(0, 2, size=(draws, instances, 1))
    costs = level + rng.normal(0, 3, size=(draws, instances, 3))
    costs[:, 0, 1:] = np.nan
    costs[:, 1:3, 2:] = np.nan
    total = variance_components(matrix_of(costs)).total
    assert abs(total.mean() - 13) < 4 * total.std() / np.sqrt(draws)


def test_missing_runs_agree_with_loops() -> None:
    """With missing runs the vectorised estimates would differ from the formulas written as loops
    over instances.
    """
    costs = gaps(np.random.default_rng(3), (7, 30, 4), 0.4)
    ours = variance_components(matrix_of(costs))
    for row, each in enumerate(costs):
        cells = [cell[~np.isnan(cell)] for cell in each]
        cells = [cell for cell in cells if len(cell)]
        within = np.mean([cell.var(ddof=1) for cell in cells if len(cell) >= 2])
        total = np.var([cell.mean() for cell in cells], ddof=1) + np.mean(
            [cell.var() for cell in cells]
        )
        assert ours.within[row] == pytest.approx(within)
        assert ours.across[row] == pytest.approx(total - within)


def test_an_instance_with_a_single_run_counts() -> None:
    """A timeout that was not run again would be left out of `across`, and every error that follows
    be far too small.
    """
    costs = np.random.default_rng(6).random((1, 12, 2))
    calm = variance_components(matrix_of(costs)).across[0]
    costs[0, 0] = [50.0, np.nan]
    ours = variance_components(matrix_of(costs))
    assert ours.across[0] > calm + 50**2 / 12 / 2


def test_across_with_gaps_is_unbiased() -> None:
    """With single runs among the counts `across` would be biased."""
    rng = np.random.default_rng(7)
    instances, draws = 30, 20_000
    costs = rng.normal(0, 2, size=(draws, instances, 1)) + rng.normal(
        0, 3, size=(draws, instances, 3)
    )
    costs[:, :6, 1:] = np.nan
    costs[:, 6:12, 2:] = np.nan
    found = variance_components(matrix_of(costs))
    assert abs(found.across.mean() - 4) < 4 * found.across.std() / np.sqrt(draws)


def test_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cutting a large matrix into blocks would change the answer."""
    matrix = matrix_of(gaps(np.random.default_rng(4), (9, 11, 3), 0.2))
    whole = variance_components(matrix)
    monkeypatch.setattr(variance, "BLOCK", 1)
    pieces = variance_components(matrix)
    for name in ("within", "across", "total"):
        np.testing.assert_array_equal(getattr(whole, name), getattr(pieces, name))


@given(costs_3d, st.randoms(use_true_random=False), st.floats(0.1, 100), st.floats(-100, 100))
def test_order_shift_and_scale(
    costs: NDArray[np.float64], random: object, scale: float, shift: float
) -> None:
    """Reordering instances or runs would change the components, or a constant would, or scaling
    would not scale them.
    """
    rng = np.random.default_rng(random.getrandbits(32))  # type: ignore[attr-defined]
    shuffled = rng.permuted(costs[:, rng.permutation(costs.shape[1])], axis=2)
    plain, moved = (
        variance_components(matrix_of(costs)),
        variance_components(matrix_of(scale * shuffled + shift)),
    )
    size = scale**2 * (1 + np.abs(costs).max()) ** 2
    np.testing.assert_allclose(moved.within, scale**2 * plain.within, rtol=1e-7, atol=1e-9 * size)
    np.testing.assert_allclose(moved.across, scale**2 * plain.across, rtol=1e-7, atol=1e-9 * size)


def test_single_runs_do_not_identify_within() -> None:
    """From one run each, a split into within and across would be invented; the sum of the two would
    be lost.
    """
    costs = np.random.default_rng(6).random((3, 50, 1))
    ours = variance_components(matrix_of(costs))
    assert np.isnan(ours.within).all()
    assert np.isnan(ours.across).all()
    np.testing.assert_allclose(ours.total, costs[:, :, 0].var(axis=1, ddof=1))


def test_one_repeated_instance_gives_within_only() -> None:
    """`across` would be made up from a single instance that was run twice."""
    costs = np.array([[[1.0, 3.0], [5.0, np.nan]]])
    ours = variance_components(matrix_of(costs))
    assert ours.within[0] == pytest.approx(2)
    assert np.isnan(ours.across[0])


def test_tau_squared_with_single_runs_is_the_total() -> None:
    """An allocation with one run an instance would need the split into within and across, which
    does not matter there.
    """
    single = variance_components(matrix_of(np.random.default_rng(11).random((2, 20, 1))))
    np.testing.assert_allclose(single.tau_squared(even(10, 20)), single.total)
    assert np.isnan(single.tau_squared(even(30, 20))).all()


def test_tau_squared_is_lemma_2_times_n() -> None:
    """τ² would not be N times the variance of the mean of runs."""
    known = VarianceComponents.known(within=[50, 2], across=[400, 0])
    sizes = even_sizes([[1250], [77]], [[250], [20]])
    np.testing.assert_allclose(known.tau_squared(sizes)[0], [50 + 5 * 400, 2])
    counts = even(77, 20).counts
    np.testing.assert_allclose(known.tau_squared(sizes)[1], [50 + (counts**2).sum() / 77 * 400, 2])


def test_bad_known_components() -> None:
    """Negative or missing variances would be taken for known ones."""
    for within in (-1.0, float("nan"), float("inf")):
        with pytest.raises(InputError, match="one number of 0 or more"):
            VarianceComponents.known(within=within, across=1)


def test_share_of_within() -> None:
    """A negative estimate would make a share above 1, or nothing that varies would count as some
    share.
    """
    known = VarianceComponents.known(within=[1.0, 0.0, 0.0], across=[3.0, 2.0, 0.0])
    np.testing.assert_array_equal(known.within_share, [0.25, 0.0, np.nan])
    negative = dataclasses.replace(known, across=np.array([-1.0, 2.0, 0.0]))
    np.testing.assert_array_equal(negative.within_share, [1.0, 0.0, np.nan])
