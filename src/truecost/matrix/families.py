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
from truecost.matrix.instances import Parts, path_ends, path_parts

FOLDER, PREFIX = "folder", "prefix"
# What people call a column of families.
COLUMNS = ("family", "families", "family_name", "class", "group")
# How many instances without a family a message names.
NAMED = 3


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


def is_rule(families: object) -> bool:
    """Whether families are given by a mapping, a file or a rule, not by the name of a column."""
    return not isinstance(families, str) or families in (FOLDER, PREFIX) or Path(families).is_file()


def by_folder(instances: Sequence[str]) -> tuple[str, ...]:
    """The folder in which each instance lies, below the one that all share."""
    folders = [path_parts(name)[:-1] for name in instances]
    depths = enumerate(zip(*folders, strict=False))
    shared = next(
        (depth for depth, parts in depths if len(set(parts)) > 1), min(map(len, folders), default=0)
    )
    labels = [parts[shared] if len(parts) > shared else None for parts in folders]
    if len(set(labels)) < 2:
        raise InputError("All instances lie in one folder. Give families as a csv file.")
    return _complete(instances, labels, "its folder")


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
        text = path.read_text(encoding="utf-8-sig")
        separator = max(",;\t", key=text.partition("\n")[0].count)
        rows = [row for row in csv.reader(text.splitlines(), delimiter=separator) if row]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path}: this is no csv file of families ({error}).") from None
    if not rows or min(map(len, rows)) < 2:
        raise InputError(f"{path}: a row has fewer than two columns. Give instance and family.")
    head = [cell.strip().lower() for cell in rows[0]]
    named = [head.index(column) for column in COLUMNS if column in head]
    if not named and len(head) > 2:
        raise InputError(
            f"{path}: none of {len(head)} columns is called family. Give two, instance and family."
        )
    # Without a header, the columns are instance and family.
    family = named[0] if named else 1
    instance = head.index("instance") if named and "instance" in head else int(family == 0)
    mapping: dict[str, str] = {}
    for row in rows[1:] if named else rows:
        name, label = row[instance].strip(), row[family].strip()
        if mapping.setdefault(name, label) != label:
            raise InputError(f"{path}: {name!r} has several families. Keep one.")
    return mapping


def _matched(instances: Sequence[str], mapping: Mapping[str, str], source: str) -> tuple[str, ...]:
    """The family of each instance by the longest end of its path that is the end of a path in the
    mapping.
    """
    families: dict[Parts, set[str]] = {}
    for name, family in mapping.items():
        for end in path_ends(name):
            families.setdefault(end, set()).add(str(family))
    labels: list[str | None] = []
    for instance in instances:
        owners = next((families[end] for end in path_ends(instance) if end in families), set())
        if instance in mapping:
            owners = {str(mapping[instance])}
        if len(owners) > 1:
            raise InputError(
                f"{instance!r} may belong to {' or '.join(sorted(owners))} by {source}. Give more "
                "of its path there."
            )
        labels.append(next(iter(owners), None))
    return _complete(instances, labels, source)


def _complete(
    instances: Sequence[str], labels: Sequence[str | None], source: str
) -> tuple[str, ...]:
    if missing := [name for name, label in zip(instances, labels, strict=True) if not label]:
        more = ", …" if len(missing) > NAMED else ""
        raise InputError(
            f"{counted(len(missing), 'instance')} of {len(instances):,} without a family by "
            f"{source}: {', '.join(missing[:NAMED])}{more}. Add them."
        )
    return tuple(label for label in labels if label is not None)
