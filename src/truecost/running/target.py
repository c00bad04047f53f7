"""How a solver is called and its answer read: a command template, a wrapper, irace's target-runner,
a Python function.
"""

import importlib.util
import json
import re
import secrets
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from truecost.errors import InputError
from truecost.running import wrapper_answer
from truecost.running.scenario import Scenario, fill
from truecost.running.wrapper_answer import reported_number
from truecost.runs import Instance, Status
from truecost.space.space import Configuration, arguments

CALL = Path(__file__).with_name("_call.py")
STYLE = {"command": "--name=value", "wrapper": "-name value", "irace": "--name value"}
ANSWER_LINE = re.compile(rf"^[ \t]*{wrapper_answer.ANSWER}$", re.MULTILINE | re.IGNORECASE)
# Stands for the scratch folder until the supervisor has made one; nobody's file is called that.
SCRATCH = f"scratch-{secrets.token_hex(16)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """What the target said of its run."""

    status: Status
    time: float | None = None
    value: float | None = None
    detail: str = ""


class Caller:
    """Knows how to call a scenario's target and how to read what it answers."""

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        target = scenario.target
        self._style: str | Mapping[str, str] = target.style or STYLE.get(target.kind, "")
        if target.kind == "irace" and target.style is None and scenario.space.switches is not None:
            self._style = scenario.space.switches
        self._build = (
            None if target.builder is None else _load(scenario.folder, "builder", target.builder)
        )

    def arguments(self, configuration: Configuration) -> list[str]:
        """The configuration as the target's arguments."""
        if self._build is None:
            return arguments(configuration, self._style)
        builder = self.scenario.target.builder
        try:
            words = self._build(dict(configuration.values))
        except Exception as error:  # whatever somebody else's code raises
            raise InputError(
                f"{builder}: expected arguments, got {type(error).__name__}: {error}."
            ) from error
        if not isinstance(words, list) or not all(
            isinstance(word, str) and "\0" not in word for word in words
        ):
            raise InputError(f"{builder}: expected a list of texts, got {words!r:.80}.")
        return words

    def command_line(
        self, configuration: Configuration, instance: Instance, seed: int
    ) -> list[str]:
        """What is executed for a run; no shell ever sees it."""
        scenario, target = self.scenario, self.scenario.target
        cutoff = f"{scenario.limits.cutoff:.12g}"
        if target.kind == "python":
            path, _, name = (target.function or "").rpartition(":")
            known = {
                "configuration": dict(configuration.values),
                "instance": instance.argument,
                "seed": seed,
                "cutoff": scenario.limits.cutoff,
                "extras": dict(instance.extras),
            }
            return [sys.executable, str(CALL), str(scenario.folder / path), name, json.dumps(known)]
        values = self._values(instance, seed)
        words = []
        for word in target.command or ():
            words += (
                self.arguments(configuration)
                if word == "{arguments}"
                else self._filled(word, values)
            )
        if target.kind == "wrapper":
            specifics = instance.extras.get("specifics", "0")
            words += [instance.argument, specifics, cutoff, str(target.runlength), str(seed)]
        if target.kind == "irace":
            number = scenario.place(instance) % 10**6 + 1
            words += [
                configuration.name,
                str(number),
                str(seed),
                instance.argument,
                *([cutoff] if target.bound else []),
            ]
        return words if target.kind == "command" else [*words, *self.arguments(configuration)]

    def check_line(self, instance: Instance, seed: int, output: str) -> list[str] | None:
        """What is executed to check a solved run, whose output is in this file; None where nothing
        is.
        """
        values = {**self._values(instance, seed), "output": output}
        check = self.scenario.target.check
        return (
            None
            if check is None
            else [text for word in check for text in self._filled(word, values)]
        )

    def version_line(self) -> list[str] | None:
        """What is executed to learn the solver's version; None where nothing is."""
        values = {"python": sys.executable, "scenario": str(self.scenario.folder)}
        version = self.scenario.target.version
        return (
            None
            if version is None
            else [text for word in version for text in self._filled(word, values)]
        )

    def _filled(self, word: str, values: Mapping[str, str]) -> list[str]:
        return self.program if word == "{program}" else [fill(word, values)]

    @cached_property
    def program(self) -> list[str]:
        """The words that the scenario's function finds on this machine to begin a command with."""
        reference = self.scenario.target.program or ""
        try:
            words = _load(self.scenario.folder, "program", reference)()
        except InputError:
            raise
        except Exception as error:  # whatever somebody else's code raises
            raise InputError(
                f"target.program: {reference}: {type(error).__name__}: {error}."
            ) from error
        if (
            not isinstance(words, list)
            or not words
            or not all(isinstance(word, str) and "\0" not in word for word in words)
        ):
            raise InputError(
                f"target.program: {reference}: expected a list of texts, got {words!r:.80}."
            )
        return words

    def _values(self, instance: Instance, seed: int) -> dict[str, str]:
        return {
            **instance.extras,
            "cutoff": f"{self.scenario.limits.cutoff:.12g}",
            "instance": instance.argument,
            "python": sys.executable,
            "scenario": str(self.scenario.folder),
            "scratch": SCRATCH,
            "seed": str(seed),
        }

    def read(
        self, exit_code: int, stdout: bytes, stderr: bytes = b"", dropped: int = 0
    ) -> Answered:
        """The target's answer; one that cannot be read is a crash, with what there is to say of it.

        So many bytes of the output were dropped, and the answer may have been among them.
        """
        text = stdout.decode("utf-8", "replace")
        kind = self.scenario.target.kind
        if kind == "command":
            answered = self._read_command(exit_code, text)
        elif kind == "irace":
            answered = read_irace(text)
        else:
            answered = read_wrapper(text)
        if kind in ("irace", "python") and exit_code != 0 and answered.status != Status.ABORTED:
            answered = Answered(status=Status.CRASHED)
        if answered.status == Status.CRASHED:
            detail = answered.detail
            if dropped and detail.startswith("no answer"):
                detail += (
                    f"; {dropped / 1e6:,.3g} MB in the middle of the output were dropped, perhaps with it: print less, or "
                    "raise limits.output"
                )
            return replace(answered, detail=_explained(detail, exit_code, stderr))
        return answered

    def _read_command(self, exit_code: int, text: str) -> Answered:
        answer = self.scenario.answer
        said = {"time": _last(answer.time, text), "value": _last(answer.value, text)}
        time, value = reported_number(said["time"]), reported_number(said["value"])
        if exit_code not in answer.exit:
            return Answered(status=Status.CRASHED, time=time, value=value)
        if answer.solved is not None and not re.search(answer.solved, text, re.MULTILINE):
            return Answered(
                status=Status.CRASHED,
                detail=f"no answer: nothing in the output matches {answer.solved!r}",
                time=time,
                value=value,
            )
        metric = self.scenario.metric
        needed = "value" if not metric.timed else "time" if metric.clock == "reported" else None
        if (needed == "value" and value is None) or (
            needed == "time" and (time is None or time < 0)
        ):
            found = said[needed]
            detail = (
                f"no {needed} in the output"
                if found is None
                else f"the {needed} {found[:80]!r} is no number that can be"
            )
            return Answered(
                status=Status.CRASHED, detail=f"no answer: {detail}", time=time, value=value
            )
        return Answered(status=Status.SOLVED, time=time, value=value)


