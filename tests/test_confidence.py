"""What users meet: shapes, sides, unions, pairs, sequences, and doors."""

from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

import truecost
from truecost.errors import InputError
from truecost.matrix import CostMatrix
from truecost.stats import assumptions, confidence, ledger, ordering

FloatArray = NDArray[np.float64]
METHODS: list[confidence.Method] = list(get_args(confidence.Method))
every_method = pytest.mark.parametrize("method", METHODS)


def runtimes(rng: np.random.Generator, shape: tuple[int, ...], missing: float = 0.0) -> FloatArray:
    """Costs in [0, 50] with timeouts, some missing; every configuration keeps a run."""
    costs = np.where(rng.random(shape) < 0.1, 50.0, np.minimum(rng.lognormal(size=shape), 5))
    gone = rng.random(shape) < missing
    gone.reshape(-1, *shape[-2:])[:, 0, 0] = False
    return np.where(gone, np.nan, costs)


def matrix_of(costs: FloatArray) -> CostMatrix:
    """A matrix with made-up names and costs from 0 to 50."""
    return CostMatrix(
        costs, [f"c{i}" for i in range(len(costs))], [f"i{i}" for i in range(costs.shape[1])], 0, 50
    )


def ends(found: confidence.Confidence | confidence.ConfidenceSequence) -> FloatArray:
    """Lower, estimate, upper."""
    return np.array([found.lower, found.estimate, found.upper])


def test_the_default_is_named_in_the_result() -> None:
    """A result would not say how it came about and what it rests on."""
    found = truecost.confidence.upper([1.0, 2.0, 3.0], 0, 50, 0.05)
    assert found.method == "star-bets"
    assert (found.side, found.delta, found.configurations, found.instances) == ("upper", 0.05, 1, 3)
    assert found.lower == 0
    assert found.estimate == 2
    assert 3 < found.upper < 50
    assert assumptions.RANGE in found.assumptions
    assert assumptions.DRAWN in found.assumptions
    assert assumptions.PICKED_SEED in confidence.upper([1.0], 0, 1, rng=1).assumptions
    assert assumptions.UNSHUFFLED in confidence.upper([1.0], 0, 1, shuffle=False).assumptions
    assert not any(
        "order" in line for line in confidence.upper([1.0], 0, 1, method="hoeffding").assumptions
    )
    with pytest.raises(AttributeError):
        found.upper = 0  # type: ignore[misc]


def test_hoeffding_and_maurer_pontil_by_hand() -> None:
    """The closed forms would not be the published ones, or delta would be shared out between the
    sides wrongly.
    """
    costs = np.array([1.0, 4.0, 2.5, 10.0])
    slack = 10 * np.sqrt(np.log(20) / 8)
    assert confidence.upper(costs, 0, 100, 0.05, method="hoeffding").upper == pytest.approx(
        4.375 + 10 * slack
    )
    log_term = np.log(2 / 0.5)
    slack = np.sqrt(2 * costs.var(ddof=1) * log_term / 4) + 20 * 7 * log_term / 9
    found = confidence.upper(costs, 0, 20, 0.5, method="empirical-bernstein")
    assert found.upper == pytest.approx(min(20, 4.375 + slack))
    many = np.tile(costs, 50)
    slack = np.sqrt(2 * many.var(ddof=1) * np.log(40) / 200) + 20 * 7 * np.log(40) / (3 * 199)
    both = confidence.interval(many, 0, 20, 0.1, method="empirical-bernstein")
    assert ends(both) == pytest.approx([4.375 - slack, 4.375, 4.375 + slack])


@every_method
def test_sides_share_delta(method: confidence.Method) -> None:
    """An interval would not be the two one-sided limits at half the delta."""
    costs = runtimes(np.random.default_rng(1), (4, 30, 2))
    both = confidence.interval(costs, 0, 50, 0.1, method=method, configurations=1)
    np.testing.assert_array_equal(
        both.upper, confidence.upper(costs, 0, 50, 0.05, method=method, configurations=1).upper
    )
    np.testing.assert_array_equal(
        both.lower, confidence.lower(costs, 0, 50, 0.05, method=method, configurations=1).lower
    )
    np.testing.assert_array_equal(
        confidence.lower(costs, 0, 50, method=method).upper, np.full(4, 50.0)
    )


