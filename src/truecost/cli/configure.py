"""`truecost configure`, a better configuration; `truecost explain`, which changes make it so."""

import json as jsonlib
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
    FIGURE,
    JOURNAL,
    RUNS,
    SEED,
    About,
    Configuration,
    Delta,
    Json,
    Margin,
    Pool,
    Question,
    Quiet,
    Sampled,
    ScenarioFile,
    Unit,
    asked,
)
from truecost.cli.printing import answer, duration, number, print_line, print_table
from truecost.cli.reading import Source, check_out
from truecost.errors import InputError
from truecost.show.numbers import counted, percent

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from truecost.campaigns.budget import Budget
    from truecost.campaigns.campaign import Progress
    from truecost.campaigns.changes import Change
    from truecost.campaigns.configure import Configured
    from truecost.campaigns.explain import Explanation
    from truecost.matrix.imported import Import
    from truecost.running.scenario import Scenario
    from truecost.space import space


# With 6 for each of 32 workers, results cost 1.21 times as much as with one (0.91–1.60); with 20
# there is no such difference (`bench.workers`).
RUNS_PER_WORKER = 20
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
    a standard error, or less with clearly more wins. With --sampled family whole families are held
    out; with --about these nothing is, and the result is judged on all instances with new seeds.

    Rerun the same command to resume after an interruption; a larger budget continues the search.
    """
    from truecost.campaigns import configure as configuring
    from truecost.campaigns.budget import Budget

    allowed = None if budget is None else Budget.parse(budget)
    read = read_scenario(scenario, quiet)
    path = journal_path(journal, read.name, "-configure")
    if not quiet and not json and allowed is not None:
        _announce(read, path, allowed, pool, about)
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


def _starting(path: Path, scenario: "Scenario") -> "list[space.Configuration]":
    """The configurations of a file, or the best ones of a log."""
    from truecost.campaigns.configure import starting_points
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


def _announce(
    scenario: "Scenario", path: Path, budget: "Budget", pool: Pool, about: str | None
) -> None:
    from truecost.journal.searchlog import FEW_WORKERS
    from truecost.running.machine import cores

    workers = 0 if pool.dask else pool.workers or max(1, len(cores()) // scenario.limits.cores)
    if budget.unit == "runs":
        most = f"at most {duration(most_time(scenario, budget.amount))} of CPU time"
    elif pool.dask is None:
        most = f"with {counted(workers, 'worker')}"
    else:
        most = "with the cluster's workers"
    judging = "judged with new seeds" if about == "these" else "a third to a half of them held out"
    instances = f"{counted(len(scenario.instances), 'instance')}, {judging}"
    print_line(f"{scenario.name}: {budget}, {most}; {instances}. Journal: {path}")
    crowded = workers > FEW_WORKERS and budget.amount < RUNS_PER_WORKER * workers
    if budget.unit == "runs" and crowded:
        print_line(
            f"With fewer than {RUNS_PER_WORKER} runs per worker, the result may be worse than what "
            "fewer workers find in as many runs.",
            "open",
        )


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
    # Of the guarantees one sentence; the rest is a command away.
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
    # Values of a winner that is not recommended would be taken for advice.
    elif recommended.name != default.name:
        rows = [
            [name, *(str(item.values.get(name, "–")) for item in (incumbent, default))]
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


# At most this many changes are listed; as JSON there are all of them.
MOST_GUESSES, MOST_TOGETHER = 20, 5


@declared
def explain(
    source: Source,
    pool: Pool,
    scenario: Path | None = asked("The scenario file, or the name of a built-in scenario."),
    budget: str | None = asked(f"{BUDGET}; as before, if an explanation is resumed."),
    configuration: Configuration = None,
    journal: Path | None = asked(f"{JOURNAL}; NAME-explain.db if not given."),
    tolerance: float = asked(
        "Share of the gain in training that undoing changes may cost.", default=0.1
    ),
    delta: Delta = 0.05,
    guess: bool = asked(
        "Run nothing: print what the model of the search predicts for each change.",
        "--guess",
        default=False,
    ),
    figure: Path | None = asked(f"{FIGURE}; a waterfall of the changes."),
    unit: Unit = None,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Which parameter changes make the winner better than the default, and which can be undone.

    RUNS is a search: a journal of `configure`, a log of irace or SMAC3, or a JSON file with the
    values of the winner's parameters. Changes of the winner are undone in groups on the instances
    it was tuned on, and the others ranked by what they gain. Then the winner and the simplified
    configuration are run on instances that nobody tuned on, each statement at half of delta;
    without such instances in the scenario, nothing is stated about new ones.

    Rerun the same command to resume.
    """
    from truecost.campaigns import explain as explaining
    from truecost.judge.parts import plain_data

    if scenario is None:
        what = "has the parameters" if guess else "says how configurations are run"
        raise InputError(f"Expected a `scenario`, which {what}.")
    if figure is not None:
        check_out(figure, source.runs)
    read = read_scenario(scenario, quiet)
    log = _values(source.runs, read) or source.read()
    names: dict[str, Any] = {"configuration": configuration, "default": source.default}
    if guess:
        rows = _guessed(log, read, names)
        answer(
            json,
            {"guess": [{**plain_data(change), "importance": loss} for loss, change in rows]},
            lambda: _print_guess(rows),
        )
        return
    path = journal_path(journal, source.stem, "-explain")
    if not quiet and not json and not explaining.split_instances(log, read)[1]:
        print_line(
            "The search used every instance of the scenario, so nothing will be shown for new "
            "ones. Add instances to the scenario to have some held out.",
            "open",
        )
    with campaign(pool, quiet=quiet, note=_explaining) as execution:
        explanation = explaining.explain(
            log,
            read,
            path,
            budget=budget,
            tolerance=tolerance,
            delta=delta,
            **names,
            **execution,
        )
    if figure is not None:
        _draw(explanation, figure, unit)
    answer(
        json,
        lambda: _explanation(explanation, read, path),
        lambda: _print_explanation(explanation, read, unit),
    )


