"""Validate: is the winner better than the default on instances it has never seen?

Candidates and the default run once on each fresh instance, in one recorded random order, until the
question is decided. Rerunning continues the same journal and its test, also with more budget or
instances: used instances are never tested again with new δ.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, Unpack

import numpy as np

from truecost.campaigns.budget import Budget, Tally
from truecost.campaigns.campaign import Campaign, Execution, scenario_of
from truecost.campaigns.configurations import Contestants, contestants_of
from truecost.campaigns.instances import (
    AtHand,
    Pattern,
    Wanted,
    draw_order,
    find_instances,
    fresh_instances,
    units_of,
    used_by,
)
from truecost.campaigns.results import Validated
from truecost.campaigns.testing import ASKED, Test, add_instances, begin_test, settings_of
from truecost.errors import InputError, check_choice, counted
from truecost.journal.journal import Journal, Kind
from truecost.journal.logs import MORE, SEARCH, SEARCHED, TEST, current_test, store_log
from truecost.journal.store import is_journal
from truecost.judge.question import Question
from truecost.matrix.log import Log
from truecost.running.scenario import Scenario
from truecost.runs import Caveat


def validate(
    source: Any,
    scenario: Scenario | str | os.PathLike[str] | None = None,
    journal: str | os.PathLike[str] | None = None,
    *,
    instances: Wanted | None = None,
    configuration: Any = None,
    default: Any = None,
    budget: Budget | str | float | None = None,
    primary: Literal["mean", "wins"] = "mean",
    margin: str | None = None,
    sampled: Literal["instance", "family"] = "instance",
    delta: float = 0.05,
    complete: bool = False,
    **execution: Unpack[Execution],
) -> Validated:
    """Run candidates and the default on instances the log has no runs on, until decided.

    Parameters
    ----------
    source
        A `Log` with a winner, or several logs; the path of a journal of configure or validate; or
        None (or the scenario), with configurations.
    scenario
        How to run them: a `Scenario` or its file. Programs that a log names are never run.
    journal
        Where runs are recorded; by default named after the log. The same call continues it. The
        test of a configure or validate journal continues in that journal itself.
    instances
        A pattern of files; or files or instances; by default the scenario's. Those that the log
        has runs on are left out.
    configuration, default
        Names in the log, or values of parameters; `configuration` also a list of these. By default
        the log's winner, and the log's default or the scenario's.
    budget
        200, "200runs" or "2h"; by default the last one, or all instances.
    primary, margin, sampled, delta
        The question, fixed when the journal begins: see `truecost.Question`.
    complete
        Run all instances, although the question is decided, to measure the size of the difference.
    execution
        How runs are made and reported; see `Execution`.

    Examples
    --------
    >>> log = tc.import_runs("runs.db")
    >>> tc.validate(log, "scenario.toml", "test.db", instances="new/*", budget=8).runs <= 8
    True
    """
    check_choice("sampled", sampled, ("instance", "family"))
    question = Question(primary=primary, margin=margin, sampled=sampled, delta=delta)
    asked = None if budget is None else Budget.of(budget)
    if isinstance(source, Scenario) and scenario is None:
        source, scenario = None, source
    if scenario is None:
        raise InputError(
            "validate runs your solver, so it needs to know how: name a scenario, for example "
            "--scenario scenario.toml. For logs of irace and SMAC3, `truecost scenario from-log` "
            "writes one."
        )
    read = scenario_of(scenario)
    sources = [] if source is None else source if isinstance(source, list | tuple) else [source]
    tests = [path for one in sources if (path := journal_of_test(one)) is not None]
    if not tests:
        named = configuration if isinstance(configuration, list | tuple) else [configuration]
        chosen = [one for one in named if one is not None]
        opening = _new_test(read, sources, chosen, default, question, journal)
    elif len(sources) > 1:
        raise InputError(f"{tests[0]}: continue its test alone, without other logs.")
    elif configuration is not None or default is not None:
        raise InputError(
            f"{tests[0]}: winner and default were fixed when its test began. Leave out "
            "--configuration and --default."
        )
    else:
        opening = _recorded_test(read, tests[0], question, journal)
    with Campaign(read, opening.path, opening.kind, opening.settings, **execution) as campaign:
        question = Question(**{name: opening.settings[name] for name in ASKED})
        recorded = [event.data["pattern"] for event in campaign.journal.events(TEST, MORE)]
        patterns = [Pattern(*pattern) for pattern in recorded if pattern is not None]
        at_hand = find_instances(read, instances, patterns)
        begun = current_test(campaign.journal)
        if begun is None:
            begun = _begin(campaign, opening, question, at_hand, asked)
        return _run(campaign, begun, question, at_hand, asked, complete)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Opening:
    """How the journal is opened; and whom a test that begins is about."""

    path: Path
    kind: Kind
    settings: dict[str, Any]
    logs: Sequence[Log] = ()
    contestants: Contestants | None = None


def journal_of_test(source: Any) -> Path | None:
    """The journal of configure or validate whose own test a source asks to continue."""
    path = source.path if isinstance(source, Log) else source
    if isinstance(path, str | os.PathLike) and is_journal(path):
        with Journal.read(path) as journal:
            if journal.kind != "gather":
                return Path(path)
    if isinstance(source, Log) and source.test_plan is not None:
        raise InputError(
            "This log has been tested already, and its test belongs to the journal that made it. "
            "Name that journal."
        )
    return None


def _new_test(
    scenario: Scenario,
    logs: Sequence[Any],
    configurations: Sequence[Any],
    default: Any,
    question: Question,
    journal: str | os.PathLike[str] | None,
) -> _Opening:
    """A test of the winners of logs, or of configurations, in a journal of its own."""
    for log in logs:
        if not isinstance(log, Log):
            raise InputError(f"{log!r:.80} is no log. Read it with truecost.import_runs.")
    contestants = contestants_of(scenario, logs, configurations, default)
    named = {contestants.names[one.name]: dict(one.values) for one in contestants.candidates}
    stem = Path(logs[0].path).stem if logs and logs[0].path else scenario.name
    return _Opening(
        path=Path(f"{stem}-validation.db" if journal is None else journal),
        kind="validate",
        settings={
            "candidates": named,
            "default": dict(contestants.default.values),
            **settings_of(scenario, question),
        },
        logs=logs,
        contestants=contestants,
    )


def _recorded_test(
    scenario: Scenario, path: Path, question: Question, journal: str | os.PathLike[str] | None
) -> _Opening:
    """The test of a journal, with what is asked otherwise: the journal refuses a change."""
    # In another journal it would use δ twice.
    if journal is not None and Path(journal).resolve() != path.resolve():
        raise InputError(
            f"{path}: its test continues in this journal itself. Leave out the other journal."
        )
    with Journal.read(path) as recorded:
        kind, settings = recorded.kind, recorded.settings
    usual = Question(sampled="instance")
    asked = {name: getattr(question, name) for name in ASKED}
    changes = {name: value for name, value in asked.items() if value != getattr(usual, name)}
    question = Question(**{name: settings[name] for name in ASKED} | changes)
    return _Opening(path=path, kind=kind, settings=settings | settings_of(scenario, question))


def _untested(journal: Journal) -> Log:
    """The log of a search that held out nothing, since no instance was left for it."""
    begun = [event.data for event in journal.events(SEARCH)]
    ends = [event.data for event in journal.events(SEARCHED)]
    if ends and ends[-1]["incumbent"]["name"] == begun[-1]["default"]:
        raise InputError(
            f"{journal.path}: the winner of this search is the default. There is nothing to "
            "validate; a larger budget continues the search."
        )
    if not ends or begun[-1]["held_out"]:
        raise InputError(
            f"{journal.path}: its test has not begun. Rerun the command that made the journal."
        )
    return journal.log()


def _begin(
    campaign: Campaign,
    opening: _Opening,
    question: Question,
    at_hand: AtHand,
    asked: Budget | None,
) -> dict[str, Any]:
    """Choose the instances, and record the test."""
    journal, scenario, sampled = campaign.journal, campaign.scenario, str(question.sampled)
    logs, contestants, used = opening.logs, opening.contestants, {}
    if contestants is None:
        logs, used = [_untested(journal)], journal.events(SEARCH)[-1].data["used"]
        contestants = contestants_of(scenario, logs, [])
    used |= used_by(scenario, logs)
    fresh = fresh_instances(scenario, used, at_hand.chosen, sampled)
    order = draw_order(fresh, sampled, (scenario.seed, journal.decisions))
    width = len(contestants.all)
    purse = campaign.purse(asked or _whole_budget(len(order) * width), Tally())
    least = len(units_of(order, sampled)[0]) * width
    if purse.left() < least:
        raise InputError(
            f"The first {sampled} takes {least:,} runs, and the budget has "
            f"{max(purse.left(), 0):,.0f} left. Give a budget of at least {least:,} runs."
        )
    if len(logs) == 1 and journal.kind == "validate":
        store_log(journal, _with_metric(logs[0], scenario))
    return begin_test(
        campaign, contestants, order, question, purse, used=used, pattern=at_hand.pattern
    )


def _run(
    campaign: Campaign,
    begun: Mapping[str, Any],
    question: Question,
    at_hand: AtHand,
    asked: Budget | None,
    complete: bool,
) -> Validated:
    """Run the test of a journal, from what is recorded: also a search's."""
    from truecost.judge.assess import assess

    journal, scenario = campaign.journal, campaign.scenario
    test = _extended_test(campaign, begun, at_hand, str(question.sampled))
    whole = _whole_budget(len(test.instances) * len(test.contestants.all))
    budget = asked or whole
    # The recorded budgets of a search are not those of its test.
    if journal.kind == "validate":
        if asked is not None:
            campaign.budget = asked
        elif not complete:
            budget = campaign.budget or whole
    purse = campaign.purse(budget, test.tally)
    left = int(min(purse.left(), whole.amount - test.tally.runs))
    if left > 0:
        candidates = counted(len(test.contestants.candidates), "candidate")
        new_instances = counted(len(test.instances), "new instance")
        until = "" if complete else ", until it is decided"
        time = "" if budget.unit == "runs" else f" in {budget}"
        campaign.announce(
            f"{candidates} and the default on {new_instances}{until}: at most "
            f"{counted(left, 'more run' if test.tally.runs else 'run')}{time}.",
            left,
        )
    stop = test.run(purse, complete=complete)
    log, tested = journal.log(), {instance.name for instance in test.instances}
    names = [test.contestants.names[one.name] for one in test.contestants.candidates]
    return Validated(
        scenario=scenario.name,
        journal=journal.path,
        assessments=tuple(assess(log, replace(question, configuration=name)) for name in names),
        stop=stop,
        runs=test.tally.runs,
        cpu=test.tally.cpu,
        spent=purse.spent,
        budget=budget,
        instances=len(test.instances),
        left_out=sum(one.name not in tested for one in at_hand.chosen),
    )


