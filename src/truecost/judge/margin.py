"""Non-inferiority: whether a configuration costs at most a little more than the default.

The margin is fixed before looking: a share of the default's cost ("5%") or an amount of cost. A
limit that is there anyway decides: the upper limit of u(winner) − u(default), or the lower limit of
the ratio u(default)/u(winner).
"""

import math
from dataclasses import dataclass
from typing import Literal

from truecost.errors import InputError


@dataclass(frozen=True, slots=True, kw_only=True)
class Margin:
    """How much more than the default is still acceptable.

    Attributes
    ----------
    kind
        "ratio": a share of the default's cost. "difference": an amount of cost.
    value
        0.05 for 5 %, or the amount.
    """

    kind: Literal["ratio", "difference"]
    value: float

    @classmethod
    def parse(cls, text: str) -> "Margin":
        """`"5%"` is a share of the default's cost, `"0.1"` an amount of cost."""
        number = text.strip().removesuffix("%")
        try:
            value = float(number)
        except ValueError:
            value = math.nan
        if not (value >= 0 and math.isfinite(value)):
            raise InputError(f"Expected a `margin` like 5% or 0.1, got {text!r:.40}.")
        if text.strip().endswith("%"):
            return cls(kind="ratio", value=value / 100)
        return cls(kind="difference", value=value)

    @property
    def quantity(self) -> str:
        """The statement that decides."""
        return "ratio of means" if self.kind == "ratio" else "difference"

    @property
    def needed(self) -> float:
        """What its limit has to reach."""
        return 1 / (1 + self.value) if self.kind == "ratio" else self.value

    def __str__(self) -> str:
        return f"{100 * self.value:g} %" if self.kind == "ratio" else f"{self.value:g}"


@dataclass(frozen=True, slots=True, kw_only=True)
class NonInferiority:
    """Whether the configuration is shown to cost at most the margin more than the default.

    Attributes
    ----------
    margin
        As it was asked for, "5 %" or "0.1".
    quantity, limit, needed
        What decides: the limit of this quantity, and what it has to reach.
    shown
        Whether it is shown; False is unknown, not the opposite.
    """

    margin: str
    quantity: str
    limit: float
    needed: float
    shown: bool


def non_inferiority(margin: Margin, limit: float, condition: str | None) -> NonInferiority:
    """Whether a limit of the quantity that decides shows non-inferiority; not under a condition."""
    ratio = margin.kind == "ratio"
    reached = limit >= margin.needed if ratio else limit <= margin.needed
    return NonInferiority(
        margin=str(margin),
        quantity=margin.quantity,
        limit=limit,
        needed=margin.needed,
        shown=bool(reached and condition is None),
    )
