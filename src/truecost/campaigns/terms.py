"""What a validation fixes before its first run: who is compared with whom, on which instances, what
decides; and what it refuses to change afterwards.
"""

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from truecost.campaigns.budget import Budget
from truecost.errors import InputError, check_share
from truecost.journal import validationlog
from truecost.journal.design import refuse_changes
from truecost.journal.journal import Journal
from truecost.journal.validationlog import Terms
from truecost.judge.evidence import incumbent_of
from truecost.judge.question import Margin, Primary
from truecost.matrix import CostMatrix
from truecost.matrix.families import FAMILY, FOLDER, families_of
from truecost.matrix.imported import Import
from truecost.running.instances import matching, numbered
from truecost.running.scenario import Scenario
from truecost.runs import NO_SEED, NO_STATUS, Instance
from truecost.space.space import Configuration
from truecost.stats.grouping import codes_of

Families = str | Path | Mapping[str, str]
# Most runs of each on an instance, where nobody says and the budget allows more than one.
RUNS = 5
# Limits are planned for at most this many units if the budget is a time; more may follow.
PLANNED = 100
SCOPES = (("instance", "new"), ("family", "new"), ("instance", "these"))


class Contestant(NamedTuple):
    """A configuration, and what its log calls it."""

    name: str
    configuration: Configuration


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """Who is validated, against whom, on what: settled before any run.

    Attributes
    ----------
    winner, default
        The two.
    instances
        Those to run on, in the order of use: fresh ones, each family's together where families are
        sampled; for statements about these instances all of them.
    used
        How many were left out, since the log has runs on them or on their families.
    trained
        Where families are sampled: the family of each instance of the log.
    """

    winner: Contestant
    default: Contestant
    instances: tuple[Instance, ...]
    used: int
    trained: tuple[str, ...] | None = None


def entry_of(
    log: Import,
    scenario: Scenario,
    *,
    instances: str | Sequence[Instance] | None = None,
    configuration: str | None = None,
    default: str | None = None,
    sampled: str | None = None,
    about: str | None = None,
    families: Families | None = None,
) -> Entry:
    """Who is validated against whom, on which instances, or why that cannot be.

    Parameters are those of `truecost.validate`.
    """
    winner, rival = contestants_of(log, scenario, configuration, default)
    given = numbered(matching(instances, Path.cwd())) if isinstance(instances, str) else instances
    candidates: Sequence[Instance] = scenario.instances
    if given is not None:
        # In a random order: bets on instances sorted by size would not hold.
        candidates = sorted(given, key=scenario.order)
    fresh = list(candidates)
    if about != "these":
        fresh = unseen(candidates, log, [Path.cwd(), scenario.folder])
    trained = None
    if sampled == "family":
        fresh, trained = _labelled(log, fresh, families)
        by_family = replace(scenario, families=True).order
        # Families that judged a search were seen, too, if families is what it held out.
        seen = {*trained, *((None if log.test is None else log.test.families) or ())}
        fresh = sorted(
            (instance for instance in fresh if instance.extras[FAMILY] not in seen),
            key=by_family,
        )
    if not fresh:
        raise InputError(
            f"expected `instances` that the search never saw, got {len(candidates):,} and all of "
            f"them are {'of families ' if sampled == 'family' else ''}in the log."
        )
    used = len(candidates) - len(fresh)
    return Entry(winner=winner, default=rival, instances=tuple(fresh), used=used, trained=trained)


def _labelled(
    log: Import, fresh: Sequence[Instance], families: Families | None
) -> tuple[list[Instance], tuple[str, ...]]:
    """The instances, each with its family, and the family of each instance of the log."""
    if families is None:
        if not all(FAMILY in instance.extras for instance in fresh) or log.matrix.families is None:
            raise InputError(
                "expected the `families` of the instances, of the log's and of those to run on: a "
                "csv file with instance and family, 'folder', or a regular expression over the "
                "names."
            )
        return list(fresh), log.matrix.families
    labels = families_of([instance.name for instance in fresh], families)
    pairs = zip(fresh, labels, strict=True)
    named = [
        replace(instance, extras={**instance.extras, FAMILY: label}) for instance, label in pairs
    ]
    used = log.matrix.instances
    # A log whose files lie in one folder has one family: that folder.
    if families == FOLDER and len({Path(name).parent for name in used}) == 1:
        return named, tuple(Path(name).parent.name or "." for name in used)
    return named, families_of(used, families)


def contestants_of(
    log: Import,
    scenario: Scenario,
    configuration: str | None = None,
    default: str | None = None,
) -> tuple[Contestant, Contestant]:
    """The winner and what it is compared with: as named, else the log's, else the scenario's
    default.
    """
    trajectory = log.trajectory
    name = configuration or incumbent_of(log.matrix, trajectory)
    winner = Contestant(name, _configuration(log, scenario, name))
    against = default or trajectory.default
    if against is None:
        scenario.refuse_without_default()
        rival = Contestant("default", scenario.space.default())
    else:
        rival = Contestant(against, _configuration(log, scenario, against))
    if winner.configuration.name == rival.configuration.name:
        raise InputError(
            f"expected a winner that differs from the default, got {name!r}, which has the same "
            "parameters."
        )
    return winner, rival


