"""Gather: configurations on instances in S* order, into a journal.

Round by round, instance by instance, all configurations: any prefix gives each configuration an
even allocation. The list of configurations is fixed when the journal begins; those added later have
estimates, no statements. Each configuration has seeds of its own, so pairs are independent.
"""

import os
from collections.abc import Mapping, Sequence
from itertools import product
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from truecost.campaigns.budget import Budget
from truecost.campaigns.campaign import Campaign, Execution, scenario_of
from truecost.campaigns.configurations import given_configurations
from truecost.campaigns.instances import distinct
from truecost.campaigns.results import Gathered
from truecost.errors import InputError, check_count, counted
from truecost.journal.logs import PLAN
from truecost.running.pools import Task
from truecost.running.scenario import Scenario
from truecost.runs import Instance

if TYPE_CHECKING:
    from truecost.space.space import Configuration

CONFIGURATIONS, RUNS = 50, 5


def gather(
    scenario: Scenario | str | os.PathLike[str],
    journal: str | os.PathLike[str] | None = None,
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
        Where runs are recorded; by default named after the scenario. The same call continues it.
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
    scenario = scenario_of(scenario)
    path = Path(f"{scenario.name}.db" if journal is None else journal)
    with Campaign(scenario, path, "gather", {}, **execution) as campaign:
        book = campaign.journal
        plans = [event.data for event in book.events(PLAN)]
        last = plans[-1] if plans else {}
        runs = last.get("runs", RUNS) if runs is None else runs
        if configurations is None and not last.get("given"):
            most = min(CONFIGURATIONS, scenario.space.size())
            configurations = len(last["configurations"]) if last else int(most)
        runs = check_count("runs", runs)
        listed = _configurations(scenario, configurations)
        if not listed:
            raise InputError("There are no configurations. Give at least one.")
        chosen = _instances(scenario, plans, instances)
        plan = {
            "configurations": [configuration.name for configuration in listed],
            "instances": [instance.name for instance in chosen],
            "runs": runs,
            "given": not isinstance(configurations, Integral),
            "default": scenario.space.default().name if scenario.space.has_default else None,
        }
        book.enter(listed, chosen)
        if plan != last:
            book.event(PLAN, plan, commit=True)
        recorded = set(book.table().cells())
        # In S* order.
        missing = [
            Task(
                configuration=configuration,
                instance=instance,
                number=number,
                seed=scenario.run_seed(instance.name, number, configuration.name),
            )
            for number, instance, configuration in product(range(runs), chosen, listed)
            if (configuration.name, instance.name, number) not in recorded
        ]
        size = len(listed) * len(chosen) * runs
        design = (
            f"{counted(len(listed), 'configuration')} × {counted(len(chosen), 'instance')} × "
            f"{counted(runs, 'run')} = {counted(size, 'run')}"
        )
        done = size - len(missing)
        campaign.announce(f"{design}{f', {done:,} of them done' if done else ''}.", len(missing))
        total = Budget(amount=campaign.tally.runs + len(missing), unit="runs")
        purse = campaign.purse(total, campaign.tally)
        for _ in campaign.make(missing):
            campaign.report(purse)
        campaign.refuse_failures()
        return Gathered(
            scenario=scenario.name,
            journal=book.path,
            runs=size,
            planned=size,
            cpu=campaign.tally.cpu,
            configurations=len(listed),
            instances=len(chosen),
        )


def _configurations(
    scenario: Scenario,
    configurations: "int | str | os.PathLike[str] | Sequence[Configuration] | None",
) -> "Sequence[Configuration]":
    if configurations is None:
        raise InputError(
            "This journal has configurations from a file. Name it again, with --configurations."
        )
    if isinstance(configurations, Integral):
        number = check_count("configurations", configurations)
        return scenario.space.configurations(number, seed=scenario.seed)
    if isinstance(configurations, str | os.PathLike):
        from truecost.space.configuration_files import read_configurations

        return read_configurations(Path(configurations), scenario.space)
    return given_configurations(scenario, configurations)


def _instances(
    scenario: Scenario, plans: Sequence[Mapping[str, Any]], number: int | None
) -> list[Instance]:
    """The first instances, those of earlier plans before all others and in their order."""
    named = {instance.name: instance for instance in scenario.instances}
    recorded = dict.fromkeys(name for plan in plans for name in plan["instances"])
    planned = [named.pop(name) for name in recorded if name in named]
    ordered = distinct([*planned, *named.values()])
    if number is not None and check_count("instances", number) > len(ordered):
        copies = len(scenario.instances) - len(ordered)
        raise InputError(
            f"{scenario.path} has {counted(len(ordered), 'instance')}"
            f"{f' (and {copies:,} with the content of another)' if copies else ''}; {number} "
            "cannot be run."
        )
    return ordered[:number]
