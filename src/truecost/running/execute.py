"""One run: the target called in a slot, its answer read, and checked where the scenario has a
check.
"""

import shlex
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any

from truecost.errors import InputError, counted
from truecost.running import targets
from truecost.running._call import load
from truecost.running.files import cause_of, is_file
from truecost.running.scenario import Scenario
from truecost.running.slots import LostSlotError, ProcessResult, Slot, pasted
from truecost.running.tables import Limits
from truecost.running.targets import STYLES, Answer, Task
from truecost.runs import Outcome, Status
from truecost.space.arguments import arguments
from truecost.space.space import Configuration

# A check and a version command are not part of a run; seconds that they may take.
CHECK_LIMITS, VERSION_LIMITS = Limits(wall=600.0, output=1.0), Limits(wall=60.0, output=1.0)
# The exit code with which a check says that the answer is wrong.
WRONG = 1
# Bytes of the end of stdout and stderr of a failed run that are kept.
KEPT_OUTPUT = 64_000
# What Python and R print before they exit with 1 for a fault of the program itself.
BROKE = ("Traceback (most recent call last):", "Execution halted")
CHECK_FAILED = "the check itself failed"


class Caller:
    """Knows how to call a scenario's target and how to read its answers."""

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self._functions: dict[str, Callable[..., Any]] = {}
        self._version: str | None = None

    def command_line(self, task: Task, scratch: str = "") -> list[str]:
        """What is executed for a run; no shell ever sees it."""
        words = self.arguments(task.configuration)
        command = self._filled("command", self._values(task, scratch), words)
        return targets.call(self.scenario, command, words, task)

    def arguments(self, configuration: Configuration) -> list[str]:
        """A configuration as the target takes it; nothing where that is a Python function."""
        target = self.scenario.target
        if target.builder is not None:
            return self._words("builder", dict(configuration.values))
        if target.kind == "python":
            return []
        switches = self.scenario.space.switches if target.kind == "irace" else None
        return arguments(configuration, target.style or switches or STYLES[target.kind])

    def check_line(self, task: Task, output: str, scratch: str = "") -> list[str]:
        """What is executed to check a solved run, whose output is in this file."""
        scenario = self.scenario
        if isinstance(scenario.target.check, str):
            payload = {"check": [task.instance.argument, output]}
            return targets.call_function(scenario.folder, scenario.target.check, payload)
        return self._filled("check", {**self._values(task, scratch), "output": output})

    def _values(self, task: Task, scratch: str) -> dict[str, str]:
        return {
            **task.instance.extras,
            "cutoff": f"{self.scenario.limits.cutoff:.12g}",
            "instance": task.instance.argument,
            "scratch": scratch or tempfile.gettempdir(),
            "seed": str(task.seed),
        }

    def _filled(
        self, key: str, values: Mapping[str, str], arguments: Sequence[str] = ()
    ) -> list[str]:
        """A command of the scenario, its placeholders filled in."""
        target, folder = self.scenario.target, self.scenario.folder
        values = {**values, "python": sys.executable, "scenario": str(folder)}
        filled: list[str] = []
        for word in getattr(target, key) or ():
            if word == "{arguments}":
                filled += arguments
            elif word == "{program}":
                filled += map(self._reachable, self.program)
            else:
                try:
                    filled.append(self._reachable(word.format_map(values)))
                except KeyError as error:
                    raise InputError(
                        f"target.{key} needs {{{error.args[0]}}}, a column that the instance "
                        f"{values['instance']!r:.120} does not have. Add it to instances.file."
                    ) from None
        return filled

    def _reachable(self, word: str) -> str:
        """A word of a command; a file of the scenario by its whole path where the command starts
        elsewhere.
        """
        path = self.scenario.folder / word
        return str(path) if self.scenario.target.own_folder and is_file(path) else word

    @cached_property
    def program(self) -> list[str]:
        """The words that begin a command on this machine, from the scenario's function."""
        return self._words("program")

    def _words(self, key: str, *given: Any) -> list[str]:
        """What a function of the scenario returns, which must be a list of texts."""
        reference: str = getattr(self.scenario.target, key)
        path, _, name = reference.rpartition(":")
        try:
            if key not in self._functions:
                place = str(self.scenario.folder / path)
                title = f"truecost_{key}_{sha256(place.encode()).hexdigest()[:16]}"
                self._functions[key] = load(place, name, title)
            words = self._functions[key](*given)
        except (Exception, SystemExit) as error:
            raise InputError(
                f"target.{key}: {reference} raises {type(error).__name__}: {cause_of(error)}. "
                "Correct it."
            ) from error
        texts = isinstance(words, list) and all(
            isinstance(word, str) and "\0" not in word for word in words
        )
        if not texts or (key == "program" and not words):
            raise InputError(
                f"target.{key}: {reference} returns {words!r:.80}. Return a list of texts."
            )
        return list(words)

    def run(
        self, slot: Slot, words: Sequence[str], limits: Limits, *, function: bool = False
    ) -> ProcessResult:
        """Execute a command in the scenario's folder and with its environment."""
        target = self.scenario.target
        return slot.run(
            words,
            folder=self.scenario.folder,
            limits=limits,
            environment=target.environment,
            own_folder=target.own_folder,
            function=function,
        )

    def version(self, slot: Slot) -> str:
        """The first line that the scenario's version command prints; empty where there is none."""
        if self._version is None:
            text = b""
            if line := self._filled("version", {}):
                ended = self.run(slot, line, VERSION_LIMITS)
                # An error message is no version: it may differ from run to run.
                if ended.exit_code == 0 and ended.exceeded is None:
                    text = ended.stdout + b"\n" + ended.stderr
            self._version = _plain(_text(text).strip().partition("\n")[0])
        return self._version

    def read(self, ended: ProcessResult) -> Answer:
        """The target's answer; one that cannot be read is a crash, with what is known about it."""
        code, stdout = ended.exit_code, _text(ended.stdout)
        answer = targets.read(self.scenario, code, stdout)
        if answer.status != Status.CRASHED:
            return answer
        detail = answer.detail
        if ended.dropped and detail.startswith("no answer"):
            detail += (
                f"; {ended.dropped / 1e6:,.3g} MB in the middle of the output were dropped, "
                "perhaps with it: print less, or raise limits.output"
            )
        how = f"exit code {code}" if code >= 0 else f"signal {-code}"
        parts = [detail, how if code != 0 or not detail else "", _last_line(_text(ended.stderr))]
        return replace(answer, detail="; ".join(part for part in parts if part))


