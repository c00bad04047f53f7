"""The one way to write numbers for people: three significant digits, limits on the safe side."""

import math
import re
from collections.abc import Iterable, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Context
from os.path import commonprefix

# The space between a number and its unit, at which no line ends.
HELD = "\u00a0"
_UNIT = re.compile(r"(?<=[\d∞]) (?=(?:s|cutoffs)\b|%)|(?<=ties) (?=½)")


def number(value: float, digits: int = 3) -> str:
    """Write significant digits, a thousands separator and a proper minus; a dash if not finite."""
    if not math.isfinite(value):
        return "–"
    if value == 0:
        return "0"
    # Digits are those of the rounded number: 0.0996 with two digits is 0.10.
    mantissa, _, exponent = f"{value:.{digits - 1}e}".partition("e")
    size = int(exponent)
    if size >= digits:
        value = float(f"{mantissa}e{size}")
    plain = -5 < size < 10
    text = f"{value:,.{max(0, digits - 1 - size)}f}" if plain else f"{mantissa}e{size}"
    return text.replace("-", "−")


def digits_for(values: Iterable[float]) -> int:
    """Return how many digits tell the most different of these numbers apart, at least three:
    33,001,640 and 33,001,810 instead of 33,000,000 twice.
    """
    finite = [value for value in values if math.isfinite(value)]
    spread = max(finite, default=0) - min(finite, default=0)
    if not 0 < spread < math.inf:
        return 3
    largest = max(map(abs, finite))
    digits = 2 + math.floor(math.log10(largest)) - math.floor(math.log10(spread))
    return max(3, min(digits, 15))


def distinct_numbers(values: Sequence[float]) -> list[str]:
    """Write numbers with as many digits as tell them apart."""
    digits = digits_for(values)
    return [number(value, digits) for value in values]


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


def signed(text: str) -> str:
    """Put a plus before a number that was written without a sign."""
    return text if text[:1] in ("−", "–", "0") and text[:2] != "0." else f"+{text}"


def exact(value: float) -> str:
    """Write a number that somebody chose, a cutoff or a level: all its digits and no others."""
    if math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    return re.sub(r"e([+-])0*", r"e\1", f"{value:,.10g}").replace("e+", "e").replace("-", "−")


def percent(share: float, digits: int = 0) -> str:
    """Write a share in per cent."""
    return f"{100 * share:,.{digits}f} %".replace("-", "−") if math.isfinite(share) else "–"


def relative(change: float) -> str:
    """Write a change or a margin in per cent: 12 %, 5 %, 2.5 %, 0.0005 %."""
    if 0 < abs(change) < 0.001:
        return f"{exact(float(f'{100 * change:.1g}'))} %"
    whole = abs(change) >= 0.1 or round(1000 * change) % 10 == 0
    return percent(change, 0 if whole else 1)


def share_at_least(share: float) -> str:
    """Write a lower limit of a share in whole per cent, rounded down."""
    return percent(math.floor(round(100 * share, 9)) / 100)


def share_at_most(share: float) -> str:
    """Write an upper limit of a share, rounded up."""
    return percent(math.ceil(round(100 * share, 9)) / 100)


def confidence(delta: float) -> str:
    """Write the confidence level of a statement with error probability delta: 0.05 is 95 %."""
    level = exact(100 * (1 - delta))
    return f"{'over 99.9999999' if level == '100' else level} %"


def duration(seconds: float) -> str:
    """Write a duration in the unit that suits it."""
    if not math.isfinite(seconds):
        return "–"
    for unit, length in (("h", 3600), ("min", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:,.1f} {unit}"
    return f"{seconds:,.3g} s"


def unbroken(text: str) -> str:
    """Keep numbers on one line with their units."""
    return _UNIT.sub(HELD, text)


def visible(text: str) -> str:
    """Escape control characters, so that names from files cannot act on a terminal or a page."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def short(name: str, room: int = 40) -> str:
    """Cut the middle out of a long name; control characters are escaped."""
    name = visible(name)
    if len(name) <= room:
        return name
    last = (room - 1) // 2
    return f"{name[: room - 1 - last]}…{name[-last:]}"


def short_names(names: Sequence[str], room: int) -> list[str]:
    """Cut long names, first the ending that all of them share."""
    if max(map(len, names), default=0) > room:
        shared = len(commonprefix([name[::-1] for name in names]))  # noqa: RUF071 - by letters
        names = [name[: len(name) - shared] or name for name in names]
    return [short(name, room) for name in names]


def is_hash(name: str) -> bool:
    """Whether a name says nothing to people: a long string of hexadecimal digits; a number may
    differ from others in its last digit.
    """
    digits = len(name) >= 8 and all(c in "0123456789abcdef" for c in name.lower())
    return digits and not name.isdecimal()


def label(name: str) -> str:
    """A configuration's name inside a sentence; of hashes ten digits, so that names that truecost
    gave are whole and can be typed.
    """
    return name[:10] if is_hash(name) else short(name)
