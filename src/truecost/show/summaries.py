"""What importing and campaigns did and what a forecast says, in a few lines; and the demo."""

import shlex
from collections.abc import Mapping, Sequence
from math import isfinite
from typing import TYPE_CHECKING, Final

from truecost.errors import counted
from truecost.planning import MOST, POWER
from truecost.show.numbers import confidence, duration, exact, label, number, percent, visible
from truecost.show.sections import arguments, size
from truecost.show.terminal import wrapped
from truecost.show.verdict import block
from truecost.show.words import par

if TYPE_CHECKING:
    from truecost.campaigns.results import Configured, Gathered, Stop, Validated
    from truecost.judge.assessment import Assessment
    from truecost.matrix import Log
    from truecost.planning import Forecast, Need, Size

ORIGINS: Final = {
    True: "proposed from costs, as by a search",
    False: "a list fixed before the first run",
    None: "unknown; read as a list",
}


def log_summary(log: "Log") -> str:
    """Return what a log holds, as lines."""
    runs, total = log.runs, int(log.runs.counts().sum())
    failed, censored = int(runs.failed.sum()), int(runs.censored.sum())
    missing = runs.costs.size - total
    rows = {
        "costs": _range(log),
        "default": label(log.default or ""),
        "chosen by the tool": label(log.incumbent or ""),
        "configurations": ORIGINS[log.adaptive],
        "families": f"{len(set(runs.families)):,}" if runs.families is not None else "",
        "runs": f"{total:,}, {failed:,} not solved" if runs.can_fail else f"{total:,}",
        "missing": f"{missing:,} of {runs.costs.size:,}" if missing else "",
        "stopped early": f"{censored:,}" if censored else "",
    }
    lines = [size(log), *(f"  {name:<20} {text}" for name, text in rows.items() if text)]
    return "\n".join([*lines, *(f"  • {visible(caveat.sentence)}" for caveat in log.caveats)])


def _range(log: "Log") -> str:
    runs, unit = log.runs, visible(log.cost_unit)
    if runs.par is not None and runs.cutoff is not None:
        return f"{par(runs.par)}, cutoff {exact(runs.cutoff)} s"
    if not (isfinite(runs.low) or isfinite(runs.high)):
        return f"{unit or 'no unit given'}, range unknown"
    return f"{exact(runs.low)} to {exact(runs.high)} {unit}".rstrip()


def campaign_summary(gathered: "Gathered") -> str:
    """Return what `gather` did, as lines."""
    design = (
        f"{counted(gathered.configurations, 'configuration')} × "
        f"{counted(gathered.instances, 'instance')}"
    )
    return (
        f"{visible(gathered.scenario)}: {design}\n"
        f"{gathered.runs:,} of {gathered.planned:,} runs, {_spent(gathered)}"
    )


def _spent(result: "Gathered | Validated | Configured") -> str:
    return f"{duration(result.cpu)} of CPU time, in {visible(str(result.journal))}"


STOPPED: Final = {
    "decided": "The question is decided.",
    "forecast": (
        "Stopped early: with instances like these, the rest of the budget has a chance below 1 % "
        "to settle this in favour of the winner. --complete runs it anyway."
    ),
    "budget": "The budget is spent.",
    "instances": "All instances are run.",
}
CONTINUED: Final = {
    "budget": "A larger budget continues this test.",
    "instances": "More instances continue this test: {option}.",
}


def _tested(assessment: "Assessment", stop: "Stop", option: str) -> str:
    unit = "instance" if assessment.same is None else assessment.same.unit
    done = f"{counted(stop.units, unit)} tested in {counted(stop.runs, 'run')}. {STOPPED[stop.why]}"
    if stop.decided is None:
        return f"{done} {CONTINUED.get(stop.why, '').format(option=option)}".rstrip()
    return done if stop.decided == stop.units else f"{done} {stop.decided} were enough."


def validation_summary(validated: "Validated") -> str:
    """Return what `validate` did, as lines."""
    tested = _tested(validated.assessment, validated.stop, "--instances")
    lines = [f"{visible(validated.scenario)}: {tested}", _spent(validated)]
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
    ("winner", False): "Use the winner. It costs less on new instances so far, perhaps by luck:",
    ("default", True): "Keep the default:",
    ("default", False): "Keep the default. On new instances the winner is not better by more than "
    "noise:",
}  # fmt: skip


