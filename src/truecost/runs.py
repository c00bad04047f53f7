"""Records of runs that every part shares."""

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import Any, Final, NamedTuple


class Status(IntEnum):
    """How a run ended.

    The numbers are what a `CostMatrix` stores; files carry the names. WRONG: the answer was checked
    and is wrong. ABORTED: the target asked to stop the whole campaign. CENSORED: stopped at a cap
    below the cutoff, so it would have cost at least the cap.
    """

    SOLVED = 0
    TIMEOUT = 1
    MEMORY = 2
    CRASHED = 3
    WRONG = 4
    ABORTED = 5
    CENSORED = 6

    @property
    def label(self) -> str:
        """The name used in files and tables, `"timeout"` for instance."""
        return self.name.lower()


# A run whose status or seed is unknown, and the seed of a run that does not exist.
NO_STATUS: Final = -1
NO_SEED: Final = -1
# The extra column of an instance with its family.
FAMILY: Final = "family"
# The instance of a log without instances, such as a function that is minimised.
NO_INSTANCE: Final = "(no instance)"


def number_or_nan(value: Any) -> float:
    """Read a number that may be anything in a file; NaN for what is none."""
    try:
        return math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        return math.nan


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What was observed of a run.

    Parameters
    ----------
    status
        How the run ended.
    cpu, wall
        CPU seconds of the whole process tree, and seconds passed.
    memory
        The largest resident size of the tree that was seen, in bytes.
    exit_code
        Of the target's first process; minus the signal's number where a signal ended it.
    time, value
        The running time and the number that the target reported, if any.
    detail
        Why the run was not solved, in a few words.
    cap
        Where the run was stopped below the cutoff: at how many seconds.
    stdout, stderr, command
        Of a failed run: the end of its output, and a command line that repeats it.
    """

    status: Status
    cpu: float
    wall: float
    memory: int
    exit_code: int
    time: float | None = None
    value: float | None = None
    detail: str = ""
    cap: float | None = None
    stdout: bytes = b""
    stderr: bytes = b""
    command: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Instance:
    """An instance: its name, what is passed to the target (usually a path), and extra columns.

    `number` is its place in the list it came from, from 1.
    """

    name: str
    argument: str
    extras: Mapping[str, str]
    is_file: bool = True
    number: int | None = None

    def digest(self) -> str:
        """Hash the content: the same name with other content is another instance."""
        hashed = hashlib.sha256(
            json.dumps(dict(self.extras), sort_keys=True).encode("utf-8", "surrogatepass")
        )
        if self.is_file:
            with Path(self.argument).open("rb") as file:
                while part := file.read(1 << 20):
                    hashed.update(part)
        return hashed.hexdigest()[:16]


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """Where runs were executed: what makes their times comparable."""

    host: str
    cpu: str
    system: str
    solver: str
    truecost: str


class Caveat(NamedTuple):
    """One line under "Caveats": a code for programs, and a sentence for people."""

    code: str
    sentence: str
