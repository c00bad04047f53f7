"""RDS files of R: a data frame that `saveRDS()` wrote, with a row for every run."""

from pathlib import Path

import polars as pl

from truecost.errors import InputError
from truecost.importers import frames, rdata
from truecost.importers.record import Options
from truecost.importers.registry import Candidate, Importer
from truecost.matrix.imported import Import


def _recognise(candidate: Candidate) -> bool:
    return candidate.content[:2] in (b"X\n", b"A\n") and candidate.content[2:3] in (
        b"\0",
        b"2",
        b"3",
    )


def _read(path: Path, options: Options) -> Import:
    with path.open("rb") as file:
        value = rdata.read_value(file)
    names, columns = value.names, value.values if value.kind == "list" else ()
    if not names or len({len(column) for column in columns}) != 1 or len(names) != len(columns):
        raise InputError(
            "expected a data frame with a row for every run in the RDS file, got another value "
            "of R: save the data frame itself, or write a csv table."
        )
    table = pl.DataFrame(
        {
            name: pl.Series(column.scalars(), strict=False)
            for name, column in zip(names, columns, strict=True)
        }
    )
    return frames.runs_of(table, options)


IMPORTER = Importer(name="rds", title="RDS of R", recognise=_recognise, read=_read)
