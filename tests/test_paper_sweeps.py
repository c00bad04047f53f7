"""The sweeps beside a plain twin of each, written from the paper's words."""

import math
from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from test_paper_exact import matrix_of, random_costs

from truecost.arrays import FloatArray
from truecost.errors import InputError
from truecost.matrix import CostMatrix
from truecost.paper import fit
from truecost.paper.exact import Estimator, mean_squared_error
from truecost.paper.fit import Kind
from truecost.paper.sweeps import SIMULATED, Costs, compare_estimators, estimates, sweep
from truecost.stats import bounds
from truecost.stats.allocation import even
from truecost.stats.variance import variance_components

KINDS: tuple[Kind, ...] = ("m", "n", "k")
# Standard errors between two simulations of the same numbers, of which there are hundreds.
APART = 4.5
Rng = np.random.Generator
# Training cost of every configuration at every value: (values, M), and the true costs.
Twin = Callable[[FloatArray, Rng], tuple[list[tuple[list[int], list[float]]], FloatArray]]


def split(costs: FloatArray, rng: Rng) -> tuple[list[int], FloatArray]:
    """split_{P/2 | P/2}: training instances, and the performance on the test instances."""
    order = rng.permutation(costs.shape[1]).tolist()
    half = costs.shape[1] // 2
    return order[:half], costs[:, order[half : 2 * half]].mean(axis=(1, 2))


def plain_m(costs: FloatArray, rng: Rng) -> tuple[list[tuple[list[int], list[float]]], FloatArray]:
    """Start with an empty set of configurations and add a random one at a time; N = 5K."""
    train, truth = split(costs, rng)
    chosen: list[int] = []
    steps = []
    for configuration in rng.permutation(len(costs)).tolist():
        chosen.append(configuration)
        steps.append((list(chosen), [float(costs[c, train].mean()) for c in chosen]))
    return steps, truth


def plain_n(costs: FloatArray, rng: Rng) -> tuple[list[tuple[list[int], list[float]]], FloatArray]:
    """N = 1 … 5K by S*: no instance gets a run before every other has as many."""
    train, truth = split(costs, rng)
    everyone = list(range(len(costs)))
    seen: list[list[float]] = [[] for _ in everyone]
    runs = [[rng.permutation(costs.shape[2]).tolist() for _ in train] for _ in everyone]
    steps = []
    for round_ in range(costs.shape[2]):
        orders = [rng.permutation(len(train)).tolist() for _ in everyone]
        for place in range(len(train)):
            for c in everyone:
                i = orders[c][place]
                seen[c].append(float(costs[c, train[i], runs[c][i][round_]]))
            steps.append((everyone, [sum(costs_seen) / len(costs_seen) for costs_seen in seen]))
    return steps, truth


def plain_k(costs: FloatArray, rng: Rng) -> tuple[list[tuple[list[int], list[float]]], FloatArray]:
    """K = 1 … P/2 training instances, all runs of each."""
    train, truth = split(costs, rng)
    everyone = list(range(len(costs)))
    return [
        (everyone, [float(costs[c, train[:k]].mean()) for c in everyone])
        for k in range(1, len(train) + 1)
    ], truth


TWINS: dict[Kind, Twin] = {"m": plain_m, "n": plain_n, "k": plain_k}


def plain(costs: FloatArray, kind: Kind, splits: int, rng: Rng) -> tuple[FloatArray, FloatArray]:
    """Means and standard errors of uniform error, train_es_error and lowest training cost."""
    rows = []
    for _ in range(splits):
        steps, truth = TWINS[kind](costs, rng)
        row = []
        for chosen, training in steps:
            errors = [truth[c] - cost for c, cost in zip(chosen, training, strict=True)]
            best = int(np.argmin(training))
            row.append([max(errors), errors[best], training[best]])
        rows.append(row)
    values = np.array(rows)
    return values.mean(axis=0).T, values.std(axis=0, ddof=1).T / math.sqrt(splits)