@every_method
def test_configurations_share_delta(method: confidence.Method) -> None:
    """The limits of m configurations would not each be those at delta/m, whether counted or told."""
    costs = runtimes(np.random.default_rng(2), (5, 30, 2))
    at_once = confidence.upper(costs, 0, 50, 0.1, method=method)
    assert at_once.configurations == 5
    for i, each in enumerate(costs):
        told = confidence.upper(each, 0, 50, 0.1, method=method, configurations=5)
        alone = confidence.upper(each, 0, 50, 0.02, method=method)
        assert isinstance(alone.upper, float)
        assert told.upper == alone.upper == np.asarray(at_once.upper)[i]
    assert (
        np.asarray(confidence.upper(costs, 0, 50, 0.1, method=method, configurations=50).upper)
        >= at_once.upper
    ).all()


@every_method
def test_shapes_agree(method: confidence.Method) -> None:
    """Instance means, runs, several configurations and a matrix would be read differently."""
    costs = runtimes(np.random.default_rng(3), (3, 20, 4), missing=0.3)
    costs[1, 3:6] = np.nan
    of_matrix = confidence.interval(matrix_of(costs), delta=0.1, method=method)
    np.testing.assert_array_equal(
        ends(of_matrix), ends(confidence.interval(costs, 0, 50, 0.1, method=method))
    )
    np.testing.assert_array_equal(
        of_matrix.instances,
        [20, 17, 20] - np.isnan(costs[:, :, :]).all(axis=2).sum(axis=1) + [0, 3, 0],
    )
    for i, each in enumerate(costs):
        means = np.array(
            [
                np.mean(cell[~np.isnan(cell)]) if not np.isnan(cell).all() else np.nan
                for cell in each
            ]
        )
        for one in (each, means):
            found = confidence.interval(one, 0, 50, 0.1, method=method, configurations=3)
            np.testing.assert_allclose(ends(found), ends(of_matrix)[:, i], rtol=1e-12)


@every_method
def test_an_instance_without_runs_is_not_there(method: confidence.Method) -> None:
    """An instance that was never run would count as an instance, or as a cost of 0."""
    costs = runtimes(np.random.default_rng(4), (25, 3))
    more = np.insert(costs, [0, 7, 25], np.nan, axis=0)
    plain = confidence.interval(costs, 0, 50, 0.1, method=method, shuffle=False)
    found = confidence.interval(more, 0, 50, 0.1, method=method, shuffle=False)
    assert found.instances == 25
    np.testing.assert_allclose(ends(found), ends(plain), rtol=1e-12)


@every_method
def test_runs_of_an_instance_are_one_observation(method: confidence.Method) -> None:
    """The same run counted five times would make a limit tighter: the runs would pass for
    independent of their instance.
    """
    costs = runtimes(np.random.default_rng(5), (40, 1))
    once = confidence.interval(costs, 0, 50, 0.1, method=method)
    np.testing.assert_allclose(
        ends(confidence.interval(np.repeat(costs, 5, axis=1), 0, 50, 0.1, method=method)),
        ends(once),
    )


@every_method
def test_a_configuration_without_runs_could_cost_anything(method: confidence.Method) -> None:
    """One configuration without runs would spoil the others' limits, or get limits of its own."""
    costs = runtimes(np.random.default_rng(6), (2, 12, 1))
    costs[0] = np.nan
    found = confidence.interval(costs, 0, 50, 0.1, method=method)
    assert np.isnan(np.asarray(found.estimate)[0])
    assert (np.asarray(found.lower)[0], np.asarray(found.upper)[0]) == (0, 50)
    alone = confidence.interval(costs[1], 0, 50, 0.1, method=method, configurations=2)
    np.testing.assert_array_equal(ends(found)[:, 1], ends(alone))


