"""Tables as data frames of polars, what csv and parquet files hold or pandas has, and the runs in
them, one a row. Columns are guessed by their names.
"""

import re
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from truecost.arrays import BoolArray
from truecost.errors import InputError
from truecost.importers.packed import PARQUET
from truecost.importers.record import Options, charge, matrix_of, statuses_of
from truecost.matrix import longtable
from truecost.matrix.families import WEIGHTS, checked_weights
from truecost.matrix.imported import Import
from truecost.runs import NO_STATUS, Status, Trajectory
from truecost.stats.utility import Utility

# Words in the name of a column of which more may be better: its direction has to be said.
SCORES = frozenset({
    "accuracy", "acc", "score", "scores", "reward", "auc", "auroc", "f1", "r2", "precision",
    "recall", "fitness", "return", "profit", "throughput", "ndcg", "bleu", "iou",
})  # fmt: skip
# Ours, and what others call it; the first that is there counts.
GUESSES: Mapping[str, tuple[str, ...]] = {
    "configuration": (
        "configuration", "config_id", "configuration_id", "config", "algorithm", "algorithm_id",
        "algo", "solver", "setting", "method", "params",
    ),
    "instance": (
        "instance", "instance_id", "instance_name", "inst", "problem", "benchmark", "task",
        "dataset", "fold",
    ),
    "cost": (
        "cost", "par10", "par2", "objective", "value", "quality", "loss", "val_loss", "error",
        "runtime", "run_time", "time", "cpu_time", "cputime", "seconds",
    ),
    "seed": ("seed", "random_seed", "instance_seed"),
    "run": ("run", "repetition", "rep", "replicate"),
    "status": ("status", "runstatus", "run_status", "result", "outcome", "solved", "success"),
    "low": ("low",),
    "high": ("high",),
    "family": ("family", "family_name", "class", "group"),
    "weight": WEIGHTS,
}  # fmt: skip
# A word in the name of the only column that has one of these, where no whole name is known.
WORDS: Mapping[str, frozenset[str]] = {
    "configuration": frozenset({
        "configuration", "config", "solver", "algorithm", "algo", "method", "model", "strategy",
        "variant", "tool",
    }),
    "instance": frozenset({
        "instance", "benchmark", "problem", "task", "dataset", "fold", "formula", "file",
        "filename", "hash",
    }),
    "cost": SCORES | {
        "cost", "loss", "error", "time", "runtime", "walltime", "cputime", "seconds", "duration",
        "elapsed", "rmse", "mse", "mae", "makespan", "gap", "par10", "par2", "length",
    },
}  # fmt: skip
# What a column called solved or success says.
SOLVED = {
    **dict.fromkeys(("true", "1", "1.0", "yes"), "solved"),
    **dict.fromkeys(("false", "0", "0.0", "no"), "timeout"),
}
OWN = ("configuration", "instance", "cost", "run", "low", "high")
NEEDED = ("configuration", "instance", "cost")
# Behind the name of a column of times that are not in seconds.
OTHER_UNIT = re.compile(r"[(\[]\s*(ms|msec|milliseconds|min|minutes|h|hours)\s*[)\]]")
# A configuration that is called so is what others are compared with, unless somebody names another
# one.
NAMED_SO = "default"
# Reads all of a parquet file under a limit of memory; damage that makes the library abort ends this
# process, not ours. What lives so briefly has no garbage to collect, and nothing to tidy up at its
# end.
TRIAL = """
import gc, os, resource, sys
gc.disable()
import polars
limit = int(sys.argv[2])
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
try:
    with open(sys.argv[1], "rb") as file:
        polars.read_parquet(file)
except BaseException as error:
    sys.exit(" ".join(str(error).split())[:200] or type(error).__name__)
os._exit(0)
"""
# Room of the library itself, and for each byte of the file.
TRIAL_ROOM = 4 << 30
TRIAL_ROOM_PER_BYTE = 50


def as_frame(source: Any) -> pl.DataFrame:
    """The table in a csv, tsv or parquet file, all text in the first two; or a data frame."""
    if not isinstance(source, Path):
        return _polars(source)
    with source.open("rb") as file:
        if file.read(len(PARQUET)) == PARQUET:
            return _parquet(source.absolute(), source.stat().st_mtime_ns, source.stat().st_size)
        file.seek(0)
        return longtable.read(file, "csv", every=True)


