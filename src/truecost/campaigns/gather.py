"""Gather: a design's runs executed in S* order and written into a journal."""

import math
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Unpack

import numpy as np

from truecost.arrays import BoolArray
from truecost.campaigns.budget import Budget
from truecost.campaigns.campaign import Campaign, Execution, Progress
from truecost.errors import InputError
from truecost.journal.design import RunDesign
from truecost.journal.file import check_header
from truecost.journal.journal import DEFAULT, GIVEN, Journal
from truecost.journal.merging import take
from truecost.running.pools.task import Finished, Task
from truecost.running.scenario import Scenario
from truecost.space.space import Configuration

# Runs that a forecast is made from.
PILOT = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class GatherForecast:
    """What the rest of a design will take, from the runs that are there.

    Attributes
    ----------
    planned, left
        The runs of the design, and those that are not made yet.
    pilot
        Runs behind the forecast.
    cpu, lower, upper
        CPU seconds, with a 95 % interval for the mean of a run carried over to all of them.
    worst
        CPU seconds if every run went to its limit.
    wall
        Seconds on this many workers.
    workers
        Runs at a time.
    """

    planned: int
    left: int
    pilot: int
    cpu: float
    lower: float
    upper: float
    worst: float
    wall: float
    workers: int


def design_of(
    scenario: Scenario,
    configurations: int | Sequence[Configuration],
    instances: int | None,
    runs: int,
) -> RunDesign:
    """The default and random configurations, or those given, on the first instances of the
    scenario's order, all of them for None.
    """
    if runs < 1:
        raise InputError(
            f"expected at least 1 run of each configuration on each instance, got {runs}."
        )
    available = len(scenario.instances)
    if instances is None and scenario.endless:
        raise InputError(
            "expected `instances`, how many the generator is to make; or count in [instances]."
        )
    if instances is not None and not 1 <= instances <= available:
        raise InputError(
            f"expected 1 to {available} instances, as many as the scenario has, got {instances}."
        )
    if isinstance(configurations, int):
        configurations = scenario.space.configurations(configurations, rng=scenario.seed)
    return RunDesign(
        configurations=tuple(configurations),
        instances=scenario.instances[:instances],
        runs=runs,
    )


def tasks(scenario: Scenario, design: RunDesign, missing: BoolArray) -> Iterator[Task]:
    """The runs of a design that are to be made, in S* order."""
    for number, place, configuration in np.argwhere(missing).tolist():
        instance, who = design.instances[place], design.configurations[configuration]
        drawn = f"{instance.name} of {who.name}" if scenario.separate_seeds else instance.name
        yield Task(
            configuration=who,
            instance=instance,
            number=number,
            seed=scenario.run_seed(drawn, number),
        )


def part_of(design: RunDesign, part: tuple[int, int] | None) -> BoolArray:
    """Which runs of a design belong to part i of n; all of them for None."""
    # Every n-th one in S* order, so that every part is even and takes about as long.
    number, parts = part or (1, 1)
    if not 1 <= number <= parts:
        raise InputError(f"expected a `part` (i, n) with 1 ≤ i ≤ n, got ({number}, {parts}).")
    shape = design.runs, len(design.instances), len(design.configurations)
    return np.asarray((np.arange(design.size) % parts == number - 1).reshape(shape))


def merge(
    scenario: Scenario, journal: str | os.PathLike[str], parts: Sequence[str | os.PathLike[str]]
) -> int:
    """Take the runs of other journals of the same scenario into one; how many were new.

    Each run is taken once, however often it is there; what is not in the journal's own design waits
    for a `gather` that asks for it.
    """
    # Before a journal is begun, in which nothing would be.
    for part in parts:
        check_header(Path(part))
    new = 0
    with Journal.write(journal, scenario) as book:
        for part in parts:
            with Journal.read(part) as other:
                new += take(book, other)
    return new