@every_method
@settings(max_examples=40)
@given(
    x=hnp.arrays(np.float64, st.integers(1, 25), elements=st.floats(0, 1)),
    scale=st.floats(0.01, 1000),
    shift=st.floats(-100, 100),
    delta=st.floats(1e-6, 0.99),
)
def test_units_and_mirror(
    method: confidence.Method, x: FloatArray, scale: float, shift: float, delta: float
) -> None:
    """Other units would change a limit, or the lower limit would not be the upper one of the
    negative costs.
    """
    plain = confidence.interval(x, 0, 1, delta, method=method, rng=1)
    assert 0 <= plain.lower <= 1
    assert 0 <= plain.upper <= 1
    low, high = shift, scale + shift
    moved = confidence.interval(
        np.clip(scale * x + shift, low, high), low, high, delta, method=method, rng=1
    )
    mirror = confidence.interval(-x, -1, 0, delta, method=method, rng=1)
    # A bet may tip over by rounding where it reaches its target exactly: the limits are continuous
    # almost everywhere only.
    assert ends(moved) == pytest.approx(
        scale * ends(plain) + shift, abs=1e-6 * (scale + abs(shift))
    )
    assert -ends(mirror)[::-1] == pytest.approx(ends(plain), abs=1e-6)


def test_the_order_is_fixed() -> None:
    """The same runs would give another answer the next time, or a seed given for the shuffle would
    do nothing.
    """
    costs = runtimes(np.random.default_rng(7), (60, 2))
    again = {confidence.upper(costs, 0, 50).upper for _ in range(3)}
    assert len(again) == 1
    assert confidence.upper(costs, 0, 50, rng=1).upper not in again
    for seed in (1, np.random.default_rng(1)):
        order = np.random.default_rng(1).permutation(60)
        shuffled = confidence.upper(costs, 0, 50, rng=seed).upper
        assert confidence.upper(costs[order], 0, 50, shuffle=False).upper == shuffled
    least, most = confidence.order_spread(costs, 0, 50)
    assert least < most
    assert 0.5 < most / confidence.upper(costs, 0, 50).upper < 2
    assert confidence.order_spread(costs, 0, 50, side="lower")[1] < np.nanmean(costs) < least


def test_the_order_comes_from_the_costs_and_not_from_their_places() -> None:
    """Sorted instances would all come in one pattern, or the order would depend on the one in which
    the costs came.
    """
    rows = np.random.default_rng(8).random((3, 40))
    orders = ordering.by_content(rows)
    assert all((np.sort(each) == np.arange(40)).all() for each in orders)
    assert (orders[0] != orders[1]).any()
    np.testing.assert_array_equal(ordering.by_content(rows[:, ::-1]), orders)
    holes = np.insert(rows, [0, 5], np.nan, axis=1)
    kept = np.take_along_axis(holes, ordering.by_content(holes), axis=1)
    np.testing.assert_array_equal(kept[:, :40], np.take_along_axis(rows, orders, axis=1))
    several = ordering.of_instances(None, True, rows.T, holes[:, 2:].T)
    np.testing.assert_array_equal(
        ordering.of_instances(None, True, rows.T[::-1], holes[:, 2:].T[::-1]), several
    )
    assert (ordering.of_instances(None, True, rows.T, rows.T) != several).any()


def test_small_doors() -> None:
    """Costs that a file in single precision rounded would be refused, or a limit be on the wrong
    side of its estimate.
    """
    single = np.array([0.1, 0.1, 0.05], np.float32)
    assert 0.05 < confidence.upper(single, 0, 0.1).upper <= 0.1
    assert confidence.upper(np.full(3, np.float32(0.1)), 0, 0.1).upper == 0.1
    with pytest.raises(InputError, match="costs in"):
        confidence.upper([0.1001], 0, 0.1)
    for method in METHODS:
        costs = np.random.default_rng(9).random(30)
        loose = confidence.interval(costs, 0, 1, 0.999, method=method)
        assert loose.lower <= loose.estimate <= loose.upper
        assert confidence.upper(costs, 0, 1, 0.999, method=method).upper >= loose.estimate


