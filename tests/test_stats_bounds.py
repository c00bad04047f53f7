import math
from functools import partial
from itertools import pairwise
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq, minimize_scalar
from test_stats_variance import matrix_of

from truecost.errors import InputError
from truecost.stats import bounds
from truecost.stats.allocation import Allocation, AllocationSizes, concentrated, even, even_sizes
from truecost.stats.variance import VarianceComponents, variance_components

FORMS: list[bounds.Form] = list(get_args(bounds.Form))
SPACE_FORMS: list[bounds.SpaceForm] = list(get_args(bounds.SpaceForm))
known = VarianceComponents.known

allocations = st.one_of(
    st.builds(even, st.integers(1, 300), st.integers(1, 60)),
    st.builds(concentrated, st.integers(1, 300), st.integers(1, 10)),
    st.lists(st.integers(0, 9), min_size=1, max_size=30).filter(any).map(Allocation.of),
)
shares = st.one_of(st.just(0.0), st.floats(1e-300, 0.25))
deltas = st.floats(1e-9, 0.99)


def value(bound: bounds.Bound) -> float:
    """The ε of a bound that is a single number."""
    assert isinstance(bound.epsilon, float)
    return bound.epsilon


# ---- against computations that share nothing with ours -------------------------------------------


def chernoff(log_mgf: Any, top: float, t: float) -> float:
    """The exponent of Chernoff's bound, sup over λ in (0, top) of λt − log_mgf(λ), by numerical
    search.
    """
    found = minimize_scalar(
        lambda lam: log_mgf(lam) - lam * t,
        bounds=(0, top),
        method="bounded",
        options={"xatol": 1e-13},
    )
    return float(-found.fun)


@pytest.mark.parametrize("counts", [[1] * 40, [5] * 8, [7, 1, 1, 3], [2, 2, 1]])
@pytest.mark.parametrize("delta", [0.5, 0.05, 1e-6])
def test_forms_against_chernoff(counts: list[int], delta: float) -> None:
    """The closed forms would not be what optimising the moment generating function numerically
    gives.
    """
    within, across, width = 3.0, 5.0, 10.0
    allocation = Allocation.of(counts)
    n, biggest = allocation.runs, allocation.largest
    variance, reach = sum(c * within + c * c * across for c in counts), biggest * width

    def bennett(lam: float) -> float:
        return variance / reach**2 * (math.exp(lam * reach) - 1 - lam * reach)

    target = math.log(1 / delta)
    expected = {
        "bennett": brentq(
            lambda e: chernoff(bennett, 30 / reach, n * e) - target, 1e-6, 1e3, xtol=1e-12
        ),
        "printed": 2 * reach * target / (3 * n)
        + math.sqrt(2 * target * (within / n + sum(c * c for c in counts) / n**2 * across)),
    }
    for form in FORMS:
        ours = bounds.single(
            allocation=allocation,
            components=known(within=within, across=across),
            width=width,
            delta=delta,
            form=form,
        )
        assert value(ours) == pytest.approx(expected[form], rel=1e-6)


def test_corollary_1_as_printed() -> None:
    """Corollary 1 would not be 2C·ln(m/δ)/(3K) + √(2·ln(m/δ)·(within/N + across/K))."""
    ours = bounds.corollary(
        runs=1250,
        instances=250,
        components=known(within=50, across=400),
        width=250,
        delta=0.05,
        configurations=500,
        form="printed",
    )
    log = math.log(500 / 0.05)
    assert value(ours) == pytest.approx(
        2 * 250 * log / 750 + math.sqrt(2 * log * (50 / 1250 + 400 / 250))
    )
    with pytest.raises(InputError, match="7 runs are no multiple of 3"):
        bounds.corollary(
            runs=7, instances=3, components=known(within=1, across=1), width=1, delta=0.1
        )


