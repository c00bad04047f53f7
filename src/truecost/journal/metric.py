"""Metric: what a run costs, computed from its outcome."""

import math
from collections.abc import Mapping
from typing import Annotated, Literal

import numpy as np
import pydantic
from numpy.typing import NDArray
from pydantic import Field

from truecost.arrays import FloatArray
from truecost.errors import InputError
from truecost.runs import Status
from truecost.stats.utility import Utility

Seconds = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class TomlTable(pydantic.BaseModel):
    """A table of the scenario file: no unknown keys, no text for numbers, never changed."""

    model_config = pydantic.ConfigDict(frozen=True, extra="forbid", strict=True)


class Metric(TomlTable):
    """What a run costs.

    "par": the time of a solved run, `factor` times the cutoff of any other. "utility": 1 − the
    utility of that time, 1 if a run was not solved. "quality": the value the target reported, also
    when it was stopped at a limit. "value": the value it reported with a solved run. Runs without
    one cost `failed`, or `high`. Without `low` and `high` nothing can be guaranteed of means, but
    of wins.
    """

    kind: Literal["par", "utility", "quality", "value"]
    utility: str | None = None
    factor: Annotated[float, Field(ge=1, allow_inf_nan=False)] = 10.0
    clock: Literal["cpu", "wall", "reported"] = "cpu"
    cutoff: Seconds | None = None
    low: Annotated[float, Field(allow_inf_nan=False)] | None = None
    high: Annotated[float, Field(allow_inf_nan=False)] | None = None
    failed: Annotated[float, Field(allow_inf_nan=False)] | None = None

    @property
    def timed(self) -> bool:
        """Whether the cost follows from the running time."""
        return self.kind in ("par", "utility")

    def worth(self) -> Utility:
        """What a time is worth, for kind = "utility"."""
        if self.utility is None:
            raise InputError(
                "expected a utility, half-life=60 for instance, with kind = 'utility'."
            )
        return Utility.parse(self.utility)

    def changed(
        self,
        limits: Mapping[str, float | None],
        *,
        par: float | None,
        cutoff: float | None,
        utility: str | None,
    ) -> "Metric":
        """PARk with another factor, a lower cutoff, or a utility of the running times, of runs that
        were made within these limits.
        """
        if par is not None and utility is not None:
            raise InputError("expected either `par` or `utility`, got both.")
        metric = self
        if not metric.timed or (par is not None and metric.kind == "utility"):
            metric = Metric(
                kind="par", clock=metric.clock if metric.timed else "cpu", cutoff=metric.cutoff
            )
        most = limits[{"cpu": "cpu", "wall": "wall", "reported": "cutoff"}[metric.clock]]
        if most is None:
            raise InputError(
                "expected a journal with a CPU limit for running times, got one without."
            )
        cutoff = cutoff if cutoff is not None else metric.cutoff or most
        if not 0 < cutoff <= most:
            raise InputError(
                f"expected a cutoff of at most {most:g} seconds, where the runs were stopped, got "
                f"{cutoff:g}."
            )
        factor = par if par is not None else metric.factor
        if not 1 <= factor < math.inf:
            raise InputError(f"expected a factor for PARk of at least 1, got {factor:g}.")
        worth = {} if utility is None else {"kind": "utility", "utility": utility}
        return metric.model_copy(update={"factor": float(factor), "cutoff": float(cutoff), **worth})

    def range(self) -> tuple[float, float]:
        """The least and the largest cost a run can have."""
        if self.kind == "utility":
            return 0.0, 1.0
        if self.kind == "par":
            return 0.0, self.factor * _given(self.cutoff)
        return -np.inf if self.low is None else self.low, np.inf if self.high is None else self.high

    def counted(self) -> tuple[Status, ...]:
        """How a run may end whose cost says something of its configuration."""
        return {
            "par": (Status.SOLVED, Status.TIMEOUT, Status.MEMORY),
            "utility": (Status.SOLVED, Status.TIMEOUT, Status.MEMORY),
            "quality": (Status.SOLVED, Status.TIMEOUT),
            "value": (Status.SOLVED,),
        }[self.kind]

    def came_through(self, status: Status, value: float | None) -> bool:
        """Whether a run ended so, and with a value that can be."""
        if self.timed:
            return status in self.counted()
        low, high = self.range()
        return status in self.counted() and value is not None and low <= value <= high

    def charge(
        self,
        statuses: NDArray[np.int8],
        cpu: FloatArray,
        wall: FloatArray,
        time: FloatArray,
        value: FloatArray,
        cap: FloatArray | None = None,
    ) -> tuple[FloatArray, NDArray[np.int8]]:
        """The costs of runs with these outcomes, NaN for an aborted run; and their statuses under
        this metric's cutoff.

        A run that was stopped at a `cap` below the cutoff stays censored and has the cap as its
        cost.
        """
        if self.timed:
            clock = {"cpu": cpu, "wall": wall, "reported": time}[self.clock]
            with np.errstate(invalid="ignore"):
                late = (statuses == Status.SOLVED) & ~(clock <= _given(self.cutoff))
            cap = np.full(len(statuses), np.nan) if cap is None else cap
            late |= (statuses == Status.CENSORED) & (cap >= _given(self.cutoff))
            statuses = np.where(late, np.int8(Status.TIMEOUT), statuses)
            worst = math.inf if self.kind == "utility" else self.range()[1]
            costs = np.where(
                statuses == Status.SOLVED, clock, np.where(statuses == Status.CENSORED, cap, worst)
            )
            if self.kind == "utility":
                costs = self.worth().cost(costs)
        else:
            good = np.isin(statuses, self.counted()) & ~np.isnan(value)
            costs = np.where(good, value, _given(self.high if self.failed is None else self.failed))
        return np.where(statuses == Status.ABORTED, np.nan, costs), statuses


def _given(number: float | None) -> float:
    """A number that a scenario's checks have seen to."""
    if number is None:
        raise InputError(
            "expected a metric with a cutoff (par, utility), or with high or failed (quality, "
            "value), got one without."
        )
    return number
