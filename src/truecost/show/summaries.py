"""What importing and campaigns did, in a few lines; and what the demo tells."""

from collections.abc import Mapping
from math import isfinite
from typing import TYPE_CHECKING, Final

from truecost.errors import counted
from truecost.show.numbers import duration, given, label, visible
from truecost.show.sections import arguments, size
from truecost.show.terminal import wrapped
from truecost.show.verdict import block, par

if TYPE_CHECKING:
    from truecost.campaigns.results import Configured, Gathered, Stop, Validated
    from truecost.judge.assessment import Assessment
    from truecost.matrix import Log


def log_summary(log: "Log") -> str:
    """Return what a log holds, as lines."""
    runs = log.runs
    lines = [size(log)]
    rows = [("costs", _range(log))]
    if log.default is not None:
        rows.append(("default", label(log.default)))
    if log.incumbent is not None:
        rows.append(("chosen by the tool", label(log.incumbent)))
    made = {
        True: "proposed from costs, as by a search",
        False: "a list fixed before the first run",
        None: "unknown; read as a list",
    }
    rows.append(("configurations", made[log.adaptive]))
    if runs.families is not None:
        rows.append(("families", f"{len(set(runs.families)):,}"))
    total, failed = int((runs.counts()).sum()), int(runs.failed.sum())
    rows.append(("runs", f"{total:,}, {failed:,} not solved" if runs.can_fail else f"{total:,}"))
    if (missing := runs.costs.size - total) > 0:
        rows.append(("missing", f"{missing:,} of {runs.costs.size:,}"))
    if runs.censored.any():
        rows.append(("stopped early", f"{int(runs.censored.sum()):,}"))
    lines += [f"  {name:<20} {text}" for name, text in rows]
    lines += [f"  • {visible(caveat.sentence)}" for caveat in log.caveats]
    return "\n".join(lines)


def _range(log: "Log") -> str:
    runs, unit = log.runs, visible(log.cost_unit)
    if runs.par is not None and runs.cutoff is not None:
        return f"{par(runs.par)}, cutoff {given(runs.cutoff)} s"
    if not (isfinite(runs.low) or isfinite(runs.high)):
        return f"{unit or 'no unit given'}, range unknown"
    return f"{given(runs.low)} to {given(runs.high)} {unit}".rstrip()


def campaign_summary(gathered: "Gathered") -> str:
    """Return what `gather` did, as lines."""
    design = (
        f"{counted(gathered.configurations, 'configuration')} × "
        f"{counted(gathered.instances, 'instance')}"
    )
    return (
        f"{visible(gathered.scenario)}: {design}\n"
        f"{gathered.runs:,} of {gathered.planned:,} runs, {duration(gathered.cpu)} of CPU "
        f"time, in {visible(str(gathered.journal))}"
    )


STOPPED: Final = {
    "decided": "The question is decided.",
    "forecast": (
        "Stopped early: with instances like these, the rest of the budget has a chance below 1 % "
        "to settle this in favour of the winner. --complete runs it anyway."
    ),
    "budget": "The budget is spent.",
    "instances": "All instances are run.",
}


def _tested(assessment: "Assessment", stop: "Stop", option: str = "--instances") -> str:
    unit = "instance" if assessment.same is None else assessment.same.unit
    done = f"{counted(stop.units, unit)} tested in {counted(stop.runs, 'run')}. {STOPPED[stop.why]}"
    if stop.decided is None:
        more = {"instances": f" More instances continue this test: {option}.",
                "budget": " A larger budget continues this test."}  # fmt: skip
        return done + more.get(stop.why, "")
    return done if stop.decided == stop.units else f"{done} {stop.decided} were enough."


def validation_summary(validated: "Validated") -> str:
    """Return what `validate` did, as lines."""
    tested = _tested(validated.assessment, validated.stop)
    lines = [
        f"{visible(validated.scenario)}: {tested}",
        f"{duration(validated.cpu)} of CPU time, in {visible(str(validated.journal))}",
    ]
    if validated.left_out:
        left_out = counted(validated.left_out, "instance")
        lines.append(f"{left_out} left out: the log has them or their family, or they are copies.")
    if (candidates := len(validated.assessments)) > 1:
        better = sum(one.grade == "better" for one in validated.assessments)
        lines.append(f"Proven better than the default: {better} of {candidates} winners.")
    return "\n".join(lines)


# By who is recommended, and whether the winner is proven better.
USE: Final = {
    ("winner", True): "Use the winner:",
    ("winner", False): "Use the winner; it costs less on new instances so far, which may be luck:",
    ("default", True): "Keep the default:",
    (
        "default",
        False,
    ): "Keep the default; on new instances the winner is not better by more than noise:",
}


def search_summary(configured: "Configured") -> str:
    """Return what `configure` did and which configuration to use, as lines."""
    lines = [
        f"{visible(configured.scenario)}: {counted(configured.configurations, 'configuration')} "
        f"tried in {counted(configured.runs, 'run')}, {duration(configured.cpu)} of CPU time, in "
        f"{visible(str(configured.journal))}",
    ]
    if configured.reason:
        lines.append(f"Search finished: {visible(configured.reason)}.")
    if configured.stop is not None:
        tested = _tested(configured.assessment, configured.stop, "validate --instances")
        lines.append(f"Test: {tested}")
    chosen = configured.recommended
    if chosen is not None:
        side = "default" if chosen == configured.default else "winner"
        lines.append(USE[side, configured.assessment.grade == "better"])
        lines.append(f"  {arguments(chosen.values)}")
    return "\n".join(lines)


DEMO: Final = (
    "Three solvers tuned by truecost. Winner and default were then run on new instances, which "
    "the search had never seen."
)


def demo_text(assessments: "Mapping[str, Assessment]", *, width: int = 80) -> str:
    """Return the verdicts of the demo, each in a few lines."""
    lines = wrapped(DEMO, width)
    for solver, assessment in assessments.items():
        said = block(assessment)
        costs = ", ".join(" ".join((name.partition(" ")[0], cost)) for name, cost in said.rows[:2])
        lines += ["", f"{solver}, {said.title[:1].lower()}{said.title[1:]}: {costs}"]
        for sentence in (said.answer, said.second):
            lines += [f"  {line}" for line in wrapped(sentence, width - 2)]
    first = next(iter(assessments.values()))
    return "\n".join([*lines, "", f"Next: truecost audit {first.log.path}"])
