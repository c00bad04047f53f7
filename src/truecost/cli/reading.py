"""What commands read: runs, in whatever form `import` takes them; and where they may write."""

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from truecost.cli import options
from truecost.errors import InputError

if TYPE_CHECKING:
    from truecost.matrix import CostMatrix
    from truecost.matrix.imported import Import

# What a matrix can be written as.
MATRICES = (".npz", ".parquet", ".csv")


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Runs as the command line names them: where they are, and what their log does not say.

    `path` is None only for commands that can do without runs. The other fields are those of
    `import_runs`.
    """

    path: Path | None
    low: options.Low = None
    high: options.High = None
    cutoff: options.Cutoff = None
    par: options.Par = None
    objective: options.Objective = None
    fidelity: options.Fidelity = None
    columns: options.Columns = None
    default: options.Default = None
    utility: options.Utility = None
    kind: options.Kind = None

    @property
    def place(self) -> Path | None:
        """Where the runs are: of an example, in the package."""
        return None if self.path is None else example_or(self.path)

    def read(self) -> "Import":
        """What is there, whatever tool left it."""
        from truecost.importers.detect import import_runs

        if self.path is None:
            raise InputError("Expected runs to read, got none.")
        place = example_or(self.path)
        given = {
            each.name: getattr(self, each.name)
            for each in fields(self)
            if each.name not in ("path", "columns")
        }
        found = import_runs(place, **given, columns=_columns(self.columns or []))
        if place != self.path and self.path.exists():
            note = (
                f"These are the runs of the example: what is called {self.path} here holds no runs."
            )
            found = replace(found, notes=(note, *found.notes))
        return found

    def test_runs(
        self,
        found: "Import",
        test: Path | None,
        configuration: str | None = None,
        chosen: str | None = None,
    ) -> "CostMatrix | Import | None":
        """Runs on fresh instances: those named by `test`, else the log's own.

        The log's own serve where nothing else is asked for, and the configuration has some there.
        """
        if test is not None:
            # What a cost is holds for both; which columns or objective a log has is its own affair,
            # and a journal knows its range itself.
            from truecost.journal.file import is_journal

            known = test.is_file() and is_journal(test)
            named = (
                ("cutoff", "par", "utility")
                if known
                else ("low", "high", "cutoff", "par", "utility")
            )
            same = {name: getattr(self, name) for name in named}
            return Source(path=test, **same).read()
        name = configuration or found.trajectory.incumbent
        if found.test is None or chosen is not None or name not in found.test.configurations:
            return None
        return found.test

    @property
    def is_example(self) -> bool:
        """Whether the runs are those of an example."""
        return self.path is not None and example_or(self.path) != self.path

    def words(self) -> tuple[str, ...]:
        """The options again, as words of a command to paste."""
        given = {
            each.name: getattr(self, each.name)
            for each in fields(self)
            if each.name not in ("path", "columns")
        }
        named = [
            (name, f"{value:g}" if isinstance(value, float) else value)
            for name, value in given.items()
        ]
        named += [("column", word) for word in self.columns or ()]
        return tuple(f"--{name}={value}" for name, value in named if value is not None)


def reads_runs(
    command: Callable[..., None] | None = None, *, without: str | None = None
) -> Callable[..., Any]:
    """Make a command that takes a Source one that takes RUNS and every option of reading them.

    Parameters
    ----------
    command
        Its first parameter is the Source; its other parameters are its own.
    without
        Where RUNS may be left out: what happens then, for the help.
    """
    if command is None:
        return lambda each: reads_runs(each, without=without)
    path: Any = Annotated[Path, typer.Argument(help=f"{options.READS}.", show_default=False)]
    if without is not None:
        path = Annotated[
            Path | None, typer.Argument(help=f"{options.READS}; {without}.", show_default=False)
        ]
    keyword = inspect.Parameter.KEYWORD_ONLY
    first = inspect.Parameter(
        "runs",
        keyword,
        annotation=path,
        default=inspect.Parameter.empty if without is None else None,
    )
    _, *own = (
        each.replace(kind=keyword)
        for each in inspect.signature(command, eval_str=True).parameters.values()
    )
    read = [
        inspect.Parameter(each.name, keyword, annotation=each.type, default=None)
        for each in fields(Source)[1:]
    ]

    @wraps(command)
    def reading(runs: Path | None = None, **given: Any) -> None:
        source = Source(path=runs, **{each.name: given.pop(each.name) for each in read})
        command(source, **given)

    shown = [first, *own, *read]
    reading.__signature__ = inspect.Signature(shown)  # type: ignore[attr-defined]
    reading.__annotations__ = {each.name: each.annotation for each in shown}
    return reading


def example_or(path: Path) -> Path:
    """The file of an example, where an example is called so and no file or folder of that name
    holds runs.
    """
    from truecost import examples

    if len(path.parts) != 1 or path.name not in examples.names():
        return path
    if path.exists():
        from truecost.importers.detect import holds_runs

        if holds_runs(path):
            return path
    return examples.path_of(path.name)


def check_out(out: Path | None, *sources: Path | None, endings: Sequence[str] = ()) -> None:
    """Refuse a place that cannot be written, or that is one of the sources, before the work and not
    after it.
    """
    if out is None:
        return
    if endings and out.suffix not in endings:
        *others, last = endings
        raise InputError(
            f"{out}: expected a name that ends in {', '.join(others)}{' or ' if others else ''}{last}."
        )
    if out.is_dir():
        raise InputError(f"{out}: expected the name of a file to write, got a folder.")
    if not out.absolute().parent.is_dir():
        raise InputError(f"{out}: expected a folder that is there, {out.absolute().parent} is not.")
    for source in sources:
        if source is not None and out.exists() and source.exists() and out.samefile(source):
            raise InputError(
                f"{out}: expected another file for what is written than for what is read."
            )


def names_in(path: Path) -> list[str]:
    """The names of instances in a file, one a line, each once."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError:
        raise InputError(
            f"{path}: expected names of instances, one a line, got something that is no text."
        ) from None
    names = list(dict.fromkeys(line.strip() for line in lines if line.strip()))
    if not names:
        raise InputError(f"{path}: expected names of instances, one a line, got none.")
    return names


def _columns(words: list[str]) -> dict[str, str]:
    pairs = [word.partition("=") for word in words]
    for word, (ours, sign, theirs) in zip(words, pairs, strict=True):
        if not (ours and sign and theirs):
            raise InputError(
                f"Expected --column OURS=THEIRS, cost=PAR10 for instance, got {word!r}."
            )
    return {ours: theirs for ours, _, theirs in pairs}
