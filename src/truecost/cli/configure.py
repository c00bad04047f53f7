"""`truecost configure`."""

from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from truecost.cli.campaign import (
    arguments_of,
    campaign,
    journal_path,
    most_time,
    read_scenario,
)
from truecost.cli.command import command_line, declared
from truecost.cli.options import (
    BUDGET,
    JOURNAL,
    RUNS,
    SEED,
    About,
    Delta,
    Json,
    Margin,
    Pool,
    Question,
    Quiet,
    Sampled,
    ScenarioFile,
    asked,
)
from truecost.cli.printing import answer, duration, number, print_line, print_table
from truecost.cli.reading import Source
from truecost.show.numbers import counted

if TYPE_CHECKING:
    from truecost.campaigns.budget import Budget
    from truecost.campaigns.campaign import Progress
    from truecost.campaigns.configure import Configured
    from truecost.running.scenario import Scenario
    from truecost.space.space import Configuration

# At most this many parameters that differ from the default are listed.
MOST_PARAMETERS = 12
# Where a configuration comes from, as the journal has it and in words.
ORIGINS = {
    "model": "proposed by the model of the search",
    "prior": "drawn from the priors",
    "random": "drawn at random",
    "start": "one of the starting configurations",
}


@declared
def configure(
    scenario: ScenarioFile,
    pool: Pool,
    budget: str | None = asked(
        f"{BUDGET}; times are the wall time of all runs, shared among the workers. If a search "
        "is resumed: as before, or more."
    ),
    journal: Path | None = asked(f"{JOURNAL}; NAME-configure.db if not given."),
    runs: int | None = asked(
        f"{RUNS}; at most, 5 if not given. 1 for a deterministic target.", min=1
    ),
    delta: Delta = 0.05,
    margin: Margin = None,
    sampled: Sampled = None,
    about: About = None,
    start: Path | None = asked(
        "Configurations to try first: a file (csv, JSON, a table of irace), or the best of a "
        "log or journal of an earlier search."
    ),
    seed: int | None = asked(f"{SEED}; the scenario's if not given.", min=0),
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Search for a better configuration than the default, and certify it on held-out instances.

    A third to a half of the instances is held out, with up to a fifth of the budget. When the
    search has ended, the winner and the default are run on them, and statements about the true cost
    use only these runs. The default is recommended unless the winner costs less there by more than
    a standard error. With --sampled family whole families are held out; with --about these nothing
    is, and the result is judged on all instances with new seeds.

    Rerun the same command to resume after an interruption; a larger budget continues the search.
    """
    from truecost.campaigns import configure as configuring
    from truecost.campaigns.budget import Budget

    allowed = None if budget is None else Budget.parse(budget)
    read = read_scenario(scenario, quiet)
    path = journal_path(journal, read.name, "-configure")
    if not quiet and not json and allowed is not None:
        _announce(read, path, allowed, pool)
    first = [] if start is None else _starting(start, read)
    with campaign(pool, quiet=quiet, note=_state) as execution:
        configured = configuring.configure(
            read,
            path,
            budget=allowed,
            runs=runs,
            delta=delta,
            seed=seed,
            margin=margin,
            sampled=sampled,
            about=about,
            start=first,
            **execution,
        )
    answer(json, lambda: _data(configured, path), lambda: _print(configured, read, path, scenario))


def _starting(path: Path, scenario: "Scenario") -> "list[Configuration]":
    """The configurations of a file, or the best ones of a log."""
    from truecost.campaigns.configure import starting_points
    from truecost.errors import InputError
    from truecost.importers.detect import import_runs
    from truecost.space.listed import read_configurations

    listed: InputError | None = None
    # What is no file of configurations may be a log.
    if path.is_file():
        try:
            return read_configurations(path, scenario.space)
        except InputError as error:
            listed = error
    try:
        log = import_runs(path)
    except InputError as error:
        raise listed or error from error
    try:
        return starting_points(log, scenario.space)
    except InputError as error:
        raise InputError(f"{path}: {error}") from error


def _announce(scenario: "Scenario", path: Path, budget: "Budget", pool: Pool) -> None:
    from truecost.running.machine import cores

    workers = (
        counted(pool.workers or len(cores()), "worker")
        if pool.dask is None
        else "the cluster's workers"
    )
    most = (
        f"at most {duration(most_time(scenario, budget.amount))} of CPU time"
        if budget.unit == "runs"
        else f"with {workers}"
    )
    instances = (
        f"{counted(len(scenario.instances), 'instance')}, a third to a half of them held out"
    )
    print_line(f"{scenario.name}: {budget}, {most}; {instances}. Journal: {path}")


def _state(now: "Progress") -> str:
    """The incumbent, and what it cost so far."""
    cost = f"{number(now.estimate)} ± {number(now.standard_error, 2)}"
    where = ", now on held-out instances" if now.phase == "held out" else ""
    return f"{now.configurations:,} configurations, incumbent {now.incumbent}: {cost}{where}"


def _data(configured: "Configured", path: Path) -> dict[str, Any]:
    from truecost.judge.assessment import AUDITED

    search = {
        field.name: getattr(configured, field.name)
        for field in fields(configured)
        if field.name != "assessment"
    }
    for name in ("incumbent", "recommended", "default"):
        search[name] = {"name": search[name].name, "values": search[name].values}
    return {"journal": path, "search": search, **configured.assessment.to_dict(*AUDITED)}


def _print(configured: "Configured", scenario: "Scenario", path: Path, file: object) -> None:
    from truecost.cli.asking import context
    from truecost.show.document import Case, audited, recommendation

    capped = f", {configured.capped:,} of them stopped at a cap" if configured.capped else ""
    configurations = counted(configured.configurations, "configuration")
    print_line(
        f"{configured.scenario}: {counted(configured.runs, 'run')} of {configurations}{capped}; "
        f"{duration(configured.cpu)} of CPU time. It ended: {configured.reason}."
    )
    print_line()
    _print_configuration(configured, scenario)
    assessment = configured.assessment
    source, question = Source(runs=path), Question(delta=assessment.question.delta)
    about = context(source, question, log=assessment.log)
    name, seconds = configured.recommended.name, configured.cpu / max(configured.runs, 1)
    use = recommendation(Case(assessment, about), name, seconds, scenario=file)
    print_line(use.lead, "good" if assessment.better else "open")
    document = audited(assessment, about)
    print_line(document.more)
    print_line(next(section.lead for section in document.sections if section.name == "sure"))
    untested = configured.untested
    notes = [] if untested is None else [f"no held-out runs: {untested}."]
    for note in (*notes, *configured.notes):
        print_line(f"Doubtful: {note}", "open")
    print_line("Next:")
    lines = [line for block in use.blocks for line, _ in getattr(block, "commands", ())]
    lines += [command_line(command, source, question) for command in ("audit", "report")]
    for line in lines:
        print_line(f"  {line}", "strong", wrap=False)


def _print_configuration(configured: "Configured", scenario: "Scenario") -> None:
    incumbent, default = configured.incumbent, configured.default
    recommended = configured.recommended
    if incumbent.name == default.name:
        print_line(f"Configuration {incumbent.name}: the default; nothing better was found.")
    elif recommended.name != default.name:
        rows = [
            [name, *(str(each.values.get(name, "–")) for each in (incumbent, default))]
            for name in dict.fromkeys((*incumbent.values, *default.values))
            if incumbent.values.get(name) != default.values.get(name)
        ]
        origin = ORIGINS.get(configured.origin, configured.origin)
        print_line(f"Configuration {incumbent.name}, {origin}")
        columns = ["parameter", "value", "default"]
        print_table("What differs from the default", columns, rows[:MOST_PARAMETERS], left=3)
        if len(rows) > MOST_PARAMETERS:
            print_line(f"and {len(rows) - MOST_PARAMETERS:,} more.")
    kind = "values" if scenario.target.kind == "python" else "arguments"
    print_line(f"As {kind}: {arguments_of(scenario, recommended)}", wrap=False)
    print_line()
