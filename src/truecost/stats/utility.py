"""What a running time is worth: a number from 1 (at once) down to 0 (never), as in utilitarian
algorithm configuration.

A mean of running times is decided by the few longest runs, and no number of runs rules out longer
ones. Whoever waits for an answer does not feel that way: after a point it does not matter how much
later it comes. A utility says so, and, being bounded, it has limits from runs alone. Graham,
Leyton-Brown and Roughgarden, "Utilitarian algorithm configuration" (NeurIPS 2023), argue for it and
use these functions; t₀ is `at` and a is `shape`:

* ``step``: 1 up to t₀, 0 after: what counts is to be solved within t₀;
* ``linear``: 1 − t/t₀, and 0 from t₀ on (their uniform deadline);
* ``half-life``: 2^(−t/t₀): worth half as much after every t₀ (their exponential deadline);
* ``log-laplace``: 1 − ½(t/t₀)^a before t₀, ½(t₀/t)^a after: half at t₀, with a tail that falls as a
  power of t.

The cost is 1 − utility.
"""

import math
from dataclasses import dataclass
from typing import Literal, Self, cast, get_args

import numpy as np
from numpy.typing import ArrayLike

from truecost.arrays import FloatArray
from truecost.errors import InputError

Kind = Literal["step", "linear", "half-life", "log-laplace"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Utility:
    """A function of the running time into [0, 1] that never rises.

    Attributes
    ----------
    kind
        See the module.
    at
        t₀, in the unit of the times.
    shape
        a, for log-laplace only.

    Examples
    --------
    >>> tc.Utility.parse("half-life=60").of(np.array([0.0, 60.0])).tolist()
    [1.0, 0.5]
    """

    kind: Kind
    at: float
    shape: float = 1.0

    def __post_init__(self) -> None:
        if self.kind not in get_args(Kind):
            raise InputError(
                f"Expected a utility of kind {', '.join(get_args(Kind))}, got {self.kind!r}."
            )
        for name, value in (("time", self.at), ("shape", self.shape)):
            if not (0 < value < math.inf):
                raise InputError(
                    f"Expected the {name} of a utility to be above 0 and finite, got {value}."
                )
        if self.shape != 1 and self.kind != "log-laplace":
            raise InputError(
                f"Expected a shape for log-laplace only, got {self.shape:g} for {self.kind}."
            )

    @classmethod
    def parse(cls, text: str) -> Self:
        """From "half-life=60", "step=10", "linear=300", "log-laplace=60" or, with its shape,
        "log-laplace=60,2".
        """
        kind, _, rest = text.partition("=")
        try:
            numbers = [float(word) for word in rest.split(",")]
        except ValueError:
            numbers = []
        if kind not in get_args(Kind) or not 1 <= len(numbers) <= 2:
            raise InputError(
                "Expected a utility such as half-life=60, step=10, linear=300 or "
                f"log-laplace=60,1, got {text!r}."
            )
        at, shape = (*numbers, 1.0)[:2]
        return cls(kind=cast(Kind, kind), at=at, shape=shape)

    def __str__(self) -> str:
        shape = f",{_written(self.shape)}" if self.shape != 1 else ""
        return f"{self.kind}={_written(self.at)}{shape}"

    def of(self, times: ArrayLike) -> FloatArray:
        """The utility of running times of 0 or more; inf for an answer that never comes, NaN stays
        NaN.
        """
        t = np.asarray(times, dtype=np.float64) / self.at
        if (t < 0).any():
            least = np.nanmin(t) * self.at
            raise InputError(f"Expected running times of 0 or more, got {least:g}.")
        if self.kind == "step":
            worth = np.where(t <= 1, 1.0, 0.0)
        elif self.kind == "linear":
            worth = np.maximum(0, 1 - t)
        elif self.kind == "half-life":
            worth = np.exp2(-t)
        else:
            # Each branch only where it counts: 0 to a negative power is infinite.
            early, late = np.minimum(t, 1), np.maximum(t, 1)
            worth = np.where(t < 1, 1 - early**self.shape / 2, late**-self.shape / 2)
        return np.where(np.isnan(t), np.nan, worth)

    def cost(self, times: ArrayLike) -> FloatArray:
        """1 − utility."""
        return np.asarray(1 - self.of(times))


def _written(value: float) -> str:
    """As short as it can be without becoming another number."""
    # A matrix remembers its utility by these words.
    return short if float(short := f"{value:g}") == value else repr(value)
