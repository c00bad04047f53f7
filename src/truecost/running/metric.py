"""Metric: what a run costs, computed from its outcome."""

import math
from collections.abc import Mapping
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from truecost.arrays import BoolArray, FloatArray
from truecost.errors import InputError
from truecost.running.tables import Positive, TomlTable
from truecost.runs import Outcome, Status

Cost = Annotated[float, Field(allow_inf_nan=False)]
COUNTED = {
    "par": (Status.SOLVED, Status.TIMEOUT, Status.MEMORY),
    "quality": (Status.SOLVED, Status.TIMEOUT),
    "value": (Status.SOLVED,),
}


class Metric(TomlTable):
    """What a run costs.

    "par": the running time of a solved run, `factor` times the cutoff of any other. "quality": the
    value the target reported, also when it was stopped at a limit. "value": the value it reported
    with a solved run. Runs without a value cost `failed`, or `high`. Means have no guaranteed
    limits without `low` and `high`; runs won have.
    """

    kind: Literal["par", "quality", "value"]
    factor: Annotated[float, Field(ge=1, allow_inf_nan=False)] = 10.0
    clock: Literal["cpu", "wall", "reported"] = "cpu"
    cutoff: Positive | None = None
    low: Cost | None = None
    high: Cost | None = None
    failed: Cost | None = None

    @property
    def timed(self) -> bool:
        """Whether costs are running times."""
        return self.kind == "par"

    @property
    def par(self) -> float | None:
        """The penalty factor of running times; None for other costs."""
        return self.factor if self.timed else None

    @property
    def reported(self) -> Literal["time", "value"] | None:
        """The number that a solved run must report, if any."""
        if not self.timed:
            return "value"
        return "time" if self.clock == "reported" else None

    def longest(self, limits: Mapping[str, Any]) -> float | None:
        """The most seconds, by its clock, that a run may take within these limits."""
        most: float | None = limits["cutoff" if self.clock == "reported" else self.clock]
        return most

    def changed(
        self, limits: Mapping[str, float | None], *, par: float | None, cutoff: float | None
    ) -> "Metric":
        """PARk with another factor or a lower cutoff, for runs made within these limits."""
        metric = self if self.timed else Metric(kind="par")
        most = metric.longest(limits)
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

    def counts(self, status: Any) -> Any:
        """Whether runs with this status say something about their configuration."""
        return np.isin(status, COUNTED[self.kind])

    def came_through(self, status: Any, value: Any) -> Any:
        """Whether runs count, and have a value within the range where one is needed."""
        if self.timed:
            return self.counts(status)
        low, high = self.range()
        numbers = np.asarray(value, np.float64)
        return self.counts(status) & (low <= numbers) & (numbers <= high)

    def charged(self, outcome: Outcome) -> tuple[float, Status]:
        """What a run costs, NaN if it was aborted, its cap if it was censored; and its status."""
        numbers = (outcome.cpu, outcome.wall, outcome.time, outcome.value, outcome.cap)
        columns = (np.array([number], np.float64) for number in numbers)
        costs, statuses = self.costs(np.array([outcome.status], np.int8), *columns)
        return float(costs[0]), Status(statuses[0])

    def costs(
        self,
        statuses: NDArray[np.int8],
        cpu: FloatArray,
        wall: FloatArray,
        time: FloatArray,
        value: FloatArray,
        cap: FloatArray,
    ) -> tuple[FloatArray, NDArray[np.int8]]:
        """The costs of runs, NaN for an aborted run, and their statuses under this metric's cutoff.

        A run that was stopped at a `cap` below the cutoff stays censored and costs its cap.
        """
        if self.timed:
            clock = {"cpu": cpu, "wall": wall, "reported": time}[self.clock]
            late: BoolArray = (statuses == Status.SOLVED) & ~(clock <= _given(self.cutoff))
            late |= (statuses == Status.CENSORED) & (cap >= _given(self.cutoff))
            statuses = np.where(late, np.int8(Status.TIMEOUT), statuses)
            failed = np.where(statuses == Status.CENSORED, cap, self.range()[1])
            costs = np.where(statuses == Status.SOLVED, clock, failed)
        else:
            valid = self.counts(statuses) & ~np.isnan(value)
            costs = np.where(
                valid, value, _given(self.high if self.failed is None else self.failed)
            )
        return np.where(statuses == Status.ABORTED, np.nan, costs), statuses


def _given(number: float | None) -> float:
    """A number that a scenario's checks have seen to."""
    if number is None:
        raise InputError(
            "[metric] is incomplete. kind = 'par' needs a cutoff; 'quality' and 'value' need high "
            "or failed."
        )
    return number