def paper_space(form: bounds.SpaceForm, scale: float = 1.0, **changes: Any) -> float:
    """Theorem 3 at the reference values, with costs in another unit."""
    given_ = {"delta": 0.05, "dimension": 54, "radius": 1.0, "lipschitz": 100.0 * scale} | changes
    return value(
        bounds.infinite(
            allocation=even(1250, 250),
            components=known(within=50 * scale**2, across=400 * scale**2),
            width=250 * scale,
            form=form,
            **given_,
        )
    )


def test_theorem_3_against_numerical_search() -> None:
    """The covering form of Theorem 3 would not be the minimum that it claims to be, or the printed
    one not the reference value.
    """
    n, biggest, width, tau = 1250, 5, 250.0, 50 + 5 * 400.0
    target = math.log(1 / 0.05)

    assert paper_space("printed") == pytest.approx(67.3, abs=0.05)

    def at(log_eta: float) -> float:
        eta = math.exp(log_eta)
        lam = 54 * math.log(1 + 200 / eta) + target
        ratio = (biggest * width) ** 2 / (n * tau)
        x = brentq(lambda x: ((1 + x) * math.log(1 + x) - x) / ratio - lam, 1e-9, 1e6, xtol=1e-13)
        return 2 * eta + x * tau / (biggest * width)

    best = minimize_scalar(at, bounds=(-5, 6), method="bounded", options={"xatol": 1e-10})
    assert paper_space("cover") == pytest.approx(best.fun, rel=1e-5)


def test_covering_number_holds_where_the_printed_one_fails() -> None:
    """Two configurations 2R apart need two balls of 1.9R centred on them; the number of balls would
    be given as fewer.
    """
    ours = bounds.log_covering_number(dimension=1, radius=1, eta=[1.9, 4.0, 0.1])
    assert ours[0] >= math.log(2)
    assert (ours >= 0).all()


# ---- order, monotonicity, units ------------------------------------------------------------------


@given(allocations, shares, shares, deltas, st.integers(1, 10**6))
def test_forms_are_ordered(
    allocation: Allocation, within: float, across: float, delta: float, m: int
) -> None:
    """Bennett ≤ printed would not hold."""
    each = [
        value(
            bounds.finite(
                allocation=allocation,
                components=known(within=within, across=across),
                width=1,
                delta=delta,
                configurations=m,
                form=form,
            )
        )
        for form in FORMS
    ]
    assert FORMS == ["bennett", "printed"]
    for tighter, looser in pairwise(each):
        assert tighter <= looser * (1 + 1e-9)


@given(allocations, shares, shares, deltas, st.sampled_from(FORMS), st.floats(1e-6, 1e6))
def test_theorem_2_scales_with_costs(
    allocation: Allocation,
    within: float,
    across: float,
    delta: float,
    form: bounds.Form,
    scale: float,
) -> None:
    """Milliseconds instead of seconds would give another bound than a thousand times the one in
    seconds.
    """
    plain, scaled = (
        value(
            bounds.finite(
                allocation=allocation,
                components=known(within=within * s**2, across=across * s**2),
                width=s,
                delta=delta,
                configurations=7,
                form=form,
            )
        )
        for s in (1.0, scale)
    )
    assert scaled == pytest.approx(scale * plain, rel=1e-9)


@settings(max_examples=30)
@given(st.floats(1e-4, 1e4))
def test_theorem_3_scales_with_costs(scale: float) -> None:
    """The corrected Theorem 3 would depend on the unit of cost."""
    assert paper_space("cover", scale) == pytest.approx(scale * paper_space("cover"), rel=1e-6)


def test_printed_theorem_3_depends_on_the_unit() -> None:
    """The printed Theorem 3 would look invariant, although seconds and milliseconds give it
    different meanings.
    """
    assert abs(paper_space("printed", 1e-3) / (1e-3 * paper_space("printed")) - 1) > 0.5


