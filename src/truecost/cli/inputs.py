"""What commands read: a matrix from a file, a journal among them."""

from pathlib import Path
from typing import TYPE_CHECKING

from truecost.errors import InputError

if TYPE_CHECKING:
    from truecost.matrix import CostMatrix

JOURNAL_START = b"SQLite format 3\0"


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


def example_or(path: Path) -> Path:
    """The file of an example, where there is no file of that name and an example is called so."""
    if path.exists() or len(path.parts) != 1:
        return path
    from truecost import examples

    return examples.path_of(path.name) if path.name in examples.names() else path


def is_journal(path: Path) -> bool:
    """Whether a file is SQLite's; told here without loading what reads it."""
    with path.open("rb") as file:
        return file.read(len(JOURNAL_START)) == JOURNAL_START
