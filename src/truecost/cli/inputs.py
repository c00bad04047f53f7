"""What commands read: a matrix from a file, a journal among them."""

from pathlib import Path
from typing import TYPE_CHECKING

from truecost.errors import InputError

if TYPE_CHECKING:
    from truecost.matrix import CostMatrix
    from truecost.running.journal import Journal
    from truecost.running.metric import Metric

JOURNAL_START = b"SQLite format 3\0"


def load_matrix(path: Path, low: float | None = None, high: float | None = None) -> "CostMatrix":
    """The matrix in a file: npz, parquet, csv, or a journal by its own metric."""
    if not is_journal(path):
        from truecost.matrix import CostMatrix

        return CostMatrix.load(path, low=low, high=high)
    if low is not None or high is not None:
        raise InputError(f"{path}: expected no --low and --high with a journal: they follow from its metric.")
    from truecost.running.journal import Journal

    with Journal.read(path) as journal:
        return journal.matrix()


def is_journal(path: Path) -> bool:
    """Whether a file is SQLite's; told here without loading what reads it."""
    with path.open("rb") as file:
        return file.read(len(JOURNAL_START)) == JOURNAL_START


def metric_of(journal: "Journal", par: float | None, cutoff: float | None) -> "Metric":
    """The journal's own metric, or PARk with another factor or a lower cutoff."""
    from truecost.running.metric import Metric

    metric = journal.metric()
    if par is None and cutoff is None:
        return metric
    limits = journal.fingerprint()["limits"]
    clock = metric.clock if metric.kind == "par" else "cpu"
    most = limits["wall"] if clock == "wall" else limits["cpu"] if clock == "cpu" else limits["cutoff"]
    cutoff = cutoff if cutoff is not None else metric.cutoff if metric.kind == "par" else most
    if most is None or cutoff is None:
        raise InputError(f"{journal.path}: expected a journal with a CPU limit for --par and --cutoff, got one without.")
    if not 0 < cutoff <= most:
        raise InputError(f"--cutoff: expected at most {most:g} seconds, where the runs were stopped, got {cutoff:g}.")
    factor = par if par is not None else metric.factor if metric.kind == "par" else 10.0
    if not 1 <= factor < float("inf"):
        raise InputError(f"--par: expected a factor of at least 1, got {factor:g}.")
    return Metric(kind="par", factor=float(factor), clock=clock, cutoff=float(cutoff))
