"""Configure: search on the training instances, then test the incumbent on the held-out ones with
the rest of the budget, in one journal.

A third to a half of the instances is held out and never trained on. With a larger budget a finished
search goes on and tests its new incumbent on the same held-out instances: the first test has 0.9 of
δ, the k-th further one 0.1/2^k, so all of them together err with probability δ at most.

`search` finds the incumbent and `testing` tests it; this file divides instances and budget between
the two.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Unpack

import numpy as np

from truecost.campaigns.budget import Budget, Tally
from truecost.campaigns.campaign import Campaign, Execution, scenario_of
from truecost.campaigns.configurations import Contestants, check_default, starting_points
from truecost.campaigns.instances import (
    distinct,
    draw_order,
    units_of,
    unused_instances,
    used_by,
)
from truecost.campaigns.results import Configured, Stop
from truecost.campaigns.search.comparison import is_gain
from truecost.campaigns.search.loop import SearchResult, search
from truecost.campaigns.testing import Test, begin_test, settings_of
from truecost.errors import InputError, check_choice, check_count, counted
from truecost.journal.logs import BUDGET, SEARCH, SEARCHED, current_test, held_out_instances
from truecost.judge.question import Question
from truecost.matrix.log import Log, Step
from truecost.running.scenario import Scenario
from truecost.runs import FAMILY, Instance
from truecost.space.space import Configuration

if TYPE_CHECKING:
    from truecost.judge.assessment import Assessment

# Most runs of a configuration on an instance, where nobody says.
RUNS = 5
# At least one instance in this many is held out, and up to half of them where the budget can run
# them; the share of the budget that is kept for them, at most.
HELD_OUT, KEPT = 3, 0.2


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
        the next best are tried. Instances that the log has runs on are not held out.
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
    read = scenario_of(scenario)
    check_choice("sampled", sampled, ("instance", "family"))
    question = Question(primary=primary, margin=margin, sampled=sampled, delta=delta)
    check_default(read)
    if not np.isfinite(read.metric.range()).all():
        raise InputError(
            f"A search needs the range of costs: set low and high under [metric] in {read.path}."
        )
    starts = starting_points(read, start)
    settings = {
        "seed": read.seed if seed is None else check_count("seed", seed, 0),
        "runs": check_count("runs", runs),
        "start": [dict(configuration.values) for configuration in starts],
        **settings_of(read, question),
    }
    path = Path(f"{read.name}-search.db") if journal is None else Path(journal)
    asked = None if budget is None else Budget.of(budget)
    with Campaign(read, path, "configure", settings, **execution) as campaign:
        book = campaign.journal
        whole = _next_budget(campaign, asked)
        if not book.events(SEARCH):
            used = used_by(read, [start]) if isinstance(start, Log) else {}
            _split(campaign, whole, sampled, settings["seed"], used)
        campaign.budget = whole
        training, held_out = _instances(campaign)
        _announce(campaign, whole, len(training), len(held_out))
        result = _finished_search(campaign)
        if result is None:
            result = _search(campaign, training, len(held_out), whole, settings, starts)
        stop = None
        if held_out and result.incumbent.name != read.space.default().name:
            stop = _test(campaign, result.incumbent, training, held_out, question, whole)
        return _result(campaign, result, question, whole, stop)


def _next_budget(campaign: Campaign, asked: Budget | None) -> Budget:
    """The budget as asked, else the last one; it only grows."""
    last = campaign.budget
    if (budget := asked or last) is None:
        raise InputError("A new search needs a budget: --budget 5000runs or --budget 2h.")
    if last is not None and (budget.unit != last.unit or budget.amount < last.amount):
        raise InputError(
            f"{campaign.journal.path}: the budget of this search is {last}; {budget} cannot be its "
            "next one. Give the same or a larger one."
        )
    return budget


def _split(
    campaign: Campaign, budget: Budget, sampled: str, seed: int, used: Mapping[str, str | None]
) -> None:
    """Choose the instances to hold out, and record that.

    Starting points may be tuned on instances that are `used`: these are for training only.
    """
    journal, scenario = campaign.journal, campaign.scenario
    order = draw_order(distinct(scenario.instances), sampled, (seed, journal.decisions))
    units = units_of(order, sampled)
    if sampled == "family" and len(units) < 2:
        raise InputError("A search with families needs at least 2 of them, to hold some out.")
    # A single one cannot be split.
    number = max(1, round(len(units) / HELD_OUT)) if len(units) > 1 else 0
    if budget.unit == "runs":
        pairs = int(KEPT * budget.amount / 2 / (len(order) / len(units)))
        number = max(number, min(pairs, len(units) // 2))
    unused = {one.name for one in unused_instances(scenario, used, order, sampled)}
    names = [[order[place].name for place in unit] for unit in units]
    fresh = [unit for unit in names if unused.issuperset(unit)]
    held_out = dict.fromkeys(name for unit in fresh[:number] for name in unit)
    training = [one.name for one in order if one.name not in held_out]
    default = scenario.space.default().name
    journal.event(
        SEARCH,
        {"default": default, "held_out": list(held_out), "training": training, "used": dict(used)},
    )


def _instances(campaign: Campaign) -> tuple[list[Instance], list[Instance]]:
    """The training instances of a search, and those it holds out, as recorded."""
    (begun,) = campaign.journal.events(SEARCH)
    named = {instance.name: instance for instance in campaign.scenario.instances}
    try:
        training, held_out = (
            [named[name] for name in begun.data[part]] for part in ("training", "held_out")
        )
    except KeyError as error:
        raise InputError(
            f"{campaign.journal.path}: instance {error} belongs to this search and is not there. "
            "Put it back, or name another with --journal."
        ) from None
    campaign.journal.enter(instances=[*training, *held_out])
    return training, held_out


def _announce(campaign: Campaign, budget: Budget, training: int, held_out: int) -> None:
    """Say what a search may spend, before it does."""
    if budget.unit == "seconds":
        left, more = 0.0, f" on {counted(campaign.workers, 'worker')}"
    else:
        left = budget.amount - campaign.tally.runs
        more = f", {campaign.tally.runs:,} of them done" if campaign.tally.runs else ""
    test = f"then a test on {held_out:,} others" if held_out else "none is left for a test"
    campaign.announce(
        f"Search on {counted(training, 'instance')}, {test}: {budget}{more}.",
        left,
    )


def _search(
    campaign: Campaign,
    training: Sequence[Instance],
    held_out: int,
    budget: Budget,
    settings: Mapping[str, Any],
    starts: Sequence[Configuration],
) -> SearchResult:
    """Search until the training part of the budget is spent, and record how it ended."""
    tally, tested = campaign.tally, _tested(campaign)
    rest = KEPT * max(0.0, budget.amount - campaign.purse(budget, tested).spent)
    # The default's runs stay; a new incumbent needs its own.
    needed = held_out + max(0, held_out - tested.runs // 2)

    def reserve() -> float:
        """What is kept for the test of the next incumbent."""
        if budget.unit == "runs":
            return min(rest // 2 * 2, needed)
        return (
            min(rest, needed * tally.wall / tally.runs / campaign.workers) if tally.runs else rest
        )

    purse = campaign.purse(budget, tally, reserve)
    result = search(
        campaign, training, purse, seed=settings["seed"], runs=settings["runs"], starts=starts
    )
    campaign.refuse_failures()
    if tally.runs == tested.runs:
        raise InputError(f"A budget of {budget} is too small for a search. Give a larger one.")
    campaign.journal.event(SEARCHED, asdict(result), commit=True)
    return result


def _tested(campaign: Campaign) -> Tally:
    """The test runs so far, those of earlier incumbents among them."""
    table = campaign.journal.table()
    tested = table.places("instance", held_out_instances(campaign.journal)) >= 0
    return Tally.of(table.select(tested))


def _finished_search(campaign: Campaign) -> SearchResult | None:
    """How the search for the latest budget ended; None where it has not."""
    last = campaign.journal.events(SEARCHED, BUDGET)[-1]
    if last.kind != SEARCHED:
        return None
    incumbent = Configuration(**last.data["incumbent"])
    steps = tuple(Step(*step) for step in last.data["steps"])
    return SearchResult(**{**last.data, "incumbent": incumbent, "steps": steps})


def _test(
    campaign: Campaign,
    incumbent: Configuration,
    training: Sequence[Instance],
    held_out: Sequence[Instance],
    question: Question,
    budget: Budget,
) -> Stop:
    """Test an incumbent with the rest of the budget, or continue its test."""
    default, purse = campaign.scenario.space.default(), campaign.purse(budget, campaign.tally)
    names = {one.name: one.name for one in (incumbent, default)}
    contestants = Contestants(candidates=(incumbent,), default=default, names=names)
    if (data := current_test(campaign.journal)) is None:
        (begun,) = campaign.journal.events(SEARCH)
        # Also training instances without a run yet: the search will use them.
        used = begun.data["used"] | {one.name: one.extras.get(FAMILY) for one in training}
        data = begin_test(campaign, contestants, held_out, question, purse, used=used)
    # Instances that only `validate` knows are run when it is called again.
    named = {instance.name: instance for instance in campaign.scenario.instances}
    return Test(campaign, data, named).run(purse)


def _result(
    campaign: Campaign,
    result: SearchResult,
    question: Question,
    budget: Budget,
    stop: Stop | None,
) -> Configured:
    """The verdict, from the journal alone."""
    from truecost.judge.assess import assess

    book, default = campaign.journal, campaign.scenario.space.default()
    assessment = assess(book.log(), replace(question, configuration=result.incumbent.name))
    return Configured(
        scenario=campaign.scenario.name,
        journal=book.path,
        assessment=assessment,
        incumbent=result.incumbent,
        recommended=result.incumbent if _gains(assessment) else default,
        default=default,
        origin=result.origin,
        configurations=result.configurations,
        training_cost=result.training_cost,
        standard_error=result.standard_error,
        reason=result.reason,
        stop=stop,
        runs=campaign.tally.runs,
        test_runs=_tested(campaign).runs,
        cpu=campaign.tally.cpu,
        spent=campaign.purse(budget, campaign.tally).spent,
        budget=budget,
    )


def _gains(assessment: "Assessment") -> bool:
    """Whether the held-out instances recommend the incumbent; so does a search without any."""
    same = assessment.same
    if same is None or same.source != "test" or assessment.log.test is None:
        return True
    names = (assessment.winner, assessment.default or "")
    test = assessment.log.test.select(configurations=names)
    winner, default = test.charged[:, :, 0]
    gains = default - winner
    return is_gain(gains[~np.isnan(gains)])
