"""One run: the target called in a slot, its answer read, and checked where the scenario has a
check.
"""

import importlib.util
import shlex
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from types import ModuleType
from typing import Any

from truecost.errors import InputError, counted
from truecost.running.scenario import Scenario
from truecost.running.slots import SCRATCH, Ended, LostSlotError, Slot, pasted
from truecost.running.tables import Limits, cause_of, fill
from truecost.running.targets import Answer, Call, kind_of, python
from truecost.runs import Instance, Outcome, Status
from truecost.space.arguments import arguments
from truecost.space.space import Configuration

# Seconds that a check and a version command may take: they are not part of a run.
CHECK_WALL, VERSION_WALL = 600.0, 60.0
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
        target = scenario.target
        self.kind = kind_of(target.kind)
        self._style: str | Mapping[str, str] = target.style or self.kind.style
        if target.kind == "irace" and target.style is None and scenario.space.switches:
            self._style = scenario.space.switches
        self._everywhere = {"python": sys.executable, "scenario": str(scenario.folder)}
        self._modules: dict[Path, ModuleType] = {}
        functions = target.functions()
        self._builder = self._load("builder") if "builder" in functions else None

    def arguments(self, configuration: Configuration) -> list[str]:
        """The configuration as the target's arguments."""
        if self._builder is None:
            return arguments(configuration, self._style)
        builder = self.scenario.target.builder
        with _their_code(f"target.builder: {builder}"):
            words = self._builder(dict(configuration.values))
        return _texts(f"target.builder: {builder}", words)

    def command_line(
        self, configuration: Configuration, instance: Instance, seed: int
    ) -> list[str]:
        """What is executed for a run; no shell ever sees it."""
        scenario, values = self.scenario, self._values(instance, seed)
        words = [] if scenario.target.kind == "python" else self.arguments(configuration)
        command: list[str] = []
        for word in scenario.target.command or ():
            command += words if word == "{arguments}" else self._filled([word], values)
        call = Call(
            scenario=scenario,
            command=command,
            arguments=words,
            configuration=configuration,
            instance=instance,
            seed=seed,
        )
        return self.kind.call(call)

    def check_line(self, instance: Instance, seed: int, output: str) -> list[str]:
        """What is executed to check a solved run, whose output is in this file."""
        scenario = self.scenario
        if isinstance(scenario.target.check, str):
            payload = {"check": [instance.argument, output]}
            return python.words(scenario.folder, scenario.target.check, payload)
        values = {**self._values(instance, seed), "output": output}
        return self._filled(scenario.target.check or (), values)

    def version_line(self) -> list[str]:
        """What is executed to learn the solver's version; empty where nothing is."""
        return self._filled(self.scenario.target.version or (), self._everywhere)

    def _filled(self, words: Sequence[str], values: Mapping[str, str]) -> list[str]:
        filled: list[str] = []
        for word in words:
            filled += self.program if word == "{program}" else [fill(word, values)]
        if not self.scenario.target.own_folder:
            return filled
        # A command that starts in a folder of its own finds the scenario's files only by their
        # whole path.
        folder = self.scenario.folder
        return [
            str(folder / word) if "\0" not in word and (folder / word).is_file() else word
            for word in filled
        ]

    @cached_property
    def program(self) -> list[str]:
        """The words that begin a command on this machine, from the scenario's function."""
        reference = f"target.program: {self.scenario.target.program}"
        with _their_code(reference):
            words = self._load("program")()
        return _texts(reference, words or None)

    def _values(self, instance: Instance, seed: int) -> dict[str, str]:
        return {
            **instance.extras,
            **self._everywhere,
            "cutoff": f"{self.scenario.limits.cutoff:.12g}",
            "instance": instance.argument,
            "scratch": SCRATCH,
            "seed": str(seed),
        }

    def read(self, exit_code: int, stdout: bytes, stderr: bytes = b"", dropped: int = 0) -> Answer:
        """The target's answer; one that cannot be read is a crash, with what is known about it.

        `dropped` bytes of the output are missing, and the answer may have been among them.
        """
        answer = self.kind.read(self.scenario, exit_code, stdout.decode("utf-8", "replace"))
        if self.kind.failing and exit_code != 0 and answer.status != Status.ABORTED:
            answer = Answer(status=Status.CRASHED)
        if answer.status != Status.CRASHED:
            return answer
        detail = answer.detail
        if dropped and detail.startswith("no answer"):
            detail += (
                f"; {dropped / 1e6:,.3g} MB in the middle of the output were dropped, perhaps with "
                "it: print less, or raise limits.output"
            )
        how = f"exit code {exit_code}" if exit_code >= 0 else f"signal {-exit_code}"
        last = _last_line(stderr.decode("utf-8", "replace"))
        parts = [detail, how if exit_code != 0 or not detail else "", last]
        return replace(answer, detail="; ".join(part for part in parts if part))

    def _load(self, key: str) -> Callable[..., Any]:
        """The function that 'file.py:name' names."""
        reference: str = getattr(self.scenario.target, key)
        path, _, name = reference.rpartition(":")
        place = self.scenario.folder / path
        with _their_code(f"target.{key}: {reference}"):
            if place not in self._modules:
                title = f"truecost_scenario_{sha256(str(place).encode()).hexdigest()[:16]}"
                spec = importlib.util.spec_from_file_location(title, place)
                if spec is None or spec.loader is None:
                    raise InputError(f"target.{key}: {path!r:.80} is not a Python file.")
                module = importlib.util.module_from_spec(spec)
                # Dataclasses and pickle look their module up there.
                sys.modules[title] = module
                spec.loader.exec_module(module)
                self._modules[place] = module
            function: Callable[..., Any] = getattr(self._modules[place], name)
        return function


