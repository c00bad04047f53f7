"""Targets: how each kind is called, and how its output is read.

command: any program; its command line is a template, its output is read by the patterns of
[answer].

wrapper: `wrapper instance specifics cutoff runlength seed -name value …`, as AClib, SMAC and
ParamILS call it. `Result for SMAC: status, runtime, runlength, quality, seed` is what ParamILS, HAL
and SMAC read; SMAC's own reader also takes `Final result`, `of` for `for`, any case, and `this
wrapper`. Newer wrappers of AClib print `Result of this algorithm run: {"status": …, "cost": …,
"runtime": …}`. ABORT asks to stop the search; KILLED is a run that the configurator ended.

irace: a target-runner, `runner configuration number seed instance [bound] --name value …`, which
prints `cost [time]`. irace lets a shell split the line into arguments, so an instance that is not a
file is split at its blanks.

python: a function, called by `_call.py`, which prints what it returned as a wrapper does.
"""

import ast
import json
import math
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from truecost.running.scenario import Scenario
from truecost.runs import Instance, Status
from truecost.space.arguments import shell_words
from truecost.space.space import Configuration

CALL = Path(__file__).with_name("_call.py")
# How configurations are written as arguments unless the scenario says otherwise.
STYLES = {"command": "--name=value", "wrapper": "-name value", "irace": "--name value"}
# An exit code other than 0 is a crash whatever was printed.
STRICT = ("irace", "python")
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
# Of integers in R and in most runners; as a run length no limit.
LARGEST = 2**31 - 1
# No answer is longer, and the parsers below are slow on long texts.
LONGEST = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """A run to be made, the instance's run `number` from 0; it is stopped after `cap` seconds of
    the metric's clock, where given.
    """

    configuration: Configuration
    instance: Instance
    number: int
    seed: int
    cap: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a target says about its run."""

    status: Status
    time: float | None = None
    value: float | None = None
    detail: str = ""


def call(
    scenario: Scenario, command: Sequence[str], arguments: Sequence[str], task: Task
) -> list[str]:
    """The command line of a run: the scenario's command, then what the convention adds."""
    target, instance, seed = scenario.target, task.instance, str(task.seed)
    cutoff = f"{scenario.limits.cutoff:.12g}"
    if target.kind == "wrapper":
        specifics = instance.extras.get("specifics", "0")
        words = [instance.argument, specifics, cutoff, str(LARGEST), seed]
        return [*command, *words, *arguments]
    if target.kind == "irace":
        number = instance.number or scenario.place(instance) % 10**6 + 1
        words = [str(identifier_of(task.configuration.name)), str(number), seed]
        words += [instance.argument] if instance.is_file else shell_words(instance.argument)
        return [*command, *words, *([cutoff] if target.bound else []), *arguments]
    if target.kind == "python":
        payload = {
            "configuration": dict(task.configuration.values),
            "instance": instance.argument,
            "seed": task.seed,
            "cutoff": scenario.limits.cutoff,
            "extras": dict(instance.extras),
        }
        return call_function(scenario.folder, target.function or "", payload)
    return [*command]


def call_function(folder: Path, reference: str, payload: object) -> list[str]:
    """The command that calls the function 'file.py:name' of a folder."""
    path, _, name = reference.rpartition(":")
    return [sys.executable, str(CALL), str(folder / path), name, json.dumps(payload)]


def identifier_of(name: str) -> int:
    """The name of a configuration as an integer, which irace's identifiers always are."""
    if name.isdecimal() and int(name) <= LARGEST:
        return int(name)
    number = int(name, 16) if re.fullmatch("[0-9a-f]+", name) else int(name.encode().hex(), 16)
    return number % LARGEST + 1


def read(scenario: Scenario, exit_code: int, text: str) -> Answer:
    """The answer in an output; one that cannot be read is a crash."""
    kind, needed = scenario.target.kind, scenario.metric.reported
    if kind == "command":
        answer = _read_patterns(scenario, exit_code, text)
    else:
        answer = _read_runner(scenario, text) if kind == "irace" else read_wrapper(text)
    if kind in STRICT and exit_code != 0 and answer.status != Status.ABORTED:
        return Answer(status=Status.CRASHED)
    if answer.status == Status.SOLVED and needed and getattr(answer, needed) is None:
        return _no_answer(f"no {needed} in the output", answer.time, answer.value)
    return answer


