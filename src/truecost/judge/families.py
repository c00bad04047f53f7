"""What families show: who wins on which."""

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from truecost.judge.costs import instance_means
from truecost.judge.sampling import read_sample
from truecost.matrix import CostMatrix
from truecost.stats import quantities
from truecost.stats.limits import limit

Grade = Literal["better", "worse", "open"]


@dataclass(frozen=True, slots=True, kw_only=True)
class FamilyResult:
    """A configuration against the default on one family.

    Attributes
    ----------
    family, instances
        Its name, and its instances with runs of both.
    observed
        The mean difference of costs there; below 0 the configuration costs less.
    lower, upper
        Limits of the true difference on instances of this family; those of all families hold at
        once, with probability 1 − delta. None where the range of the cost is not known.
    wins
        The share of runs won there, ties half.
    """

    family: str
    instances: int
    observed: float
    lower: float | None
    upper: float | None
    wins: float

    @property
    def grade(self) -> Grade:
        """Whether it is shown to be better or worse on this family."""
        if self.lower is None or self.upper is None:
            return "open"
        return "better" if self.upper < 0 else "worse" if self.lower > 0 else "open"


def family_results(
    runs: CostMatrix, configuration: str, default: str, *, delta: float, rng: np.random.Generator
) -> tuple[FamilyResult, ...]:
    """Winner against default, family by family, the largest families first.

    Instances are shuffled; all limits together hold with probability 1 − delta, so that each side
    of each family has its part of it.
    """
    pair = runs.select(configurations=[configuration, default])
    means, known = instance_means(pair)
    both = known.all(axis=0)
    labels = np.array(runs.families or (), dtype=object)
    names = list(dict.fromkeys(labels[both].tolist()))
    # Both sides of every family are read at once (Bonferroni).
    part = delta / (2 * max(len(names), 1))
    results = []
    for name in names:
        places = rng.permutation(np.flatnonzero(both & (labels == name)))
        part_runs = pair.select(instances=[pair.instances[i] for i in places])
        # When to stop a run may have been decided by other families' runs.
        sample = replace(
            read_sample(part_runs, timed=False), monotone=bool(part_runs.censored.any())
        )
        lower = upper = None
        if quantities.DIFFERENCE.refusal(sample) is None:
            lower, upper = (
                limit(quantities.DIFFERENCE, sample, side, part).value
                for side in ("lower", "upper")
            )
        cost, other = (float(row.mean()) for row in means[:, places])
        results.append(
            FamilyResult(
                family=name,
                instances=places.size,
                observed=cost - other,
                lower=lower,
                upper=upper,
                wins=quantities.WINS.numbers(sample, "lower").observed(),
            )
        )
    return tuple(sorted(results, key=lambda result: -result.instances))
