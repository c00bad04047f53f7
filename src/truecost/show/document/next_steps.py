"""What to do next: advice in the order of use, a plan, and commands to copy."""

import math
from typing import Any

from truecost.judge.assessment import Assessment
from truecost.judge.refusal import Refusal
from truecost.show.blocks import Block, Commands, Fact, Facts, Figure, Fold, Points, Section, Text
from truecost.show.document.context import Context, called, opening
from truecost.show.document.noise import still
from truecost.show.numbers import counted, number, percent

SHOWN_BY = "how many new instances would show it; also wins=0.6, speed-up=1.5, solved=0.95"
# No forecast looks at more instances.
MOST = 20_000
# An allocation that wastes less than this share of its variance is as good as even.
EVEN_ENOUGH = 1.05


def what_next(found: Assessment, setting: Context) -> Section:
    """The section."""
    outlook, unit = found.outlook, setting.in_unit
    plan = outlook.plan
    lead, *more = steps_of(found)
    blocks: list[Block] = [Points(title="And then", points=tuple(more))] if more else []
    facts = []
    if not isinstance(plan, Refusal):
        half = f"for a standard error of {setting.cost(number(found.noise.standard_error / 2, 2))}"
        least = math.sqrt(max(0.0, plan.across) / found.spread.instances)
        facts += [
            Fact(
                term="plan-instances", value=plan.instances, shown=f"{plan.instances:,}", note=half
            ),
            Fact(
                term="plan-runs",
                value=plan.runs,
                shown=f"{plan.runs:,}",
                note="of the one configuration",
            ),
            Fact(term="floor", value=least, shown=number(least, 2), unit=unit),
        ]
    for reach in outlook.reach:
        needed, what = (
            reach.forecast.instances,
            "on average" if reach.what == "mean" else "on most instances",
        )
        shown = "out of reach" if needed is None else f"{needed:,}"
        facts.append(
            Fact(
                term="shown-on",
                value=needed,
                shown=shown,
                note=f"{what}; now {reach.forecast.pilot:,}",
            )
        )
    if (apart := outlook.apart) is not None:
        each = f"{counted(apart.runs_each, 'run')} of both on each"
        facts.append(
            Fact(term="tell-apart", value=apart.instances, shown=f"{apart.instances:,}", note=each)
        )
    if lines := _commands(found, setting):
        blocks.append(Commands(commands=lines))
    planned: list[Block] = [Facts(facts=tuple(facts), where="page")] if facts else []
    if isinstance(plan, Refusal):
        planned.append(
            Text(text=f"No plan for half of the error: {plan.reason.rstrip('.')}.", aside=True)
        )
    else:
        note = f"All of these have a standard error of {number(found.noise.standard_error / 2, 2)} or less."
        title = "Other numbers of instances for the same error"
        draw = lambda: _picture(found, setting)  # noqa: E731
        planned.append(Figure(name="plan", title=title, notes=(note,), draw=draw, where="page"))
    blocks.append(Fold(title="How many runs, on how many instances?", blocks=tuple(planned)))
    return Section(name="next", title="What to do next", lead=lead, blocks=tuple(blocks))


def _picture(found: Assessment, setting: Context) -> Any:
    from truecost.show import figures

    assert not isinstance(found.outlook.plan, Refusal)  # noqa: S101 - only then is it drawn
    data = figures.plan_curve_data(found.outlook.plan)
    return data, figures.plan_curve_chart(data, unit=setting.unit)


