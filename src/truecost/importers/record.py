"""What every importer takes and gives, and how it comes from recorded runs to costs."""

import ast
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from truecost.arrays import BoolArray, FloatArray
from truecost.errors import InputError, counted
from truecost.matrix import CostMatrix
from truecost.runs import NO_STATUS, Status
from truecost.stats.utility import Utility

if TYPE_CHECKING:
    import polars as pl

# The factor of the paper, and of most papers on running times.
USUAL_PAR = 10.0
# Common seeds are aligned while that takes at most this many times the room.
MOST_ROOM = 4

# What others call the ways a run can end.
_WORDS: Mapping[Status, str] = {
    Status.SOLVED: "success sat unsat ok solved complete successful done finished satisfiable "
    "unsatisfiable succes completed",
    Status.TIMEOUT: "timeout timedout time_out timed_out cutoff tle",
    Status.CENSORED: "censored capped",
    Status.MEMORY: "memout memoryout memory memory_out mem_out oom out_of_memory",
    Status.CRASHED: "crashed crash error failed fail wrong other not_applicable",
    Status.ABORTED: "abort aborted killed",
    Status.VETOED: "vetoed",
}
STATUS_WORDS = {word: status for status, words in _WORDS.items() for word in words.split()}
# What others write for a run that has not ended: there is nothing to charge yet.
UNFINISHED = frozenset({"running", "stop", "donotadvance"})

