"""How much may be spent: `5000runs`, `90min`, `1.5d`."""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from truecost.errors import InputError

Unit = Literal["runs", "seconds"]
SECONDS = {"s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0}


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """A number of runs, or a time in seconds.

    A time is the wall time of the runs, summed and divided by the workers: a campaign that is
    resumed has used what it would have used in one go. truecost's own time is not in it.
    """

    amount: float
    unit: Unit

    def __post_init__(self) -> None:
        whole = self.unit != "runs" or self.amount % 1 == 0
        if not (math.isfinite(self.amount) and self.amount > 0 and whole):
            raise InputError(f"A budget cannot be {self.amount:g} {self.unit}.")

    @classmethod
    def of(cls, given: "Budget | str | int | float") -> "Budget":
        """From a number of runs, or from `5000runs`, `30s`, `90min`, `2h`, `1.5d`."""
        if isinstance(given, Budget):
            return given
        if isinstance(given, int | float) and not isinstance(given, bool):
            return cls(amount=float(given), unit="runs")
        match = re.fullmatch(
            r"\s*(\d+(?:\.\d+)?)\s*(runs?|s|min|h|d|)\s*",
            re.sub(r"[,_]", "", str(given)),
            re.ASCII,
        )
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

    def count(self, wall: float, cpu: float) -> None:
        """Take in one run."""
        self.runs += 1
        self.wall += wall
        self.cpu += cpu

    @property
    def mean_wall(self) -> float:
        """Mean wall seconds of a run; NaN before the first."""
        return self.wall / self.runs if self.runs else math.nan


@dataclass(frozen=True, slots=True, kw_only=True)
class Purse:
    """A budget and what is spent of it by the runs of one tally.

    Attributes
    ----------
    budget, tally, workers
        The whole budget; the runs that are paid from it; how many are made at a time.
    kept
        What is kept for other runs, in the budget's unit.
    """

    budget: Budget
    tally: Tally
    workers: int
    kept: Callable[[], float] = lambda: 0.0

    @property
    def amount(self) -> float:
        """What these runs may spend, in the budget's unit."""
        return max(0.0, self.budget.amount - self.kept())

    @property
    def spent(self) -> float:
        """What is spent, in the budget's unit."""
        if self.budget.unit == "runs":
            return float(self.tally.runs)
        return self.tally.wall / self.workers

    @property
    def share(self) -> float:
        """How much of the budget is spent, from 0 to 1."""
        return min(1.0, self.spent / max(self.amount, 1e-9))

    def left(self, mean: float | None = None) -> float:
        """How many more runs fit, of `mean` wall seconds each (default: the mean so far; infinite
        before the first run of a budget of time).
        """
        if self.budget.unit == "runs":
            return self.amount - self.tally.runs
        rest = self.amount * self.workers - self.tally.wall
        mean = self.tally.mean_wall if mean is None else mean
        if math.isnan(mean):
            return math.inf
        return rest / max(mean, 1e-6)
