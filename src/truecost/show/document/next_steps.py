"""What to do next: advice in the order of use, a plan, and commands to copy."""

import math

from truecost.errors import Refusal
from truecost.judge.evidence import IF_NOT_RACED, UNSORTED
from truecost.show.blocks import Block, Commands, Fact, Facts, Fold, Points, Section, Text
from truecost.show.document.context import Case, opening
from truecost.show.document.verdict import against_default
from truecost.show.numbers import chance, counted, duration, number, percent

# The commands to copy, with their purposes.
VALIDATE = "run winner and default on new instances until decided"
FILL_IN = "writes scenario.toml: fill in its [target], which SMAC3 does not log; then"
PLAN = "runs and instances that halve the standard error; takes prices and budgets, too"
SHOW = "new instances needed to show it; also wins=0.6, speed-up=1.5, solved=0.95"
AUDIT = "this verdict in the terminal; exit code 0 if shown to be better"
CERTIFY = "the guarantee alone, with its assumptions"
# Forecasts stop at this number of instances.
MOST = 20_000
# An allocation with less excess variance is as good as even.
EVEN_ENOUGH = 1.05


def what_next(case: Case) -> Section:
    """Return advice, commands, and a plan."""
    lead, *others = steps_of(case)
    blocks: list[Block] = [Points("And then", tuple(others))] if others else []
    if lines := _commands(case):
        blocks.append(Commands(lines))
    blocks.append(Fold("How many runs, on how many instances?", tuple(_planned(case))))
    return Section("next", "What to do next", lead, tuple(blocks))


def next_step(case: Case) -> Section:
    """Return the most useful advice with the command that follows it."""
    commands = _commands(case)
    # The runs that decide first, then what they would have to be; this audit is on the screen.
    order = (" from-log ", " validate ", " plan ", " info ", " certify ")
    by_use = [line for word in order for line in commands if word in line[0]]
    # A scenario to fill in is no use without the command that reads it.
    count = 2 if by_use and " from-log " in by_use[0][0] else 1
    blocks = (Commands(tuple(by_use[:count]), title=""),) if by_use else ()
    return Section("next", "What to do next", steps_of(case)[0], blocks)


def recommendation(case: Case, name: str, seconds: float, **options: object) -> Section:
    """Return how sure it is that what a search recommends is better than the default.

    If it is not shown, with the costs of both and what a validation would cost; a run takes these
    CPU `seconds`, and `options` are those of the command.
    """
    assessment = case.assessment
    comparison, default = assessment.comparison, assessment.default
    if comparison is None or default is None:
        return Section("use", "", "Keep the default: the search found nothing better.", ())
    (winner, rival), keep = case.pair(comparison), name == default
    verdict = against_default(case, comparison)
    use, costs = f"Keep {rival}." if keep else f"Use {winner}.", ""
    if assessment.grade != "better" and {comparison.configuration, default} <= {*assessment.tested}:
        pair = (comparison.configuration, default)
        ours, theirs = (case.amount(assessment.tested[rival_name]) for rival_name in pair)
        where = counted(comparison.instances, "held-out instance")
        costs = f" On {where}, {winner} {case.mean_scale.verb} {ours} and {rival} {theirs}."
    if assessment.grade != "open":
        return Section("use", "", f"{use} {verdict}{costs}", ())
    reaches = (item for item in assessment.outlook.reach if item.what == assessment.primary)
    reach = next(reaches, None)
    needed = None if reach is None else reach.forecast.instances
    if needed is None:
        # Without a forecast, time is the only budget one can name.
        few, budget = counted(comparison.instances, "common instance"), "2h"
        price = (
            f"{few} cannot say how many new ones would decide it; a validation stops once it is."
        )
    else:
        time, budget = duration(2 * needed * seconds), f"{2 * needed}runs"
        price = (
            f"To find out, run both on about {counted(needed, 'new instance')}: "
            f"{counted(2 * needed, 'run')}, about {time} of CPU time."
        )
    use = f"Keep {rival}: {winner} is not shown to be better."
    if not keep:
        # One instruction: a sentence that says to use it is read as a guarantee.
        use = (
            f"{winner[0].upper()}{winner[1:]} looks better, but it is not shown to be better than "
            f"{rival}: validate it before you use it."
        )
    lead = f"{use} {verdict}{costs} {price}"
    command = case.context.command("validate", instances="test/*", budget=budget, **options)
    blocks = () if command is None else (Commands((_validation(command),), title=""),)
    return Section("use", "", lead, blocks)


