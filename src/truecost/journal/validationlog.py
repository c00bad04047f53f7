"""What the journal of a validation has beyond its runs: who is compared, what was fixed beforehand,
the log, the end.

The runs of the log are kept in it too: what training looked like and what came out then stand
together, and the journal says by itself what `truecost validate` said of it.
"""

import json
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Literal, NamedTuple

from truecost.errors import InputError
from truecost.journal.journal import Journal, Unit
from truecost.journal.metric import Metric
from truecost.journal.table import STOPPED
from truecost.matrix import CostMatrix, provenance
from truecost.matrix.imported import Import
from truecost.race.stopping import Why
from truecost.runs import Trajectory, Watched

TERMS, LOG = "validation", "log"


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What was fixed before the first run.

    Parameters
    ----------
    winner, default
        The two, as the journal names them; `names` says what the log calls them.
    runs, planned
        Most runs of each on an instance; and for how many instances limits are planned.
    delta, primary
        What decides, and with which probability it may be wrong.
    workers
        How many there were at the beginning, for budgets of time.
    metric
        As JSON.
    used
        How many instances were left out, since the log has runs on them.
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


class Stop(NamedTuple):
    """Where a validation ended: the runs that count, on so many instances, and why; with the budget
    it had by then.
    """

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
    try:
        stored = json.loads(text)
        return Terms(**{field.name: stored[field.name] for field in fields(Terms)})
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"{journal.path}: expected the terms of a validation, and they cannot be read ({error})."
        ) from error


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
    found = journal.matrix(metric, table=table)
    names = terms.names
    test = found.replace(configurations=[names[name] for name in found.configurations])
    stop, late = stop_of(journal), int(table.ahead.sum())
    reason = (
        "finished before a slower run that was begun earlier"
        if stop is None
        else "finished after it had stopped"
    )
    watched = Watched(terms.runs, terms.primary, terms.planned)
    return Import(
        kind="journal",
        matrix=training,
        trajectory=replace(trajectory or Trajectory(tool="unknown"), watched=watched),
        parameters={names[name]: values for name, values in journal.configurations().items()},
        test=test,
        left_out={reason: late} if late else {},
        notes=(
            f"{terms.used:,} instances were left out of the validation: the log has runs on them.",
        ),
    )
