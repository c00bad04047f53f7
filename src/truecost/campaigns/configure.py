"""Configure: search on the training instances, then test the incumbent on the held-out ones with
the rest of the budget, in one journal.

A third to a half of the instances is held out and never trained on. With a larger budget a finished
search goes on and tests its new incumbent on the same held-out instances: the first test has 0.9 of
δ, the k-th further one 0.1/2^k, so all of them together err with probability δ at most.
"""

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Unpack

import numpy as np

from truecost.campaigns.budget import Budget, Purse
from truecost.campaigns.campaign import Campaign, Execution
from truecost.campaigns.fresh import Contestants, check_default, distinct, find_instances
from truecost.campaigns.results import Configured, Stop
from truecost.campaigns.search import SearchResult, search
from truecost.campaigns.testing import (
    Terms,
    begin_test,
    draw_order,
    planned_units,
    recorded_instances,
    run_test,
    share_of,
    units_of,
)
from truecost.errors import InputError, check_choice, counted
from truecost.journal.journal import FAMILY
from truecost.journal.logs import BUDGET, MORE, SEARCH, SEARCHED, TEST, test_plan, tested_on
from truecost.judge.question import Question
from truecost.matrix.log import Log, Plan, Step
from truecost.running.scenario import Scenario
from truecost.runs import Instance, Status
from truecost.space.space import Configuration

if TYPE_CHECKING:
    from truecost.judge.assessment import Assessment

# Most runs of a configuration on an instance, where nobody says.
RUNS = 5
# At least one instance in this many is held out, and up to half of them where the budget can run
# them; the share of the budget that is kept for them, at most.
HELD_OUT, KEPT = 3, 0.2
# Configurations that are tried first from a log.
STARTED = 5


def configure(
    scenario: Scenario | str | os.PathLike[str],
    journal: str | os.PathLike[str] | None = None,
    *,
    budget: Budget | str | float | None = None,
    runs: int = RUNS,
    start: Log | Sequence[Any] = (),
    seed: int | None = None,
    primary: Literal["mean", "wins"] = "mean",
    margin: str | None = None,
    sampled: Literal["instance", "family"] = "instance",
    delta: float = 0.05,
    **execution: Unpack[Execution],
) -> Configured:
    """Search for a better configuration than the default, and test it on held-out instances.

    Parameters
    ----------
    scenario
        What is run: a `Scenario` or its file.
    journal
        Where runs are recorded; by default named after the scenario. The same call continues it.
    budget
        5000, "5000runs" or "2h"; by default the last one. A larger one continues a finished search.
    runs
        The most runs of a configuration on an instance.
    start
        Configurations to try first, after the default, as values; or a log, of which the winner and
        the next best are tried.
    seed
        Of proposals and orders; by default the scenario's.
    primary, margin, sampled, delta
        The question of the test: see `truecost.Question`. Family: whole families are held out.
    execution
        How runs are made and reported; see `Execution`.

    Examples
    --------
    >>> tc.configure("scenario.toml", "search.db", budget=30).runs <= 30
    True
    """
    read = scenario if isinstance(scenario, Scenario) else Scenario.read(scenario)
    check_choice("sampled", sampled, ("instance", "family"))
    question = Question(primary=primary, margin=margin, sampled=sampled, delta=delta)
    check_default(read)
    if not np.isfinite(read.metric.range()).all():
        raise InputError(
            f"A search needs the range of costs: set low and high under [metric] in {read.path}."
        )
    if runs < 1 or (seed is not None and seed < 0):
        raise InputError(f"runs is {runs} and seed {seed}. Give at least 1 run and a seed from 0.")
    starts = _starts(read, start)
    settings = {
        "seed": read.seed if seed is None else seed,
        "runs": runs,
        "start": [dict(configuration.values) for configuration in starts],
        "metric": read.metric.model_dump(mode="json"),
        **{name: getattr(question, name) for name in ("primary", "margin", "sampled", "delta")},
    }
    path = Path(f"{read.name}-search.db") if journal is None else Path(journal)
    asked = None if budget is None else Budget.of(budget)
    with Campaign(read, path, "configure", settings, **execution) as campaign:
        return _configured(campaign, settings, starts, question, asked)


