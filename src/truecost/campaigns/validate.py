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

from truecost.campaigns.budget import Budget, Purse
from truecost.campaigns.campaign import Campaign, Execution
from truecost.campaigns.fresh import Contestants, contestants_of, fresh_instances
from truecost.campaigns.results import Stop, Validated
from truecost.campaigns.testing import (
    Terms,
    add_instances,
    begin_test,
    check_range,
    draw_order,
    planned_units,
    run_test,
    whole_budget,
)
from truecost.errors import InputError, check_choice
from truecost.journal.journal import Journal
from truecost.journal.logs import BUDGET, MORE, TEST, store_log
from truecost.journal.store import is_journal
from truecost.judge.question import Question
from truecost.matrix.log import Log
from truecost.running.scenario import Scenario
from truecost.runs import Caveat, Instance

Source = Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a call asks; None is as before, or the usual."""

    instances: str | Sequence[Instance] | None
    budget: Budget | None
    complete: bool


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
        `pool`, `workers`, `pin`, `keep_going` and `progress`; see `Execution`.

    Examples
    --------
    >>> log = tc.import_runs("runs.db")
    >>> tc.validate(log, "scenario.toml", "test.db", instances="new/*", budget=8).runs <= 8
    True
    """
    check_choice("sampled", sampled, ("instance", "family"))
    question = Question(primary=primary, margin=margin, sampled=sampled, delta=delta)
    asked = Asked(
        instances=instances,
        budget=None if budget is None else Budget.of(budget),
        complete=complete,
    )
    if isinstance(source, Scenario) and scenario is None:
        source, scenario = None, source
    if scenario is None:
        raise InputError(
            "validate runs your solver, so it needs to know how: name a scenario, for example "
            "--scenario scenario.toml."
        )
    read = scenario if isinstance(scenario, Scenario) else Scenario.read(scenario)
    own, kind = _own_journal(source)
    if own is not None and kind in ("configure", "validate"):
        _refuse_other_terms(own, journal, configuration, question)
        if kind == "validate":
            return _continued(read, own, asked, **execution)
        from truecost.campaigns.configure import continue_test

        return continue_test(read, own, asked, **execution)
    logs = _logs(source)
    configurations = _several(configuration)
    check_range(read.metric, primary, margin)
    contestants = contestants_of(read, logs, configurations, default)
    settings = {
        **contestants.record(),
        "primary": primary,
        "margin": margin,
        "sampled": sampled,
        "delta": delta,
        "metric": read.metric.model_dump(mode="json"),
    }
    path = _journal_path(logs, read, journal)
    with Campaign(read, path, "validate", settings, **execution) as campaign:
        return _validated(campaign, contestants, logs, question, asked)


def _validated(
    campaign: Campaign,
    contestants: Contestants,
    logs: Sequence[Log],
    question: Question,
    asked: Asked,
) -> Validated:
    """Begin or continue the test."""
    book, scenario = campaign.journal, campaign.scenario
    sampled = question.sampled or "instance"
    known = tested_on(book)
    fresh, left_out = fresh_instances(scenario, logs, asked.instances, sampled, known)
    width = len(contestants.candidates) + 1
    if known:
        data = book.events(TEST)[-1].data
        terms = recorded_terms(book, contestants, fresh, data, known)
        instances = add_instances(campaign, terms, fresh, scenario.seed)
        terms = replace(terms, instances=instances)
        campaign.hold_out(instance.name for instance in instances)
        if asked.budget is not None:
            note_budget(book, asked.budget)
        purse = purse_of(campaign, asked, instances, width)
    else:
        seed = (scenario.seed, book.decisions)
        instances = tuple(draw_order(fresh, sampled, seed))
        campaign.hold_out(instance.name for instance in instances)
        purse = purse_of(campaign, asked, instances, width)
        terms = Terms(
            candidates=contestants.candidates,
            default=contestants.default,
            instances=instances,
            planned=planned_units(instances, sampled, width, purse),
            share=1.0,
            delta=question.delta,
            primary=question.primary,
            margin=question.margin,
            sampled=sampled,
        )
        if len(logs) == 1:
            store_log(book, _with_metric(logs[0], scenario))
        begin_test(campaign, terms, names=dict(contestants.names), left_out=left_out)
        if asked.budget is not None:
            note_budget(book, asked.budget)
    stop = run_test(campaign, terms, purse, complete=asked.complete)
    return result_of(campaign, terms, purse, stop, contestants.names, left_out)


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