def search_summary(configured: "Configured", words: Sequence[str] = ()) -> str:
    """Return what `configure` did and which configuration to use, as lines.

    `words` are its arguments as the target takes them.
    """
    lines = [
        f"{visible(configured.scenario)}: {counted(configured.configurations, 'configuration')} "
        f"tried in {counted(configured.runs, 'run')}, {_spent(configured)}"
    ]
    if configured.reason:
        lines.append(f"Search finished: {visible(configured.reason)}.")
    if configured.stop is not None:
        tested = _tested(configured.assessment, configured.stop, "validate --instances")
        lines.append(f"Test: {tested}")
    chosen = configured.recommended
    side = "default" if chosen == configured.default else "winner"
    same = configured.assessment.same
    if configured.incumbent == configured.default:
        lines.append("Keep the default; the search found nothing better:")
    elif same is None or same.source != "test":
        lines.append("Not tested yet, so perhaps no better than the default. The winner:")
    else:
        lines.append(USE[side, configured.assessment.grade == "better"])
    pasted = visible(shlex.join(words)) if words else arguments(chosen.values)
    return "\n".join([*lines, f"  {pasted}"])


PILOTS: Final = {
    "test": "The forecast uses test runs on {}.",
    "fixed before": "The forecast uses runs of configurations that were fixed before.",
    "list": "The forecast uses only runs that did not choose the winner.",
    "none": "These runs may have chosen the winner, so its advantage is assumed.",
}
NEEDED: Final = {"wins": "share of runs won", "margin": "distance to the margin"}
NO_PILOT: Final = (
    "No forecast: it needs runs of winner and default on the same instances that did not choose "
    "the winner, and the range of costs (--low and --high, or --cutoff)."
)


def forecast_summary(forecast: "Forecast") -> str:
    """Return how many new units prove the difference, and what an error or a budget comes to."""
    unit = "family" if forecast.sampled == "family" else "instance"

    def reached(size: "Size") -> str:
        error = number(size.standard_error) if isfinite(size.standard_error) else "unknown"
        return f"{error} with {counted(size.runs, 'run')} on {counted(size.instances, unit)}."

    lines = [
        *_needed(forecast),
        f"Standard error of the winner's mean cost now: {reached(forecast.now)}",
    ]
    if forecast.best is not None:
        lines.append(f"Best plan: standard error {reached(forecast.best)}")
    return "\n".join(lines)


def _needed(forecast: "Forecast") -> list[str]:
    if forecast.default is None:
        return ["Nothing to compare with. Name the default with --default."]
    if forecast.winner == forecast.default:
        return ["No configuration looks better than the default."]
    if not forecast.needs:
        return [NO_PILOT]
    unit = "run" if forecast.sampled == "seed" else forecast.sampled
    units = counted(2, unit).removeprefix("2 ")
    sure = f"{percent(POWER)} chance, {confidence(forecast.delta)} confidence"
    margin = any(need.quantity == "margin" for need in forecast.needs)
    claim = "within the margin" if margin else "better than the default"
    return [
        f"New {units} needed to prove the winner {claim} ({sure}):",
        *map(_need, forecast.needs),
        PILOTS[forecast.pilot].format(counted(forecast.units, unit)),
    ]


def _need(need: "Need") -> str:
    few = need.units is not None and need.units <= MOST
    units = f"about {need.units:,}" if few else f"more than {MOST:,}"
    units = "not to be expected" if need.units is None else units
    penalty = "" if need.penalty is None else f" with {par(need.penalty)}"
    if need.assumed is not None:
        return f"  {units}{penalty}, if it truly costs {percent(need.assumed)} less"
    quantity = NEEDED.get(need.quantity, need.quantity)
    return f"  {units}{penalty}, if the true {quantity} is {number(need.difference)}, as seen"


DEMO: Final = (
    "Three solvers tuned by truecost. Winner and default were then run on new instances, which "
    "the search had never seen."
)


def demo_text(assessments: "Mapping[str, Assessment]", *, width: int = 80) -> str:
    """Return the verdicts of the demo, each in a few lines."""
    lines = wrapped(DEMO, width)
    for solver, assessment in assessments.items():
        verdict = block(assessment)
        costs = ", ".join(f"{name.partition(' ')[0]} {cost}" for name, cost in verdict.rows[:2])
        title = f"{verdict.title[:1].lower()}{verdict.title[1:]}"
        lines += ["", f"{solver}, {title}: {costs}"]
        for sentence in (verdict.answer, verdict.second):
            lines += [f"  {line}" for line in wrapped(sentence, width - 2)]
    first = next(iter(assessments.values()))
    return "\n".join([*lines, "", f"Next: truecost audit {first.log.path}"])
