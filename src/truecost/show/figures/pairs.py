"""Instance means of named configurations, as the figures about instances need them."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from truecost.errors import InputError
from truecost.matrix import CostMatrix

FloatArray = NDArray[np.float64]


class CommonRuns(NamedTuple):
    """Runs on the instances that all of some configurations have runs on.

    `costs` is (configurations, instances, runs) with NaN for missing runs, `limit` the cutoff or
    the highest possible cost, where runs count as unsolved.
    """

    instances: tuple[str, ...]
    costs: FloatArray
    limit: float

    @property
    def means(self) -> FloatArray:
        """Mean cost of each configuration on each instance."""
        return np.asarray(np.nanmean(self.costs, axis=2))


def common_runs(matrix: CostMatrix, names: Sequence[str]) -> CommonRuns:
    """Select the instances on which all these configurations have runs."""
    chosen = matrix.select(configurations=list(names))
    both = np.flatnonzero((chosen.counts() > 0).all(axis=0))
    if not both.size:
        raise InputError("Expected at least one instance on which all have runs, got none.")
    cutoff = matrix.cutoff
    limit = matrix.high if cutoff is None or matrix.utility is not None else cutoff
    instances = tuple(matrix.instances[place] for place in both)
    return CommonRuns(instances, chosen.charged[:, both], limit)


def family_of(instance: str, families: Mapping[str, str] | None) -> str | None:
    """Return the family of an instance; None if families are unknown."""
    return None if families is None else families.get(instance, "unknown")
