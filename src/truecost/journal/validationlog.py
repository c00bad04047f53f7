"""What the journal of a validation has beyond its runs: who is compared, what was fixed beforehand,
the log, the end.

It keeps the runs of the log too, so that the journal alone gives the report of the validation.
"""

import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Literal, NamedTuple

from truecost.errors import InputError
from truecost.journal.design import stored
from truecost.journal.journal import Journal, Unit
from truecost.journal.metric import Metric
from truecost.journal.table import STOPPED
from truecost.matrix import CostMatrix, provenance
from truecost.matrix.imported import Import
from truecost.race.stopping import StoppingRule, Why, criterion
from truecost.runs import Trajectory, Watched
from truecost.stats.grouping import codes_of

TERMS, LOG, BUDGET = "validation", "log", "budget"


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What was fixed before the first run.

    Parameters
    ----------
    winner, default
        The two, as the journal names them; `names` has their names in the log.
    runs, planned
        Most runs of each on an instance; and for how many sampling units limits are planned.
    delta, primary, margin
        The error probability, and what decides.
    workers
        How many there were at the beginning, for budgets of time.
    metric
        As JSON.
    used
        How many instances were left out, since the log has runs on them.
    sampled, about, population
        What statements are about; see `truecost.judge.scope`. Journals of 0.2 have the default.
    """

    winner: str
    default: str
    names: Mapping[str, str]
    runs: int
    planned: int
    delta: float
    primary: Literal["mean", "wins"]
    workers: int
    metric: str
    used: int
    margin: str | None = None
    sampled: Literal["instance", "family"] = "instance"
    about: Literal["new", "these"] = "new"
    population: int | None = None


class Stop(NamedTuple):
    """Where a validation ended: the runs that count, their instances, why, and the budget."""

    runs: int
    instances: int
    why: Why
    chance: float | None
    budget: float
    unit: Unit


def agree(journal: Journal, terms: Terms, training: CostMatrix, trajectory: Trajectory) -> None:
    """Fix the terms, and keep the log."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "log.npz"
        training.save(file, trajectory=trajectory)
        journal.note(LOG, file.read_bytes())
    journal.note(TERMS, json.dumps(asdict(terms)))


def terms_of(journal: Journal) -> Terms | None:
    """What was fixed; None before it is."""
    text = journal.noted(TERMS)
    if text is None:
        return None
    return stored(journal.path, text, Terms, "the terms of a validation")


def rule_of(
    terms: Terms, low: float, high: float, families: Sequence[str] | None = None, seed: int = 0
) -> StoppingRule:
    """The rule that decides when to stop; with the family of each instance where families are the
    sampling units.
    """
    quantity, threshold = criterion(terms.primary, terms.margin)
    return StoppingRule(
        rounds=terms.runs,
        planned=terms.planned,
        delta=terms.delta,
        quantity=quantity,
        threshold=threshold,
        low=low,
        high=high,
        margin=terms.margin is not None,
        families=None if families is None else codes_of(families),
        one_look=terms.about == "these",
        seed=seed,
    )


def note_budget(journal: Journal, amount: float, unit: Unit) -> None:
    """What may be spent, for a call that resumes without saying."""
    journal.note(BUDGET, json.dumps([amount, unit]))


def budget_of(journal: Journal) -> tuple[float, Unit] | None:
    """What might be spent so far; None before it was said."""
    if (text := journal.noted(BUDGET)) is not None:
        amount, unit = json.loads(text)
        return amount, unit
    # Journals of 0.2 have it from their end on.
    stop = stop_of(journal)
    return None if stop is None else (stop.budget, stop.unit)


def note_stop(journal: Journal, stop: Stop) -> None:
    """How it ended, for now: with a larger budget it may go on."""
    journal.note(STOPPED, json.dumps(stop._asdict()))


def stop_of(journal: Journal) -> Stop | None:
    """How it ended; None while it has not."""
    text = journal.noted(STOPPED)
    return None if text is None else Stop(**json.loads(text))


def import_of(journal: Journal, metric: Metric | None = None) -> Import:
    """The log, and the runs on fresh instances as its test runs, under the names of the log."""
    terms = terms_of(journal)
    content = journal.noted(LOG)
    if terms is None or content is None:
        raise InputError(
            f"{journal.path}: expected a validation with runs, got one that has not begun."
        )
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "log.npz"
        file.write_bytes(content)
        training, trajectory = CostMatrix.load(file), provenance.read(file)
    table = journal.table()
    fresh, names = journal.matrix(metric, table=table), terms.names
    test = fresh.replace(configurations=[names[name] for name in fresh.configurations])
    if terms.sampled == "family":
        test = _whole_families(journal, test)
    stop, late = stop_of(journal), int(table.ahead.sum())
    reason = (
        "finished before a slower run that was begun earlier"
        if stop is None
        else "finished after it had stopped"
    )
    watched = Watched(
        terms.runs,
        terms.primary,
        terms.planned,
        terms.margin,
        terms.sampled,
        terms.about,
        terms.population,
    )
    return Import(
        kind="journal",
        matrix=training,
        trajectory=replace(trajectory or Trajectory(tool="unknown"), watched=watched),
        parameters={names[name]: values for name, values in journal.configurations().items()},
        test=test,
        left_out={reason: late} if late else {},
        notes=(_left_out(terms.used),) if terms.used else (),
    )


def _left_out(used: int) -> str:
    """Say how many of the instances were not new."""
    were, them = ("instance was", "it") if used == 1 else ("instances were", "them")
    return f"{used:,} {were} left out of the validation: the log has runs on {them}."


def _whole_families(journal: Journal, test: CostMatrix) -> CostMatrix:
    """The runs on families whose instances all have runs of both."""
    # When to stop inside a family may have depended on costs.
    order = journal.order()
    labels = journal.families(order) or ()
    both = (test.counts() > 0).sum(axis=0) == 2
    done = {name for name, complete in zip(test.instances, both, strict=True) if complete}
    pairs = list(zip(order, labels, strict=True))
    unfinished = {family for name, family in pairs if name not in done}
    kept = [name for name, family in pairs if family not in unfinished]
    if not kept:
        raise InputError(f"{journal.path}: expected a whole family with runs, got none yet.")
    return test.select(instances=kept)
