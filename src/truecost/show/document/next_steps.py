"""What to do next: advice in the order of use, a plan, and commands to copy."""

import math

from truecost.judge.assessment import Assessment
from truecost.judge.refusal import Refusal
from truecost.runs import NO_INSTANCE
from truecost.show.blocks import Block, Commands, Fact, Facts, Figure, Fold, Points, Section, Text
from truecost.show.document.context import Context, called, drawing, opening
from truecost.show.document.noise import still
from truecost.show.numbers import chance, counted, number, percent

# The commands to copy, with their purposes.
VALIDATE = "run both on new instances until decided (replace test/* by your files)"
FILL_IN = "writes scenario.toml: fill in its [target], which SMAC3 does not log; then"
PLAN = "runs and instances that halve the standard error; takes prices and budgets, too"
SHOW = "new instances needed to show it; also wins=0.6, speed-up=1.5, solved=0.95"
AUDIT = "this verdict in the terminal; exit code 0 if shown to be better"
CERTIFY = "the guarantee alone, with its assumptions"
# Forecasts stop at this number of instances.
MOST = 20_000
# An allocation with less excess variance is as good as even.
EVEN_ENOUGH = 1.05


def what_next(assessment: Assessment, context: Context) -> Section:
    """Return advice, commands, and a plan."""
    lead, *others = steps_of(assessment)
    blocks: list[Block] = [Points("And then", tuple(others))] if others else []
    if lines := _commands(assessment, context):
        blocks.append(Commands(lines))
    title = "How many runs, on how many instances?"
    blocks.append(Fold(title, tuple(_planned(assessment, context))))
    return Section("next", "What to do next", lead, tuple(blocks))


def next_step(assessment: Assessment, context: Context) -> Section:
    """Return the most useful advice with the command that follows it."""
    commands = _commands(assessment, context)
    # The runs that decide first, then what they would have to be; this audit is on the screen.
    order = (" validate ", " plan ", " info ", " certify ")
    ranked = [line for word in order for line in commands if word in line[0]]
    blocks = (Commands(tuple(ranked[:1]), title=""),) if ranked else ()
    return Section("next", "What to do next", steps_of(assessment)[0], blocks)


def _planned(assessment: Assessment, context: Context) -> list[Block]:
    outlook, noise = assessment.outlook, assessment.noise
    plan, half = outlook.plan, number(noise.standard_error / 2, 2)
    facts = []
    if not isinstance(plan, Refusal):
        floor = math.sqrt(max(0.0, plan.across) / assessment.spread.instances)
        goal = f"for a standard error of {context.cost(half)}"
        facts += [
            Fact("plan-instances", plan.instances, f"{plan.instances:,}", note=goal),
            Fact("plan-runs", plan.runs, f"{plan.runs:,}", note="of the one configuration"),
            Fact("floor", floor, number(floor, 2), unit=context.in_unit),
        ]
    for reach in outlook.reach:
        needed = reach.forecast.instances
        where = "on average" if reach.what == "mean" else "on most instances"
        shown = "out of reach" if needed is None else f"{needed:,}"
        facts.append(Fact("shown-on", needed, shown, note=f"{where}; now {reach.forecast.pilot:,}"))
    if (test := outlook.apart) is not None:
        note = f"{counted(test.runs_each, 'run')} of both on each"
        facts.append(Fact("tell-apart", test.instances, f"{test.instances:,}", note=note))
    blocks: list[Block] = [Facts(tuple(facts), where="page")] if facts else []
    if isinstance(plan, Refusal):
        reason = plan.reason.rstrip(".")
        return [*blocks, Text(f"No plan for half of the error: {reason}.", aside=True)]
    note = f"All of these have a standard error of {half} or less."
    title = "Other numbers of instances for the same error"
    draw = drawing("plan_curve", lambda: {"recommendation": plan}, unit=context.unit)
    return [*blocks, Figure("plan", title, (note,), draw, where="page")]


def steps_of(assessment: Assessment) -> tuple[str, ...]:
    """Return advice, the most useful first."""
    noise, steps = assessment.noise, []
    if assessment.certificate is None:
        steps.append(_to_certify(assessment))
    if assessment.default is None:
        steps.append(
            "Name the default configuration (`default`), if it has runs on these instances, to see "
            "what tuning gained."
        )
    elif (
        assessment.outlook.reach
        or assessment.outlook.assumed
        or assessment.outlook.apart is not None
    ):
        steps.append(_to_show(assessment))
    now, new, same = (
        number(error, 2)
        for error in (noise.standard_error, noise.new_instances, noise.same_instances_again)
    )
    if still(assessment):
        steps.append("Use harder or more varied instances: on these, all runs cost the same.")
    elif noise.bottleneck is None and math.isfinite(noise.share_low):
        steps.append(
            f"Add instances: doubling the runs on new ones cuts the standard error from {now} to "
            f"{new}, whichever of seeds and instances matters more."
        )
    elif noise.bottleneck is None:
        steps.append(
            "Run some configurations twice on the same instances, to measure how much noise comes "
            "from the seeds."
        )
    elif noise.bottleneck == "instances":
        same = f"it stays {same}" if same == now else f"only to {same}"
        steps.append(
            f"Add instances, not seeds: doubling the runs on new instances cuts the standard error "
            f"from {now} to {new}; on the same ones {same}."
        )
    else:
        steps.append(
            f"Add runs: doubling them cuts the standard error from {now} to {same} on the same "
            f"instances, and to {new} on new ones."
        )
    excess = assessment.spread.variance_over_even
    if excess > EVEN_ENOUGH:
        less = percent(1 - 1 / excess)
        steps.append(f"Spread the runs evenly: as many runs would have {less} less variance.")
    return tuple(steps)