@pytest.mark.parametrize("kind", KINDS)
def test_a_plain_twin_finds_the_same(kind: Kind) -> None:
    """Otherwise the fast sweep would not do what the paper describes."""
    costs = random_costs(1, 6, 8, 3)
    table = sweep(matrix_of(costs), kind, splits=2000, rng=1, workers=1)
    means, errors = plain(costs, kind, 400, np.random.default_rng(2))
    for column, mean, error in zip(
        ("uniform", "selection", "training"), means, errors, strict=True
    ):
        apart = np.hypot(error, table[f"{column}_se"])
        assert (np.abs(table[column] - mean) < APART * apart + 1e-6).all(), column
    assert (table["test"] - table["training"]).to_numpy() == pytest.approx(
        table["selection"].to_numpy(), abs=1e-6
    )


def plain_estimates(
    costs: FloatArray, train: list[int], estimator: str, n: int, rng: Rng
) -> list[float]:
    """One estimate of every configuration from n runs, in the paper's words."""
    out = []
    for rows in costs:
        seen: list[float] = []
        instances = rng.permutation(train).tolist()
        runs = {i: rng.permutation(costs.shape[2]).tolist() for i in train}
        while len(seen) < n:
            if estimator == "scattered":
                seen.append(float(rows[rng.choice(train), rng.integers(costs.shape[2])]))
            elif estimator == "concentrated":
                instance = instances.pop()
                seen += [float(rows[instance, run]) for run in runs[instance]]
            else:
                seen += [float(rows[i, runs[i].pop()]) for i in rng.permutation(train).tolist()]
        out.append(float(np.mean(seen[:n])))
    return out


def test_plain_estimators_err_alike() -> None:
    """The simulated absolute errors are those of the paper's S*, S† and S°."""
    costs, runs = random_costs(3, 3, 8, 3), [1, 3, 6, 10]
    table = compare_estimators(matrix_of(costs), np.array(runs), splits=2000, rng=1, workers=1)
    rng = np.random.default_rng(4)
    for estimator in SIMULATED:
        for n in runs:
            errors = []
            for _ in range(300):
                train, truth = split(costs, rng)
                errors.append(
                    np.abs(
                        np.array(plain_estimates(costs, train, estimator, n, rng)) - truth
                    ).mean()
                )
            row = table[(table.estimator == estimator) & (table.n == n)].iloc[0]
            apart = math.hypot(row.se, np.std(errors) / math.sqrt(300))
            assert abs(np.mean(errors) - row.absolute) < APART * apart
            assert row.spread == pytest.approx(np.std(errors), rel=0.25)


@pytest.mark.parametrize("estimator", SIMULATED)
@pytest.mark.parametrize("runs", [1, 3])
def test_simulated_runs_have_the_closed_form(estimator: Estimator, runs: int) -> None:
    """The order in which an estimator's runs are drawn gives the exact error at every N."""
    matrix = matrix_of(random_costs(5, 3, 10, runs))
    costs, rng = Costs.of(matrix, 4), np.random.default_rng(6)
    numbers = np.arange(1, 4 * runs + 1)
    exact = mean_squared_error(matrix, estimator, instances=4, runs=numbers)
    squares = []
    for _ in range(1500):
        train, truth = costs.split(rng)
        estimated = estimates(costs.deal(rng, train), estimator, int(numbers[-1]), rng)
        squares.append((estimated - truth[:, np.newaxis]) ** 2)
    mean = np.mean(squares, axis=0, dtype=np.float64)
    error = np.std(squares, axis=0, dtype=np.float64) / math.sqrt(1500)
    assert (np.abs(mean - exact.total.T) < 5 * error).all()


