"""Where the width of a limit comes from, and how many instances would show what is not shown yet.

The latter is a forecast, not a promise. Every statement is a test of a mean: the units' values lie
in [0, 1], and it is shown when their mean is shown to exceed a number (`Goal`). `of` takes both
from the quantity, as its limit does.

Examples
--------
>>> tc.forecast.width(0.3, 0.5, 0, 1, instances=50).rest > 0
True
"""

import math
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import scipy  # not scipy.special, which takes long: scipy loads it when first asked for
from numpy.typing import ArrayLike

from truecost.errors import InputError, check_share
from truecost.stats import betting, ledger, quantities, scanning
from truecost.stats.designs import numbers_of
from truecost.stats.inversion import Goal as Goal
from truecost.stats.quantities import Quantity
from truecost.stats.random import generator
from truecost.stats.sample import Ends, Sample

# Simulated samples: the share that shows something is then known to 2.5 %.
DRAWS = 400
# How many samples are drawn before asking whether the others can still change the answer.
TOGETHER = 40
MOST = 20_000


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Width:
    """How far a limit of the mean lies from its estimate, and how much of that is there for what
    was never seen.

    Attributes
    ----------
    total
        The distance between the limit and the estimate.
    unseen
        The part due to rare events that n instances cannot rule out: with a probability of `chance`
        a cost at the end of the range could have stayed unseen in all with probability delta.
    rest
        The rest: the spread of observed costs.
    chance
        1 − delta^(1/n): "one in 1/chance".
    """

    total: float
    unseen: float
    rest: float
    chance: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Forecast:
    """How many instances it takes if new ones are as those of the pilot; a forecast, not
    guaranteed.

    Attributes
    ----------
    instances
        The least number with the power asked for; None if the pilot's own mean does not reach the
        goal, or not with 20,000 instances.
    power
        The share of simulated samples in which it was shown; of the largest size tried where there
        is none.
    pilot
        The number of instances behind the forecast.
    observed, above
        The pilot's mean, and what it has to exceed.
    """

    instances: int | None
    power: float
    pilot: int
    observed: float
    above: float


def width(
    estimate: float, limit: float, low: float, high: float, *, instances: int, delta: float = 0.05
) -> Width:
    """The parts of the distance between the estimate of a mean cost and its limit, on the side on
    which the limit lies.

    `delta` is that of this one limit: half of an interval's, or that shared out among several
    configurations.
    """
    if not (low <= min(estimate, limit) and max(estimate, limit) <= high and low < high):
        raise InputError(
            f"Expected the estimate and its limit in [{low:g}, {high:g}], got {estimate:g} and "
            f"{limit:g}."
        )
    check_share(delta)
    if instances < 1:
        raise InputError(f"Expected at least 1 instance, got {instances}.")
    chance = -math.expm1(math.log(delta) / instances)
    total = abs(limit - estimate)
    unseen = min(total, chance * ((high - estimate) if limit >= estimate else (estimate - low)))
    return Width(total=total, unseen=unseen, rest=total - unseen, chance=chance)


def wins(first: ArrayLike | Ends, second: ArrayLike | Ends, share: float = 0.5) -> Goal:
    """The first wins in more than this share of pairs."""
    return of(quantities.WINS, Sample.of(first, second), share)


def solved(runs: ArrayLike | Ends, share: float) -> Goal:
    """At least this share of runs is solved; `runs` as in `truecost.stats.rates.solved`."""
    sample = Sample.of(runs)
    return of(quantities.SOLVED, replace(sample, solved=sample.costs), share)


def quantile(costs: ArrayLike | Ends, share: float, cost: float) -> Goal:
    """At least this share of runs costs at most `cost`."""
    return of(quantities.quantile(share), Sample.of(costs), cost)


def speed_up(
    first: ArrayLike | Ends,
    second: ArrayLike | Ends,
    factor: float,
    *,
    share: float = 0.5,
    resolution: float = 0.01,
) -> Goal:
    """The first is at least this many times faster in the median, or another quantile of the
    ratio.
    """
    return of(quantities.speed_up(share, resolution), Sample.of(first, second), factor)


def difference(first: ArrayLike | Ends, second: ArrayLike | Ends, low: float, high: float) -> Goal:
    """The first costs less than the second on average, with costs in [low, high]."""
    if not low < high:
        raise InputError(f"Expected costs in [{low:g}, {high:g}].")
    return of(quantities.DIFFERENCE, Sample.of(first, second, low=low, high=high), 0.0)


