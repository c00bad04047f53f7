"""BenchExec: result files (XML, packed or not) and folders of them.

A run set is a configuration, called by what differs between them: tool and version, run definition,
or else its options.
A task is an instance. Costs are CPU seconds with the time limit as the cutoff, unless another
column is asked for. Solved is what BenchExec calls correct, or what it cannot check and has an
answer.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

import numpy as np

from truecost.errors import InputError
from truecost.importers import packed
from truecost.importers.recorded import log_of, objective_place
from truecost.matrix.log import Log
from truecost.matrix.reading import Reading
from truecost.runs import Caveat, Status, number_or_nan

DOCTYPE = re.compile(rb"<!DOCTYPE\s+result\b|<result\b[^>]*\bbenchmarkname=")
ENDINGS = (".xml", ".xml.bz2", ".xml.gz")
COST = "cputime"
START = 4096
# The limit of a run set that is the cutoff of a column.
LIMITS = {"cputime": "timelimit", "walltime": "walltimelimit"}
# How status texts begin, upper case for what went wrong; an answer is none of these.
FAILURES = {"TIMEOUT": Status.TIMEOUT, "OUT OF ": Status.MEMORY}
ANSWERS = ("true", "false", "done")
# What BenchExec says of an answer that counts: correct, or nothing to check it with.
ACCEPTED = ("correct", "missing")
# What BenchExec writes behind numbers, in seconds, bytes and joules.
UNITS = {"": 1.0, "s": 1.0, "B": 1.0, "J": 1.0, "ms": 1e-3, "min": 60.0, "h": 3600.0}


class Row(NamedTuple):
    """A run; columns and limits are as they are written, `begun` is when the run set began."""

    configuration: tuple[str, ...]
    instance: str
    columns: dict[str, str]
    limits: dict[str, str]
    begun: str


def results_in(folder: Path) -> list[Path]:
    """The result files in a folder."""
    names = (file for file in folder.iterdir() if file.name.endswith(ENDINGS) and file.is_file())
    return [file for file in sorted(names) if DOCTYPE.search(packed.start_of(file, START)[1])]


def read(path: Path, reading: Reading) -> Log:
    """The runs in a result file or a folder of them."""
    files = results_in(path) if path.is_dir() else [path]
    results = [_root(file) for file in files]
    every = [row for result in results for row in _rows(result)]
    # Results by run definition and by set of tasks hold the same runs.
    rows = list({repr(row): row for row in every}.values()) if len(files) > 1 else every
    executed = [row for row in rows if row.columns.get("status")]
    if not executed:
        raise InputError("The results of BenchExec have no run with a status.")
    titles = list(dict.fromkeys(name for row in executed for name in row.columns))
    title = titles[objective_place(reading.objective or COST, titles)]
    values = np.array([_number(row.columns.get(title, "")) for row in executed])
    statuses = np.array([_status(row.columns) for row in executed], dtype=np.int8)
    unsolved = statuses != Status.SOLVED
    if (np.isnan(values) & ~unsolved).all():
        raise InputError(f"The column {title!r:.60} has no numbers. Choose another: --objective.")
    cutoff = _cutoff(executed, title, reading)
    caveats = [] if title == COST else [Caveat("columns", f"The cost is the column {title}.")]
    words = (executed[row].columns["status"] for row in np.flatnonzero(unsolved))
    if failures := sorted(Counter(words).items()):
        numbers = ", ".join(f"{word} {number:,}" for word, number in failures)
        caveats.append(Caveat("failed", f"Not solved: {numbers:.300}."))
    if title not in LIMITS:
        # What a run used before it failed is not what solving takes.
        values[unsolved] = np.nan
    return log_of(
        reading,
        configurations=_configurations([row.configuration for row in executed]),
        instances=[row.instance for row in executed],
        values=values,
        statuses=statuses,
        cutoff=cutoff,
        omitted={
            "run again in another file": len(every) - len(rows),
            "run not executed": len(rows) - len(executed),
        },
        caveats=caveats,
        tool=min(result.get("generator") or "BenchExec" for result in results),
        adaptive=False,
    )


def _root(path: Path) -> ElementTree.Element:
    content = packed.content_of(path)
    # Results define no entities; a file that does may be made to take up the memory.
    if b"<!ENTITY" in content:
        raise InputError(f"{path.name} defines XML entities, which BenchExec never does.")
    try:
        return ElementTree.fromstring(content)  # noqa: S314 - no entities
    except ElementTree.ParseError as error:
        raise InputError(f"{path.name} is no XML ({error!s:.80}). Copy it again.") from error


def _rows(result: ElementTree.Element) -> Iterator[Row]:
    # A run definition has one name for all blocks of tasks, which are instances of it.
    definition = (result.get("name") or "").removesuffix(f".{result.get('block')}")
    options = result.get("options", "")
    for run in result.iter("run"):
        properties = run.get("properties")
        # Names are relative to the folder of the results.
        name = re.sub(r"^(\.\./)+", "", run.get("name") or "") or "(no name)"
        yield Row(
            (*(result.get(part, "") for part in ("tool", "version")), definition, options),
            f"{name} ({properties})" if properties else name,
            {column.get("title", ""): column.get("value", "") for column in run.iter("column")},
            {name: result.get(name, "") for name in LIMITS.values()},
            result.get("starttime") or result.get("date") or "",
        )


def _number(text: str) -> float:
    """A number without its unit; times in seconds."""
    match = re.fullmatch(r"(.*[\d.])\s*([A-Za-z]*)", text.strip())
    return number_or_nan(match[1]) * UNITS.get(match[2], np.nan) if match else np.nan


def _status(columns: dict[str, str]) -> Status:
    status, category = columns["status"], columns.get("category") or "missing"
    for start, meaning in FAILURES.items():
        if status.upper().startswith(start):
            return meaning
    if category.startswith("wrong"):
        return Status.WRONG
    answered = status.lower().startswith(ANSWERS) and category.startswith(ACCEPTED)
    return Status.SOLVED if answered else Status.CRASHED


def _cutoff(rows: Sequence[Row], title: str, reading: Reading) -> float | None:
    """The time limit of the run sets, where the cost is a time."""
    if title not in LIMITS or reading.cutoff is not None:
        return None
    texts = {row.limits[LIMITS[title]] for row in rows}
    limits = sorted(limit for limit in map(_number, texts) if limit > 0)
    if not limits:
        raise InputError(f"The results do not say the limit of {title}. Give it: --cutoff.")
    if len(limits) > 1:
        raise InputError(
            f"Run sets have different time limits, {limits[0]:g} to {limits[-1]:g} s. Give the one "
            f"that counts for all, such as --cutoff {limits[0]:g}."
        )
    return limits[0]


def _configurations(parts: Sequence[tuple[str, ...]]) -> list[str]:
    """Names of configurations from the parts in which they differ; all parts where they do not."""
    different = set(parts)
    names: dict[tuple[str, ...], str] = {}
    # Options are long: they name only what nothing else tells apart.
    for size in (len(parts[0]) - 1, len(parts[0])):
        columns = zip(*(part[:size] for part in different), strict=True)
        places = [place for place, column in enumerate(columns) if len(set(column)) > 1]
        for part in different:
            words = [part[place] for place in places if part[place]] or filter(None, part[:size])
            names[part] = " ".join(words) or "tool"
        if len(set(names.values())) == len(different):
            break
    return [names[part] for part in parts]