def steps_of(found: Assessment) -> tuple[str, ...]:
    """Advice, the most useful first."""
    noise, said = found.noise, []
    incumbent = called(found, found.incumbent)
    if found.certificate is None:
        said.append(_to_certify(found, incumbent))
    if found.default is None:
        said.append(
            "Name the default configuration (`default`), if it has runs on these instances, to see what tuning gained."
        )
    elif found.outlook.reach or found.outlook.apart is not None:
        said.append(_to_show(found))
    now, new, same = (
        number(value, 2)
        for value in (noise.standard_error, noise.new_instances, noise.same_instances_again)
    )
    if still(found):
        said.append("Take harder or more varied instances: on these all runs cost the same.")
    elif noise.bottleneck is None:
        said.append(
            "Run some configurations twice on the same instances, to see how much of the noise comes from the seeds."
        )
    elif noise.bottleneck == "instances":
        said.append(
            f"Add instances, not seeds: as many runs again bring the standard error from {now} to {new} on new instances, "
            f"but only to {same} on the same ones."
        )
    else:
        said.append(
            f"Add runs: as many again bring the standard error from {now} to {same} on the same instances, to {new} on new "
            "ones."
        )
    waste = found.spread.variance_over_even
    if waste > EVEN_ENOUGH:
        said.append(
            f"Spread the runs evenly: as many, on all instances alike, have {percent(1 - 1 / waste)} less variance."
        )
    return tuple(said)


def _to_certify(found: Assessment, incumbent: str) -> str:
    """What is missing for a certificate: runs on new instances, of both, or only the range of the
    cost.
    """
    comparison = found.comparison
    if found.optimism.source == "test runs" and found.default is None:
        return "Give the metric's possible range (`low` and `high`): its test runs can then certify its mean cost."
    if (
        found.optimism.source == "test runs"
        and comparison is not None
        and comparison.on == "training"
    ):
        default = called(found, comparison.default)
        return f"Run {default} on the test instances too: only they can show whether {incumbent} is better."
    both = "" if found.default is None else " and the default"
    return (
        f"Run {incumbent}{both} on instances that the search never saw: only they can certify it."
    )


def _to_show(found: Assessment) -> str:
    """What it takes to show the difference that was seen: by the guarantee of the verdict first,
    then by a weaker test.
    """
    reach, apart, comparison = found.outlook.reach, found.outlook.apart, found.comparison
    assert comparison is not None  # noqa: S101 - else there is nothing to show
    who, default = called(found, comparison.configuration), called(found, comparison.default)
    parts = []
    for place, (kind, _, _, needed) in enumerate(reach):
        better = (
            f"{who} is better than {default} on {'average' if kind == 'mean' else 'most instances'}"
        )
        if needed.instances is None:
            parts.append(
                f"that {better} is out of reach at this difference: {MOST:,} instances like these would not do."
            )
        elif place == 0:
            parts.append(
                f"run both on {counted(needed.instances, 'new instance')}: if they are like these, that would show that "
                f"{better} (in {percent(needed.power)} of tries)."
            )
        else:
            parts.append(f"that {better} would take {counted(needed.instances, 'instance')}.")
    if apart is not None:
        each = f"{counted(apart.instances, 'instance')} with {counted(apart.runs_each, 'run')} each"
        trusts = (
            "it trusts that differences are normal and that the configuration was chosen beforehand"
        )
        parts.append(f"a paired t-test would need about {each}; {trusts}.")
    return " ".join(map(opening, parts))


def _commands(found: Assessment, setting: Context) -> tuple[tuple[str, str], ...]:
    """Lines to copy, each with what it is good for."""
    own = found.incumbent
    plan = (
        "how many runs on how many instances halve the standard error; with prices and budgets too"
    )
    asked: list[tuple[str | None, str]] = []
    if (
        found.adaptive
        and found.log.parameters
        and (found.certificate is None or found.comparison is None)
    ):
        fresh = setting.command("validate", instances="test/*", budget="2h")
        asked.append(
            (
                fresh,
                "runs the winner and the default on new instances, until it is shown; put your own files in",
            )
        )
    asked += [
        (setting.command("plan", configuration=own, error=found.outlook.error), plan)
        if not isinstance(found.outlook.plan, Refusal)
        else (setting.command("info"), "what the runs hold, and how noisy they are"),
        *(
            [(setting.command("plan", show=found.outlook.reach[0].what), SHOWN_BY)]
            if found.outlook.reach
            else []
        ),
        (
            setting.command("audit"),
            "this verdict in the terminal; exit code 0 says that it is shown to be better",
        ),
        (
            # Without a name where none was given: on-part may certify another one.
            setting.command("certify"),
            "the guarantee alone, with everything it rests on",
        ),
    ]
    return tuple((line, why) for line, why in asked if line is not None)
