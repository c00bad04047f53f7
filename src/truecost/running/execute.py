"""One run: the target called in a slot, whatever its kind, its answer read, and checked where the
scenario has a check.
"""

import importlib.util
import shlex
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

from truecost.errors import InputError
from truecost.running.instances import prepare
from truecost.running.scenario import Scenario
from truecost.running.slots import SCRATCH, Ended, LostSlotError, Slot, pasted
from truecost.running.tables import Limits, fill
from truecost.running.targets import Calling, Report, TargetAnswer, kinds
from truecost.runs import Instance, Outcome, Status
from truecost.space.space import Configuration, arguments

# What a check and a version command may take, in seconds: they are not part of a run.
CHECK_WALL, VERSION_WALL = 600.0, 60.0
VETO = 1
# So much of the end of stdout and stderr of a failed run is kept, in bytes.
KEPT_OUTPUT = 64_000
# What Python and R write before they exit with 1 for a fault of the program itself.
BROKE = ("Traceback (most recent call last):", "Execution halted")
CHECK_FAILED = "the check itself failed"


class Caller:
    """Knows how to call a scenario's target and how to read what it answers."""

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self.kind = kinds()[scenario.target.kind]
        self._style: str | Mapping[str, str] = scenario.target.style or self.kind.style
        if self.kind.switches and scenario.target.style is None and scenario.space.switches:
            self._style = scenario.space.switches
        functions = scenario.target.given()
        self._builder = self._load("builder") if "builder" in functions else None
        # check(instance, output) -> what is wrong with the answer, or None.
        self.check = self._load("check") if "check" in functions else None

    def arguments(self, configuration: Configuration) -> list[str]:
        """The configuration as the target's arguments."""
        if self._builder is None:
            return arguments(configuration, self._style)
        builder = self.scenario.target.builder
        with _their_code(f"{builder}: expected arguments, got"):
            words = self._builder(dict(configuration.values))
        return _texts(str(builder), words)

    def command_line(
        self, configuration: Configuration, instance: Instance, seed: int
    ) -> list[str]:
        """What is executed for a run; no shell ever sees it."""
        scenario, target = self.scenario, self.scenario.target
        values = self._values(instance, seed)
        command: list[str] = []
        for word in target.command or ():
            whole = word == "{arguments}"
            command += self.arguments(configuration) if whole else self._filled([word], values)
        call = Calling(
            target=target,
            folder=scenario.folder,
            command=command,
            arguments=lambda: self.arguments(configuration),
            configuration=configuration,
            instance=instance,
            seed=seed,
            cutoff=scenario.limits.cutoff or 0.0,
            number=instance.number or scenario.place(instance) % 10**6 + 1,
        )
        return self.kind.call(call)

    def check_line(self, instance: Instance, seed: int, output: str) -> list[str]:
        """What is executed to check a solved run, whose output is in this file; empty where nothing
        is. Of a check that is a function, what calls it from a shell.
        """
        check = self.scenario.target.check
        if isinstance(check, str):
            path, _, name = check.rpartition(":")
            call = f"[{name!r}]({instance.argument!r}, open({output!r}).read())"
            file = str(self.scenario.folder / path)
            return [sys.executable, "-c", f"import runpy; print(runpy.run_path({file!r}){call})"]
        values = {**self._values(instance, seed), "output": output}
        return self._filled(check or (), values)

    def version_line(self) -> list[str]:
        """What is executed to learn the solver's version; empty where nothing is."""
        values = {"python": sys.executable, "scenario": str(self.scenario.folder)}
        return self._filled(self.scenario.target.version or (), values)

    def _filled(self, words: Sequence[str], values: Mapping[str, str]) -> list[str]:
        filled: list[str] = []
        for word in words:
            filled += self.program if word == "{program}" else [fill(word, values)]
        if not self.scenario.target.own_folder:
            return filled
        # Started elsewhere, a command finds the scenario's files only by their whole path.
        folder = self.scenario.folder
        return [
            str(folder / word) if "\0" not in word and (folder / word).is_file() else word
            for word in filled
        ]

    @cached_property
    def program(self) -> list[str]:
        """The words that the scenario's function finds on this machine to begin a command with."""
        reference = f"target.program: {self.scenario.target.program}"
        with _their_code(f"{reference}:"):
            words = self._load("program")()
        return _texts(reference, words or None)

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
    ) -> TargetAnswer:
        """The target's answer; one that cannot be read is a crash, with what there is to say of it.

        `dropped` bytes of the output are missing, and the answer may have been among them.
        """
        scenario = self.scenario
        text = stdout.decode("utf-8", "replace")
        answer = self.kind.read(
            Report(
                exit_code=exit_code,
                text=text,
                format=scenario.answer,
                metric=scenario.metric,
                bound=scenario.target.bound,
            )
        )
        if self.kind.failing and exit_code != 0 and answer.status != Status.ABORTED:
            answer = TargetAnswer(status=Status.CRASHED)
        if answer.status != Status.CRASHED:
            return answer
        detail = answer.detail
        if dropped and detail.startswith("no answer"):
            detail += (
                f"; {dropped / 1e6:,.3g} MB in the middle of the output were dropped, perhaps with "
                "it: print less, or raise limits.output"
            )
        how = f"exit code {exit_code}" if exit_code >= 0 else f"signal {-exit_code}"
        errors = stderr.decode("utf-8", "replace").splitlines()
        last = next((line.strip()[:200] for line in reversed(errors) if line.strip()), "")
        parts = [detail, how if exit_code != 0 or not detail else "", last]
        return replace(answer, detail="; ".join(part for part in parts if part))

    def _load(self, key: str) -> Callable[..., Any]:
        """The function that 'file.py:name' names."""
        reference: str = getattr(self.scenario.target, key)
        path, _, name = reference.rpartition(":")
        place = self.scenario.folder / path
        spec = importlib.util.spec_from_file_location("truecost_scenario_builder", place)
        if spec is None or spec.loader is None:
            raise InputError(f"target.{key}: expected a Python file, got {path!r:.80}.")
        module = importlib.util.module_from_spec(spec)
        with _their_code(f"target.{key}: {reference}:"):
            spec.loader.exec_module(module)
            function: Callable[..., Any] = getattr(module, name)
        return function


