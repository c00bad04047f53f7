"""Gather: configurations on instances in S* order, into a journal.

Round by round, instance by instance, all configurations: any prefix gives each configuration an
even allocation. The list of configurations is fixed when the journal begins; those added later have
estimates, no statements. Each configuration has seeds of its own, so pairs are independent.
"""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from truecost.arrays import BoolArray
from truecost.campaigns.budget import Budget
from truecost.campaigns.campaign import Campaign, Execution
from truecost.campaigns.fresh import distinct
from truecost.campaigns.results import Gathered
from truecost.errors import InputError, counted
from truecost.journal.journal import RunTable
from truecost.journal.logs import PLAN
from truecost.running.pools import Finished, Task
from truecost.running.scenario import Scenario
from truecost.runs import Instance

if TYPE_CHECKING:
    from truecost.space.space import Configuration

CONFIGURATIONS, RUNS = 50, 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Design:
    """What is to be run: every configuration on every instance `runs` times."""

    configurations: "tuple[Configuration, ...]"
    instances: tuple[Instance, ...]
    runs: int
    given: bool
    default: str | None

    @property
    def size(self) -> int:
        """The number of runs."""
        return len(self.configurations) * len(self.instances) * self.runs

    def __str__(self) -> str:
        return (
            f"{counted(len(self.configurations), 'configuration')} × "
            f"{counted(len(self.instances), 'instance')} × {counted(self.runs, 'run')} = "
            f"{counted(self.size, 'run')}"
        )

    def event(self) -> dict[str, Any]:
        """The design as it is recorded."""
        return {
            "configurations": [configuration.name for configuration in self.configurations],
            "instances": [instance.name for instance in self.instances],
            "runs": self.runs,
            "given": self.given,
            "default": self.default,
        }

    def missing(self, table: RunTable) -> BoolArray:
        """Which runs are not recorded yet: (runs, instances, configurations)."""
        missing = np.ones((self.runs, len(self.instances), len(self.configurations)), dtype=bool)
        places = []
        own = self.event()
        for what, names, column in (
            ("instances", table.instances, table.instance),
            ("configurations", table.configurations, table.configuration),
        ):
            where = {name: place for place, name in enumerate(own[what])}
            position = np.array([where.get(name, -1) for name in names], dtype=np.int64)
            places.append(position[column] if len(table) else column)
        inside = (places[0] >= 0) & (places[1] >= 0) & (table.number < self.runs)
        missing[table.number[inside], places[0][inside], places[1][inside]] = False
        return missing


def gather(
    scenario: Scenario | str | os.PathLike[str],
    journal: str | os.PathLike[str],
    *,
    configurations: "int | str | os.PathLike[str] | Sequence[Configuration] | None" = None,
    instances: int | None = None,
    runs: int | None = None,
    **execution: Unpack[Execution],
) -> Gathered:
    """Run configurations on instances, as far as the journal does not have these runs yet.

    Parameters
    ----------
    scenario
        What is run: a `Scenario` or its file.
    journal
        Where runs are recorded; begun if it does not exist.
    configurations
        How many: the default and random ones (50); or the configurations themselves, or a file that
        lists them.
    instances, runs
        How many instances (all), and how many runs on each (5). Larger numbers than before extend
        the journal.
    execution
        How runs are made and reported; see `Execution`.

    Examples
    --------
    >>> scenario = tc.Scenario.read("scenario.toml")
    >>> tc.gather(scenario, "runs.db", configurations=3, instances=2, runs=1).runs
    6
    """
    scenario = scenario if isinstance(scenario, Scenario) else Scenario.read(scenario)
    with Campaign(scenario, journal, "gather", {}, **execution) as campaign:
        book = campaign.journal
        plans = [event.data for event in book.events(PLAN)]
        design = _design(scenario, plans, configurations, instances, runs)
        book.enter(design.configurations, design.instances)
        if plans[-1:] != [design.event()]:
            book.event(PLAN, design.event(), commit=True)
        missing = design.missing(book.table())
        budget = Budget(amount=design.size, unit="runs")
        done = design.size - int(missing.sum())
        campaign.announce(f"{design}{f', {done:,} of them done' if done else ''}.", missing.sum())

        def take(finished: list[Finished]) -> None:
            nonlocal done
            done += len(finished)
            campaign.report("runs", done, budget)

        if missing.any():
            campaign.make(_tasks(scenario, design, missing), take)
            campaign.refuse_failures()
        return Gathered(
            scenario=scenario.name,
            journal=book.path,
            runs=campaign.runs,
            planned=design.size,
            cpu=campaign.training.cpu,
            configurations=len(design.configurations),
            instances=len(design.instances),
        )


def _design(
    scenario: Scenario,
    before: list[dict[str, Any]],
    configurations: "int | str | os.PathLike[str] | Sequence[Configuration] | None",
    instances: int | None,
    runs: int | None,
) -> Design:
    """The design that is asked for; the default values are those of the latest plan, if any."""
    last = before[-1] if before else {}
    if runs is None:
        runs = last.get("runs", RUNS)
    if configurations is None and not last.get("given"):
        configurations = len(last["configurations"]) if last else CONFIGURATIONS
    if runs < 1 or configurations == 0:
        raise InputError("gather needs at least 1 configuration and 1 run.")
    ordered = _ordered(scenario, before)
    if instances is not None and not 1 <= instances <= len(ordered):
        copies = len(scenario.instances) - len(ordered)
        raise InputError(
            f"{scenario.path} has {counted(len(ordered), 'instance')}"
            f"{f' (and {copies:,} with the content of another)' if copies else ''}; {instances} "
            "cannot be run."
        )
    return Design(
        configurations=tuple(_configurations(scenario, configurations)),
        instances=ordered[:instances],
        runs=runs,
        given=not isinstance(configurations, int),
        default=scenario.space.default().name if scenario.space.has_default else None,
    )


def _configurations(
    scenario: Scenario,
    configurations: "int | str | os.PathLike[str] | Sequence[Configuration] | None",
) -> "Sequence[Configuration]":
    if configurations is None:
        raise InputError(
            "This journal has configurations from a file. Name it again, with --configurations."
        )
    if isinstance(configurations, int):
        return scenario.space.configurations(configurations, seed=scenario.seed)
    if isinstance(configurations, str | os.PathLike):
        from truecost.space.listed import read_configurations

        return read_configurations(Path(configurations), scenario.space)
    return list({listed.name: listed for listed in configurations}.values())


def _ordered(scenario: Scenario, before: list[dict[str, Any]]) -> tuple[Instance, ...]:
    """The scenario's instances, those of earlier plans first and in their order."""
    named = {instance.name: instance for instance in scenario.instances}
    recorded = dict.fromkeys(name for plan in before for name in plan["instances"])
    known = [named.pop(name) for name in recorded if name in named]
    return tuple(distinct([*known, *named.values()]))


def _tasks(scenario: Scenario, design: Design, missing: BoolArray) -> Iterator[Task]:
    """The missing runs in S* order."""
    for number, place, who in np.argwhere(missing).tolist():
        instance, configuration = design.instances[place], design.configurations[who]
        yield Task(
            configuration=configuration,
            instance=instance,
            number=number,
            seed=scenario.run_seed(instance.name, number, configuration.name),
        )