def _to_certify(assessment: Assessment) -> str:
    """Return what a certificate needs: new instances, the default's test runs, or a cost range."""
    comparison, tested = assessment.comparison, assessment.optimism.source == "test runs"
    incumbent = called(assessment, assessment.incumbent)
    if tested and assessment.default is None:
        return (
            "Give the metric's possible range (`low` and `high`): the test runs can then certify "
            "the mean cost."
        )
    if tested and comparison is not None and comparison.on == "training":
        default = called(assessment, comparison.default)
        return f"Run {default} on the test instances, too, to compare {incumbent} with it."
    both = "" if assessment.default is None else " and the default"
    if assessment.log.matrix.instances == (NO_INSTANCE,):
        return f"Run {incumbent}{both} with seeds not used for tuning, if seeds matter."
    return f"Run {incumbent}{both} on new instances, not used for tuning: only they can certify it."


def _to_show(assessment: Assessment) -> str:
    """Return what it takes to show the observed difference, by the guarantees and by a t-test."""
    comparison = assessment.comparison
    assert comparison is not None  # noqa: S101 - without one there is nothing to show
    winner = called(assessment, comparison.configuration)
    default, units = called(assessment, comparison.default), assessment.scope.plural
    parts = []
    if needed_for := assessment.outlook.assumed:
        effects = " / ".join(f"{100 * needed.effect:.0f}" for needed in needed_for)
        sizes = " / ".join(
            f"over {MOST:,}" if needed.instances is None else f"{needed.instances:,}"
            for needed in needed_for
        )
        wins = needed_for[0].show == "wins"
        truly = f"truly wins {effects} % of the runs" if wins else f"is truly {effects} % cheaper"
        parts.append(
            f"run both on new instances. If {winner} {truly}, about {sizes} instances are needed "
            "to show it."
        )
    for place, (kind, _, _, forecast) in enumerate(assessment.outlook.reach):
        lower = f"a lower mean cost of {winner} than of {default}"
        goal = lower if kind == "mean" else f"that {winner} beats {default} on most instances"
        if forecast.instances is None:
            parts.append(f"{MOST:,} new {units} would probably not show {goal}.")
        elif place == 0:
            needed = f"{forecast.instances:,} new {units}"
            outcome = f"{chance(forecast.power)} to show {goal}"
            parts.append(
                f"run both on about {needed}: {outcome}, if the difference is as estimated."
            )
        else:
            needed = counted(forecast.instances, "instance")
            parts.append(f"about {needed} would probably show {goal}.")
    if (test := assessment.outlook.apart) is not None:
        size = f"{counted(test.instances, 'instance')} with {counted(test.runs_each, 'run')} each"
        parts.append(
            f"a paired t-test needs about {size}, assuming normal differences and a configuration "
            "fixed in advance."
        )
    return " ".join(map(opening, parts))


def _commands(assessment: Assessment, context: Context) -> tuple[tuple[str, str], ...]:
    """Return lines to copy, each with its purpose."""
    outlook, name = assessment.outlook, assessment.incumbent
    lines: list[tuple[str | None, str]] = []
    undecided = assessment.certificate is None or assessment.comparison is None
    anywhere = assessment.log.matrix.instances != (NO_INSTANCE,)
    if assessment.adaptive and assessment.log.parameters and undecided and anywhere:
        if assessment.log.kind == "smac":
            lines.append((context.command("scenario from-log"), FILL_IN))
        lines.append((context.command("validate", instances="test/*", budget="2h"), VALIDATE))
    if isinstance(outlook.plan, Refusal):
        lines.append((context.command("info"), "a summary of the runs and their noise"))
    else:
        lines.append((context.command("plan", configuration=name, error=outlook.error), PLAN))
    if outlook.reach:
        lines.append((context.command("plan", show=outlook.reach[0].what), SHOW))
    lines.append((context.command("audit"), AUDIT))
    # Without a name unless one was given: on-part may certify another configuration.
    lines.append((context.command("certify"), CERTIFY))
    return tuple((line, purpose) for line, purpose in lines if line is not None)
