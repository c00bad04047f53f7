"""`kind = "command"`: any program, its command line a template and its output read by patterns."""

import re
from typing import TYPE_CHECKING

from truecost.running.targets import Answer, Kind
from truecost.running.targets.wrapper import reported_number
from truecost.runs import Status

if TYPE_CHECKING:
    from truecost.running.scenario import Scenario


def read(scenario: "Scenario", exit_code: int, text: str) -> Answer:
    """The answer by exit code and by the patterns of [answer]."""
    expected, metric = scenario.answer, scenario.metric
    printed = {"time": _last(expected.time, text), "value": _last(expected.value, text)}
    time, value = reported_number(printed["time"]), reported_number(printed["value"])

    def crashed(detail: str) -> Answer:
        return Answer(status=Status.CRASHED, time=time, value=value, detail=detail)

    if exit_code not in expected.exit:
        # A signal, or an exit code that may be success if the scenario says so.
        known = ", ".join(map(str, expected.exit))
        return crashed("" if exit_code < 0 else f"answer.exit has {known} only")
    if expected.unsolved is not None and re.search(expected.unsolved, text, re.MULTILINE):
        # It gave up in good order: this costs what a timeout costs, and is no fault.
        detail = f"unsolved: the output matches {expected.unsolved!r}"
        return Answer(status=Status.TIMEOUT, time=time, value=value, detail=detail)
    if expected.solved is not None and not re.search(expected.solved, text, re.MULTILINE):
        return crashed(f"no answer: nothing in the output matches {expected.solved!r}")
    needed = "value" if not metric.timed else "time" if metric.clock == "reported" else None
    if (needed == "value" and value is None) or (needed == "time" and (time is None or time < 0)):
        raw = printed[needed]
        if raw is None:
            return crashed(f"no answer: no {needed} in the output")
        return crashed(f"no answer: the {needed} {raw[:80]!r} is not a valid number")
    return Answer(status=Status.SOLVED, time=time, value=value)


def _last(pattern: str | None, text: str) -> str | None:
    """The last match of the pattern: solvers report as they go."""
    matches = re.findall(pattern, text, re.MULTILINE) if pattern else []
    return matches[-1] if matches else None


KIND = Kind(
    call=lambda call: [*call.command],
    read=read,
    style="--name=value",
    placeholders=frozenset({"instance", "seed", "cutoff", "arguments"}),
)
