"""`kind = "command"`: any program, its command line a template and its output read by patterns."""

import re

from truecost.running.targets import Kind, Report, TargetAnswer
from truecost.running.wrapper_answer import reported_number
from truecost.runs import Status


def read_command(report: Report) -> TargetAnswer:
    """The answer by exit code and by the patterns of [answer]."""
    answer, metric = report.format, report.metric
    printed = {"time": _last(answer.time, report.text), "value": _last(answer.value, report.text)}
    time, value = reported_number(printed["time"]), reported_number(printed["value"])

    def crashed(detail: str) -> TargetAnswer:
        return TargetAnswer(status=Status.CRASHED, time=time, value=value, detail=detail)

    if report.exit_code not in answer.exit:
        # A signal, or an exit code that may count where the scenario says so.
        known = ", ".join(map(str, answer.exit))
        return crashed("" if report.exit_code < 0 else f"answer.exit has {known} only")
    if answer.unsolved is not None and re.search(answer.unsolved, report.text, re.MULTILINE):
        # It gave up in good order: charged as a timeout is, and no reason to doubt the scenario.
        detail = f"unsolved: the output matches {answer.unsolved!r}"
        return TargetAnswer(status=Status.TIMEOUT, time=time, value=value, detail=detail)
    if answer.solved is not None and not re.search(answer.solved, report.text, re.MULTILINE):
        return crashed(f"no answer: nothing in the output matches {answer.solved!r}")
    needed = "value" if not metric.timed else "time" if metric.clock == "reported" else None
    if (needed == "value" and value is None) or (needed == "time" and (time is None or time < 0)):
        raw = printed[needed]
        if raw is None:
            return crashed(f"no answer: no {needed} in the output")
        return crashed(f"no answer: the {needed} {raw[:80]!r} is no number that can be")
    return TargetAnswer(status=Status.SOLVED, time=time, value=value)


def _last(pattern: str | None, text: str) -> str | None:
    """The last match of the pattern: solvers report as they go."""
    matches = re.findall(pattern, text, re.MULTILINE) if pattern else []
    return matches[-1] if matches else None


KIND = Kind(
    call=lambda call: call.command,
    read=read_command,
    style="--name=value",
    placeholders=frozenset({"instance", "seed", "cutoff", "arguments"}),
    formatted=True,
)
