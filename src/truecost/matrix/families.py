"""Which family an instance belongs to: from a mapping, its folder, or its name; and its weight.

Names are matched by the end of their path, so that a mapping that knows `a.cnf` fits instances
called `sat/crypto/a.cnf`. A folder that all instances share is no grouping.
"""

import contextlib
import csv
import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import TypeVar

from truecost.errors import InputError

FOLDER = "folder"
# Where a scenario and a journal keep the family of an instance.
FAMILY = "family"
# What the column of families is called, by those who have one.
COLUMNS = ("family", "families", "family_name", "class", "group")
# And what the weights of instances are called.
WEIGHTS = ("weight", "weights", "instance_weight", "sampling_weight")
# Of the instances without a family, how many a message names.
NAMED = 3
Label = TypeVar("Label", str, float)
LARGEST = 100_000_000


def families_of(
    instances: Sequence[str], families: "str | Path | Mapping[str, str]"
) -> tuple[str, ...]:
    """The family of each instance.

    Parameters
    ----------
    instances
        Their names.
    families
        A mapping from names to families, or a csv file that holds one; `"folder"` for the folders
        that instances lie in; or a regular expression, whose first group (or match) is the family.
    """
    if isinstance(families, Mapping):
        return _matched(instances, families, "the mapping", "family")
    if str(families) == FOLDER:
        return by_folder(instances)
    path = Path(families)
    if isinstance(families, Path) or path.is_file():
        return _matched(instances, _read(path, COLUMNS, "family"), str(path), "family")
    try:
        pattern = re.compile(str(families))
    except re.error as error:
        raise InputError(
            f"Expected families to be {FOLDER!r}, a csv file or a regular expression, got "
            f"{str(families)!r:.60} ({error})."
        ) from None
    matches = [pattern.search(name) for name in instances]
    group = 1 if pattern.groups else 0
    labels = [None if match is None else match[group] for match in matches]
    return _whole(instances, labels, f"the pattern {str(families)!r:.60}", "family")


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
        raise InputError("Expected instances in several folders, and all share one.")
    return _whole(instances, labels, "its folder", "family")


def candidates(
    instances: Sequence[str], families: Sequence[str] | None = None
) -> dict[str, tuple[str, ...]]:
    """Groupings that may matter: the families declared, folders, and how names begin."""
    groupings: dict[str, tuple[str, ...]] = {}
    if families is not None:
        groupings["family"] = tuple(families)
    with contextlib.suppress(InputError):
        groupings[FOLDER] = by_folder(instances)
    names = [PurePosixPath(name).name for name in instances]
    # Letters up to the first digit or separator: `ssAES_4-4-8` begins with ssAES.
    groupings["name"] = tuple(re.findall(r"^[^\W\d_]*", name)[0] for name in names)
    sizes = {name: len(set(labels)) for name, labels in groupings.items()}
    return {name: groupings[name] for name, size in sizes.items() if 1 < size < len(instances)}


# As a regular expression for `families_of`: how the name of the file begins.
NAME_PATTERN = r"([^\W\d_]*)[^/]*$"


Weight = float | tuple[float, float]


def mix_of(text: str) -> dict[str, Weight]:
    """The weight of each family: `"A=0.7,B=0.3"`, or the path of a csv file with family and weight;
    `"A=0.5..0.8,B=0.2..0.5"` for ranges of weights.
    """
    path = Path(text)
    if path.is_file():
        pairs = [(row[0], row[1]) for row in _rows(path)]
        if pairs and not _weight(pairs[0][1]):
            pairs = pairs[1:]
    else:
        pairs = [tuple(part.rsplit("=", 1)) for part in text.split(",")]  # type: ignore[misc]
    mix: dict[str, Weight] = {}
    for pair in pairs:
        weights = _weight(pair[1]) if len(pair) == 2 and pair[0].strip() else ()
        if not weights:
            raise InputError(
                f"Expected a `mix` like A=0.7,B=0.3 or A=0.5..0.8,B=0.2..0.5, or a csv file with "
                f"family and weight, got {text!r:.60}."
            )
        if pair[0].strip() in mix:
            raise InputError(
                f"Expected every family of a `mix` once, got {pair[0].strip()!r} again."
            )
        mix[pair[0].strip()] = weights[0] if len(weights) == 1 else (weights[0], weights[-1])
    return mix