def test_sweep_over_n_has_the_closed_form() -> None:
    """With one configuration the uniform error is u − û, unbiased, with the exact variance."""
    matrix = matrix_of(random_costs(7, 1, 12, 3))
    table = sweep(matrix, "n", splits=3000, rng=1, workers=1)
    errors = mean_squared_error(matrix, "even", instances=6, runs=table["n"].to_numpy())
    assert (table["uniform"].abs() < APART * table["uniform_se"]).all()
    # The standard error of a mean is that of u − û over the splits.
    squared = (table["uniform_se"] ** 2 * 3000).to_numpy()
    assert squared == pytest.approx(errors.total[:, 0], rel=0.15)


def test_sweeps_meet_at_their_ends() -> None:
    """m = M, N = R·K and K = P/2 are one experiment."""
    matrix = matrix_of(random_costs(8, 5, 10, 2))
    ends = [sweep(matrix, kind, splits=3000, rng=2, workers=1).iloc[-1] for kind in KINDS]
    for end in ends[1:]:
        assert (end[["m", "k", "n"]] == ends[0][["m", "k", "n"]]).all()
        for column in ("uniform", "selection", "training", "test"):
            apart = math.hypot(end[f"{column}_se"], ends[0][f"{column}_se"])
            assert abs(end[column] - ends[0][column]) < APART * apart
        assert end["uniform_q"] == pytest.approx(ends[0]["uniform_q"], rel=0.1)


@pytest.mark.parametrize("kind", KINDS)
def test_ties_share_the_selection(kind: Kind) -> None:
    """If the first of equal training costs were selected, the order of rows would decide."""
    # Training on the first instance: equal, errors −1 and 1, on average 0. On the second: the first
    # configuration wins and errs by 1. A choice by rows would make the mean 0 or 1.
    costs = np.array([[[1.0], [0.0]], [[1.0], [2.0]]])
    rows = [
        sweep(matrix_of(costs[order]), kind, splits=400, rng=1, workers=1).iloc[-1]
        for order in ([0, 1], [1, 0])
    ]
    for row in rows:
        assert row["selection"] == pytest.approx(0.5, abs=0.12)
        assert row["uniform"] == pytest.approx(1)
    assert rows[0]["selection"] == pytest.approx(rows[1]["selection"])


def test_costs_far_from_zero() -> None:
    """Single precision must not eat the differences between tour lengths."""
    costs = random_costs(9, 5, 8, 2)
    for kind in KINDS:
        near, far = (
            sweep(matrix_of(values), kind, splits=50, rng=3, workers=1)
            for values in (costs, costs + 1e8)
        )
        assert far["uniform"].to_numpy() == pytest.approx(near["uniform"].to_numpy(), abs=1e-5)
        assert far["selection"].to_numpy() == pytest.approx(near["selection"].to_numpy(), abs=1e-5)
        assert (far["training"] - 1e8).to_numpy() == pytest.approx(
            near["training"].to_numpy(), abs=1e-5
        )


def test_any_number_of_workers_finds_the_same() -> None:
    """A seed that depends on the machine's cores cannot be printed in a report."""
    matrix = matrix_of(random_costs(10, 4, 10, 2))
    told: list[int] = []
    alone = sweep(matrix, "k", splits=120, rng=4, workers=1)
    together = sweep(matrix, "k", splits=120, rng=4, workers=2, progress=told.append)
    pd.testing.assert_frame_equal(alone, together)
    assert sum(told) == 120
    assert not alone.equals(sweep(matrix, "k", splits=120, rng=5, workers=1))


def quantile_of_subsets(errors: NDArray[np.float64], size: int, level: float) -> float:
    """The level's quantile of the largest error of random subsets, by drawing them."""
    rng = np.random.default_rng(1)
    drawn = [rng.choice(row, size, replace=False).max() for row in errors for _ in range(40)]
    return float(np.quantile(drawn, level))


def test_quantiles_over_subsets() -> None:
    """Bounds are compared with the error that 95 % of splits and m-subsets stay below."""
    costs = random_costs(11, 12, 20, 1)
    table = sweep(matrix_of(costs), "m", splits=2000, rng=5)
    rng, rows = np.random.default_rng(6), []
    for _ in range(500):
        train, truth = split(costs, rng)
        rows.append(truth - costs[:, train].mean(axis=(1, 2)))
    for size in (1, 4, 12):
        expected = quantile_of_subsets(np.array(rows), size, 0.95)
        assert table["uniform_q"][size - 1] == pytest.approx(expected, rel=0.08)


