"""What figures draw: mean costs of winner and default on the same instances."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from truecost.arrays import BoolArray, FloatArray
from truecost.errors import InputError, Refusal
from truecost.judge.costs import known_means

if TYPE_CHECKING:
    from truecost.judge.assessment import Assessment
    from truecost.matrix import CostMatrix


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Pairs:
    """Winner and default on the instances of both.

    Attributes
    ----------
    instances
        Their names.
    winner, default
        Mean costs of an instance's runs.
    weights
        What an instance adds to the mean; with families as units all of these count alike.
    winner_runs, default_runs
        Costs of all runs, and whether each was solved.
    """

    instances: tuple[str, ...]
    winner: FloatArray
    default: FloatArray
    weights: FloatArray
    winner_runs: tuple[FloatArray, BoolArray]
    default_runs: tuple[FloatArray, BoolArray]


def same_matrix(assessment: "Assessment") -> "CostMatrix":
    """Return the runs that the comparison on the same instances is made of."""
    log, evidence, same = assessment.log, assessment.evidence, assessment.same
    if not isinstance(evidence, Refusal) and assessment.statement("difference") is not None:
        return evidence.runs
    return log.test if log.test is not None and same and same.source == "test" else log.runs


def pairs(assessment: "Assessment") -> Pairs | None:
    """Return costs on the same instances; None without a default."""
    if assessment.same is None:
        return None
    matrix = same_matrix(assessment)
    names = matrix.configurations
    places = [names.index(assessment.same.winner), names.index(assessment.same.default)]
    costs, failed = matrix.charged[places], matrix.failed[places]
    both: BoolArray = np.asarray((~np.isnan(costs)).any(axis=2).all(axis=0))
    costs, failed = costs[:, both], failed[:, both]
    per_instance = known_means(costs)
    known = ~np.isnan(costs)
    return Pairs(
        instances=tuple(name for name, keep in zip(matrix.instances, both, strict=True) if keep),
        winner=per_instance[0],
        default=per_instance[1],
        weights=_weights(assessment, matrix, both),
        winner_runs=(costs[0][known[0]], ~failed[0][known[0]]),
        default_runs=(costs[1][known[1]], ~failed[1][known[1]]),
    )


def _weights(assessment: "Assessment", matrix: "CostMatrix", both: BoolArray) -> FloatArray:
    evidence = assessment.evidence
    count = int(both.sum())
    by_family = not isinstance(evidence, Refusal) and evidence.sampled == "family"
    if not by_family or matrix.families is None:
        return np.full(count, 1 / count)
    families = np.asarray(matrix.families)[both]
    _, family, sizes = np.unique(families, return_inverse=True, return_counts=True)
    return np.asarray(1 / (sizes[family] * len(sizes)))


def needed(assessment: "Assessment") -> Pairs:
    """Return costs on the same instances; raises where there are none."""
    both = pairs(assessment)
    if both is None:
        raise InputError(
            "This figure compares with a default, and none has runs on the same instances. Name "
            "one with default=."
        )
    return both
