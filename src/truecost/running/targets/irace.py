"""`kind = "irace"`: a target-runner, `runner configuration number seed instance [bound] --name value
…`, which prints `cost [time]`.
"""

from truecost.running.targets.kind import Calling, Kind, TargetAnswer
from truecost.running.wrapper_answer import reported_number
from truecost.runs import Status


def call_irace(call: Calling) -> list[str]:
    """The words irace gives a runner."""
    bound = [call.cutoff_text] if call.target.bound else []
    words = [call.configuration.name, str(call.number), str(call.seed), call.instance.argument]
    return [*call.command, *words, *bound, *call.arguments()]


def read_irace(text: str) -> TargetAnswer:
    """The last line, `cost [time]`; a cost of Inf is irace's word for a configuration to reject."""
    lines = [line.split() for line in text.splitlines() if line.strip()]
    words = lines[-1] if lines else []
    if not 1 <= len(words) <= 2:
        detail = "no answer: expected the last line to be 'cost [time]'"
        return TargetAnswer(status=Status.CRASHED, detail=detail)
    if words[0].lower().lstrip("+") in ("inf", "infinity"):
        return TargetAnswer(status=Status.CRASHED, detail="the target says Inf")
    cost, *rest = (reported_number(word) for word in words)
    time = rest[0] if rest else None
    if cost is None or (rest and (time is None or time < 0)):
        detail = f"no answer: cannot read {' '.join(words)[:80]!r}"
        return TargetAnswer(status=Status.CRASHED, detail=detail)
    return TargetAnswer(status=Status.SOLVED, value=cost, time=time)


KIND = Kind(
    call=call_irace,
    read=lambda report: read_irace(report.text),
    style="--name value",
    switches=True,
    failing=True,
)
