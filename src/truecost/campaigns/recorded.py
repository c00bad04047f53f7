"""Runs that a campaign asks for, made once: from its journal where they are there."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from truecost.campaigns.campaign import Campaign
from truecost.errors import InputError
from truecost.journal import searchlog
from truecost.journal.searchlog import Cell, Recorded
from truecost.running.pools.task import Finished, Task
from truecost.runs import Status

FloatArray = NDArray[np.float64]


def recorded_cell(task: Task) -> Cell:
    """What a task is known by in a journal."""
    return task.configuration.name, task.instance.name, task.number


class RecordedRuns:
    """The runs of a campaign that goes the same way again when it is resumed."""

    def __init__(self, campaign: Campaign) -> None:
        self._campaign = campaign
        self._known = searchlog.recorded(campaign.book)

    def make(self, tasks: Sequence[Task], tell: Callable[[list[Recorded]], None]) -> list[Recorded]:
        """What these runs came to: from the journal, else made now. `tell` gets those that are
        there first, then the others as they are written down.
        """
        missing = [task for task in tasks if recorded_cell(task) not in self._known]
        tell(
            [
                self._known[recorded_cell(task)]
                for task in tasks
                if recorded_cell(task) in self._known
            ]
        )

        def take(finished: list[Finished]) -> None:
            for run in finished:
                if run.outcome.status != Status.ABORTED:
                    self._known[recorded_cell(run.task)] = Recorded.of(run.outcome)
            tell([Recorded.of(run.outcome) for run in finished])

        if missing:
            self._campaign.make(missing, take)
        return [self._known[recorded_cell(task)] for task in tasks]

    def charge(self, runs: Sequence[Recorded]) -> FloatArray:
        """What runs cost; NaN for those stopped at a cap."""
        metric = self._campaign.scenario.metric
        measured = np.array(
            [(run.cpu, run.wall, run.time, run.value) for run in runs], dtype=np.float64
        ).reshape(-1, 4)
        statuses = np.array([run.status for run in runs], dtype=np.int8)
        costs, _ = metric.charge(statuses, *measured.T)
        low, high = metric.range()
        outside = costs[(costs < low) | (costs > high)]
        if len(outside):
            raise InputError(
                f"expected costs in [{low:g}, {high:g}], got {outside[0]:g}: every limit depends on "
                "these ends. Change low and high in [metric], and begin another `journal`."
            )
        return costs
