"""What truecost raises.

Every message says what was expected, what came, and what to do about it, in one line: the command
line prints it as it is.
"""

import difflib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass


class TruecostError(Exception):
    """Anything truecost raises on purpose.

    Examples
    --------
    >>> issubclass(tc.InputError, tc.TruecostError)
    True
    """


class InputError(TruecostError, ValueError):
    """Input that cannot be used: the caller's to mend (exit code 2 on the command line).

    Examples
    --------
    >>> try:
    ...     tc.even(-1, 3)
    ... except tc.InputError as error:
    ...     print(type(error).__name__)
    ...
    InputError
    """


@dataclass(frozen=True, slots=True)
class Refusal:
    """Nothing valid can be said: a value, and an error only at the public edge.

    Attributes
    ----------
    reason
        Why, in lower case and without a full stop.
    """

    reason: str


class RefusedError(InputError):
    """There is no valid statement of this kind; `reason` as in `Refusal`.

    Examples
    --------
    >>> issubclass(tc.RefusedError, tc.TruecostError)
    True
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)  # as it is: pickle makes the error anew from it
        self.reason = reason

    def __str__(self) -> str:
        return f"No valid statement can be made: {self.reason}."


class LostClusterError(TruecostError):
    """The machines that make runs are gone; finished runs are in the journal, and the same call
    goes on.
    """


@contextmanager
def prefixed(place: object) -> Iterator[None]:
    """Messages of what is done inside begin with the file or the key they are about."""
    try:
        yield
    except InputError as error:
        raise InputError(f"{place}: {error}") from error


def check_share(value: float, name: str = "delta") -> None:
    """Refuse what is no probability, 0 and 1 included: with them nothing is left to state."""
    if not 0 < value < 1:
        raise InputError(f"Expected {name} between 0 and 1, got {value}.")


def check_choice(name: str, value: object, choices: Iterable[str]) -> None:
    """Refuse what is none of the choices."""
    if value not in (choices := tuple(choices)):
        raise InputError(f"Expected {name} to be one of {', '.join(choices)}, got {value!r}.")


def counted(count: int, what: str) -> str:
    """Write a count of things: 1 run, 2 runs, 2 families."""
    return f"{count:,} {what if count == 1 else plural(what)}"


def plural(what: str) -> str:
    """Write more than one of a thing: runs, families."""
    return f"{what[:-1]}ies" if what.endswith("y") else f"{what}s"


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """The end of a message about an unknown name: the nearest known one, if any is near."""
    near = difflib.get_close_matches(name, list(names), n=1)
    return f"; did you mean {near[0]!r}?" if near else "."
