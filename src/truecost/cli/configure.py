"""`truecost configure`."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from truecost.cli import options
from truecost.cli.gather import exported, file_name, going_on
from truecost.cli.options import Dask, Delta, Json, KeepGoing, Pin, Quiet, ScenarioFile, Workers
from truecost.cli.printing import duration, number, print_json, print_line, print_table
from truecost.cli.progress import Meter, progress
from truecost.errors import InputError

if TYPE_CHECKING:
    from truecost.campaigns.budget import Budget
    from truecost.campaigns.configure import Configured
    from truecost.campaigns.search import SearchProgress
    from truecost.running.scenario import Scenario

# So many parameters that differ from the default are shown.
SHOWN = 12


def configure(
    scenario: ScenarioFile,
    budget: Annotated[
        str | None,
        typer.Option(
            help=f"{options.BUDGET}; times are the wall time of all runs, shared among the workers. If a "
            "search goes on: as before, or more.",
            show_default=False,
        ),
    ] = None,
    journal: Annotated[
        Path | None,
        typer.Option(
            help=f"{options.JOURNAL}; NAME-configure.db if not given.", show_default=False
        ),
    ] = None,
    runs: Annotated[
        int | None,
        typer.Option(
            help=f"{options.RUNS}; at most, 5 if not given. 1 for a deterministic target.",
            min=1,
            show_default=False,
        ),
    ] = None,
    delta: Delta = 0.05,
    workers: Workers = None,
    dask: Dask = None,
    pin: Pin = True,
    seed: Annotated[
        int | None,
        typer.Option(
            help=f"{options.SEED}; the scenario's if not given.", min=0, show_default=False
        ),
    ] = None,
    keep_going: KeepGoing = False,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Search for a better configuration than the default, and certify what it costs where it was
    not trained.

    A third to a half of the instances is held out, and up to a fifth of the budget kept for them:
    when the search is over, what it chose and the default are run there, and what is said of the
    true cost rests on these runs alone. The default is recommended unless what was found costs less
    there by more than a standard error.

    Interrupted or killed, the same line goes on, and ends where it would have ended. With a larger
    budget it goes further.
    """
    from truecost.campaigns import configure as configuring
    from truecost.campaigns.budget import Budget
    from truecost.running.scenario import Scenario

    if dask is not None and workers is not None:
        raise InputError(
            "expected --workers or --dask, got both: a cluster has the workers it has."
        )
    asked = None if budget is None else Budget.parse(budget)
    read = Scenario.read(exported(scenario, quiet))
    path = journal if journal is not None else Path(f"{file_name(read.name)}-configure.db")
    if not quiet and not json and asked is not None:
        _announce(read, path, asked, workers, dask)
    with going_on(), progress("runs", quiet=quiet) as meter:
        found = configuring.configure(
            read,
            path,
            budget=asked,
            runs=runs,
            delta=delta,
            workers=workers,
            pin=pin,
            dask=dask,
            seed=seed,
            keep_going=keep_going,
            progress=_reported(meter),
            waiting=meter.say,
        )
    if json:
        print_json(_plain(found, path))
    else:
        _print(found, read, path)


def _announce(
    scenario: "Scenario", path: Path, budget: "Budget", workers: int | None, dask: str | None
) -> None:
    from truecost.running.slots import cores

    limit = scenario.limits.cpu or scenario.limits.wall or 0.0
    number_of = workers or len(cores())
    at_a_time = (
        "the cluster's workers"
        if dask is not None
        else f"{number_of} worker{'' if number_of == 1 else 's'}"
    )
    most = (
        f"at most {duration(budget.amount * limit)} of CPU time"
        if budget.unit == "runs"
        else f"with {at_a_time}"
    )
    instances = f"{len(scenario.instances):,} instances, a third to a half of them held out"
    print_line(f"{scenario.name}: {budget}, {most}; {instances}. Journal: {path}")


