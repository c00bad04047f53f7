"""Winner and default, instance by instance: what figures of a comparison draw."""

from dataclasses import dataclass

import numpy as np

from truecost.arrays import BoolArray, FloatArray
from truecost.judge.assessment import SameInstances
from truecost.judge.costs import known_means


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Pairs:
    """Winner and default on the instances of both.

    Attributes
    ----------
    winner, default
        Mean costs of an instance's runs.
    parts
        What each instance adds to the difference of means; families count equally where these are
        the units.
    winner_runs, default_runs
        Costs of all runs, and whether each was solved.
    """

    instances: tuple[str, ...]
    winner: FloatArray
    default: FloatArray
    parts: FloatArray
    winner_runs: tuple[FloatArray, BoolArray]
    default_runs: tuple[FloatArray, BoolArray]

    @property
    def half(self) -> int:
        """How few instances make up half of the differences; 0 where there are none."""
        parts = np.sort(np.abs(self.parts))[::-1]
        return int(np.searchsorted(np.cumsum(parts), 0.5 * parts.sum())) + 1 if parts.any() else 0


def pairs_of(same: SameInstances) -> Pairs:
    """The costs behind a comparison on the same instances."""
    runs = same.runs
    costs, failed, present = runs.charged, runs.failed, ~np.isnan(runs.charged)
    winner, default = known_means(costs)
    weights = np.full(len(winner), 1 / len(winner))
    if same.unit == "family":
        _, family, sizes = np.unique(runs.families or (), return_inverse=True, return_counts=True)
        weights = 1 / (sizes[family] * len(sizes))
    return Pairs(
        instances=runs.instances,
        winner=winner,
        default=default,
        parts=(winner - default) * weights,
        winner_runs=(costs[0][present[0]], ~failed[0][present[0]]),
        default_runs=(costs[1][present[1]], ~failed[1][present[1]]),
    )
