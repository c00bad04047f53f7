"""The family of each instance: from a mapping or csv file, its folder, or how its name begins.

Names are matched by the end of their path, so that a mapping that knows `a.cnf` fits an instance
called `sat/crypto/a.cnf`. A folder that all instances share is no grouping.
"""

import contextlib
import csv
import re
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath

from truecost.errors import InputError, counted

FOLDER, PREFIX = "folder", "prefix"
# What people call a column of families.
COLUMNS = ("family", "families", "family_name", "class", "group")
# How many instances without a family a message names.
NAMED = 3
LARGEST = 100_000_000


def families_of(
    instances: Sequence[str], families: "str | Path | Mapping[str, str]"
) -> tuple[str, ...]:
    """Find the family of each instance.

    Parameters
    ----------
    instances
        Their names.
    families
        A mapping from names to families, or a csv file that holds one; `"folder"` for the folders
        that instances lie in; `"prefix"` for the letters that their names begin with.
    """
    if isinstance(families, Mapping):
        return _matched(instances, families, "the mapping")
    if str(families) == FOLDER:
        return by_folder(instances)
    if str(families) == PREFIX:
        return by_prefix(instances)
    path = Path(families)
    if not path.is_file():
        raise InputError(
            f"families is {str(families)!r:.60}, which is no file. Give a csv file with the "
            f"columns instance and family, {FOLDER!r} or {PREFIX!r}."
        )
    return _matched(instances, _read(path), str(path))


def by_folder(instances: Sequence[str]) -> tuple[str, ...]:
    """The folder in which each instance lies, below the one that all share."""
    folders = [PurePosixPath(name).parts[:-1] for name in instances]
    shared = 0
    while all(len(parts) > shared for parts in folders) and (
        len({parts[shared] for parts in folders}) == 1
    ):
        shared += 1
    labels = [parts[shared] if len(parts) > shared else None for parts in folders]
    if len(set(labels)) < 2:
        raise InputError("All instances lie in one folder. Give families as a csv file.")
    return _whole(instances, labels, "its folder")


def by_prefix(instances: Sequence[str]) -> tuple[str, ...]:
    """The letters up to the first digit or separator: `ssAES_4-4-8.cnf` begins with ssAES."""
    names = [PurePosixPath(name).name for name in instances]
    return tuple(re.findall(r"^[^\W\d_]*", name)[0] or "(no letters)" for name in names)


def candidate_groupings(
    instances: Sequence[str], families: Sequence[str] | None = None
) -> dict[str, tuple[str, ...]]:
    """Groupings within which instances may be alike: the declared families, folders, prefixes.

    Groupings with one group, or with one group for each instance, are left out.
    """
    groupings: dict[str, tuple[str, ...]] = {}
    if families is not None:
        groupings["family"] = tuple(families)
    with contextlib.suppress(InputError):
        groupings[FOLDER] = by_folder(instances)
    groupings[PREFIX] = by_prefix(instances)
    sizes = {name: len(set(labels)) for name, labels in groupings.items()}
    return {name: groupings[name] for name, size in sizes.items() if 1 < size < len(instances)}


def _read(path: Path) -> dict[str, str]:
    """A csv file as a mapping: a column of families, and one of instances, or the first."""
    try:
        if path.stat().st_size > LARGEST:
            raise InputError(f"{path} is too large for a list of families. Give another file.")
        text = path.read_text(encoding="utf-8-sig")
        separator = max(",;\t", key=text.partition("\n")[0].count)
        rows = [row for row in csv.reader(text.splitlines(), delimiter=separator) if row]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path}: this is no csv file of families ({error}).") from None
    if not rows or min(len(row) for row in rows) < 2:
        raise InputError(f"{path}: a row has fewer than two columns. Give instance and family.")
    head = [cell.strip().lower() for cell in rows[0]]
    label = next((head.index(name) for name in COLUMNS if name in head), None)
    name = 0 if label != 0 else 1
    if label is not None and "instance" in head:
        name = head.index("instance")
    mapping: dict[str, str] = {}
    for row in rows if label is None else rows[1:]:
        key, value = row[name].strip(), row[1 if label is None else label].strip()
        if mapping.setdefault(key, value) != value:
            raise InputError(f"{path}: {key!r} has several families. Keep one.")
    return mapping


def _matched(instances: Sequence[str], mapping: Mapping[str, str], source: str) -> tuple[str, ...]:
    """The family of each instance by the longest end of its path that the mapping knows, or that is
    the end of a path the mapping knows.
    """
    # Every end of every known path, so that instances may have longer or shorter paths.
    ends: dict[str, set[str]] = {}
    for name, value in mapping.items():
        parts = PurePosixPath(name).parts
        for start in range(len(parts)):
            ends.setdefault("/".join(parts[start:]), set()).add(str(value))
    labels: list[str | None] = []
    for instance in instances:
        parts = PurePosixPath(instance).parts
        known = (ends.get("/".join(parts[start:]), set()) for start in range(len(parts)))
        owners = next((values for values in known if values), set())
        if instance in mapping:
            owners = {str(mapping[instance])}
        if len(owners) > 1:
            raise InputError(
                f"{instance!r} may belong to {' or '.join(sorted(owners))} by {source}. Give more "
                "of its path there."
            )
        labels.append(next(iter(owners), None))
    return _whole(instances, labels, source)


def _whole(instances: Sequence[str], labels: Sequence[str | None], source: str) -> tuple[str, ...]:
    pairs = list(zip(instances, labels, strict=True))
    if missing := [name for name, label in pairs if not label]:
        more = ", …" if len(missing) > NAMED else ""
        raise InputError(
            f"{counted(len(missing), 'instance')} of {len(instances):,} without a family by "
            f"{source}: {', '.join(missing[:NAMED])}{more}. Add them."
        )
    return tuple(label for label in labels if label is not None)
