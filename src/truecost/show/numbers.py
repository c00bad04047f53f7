"""Numbers as people read them: the one way to write them, in a terminal, on a page and in a figure."""

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Context


def number(value: float, digits: int = 3) -> str:
    """So many significant digits, thousands separated, a proper minus; a dash for what is not a
    number.
    """
    if not math.isfinite(value):
        return "–"
    if value == 0:
        return "0"
    # Of the rounded number: 0.0996 with two digits is 0.10.
    mantissa, _, size = f"{value:.{digits - 1}e}".partition("e")
    if int(size) >= digits and not float(value).is_integer():  # counts keep all their digits
        value = float(f"{mantissa}e{size}")
    shown = (
        f"{value:,.{max(0, digits - 1 - int(size))}f}"
        if -4 < int(size) < 7
        else f"{mantissa}e{int(size)}"
    )
    return shown.replace("-", "−")


def at_most(value: float, digits: int = 3) -> str:
    """An upper limit, rounded up: what is written is never less than what was shown."""
    return number(_rounded(value, digits, ROUND_CEILING), digits)


def at_least(value: float, digits: int = 3) -> str:
    """A lower limit, rounded down."""
    return number(_rounded(value, digits, ROUND_FLOOR), digits)


def _rounded(value: float, digits: int, how: str) -> float:
    return (
        float(Context(prec=digits, rounding=how).create_decimal_from_float(value))
        if math.isfinite(value)
        else value
    )


def signed(value: float, digits: int = 3) -> str:
    """The same with its sign."""
    return (
        f"+{number(value, digits)}" if math.isfinite(value) and value > 0 else number(value, digits)
    )


def given(value: float) -> str:
    """A number that somebody chose, a limit or a level: all its digits and none besides."""
    return (
        f"{value:,.10g}".replace("e+0", "e").replace("e+", "e").replace("-", "−")
        if math.isfinite(value)
        else "–"
    )


def between(low: float, high: float, digits: int = 3) -> str:
    """A range, with as many digits more as it takes to tell its ends apart."""
    while (
        low != high
        and number(low, digits) == number(high, digits)
        and math.isfinite(low)
        and digits < 15
    ):
        digits += 1
    return f"{number(low, digits)} to {number(high, digits)}"


def ends(low: float, high: float, digits: int = 3) -> str:
    """A number, or where all that is known of it is two ends, these."""
    return between(low, high, digits) if low < high else number(high, digits)


def percent(share: float, digits: int = 0) -> str:
    """A share in per cent."""
    return f"{100 * share:,.{digits}f} %".replace("-", "−") if math.isfinite(share) else "–"


def share_at_least(share: float) -> str:
    """A lower limit of a share in whole per cent, rounded down."""
    return percent(math.floor(100 * share) / 100)


def share_at_most(share: float) -> str:
    """An upper limit of a share, rounded up."""
    return percent(math.ceil(100 * share) / 100)


def confidence(delta: float) -> str:
    """The probability with which a statement holds that is wrong with probability delta: 0.05 is 95
    %.
    """
    return f"{given(100 * (1 - delta))} %"


def counted(number: int, what: str) -> str:
    """So many of a thing, one of it without its s."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def amount(value: float, unit: str) -> str:
    """A number with its unit, where it has one."""
    return f"{number(value)} {unit}".rstrip()


def duration(seconds: float) -> str:
    """A time as people say it."""
    if not math.isfinite(seconds):
        return "–"
    for unit, length in (("h", 3600), ("min", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:,.1f} {unit}"
    return f"{seconds:,.3g} s"
