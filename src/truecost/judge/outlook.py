"""What it would take to know more: half the error, the difference to the default shown.

No forecast comes from the very differences that selected the winner, which are too good. Where it
was chosen from a list, halves of the instances choose, and the other halves are the pilot. Where it
was tuned on all of them there is no forecast, only what several true differences would need.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, Context, Decimal
from functools import partial
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from truecost.arrays import FloatArray
from truecost.errors import InputError, Refusal
from truecost.judge.costs import instance_means
from truecost.judge.evidence import Evidence
from truecost.judge.optimism import Noise
from truecost.judge.question import Primary, Stream
from truecost.judge.sampling import read_sample
from truecost.judge.scope import Scope, sampling_design, units_of
from truecost.judge.statements import Comparison
from truecost.matrix import CostMatrix
from truecost.plan.power import Power, paired_differences, runs_to_tell_apart
from truecost.plan.sizes import Recommendation, runs_needed
from truecost.stats import forecast
from truecost.stats.forecast import Forecast
from truecost.stats.inversion import Goal
from truecost.stats.quantities import DIFFERENCE, SHOWABLE, WINS
from truecost.stats.sample import Design
from truecost.stats.variance import variance_components

if TYPE_CHECKING:
    from truecost.judge.assessment import Assessment

# Whether the runs of a pilot selected the configuration that they are to speak of.
Selected = Literal["no", "from a list", "tuned"]
# Random halves behind a forecast: enough that the draw of one decides nothing.
SPLITS = 40
# Fewer common instances than this say nothing about the spread of differences.
FEWEST = 8
# True differences to plan for: cheaper on average by this share, or this share of runs won.
CHEAPER = (0.05, 0.1, 0.2)
WON = (0.55, 0.6, 0.7)


class Reach(NamedTuple):
    """How many new instances would show a statement, as `to_show` has it, if they are like the
    pilot's.
    """

    what: str
    quantity: str
    value: float
    forecast: Forecast


class Assumed(NamedTuple):
    """How many new instances would show a statement if its true value were so much: `effect` is the
    share by which the configuration is cheaper on average, or that of runs it wins.
    """

    show: str
    effect: float
    instances: int | None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Outlook:
    """What to do next, in numbers.

    Attributes
    ----------
    plan
        The cheapest runs with half of the present standard error, or why there are none.
    error
        The standard error that is planned for, with as many digits as the plan takes.
    reach
        Statements that do not show the configuration better than the default yet, though it looks
        so, and how many new instances would: the primary criterion first.
    apart
        What a paired t-test would take for it.
    assumed
        Where these runs selected the configuration by tuning: what its primary statement would
        take, at several true values.
    """

    plan: Recommendation | Refusal
    error: str
    reach: tuple[Reach, ...]
    apart: Power | None
    assumed: tuple[Assumed, ...]


def outlook_of(assessment: "Assessment") -> Outlook:
    """The outlook of the incumbent."""
    noise, comparison = assessment.noise, assessment.comparison
    components = assessment.costs.components[assessment.place]
    delta, width = assessment.question.delta, assessment.matrix.width
    needed = partial(
        runs_needed,
        components=components,
        width=width if math.isfinite(width) else None,
        delta=delta,
    )
    plan = _plan(needed, noise)
    error = "" if isinstance(plan, Refusal) else _digits(needed, plan, noise.standard_error / 2)
    selected = selection_of(assessment)
    assumed: tuple[Assumed, ...] = ()
    if comparison is not None and comparison.instances and comparison.grade == "open":
        names = [comparison.configuration, comparison.default]
        pair = assessment.compared.select(configurations=names)
        if selected == "tuned" and assessment.scope.about == "new" and not assessment.scope.weights:
            seed = _seed(assessment)
            assumed = assumed_effects(pair, assessment.primary, delta=delta, seed=seed)
    return Outlook(
        plan=plan,
        error=error,
        reach=_reach(assessment),
        apart=_apart(assessment.scope, comparison) if selected == "no" else None,
        assumed=assumed,
    )


def selection_of(assessment: "Assessment") -> Selected:
    """Whether the runs behind the comparison selected the configuration."""
    comparison = assessment.comparison
    evidence = assessment.own_evidence if comparison is None else comparison.evidence
    if comparison is not None and comparison.on == "test":
        return "no"
    if not isinstance(evidence, Evidence):
        return "tuned"
    return "from a list" if evidence.chosen in ("from-list", "weighted-list") else "no"


def _seed(assessment: "Assessment") -> int:
    return int(assessment.question.rng(Stream.FORECASTS).integers(2**62))


def _plan(needed: Callable[..., Recommendation], noise: Noise) -> Recommendation | Refusal:
    if math.isnan(noise.standard_error):
        return Refusal("the incumbent has runs on one instance, from which no error is seen")
    if noise.constant:
        return Refusal("all runs of the incumbent cost the same, so there is no error to be halved")
    if noise.standard_error == 0:
        return Refusal("its mean cost is the same on every instance, so no error is seen")
    if math.isnan(noise.within + noise.across):
        return Refusal("how much of the error comes from seeds is not known without second runs")
    try:
        return needed(error=noise.standard_error / 2)
    except InputError as error:
        return Refusal(str(error))


def _digits(needed: Callable[..., Recommendation], plan: Recommendation, error: float) -> str:
    """Half of the standard error, rounded up to the fewest digits that give the same plan."""
    # Half of the error often takes exactly four times the instances, and with an error only a
    # little smaller it is one more.
    for digits in range(3, 18):
        rounded = Context(prec=digits, rounding=ROUND_CEILING).plus(Decimal(error))
        again = needed(error=float(rounded))
        if (again.instances, again.runs) == (plan.instances, plan.runs):
            return format(rounded, "f")
    return repr(error)


def reach_of(assessment: "Assessment", what: str, *, power: float = 0.8) -> Reach:
    """How many instances would show a statement, if they are like these: "mean", "wins",
    "wins=0.6", "speed-up=1.5" or "solved=0.95".
    """
    comparison, default = assessment.comparison, assessment.default
    configuration = assessment.incumbent if comparison is None else comparison.configuration
    runs, scope, selected = assessment.compared, assessment.scope, selection_of(assessment)
    seed = _seed(assessment)
    kind, _, text = what.partition("=")
    quantity = SHOWABLE.get(kind)
    try:
        value = float(text) if text else math.nan
    except ValueError:
        quantity, value = None, math.nan
    if quantity is not None and not text and quantity.even is not None and quantity.show == kind:
        value = quantity.even
    # Of the difference of means only its sign can be asked for, in whatever unit costs are.
    if quantity is None or math.isnan(value) or (quantity is DIFFERENCE and text):
        examples = ", ".join(quantity.show for quantity in SHOWABLE.values())
        raise InputError(f"Expected something to `show`: {examples}, got {what!r}.")
    paired = quantity.even is not None
    if paired and default is None:
        raise InputError(f"Expected a `default` to show {kind} against, and none is known.")
    if paired and configuration == default:
        raise InputError(
            f"Expected a `configuration` that is not the default to show {kind} of, and none of "
            "these costs less than the default: name one."
        )
    if selected == "tuned":
        raise InputError(
            f"Expected runs that did not select the configuration, to forecast {kind} from, and "
            "these did. Run it and the default on some new instances."
        )

    def goal_of(name: str) -> Goal:
        names = [name, *([default] if paired and default is not None else [])]
        design = sampling_design(runs, scope) if scope.about == "new" else Design()
        sample = read_sample(runs.select(configurations=names), timed=True, design=design)
        if (reason := quantity.refusal(sample)) is not None:
            times_unknown = sample.solved is None and not sample.utility
            remedy = " If costs are running times, give the `cutoff`." if times_unknown else ""
            raise InputError(f"Expected runs that can show {kind}: {reason}.{remedy}")
        return forecast.of(quantity, sample, value)

    # Where the pilot chose from a list, halves of it choose and the others forecast.
    goal, pilot = goal_of(configuration), None
    if selected == "from a list" and goal.values.size == len(runs.instances):
        goal, pilot = _held_out(runs, default, goal, goal_of, seed), goal.values.size
    delta = assessment.question.delta
    expected = forecast.instances_needed(goal, delta, power=power, rng=seed)
    return Reach(
        what, quantity.name, value, expected if pilot is None else replace(expected, pilot=pilot)
    )


def _held_out(
    runs: CostMatrix, default: str | None, goal: Goal, goal_of: Callable[[str], Goal], seed: int
) -> Goal:
    """The numbers, on the other half of the instances, of the configuration that a random half
    would choose; over many halves.
    """
    rng, (means, mask) = np.random.default_rng(seed), instance_means(runs)
    instances = means.shape[1]
    # Only those with runs on all instances can be chosen on any half and judged on the other.
    means = np.where(mask.all(axis=1, keepdims=True), means, np.inf)
    numbers: dict[int, FloatArray] = {}
    pooled = []
    for _ in range(SPLITS):
        half = rng.permutation(instances)
        choosing, judging = half[: instances // 2], half[instances // 2 :]
        place = int(means[:, choosing].mean(axis=1).argmin())
        if place not in numbers:
            name = runs.configurations[place]
            # The default is neither better nor worse than itself.
            same = np.full(instances, goal.above)
            numbers[place] = same if name == default else goal_of(name).values
        pooled.append(numbers[place][judging])
    return replace(goal, values=np.concatenate(pooled))


def assumed_effects(
    pair: CostMatrix, primary: Primary, *, delta: float, seed: int
) -> tuple[Assumed, ...]:
    """What the primary statement would take if the true difference were one of several.

    Means have the spread of these runs around another mean; wins are taken as 0 or 1, which is
    their largest spread.
    """
    quantity, effects = (WINS, WON) if primary == "wins" else (DIFFERENCE, CHEAPER)
    sample = read_sample(pair, timed=True)
    if quantity.refusal(sample) is not None:
        return ()
    goal = forecast.of(quantity, sample, quantity.even or 0.0)
    if primary == "mean" and goal.values.size < FEWEST:
        return ()
    needed = []
    for effect in effects:
        if primary == "wins":
            shifted = (np.arange(100) < round(100 * effect)).astype(np.float64)
        else:
            # Of a score, a negative cost, the share is one of its size.
            cheaper = effect * abs(float(sample.means(1, "lower").mean()))
            mean = 0.5 + cheaper / (2 * pair.width)
            shifted = np.clip(goal.values - goal.values.mean() + mean, 0, 1)
        outcome = forecast.instances_needed(replace(goal, values=shifted), delta, rng=seed)
        needed.append(Assumed(primary, effect, outcome.instances))
    return tuple(needed)


def _reach(assessment: "Assessment") -> tuple[Reach, ...]:
    """For the primary criterion and then the other, where these are undecided and look good; on new
    instances, so with all of delta.
    """
    comparison, scope, selected = assessment.comparison, assessment.scope, selection_of(assessment)
    if comparison is None or comparison.instances < FEWEST or selected == "tuned":
        return ()
    # New instances say nothing about these; a list of families has no halves.
    if scope.about == "these" or scope.weights or (selected == "from a list" and not scope.usual):
        return ()
    undecided: list[Primary] = []
    if assessment.wins is None or assessment.wins.grade == "open":
        undecided.append("wins")
    if comparison.grade == "open" and math.isfinite(assessment.compared.width):
        undecided.append("mean")
    made = [reach_of(assessment, kind) for kind in undecided]
    likely = [reach for reach in made if reach.forecast.observed > reach.forecast.above]
    return tuple(sorted(likely, key=lambda reach: reach.what != assessment.primary))


def _apart(scope: Scope, comparison: Comparison | None) -> Power | None:
    """What it takes to tell the two apart, by the runs that compare them, where nothing is shown
    yet.
    """
    if comparison is None or comparison.instances < FEWEST or comparison.grade != "open":
        return None
    if not comparison.observed or not math.isfinite(comparison.observed):
        return None
    try:
        runs = units_of(comparison.runs, scope)
        differences = paired_differences(runs, comparison.configuration, comparison.default)
        return runs_to_tell_apart(
            components=variance_components(differences), difference=comparison.observed
        )
    except InputError:  # too few common instances, or a difference too small for any number of them
        return None
