"""Validate: is the winner better than the default on instances it has never seen?

Candidates and the default run once on each fresh instance, in one recorded random order, until the
question is decided. Rerunning continues the same journal and its test, also with more budget or
instances: used instances are never tested again with new δ.
"""

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Unpack

import numpy as np

from truecost.campaigns.budget import Budget
from truecost.campaigns.campaign import Campaign, Execution
from truecost.campaigns.fresh import (
    Contestants,
    contestants_of,
    find_instances,
    fresh_instances,
    used_by,
)
from truecost.campaigns.results import Validated
from truecost.campaigns.testing import (
    Terms,
    add_instances,
    announce,
    begin_test,
    check_range,
    draw_order,
    planned_units,
    recorded_contestants,
    recorded_instances,
    run_test,
    share_of,
)
from truecost.errors import InputError, check_choice
from truecost.journal.journal import Journal
from truecost.journal.logs import MORE, SEARCH, SEARCHED, TEST, store_log, test_plan, tested_on
from truecost.journal.store import is_journal
from truecost.judge.question import Question
from truecost.matrix.log import Log, Plan
from truecost.running.scenario import Scenario
from truecost.runs import Caveat, Instance

if TYPE_CHECKING:
    from truecost.journal.store import Kind
    from truecost.judge.assessment import Assessment

Source = Any


