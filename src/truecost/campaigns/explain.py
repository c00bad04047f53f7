"""Which changes make the winner better than the default, and which could be undone.

The winner and the default are told apart by changes: a parameter, or a parameter with those that it
switches on or off. Sets of them are run on the instances the winner was tuned on until it is known
which can be undone (`truecost.race.ablation`), and what each of the others gains on the way from
the default. Only then the default, the winner and the simplified configuration are run on instances
that nobody tuned on: that the winner is better, and that the simplified one does as well, are
stated from these runs alone, with half of delta each. Without such instances nothing is stated.

Everything follows from the runs in the journal, so that it is resumed by calling it again.
"""

import json
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Unpack

import numpy as np

from truecost.arrays import FloatArray
from truecost.campaigns.budget import Budget
from truecost.campaigns.campaign import Campaign, Execution
from truecost.campaigns.changes import Change, changed, changes_between, guessed_losses
from truecost.campaigns.recorded import Runner, refuse_missing
from truecost.campaigns.terms import contestants_of, unseen
from truecost.errors import InputError, check_share
from truecost.journal import searchlog
from truecost.journal.design import refuse_changes
from truecost.journal.searchlog import Settings
from truecost.judge.assess import assess
from truecost.judge.assessment import Assessment
from truecost.matrix.imported import Import
from truecost.race import policy as race
from truecost.race.ablation import Changes, SpentError, simplify, walk
from truecost.running.pools.task import Task
from truecost.running.scenario import Scenario
from truecost.runs import Instance, Trajectory
from truecost.space.propose import Proposal
from truecost.space.space import Configuration
from truecost.stats.quantities import RATIO

# The part of the budget that is kept for instances nobody tuned on.
KEPT = 0.3
# Sets of changes that a budget should suffice for, and the least and most training runs of each.
SETS, LEAST, MOST = 40, 10, 50
# Most runs on a training instance.
RUNS = 5
# What the split of the instances and the order of runs are drawn from, beside the seed.
SPLIT, ORDER = 1, 2
TOOL = "truecost explain"
UNKNOWN_ORIGIN = "the winner was not tuned on these instances"
# The share of the gain that undoing changes may cost on the training instances.
TOLERANCE = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class PathStep:
    """A step on the way from the default: what is changed, the mean training cost after it, and
    what it gained with its paired standard error.
    """

    changes: tuple[Change, ...]
    cost: float
    gain: float
    standard_error: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """What makes the winner better.

    Attributes
    ----------
    changes
        All of them, as many as the winner has.
    kept
        Those of the simplified configuration.
    complete
        Whether every group of changes was tried; else the budget ended before.
    path
        From the default to the simplified configuration, the largest gain first.
    default_cost, incumbent_cost, simplified_cost
        Mean training costs on the runs that all were compared on, `training_runs` of each.
    against_default
        The winner against the default on held-out instances, at half of delta; None without any.
    against_incumbent
        The simplified configuration against the winner there, at half of delta; None without any,
        or where nothing could be undone.
    condition
        What both statements assume beyond the log; None if there is nothing.
    """

    scenario: str
    incumbent: Configuration
    default: Configuration
    simplified: Configuration
    changes: tuple[Change, ...]
    kept: tuple[Change, ...]
    complete: bool
    path: tuple[PathStep, ...]
    default_cost: float
    incumbent_cost: float
    simplified_cost: float
    training_runs: int
    held_out: int
    against_default: Assessment | None
    against_incumbent: Assessment | None
    runs: int
    delta: float
    condition: str | None = None

    @property
    def most_more(self) -> float | None:
        """How much more than the winner the simplified configuration costs at most, as a share;
        None where that is not known.
        """
        if self.against_incumbent is None:
            return None
        for statement in self.against_incumbent.statements:
            # The winner's mean over that of the simplified one, at least.
            if statement.quantity == RATIO.name and statement.limit > 0:
                return 1 / statement.limit - 1
        return None


