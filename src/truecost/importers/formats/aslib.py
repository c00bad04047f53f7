"""ASlib scenarios: description.txt and algorithm_runs.arff. Algorithms are the configurations,
repetitions the runs.
"""

import io
import re
from pathlib import Path

import numpy as np
import polars as pl

from truecost.errors import InputError
from truecost.importers.record import Options, charge, matrix_of, statuses_of
from truecost.importers.registry import Candidate, Importer
from truecost.matrix.imported import Import
from truecost.runs import Trajectory, number_or_nan

RUNS = "algorithm_runs.arff"
DESCRIPTION = "description.txt"
VALUE = re.compile(r"""\s*(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"|([^,'"\s][^,]*|))\s*(?=,|$)""")
NEEDED = ("instance_id", "repetition", "algorithm", "runstatus")


def _recognise(candidate: Candidate) -> bool:
    path = candidate.path
    return path is not None and (candidate.holds(RUNS) or (path.name == RUNS and path.is_file()))


def _read(path: Path, options: Options) -> Import:
    """The runs in a folder of ASlib."""
    folder = path if path.is_dir() else path.parent
    description = _description(folder / DESCRIPTION)
    columns = _arff(folder / RUNS)
    for name in NEEDED:
        if name not in columns:
            raise InputError(
                f"expected the attribute {name!r} in {RUNS}, got {', '.join(columns):.200}."
            )
    measures = [name for name in columns if name not in NEEDED]
    measure, place = _measure(
        measures, description.get("performance_measures", []), options.objective
    )

    def about(key: str, at: int = place) -> str | None:
        """What the description says under a key of this measure."""
        values = description.get(key, [])
        known = at < len(values) and values[at] not in ("", "null", "~", "?")
        return values[at] if known else None

    kind = about("performance_type")
    # Old scenarios do not say the type of a measure.
    runtime = measure.lower() in ("runtime", "time") if kind is None else kind == "runtime"
    values = np.array([number_or_nan(value) for value in columns[measure]])
    notes = []
    if maximised := (about("maximize") or "").lower() == "true":
        values = -values
        notes.append(
            f"{measure} is to be maximised, so the cost is −{measure}: `low` and `high` are meant "
            "of that."
        )
    # A run whose status is missing is not known to have been solved.
    statuses, unfinished = statuses_of([word or "crashed" for word in columns["runstatus"]])
    if unfinished.any():
        word = columns["runstatus"][int(unfinished.argmax())]
        raise InputError(f"expected run statuses of ended runs in {RUNS}, got {word!r}.")
    cutoff = number_or_nan(about("algorithm_cutoff_time", 0)) if runtime else np.nan
    charged = charge(values, statuses, options, cutoff=cutoff if cutoff > 0 else None)
    runs = pl.DataFrame(
        {
            "configuration": pl.Series(columns["algorithm"], dtype=pl.String),
            "instance": pl.Series(columns["instance_id"], dtype=pl.String),
            "run": _repetitions(columns["repetition"]),
        }
    )
    return Import(
        kind="aslib",
        matrix=matrix_of(runs, charged),
        trajectory=Trajectory(
            tool=f"ASlib {about('scenario_id', 0) or ''}".strip(),
            proposed="beforehand",
            raced=False,
            maximised=maximised,
        ),
        left_out={"no value though run status ok": int(np.isnan(charged.costs).sum())},
        notes=(*notes, *charged.notes),
    )


def _description(path: Path) -> dict[str, list[str]]:
    """The top of a YAML file, as far as ASlib uses it: `key: value`, `key: [a, b]`, and lists of `-
    value` below a key.
    """
    if not path.is_file():
        return {}
    values: dict[str, list[str]] = {}
    key = ""
    for line in re.sub(r"(^|\s)#.*", "", _text(path), flags=re.MULTILINE).splitlines():
        if top := re.match(r"([A-Za-z_]\w*)\s*:\s*(.*?)\s*$", line):
            key, text = top[1], top[2]
            # Unknown entries of a list keep their places, which are those of the measures.
            listed = text.strip("[]").split(",") if text.startswith("[") else [text]
            values[key] = [word.strip().strip("'\"") for word in listed if text]
        elif entry := re.match(r"\s*-\s+(.*?)\s*$", line):
            values.setdefault(key, []).append(entry[1].strip("'\""))
    return values


