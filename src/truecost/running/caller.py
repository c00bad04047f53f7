"""How a scenario's target is called and its answer read, whatever its kind."""

import importlib.util
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

from truecost.errors import InputError
from truecost.running.problems import fill
from truecost.running.scenario import Scenario
from truecost.running.slots import SCRATCH
from truecost.running.targets import kinds
from truecost.running.targets.kind import Calling, Report, TargetAnswer
from truecost.runs import Instance, Status
from truecost.space.space import Configuration, arguments


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
        try:
            words = self._builder(dict(configuration.values))
        except Exception as error:  # whatever somebody else's code raises
            raise InputError(
                f"{builder}: expected arguments, got {type(error).__name__}: {error}."
            ) from error
        return _texts(str(builder), words)

    def command_line(
        self, configuration: Configuration, instance: Instance, seed: int
    ) -> list[str]:
        """What is executed for a run; no shell ever sees it."""
        scenario, target = self.scenario, self.scenario.target
        values = self._values(instance, seed)
        command: list[str] = []
        for word in target.command or ():
            own = word == "{arguments}"
            command += self.arguments(configuration) if own else self._filled([word], values)
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
        try:
            words = self._load("program")()
        except InputError:
            raise
        except Exception as error:  # whatever somebody else's code raises
            raise InputError(f"{reference}: {type(error).__name__}: {error}.") from error
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
        return replace(answer, detail=_explained(detail, exit_code, stderr))

    def _load(self, key: str) -> Callable[..., Any]:
        """The function that 'file.py:name' names."""
        reference: str = getattr(self.scenario.target, key)
        path, _, name = reference.rpartition(":")
        place = self.scenario.folder / path
        spec = importlib.util.spec_from_file_location("truecost_scenario_builder", place)
        if spec is None or spec.loader is None:
            raise InputError(f"target.{key}: expected a Python file, got {path!r:.80}.")
        module = importlib.util.module_from_spec(spec)
        try:
            spec.loader.exec_module(module)
            function: Callable[..., Any] = getattr(module, name)
        except Exception as error:  # whatever somebody else's code raises
            raise InputError(
                f"target.{key}: {reference}: {type(error).__name__}: {error}."
            ) from error
        return function


def _texts(reference: str, words: Any) -> list[str]:
    """What somebody's function returned, which must be a list of words."""
    if not isinstance(words, list) or not all(
        isinstance(word, str) and "\0" not in word for word in words
    ):
        raise InputError(f"{reference}: expected a list of texts, got {words!r:.80}.")
    return words


def _explained(detail: str, exit_code: int, stderr: bytes) -> str:
    """The detail, how the process ended, and the last line it wrote to standard error."""
    lines = [
        line.strip() for line in stderr.decode("utf-8", "replace").splitlines() if line.strip()
    ]
    how = f"exit code {exit_code}" if exit_code >= 0 else f"signal {-exit_code}"
    parts = [detail, how if exit_code != 0 or not detail else "", lines[-1][:200] if lines else ""]
    return "; ".join(part for part in parts if part)
