"""The sweeps beside a plain twin of each, written from the paper's words."""

import math
from collections.abc import Callable, Iterator

import numpy as np
import pandas as pd
import pytest
from test_paper_exact import matrix_of, random_costs

from truecost.arrays import FloatArray
from truecost.errors import InputError
from truecost.paper import fit
from truecost.paper.exact import Estimator, mean_squared_error
from truecost.paper.fit import Kind
from truecost.paper.sweeps import SIMULATED, compare_estimators, sweep
from truecost.stats import bounds
from truecost.stats.allocation import even
from truecost.stats.variance import variance_components

KINDS: tuple[Kind, ...] = ("m", "n", "k")
# Standard errors between two simulations of the same numbers, of which there are hundreds.
APART = 4.5
Rng = np.random.Generator


def split(costs: FloatArray, rng: Rng) -> tuple[list[int], FloatArray]:
    """split_{P/2 | P/2}: training instances, and the performance on the test instances."""
    order = rng.permutation(costs.shape[1]).tolist()
    half = costs.shape[1] // 2
    return order[:half], costs[:, order[half : 2 * half]].mean(axis=(1, 2))


def plain_m(costs: FloatArray, train: list[int], rng: Rng) -> Iterator[dict[int, float]]:
    """Start with an empty set of configurations and add a random one at a time; N = 5K."""
    chosen: dict[int, float] = {}
    for configuration in rng.permutation(len(costs)).tolist():
        chosen[configuration] = float(costs[configuration, train].mean())
        yield chosen


def plain_n(costs: FloatArray, train: list[int], rng: Rng) -> Iterator[dict[int, float]]:
    """N = 1 … 5K by S*: no instance gets a run before every other has as many."""
    everyone = range(len(costs))
    seen: list[list[float]] = [[] for _ in everyone]
    runs = [[rng.permutation(costs.shape[2]).tolist() for _ in train] for _ in everyone]
    for round_ in range(costs.shape[2]):
        orders = [rng.permutation(len(train)).tolist() for _ in everyone]
        for place in range(len(train)):
            for c in everyone:
                i = orders[c][place]
                seen[c].append(float(costs[c, train[i], runs[c][i][round_]]))
            yield {c: float(np.mean(seen[c])) for c in everyone}


def plain_k(costs: FloatArray, train: list[int], _rng: Rng) -> Iterator[dict[int, float]]:
    """K = 1 … P/2 training instances, all runs of each."""
    for k in range(1, len(train) + 1):
        yield dict(enumerate(costs[:, train[:k]].mean(axis=(1, 2)).tolist()))


TWINS = {"m": plain_m, "n": plain_n, "k": plain_k}


@pytest.mark.parametrize("kind", KINDS)
def test_a_plain_twin_finds_the_same(kind: Kind) -> None:
    """The fast sweep would not do what the paper describes, nor its quantiles be those of the
    splits.
    """
    costs, rng, splits = random_costs(1, 6, 8, 3), np.random.default_rng(2), 400
    rows = []
    for _ in range(splits):
        train, truth = split(costs, rng)
        row = []
        for training in TWINS[kind](costs, train, rng):
            errors = {c: truth[c] - cost for c, cost in training.items()}
            best = min(training, key=training.__getitem__)
            row.append([max(errors.values()), errors[best], training[best]])
        rows.append(row)
    table = sweep(matrix_of(costs), kind, splits=2000, rng=1, workers=1)
    for place, column in enumerate(("uniform", "selection", "training")):
        values = np.array(rows)[:, :, place]
        apart = np.hypot(values.std(axis=0) / math.sqrt(splits), table[f"{column}_se"])
        assert (np.abs(table[column] - values.mean(axis=0)) < APART * apart + 1e-6).all(), column
        if column != "training":
            # About 5 % of the plain errors lie above the quantile: 20 ± 4.4 of 400.
            above = (values > table[f"{column}_q"].to_numpy() + 1e-6).sum(axis=0)
            assert (np.abs(above - 20) < 20).all(), column
    np.testing.assert_allclose(table["test"] - table["training"], table["selection"], atol=1e-6)


@pytest.mark.parametrize("estimator", SIMULATED)
@pytest.mark.parametrize("runs", [1, 3])
def test_simulated_errors_have_the_closed_form(estimator: Estimator, runs: int) -> None:
    """The order in which an estimator's runs are drawn would not give the exact error at every N."""
    matrix, numbers = matrix_of(random_costs(5, 1, 10, runs)), np.arange(1, 4 * runs + 1)
    table = compare_estimators(matrix, numbers, train=4, splits=4000, rng=1, workers=1)
    rows = table[table.estimator == estimator]
    exact = mean_squared_error(matrix, estimator, instances=4, runs=numbers)
    # Of one configuration, E e² = (E|e|)² + Var|e|.
    squared = rows["absolute"] ** 2 + rows["spread"] ** 2
    assert squared.to_numpy() == pytest.approx(exact.total[:, 0], rel=0.1)
    assert rows["se"].to_numpy() == pytest.approx(rows["spread"] / math.sqrt(4000))
    assert (rows["n"] == numbers).all()


