"""Records of runs that everything below shares."""

from dataclasses import dataclass
from enum import IntEnum
from typing import Final


class Status(IntEnum):
    """How a run ended.

    The numbers are what a `CostMatrix` stores; files carry the names.
    """

    SOLVED = 0
    TIMEOUT = 1
    MEMORY = 2
    CRASHED = 3
    VETOED = 4
    ABORTED = 5

    @property
    def label(self) -> str:
        """The name used in files and tables, `"timeout"` for instance."""
        return self.name.lower()


# Nothing is known of how the run ended; and what stands for the seed of a run that is not there.
NO_STATUS: Final = -1
NO_SEED: Final = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What was observed of a run; docs/fields.md defines every field and says what it does not mean.

    Parameters
    ----------
    status
        How the run ended.
    cpu, wall
        Seconds used by the whole process tree, and seconds passed.
    memory
        The largest resident size of the tree, in bytes, that was seen.
    exit_code
        Of the target's first process; minus the number of the signal that ended it.
    time, value
        The running time and the number that the target reported, where it did.
    method
        How CPU time was measured and the tree was held together.
    detail
        In a few words, why the run was not solved.
    """

    status: Status
    cpu: float
    wall: float
    memory: int
    exit_code: int
    time: float | None = None
    value: float | None = None
    method: str = ""
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One configuration on one instance with one seed, the instance's run number `number` from 0."""

    configuration: str
    instance: str
    number: int
    seed: int
    outcome: Outcome
