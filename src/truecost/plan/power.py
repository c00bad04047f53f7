"""How many runs it takes to distinguish two configurations, by their differences on the same
instances.
"""

import math
from dataclasses import dataclass

import numpy as np
import scipy  # not scipy.special, which takes long: scipy loads it when first asked for

from truecost.arrays import FloatArray, IntArray
from truecost.errors import InputError, check_share
from truecost.matrix import CostMatrix
from truecost.plan.cheapest import DROWNED, check_prices, halve
from truecost.stats import bounds
from truecost.stats.variance import VarianceComponents

# Said of every answer: nobody knows the distribution of differences.
NORMAL = (
    "power and level are those for normal differences, and costs with rare large values need more"
)
# Instances, and runs of a configuration on one of them, beyond which nothing is looked for.
MOST_INSTANCES = 10_000_000
MOST_RUNS_EACH = 1000


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Power:
    """Runs of both configurations and instances that show a difference with this power.

    Attributes
    ----------
    instances, runs_each
        K, and the runs of each on every instance.
    runs
        All runs of both.
    power, level
        Of the two-sided paired t-test on K differences: the chance that it finds
        the difference, and the chance that it finds one where there is none. Exact for normal
        differences.
    difference
        Of the true costs, to be found.
    sd
        Standard deviation of the difference on a random instance.
    price
        runs·price_run + instances·price_instance.
    guaranteed, caveat
        Never: the power is that for normal differences, and with estimated components it is a
        plug-in too.
    """

    instances: int
    runs_each: int
    runs: int
    power: float
    level: float
    difference: float
    sd: float
    price: float
    guaranteed: bool
    caveat: str


def runs_to_tell_apart(
    *,
    components: VarianceComponents,
    difference: float,
    power: float = 0.8,
    level: float = 0.05,
    price_run: float = 1.0,
    price_instance: float = 0.0,
    instances: int | None = None,
) -> Power:
    """The cheapest number of instances, and of runs of both configurations on each, that shows a
    difference.

    Parameters
    ----------
    components
        Of the differences of paired runs: `variance_components(paired_differences(…))`; for an
        assumed standard deviation of the difference on a random instance,
        `VarianceComponents.known(within=0, across=sd**2)`.
    difference
        The least difference of true costs worth finding. One seen in a pilot that chose the two is
        too large.
    power, level
        With probability `power` a two-sided paired t-test on the instance means at `level` finds
        it.
    price_run, price_instance
        What a run costs, and what an instance does once.
    instances
        How many there are; as many as wanted if not given.
    """
    within, across = _checked(components, difference, power, level, instances)
    check_prices(price_run, price_instance)
    limit = MOST_INSTANCES if instances is None else min(instances, MOST_INSTANCES)
    # No t-test needs fewer instances than a test that knows the variance does.
    apart = float(scipy.special.ndtri(1 - level / 2) + scipy.special.ndtri(power)) / difference
    least = apart * apart  # inf for a tiny difference, of which NumPy would warn
    best: tuple[float, int, int] | None = None
    # Fifty numbers of repeats at a time, until none of those to come can be cheaper.
    for start in range(1, MOST_RUNS_EACH, 50):
        repeats = np.arange(start, start + 50)
        runs_at_least = max(2 * start, least * (across * start + within))
        floor = 2 * price_run * runs_at_least + price_instance * max(2, least * across)
        if best is not None and floor >= best[0]:
            break
        sd = np.sqrt(across + within / repeats)
        number = _least_instances(sd, difference, power, level, limit)
        prices = (2 * price_run * repeats + price_instance) * number
        price = np.where(number <= limit, prices, np.inf)
        at = int(price.argmin())
        if price[at] < (math.inf if best is None else best[0]):
            best = float(price[at]), int(number[at]), int(repeats[at])
    if best is None:
        raise InputError(
            f"Expected a difference that {limit:,} instances can show with power {power:g}, got "
            f"{difference:g}, where instances vary by {math.sqrt(across):.4g} and runs by "
            f"{math.sqrt(within):.4g} (standard deviations)."
        )
    price_paid, number_of_instances, runs_each = best
    spread = math.sqrt(across + within / runs_each)
    caveats = [NORMAL, bounds.PLUG_IN] if components.estimated else [NORMAL]
    # With one run each only the sum of both variances counts, and an across taken for 0 makes that
    # too large, not too small.
    if components.estimated and runs_each > 1 and not across > components.across_error.item():
        caveats.append(DROWNED)
    return Power(
        instances=number_of_instances,
        runs_each=runs_each,
        runs=2 * runs_each * number_of_instances,
        power=_power(np.array([number_of_instances]), np.array([spread]), difference, level).item(),
        level=level,
        difference=abs(difference),
        sd=spread,
        price=price_paid,
        guaranteed=False,
        caveat="; ".join(caveats),
    )