def test_sweep_over_n_has_the_closed_form() -> None:
    """With one configuration the uniform error would not be u − û, unbiased, with the exact
    variance.
    """
    matrix = matrix_of(random_costs(7, 1, 12, 3))
    table = sweep(matrix, "n", splits=3000, rng=1, workers=1)
    errors = mean_squared_error(matrix, "even", instances=6, runs=table["n"].to_numpy())
    assert (table["uniform"].abs() < APART * table["uniform_se"]).all()
    # The standard error of a mean is that of u − û over the splits.
    squared = (table["uniform_se"] ** 2 * 3000).to_numpy()
    assert squared == pytest.approx(errors.total[:, 0], rel=0.15)


def test_sweeps_meet_at_their_ends() -> None:
    """m = M, N = R·K and K = P/2 would not be one experiment, on the same splits."""
    matrix = matrix_of(random_costs(8, 5, 9, 2))
    ends = [sweep(matrix, kind, splits=60, rng=2, workers=1).iloc[-1] for kind in KINDS]
    assert ends[0][["m", "k", "n"]].tolist() == [5, 4, 8]
    for end in ends[1:]:
        np.testing.assert_allclose(end, ends[0], rtol=1e-5)


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


@pytest.mark.parametrize("kind", KINDS)
def test_costs_far_from_zero(kind: Kind) -> None:
    """Single precision would eat the differences between tour lengths."""
    costs = random_costs(9, 5, 8, 2)
    near, far = (
        sweep(matrix_of(values), kind, splits=50, rng=3, workers=1)
        for values in (costs, costs + 1e8)
    )
    near[["training", "test"]] += 1e8
    pd.testing.assert_frame_equal(near, far, rtol=0, atol=1e-5)


def test_any_number_of_workers_finds_the_same() -> None:
    """The numbers of a report would depend on the machine's cores, or not on the seed."""
    matrix = matrix_of(random_costs(10, 4, 10, 2))
    told: list[int] = []
    alone = sweep(matrix, "m", splits=120, rng=4, workers=1)
    together = sweep(matrix, "m", splits=120, rng=4, workers=2, progress=told.append)
    pd.testing.assert_frame_equal(alone, together)
    assert sum(told) == 120
    assert not alone.equals(sweep(matrix, "m", splits=120, rng=5, workers=1))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kind": "x"}, "kind"),
        ({"splits": 1}, "at least 2"),
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
    """A bound for another m, N or K would be compared with the errors, or one be made up where the
    range of costs is not known.
    """
    matrix = matrix_of(np.minimum(random_costs(14, 5, 10, 3), 9), high=9.0)
    table = sweep(matrix, kind, splits=10, rng=1, workers=1)
    row = table.iloc[len(table) // 2]
    forms: dict[str, bounds.Form] = {"bound": "bennett", "printed": "printed"}
    for column, form in forms.items():
        expected = bounds.finite(
            allocation=even(int(row["n"]), int(row["k"])),
            components=variance_components(matrix),
            width=9.0,
            delta=0.05,
            configurations=int(row["m"]),
            form=form,
        )
        assert row[column] == pytest.approx(expected.epsilon)
    unbounded = sweep(matrix_of(matrix.costs), kind, splits=10, rng=1, workers=1)
    pd.testing.assert_frame_equal(unbounded, table.drop(columns=["bound", "printed"]))


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
    """Least squares would not give back a and b where the errors lie on the curve."""
    values = np.arange(1.0, 50.0)
    fitted = fit.curve(values, curve(values), kind)
    assert (fitted.a, fitted.b) == pytest.approx((0.3, 2))
    assert fitted.r_squared == pytest.approx(1)
    assert fitted([7.0]) == pytest.approx(curve(np.array([7.0])))


def test_fits_of_what_cannot_be_fitted() -> None:
    """Three values would determine the quality of a fit, or a constant have variation to explain."""
    assert math.isnan(fit.curve([1, 2, 3, 4], [0, 0, 0, 0], "n").r_squared)
    for values, errors in (
        ([1, 2, 3], [1, 2, 3]),
        ([1, 2, 3, 4], [1, 2, 3]),
        ([0, 1, 2, 3], [1, 2, 3, 4]),
        ([1, 2, 3, 4], [1, 2, np.nan, 4]),
    ):
        with pytest.raises(InputError, match="finite errors at 4 different values"):
            fit.curve(values, errors, "n")