def explain(
    log: Import | Mapping[str, Any],
    scenario: Scenario,
    journal: str | os.PathLike[str],
    *,
    budget: str | Budget | None = None,
    configuration: str | None = None,
    default: str | None = None,
    instances: Sequence[Instance] | None = None,
    tolerance: float = TOLERANCE,
    delta: float = 0.05,
    **execution: Unpack[Execution],
) -> Explanation:
    """Find out which parameter changes make the winner better than the default.

    Parameters
    ----------
    log
        Where winner and default come from: what `import_runs` read; or the values of the winner's
        parameters, which is then compared with the scenario's default.
    scenario
        How they are run. Instances that the log has runs on are for training, the others held out;
        where none is in the log, a random half is. Where all are, nothing is stated about new ones.
    journal
        Where runs are kept; calling it again resumes.
    budget
        `"500runs"` or `"2h"`; None goes on with the last one.
    configuration, default
        Their names in the log, where not what it says.
    instances
        Those to run on; the scenario's if not given.
    tolerance
        The share of the gain over the default that undoing changes may cost in training.
    delta
        Error probability of both statements on held-out instances together.
    execution
        As in `gather`.

    Examples
    --------
    >>> scenario = tc.Scenario.read("scenario.toml")
    >>> tc.gather(scenario, "runs.db", configurations=3, instances=2, runs=2)
    >>> log = tc.import_runs("runs.db")
    >>> winner = log.matrix.configurations[1]
    >>> tc.explain(log, scenario, "why.db", configuration=winner, budget="40runs").runs <= 40
    True
    """
    check_share(delta, "`delta`")
    if not 0 <= tolerance < 1:
        raise InputError(f"Expected `tolerance` from 0 to below 1, got {tolerance:g}.")
    if not np.isfinite(scenario.metric.range()).all():
        raise InputError(f"{scenario.path}: metric: expected low and high to explain a winner.")
    if isinstance(log, Import):
        contestants = contestants_of(log, scenario, configuration, default)
        winner, rival = (contestant.configuration for contestant in contestants)
    else:
        winner, rival = scenario.space.configuration_of(log), scenario.space.default()
    changes = changes_between(scenario.space, rival, winner)
    if not changes:
        raise InputError("Expected a winner that differs from the default, got the default.")
    if isinstance(log, Import):
        losses = guessed_losses(log, scenario.space, rival, changes)
        if losses is not None:
            # The least important first, as far as the search can tell.
            changes = [changes[place] for place in np.argsort(losses, kind="stable")]
    asked = Budget.parse(budget) if isinstance(budget, str) else budget
    with Campaign(scenario, journal, "explain", **execution) as campaign:
        split = split_instances(log, scenario, instances)
        settings = _settings(campaign, asked, split, rival, winner, tolerance)
        study = _Study(campaign, settings, rival, changes)
        explanation = study.explain(winner, tolerance, delta)
    # Values alone do not tell what they were tuned on.
    condition = None if isinstance(log, Import) else UNKNOWN_ORIGIN
    return replace(explanation, condition=condition)


def split_instances(
    log: Import | Mapping[str, Any],
    scenario: Scenario,
    instances: Sequence[Instance] | None = None,
) -> tuple[list[str], list[str]]:
    """The names of the instances to train on, and of those held out, each in random order.

    The winner may have been fitted to every instance that the log has runs on, so only others are
    held out; where all are others, half of them.
    """
    chosen = scenario.instances if instances is None else instances
    order = np.random.default_rng([scenario.seed, SPLIT]).permutation(len(chosen))
    shuffled = [chosen[place] for place in order]
    new = {instance.name for instance in shuffled}
    if isinstance(log, Import):
        # Held-out runs of a search had no part in choosing its winner.
        test = set() if log.test is None else set(log.test.instances)
        untested = [instance for instance in shuffled if instance.name not in test]
        new = {instance.name for instance in unseen(untested, log, [])} | test
    names = [instance.name for instance in shuffled]
    training = [name for name in names if name not in new]
    held_out = [name for name in names if name in new]
    if not training:
        middle = math.ceil(len(names) / 2)
        training, held_out = names[:middle], names[middle:]
    return training, held_out


