"""The paper's experiments on one matrix: tables, figures and a report of the eight claims."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from truecost.paper.claims import Claim

if TYPE_CHECKING:
    import pandas as pd

PARTS = ("estimators", "m", "n", "k")
# Told what is being done and the share of all work that is done.
Progress = Callable[[str, float], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reproduction:
    """What `reproduce` found and wrote.

    Attributes
    ----------
    claims
        The claims that the requested parts can judge, in the paper's order.
    tables
        The results by name, as in `data/`.
    report
        The report in Markdown, written last.
    files
        Everything in the folder.
    kept
        The tables that an earlier call had finished.
    """

    claims: tuple[Claim, ...]
    tables: "dict[str, pd.DataFrame]"
    report: Path
    files: tuple[Path, ...]
    kept: tuple[str, ...]


def reproduce(
    source: Any,
    folder: str | os.PathLike[str],
    *,
    splits: int = 2500,
    only: Sequence[str] = PARTS,
    seed: int = 1,
    delta: float = 0.05,
    workers: int | None = None,
    progress: Progress | None = None,
) -> Reproduction:
    """Repeat the paper's experiments on a matrix.

    Parameters
    ----------
    source
        A `CostMatrix`, a `Log`, or whatever `import_runs` reads: a path, a DataFrame, the name of
        an example.
    folder
        Where `report.md`, `data/` and `figures/` go. The same call continues an interrupted one.
    splits, seed
        Random splits into training and test instances, and the seed of all experiments.
    only
        Some of "estimators", "m", "n" and "k"; all if not given.
    delta
        Bounds stand beside the error that 1 − delta of the splits stay below.
    workers
        Processes; one per core if not given. Results do not depend on it.
    progress
        Called with the current part and the share of all work that is done.
    """
    raise NotImplementedError