@contextmanager
def _their_code(place: str) -> Iterator[None]:
    """Name the place of whatever the scenario's own Python raises."""
    try:
        yield
    except InputError:
        raise
    except (Exception, SystemExit) as error:
        name = type(error).__name__
        raise InputError(f"{place} raises {name}: {cause_of(error)}. Correct it.") from error


def _texts(place: str, words: Any) -> list[str]:
    """What the scenario's function returned, which must be a list of words."""
    if not isinstance(words, list) or not all(
        isinstance(word, str) and "\0" not in word for word in words
    ):
        raise InputError(f"{place} returns {words!r:.80}. Return a list of texts.")
    return words


def execute(
    slot: Slot,
    caller: Caller,
    configuration: Configuration,
    instance: Instance,
    seed: int,
    cap: float | None = None,
) -> Outcome:
    """Make a run. A cap, in seconds of the metric's clock, stops it below the scenario's limit."""
    # The target is not told of a cap: a run that ends before its cap is the run that would have
    # been without one.
    scenario = caller.scenario
    clock = scenario.metric.clock
    limits = scenario.limits if cap is None else scenario.limits.model_copy(update={clock: cap})
    words = caller.command_line(configuration, instance, seed)
    ended = _run(slot, caller, words, limits, loaded=scenario.target.kind == "python")
    answer = caller.read(ended.exit_code, ended.stdout, ended.stderr, ended.dropped)
    capped = cap is not None and ended.exceeded == clock
    status, detail = verdict(ended, answer)
    if capped:
        status, detail = Status.CENSORED, f"stopped at its cap of {cap:g} s"
    elif status == Status.SOLVED and scenario.target.check is not None:
        status, detail = _check(slot, caller, instance, seed, ended.stdout)
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
        command=by_hand(caller, configuration, instance, seed, outcome, values=False),
    )


def _run(
    slot: Slot, caller: Caller, words: list[str], limits: Limits, *, loaded: bool = False
) -> Ended:
    """Execute a command of the scenario, in its folder and with its environment."""
    target = caller.scenario.target
    return slot.run(
        words,
        folder=caller.scenario.folder,
        limits=limits,
        environment=target.environment,
        own_folder=target.own_folder,
        loaded=loaded,
    )


def verdict(ended: Ended, answer: Answer) -> tuple[Status, str]:
    """How the run ended, and why: a limit that was passed overrides what the target said."""
    if ended.exceeded == "memory":
        return Status.MEMORY, "memory limit"
    if ended.exceeded is not None:
        return Status.TIMEOUT, f"{'CPU' if ended.exceeded == 'cpu' else 'wall'} limit"
    return answer.status, answer.detail


def _check(
    slot: Slot, caller: Caller, instance: Instance, seed: int, stdout: bytes
) -> tuple[Status, str]:
    # The supervisor tidies its folder when the check is over.
    output = slot.folder / "output"
    try:
        output.write_bytes(stdout)
    except FileNotFoundError as error:
        raise LostSlotError("the supervisor's folder is gone, and so is the supervisor.") from error
    line = caller.check_line(instance, seed, str(output))
    function = isinstance(caller.scenario.target.check, str)
    ended = _run(slot, caller, line, Limits(wall=CHECK_WALL, output=1.0), loaded=function)
    if ended.exceeded is None and ended.exit_code == 0:
        return Status.SOLVED, ""
    errors = ended.stderr.decode("utf-8", "replace")
    last = _last_line(f"{ended.stdout.decode('utf-8', 'replace')}\n{errors}")
    broke = any(line.startswith(BROKE) for line in errors.splitlines())
    if ended.exceeded is None and ended.exit_code == WRONG and not broke:
        return Status.WRONG, last or "the check says no"
    how = f"{ended.exceeded} limit" if ended.exceeded else f"exit code {ended.exit_code}"
    return Status.ABORTED, f"{CHECK_FAILED} ({how}): {last}".rstrip(": ")


def _last_line(text: str) -> str:
    """The last line that is not blank, or its beginning."""
    return next((_plain(line) for line in reversed(text.splitlines()) if line.strip()), "")


def _plain(line: str) -> str:
    """The beginning of a solver's line, without what would recolour or clear our terminal."""
    return "".join(c if c.isprintable() else "?" for c in line.strip()[:200])


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
    and with the values of the scenario's environment, or dots in their place.
    """
    scenario = caller.scenario
    environment = scenario.target.environment
    if not values:
        environment = dict.fromkeys(environment, "…")
    words = caller.command_line(configuration, instance, seed)
    line = pasted(words, scenario.folder, environment)
    broke = outcome.status == Status.ABORTED and outcome.detail.startswith(CHECK_FAILED)
    if outcome.status != Status.WRONG and not broke:
        return line
    output = str(Path(tempfile.gettempdir()) / "truecost-output")
    check = pasted(caller.check_line(instance, seed, output), None, environment)
    return f"{line} > {shlex.quote(output)}; {check}"


def version_of(slot: Slot, caller: Caller) -> str:
    """The first line that the scenario's version command prints; empty if there is no command."""
    line = caller.version_line()
    if not line:
        return ""
    ended = _run(slot, caller, line, Limits(wall=VERSION_WALL, output=1.0))
    if ended.exit_code != 0 or ended.exceeded is not None:
        # An error message is no version: it may differ from run to run, or be the same for all.
        return ""
    text = (ended.stdout + b"\n" + ended.stderr).decode("utf-8", "replace").strip()
    return _plain(text.partition("\n")[0])