def _configured(
    campaign: Campaign,
    settings: Mapping[str, Any],
    starts: Sequence[Configuration],
    question: Question,
    asked: Budget | None,
) -> Configured:
    book, seed = campaign.journal, int(settings["seed"])
    budget = _budget(campaign, asked)
    if not book.events(SEARCH):
        _begin(campaign, budget, str(question.sampled), seed)
    campaign.note_budget(budget)
    begun = book.events(SEARCH)[0].data
    named = {instance.name: instance for instance in campaign.scenario.instances}
    both = [*begun["training"], *begun["held_out"]]
    if missing := [name for name in both if name not in named]:
        raise InputError(
            f"{book.path}: instance {missing[0]!r} belongs to this search and is not there. Put it "
            "back, or name another with --journal."
        )
    training = [named[name] for name in begun["training"]]
    held_out = [named[name] for name in begun["held_out"]]
    book.enter(instances=[*training, *held_out])
    campaign.hold_out([*begun["held_out"], *tested_on(book)])
    _announce(campaign, budget, len(training), len(held_out))
    result = _searched(campaign)
    if result is None:
        result = _search(campaign, training, len(held_out), budget, settings, starts)
    default = campaign.scenario.space.default()
    stop = None
    if held_out and result.incumbent.name != default.name:
        stop = _test(campaign, result.incumbent, default, training, held_out, question, budget)
    return _result(campaign, result, default, question, budget, stop)


def _budget(campaign: Campaign, asked: Budget | None) -> Budget:
    """The budget as asked, else the last one; it only grows."""
    last = next(iter(campaign.budgets()[-1:]), None)
    if (budget := asked or last) is None:
        raise InputError("A new search needs a budget: --budget 5000runs or --budget 2h.")
    if last is not None and (budget.unit != last.unit or budget.amount < last.amount):
        raise InputError(
            f"{campaign.journal.path}: the budget of this search is {last}; {budget} cannot be its "
            "next one. Give the same or a larger one."
        )
    return budget


def _announce(campaign: Campaign, budget: Budget, training: int, held_out: int) -> None:
    """Say what a search may spend, before it does."""
    if budget.unit == "runs":
        left: float = max(0, budget.amount - campaign.runs)
        done = f", {campaign.runs:,} of them done" if campaign.runs else ""
    else:
        left, done = 0, f" on {counted(campaign.workers, 'worker')}"
    campaign.announce(
        f"Search on {counted(training, 'instance')}, then a test on {held_out:,} others: {budget}"
        f"{done}.",
        left,
    )