NOT_FINITE = {"nan": "None", "inf": "1e999", "-inf": "-1e999"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What the caller says about a log that does not say it itself, or says it otherwise; the
    parameters are those of `import_runs`.
    """

    low: float | None = None
    high: float | None = None
    cutoff: float | None = None
    par: float | None = None
    objective: str | None = None
    fidelity: float | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    default: str | None = None
    utility: Utility | None = None
    families: str | Path | Mapping[str, str] | None = None
    maximise: bool | None = None

    def __post_init__(self) -> None:
        if self.cutoff is not None and not 0 < self.cutoff < np.inf:
            raise InputError(f"Expected a `cutoff` above 0, got {self.cutoff:g}.")
        if self.par is not None and not 1 <= self.par < np.inf:
            raise InputError(f"Expected a `par` of at least 1, got {self.par:g}.")
        if self.par is not None and self.utility is not None:
            raise InputError("Expected either `par` or `utility`, got both.")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Charged:
    """Costs in a range; with the cutoff, or the utility, where they are of running times and it is
    known.
    """

    costs: FloatArray
    statuses: NDArray[np.int8]
    low: float
    high: float
    notes: tuple[str, ...]
    cutoff: float | None = None
    utility: str | None = None


def charge(
    values: FloatArray,
    statuses: NDArray[np.int8],
    options: Options,
    *,
    cutoff: float | None = None,
    par: float | None = None,
    like: Charged | None = None,
) -> Charged:
    """Costs from what was recorded: PARk where there is a cutoff, else the values, and the worst
    for a run that failed.

    Parameters
    ----------
    values
        Recorded costs or seconds, NaN or infinite where a run has none; of censored runs the cap,
        which stays their cost.
    statuses
        How each ended.
    options
        What the caller says.
    cutoff, par
        What the log says; the caller's word counts more.
    like
        Where the range was settled already, by the training runs.
    """
    cutoff = options.cutoff if options.cutoff is not None else cutoff
    if cutoff is None and options.par is not None:
        raise InputError("Give the `cutoff` for `par`, in seconds: the log has none.")
    censored = statuses == Status.CENSORED
    if not np.isfinite(values[censored]).all():
        raise InputError("expected the cap as the cost of every censored run, and some have none.")
    if np.isneginf(values).any():
        raise InputError("expected finite costs, or inf for a run that failed, got -inf.")
    failed = (statuses != Status.SOLVED) & (statuses != NO_STATUS) & ~censored
    statuses, costs, notes = statuses.copy(), values.copy(), []
    if cutoff is not None:
        par = options.par if options.par is not None else par if par is not None else USUAL_PAR
        # Without a status, to stop at the cutoff is to be stopped by it.
        late = np.where(statuses == NO_STATUS, values >= cutoff, ~failed & (values > cutoff))
        if overran := int((late & (statuses == Status.SOLVED)).sum()):
            counts = "it counts as a timeout" if overran == 1 else "they count as timeouts"
            notes.append(
                f"{counted(overran, 'run')} ended after the cutoff of {cutoff:g} though called "
                f"solved: {counts}."
            )
        # Stopped at the cutoff, or at a cap that is above the one asked for, it is a timeout.
        late |= censored & (values >= cutoff)
        statuses[late] = Status.TIMEOUT
        failed |= late
        costs[failed] = par * cutoff
        # Times are known to lie between 0 and the penalty: nobody has to say so.
        low = 0.0 if options.low is None else options.low
        high = max(par * cutoff, low) if options.high is None else options.high
        number = int(failed.sum())
        runs = counted(number, "run")
        charged = f"PAR{par:g}, {runs} {'is' if number == 1 else 'are'} charged"
        note = f"Costs are running times with a cutoff of {cutoff:g}: {charged}."
        if options.utility is not None:
            note = f"Running times have a cutoff of {cutoff:g}. Not solved, with utility 0: {runs}."
        notes.append(note)
    else:
        low, high = _given_range(options, like)
        notes += _charge_failures(costs, statuses, failed, high)
    return Charged(
        costs=costs, statuses=statuses, low=low, high=high, notes=tuple(notes), cutoff=cutoff
    )


def _charge_failures(
    costs: FloatArray, statuses: NDArray[np.int8], failed: BoolArray, high: float
) -> list[str]:
    """Charge runs that failed without a cost the worst there is, in place; notes on all that
    failed.
    """
    notes = []
    blank = failed & ~np.isfinite(costs) | np.isinf(costs)
    finite = costs[np.isfinite(costs)]
    if not finite.size and not np.isfinite(high):
        raise InputError(
            "every run failed without a cost: give the largest cost a run can have (`high`)."
        )
    worst = high if np.isfinite(high) else float(finite.max())
    costs[blank] = worst
    statuses[blank & (statuses == NO_STATUS)] = Status.CRASHED
    if number := int(blank.sum()):
        seen_only = "the largest cost seen: give `high` if it is more"
        most = "the most a run can cost" if np.isfinite(high) else seen_only
        failures = f"{counted(number, 'run')} that failed without a cost"
        notes.append(f"{failures} {'is' if number == 1 else 'are'} charged {worst:g}, {most}.")
    if kept := int((failed & ~blank).sum()):
        keeping = "keeps the cost the log charges it"
        keeping = keeping if kept == 1 else "keep the cost the log charges them"
        notes.append(f"{counted(kept, 'run')} that failed {keeping}.")
    return notes


def _given_range(options: Options, like: Charged | None) -> tuple[float, float]:
    """The range of the cost; infinite where nobody says it."""
    if like is not None:
        return like.low, like.high
    return (
        -np.inf if options.low is None else options.low,
        np.inf if options.high is None else options.high,
    )


def matrix_of(runs: "pl.DataFrame", charged: Charged) -> CostMatrix:
    """The matrix of runs with the columns configuration, instance, and run, seed or neither, one
    row for each cost.
    """
    import polars as pl

    labels = pl.Series([*(status.label for status in Status), None], dtype=pl.String)
    columns = [pl.Series("cost", charged.costs)]
    if (charged.statuses != NO_STATUS).any():
        columns.append(
            labels.gather(charged.statuses.astype(np.int64) % labels.len()).alias("status")
        )
    settled = {"cutoff": charged.cutoff, "utility": charged.utility}
    table = runs.with_columns(columns).with_columns(
        pl.lit(value).alias(name) for name, value in settled.items() if value is not None
    )
    # Solved, and nobody wrote down what it took: nothing to charge, and nothing to count.
    blank = (charged.statuses == Status.SOLVED) & np.isnan(charged.costs)
    table = table.filter(pl.Series(~blank)) if blank.any() else table
    if "run" not in table.columns:
        table = table.with_columns(_places(table).alias("run"))
    return CostMatrix.from_table(table, low=charged.low, high=charged.high)


def _places(table: "pl.DataFrame") -> "pl.Expr":
    """Which run of its configuration on its instance each row is."""
    import polars as pl

    cell = ("configuration", "instance")
    if "seed" not in table.columns:
        return pl.int_range(pl.len()).over(cell)
    if table["seed"].null_count():
        raise InputError("expected a seed for every run, or for none.")
    most = table.group_by(cell).len()["len"].max()
    seeds = table.group_by("instance").agg(pl.col("seed").n_unique())["seed"].max()
    assert isinstance(most, int)  # noqa: S101 - a table with rows
    assert isinstance(seeds, int)  # noqa: S101
    # Seeds of its own for each configuration would make a matrix of holes.
    in_line = seeds <= MOST_ROOM * most
    return pl.col("seed").rank("dense").over("instance" if in_line else cell).cast(pl.Int64) - 1


def only_folder(path: Path, pattern: str, deepest: int, tool: str) -> Path | None:
    """The only folder with a file like that, the highest below this one; None if there is none."""
    # From the top down: a search may keep copies of others below its own folder.
    for depth in range(deepest + 1):
        files = [file for file in path.glob("*/" * depth + pattern) if file.is_file()]
        folders = sorted({file.parent for file in files})
        if len(folders) > 1:
            raise InputError(
                f"expected one run of {tool}, got {len(folders)}: name one, {folders[0]} for "
                "instance."
            )
        if folders:
            return folders[0]
    return None


def literal(text: Any) -> Any:
    """What a value of Python is that was printed into a cell; None for anything else."""
    # Printed, these are no literals.
    plain = re.sub(r"(?<=: )(nan|-?inf)(?=[,}])", lambda m: NOT_FINITE[m[1]], str(text))
    try:
        return ast.literal_eval(plain)
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return None


def statuses_of(words: Sequence[str | None]) -> tuple[NDArray[np.int8], BoolArray]:
    """How runs ended by what others call it, `NO_STATUS` where they say nothing; and which of them
    have not ended.
    """
    # Each word once: a table of a million runs has a handful of them.
    meanings = {
        word: status_of(word) if word and word.strip() else NO_STATUS
        for word in dict.fromkeys(words)
    }
    unfinished = np.array([meanings[word] is None for word in words], dtype=np.bool_)
    codes = {word: NO_STATUS if code is None else code for word, code in meanings.items()}
    return np.array([codes[word] for word in words], dtype=np.int8), unfinished


def status_of(word: str) -> Status | None:
    """What others call a status; None for a run that has not ended."""
    plain = word.strip().strip("'\"").lower().removeprefix("statustype.").replace(" ", "_")
    if plain in UNFINISHED:
        return None
    if plain not in STATUS_WORDS:
        raise InputError(
            f"expected a status such as success, timeout, memout or crashed, got {word!r:.60}: "
            "write timeout for a run that was not solved in time, crashed for one that failed "
            "otherwise."
        )
    return STATUS_WORDS[plain]
