"""Groups of instances: means of groups, and whether instances within a group are alike, by a
permutation test over all candidate groupings.

Limits assume that instances are independent draws. Instances of one family resemble each other, and
then the mean varies more than its standard error says. All groupings (by folder, by name, by a
column) and all variables are tested at once: values are permuted, one-way analyses of variance are
computed, and only the largest of them is compared. A test that finds nothing proves nothing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import scipy  # scipy.special is loaded when it is first needed
from numpy.typing import ArrayLike

from truecost.arrays import FloatArray, IntArray
from truecost.stats.random import Rng, generator

# How often the test may be significant where no grouping has to do with the values.
LEVEL = 0.01
# How many permutations: the least p-value is 0.001.
PERMUTATIONS = 999


@dataclass(frozen=True, slots=True, kw_only=True)
class Alike:
    """The first grouping with a significant effect, else the strongest; `p_value` is that of its
    effect against the largest over all groupings and variables.
    """

    grouping: str
    groups: int
    p_value: float

    @property
    def significant(self) -> bool:
        """Whether the effect is significant at 1 %, over all groupings and variables."""
        return self.p_value <= LEVEL


def codes_of(labels: Sequence[object]) -> IntArray:
    """The number of each label, in the order in which they first occur."""
    places = {label: place for place, label in enumerate(dict.fromkeys(labels))}
    return np.array([places[label] for label in labels], dtype=np.int64)


def family_means(costs: FloatArray, families: Sequence[object]) -> FloatArray:
    """The mean of each family (m, families) of costs (m, n), in the order of first appearance; NaN
    where a family has none.
    """
    codes = codes_of(families)
    member = (codes[:, np.newaxis] == np.arange(codes.max() + 1)).astype(np.float64)
    counts = ~np.isnan(costs) @ member
    sums = np.nan_to_num(costs) @ member
    return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)


def alike(
    values: ArrayLike, groupings: Mapping[str, Sequence[object]], *, rng: Rng = 0
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
        Draws the permutations.
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
    # The first row is the values as they are.
    orders = np.tile(np.arange(n), (PERMUTATIONS + 1, 1))
    orders[1:] = generator(rng).permuted(orders[1:], axis=1)
    strengths = {}
    for name, code in codes.items():
        sizes = np.bincount(code)
        permuted = orders[:, np.argsort(code, kind="stable")]
        starts = np.cumsum(sizes) - sizes
        chances = []
        for row, square in zip(centred[varied], total[varied], strict=True):
            between = (np.add.reduceat(row[permuted], starts, axis=1) ** 2 / sizes).sum(axis=1)
            # Where groups explain everything, rounding must not make it negative.
            within = np.maximum(square - between, 1e-12 * square)
            degrees = sizes.size - 1, n - sizes.size
            # On the scale of its distribution function: groupings differ in degrees of freedom.
            ratio = between / degrees[0] / (within / degrees[1])
            chances.append(scipy.special.fdtrc(*degrees, ratio))
        strengths[name] = -np.log(np.maximum(np.min(chances, axis=0), 1e-300))
    largest = np.max(list(strengths.values()), axis=0)
    p_values = {
        # The slack counts permutations that only rename groups as equal.
        name: float((largest >= strength[0] * (1 - 1e-12)).mean())
        for name, strength in strengths.items()
    }
    significant = [name for name, p_value in p_values.items() if p_value <= LEVEL]
    grouping = significant[0] if significant else min(p_values, key=p_values.__getitem__)
    groups = int(codes[grouping].max()) + 1
    return Alike(grouping=grouping, groups=groups, p_value=p_values[grouping])
