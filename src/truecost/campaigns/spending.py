"""What a search has spent of its budget, and how many runs the rest pays for."""

import math

from truecost.campaigns.recorded import Runner
from truecost.journal.searchlog import Cell, Recorded, Settings

# The share of the budget that is kept for the held-out instances, at most.
KEPT = 0.2


class Spending:
    """The budget of a search, in runs or seconds.

    Parameters
    ----------
    wall
        The wall limit of a run, if there is one.
    """

    def __init__(self, runner: Runner, settings: Settings, wall: float | None) -> None:
        self._runner, self._settings, self._wall = runner, settings, wall
        # Runs on held-out instances: how long they took must not decide what is tried next.
        self.tested: dict[Cell, Recorded] = {}

    def training_budget(self) -> float:
        """The budget without what is kept for the held-out instances, no more than they can use."""
        amount, settings = self._runner.amount, self._settings
        pairs = 2 * len(self._runner.held_out)
        most, kept = float(pairs * settings.runs), KEPT * amount
        if settings.unit == "runs":
            # Whole pairs, and whole rounds where there are several.
            whole = pairs if 0 < pairs <= kept else 2
            return amount - min(kept // whole * whole, most)
        mean = self._mean_wall() / settings.workers if self._runner.made else math.inf
        return amount - (min(kept, most * mean) if most else 0.0)

    def _mean_wall(self) -> float:
        """The mean wall time of a training run, in seconds."""
        tested = sum(run.wall for run in self.tested.values())
        return (self._runner.wall - tested) / (self._runner.made - len(self.tested))

    def left(self, budget: float, mean: float | None = None) -> float:
        """How many more runs, of `mean` wall seconds, fit into a budget."""
        settings, runner = self._settings, self._runner
        if settings.unit == "runs":
            return budget - runner.made
        # Held-out runs count as training runs do.
        wall = runner.made * self._mean_wall() if self.tested else runner.wall
        worker_seconds = budget * settings.workers - wall
        if mean is None and not runner.made:
            # Nothing is known yet: the default's first run, and no more than surely fit.
            return max(1.0, worker_seconds / (self._wall or worker_seconds))
        mean = self._mean_wall() if mean is None else mean
        return worker_seconds / max(mean, 1e-6)

    def share(self) -> float:
        """How much of the budget for training is spent."""
        made = self._runner.made
        in_runs = self._settings.unit == "runs" or not made
        spent = made if in_runs else made * self._mean_wall() / self._settings.workers
        return min(1.0, spent / max(self.training_budget(), 1e-9))
