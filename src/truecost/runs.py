"""Records of runs that everything below shares."""

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
