"""BenchExec: result files (XML, packed or not), folders of them, and csv tables of table-generator.

A run set is a configuration, called by what differs between them: tool and version, run definition.
A task is an instance. Costs are CPU seconds with the time limit as the cutoff, unless another
column is asked for. Solved is what BenchExec calls correct, or what it cannot check and has an
answer.
"""

import csv
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import polars as pl

from truecost.errors import InputError
from truecost.importers import packed
from truecost.importers.record import Options, charge, matrix_of
from truecost.importers.registry import Candidate, Importer
from truecost.matrix.imported import Import
from truecost.runs import Status, Trajectory, number_or_nan

DOCTYPE = re.compile(rb"<!DOCTYPE\s+result\b|<result\b[^>]*\bbenchmarkname=")
ENDINGS = (".xml", ".xml.bz2", ".xml.gz")
COST = "cputime"
PART = 1 << 20
# Which limit of a run set is the cutoff of which column.
LIMITS = {"cputime": "timelimit", "walltime": "walltimelimit"}
# How status texts begin, upper case for what went wrong; an answer is none of these.
FAILURES = {"TIMEOUT": Status.TIMEOUT, "OUT OF MEMORY": Status.MEMORY}
ANSWERS = ("true", "false", "done")
# Units of time that a table may have, in seconds.
SECONDS = {"ms": 1e-3, "min": 60.0, "h": 3600.0}


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A run: who ran, on what, its columns as they are written, and when the run set began."""

    configuration: tuple[str, ...]
    instance: str
    columns: dict[str, str]
    limits: dict[str, str]
    begun: str = ""


def _recognise(candidate: Candidate) -> bool:
    path = candidate.path
    if path is not None and path.is_dir():
        return any(_is_result(file) for file in _results(path))
    lines = candidate.text.splitlines()[:2]
    table = [line.partition("\t")[0] for line in lines] == ["tool", "run set"]
    return table or DOCTYPE.search(candidate.content[:4096]) is not None


def _results(folder: Path) -> list[Path]:
    return sorted(
        file for file in folder.iterdir() if file.name.endswith(ENDINGS) and file.is_file()
    )


def _is_result(path: Path) -> bool:
    with path.open("rb") as file:
        try:
            return DOCTYPE.search(packed.unpacking(file).read1(4096)) is not None
        except packed.DAMAGE:
            return False


def _read(path: Path, options: Options) -> Import:
    files = [file for file in _results(path) if _is_result(file)] if path.is_dir() else [path]
    tools: set[str] = set()
    every = [row for file in files for row in _rows(file, tools)]
    # Results by run definition and by set of tasks hold the same runs.
    rows = list({repr(row): row for row in every}.values()) if len(files) > 1 else every
    executed = [row for row in rows if row.columns.get("status")]
    if not executed:
        raise InputError("expected runs with a status in the results of BenchExec, got none.")
    title = options.objective or COST
    titles = list(dict.fromkeys(name for row in executed for name in row.columns))
    if title not in titles:
        raise InputError(
            f"expected one of the columns {', '.join(titles):.200} as `objective`, got {title!r}."
        )
    values = np.array([_number(row.columns.get(title, "")) for row in executed])
    statuses = np.array([_status(row.columns) for row in executed], dtype=np.int8)
    blank = np.isnan(values) & (statuses == Status.SOLVED)
    if blank.all():
        raise InputError(f"expected numbers in the column {title!r}, got none.")
    cutoff, notes = _cutoff(executed, title, options)
    pairs = zip(executed, statuses, strict=True)
    failures = Counter(row.columns["status"] for row, status in pairs if status != Status.SOLVED)
    if failures:
        counts = ", ".join(f"{word} {count:,}" for word, count in sorted(failures.items()))
        notes.append(f"Runs that count as not solved: {counts:.300}.")
    if title not in LIMITS:
        # What a run used before it failed is not what solving takes.
        values[statuses != Status.SOLVED] = np.nan
    charged = charge(values, statuses, options, cutoff=cutoff)
    runs = pl.DataFrame(
        {
            "configuration": _names([row.configuration for row in executed]),
            "instance": [row.instance for row in executed],
        }
    )
    return Import(
        kind="benchexec",
        matrix=matrix_of(runs, charged),
        trajectory=Trajectory(
            tool=min(tools, default="BenchExec"), proposed="beforehand", raced=False
        ),
        left_out={
            "again in another file": len(every) - len(rows),
            "not executed": len(rows) - len(executed),
            f"no {title} though solved": int(blank.sum()),
        },
        notes=(f"Costs are the column {title}.", *notes, *charged.notes),
    )


def _rows(path: Path, tools: set[str]) -> Iterator[Row]:
    with path.open("rb") as file:
        content = packed.unpacked(file, "results of BenchExec")
    if not content.lstrip().startswith(b"<"):
        yield from _table_rows(content)
        return
    # Results define no entities; a file that does may be made to take up the memory.
    if b"<!ENTITY" in content:
        raise InputError(f"expected results of BenchExec without entities in {path.name}.")
    parser = ElementTree.XMLParser()  # noqa: S314 - no entities
    try:
        # In parts: between them others, such as a limit on reading, have their turn.
        for at in range(0, len(content), PART):
            parser.feed(content[at : at + PART])
        result = parser.close()
    except ElementTree.ParseError as error:
        raise InputError(
            f"expected XML in {path.name}, and it cannot be read ({error!s:.80})."
        ) from error
    tools.add(result.get("generator") or "BenchExec")
    # A run definition has one name for all blocks of tasks, which are instances of it.
    block = f".{result.get('block')}"
    definition = (result.get("name") or "").removesuffix(block)
    who = (result.get("tool") or "", result.get("version") or "", definition)
    limits = {name: result.get(name, "") for name in LIMITS.values()}
    for run in result.iter("run"):
        columns = {
            column.get("title", ""): column.get("value", "") for column in run.iter("column")
        }
        properties = run.get("properties")
        # Names are relative to the folder of the results.
        name = re.sub(r"^(\.\./)+", "", run.get("name") or "")
        yield Row(
            configuration=who,
            instance=f"{name} ({properties})" if properties else name,
            columns=columns,
            limits=limits,
            begun=result.get("starttime") or result.get("date") or "",
        )


def _table_rows(content: bytes) -> Iterator[Row]:
    """A csv table: three lines of header, tool, run set and column, then a line for each task."""
    try:
        table = list(csv.reader(content.decode("utf-8-sig").splitlines(), delimiter="\t"))
    except (UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"expected a table of BenchExec ({error!s:.80}).") from error
    if len(table) < 4 or len({len(line) for line in table}) != 1:
        raise InputError(
            "expected three lines of header and as many fields in every line of a table of "
            "BenchExec."
        )
    tools, sets, titles, *tasks = table
    # Columns without a title name the task: its file, and its properties where they differ.
    first = next((place for place in range(1, len(tools)) if tools[place]), len(tools))
    for task in tasks:
        columns: dict[tuple[str, str], dict[str, str]] = {}
        for place in range(first, len(titles)):
            title, _, unit = titles[place].partition(" (")
            # As the results have it: the unit behind the number.
            cell = task[place] + unit.rstrip(")") if task[place] else ""
            columns.setdefault((tools[place], sets[place]), {})[title] = cell
        for who, cells in columns.items():
            instance = " ".join(part for part in task[:first] if part)
            yield Row(configuration=who, instance=instance, columns=cells, limits={})


def _number(value: str) -> float:
    """A number without its unit; times in seconds."""
    plain = re.sub(r"(?<=[\d.])\s*[A-Za-z]+$", "", value.strip())
    return number_or_nan(plain) * SECONDS.get(value.strip().removeprefix(plain).strip(), 1)


def _status(columns: dict[str, str]) -> Status:
    status, category = columns["status"], columns.get("category", "missing")
    for start, meaning in FAILURES.items():
        if status.upper().startswith(start):
            return meaning
    answered = status.lower().startswith(ANSWERS) and not category.startswith(("wrong", "error"))
    return Status.SOLVED if answered else Status.CRASHED


def _cutoff(rows: Sequence[Row], title: str, options: Options) -> tuple[float | None, list[str]]:
    """The time limit of the run sets, where the cost is a time."""
    if title not in LIMITS or options.cutoff is not None:
        return None, []
    texts = {row.limits.get(LIMITS[title], "") for row in rows}
    limits = sorted(limit for limit in map(_number, texts) if limit > 0)
    if not limits:
        raise InputError(
            f"Give the `cutoff` of the column {title}, in seconds: the results do not say it."
        )
    if len(limits) == 1:
        return limits[0], []
    note = (
        f"Run sets have time limits from {limits[0]:g} to {limits[-1]:g}: the least is the cutoff."
    )
    return limits[0], [note]


def _names(parts: Sequence[tuple[str, ...]]) -> list[str]:
    """Names of configurations from the parts in which they differ; all parts where they do not."""
    differing = [
        place for place, column in enumerate(zip(*parts, strict=True)) if len(set(column)) > 1
    ]
    places = differing or range(len(parts[0]))
    return [" ".join(part[place] for place in places if part[place]) or "tool" for part in parts]


IMPORTER = Importer(
    name="benchexec", title="BenchExec (XML, csv)", recognise=_recognise, read=_read
)
