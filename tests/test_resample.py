from itertools import combinations
from typing import Any, cast

import naive
import numba
import numpy as np
import pytest
from numpy.typing import NDArray
from test_variance import matrix_of

from truecost.errors import InputError
from truecost.matrix import CostMatrix
from truecost.paper import exact, resample
from truecost.paper.one_split import one_split
from truecost.stats.synthetic import runtime_model

FloatArray = NDArray[np.float64]


def runtimes(
    configurations: int, instances: int, runs: int, seed: int = 1, **shares: float
) -> CostMatrix:
    """A matrix with timeouts, hard and easy instances, and configurations that agree about them."""
    rng = np.random.default_rng(seed)
    return runtime_model(configurations=configurations, rng=rng, **shares).draw(
        instances=instances, runs=runs, rng=rng
    )


def with_gaps(configurations: int, instances: int, runs: int, least: int) -> CostMatrix:
    """A matrix in which every cell has at least so many runs."""
    costs = np.array(runtimes(configurations, instances, runs).costs)
    rng = np.random.default_rng(3)
    for i in range(configurations):
        for j in range(instances):
            missing = rng.choice(runs, size=rng.integers(0, runs - least + 1), replace=False)
            costs[i, j, missing] = np.nan
    return matrix_of(costs)


def nested(matrix: CostMatrix) -> naive.Costs:
    """The runs that are there, as lists."""
    return [
        [[float(cost) for cost in cell if not np.isnan(cost)] for cell in row]
        for row in matrix.costs
    ]


def streams(seed: int, splits: int) -> list[naive.SplitMix]:
    """The streams that the kernels use for the splits of this seed."""
    seeds = np.random.default_rng(seed).integers(0, 2**64, size=splits, dtype=np.uint64)
    return [naive.SplitMix(int(each)) for each in seeds]


def assert_same(sweep: resample.Sweep, curves: list[naive.Curves]) -> None:
    """The mean, spread and quantiles of a sweep are those of the curves of its splits."""
    each = np.array(curves)
    for index, name in enumerate(("uniform", "selection", "training")):
        values = each[:, index, sweep.values - 1]
        np.testing.assert_allclose(
            getattr(sweep, name), values.mean(axis=0), rtol=1e-10, atol=1e-10
        )
        np.testing.assert_allclose(
            sweep.standard_errors[name],
            values.std(axis=0, ddof=1) / np.sqrt(len(curves)),
            rtol=1e-8,
            atol=1e-10,
        )
        expected = np.quantile(values, sweep.levels, axis=0, method="inverted_cdf")
        np.testing.assert_allclose(sweep.quantiles[name], expected, rtol=1e-10, atol=1e-10)
    tests = each[:, 1] + each[:, 2]
    np.testing.assert_allclose(sweep.test, tests[:, sweep.values - 1].mean(axis=0), rtol=1e-10)


# ---- kernels against their twins -----------------------------------------------------------------


@pytest.mark.parametrize(
    "matrix",
    [
        runtimes(7, 13, 3),
        runtimes(5, 10, 7),
        runtimes(4, 9, 1),
        with_gaps(6, 11, 4, least=2),
        runtimes(8, 12, 2, timeout_rate=0.9),
    ],
    ids=["three runs", "many runs", "single runs", "gaps", "ties"],
)
def test_n_sweep_equals_its_twin(matrix: CostMatrix) -> None:
    """Draw by draw, the compiled N-sweep would not do what the protocol says."""
    splits, train, test = 20, matrix.shape[1] // 2, matrix.shape[1] // 2
    sweep = resample.sweep_n(matrix, splits=splits, rng=np.random.default_rng(5))
    rounds = int(matrix.counts().min())
    assert sweep.values.tolist() == list(range(1, rounds * train + 1))
    assert_same(
        sweep,
        [
            naive.n_sweep(nested(matrix), stream, train, test, rounds)
            for stream in streams(5, splits)
        ],
    )


