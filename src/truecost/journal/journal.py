"""The record of a campaign: one SQLite file, append-only, one writer, readable while written."""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from truecost.arrays import FloatArray, IntArray
from truecost.runs import Instance, Machine

if TYPE_CHECKING:
    from truecost.matrix import CostMatrix
    from truecost.matrix.log import Log
    from truecost.running.metric import Metric
    from truecost.running.pools import Finished
    from truecost.running.scenario import Scenario
    from truecost.space.space import Configuration

Kind = Literal["gather", "configure", "validate"]


class Event(NamedTuple):
    """A recorded decision. `after`: how many runs were on record before it."""

    number: int
    after: int
    kind: str
    data: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class RunTable:
    """All runs that count (aborted ones do not), as columns in the order they were recorded.

    `configuration` and `instance` are places in `configurations` and `instances` (order of entry).
    `row` is the run's place in the journal, from 1: runs with row ≤ event.after came before that
    event. `time`, `value` and `cap` are NaN where there is none.
    """

    configurations: tuple[str, ...]
    instances: tuple[str, ...]
    row: IntArray
    configuration: IntArray
    instance: IntArray
    number: IntArray
    seed: IntArray
    status: IntArray
    cpu: FloatArray
    wall: FloatArray
    time: FloatArray
    value: FloatArray
    cap: FloatArray
    machine: IntArray


class Journal:
    """An open journal; `Journal.read` and `Journal.write` open one. A context manager."""

    path: Path
    kind: Kind
    question: Mapping[str, Any]

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> "Journal":
        """Open a journal for reading, also one that is being written. Changes no file."""
        raise NotImplementedError

    @classmethod
    def write(
        cls,
        path: str | os.PathLike[str],
        scenario: "Scenario",
        kind: Kind,
        question: Mapping[str, Any],
    ) -> "Journal":
        """Open a journal for writing, or begin one.

        `question` holds the settings that must stay (JSON values; without budget, workers, pool
        and added instances). It is stored with the scenario's fingerprint and compared on resume.
        """
        raise NotImplementedError

    def enter(
        self, configurations: Iterable["Configuration"] = (), instances: Iterable[Instance] = ()
    ) -> None:
        """Take in configurations and instances; those that are there already must be the same."""
        raise NotImplementedError

    def add(self, finished: Iterable["Finished"]) -> None:
        """Write finished runs, and events not yet written; on disk when this returns."""
        raise NotImplementedError

    def event(self, kind: str, data: Any = None, *, commit: bool = False) -> int:
        """Record a decision; it is on disk with the next `add` or `commit`. Returns its number."""
        raise NotImplementedError

    def events(self, kind: str | None = None) -> list[Event]:
        """Recorded decisions in their order, of one kind or all."""
        raise NotImplementedError

    @property
    def decisions(self) -> int:
        """The number of events: generators are seeded by (seed, decisions)."""
        raise NotImplementedError

    def table(self) -> RunTable:
        """All runs that count, as columns."""
        raise NotImplementedError

    def configurations(self) -> dict[str, dict[str, Any]]:
        """The values of every configuration, by name."""
        raise NotImplementedError

    def machines(self) -> list[Machine]:
        """Where runs were made."""
        raise NotImplementedError

    def metric(self) -> "Metric":
        """The scenario's metric."""
        raise NotImplementedError

    def matrix(
        self,
        *,
        instances: Sequence[str] | None = None,
        configurations: Sequence[str] | None = None,
        metric: "Metric | None" = None,
    ) -> "CostMatrix":
        """Costs of all recorded runs, or of those on some instances or configurations."""
        raise NotImplementedError

    def log(self) -> "Log":
        """The runs and plans as every reader of logs takes them."""
        raise NotImplementedError

    def close(self) -> None:
        """Close the file."""
        raise NotImplementedError

    def __enter__(self) -> "Journal":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
