"""What figures draw: mean costs of winner and default on the same instances."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from truecost.arrays import BoolArray, FloatArray
from truecost.errors import InputError
from truecost.judge.costs import known_means

if TYPE_CHECKING:
    from truecost.judge.assessment import Assessment


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


def needed(assessment: "Assessment") -> Pairs:
    """Return costs on the same instances; raises where there are none."""
    same = assessment.same
    if same is None:
        raise InputError(
            "This figure compares with a default, and none has runs on the same instances. Name "
            "one with default=."
        )
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
