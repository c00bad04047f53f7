"""The configurator: propose, decide (`truecost.race.policy`), run, journal
(`truecost.campaigns.search`); then judge what it chose on fresh instances.

A search is resumed by going the same way again, with the runs that are there: killed at any moment,
one with a single worker ends where it would have ended.

A third to a half of the instances is held out: never trained on, and a part of the budget is kept
for them: whole families where families are sampled. For statements about these instances, all are
trained on, and judged with other seeds. When the search is over, the incumbent is fixed, and only
then it and the default are run there. Certificates use only these runs.

With a larger budget a finished search goes on: first the same way again, then beyond it. Held-out
costs never decide what is tried, only whether somebody asks for more; so each further look at them
takes a part of delta, and they stay held out.
"""

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Unpack

import numpy as np

from truecost.campaigns.budget import Budget
from truecost.campaigns.campaign import Campaign, Execution
from truecost.campaigns.doubts import doubts
from truecost.campaigns.recorded import refuse_missing
from truecost.campaigns.search import Policy, Search
from truecost.campaigns.spending import KEPT
from truecost.campaigns.terms import SCOPES
from truecost.errors import InputError, check_share
from truecost.journal import searchlog
from truecost.journal.design import refuse_changes
from truecost.journal.journal import Journal
from truecost.journal.searchlog import Settings
from truecost.judge.assess import assess
from truecost.judge.assessment import Assessment
from truecost.judge.question import Margin
from truecost.matrix.families import FAMILY
from truecost.matrix.imported import Import
from truecost.race import policy as race
from truecost.running.scenario import Scenario
from truecost.runs import Status
from truecost.space.space import Configuration, Space