@contextmanager
def _their_code(start: str) -> Iterator[None]:
    """Whatever the scenario's own Python raises, in a message that starts so."""
    try:
        yield
    except InputError:
        raise
    except Exception as error:
        raise InputError(f"{start} {type(error).__name__}: {error}.") from error


def _texts(reference: str, words: Any) -> list[str]:
    """What somebody's function returned, which must be a list of words."""
    if not isinstance(words, list) or not all(
        isinstance(word, str) and "\0" not in word for word in words
    ):
        raise InputError(f"{reference}: expected a list of texts, got {words!r:.80}.")
    return words


def execute(
    slot: Slot,
    caller: Caller,
    configuration: Configuration,
    instance: Instance,
    seed: int,
    cap: float | None = None,
) -> Outcome:
    """One run: the target called, its answer read, and checked where the scenario has a check. A
    cap, in seconds of the metric's clock, stops it below the scenario's limit.
    """
    # The target is not told of a cap: a run that ends before it is the run that would have been
    # without.
    scenario = caller.scenario
    clock = scenario.metric.clock
    limits = scenario.limits if cap is None else scenario.limits.model_copy(update={clock: cap})
    prepare(instance)
    keep = scenario.target.keep or ()
    words = caller.command_line(configuration, instance, seed)
    ended = _run(slot, caller, words, limits, keep, scenario.target.warm)
    answer = caller.read(ended.exit_code, ended.stdout, ended.stderr, ended.dropped)
    capped = cap is not None and ended.exceeded == clock
    status, detail = verdict(ended, answer)
    if capped:
        status, detail = Status.CENSORED, f"stopped at its cap of {cap:g} s"
    elif status == Status.SOLVED and scenario.target.check is not None:
        status, detail = _check(slot, caller, instance, seed, ended.stdout)
    outcome = Outcome(
        status=status,
        cpu=ended.cpu,
        wall=ended.wall,
        memory=ended.memory,
        exit_code=ended.exit_code,
        time=answer.time,
        value=answer.value,
        method=slot.method,
        detail=detail,
        cap=cap if capped else None,
        files=ended.files,
    )
    if status in (Status.SOLVED, Status.TIMEOUT, Status.CENSORED):
        return outcome
    return replace(
        outcome,
        stdout=ended.stdout[-KEPT_OUTPUT:],
        stderr=ended.stderr[-KEPT_OUTPUT:],
        # Values of the environment may be secrets, and this is written down.
        command=by_hand(caller, configuration, instance, seed, outcome, values=False),
    )


