"""How much may be spent: `5000runs`, `90min`, `1.5d`."""

import math
import re
from dataclasses import dataclass

from truecost.errors import InputError
from truecost.journal.journal import Unit

SECONDS = {"s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0}


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """A number of runs, or a time in seconds.

    Whose seconds, whoever spends it says. Those of a search are the runs' own wall time, summed and
    divided by the workers: what is resumed counts as if it had never stopped. What truecost itself
    takes, and a worker that waits for the last run of a batch, are not in it.
    """

    amount: float
    unit: Unit

    def __post_init__(self) -> None:
        whole = self.unit != "runs" or self.amount % 1 == 0
        if not (math.isfinite(self.amount) and self.amount > 0 and whole):
            raise InputError(
                f"expected a `budget` above 0, whole if it is of runs, got {self.amount:g} "
                f"{self.unit}."
            )

    @classmethod
    def parse(cls, text: str) -> "Budget":
        """From `5000runs`, `30s`, `90min`, `2h` or `1.5d`; thousands may be separated."""
        match = re.fullmatch(
            r"\s*(\d+(?:\.\d+)?)\s*(runs?|s|min|h|d)\s*", re.sub(r"[,_]", "", text), re.ASCII
        )
        if match is None:
            raise InputError(
                f"expected a `budget` such as 5000runs, 30s, 90min, 2h or 1.5d, got {text!r:.40}."
            )
        if match[2] in SECONDS:
            return cls(amount=float(match[1]) * SECONDS[match[2]], unit="seconds")
        return cls(amount=float(match[1]), unit="runs")

    def __str__(self) -> str:
        if self.unit == "runs":
            return f"{self.amount:,.0f} run{'s' if self.amount > 1 else ''}"
        # The largest unit of which there are two.
        name = next((name for name in ("d", "h", "min") if self.amount >= 2 * SECONDS[name]), "s")
        return f"{self.amount / SECONDS[name]:,.4g} {name}"
