"""How each quantity is put into words: one entry a quantity of `truecost.stats.quantities`."""

from collections.abc import Callable
from typing import Final, NamedTuple

from truecost.show.numbers import (
    at_least,
    at_most,
    number,
    percent,
    share_at_least,
    share_at_most,
    signed,
)


class Wording(NamedTuple):
    """How a quantity is put into words.

    Attributes
    ----------
    label
        What it is called in a table.
    claim
        That {who} reaches {value}, against {default}.
    value, least, most
        How its values are written, and limits from below and from above.
    """

    label: str
    claim: str = ""
    value: Callable[[float], str] = number
    least: Callable[[float], str] = at_least
    most: Callable[[float], str] = at_most


def _points(write: Callable[[float], str]) -> Callable[[float], str]:
    return lambda share: write(100 * share)


SHARE: Final = (percent, share_at_least, share_at_most)
WORDS: Final = {
    "mean": Wording("mean cost", "{who} costs at most {value} on average"),
    "solved share": Wording("runs solved", "{who} solves at least {value} of its runs", *SHARE),
    "median": Wording("half of all runs cost", "half of all runs of {who} cost at most {value}"),
    "nine in ten": Wording(
        "nine in ten runs cost", "nine in ten runs of {who} cost at most {value}"
    ),
    "wins": Wording(
        "runs won against the default, ties half",
        "{who} wins more than {value} of its runs against {default}",
        *SHARE,
    ),
    "speed-up": Wording(
        "times faster than the default, in the median",
        "{who} is at least {value} times faster than {default} in the median",
    ),
    "difference of solved shares": Wording(
        "more runs solved than by the default, in points",
        "{who} solves more of its runs than {default}, by at least {value} percentage points",
        _points(signed),
        _points(at_least),
        _points(at_most),
    ),
    "ratio of means": Wording(
        "mean cost of the default over its own",
        "{default} costs at least {value} times as much as {who} on average",
    ),
    "difference": Wording(
        "mean cost − that of the default",
        "{who} costs less than {default} on average",
        signed,
    ),
}
