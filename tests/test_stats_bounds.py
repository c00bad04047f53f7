import math
from collections.abc import Callable
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq, minimize_scalar

from truecost.arrays import FloatArray, IntArray
from truecost.errors import InputError
from truecost.stats import bounds
from truecost.stats.allocation import concentrated, even, even_sizes, sizes
from truecost.stats.variance import VarianceComponents

FORMS: tuple[bounds.Form, ...] = get_args(bounds.Form)
SPACE_FORMS: tuple[bounds.SpaceForm, ...] = get_args(bounds.SpaceForm)
known = VarianceComponents.known

shares = st.one_of(st.just(0.0), st.floats(1e-300, 0.25))
deltas = st.floats(1e-9, 0.99)
allocations = st.one_of(
    st.builds(even, st.integers(1, 300), st.integers(1, 60)),
    st.builds(concentrated, st.integers(1, 300), st.integers(1, 10)),
    st.lists(st.integers(0, 9), min_size=1, max_size=30).filter(any).map(np.array),
)


def estimated(**variances: float) -> VarianceComponents:
    """Components that come from runs; NaN `within` where each instance has one."""
    parts = {name: np.array([value]) for name, value in variances.items()}
    return VarianceComponents(**parts, estimated=True)


def single(**changes: Any) -> float:
    """The ε of Lemma 4 with some settings."""
    usual: dict[str, Any] = {
        "allocation": [1] * 40, "components": known(within=3, across=5), "width": 10, "delta": 0.05,
    }  # fmt: skip
    return float(bounds.single(**usual | changes).epsilon)


def finite(**changes: Any) -> FloatArray:
    """The ε of Theorem 2 for three configurations with some settings."""
    three = known(within=[1.0, 5.0, 2.0], across=[4.0, 0.5, 2.0])
    usual: dict[str, Any] = {
        "allocation": even(30, 10),
        "components": three,
        "width": 20,
        "delta": 0.1,
    }
    return np.asarray(bounds.finite(**usual | changes).epsilon)


def infinite(**changes: Any) -> bounds.Bound:
    """Theorem 3 at reference values."""
    usual: dict[str, Any] = {
        "allocation": even(1250, 250), "components": known(within=50, across=400), "width": 250,
        "delta": 0.05, "dimension": 54, "radius": 1.0, "lipschitz": 100.0,
    }  # fmt: skip
    return bounds.infinite(**usual | changes)


# ---- against computations that share nothing with ours -------------------------------------------


@pytest.mark.parametrize("counts", [[1] * 40, [5] * 8, [7, 1, 1, 3], [2, 2, 1]])
@pytest.mark.parametrize("delta", [0.5, 0.05, 1e-6])
def test_forms_against_chernoff(counts: list[int], delta: float) -> None:
    """The closed forms would not be what optimising the moment generating function numerically
    gives.
    """
    runs, reach, target = sum(counts), max(counts) * 10.0, math.log(1 / delta)
    variance = sum(3 * n + 5 * n * n for n in counts)

    def exponent(error: float) -> float:
        """The sup over λ of λ·error − the logarithm of Bennett's moment generating function."""

        def negative(lam: float) -> float:
            mgf = variance / reach**2 * (math.exp(lam * reach) - 1 - lam * reach)
            return mgf - lam * runs * error

        top = (0, 30 / reach)
        return -float(
            minimize_scalar(negative, bounds=top, method="bounded", options={"xatol": 1e-13}).fun
        )

    expected = brentq(lambda error: exponent(error) - target, 1e-6, 1e3, xtol=1e-12)
    assert single(allocation=counts, delta=delta) == pytest.approx(expected, rel=1e-6)
    printed = 2 * reach * target / (3 * runs) + math.sqrt(2 * target * variance) / runs
    assert single(allocation=counts, delta=delta, form="printed") == pytest.approx(printed)


def test_corollary_1_as_printed() -> None:
    """Theorem 2 under S* would not be 2C·ln(m/δ)/(3K) + √(2·ln(m/δ)·(within/N + across/K))."""
    ours = finite(
        allocation=even(1250, 250), components=known(within=50, across=400), width=250, delta=0.05,
        configurations=500, form="printed",
    )  # fmt: skip
    log = math.log(500 / 0.05)
    expected = 2 * 250 * log / 750 + math.sqrt(2 * log * (50 / 1250 + 400 / 250))
    assert ours == pytest.approx(expected)


def test_theorem_3_against_numerical_search() -> None:
    """The covering form of Theorem 3 would not be the minimum that it claims to be, or the printed
    one not the reference value.
    """
    n, reach, tau = 1250, 5 * 250.0, 50 + 5 * 400.0

    def at(log_eta: float) -> float:
        eta = math.exp(log_eta)
        lam = 54 * math.log(1 + 200 / eta) + math.log(1 / 0.05)
        scale = n * tau / reach**2
        x = brentq(lambda x: scale * ((1 + x) * math.log(1 + x) - x) - lam, 1e-9, 1e6, xtol=1e-13)
        return 2 * eta + x * tau / reach

    best = minimize_scalar(at, bounds=(-5, 6), method="bounded", options={"xatol": 1e-10})
    assert infinite().epsilon == pytest.approx(best.fun, rel=1e-5)
    assert infinite(form="printed").epsilon == pytest.approx(67.3, abs=0.05)