def _planned(case: Case) -> list[Block]:
    outlook, noise = case.assessment.outlook, case.assessment.noise
    plan, half = outlook.plan, number(noise.standard_error / 2, 2)
    facts = []
    if not isinstance(plan, Refusal):
        floor = math.sqrt(max(0.0, plan.across) / case.assessment.spread.instances)
        goal = f"for a standard error of {case.cost(half)}"
        facts += [
            Fact("plan-instances", plan.instances, f"{plan.instances:,}", note=goal),
            Fact("plan-runs", plan.runs, f"{plan.runs:,}", note="of the one configuration"),
            Fact("floor", floor, number(floor, 2), unit=case.context.in_unit),
        ]
    for reach in outlook.reach:
        needed = reach.forecast.instances
        where = "on average" if reach.what == "mean" else "by wins"
        size = "out of reach" if needed is None else f"{needed:,}"
        facts.append(Fact("shown-on", needed, size, note=f"{where}; now {reach.forecast.pilot:,}"))
    if (test := outlook.apart) is not None:
        note = f"{counted(test.runs_each, 'run')} of both on each"
        facts.append(Fact("tell-apart", test.instances, f"{test.instances:,}", note=note))
    blocks: list[Block] = [Facts(tuple(facts), page_only=True)] if facts else []
    if isinstance(plan, Refusal):
        reason = plan.reason.rstrip(".")
        return [*blocks, Text(f"No plan for half of the error: {reason}.", aside=True)]
    note = f"All of these have a standard error of {half} or less."
    title, inputs = "Other numbers of instances for the same error", {"recommendation": plan}
    figure = case.figure("plan_curve", title, note, lambda: inputs, "plan", signed=False)
    return [*blocks, figure]


def steps_of(case: Case) -> tuple[str, ...]:
    """Return advice, the most useful first."""
    assessment = case.assessment
    steps, outlook = [], assessment.outlook
    # Said first: a list of advice reads as if something were missing.
    if assessment.comparison is not None and assessment.grade != "open":
        steps.append("Nothing more is needed for this verdict.")
    if assessment.certificate is None:
        steps.append(_to_certify(case))
    if assessment.default is None:
        steps.append(
            "Name the default configuration (`default`), if it has runs on these instances, to see "
            "what tuning gained."
        )
    elif outlook.reach or outlook.assumed or outlook.apart is not None:
        steps.append(_to_show(case))
    if (condition := _condition(case)) is not None:
        steps.append(condition)
    if assessment.scope.sampled != "fold":
        steps.append(_to_reduce_noise(case))
    excess = assessment.spread.variance_over_even
    if excess > EVEN_ENOUGH and assessment.scope.unit != "family":
        less = percent(1 - 1 / excess)
        steps.append(f"Spread the runs evenly: as many runs would have {less} less variance.")
    return tuple(steps)


def _condition(case: Case) -> str | None:
    """Return what the user may know and the runs do not say."""
    evidence = case.assessment.own_evidence
    if isinstance(evidence, Refusal) or evidence.condition is None:
        return None
    if evidence.condition == UNSORTED:
        return (
            "If the number of runs did not depend on costs, say so (`raced=False`); if it did, and "
            "the instances are in random order, say that (`raced`)."
        )
    return (
        "If these configurations were not tuned on these instances, say how they were chosen "
        "(`chosen`): the condition is then dropped."
    )


def _to_reduce_noise(case: Case) -> str:
    """Return what makes the estimated cost more precise."""
    assessment = case.assessment
    noise, scope = assessment.noise, assessment.scope
    now, new, same = (
        number(error, 2)
        for error in (noise.standard_error, noise.new_instances, noise.same_instances_again)
    )
    if assessment.failed[assessment.place] == 1:
        return "Use easier instances, or a larger cutoff: on these, all its runs fail."
    if noise.constant:
        return f"Use more varied instances: on these, all runs of {case.winner} cost the same."
    if scope.about == "these" and scope.sampled != "family":
        return "Add seeds: statements about these instances get sharper with more runs on them."
    if noise.bottleneck is None and math.isfinite(noise.share_low):
        return (
            f"Add {scope.plural}: doubling the runs on new ones cuts the standard error from {now} "
            f"to {new}, whichever of seeds and {scope.plural} matters more."
        )
    if noise.bottleneck is None:
        return (
            "Run some configurations twice on the same instances, to measure how much noise comes "
            "from the seeds."
        )
    if noise.bottleneck == "instances":
        same = f"it stays {same}" if same == now else f"only to {same}"
        seeds = "instances" if scope.unit == "family" else "seeds"
        return (
            f"Add {scope.plural}, not {seeds}: doubling the runs on new {scope.plural} cuts the "
            f"standard error from {now} to {new}; on the same ones {same}."
        )
    return (
        f"Add runs: doubling them cuts the standard error from {now} to {same} on the same "
        f"{scope.plural}, and to {new} on new ones."
    )