@lru_cache(maxsize=1)
def _parquet(path: Path, _time: int, size: int) -> pl.DataFrame:
    """A parquet file."""
    # One that was just read is not read again, since several importers look.
    words = [sys.executable, "-c", TRIAL, str(path), str(TRIAL_ROOM + TRIAL_ROOM_PER_BYTE * size)]
    trial = subprocess.run(  # noqa: S603 - our own words
        words, check=False, capture_output=True, text=True, errors="replace"
    )
    if trial.returncode:
        reason = (trial.stderr.strip().splitlines() or ["it ended the reader"])[-1]
        raise InputError(f"expected a parquet table, and it cannot be read ({reason:.150}).")
    with path.open("rb") as file:
        return longtable.read(file, "parquet", every=True)


def _polars(frame: Any) -> pl.DataFrame:
    if isinstance(frame, pl.DataFrame):
        return frame
    try:
        # In pandas, names of instances or solvers may be the index.
        index = getattr(frame, "index", None)
        if index is not None and (any(index.names) or index.dtype.kind == "O"):
            frame = frame.reset_index()
        # What is missing there, NaN in a column of words among it, is None here.
        columns = {name: frame[name].astype(object) for name in frame.columns}
        return pl.DataFrame(
            {
                str(name): pl.Series(column.where(column.notna(), None).tolist(), strict=False)
                for name, column in columns.items()
            }
        )
    except (TypeError, ValueError, AttributeError, pl.exceptions.PolarsError) as error:
        raise InputError(
            f"expected a data frame of polars or pandas, and it cannot be read ({error!r:.80})."
        ) from error


def runs_of(table: pl.DataFrame, options: Options, name: str = "runs") -> Import:
    """The runs in a table with a row for every run; `name` is that of the only configuration, where
    no column says which.
    """
    if _is_of_one(table, options.columns):
        table = table.with_columns(configuration=pl.lit(name))
    columns = guess(table.columns, options.columns)
    renamed = [f"{theirs} is the {role}" for role, theirs in columns.items() if theirs != role]
    notes = [f"Columns: {', '.join(renamed)}."] if renamed else []
    cutoff, utility = longtable.cutoff_of(table), _utility(table)
    # Times cannot be had back from utilities.
    if utility is not None and not (options.cutoff is None and options.par is None):
        raise InputError(
            f"expected no `cutoff` and `par` for costs that are 1 − utility ({utility}): give them "
            "with the runs they were made from, which have the times."
        )
    check_direction(columns["cost"], options.maximise)
    # Before columns are renamed: messages call this one what its owner does.
    values = longtable.numbers(table, columns["cost"]).fill_null(np.nan).to_numpy()
    if options.cutoff is not None and (unit := OTHER_UNIT.search(columns["cost"])):
        notes.append(f"The cutoff of {options.cutoff:g} is meant in {unit[1]}, as the costs are.")
    table = table.select(pl.col(theirs).alias(role) for role, theirs in columns.items())
    # Our own tables keep names as they are.
    ours = set(OWN) <= set(columns.values())
    if not ours:
        names = [name for name in ("configuration", "instance") if table[name].dtype == pl.String]
        table = table.with_columns(pl.col(*names).str.strip_chars()) if names else table
    if options.maximise:
        values, options = -values, flipped(options)
        table = table.drop("low", "high", strict=False)
        score = "score" if columns["cost"] == "cost" else columns["cost"]
        notes.append(f"More {score} is better: as a cost, a run counts minus its {score}.")
    words = table["status"].cast(pl.String, strict=False).to_list() if "status" in columns else None
    if words and plain_name(columns["status"]) in ("solved", "success"):
        words = [SOLVED.get(word.strip().lower(), word) if word else word for word in words]
        if unsolved := words.count("timeout"):
            notes.append(f"Runs that were not solved count as timeouts: {unsolved:,}.")
    statuses, unfinished = statuses_of(words or [None] * table.height)
    if (wrong := np.flatnonzero((statuses == Status.SOLVED) & ~np.isfinite(values))).size:
        raise InputError(
            f"expected a cost in row {wrong[0] + 1}, which has the status solved: charge a failed "
            "run its penalty, do not drop it."
        )
    empty = np.isnan(values) & (statuses == NO_STATUS)
    # In our own tables a row without cost and status keeps a name and is no run.
    if empty.any() and "status" not in columns and not ours:
        notes.append(_timeouts(empty, options))
        statuses[empty] = Status.TIMEOUT
        empty[:] = False
    keep = ~(empty | unfinished)
    lost = 0 if ours else int((empty & ~unfinished).sum())
    left_out = {"not ended": int(unfinished.sum()), "no cost": lost}
    table, values, statuses = table.filter(pl.Series(keep)), values[keep], statuses[keep]
    if table.height == 0:
        raise InputError("expected at least one run with a cost in the table, got none.")
    charged = charge(values, statuses, _with_range(table, options))
    charged = replace(charged, cutoff=charged.cutoff or cutoff, utility=utility)
    matrix, default = matrix_of(_numbered(table, notes), charged), None
    families = _labels(table, "family", declared="family" in options.columns)
    weights = _labels(table, "weight", declared="weight" in options.columns)
    notes += [labels for labels in (families, weights) if isinstance(labels, str)]
    if isinstance(families, dict):
        matrix = matrix.replace(families=[families[name] for name in matrix.instances])
    if isinstance(weights, dict):
        # Whether weights are those of a benchmark or of the sampling, nobody says.
        notes.append(
            f"The column {columns['weight']} weighs instances only if asked to: `weights` column."
        )
    defaults = [name for name in matrix.configurations if name.strip().lower() == NAMED_SO]
    if options.default is None and len(defaults) == 1:
        default = defaults[0]
        notes.append("The default was guessed by its name; `default` names another.")
    return Import(
        kind="table",
        matrix=matrix,
        trajectory=Trajectory(tool="table", default=default, maximised=bool(options.maximise)),
        left_out=left_out,
        notes=(*notes, *charged.notes),
        columns=columns,
        weights=checked_weights(weights, "its column") if isinstance(weights, dict) else {},
    )


