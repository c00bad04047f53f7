"""AClib: answers of solver wrappers collected in text files, and the PM.npy of the paper's authors.

`truecost.running.wrapper_answer` has the convention of the answers. An answer does not name
configuration and instance. The call on a line above it does, `wrapper instance specifics cutoff
length seed -name value …` or `wrapper --instance … --cutoff … --seed … --config -name value …`;
without one, the file does: `configuration/instance.log`.
"""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from truecost.arrays import FloatArray
from truecost.errors import InputError
from truecost.importers.record import Options, charge, matrix_of, statuses_of
from truecost.importers.registry import Candidate, Importer
from truecost.matrix import npz
from truecost.matrix.imported import Import, Scalar
from truecost.running import wrapper_answer
from truecost.running.wrapper_answer import WrapperAnswer
from truecost.runs import NO_STATUS, Status, Trajectory, number_or_nan

# In a log, something may stand before the answer: the time, or who prints it.
ANSWER = re.compile(wrapper_answer.ANSWER, re.IGNORECASE)
MEASURES = ("runtime", "quality")
MOST_FILES = 1_000_000
LONGEST_LINE = 1 << 20
ARRAY = "PM.npy"
ARRAY_START = b"\x93NUMPY"
PM_FIELDS = ("result", "runtime", "quality", "seed")


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """What a wrapper was asked."""

    instance: str
    cutoff: float
    seed: int | None
    parameters: tuple[tuple[str, str], ...]


def _recognise(candidate: Candidate) -> bool:
    path = candidate.path
    if path is None:
        return False
    if not path.is_dir():
        has_answer = bool(candidate.text) and ANSWER.search(candidate.text) is not None
        return candidate.start.startswith(ARRAY_START) or has_answer
    return candidate.holds(ARRAY) or any(_has_answers(file) for file in _files(path))


def _has_answers(path: Path) -> bool:
    """Whether an answer of a wrapper stands in the first megabyte of a file."""
    with path.open("rb") as file:
        return ANSWER.search(file.read(LONGEST_LINE).decode(errors="replace")) is not None


def _read(path: Path, options: Options) -> Import:
    # Users of SMAC call the quality of a solution its cost.
    measure = {"cost": "quality"}.get(options.objective or "", options.objective or "runtime")
    if measure not in MEASURES:
        raise InputError(f"expected the objective runtime or quality, got {options.objective!r}.")
    array = path / ARRAY if path.is_dir() else path
    if array.is_file():
        with array.open("rb") as file:
            if file.read(len(ARRAY_START)) == ARRAY_START:
                return _read_array(array, options, measure)
    return _read_logs(path, options, measure)


def _read_logs(path: Path, options: Options, measure: str) -> Import:
    """The runs whose answers stand in a text file, or in the text files of a folder."""
    rows: list[tuple[str, str, int | None, float, int, float]] = []
    parameters: dict[str, dict[str, Scalar]] = {}
    unfinished = 0
    for file in _files(path):
        for call, answer in _answers(file):
            if answer.status is None:
                unfinished += 1
                continue
            if call is None:
                # Only the folder says who ran, and nothing says what it was allowed to take.
                configuration, instance = _names(file, path)
                seed, cap = answer.seed, np.nan
            else:
                configuration = " ".join(f"{name}={value}" for name, value in call.parameters)
                instance, cap = call.instance, call.cutoff
                seed = call.seed if answer.seed is None else answer.seed
                parameters.setdefault(configuration, dict(call.parameters))
            value = answer.runtime if measure == "runtime" else answer.quality
            number = np.nan if value is None else value
            rows.append((configuration, instance, seed, number, int(answer.status), cap))
    if not rows:
        raise InputError(
            "expected answers of wrappers ('Result for SMAC: …'), got none of a run that ended."
        )
    caps = np.array([row[5] for row in rows])
    cutoff, notes = _cutoff(caps, options) if measure == "runtime" else (None, ())
    usable = [row for row in rows if not (np.isnan(row[3]) and row[4] == Status.SOLVED)]
    if not usable:
        raise InputError(f"expected a number as {measure} in the answers, got none.")
    names, instances, seeds, *rest = zip(*usable, strict=True)
    values, statuses, caps = (np.array(column) for column in rest)
    if cutoff is None:
        # A quality that was reached before the stop is no lower end of what it would have been.
        statuses = np.where(statuses == Status.CENSORED, Status.TIMEOUT, statuses)
    else:
        # Stopped where the call asked for it, below the cutoff of the others.
        stopped = np.isin(statuses, (Status.TIMEOUT, Status.CENSORED)) & (caps < cutoff)
        values = np.where(stopped, caps, values)
        statuses = np.where(stopped, Status.CENSORED, statuses)
    charged = charge(values, statuses.astype(np.int8), options, cutoff=cutoff)
    columns = {"configuration": names, "instance": instances}
    # Seeds name runs only where no run was made twice with the same one.
    keys = list(zip(names, instances, seeds, strict=True))
    if None not in seeds and len(set(keys)) == len(keys):
        columns["seed"] = seeds
    return Import(
        kind="acl",
        matrix=matrix_of(pl.DataFrame(columns), charged),
        trajectory=Trajectory(tool="AClib wrapper"),
        parameters=parameters,
        left_out={
            "not ended": unfinished,
            f"no {measure} though solved": len(rows) - len(usable),
        },
        notes=(*notes, *charged.notes),
    )


