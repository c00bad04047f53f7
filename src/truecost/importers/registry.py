"""Which importers there are, and what each is shown to say whether it can read something."""

import csv
import os
import pkgutil
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from truecost.errors import InputError
from truecost.importers import packed
from truecost.importers.record import Options
from truecost.matrix import files
from truecost.matrix.imported import Import

GROUP = "truecost.importers"
FORMATS = "truecost.importers.formats"
START = 1 << 16
LONGEST_LINE = 16 << 20
# Our own files come first, since the others load more. Any text may be a table: that is asked last.
FIRST = ("journal", "matrix")
LAST = ("table",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """Something that may hold runs.

    Parameters
    ----------
    source
        The path of a file or folder; or an object of Python, such as a data frame.
    start
        The first bytes of a file as they are, and `content` as they are unpacked.
    """

    source: Any
    start: bytes = b""
    content: bytes = b""

    @classmethod
    def of(cls, source: Any) -> "Candidate":
        """What an importer is shown of a path or an object."""
        if not isinstance(source, str | os.PathLike):
            return cls(source=source)
        path = Path(source)
        if path.is_dir():
            return cls(source=path)
        # A pipe would be read once and then be empty.
        if path.exists() and not path.is_file():
            raise InputError("expected a file or a folder, got something else.")
        with path.open("rb") as file:
            start = file.read(START)
            file.seek(0)
            try:
                # As far as it can be unpacked: a file that was cut off still shows what it is.
                content = packed.unpacking(file).read1(START)
            except packed.DAMAGE:
                content = b""
        return cls(source=path, start=start, content=content)

    @property
    def path(self) -> Path | None:
        """The file or folder; None for an object."""
        return self.source if isinstance(self.source, Path) else None

    @property
    def text(self) -> str:
        """The beginning of a file that is text, without what blanks it begins with."""
        if b"\0" in self.start:
            return ""
        return self.start.decode(errors="replace").lstrip("\ufeff \t\r\n")

    @property
    def is_frame(self) -> bool:
        """Whether it is a data frame, or a parquet file, which is read as one."""
        return self.start.startswith(packed.PARQUET) or (
            hasattr(self.source, "columns") and hasattr(self.source, "__getitem__")
        )

    @property
    def columns(self) -> list[str]:
        """Names of the columns: of a data frame, or in the first line of a text."""
        if self.is_frame:
            # Here, since matrices and journals need nothing of polars, which takes long to load.
            from truecost.importers.frames import as_frame

            frame = self.source if self.path is None else as_frame(self.source)
            return [str(name) for name in frame.columns]
        return next(iter(self.rows(1)), [])

    def rows(self, count: int) -> list[list[str]]:
        """The first lines of a text as rows of a table, however wide it is."""
        path = self.path
        if path is None or path.is_dir() or not self.text:
            return []
        with path.open("rb") as file:
            file.seek(len(self.start) - len(files.without_preamble(self.start)))
            lines = [file.readline(LONGEST_LINE).decode(errors="replace") for _ in range(count)]
        try:
            separator, names = files.fields_of(lines[0])
            return [names, *csv.reader(lines[1:], delimiter=separator)]
        except csv.Error:
            return []

    def holds(self, *names: str) -> bool:
        """Whether it is a folder with all of these files."""
        path = self.path
        return path is not None and path.is_dir() and all((path / name).is_file() for name in names)


@dataclass(frozen=True, slots=True, kw_only=True)
class Importer:
    """How one format is read.

    Parameters
    ----------
    name
        What `kind` calls it.
    title
        What people call it.
    recognise
        Whether something is in this format, by a look at its beginning; raises `InputError` where
        it is, and cannot be read in this form.
    read
        The runs in it. What cannot be read is an `InputError` of one line.
    """

    name: str
    title: str
    recognise: Callable[[Candidate], bool]
    read: Callable[[Any, Options], Import]


def importers() -> Iterator[Importer]:
    """Every importer, in the order in which they are asked; each is loaded when it is its turn."""
    modules = [
        module.name for module in pkgutil.iter_modules([str(Path(__file__).with_name("formats"))])
    ]
    special = (*FIRST, *LAST)
    for name in (*FIRST, *(name for name in modules if name not in special)):
        yield _built_in(name)
    yield from _plugged_in()
    for name in LAST:
        yield _built_in(name)


def importer_of(name: str) -> Importer:
    """The importer of this name."""
    known = []
    for importer in importers():
        if importer.name == name:
            return importer
        known.append(importer.name)
    raise InputError(f"Expected one of the kinds {', '.join(sorted(known))}, got {name!r}.")


def _built_in(name: str) -> Importer:
    importer: Importer = import_module(f"{FORMATS}.{name}").IMPORTER
    return importer


@cache
def _plugged_in() -> tuple[Importer, ...]:
    """The importers of other packages."""
    # One that cannot be loaded must not stop the others.
    loaded = []
    for entry in entry_points(group=GROUP):
        try:
            importer = entry.load()
        except Exception as error:  # whatever somebody else's code raises
            problem = f"{type(error).__name__}: {error}"
        else:
            if isinstance(importer, Importer):
                loaded.append(importer)
                continue
            problem = f"expected an Importer, got {type(importer).__name__}"
        warnings.warn(f"The importer {entry.name!r} cannot be used: {problem:.200}", stacklevel=2)
    return tuple(loaded)
