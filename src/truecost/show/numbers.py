"""The one way to write numbers: in a terminal, on a page and in a figure."""

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Context

# Where importers find it, too: their notes count things.
from truecost.errors import counted as counted
from truecost.errors import plural as plural


def number(value: float, digits: int = 3) -> str:
    """Write significant digits, a thousands separator and a proper minus; a dash if not finite."""
    if not math.isfinite(value):
        return "–"
    if value == 0:
        return "0"
    # Digits are those of the rounded number: 0.0996 with two digits is 0.10.
    mantissa, _, exponent = f"{value:.{digits - 1}e}".partition("e")
    size = int(exponent)
    if size >= digits and not isinstance(value, int):  # counts keep all their digits
        value = float(f"{mantissa}e{size}")
    plain = -4 < size < 10
    text = f"{value:,.{max(0, digits - 1 - size)}f}" if plain else f"{mantissa}e{size}"
    return text.replace("-", "−")


def at_most(value: float, digits: int = 3) -> str:
    """Write an upper limit, rounded up: never below the limit itself."""
    return number(_rounded(value, digits, ROUND_CEILING), digits)


def at_least(value: float, digits: int = 3) -> str:
    """Write a lower limit, rounded down."""
    return number(_rounded(value, digits, ROUND_FLOOR), digits)


def _rounded(value: float, digits: int, rounding: str) -> float:
    if not math.isfinite(value):
        return value
    return float(Context(prec=digits, rounding=rounding).create_decimal_from_float(value))


def signed(value: float, digits: int = 3) -> str:
    """Write a number with its sign."""
    sign = "+" if math.isfinite(value) and value > 0 else ""
    return f"{sign}{number(value, digits)}"


def limits(low: float, high: float) -> str:
    """Write a confidence interval of a difference, rounded outwards, with signs."""
    upper = at_most(high)
    return f"{at_least(low)} to {'+' if high > 0 else ''}{upper}"


def chance(probability: float) -> str:
    """Write a probability as part of a sentence: an 80 % chance, a > 99 % chance."""
    share = "> 99 %" if probability > 0.99 else percent(probability)
    return f"{'an' if share.startswith(('8', '11 ', '18 ')) else 'a'} {share} chance"


def given(value: float) -> str:
    """Write a number that somebody chose, a cutoff or a level: all its digits and no others."""
    if not math.isfinite(value):
        return "–"
    return f"{value:,.10g}".replace("e+0", "e").replace("e+", "e").replace("-", "−")


def between(low: float, high: float, digits: int = 3) -> str:
    """Write a range, with as many more digits as its ends need to differ."""
    while low != high and number(low, digits) == number(high, digits) != "–" and digits < 15:
        digits += 1
    return f"{number(low, digits)} to {number(high, digits)}"


def ends(low: float, high: float, digits: int = 3) -> str:
    """Write a number, or the range it lies in."""
    return between(low, high, digits) if low < high else number(high, digits)


def percent(share: float, digits: int = 0) -> str:
    """Write a share in per cent."""
    return f"{100 * share:,.{digits}f} %".replace("-", "−") if math.isfinite(share) else "–"


def about_percent(share: float) -> str:
    """Write an estimated share above 0, which "about 0 %" would call none at all."""
    return "less than 1 %" if 0 < share < 0.005 else f"about {percent(share)}"


def share_at_least(share: float) -> str:
    """Write a lower limit of a share in whole per cent, rounded down."""
    return percent(math.floor(100 * share) / 100)


def share_at_most(share: float) -> str:
    """Write an upper limit of a share, rounded up."""
    return percent(math.ceil(100 * share) / 100)


def percents(low: float, high: float) -> str:
    """Write a range of shares; one number if both ends are written alike."""
    first, second = percent(low), percent(high)
    return first if first == second else f"{first} to {second}"


def confidence(delta: float) -> str:
    """Write the confidence level of a statement with error probability delta: 0.05 is 95 %."""
    level = given(100 * (1 - delta))
    return f"{'over 99.9999999' if level == '100' else level} %"


def duration(seconds: float) -> str:
    """Write a duration in the unit that suits it."""
    if not math.isfinite(seconds):
        return "–"
    for unit, length in (("h", 3600), ("min", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:,.1f} {unit}"
    return f"{seconds:,.3g} s"
