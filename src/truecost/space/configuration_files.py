"""Configurations from a file: csv, JSON, or a table as irace reads and prints it."""

import csv
import json
import os
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from truecost.errors import InputError, prefixed
from truecost.space.space import Configuration, Space

# irace's columns that are no parameters.
BOOKKEEPING = (".ID.", ".PARENT.", ".ALLWEIGHTS.", ".RANK.", ".WEIGHT.")
MOST_BYTES = 50_000_000


def read_configurations(path: str | os.PathLike[str], space: Space) -> list[Configuration]:
    """Read the configurations of a file, in its order, each of them once.

    JSON is a list of objects, or an object of objects by name; csv has a header of parameter names;
    irace's table has its columns between blanks, and perhaps irace's own columns. What stands for
    an inactive parameter does not matter.
    """
    configurations: dict[str, Configuration] = {}
    with prefixed(path):
        if Path(path).stat().st_size > MOST_BYTES:
            raise InputError("This is too large for a list of configurations. Shorten it to 50 MB.")
        for number, values in enumerate(_rows(Path(path).read_bytes()), 1):
            parameters = {name: values[name] for name in values if name not in BOOKKEEPING}
            with prefixed(f"configuration {number}"):
                configuration = space.configuration(parameters)
                if not space.allows(configuration):
                    raise InputError("This combination is forbidden. Change it.")
            configurations.setdefault(configuration.name, configuration)
        if not configurations:
            raise InputError("There are no configurations. Add at least one.")
    return list(configurations.values())


def _rows(content: bytes) -> list[Mapping[str, Any]]:
    try:
        text = content.decode("utf-8-sig")
        if text.lstrip()[:1] in ("[", "{"):
            data = json.loads(text)
            rows = list(data.values()) if isinstance(data, dict) else data
            if not all(isinstance(row, dict) for row in rows):
                raise InputError("This is no list of objects. Write one object per configuration.")
            return rows
        lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
        # A csv table has commas in its first line, irace's has blanks.
        if lines and "," in lines[0]:
            cells = list(csv.reader(lines, skipinitialspace=True, strict=True))
        else:
            cells = [shlex.split(line) for line in lines]
    except (ValueError, RecursionError, csv.Error) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"This cannot be read ({error}). Write csv or JSON in UTF-8.") from error
    names, *rows = cells or [[]]
    # Tables that R prints number their lines.
    rows = [row[1:] if len(row) == len(names) + 1 else row for row in rows]
    for number, row in enumerate(rows, 2):
        if len(row) != len(names):
            raise InputError(
                f"line {number}: {len(row)} values for {len(names)} columns. Give one for each."
            )
    return [dict(zip(names, row, strict=True)) for row in rows]
