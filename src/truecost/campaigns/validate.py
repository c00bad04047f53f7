"""Validate: is the winner better than the default on instances it has never seen?

Candidates and the default run once on each fresh instance, in one recorded random order, until the
question is decided. Rerunning continues the same journal and its test, also with more budget or
instances: used instances are never tested again with new δ.
"""

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, Unpack

import numpy as np

from truecost.campaigns.budget import Budget, Tally
from truecost.campaigns.campaign import Campaign, Execution
from truecost.campaigns.contestants import Contestants, contestants_of
from truecost.campaigns.fresh import find_instances, fresh_instances, used_by
from truecost.campaigns.results import Validated
from truecost.campaigns.testing import (
    ASKED,
    Test,
    add_instances,
    begin_test,
    draw_order,
    units_of,
)
from truecost.errors import InputError, check_choice, counted
from truecost.journal.journal import Journal, Kind
from truecost.journal.logs import MORE, SEARCH, SEARCHED, TEST, store_log
from truecost.journal.store import is_journal
from truecost.judge.question import Question
from truecost.matrix.log import Log
from truecost.running.scenario import Scenario
from truecost.runs import Caveat, Instance


def validate(
    source: Any,
    scenario: Scenario | str | os.PathLike[str] | None = None,
    journal: str | os.PathLike[str] | None = None,
    *,
    instances: str | Sequence[Instance] | None = None,
    configuration: Any = None,
    default: str | None = None,
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
        A `Log` with a winner, or several logs; the path of a journal of gather, configure or
        validate; or None (or the scenario), with configurations.
    scenario
        How to run them: a `Scenario` or its file. Programs that a log names are never run.
    journal
        Where runs are recorded; by default named after the log. The same call continues it. The
        test of a configure or validate journal continues in that journal itself.
    instances
        A pattern of files, or instances; by default the scenario's. Those that the log has runs on
        are left out.
    configuration, default
        Names in the log, values of parameters, or several configurations; by default the log's
        winner, and the log's default or the scenario's.
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
    read = scenario if isinstance(scenario, Scenario) else Scenario.read(scenario)
    sources = [] if source is None else source if isinstance(source, list | tuple) else [source]
    tests = [path for one in sources if (path := _journal_of_test(one)) is not None]
    if tests and len(sources) > 1:
        raise InputError(f"{tests[0]}: continue its test alone, without other logs.")
    kind: Kind = "validate"
    if tests:
        # Its test continues there, and with its candidates: others would use δ twice.
        path = tests[0]
        if journal is not None and Path(journal).resolve() != path.resolve():
            raise InputError(
                f"{path}: its test continues in this journal itself. Leave out the other journal."
            )
        if configuration is not None or default is not None:
            raise InputError(
                f"{path}: winner and default were fixed when its test began. Leave out "
                "--configuration and --default."
            )
        kind, settings = _settings_of(path, question)
        question = Question(**{name: settings[name] for name in ASKED})
        logs, contestants = [], None
    else:
        if not np.isfinite(read.metric.range()).all() and (primary == "mean" or margin is not None):
            raise InputError(
                "A mean can only be proven with a known range of costs. Set low and high under "
                "[metric] in the scenario, or give --primary wins."
            )
        logs = [_log(one) for one in sources]
        named = configuration if isinstance(configuration, list | tuple) else [configuration]
        chosen = [one for one in named if one is not None]
        contestants = contestants_of(read, logs, chosen, default)
        settings = {
            "candidates": {
                contestants.names[one.name]: dict(one.values) for one in contestants.candidates
            },
            "default": dict(contestants.default.values),
            **{name: getattr(question, name) for name in ASKED},
        }
        stem = Path(logs[0].path).stem if logs and logs[0].path else read.name
        path = Path(f"{stem}-validation.db" if journal is None else journal)
    settings["metric"] = read.metric.model_dump(mode="json")
    with Campaign(read, path, kind, settings, **execution) as campaign:
        if not campaign.journal.events(TEST):
            if contestants is None:
                logs = [_untested(campaign.journal)]
                contestants = contestants_of(read, logs, [], None)
            _begin(campaign, contestants, logs, question, instances, asked)
        return _continued(campaign, question, instances, asked, complete)


def _journal_of_test(source: Any) -> Path | None:
    """The journal of `configure` or `validate` whose own test a source asks to continue."""
    if isinstance(source, Log):
        if source.test_plan is None:
            return None
        if not source.path or not is_journal(source.path):
            raise InputError(
                "This log has been tested already, and its test belongs to the journal that made "
                "it. Name that journal."
            )
    elif not isinstance(source, str | os.PathLike):
        raise InputError(f"{source!r:.80} is no log. Read it with truecost.import_runs.")
    elif not is_journal(source):
        raise InputError(f"{source}: not a journal. Read other logs with truecost.import_runs.")
    path = Path(source.path if isinstance(source, Log) else source)
    with Journal.read(path) as journal:
        return None if journal.kind == "gather" else path


def _log(source: Any) -> Log:
    if isinstance(source, Log):
        return source
    with Journal.read(source) as journal:
        return journal.log()


def _settings_of(path: Path, question: Question) -> tuple[Kind, dict[str, Any]]:
    """The settings of a journal, with what is asked otherwise: the journal refuses a change."""
    with Journal.read(path) as recorded:
        kind, settings = recorded.kind, recorded.settings
    usual = Question(sampled="instance")
    asked = {name: getattr(question, name) for name in ASKED}
    changes = {name: value for name, value in asked.items() if value != getattr(usual, name)}
    return kind, settings | changes


def _untested(journal: Journal) -> Log:
    """The log of a search that held out nothing, since it had a single instance."""
    searches = [event.data for event in journal.events(SEARCH)]
    if not searches or searches[-1]["held_out"] or not journal.events(SEARCHED):
        raise InputError(
            f"{journal.path}: nothing was tested in this journal yet. Rerun the command that made "
            "it."
        )
    return journal.log()


def _begin(
    campaign: Campaign,
    contestants: Contestants,
    logs: Sequence[Log],
    question: Question,
    wanted: str | Sequence[Instance] | None,
    asked: Budget | None,
) -> None:
    """Choose the instances, and record the test."""
    journal, scenario, sampled = campaign.journal, campaign.scenario, str(question.sampled)
    chosen, _ = find_instances(scenario, wanted)
    used = used_by(scenario, logs)
    fresh = fresh_instances(scenario, used, chosen, sampled)
    order = draw_order(fresh, sampled, (scenario.seed, journal.decisions))
    width = len(contestants.all)
    purse = campaign.purse(asked or _budget(len(order) * width), Tally())
    least = len(units_of(order, sampled)[0]) * width
    if purse.left() < least:
        raise InputError(
            f"The first {sampled} takes {least:,} runs, and the budget has "
            f"{max(purse.left(), 0):,.0f} left. Give a budget of at least {least:,} runs."
        )
    if len(logs) == 1 and journal.kind == "validate":
        store_log(journal, _with_metric(logs[0], scenario))
    pattern = wanted if isinstance(wanted, str) else None
    begin_test(campaign, contestants, order, question, purse, used=used, pattern=pattern)


def _continued(
    campaign: Campaign,
    question: Question,
    wanted: str | Sequence[Instance] | None,
    asked: Budget | None,
    complete: bool,
) -> Validated:
    """Run the latest test of a journal, from what is recorded: also a search's."""
    from truecost.judge.assess import assess

    journal, scenario, sampled = campaign.journal, campaign.scenario, str(question.sampled)
    data = journal.events(TEST)[-1].data
    patterns = [event.data.get("pattern") for event in journal.events(TEST, MORE)]
    chosen, named = find_instances(scenario, wanted, [one for one in patterns if one])
    test = Test(campaign, data, named)
    tested = test.instances
    if new := fresh_instances(scenario, data["used"], chosen, sampled, tested)[len(tested) :]:
        add_instances(campaign, new, sampled, wanted if isinstance(wanted, str) else None)
        test = Test(campaign, data, named)
    whole = _budget(len(test.instances) * len(test.contestants.all))
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
    log, kept = journal.log(), {instance.name for instance in test.instances}
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
        left_out=sum(one.name not in kept for one in chosen),
    )


def _budget(runs: int) -> Budget:
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
