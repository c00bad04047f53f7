"""`kind = "wrapper"`: `wrapper instance specifics cutoff runlength seed -name value …`, as AClib,
SMAC and ParamILS call it.
"""

import re

from truecost.running import wrapper_answer
from truecost.running.targets import Calling, Kind, TargetAnswer
from truecost.runs import Status

LINE = re.compile(rf"^[ \t]*{wrapper_answer.ANSWER}$", re.MULTILINE | re.IGNORECASE)


def call_wrapper(call: Calling) -> list[str]:
    """The five words of the convention, then the parameters."""
    instance, length = call.instance, str(call.target.runlength)
    specifics = instance.extras.get("specifics", "0")
    words = [instance.argument, specifics, call.cutoff_text, length, str(call.seed)]
    return [*call.command, *words, *call.arguments()]


def read_wrapper(text: str) -> TargetAnswer:
    """The last answer line of the convention, old or new."""
    lines = LINE.findall(text)
    if not lines:
        return TargetAnswer(
            status=Status.CRASHED,
            detail="no answer: no line 'Result for SMAC: …' or 'Result of this algorithm run: …'",
        )
    answer = wrapper_answer.parse(lines[-1])
    if answer is None or answer.status is None:
        detail = f"no answer: cannot read {lines[-1].strip()[:80]!r}"
        return TargetAnswer(status=Status.CRASHED, detail=detail)
    return TargetAnswer(
        status=answer.status,
        time=answer.runtime,
        value=answer.quality,
        detail="" if answer.status == Status.SOLVED else f"the target says {answer.word}",
    )


KIND = Kind(call=call_wrapper, read=lambda report: read_wrapper(report.text), style="-name value")
