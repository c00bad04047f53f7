"""What truecost raises.

Every message says what was expected, what came, and what to do about it, in one line: the command
line prints it as it is.
"""

import difflib
from collections.abc import Iterable


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


class LostClusterError(TruecostError):
    """The machines that make runs are gone; finished runs are in the journal, and the same call
    goes on.
    """


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """The end of a message about an unknown name: the nearest known one, if any is near."""
    near = difflib.get_close_matches(name, list(names), n=1)
    return f"; did you mean {near[0]!r}?" if near else "."
