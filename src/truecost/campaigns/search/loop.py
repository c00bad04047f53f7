"""The loop of a search: runs of the schedule become tasks of the campaign's pool, its events go to
the journal, and the journal's events and runs restore it.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from truecost.campaigns.budget import Purse
from truecost.campaigns.campaign import Campaign
from truecost.campaigns.search.grid import Grid
from truecost.campaigns.search.schedule import KINDS, Run, Schedule
from truecost.errors import TruecostError
from truecost.matrix.log import Step
from truecost.running.pools import Finished, Task
from truecost.runs import Instance, Status
from truecost.space.space import Configuration

if TYPE_CHECKING:
    from truecost.running.scenario import Scenario


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResult:
    """The result of a search.

    Attributes
    ----------
    incumbent, origin
        The best configuration, and how it was proposed: "default", "start", "random", "model" or
        "neighbour".
    steps
        The incumbents, and the number of training runs before each.
    configurations
        How many were tried, the default included.
    training_cost, standard_error
        Mean of the incumbent's instance means in training (optimistic), and its standard error.
    reason
        Why the search ended.
    """

    incumbent: Configuration
    origin: str
    steps: tuple[Step, ...]
    configurations: int
    training_cost: float
    standard_error: float
    reason: str


def search(
    campaign: Campaign,
    instances: Sequence[Instance],
    purse: Purse,
    *,
    seed: int,
    runs: int = 5,
    starts: Sequence[Configuration] = (),
) -> SearchResult:
    """Search on the training instances until the purse is empty.

    A journal with events and runs of an earlier call is continued. Configurations are entered into
    the journal here, instances by the caller.

    Parameters
    ----------
    instances
        The training instances, in the same order at every call; a later call may append more.
    purse
        The budget of training runs.
    runs
        The most runs of a configuration on an instance.
    starts
        Configurations to try first, after the default.
    """
    journal, scenario, grid = campaign.journal, campaign.scenario, Grid(len(instances), runs)
    metric = scenario.metric
    schedule = Schedule(
        scenario.space,
        grid,
        seed=seed,
        workers=campaign.workers,
        low=metric.range()[0],
        # Stopping a run early saves time only where the time is the cost.
        capping=metric.timed and metric.clock != "reported",
        starts=starts,
        record=journal.event,
    )
    _restore(schedule, campaign, instances, grid)
    under_way: dict[tuple[str, str, int], Run] = {}
    cutoff = metric.cutoff or math.inf

    def submit(run: Run) -> None:
        configuration = schedule.history.configurations[run.config_id]
        instance, number = instances[grid.instance(run.cell)], grid.number(run.cell)
        if not schedule.history.costs[run.config_id]:
            journal.enter([configuration])
        task = Task(
            configuration=configuration,
            instance=instance,
            number=number,
            seed=scenario.run_seed(instance.name, number),
            cap=run.cap if run.cap < cutoff else None,
        )
        under_way[configuration.name, instance.name, number] = run
        campaign.submit(task)

    def take(finished: Finished) -> None:
        task = finished.task
        run = under_way.pop((task.configuration.name, task.instance.name, task.number))
        censored = finished.outcome.status == Status.CENSORED
        schedule.take(run, metric.charged(finished.outcome)[0], censored=censored)

    # A few more runs than workers, so that no worker waits for this process.
    queued = campaign.workers + campaign.workers // 8
    while True:
        while (
            len(under_way) < queued
            and (run := schedule.next(_runs_left(purse, scenario))) is not None
        ):
            submit(run)
        if not under_way:
            break
        for finished in campaign.wait():
            take(finished)
        cost = schedule.history.training_cost(grid)[0]
        campaign.report(purse, incumbent=schedule.incumbent.name, estimate=cost)
    cost, error = schedule.history.training_cost(grid)
    history = schedule.history
    return SearchResult(
        incumbent=schedule.incumbent,
        origin=history.origins[history.incumbent] if history.origins else "default",
        steps=tuple(schedule.steps),
        configurations=len(history.configurations),
        training_cost=cost,
        standard_error=error,
        reason=schedule.reason,
    )


def _runs_left(purse: Purse, scenario: "Scenario") -> float:
    """How many runs fit into the budget.

    A budget of time is divided by the mean time of the runs so far and of one more at its limit:
    after a few quick runs, one heat would get more proposals than there is time for.
    """
    tally, limits = purse.tally, scenario.limits
    if purse.budget.unit == "runs":
        return purse.left()
    if (longest := limits.wall or limits.cpu) is None:
        return purse.left() if tally.runs else 1.0
    longest = min(longest, purse.budget.amount * purse.workers)
    left = purse.left((tally.wall + longest) / (tally.runs + 1))
    return left if tally.runs else max(1.0, left)


def _restore(
    schedule: Schedule, campaign: Campaign, instances: Sequence[Instance], grid: Grid
) -> None:
    """Restore the schedule from the journal."""
    journal = campaign.journal
    events = [(event.kind, event.data) for event in journal.events(*KINDS)]
    if not events:
        return
    values, table = journal.configurations(), journal.table()
    index = {instance.name: number for number, instance in enumerate(instances)}
    indices = [index.get(name, -1) for name in table.instances]
    costs = table.costs(campaign.scenario.metric)[0]
    columns = (table.configuration, table.instance, table.number, costs, table.status)
    runs = [
        (
            table.configurations[configuration],
            grid.cell(indices[instance], number),
            cost,
            status == Status.CENSORED,
        )
        for configuration, instance, number, cost, status in zip(
            *(column.tolist() for column in columns), strict=True
        )
        if indices[instance] >= 0 and number < grid.runs
    ]
    known = {name: Configuration(name=name, values=some) for name, some in values.items()}
    missing = [
        data["name"] for kind, data in events if kind == "proposal" and data["name"] not in known
    ]
    if missing:
        raise TruecostError(f"{journal.path}: configuration {missing[0]} is missing.")
    schedule.restore(events, known.__getitem__, runs)