def test_printed_theorem_3_is_false() -> None:
    """The printed Theorem 3 would pass for valid in seconds: all cost 250 but for one run in a
    thousand, and it fails.
    """
    chance = 0.001
    components = known(within=0, across=250**2 * chance * (1 - chance))
    given_: dict[str, Any] = {
        "allocation": even(10, 10),
        "components": components,
        "width": 250,
        "delta": 0.001,
        "dimension": 1,
        "radius": 1.0,
        "lipschitz": 1.0,
    }
    printed = bounds.infinite(form="printed", **given_)
    true_cost, one_cheap_run = 250 * (1 - chance), 250 * 0.9
    error, probability = true_cost - one_cheap_run, 1 - (1 - chance) ** 10
    assert value(printed) == pytest.approx(24.46, abs=0.005)
    assert error > value(printed)
    assert probability > 9 * printed.delta
    assert not printed.guaranteed
    assert "does not hold here" in printed.caveat
    ours = bounds.infinite(**given_)
    assert ours.guaranteed
    assert value(ours) > error


@given(st.integers(2, 50), shares, shares, deltas, st.sampled_from(FORMS))
def test_more_runs_never_widen(
    instances: int, within: float, across: float, delta: float, form: bounds.Form
) -> None:
    """Under even allocation a further run up to K, or a further full round, would make the bound
    wider.
    """
    bound = partial(
        bounds.single,
        components=known(within=within, across=across),
        width=1,
        delta=delta,
        form=form,
    )
    for runs in (np.arange(1, instances + 1), instances * np.arange(1, 30)):
        epsilon = np.asarray(bound(allocation=even_sizes(runs, instances)).epsilon)
        assert (np.diff(epsilon) <= 1e-12 * epsilon[:-1]).all()


def test_one_run_past_a_round_widens() -> None:
    """The jump at N = K + 1, where the largest count doubles, would be smoothed away."""
    bound = partial(bounds.single, components=known(within=0.1, across=0.1), width=1, delta=0.05)
    for form in FORMS:
        at_k, one_more = (value(bound(allocation=even(n, 20), form=form)) for n in (20, 21))
        assert one_more > 1.05 * at_k


def test_no_variance_no_error() -> None:
    """Costs that never vary would get a bound above 0 from Bennett, or a division by zero."""
    for epsilon in (
        bounds.single(
            allocation=even(7, 3), components=known(within=0, across=0), width=1, delta=0.01
        ).epsilon,
        bounds.finite(
            allocation=even(7, 3),
            components=known(within=[0, 0], across=0),
            width=1,
            delta=0.01,
            tau="per-configuration",
        ).epsilon,
    ):
        assert np.all(np.asarray(epsilon) == 0)


def test_vectorised_agrees_with_scalars() -> None:
    """Arrays of m, N or configurations would give other numbers than one call each."""
    components = known(within=[1.0, 5.0, 2.0], across=[4.0, 0.5, 2.0])
    common: dict[str, Any] = {"width": 20, "delta": 0.1}
    for form in FORMS:
        over_m = bounds.finite(
            allocation=even(30, 10),
            components=components,
            configurations=[1, 10, 500],
            form=form,
            **common,
        )
        each = [
            value(
                bounds.finite(
                    allocation=even(30, 10),
                    components=components,
                    configurations=m,
                    form=form,
                    **common,
                )
            )
            for m in (1, 10, 500)
        ]
        np.testing.assert_allclose(over_m.epsilon, each)
        over_n = bounds.finite(
            allocation=even_sizes([3, 10, 47], 10), components=components, form=form, **common
        )
        each = [
            value(bounds.finite(allocation=even(n, 10), components=components, form=form, **common))
            for n in (3, 10, 47)
        ]
        np.testing.assert_allclose(over_n.epsilon, each)
        own = bounds.finite(
            allocation=even(30, 10),
            components=components,
            form=form,
            tau="per-configuration",
            **common,
        )
        each = [
            value(
                bounds.finite(
                    allocation=even(30, 10),
                    components=components[i],
                    configurations=3,
                    form=form,
                    **common,
                )
            )
            for i in range(3)
        ]
        np.testing.assert_allclose(own.epsilon, each)
    for space_form in SPACE_FORMS:
        space = partial(
            bounds.infinite,
            components=components,
            dimension=3,
            radius=1,
            lipschitz=5,
            form=space_form,
            **common,
        )
        each = [value(space(allocation=even(n, 10))) for n in (3, 10, 47)]
        np.testing.assert_allclose(
            space(allocation=even_sizes([3, 10, 47], 10)).epsilon, each, rtol=1e-6
        )


