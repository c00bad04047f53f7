"""R's RDS files: a data frame that `saveRDS()` wrote, with a row for every run."""

from pathlib import Path

import polars as pl

from truecost.errors import InputError
from truecost.importers import frames, rdata
from truecost.importers.record import Options
from truecost.importers.registry import Candidate, Importer
from truecost.matrix.imported import Import


def _recognise(candidate: Candidate) -> bool:
    # The format, binary or text, and its version.
    return candidate.content[:3] in (b"X\n\0", b"X\n2", b"X\n3", b"A\n\0", b"A\n2", b"A\n3")


def _read(path: Path, options: Options) -> Import:
    with path.open("rb") as file:
        value = rdata.read_value(file)
    names, columns = value.names, value.values if value.kind == "list" else ()
    if not names or len({len(column) for column in columns}) != 1 or len(names) != len(columns):
        raise InputError(
            "expected a data frame with a row for every run in the RDS file, got another R value: "
            "save the data frame itself, or write a csv table."
        )
    table = pl.DataFrame(
        {
            name: pl.Series(column.scalars(), strict=False)
            for name, column in zip(names, columns, strict=True)
        }
    )
    return frames.runs_of(table, options)


IMPORTER = Importer(name="rds", title="RDS", recognise=_recognise, read=_read)
