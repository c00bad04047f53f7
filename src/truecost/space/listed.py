"""Configurations from a file: csv, JSON, or a table as irace reads and prints it."""

import csv
import json
import os
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from truecost.errors import InputError
from truecost.space.space import Configuration, Space

# How inactive parameters are written; irace's columns that are no parameters.
INACTIVE = ("", "NA", "<NA>", "NULL", "None", "nan")
BOOKKEEPING = (".ID.", ".PARENT.", ".ALLWEIGHTS.", ".RANK.", ".WEIGHT.")
MOST_BYTES = 50_000_000


def read_configurations(path: str | os.PathLike[str], space: Space) -> list[Configuration]:
    """Read the configurations of a file, in its order, each of them once.

    JSON is a list of objects, or an object of objects by name; csv has a header of parameter names;
    irace's table has its columns between blanks, NA for inactive parameters, and perhaps irace's
    own columns.
    """
    path = Path(path)
    try:
        if path.stat().st_size > MOST_BYTES:
            raise InputError(
                f"{path}: the file is too large for a list of configurations. Shorten it to 50 MB."
            )
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: this is not UTF-8 text. Save it as UTF-8.") from error
    configurations: dict[str, Configuration] = {}
    for number, values in enumerate(_rows(path, text), 1):
        known = {
            name: value
            for name, value in values.items()
            if name not in BOOKKEEPING and value is not None and str(value) not in INACTIVE
        }
        try:
            configuration = space.configuration(known)
        except InputError as error:
            raise InputError(f"{path}: configuration {number}: {error}") from error
        if not space.allows(configuration):
            raise InputError(
                f"{path}: configuration {number}: this combination is forbidden. Change it."
            )
        configurations.setdefault(configuration.name, configuration)
    if not configurations:
        raise InputError(f"{path}: there are no configurations. Add at least one.")
    return list(configurations.values())


def _rows(path: Path, text: str) -> list[Mapping[str, Any]]:
    if text.lstrip()[:1] in ("[", "{"):
        try:
            content = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise InputError(f"{path}: this JSON cannot be read ({error}).") from error
        rows = list(content.values()) if isinstance(content, dict) else content
        if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
            raise InputError(
                f"{path}: this JSON is no list of objects. Write one object per configuration."
            )
        return rows
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    if not lines:
        return []
    try:
        # A csv table has commas in its first line, irace's has blanks.
        if "," in lines[0]:
            cells = list(csv.reader(lines, skipinitialspace=True, strict=True))
        else:
            cells = [shlex.split(line) for line in lines]
    except (csv.Error, ValueError) as error:
        raise InputError(f"{path}: this table cannot be read ({error}).") from error
    names, *rows = cells
    # Tables that R prints number their lines.
    rows = [row[1:] if len(row) == len(names) + 1 else row for row in rows]
    for number, row in enumerate(rows, 2):
        if len(row) != len(names):
            raise InputError(
                f"{path}: line {number}: {len(row)} values for {len(names)} columns. Give one "
                "for each."
            )
    return [dict(zip(names, row, strict=True)) for row in rows]