def _settings(
    campaign: Campaign,
    budget: Budget | None,
    split: tuple[list[str], list[str]],
    default: Configuration,
    winner: Configuration,
    tolerance: float,
) -> Settings:
    """What the study was begun with; begins it if it is new."""
    book, scenario = campaign.book, campaign.scenario
    settings = searchlog.settings_of(book)
    about = {"default": default.name, "winner": winner.name, "tolerance": tolerance}
    if settings is None:
        if budget is None:
            raise InputError("Expected a `budget`, 500runs or 2h for instance, got none.")
        share = _training_share(split[1])
        least = 2 * _runs_of_set(budget, len(split[0]), share)
        # Before anything is written: a study that was begun keeps its budget.
        if budget.unit == "runs" and least > share * budget.amount:
            raise InputError(
                f"Expected a `budget` of at least {math.ceil(least / share)} runs: {least} "
                f"training runs compare the winner with the default; got {budget}."
            )
        settings = Settings(
            budget=budget.amount,
            unit=budget.unit,
            workers=campaign.pool.workers,
            runs=RUNS,
            seed=scenario.seed,
            metric=scenario.metric.model_dump_json(),
            training=tuple(split[0]),
            held_out=tuple(split[1]),
        )
        searchlog.begin(book, settings)
        book.note("explain", json.dumps(about))
    before = json.loads(book.noted("explain"))
    given = [(f"the {name}", about[name], before[name]) for name in about]
    given.append(("the metric", scenario.metric.model_dump_json(), settings.metric))
    if budget is not None:
        before_budget = Budget(amount=settings.budget, unit=settings.unit)
        given.append(("the budget", str(budget), str(before_budget)))
    refuse_changes(book.path, "study", given, "its runs depend on it")
    refuse_missing(campaign, settings, "study")
    return settings


def _training_share(held_out: Sequence[str]) -> float:
    """The part of the budget for training: all of it where nothing is held out."""
    return 1 - KEPT if held_out else 1.0