def _continued(
    scenario: Scenario, path: Path, asked: Asked, **execution: Unpack[Execution]
) -> Validated:
    """Continue a validation from its journal alone."""
    with Journal.read(path) as journal:
        settings, tests = journal.settings(), journal.events(TEST)
        logs = [] if not tests else [journal.log()]
    if not tests:
        raise InputError(
            f"{path}: this validation has no runs yet. Rerun the command that made it."
        )
    contestants = Contestants(
        candidates=tuple(
            scenario.space.configuration(values) for values in settings["candidates"].values()
        ),
        default=scenario.space.configuration(settings["default"]),
        names=tests[-1].data["names"],
    )
    settings["metric"] = scenario.metric.model_dump(mode="json")
    question = Question(
        **{name: settings[name] for name in ("primary", "margin", "sampled", "delta")}
    )
    with Campaign(scenario, path, "validate", settings, **execution) as campaign:
        return _validated(campaign, contestants, logs, question, asked)


def tested_on(journal: Journal) -> list[str]:
    """The instances of the tests of a journal, in their recorded order."""
    names = [name for event in journal.events(TEST) for name in event.data["order"]]
    names += [name for event in journal.events(MORE) for name in event.data["instances"]]
    return list(dict.fromkeys(names))


def recorded_terms(
    journal: Journal,
    contestants: Contestants,
    available: Sequence[Instance],
    data: Mapping[str, Any],
    order: Sequence[str],
) -> Terms:
    """The terms of a recorded test; its instances must be available."""
    named = {instance.name: instance for instance in available}
    if missing := [name for name in order if name not in named]:
        raise InputError(
            f"{journal.path}: instance {missing[0]!r} belongs to this test and is not there. Name "
            "the instances that it began with, and new ones."
        )
    instances = tuple(named[name] for name in order)
    journal.enter(instances=instances)  # refuses changed content
    return Terms(
        candidates=contestants.candidates,
        default=contestants.default,
        instances=instances,
        **{
            name: data[name]
            for name in ("planned", "share", "delta", "primary", "margin", "sampled")
        },
    )


def purse_of(
    campaign: Campaign,
    asked: Asked,
    instances: Sequence[Instance],
    width: int,
    *,
    record: bool = True,
) -> Purse:
    """What may be spent: as asked, else as before, else what all instances take.

    `record`: whether the journal's budgets are those of its test.
    """
    book = campaign.journal
    budget = asked.budget
    if budget is None and not asked.complete and record:
        budgets = [Budget(**event.data) for event in book.events(BUDGET)]
        budget = budgets[-1] if budgets else None
    if budget is None:
        budget = whole_budget(instances, width)
    workers = campaign.workers if budget.unit == "seconds" else 1
    return Purse(budget=budget, tally=campaign.test, workers=workers)


def note_budget(journal: Journal, budget: Budget) -> None:
    """Record what may be spent, where it changed."""
    data = {"amount": budget.amount, "unit": budget.unit}
    if [event.data for event in journal.events(BUDGET)][-1:] != [data]:
        journal.event(BUDGET, data, commit=True)


def result_of(
    campaign: Campaign,
    terms: Terms,
    purse: Purse,
    stop: Stop,
    names: Mapping[str, str],
    left_out: int,
) -> Validated:
    """The verdicts, from the journal alone."""
    from truecost.judge.assess import assess

    log = campaign.journal.log()
    question = Question(
        primary=terms.primary,  # type: ignore[arg-type]
        margin=terms.margin,
        sampled=terms.sampled,  # type: ignore[arg-type]
        delta=terms.delta,
    )
    return Validated(
        scenario=campaign.scenario.name,
        journal=campaign.journal.path,
        assessments=tuple(
            assess(log, replace(question, configuration=names.get(one.name, one.name)))
            for one in terms.candidates
        ),
        stop=stop,
        runs=campaign.test.runs,
        cpu=campaign.test.cpu,
        spent=purse.spent,
        budget=purse.budget,
        instances=len(terms.instances),
        left_out=left_out,
    )


def _own_journal(source: Source) -> tuple[Path | None, str]:
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
        return None, ""
    with Journal.read(path) as journal:
        return path, journal.kind


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