def _read_array(path: Path, options: Options, measure: str) -> Import:
    """The runs of a PM.npy: a structured array of configurations × instances × runs with the fields
    `PM_FIELDS`.
    """
    array = _array(path)
    statuses = _results(array["result"])
    runtime = array["runtime"].astype(np.float64)
    values = runtime if measure == "runtime" else array["quality"].astype(np.float64)
    # There, a running time of 0 says that the run was never made.
    mask = (runtime != 0) & ~np.isnan(runtime)
    if not mask.any():
        raise InputError("expected at least one run with a running time above 0, got none.")
    if measure == "runtime" and options.cutoff is None:
        raise InputError(
            "Give the `cutoff` of the running times, in seconds: the file does not say it."
        )
    charged = charge(values[mask], statuses[mask], options)
    configuration, instance, run = np.nonzero(mask)
    runs = pl.DataFrame(
        {
            "configuration": _numbered("configuration", array.shape[0]).gather(configuration),
            "instance": _numbered("instance", array.shape[1]).gather(instance),
            "run": run,
        }
    )
    if array["seed"].dtype.kind in "iu":
        runs = runs.with_columns(seed=pl.Series(array["seed"][mask].astype(np.int64)))
    return Import(
        kind="acl",
        matrix=matrix_of(runs, charged),
        trajectory=Trajectory(tool=ARRAY),
        left_out={"never made (running time 0)": int((~mask).sum())},
        notes=charged.notes,
    )


def _files(path: Path) -> list[Path]:
    if path.is_file():
        return [path]
    files = []
    for number, file in enumerate(sorted(path.rglob("*"))):
        if number > MOST_FILES:
            raise InputError(f"expected at most {MOST_FILES:,} files in the folder, got more.")
        if file.is_file() and not file.name.startswith("."):
            files.append(file)
    return files


def _answers(path: Path) -> Iterator[tuple[Call | None, WrapperAnswer]]:
    """Each answer in a file with the last call before it, if there is one."""
    call = None
    with path.open("rb") as file:
        while raw := file.readline(LONGEST_LINE):
            line = raw.decode(errors="replace").strip()
            if match := ANSWER.search(line):
                answer = wrapper_answer.parse(match[1])
                if answer is None:
                    raise InputError(
                        "expected status, runtime, runlength, quality and seed, or a JSON object "
                        f"with them, in an answer in {path.name}, got {match[1]!r:.80}."
                    )
                yield call, answer
                # An answer uses up its call.
                call = None
            elif "-" in line:
                call = _call(line) or call