def test_sizes_of_a_split() -> None:
    """K = P/2, rounded down, and the sizes stand beside the errors."""
    table = sweep(matrix_of(random_costs(12, 4, 9, 2)), "n", splits=5, workers=1)
    assert (table["k"] == 4).all()
    assert table["n"].tolist() == list(range(1, 9))
    assert (table["m"] == 4).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kind": "x"}, "kind"),
        ({"splits": 1}, "at least 2"),
        ({"kind": "m", "splits": 1}, "at least 2"),
        ({"workers": 0}, "1 worker"),
        ({"rng": -1}, "rng"),
    ],
)
def test_wrong_sweeps(options: dict[str, object], message: str) -> None:
    """Each would end in numbers without a meaning or in a traceback."""
    matrix = matrix_of(random_costs(13, 4, 8, 2))
    with pytest.raises(InputError, match=message):
        sweep(matrix, **{"kind": "n", **options})  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", KINDS)
def test_theorem_2_stands_at_every_value(kind: Kind) -> None:
    """A bound for another m, N or K would be compared with the errors."""
    matrix = matrix_of(np.minimum(random_costs(14, 5, 10, 3), 9), high=9.0)
    table = sweep(matrix, kind, splits=10, rng=1, workers=1)
    row = table.iloc[len(table) // 2]
    for form, column in (("bennett", "bound"), ("printed", "printed")):
        expected = bounds.finite(
            allocation=even(int(row["n"]), int(row["k"])),
            components=variance_components(matrix),
            width=9.0,
            delta=0.05,
            configurations=int(row["m"]),
            form=form,  # type: ignore[arg-type]
        )
        assert row[column] == pytest.approx(float(expected.epsilon))
    # The printed Theorem 2 is the loosest of its forms.
    assert (table["bound"] <= table["printed"]).all()


def test_no_bound_without_a_range() -> None:
    """Theorem 2 needs C; a guessed one would look like the paper's."""
    matrix = CostMatrix(random_costs(15, 4, 8, 2), list("abcd"), list("ijklmnop"))
    assert "bound" not in sweep(matrix, "k", splits=5, workers=1)


@pytest.mark.parametrize(
    ("kind", "curve"),
    [
        ("m", lambda x: 0.3 * np.log(x) + 2 * np.sqrt(np.log(x))),
        ("n", lambda x: 0.3 + 2 / np.sqrt(x)),
        ("k", lambda x: 0.3 / x + 2 / np.sqrt(x)),
    ],
)
def test_fits_recover_their_own_curve(
    kind: Kind, curve: Callable[[FloatArray], FloatArray]
) -> None:
    """Least squares must give back a and b where the errors lie on the curve."""
    values = np.arange(1.0, 50.0)
    fitted = fit.curve(values, curve(values), kind)
    assert (fitted.a, fitted.b) == pytest.approx((0.3, 2))
    assert fitted.r_squared == pytest.approx(1)
    assert fitted([7.0]) == pytest.approx(curve(np.array([7.0])))


def test_fits_of_what_cannot_be_fitted() -> None:
    """Three values determine no quality of a fit, and a constant has no variation to explain."""
    assert math.isnan(fit.curve([1, 2, 3, 4], [0, 0, 0, 0], "n").r_squared)
    for values, errors in (
        ([1, 2, 3], [1, 2, 3]),
        ([1, 2, 3, 4], [1, 2, 3]),
        ([0, 1, 2, 3], [1, 2, 3, 4]),
        ([1, 2, 3, 4], [1, 2, np.nan, 4]),
    ):
        with pytest.raises(InputError, match="finite errors at 4 different values"):
            fit.curve(values, errors, "n")
