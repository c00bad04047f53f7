"""`kind = "wrapper"`: `wrapper instance specifics cutoff runlength seed -name value …`, as AClib,
SMAC and ParamILS call it, and the line with which it answers.

`Result for SMAC: status, runtime, runlength, quality, seed` is what ParamILS, HAL and SMAC read;
SMAC's own reader also takes `Final result`, `of` for `for`, any case, and `this wrapper`. Newer
wrappers of AClib print `Result of this algorithm run: {"status": …, "cost": …, "runtime": …}`.
ABORT asks to stop the search; KILLED is a run that the configurator ended.
"""

import ast
import json
import math
import re
from typing import TYPE_CHECKING, Any

from truecost.running.targets import Answer, Call, Kind
from truecost.runs import Status

if TYPE_CHECKING:
    from truecost.running.scenario import Scenario

LINE = re.compile(
    r"^[ \t]*(?:Final[ \t]+)?Result[ \t]+(?:for|of)[ \t]+"
    r"(?:SMAC|ParamILS|HAL|this[ \t]+wrapper|(?:this[ \t]+)?algorithm[ \t]+run)[ \t]*:[ \t]*(.*)$",
    re.MULTILINE | re.IGNORECASE,
)
STATUSES = {
    **dict.fromkeys(("SAT", "SATISFIABLE", "UNSAT", "UNSATISFIABLE"), Status.SOLVED),
    # The second is how some wrappers spell the first.
    **dict.fromkeys(("SUCCESS", "SUCCES", "SOLVED"), Status.SOLVED),
    **dict.fromkeys(("MEMOUT", "MEMORY"), Status.MEMORY),
    **dict.fromkeys(("ABORT", "KILLED"), Status.ABORTED),
    "TIMEOUT": Status.TIMEOUT,
    "CRASHED": Status.CRASHED,
}
# The run length, which limits no run here.
UNLIMITED = str(2**31 - 1)
# No answer is longer, and the parsers below are slow on long texts.
LONGEST = 100_000


def call(call: Call) -> list[str]:
    """The five words of the convention, then the parameters."""
    specifics = call.instance.extras.get("specifics", "0")
    words = [call.instance.argument, specifics, call.cutoff, UNLIMITED, str(call.seed)]
    return [*call.command, *words, *call.arguments]


def read(_scenario: "Scenario", _exit_code: int, text: str) -> Answer:
    """The last answer line of the convention, old or new."""
    lines = LINE.findall(text)
    if not lines:
        return Answer(
            status=Status.CRASHED,
            detail="no answer: no line 'Result for SMAC: …' or 'Result of this algorithm run: …'",
        )
    answer = parse(lines[-1])
    if answer is None:
        detail = f"no answer: cannot read {lines[-1].strip()[:80]!r}"
        return Answer(status=Status.CRASHED, detail=detail)
    return answer


def parse(text: str) -> Answer | None:
    """What follows the colon of an answer; None where it does not follow the convention."""
    text = text.strip()
    if len(text) > LONGEST:
        return None
    word: Any
    if text.startswith("{"):
        fields = _mapping(text)
        if fields is None:
            return None
        given = [fields.get("runtime", fields.get("time"))]
        values = (fields.get(key) for key in ("cost", "quality", "value"))
        given.append(next((value for value in values if value is not None), None))
        word = fields.get("status")
    else:
        parts = [part.strip() for part in text.split(",")]
        if len(parts) < 5:
            return None
        word, given = parts[0], [parts[1], parts[3]]
    plain = word.strip().strip("'\"").upper() if isinstance(word, str) else ""
    status = STATUSES.get(plain)
    time, value = numbers = [reported_number(raw) for raw in given]
    # A solved run whose numbers cannot be read is no answer; of another run they may be anything.
    unreadable = any(
        raw is not None and number is None for raw, number in zip(given, numbers, strict=True)
    )
    if status is None or (status == Status.SOLVED and unreadable) or (time or 0) < 0:
        return None
    detail = "" if status == Status.SOLVED else f"the target says {plain}"
    return Answer(status=status, time=time, value=value, detail=detail)


def reported_number(raw: object) -> float | None:
    """The number that was reported; None if it is none, or not finite."""
    if isinstance(raw, bool) or not isinstance(raw, int | float | str):
        return None
    try:
        value = float(raw)
    except (ValueError, OverflowError):
        return None
    return value if math.isfinite(value) else None


def _mapping(text: str) -> dict[str, Any] | None:
    """JSON, or the same as Python prints it."""
    for parser in (json.loads, ast.literal_eval):
        try:
            fields = parser(text)
        except (ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
            continue
        if isinstance(fields, dict):
            return fields
    return None


KIND = Kind(call=call, read=read)