def _begin(campaign: Campaign, budget: Budget, sampled: str, seed: int) -> None:
    """Choose the instances to hold out, and record that."""
    instances, journal = distinct(campaign.scenario.instances), campaign.journal
    order = draw_order(instances, sampled, (seed, journal.decisions))
    units = units_of(order, sampled)
    if sampled == "family" and len(units) < 2:
        raise InputError("A search with families needs at least 2 of them, to hold some out.")
    # A single one cannot be split.
    least = max(1, round(len(units) / HELD_OUT)) if len(units) > 1 else 0
    pairs = least
    if budget.unit == "runs":
        size = len(order) / len(units)
        pairs = int(KEPT * budget.amount / 2 / size)
    number = max(least, min(pairs, len(units) // 2))
    hidden = {place for unit in units[:number] for place in unit}
    names = [instance.name for instance in order]
    journal.event(
        SEARCH,
        {
            "default": campaign.scenario.space.default().name,
            "held_out": [name for place, name in enumerate(names) if place in hidden],
            "training": [name for place, name in enumerate(names) if place not in hidden],
        },
    )


def _kept(campaign: Campaign, budget: Budget, held_out: int) -> float:
    """What is kept of a budget for the test of the next incumbent, and spent on tests already."""
    tally = campaign.test
    # The default's runs stay; a new incumbent needs its own.
    needed = held_out + max(0, held_out - tally.runs // 2)
    if budget.unit == "runs":
        rest = KEPT * (budget.amount - tally.runs)
        return tally.runs + min(rest // 2 * 2, needed)
    spent = tally.wall / campaign.workers
    rest = KEPT * max(0.0, budget.amount - spent)
    mean = campaign.training.mean_wall / campaign.workers
    return spent + (rest if np.isnan(mean) else min(rest, needed * mean))


def _search(
    campaign: Campaign,
    training: Sequence[Instance],
    held_out: int,
    budget: Budget,
    settings: Mapping[str, Any],
    starts: Sequence[Configuration],
) -> SearchResult:
    """Search until the training part of the budget is spent, and record how it ended."""
    purse = campaign.purse(
        budget, campaign.training, kept=partial(_kept, campaign, budget, held_out)
    )
    result = search(
        campaign, training, purse, seed=settings["seed"], runs=settings["runs"], starts=starts
    )
    campaign.refuse_failures()
    if not campaign.training.runs:
        raise InputError(f"A budget of {budget} is too small for a search. Give a larger one.")
    data = asdict(replace(result, incumbent=None))  # type: ignore[arg-type]
    data["incumbent"] = result.incumbent.name
    campaign.journal.enter([result.incumbent])
    campaign.journal.event(SEARCHED, data, commit=True)
    return result


def _searched(campaign: Campaign) -> SearchResult | None:
    """How the search for the latest budget ended; None where it has not."""
    book = campaign.journal
    ends, budgets = book.events(SEARCHED), book.events(BUDGET)
    if not ends or ends[-1].number < budgets[-1].number:
        return None
    data = dict(ends[-1].data)
    name = data.pop("incumbent")
    incumbent = Configuration(name=name, values=book.configurations()[name])
    steps = tuple(Step(runs, who) for runs, who in data.pop("steps"))
    return SearchResult(incumbent=incumbent, steps=steps, **data)


def _test(
    campaign: Campaign,
    incumbent: Configuration,
    default: Configuration,
    training: Sequence[Instance],
    held_out: Sequence[Instance],
    question: Question,
    budget: Budget,
) -> Stop:
    """Test an incumbent with the rest of the budget, or continue its test."""

    def trained() -> float:
        tally = campaign.training
        return float(tally.runs) if budget.unit == "runs" else tally.wall / campaign.workers

    book, purse = campaign.journal, campaign.purse(budget, campaign.test, trained)
    contestants = Contestants(candidates=(incumbent,), default=default, names={})
    tests = [event.data for event in book.events(TEST)]
    if all(data["candidates"] != [incumbent.name] for data in tests):
        sampled: Any = question.sampled
        plan = Plan(
            order=tuple(instance.name for instance in held_out),
            planned=_planned(held_out, sampled, purse),
            candidates=(incumbent.name,),
            share=share_of(len(tests)),
            delta=question.delta,
            primary=question.primary,
            margin=question.margin,
            sampled=sampled,
        )
        terms = Terms(contestants=contestants, instances=tuple(held_out), plan=plan)
        # Also those without a run yet: the search will use them.
        begin_test(campaign, terms, used={one.name: one.extras.get(FAMILY) for one in training})
    tests = [event.data for event in book.events(TEST)]
    plan = test_plan(book, next(data for data in tests if data["candidates"] == [incumbent.name]))
    patterns = [event.data["pattern"] for event in book.events(MORE) if event.data["pattern"]]
    _, named = find_instances(campaign.scenario, None, patterns)
    # Instances that `validate` added and that are not there wait for its next call.
    plan = replace(plan, order=tuple(name for name in plan.order if name in named))
    instances = recorded_instances(book, plan, named)
    return run_test(campaign, Terms(contestants=contestants, instances=instances, plan=plan), purse)


def _planned(held_out: Sequence[Instance], sampled: str, purse: Purse) -> int:
    try:
        return planned_units(held_out, sampled, 2, purse)
    except InputError:  # a budget too small for a single unit: the test waits for more
        return 1


def _result(
    campaign: Campaign,
    result: SearchResult,
    default: Configuration,
    question: Question,
    budget: Budget,
    stop: Stop | None,
) -> Configured:
    """The verdict, from the journal alone."""
    from truecost.judge.assess import assess

    book = campaign.journal
    assessment = assess(book.log(), replace(question, configuration=result.incumbent.name))
    recommended = result.incumbent if _gains(assessment) else default
    tallies = (campaign.training, campaign.test)
    wall = sum(tally.wall for tally in tallies)
    in_runs = budget.unit == "runs"
    return Configured(
        scenario=campaign.scenario.name,
        journal=book.path,
        assessment=assessment,
        incumbent=result.incumbent,
        recommended=recommended,
        default=default,
        origin=result.origin,
        configurations=result.configurations,
        training_cost=result.training_cost,
        standard_error=result.standard_error,
        reason=result.reason,
        stop=stop,
        runs=campaign.runs,
        test_runs=campaign.test.runs,
        censored=int((book.table().status == Status.CENSORED).sum()),
        cpu=sum(tally.cpu for tally in tallies),
        spent=float(campaign.runs) if in_runs else wall / campaign.workers,
        budget=budget,
    )


def _gains(assessment: "Assessment") -> bool:
    """Whether the incumbent is better than the default on held-out instances by more than noise:
    its mean is lower by a paired standard error, or lower with clearly more wins.

    With a lower mean alone, 2 to 3 in 100 small searches recommend what is worse than the default.
    """
    same = assessment.same
    if same is None or same.source != "test" or assessment.log.test is None:
        return True
    test = assessment.log.test.select(configurations=(same.winner, same.default))
    counts = test.counts()
    winner, default = np.nansum(test.charged, axis=2) / np.where(counts > 0, counts, np.nan)
    gains = (default - winner)[~np.isnan(default - winner)]
    lower = same.winner_cost < same.default_cost
    if gains.size > 1 and lower and gains.mean() > gains.std(ddof=1) / math.sqrt(gains.size):
        return True
    return lower and same.won - same.lost > 2 * math.sqrt(same.won + same.lost)


def _starts(scenario: Scenario, start: Log | Sequence[Any]) -> list[Configuration]:
    """Configurations to try first, each once, without the default, which is tried anyway."""
    if isinstance(start, Log):
        return starting_points(start, scenario)
    given = [
        scenario.space.configuration(one if isinstance(one, Mapping) else one.values)
        for one in start
    ]
    default = scenario.space.default().name
    return list({one.name: one for one in given if one.name != default}.values())


def starting_points(log: Log, scenario: Scenario) -> list[Configuration]:
    """The incumbent of a log and the next best of those with at least half of its runs."""
    costs, counts = log.runs.charged, log.runs.counts().sum(axis=1)
    names = list(log.runs.configurations)
    means = np.array(
        [np.nanmean(row) if n else np.inf for row, n in zip(costs, counts, strict=True)]
    )
    # Of many configurations with few runs one looks best by luck.
    most = counts[names.index(log.incumbent)] if log.incumbent in names else counts.max(initial=0)
    ranked = [
        names[place]
        for place in np.argsort(means, kind="stable")
        if counts[place] >= max(most / 2, 1)
    ]
    chosen = dict.fromkeys([*([log.incumbent] if log.incumbent in names else []), *ranked])
    known = [log.parameters[name] for name in chosen if name in log.parameters]
    if not known:
        raise InputError(
            f"{log.path or 'The log'} has no parameter values to start from. Name the tool's log."
        )
    found = [scenario.space.configuration(values) for values in known[:STARTED]]
    return list({one.name: one for one in found}.values())
