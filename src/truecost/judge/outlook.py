"""What it would take to know more: half the error, the difference to the default shown."""

import math
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal
from typing import NamedTuple

import numpy as np

from truecost.errors import InputError
from truecost.judge.evidence import Evidence
from truecost.judge.noise import NOTHING, Noise
from truecost.judge.statements import Comparison, limits_of_difference
from truecost.matrix import CostMatrix
from truecost.plan.power import Power, paired_differences, runs_to_tell_apart
from truecost.plan.sizes import Recommendation, runs_needed
from truecost.stats.variance import VarianceComponents, variance_components

# How many times the instances of a comparison are taken, to see when it would be shown.
REPEATS = (2, 3, 4, 6, 8, 12, 16)


class Reach(NamedTuple):
    """On how many `instances` the verdict's own limits would show the difference; None if not even on those `tried`.

    New ones are taken to be like the `seen`; `to_choose`, so many more are needed to choose by.
    """

    instances: int | None
    seen: int
    tried: int
    to_choose: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Outlook:
    """What to do next, in numbers.

    Attributes
    ----------
    plan, no_plan
        The cheapest runs with half of the present standard error, or why there is no plan.
    error
        The standard error that is planned for, with as many digits as the plan takes.
    reach
        What it takes to show the configuration better than the default, where it is not yet, and looks it.
    apart
        What a paired t-test would take for it.
    """

    plan: Recommendation | None
    no_plan: str
    error: str
    reach: Reach | None
    apart: Power | None


def outlook_of(
    matrix: CostMatrix,
    components: VarianceComponents,
    noise: Noise,
    comparison: Comparison | None,
    evidence: Evidence | None,
    *,
    delta: float,
    rng: np.random.Generator,
) -> Outlook:
    """The outlook of the configuration with these components; `evidence` is that of the comparison."""
    plan, no_plan = _plan(components, noise, delta, matrix.width)
    return Outlook(
        plan=plan,
        no_plan=no_plan,
        error="" if plan is None else _digits(plan, components, noise, delta, matrix.width),
        reach=_reach(matrix, comparison, evidence, delta, rng),
        apart=_apart(matrix, comparison),
    )


def _plan(components: VarianceComponents, noise: Noise, delta: float, width: float) -> tuple[Recommendation | None, str]:
    if math.isnan(noise.standard_error):
        return None, "the incumbent has runs on one instance, from which no error is seen"
    if not noise.standard_error > NOTHING * abs(noise.within + noise.across) ** 0.5:
        return None, "all runs of the incumbent cost the same, so there is no error to be halved"
    try:
        return _needed(noise.standard_error / 2, components, delta, width), ""
    except InputError as refusal:
        return None, str(refusal)


def _needed(error: float, components: VarianceComponents, delta: float, width: float) -> Recommendation:
    return runs_needed(error=error, components=components, width=width if math.isfinite(width) else None, delta=delta)


def _digits(plan: Recommendation, components: VarianceComponents, noise: Noise, delta: float, width: float) -> str:
    """Half of the standard error, rounded up to the fewest digits that give the same plan.

    Half of the error often takes exactly four times the instances, and with an error only a little smaller it is one more.
    """
    exact = Decimal(noise.standard_error / 2)
    for digits in range(3, 18):
        rounded = Context(prec=digits, rounding=ROUND_CEILING).plus(exact)
        again = _needed(float(rounded), components, delta, width)
        if (again.instances, again.runs) == (plan.instances, plan.runs):
            return format(rounded, "f")
    return repr(noise.standard_error / 2)


def _reach(
    matrix: CostMatrix, found: Comparison | None, evidence: Evidence | None, delta: float, rng: np.random.Generator
) -> Reach | None:
    """The limits of the comparison once more, as if every instance had been drawn several times."""
    if found is None or found.upper is None or found.upper < 0 or not found.estimate < 0:
        return None
    if evidence is None or evidence.at_all_times:
        return None
    pair = evidence.runs.select(configurations=[found.configuration, found.default])
    costs = pair.charged[:, (pair.counts() > 0).all(axis=0)]
    seen = costs.shape[1]
    choosing = len(matrix.instances) / seen - 1 if evidence.chosen == "on-part" else 0.0
    for times in REPEATS:
        names = [str(place) for place in range(times * seen)]
        runs = CostMatrix(np.tile(costs, (1, times, 1)), pair.configurations, names, pair.low, pair.high)
        limits = limits_of_difference(evidence._replace(runs=runs), found.default, delta=delta, rng=rng)
        if limits.upper < 0:
            return Reach(times * seen, seen, times * seen, round(times * seen * choosing))
    return Reach(None, seen, REPEATS[-1] * seen, 0)


def _apart(matrix: CostMatrix, found: Comparison | None) -> Power | None:
    """What it takes to tell the two apart, where nothing is shown yet."""
    if found is None or found.grade != "open" or not found.estimate or not math.isfinite(found.estimate):
        return None
    try:
        differences = paired_differences(matrix, found.configuration, found.default)
        return runs_to_tell_apart(components=variance_components(differences), difference=found.estimate)
    except InputError:  # too few common instances, or a difference too small for any number of them
        return None
