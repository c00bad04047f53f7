"""`truecost validate`."""

import math
import shlex
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from truecost.cli.asking import context
from truecost.cli.campaign import answer_at_once, campaign, journal_path, read_scenario
from truecost.cli.command import declared
from truecost.cli.options import (
    BUDGET,
    JOURNAL,
    RUNS,
    About,
    Delta,
    Json,
    Margin,
    Pool,
    Population,
    PrimaryCriterion,
    Question,
    Quiet,
    Sampled,
    Unit,
    asked,
    out_option,
)
from truecost.cli.printing import answer, number, print_line
from truecost.cli.progress import steps
from truecost.cli.reading import Others, Source, check_out, searches_of
from truecost.errors import InputError

if TYPE_CHECKING:
    from truecost.campaigns.campaign import Progress
    from truecost.campaigns.terms import Entry
    from truecost.campaigns.validate import Validated
    from truecost.importers.fromlog import Written
    from truecost.matrix.imported import Import
    from truecost.running.scenario import Scenario
    from truecost.show.blocks import Document


@dataclass(frozen=True, slots=True, kw_only=True)
class Duel:
    """Who is run against whom, how and on what."""

    instances: str | None = asked(
        "Files to run on, 'test/*.cnf' for instance, or a file that lists instances as irace's "
        "do; those of the scenario if not given. Instances of the log are left out.",
        metavar="PATTERN",
    )
    budget: str | None = asked(
        f"{BUDGET}; times are the wall time of all runs, shared among the workers. As before, "
        "if a validation is resumed."
    )
    scenario: Path | None = asked(
        "The scenario file, or the name of a built-in scenario; not needed for a log of irace."
    )
    configuration: list[str] | None = asked(
        "The configuration to judge; the log's incumbent, else the one with the lowest "
        "training cost. A second one takes the place of the default.",
        metavar="NAME",
    )
    runs_each: int | None = asked(
        f"{RUNS}; at most, 5 if not given, and 1 for a deterministic target.", "--runs", min=1
    )

    def __post_init__(self) -> None:
        if len(self.configuration or ()) > 2:
            raise InputError(
                "Expected `configuration` once or twice, the winner and what it is compared with."
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What decides; fields are those of `truecost.validate`."""

    delta: Delta = 0.05
    primary: PrimaryCriterion = None
    margin: Margin = None
    sampled: Sampled = None
    about: About = None
    population: Population = None


@declared
def validate(
    source: Source,
    pool: Pool,
    duel: Duel,
    decision: Decision,
    others: Others = None,
    journal: Path | None = asked(f"{JOURNAL}; NAME-validate.db if not given."),
    dry_run: bool = asked("Say what it would take; runs nothing.", "--dry-run", default=False),
    out: Annotated[Path | None, out_option("the report, NAME-validate.html if not given")] = None,
    unit: Unit = None,
    yes: bool = asked("Run the program that the log names without asking.", "--yes", default=False),
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Run the winner of a search and its default on instances the search never saw, until the
    comparison is decided.

    It stops when the winner is shown to be better (with --margin: at most that much worse), shown
    to be worse, or unlikely to be shown to be better with the rest of the budget. The confidence
    level accounts for checking after every instance. With --sampled family it checks after every
    family; with --about these only once, at the end.

    Several logs of one search have several winners: each is validated with its share of delta.

    Exit code 0: shown. 1: not shown. Rerun the same command to resume.
    """
    from truecost.campaigns import validate as validating
    from truecost.campaigns.terms import entry_of
    from truecost.show.report import write_page

    name = f"{source.stem}-validate" if journal is None else str(journal.with_suffix(""))
    page = Path(f"{name}.html") if out is None else out
    # Before the runs, not after them.
    check_out(page, source.runs)
    log, scenario, winners, against, runs = _read(source, others, duel, Path(name), quiet)
    # Each winner may be wrongly called better, so they share the error probability.
    given = asdict(decision) | {"delta": decision.delta / len(winners)}
    scope = {key: given.pop(key) for key in ("sampled", "about")}
    terms: dict[str, Any] = {**against, **scope, "families": source.families}
    path = journal_path(journal, source.stem, "-validate")
    entries = _numbered(winners, path, page)
    if dry_run or not (quiet or json):
        for winner, place, _ in entries:
            entry = entry_of(log, scenario, configuration=winner, **terms)
            _announce(scenario, entry, place, duel.budget)
    if dry_run:
        return
    # A scenario that the user wrote names a program they know.
    if duel.scenario is None:
        _confirm(scenario, yes)
    results = []
    for winner, place, report in entries:
        with campaign(pool, quiet=quiet, note=_state) as execution:
            validated = validating.validate(
                log,
                scenario,
                place,
                configuration=winner,
                budget=duel.budget,
                runs=runs,
                **terms,
                **given,
                **execution,
            )
        question = Question(delta=given["delta"], primary=decision.primary)
        about = context(Source(runs=place), question, unit=unit, log=validated.assessment.log)
        with steps("the report", quiet=quiet) as tell:
            document = write_page(validated.assessment, report, about, tell)
        results.append((validated, place, report, document, about.command("audit") or ""))
    data = [_data(validated, place, report) for validated, place, report, *_ in results]
    # One validation as it is; several in a list, with the error probability of each.
    several = {"delta": given["delta"], "validations": data}

    def lines() -> None:
        for validated, _, report, document, audit in results:
            _print(validated, document, report, audit)

    answer(json, several if len(data) > 1 else data[0], lines)
    if not any(validated.shown for validated, *_ in results):
        raise typer.Exit(1)


def _read(
    source: Source, others: list[Path] | None, duel: Duel, folder: Path, quiet: bool
) -> tuple["Import", "Scenario", Sequence[str | None], dict[str, Any], int | None]:
    """The log, the scenario, the winners, instances and default to run them on and against, and
    the most runs on an instance.
    """
    from truecost.importers.fromlog import instance_list

    # Families are those of the log's and of the fresh instances, which `entry_of` labels.
    source = replace(source, families=None)
    searches = searches_of(source, others)
    log = source.read() if searches is None else searches.log
    winner, default = [*(duel.configuration or ()), None, None][:2]
    default = default or (source.default if searches is None else log.trajectory.default)
    path, runs = duel.scenario, duel.runs_each
    folders: tuple[Path, ...] = ()
    if path is None:
        made = _from_log(source, log, folder, duel.instances)
        path, folders = made.path, made.folders
        # irace was told that seeds change nothing.
        runs = 1 if runs is None and made.deterministic else runs
        if log.trajectory.default is None:
            default = default or made.default
    scenario = read_scenario(path, quiet)
    if searches is not None and scenario.target.whole:
        raise InputError("Expected one log, since its target runner is an R function in it.")
    instances: Any = duel.instances
    if instances:
        instances = instance_list(instances, log, (*folders, scenario.folder)) or instances
    # Each of several logs has a winner of its own.
    winners = (winner,) if searches is None or winner is not None else searches.incumbents
    return log, scenario, winners, {"instances": instances, "default": default}, runs


def _numbered(
    winners: Sequence[str | None], journal: Path, page: Path
) -> list[tuple[str | None, Path, Path]]:
    """Each winner with a journal and a page of its own."""
    if len(winners) == 1:
        return [(winners[0], journal, page)]
    return [
        (winner, journal.with_stem(f"{journal.stem}-{k}"), page.with_stem(f"{page.stem}-{k}"))
        for k, winner in enumerate(winners, 1)
    ]


def _from_log(source: Source, log: "Import", folder: Path, pattern: str | None) -> "Written":
    """The scenario that a log of irace was made with, written into a folder."""
    if log.kind != "irace" or source.place is None:
        raise InputError(
            "Expected a `scenario`, since only a log of irace says what it ran; for one of SMAC3, "
            "truecost scenario from-log writes one to fill in."
        )
    from truecost.importers.fromlog import scenario_from_log

    made = scenario_from_log(source.place, log, folder, instances=pattern)
    if source.default is None and log.trajectory.default is None:
        raise InputError(
            "Expected a `default`, which this irace log does not have: the number of another "
            "configuration, or a `scenario` (truecost scenario from-log writes it) with your "
            "default in [space]."
        )
    return made


def _confirm(scenario: "Scenario", yes: bool) -> None:
    """Ask before a program is started that a log names."""
    # Whoever wrote the log chose it.
    if yes:
        return
    words = shlex.join(scenario.target.command or ())
    question = f"The log names the program to run: {words}\nIn the folder {scenario.folder}."
    if not sys.stdin.isatty():
        raise InputError(f"{' '.join(question.split())} Read it, then allow it: --yes.")
    print_line(question, wrap=False)
    answer_at_once()
    if not typer.confirm("Run it?", err=True):
        raise InputError("Nothing was run.")


def _announce(scenario: "Scenario", entry: "Entry", path: Path, budget: str | None) -> None:
    from truecost.running.execute import Caller

    caller = Caller(scenario)
    for role, contestant in (("Winner", entry.winner), ("Default", entry.default)):
        configuration = contestant.configuration
        words = (
            ", ".join(f"{name}={value}" for name, value in configuration.values.items())
            if scenario.target.kind == "python"
            else shlex.join(caller.arguments(configuration))
        )
        print_line(f"{role}: configuration {contestant.name}: {words}", wrap=False)
    target = shlex.join(scenario.target.command or [scenario.target.function or ""])
    print_line(f"Target, from {scenario.path}: {target}", wrap=False)
    size, left_out = f"{len(entry.instances):,}", "none of them is in the log"
    if entry.trained is not None:
        families = {instance.extras["family"] for instance in entry.instances}
        size += f" of {len(families):,} families"
    if entry.used:
        where = "them" if entry.trained is None else "their families"
        left_out = f"{entry.used:,} left out, since the log has runs on {where}"
    print_line(f"Instances: {size} to run on; {left_out}.")
    print_line(f"Budget: {budget or 'as before'}. Journal: {path}", wrap=False)


def _state(now: "Progress") -> str:
    """What decides, with its limits."""
    # They hold at all times, so they may be watched.
    if math.isnan(now.estimate):
        return f"{now.instances:,} instances"
    low, high = map(number, now.interval)
    return f"{now.instances:,} instances: {now.quantity} {number(now.estimate)} ({low} to {high})"


def _data(validated: "Validated", path: Path, page: Path) -> dict[str, Any]:
    from truecost.judge.assessment import AUDITED

    return {
        "journal": path,
        "report": page,
        "validation": {
            **validated.stop._asdict(),
            "all_runs": validated.runs,
            "cpu": validated.cpu,
            "spent": validated.spent,
            "fresh_instances": len(validated.entry.instances),
            "left_out_instances": validated.entry.used,
            "shown": validated.shown,
            "notes": validated.notes,
        },
        **validated.assessment.to_dict(*AUDITED),
    }


def _print(validated: "Validated", document: "Document", page: Path, audit: str) -> None:
    print_line(ended(validated))
    print_line(document.verdict, document.tone)
    print_line(document.more)
    for note in validated.notes:
        print_line(f"Doubtful: {note}", "open")
    print_line(f"{page} has the whole report; this verdict again:")
    print_line(f"  {audit}", "strong", wrap=False)


def ended(validated: "Validated") -> str:
    """Where and why it stopped, in a sentence."""
    from truecost.campaigns.budget import Budget
    from truecost.show.numbers import percent

    stop = validated.stop
    budget = Budget(amount=stop.budget, unit=stop.unit)
    chance = percent(stop.chance or 0.0)
    reasons: dict[str, str] = {
        "better": "the winner is shown to be better",
        "worse": "the winner is shown to be worse",
        "within margin": "the winner is shown to be within the margin",
        "beyond margin": "the winner is shown to be worse than the margin allows",
        "forecast": f"the rest of the budget has a chance of {chance} to show it",
        "budget": f"the budget of {budget} is spent",
        "instances": "all instances are used",
    }
    scope = validated.assessment.scope
    where = f"{stop.instances:,} {'' if scope.about == 'these' else 'new '}instances"
    if scope.sampled == "family":
        where += f" of {scope.units:,} families"
    return f"Stopped after {stop.runs:,} runs on {where}: {reasons[stop.why]}."
