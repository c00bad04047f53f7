"""Instances of a scenario: by list, by pattern, from a file that says more of each, or made by a
generator from seeds.
"""

import csv
import glob
import hashlib
import io
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

from pydantic import Field

from truecost.errors import InputError, prefixed
from truecost.journal.metric import TomlTable
from truecost.matrix.families import FAMILY, FOLDER, families_of
from truecost.running.tables import Words
from truecost.runs import Instance, Recipe

# The maximum number of generated instances, and the seconds that making one may take.
MOST_GENERATED = 10_000
MAKING = 600.0


class InstanceTable(TomlTable):
    """The table [instances] of the scenario file: exactly one of the first five.

    `families` says which instances belong together: "folder", a csv file with instance and family,
    a column of `file`, or a regular expression over the names.
    """

    glob: str | None = None
    files: Words | None = None
    file: str | None = None
    names: Words | None = None
    generator: Words | None = None
    count: Annotated[int, Field(ge=1, le=MOST_GENERATED)] | None = None
    suffix: str = ""
    families: str | None = None


def make(recipe: Recipe, path: Path) -> None:
    """Write the instance; whole, or not at all."""
    # Somebody else may make the same one at the same time.
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix="new-", suffix=path.suffix)
    os.close(handle)
    words = [word.replace("{file}", name) for word in recipe.command]
    try:
        ended = subprocess.run(  # noqa: S603 - the scenario's own program, without a shell
            words,
            cwd=recipe.folder,
            capture_output=True,
            timeout=MAKING,
            check=False,
            stdin=subprocess.DEVNULL,
        )
        errors = ended.stderr.decode("utf-8", "replace").strip().splitlines()
        if ended.returncode:
            raise InputError(
                f"instances.generator: expected exit code 0, got {ended.returncode} "
                f"({errors[-1] if errors else ''!s:.200}) from {words}."
            )
        if not Path(name).stat().st_size:
            raise InputError(
                "instances.generator: expected an instance in {file}, got an empty one from "
                f"{words}."
            )
        Path(name).replace(path)
    except OSError as error:
        raise InputError(
            f"instances.generator: cannot start {words[0]!r:.200}: {error.strerror}."
        ) from error
    except subprocess.TimeoutExpired:
        raise InputError(
            f"instances.generator: expected an end within {MAKING:g} s, got none of {words}."
        ) from None
    finally:
        Path(name).unlink(missing_ok=True)


def prepare(instance: Instance) -> None:
    """Have it made where it is not there yet: on any machine the same."""
    if instance.recipe is not None and not Path(instance.argument).exists():
        make(instance.recipe, Path(instance.argument))


def read_instances(table: InstanceTable, folder: Path, seed: int) -> list[Instance]:
    """The instances that the table names, each checked to be there; generated ones are made when
    they are needed.
    """
    given = [
        key
        for key in ("glob", "files", "file", "names", "generator")
        if getattr(table, key) is not None
    ]
    if len(given) != 1:
        raise InputError(
            "instances: expected one of glob, files, file, names and generator, got "
            f"{', '.join(given) or 'none'}."
        )
    if table.generator is not None:
        if table.families is not None:
            raise InputError("instances: expected no families of instances that a generator makes.")
        return _generated(table, table.generator, folder, seed)
    if table.count is not None or table.suffix:
        raise InputError("instances: expected count and suffix with a generator only.")
    rows: list[tuple[str, str, dict[str, str]]]
    if table.glob is not None:
        # Unlike pathlib's, it also takes absolute patterns.
        names = sorted(glob.glob(table.glob, root_dir=folder, recursive=True))  # noqa: PTH207
        rows = [(name, str(folder / name), {}) for name in names if (folder / name).is_file()]
        if not rows:
            raise InputError(
                f"instances.glob: expected files, got none for {table.glob!r:.80} in {folder}."
            )
    elif table.files is not None:
        rows = [(name, str(folder / name), {}) for name in table.files]
    elif table.file is not None:
        with prefixed(f"instances.file: {folder / table.file}"):
            rows = _listed(folder / table.file)
    else:
        rows = [(name, name, {}) for name in table.names or ()]
    instances = [
        Instance(name=name, argument=argument, extras=extras, is_file=table.names is None)
        for name, argument, extras in rows
    ]
    with prefixed(f"instances.{given[0]}"):
        _check_names(instances)
    return instances if table.families is None else _with_families(instances, table, folder)


def _check_names(instances: Sequence[Instance]) -> None:
    seen: set[str] = set()
    for instance in instances:
        name = instance.name
        if not name or "\0" in name:
            raise InputError(f"expected names of instances, got {name!r:.80}.")
        # Names of files may be bytes that are no text.
        if name.encode(errors="replace").decode() != name:
            raise InputError(f"expected names in UTF-8, got {name!r:.80}: rename it.")
        if name in seen:
            raise InputError(f"expected different instances, got {name!r:.80} twice.")
        seen.add(name)
        if instance.is_file and not Path(instance.argument).is_file():
            raise InputError(f"expected a file, got {name!r:.120}, which is none.")


