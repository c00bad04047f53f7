"""ASlib scenarios: description.txt and algorithm_runs.arff. Algorithms are the configurations,
repetitions the runs.
"""

import io
import re
from pathlib import Path

import numpy as np

from truecost.arrays import IntArray
from truecost.errors import InputError
from truecost.importers.recorded import Recorded, chosen, log_of, statuses_of
from truecost.matrix.log import Log
from truecost.matrix.reading import Reading
from truecost.runs import Status, number_or_nan

RUNS = "algorithm_runs.arff"
DESCRIPTION = "description.txt"
VALUE = re.compile(r"""\s*(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"|([^,'"\s][^,]*|))\s*(?=,|$)""")
NEEDED = ("instance_id", "repetition", "algorithm", "runstatus")


def read(path: Path, reading: Reading) -> Log:
    """The runs in a folder of ASlib."""
    folder = path if path.is_dir() else path.parent
    description = _description(folder / DESCRIPTION)
    columns = _arff(folder / RUNS)
    for name in NEEDED:
        if name not in columns:
            raise InputError(f"{RUNS} has no attribute {name!r}, only {', '.join(columns):.200}.")
    measures = [name for name in columns if name not in NEEDED]
    measure, place = _measure(
        measures, description.get("performance_measures", []), reading.objective
    )

    def about(key: str, at: int = place) -> str | None:
        """What the description says under a key of this measure."""
        values = description.get(key, [])
        known = at < len(values) and values[at] not in ("", "null", "~", "?")
        return values[at] if known else None

    kind = about("performance_type")
    # Old scenarios do not say the type of a measure.
    runtime = measure.lower() in ("runtime", "time") if kind is None else kind == "runtime"
    maximised = (about("maximize") or "").lower() == "true"
    # A run whose status is missing is not known to have been solved.
    statuses, unfinished = statuses_of([word or "crashed" for word in columns["runstatus"]])
    if unfinished.any():
        word = columns["runstatus"][int(unfinished.argmax())]
        raise InputError(f"{RUNS} has the run status {word!r}. Leave out runs that have not ended.")
    cutoff = number_or_nan(about("algorithm_cutoff_time", 0)) if runtime else np.nan
    said = (reading.cutoff, reading.high)
    if runtime and not cutoff > 0 and said == (None, None) and (statuses != Status.SOLVED).any():
        raise InputError(
            f"{DESCRIPTION} does not say the cutoff of the running times. Give it: --cutoff."
        )
    log = log_of(
        Recorded(
            configurations=[name or "?" for name in columns["algorithm"]],
            instances=[name or "?" for name in columns["instance_id"]],
            values=np.array([number_or_nan(value) for value in columns[measure]]),
            statuses=statuses,
            runs=_repetitions(columns["repetition"]),
            cutoff=cutoff if cutoff > 0 else None,
            score=measure if maximised else "",
        ),
        reading,
        tool=f"ASlib {about('scenario_id', 0) or ''}".strip(),
        adaptive=False,
    )
    return log.replace(cost_unit=log.cost_unit or measure)


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
        raise InputError(f"{path.name} is not in UTF-8. Save it so.") from error


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
                raise InputError(f"{path.name} has {stripped!r:.80}, without a name and a type.")
            names.append(named[1].strip("'\""))
        elif word == "@data":
            break
        elif word and word != "@relation" and not word.startswith("%"):
            raise InputError(f"{path.name} has {stripped!r:.80} before @DATA: it is no ARFF file.")
    else:
        raise InputError(f"{path.name} has no @DATA: it is cut off.")
    if not names or len(set(names)) != len(names):
        raise InputError(f"{path.name} has no attributes, or two of one name.")
    rows = _rows(text, len(names), path.name)
    if not rows:
        raise InputError(f"{path.name} has no run after @DATA.")
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
            raise InputError(f"Row {number} of {name} has {len(row)} values, not {width}.")
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
        raise InputError(f"{RUNS} has no column with the performance.")
    # The first is the main one, by the definition of the format; without it, nobody says.
    main = wanted is None and order is named
    place = 0 if main else chosen(wanted, order)
    return order[place], place


def _repetitions(words: list[str | None]) -> IntArray:
    numbers = np.array([number_or_nan(word) for word in words])
    if not ((numbers == np.floor(numbers)) & (np.abs(numbers) < 2**53)).all():
        raise InputError(f"{RUNS} has a repetition that is no whole number.")
    return numbers.astype(np.int64)
