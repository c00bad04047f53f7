"""Kinds of targets: how each is called, and how its output is read. One file each."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from truecost.runs import Instance, Status
from truecost.space.space import Configuration

if TYPE_CHECKING:
    from truecost.running.scenario import Scenario


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A run to be called: `command` is the scenario's, with placeholders filled in; `arguments`
    are the configuration's.
    """

    scenario: "Scenario"
    command: Sequence[str]
    arguments: Sequence[str]
    configuration: Configuration
    instance: Instance
    seed: int

    @property
    def cutoff(self) -> str:
        """The cutoff in seconds, as a word of a command line."""
        return f"{self.scenario.limits.cutoff:.12g}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a target says about its run."""

    status: Status
    time: float | None = None
    value: float | None = None
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A kind of target: the words that are executed for a run, and the answer in an output, given
    the exit code; one that cannot be read is a crash.
    """

    call: Callable[[Call], list[str]]
    read: Callable[["Scenario", int, str], Answer]
    # How configurations are written as arguments unless the scenario says otherwise.
    style: str = "-name value"
    # What its command may ask for beside {python}, {scenario}, {program} and {scratch}.
    placeholders: frozenset[str] = frozenset()
    # Whether an exit code other than 0 is a crash whatever was printed.
    failing: bool = False


def kind_of(name: str) -> Kind:
    """The kind of target with this name."""
    from truecost.running.targets import command, irace, python, wrapper

    kinds = {
        "command": command.KIND,
        "wrapper": wrapper.KIND,
        "irace": irace.KIND,
        "python": python.KIND,
    }
    return kinds[name]