def test_common_n_sweep_equals_its_twin() -> None:
    """With common seeds the configurations would not all follow one and the same schedule."""
    matrix = runtimes(7, 13, 3)
    sweep = resample.sweep_n(
        matrix, splits=20, rng=np.random.default_rng(6), common_seeds=True, train=5, test=8
    )
    assert_same(
        sweep, [naive.n_sweep_common(nested(matrix), stream, 5, 8, 3) for stream in streams(6, 20)]
    )


@pytest.mark.parametrize(
    "matrix", [runtimes(7, 13, 3), with_gaps(6, 11, 4, least=1)], ids=["complete", "gaps"]
)
def test_k_sweep_equals_its_twin(matrix: CostMatrix) -> None:
    """Draw by draw, the compiled K-sweep would not do what the protocol says."""
    half = matrix.shape[1] // 2
    sweep = resample.sweep_k(matrix, splits=20, rng=np.random.default_rng(7))
    assert_same(
        sweep, [naive.k_sweep(nested(matrix), stream, half, half) for stream in streams(7, 20)]
    )


@pytest.mark.parametrize("kind", exact.ESTIMATORS)
@pytest.mark.parametrize("runs", [3, 7])
def test_estimators_equal_their_twins(kind: exact.Estimator, runs: int) -> None:
    """Draw by draw, a compiled estimator would not follow its schedule."""
    matrix, numbers = runtimes(5, 12, runs), [1, 2, 5, 6, 11, 17]
    ours = resample.compare_estimators(
        matrix,
        splits=15,
        rng=np.random.default_rng(8),
        runs=numbers,
        train=6,
        test=5,
        estimators=[kind],
    )
    each = np.array(
        [
            naive.estimator_errors(kind, nested(matrix), stream, 6, 5, numbers)
            for stream in streams(8, 15)
        ]
    )
    np.testing.assert_allclose(ours.absolute[0], each[:, 0].mean(axis=0), rtol=1e-10)
    np.testing.assert_allclose(ours.squared[0], each[:, 1].mean(axis=0), rtol=1e-10)
    np.testing.assert_allclose(ours.absolute_spread[0], each[:, 0].std(axis=0, ddof=1), rtol=1e-8)


# ---- the m-sweep against brute force -------------------------------------------------------------


