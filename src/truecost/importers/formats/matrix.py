"""Matrices of truecost: npz files. Parquet and csv ones are tables."""

from pathlib import Path

from truecost.errors import InputError
from truecost.importers.record import Options
from truecost.importers.registry import Candidate, Importer
from truecost.matrix.cost_matrix import CostMatrix
from truecost.matrix.imported import Import
from truecost.runs import Trajectory

# Files that the archives of Excel and LibreOffice begin with.
WORKBOOK = (b"[Content_Types].xml", b"xl/", b"_rels/", b"mimetypeapplication/vnd.oasis")


def _recognise(candidate: Candidate) -> bool:
    archive = candidate.start.startswith(b"PK\x03\x04")
    if archive and any(mark in candidate.start for mark in WORKBOOK):
        raise InputError(
            "expected a log, a table or an R workspace, got a spreadsheet: save it as csv."
        )
    return archive


def _read(path: Path, options: Options) -> Import:
    """A matrix as it is."""
    for name in ("cutoff", "par", "objective", "fidelity"):
        if getattr(options, name) is not None:
            raise InputError(
                f"expected no `{name}` with a matrix, whose costs are settled; "
                "give it with the log itself."
            )
    matrix = CostMatrix.load(path, low=options.low, high=options.high)
    trajectory = matrix.trajectory or Trajectory(tool="truecost")
    return Import(kind="matrix", matrix=matrix, trajectory=trajectory)


IMPORTER = Importer(name="matrix", title="matrix of truecost", recognise=_recognise, read=_read)
