"""How much may be spent: `5000runs`, `90min`, `1.5d`."""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from truecost.errors import InputError

if TYPE_CHECKING:
    from truecost.journal.table import RunTable

SECONDS = {"s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0}


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """A number of runs, or a time in seconds.

    A time is the wall time of the runs, summed and divided by the workers: a campaign that is
    resumed has used what it would have used in one go. truecost's own time is not in it.
    """

    amount: float
    unit: Literal["runs", "seconds"]

    def __post_init__(self) -> None:
        whole = self.unit != "runs" or self.amount % 1 == 0
        if not (math.isfinite(self.amount) and self.amount > 0 and whole):
            raise InputError(f"A budget cannot be {self.amount:g} {self.unit}.")

    @classmethod
    def of(cls, given: "Budget | str | float") -> "Budget":
        """From a number of runs, or from `5000runs`, `30s`, `90min`, `2h`, `1.5d`."""
        if isinstance(given, Budget):
            return given
        if isinstance(given, int | float) and not isinstance(given, bool):
            return cls(amount=float(given), unit="runs")
        text = re.sub(r"[,_]", "", str(given)).strip()
        match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(runs?|s|min|h|d|)", text, re.ASCII)
        if match is None:
            raise InputError(
                f"Cannot read the budget {str(given)!r:.40}. Write 5000runs, 30s, 90min, 2h or "
                "1.5d."
            )
        if match[2] in SECONDS:
            return cls(amount=float(match[1]) * SECONDS[match[2]], unit="seconds")
        return cls(amount=float(match[1]), unit="runs")

    @property
    def text(self) -> str:
        """As `of` reads it."""
        return f"{self.amount:.0f}{'runs' if self.unit == 'runs' else 's'}"

    def __str__(self) -> str:
        if self.unit == "runs":
            return f"{self.amount:,.0f} run{'s' if self.amount > 1 else ''}"
        # The largest unit of which there are two.
        name = next((name for name in ("d", "h", "min") if self.amount >= 2 * SECONDS[name]), "s")
        return f"{self.amount / SECONDS[name]:,.4g} {name}"


@dataclass(slots=True, kw_only=True)
class Tally:
    """Runs on record and the seconds they took; the campaign keeps it up to date."""

    runs: int = 0
    wall: float = 0.0
    cpu: float = 0.0

    @classmethod
    def of(cls, table: "RunTable") -> "Tally":
        """Recorded runs."""
        return cls(runs=len(table), wall=float(table.wall.sum()), cpu=float(table.cpu.sum()))

    def count(self, wall: float, cpu: float) -> None:
        """Take in one run."""
        self.runs += 1
        self.wall += wall
        self.cpu += cpu


@dataclass(frozen=True, slots=True, kw_only=True)
class Purse:
    """A budget and the runs that are paid from it, `workers` at a time.

    `reserve` is what is kept for other runs, in the budget's unit.
    """

    budget: Budget
    tally: Tally
    workers: int = 1
    reserve: Callable[[], float] = float

    @property
    def spent(self) -> float:
        """What is spent, in the budget's unit."""
        if self.budget.unit == "runs":
            return float(self.tally.runs)
        return self.tally.wall / self.workers

    @property
    def share(self) -> float:
        """How much of the budget is spent, from 0 to 1."""
        return min(1.0, self.spent / self.budget.amount)

    def left(self, mean: float | None = None) -> float:
        """How many more runs fit, of `mean` wall seconds each (default: the mean so far; infinite
        before the first run of a budget of time).
        """
        rest = self.budget.amount - self.reserve() - self.spent
        if self.budget.unit == "runs":
            return rest
        if mean is None and not self.tally.runs:
            return math.inf
        mean = self.tally.wall / self.tally.runs if mean is None else mean
        return rest * self.workers / max(mean, 1e-6)
