"""Metric: what a run costs, computed from its outcome."""

import math
from collections.abc import Mapping
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from truecost.arrays import FloatArray
from truecost.errors import InputError
from truecost.running.tables import Seconds, TomlTable
from truecost.runs import Outcome, Status

Clock = Literal["cpu", "wall", "reported"]


class Metric(TomlTable):
    """What a run costs.

    "par": the running time of a solved run, `factor` times the cutoff of any other. "quality": the
    value the target reported, also when it was stopped at a limit. "value": the value it reported
    with a solved run. Runs without a value cost `failed`, or `high`. Means have no guaranteed
    limits without `low` and `high`; runs won have.
    """

    kind: Literal["par", "quality", "value"]
    factor: Annotated[float, Field(ge=1, allow_inf_nan=False)] = 10.0
    clock: Clock = "cpu"
    cutoff: Seconds | None = None
    low: Annotated[float, Field(allow_inf_nan=False)] | None = None
    high: Annotated[float, Field(allow_inf_nan=False)] | None = None
    failed: Annotated[float, Field(allow_inf_nan=False)] | None = None

    @property
    def timed(self) -> bool:
        """Whether costs are running times."""
        return self.kind == "par"

    @property
    def par(self) -> float | None:
        """The penalty factor of running times; None for other costs."""
        return self.factor if self.timed else None

    def changed(
        self, limits: Mapping[str, float | None], *, par: float | None, cutoff: float | None
    ) -> "Metric":
        """PARk with another factor or a lower cutoff, for runs made within these limits."""
        metric = self if self.timed else Metric(kind="par")
        most = limits[{"cpu": "cpu", "wall": "wall", "reported": "cutoff"}[metric.clock]]
        if most is None:
            raise InputError(
                "The runs had no CPU limit, so they have no PARk cost. Leave out --par and "
                "--cutoff."
            )
        cutoff = cutoff if cutoff is not None else metric.cutoff or most
        if not 0 < cutoff <= most:
            raise InputError(
                f"The cutoff is {cutoff:g} s, but runs were stopped after {most:g} s. Give a "
                f"--cutoff of at most {most:g}."
            )
        factor = par if par is not None else metric.factor
        if not 1 <= factor < math.inf:
            raise InputError(f"The penalty factor is {factor:g}. Give --par 1 or more.")
        return metric.model_copy(update={"factor": float(factor), "cutoff": float(cutoff)})

    def range(self) -> tuple[float, float]:
        """The lowest and the highest cost a run can have."""
        if self.timed:
            return 0.0, self.factor * _given(self.cutoff)
        return -np.inf if self.low is None else self.low, np.inf if self.high is None else self.high

    def counted(self) -> tuple[Status, ...]:
        """The statuses of runs that say something about their configuration."""
        return {
            "par": (Status.SOLVED, Status.TIMEOUT, Status.MEMORY),
            "quality": (Status.SOLVED, Status.TIMEOUT),
            "value": (Status.SOLVED,),
        }[self.kind]

    def came_through(self, status: Status, value: float | None) -> bool:
        """Whether a run has a counted status, and a value within the range where one is needed."""
        if self.timed:
            return status in self.counted()
        low, high = self.range()
        return status in self.counted() and value is not None and low <= value <= high

    def cost(self, outcome: Outcome) -> float:
        """What a run costs; NaN if it was aborted, its cap if it was censored."""
        numbers = (outcome.cpu, outcome.wall, outcome.time, outcome.value, outcome.cap)
        arrays = (np.array([np.nan if number is None else number]) for number in numbers)
        return float(self.costs(np.array([outcome.status], np.int8), *arrays)[0][0])

    def costs(
        self,
        statuses: NDArray[np.int8],
        cpu: FloatArray,
        wall: FloatArray,
        time: FloatArray,
        value: FloatArray,
        cap: FloatArray | None = None,
    ) -> tuple[FloatArray, NDArray[np.int8]]:
        """The costs of runs, NaN for an aborted run, and their statuses under this metric's cutoff.

        A run that was stopped at a `cap` below the cutoff stays censored and costs its cap.
        """
        if self.timed:
            clock = {"cpu": cpu, "wall": wall, "reported": time}[self.clock]
            cap = np.full(len(statuses), np.nan) if cap is None else cap
            with np.errstate(invalid="ignore"):
                late = (statuses == Status.SOLVED) & ~(clock <= _given(self.cutoff))
                late |= (statuses == Status.CENSORED) & (cap >= _given(self.cutoff))
            statuses = np.where(late, np.int8(Status.TIMEOUT), statuses)
            known = np.where(statuses == Status.CENSORED, cap, self.range()[1])
            costs = np.where(statuses == Status.SOLVED, clock, known)
        else:
            good = np.isin(statuses, self.counted()) & ~np.isnan(value)
            costs = np.where(good, value, _given(self.high if self.failed is None else self.failed))
        return np.where(statuses == Status.ABORTED, np.nan, costs), statuses


def _given(number: float | None) -> float:
    """A number that a scenario's checks have seen to."""
    if number is None:
        raise InputError(
            "[metric] is incomplete. kind = 'par' needs a cutoff; 'quality' and 'value' need high "
            "or failed."
        )
    return number
