"""What truecost raises, and the value that says why nothing can be stated.

A message says what is wrong, then what to type, in one line: the command line prints it as it is.
"""

import difflib
import operator
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass


class TruecostError(Exception):
    """Anything truecost raises on purpose."""


class InputError(TruecostError, ValueError):
    """Input that cannot be used: exit code 2 on the command line."""


class LostClusterError(TruecostError):
    """The workers are gone; finished runs are in the journal, and the same command continues."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """No statement can be made: why, and what to do instead (empty where nothing helps)."""

    reason: str
    way_out: str = ""


@contextmanager
def prefixed(place: object) -> Iterator[None]:
    """Put the file or key in front of the messages raised inside."""
    try:
        yield
    except InputError as error:
        raise InputError(f"{place}: {error}") from error


def check_share(value: float, name: str = "delta") -> None:
    """Refuse probabilities of 0 and 1 and below and above."""
    if isinstance(value, str) or not 0 < value < 1:
        raise InputError(f"{name} is {value}. Give a number between 0 and 1, such as 0.05.")


def check_count(name: str, value: object, least: int = 1) -> int:
    """The number, of any integer type; refuse smaller ones and what is no whole number."""
    try:
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        number = least - 1
    if number < least:
        raise InputError(f"{name} is {value!r}. Give a whole number from {least}.")
    return number


def check_choice(name: str, value: object, choices: Iterable[str]) -> None:
    """Refuse a value that is none of the choices."""
    if value not in (choices := tuple(choices)):
        words = [repr(word) if " " in word else word for word in choices]
        raise InputError(f"{name} cannot be {value!r}. Choose one of {', '.join(words)}.")


def counted(count: int, noun: str) -> str:
    """Write a count: 1 run, 2 runs, 2 families."""
    plural = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{count:,} {noun if count == 1 else plural}"


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """End a message about an unknown name with the nearest known one, if any is near."""
    near = difflib.get_close_matches(name, list(names), n=1)
    return f" Did you mean {near[0]!r}?" if near else ""