def _no_answer(reason: str, time: float | None = None, value: float | None = None) -> Answer:
    detail = f"no answer: {reason}"
    return Answer(status=Status.CRASHED, time=time, value=value, detail=detail)


def _read_patterns(scenario: Scenario, exit_code: int, text: str) -> Answer:
    """By exit code and the patterns of [answer]; the last match counts, as solvers report on."""
    expected, needed = scenario.answer, scenario.metric.reported
    printed: dict[str, str | None] = {}
    for key, pattern in (("time", expected.time), ("value", expected.value)):
        matches = re.findall(pattern, text, re.MULTILINE) if pattern else []
        printed[key] = matches[-1] if matches else None
    time, value = reported_number(printed["time"]), reported_number(printed["value"])
    gave_up = expected.unsolved is not None and re.search(expected.unsolved, text, re.MULTILINE)
    if gave_up and exit_code >= 0:
        # This costs what a timeout costs, and is no fault; `exit` is for answers.
        detail = f"unsolved: the output matches {expected.unsolved!r}"
        return Answer(status=Status.TIMEOUT, time=time, value=value, detail=detail)
    if exit_code not in expected.exit:
        # A signal, or an exit code that may be success if the scenario says so.
        codes = ", ".join(map(str, expected.exit))
        detail = "" if exit_code < 0 else f"answer.exit has {codes} only"
        return Answer(status=Status.CRASHED, time=time, value=value, detail=detail)
    if expected.solved is not None and not re.search(expected.solved, text, re.MULTILINE):
        return _no_answer(f"nothing in the output matches {expected.solved!r}", time, value)
    raw, number = (printed["time"], time) if needed == "time" else (printed["value"], value)
    if needed and raw is not None and (number is None or (needed == "time" and number < 0)):
        return _no_answer(f"the {needed} {raw[:80]!r} is not a valid number", time, value)
    return Answer(status=Status.SOLVED, time=time, value=value)


def _read_runner(scenario: Scenario, text: str) -> Answer:
    """The answer of an irace target-runner.

    Under irace's capping the cost is the running time, and one of the bound or more is a timeout,
    whatever penalty the runner puts on it.
    """
    answer, metric = read_cost(text), scenario.metric
    cost = answer.value
    if cost is None or not (scenario.target.bound and metric.reported == "time"):
        return answer
    if metric.cutoff is not None and cost >= metric.cutoff:
        return Answer(status=Status.TIMEOUT, value=cost, time=metric.cutoff)
    return Answer(status=Status.SOLVED, value=cost, time=cost)


def read_cost(text: str) -> Answer:
    """The last line, `cost [time]`; a cost of Inf asks irace to reject the configuration."""
    words = text.rstrip().rpartition("\n")[2].split()
    if not 1 <= len(words) <= 2:
        return _no_answer("the last line is not 'cost [time]'")
    if words[0].lower().lstrip("+") in ("inf", "infinity"):
        return Answer(status=Status.CRASHED, detail="the target says Inf")
    cost, *rest = (reported_number(word) for word in words)
    time = rest[0] if rest else None
    if cost is None or (rest and (time is None or time < 0)):
        return _no_answer(f"cannot read {' '.join(words)[:80]!r}")
    return Answer(status=Status.SOLVED, value=cost, time=time)


def read_wrapper(text: str) -> Answer:
    """The last answer line of the wrapper convention, old or new."""
    lines = LINE.findall(text)
    if not lines:
        return _no_answer("no line 'Result for SMAC: …' or 'Result of this algorithm run: …'")
    return parse(lines[-1]) or _no_answer(f"cannot read {lines[-1].strip()[:80]!r}")


def parse(text: str) -> Answer | None:
    """What follows the colon of a wrapper's answer; None where it breaks the convention."""
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
