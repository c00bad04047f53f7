"""BenchExec: result files (XML, packed or not) and folders of them.

A run set is a configuration, called by what differs between them: tool and version, run definition.
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
from truecost.importers.recorded import Recorded, chosen, log_of
from truecost.matrix.log import Log
from truecost.matrix.reading import Reading
from truecost.runs import Caveat, Status, number_or_nan

DOCTYPE = re.compile(rb"<!DOCTYPE\s+result\b|<result\b[^>]*\bbenchmarkname=")
ENDINGS = (".xml", ".xml.bz2", ".xml.gz")
COST = "cputime"
START = 4096
# Which limit of a run set is the cutoff of which column.
LIMITS = {"cputime": "timelimit", "walltime": "walltimelimit"}
# How status texts begin, upper case for what went wrong; an answer is none of these.
FAILURES = {"TIMEOUT": Status.TIMEOUT, "OUT OF MEMORY": Status.MEMORY}
ANSWERS = ("true", "false", "done")
# What BenchExec writes behind numbers, in seconds, bytes and joules.
UNITS = {"": 1.0, "s": 1.0, "B": 1.0, "J": 1.0, "ms": 1e-3, "min": 60.0, "h": 3600.0}


class Row(NamedTuple):
    """A run: who ran, on what, its columns and limits as they are written, and when the run set
    began.
    """

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
    tools: set[str] = set()
    every = [row for file in files for row in _rows(file, tools)]
    # Results by run definition and by set of tasks hold the same runs.
    rows = list({repr(row): row for row in every}.values()) if len(files) > 1 else every
    executed = [row for row in rows if row.columns.get("status")]
    if not executed:
        raise InputError("The results of BenchExec have no run with a status.")
    titles = list(dict.fromkeys(name for row in executed for name in row.columns))
    title = titles[chosen(reading.objective or COST, titles)]
    values = np.array([_number(row.columns.get(title, "")) for row in executed])
    statuses = np.array([_status(row.columns) for row in executed], dtype=np.int8)
    blank = np.isnan(values) & (statuses == Status.SOLVED)
    if blank.all():
        raise InputError(f"The column {title!r:.60} has no numbers. Choose another: --objective.")
    cutoff = _cutoff(executed, title, reading)
    caveats = [] if title == COST else [Caveat("columns", f"The cost is the column {title}.")]
    pairs = zip(executed, statuses, strict=True)
    failures = Counter(row.columns["status"] for row, status in pairs if status != Status.SOLVED)
    if failures:
        counts = ", ".join(f"{word} {count:,}" for word, count in sorted(failures.items()))
        caveats.append(Caveat("failed", f"Not solved: {counts:.300}."))
    if title not in LIMITS:
        # What a run used before it failed is not what solving takes.
        values[statuses != Status.SOLVED] = np.nan
    omitted = {
        "run again in another file": len(every) - len(rows),
        "run not executed": len(rows) - len(executed),
    }
    return log_of(
        Recorded(
            configurations=_configurations([row.configuration for row in executed]),
            instances=[row.instance for row in executed],
            values=values,
            statuses=statuses,
            cutoff=cutoff,
        ),
        reading,
        omitted=omitted,
        caveats=caveats,
        tool=min(tools, default="BenchExec"),
        adaptive=False,
    )


def _rows(path: Path, tools: set[str]) -> Iterator[Row]:
    content = packed.content_of(path)
    # Results define no entities; a file that does may be made to take up the memory.
    if b"<!ENTITY" in content:
        raise InputError(f"{path.name} defines XML entities, which BenchExec never does.")
    try:
        result = ElementTree.fromstring(content)  # noqa: S314 - no entities
    except ElementTree.ParseError as error:
        raise InputError(f"{path.name} is no XML ({error!s:.80}). Copy it again.") from error
    tools.add(result.get("generator") or "BenchExec")
    # A run definition has one name for all blocks of tasks, which are instances of it.
    block = f".{result.get('block')}"
    definition = (result.get("name") or "").removesuffix(block)
    for run in result.iter("run"):
        properties = run.get("properties")
        # Names are relative to the folder of the results.
        name = re.sub(r"^(\.\./)+", "", run.get("name") or "") or "(no name)"
        yield Row(
            (result.get("tool") or "", result.get("version") or "", definition),
            f"{name} ({properties})" if properties else name,
            {column.get("title", ""): column.get("value", "") for column in run.iter("column")},
            {name: result.get(name, "") for name in LIMITS.values()},
            result.get("starttime") or result.get("date") or "",
        )


def _number(value: str) -> float:
    """A number without its unit; times in seconds."""
    plain = re.sub(r"(?<=[\d.])\s*[A-Za-z]+$", "", value.strip())
    return number_or_nan(plain) * UNITS.get(value.strip().removeprefix(plain).strip(), np.nan)


def _status(columns: dict[str, str]) -> Status:
    status, category = columns["status"], columns.get("category", "missing")
    for start, meaning in FAILURES.items():
        if status.upper().startswith(start):
            return meaning
    if category.startswith("wrong"):
        return Status.WRONG
    answered = status.lower().startswith(ANSWERS) and not category.startswith("error")
    return Status.SOLVED if answered else Status.CRASHED


def _cutoff(rows: Sequence[Row], title: str, reading: Reading) -> float | None:
    """The time limit of the run sets, where the cost is a time."""
    if title not in LIMITS or reading.cutoff is not None:
        return None
    texts = {row.limits.get(LIMITS[title], "") for row in rows}
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
    differing = [
        place for place, column in enumerate(zip(*parts, strict=True)) if len(set(column)) > 1
    ]
    places = differing or range(len(parts[0]))
    return [" ".join(part[place] for place in places if part[place]) or "tool" for part in parts]