def paired_differences(matrix: CostMatrix, first: str, second: str) -> CostMatrix:
    """Cost of `first` − cost of `second`, run by run on the same instances; runs that one of them
    lacks are left out.
    """
    if first == second:
        raise InputError(f"Expected two configurations, got {first!r} twice.")
    both = matrix.select(configurations=[first, second])
    costs = both.exact_costs()
    differences = costs[0] - costs[1]
    common = ~np.isnan(differences).all(axis=1)
    if common.sum() < 2:
        raise InputError(
            f"Expected runs of {first!r} and {second!r} on two common instances, got "
            f"{common.sum()}."
        )
    apart = CostMatrix(
        differences[np.newaxis, common],
        [f"{first} − {second}"],
        [name for name, kept in zip(both.instances, common, strict=True) if kept],
        -matrix.width,
        matrix.width,
    )
    apart.members = matrix.members
    return apart


def _checked(
    components: VarianceComponents,
    difference: float,
    power: float,
    level: float,
    instances: int | None,
) -> tuple[float, float]:
    if components.within.size != 1:
        raise InputError(
            f"Expected the components of one difference, got {components.within.size}."
        )
    within, across = components.within.item(), components.across.item()
    if math.isnan(within) or math.isnan(across):
        # With one run of both on each instance only the sum is known, and that is enough for one
        # run on each.
        within, across = 0.0, components.total.item()
    if math.isnan(across):
        raise InputError(
            "Expected known variance components of the difference, got none: it takes two "
            "instances."
        )
    if not (difference != 0 and math.isfinite(difference)):
        raise InputError(f"Expected a finite difference other than 0, got {difference}.")
    check_share(level, "a level")
    if not level < power < 1:
        raise InputError(f"Expected a power between the level {level:g} and 1, got {power}.")
    if instances is not None and instances < 2:
        raise InputError(f"Expected at least 2 instances to compare on, got {instances}.")
    return max(within, 0.0), max(across, 0.0)


def _power(instances: IntArray, sd: FloatArray, difference: float, level: float) -> FloatArray:
    """P(|T| > t) for T with K − 1 degrees of freedom and the non-centrality √K·difference/sd."""
    freedom = instances - 1.0
    critical = scipy.special.stdtrit(freedom, 1 - level / 2)
    with np.errstate(divide="ignore"):
        # Far out the power is 1 in every digit, and the distribution cannot be computed.
        shift = np.minimum(
            np.sqrt(instances) * abs(difference) / sd, np.maximum(1e3, 100 * critical)
        )
    below = scipy.special.nctdtr(freedom, shift, -critical)
    above = 1 - scipy.special.nctdtr(freedom, shift, critical)
    # Where a tail cannot be computed, it is empty below and whole above.
    return np.asarray(np.nan_to_num(below, nan=0.0) + np.nan_to_num(above, nan=1.0))


def _least_instances(
    sd: FloatArray, difference: float, power: float, level: float, limit: int
) -> IntArray:
    """The least K with the power wanted for each sd; limit + 1 where the limit does not do."""
    return halve(
        np.full(sd.shape, 2),
        np.full(sd.shape, limit + 1),
        lambda number: _power(number, sd, difference, level) >= power,
    )
