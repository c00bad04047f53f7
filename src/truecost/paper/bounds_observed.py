"""Theorem 2 beside what the splits of a sweep showed."""

from dataclasses import dataclass

import numpy as np

from truecost.arrays import FloatArray, IntArray
from truecost.errors import InputError, check_share
from truecost.matrix import CostMatrix
from truecost.paper.resample import LEVELS, Sweep
from truecost.stats import bounds
from truecost.stats.allocation import AllocationSizes, even_sizes
from truecost.stats.variance import variance_components


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Reality:
    """Theorem 2 at the swept values, beside the observed quantile of the errors at 1 − delta.

    Attributes
    ----------
    uniform, selection
        The observed quantiles. They are taken against the mean of the test instances, whose own
        noise is in them; the bounds speak of the true cost.
    bennett, printed
        Theorem 2 with the largest τ² for all configurations.
    bennett_own, printed_own
        Theorem 2 with its own τ² for the configuration with the least mean cost in the matrix: what
        may be said of the one a configurator would select.
    caveat
        The components are the matrix's own: plug-ins, not guaranteed.
    """

    values: IntArray
    delta: float
    uniform: FloatArray
    selection: FloatArray
    bennett: FloatArray
    printed: FloatArray
    bennett_own: FloatArray
    printed_own: FloatArray
    caveat: str

    @property
    def bounds(self) -> dict[str, FloatArray]:
        """The bounds by their names."""
        return {
            name: getattr(self, name)
            for name in ("bennett", "printed", "bennett_own", "printed_own")
        }


def levels_for(delta: float) -> list[float]:
    """The quantiles that a sweep takes by itself, and the one that the bounds stand beside."""
    check_share(delta)
    return sorted({*LEVELS, 1 - delta})


def check_width(matrix: CostMatrix) -> None:
    """Refuse a matrix without the range of costs that Theorem 2 needs."""
    if not np.isfinite(matrix.width):
        raise InputError("Give the metric's possible range, `low` and `high`: Theorem 2 needs it.")


def bounds_against_reality(matrix: CostMatrix, sweep: Sweep, *, delta: float = 0.05) -> Reality:
    """How loose Theorem 2 is on this matrix; 1 − delta must be one of the sweep's levels."""
    levels = np.asarray(sweep.levels)
    level = int(np.abs(levels - (1 - delta)).argmin())
    if abs(levels[level] - (1 - delta)) > 1e-9:
        raise InputError(
            f"Expected 1 − delta to be one of the sweep's levels {sweep.levels}, got delta {delta}."
        )
    check_width(matrix)
    components = variance_components(matrix)
    # What a configurator that saw all runs would select.
    best = int(np.nanmean(matrix.costs, axis=(1, 2)).argmin())
    configurations, allocation = _swept(sweep, matrix.shape[0])

    def epsilon(form: bounds.Form, of_best: bool) -> FloatArray:
        bound = bounds.finite(
            allocation=allocation,
            components=components[best] if of_best else components,
            width=matrix.width,
            delta=delta,
            configurations=configurations,
            form=form,
        )
        # With m swept the bound has a value for each; with N or K swept so has the allocation.
        return np.broadcast_to(bound.epsilon, sweep.values.shape)

    return Reality(
        values=sweep.values,
        delta=delta,
        uniform=sweep.quantiles["uniform"][level],
        selection=sweep.quantiles["selection"][level],
        bennett=epsilon("bennett", of_best=False),
        printed=epsilon("printed", of_best=False),
        bennett_own=epsilon("bennett", of_best=True),
        printed_own=epsilon("printed", of_best=True),
        caveat=bounds.PLUG_IN,
    )


def _swept(sweep: Sweep, all_configurations: int) -> tuple[IntArray | int, AllocationSizes]:
    """The m and the allocations at the swept values."""
    if sweep.kind == "m":
        return sweep.values, even_sizes(sweep.runs * sweep.train, sweep.train)
    if sweep.kind == "k":
        return all_configurations, even_sizes(sweep.runs * sweep.values, sweep.values)
    return all_configurations, even_sizes(sweep.values, sweep.train)