def test_covering_number_holds_where_the_printed_one_fails() -> None:
    """Two configurations 2R apart need two balls of 1.9R centred on them; the number of balls would
    be given as fewer.
    """
    ours = bounds.log_covering_number(dimension=1, radius=1, eta=[1.9, 4.0, 0.1])
    assert ours[0] >= math.log(2)
    assert (ours >= 0).all()


# ---- order, monotonicity, units ------------------------------------------------------------------


@given(allocations, shares, shares, deltas, st.integers(1, 10**6), st.floats(1e-6, 1e6))
def test_order_and_unit(
    allocation: IntArray, within: float, across: float, delta: float, m: int, scale: float
) -> None:
    """Bennett ≤ printed would not hold, or milliseconds instead of seconds give another bound than
    a thousand times the one in seconds.
    """
    how: dict[str, Any] = {"allocation": allocation, "delta": delta, "configurations": m}
    plain = [
        finite(components=known(within=within, across=across), width=1, form=form, **how)
        for form in FORMS
    ]
    assert plain[0] <= plain[1] * (1 + 1e-9)
    larger = known(within=within * scale**2, across=across * scale**2)
    for form, epsilon in zip(FORMS, plain, strict=True):
        scaled = finite(components=larger, width=scale, form=form, **how)
        assert scaled == pytest.approx(scale * epsilon, rel=1e-9)


@settings(max_examples=30)
@given(st.floats(1e-4, 1e4))
def test_theorem_3_scales_with_costs(scale: float) -> None:
    """The corrected Theorem 3 would depend on the unit of cost."""
    larger = known(within=50 * scale**2, across=400 * scale**2)
    scaled = infinite(components=larger, width=250 * scale, lipschitz=100 * scale)
    assert scaled.epsilon == pytest.approx(scale * np.asarray(infinite().epsilon), rel=1e-6)


def test_printed_theorem_3_is_false() -> None:
    """The printed Theorem 3 would pass for valid in seconds: all cost 250 but for one run in a
    thousand, and it fails.
    """
    chance = 0.001
    how: dict[str, Any] = {
        "allocation": even(10, 10), "delta": 0.001, "dimension": 1, "lipschitz": 1.0,
        "components": known(within=0, across=250**2 * chance * (1 - chance)),
    }  # fmt: skip
    printed, ours = infinite(form="printed", **how), infinite(**how)
    # One cheap run of ten.
    error, probability = 250 * (1 - chance) - 250 * 0.9, 1 - (1 - chance) ** 10
    assert printed.epsilon == pytest.approx(24.46, abs=0.005)
    assert printed.epsilon < error < ours.epsilon
    assert probability > 9 * 0.001
    assert not printed.guaranteed
    assert "does not hold here" in printed.caveat
    assert ours.guaranteed


@given(st.integers(2, 50), shares, shares, deltas, st.sampled_from(FORMS))
def test_more_runs_never_widen(
    instances: int, within: float, across: float, delta: float, form: bounds.Form
) -> None:
    """Under even allocation a further run up to K, or a further full round, would make the bound
    wider.
    """
    components = known(within=within, across=across)
    for runs in (np.arange(1, instances + 1), instances * np.arange(1, 30)):
        allocation = even_sizes(runs, instances)
        bound = bounds.single(
            allocation=allocation, components=components, width=1, delta=delta, form=form
        )
        epsilon = np.asarray(bound.epsilon)
        assert (np.diff(epsilon) <= 1e-12 * epsilon[:-1]).all()


def test_no_variance_no_error() -> None:
    """Costs that never vary would get a bound above 0 from Bennett, or a division by zero."""
    nothing = known(within=[0, 0], across=0)
    assert single(components=nothing[0]) == 0
    assert finite(components=nothing) == 0


# ---- many at once --------------------------------------------------------------------------------