def _run(
    slot: Slot,
    caller: Caller,
    words: list[str],
    limits: Limits,
    keep: Sequence[str] = (),
    warm: bool = False,
) -> Ended:
    """A command of the scenario, in its folder and with its environment."""
    scenario, target = caller.scenario, caller.scenario.target
    return slot.run(
        words,
        folder=scenario.folder,
        limits=limits,
        environment=target.environment,
        own_folder=target.own_folder,
        keep=keep,
        warm=warm,
    )


def verdict(ended: Ended, answer: TargetAnswer) -> tuple[Status, str]:
    """How the run ended, and why: a limit that was passed goes before whatever the target said."""
    if ended.exceeded == "memory":
        return Status.MEMORY, "memory limit"
    if ended.exceeded is not None:
        return Status.TIMEOUT, f"{'CPU' if ended.exceeded == 'cpu' else 'wall'} limit"
    return answer.status, answer.detail


def _check(
    slot: Slot, caller: Caller, instance: Instance, seed: int, stdout: bytes
) -> tuple[Status, str]:
    if caller.check is not None:
        try:
            reason = caller.check(instance.argument, stdout.decode("utf-8", "replace"))
        except Exception as error:  # whatever somebody else's code raises
            return Status.ABORTED, f"{CHECK_FAILED}: {type(error).__name__}: {error}"
        return (Status.VETOED, str(reason)[:200]) if reason else (Status.SOLVED, "")
    # The supervisor tidies its folder when the check is over.
    output = slot.folder / "output"
    try:
        output.write_bytes(stdout)
    except FileNotFoundError as error:
        raise LostSlotError("the supervisor's folder is gone, and so is the supervisor.") from error
    line = caller.check_line(instance, seed, str(output))
    ended = _run(slot, caller, line, Limits(wall=CHECK_WALL, output=1.0))
    if ended.exceeded is None and ended.exit_code == 0:
        return Status.SOLVED, ""
    errors = ended.stderr.decode("utf-8", "replace").splitlines()
    lines = [*ended.stdout.decode("utf-8", "replace").splitlines(), *errors]
    last = next((text.strip()[:200] for text in reversed(lines) if text.strip()), "")
    broke = any(text.startswith(BROKE) for text in errors)
    if ended.exceeded is None and ended.exit_code == VETO and not broke:
        return Status.VETOED, last or "vetoed by the check"
    how = f"{ended.exceeded} limit" if ended.exceeded else f"exit code {ended.exit_code}"
    return Status.ABORTED, f"{CHECK_FAILED} ({how}): {last}".rstrip(": ")


def by_hand(
    caller: Caller,
    configuration: Configuration,
    instance: Instance,
    seed: int,
    outcome: Outcome,
    *,
    values: bool = True,
) -> str:
    """A run as a command line to paste into a shell; with its check where that is what went wrong,
    and with the values of the scenario's environment or with dots in their place.
    """
    scenario = caller.scenario
    environment = scenario.target.environment
    if not values:
        environment = dict.fromkeys(environment, "…")
    words = caller.command_line(configuration, instance, seed)
    line = pasted(words, scenario.folder, environment)
    broke = outcome.status == Status.ABORTED and outcome.detail.startswith(CHECK_FAILED)
    if outcome.status != Status.VETOED and not broke:
        return line
    output = str(Path(tempfile.gettempdir()) / "truecost-output")
    check = pasted(caller.check_line(instance, seed, output), None, environment)
    return f"{line} > {shlex.quote(output)}; {check}"


def version_of(slot: Slot, caller: Caller) -> str:
    """The first line the scenario's version command prints; empty if there is no such command."""
    line = caller.version_line()
    if not line:
        return ""
    ended = _run(slot, caller, line, Limits(wall=VERSION_WALL, output=1.0))
    if ended.exit_code != 0 or ended.exceeded is not None:
        # An error message is no version: it may differ from run to run, or be the same for all.
        return ""
    text = (ended.stdout + b"\n" + ended.stderr).decode("utf-8", "replace").strip()
    return text.partition("\n")[0].strip()[:200]
