"""The runs that a configuration can make: on each instance, up to a number of times."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NewType

import numpy as np

# A configuration, by its index in the order of proposals.
ConfigId = NewType("ConfigId", int)
# A run: its instance and its number on that instance, as one index into a `Grid`.
Cell = NewType("Cell", int)


@dataclass(frozen=True, slots=True)
class Grid:
    """Runs 0 to `runs` - 1 on each instance. More instances do not change the cells of others."""

    instances: int
    runs: int

    def instance(self, cell: Cell) -> int:
        """The index of the instance."""
        return cell // self.runs

    def number(self, cell: Cell) -> int:
        """The number of the run on its instance."""
        return cell % self.runs

    def cell(self, instance: int, number: int) -> Cell:
        """The cell of a run."""
        return Cell(instance * self.runs + number)

    def order(self, rng: np.random.Generator, first: Iterable[Cell] = ()) -> list[Cell]:
        """All cells in random order, the `first` of them early.

        `first` must be an even allocation, as every prefix of an order is; then every prefix of the
        new order is one, too.
        """
        done = rng.permutation(np.array(sorted(first), dtype=np.int64))
        rest = np.setdiff1d(np.arange(self.instances * self.runs), done)
        # Runs on an instance come in the order of their numbers, as journals count them.
        rest = rest[np.lexsort((rng.random(rest.size), rest % self.runs))]
        cells = np.concatenate([done, rest])
        # The k-th run on an instance belongs to round k, whatever its number.
        instance = cells // self.runs
        by_instance = np.argsort(instance, kind="stable")
        counts = np.bincount(instance, minlength=self.instances)
        rounds = np.empty(cells.size, dtype=np.int64)
        rounds[by_instance] = np.arange(cells.size) - np.repeat(counts.cumsum() - counts, counts)
        ordered: list[Cell] = cells[np.argsort(rounds, kind="stable")].tolist()
        return ordered