def _configuration(log: Import, scenario: Scenario, name: str) -> Configuration:
    if name not in log.parameters:
        if log.parameters or name not in log.matrix.configurations:
            raise InputError(f"expected the name of a configuration of the log, got {name!r:.80}.")
        raise InputError(
            f"expected the parameters of configuration {name!r:.80}, and what was read has none: "
            "take the log itself."
        )
    try:
        # Of several searches, names begin with that of the search.
        label = name.rpartition(":")[2]
        return replace(scenario.space.configuration_of(log.parameters[name]), label=label)
    except InputError as error:
        raise InputError(
            f"configuration {name!r:.80} of the log and the space of {scenario.path}: {error}"
        ) from error


def unseen(candidates: Sequence[Instance], log: Import, folders: Sequence[Path]) -> list[Instance]:
    """The instances the log has no runs on."""
    # By name, by the end of their path, and by content where its files are here.
    names = {*log.matrix.instances, *(() if log.test is None else log.test.instances)}
    ends = {Path(name).parts for name in names if not Path(name).is_absolute()}
    longest = max(map(len, ends), default=0)
    files = {path for name in names for folder in folders if (path := folder / name).is_file()}
    sizes = {path.stat().st_size for path in files}
    used = {path.resolve() for path in files}

    def digest(path: Path) -> str:
        return Instance(name=path.name, argument=str(path), extras={}).digest()

    @cache
    def contents() -> set[str]:
        return {digest(path) for path in files}

    def seen(instance: Instance) -> bool:
        if instance.name in names or instance.recipe is not None or not instance.is_file:
            return instance.name in names
        path = Path(instance.argument).resolve()
        if path in used or any(path.parts[-size:] in ends for size in range(1, longest + 1)):
            return True
        # Files are read only where one of the same size was used.
        return path.stat().st_size in sizes and digest(path) in contents()

    return [instance for instance in candidates if not seen(instance)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What decides and what statements are about, as asked for; None is as before, or the usual."""

    runs: int | None
    delta: float
    primary: Primary | None
    margin: str | None
    sampled: str | None = None
    about: str | None = None
    population: int | None = None

    def __post_init__(self) -> None:
        check_share(self.delta, "`delta`")
        if self.primary not in (None, "mean", "wins"):
            raise InputError(f"expected `primary` to be mean or wins, got {self.primary!r}.")
        if self.runs is not None and self.runs < 1:
            raise InputError(f"expected at least 1 of `runs` on an instance, got {self.runs}.")
        if (self.sampled or "instance", self.about or "new") not in SCOPES:
            raise InputError(
                "expected `sampled` and `about` of a validation to be instance and new, family and "
                f"new, or instance and these; got {self.sampled or 'instance'} and "
                f"{self.about or 'new'}."
            )
        if self.population is not None and self.about != "these":
            raise InputError("expected a `population` only with `about` these.")
        if self.margin is not None and self.primary == "wins":
            raise InputError("expected no `margin` with wins as `primary`: it is one of mean cost.")

    def like(self, before: Terms | None) -> "Request":
        """The same with the scope of a validation that was begun before, if none is asked for."""
        if before is None or (self.sampled, self.about) != (None, None):
            return self
        return replace(self, sampled=before.sampled, about=before.about)


def begun_with(journal: str | os.PathLike[str]) -> Terms | None:
    """What an earlier call fixed in this journal."""
    if not Path(journal).is_file():
        return None
    with Journal.read(journal) as book:
        return validationlog.terms_of(book) if book.kind == "validate" else None


def in_order(book: Journal, entry: Entry, terms: Terms | None) -> tuple[Instance, ...]:
    """The instances in the order in which they were used before, new ones last."""
    # Of families that were used before, none is added.
    named = {instance.name: instance for instance in entry.instances}
    before = book.order()
    if missing := [name for name in before if name not in named]:
        raise InputError(
            f"{book.path}: expected the instances the validation was begun with, and "
            f"{missing[0]!r} is not there."
        )
    known = [named.pop(name) for name in before]
    rest = list(named.values())
    if terms is not None and terms.sampled == "family":
        families = {instance.extras[FAMILY] for instance in known}
        rest = [instance for instance in rest if instance.extras[FAMILY] not in families]
    return (*known, *rest)


def terms_for(scenario: Scenario, entry: Entry, budget: Budget, asked: Request) -> Terms:
    """What a validation with this request fixes beforehand, but for the number of workers."""
    these, runs, number = asked.about == "these", asked.runs, len(entry.instances)
    if these and (budget.unit != "runs" or scenario.endless):
        raise InputError(
            "expected a list of instances and a `budget` in runs, 400runs for instance: for "
            "statements about these instances the number of runs is fixed beforehand."
        )
    if these and asked.population is not None and asked.population < number:
        raise InputError(
            f"expected a `population` of at least the {number:,} instances to run on, got "
            f"{asked.population:,}."
        )
    if runs is None:
        # Looks at rounds that the budget never reaches would cost a part of delta for nothing.
        rounds = budget.amount / (2 * number) if budget.unit == "runs" else math.inf
        runs = int(min(RUNS, max(1, rounds))) if not scenario.endless else 1
    # Nobody knows yet how many a budget of time is good for.
    pairs = int(budget.amount // 2) if budget.unit == "runs" else math.inf
    if these:
        pairs = pairs // runs
    units = np.arange(1, number + 1)
    if asked.sampled == "family":
        # Whole families: after how many instances each of them ends.
        codes = codes_of([instance.extras[FAMILY] for instance in entry.instances])
        units = np.append(np.flatnonzero(np.diff(codes)) + 1, number)
    planned = int((units <= pairs).sum())
    if not planned:
        raise InputError(
            f"expected a `budget` for the {2 * units[0] * (runs if these else 1)} runs of the "
            f"first {'family' if asked.sampled == 'family' else 'instance'} at least, got {budget}."
        )
    return Terms(
        winner=entry.winner.configuration.name,
        default=entry.default.configuration.name,
        names={who.name: name for name, who in (entry.winner, entry.default)},
        runs=runs,
        planned=planned if budget.unit == "runs" else min(planned, PLANNED),
        delta=asked.delta,
        primary=_primary(scenario, asked),
        workers=1,
        metric=scenario.metric.model_dump_json(),
        used=entry.used,
        margin=asked.margin,
        sampled="family" if asked.sampled == "family" else "instance",
        about="these" if these else "new",
        population=(asked.population or number) if these else None,
    )


def _primary(scenario: Scenario, asked: Request) -> Primary:
    """What decides; refused where the cost range does not allow it."""
    low, high = scenario.metric.range()
    known = bool(np.isfinite([low, high]).all())
    if not known and (asked.primary == "mean" or asked.margin is not None):
        raise InputError(
            "expected low and high in [metric], which a limit of the mean needs, or wins as "
            "`primary`."
        )
    if asked.margin is not None:
        margin = Margin.parse(asked.margin)
        if margin.kind == "ratio" and (low < 0 or scenario.metric.kind == "utility"):
            raise InputError(
                "expected a `margin` in units of cost, 0.1 for instance: a share of the default's "
                "cost needs costs from 0."
            )
        if margin.kind == "difference" and margin.value >= high - low:
            raise InputError(
                f"expected a `margin` below {high - low:g}, the range of the cost, got {margin}."
            )
    return asked.primary or ("mean" if known else "wins")


def check_terms(book: Journal, terms: Terms, now: Terms, asked: Request) -> None:
    """Whether what is asked for is what was fixed before the first run."""
    names = {
        "winner": "the winner",
        "default": "the default",
        "delta": "delta",
        "metric": "the metric",
        "sampled": "sampled:",
        "about": "about:",
    }
    given = [(what, getattr(now, name), getattr(terms, name)) for name, what in names.items()]
    given += [
        ("runs on an instance:", asked.runs, terms.runs),
        ("what decides:", asked.primary, terms.primary),
        ("the margin", asked.margin, terms.margin),
    ]
    if terms.about == "these":
        # Runs were planned for one look; with more of them there would be a second one.
        given += [
            ("how many instances:", now.planned, terms.planned),
            ("the population", now.population, terms.population),
        ]
    refuse_changes(book.path, "validation", given, "it must not be changed once costs were seen")


def training_runs(log: Import, scenario: Scenario, entry: Entry) -> CostMatrix:
    """The log's runs with the range of the scenario's metric."""
    # A default that the log has no runs of gets a row without any.
    matrix, (low, high) = log.matrix, scenario.metric.range()
    seen = matrix.costs[~np.isnan(matrix.costs)]
    known = math.isfinite(matrix.width) and (matrix.low, matrix.high) != (low, high)
    utility = None if scenario.metric.kind != "utility" else str(scenario.metric.worth())
    if matrix.utility not in (None, utility):
        raise InputError(
            f"{scenario.path}: expected the metric of the log, whose costs are 1 − utility "
            f"({matrix.utility}), got another: change [metric]."
        )
    if known or (seen < low).any() or (seen > high).any():
        raise InputError(
            f"{scenario.path}: expected the metric of the log, whose costs are {seen.min():g} to "
            f"{seen.max():g} in [{matrix.low:g}, {matrix.high:g}], got one with costs in "
            f"[{low:g}, {high:g}]: change [metric] (if validate wrote the file, remove it: it is "
            "written again), or say what the log's costs are (`low`, `high`, `cutoff`, `par`)."
        )
    known_names = matrix.configurations
    new = [name for name, _ in (entry.winner, entry.default) if name not in known_names]

    def padded(values: NDArray[Any] | None, missing: float) -> NDArray[Any] | None:
        more = ((0, len(new)), (0, 0), (0, 0))
        return None if values is None else np.pad(values, more, constant_values=missing)

    return matrix.replace(
        costs=padded(matrix.costs, np.nan),
        configurations=[*known_names, *new],
        low=low,
        high=high,
        statuses=padded(matrix.statuses, NO_STATUS),
        seeds=padded(matrix.seeds, NO_SEED),
        utility=utility,
        families=matrix.families if entry.trained is None else entry.trained,
    )
