from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from truecost.arrays import FloatArray
from truecost.errors import InputError
from truecost.matrix import CostMatrix
from truecost.stats.allocation import even, even_sizes
from truecost.stats.variance import VarianceComponents, variance_components

costs_3d = hnp.arrays(
    np.float64,
    st.tuples(st.integers(1, 4), st.integers(2, 6), st.integers(2, 4)),
    # What is smaller than 1e-150 is refused: its square is 0.
    elements=st.one_of(st.just(0.0), st.floats(1e-140, 100)),
)


def components_of(costs: FloatArray) -> VarianceComponents:
    """The components of costs (M, P, R)."""
    configurations, instances = ([f"{i}" for i in range(n)] for n in costs.shape[:2])
    return variance_components(CostMatrix(costs, configurations, instances))


@given(costs_3d)
def test_balanced_agrees_with_analysis_of_variance(costs: FloatArray) -> None:
    """With equal counts the components would not be those of the textbook's one-way random-effects
    table.
    """
    _, instances, runs = costs.shape
    means = costs.mean(axis=2)
    within = ((costs - means[..., None]) ** 2).sum(axis=(1, 2)) / (instances * (runs - 1))
    between = runs * means.var(axis=1, ddof=1)
    ours = components_of(costs)
    np.testing.assert_allclose(ours.within, within, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(ours.across, (between - within) / runs, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(ours.total, ours.within + ours.across, rtol=1e-9, atol=1e-9)


# Two equally likely costs of each of three equally likely instances.
COSTS_OF = np.array([[0.0, 4.0], [1.0, 1.0], [10.0, 16.0]])


@pytest.mark.parametrize("counts", ["by instance", "by place", "only easy ones twice"])
def test_unbiased_over_every_possible_sample(counts: str) -> None:
    """The estimates would not average to the true components where counts differ, single runs
    among them.
    """
    samples, weights = [], []
    for drawn in product(range(3), repeat=3 if counts == "by place" else 2):
        number = {
            "by instance": [(2, 3, 4)[z] for z in drawn],
            "by place": [1, 2, 3][: len(drawn)],
            "only easy ones twice": [(2, 1, 1)[z] for z in drawn],
        }[counts]
        outcomes = [
            list(product(COSTS_OF[z], repeat=n)) for z, n in zip(drawn, number, strict=True)
        ]
        cells = list(product(*outcomes))
        for cell in cells:
            samples.append([[*runs, *[np.nan] * (4 - len(runs))] for runs in cell])
            weights.append(1 / 3 ** len(drawn) / len(cells))
    ours = components_of(np.array(samples))
    assert weights @ ours.total == pytest.approx(COSTS_OF.var())
    if counts != "only easy ones twice":  # those tell of easy instances only
        assert weights @ ours.within == pytest.approx(COSTS_OF.var(axis=1).mean())
        assert weights @ ours.across == pytest.approx(COSTS_OF.mean(axis=1).var())


def test_missing_runs_agree_with_loops() -> None:
    """With missing runs the vectorised estimates would differ from the formulas written as loops
    over instances, or costs far from 0 lose their digits.
    """
    rng = np.random.default_rng(3)
    costs = rng.lognormal(size=(7, 30, 4)) + rng.lognormal(size=(7, 30, 1))
    costs[rng.random(costs.shape) < 0.4] = np.nan
    ours, far = components_of(costs), components_of(costs + 1e8)
    np.testing.assert_allclose(far.across, ours.across, rtol=1e-5)
    for row, instances in enumerate(costs):
        cells = [cell[~np.isnan(cell)] for cell in instances]
        cells = [cell for cell in cells if len(cell)]
        within = np.mean([cell.var(ddof=1) for cell in cells if len(cell) >= 2])
        between = np.var([cell.mean() for cell in cells], ddof=1)
        total = between + np.mean([cell.var() for cell in cells])
        assert ours.within[row] == pytest.approx(within)
        assert ours.across[row] == pytest.approx(total - within)


def test_single_runs_do_not_identify_the_parts() -> None:
    """From one run each, or one repeated instance, a split into within and across would be
    invented, or the sum of the two be lost.
    """
    costs = np.random.default_rng(6).random((3, 50, 1))
    ours = components_of(costs)
    assert np.isnan([ours.within, ours.across]).all()
    np.testing.assert_allclose(ours.total, costs[:, :, 0].var(axis=1, ddof=1))
    np.testing.assert_allclose(ours.tau_squared(even(10, 50)), ours.total)
    assert np.isnan(ours.tau_squared(even(60, 50))).all()
    once = components_of(np.array([[[1.0, 3.0], [5.0, np.nan]]]))
    assert once.within[0] == pytest.approx(2)
    assert np.isnan(once.across[0])


def test_tau_squared_is_lemma_2_times_n() -> None:
    """τ² would not be N times the variance of the mean of runs, or an estimate of `across` below 0
    take away from `within`.
    """
    known = VarianceComponents.known(within=[50, 2], across=[400, 0])
    many = known.tau_squared(even_sizes([[1250], [77]], [[250], [20]]))
    squares = float((even(77, 20) ** 2).sum())
    assert many.tolist() == [[50 + 5 * 400, 2], [pytest.approx(50 + squares / 77 * 400), 2]]
    odd = replace(known, across=np.array([-1.0, -1.0]), estimated=True)
    np.testing.assert_allclose(odd.tau_squared([3, 3]), [50, 2])


@pytest.mark.parametrize("within", [-1.0, float("nan"), float("inf")])
def test_bad_known_components(within: float) -> None:
    """Negative or missing variances would be taken for known ones."""
    with pytest.raises(InputError, match="numbers of 0 or more"):
        VarianceComponents.known(within=within, across=1)


def test_share_of_within() -> None:
    """A negative estimate would make a share above 1, or nothing that varies would count as some
    share.
    """
    known = VarianceComponents.known(within=[1.0, 0.0, 0.0], across=[3.0, 2.0, 0.0])
    np.testing.assert_array_equal(known.within_share, [0.25, 0.0, np.nan])
    negative = replace(known, across=np.array([-1.0, 2.0, 0.0]))
    np.testing.assert_array_equal(negative.within_share, [1.0, 0.0, np.nan])


def test_equal_costs_have_no_variance() -> None:
    """Rounding of a mean would be noise."""
    ours = components_of(np.full((1, 20, 3), 0.3))
    assert (ours.within[0], ours.across[0], ours.total[0]) == (0, 0, 0)