def _timeouts(empty: BoolArray, options: Options) -> str:
    """A note on rows without a cost, which are timeouts where there is a cutoff."""
    number = int(empty.sum())
    if options.cutoff is not None:
        return f"Runs without a cost count as timeouts: {number:,}."
    raise InputError(
        f"{number:,} of {empty.size:,} rows {'has' if number == 1 else 'have'} no cost, the first "
        f"is row {np.argmax(empty) + 1}. If these runs timed out, give the `cutoff` in seconds; if "
        "they failed, write what that costs; delete the rows of runs that were never made."
    )


def _numbered(table: pl.DataFrame, notes: list[str]) -> pl.DataFrame:
    """Configuration and instance of each run, and its number and seed if they tell runs apart."""
    names = [name for name in ("run", "seed") if name in table.columns]
    runs = table.select("configuration", "instance").with_columns(
        longtable.whole_numbers(table, name) for name in names
    )
    again = int(runs.is_duplicated().sum())
    if not again or "run" in names:
        return runs
    notes.append(
        f"{again:,} rows agree in configuration, instance{' and seed' if names else ''}: they are "
        "taken for runs in the order of the table."
    )
    return runs.select("configuration", "instance")


def check_direction(column: str, maximise: bool | None) -> None:
    """Refuse a score that nobody said to maximise."""
    # The worst configuration would win.
    if maximise is None and SCORES.intersection(plain_name(column).split("_")):
        raise InputError(
            f"expected `maximise` for the column {column!r}, which looks like a score: give "
            "`maximise=True` if more is better, `maximise=False` if less is."
        )


def flipped(options: Options) -> Options:
    """The options for minus the score: its range turned round."""
    # A time is never a score.
    if options.cutoff is not None or options.utility is not None:
        raise InputError("expected costs to `maximise` to be scores, which have no `cutoff`.")
    ends = [None if end is None else 0.0 - end for end in (options.high, options.low)]  # no −0
    return replace(options, low=ends[0], high=ends[1])


