import math

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from truecost.show import numbers

finite = st.floats(allow_nan=False, allow_infinity=False, min_value=-1e12, max_value=1e12)


def read(text: str) -> float:
    """The number that a text stands for."""
    return float(text.replace("−", "-").replace("+", "").replace(",", ""))


@given(finite)
def test_limits_are_on_the_safe_side(value: float) -> None:
    """A printed limit would promise more than the limit that was computed."""
    assert read(numbers.at_least(value)) <= value <= read(numbers.at_most(value))


@given(finite)
def test_three_digits_are_close(value: float) -> None:
    """A printed number would be off by more than half of its third digit, mix hyphens and minus
    signs, or a difference have no sign, or two.
    """
    text = numbers.number(value)
    assert math.isclose(read(text), value, rel_tol=0.00501, abs_tol=1e-300)
    assert "-" not in text
    signs = numbers.signed(text)
    assert signs.count("+") + signs.count("−") - signs.count("e−") == int(value != 0)


@given(finite, finite)
@example(33_001_640.0, 33_001_806.0)
def test_different_costs_look_different(one: float, other: float) -> None:
    """Two tour lengths of 33,001,640 and 33,001,806 would both be printed as 33,000,000."""
    largest, difference = max(abs(one), abs(other)), abs(one - other)
    if difference > 1e-12 * largest and difference > 1e-300:
        first, second = numbers.distinct_numbers((one, other))
        assert first != second
        assert math.isclose(read(first) - read(second), one - other, rel_tol=0.15)


def test_a_small_change_is_not_0() -> None:
    """A difference of 166 in 33,000,000 would be "−0 %"."""
    assert numbers.relative(-5.03e-6) == "−0.0005 %"
    assert numbers.relative(0) == "0 %"


@given(st.floats(0, 1))
def test_shares_are_on_the_safe_side(share: float) -> None:
    """A printed share of runs won would promise more than was proven."""
    low, high = numbers.share_at_least(share), numbers.share_at_most(share)
    assert float(low.removesuffix(" %")) <= 100 * share + 1e-9
    assert float(high.removesuffix(" %")) >= 100 * share - 1e-9


@pytest.mark.parametrize("share", [0.07, 0.29, 0.57, 0.58, 0.95])
def test_whole_percents_stay(share: float) -> None:
    """A share of exactly 29 % would be printed as 28 % or 30 %, since 100 × 0.29 is not 29."""
    assert numbers.share_at_least(share) == numbers.share_at_most(share) == numbers.percent(share)


@pytest.mark.parametrize("write", [numbers.number, numbers.at_least, numbers.at_most])
@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan])
def test_unknown_numbers_are_a_dash(write: object, value: float) -> None:
    """A limit that does not exist would be printed as inf or nan."""
    assert write(value) == "–"  # type: ignore[operator]


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0996, "0.0996"), (0.09996, "0.100"), (1234.5, "1,230"), (0, "0"), (5e-7, "5.00e−7")],
)
def test_digits(value: float, text: str) -> None:
    """Rounding up to the next power of ten would add a digit; thousands would lose their comma."""
    assert numbers.number(value) == text


@pytest.mark.parametrize(("delta", "text"), [(0.05, "95 %"), (0.025, "97.5 %"), (0.1, "90 %")])
def test_confidence(delta: float, text: str) -> None:
    """1 − 0.1 would be printed with fifteen digits."""
    assert numbers.confidence(delta) == text


@given(st.text())
def test_names_cannot_act_on_a_terminal(name: str) -> None:
    """An instance's name could clear the screen or recolour the verdict."""
    assert numbers.visible(name).isprintable() or not name


@given(st.text(min_size=1, max_size=200), st.integers(5, 60))
def test_long_names_are_cut(name: str, room: int) -> None:
    """A long path would push numbers off the screen."""
    assert len(numbers.short(name, room)) <= room


@pytest.mark.parametrize("name", ["feedback", "default", "1700000001"])
def test_hashes_are_shortened(name: str) -> None:
    """A configuration called by a hash would fill the line; a word or a number would be cut, so that
    1700000001 and 1700000002 look the same.
    """
    assert numbers.label("2cb96f70a0") == "2cb96f70a0"
    assert numbers.label("2cb96f70a0" * 4) == "2cb96f70a0"
    assert numbers.label(name) == name


def test_long_names_stay_apart() -> None:
    """Rows of a figure would have the same label where names share a long ending."""
    names = [f"{name}-sc2020-default" for name in ("kissat", "cadical", "lingeling")]
    assert numbers.short_names(names, 12) == ["kissat", "cadical", "lingeling"]