def _values(path: Path, scenario: "Scenario") -> "Mapping[str, Any] | None":
    """The values of a configuration, where the file has nothing else."""
    if path.suffix != ".json" or not path.is_file():
        return None
    try:
        values = jsonlib.loads(path.read_text())
    except (ValueError, RecursionError):
        return None
    # Else it is a log in JSON, which an importer reads.
    known = isinstance(values, dict) and set(values) <= set(scenario.space.parameters)
    return values if known else None


def _guessed(
    log: "Import | Mapping[str, Any]", scenario: "Scenario", named: dict[str, str | None]
) -> "list[tuple[float, Change]]":
    """The changes, the most important first, each after what the model makes of undoing it."""
    from truecost.campaigns.changes import changes_between, guessed_losses
    from truecost.campaigns.terms import contestants_of
    from truecost.matrix.imported import Import

    if not isinstance(log, Import):
        raise InputError("Expected the log of a search for a guess, got one configuration.")
    winner, default = contestants_of(log, scenario, **named)
    changes = changes_between(scenario.space, default.configuration, winner.configuration)
    losses = guessed_losses(log, scenario.space, default.configuration, changes)
    if losses is None:
        raise InputError("Expected a log with runs of at least 12 configurations that differ.")
    return sorted(zip(losses.tolist(), changes, strict=True), key=lambda pair: -pair[0])


def _print_guess(rows: "list[tuple[float, Change]]") -> None:
    print_line(
        "A guess by the model of the search, from its training runs alone: how much worse the "
        "winner would rank without each change, in standard deviations."
    )
    cells = [[_changes_text(change), number(loss)] for loss, change in rows[:MOST_GUESSES]]
    print_table("Changes, the most important first", ["change", "importance"], cells)
    if len(rows) > MOST_GUESSES:
        print_line(f"and {len(rows) - MOST_GUESSES:,} more, of at most {cells[-1][1]}.")


def _explaining(now: "Progress") -> str:
    where = "held-out instances" if now.phase == "held out" else "training instances"
    return f"{now.configurations:,} configurations, on {where}"


def _changes_text(*changes: "Change") -> str:
    """Changes in words, as `restart: 100 → 20`."""
    return "; ".join(
        ", ".join(
            f"{name}: {change.default.get(name, '–')} → {change.incumbent.get(name, '–')}"
            for name in change.names
        )
        for change in changes
    )


