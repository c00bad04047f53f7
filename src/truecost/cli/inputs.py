"""What commands read: a matrix from a file, a journal among them."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from truecost.errors import InputError
from truecost.running.journalfile import is_journal

# What a matrix can be written as.
MATRICES = (".npz", ".parquet", ".csv")

if TYPE_CHECKING:
    from truecost.matrix import CostMatrix


def load_matrix(path: Path, low: float | None = None, high: float | None = None) -> "CostMatrix":
    """The matrix in a file: npz, parquet, csv, a journal by its own metric; or an example of the package, by its name."""
    path = example_or(path)
    if not is_journal(path):
        from truecost.matrix import CostMatrix

        return CostMatrix.load(path, low=low, high=high)
    if low is not None or high is not None:
        raise InputError(f"{path}: expected no --low and --high with a journal: they follow from its metric.")
    from truecost.running.journal import Journal

    with Journal.read(path) as journal:
        return journal.matrix()


def check_out(out: Path | None, *sources: Path | None, endings: Sequence[str] = ()) -> None:
    """Refuse a place that cannot be written, or that is one of the sources, before the work and not after it."""
    if out is None:
        return
    if endings and out.suffix not in endings:
        *others, last = endings
        raise InputError(f"{out}: expected a name that ends in {', '.join(others)}{' or ' if others else ''}{last}.")
    if out.is_dir():
        raise InputError(f"{out}: expected the name of a file to write, got a folder.")
    if not out.absolute().parent.is_dir():
        raise InputError(f"{out}: expected a folder that is there, {out.absolute().parent} is not.")
    for source in sources:
        if source is not None and out.exists() and source.exists() and out.samefile(source):
            raise InputError(f"{out}: expected another file for what is written than for what is read.")


def example_or(path: Path) -> Path:
    """The file of an example, where there is no file of that name and an example is called so."""
    if path.exists() or len(path.parts) != 1:
        return path
    from truecost import examples

    return examples.path_of(path.name) if path.name in examples.names() else path
