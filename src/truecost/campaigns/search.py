"""The loop of a search: start the runs that the schedule asks for, and record what it decides.

`schedule` describes how a search goes. Here its runs become tasks of the campaign's pool, its
events go to the journal, and the journal's events and runs restore it.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from truecost.campaigns.budget import Purse
from truecost.campaigns.campaign import Campaign
from truecost.campaigns.grid import Grid
from truecost.campaigns.schedule import KINDS, Run, Schedule
from truecost.errors import TruecostError
from truecost.matrix.log import Step
from truecost.running.pools import Finished, Task
from truecost.runs import Instance, Status
from truecost.space.space import Configuration

if TYPE_CHECKING:
    from truecost.running.scenario import Scenario


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResult:
    """What a search came to.

    Attributes
    ----------
    incumbent, origin
        The best configuration, and where it came from: "default", "start", "random", "model" or
        "neighbour".
    steps
        The best configuration so far, after how many training runs.
    configurations
        How many were tried, the default included.
    training_cost, standard_error
        Mean of the incumbent's instance means on the training instances, optimistic as a rule.
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

    The journal's events and runs say how far an earlier call has come; a larger purse goes on from
    there. Configurations are entered into the journal here, instances by the caller.

    Parameters
    ----------
    instances
        Those to train on, in the same order at every call; a later call may append more.
    purse
        What is left for training runs (`campaign.training` is its tally).
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
        # Where costs are times, a run that is stopped early still says something.
        capping=metric.timed and metric.clock != "reported",
        starts=starts,
        record=journal.event,
    )
    _restore(schedule, campaign, instances, grid)
    flying: dict[tuple[str, str, int], Run] = {}
    cutoff = metric.cutoff or math.inf

    def submit(run: Run) -> None:
        configuration = schedule.tried.configurations[run.place]
        instance, number = instances[grid.instance(run.cell)], grid.number(run.cell)
        if not schedule.tried.costs[run.place]:
            journal.enter([configuration])
        task = Task(
            configuration=configuration,
            instance=instance,
            number=number,
            seed=scenario.run_seed(instance.name, number),
            cap=run.cap if run.cap < cutoff else None,
        )
        flying[configuration.name, instance.name, number] = run
        campaign.submit(task)

    def take(finished: Finished) -> None:
        task = finished.task
        run = flying.pop((task.configuration.name, task.instance.name, task.number))
        censored = finished.outcome.status == Status.CENSORED
        schedule.take(run, metric.cost(finished.outcome), censored=censored)

    # A few more runs than workers, so that none waits for us between two runs.
    queued = campaign.workers + campaign.workers // 8
    while True:
        while (
            len(flying) < queued and (run := schedule.next(_runs_left(purse, scenario))) is not None
        ):
            submit(run)
        if not flying:
            break
        for finished in campaign.wait():
            take(finished)
        cost = schedule.tried.training_cost(grid)[0]
        campaign.report(
            phase="training",
            spent=purse.spent,
            budget=purse.budget,
            configurations=len(schedule.tried.configurations),
            incumbent=schedule.incumbent.name,
            estimate=cost,
        )
    cost, error = schedule.tried.training_cost(grid)
    tried = schedule.tried
    return SearchResult(
        incumbent=schedule.incumbent,
        origin=tried.origins[tried.incumbent] if tried.origins else "default",
        steps=tuple(schedule.steps),
        configurations=len(tried.configurations),
        training_cost=cost,
        standard_error=error,
        reason=schedule.reason,
    )


def _runs_left(purse: Purse, scenario: "Scenario") -> float:
    """How many runs fit.

    In a budget of time, as many as take their mean so far and that of one more run at its limit: a
    few quick runs at first would let one heat have more proposals than there is time for.
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
    """Take in what the journal has."""
    journal = campaign.journal
    events = [(event.kind, event.data) for event in journal.events(*KINDS)]
    if not events:
        return
    values, table = journal.configurations(), journal.table()
    index = {instance.name: place for place, instance in enumerate(instances)}
    places = [index.get(name, -1) for name in table.instances]
    costs = table.costs(campaign.scenario.metric)
    columns = (table.configuration, table.instance, table.number, costs, table.status)
    runs = [
        (
            table.configurations[configuration],
            grid.cell(places[instance], number),
            cost,
            status == Status.CENSORED,
        )
        for configuration, instance, number, cost, status in zip(
            *(column.tolist() for column in columns), strict=True
        )
        if places[instance] >= 0 and number < grid.runs
    ]
    known = {name: Configuration(name=name, values=some) for name, some in values.items()}
    missing = [
        data["name"] for kind, data in events if kind == "proposal" and data["name"] not in known
    ]
    if missing:
        raise TruecostError(f"{journal.path}: configuration {missing[0]} is missing.")
    schedule.restore(events, known.__getitem__, runs)
