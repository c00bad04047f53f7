"""What it would take to know more: half the error, the difference to the default shown."""

import math
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal
from typing import NamedTuple

import numpy as np

from truecost.errors import InputError
from truecost.judge.beyond import failed_runs, times_of
from truecost.judge.evidence import Primary
from truecost.judge.noise import NOTHING, Noise
from truecost.judge.statements import Comparison, Grade
from truecost.matrix import CostMatrix
from truecost.plan.power import Power, paired_differences, runs_to_tell_apart
from truecost.plan.sizes import Recommendation, runs_needed
from truecost.stats import forecast
from truecost.stats.forecast import Forecast, Goal
from truecost.stats.sample import Ends
from truecost.stats.variance import VarianceComponents, variance_components


class Reach(NamedTuple):
    """How many new instances would show a statement, as `to_show` has it, if they are like the
    pilot's.
    """

    what: str
    found: Forecast


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
        Statements that do not show the configuration better than the default yet, though it looks
        so, and how many new instances would: the one that takes the fewest first.
    apart
        What a paired t-test would take for it.
    """

    plan: Recommendation | None
    no_plan: str
    error: str
    reach: tuple[Reach, ...]
    apart: Power | None


def outlook_of(
    matrix: CostMatrix,
    components: VarianceComponents,
    noise: Noise,
    comparison: Comparison | None,
    compared: CostMatrix,
    wins: Grade | None,
    *,
    delta: float,
    seed: int,
) -> Outlook:
    """The outlook of the configuration with these components; `compared` has the comparison's runs,
    `wins` is a grade.
    """
    plan, no_plan = _plan(components, noise, delta, matrix.width)
    return Outlook(
        plan=plan,
        no_plan=no_plan,
        error="" if plan is None else _digits(plan, components, noise, delta, matrix.width),
        reach=_reach(compared, comparison, wins, delta, seed),
        apart=_apart(matrix, comparison),
    )


def _plan(
    components: VarianceComponents, noise: Noise, delta: float, width: float
) -> tuple[Recommendation | None, str]:
    if math.isnan(noise.standard_error):
        return None, "the incumbent has runs on one instance, from which no error is seen"
    if not noise.standard_error > NOTHING * abs(noise.within + noise.across) ** 0.5:
        return None, "all runs of the incumbent cost the same, so there is no error to be halved"
    try:
        return _needed(noise.standard_error / 2, components, delta, width), ""
    except InputError as refusal:
        return None, str(refusal)


def _needed(
    error: float, components: VarianceComponents, delta: float, width: float
) -> Recommendation:
    return runs_needed(
        error=error,
        components=components,
        width=width if math.isfinite(width) else None,
        delta=delta,
    )


def _digits(
    plan: Recommendation, components: VarianceComponents, noise: Noise, delta: float, width: float
) -> str:
    """Half of the standard error, rounded up to the fewest digits that give the same plan.

    Half of the error often takes exactly four times the instances, and with an error only a little
    smaller it is one more.
    """
    exact = Decimal(noise.standard_error / 2)
    for digits in range(3, 18):
        rounded = Context(prec=digits, rounding=ROUND_CEILING).plus(exact)
        again = _needed(float(rounded), components, delta, width)
        if (again.instances, again.runs) == (plan.instances, plan.runs):
            return format(rounded, "f")
    return repr(noise.standard_error / 2)


def to_show(
    runs: CostMatrix, configuration: str, default: str | None, what: str, *, utility: bool = False
) -> Goal:
    """What these runs say of a statement that is to be shown: "mean", "wins", "wins=0.6",
    "speed-up=1.5" or "solved=0.95".

    `runs` are those of the pilot; all but the last speak of two configurations.
    """
    kind, _, text = what.partition("=")
    try:
        value = float(text) if text else 0.5 if kind == "wins" else math.nan
    except ValueError:
        kind = ""
    if kind not in ("mean", "wins", "speed-up", "solved") or math.isnan(value) != (kind == "mean"):
        raise InputError(
            f"Expected something to `show`: mean, wins, wins=0.6, speed-up=1.5 or solved=0.95, got {what!r}."
        )
    names = [configuration] if kind == "solved" else [configuration, default or ""]
    if "" in names:
        raise InputError(f"Expected a `default` to show {kind} against, and none is known.")
    pair = runs.select(configurations=names)
    pair = pair.select(
        instances=[pair.instances[i] for i in np.flatnonzero((pair.counts() > 0).all(axis=0))]
    )
    failed, charged = failed_runs(pair)
    ours, theirs = pair.charged[0], pair.charged[-1]
    if kind == "solved":
        if not charged or (pair.statuses is None and not math.isfinite(pair.high)):
            raise InputError(
                "Expected to know which runs were solved: give the `cutoff` if costs are running times."
            )
        return forecast.solved(
            np.where(np.isnan(ours), np.nan, ~failed[0] & ~pair.censored[0]), value
        )
    if kind == "wins":
        first, second = (
            Ends(lower=low, upper=high) for low, high in zip(pair.costs, pair.most, strict=True)
        )
        return forecast.wins(first, second, value)
    if kind == "mean":
        if not math.isfinite(pair.width):
            raise InputError(
                "Expected the metric's possible range (`low` and `high`) to show a difference of means."
            )
        return forecast.difference(ours, theirs, pair.low, pair.high)
    if utility or not charged or np.nanmin(pair.costs) < 0:
        raise InputError("Expected costs that are running times for a speed-up.")
    first, second = times_of(pair, failed)
    return forecast.speed_up(first, second, value)


def _reach(
    runs: CostMatrix, found: Comparison | None, wins: Grade | None, delta: float, seed: int
) -> tuple[Reach, ...]:
    """For the mean and for wins, where these are open and look good; on new instances, so that all
    of delta is there.
    """
    if found is None or not found.instances:
        return ()
    open_ones: list[Primary] = [] if wins not in (None, "open") else ["wins"]
    open_ones += ["mean"] if found.grade == "open" and math.isfinite(runs.width) else []
    goals = [(kind, to_show(runs, found.configuration, found.default, kind)) for kind in open_ones]
    made = [Reach(kind, forecast.instances_needed(goal, delta, rng=seed)) for kind, goal in goals]
    likely = [each for each in made if each.found.observed > each.found.above]
    return tuple(sorted(likely, key=lambda each: each.found.instances or math.inf))


def _apart(matrix: CostMatrix, found: Comparison | None) -> Power | None:
    """What it takes to tell the two apart, where nothing is shown yet."""
    if (
        found is None
        or found.grade != "open"
        or not found.estimate
        or not math.isfinite(found.estimate)
    ):
        return None
    try:
        differences = paired_differences(matrix, found.configuration, found.default)
        return runs_to_tell_apart(
            components=variance_components(differences), difference=found.estimate
        )
    except InputError:  # too few common instances, or a difference too small for any number of them
        return None
