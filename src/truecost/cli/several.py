"""Several logs of one search: SMAC3's seeds, repeated runs of irace, several journals."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from truecost.cli.reading import Source
from truecost.errors import InputError

if TYPE_CHECKING:
    from truecost.judge.searches import Searches

Others = Annotated[
    list[Path] | None,
    typer.Argument(
        metavar="[RUNS]...",
        help="More logs of the same search, other seeds for instance: their runs are pooled.",
        show_default=False,
    ),
]
# What a folder of several searches holds, and how deep.
LOGS = ("*.Rdata", "*.db", *(f"{'*/' * depth}runhistory.json" for depth in range(1, 4)))


def searches_of(source: Source, others: list[Path] | None) -> "Searches | None":
    """The searches side by side; None where there is one log."""
    paths = [source.runs, *(others or ())]
    if len(paths) == 1 and paths[0] is not None and paths[0].is_dir():
        paths = _inside(paths[0]) or paths
    if len(paths) < 2:
        return None
    from truecost.judge.searches import BETWEEN, side_by_side

    names = _names(paths)
    logs = [replace(source, runs=path, default=None).read() for path in paths]
    searches = side_by_side(logs, names)
    if source.default is None:
        return searches
    # A configuration of all runs, or one of the first log as that calls it.
    likely = (source.default, f"{names[0]}{BETWEEN}{source.default}")
    default = next((name for name in likely if name in searches.log.matrix.configurations), None)
    if default is None:
        raise InputError(
            f"Expected the name of a configuration as `default`, got {likely[0]!r:.60}."
        )
    trajectory = replace(searches.log.trajectory, default=default)
    return replace(searches, log=replace(searches.log, trajectory=trajectory))


def _inside(folder: Path) -> list[Path]:
    """The logs in a folder of searches; none where it is itself a log, or holds one."""
    if (folder / "runhistory.json").is_file():
        return []
    # The first kind of log that there are several of; kinds are not mixed.
    for pattern in LOGS:
        files = sorted(folder.glob(pattern))
        if len(files) > 1:
            return [file.parent if file.name == "runhistory.json" else file for file in files]
    return []


def _names(paths: list[Path]) -> list[str]:
    """Short names: the last parts of the paths, as many as tell them apart."""
    for size in range(1, max(len(path.parts) for path in paths) + 1):
        names = ["/".join(path.parts[-size:]) for path in paths]
        if len(set(names)) == len(names):
            return names
    return [f"{path}, {place}" for place, path in enumerate(paths, 1)]