@every_method
def test_pairs_are_an_interval_of_differences(method: confidence.Method) -> None:
    """A difference would not be the interval of the instances' differences in a range twice as
    wide.
    """
    rng = np.random.default_rng(8)
    first, second = runtimes(rng, (30, 3), missing=0.3), runtimes(rng, (30, 2), missing=0.2)
    first[5], second[9] = np.nan, np.nan
    means = [
        np.array([np.nan if np.isnan(c).all() else np.nanmean(c) for c in each])
        for each in (first, second)
    ]
    by_hand = confidence.interval(means[0] - means[1], -50, 50, 0.1, method=method)
    found = confidence.difference(first, second, 0, 50, 0.1, method=method)
    expected = ends(by_hand)
    if method == "star-bets":  # whose bets know the variance of paired differences
        rows = ((means[0] - means[1]) / 100 + 0.5)[np.newaxis]
        rows = np.take_along_axis(rows, ordering.by_content(rows), axis=1)
        plan = np.array([np.sum(~np.isnan(rows))])
        low, high = (
            ledger.lower(side, 20.0, plan, ledger.FINAL, True)[0] for side in (rows, 1 - rows)
        )
        expected = np.array([100 * low - 50, by_hand.estimate, 50 - 100 * high])
    np.testing.assert_allclose(ends(found), expected, rtol=1e-12)
    assert found.instances == np.sum(~np.isnan(means[0] - means[1]))
    assert assumptions.SAME_INSTANCES in found.assumptions
    one_side = confidence.difference(first, second, 0, 50, 0.05, method=method, side="upper")
    assert (one_side.upper, one_side.lower) == (found.upper, -50)


def test_many_against_one() -> None:
    """Comparing all configurations of a matrix with one would not be the comparisons one by one,
    with delta shared out.
    """
    matrix = matrix_of(runtimes(np.random.default_rng(9), (4, 25, 2)))
    found = confidence.difference(
        matrix.select(configurations=["c1", "c2", "c3"]), matrix.select(configurations="c0")
    )
    assert found.configurations == 3
    for i in range(3):
        alone = confidence.difference(matrix.costs[i + 1], matrix.costs[0], 0, 50, configurations=3)
        np.testing.assert_array_equal(ends(found)[:, i], ends(alone))


def test_pairs_see_what_intervals_do_not() -> None:
    """Configurations that differ by a little on every instance would not be told apart though the
    instances are the same.
    """
    rng = np.random.default_rng(10)
    hard = rng.uniform(0, 40, 100)
    first, second = hard + rng.uniform(0, 2, 100), hard + 4 + rng.uniform(0, 2, 100)
    assert confidence.difference(first, second, 0, 50).upper < 0
    one, two = (confidence.interval(each, 0, 50, 0.025) for each in (first, second))
    assert one.upper > two.lower


@pytest.mark.parametrize("method", get_args(confidence.SequenceMethod))
def test_sequences(method: confidence.SequenceMethod) -> None:
    """A sequence would depend on what is still to come, widen again, or treat missing instances,
    sides or m wrongly.
    """
    costs = runtimes(np.random.default_rng(11), (3, 40, 2), missing=0.4)
    found = confidence.sequence(matrix_of(costs), delta=0.1, method=method)
    assert found.upper.shape == (3, 40)
    assert (np.diff(found.upper) <= 0).all()
    assert (np.diff(found.lower) >= 0).all()
    assert (found.upper[:, -1] < 50).all()
    first = confidence.sequence(costs[:, :17], 0, 50, 0.1, method=method)
    np.testing.assert_array_equal(ends(first), ends(found)[:, :, :17])
    alone = confidence.sequence(costs[2], 0, 50, 0.1 / 3, method=method)
    np.testing.assert_allclose(ends(alone), ends(found)[:, 2], rtol=1e-9)
    one_side = confidence.sequence(costs, 0, 50, 0.05, method=method, side="upper")
    np.testing.assert_array_equal(one_side.upper, found.upper)
    assert (one_side.lower == 0).all()
    other_side = confidence.sequence(costs, 0, 50, 0.05, method=method, side="lower")
    np.testing.assert_array_equal(other_side.lower, found.lower)
    assert (other_side.upper == 50).all()
    there = ~np.isnan(costs).all(axis=2)
    np.testing.assert_array_equal(found.instances, there.cumsum(axis=1))
    assert confidence.interval(costs, 0, 50, 0.1).estimate == pytest.approx(found.estimate[:, -1])