def test_worst_case_is_the_worst() -> None:
    """The worst-case bound would lie below some configuration's own."""
    components = known(within=[1.0, 50.0], across=[40.0, 0.5])
    for allocation in (even(5, 10), even(100, 10)):
        common: dict[str, Any] = {
            "allocation": allocation,
            "components": components,
            "width": 20,
            "delta": 0.1,
        }
        own = np.asarray(bounds.finite(tau="per-configuration", **common).epsilon)
        assert value(bounds.finite(**common)) == pytest.approx(own.max())


def test_theorem_3_takes_the_worst() -> None:
    """With several components given, a whole space would be bounded by the first."""
    both = known(within=[0.01, 0.1], across=[0.01, 0.1])
    for form in SPACE_FORMS:
        space = partial(
            bounds.infinite,
            allocation=even(60, 20),
            width=1,
            delta=0.1,
            dimension=2,
            radius=1,
            lipschitz=1,
            form=form,
        )
        assert value(space(components=both)) == pytest.approx(value(space(components=both[1])))


def test_negative_estimates_count_as_nothing() -> None:
    """An estimate of `across` below 0 would take away from `within`, and the bound come out too
    small.
    """
    odd = VarianceComponents(
        within=np.array([4.0]),
        across=np.array([-1.0]),
        total=np.array([3.0]),
        estimated=True,
    )
    for allocation in (even(30, 10), even(10, 10)):
        ours = bounds.single(allocation=allocation, components=odd, width=20, delta=0.1)
        assert value(ours) == pytest.approx(
            value(
                bounds.single(
                    allocation=allocation, components=known(within=4, across=0), width=20, delta=0.1
                )
            )
        )
        assert not ours.guaranteed
        assert not bounds.single(
            allocation=allocation, components=odd[0], width=20, delta=0.1
        ).guaranteed


def test_each_configuration_may_have_its_own_counts() -> None:
    """Configurations with different numbers of runs would not each get the bound of their own
    allocation.
    """
    counts = np.array([[1, 1, 1], [3, 0, 2]])
    components = known(within=[1.0, 2.0], across=[3.0, 4.0])
    both = bounds.finite(
        allocation=AllocationSizes.of(counts),
        components=components,
        width=9,
        delta=0.1,
        tau="per-configuration",
    )
    for i in range(2):
        one = bounds.finite(
            allocation=Allocation.of(counts[i]),
            components=components[i],
            width=9,
            delta=0.1,
            configurations=2,
        )
        assert np.asarray(both.epsilon)[i] == pytest.approx(value(one))


# ---- what may be said ----------------------------------------------------------------------------


def test_estimated_components_are_marked() -> None:
    """A bound on estimated variances would pass for a guaranteed one."""
    estimated = variance_components(matrix_of(np.random.default_rng(1).random((4, 20, 3))))
    for bound in (
        bounds.single(allocation=even(60, 20), components=estimated, width=1, delta=0.1),
        bounds.finite(allocation=even(60, 20), components=estimated, width=1, delta=0.1),
        bounds.infinite(
            allocation=even(60, 20),
            components=estimated,
            width=1,
            delta=0.1,
            dimension=2,
            radius=1,
            lipschitz=1,
        ),
    ):
        assert not bound.guaranteed
        assert "plug-in, not guaranteed" in bound.caveat
    truth = bounds.single(
        allocation=even(60, 20), components=known(within=0.1, across=0.1), width=1, delta=0.1
    )
    assert truth.guaranteed
    assert not truth.caveat