def all_subsets(
    costs: FloatArray, splits: list[tuple[list[int], list[int]]], m: int
) -> dict[str, FloatArray]:
    """The four curves' values over every m-subset of every split; each of several ties for the
    least counts in turn.
    """
    means = costs.mean(axis=2)
    found: dict[str, list[FloatArray]] = {
        "uniform": [],
        "selection": [],
        "training": [],
        "test": [],
    }
    for training, testing in splits:
        cost, truth = means[:, training].mean(axis=1), means[:, testing].mean(axis=1)
        for subset in combinations(range(len(costs)), m):
            own, true = cost[list(subset)], truth[list(subset)]
            tied = np.flatnonzero(own == own.min())
            found["uniform"].append(np.full(60, (true - own).max()))
            for name, values in (("selection", true - own), ("training", own), ("test", true)):
                found[name].append(np.repeat(values[tied], 60 // tied.size))
    return {name: np.array(values) for name, values in found.items()}


@pytest.mark.parametrize("ties", [False, True])
def test_m_sweep_by_brute_force(ties: bool) -> None:
    """Means and quantiles over all subsets would not be what listing the subsets of six gives, ties
    included.
    """
    costs = np.array(runtimes(6, 12, 2, seed=4).costs)
    if ties:
        costs[[1, 3, 5]] = (
            100.0  # three configurations that always time out: tied for the least in some subsets
        )
        costs[[0, 2], :] = np.round(costs[[0, 2], :] / 50) * 50
    splits, seed = 9, 11
    levels = (0.05, 0.3, 0.5, 0.9, 0.95)
    sweep = resample.sweep_m(
        matrix_of(costs), splits=splits, rng=np.random.default_rng(seed), levels=levels
    )
    drawn = [naive.split(stream, 12, 6, 6) for stream in streams(seed, splits)]
    for m in range(1, 7):
        every = all_subsets(costs, drawn, m)
        for name, values in every.items():
            assert getattr(sweep, name)[m - 1] == pytest.approx(values.mean(), rel=1e-10, abs=1e-10)
            expected = np.quantile(values, levels, method="inverted_cdf")
            np.testing.assert_allclose(
                sweep.quantiles[name][:, m - 1],
                expected,
                rtol=1e-7,
                atol=1e-9,
                err_msg=f"{name}, {m}",
            )
            by_split = values.reshape(splits, -1).mean(axis=1)
            error = by_split.std(ddof=1) / np.sqrt(splits)
            assert sweep.standard_errors[name][m - 1] == pytest.approx(error, rel=1e-8, abs=1e-10)


def test_quantiles_are_not_those_of_conditional_means() -> None:
    """The spread over subsets would be averaged away, and the quantiles at small m come out too
    small.
    """
    matrix = runtimes(30, 20, 2)
    sweep = resample.sweep_m(matrix, splits=400, rng=np.random.default_rng(12))
    training, tests = np.empty((400, 30)), np.empty((400, 30))
    means = matrix.costs.mean(axis=2)
    for s, stream in enumerate(streams(12, 400)):
        one, two = naive.split(stream, 20, 10, 10)
        training[s], tests[s] = means[:, one].mean(axis=1), means[:, two].mean(axis=1)
    conditional_means = (tests - training).mean(axis=1)
    assert sweep.quantiles["uniform"][2, 0] > 1.5 * np.quantile(conditional_means, 0.95)
    assert sweep.quantiles["uniform"][2, 0] == pytest.approx(
        np.quantile(tests - training, 0.95, method="inverted_cdf"), rel=1e-6
    )


def test_m_sweep_agrees_with_random_chains() -> None:
    """In distribution, the m-sweep would not be the mean over the authors' random chains."""
    matrix = runtimes(12, 16, 2)
    sweep = resample.sweep_m(matrix, splits=4000, rng=np.random.default_rng(13))
    chains = np.array(
        [naive.m_sweep(nested(matrix), naive.PythonStream(s), 8, 8) for s in range(1500)]
    )
    for index, name in enumerate(("uniform", "selection", "training")):
        values = chains[:, index]
        error = np.hypot(values.std(axis=0, ddof=1) / np.sqrt(1500), sweep.standard_errors[name])
        assert (np.abs(getattr(sweep, name) - values.mean(axis=0)) < 4.5 * error).all()


def test_largest_weights_at_paper_size() -> None:
    """At M = 500 the weights would lose digits: rows must sum to one and agree with exact
    fractions.
    """
    from fractions import Fraction
    from math import comb

    weights = exact.subset_weights(500, [1, 2, 37, 250, 499, 500])
    np.testing.assert_allclose(weights.sum(axis=1), 1, rtol=1e-12)
    for row, m in zip(weights, [1, 2, 37, 250, 499, 500], strict=True):
        for i in (1, 2, 37, 250, 300, 499, 500):
            expected = float(Fraction(comb(i - 1, m - 1), comb(500, m)))
            assert row[i - 1] == pytest.approx(expected, rel=1e-11, abs=1e-300)


# ---- Monte Carlo against the closed forms --------------------------------------------------------


@pytest.mark.parametrize("estimator", exact.ESTIMATORS)
def test_monte_carlo_agrees_with_the_closed_form(estimator: exact.Estimator) -> None:
    """The simulated squared error of an estimator would lie outside its standard error around the
    exact one.
    """
    matrix = runtimes(6, 24, 4, within_share=0.7)
    numbers = [1, 3, 6, 7, 12, 20, 24, 40]
    ours = resample.compare_estimators(
        matrix,
        splits=60_000,
        rng=np.random.default_rng(14),
        runs=numbers,
        train=10,
        test=12,
        estimators=[estimator],
    )
    truth = exact.mean_squared_error(
        matrix, estimator=estimator, instances=10, runs=numbers, test_instances=12
    ).mean
    assert (np.abs(ours.squared[0] - truth) < 4 * ours.squared_error[0]).all()
    assert (ours.squared_error[0] < 0.02 * truth).all()


def test_uniform_error_of_one_configuration_is_its_error() -> None:
    """With a single configuration, uniform, selection and estimation error would differ, or have a
    mean other than 0.
    """
    matrix = runtimes(1, 20, 3)
    for sweep in (
        resample.sweep_n(matrix, splits=5000, rng=np.random.default_rng(15)),
        resample.sweep_k(matrix, splits=5000, rng=np.random.default_rng(15)),
        resample.sweep_m(matrix, splits=5000, rng=np.random.default_rng(15)),
    ):
        np.testing.assert_allclose(sweep.uniform, sweep.selection)
        assert (np.abs(sweep.uniform) < 4.5 * sweep.standard_errors["uniform"]).all()


def test_sweeps_meet_where_all_runs_are_used() -> None:
    """At m = M, K = P/2 and N = R·K the three sweeps, one and the same experiment there, would
    disagree.
    """
    matrix = runtimes(9, 14, 3)
    ends = [
        getattr(resample, f"sweep_{kind}")(matrix, splits=50, rng=np.random.default_rng(16))
        for kind in ("m", "n", "k")
    ]
    for name in ("uniform", "selection", "training", "test"):
        last = [getattr(sweep, name)[-1] for sweep in ends]
        np.testing.assert_allclose(last, last[0], rtol=1e-9)
        last = [sweep.quantiles[name][:, -1] for sweep in ends]
        np.testing.assert_allclose(last, np.broadcast_to(last[0], (3, 4)), rtol=1e-7)


# ---- reproducibility, options, refusals ----------------------------------------------------------


@pytest.mark.parametrize("name", ["sweep_m", "sweep_n", "sweep_k"])
def test_threads_change_nothing(name: str) -> None:
    """The same seed would give other bytes with another number of threads, or with other chunks."""
    if numba.config.NUMBA_NUM_THREADS < 2:  # type: ignore[attr-defined]
        pytest.skip("needs two threads")
    matrix, sweep = runtimes(20, 30, 3), getattr(resample, name)
    one, two = (
        sweep(matrix, splits=150, rng=np.random.default_rng(17), threads=threads)
        for threads in (1, 2)
    )
    for curve in ("uniform", "selection", "training", "test"):
        assert getattr(one, curve).tobytes() == getattr(two, curve).tobytes()
        assert one.quantiles[curve].tobytes() == two.quantiles[curve].tobytes()
        assert one.standard_errors[curve].tobytes() == two.standard_errors[curve].tobytes()
    assert numba.get_num_threads() == numba.config.NUMBA_NUM_THREADS  # type: ignore[attr-defined]


def test_values_are_read_off_the_whole_sweep() -> None:
    """Asking for some values only would change what they are."""
    matrix = runtimes(8, 16, 3)
    for name, some in (("sweep_m", [2, 7]), ("sweep_n", [1, 9, 17]), ("sweep_k", [3, 8])):
        sweep = getattr(resample, name)
        whole = sweep(matrix, splits=30, rng=np.random.default_rng(18))
        part = sweep(matrix, splits=30, rng=np.random.default_rng(18), values=some)
        places = np.searchsorted(whole.values, some)
        np.testing.assert_allclose(part.selection, whole.selection[places], rtol=1e-12)
        np.testing.assert_allclose(
            part.quantiles["uniform"], whole.quantiles["uniform"][:, places], rtol=1e-7
        )


def test_common_seeds_make_comparisons_paired() -> None:
    """On a matrix where configurations differ by a constant, a common order would still pick a
    wrong one.
    """
    base = np.random.default_rng(19).random((1, 20, 3)) * 10
    costs = base + np.arange(5)[:, np.newaxis, np.newaxis] * 0.01
    common = resample.sweep_n(
        matrix_of(costs), splits=50, rng=np.random.default_rng(20), common_seeds=True
    )
    own = resample.sweep_n(matrix_of(costs), splits=50, rng=np.random.default_rng(20))
    # The right choice everywhere: the test cost of the selected is then that of the best
    # configuration.
    assert np.ptp(common.test) < 1e-9
    assert own.test[0] > common.test[0] + 0.005


def test_progress_counts_every_split() -> None:
    """Progress would not add up to the number of splits."""
    told: list[int] = []
    resample.sweep_k(
        runtimes(30, 800, 5), splits=4000, rng=np.random.default_rng(21), progress=told.append
    )
    assert sum(told) == 4000
    assert len(told) > 1


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda m, g: resample.sweep_m(m, splits=1, rng=g), "at least 2 splits, got 1"),
        (lambda m, g: resample.sweep_m(m, rng=g, train=9, test=9), r"to fit into 12, got 9 \+ 9"),
        (
            lambda m, g: resample.sweep_m(m, rng=g, train=0),
            "at least 1 training and 1 test instance",
        ),
        (lambda m, g: resample.sweep_m(m, rng=g, values=[7]), r"m from 1 to 6, got \[7\]"),
        (lambda m, g: resample.sweep_n(m, rng=g, values=[13]), "N from 1 to 12"),
        (lambda m, g: resample.sweep_k(m, rng=g, values=[0]), "K from 1 to 6"),
        (lambda m, g: resample.sweep_k(m, rng=g, levels=[1.0]), "levels between 0 and 1"),
        (lambda m, g: resample.sweep_k(m, rng=g, threads=999), "threads from 1 to"),
        (
            lambda m, g: resample.compare_estimators(m, rng=g, runs=[13]),
            "at most 2 runs per instance, .* got 3",
        ),
        (lambda m, g: resample.compare_estimators(m, rng=g, runs=[]), "of at least 1"),
        (
            lambda m, g: resample.compare_estimators(
                m, rng=g, runs=[1], estimators=cast("Any", ["best"])
            ),
            "got 'best'",
        ),
        (
            lambda m, _: exact.mean_squared_error(m, instances=3, runs=7),
            "at most 2 runs per instance",
        ),
        (
            lambda m, _: exact.mean_squared_error(
                m, estimator=cast("Any", "odd"), instances=3, runs=7
            ),
            "got 'odd'",
        ),
        (lambda m, _: exact.mean_squared_error(m, instances=3), r"instances \(K\) and runs \(N\)"),
    ],
)
def test_bad_input(call: Any, words: str) -> None:
    """A protocol that cannot be followed would be followed all the same."""
    with pytest.raises(InputError, match=words):
        call(runtimes(6, 12, 2), np.random.default_rng(0))