def _text(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(
            f"expected text in {path.name}, and it is none ({error.reason})."
        ) from error


def _arff(path: Path) -> dict[str, list[str | None]]:
    """The columns of an ARFF file as text, None where a value is missing."""
    names: list[str] = []
    text = io.StringIO(_text(path), newline=None)
    for line in text:
        stripped = line.strip()
        word = stripped.split(None, 1)[0].lower() if stripped else ""
        if word == "@attribute":
            named = re.match(r"@attribute\s+('[^']*'|\"[^\"]*\"|\S+)\s+\S", stripped, re.IGNORECASE)
            if named is None:
                raise InputError(
                    f"expected a name and a type in {path.name}, got {stripped!r:.80}."
                )
            names.append(named[1].strip("'\""))
        elif word == "@data":
            break
        elif word and word != "@relation" and not word.startswith("%"):
            raise InputError(
                f"expected @RELATION, @ATTRIBUTE or @DATA in {path.name}, got {stripped!r:.80}."
            )
    else:
        raise InputError(
            f"expected @DATA in {path.name}, and it is not there: the file is cut off."
        )
    if not names or len(set(names)) != len(names):
        raise InputError(
            f"expected attributes with different names in {path.name}, got "
            f"{', '.join(names) or 'none':.200}."
        )
    rows = _rows(text, len(names), path.name)
    if not rows:
        raise InputError(f"expected at least one run in {path.name}, got none.")
    columns = zip(*rows, strict=True)
    return {
        name: [None if value == "?" else value for value in column]
        for name, column in zip(names, columns, strict=True)
    }


def _rows(lines: io.StringIO, width: int, name: str) -> list[list[str]]:
    rows = []
    for number, line in enumerate(lines, 1):
        stripped = line.strip()
        if not stripped or stripped.startswith("%"):
            continue
        # Quotes are rare, and a row without them is split at once.
        row = (
            _quoted(stripped)
            if "'" in stripped or '"' in stripped
            else [value.strip() for value in stripped.split(",")]
        )
        if len(row) != width:
            raise InputError(f"expected {width} values in row {number} of {name}, got {len(row)}.")
        rows.append(row)
    return rows


def _quoted(line: str) -> list[str]:
    """The values of a row in which some stand in quotes, single or double; none where the quotes do
    not fit.
    """
    values, at = [], 0
    while at <= len(line):
        match = VALUE.match(line, at)
        if match is None:
            return []
        quoted = match[1] if match[1] is not None else match[2]
        values.append(match[3].strip() if quoted is None else re.sub(r"\\(.)", r"\1", quoted))
        at = match.end() + 1
    return values


def _measure(columns: list[str], named: list[str], wanted: str | None) -> tuple[str, int]:
    """The column of the costs and its place among the measures of the description."""
    order = named if named and set(named) <= set(columns) else columns
    if not order:
        raise InputError(f"expected a column with the performance in {RUNS}, got none.")
    if wanted is None:
        return order[0], 0
    if wanted not in order:
        raise InputError(f"expected one of the measures {', '.join(order):.200}, got {wanted!r}.")
    return wanted, order.index(wanted)


def _repetitions(words: list[str | None]) -> pl.Series:
    numbers = np.array([number_or_nan(word) for word in words])
    if not ((numbers == np.floor(numbers)) & (np.abs(numbers) < 2**53)).all():
        raise InputError(f"expected whole numbers as repetition in {RUNS}, got something else.")
    return pl.Series(numbers.astype(np.int64))


IMPORTER = Importer(
    name="aslib", title="ASlib (algorithm_runs.arff)", recognise=_recognise, read=_read
)
