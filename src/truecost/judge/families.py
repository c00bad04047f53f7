"""What families show: whether instances within one are alike, and who wins on which."""

import re
from dataclasses import dataclass
from itertools import compress
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from truecost.judge.costs import instance_means
from truecost.judge.refusal import Refusal
from truecost.judge.sampling import read_sample
from truecost.matrix import CostMatrix
from truecost.matrix.families import candidates
from truecost.stats import quantities
from truecost.stats.folds import FoldInterval, corrected_t
from truecost.stats.grouping import Alike, NestedComponents, alike, nested_components
from truecost.stats.limits import limit

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
Grade = Literal["better", "worse", "open"]
# Fewer instances than this cannot show whether groups of them are alike.
FEWEST = 8
# What tells folds of one repetition apart: "cv/repeat1-fold3" is the third of repeat1.
FOLD_NUMBER = re.compile(r"\d+$")


@dataclass(frozen=True, slots=True, kw_only=True)
class FamilyResult:
    """A configuration against the default on one family.

    Attributes
    ----------
    family, instances
        Its name, and how many of its instances both have runs on.
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
        sample = read_sample(part_runs, timed=False)
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


def likeness(
    matrix: CostMatrix, configuration: str, default: str | None, rng: np.random.Generator
) -> Alike | None:
    """Whether instances within a family, a folder or under one name are alike; None where that
    cannot be tested.

    One test of the winner's costs, the default's and their differences, over all groupings.
    """
    values, both = _common_means(matrix, configuration, default)
    if both.sum() < FEWEST:
        return None
    if len(values) > 1:
        values = np.vstack([values, values[0] - values[1]])
    instances = list(compress(matrix.instances, both))
    families = None if matrix.families is None else list(compress(matrix.families, both))
    return alike(values, candidates(instances, families), rng=rng)


def _common_means(
    matrix: CostMatrix, configuration: str, default: str | None
) -> tuple[FloatArray, BoolArray]:
    """Instance means of the configuration and of a default that is another one, on the instances
    both have runs on; and which these are.
    """
    names = [configuration, *([] if default in (None, configuration) else [str(default)])]
    means, known = instance_means(matrix.select(configurations=names))
    both = np.asarray(known.all(axis=0))
    return means[:, both], both


def components(matrix: CostMatrix, configuration: str) -> NestedComponents | None:
    """The variance of a configuration's costs between families, instances and seeds; None where it
    has no families, or too few.
    """
    if matrix.families is None:
        return None
    place = matrix.configurations.index(configuration)
    return nested_components(matrix.charged[place], matrix.families)


def folds_of(
    matrix: CostMatrix, configuration: str, default: str | None, *, delta: float
) -> FoldInterval | Refusal:
    """The corrected resampled t interval over folds: of the mean difference to the default, or of
    the mean.

    Where names say nothing of repetitions, all folds are taken for those of one partition.
    """
    means, both = _common_means(matrix, configuration, default)
    if both.sum() < 2:
        return Refusal("an interval over folds takes two of them at least")
    values = means[0] - (means[1] if len(means) > 1 else 0.0)
    folds = {FOLD_NUMBER.sub("", name) for name in matrix.instances}
    each = int(both.sum()) // max(len(folds), 1)
    ratio = 1 / (each - 1) if each > 1 else None
    return corrected_t(values, test_over_train=ratio, delta=delta)