def gather(
    scenario: Scenario,
    journal: str | os.PathLike[str],
    *,
    configurations: int | Sequence[Configuration],
    instances: int | None = None,
    runs: int,
    part: tuple[int, int] | None = None,
    **execution: Unpack[Execution],
) -> None:
    """Run what a design asks for and the journal does not have yet.

    Parameters
    ----------
    scenario
        What is run; the journal, begun if it is not there, must have been begun with the same.
    configurations, instances, runs
        The size of the design; all instances for None. Larger than before in any direction, it
        adds what is missing. Instead of their number, the configurations themselves.
    part
        (i, n): only the i-th of n parts of the design, for array jobs, each with a journal of its
        own; `merge` puts these together.
    execution
        `pool`, `pin`, `keep_going`, `progress` and `waiting`, as `Execution` describes them.

    Examples
    --------
    >>> scenario = tc.Scenario.read("scenario.toml")
    >>> tc.gather(scenario, "runs.db", configurations=3, instances=2, runs=1)
    >>> tc.import_runs("runs.db").matrix
    CostMatrix(3 configurations x 2 instances x 1 runs, costs in [0, 10000])
    """
    design = design_of(scenario, configurations, instances, runs)
    given = not isinstance(configurations, int)
    with _begun(scenario, journal, design, given, execution) as campaign:
        mine = part_of(design, part)
        missing = mine & ~campaign.book.done(design)
        if missing.any():
            before = int(mine.sum() - missing.sum())
            _make(campaign, tasks(scenario, design, missing), "runs", int(mine.sum()), before)


def forecast(
    scenario: Scenario,
    journal: str | os.PathLike[str],
    *,
    configurations: int | Sequence[Configuration],
    instances: int | None = None,
    runs: int,
    part: tuple[int, int] | None = None,
    **execution: Unpack[Execution],
) -> GatherForecast:
    """What `gather` with the same arguments would take, from a pilot: 20 runs of the design, drawn
    at random; runs that are there count as pilot.
    """
    # Pilot runs are journaled as any other run, so that nothing is done twice.
    design = design_of(scenario, configurations, instances, runs)
    given = not isinstance(configurations, int)
    with _begun(scenario, journal, design, given, execution) as campaign:
        mine = part_of(design, part)
        missing = mine & ~campaign.book.done(design)
        short = min(PILOT, int(mine.sum())) - int(mine.sum() - missing.sum())
        if short > 0:
            rng = np.random.default_rng(scenario.seed)
            pilot = np.zeros_like(missing)
            pilot.flat[rng.permutation(np.flatnonzero(missing))[:short]] = True
            _make(campaign, tasks(scenario, design, pilot), "pilot", short, 0)
        left = int((mine & ~campaign.book.done(design)).sum())
        return _forecast(campaign, int(mine.sum()), left)


@contextmanager
def _begun(
    scenario: Scenario,
    journal: str | os.PathLike[str],
    design: RunDesign,
    given: bool,
    execution: Execution,
) -> Iterator[Campaign]:
    """The journal open for writing, with the design in it."""
    with Campaign(scenario, journal, "gather", **execution) as campaign:
        campaign.book.begin(design, scenario.metric)
        names = {configuration.name for configuration in design.configurations}
        default = scenario.space.default().name if scenario.space.has_default else ""
        # Nobody is compared with a default that is not among them, or that nobody named.
        campaign.book.note(DEFAULT, default if default in names else "")
        if given:
            campaign.book.note(GIVEN, "all")
        yield campaign


def _make(
    campaign: Campaign,
    waiting: Iterator[Task],
    phase: Literal["runs", "pilot"],
    planned: int,
    before: int,
) -> None:
    """Do the runs that wait, and tell how far they are."""
    done, cpu = before, 0.0
    budget = Budget(amount=planned, unit="runs")

    def take(finished: list[Finished]) -> None:
        nonlocal done, cpu
        done += len(finished)
        cpu += sum(run.outcome.cpu for run in finished)
        workers = campaign.pool.workers
        campaign.report(
            Progress(phase=phase, spent=done, budget=budget, runs=done, cpu=cpu, workers=workers)
        )

    take([])
    campaign.make(waiting, take)
    if done >= planned:
        campaign.refuse_failures()


def _forecast(campaign: Campaign, planned: int, left: int) -> GatherForecast:
    table, limits = campaign.book.table(), campaign.scenario.limits
    workers = campaign.pool.workers
    mean, pilot, error = float(table.cpu.mean()), len(table.cpu), math.inf
    # A single run says nothing of how runs differ.
    if pilot > 1:
        error = 1.96 * float(table.cpu.std(ddof=1)) / math.sqrt(pilot)
    most = limits.cpu or limits.wall or math.inf
    return GatherForecast(
        planned=planned,
        left=left,
        pilot=pilot,
        cpu=left * mean,
        lower=left * max(0.0, mean - error),
        upper=left * min(most, mean + error),
        worst=left * most,
        wall=left * float(table.wall.mean()) / workers,
        workers=workers,
    )
