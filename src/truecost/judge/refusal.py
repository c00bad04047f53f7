"""Where nothing can be said: the reason, as a value; as an error only at the public edge."""

from dataclasses import dataclass

from truecost.errors import InputError


@dataclass(frozen=True, slots=True)
class Refusal:
    """Nothing valid can be said.

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
        super().__init__(f"No valid statement can be made: {reason}.")
        self.reason = reason