def _together(changes: "Sequence[Change]") -> str:
    """The changes of one step in words; of many, the first few and their number."""
    if len(changes) <= MOST_TOGETHER:
        return _changes_text(*changes)
    # One less, since a line says that these are examples.
    few = _changes_text(*changes[: MOST_TOGETHER - 1])
    return f"{counted(len(changes), 'change')} that were not tried one by one, such as {few}"


def _explanation(explanation: "Explanation", scenario: "Scenario", path: Path) -> dict[str, Any]:
    statements = {
        name: None if assessment is None else assessment.to_dict("comparison", "statements")
        for name, assessment in (
            ("incumbent_against_default", explanation.against_default),
            ("simplified_against_incumbent", explanation.against_incumbent),
        )
    }
    plain = ("scenario", "complete", "changes", "kept", "path", "delta", "runs")
    costs = {
        name: getattr(explanation, f"{name}_cost")
        for name in ("default", "incumbent", "simplified")
    }
    return {
        "journal": path,
        **{name: getattr(explanation, name) for name in plain},
        "training": {"runs": explanation.training_runs, **costs},
        "simplified": {
            "values": explanation.simplified.values,
            "arguments": arguments_of(scenario, explanation.simplified),
        },
        "held_out_instances": explanation.held_out,
        "condition": explanation.condition,
        "costs_more_than_incumbent_at_most": explanation.most_more,
        **statements,
    }


def _print_explanation(explanation: "Explanation", scenario: "Scenario", unit: str | None) -> None:
    undone = len(explanation.changes) - len(explanation.kept)
    print_line(
        f"{undone:,} of {counted(len(explanation.changes), 'change')} of the winner can be undone: "
        f"in training it costs {number(explanation.incumbent_cost)} with all changes and "
        f"{number(explanation.simplified_cost)} with "
        f"{counted(len(explanation.kept), 'change')}; the default costs "
        f"{number(explanation.default_cost)}.",
        "strong",
    )
    if not explanation.complete:
        print_line(
            "The budget ended before every group of changes was tried: those that were not stay. "
            "A larger budget with another --journal can undo more.",
            "open",
        )
    rows = [
        [
            _together(step.changes),
            number(step.gain),
            number(step.standard_error, 2),
            number(step.cost),
        ]
        for step in explanation.path
    ]
    where = f"mean over {explanation.training_runs:,} training runs"
    cost = "cost after it" if unit is None else f"cost after it ({unit})"
    print_line()
    print_table(
        f"From the default to the simplified winner, {where}",
        ["change", "gain", "standard error", cost],
        rows,
    )
    _print_held_out(explanation)
    print_line(f"Simplified: {arguments_of(scenario, explanation.simplified)}", wrap=False)


def _print_held_out(explanation: "Explanation") -> None:
    # Two statements share delta.
    better, level = explanation.against_default, f"{100 - 50 * explanation.delta:g} %"
    if better is None:
        print_line(
            "Nothing is shown for new instances: the budget ended, or the winner was tuned on all "
            "instances of the scenario. Add new ones to it, and give another --journal.",
            "open",
        )
        return
    condition = "" if explanation.condition is None else f", if {explanation.condition}"
    where = f"On {counted(explanation.held_out, 'held-out instance')}"
    print_line(f"{where}, with {level} confidence each{condition}:")
    verdict = "is shown to be better" if better.better else "is not shown to be better"
    print_line(f"* the winner {verdict} than the default;", "good" if better.better else "open")
    if explanation.against_incumbent is None:
        print_line("* the simplified configuration is the winner itself.")
    elif explanation.most_more is None:
        print_line("* how much more the simplified configuration costs is not bounded.", "open")
    else:
        most = percent(explanation.most_more)
        print_line(f"* the simplified configuration costs at most {most} more than the winner.")
    print_line()


def _draw(explanation: "Explanation", path: Path, unit: str | None) -> None:
    from truecost.show import figures

    steps = [(_together(step.changes), step.cost, step.standard_error) for step in explanation.path]
    data = figures.waterfall_data(explanation.default_cost, steps, explanation.incumbent_cost)
    figures.save(figures.waterfall_chart(data, unit=unit or "cost"), path)
