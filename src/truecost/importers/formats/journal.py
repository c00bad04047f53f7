"""Journals of truecost: of `gather`, with configurations fixed before any cost was seen; of
`configure`, a search; of `validate`.
"""

import math
from pathlib import Path

from truecost.errors import InputError
from truecost.importers.record import Options
from truecost.importers.registry import Candidate, Importer
from truecost.journal.file import APPLICATION, HEADER, SEARCHES
from truecost.matrix.imported import Import
from truecost.runs import Trajectory


def _read(path: Path, options: Options) -> Import:
    if options.low is not None or options.high is not None:
        raise InputError(
            "expected no `low` and `high` with a journal: they follow from its metric."
        )
    # Loaded here, since it loads what runs solvers, and no other log needs that.
    from truecost.journal import searchlog, validationlog
    from truecost.journal.journal import DEFAULT, GIVEN, Journal

    with Journal.read(path) as journal:
        table = journal.table()
        utility = None if options.utility is None else str(options.utility)
        metric = journal.metric(par=options.par, cutoff=options.cutoff, utility=utility)
        if journal.kind == "validate":
            return validationlog.import_of(journal, metric)
        matrix = journal.matrix(metric, table=table)
        parameters = journal.configurations()
        ahead = int(table.ahead.sum())
        if journal.kind in SEARCHES:
            judged = journal.judging(table) & ~table.ahead
            return Import(
                kind="journal",
                matrix=matrix,
                trajectory=searchlog.trajectory_of(journal),
                parameters=parameters,
                origins=searchlog.origins_of(journal),
                test=journal.matrix(metric, held_out=True, table=table) if judged.any() else None,
                left_out={"of a batch that is not finished": ahead} if ahead else {},
            )
        default, given = journal.noted(DEFAULT), journal.noted(GIVEN)
        # Counted before the journal is closed.
        planned, plans = math.prod(journal.planned() or (0,)), journal.plans()
    trajectory = Trajectory(
        tool="truecost gather",
        proposed="beforehand",
        raced=False,
        default=next(iter(parameters)) if default is None else default or None,
        unfinished=int(matrix.counts().sum()) < planned,
        plans=plans,
    )
    return Import(
        kind="journal",
        matrix=matrix,
        trajectory=trajectory,
        parameters=parameters,
        origins=dict.fromkeys(parameters, "the user") if given else {},
        left_out={"finished before a slower run that was begun earlier": ahead} if ahead else {},
    )


def _recognise(candidate: Candidate) -> bool:
    has_mark = candidate.start[68:72] == APPLICATION.to_bytes(4, "big")
    # While it is written, and after a kill, the mark may still be in the write-ahead log, which
    # Optuna does not use.
    logged = candidate.start[18:20] == b"\x02\x02"
    return candidate.start.startswith(HEADER) and (has_mark or logged)


IMPORTER = Importer(name="journal", title="journal of truecost", recognise=_recognise, read=_read)
