"""What the journal of a search has beyond its runs: its settings, who was proposed and why, capped
runs, the way it went.

Everything a search does follows from its settings and its runs: one that is resumed goes the same
way again. What is noted here is compared on the way, and another outcome refused.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, NamedTuple

from truecost.errors import InputError
from truecost.journal.design import stored
from truecost.journal.file import SEARCHES, enter
from truecost.journal.journal import Journal, Unit
from truecost.runs import Fixed, Outcome, Status, Step, Trajectory
from truecost.space.propose import Proposal
from truecost.space.space import Configuration, name_of

# The policy that searches are begun with. Those of truecost 0.2, one order of runs for all, name
# none: they go on with this one.
POLICY = "an order for every heat"
KEYS = ("search", "adopted")
# Where the configurations are kept that are to be tried first.
START = "start"
# Steps with the name of their incumbent, and proposals with that of their configuration.
STEPS = "FROM steps s JOIN configurations c ON c.id = s.incumbent"
PROPOSALS = "FROM proposals p JOIN configurations c ON c.id = p.configuration ORDER BY p.number"
# More workers than this finish runs too late for the proposals of a whole heat.
FEW_WORKERS = 8
# How the step begins that looks at held-out instances.
JUDGED = "judged on instances it was not trained on"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What a search was begun with, and goes on with.

    Parameters
    ----------
    budget, unit
        How many runs, or seconds with all workers at work; `budgets_of` has the larger ones it went
        on with.
    workers
        How many there were at the beginning: the search decides for that many at a time, whoever
        executes the runs later.
    runs
        Most runs of a configuration on an instance.
    seed
        Where proposals, the order of runs and the choice of held-out instances come from.
    metric
        As JSON: other costs would have led elsewhere.
    training, held_out
        The names of the instances it chooses by, and of those it is judged by in the end; the same
        for statements about these, which are judged with other seeds.
    margin, sampled, about
        What is to be shown in the end, and what about: whole families are held out where families
        are sampled.
    """

    budget: float
    unit: Unit
    workers: int
    runs: int
    seed: int
    metric: str
    training: tuple[str, ...]
    held_out: tuple[str, ...]
    margin: str | None = None
    sampled: Literal["instance", "family"] = "instance"
    about: Literal["new", "these"] = "new"

    @property
    def many_workers(self) -> bool:
        """Whether proposals are made one at a time, and the winner is found in a final."""
        return self.workers > FEW_WORKERS

    @property
    def first_judging(self) -> int:
        """The number of the first run on an instance that judges: on instances that were trained
        on, behind those that trained.
        """
        return self.runs if self.about == "these" else 0


class Recorded(NamedTuple):
    """What of a run decides what it costs, and what it took; `cap` if it was stopped there."""

    status: int
    cpu: float
    wall: float
    time: float | None
    value: float | None
    cap: float | None

    @classmethod
    def of(cls, outcome: Outcome) -> "Recorded":
        """The same of a run that was made just now."""
        return cls(
            int(outcome.status), outcome.cpu, outcome.wall, outcome.time, outcome.value, outcome.cap
        )


Cell = tuple[str, str, int]


def settings_of(journal: Journal) -> Settings | None:
    """What the search was begun with; None before it is."""
    text = journal.noted("search")
    if text is None:
        return None
    return stored(journal.path, text, Settings, "the settings of a search")


def begin(journal: Journal, settings: Settings, start: Sequence[Configuration] = ()) -> None:
    """Fix the settings, and what is tried first, once and for all."""
    with journal.transaction() as connection:
        values = json.dumps([dict(configuration.values) for configuration in start])
        connection.execute("INSERT INTO meta VALUES (?, ?)", (START, values))
        text = json.dumps({**asdict(settings), "policy": POLICY})
        connection.execute("INSERT INTO meta VALUES ('search', ?)", (text,))


class Adopted(NamedTuple):
    """How far a search of truecost 0.2 was when it was taken over: the numbers of its steps,
    proposals, looks at held-out instances, and the last ids of its runs and capped runs.
    """

    steps: int
    proposals: int
    looks: int
    runs: int
    capped: int


def adopted_from(journal: Journal) -> Adopted | None:
    """Where a search of truecost 0.2 ended and this policy went on, fixed when first asked for;
    None for a search that was begun with this policy.
    """
    counts = (
        "SELECT (SELECT count(*) FROM steps), (SELECT count(*) FROM proposals),"
        " (SELECT count(*) FROM steps WHERE reason LIKE ?),"
        " (SELECT coalesce(max(id), 0) FROM runs), (SELECT coalesce(max(id), 0) FROM capped)"
    )
    with journal.transaction() as connection:
        rows = dict(connection.execute("SELECT key, value FROM meta WHERE key IN (?, ?)", KEYS))
        if "policy" in json.loads(rows["search"]):
            return None
        if "adopted" not in rows:
            row = connection.execute(counts, (f"{JUDGED}%",)).fetchone()
            rows["adopted"] = json.dumps(row)
            connection.execute("INSERT INTO meta VALUES ('adopted', ?)", (rows["adopted"],))
    return Adopted(*json.loads(rows["adopted"]))


def incumbent_at(journal: Journal, step: int) -> str | None:
    """Who led at a step."""
    rows = journal.rows(
        f"SELECT c.name {STEPS} WHERE s.number <= ? ORDER BY s.number DESC LIMIT 1",
        step,
    )
    return str(rows[0][0]) if rows else None