def _last(pattern: str | None, text: str) -> str | None:
    """The last that the pattern finds: solvers report as they go."""
    found = re.findall(pattern, text, re.MULTILINE) if pattern else []
    return found[-1] if found else None


def read_wrapper(text: str) -> Answered:
    """The last answer line of the AClib, SMAC and ParamILS convention, old or new."""
    lines = ANSWER_LINE.findall(text)
    if not lines:
        return Answered(
            status=Status.CRASHED,
            detail="no answer: no line 'Result for SMAC: …' or 'Result of this algorithm run: …'",
        )
    answer = wrapper_answer.parse(lines[-1])
    if answer is None or answer.status is None:
        return Answered(
            status=Status.CRASHED, detail=f"no answer: cannot read {lines[-1].strip()[:80]!r}"
        )
    detail = "" if answer.status == Status.SOLVED else f"the target says {answer.word}"
    return Answered(status=answer.status, time=answer.runtime, value=answer.quality, detail=detail)


def read_irace(text: str) -> Answered:
    """The last line of a target-runner, `cost [time]`; a cost of Inf is irace's word for a
    configuration to reject.
    """
    lines = [line.split() for line in text.splitlines() if line.strip()]
    if not lines or len(lines[-1]) > 2:
        return Answered(
            status=Status.CRASHED, detail="no answer: expected the last line to be 'cost [time]'"
        )
    numbers = [reported_number(word) for word in lines[-1]]
    if lines[-1][0].lower().lstrip("+") in ("inf", "infinity"):
        return Answered(status=Status.CRASHED, detail="the target says Inf")
    if None in numbers or (len(numbers) == 2 and (numbers[1] or 0) < 0):
        return Answered(
            status=Status.CRASHED, detail=f"no answer: cannot read {' '.join(lines[-1])[:80]!r}"
        )
    return Answered(
        status=Status.SOLVED, value=numbers[0], time=numbers[1] if len(numbers) == 2 else None
    )


def _explained(detail: str, exit_code: int, stderr: bytes) -> str:
    lines = [
        line.strip() for line in stderr.decode("utf-8", "replace").splitlines() if line.strip()
    ]
    how = f"exit code {exit_code}" if exit_code >= 0 else f"signal {-exit_code}"
    parts = [detail, how if exit_code != 0 or not detail else "", lines[-1][:200] if lines else ""]
    return "; ".join(part for part in parts if part)


def _load(folder: Path, key: str, reference: str) -> Callable[..., Any]:
    """The function that 'file.py:name' names."""
    path, _, name = reference.rpartition(":")
    spec = importlib.util.spec_from_file_location("truecost_scenario_builder", folder / path)
    if spec is None or spec.loader is None:
        raise InputError(f"target.{key}: expected a Python file, got {path!r:.80}.")
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
        function: Callable[..., Any] = getattr(module, name)
    except Exception as error:  # whatever somebody else's code raises
        raise InputError(f"target.{key}: {reference}: {type(error).__name__}: {error}.") from error
    return function