def _with_families(instances: list[Instance], table: InstanceTable, folder: Path) -> list[Instance]:
    """The instances, each with its family among what is known of it."""
    named = table.families or ""
    if all(named in instance.extras for instance in instances):
        labels = [instance.extras[named] for instance in instances]
    else:
        mapping = folder / named
        how = mapping if named != FOLDER and mapping.is_file() else named
        with prefixed("instances.families"):
            labels = list(families_of([instance.name for instance in instances], how))
    return [
        replace(instance, extras={**instance.extras, FAMILY: label})
        for instance, label in zip(instances, labels, strict=True)
    ]


def numbered(instances: Sequence[Instance]) -> list[Instance]:
    """The instances with their places in this list."""
    return [replace(instance, number=place) for place, instance in enumerate(instances, 1)]


def listed(path: Path, folders: Sequence[Path]) -> list[Instance]:
    """The instances in a file as irace reads it: one per line, comments from `#` on.

    A line that names a file, from one of the folders, is that file; any other is the instance
    itself, a text with arguments for the target.
    """
    with prefixed(path):
        names = [line.partition("#")[0].strip() for line in _text(path).splitlines()]
    instances = []
    for name in dict.fromkeys(filter(None, names)):
        files = [folder / name for folder in folders if (folder / name).is_file()]
        argument = str(files[0].resolve()) if files else name
        instances.append(Instance(name=name, argument=argument, extras={}, is_file=bool(files)))
    if not instances:
        raise InputError(f"{path}: expected instances, one per line, got none.")
    return numbered(instances)


def matching(pattern: str, folder: Path) -> list[Instance]:
    """The files that a pattern finds from a folder, called as the pattern finds them."""
    return [
        replace(instance, argument=str(Path(instance.argument).resolve()))
        for instance in read_instances(InstanceTable(glob=pattern), folder, 0)
    ]


def check_generator(instances: Sequence[Instance]) -> None:
    """Refuse a generator that makes another instance from the same seed."""
    # One of them stands for all.
    first = next((instance for instance in instances if instance.recipe is not None), None)
    if first is None or first.recipe is None:
        return
    with tempfile.TemporaryDirectory() as folder:
        made = [Path(folder) / f"{place}{Path(first.argument).suffix}" for place in range(2)]
        for path in made:
            make(first.recipe, path)
        if made[0].read_bytes() != made[1].read_bytes():
            raise InputError(
                "instances.generator: expected the same instance from the same seed, got two: "
                f"{first.recipe.command}."
            )


def _generated(
    table: InstanceTable, command: Sequence[str], folder: Path, seed: int
) -> list[Instance]:
    text = " ".join(command)
    if "{seed}" not in text or "{file}" not in text:
        raise InputError(
            f"instances.generator: expected '{{seed}}' and '{{file}}' in it, got {list(command)}."
        )
    if os.sep in table.suffix or "\0" in f"{table.suffix}{text}":
        raise InputError(
            f"instances.suffix: expected an ending such as '.cnf', got {table.suffix!r:.60}."
        )
    words = [
        word.replace("{python}", sys.executable).replace("{scenario}", str(folder))
        for word in command
    ]
    hashed = hashlib.sha256(json.dumps([*command, table.suffix]).encode())
    for word in words:
        if (folder / word).is_file() and word != sys.executable:
            hashed.update((folder / word).read_bytes())
    where = folder / "generated" / hashed.hexdigest()[:10]
    seeds: dict[int, None] = {}
    for number in range(table.count or MOST_GENERATED):
        drawn = hashlib.sha256(json.dumps([seed, "instance", number]).encode()).digest()
        seeds[1 + int.from_bytes(drawn[:8], "big") % (2**31 - 1)] = None
    return [
        Instance(
            name=f"seed-{number}{table.suffix}",
            argument=str(where / f"seed-{number}{table.suffix}"),
            extras={"generator_seed": str(number)},
            recipe=Recipe(
                command=tuple(word.replace("{seed}", str(number)) for word in words), folder=folder
            ),
        )
        for number in seeds
    ]


def _listed(path: Path) -> list[tuple[str, str, dict[str, str]]]:
    """A csv table with a column `instance`, or a plain list, one instance a line."""
    text = _text(path)
    first = text.lstrip().partition("\n")[0]
    if "instance" not in [column.strip() for column in first.split(",")]:
        names = [line.strip() for line in text.splitlines() if line.strip()]
        return [(name, str(path.parent / name), {}) for name in names]
    rows = []
    try:
        reader = csv.DictReader(
            io.StringIO(text.lstrip(), newline=""), strict=True, skipinitialspace=True
        )
        columns = [column.strip() for column in reader.fieldnames or ()]
        if len(set(columns)) != len(columns):
            raise InputError(f"expected different columns, got {', '.join(columns):.80}.")
        reader.fieldnames = columns
        for row in reader:
            if None in row or None in row.values():
                raise InputError(f"line {reader.line_num}: expected {len(columns)} columns.")
            name = row.pop("instance")
            rows.append((name, str(path.parent / name), dict(row)))
    except csv.Error as error:
        raise InputError(f"expected a csv table: {error}.") from error
    if not rows:
        raise InputError("expected instances, got none.")
    return rows


def _text(path: Path) -> str:
    """The content of a file."""
    try:
        return path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{getattr(error, 'strerror', None) or error}.") from error