def execute(slot: Slot, caller: Caller, task: Task) -> Outcome:
    """Make a run."""
    # The target is not told of a cap: a run that ends before its cap is the run that would have
    # been without one.
    scenario, cap = caller.scenario, task.cap
    clock = scenario.metric.clock
    limits = scenario.limits if cap is None else scenario.limits.model_copy(update={clock: cap})
    words = caller.command_line(task, slot.scratch)
    ended = caller.run(slot, words, limits, function=scenario.target.kind == "python")
    answer = caller.read(ended)
    capped = cap is not None and ended.exceeded == clock
    status, detail = verdict(ended, answer)
    if capped:
        status, detail = Status.CENSORED, f"stopped at its cap of {cap:g} s"
    elif status == Status.SOLVED and scenario.target.check is not None:
        status, detail = _check(slot, caller, task, ended.stdout)
    if ended.unkillable:
        left = f"{counted(ended.unkillable, 'process')} could not be killed"
        detail = f"{detail}; {left}" if detail else left
    outcome = Outcome(
        status=status,
        cpu=ended.cpu,
        wall=ended.wall,
        memory=ended.memory,
        exit_code=ended.exit_code,
        time=answer.time,
        value=answer.value,
        detail=detail,
        cap=cap if capped else None,
    )
    if status in (Status.SOLVED, Status.TIMEOUT, Status.CENSORED):
        return outcome
    return replace(
        outcome,
        stdout=ended.stdout[-KEPT_OUTPUT:],
        stderr=ended.stderr[-KEPT_OUTPUT:],
        # Values of the environment may be secrets, and this is written down.
        command=by_hand(caller, task, outcome, values=False),
    )


def verdict(ended: ProcessResult, answer: Answer) -> tuple[Status, str]:
    """How the run ended, and why: a limit that was passed overrides what the target said."""
    if ended.exceeded == "memory":
        return Status.MEMORY, "memory limit"
    if ended.exceeded is not None:
        return Status.TIMEOUT, f"{'CPU' if ended.exceeded == 'cpu' else 'wall'} limit"
    return answer.status, answer.detail


def _check(slot: Slot, caller: Caller, task: Task, stdout: bytes) -> tuple[Status, str]:
    # The supervisor tidies its folder when the check is over.
    output = slot.folder / "output"
    try:
        output.write_bytes(stdout)
    except FileNotFoundError as error:
        raise LostSlotError("the supervisor's folder is gone, and so is the supervisor.") from error
    except OSError as error:
        raise InputError(
            f"The output of a run cannot be written for its check ({error.strerror}). Make room in "
            f"{slot.folder.parent}."
        ) from error
    line = caller.check_line(task, str(output), slot.scratch)
    function = isinstance(caller.scenario.target.check, str)
    ended = caller.run(slot, line, CHECK_LIMITS, function=function)
    if ended.exceeded is None and ended.exit_code == 0:
        return Status.SOLVED, ""
    errors = _text(ended.stderr)
    last = _last_line(f"{_text(ended.stdout)}\n{errors}")
    broke = any(line.startswith(BROKE) for line in errors.splitlines())
    if ended.exceeded is None and ended.exit_code == WRONG and not broke:
        return Status.WRONG, last or "the check says no"
    how = f"{ended.exceeded} limit" if ended.exceeded else f"exit code {ended.exit_code}"
    return Status.ABORTED, f"{CHECK_FAILED} ({how}): {last}".rstrip(": ")


def _text(output: bytes) -> str:
    """Output as text; every line end, also of a progress line, is a newline."""
    return output.decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", "\n")


def _last_line(text: str) -> str:
    """The last line that is not blank, or its beginning."""
    return next((_plain(line) for line in reversed(text.splitlines()) if line.strip()), "")


def _plain(line: str) -> str:
    """The beginning of a solver's line, without what would recolour or clear our terminal."""
    return "".join(c if c.isprintable() else "?" for c in line.strip()[:200])


def by_hand(caller: Caller, task: Task, outcome: Outcome, *, values: bool = True) -> str:
    """A run as a command line to paste into a shell; with its check where that is what went wrong,
    and with the values of the scenario's environment, or dots in their place.
    """
    environment = caller.scenario.target.environment
    if not values:
        environment = dict.fromkeys(environment, "…")
    line = pasted(caller.command_line(task), caller.scenario.folder, environment)
    broke = outcome.status == Status.ABORTED and outcome.detail.startswith(CHECK_FAILED)
    if outcome.status != Status.WRONG and not broke:
        return line
    output = str(Path(tempfile.gettempdir()) / "truecost-output")
    check = pasted(caller.check_line(task, output), None, environment)
    return f"{line} > {shlex.quote(output)}; {check}"
