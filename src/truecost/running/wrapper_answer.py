"""The line with which a solver wrapper answers, in every spelling of the convention.

`Result for SMAC: status, runtime, runlength, quality, seed` is what ParamILS, HAL and SMAC read;
SMAC's own reader also takes `Final result`, `of` for `for`, any case, and `this wrapper`. Newer
wrappers of AClib print `Result of this algorithm run: {"status": …, "cost": …, "runtime": …}`.
Statuses are those of SMAC's reader: SATISFIABLE and SUCCESS are other words for SAT. ABORT asks to
stop the search; KILLED is a run that the configurator ended.
"""

import ast
import json
import math
from dataclasses import dataclass
from typing import Any

from truecost.runs import Status

ANSWER = (
    r"(?:Final[ \t]+)?Result[ \t]+(?:for|of)[ \t]+"
    r"(?:SMAC|ParamILS|HAL|this[ \t]+wrapper|(?:this[ \t]+)?algorithm[ \t]+run)[ \t]*:[ \t]*(.*)"
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
RUNNING = "RUNNING"
# No answer is longer; and what reads it must not be led astray by one that is.
LONGEST = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class WrapperAnswer:
    """What a wrapper answered; None for a number it did not give.

    `word` is the status as it was printed, in capitals; `status` is None for a run that has not
    ended.
    """

    word: str
    status: Status | None
    runtime: float | None
    quality: float | None
    seed: int | None


def parse(text: str) -> WrapperAnswer | None:
    """What follows the colon of an answer; None where it does not follow the convention."""
    text = text.strip()
    if len(text) > LONGEST:
        return None
    if text.startswith("{"):
        fields = _mapping(text)
        if fields is None:
            return None
        quality = next(
            (fields[key] for key in ("cost", "quality", "value") if fields.get(key) is not None),
            None,
        )
        given = (fields.get("runtime", fields.get("time")), quality, fields.get("seed"))
        word = fields.get("status")
    else:
        parts = [part.strip() for part in text.split(",")]
        if len(parts) < 5:
            return None
        word, given = parts[0], (parts[1], parts[3], parts[4])
    plain = word.strip().strip("'\"").upper() if isinstance(word, str) else ""
    status = STATUSES.get(plain)
    runtime, quality, seed = map(reported_number, given)
    if status is None and plain != RUNNING:
        return None
    # A solved run whose numbers cannot be read is no answer; of another run they may be anything.
    unreadable = any(
        raw is not None and value is None
        for raw, value in zip(given[:2], (runtime, quality), strict=True)
    )
    if (status == Status.SOLVED and unreadable) or (runtime is not None and runtime < 0):
        return None
    whole = seed is not None and seed == int(seed) and abs(seed) < 2**53
    return WrapperAnswer(
        word=plain,
        status=status,
        runtime=runtime,
        quality=quality,
        seed=int(seed) if seed is not None and whole else None,
    )


def reported_number(raw: object) -> float | None:
    """The number that was reported, None where it is none that is finite."""
    if isinstance(raw, bool) or not isinstance(raw, int | float | str):
        return None
    try:
        value = float(raw)
    except (ValueError, OverflowError):
        return None
    return value if math.isfinite(value) else None


def _mapping(text: str) -> dict[str, Any] | None:
    """JSON, or the same as Python prints it."""
    for read in (json.loads, ast.literal_eval):
        try:
            fields = read(text)
        except (ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
            continue
        if isinstance(fields, dict):
            return fields
    return None
