"""Kinds of targets: how each is called, and how its output is read. One file each, with one `KIND`;
other packages add theirs by the entry point group `truecost.targets`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path

from truecost.journal.metric import Metric
from truecost.running.tables import AnswerFormat, Target
from truecost.runs import Instance, Status
from truecost.space.space import Configuration

BUILT_IN = ("command", "wrapper", "irace", "python")


@dataclass(frozen=True, slots=True, kw_only=True)
class Calling:
    """A run to be called.

    Parameters
    ----------
    command
        The words of the scenario's command, placeholders filled in.
    arguments
        The configuration as arguments.
    cutoff
        The cutoff that the target gets, in seconds.
    number
        A number of the instance, for conventions that want one.
    """

    target: Target
    folder: Path
    command: list[str]
    arguments: Callable[[], list[str]]
    configuration: Configuration
    instance: Instance
    seed: int
    cutoff: float
    number: int

    @property
    def cutoff_text(self) -> str:
        """The cutoff as a word of a command line."""
        return f"{self.cutoff:.12g}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What a run left: its exit code and its standard output, and how both are to be read.

    `bound` says that the target was told the cutoff in the way of irace's capping.
    """

    exit_code: int
    text: str
    format: AnswerFormat
    metric: Metric
    bound: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetAnswer:
    """What a target says of its run."""

    status: Status
    time: float | None = None
    value: float | None = None
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A kind of target.

    Parameters
    ----------
    call
        The words that are executed for a run; no shell sees them.
    read
        What the run's output says; an answer that cannot be read is a crash with a detail.
    style
        How configurations are written as arguments where the scenario does not say.
    needs
        The key of [target] that names what is called.
    placeholders
        What its command may ask for beside {python}, {scenario}, {program} and {scratch}.
    formatted
        Whether a table [answer] says how output is read.
    switches
        Whether the switches of an irace table, where there are some, are the style.
    failing
        Whether an exit code other than 0 is a crash whatever was printed.
    """

    call: Callable[[Calling], list[str]]
    read: Callable[[Report], TargetAnswer]
    style: str = ""
    needs: str = "command"
    placeholders: frozenset[str] = frozenset()
    formatted: bool = False
    switches: bool = False
    failing: bool = False


@cache
def kinds() -> dict[str, Kind]:
    """Every kind of target by its name."""
    known: dict[str, Kind] = {
        name: import_module(f"truecost.running.targets.{name}").KIND for name in BUILT_IN
    }
    for point in entry_points(group="truecost.targets"):
        known.setdefault(point.name, point.load())
    return known
