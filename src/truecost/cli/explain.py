"""`truecost explain`."""

import json as jsonlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from truecost.cli.campaign import arguments_of, campaign, journal_path, read_scenario
from truecost.cli.command import declared
from truecost.cli.options import (
    BUDGET,
    FIGURE,
    JOURNAL,
    Configuration,
    Delta,
    Json,
    Pool,
    Quiet,
    Unit,
    asked,
)
from truecost.cli.printing import answer, number, print_line, print_table
from truecost.cli.reading import Source, check_out
from truecost.errors import InputError
from truecost.show.numbers import counted, percent

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from truecost.campaigns.campaign import Progress
    from truecost.campaigns.changes import Change
    from truecost.campaigns.explain import Explanation
    from truecost.matrix.imported import Import
    from truecost.running.scenario import Scenario


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
    configuration are run on instances that nobody tuned on, each statement at half of delta.

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
    with campaign(pool, quiet=quiet, note=_state) as execution:
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
    answer(json, lambda: _data(explanation, read, path), lambda: _print(explanation, read, unit))


def _values(path: Path, scenario: "Scenario") -> "Mapping[str, Any] | None":
    """The values of a configuration, where the file has nothing else."""
    if path.suffix != ".json" or not path.is_file():
        return None
    try:
        values = jsonlib.loads(path.read_text())
    except (ValueError, OSError):
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
    cells = [[_text(change), number(loss)] for loss, change in rows[:MOST_GUESSES]]
    print_table("Changes, the most important first", ["change", "importance"], cells)
    if len(rows) > MOST_GUESSES:
        print_line(f"and {len(rows) - MOST_GUESSES:,} more, of at most {cells[-1][1]}.")


def _state(now: "Progress") -> str:
    where = "held-out instances" if now.phase == "held out" else "training instances"
    return f"{now.configurations:,} configurations, on {where}"


def _text(*changes: "Change") -> str:
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
        return _text(*changes)
    few = _text(*changes[: MOST_TOGETHER - 1])
    return f"{counted(len(changes), 'change')} that were not tried one by one, such as {few}"


def _data(explanation: "Explanation", scenario: "Scenario", path: Path) -> dict[str, Any]:
    statements = {
        name: None if assessment is None else assessment.to_dict("comparison", "statements")
        for name, assessment in (
            ("incumbent_against_default", explanation.against_default),
            ("simplified_against_incumbent", explanation.against_incumbent),
        )
    }
    return {
        "journal": path,
        "scenario": explanation.scenario,
        "complete": explanation.complete,
        "changes": explanation.changes,
        "kept": explanation.kept,
        "path": explanation.path,
        "training": {
            "runs": explanation.training_runs,
            "default": explanation.default_cost,
            "incumbent": explanation.incumbent_cost,
            "simplified": explanation.simplified_cost,
        },
        "simplified": {
            "values": explanation.simplified.values,
            "arguments": arguments_of(scenario, explanation.simplified),
        },
        "held_out_instances": explanation.held_out,
        "costs_more_than_incumbent_at_most": explanation.most_more,
        "delta": explanation.delta,
        "runs": explanation.runs,
        **statements,
    }


def _print(explanation: "Explanation", scenario: "Scenario", unit: str | None) -> None:
    undone = len(explanation.changes) - len(explanation.kept)
    print_line(
        f"{undone:,} of {counted(len(explanation.changes), 'change')} of the winner can be undone: "
        f"in training it costs {number(explanation.incumbent_cost)} with all of them and "
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
    better, level = explanation.against_default, f"{100 - 50 * explanation.delta:g} %"
    if better is None:
        print_line("No held-out instances were run: the budget or the instances ended.", "open")
        return
    print_line(
        f"On {counted(explanation.held_out, 'instance')} that nobody tuned on, with {level} "
        "confidence each:"
    )
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
