"""Whether instances within a group are alike: a permutation test, the design effect, and how much
of the variance lies between groups.

Limits assume that instances are independent draws. Instances of one family resemble each other, and
then the mean varies more than its standard error says. `alike` tests all candidate groupings (by
folder, by name, by a column) and all variables at once: labels are permuted, one-way analyses of
variance are computed, and only the largest of them is compared. A test that finds nothing proves
nothing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import fdtrc

from truecost.arrays import FloatArray, IntArray
from truecost.stats.compiled import compiled
from truecost.stats.variance import run_means

# How often the test may say that instances are alike where labels mean nothing.
LEVEL = 0.01
# How many permutations: the least p-value is 0.001.
PERMUTATIONS = 999


@dataclass(frozen=True, slots=True, kw_only=True)
class Alike:
    """The grouping that explains most, and whether that may be chance.

    Attributes
    ----------
    grouping
        The name of the first grouping with a significant effect, else of the strongest.
    groups
        How many groups it has.
    p_value
        Of its effect against the largest over all groupings and variables, by permutation.
    design_effect
        The variance of the mean if groups were sampled, over that if instances were: the largest
        over the variables.
    """

    grouping: str
    groups: int
    p_value: float
    design_effect: float

    @property
    def significant(self) -> bool:
        """Whether instances within a group are alike, at 1 %."""
        return self.p_value <= LEVEL


@dataclass(frozen=True, slots=True, kw_only=True)
class NestedComponents:
    """Variance of a run's cost in three parts, unbiased, each family with the same weight.

    Attributes
    ----------
    families
        Between families.
    instances
        Between instances of a family.
    seeds
        Between runs on an instance; NaN where no instance has two.
    groups
        Families with two or more instances, which were used.
    """

    families: float
    instances: float
    seeds: float
    groups: int

    @property
    def between(self) -> float:
        """The share of the variance of instance means between families."""
        total = max(self.families, 0.0) + max(self.instances, 0.0)
        return max(self.families, 0.0) / total if total > 0 else 0.0


def codes_of(labels: Sequence[object]) -> IntArray:
    """The number of each label, in the order in which they first occur."""
    places = {label: place for place, label in enumerate(dict.fromkeys(labels))}
    return np.array([places[label] for label in labels], dtype=np.int64)


@compiled
def _between(values, codes, groups, orders):  # type: ignore[no-untyped-def]
    """The sum of squares between groups (permutations, variables), for centred values (variables,
    n); the group of instance i is that of orders[., i].
    """
    squares = np.zeros((orders.shape[0], values.shape[0]))
    sizes, sums = np.zeros(groups), np.empty(groups)
    for code in codes:
        sizes[code] += 1
    for b in range(orders.shape[0]):
        for v in range(values.shape[0]):
            sums[:] = 0.0
            for i in range(codes.size):
                sums[codes[orders[b, i]]] += values[v, i]
            for g in range(groups):
                squares[b, v] += sums[g] ** 2 / sizes[g]
    return squares


def alike(
    values: ArrayLike,
    groupings: Mapping[str, Sequence[object]],
    *,
    rng: np.random.Generator,
    permutations: int = PERMUTATIONS,
) -> Alike | None:
    """Test whether instances within a group are alike; None where no grouping could show it.

    Parameters
    ----------
    values
        Numbers (n,) or (variables, n), one per instance: costs of the winner, of the default, their
        difference.
    groupings
        Labels of the instances under each grouping, those that were declared first. One group for
        all, or one for each instance, is no grouping.
    rng
        What permutations are drawn from.
    permutations
        How many.
    """
    numbers = np.atleast_2d(np.asarray(values, dtype=np.float64))
    n = numbers.shape[1]
    codes = {name: codes_of(labels) for name, labels in groupings.items()}
    codes = {name: code for name, code in codes.items() if 1 < code.max(initial=0) + 1 < n}
    centred = numbers - numbers.mean(axis=1, keepdims=True)
    total = (centred**2).sum(axis=1)
    # Squares of rounding errors, 10^-12 of the numbers, are no variation.
    varied = total > 1e-24 * np.maximum((numbers**2).sum(axis=1), 1e-300)
    if not codes or not varied.any():
        return None
    # The first row is the labels as they are.
    orders = np.tile(np.arange(n), (permutations + 1, 1))
    orders[1:] = rng.permuted(orders[1:], axis=1)
    strength = {}
    for name, code in codes.items():
        groups = int(code.max()) + 1
        between = np.asarray(_between(centred[varied], code, groups, orders))
        # Where groups explain everything, rounding must not make it negative.
        within = np.maximum(total[varied] - between, 1e-12 * total[varied])
        ratio = between / (groups - 1) / (within / (n - groups))
        # On the scale of its distribution function: groupings have different degrees of freedom.
        chances = np.maximum(fdtrc(groups - 1, n - groups, ratio), 1e-300)
        strength[name] = -np.log(chances.min(axis=1))
    largest = np.max(list(strength.values()), axis=0)
    p_values = {
        # The slack counts permutations that only rename groups as equal.
        name: float((largest >= row[0] * (1 - 1e-12)).mean())
        for name, row in strength.items()
    }
    # The first that is significant against the maximum over all, else the strongest.
    significant = [name for name, p_value in p_values.items() if p_value <= LEVEL]
    grouping = significant[0] if significant else min(p_values, key=lambda name: p_values[name])
    return Alike(
        grouping=grouping,
        groups=int(codes[grouping].max()) + 1,
        p_value=p_values[grouping],
        design_effect=max(design_effect(row, codes[grouping]) for row in numbers[varied]),
    )


def design_effect(values: FloatArray, codes: IntArray) -> float:
    """The variance of the mean of these numbers if groups were sampled, over that if numbers were.

    The first is the usual estimate for a ratio of totals over groups (Cochran 1977, section 9.2),
    which allows for groups of different sizes.
    """
    n, groups = values.size, int(codes.max()) + 1
    totals = np.bincount(codes, weights=values - values.mean(), minlength=groups)
    sampled = groups / (groups - 1) * float((totals**2).sum()) / n**2
    return sampled / (float(values.var(ddof=1)) / n)


def nested_components(runs: ArrayLike, labels: Sequence[object]) -> NestedComponents | None:
    """Variance between families, between instances of a family, and between seeds; None with fewer
    than two families of two instances.

    Differences of variances of means, each family with the same weight, so that they are unbiased
    for families of any sizes, also where the size goes with the cost. They may come out negative.

    Parameters
    ----------
    runs
        Costs (n, R), NaN where there is no run.
    labels
        The family of each instance.
    """
    costs = np.asarray(runs, dtype=np.float64)
    costs = costs.reshape(len(costs), -1)
    means, counts = run_means(costs)
    squares = np.nansum((costs - means[:, np.newaxis]) ** 2, axis=1)
    spreads = np.where(counts > 1, squares / np.maximum(counts - 1, 1), np.nan)
    seeds = float(np.nanmean(spreads)) if (counts > 1).any() else float("nan")
    codes = codes_of(labels)
    centres, noises, inside = [], [], []
    for group in range(int(codes.max(initial=-1)) + 1):
        mine = (codes == group) & (counts > 0)
        if mine.sum() < 2:
            continue
        spread = float(means[mine].var(ddof=1))
        # Instances with one run say nothing of their seeds: the pooled variance stands in.
        noise = np.where(counts[mine] > 1, spreads[mine], seeds) / counts[mine]
        centres.append(float(means[mine].mean()))
        noises.append(spread / mine.sum())
        inside.append(spread - (0.0 if np.isnan(seeds) else float(noise.mean())))
    if len(centres) < 2:
        return None
    return NestedComponents(
        families=float(np.var(centres, ddof=1) - np.mean(noises)),
        instances=float(np.mean(inside)),
        seeds=seeds,
        groups=len(centres),
    )
