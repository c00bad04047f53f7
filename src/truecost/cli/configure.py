"""`truecost configure`."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from truecost.cli.audit import tone_of
from truecost.cli.gather import Dask, KeepGoing, Pin, ScenarioFile, Workers, exported, file_name, going_on
from truecost.cli.printing import Json, duration, number, print_json, print_line, print_table
from truecost.cli.progress import Meter, Quiet, progress
from truecost.errors import InputError

if TYPE_CHECKING:
    from truecost.running.configuring import Configured
    from truecost.running.scenario import Scenario
    from truecost.running.search import Budget, Progress

# So many parameters that differ from the default are shown.
SHOWN = 12


def configure(
    scenario: ScenarioFile,
    budget: Annotated[
        str | None,
        typer.Option(
            help="5000runs; or 2h, 90min, 30s: the wall time of all runs, shared among the workers. As before, if a search "
            "goes on.",
            show_default=False,
        ),
    ] = None,
    journal: Annotated[
        Path | None, typer.Option(help="Where runs are kept; NAME-configure.db if not given.", show_default=False)
    ] = None,
    runs: Annotated[
        int | None,
        typer.Option(
            help="Most runs of a configuration on an instance; 5 if not given. 1 for a deterministic target.",
            min=1,
            show_default=False,
        ),
    ] = None,
    delta: Annotated[float, typer.Option(help="The probability with which each statement may be wrong.")] = 0.05,
    workers: Workers = None,
    dask: Dask = None,
    pin: Pin = True,
    seed: Annotated[
        int | None,
        typer.Option(help="Of proposals, the order of runs, held-out instances; the scenario's if not given.", min=0),
    ] = None,
    keep_going: KeepGoing = False,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Search for a better configuration than the default, and certify what it costs where it was not trained.

    A third of the instances is held out, and up to a fifth of the budget kept for them: when the search is over, what it
    chose and the default are run there, and what is said of the true cost rests on these runs alone.

    Interrupted or killed, the same line goes on, and ends where it would have ended.
    """
    from truecost.running import configuring
    from truecost.running.scenario import Scenario
    from truecost.running.search import Budget

    if dask is not None and workers is not None:
        raise InputError("expected --workers or --dask, got both: a cluster has the workers it has.")
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


def _announce(scenario: "Scenario", path: Path, budget: "Budget", workers: int | None, dask: str | None) -> None:
    from truecost.running.execute import cores

    limit = scenario.limits.cpu or scenario.limits.wall or 0.0
    number_of = workers or len(cores())
    at_a_time = "the cluster's workers" if dask is not None else f"{number_of} worker{'' if number_of == 1 else 's'}"
    most = f"at most {duration(budget.amount * limit)} of CPU time" if budget.unit == "runs" else f"with {at_a_time}"
    instances = f"{len(scenario.instances):,} instances, a third of them held out"
    print_line(f"{scenario.name}: {budget}, {most}; {instances}. Journal: {path}")


def _reported(meter: Meter) -> "Callable[[Progress], None]":
    """Reports of a search, as a meter takes them; who is the incumbent, and what it cost so far, as a note."""

    def tell(progress: "Progress") -> None:
        amount = progress.budget.amount
        meter.tell(
            progress.spent / amount,
            count=progress.runs,
            total=int(amount) if progress.budget.unit == "runs" else None,
            cpu=progress.cpu,
            note=_state(progress),
        )

    return tell


def _state(progress: "Progress") -> str:
    cost = f"{number(progress.training_cost)} ± {number(progress.standard_error, 2)}"
    where = ", now on held-out instances" if progress.phase == "held out" else ""
    return f"{progress.configurations:,} configurations, incumbent {progress.incumbent}: {cost}{where}"


def _plain(found: "Configured", path: Path) -> dict[str, Any]:
    from dataclasses import asdict

    return {"journal": str(path), "better": found.audit.better, **asdict(found)}


def _print(found: "Configured", scenario: "Scenario", path: Path) -> None:
    capped = f", {found.capped:,} of them stopped at a cap" if found.capped else ""
    print_line(
        f"{found.scenario}: {found.runs:,} runs of {found.configurations:,} configurations{capped}; {duration(found.cpu)} "
        f"of CPU time. It ended: {found.reason}."
    )
    print_line()
    _print_configuration(found, scenario)
    print_line(
        f"Training cost {number(found.training_cost)} ± {number(found.standard_error, 2)}, on the instances it was chosen "
        "by: as a rule too good."
    )
    if found.certificate is None:
        print_line(f"Not certified: {found.no_certificate}.", "open")
    else:
        print_line(
            f"Certified: {found.certificate.statement[0].lower()}{found.certificate.statement[1:]}; its mean on "
            f"{found.certificate.instances:,} instances it was not trained on is {number(found.certificate.estimate)}."
        )
    print_line(f"Against the default: {found.audit.verdict}", tone_of(found.audit))
    _print_audit(found)
    for note in found.notes:
        print_line(f"Doubtful: {note}", "open")
    print_line(f"Next: truecost audit {path}; truecost certify {path}; truecost info {path}", wrap=False)


def _print_configuration(found: "Configured", scenario: "Scenario") -> None:
    import json

    from truecost.running.target import Caller

    if found.incumbent.name == found.default.name:
        print_line(f"Configuration {found.incumbent.name}: the default; nothing better was found.")
    else:
        values, usual = found.incumbent.values, found.default.values
        names = [*values, *(name for name in usual if name not in values)]
        rows = [
            [name, str(values.get(name, "–")), str(usual.get(name, "–"))]
            for name in names
            if values.get(name) != usual.get(name)
        ]
        print_line(f"Configuration {found.incumbent.name}, {found.origin}")
        print_table("What differs from the default", ["parameter", "value", "default"], rows[:SHOWN], left=3)
        if len(rows) > SHOWN:
            print_line(f"and {len(rows) - SHOWN:,} more.")
    if scenario.target.kind == "python":
        print_line(f"As values: {json.dumps(dict(found.incumbent.values))}", wrap=False)
    else:
        import shlex

        print_line(f"As arguments: {shlex.join(Caller(scenario).arguments(found.incumbent))}", wrap=False)
    print_line()


def _print_audit(found: "Configured") -> None:
    report = found.audit
    where = "on held-out instances" if report.true_from == "test runs" else "estimated from splits"
    percent = "" if report.gap_percent != report.gap_percent else f" ({number(report.gap_percent, 3)} %)"
    lost = "" if report.over_tuning != report.over_tuning else f"; over-tuning {number(report.over_tuning)}"
    print_line(f"Audit: true cost ({where}) − training cost = {number(report.gap)}{percent}{lost}.")