SCALED: dict[str, Any] = {
    "width": 1,
    "delta": 0.1,
    "dimension": 2,
    "radius": 1.0,
    "lipschitz": 1.0,
    "form": "printed",
}


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
    settings_: dict[str, Any] = {
        "allocation": even(4000, 2000),
        "components": known(within=0.01, across=0.01),
    }
    settings_ |= SCALED | changes
    bound = bounds.infinite(**settings_)
    assert bound.guaranteed == (not words)
    assert words in bound.caveat
    estimated = variance_components(matrix_of(np.random.default_rng(1).random((4, 20, 3))))
    plug_in = bounds.infinite(**settings_ | {"components": estimated})
    assert words in plug_in.caveat
    assert "plug-in" in plug_in.caveat


def test_unidentified_components_are_refused() -> None:
    """A bound would be taken from single runs for an allocation in which within and across matter
    separately.
    """
    single_runs = variance_components(matrix_of(np.random.default_rng(1).random((4, 20, 1))))
    costs = np.random.default_rng(1).random((2, 20, 2))
    costs[1, :, 1] = np.nan
    for unknown in (single_runs, variance_components(matrix_of(costs))):
        with pytest.raises(InputError, match="cannot be separated"):
            bounds.single(allocation=even(60, 20), components=unknown, width=1, delta=0.1)
    assert np.isfinite(
        bounds.single(allocation=even(20, 20), components=single_runs, width=1, delta=0.1).epsilon
    ).all()


GOOD: dict[str, Any] = {
    "allocation": even(6, 3),
    "components": known(within=1, across=1),
    "width": 1.0,
    "delta": 0.1,
}
SPACE: dict[str, Any] = {"dimension": 2, "radius": 1.0, "lipschitz": 1.0}
MANY: dict[str, Any] = GOOD | {"components": known(within=[1, 1], across=1)}


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: bounds.single(**GOOD | {"delta": 0.0}), "delta is 0"),
        (lambda: bounds.single(**GOOD | {"delta": float("nan")}), "delta is nan"),
        (lambda: bounds.single(**GOOD | {"width": 0.0}), "width 0"),
        (lambda: bounds.single(**GOOD | {"width": float("inf")}), "width inf"),
        (lambda: bounds.single(**GOOD | {"form": "hoeffding"}), "one of bennett, printed"),
        (lambda: bounds.finite(**GOOD), r"Give configurations \(m\)"),
        (lambda: bounds.finite(**GOOD, configurations=0), "at least 1"),
        (lambda: bounds.finite(**GOOD, configurations=1.5), "whole number"),
        (lambda: bounds.finite(**MANY, configurations=1, tau="per-configuration"), "at least 2"),
        (lambda: bounds.finite(**MANY | {"tau": "mean"}), "worst-case"),
        (lambda: bounds.infinite(**GOOD, **SPACE | {"dimension": 0}), "dimension is 0"),
        (lambda: bounds.infinite(**GOOD, **SPACE | {"radius": 0.0}), "radius is 0"),
        (lambda: bounds.infinite(**GOOD, **SPACE | {"form": "solved"}), "one of cover, printed"),
        (lambda: bounds.log_covering_number(dimension=1, radius=1, eta=-1), "cover radius is -1"),
    ],
)
def test_bad_input(call: Any, words: str) -> None:
    """Numbers that make no sense would be taken, or refused without saying what is wrong."""
    with pytest.raises(InputError, match=words):
        call()


def test_the_discarded_count() -> None:
    """A bound on the best of many would be that of the configurations that were kept."""
    two, many = (value(bounds.finite(**MANY, configurations=m)) for m in (2, 200))
    assert value(bounds.finite(**MANY)) == two < many
