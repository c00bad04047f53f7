"""AClib: answers of solver wrappers collected in text files, and the PM.npy of the paper's authors.

A wrapper answers `Result for SMAC: status, runtime, runlength, quality, seed` (or ParamILS for
SMAC), in newer versions `Result of this algorithm run: {"status": …, "cost": …, "runtime": …}`. The
answer does not name configuration and instance. The call on a line above it does, `wrapper instance
specifics cutoff length seed -name value …` or `wrapper --instance …
--cutoff … --seed … --config -name value …`; without one, the file does:
`configuration/instance.log`.
"""

import json
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from truecost.errors import InputError
from truecost.importers.record import Options, charge, matrix_of, number_or_nan, status_of
from truecost.matrix import npz
from truecost.matrix.imported import Import, Scalar
from truecost.runs import NO_STATUS, Status, Trajectory

ANSWER: Final = re.compile(
    r"Result (?:for (?:SMAC|ParamILS)|of (?:this )?algorithm run)\s*:\s*(.*)", re.IGNORECASE
)
MEASURES: Final = ("runtime", "quality")
MOST_FILES: Final = 1_000_000
LONGEST_LINE: Final = 1 << 20
PM_FIELDS: Final = ("result", "runtime", "quality", "seed")


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """What a wrapper was asked."""

    instance: str
    cutoff: float
    seed: int | None
    parameters: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What it answered; a value it did not give is NaN."""

    status: Status | None
    runtime: float
    quality: float
    seed: int | None


def load_logs(path: Path, options: Options) -> Import:
    """The runs whose answers stand in a text file, or in the text files of a folder."""
    measure = _measure(options)
    rows: list[tuple[str, str, int | None, float, int, float]] = []
    parameters: dict[str, dict[str, Scalar]] = {}
    unfinished = 0
    for file in _files(path):
        for call, answer in _answers(file):
            if answer.status is None:
                unfinished += 1
                continue
            if call is None:
                configuration, instance = _names(file, path)
            else:
                configuration, instance = _name(call.parameters), call.instance
                parameters.setdefault(configuration, dict(call.parameters))
            seed = (
                answer.seed if answer.seed is not None else call.seed if call is not None else None
            )
            asked = np.nan if call is None else call.cutoff
            rows.append(
                (configuration, instance, seed, getattr(answer, measure), int(answer.status), asked)
            )
    if not rows:
        raise InputError(
            "expected answers of wrappers ('Result for SMAC: …'), got none of a run that ended."
        )
    asked_for = np.array([row[5] for row in rows])
    cutoff, notes = _cutoff(asked_for, options) if measure == "runtime" else (None, ())
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
        values, statuses = (
            np.where(stopped, caps, values),
            np.where(stopped, Status.CENSORED, statuses),
        )
    charged = charge(values, statuses.astype(np.int8), options, cutoff=cutoff)
    columns = {"configuration": names, "instance": instances}
    if not any(seed is None for seed in seeds) and not _again(names, instances, seeds):
        columns["seed"] = seeds
    left_out = {"not ended": unfinished, f"no {measure} though solved": len(rows) - len(usable)}
    return Import(
        kind="acl",
        matrix=matrix_of(pl.DataFrame(columns), charged),
        trajectory=Trajectory(tool="AClib wrapper", default=options.default),
        parameters=parameters,
        left_out={reason: count for reason, count in left_out.items() if count},
        notes=(*notes, *charged.notes),
    )


def load_array(path: Path, options: Options) -> Import:
    """The runs of a PM.npy: a structured array of configurations × instances × runs with the fields
    `PM_FIELDS`.
    """
    measure = _measure(options)
    stored = _array(path)
    statuses = _results(stored["result"])
    runtime = stored["runtime"].astype(np.float64)
    values = runtime if measure == "runtime" else stored["quality"].astype(np.float64)
    # There, a running time of 0 says that the run was never made.
    missing = (runtime == 0) | np.isnan(runtime)
    if missing.all():
        raise InputError("expected at least one run with a running time above 0, got none.")
    if measure == "runtime" and options.cutoff is None:
        raise InputError(
            "Give the `cutoff` of the running times, in seconds: the file does not say it."
        )
    there = ~missing
    charged = charge(values[there], statuses[there], options)
    configuration, instance, run = np.nonzero(there)
    runs = pl.DataFrame(
        {
            "configuration": pl.Series(_numbered("configuration", stored.shape[0])).gather(
                configuration
            ),
            "instance": pl.Series(_numbered("instance", stored.shape[1])).gather(instance),
            "run": run,
        }
    )
    if stored["seed"].dtype.kind in "iu":
        runs = runs.with_columns(seed=pl.Series(stored["seed"][there].astype(np.int64)))
    return Import(
        kind="acl",
        matrix=matrix_of(runs, charged),
        trajectory=Trajectory(tool="PM.npy", default=options.default),
        left_out={"never made (running time 0)": int(missing.sum())} if missing.any() else {},
        notes=charged.notes,
    )


def _measure(options: Options) -> str:
    wanted = {"cost": "quality"}.get(options.objective or "runtime", options.objective or "runtime")
    if wanted not in MEASURES:
        raise InputError(f"expected the objective runtime or quality, got {options.objective!r}.")
    return wanted


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


def has_answers(path: Path) -> bool:
    """Whether an answer of a wrapper stands in the first megabyte of a file."""
    with path.open("rb") as file:
        start = file.read(LONGEST_LINE)
    return ANSWER.search(start.decode(errors="replace")) is not None


def _answers(path: Path) -> Iterator[tuple[Call | None, Result]]:
    """Each answer in a file with the last call before it, if there is one."""
    call = None
    with path.open("rb") as file:
        while raw := file.readline(LONGEST_LINE):
            line = raw.decode(errors="replace").strip()
            if found := ANSWER.search(line):
                yield call, _answer(found[1], path.name)
                call = None
            elif "-" in line:
                call = _call(line) or call


def _answer(text: str, name: str) -> Result:
    if text.startswith("{"):
        try:
            stored = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise InputError(
                f"expected an answer in JSON in {name}, and it cannot be read ({error!r:.80})."
            ) from error
        if not isinstance(stored, dict) or not isinstance(stored.get("status"), str):
            raise InputError(f"expected an answer with a status in {name}, got {text!r:.80}.")
        quality = stored.get("cost", stored.get("quality"))
        return Result(
            status=status_of(stored["status"]),
            runtime=number_or_nan(stored.get("runtime")),
            quality=number_or_nan(quality),
            seed=_seed(stored.get("seed")),
        )
    fields = [field.strip() for field in text.split(",")]
    if len(fields) < 5:
        raise InputError(
            f"expected status, runtime, runlength, quality and seed in an answer in {name}, got {text!r:.80}."
        )
    return Result(
        status=status_of(fields[0]),
        runtime=number_or_nan(fields[1]),
        quality=number_or_nan(fields[3]),
        seed=_seed(fields[4]),
    )


def _seed(given: Any) -> int | None:
    number = number_or_nan(given)
    return (
        int(number)
        if np.isfinite(number) and number == int(number) and abs(number) < 2**53
        else None
    )


def _call(line: str) -> Call | None:
    """The call of a wrapper on a line of a log; None if it is none."""
    try:
        words = shlex.split(line)
    except ValueError:
        return None
    if "--instance" in words and "--config" in words:
        at = words.index("--config")
        named = dict(pairwise(words[:at]))
        return _asked(
            named["--instance"], named.get("--cutoff"), named.get("--seed"), words[at + 1 :]
        )
    # instance specifics cutoff length seed, then -name value …: what stands before the first
    # parameter is counted back.
    for at in range(5, len(words)):
        if words[at].startswith("-") and np.isnan(number_or_nan(words[at])):
            cutoff, length, seed = words[at - 3 : at]
            if not np.isnan(number_or_nan(length)):
                return _asked(words[at - 5], cutoff, seed, words[at:])
            return None
    return None


def _asked(instance: str, cutoff: str | None, seed: str | None, words: list[str]) -> Call | None:
    limit = number_or_nan(cutoff)
    if not limit > 0 or len(words) % 2 or not all(word.startswith("-") for word in words[::2]):
        return None
    pairs = sorted(
        (name.lstrip("-"), value) for name, value in zip(words[::2], words[1::2], strict=True)
    )
    return Call(instance=instance, cutoff=limit, seed=_seed(seed), parameters=tuple(pairs))


def _name(parameters: tuple[tuple[str, str], ...]) -> str:
    return " ".join(f"{name}={value}" for name, value in parameters)


def _names(file: Path, root: Path) -> tuple[str, str]:
    """Configuration and instance of an answer without a call: configuration/instance.log."""
    parts = file.relative_to(root).parts if root.is_dir() else ()
    if len(parts) < 2:
        raise InputError(
            f"expected the call of the wrapper before its answer in {file.name}, or a folder with files "
            "configuration/instance.log."
        )
    return parts[0], str(Path(*parts[1:]).with_suffix(""))


def _cutoff(asked: NDArray[np.float64], options: Options) -> tuple[float, tuple[str, ...]]:
    """The cutoff of the running times, the largest that a call asks for: configurators lower it to
    cap runs.
    """
    seen = asked[~np.isnan(asked)]
    if options.cutoff is not None:
        return options.cutoff, ()
    if not seen.size:
        raise InputError(
            "Give the `cutoff` of the running times, in seconds: no call in the log says it."
        )
    if seen.min() == seen.max():
        return float(seen.max()), ()
    note = f"Calls have cutoffs from {seen.min():g} to {seen.max():g}: the largest is the cutoff, lower ones are caps."
    return float(seen.max()), (note,)


def _again(*columns: tuple[Any, ...]) -> bool:
    """Whether a configuration was run twice on an instance with the same seed, so that seeds do not
    tell runs apart.
    """
    keys = list(zip(*columns, strict=True))
    return len(set(keys)) != len(keys)


def _array(path: Path) -> np.ndarray[Any, Any]:
    with path.open("rb") as file:
        stored = npz.read_array(file)
    if stored.dtype.names is None or not set(PM_FIELDS) <= set(stored.dtype.names):
        raise InputError(
            f"expected a structured array with the fields {', '.join(PM_FIELDS)}, got {str(stored.dtype)!r:.100}. "
            "Costs alone become runs in Python: truecost.CostMatrix(costs, configurations, instances, low, high).save(path)."
        )
    for name in PM_FIELDS[1:]:
        if stored[name].dtype.kind not in "fiu" or stored[name].ndim != stored.ndim:
            raise InputError(f"expected numbers in the field {name!r}, got {stored[name].dtype}.")
    if stored["result"].dtype.kind not in "SUiu" or stored["result"].ndim != stored.ndim:
        raise InputError(f"expected text in the field 'result', got {stored['result'].dtype}.")
    if stored.ndim == 2:
        stored = stored[:, :, np.newaxis]
    if stored.ndim != 3 or 0 in stored.shape:
        raise InputError(
            f"expected an array of configurations × instances × runs, got the shape {stored.shape}."
        )
    return stored


def _results(result: np.ndarray[Any, Any]) -> np.ndarray[Any, np.dtype[np.int8]]:
    if result.dtype.kind in "iu":
        # Numbers name nothing: running times alone say what timed out.
        return np.full(result.shape, NO_STATUS, dtype=np.int8)
    different, place = np.unique(result, return_inverse=True)
    codes = []
    for word in different.tolist():
        text = word.decode(errors="replace") if isinstance(word, bytes) else str(word)
        status = status_of(text) if text.strip() else NO_STATUS
        codes.append(NO_STATUS if status is None else int(status))
    return np.asarray(np.array(codes, dtype=np.int8)[place.reshape(result.shape)])


def _numbered(what: str, size: int) -> list[str]:
    digits = len(str(size - 1))
    return [f"{what}-{number:0{digits}d}" for number in range(size)]