def _reported(meter: Meter) -> "Callable[[SearchProgress], None]":
    """Reports of a search, as a meter takes them; who is the incumbent, and what it cost so far, as
    a note.
    """

    def tell(progress: "SearchProgress") -> None:
        amount = progress.budget.amount
        meter.tell(
            progress.spent / amount,
            count=progress.runs,
            total=int(amount) if progress.budget.unit == "runs" else None,
            cpu=progress.cpu,
            note=_state(progress),
        )

    return tell


def _state(progress: "SearchProgress") -> str:
    cost = f"{number(progress.training_cost)} ± {number(progress.standard_error, 2)}"
    where = ", now on held-out instances" if progress.phase == "held out" else ""
    return (
        f"{progress.configurations:,} configurations, incumbent {progress.incumbent}: {cost}{where}"
    )


def _plain(found: "Configured", path: Path) -> dict[str, Any]:
    from dataclasses import asdict, fields

    from truecost.judge.assessment import AUDITED

    told = {
        each.name: getattr(found, each.name) for each in fields(found) if each.name != "assessment"
    }
    told |= {name: asdict(told[name]) for name in ("incumbent", "recommended", "default", "budget")}
    return {"journal": str(path), "search": told, **found.assessment.to_dict(*AUDITED)}


def _print(found: "Configured", scenario: "Scenario", path: Path) -> None:
    from truecost.show.document import Context, audited
    from truecost.show.numbers import counted

    capped = f", {found.capped:,} of them stopped at a cap" if found.capped else ""
    print_line(
        f"{found.scenario}: {counted(found.runs, 'run')} of {counted(found.configurations, 'configuration')}{capped}; "
        f"{duration(found.cpu)} of CPU time. It ended: {found.reason}."
    )
    print_line()
    _print_configuration(found, scenario)
    said = audited(found.assessment, Context(name=found.scenario))
    print_line(said.verdict, said.tone)
    print_line(said.more)
    print_line(next(section.lead for section in said.sections if section.name == "sure"))
    for note in [
        *([] if found.untested is None else [f"no held-out runs: {found.untested}."]),
        *found.notes,
    ]:
        print_line(f"Doubtful: {note}", "open")
    print_line(f"Next: truecost audit {path}; truecost report {path}", wrap=False)


def _print_configuration(found: "Configured", scenario: "Scenario") -> None:
    import json

    from truecost.running.target import Caller

    if found.incumbent.name == found.default.name:
        print_line(f"Configuration {found.incumbent.name}: the default; nothing better was found.")
    elif found.recommended.name == found.default.name:
        own, usual_cost = (
            found.assessment.tested[each.name] for each in (found.incumbent, found.default)
        )
        less = (
            ", which is within a standard error: chance may have done that"
            if own < usual_cost
            else ""
        )
        print_line(
            f"Keep the default ({found.default.name}). On the held-out instances what the search chose, configuration "
            f"{found.incumbent.name}, costs {number(own)}; the default {number(usual_cost)}{less}.",
            "open",
        )
    else:
        values, usual = found.incumbent.values, found.default.values
        names = [*values, *(name for name in usual if name not in values)]
        rows = [
            [name, str(values.get(name, "–")), str(usual.get(name, "–"))]
            for name in names
            if values.get(name) != usual.get(name)
        ]
        print_line(f"Configuration {found.incumbent.name}, {found.origin}")
        print_table(
            "What differs from the default", ["parameter", "value", "default"], rows[:SHOWN], left=3
        )
        if len(rows) > SHOWN:
            print_line(f"and {len(rows) - SHOWN:,} more.")
    if scenario.target.kind == "python":
        print_line(f"As values: {json.dumps(dict(found.recommended.values))}", wrap=False)
    else:
        import shlex

        print_line(
            f"As arguments: {shlex.join(Caller(scenario).arguments(found.recommended))}", wrap=False
        )
    print_line()