def test_more_instances_and_more_delta_help() -> None:
    """Limits would not shrink with the number of instances, or not grow with what they promise."""
    costs = runtimes(np.random.default_rng(12), (1000, 1))
    for method in METHODS:
        limits = [confidence.upper(costs[:k], 0, 50, method=method) for k in (10, 100, 1000)]
        widths = [float(limit.upper - limit.estimate) for limit in limits]
        assert widths == sorted(widths, reverse=True)
        sure = [
            confidence.upper(costs[:100], 0, 50, delta, method=method).upper
            for delta in (0.2, 0.01, 1e-4)
        ]
        assert sure == sorted(sure)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"delta": 0.0}, "delta between 0 and 1, got 0.0"),
        ({"delta": float("nan")}, "delta between 0 and 1"),
        ({"delta": 1e-295}, "1e-290 at least"),
        (
            {"method": "gaffke"},
            "method to be one of star-bets, betting, empirical-bernstein, hoeffding, got 'gaffke'",
        ),
        ({"low": 5}, r"costs in \[5, 50\], got costs from 1 to 9"),
        ({"high": 5}, r"costs in \[0, 5\], got costs from 1 to 9"),
        ({"low": 60}, "low < high, got low 60 and high 50"),
        ({"high": float("inf")}, "finite cost range"),
        ({"high": None}, "Expected low and high"),
        ({"costs": [[[[1.0]]]]}, "got 4 dimensions"),
        ({"costs": 3.0}, "got 0 dimensions"),
        ({"costs": []}, "at least one run"),
        ({"costs": [np.nan, np.nan]}, "at least one run"),
        ({"costs": [1.0, np.inf]}, "costs in"),
        ({"costs": ["a", "b"]}, "costs as numbers"),
        ({"costs": [[1.0], [2.0, 3.0]]}, "costs as numbers"),
        ({"configurations": 0}, "configurations to be a whole number of at least 1, got 0"),
        ({"configurations": 2.5}, "configurations to be a whole number of at least 1, got 2.5"),
        (
            {"configurations": float("nan")},
            "configurations to be a whole number of at least 1, got nan",
        ),
        ({"rng": -1}, "a number from 0"),
    ],
)
def test_doors(change: dict[str, Any], message: str) -> None:
    """Input that makes no sense would be computed with."""
    given_: dict[str, Any] = {"costs": [1.0, 9.0], "low": 0, "high": 50, "delta": 0.1} | change
    with pytest.raises(InputError, match=message):
        confidence.upper(**given_)


def test_doors_of_pairs_and_sequences() -> None:
    """Pairs on different instances would be subtracted, or a method for one look be taken for a
    sequence.
    """
    matrix = matrix_of(np.ones((3, 4, 1)))
    with pytest.raises(InputError, match="same instances in the same order"):
        confidence.difference(matrix, matrix.select(instances=["i1", "i0", "i2", "i3"]))
    with pytest.raises(InputError, match="3 configurations on 4 instances and 2 on 4"):
        confidence.difference(matrix.costs, matrix.costs[:2], 0, 50)
    with pytest.raises(InputError, match="both cost ranges to be one"):
        confidence.difference(matrix, CostMatrix(np.ones((1, 4)), ["c"], matrix.instances, 0, 20))
    with pytest.raises(InputError, match="on which both have runs"):
        confidence.difference([1.0, np.nan], [np.nan, 1.0], 0, 50)
    with pytest.raises(InputError, match="side to be one of both, upper, lower, got 'left'"):
        confidence.difference([1.0], [1.0], 0, 50, side="left")  # type: ignore[arg-type]
    with pytest.raises(
        InputError, match="method to be one of betting, empirical-bernstein, got 'star-bets'"
    ):
        confidence.sequence([1.0], 0, 50, method="star-bets")  # type: ignore[arg-type]