def _runs_of_set(budget: Budget, instances: int, share: float) -> int:
    """How many training runs each set of changes gets at most."""
    most = min(MOST, instances * RUNS)
    if budget.unit != "runs":
        return most
    return int(min(most, max(LEAST, share * budget.amount // SETS)))


class _Study:
    """Sets of changes, run where they are asked for."""

    def __init__(
        self,
        campaign: Campaign,
        settings: Settings,
        default: Configuration,
        changes: Sequence[Change],
    ) -> None:
        self._campaign, self._settings = campaign, settings
        self._default, self._changes = default, changes
        self._share = _training_share(settings.held_out)
        self._runner = Runner(campaign, settings, lambda: {"configurations": len(self._proposed)})
        rng = np.random.default_rng([settings.seed, ORDER])
        self._order = race.schedule(len(settings.training), settings.runs, rng)
        self._configurations: dict[Changes, Configuration | None] = {}
        self._proposed: list[Proposal] = []
        self._costs: dict[tuple[str, int], float] = {}

    def explain(self, winner: Configuration, tolerance: float, delta: float) -> Explanation:
        """The whole study; see `explain`."""
        everything = frozenset(range(len(self._changes)))
        settings = self._settings
        count = _runs_of_set(self._runner.budget, len(settings.training), self._share)
        try:
            kept, complete = simplify(range(len(self._changes)), self._measure, count, tolerance)
            path = walk(kept, self._measure, count)
        except SpentError:
            raise InputError(
                f"Expected a `budget` for {2 * count} training runs at least, which compare the "
                f"winner with the default, got {self._runner.budget}."
            ) from None
        self._campaign.refuse_failures()
        simplified = self._configuration(kept) or winner
        costs = self._measure([frozenset(), everything, kept], count).mean(axis=1).tolist()
        tested = self._test(dict.fromkeys([self._default.name, winner.name, simplified.name]))
        assessments = self._assess(winner, simplified, delta / 2) if tested else (None, None)
        return Explanation(
            scenario=self._campaign.scenario.name,
            incumbent=winner,
            default=self._default,
            simplified=simplified,
            changes=tuple(self._changes),
            kept=self._named(sorted(kept)),
            complete=complete,
            path=tuple(
                PathStep(**step._asdict() | {"changes": self._named(step.changes)}) for step in path
            ),
            default_cost=costs[0],
            incumbent_cost=costs[1],
            simplified_cost=costs[2],
            training_runs=count,
            held_out=tested,
            against_default=assessments[0],
            against_incumbent=assessments[1],
            runs=self._runner.made,
            delta=delta,
        )

    def _named(self, places: Iterable[int]) -> tuple[Change, ...]:
        return tuple(self._changes[place] for place in places)

    def _configuration(self, made: Changes) -> Configuration | None:
        """The default with these changes; None where the space forbids it."""
        if made not in self._configurations:
            space = self._campaign.scenario.space
            try:
                configuration = changed(space, self._default, self._named(sorted(made)))
                allowed = space.allows(configuration)
            except InputError:
                allowed = False
            self._configurations[made] = configuration if allowed else None
        return self._configurations[made]

    def _measure(self, sets: Sequence[Changes], count: int) -> FloatArray:
        """As `truecost.race.ablation.Measure`."""
        # What the space forbids costs the most there is.
        high = self._campaign.scenario.metric.range()[1]
        configurations = [self._configuration(made) for made in sets]
        allowed = [configuration for configuration in configurations if configuration is not None]
        wanted = {
            (configuration.name, position): self._runner.task(
                configuration,
                self._runner.training[self._order.instances[position]],
                int(self._order.numbers[position]),
            )
            for position in range(count)
            for configuration in allowed
            if (configuration.name, position) not in self._costs
        }
        if not self._affords(len(wanted), self._share):
            raise SpentError("the part of the budget for training is spent")
        self._propose(allowed)
        self._take(wanted)
        return np.array(
            [
                [
                    high if configuration is None else self._costs[configuration.name, place]
                    for place in range(count)
                ]
                for configuration in configurations
            ]
        )

    def _affords(self, runs: int, share: float) -> bool:
        runner = self._runner
        # Before the first run nobody knows what one takes.
        mean = runner.spent / runner.made if runner.made else 0.0
        if self._settings.unit == "runs":
            mean = 1.0
        return runner.spent + runs * mean <= share * runner.amount

    def _propose(self, configurations: Sequence[Configuration]) -> None:
        known = {proposal.configuration.name for proposal in self._proposed}
        for configuration in configurations:
            if configuration.name not in known:
                origin = "ablation" if known else "default"
                self._proposed.append(Proposal(configuration=configuration, origin=origin))
                known.add(configuration.name)
        # A study that is resumed proposes the same again.
        written = len(searchlog.proposed_in(self._campaign.book))
        if written < len(self._proposed):
            searchlog.note_proposals(self._campaign.book, written, self._proposed[written:])

    def _take(self, wanted: Mapping[tuple[str, int], Task]) -> None:
        runs = self._runner.make(list(wanted.values()))
        self._costs |= dict(zip(wanted, self._runner.charge(runs).tolist(), strict=True))

    def _test(self, names: Mapping[str, None]) -> int:
        """Run the frozen configurations on held-out instances; on how many."""
        frozen = {
            configuration.name: configuration
            for configuration in self._configurations.values()
            if configuration is not None and configuration.name in names
        }
        held_out = self._runner.held_out
        number = len(held_out)
        while number and not self._affords(number * len(frozen), 1.0):
            number -= 1
        self._runner.phase = "held out"
        # Seeds of its own for each: what is stated is about independent runs.
        self._take(
            {
                (name, -1 - place): self._runner.task(configuration, instance, 0, own_seed=True)
                for place, instance in enumerate(held_out[:number])
                for name, configuration in frozen.items()
            }
        )
        runs, simplified = self._runner.made, list(names)[-1]
        searchlog.note_step(
            self._campaign.book, 0, runs=runs, incumbent=simplified, reason="simplified"
        )
        return number

    def _assess(
        self, winner: Configuration, simplified: Configuration, delta: float
    ) -> tuple[Assessment, Assessment | None]:
        book = self._campaign.book
        log = Import(
            kind="journal",
            matrix=book.matrix(),
            trajectory=Trajectory(
                tool=TOOL,
                proposed="adaptively",
                raced=True,
                default=self._default.name,
                incumbent=winner.name,
            ),
            parameters=book.configurations(),
            test=book.matrix(held_out=True),
        )
        better = assess(log, configuration=winner.name, delta=delta)
        if simplified.name == winner.name:
            return better, None
        same = assess(log, configuration=simplified.name, default=winner.name, delta=delta)
        return better, same