# Most runs of a configuration on an instance, where nobody says.
RUNS = 5
# At least one instance in this many is held out, and up to half of them where the budget can run
# them.
HELD_OUT = 3
# Configurations that are tried first from a log.
STARTED = 5
# What the choice of these is drawn from, beside the seed.
SPLIT = 1
ADOPTED = (
    "truecost 0.2 began this search. Its runs count; since then every heat has an order of runs of "
    "its own."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Configured:
    """What a search came to.

    Attributes
    ----------
    incumbent, origin
        Its winner, and how that was proposed.
    recommended
        What to use; the default if the held-out runs do not favour the incumbent.
    default
        What it is compared with.
    training_cost, standard_error
        Mean of the incumbent's instance means on its training instances; too good, as a rule.
    assessment
        What may be said of it, from runs on instances it did not train on; `untested` says why
        there are none.
    budget, spent, runs, capped, held_out, configurations, cpu
        The budget, and what was spent, in the same unit; runs in all, those stopped at
        a cap, and those on held-out instances; configurations that were tried; CPU seconds of all
        runs.
    reason
        Why the search ended.
    notes
        Doubts about the result.
    """

    scenario: str
    incumbent: Configuration
    recommended: Configuration
    origin: str
    default: Configuration
    training_cost: float
    standard_error: float
    assessment: Assessment
    untested: str | None
    budget: Budget
    spent: float
    runs: int
    capped: int
    held_out: int
    configurations: int
    cpu: float
    reason: str
    notes: tuple[str, ...]


def configure(
    scenario: Scenario,
    journal: str | os.PathLike[str],
    *,
    budget: str | Budget | None = None,
    runs: int | None = None,
    delta: float = 0.05,
    seed: int | None = None,
    margin: str | None = None,
    sampled: str | None = None,
    about: str | None = None,
    start: Sequence[Configuration] | Import = (),
    policy: Policy = race.decide,
    **execution: Unpack[Execution],
) -> Configured:
    """Search for a better configuration than the default, and say what the one that was found
    really costs.

    Parameters
    ----------
    scenario
        What is run.
    journal
        Where runs are kept. A search that is there goes on; one that is finished is only printed
        again.
    budget
        `"2h"`, `"5000runs"`; None goes on with the one the search has, a larger one goes on when
        that is spent.
    runs
        Most runs of a configuration on an instance, 5 if not given; 1 for a target that is
        deterministic.
    delta
        The error probability of each statement about the result.
    seed
        Of proposals, the order of runs and the choice of held-out instances; the scenario's if not
        given.
    margin
        `"5%"` or `"0.1"`: also judge, on held-out instances, whether what was found costs at most
        this much more than the default. Fixed when the search begins.
    sampled, about
        What statements are about: by default new instances. `"family"`: whole families are held
        out, and counted equally. About `"these"`: all instances are trained on, and judged with new
        seeds. Fixed when the search begins.
    start
        Configurations to try first, after the default; or a log of runs, of which the incumbent and
        the next best are tried.
    policy
        Which run is next, as `race.decide` says it.
    execution
        As in `gather`. How many runs a batch has at least is fixed when the search begins.

    Examples
    --------
    >>> scenario = tc.Scenario.read("scenario.toml")
    >>> tc.configure(scenario, "search.db", budget="30runs", seed=1).runs <= 30
    True
    """
    check_share(delta, "`delta`")
    if margin is not None:
        Margin.parse(margin)
    statement = {"margin": margin, "sampled": sampled, "about": about}
    scenario.refuse_without_default()
    if isinstance(start, Import):
        start = starting_points(start, scenario.space)
    asked = Budget.parse(budget) if isinstance(budget, str) else budget
    with Campaign(scenario, journal, "configure", **execution) as campaign:
        book, settings = campaign.book, _begin(campaign, asked, runs, seed, statement, start)
        search = Search(campaign, settings, policy)
        budgets = searchlog.budgets_of(book, settings)
        if asked is not None and asked.amount > budgets[-1]:
            budgets = (*budgets, asked.amount)
        for place, amount in enumerate(budgets):
            if place == len(searchlog.budgets_of(book, settings)):
                searchlog.extend(book, place, amount)
            judged = search.adopted is not None and place < search.adopted.looks
            reason, untested = search.spend(amount, judged=judged)
        return report_of(scenario, book, search, delta, reason, untested)


def starting_points(log: Import, space: Space) -> list[Configuration]:
    """The incumbent of a log and the next best of those with at least half of its runs."""
    matrix, incumbent = log.matrix, log.trajectory.incumbent
    runs = matrix.counts().reshape(len(matrix.configurations), -1).sum(axis=1)
    means = np.array(
        [
            np.nanmean(row) if number else np.inf
            for row, number in zip(matrix.costs, runs, strict=True)
        ]
    )
    names = list(matrix.configurations)
    # Of many configurations with few runs one looks best by luck.
    enough = runs[names.index(incumbent)] / 2 if incumbent in names else runs.max(initial=0) / 2
    ranked = [
        names[place] for place in np.argsort(means, kind="stable") if runs[place] >= max(enough, 1)
    ]
    chosen = dict.fromkeys([*([incumbent] if incumbent in names else []), *ranked])
    known = [log.parameters[name] for name in chosen if name in log.parameters]
    if not known:
        raise InputError("expected a log that has the parameters of its configurations, got none.")
    try:
        return [space.configuration_of(values) for values in known[:STARTED]]
    except InputError as error:
        raise InputError(f"the log has other parameters than the scenario: {error}") from error


def settings_for(
    scenario: Scenario,
    budget: Budget | None,
    runs: int | None,
    seed: int | None,
    workers: int,
    statement: Mapping[str, Any] | None = None,
) -> Settings:
    """What a new search is begun with: the instances to train on and those that judge follow from
    its seed, its budget and what the `statement` is to be about.
    """
    if budget is None:
        raise InputError(
            "expected a `budget` for a new search, 2h or 5000runs for instance, got none."
        )
    if not np.isfinite(scenario.metric.range()).all():
        raise InputError(f"{scenario.path}: metric: expected low and high for a search, got none.")
    runs = RUNS if runs is None else runs
    seed = scenario.seed if seed is None else seed
    if runs < 1 or seed < 0:
        raise InputError(
            f"expected at least 1 run per instance and a seed from 0, got {runs} and the seed "
            f"{seed}."
        )
    statement = statement or {}
    sampled: Any = statement.get("sampled") or "instance"
    about: Any = statement.get("about") or "new"
    if (sampled, about) not in SCOPES:
        raise InputError(
            "expected `sampled` and `about` of a search to be instance and new, family and new, or "
            f"instance and these; got {sampled} and {about}."
        )
    units = _units(scenario, sampled)
    order = np.random.default_rng([seed, SPLIT]).permutation(len(units))
    # A single one cannot be split.
    least = max(1, round(len(units) / HELD_OUT)) if len(units) > 1 else 0
    # More runs on the same instances hardly tighten a limit, more instances do: as many as there
    # will be runs for.
    size = sum(map(len, units)) / max(len(units), 1)
    pairs = math.floor(KEPT * budget.amount / 2 / size) if budget.unit == "runs" else least
    hidden = max(least, min(pairs, len(units) // 2))
    training, judging = sorted(order[hidden:]), order[:hidden]
    if about == "these":
        # These are all there are: new seeds judge.
        training, judging = sorted(order), order
    return Settings(
        budget=budget.amount,
        unit=budget.unit,
        workers=workers,
        runs=runs,
        seed=seed,
        metric=scenario.metric.model_dump_json(),
        training=tuple(name for place in training for name in units[place]),
        held_out=tuple(name for place in judging for name in units[place]),
        margin=statement.get("margin"),
        sampled=sampled,
        about=about,
    )


def _units(scenario: Scenario, sampled: str) -> list[list[str]]:
    """The instances that are held out together or not at all."""
    if sampled == "instance":
        return [[instance.name] for instance in scenario.instances]
    if not all(FAMILY in instance.extras for instance in scenario.instances):
        raise InputError(f"{scenario.path}: instances: expected families = …, got none.")
    families: dict[str, list[str]] = {}
    for instance in scenario.instances:
        families.setdefault(instance.extras[FAMILY], []).append(instance.name)
    if len(families) < 2:
        raise InputError(f"{scenario.path}: expected several families to hold some out, got one.")
    return list(families.values())


def _begin(
    campaign: Campaign,
    budget: Budget | None,
    runs: int | None,
    seed: int | None,
    statement: Mapping[str, Any],
    start: Sequence[Configuration],
) -> Settings:
    """Begin a search, unless the journal has one; what that was begun with is not changed."""
    book, scenario = campaign.book, campaign.scenario
    settings = searchlog.settings_of(book)
    if settings is None:
        workers = campaign.pool.workers
        settings = settings_for(scenario, budget, runs, seed, workers, statement)
        searchlog.begin(book, settings, start)
    latest = Budget(amount=searchlog.budgets_of(book, settings)[-1], unit=settings.unit)
    if budget is not None and (budget.unit != latest.unit or budget.amount < latest.amount):
        raise InputError(
            f"{book.path}: expected the budget of the search, {latest}, or a larger one of the "
            f"same kind, got {budget}. Give one, or begin another `journal`."
        )
    given = [
        ("runs per instance:", runs, settings.runs),
        ("the seed", seed, settings.seed),
        ("the metric", scenario.metric.model_dump_json(), settings.metric),
    ]
    refuse_changes(book.path, "search", given, "every decision depends on it")
    refuse_missing(campaign, settings, "search")
    given = [(name, value, getattr(settings, name)) for name, value in statement.items()]
    refuse_changes(book.path, "search", given, "it is fixed before any cost is seen")
    before = searchlog.start_of(book)
    if start and [first.name for first in start] != [first.name for first in before]:
        raise InputError(
            f"{book.path}: expected the configurations the search was started with: leave "
            "`start` out, or begin another `journal`."
        )
    return settings


def report_of(
    scenario: Scenario,
    book: Journal,
    search: Search,
    delta: float,
    reason: str,
    untested: str | None,
) -> Configured:
    """The statements, from the journal alone."""
    incumbent = search.configurations[search.incumbent]
    table = book.table()
    matrix = book.matrix(table=table)
    test = book.matrix(held_out=True, table=table) if untested is None else None
    origin, parameters = searchlog.trajectory_of(book), book.configurations()
    log = Import(kind="journal", matrix=matrix, trajectory=origin, parameters=parameters, test=test)
    cost, error = search.training_cost()
    return Configured(
        scenario=scenario.name,
        incumbent=incumbent,
        recommended=search.configurations[search.recommended],
        origin=search.origins[search.incumbent],
        default=search.configurations[0],
        training_cost=cost,
        standard_error=error,
        assessment=assess(log, configuration=incumbent.name, delta=delta),
        untested=untested,
        budget=search.runner.budget,
        spent=search.runner.spent,
        runs=search.runner.made,
        capped=int((table.status == Status.CENSORED).sum()),
        held_out=0 if test is None else int(test.counts().sum()),
        configurations=len(search.configurations),
        cpu=search.runner.cpu,
        reason=reason,
        notes=(
            *search.doubts(),
            *([] if search.adopted is None else [ADOPTED]),
            *doubts(table, book.machines(), scenario.metric),
        ),
    )