def of(quantity: Quantity, sample: Sample, value: float) -> Goal:
    """The quantity is beyond a value, on the side worth stating."""
    goal = numbers_of(quantity, sample, quantity.side).goal(quantity.side, value)
    if not 0 < goal.above < 1:
        raise InputError(
            f"Expected a {quantity.name} that is possible and not certain, got {value:g}."
        )
    return goal


def instances_needed(
    goal: Goal, delta: float = 0.05, *, power: float = 0.8, rng: int | np.random.Generator = 0
) -> Forecast:
    """With how many instances the statement is expected to be shown, from samples drawn out of the
    pilot.

    Sizes double until the power is reached, then halving finds the least; the same seed is used for
    all of them. A pilot that is small, or better than the truth by luck, makes it optimistic.
    """
    check_share(delta)
    check_share(power, "power")
    values = goal.values
    if not (values.size and ((values >= 0) & (values <= 1)).all() and 0 <= goal.above < 1):
        raise InputError("Expected a goal with values in [0, 1], and a number below 1 to exceed.")
    observed, seed = float(values.mean()), int(generator(rng).integers(1 << 62))
    power_of = partial(_power, goal, delta, seed)
    forecast = partial(Forecast, pilot=values.size, observed=observed, above=goal.above)
    if observed <= goal.above:
        return forecast(instances=None, power=0.0)
    # Doubling first: most statements need few instances, and each try draws hundreds of samples.
    few, many = 0, 1
    while power_of(many, power) < power:
        if many == MOST:
            return forecast(instances=None, power=power_of(many))
        few, many = many, min(2 * many, MOST)
    # To a hundredth: the power is a share of simulated samples, which is not known better.
    while many - few > max(1, many // 100):
        middle = (few + many) // 2
        few, many = (few, middle) if power_of(middle, power) >= power else (middle, many)
    return forecast(instances=many, power=power_of(many))


def chance_to_show(
    goal: Goal, more: int, delta: float = 0.05, *, planned: int, rng: int | np.random.Generator = 0
) -> float:
    """The chance that more instances show the statement, as `is_shown` decides, if they are like
    those seen.

    A forecast, not guaranteed. Pólya's urn, the predictive side of the Bayesian bootstrap (Rubin
    1981), draws what comes next, so that a small pilot is not taken for the truth.
    """
    check_share(delta)
    if not goal.values.size or more < 0:
        raise InputError("Expected a goal with values, and a number of instances from 0.")
    draws = generator(rng).random((DRAWS, more))
    return float(np.mean(scanning.urn_shows(goal.values, draws, goal.above, 1 / delta, planned)))


def is_shown(goal: Goal, delta: float = 0.05, *, planned: int) -> bool:
    """Whether it is shown while the planned instances come in, with a look after each; see
    `confidence.watched`.
    """
    rows, target = goal.values[np.newaxis], 1 / delta
    # The first is quick, and never false where the second is true.
    asked = np.array([planned]), ledger.WATCHED, False
    return bool(
        ledger.rejects(rows, goal.above, target, *asked, True)[0]
        and ledger.lower(rows, target, *asked)[0] > goal.above
    )


def refutation(goal: Goal) -> Goal:
    """The goal that the statement is false."""
    return replace(goal, values=1 - goal.values, above=1 - goal.above)


def _power(goal: Goal, delta: float, seed: int, n: int, asked: float | None = None) -> float:
    """The share of samples of n instances of the pilot in which the statement is shown.

    If only whether it is at least `asked` matters, the samples end where that is certain: what is
    returned is then on the same side of `asked` as the share.
    """
    if goal.exact:
        successes = np.arange(1, n + 1)
        enough = successes[scipy.special.bdtrc(successes - 1, n, goal.above) <= delta]
        if not enough.size:
            return 0.0
        return float(scipy.special.bdtrc(enough[0] - 1, n, goal.values.mean()))
    # Fewer samples where each is large: a share of 100 is known to 4 %.
    left = draws = DRAWS if n <= 2000 else 100
    reached, above, rng = 0, max(goal.above, 1e-12), np.random.default_rng(seed)
    while left:
        samples = rng.choice(goal.values, (min(left, TOGETHER), n))
        reached += int(betting.star_reaches(samples, above, 1 / delta, False, goal.balanced).sum())
        left -= len(samples)
        if asked is not None and (reached + left) / draws < asked:
            return (reached + left) / draws
        if asked is not None and reached / draws >= asked:
            break
    return reached / draws
