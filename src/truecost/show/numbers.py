"""Numbers as people read them."""

import math


def number(value: float, digits: int = 4) -> str:
    """A number with so many significant digits; a dash for what is not one."""
    if not math.isfinite(value):
        return "–"
    if value == 0:
        return "0"
    # Of the rounded number: 0.0996 with two digits is 0.10.
    size = int(f"{value:.{digits - 1}e}".partition("e")[2])
    return f"{value:,.{max(0, digits - 1 - size)}f}" if -4 < size < 7 else f"{value:.{digits - 1}e}"


def counted(number: int, what: str) -> str:
    """So many of a thing, one of it without its s."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"
