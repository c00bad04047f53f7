"""What configurators are given in the benchmark of searches, and what they return."""

import time
from typing import NamedTuple, Protocol

from truecost.space.space import Configuration, Space


class Returned(NamedTuple):
    """The configuration a tool returned, its own seconds without those of the target, its runs, and
    whether what it says of the configuration is false; None where it says nothing.
    """

    configuration: Configuration
    seconds: float
    runs: int
    missed: bool | None = None


class Runnable(Protocol):
    """A space, and runs that cost something."""

    space: Space

    def cost(self, configuration: Configuration, instance: int, seed: int) -> float:
        """The cost of a run on a training instance."""
        ...


class Counter:
    """Costs of a target, counted and timed."""

    def __init__(self, target: Runnable) -> None:
        self.target, self.runs, self.seconds = target, 0, 0.0

    def __call__(self, configuration: Configuration, instance: int, seed: int) -> float:
        """The cost of a run."""
        start = time.perf_counter()
        cost = self.target.cost(configuration, instance, seed)
        self.seconds += time.perf_counter() - start
        self.runs += 1
        return cost