def weights_in(path: Path) -> dict[str, float]:
    """The weight of each instance in a csv file: a column of weights, and one of names."""
    return checked_weights(_read(path, WEIGHTS, "weight"), str(path))


def checked_weights(weights: Mapping[str, str | float], source: str) -> dict[str, float]:
    """Weights as numbers, none of them below 0, and not all of them 0."""
    numbers = {
        name: float(weight) if _is_number(str(weight)) else -1.0 for name, weight in weights.items()
    }
    if wrong := [name for name, weight in numbers.items() if weight < 0]:
        raise InputError(
            f"Expected a weight of 0 or more for {wrong[0]!r} in {source}, got "
            f"{weights[wrong[0]]!r:.40}."
        )
    if not any(numbers.values()):
        raise InputError(f"Expected a weight above 0 in {source}, got none.")
    return numbers


def instance_weights(instances: Sequence[str], weights: Mapping[str, float]) -> tuple[float, ...]:
    """The weight of each instance, by the end of its path as for families."""
    return _matched(instances, weights, "the weights", "weight")


def _weight(text: str) -> tuple[float, ...]:
    """One number, or the two of a range; none where it is neither."""
    parts = text.split("..")
    return tuple(map(float, parts)) if len(parts) <= 2 and all(map(_is_number, parts)) else ()


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def _rows(path: Path) -> list[list[str]]:
    """The rows of a csv file with two columns at least."""
    try:
        if path.stat().st_size > LARGEST:
            raise InputError(f"{path}: expected a csv file of at most {LARGEST:,} bytes.")
        text = path.read_text(encoding="utf-8-sig")
        separator = max(",;\t", key=text.partition("\n")[0].count)
        rows = [row for row in csv.reader(text.splitlines(), delimiter=separator) if row]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path}: expected a csv file of families ({error}).") from None
    if not rows or min(len(row) for row in rows) < 2:
        raise InputError(f"{path}: expected two columns in every row.")
    return rows


def _read(path: Path, columns: Sequence[str], what: str) -> dict[str, str]:
    """The mapping in a csv file: a column of labels, and one of instances, or the first."""
    rows = _rows(path)
    head = [cell.strip().lower() for cell in rows[0]]
    label = next((head.index(name) for name in columns if name in head), None)
    name = 0 if label != 0 else 1
    if label is not None and "instance" in head:
        name = head.index("instance")
    body = rows if label is None else rows[1:]
    mapping: dict[str, str] = {}
    for row in body:
        key, value = row[name].strip(), row[1 if label is None else label].strip()
        if mapping.setdefault(key, value) != value:
            raise InputError(f"{path}: expected one {what} for {key!r}, got several.")
    return mapping


def _matched(
    instances: Sequence[str], mapping: Mapping[str, Label], source: str, what: str
) -> tuple[Label, ...]:
    """The label of each instance by the longest end of its path that the mapping knows, or that
    is the end of a path the mapping knows.
    """
    # Every end of every known path, so that instances may have longer or shorter paths.
    ends: dict[str, set[Label]] = {}
    for name, value in mapping.items():
        parts = PurePosixPath(name).parts
        for start in range(len(parts)):
            ends.setdefault("/".join(parts[start:]), set()).add(value)
    labels: list[Label | None] = []
    for instance in instances:
        parts = PurePosixPath(instance).parts
        known = (ends.get("/".join(parts[start:]), set()) for start in range(len(parts)))
        owners = next((values for values in known if values), set())
        if instance in mapping:
            owners = {mapping[instance]}
        if len(owners) > 1:
            raise InputError(
                f"Expected one {what} for {instance!r} in {source}, got "
                f"{', '.join(sorted(map(str, owners)))}."
            )
        labels.append(next(iter(owners), None))
    return _whole(instances, labels, source, what)


def _whole(
    instances: Sequence[str], labels: Sequence[Label | None], source: str, what: str
) -> tuple[Label, ...]:
    pairs = list(zip(instances, labels, strict=True))
    if missing := [name for name, label in pairs if label is None or label == ""]:
        more = ", …" if len(missing) > NAMED else ""
        raise InputError(
            f"Expected a {what} for every instance from {source}; {len(missing):,} of "
            f"{len(instances):,} have none: {', '.join(missing[:NAMED])}{more}."
        )
    return tuple(label for label in labels if label is not None)
