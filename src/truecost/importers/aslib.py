"""ASlib scenarios: description.txt and algorithm_runs.arff. Algorithms are the configurations,
repetitions the runs.
"""

import io
import re
from pathlib import Path

import numpy as np

from truecost.errors import InputError
from truecost.importers.packed import text_of
from truecost.importers.recorded import log_of, objective_place, statuses_of
from truecost.matrix.log import Log
from truecost.matrix.reading import Reading
from truecost.runs import Status, number_or_nan

RUNS = "algorithm_runs.arff"
DESCRIPTION = "description.txt"
NEEDED = ("instance_id", "repetition", "algorithm", "runstatus")
# What a description says of what is not known.
UNKNOWN = frozenset({"", "null", "~", "?"})
# A value in single quotes, in double quotes, or plain.
VALUE = re.compile(r"""\s*(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"|([^,'"\s][^,]*|))\s*(?=,|$)""")
ATTRIBUTE = re.compile(r"@attribute\s+('[^']*'|\"[^\"]*\"|\S+)\s+\S", re.IGNORECASE)


def read(path: Path, reading: Reading) -> Log:
    """The runs in a folder of ASlib."""
    folder = path if path.is_dir() else path.parent
    description = _description(folder / DESCRIPTION)
    columns = _arff(folder / RUNS)
    for name in NEEDED:
        if name not in columns:
            raise InputError(f"{RUNS} has no attribute {name!r}, only {', '.join(columns):.200}.")
    measures = [name for name in columns if name not in NEEDED]
    named = description.get("performance_measures", [])
    order = named if named and set(named) <= set(columns) else measures
    if not order:
        raise InputError(f"{RUNS} has no column with the performance.")
    # The first is the main one, by the definition of the format; without it, nothing says which.
    main = reading.objective is None and order is named
    measure = order[0 if main else objective_place(reading.objective, order)]

    def about(key: str, place: int = 0) -> str:
        """What the description says under a key, empty where it is unknown."""
        values = description.get(key, [])
        return values[place] if place < len(values) and values[place] not in UNKNOWN else ""

    # Of a measure that is not described, nothing is known.
    place = named.index(measure) if measure in named else len(columns)
    kind, maximise = about("performance_type", place), about("maximize", place).lower()
    # Old scenarios do not say the type of a measure.
    runtime = kind == "runtime" or (not kind and measure.lower() in ("runtime", "time"))
    if not runtime and maximise not in ("true", "false"):
        raise InputError(
            f"{DESCRIPTION} does not say whether larger {measure} is better. Add maximize: true or "
            "maximize: false for it."
        )
    # A run whose status is missing is not known to have been solved.
    statuses = statuses_of([word or "crashed" for word in columns["runstatus"]])
    cutoff = number_or_nan(about("algorithm_cutoff_time")) if runtime else np.nan
    unscaled = (reading.cutoff, reading.high) == (None, None)
    if runtime and not cutoff > 0 and unscaled and (statuses != Status.SOLVED).any():
        raise InputError(
            f"{DESCRIPTION} does not say the cutoff of the running times. Give it: --cutoff."
        )
    repetitions = np.array([number_or_nan(word) for word in columns["repetition"]])
    if not ((repetitions == np.floor(repetitions)) & (np.abs(repetitions) < 2**53)).all():
        raise InputError(f"{RUNS} has a repetition that is no whole number.")
    log = log_of(
        reading,
        configurations=[name or "?" for name in columns["algorithm"]],
        instances=[name or "?" for name in columns["instance_id"]],
        values=np.array([number_or_nan(value) for value in columns[measure]]),
        statuses=statuses,
        runs=repetitions.astype(np.int64),
        cutoff=cutoff if cutoff > 0 else None,
        score=measure if maximise == "true" else "",
        tool=f"ASlib {about('scenario_id')}".strip(),
        adaptive=False,
    )
    return log.replace(cost_unit=log.cost_unit or measure)


def _description(path: Path) -> dict[str, list[str]]:
    """The top of a YAML file, as far as ASlib uses it: `key: value`, `key: [a, b]`, and lists of
    `- value` below a key.
    """
    values: dict[str, list[str]] = {}
    text, key = text_of(path) if path.is_file() else "", ""
    for line in re.sub(r"(^|\s)#.*", "", text, flags=re.MULTILINE).splitlines():
        if top := re.match(r"([A-Za-z_]\w*)\s*:\s*(.*?)\s*$", line):
            key, value = top[1], top[2]
            # Unknown entries of a list keep their places, which are those of the measures.
            entries = value.strip("[]").split(",") if value.startswith("[") else [value]
            values[key] = [entry.strip().strip("'\"") for entry in entries if value]
        elif entry := re.match(r"\s*-\s+(.*?)\s*$", line):
            values.setdefault(key, []).append(entry[1].strip("'\""))
    return values


def _arff(path: Path) -> dict[str, list[str]]:
    """The columns of an ARFF file as text, empty where a value is missing."""
    names: list[str] = []
    lines = io.StringIO(text_of(path), newline=None)
    for line in map(str.strip, lines):
        word = line.split(None, 1)[0].lower() if line else ""
        if word == "@attribute":
            named = ATTRIBUTE.match(line)
            if named is None:
                raise InputError(f"{path.name} has {line!r:.80}, without a name and a type.")
            names.append(named[1].strip("'\""))
        elif word == "@data":
            break
        elif word and word != "@relation" and not word.startswith("%"):
            raise InputError(f"{path.name} has {line!r:.80} before @DATA: it is no ARFF file.")
    else:
        raise InputError(f"{path.name} has no @DATA: it is cut off.")
    if not names or len(set(names)) != len(names):
        raise InputError(f"{path.name} has no attributes, or two of one name.")
    rows = []
    for number, line in enumerate(map(str.strip, lines), 1):
        if not line or line.startswith("%"):
            continue
        # Quotes are rare, and a row without them is split at once.
        quoted = "'" in line or '"' in line
        row = _quoted(line) if quoted else [value.strip() for value in line.split(",")]
        if len(row) != len(names):
            raise InputError(
                f"Row {number} of {path.name} has {len(row)} values, not {len(names)}."
            )
        rows.append(["" if value == "?" else value for value in row])
    if not rows:
        raise InputError(f"{path.name} has no run after @DATA.")
    return {name: [row[place] for row in rows] for place, name in enumerate(names)}


def _quoted(line: str) -> list[str]:
    """The values of a row with quotes, single or double; none where the quotes do not fit."""
    values, at = [], 0
    while at <= len(line):
        match = VALUE.match(line, at)
        if match is None:
            return []
        quoted = match[1] if match[1] is not None else match[2]
        values.append(match[3].strip() if quoted is None else re.sub(r"\\(.)", r"\1", quoted))
        at = match.end() + 1
    return values