def test_missing_runs_are_refused_with_a_reason() -> None:
    """An undefined protocol on missing runs would give numbers."""
    gaps, rng = with_gaps(6, 12, 3, least=1), np.random.default_rng(0)
    with pytest.raises(InputError, match="common seeds, got a matrix with missing runs"):
        resample.sweep_n(gaps, rng=rng, common_seeds=True)
    with pytest.raises(InputError, match="N from 1 to 6"):
        resample.sweep_n(gaps, rng=rng, values=[7])
    for kind in ("concentrated", "pairs"):
        with pytest.raises(InputError, match="missing runs"):
            resample.compare_estimators(gaps, rng=rng, runs=[3], estimators=[kind])
        with pytest.raises(InputError, match="missing runs"):
            exact.mean_squared_error(gaps, estimator=kind, instances=4, runs=4)
    costs = np.array(gaps.costs)
    costs[2, 3] = np.nan
    for sweep in (resample.sweep_m, resample.sweep_n, resample.sweep_k):
        with pytest.raises(InputError, match="'c2' has none on 'i3': select"):
            sweep(matrix_of(costs), rng=rng)
    with pytest.raises(InputError, match="'c2' has none on 'i3': select"):
        exact.mean_squared_error(matrix_of(costs), instances=2, runs=2)


def test_a_seed_is_as_good_as_a_generator() -> None:
    """A whole number as `rng` would be refused, or start other random numbers than a generator of
    that seed.
    """
    matrix = runtimes(6, 12, 3)
    for seeded, drawn in (
        (
            resample.sweep_n(matrix, splits=20, rng=3),
            resample.sweep_n(matrix, splits=20, rng=np.random.default_rng(3)),
        ),
        (one_split(matrix, rng=3), one_split(matrix, rng=np.random.default_rng(3))),
    ):
        np.testing.assert_array_equal(seeded.training, drawn.training)
        np.testing.assert_array_equal(seeded.test, drawn.test)
    assert one_split(matrix).training.shape == (2, 6)