def validate(
    source: Source,
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
    own, kind = _own_journal(source)
    if own is not None and kind != "gather":
        _refuse_other_terms(own, journal, configuration, question)
        with Journal.read(own) as recorded:
            settings = recorded.settings()
            untested = None if recorded.events(TEST) else _untested(recorded)
        names = ("primary", "margin", "sampled", "delta")
        question = Question(**{name: settings[name] for name in names})
        settings["metric"] = read.metric.model_dump(mode="json")
        with Campaign(read, own, kind, settings, **execution) as campaign:
            if untested is not None:
                contestants = contestants_of(read, [untested], [], None)
                _begin(campaign, contestants, [untested], question, instances, asked)
            return _continued(campaign, instances, asked, complete)
    logs = _logs(source)
    check_range(read.metric, primary, margin)
    contestants = contestants_of(read, logs, _several(configuration), default)
    settings = {
        "candidates": {
            contestants.names[one.name]: dict(one.values) for one in contestants.candidates
        },
        "default": dict(contestants.default.values),
        "primary": primary,
        "margin": margin,
        "sampled": sampled,
        "delta": delta,
        "metric": read.metric.model_dump(mode="json"),
    }
    path = _journal_path(logs, read, journal)
    with Campaign(read, path, "validate", settings, **execution) as campaign:
        if not campaign.journal.events(TEST):
            _begin(campaign, contestants, logs, question, instances, asked)
        return _continued(campaign, instances, asked, complete)


def _begin(
    campaign: Campaign,
    contestants: Contestants,
    logs: Sequence[Log],
    question: Question,
    wanted: str | Sequence[Instance] | None,
    asked: Budget | None,
) -> None:
    """Choose the instances, and record the terms of the test."""
    book, scenario = campaign.journal, campaign.scenario
    sampled: Any = question.sampled
    chosen, _ = find_instances(scenario, wanted)
    used = used_by(scenario, logs)
    fresh = fresh_instances(scenario, used, chosen, sampled)
    order = tuple(draw_order(fresh, sampled, (scenario.seed, book.decisions)))
    width = len(contestants.both)
    purse = campaign.purse(asked or _whole(order, width), campaign.test)
    plan = Plan(
        order=tuple(instance.name for instance in order),
        planned=planned_units(order, sampled, width, purse),
        candidates=tuple(candidate.name for candidate in contestants.candidates),
        share=1.0 if book.kind == "validate" else share_of(0),
        delta=question.delta,
        primary=question.primary,
        margin=question.margin,
        sampled=sampled,
    )
    if len(logs) == 1 and book.kind == "validate":
        store_log(book, _with_metric(logs[0], scenario))
    terms = Terms(contestants=contestants, instances=order, plan=plan)
    begin_test(campaign, terms, used=used, pattern=wanted if isinstance(wanted, str) else None)


def _continued(
    campaign: Campaign,
    wanted: str | Sequence[Instance] | None,
    asked: Budget | None,
    complete: bool,
) -> Validated:
    """Run the latest test of a journal, from what is recorded: also a search's."""
    book, scenario = campaign.journal, campaign.scenario
    test = book.events(TEST)[-1].data
    contestants = recorded_contestants(book, test)
    patterns = [event.data.get("pattern") for event in book.events(TEST, MORE)]
    chosen, named = find_instances(scenario, wanted, [one for one in patterns if one])
    plan = test_plan(book, test)
    known = recorded_instances(book, plan, named)
    fresh = fresh_instances(scenario, test["used"], chosen, plan.sampled, known)
    instances, new = known, fresh[len(known) :]
    if new:
        pattern = wanted if isinstance(wanted, str) else None
        instances = (*known, *add_instances(campaign, new, plan.sampled, pattern))
    held_out = [name for event in book.events(SEARCH) for name in event.data["held_out"]]
    campaign.hold_out([*held_out, *tested_on(book)])
    # The recorded budgets of a search are not those of its test.
    earlier = campaign.budgets() if book.kind == "validate" and not complete else []
    if asked is not None and book.kind == "validate":
        campaign.note_budget(asked)
    whole = _whole(instances, len(contestants.both))
    purse = campaign.purse(asked or (earlier[-1] if earlier else whole), campaign.test)
    terms = Terms(contestants=contestants, instances=instances, plan=plan)
    announce(campaign, terms, purse, complete=complete)
    stop = run_test(campaign, terms, purse, complete=complete)
    known_names = {instance.name for instance in instances}
    return Validated(
        scenario=scenario.name,
        journal=book.path,
        assessments=_assessments(book, plan, contestants),
        stop=stop,
        runs=campaign.test.runs,
        cpu=campaign.test.cpu,
        spent=purse.spent,
        budget=purse.budget,
        instances=len(instances),
        left_out=sum(one.name not in known_names for one in chosen),
    )


def _assessments(
    journal: Journal, plan: Plan, contestants: Contestants
) -> "tuple[Assessment, ...]":
    """The verdicts, from the journal alone."""
    from truecost.judge.assess import assess

    log, asked = journal.log(), ("primary", "margin", "sampled", "delta")
    question = Question(**{name: getattr(plan, name) for name in asked})
    names = [contestants.names[one.name] for one in contestants.candidates]
    return tuple(assess(log, replace(question, configuration=name)) for name in names)


def _whole(instances: Sequence[Instance], width: int) -> Budget:
    """What all instances take."""
    return Budget(amount=float(max(1, len(instances) * width)), unit="runs")


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


def _own_journal(source: Source) -> "tuple[Path | None, Kind]":
    """The journal whose own test a source asks to continue, and its kind."""
    path = None
    if isinstance(source, str | os.PathLike):
        path = Path(source)
        if not is_journal(path):
            raise InputError(
                f"{path}: not a journal. Read other logs with truecost.import_runs first."
            )
    elif isinstance(source, Log) and source.test_plan is not None:
        path = Path(source.path)
        if not source.path or not is_journal(path):
            raise InputError(
                "This log has been tested already, and its test belongs to the journal that made "
                "it. Name that journal."
            )
    if path is None:
        return None, "gather"
    with Journal.read(path) as journal:
        return path, journal.kind


def _untested(journal: Journal) -> Log:
    """The log of a search that held out nothing, since it had a single instance."""
    searches = [event.data for event in journal.events(SEARCH)]
    if not searches or searches[-1]["held_out"] or not journal.events(SEARCHED):
        raise InputError(
            f"{journal.path}: nothing was tested in this journal yet. Rerun the command that made "
            "it."
        )
    return journal.log()


def _refuse_other_terms(
    own: Path,
    journal: str | os.PathLike[str] | None,
    configuration: Any,
    question: Question,
) -> None:
    """A test continues in its own journal and on its own terms: others would use δ twice."""
    if journal is not None and Path(journal).resolve() != own.resolve():
        raise InputError(
            f"{own}: its test continues in this journal itself. Leave out the other journal."
        )
    with Journal.read(own) as recorded:
        tests = recorded.events(TEST)
    if not tests:
        return
    terms = tests[-1].data
    usual = Question(sampled="instance")
    for name in ("primary", "margin", "sampled", "delta"):
        asked = getattr(question, name)
        if asked not in (getattr(usual, name), terms[name]):
            raise InputError(
                f"{own}: {name} is {terms[name] or 'not set'}, which was fixed when its test began."
                f" Leave out --{name}."
            )
    names = {*terms["candidates"], *(terms["names"].get(one) for one in terms["candidates"])}
    if configuration is not None and configuration not in names:
        raise InputError(
            f"{own}: its test is about {', '.join(terms['candidates'])}. Leave out --configuration."
        )


def _logs(source: Source) -> list[Log]:
    if source is None:
        return []
    sources = source if isinstance(source, list | tuple) else [source]
    logs = []
    for one in sources:
        own, kind = _own_journal(one)
        if own is not None and kind != "gather" and len(sources) > 1:
            raise InputError(f"{own}: continue its test alone, without other logs.")
        if isinstance(one, Log):
            logs.append(one)
        elif own is not None:
            with Journal.read(own) as journal:
                logs.append(journal.log())
        else:
            raise InputError(f"{one!r:.80} is no log. Read it with truecost.import_runs.")
    return logs


def _several(configuration: Any) -> list[Any]:
    if configuration is None:
        return []
    return list(configuration) if isinstance(configuration, list | tuple) else [configuration]


def _journal_path(
    logs: Sequence[Log], scenario: Scenario, journal: str | os.PathLike[str] | None
) -> Path:
    if journal is not None:
        return Path(journal)
    stem = Path(logs[0].path).stem if logs and logs[0].path else scenario.name
    return Path(f"{stem}-validation.db")
