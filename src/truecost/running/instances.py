"""Instances of a scenario: from a list, a pattern, or a file that says more about each."""

import csv
import glob
import io
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from truecost.errors import InputError, prefixed
from truecost.matrix.families import families_of
from truecost.running.files import is_text, read_text
from truecost.running.tables import InstanceTable
from truecost.runs import FAMILY, Instance

Row = tuple[str, dict[str, str]]


def read_instances(table: InstanceTable, folder: Path) -> list[Instance]:
    """The instances that the table names; files must exist."""
    given = [key for key in ("glob", "files", "file", "names") if getattr(table, key) is not None]
    if len(given) != 1:
        raise InputError(
            f"[instances] has {' and '.join(given) or 'no instances'}. Give exactly one of glob, "
            "files, file and names."
        )
    rows: list[Row] = [(name, {}) for name in table.files or table.names or ()]
    start = folder
    with prefixed(f"instances.{given[0]}"):
        if table.glob is not None:
            # Unlike pathlib's, it also takes absolute patterns.
            names = sorted(glob.glob(table.glob, root_dir=folder, recursive=True))  # noqa: PTH207
            rows = [(name, {}) for name in names if (folder / name).is_file()]
            if not rows:
                raise InputError(
                    f"no file in {folder} matches {table.glob!r:.80}. Correct the pattern."
                )
        elif table.file is not None:
            start = (folder / table.file).parent
            with prefixed(folder / table.file):
                rows = _rows(read_text(folder / table.file))
        instances = [
            Instance(
                name=name,
                argument=name if table.names is not None else str(start / name),
                extras=extras,
                is_file=table.names is None,
            )
            for name, extras in rows
        ]
        _check_names(instances)
    if table.families is not None:
        instances = _with_families(instances, table, folder)
    labels = [instance.extras.get(FAMILY) for instance in instances]
    if any(labels) and not all(labels):
        name = instances[[bool(label) for label in labels].index(False)].name
        raise InputError(f"instances.families: {name!r:.120} has no family. Give it one.")
    return instances


def _rows(text: str) -> list[Row]:
    """A csv table with a column `instance`, or a plain list, one instance a line."""
    text = text.lstrip()
    rows: list[Row] = []
    if "instance" not in [column.strip() for column in text.partition("\n")[0].split(",")]:
        rows = [(line.strip(), {}) for line in text.splitlines() if line.strip()]
    else:
        try:
            table = io.StringIO(text, newline="")
            reader = csv.DictReader(table, strict=True, skipinitialspace=True)
            columns = [column.strip() for column in reader.fieldnames or ()]
            if len(set(columns)) != len(columns):
                raise InputError(f"Two columns have the same name ({', '.join(columns):.80}).")
            reader.fieldnames = columns
            for row in reader:
                if None in row or None in row.values():
                    raise InputError(
                        f"line {reader.line_num} has not {len(columns)} columns like the first "
                        "line."
                    )
                rows.append((row.pop("instance"), dict(row)))
        except csv.Error as error:
            raise InputError(f"This is not a csv table: {error}.") from error
    if not rows:
        raise InputError("There are no instances in it. Write one per line.")
    return rows


def _check_names(instances: Sequence[Instance]) -> None:
    seen: set[str] = set()
    for instance in instances:
        name = instance.name
        if not name or "\0" in name:
            raise InputError(f"{name!r:.80} is no name of an instance. Remove it.")
        if not is_text(name):
            raise InputError(f"The name {name!r:.80} is not UTF-8. Rename the file.")
        if name in seen:
            raise InputError(f"{name!r:.80} is listed twice. Remove one of the two.")
        seen.add(name)
        if instance.is_file and not Path(instance.argument).is_file():
            raise InputError(
                f"{name!r:.120} is not a file. Correct the name, or use names = […] for instances "
                "that are not files."
            )


def _with_families(instances: list[Instance], table: InstanceTable, folder: Path) -> list[Instance]:
    """The instances, with their families among their extra columns."""
    named = table.families or ""
    if all(named in instance.extras for instance in instances):
        labels = [instance.extras[named] for instance in instances]
    else:
        mapping = folder / named
        how = mapping if mapping.is_file() else named
        with prefixed("instances.families"):
            labels = list(families_of([instance.name for instance in instances], how))
    return [
        replace(instance, extras={**instance.extras, FAMILY: label})
        for instance, label in zip(instances, labels, strict=True)
    ]


def listed(path: Path, folders: Sequence[Path]) -> list[Instance]:
    """The instances in a file as irace reads it: one per line, comments from `#` on.

    A line that names a file in one of the folders is that file; any other line is the instance
    itself, a text with arguments for the target.
    """
    with prefixed(path):
        names = [line.partition("#")[0].strip() for line in read_text(path).splitlines()]
    instances = []
    for place, name in enumerate(dict.fromkeys(filter(None, names)), 1):
        files = [folder / name for folder in folders if (folder / name).is_file()]
        argument = str(files[0].resolve()) if files else name
        instances.append(
            Instance(name=name, argument=argument, extras={}, is_file=bool(files), number=place)
        )
    if not instances:
        raise InputError(f"{path} has no instances. Write one per line.")
    return instances


def matching(pattern: str, folder: Path) -> list[Instance]:
    """The files that a pattern matches in a folder, named as the pattern finds them."""
    return [
        replace(instance, argument=str(Path(instance.argument).resolve()))
        for instance in read_instances(InstanceTable(glob=pattern), folder)
    ]