def _labels(table: pl.DataFrame, what: str, *, declared: bool) -> dict[str, str] | str | None:
    """The family or weight of each instance, or a note why the column that looks like it is not."""
    if what not in table.columns:
        return None
    pairs = table.select(pl.col("instance", what).cast(pl.String)).unique()
    labels = dict(pairs.iter_rows())
    # A column called group or class often groups something else than instances.
    if pairs.height > len(labels) or None in labels.values() or "" in labels.values():
        problem = "some instances have several there, or none"
        if declared:
            raise InputError(f"expected one {what} for every instance: {problem}.")
        return f"The column of the {what} was passed over: {problem}."
    return labels


def plain_name(name: str) -> str:
    """The name of a column in small letters, without a unit, `_` for what separates its words."""
    # The start is enough, and brackets that never close take a square of the time.
    return re.sub(r"\W+", "_", re.sub(r"[(\[].*?[)\]]", "", name[:200].lower())).strip("_")


def _is_of_one(table: pl.DataFrame, given: Mapping[str, str]) -> bool:
    """Whether a table holds the runs of one configuration: nothing says which, and every instance
    has one run, or runs with numbers or seeds.
    """
    roles = _likely(table.columns, given)
    if "configuration" in roles or not {"instance", "cost"} <= set(roles):
        return False
    keys = [roles[ours] for ours in ("instance", "seed", "run") if ours in roles]
    return not table.select(keys).is_duplicated().any()


def guess(columns: list[str], given: Mapping[str, str]) -> dict[str, str]:
    """Which column is what; all that a run needs must be there."""
    roles = _likely(columns, given)
    if missing := [ours for ours in NEEDED if ours not in roles]:
        raise InputError(
            f"expected a column for the {' and the '.join(missing)}, and none of "
            f"{_listed(columns)} looks like it. A table has a row for every run, with the columns "
            f"{', '.join(NEEDED)}, or a column of numbers for every solver; for other names, give "
            f"{' '.join(f'`columns` {ours}=NAME' for ours in missing)}."
        )
    return roles


def _likely(columns: list[str], given: Mapping[str, str]) -> dict[str, str]:
    """Which column is what: as given, else by name, else by the only name with such a word."""
    roles = guesses(columns, given)
    for ours, words in WORDS.items():
        free = [name for name in columns if name not in roles.values()]
        likely = [name for name in free if words.intersection(plain_name(name).split("_"))]
        if ours not in roles and len(likely) == 1:
            roles[ours] = likely[0]
    return {ours: roles[ours] for ours in GUESSES if ours in roles}


def guesses(columns: list[str], given: Mapping[str, str]) -> dict[str, str]:
    """Which column is what, as far as it is given or its name says it, whatever the case."""
    for ours, theirs in given.items():
        if ours not in GUESSES:
            raise InputError(
                f"expected one of {', '.join(GUESSES)} on the left of a column, got {ours!r}."
            )
        if theirs not in columns:
            raise InputError(
                f"expected {ours}={theirs} to name a column, got the columns {_listed(columns)}."
            )
    roles = dict(given)
    names = {plain_name(name): name for name in reversed(columns)}
    for ours, likely in GUESSES.items():
        free = [names[name] for name in likely if names.get(name) not in (None, *roles.values())]
        if ours not in roles and free:
            roles[ours] = free[0]
    return {ours: roles[ours] for ours in GUESSES if ours in roles}


def _listed(names: list[str]) -> str:
    """Names of columns in a message of one line, whatever is in them."""
    return f"{', '.join(name if name.isprintable() else repr(name) for name in names):.200}"


def _with_range(table: pl.DataFrame, options: Options) -> Options:
    """The options, with low and high from the columns of that name where nothing else says them."""
    if options.cutoff is not None:
        return options
    ends = {
        name: longtable.end_of_range(table, name, given)
        for name, given in (("low", options.low), ("high", options.high))
        if name in table.columns or given is not None
    }
    return replace(options, low=ends.get("low"), high=ends.get("high"))


def _utility(table: pl.DataFrame) -> str | None:
    """Which utility the costs are, where truecost wrote the table; what others call so is passed
    over.
    """
    named = longtable.utility_of(table)
    with suppress(InputError):
        return None if named is None else str(Utility.parse(named))
    return None
