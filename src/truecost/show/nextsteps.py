"""The section on what to do next: a plan, advice, and commands to copy."""

import math
import shlex

from truecost.show import figures
from truecost.show.content import Block, Commands, Fact, Facts, Points, Section, Text, captioned, number, percent
from truecost.show.findings import Findings
from truecost.show.numbers import counted

# An allocation that wastes less than this share of its variance is as good as even.
EVEN_ENOUGH = 1.05


def what_next(found: Findings) -> Section:
    """The plan, advice, and commands to copy."""
    plan, unit = found.plan, found.in_unit
    lead, *more = steps_of(found)
    blocks: list[Block] = [Points(title="And then", points=tuple(more))] if more else []
    noise = found.audit.noise
    facts = []
    if plan is not None:
        target = number(noise.standard_error / 2, 2)
        half = f"for a standard error of {target}{f' {unit}' if unit else ''}"
        facts += [
            Fact(term="plan-instances", value=plan.instances, shown=f"{plan.instances:,}", note=half),
            Fact(term="plan-runs", value=plan.runs, shown=f"{plan.runs:,}", note="of the one configuration"),
        ]
        least = math.sqrt(max(0.0, plan.across) / int(found.costs.instances[found.own]))
        facts.append(Fact(term="floor", value=least, shown=number(least, 2), unit=unit))
    if found.reach is not None:
        reach = found.reach
        shown = f"over {reach.tried:,}" if reach.instances is None else f"{reach.instances:,}"
        facts.append(Fact(term="shown-on", value=reach.instances, shown=shown, note=f"now {reach.seen:,}"))
    if found.apart is not None:
        each = f"{counted(found.apart.runs_each, 'run')} of both on each"
        facts.append(Fact(term="tell-apart", value=found.apart.instances, shown=f"{found.apart.instances:,}", note=each))
    if facts:
        blocks.append(Facts(facts=tuple(facts)))
    if plan is None:
        blocks.append(Text(text=found.no_plan, aside=True))
    else:
        data = figures.plan_curve_data(plan)
        chart = figures.plan_curve_chart(data, unit=found.unit)
        blocks.append(captioned("plan", chart, data, f"All of these have a standard error of {target} or less. "))
    blocks.append(Commands(commands=commands_of(found)))
    return Section(name="next", title="What to do next", lead=lead, blocks=tuple(blocks))


def steps_of(found: Findings) -> tuple[str, ...]:
    """Advice, the most useful first."""
    audit, noise = found.audit, found.audit.noise
    said = []
    if audit.interval is None:
        said.append(f"Run {audit.incumbent} on fresh instances and hand those runs over with --test: only they certify it.")
    comparison = audit.comparison
    if comparison is None:
        said.append(
            "Run the default on the same instances and name it (--default NAME), so that there is something to be better "
            "than."
        )
    elif found.reach is not None or found.apart is not None:
        said.append(_to_show(found, comparison.default))
    if noise.bottleneck is None:
        said.append("Run some configurations twice on the same instances: then it can be said where the noise comes from.")
    elif found.still:
        said.append("Take harder or more varied instances: on these all runs cost the same.")
    elif noise.bottleneck == "instances":
        said.append(
            f"Add instances, not seeds: as many runs again bring the standard error from {number(noise.standard_error, 2)} "
            f"to {number(noise.new_instances, 2)} on new instances, and only to {number(noise.same_instances_again, 2)} on "
            "the same."
        )
    else:
        said.append(
            f"Add runs: as many again on the same instances bring the standard error from {number(noise.standard_error, 2)} "
            f"to {number(noise.same_instances_again, 2)}, on new ones to {number(noise.new_instances, 2)}."
        )
    waste = audit.spread.variance_over_even
    if waste > EVEN_ENOUGH:
        said.append(
            f"Spread the runs evenly: as many, on all instances alike, have {percent(1 - 1 / waste)} less variance than "
            "these."
        )
    return tuple(said)


def _to_show(found: Findings, default: str) -> str:
    """What it takes to show the difference that was seen: by the limits of the verdict first, then by a weaker test."""
    reach, apart = found.reach, found.apart
    parts = []
    if reach is not None and reach.instances is not None:
        halved = " and as many to choose by" if reach.halved else ""
        parts.append(
            f"{found.audit.incumbent} would be shown to be better than {default} by this page's own limits on about "
            f"{reach.instances:,} instances{halved}, if new ones are like these."
        )
    elif reach is not None:
        parts.append(
            f"To show {found.audit.incumbent} to be better than {default} by this page's own limits is out of "
            f"reach at the present difference: {reach.tried:,} instances like these would not do."
        )
    if apart is not None:
        each = f"{counted(apart.instances, 'instance')} with {counted(apart.runs_each, 'run')} each"
        weaker = "A paired t-test, which trusts normal differences and a choice made beforehand, would"
        if reach is not None:
            parts.append(f"{weaker} do with about {each}.")
        else:
            parts.append(f"{weaker} tell it from {default} on about {each}, if the difference is the one seen.")
    return " ".join(parts)


def commands_of(found: Findings) -> tuple[tuple[str, str], ...]:
    """Lines to copy, each with what it is good for."""
    audit, source = found.audit, found.source
    options = (*source.limits, *source.metric)
    own = f"--configuration={audit.incumbent}"
    commands = []
    runs, more = source.path, source.limits
    if source.kind not in ("matrix", "journal") or source.metric:
        runs, more = "runs.parquet", ()
        kept = "keeps these runs as a table that the other commands read"
        commands.append((_line("import", source.path, *options, "-o", runs), kept))
    if found.plan is not None:
        plan = "how many runs on how many instances halve the standard error; with prices and budgets too"
        commands.append((_line("plan", runs, *more, own, f"--error={found.error}"), plan))
    else:
        commands.append((_line("info", runs, *more), "what the runs hold, and how noisy they are"))
    verdict = "the verdict in the terminal; exit code 0 says that the incumbent is shown to be better"
    commands.append((_line("audit", source.path, *options, *source.asked, *source.audited), verdict))
    if audit.interval is not None:
        limit = "a limit on one side, with everything it rests on"
        commands.append((_line("certify", source.path, *options, *source.asked, own), limit))
    else:
        words = ("certify", source.path, *options, own, "--test=FRESH-RUNS")
        commands.append((_line(*words), "a certificate, once there are runs on fresh instances"))
    return tuple(commands)


def _line(*words: str) -> str:
    return f"truecost {shlex.join(words)}"