def _to_certify(case: Case) -> str:
    """Return what a certificate needs: new instances, the default's test runs, or a cost range."""
    assessment = case.assessment
    comparison, tested = assessment.comparison, assessment.optimism.source == "test runs"
    if tested and comparison is not None and comparison.on == "training":
        default = case.called(comparison.default)
        return f"Run {default} on the test instances as well, or both on new ones, to compare them."
    ranged = math.isfinite(assessment.matrix.width)
    if not ranged and not isinstance(assessment.own_evidence, Refusal):
        runs = "the test runs" if tested else "these runs"
        return (
            f"Give the metric's possible range (`low` and `high`): {runs} can then certify the "
            f"{case.mean_scale.mean}."
        )
    if IF_NOT_RACED in (assessment.no_certificate or ""):
        return f"{opening(IF_NOT_RACED)}: these runs can then be tested."
    if assessment.scope.sampled == "fold":
        return "Use results on other data sets, or of each row of a test set, as instances."
    rival = assessment.default not in (None, assessment.incumbent)
    run = f"Run {case.winner}{' and the default' if rival else ''}"
    if case.nowhere or assessment.scope.sampled == "seed":
        return f"{run} with seeds not used for tuning, if seeds matter."
    new = f"on new {assessment.scope.plural}, not used for tuning"
    return f"{run} {new}: only they can certify it."


def _to_show(case: Case) -> str:
    """Return what it takes to show the observed difference, by the guarantees and by a t-test."""
    assessment = case.assessment
    comparison = assessment.comparison
    assert comparison is not None  # noqa: S101 - without one there is nothing to show
    (winner, default), scope = case.pair(comparison), assessment.scope
    scale, parts = case.mean_scale, []
    if needed_for := assessment.outlook.assumed:
        effects = " / ".join(f"{100 * needed.effect:.0f}" for needed in needed_for)
        sizes = " / ".join(
            f"over {MOST:,}" if needed.instances is None else f"{needed.instances:,}"
            for needed in needed_for
        )
        sizes = sizes if "over" in sizes else f"about {sizes}"
        wins = needed_for[0].show == "wins"
        cheaper = "cheaper" if scale.sign > 0 else "better"
        truly = f"truly wins {effects} % of the runs" if wins else f"is truly {effects} % {cheaper}"
        parts.append(
            f"run both on new {scope.plural}. If {winner} {truly}, {sizes} {scope.plural} are "
            f"needed to show it{' (fewer if there are ties)' if wins else ''}."
        )
    for place, (kind, _, _, forecast) in enumerate(assessment.outlook.reach):
        lower = f"a {scale.lower} {scale.mean} of {winner} than of {default}"
        goal = lower if kind == "mean" else f"that {winner} wins more often than {default}"
        if forecast.instances is None:
            parts.append(f"{MOST:,} new {scope.plural} would probably not show {goal}.")
        elif place == 0:
            needed = counted(forecast.instances, f"new {scope.unit}")
            outcome = f"{chance(forecast.power)} to show {goal}"
            parts.append(
                f"run both on about {needed}: {outcome}, if the difference is as estimated."
            )
        else:
            needed = counted(forecast.instances, scope.unit)
            parts.append(f"about {needed} would probably show {goal}.")
    if (test := assessment.outlook.apart) is not None:
        size = f"{counted(test.instances, 'instance')} with {counted(test.runs_each, 'run')} each"
        parts.append(
            f"a paired t-test would need about {size} to tell the two apart, if the true "
            "difference is the observed one; it assumes normal differences and a configuration "
            "fixed in advance."
        )
    return " ".join(map(opening, parts))


def _validation(line: str) -> tuple[str, str]:
    """Return a line that validates, with its purpose and what the reader puts in its place."""
    advice = "replace test/* by your files"
    if "instances=test.txt" in line:
        advice = "test.txt lists yours, one per line"
    if "scenario=" in line:
        advice = f"{advice}; the scenario says how to run the solver"
    return line, f"{VALIDATE} ({advice})"


def _commands(case: Case) -> tuple[tuple[str, str], ...]:
    """Return lines to copy, each with its purpose."""
    assessment = case.assessment
    outlook, command = assessment.outlook, case.context.command
    lines = []
    undecided = assessment.certificate is None or assessment.comparison is None
    if assessment.adaptive and assessment.log.parameters and undecided and not case.nowhere:
        # irace logs its target, so validate writes that scenario itself.
        if assessment.log.kind == "smac":
            lines.append((command("scenario from-log"), FILL_IN))
        if (validate := command("validate", instances="test/*", budget="2h")) is not None:
            lines.append(_validation(validate))
    if isinstance(outlook.plan, Refusal):
        lines.append((command("info"), "a summary of the runs and their noise"))
    else:
        plan = {"configuration": assessment.incumbent, "error": outlook.error}
        lines.append((command("plan", **plan), PLAN))
    if outlook.reach:
        lines.append((command("plan", show=outlook.reach[0].what), SHOW))
    lines.append((command("audit"), AUDIT))
    # Without a name unless one was given: on-part may certify another configuration.
    lines.append((command("certify"), CERTIFY))
    return tuple((line, purpose) for line, purpose in lines if line is not None)