def start_of(journal: Journal) -> list[Configuration]:
    """The configurations that were to be tried first."""
    text = journal.noted(START)
    rows = [] if text is None else json.loads(text)
    return [Configuration(name=name_of(values), values=values) for values in rows]


def budgets_of(journal: Journal, settings: Settings) -> tuple[float, ...]:
    """What there was to spend: the first budget, and the larger ones the search went on with."""
    rows = journal.rows("SELECT value FROM meta WHERE key LIKE 'budget %'")
    return (settings.budget, *sorted(float(value) for (value,) in rows))


def extend(journal: Journal, number: int, budget: float) -> None:
    """The search goes on with a larger budget, its `number`-th further one."""
    journal.note(f"budget {number}", repr(budget))


def recorded(journal: Journal, until: Adopted | None = None) -> dict[Cell, Recorded]:
    """All runs there are, or those up to a point, by configuration, instance and number, in the
    order in which they were written; those aborted are to be done again.
    """
    query = (
        "SELECT r.id, c.name, i.name, r.number, {status}, r.cpu, r.wall, r.time, r.value, {cap}"
        " FROM {table} r JOIN configurations c ON c.id = r.configuration"
        " JOIN instances i ON i.id = r.instance WHERE {status} <> ? AND r.id <= ?"
    )
    last = (2**63 - 1,) * 2 if until is None else (until.runs, until.capped)
    tables = (("runs", "r.status", "NULL"), ("capped", str(int(Status.CENSORED)), "r.cap"))
    rows: list[Any] = []
    with journal.transaction(reading=True) as connection:
        for (table, status, cap), most in zip(tables, last, strict=True):
            # Only searches stop runs at a cap.
            if table == "capped" and journal.kind not in SEARCHES:
                continue
            text = query.format(table=table, status=status, cap=cap)
            rows += connection.execute(text, (int(Status.ABORTED), most))
    return {row[1:4]: Recorded(*row[4:]) for row in sorted(rows, key=lambda row: row[0])}


def proposed_in(journal: Journal) -> list[Proposal]:
    """Who was proposed, in the order of proposals."""
    # A search that goes on takes them as they are: a model of the costs may differ by a rounding on
    # another machine.
    query = f'SELECT c.name, c."values", p.origin {PROPOSALS}'
    return [
        Proposal(configuration=Configuration(name=name, values=json.loads(values)), origin=origin)
        for name, values, origin in journal.rows(query)
    ]


def note_proposals(journal: Journal, first: int, proposals: Sequence[Proposal]) -> None:
    """New configurations, in the order of proposals."""
    # All of a heat at once, since one model offers them.
    with journal.transaction() as connection:
        for number, proposal in enumerate(proposals, first):
            configuration = proposal.configuration
            enter(connection, configuration.name, configuration.values)
            connection.execute(
                "INSERT INTO proposals SELECT ?, id, ? FROM configurations WHERE name = ?",
                (number, proposal.origin, configuration.name),
            )


def note_step(
    journal: Journal, number: int, *, runs: int, incumbent: str | None, reason: str
) -> None:
    """A decision, by all runs so far: which of them count from now on, and who is the incumbent."""
    with journal.transaction() as connection:
        step = connection.execute(
            "SELECT s.runs, c.name FROM steps s LEFT JOIN configurations c ON c.id = s.incumbent "
            "WHERE s.number = ?",
            (number,),
        ).fetchone()
        if step is None:
            connection.execute(
                "INSERT INTO steps SELECT ?, ?, (SELECT id FROM configurations WHERE name = ?), ?,"
                " (SELECT coalesce(max(id), 0) FROM runs)",
                (number, runs, incumbent, reason),
            )
        elif step != (runs, incumbent):
            made = sorted({machine.truecost for machine in journal.machines()})
            raise InputError(
                f"{journal.path}: expected the search to go the way it went, and the incumbent of "
                f"step {number} was {step[1]} after {step[0]} runs and is now {incumbent} after "
                f"{runs}: it was made by truecost {', '.join(made) or 'unknown'}, which may decide "
                "otherwise. Go on with that, or begin another `journal`."
            )


def trajectory_of(journal: Journal) -> Trajectory:
    """The way the search went: every change of the incumbent."""
    with journal.transaction(reading=True):
        rows = journal.rows(f"SELECT s.runs, c.name {STEPS} ORDER BY s.number")
        default = journal.rows(f"SELECT c.name {PROPOSALS} LIMIT 1")
        looks = journal.rows("SELECT count(*) FROM steps WHERE reason LIKE ?", f"{JUDGED}%")[0][0]
    settings, fixed, steps = settings_of(journal), None, list[Step]()
    if settings is not None:
        population = len(settings.held_out) if settings.about == "these" else None
        fixed = Fixed(settings.margin, settings.sampled, settings.about, population)
    for runs, name in rows:
        if not steps or steps[-1].configurations != (name,):
            steps.append(Step(runs, (name,)))
    return Trajectory(
        tool=f"truecost {journal.kind}",
        proposed="adaptively",
        raced=True,
        default=default[0][0] if default else None,
        incumbent=steps[-1].configurations[0] if steps else None,
        steps=tuple(steps),
        looks=max(1, looks),
        fixed=fixed,
    )


def origins_of(journal: Journal) -> dict[str, str]:
    """How each configuration came about, in the order of proposals."""
    return dict(journal.rows(f"SELECT c.name, p.origin {PROPOSALS}"))