@pytest.mark.parametrize("form", FORMS)
def test_arrays_agree_with_scalars(form: bounds.Form) -> None:
    """Arrays of m, N or configurations would give other numbers than one call each, the worst case
    would not be the worst, or a bound not count discarded configurations.
    """
    ms, ns = [3, 10, 500], [3, 10, 47]
    over_m = finite(configurations=ms, form=form)
    np.testing.assert_allclose(over_m, [finite(configurations=m, form=form) for m in ms])
    assert over_m[0] == finite(form=form) < over_m[1] < over_m[2]
    over_n = finite(allocation=even_sizes(ns, 10), form=form)
    np.testing.assert_allclose(over_n, [finite(allocation=even(n, 10), form=form) for n in ns])
    counts = np.array([[1, 1, 1], [3, 0, 2], [1, 5, 0]])
    parts = known(within=[1.0, 5.0, 2.0], across=[4.0, 0.5, 2.0])
    how: dict[str, Any] = {"components": parts, "width": 20, "form": form}
    assert finite(form=form) == max(
        finite(components=parts[i], configurations=3, form=form) for i in range(3)
    )
    for allocation, rows in ((even(30, 10), [even(30, 10)] * 3), (sizes(counts), counts)):
        apart = bounds.single(allocation=allocation, delta=0.1 / 3, **how)
        each = [
            finite(allocation=row, components=parts[i], configurations=3, form=form)
            for i, row in enumerate(rows)
        ]
        np.testing.assert_allclose(apart.epsilon, each)


@pytest.mark.parametrize("form", SPACE_FORMS)
def test_spaces_take_arrays_and_the_worst(form: bounds.SpaceForm) -> None:
    """Of several allocations or components a whole space would be bounded by the first."""
    both = known(within=[0.01, 0.1], across=[0.01, 0.1])
    how: dict[str, Any] = {"width": 1, "dimension": 3, "lipschitz": 5.0, "form": form}
    many = infinite(allocation=even_sizes([30, 100, 470], 100), components=both, **how)
    for n, epsilon in zip((30, 100, 470), np.asarray(many.epsilon), strict=True):
        one = infinite(allocation=even(n, 100), components=both[1], **how)
        assert epsilon == pytest.approx(one.epsilon, rel=1e-6)


# ---- what may be said ----------------------------------------------------------------------------


def test_estimated_components_are_marked() -> None:
    """A bound on estimated variances would pass for a guaranteed one."""
    for components, guaranteed in (
        (known(within=0.1, across=0.1), True),
        (estimated(within=0.1, across=0.1, total=0.2), False),
    ):
        how: dict[str, Any] = {"components": components, "width": 1, "delta": 0.1}
        for bound in (
            bounds.single(allocation=[3] * 20, **how),
            bounds.finite(allocation=[3] * 20, configurations=4, **how),
            infinite(**how),
        ):
            assert bound.guaranteed == guaranteed
            assert ("plug-in, not guaranteed" in bound.caveat) != guaranteed


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, ""),
        ({"width": 1.5}, "costs of width 1.5"),
        ({"allocation": even(1, 1)}, "below 1"),
        ({"allocation": even_sizes([1, 4000], 2000)}, "below 1"),
        ({"lipschitz": 0.1}, "h·ln"),
    ],
)
def test_printed_theorem_3_says_when_it_does_not_hold(changes: dict[str, Any], words: str) -> None:
    """Outside the conditions under which it holds the printed Theorem 3 would pass for guaranteed,
    or inside them not.
    """
    scaled: dict[str, Any] = {
        "allocation": even(4000, 2000), "components": known(within=0.01, across=0.01), "width": 1,
        "dimension": 2, "lipschitz": 1.0, "form": "printed",
    }  # fmt: skip
    bound = infinite(**scaled | changes)
    assert bound.guaranteed == (not words)
    assert words in bound.caveat
    components = estimated(within=0.01, across=0.01, total=0.02)
    plug_in = infinite(**scaled | changes | {"components": components})
    assert words in plug_in.caveat
    assert "plug-in" in plug_in.caveat


def test_unidentified_components_are_refused() -> None:
    """A bound would be taken from single runs for an allocation in which within and across matter
    separately.
    """
    single_runs = estimated(within=math.nan, across=math.nan, total=0.1)
    with pytest.raises(InputError, match="cannot be separated"):
        single(allocation=even(60, 20), components=single_runs)
    assert math.isfinite(single(allocation=even(20, 20), components=single_runs))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: single(delta=0.0), "delta is 0"),
        (lambda: single(delta=math.nan), "delta is nan"),
        (lambda: single(width=0.0), "width 0"),
        (lambda: single(width=math.inf), "width inf"),
        (lambda: single(form="hoeffding"), "one of bennett, printed"),
        (lambda: finite(components=known(within=1, across=1)), r"Give configurations \(m\)"),
        (lambda: finite(configurations=0), "at least 1"),
        (lambda: finite(configurations=1.5), "whole number"),
        (lambda: infinite(dimension=0), "dimension is 0"),
        (lambda: infinite(radius=0.0), "radius is 0"),
        (lambda: infinite(form="solved"), "one of cover, printed"),
        (lambda: bounds.log_covering_number(dimension=1, radius=1, eta=-1), "cover radius is -1"),
    ],
)
def test_bad_input(call: Callable[[], object], words: str) -> None:
    """Numbers that make no sense would be taken, or refused without saying what is wrong."""
    with pytest.raises(InputError, match=words):
        call()