def _extended_test(
    campaign: Campaign, begun: Mapping[str, Any], at_hand: AtHand, sampled: str
) -> Test:
    """The recorded test, on the instances that are asked for, too."""
    test = Test(campaign, begun, at_hand.named)
    if test.missing:
        raise InputError(
            f"{campaign.journal.path}: instance {test.missing[0]!r} belongs to this test and is "
            "not there. Name the instances that it began with, and new ones."
        )
    known = test.instances
    wanted = fresh_instances(campaign.scenario, begun["used"], at_hand.chosen, sampled, known)
    if not (new := wanted[len(known) :]):
        return test
    add_instances(campaign, new, sampled, at_hand.pattern)
    return Test(campaign, begun, at_hand.named)


def _whole_budget(runs: int) -> Budget:
    """A budget for all runs there are."""
    return Budget(amount=float(max(1, runs)), unit="runs")


def _with_metric(log: Log, scenario: Scenario) -> Log:
    """The log, with a caveat where its costs are not those of the scenario."""
    ends = (log.runs.low, log.runs.high)
    if not np.isfinite(ends).all() or np.allclose(ends, scenario.metric.range()):
        return log
    low, high = scenario.metric.range()
    sentence = (
        f"Training costs are between {ends[0]:g} and {ends[1]:g}, test costs between {low:g} and "
        f"{high:g}: do not compare them."
    )
    return replace(log, caveats=(*log.caveats, Caveat("other metric", sentence)))
