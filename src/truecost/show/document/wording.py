"""The words for each quantity of `truecost.stats.quantities`."""

from collections.abc import Callable
from typing import Final, NamedTuple

from truecost.judge.statements import Statement
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
    """The words for a quantity.

    Attributes
    ----------
    label
        Its name in a table.
    claim
        The sentence that {who} reaches {value}, against {default}.
    value, least, most
        How to write its values, lower limits and upper limits.
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
    "solved share": Wording(
        "share of runs solved", "{who} solves at least {value} of its runs", *SHARE
    ),
    "median": Wording("median cost", "the median cost of {who} is at most {value}"),
    "nine in ten": Wording(
        "90th percentile of cost", "the 90th percentile of the cost of {who} is at most {value}"
    ),
    "wins": Wording(
        "share of runs won (ties count ½)",
        "{who} wins more than {value} of its runs against {default}",
        *SHARE,
    ),
    "speed-up": Wording(
        "median speed-up over the default",
        "{who} is at least {value} times faster than {default} in the median",
    ),
    "difference of solved shares": Wording(
        "more runs solved than by the default (percentage points)",
        "{who} solves at least {value} percentage points more of its runs than {default}",
        _points(signed),
        _points(at_least),
        _points(at_most),
    ),
    "ratio of means": Wording(
        "ratio of mean costs, default ÷ winner",
        "{default} costs at least {value} times as much as {who} on average",
    ),
    "difference": Wording(
        "difference of mean costs, winner − default",
        "{who} costs less than {default} on average",
        signed,
    ),
}


def words_of(statement: Statement) -> Wording:
    """Return the words for a statement's quantity, which say where runs had the same seed."""
    words = WORDS[statement.quantity]
    return (
        words._replace(label=f"{words.label}, with the same seed") if statement.same_seed else words
    )


def with_seed(statement: Statement) -> str:
    """Return what to add to "of the runs" where only runs with the same seed were compared."""
    return " with the same seed" if statement.same_seed else ""
