"""What commands read: runs, in whatever form `import` takes them, several logs of one search; and
where they may write.
"""

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from truecost.cli.limits import limited
from truecost.cli.options import READING, READS, asked
from truecost.errors import InputError, did_you_mean

if TYPE_CHECKING:
    from truecost.judge.searches import Searches
    from truecost.matrix.imported import Import


# What a matrix can be written as.
MATRICES = (".npz", ".parquet", ".csv")


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Runs as the command line names them: where they are, and what their log does not say.

    `runs` is None only for commands that can do without. The other fields are those of
    `import_runs`.
    """

    runs: Annotated[Path, typer.Argument(help=f"{READS}.")]
    low: float | None = asked("Lowest possible cost, if the log does not say.", panel=READING)
    high: float | None = asked("Highest possible cost, if the log does not say.", panel=READING)
    cutoff: float | None = asked("Cutoff in seconds; costs are running times.", panel=READING)
    par: float | None = asked(
        "Penalty factor; an unsolved run costs this many cutoffs, 10 if not given.", panel=READING
    )
    objective: str | None = asked(
        "Which cost to take, where there are several; 'time' is the elapsed time in SMAC3.",
        panel=READING,
    )
    fidelity: float | None = asked(
        "Which budget of a multi-fidelity log to take; the largest if not given.", panel=READING
    )
    columns: list[str] | None = asked(
        "What a column of a table is called: cost=PAR10 or configuration=name; repeat as needed.",
        "--column",
        metavar="OURS=THEIRS",
        panel=READING,
    )
    default: str | None = asked(
        "The name of the default configuration, if the log does not say.", panel=READING
    )
    utility: str | None = asked(
        "Costs are 1 − utility of the running time: step=10, linear=300, half-life=60 or "
        "log-laplace=60,1.",
        panel=READING,
    )
    families: str | None = asked(
        "The family of each instance: a csv file with instance and family, 'folder', or a regular "
        "expression over the names.",
        panel=READING,
    )
    maximise: bool | None = asked(
        "Whether higher values of the cost column are better.",
        "--maximise/--minimise",
        panel=READING,
    )
    kind: str | None = asked(
        "The format, if it should not be guessed: irace, smac, smac2, optuna, table, wide, "
        "benchexec, aslib, acl, sklearn, trackers, rds, matrix or journal.",
        panel=READING,
    )

    @property
    def place(self) -> Path | None:
        """Where the runs are: of an example, in the package."""
        from truecost.examples import example_or

        return None if self.runs is None else example_or(self.runs)

    @property
    def is_example(self) -> bool:
        """Whether the runs are those of an example."""
        return self.place != self.runs

    @property
    def stem(self) -> str:
        """The name of the file or folder, as part of the name of another file."""
        return file_stem((self.runs or Path()).resolve().stem) or "runs"

    def read(self) -> "Import":
        """The runs, whatever tool recorded them."""
        from truecost.importers.detect import import_runs

        if (place := self.place) is None:
            raise InputError("Expected runs to read, got none.")
        if not place.exists():
            raise InputError(f"{place}: No such file or folder{_nearest(place)}")
        given = {field.name: getattr(self, field.name) for field in fields(self)[1:]}
        with limited(place):
            log = import_runs(place, **given | {"columns": _columns(self.columns or [])})
        if place != self.runs and self.runs.exists():
            note = (
                f"These are the runs of the example: what is called {self.runs} here holds no runs."
            )
            log = replace(log, notes=(note, *log.notes))
        return log

    def read_test(self, test: Path) -> "Import":
        """Runs on fresh instances, with costs as these have them."""
        from truecost.journal.file import is_journal

        # What a cost is holds for both; which columns or objective a log has is its own affair, and
        # a journal knows its range itself.
        shared = ["cutoff", "par", "utility", "families", "maximise"]
        if not (test.exists() and is_journal(test, marked=True)):
            shared += ["low", "high"]
        return Source(runs=test, **{name: getattr(self, name) for name in shared}).read()


def _nearest(path: Path) -> str:
    """The example, or the file of the same folder, that may have been meant."""
    from truecost import examples

    # Names of files are compared with their folder, as they were typed.
    files = {file.name for file in path.absolute().parent.glob("*")} - {path.name}
    beside = (str(path.with_name(name)) for name in sorted(files))
    return did_you_mean(str(path), [*beside, *examples.names()])


def file_stem(name: str) -> str:
    """A name without the characters that a file name should not have."""
    return re.sub(r"[^\w.-]+", "-", name).strip("-.")


def check_out(out: Path | None, *sources: Path | None, endings: Sequence[str] = ()) -> None:
    """Refuse a place that cannot be written, or that is one of the sources, before the work and not
    after it.
    """
    if out is None:
        return
    if endings and out.suffix not in endings:
        *others, last = endings
        ends = f"{', '.join(others)} or {last}" if others else last
        raise InputError(f"{out}: expected a name that ends in {ends}.")
    if out.is_dir():
        raise InputError(f"{out}: expected the name of a file to write, got a folder.")
    folder = out.absolute().parent
    if not folder.is_dir():
        raise InputError(f"{out}: expected a folder that is there, {folder} is not.")
    if not os.access(out if out.exists() else folder, os.W_OK):
        raise InputError(f"{out}: expected a place that can be written, and it cannot.")
    for source in sources:
        if source is not None and out.exists() and source.exists() and out.samefile(source):
            raise InputError(
                f"{out}: expected another file for what is written than for what is read."
            )


def names_in(path: Path) -> list[str]:
    """The names of instances in a file, one per line, each once."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError:
        raise InputError(
            f"{path}: expected names of instances, one per line, got something that is no text."
        ) from None
    names = list(dict.fromkeys(line.strip() for line in lines if line.strip()))
    if not names:
        raise InputError(f"{path}: expected names of instances, one per line, got none.")
    return names


def _columns(words: list[str]) -> dict[str, str]:
    pairs = [word.partition("=") for word in words]
    for word, (ours, sign, theirs) in zip(words, pairs, strict=True):
        if not (ours and sign and theirs):
            raise InputError(
                f"Expected --column OURS=THEIRS, cost=PAR10 for instance, got {word!r}."
            )
    return {ours: theirs for ours, _, theirs in pairs}


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

    names = _short_names(paths)
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


def _short_names(paths: list[Path]) -> list[str]:
    """Short names: the last parts of the paths, as many as tell them apart."""
    for size in range(1, max(len(path.parts) for path in paths) + 1):
        names = ["/".join(path.parts[-size:]) for path in paths]
        if len(set(names)) == len(names):
            return names
    return [f"{path}, {place}" for place, path in enumerate(paths, 1)]