def _call(line: str) -> Call | None:
    """The call of a wrapper on a line of a log; None if it is none."""
    try:
        words = shlex.split(line)
    except ValueError:
        return None
    if "--instance" in words and "--config" in words:
        at = words.index("--config")
        options = dict(pairwise(words[:at]))
        fields = options.get("--instance"), options.get("--cutoff"), options.get("--seed")
        return _asked(*fields, words[at + 1 :])
    # instance specifics cutoff length seed, then -name value …: what stands before the first
    # parameter is counted back.
    for at in range(5, len(words)):
        if words[at].startswith("-") and np.isnan(number_or_nan(words[at])):
            cutoff, length, seed = words[at - 3 : at]
            if not np.isnan(number_or_nan(length)):
                return _asked(words[at - 5], cutoff, seed, words[at:])
            return None
    return None


def _asked(
    instance: str | None, cutoff: str | None, seed: str | None, words: list[str]
) -> Call | None:
    limit, number = number_or_nan(cutoff), number_or_nan(seed)
    switches = all(word.startswith("-") for word in words[::2])
    if instance is None or not limit > 0 or len(words) % 2 or not switches:
        return None
    pairs = sorted(
        (name.lstrip("-"), value) for name, value in zip(words[::2], words[1::2], strict=True)
    )
    whole = number == np.floor(number) and abs(number) < 2**53
    return Call(
        instance=instance,
        cutoff=limit,
        seed=int(number) if whole else None,
        parameters=tuple(pairs),
    )


def _names(file: Path, root: Path) -> tuple[str, str]:
    """Configuration and instance of an answer without a call: configuration/instance.log."""
    parts = file.relative_to(root).parts if root.is_dir() else ()
    if len(parts) < 2:
        raise InputError(
            f"expected the call of the wrapper before its answer in {file.name}, or a folder with "
            "files configuration/instance.log."
        )
    return parts[0], str(Path(*parts[1:]).with_suffix(""))


def _cutoff(caps: FloatArray, options: Options) -> tuple[float, tuple[str, ...]]:
    """The cutoff of the running times, the largest that a call asks for."""
    # Configurators lower it to cap runs.
    if options.cutoff is not None:
        return options.cutoff, ()
    if np.isnan(caps).all():
        raise InputError(
            "Give the `cutoff` of the running times, in seconds: no call in the log says it."
        )
    least, most = float(np.nanmin(caps)), float(np.nanmax(caps))
    note = (
        f"Calls have cutoffs from {least:g} to {most:g}: the largest is the cutoff, "
        "lower ones are caps."
    )
    return most, () if least == most else (note,)


def _array(path: Path) -> np.ndarray[Any, Any]:
    with path.open("rb") as file:
        array = npz.read_array(file)
    if array.dtype.names is None or not set(PM_FIELDS) <= set(array.dtype.names):
        raise InputError(
            f"expected a structured array with the fields {', '.join(PM_FIELDS)}, got "
            f"{str(array.dtype)!r:.100}. Costs alone become runs in Python: "
            "truecost.CostMatrix(costs, configurations, instances, low, high).save(path)."
        )
    for name in PM_FIELDS:
        kinds, what = ("SUiu", "text") if name == "result" else ("fiu", "numbers")
        if array[name].dtype.kind not in kinds or array[name].ndim != array.ndim:
            raise InputError(f"expected {what} in the field {name!r}, got {array[name].dtype}.")
    if array.ndim == 2:
        array = array[:, :, np.newaxis]
    if array.ndim != 3 or 0 in array.shape:
        raise InputError(
            f"expected an array of configurations × instances × runs, got the shape {array.shape}."
        )
    return array


def _results(result: np.ndarray[Any, Any]) -> NDArray[np.int8]:
    if result.dtype.kind in "iu":
        # Numbers name nothing: running times alone say what timed out.
        return np.full(result.shape, NO_STATUS, dtype=np.int8)
    words = np.char.decode(result, errors="replace") if result.dtype.kind == "S" else result
    return statuses_of(words.ravel().tolist())[0].reshape(result.shape)


def _numbered(what: str, size: int) -> pl.Series:
    digits = len(str(size - 1))
    return pl.Series([f"{what}-{number:0{digits}d}" for number in range(size)])


IMPORTER = Importer(name="acl", title="logs of AClib wrappers", recognise=_recognise, read=_read)
