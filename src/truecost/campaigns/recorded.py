"""Runs that a search or study asks for, each made once: taken from its journal where it is there.

Results are used in the order in which the journal has them. So a search that decides whenever a run
finishes goes the same way again when it is resumed, however its runs overlapped.
"""

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np

from truecost.arrays import FloatArray
from truecost.campaigns.budget import Budget
from truecost.campaigns.campaign import Campaign, Progress
from truecost.errors import InputError
from truecost.journal import searchlog
from truecost.journal.design import RunDesign
from truecost.journal.metric import Metric
from truecost.journal.searchlog import Cell, Recorded, Settings
from truecost.running.pools.task import Finished, Task
from truecost.runs import Instance, Status
from truecost.space.space import Configuration


def recorded_cell(task: Task) -> Cell:
    """What a task is known by in a journal."""
    return task.configuration.name, task.instance.name, task.number


def recorded_costs(metric: Metric, runs: Sequence[Recorded]) -> FloatArray:
    """What runs cost; NaN for those stopped at a cap."""
    measured = np.array(
        [(run.cpu, run.wall, run.time, run.value) for run in runs], dtype=np.float64
    ).reshape(-1, 4)
    statuses = np.array([run.status for run in runs], dtype=np.int8)
    return metric.charge(statuses, *measured.T)[0]


def refuse_missing(campaign: Campaign, settings: Settings, what: str) -> None:
    """Refuse a scenario that has lost instances of a search or study."""
    names = {instance.name for instance in campaign.scenario.instances}
    if missing := sorted({*settings.training, *settings.held_out} - names):
        raise InputError(
            f"{campaign.book.path}: expected the instances the {what} was begun with, and "
            f"{missing[0]!r} is not there."
        )


class Runner:
    """Makes the runs of a search or study, and counts what they took.

    Parameters
    ----------
    settings
        What it was begun with.
    details
        What its progress shows beside the runs, as arguments of `Progress`.
    """

    def __init__(
        self, campaign: Campaign, settings: Settings, details: Callable[[], dict[str, Any]]
    ) -> None:
        self._campaign, self._settings, self._details = campaign, settings, details
        by_name = {instance.name: instance for instance in campaign.scenario.instances}
        self.training: list[Instance] = [by_name[name] for name in settings.training]
        self.held_out: list[Instance] = [by_name[name] for name in settings.held_out]
        # About these instances, those that judge are those that train.
        names = dict.fromkeys((*settings.training, *settings.held_out))
        instances = tuple(by_name[name] for name in names)
        design = RunDesign(configurations=(), instances=instances, runs=settings.runs)
        campaign.book.begin(design, campaign.scenario.metric)
        # In the order in which results were used.
        self._known = searchlog.recorded(campaign.book)
        self._order = {cell: place for place, cell in enumerate(self._known)}
        # Under way: started by the search, and of these the ones that the pool has.
        self._started: dict[Cell, Task] = {}
        self._submitted: set[Cell] = set()
        self._arrived: deque[Cell] = deque()
        self.made, self.cpu, self.wall = 0, 0.0, 0.0
        self.amount = settings.budget
        self.phase: Literal["training", "held out"] = "training"

    @property
    def budget(self) -> Budget:
        """What there is to spend."""
        return Budget(amount=self.amount, unit=self._settings.unit)

    @property
    def spent(self) -> float:
        """What is spent of the budget, in its unit."""
        return self.made if self._settings.unit == "runs" else self.wall / self._settings.workers

    def task(
        self,
        configuration: Configuration,
        instance: Instance,
        number: int,
        *,
        cap: float | None = None,
        own_seed: bool = False,
    ) -> Task:
        """A run. The seed depends on the instance and the number only, unless it is to be the
        configuration's own.
        """
        name = f"{instance.name} of {configuration.name}" if own_seed else instance.name
        seed = self._campaign.scenario.run_seed(name, number)
        return Task(
            configuration=configuration, instance=instance, number=number, seed=seed, cap=cap
        )

    def count(self, runs: Sequence[Recorded]) -> None:
        """Runs count as spent."""
        self.made += len(runs)
        self.cpu += sum(run.cpu for run in runs)
        self.wall += sum(run.wall for run in runs)

    def _report(self) -> None:
        if self._campaign.watched:
            self._campaign.report(
                Progress(
                    phase=self.phase,
                    spent=self.spent,
                    budget=self.budget,
                    runs=self.made,
                    cpu=self.cpu,
                    workers=self._campaign.pool.workers,
                    **self._details(),
                )
            )

    def make(self, tasks: Sequence[Task]) -> list[Recorded]:
        """What these runs came to, when all are done."""
        cells = list(map(recorded_cell, tasks))
        known = [self._known[cell] for cell in cells if cell in self._known]
        missing = [task for task in tasks if recorded_cell(task) not in self._known]

        def take(finished: list[Finished]) -> None:
            self._keep(finished)
            self.count([Recorded.of(run.outcome) for run in finished])
            self._report()

        self.count(known)
        self._report()
        if missing:
            self._campaign.make(missing, take)
        return [self._known[cell] for cell in cells]

    def start(self, task: Task) -> None:
        """Have a run made; `next` returns it when it is done."""
        self._started[recorded_cell(task)] = task

    def next(self) -> tuple[Task, Recorded]:
        """The run among those started that is used next."""
        recorded = [cell for cell in self._started if cell in self._order]
        cell = min(recorded, key=self._order.__getitem__) if recorded else self._wait()
        run = self._known[cell]
        self.count([run])
        self._report()
        return self._started.pop(cell), run

    def _wait(self) -> Cell:
        for cell, task in self._started.items():
            if cell not in self._submitted:
                self._submitted.add(cell)
                self._campaign.submit(task)
        while not self._arrived:
            finished = self._campaign.wait()
            self._keep(finished)
            self._arrived.extend(recorded_cell(run.task) for run in finished)
        cell = self._arrived.popleft()
        self._submitted.discard(cell)
        return cell

    def _keep(self, finished: Sequence[Finished]) -> None:
        for run in finished:
            if run.outcome.status != Status.ABORTED:
                self._known[recorded_cell(run.task)] = Recorded.of(run.outcome)

    def charge(self, runs: Sequence[Recorded]) -> FloatArray:
        """What runs cost, by `recorded_costs`; a cost outside the metric's range is refused."""
        metric = self._campaign.scenario.metric
        costs, (low, high) = recorded_costs(metric, runs), metric.range()
        outside = costs[(costs < low) | (costs > high)]
        if len(outside):
            raise InputError(
                f"expected costs in [{low:g}, {high:g}], got {outside[0]:g}: every limit depends "
                "on these ends. Change low and high in [metric], and begin another `journal`."
            )
        return costs
