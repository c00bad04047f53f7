"""Instances of a scenario: by list, by pattern, or from a file that says more of each."""

import csv
import glob
import hashlib
import io
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import Field

from truecost.errors import InputError
from truecost.running.metric import TomlTable

Words = Annotated[tuple[str, ...], Field(min_length=1, strict=False)]


class InstanceTable(TomlTable):
    """The table [instances] of the scenario file: exactly one of these."""

    glob: str | None = None
    files: Words | None = None
    file: str | None = None
    names: Words | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Instance:
    """An instance: its name, what the target is told (a path, as a rule), and what else is known of it."""

    name: str
    argument: str
    extras: Mapping[str, str]
    is_file: bool = True

    def digest(self) -> str:
        """A hash of the content: the same name with another content is another instance."""
        hashed = hashlib.sha256(json.dumps(dict(self.extras), sort_keys=True).encode("utf-8", "surrogatepass"))
        if self.is_file:
            with Path(self.argument).open("rb") as file:
                while part := file.read(1 << 20):
                    hashed.update(part)
        return hashed.hexdigest()[:16]


def read_instances(table: InstanceTable, folder: Path) -> list[Instance]:
    """The instances that the table names, each checked to be there."""
    given = [key for key in ("glob", "files", "file", "names") if getattr(table, key) is not None]
    if len(given) != 1:
        raise InputError(f"instances: expected one of glob, files, file and names, got {', '.join(given) or 'none'}.")
    rows: list[tuple[str, str, dict[str, str]]]
    if table.glob is not None:
        found = sorted(glob.glob(table.glob, root_dir=folder, recursive=True))  # noqa: PTH207 - also takes absolute patterns
        rows = [(name, str(folder / name), {}) for name in found if (folder / name).is_file()]
        if not rows:
            raise InputError(f"instances.glob: expected files, got none for {table.glob!r:.80} in {folder}.")
    elif table.files is not None:
        rows = [(name, str(folder / name), {}) for name in table.files]
    elif table.file is not None:
        rows = _listed(folder / table.file)
    else:
        rows = [(name, name, {}) for name in table.names or ()]
    key = given[0]
    instances = [
        Instance(name=name, argument=argument, extras=extras, is_file=table.names is None) for name, argument, extras in rows
    ]
    seen: set[str] = set()
    for instance in instances:
        if not instance.name or "\0" in instance.name:
            raise InputError(f"instances.{key}: expected names of instances, got {instance.name!r:.80}.")
        if not _is_text(instance.name):
            raise InputError(f"instances.{key}: expected names in UTF-8, got {instance.name!r:.80}: rename it.")
        if instance.name in seen:
            raise InputError(f"instances.{key}: expected different instances, got {instance.name!r:.80} twice.")
        seen.add(instance.name)
        if instance.is_file and not Path(instance.argument).is_file():
            raise InputError(f"instances.{key}: expected a file, got {instance.name!r:.120}, which is none.")
    return instances


def _listed(path: Path) -> list[tuple[str, str, dict[str, str]]]:
    """A csv table with a column `instance`, or a plain list, one instance a line."""
    try:
        text = path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"instances.file: {os_reason(error, path)}") from error
    first = text.lstrip().partition("\n")[0]
    if "instance" not in [column.strip() for column in first.split(",")]:
        names = [line.strip() for line in text.splitlines() if line.strip()]
        return [(name, str(path.parent / name), {}) for name in names]
    rows = []
    try:
        reader = csv.DictReader(io.StringIO(text.lstrip(), newline=""), strict=True, skipinitialspace=True)
        columns = [column.strip() for column in reader.fieldnames or ()]
        if len(set(columns)) != len(columns):
            raise InputError(f"instances.file: {path}: expected different columns, got {', '.join(columns):.80}.")
        reader.fieldnames = columns
        for row in reader:
            if None in row or None in row.values():
                raise InputError(f"instances.file: {path}: line {reader.line_num}: expected {len(columns)} columns.")
            name = row.pop("instance")
            rows.append((name, str(path.parent / name), dict(row)))
    except csv.Error as error:
        raise InputError(f"instances.file: {path}: expected a csv table: {error}.") from error
    if not rows:
        raise InputError(f"instances.file: {path}: expected instances, got none.")
    return rows


def _is_text(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def os_reason(error: Exception, name: object) -> str:
    """Why a file cannot be read, in a sentence."""
    if isinstance(error, OSError):
        return f"{name}: {error.strerror or error}."
    return str(error)
