"""From recorded runs to a log: what a failed run costs, and where each run stands."""

import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from truecost.arrays import BoolArray, FloatArray, IntArray
from truecost.errors import InputError
from truecost.matrix.cost_matrix import CostMatrix
from truecost.matrix.log import Log
from truecost.matrix.reading import Reading
from truecost.runs import NO_SEED, NO_STATUS, Caveat, Status

# The factor of the paper, and of most papers on running times.
USUAL_PAR = 10.0
# Common seeds are aligned across configurations while that takes at most this many times the room.
MOST_ROOM = 4
# A matrix this large and nearly empty is a mistake in the columns of its table.
LARGEST_SPARSE = 50_000_000
SPARSE = 100

# What others call the ways a run can end.
_WORDS: Mapping[Status, str] = {
    Status.SOLVED: "success sat unsat ok solved complete successful done finished satisfiable "
    "unsatisfiable succes completed",
    Status.TIMEOUT: "timeout timedout time_out timed_out cutoff tle",
    Status.CENSORED: "censored capped",
    Status.MEMORY: "memout memoryout memory memory_out mem_out oom out_of_memory",
    Status.CRASHED: "crashed crash error failed fail other not_applicable",
    Status.WRONG: "wrong wrong_answer",
    Status.ABORTED: "abort aborted killed",
}
STATUS_WORDS = {word: status for status, words in _WORDS.items() for word in words.split()}
# What others write for a run that has not ended.
UNFINISHED = frozenset({"running", "stop", "donotadvance"})

Names = list[str] | tuple[list[str], IntArray]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Recorded:
    """The runs that a log has, an entry of every column for each: what every reader hands on.

    Parameters
    ----------
    configurations, instances
        Their names, or the different names and the place of each run among them.
    values
        Recorded costs or seconds, NaN or infinite where a run has none; of a censored run its cap.
    statuses
        How each run ended; None where nothing says it.
    runs, seeds
        The number of each run among those of its configuration on its instance, and its seed.
    families
        The family of each instance.
    cutoff, par
        What the log says of running times.
    score
        What the values are called where larger is better; empty where they are costs.
    """

    configurations: Names
    instances: Names
    values: FloatArray
    statuses: NDArray[np.int8] | None = None
    runs: IntArray | None = None
    seeds: IntArray | None = None
    families: Mapping[str, str] | None = None
    cutoff: float | None = None
    par: float | None = None
    score: str = ""


def log_of(
    recorded: Recorded,
    reading: Reading,
    *,
    omitted: Mapping[str, int] | None = None,
    caveats: Sequence[Caveat] = (),
    **facts: Any,
) -> Log:
    """The log of recorded runs: each charged, and where it stands.

    `omitted` counts what the reader left out, by the reason; `facts` are other fields of the log.
    """
    values, ends, notes = recorded.values, reading, list(caveats)
    if recorded.score:
        values, ends, turning = _turned(values, reading, recorded.score)
        notes.append(turning)
    statuses = recorded.statuses
    if statuses is None:
        statuses = np.full(values.size, NO_STATUS, dtype=np.int8)
    costs, statuses, scale, charges = _charge(values, statuses, ends, recorded)
    matrix = _lay_out(recorded, costs, statuses, scale)
    left_out = {**(omitted or {}), "run without a cost": int(np.isnan(costs).sum())}
    return Log(
        runs=matrix,
        cost_unit="" if matrix.par is None else f"PAR{matrix.par:g} s",
        maximised=bool(recorded.score),
        caveats=(*notes, *counts("left out", "Left out", left_out), *charges),
        **facts,
    )


def counts(code: str, what: str, numbers: Mapping[str, int]) -> list[Caveat]:
    """One line for each that there is: "Left out", {"trial still running": 3}."""
    lines = []
    for reason, number in numbers.items():
        things = reason if number == 1 else re.sub(r"\b(run|trial|row)\b", r"\1s", reason, count=1)
        if number:
            lines.append(Caveat(code, f"{what}: {number:,} {things}."))
    return lines


def _charge(
    values: FloatArray, statuses: NDArray[np.int8], reading: Reading, log: Recorded
) -> tuple[FloatArray, NDArray[np.int8], dict[str, Any], list[Caveat]]:
    """Costs, statuses, range and caveats: PARk where there is a cutoff, else the values, and the
    worst for a run that failed without one. What the caller says counts more than the log.
    """
    cutoff = reading.cutoff if reading.cutoff is not None else log.cutoff
    if cutoff is None and reading.par is not None:
        raise InputError("A penalty needs a cutoff. Give the cutoff in seconds, with --cutoff.")
    censored = statuses == Status.CENSORED
    if not np.isfinite(values[censored]).all():
        raise InputError("A censored run has no cost. Give each its cap, where it was stopped.")
    if np.isneginf(values).any():
        raise InputError("A run costs -inf. Give finite costs, or inf for a run that failed.")
    failed = (statuses != Status.SOLVED) & (statuses != NO_STATUS) & ~censored
    costs, statuses = values.copy(), statuses.copy()
    if cutoff is None:
        low = -np.inf if reading.low is None else reading.low
        high = np.inf if reading.high is None else reading.high
        caveats = _charge_failures(costs, statuses, failed, high)
        return costs, statuses, {"low": low, "high": high}, caveats
    given = reading.par if reading.par is not None else log.par
    factor = USUAL_PAR if given is None else given
    worst = factor * cutoff
    if (reading.low, reading.high) not in ((None, None), (0.0, worst)):
        raise InputError(
            f"Running times with a cutoff cost 0 to {worst:g} (PAR{factor:g}). Leave out "
            "--low and --high, or change --par."
        )
    if (values < 0).any():
        raise InputError(
            f"A running time is {np.nanmin(values):g}. If that means not solved, leave it empty."
        )
    # Without a status, a run that reaches the cutoff was stopped by it.
    late = np.where(statuses == NO_STATUS, values >= cutoff, ~failed & (values > cutoff))
    overran = {
        f"solved run that took longer than {cutoff:g} s": int((late & (statuses == 0)).sum())
    }
    statuses[late] = Status.TIMEOUT
    failed |= late
    others = {f"{_FAILED[status]} run": int((statuses == status).sum()) for status in _FAILED}
    caveats = counts("overran", "Counted as timeouts", overran)
    caveats += counts("failed", f"Counted as {factor:g} × the cutoff", others)
    if given is None:
        sentence = f"A failed run costs {factor:g} × the cutoff (PAR{factor:g})."
        caveats.insert(0, Caveat("par", sentence))
    costs[failed] = worst
    return costs, statuses, {"cutoff": cutoff, "par": factor}, caveats


_FAILED = {
    Status.MEMORY: "out-of-memory",
    Status.CRASHED: "crashed",
    Status.WRONG: "wrongly answered",
    Status.ABORTED: "aborted",
}


def _charge_failures(
    costs: FloatArray, statuses: NDArray[np.int8], failed: BoolArray, high: float
) -> list[Caveat]:
    """Charge runs that failed without a cost the worst there is, in place."""
    blank = (failed & ~np.isfinite(costs)) | np.isinf(costs)
    finite = costs[np.isfinite(costs)]
    if not finite.size and not np.isfinite(high):
        raise InputError("Every run failed without a cost. Give the most a run can cost: --high.")
    worst, most = high, "the most a run can cost"
    if not np.isfinite(high):
        worst, most = float(finite.max()), "the largest cost seen (--high sets another)"
    costs[blank] = worst
    statuses[blank & (statuses == NO_STATUS)] = Status.CRASHED
    without = {"failed run without a cost": int(blank.sum())}
    kept = {"failed run with a cost": int((failed & ~blank).sum())}
    return [
        *counts("failed", f"Counted as {worst:g}, {most}", without),
        *counts("failed", "Counted as recorded", kept),
    ]


def _turned(values: FloatArray, reading: Reading, score: str) -> tuple[FloatArray, Reading, Caveat]:
    """Costs from scores of which more is better, and the range as one of costs."""
    if reading.cutoff is not None or reading.par is not None:
        raise InputError("Scores that are maximised have no cutoff. Leave out --cutoff and --par.")
    low, high = reading.low, reading.high
    start = 0.0 if high is None else high
    if high is not None and (values > high).any():
        raise InputError(
            f"The {score} {np.nanmax(values):g} is above --high {high:g}. Give the best possible."
        )
    ends = replace(
        reading, low=None if high is None else 0.0, high=None if low is None else start - low
    )
    cost = f"−{score}" if high is None else f"{high:g} − {score}"
    return (
        start - values,
        ends,
        Caveat("maximised", f"Larger {score} is better: the cost is {cost}."),
    )


def chosen(wanted: str | None, names: Sequence[str]) -> int:
    """The place of the objective that the caller calls by name or number; else the only one."""
    if wanted in names:
        return names.index(wanted)
    if wanted is not None and wanted.isdecimal() and int(wanted) < len(names):
        return int(wanted)
    if wanted is None and len(names) == 1:
        return 0
    problem = f"There is no objective {wanted!r:.60}."
    if wanted is None:
        problem = f"There are {len(names)} objectives."
    raise InputError(f"{problem} Choose one with --objective: {', '.join(names):.200}.")


def numbered(what: str, size: int) -> list[str]:
    """Names for what has none: "instance-07"."""
    digits = len(str(size - 1))
    return [f"{what}-{number:0{digits}d}" for number in range(size)]


def status_of(word: str) -> Status | None:
    """What others call a status; None for a run that has not ended."""
    plain = word.strip().strip("'\"").lower().removeprefix("statustype.").replace(" ", "_")
    if plain in UNFINISHED:
        return None
    if plain not in STATUS_WORDS:
        raise InputError(
            f"The status {word!r:.60} is not known. Write solved, timeout for a run that was not "
            "solved in time, or crashed for one that failed otherwise."
        )
    return STATUS_WORDS[plain]


def statuses_of(words: Sequence[str | None]) -> tuple[NDArray[np.int8], BoolArray]:
    """How runs ended by what others call it, `NO_STATUS` where nothing stands; and which of them
    have not ended.
    """
    # Each word once: a table of a million runs has a handful of them.
    meanings = {
        word: status_of(word) if word and word.strip() else NO_STATUS
        for word in dict.fromkeys(words)
    }
    codes = {word: NO_STATUS if code is None else int(code) for word, code in meanings.items()}
    statuses = np.fromiter((codes[word] for word in words), dtype=np.int8, count=len(words))
    open_words = {word for word, code in meanings.items() if code is None}
    unfinished = np.zeros(len(words), dtype=np.bool_)
    if open_words:
        unfinished[:] = [word in open_words for word in words]
    return statuses, unfinished


def coded(names: Sequence[str]) -> tuple[list[str], IntArray]:
    """The different names in order of appearance, and the place of each among them."""
    places: dict[str, int] = {}
    codes = [places.setdefault(name, len(places)) for name in names]
    return list(places), np.array(codes, dtype=np.int64)


def _lay_out(
    recorded: Recorded,
    costs: FloatArray,
    statuses: NDArray[np.int8],
    scale: Mapping[str, float],
) -> CostMatrix:
    """The matrix of the runs that have a cost.

    They are placed by their number, else in the order of their seeds, so that common seeds stand
    in line across configurations, else as they come.
    """
    keep = ~np.isnan(costs)
    if not keep.any():
        raise InputError("No run has a cost. Give at least one.")
    rows, i = _kept(recorded.configurations, keep)
    columns, j = _kept(recorded.instances, keep)
    run, seed = (None if part is None else part[keep] for part in (recorded.runs, recorded.seeds))
    # Places without gaps: runs may be numbered from 1.
    place = np.unique(_places(i, j, run, seed), return_inverse=True)[1]
    shape = (len(rows), len(columns), int(place.max()) + 1)
    size = shape[0] * shape[1] * shape[2]
    if size > LARGEST_SPARSE and size > SPARSE * place.size:
        raise InputError(
            f"{place.size:,} runs would fill a matrix of {shape[0]:,} configurations × "
            f"{shape[1]:,} instances × {shape[2]:,} runs. Check which columns name them."
        )
    flat = (i * shape[1] + j) * shape[2] + place
    taken = np.bincount(flat, minlength=1)
    if taken.max() > 1:
        at = int(np.flatnonzero(flat == int(taken.argmax()))[0])
        raise InputError(
            f"Configuration {rows[i[at]]!r:.60} has the same run twice on instance "
            f"{columns[j[at]]!r:.60}. Remove one of them, or give different seeds."
        )

    def spread(part: NDArray[np.generic], missing: float) -> NDArray[np.generic]:
        laid_out = np.full(size, missing, dtype=part.dtype)
        laid_out[flat] = part
        return laid_out.reshape(shape)

    statuses, families = statuses[keep], recorded.families
    return CostMatrix(
        spread(costs[keep], np.nan),
        rows,
        columns,
        statuses=None if (statuses == NO_STATUS).all() else spread(statuses, NO_STATUS),
        seeds=None if seed is None else spread(seed, NO_SEED),
        families=None if families is None else [families[name] for name in columns],
        **scale,
    )


def _kept(names: Names, keep: BoolArray) -> tuple[list[str], IntArray]:
    """The names that have runs, and the place of each run among them."""
    if isinstance(names, tuple):
        labels, codes = names[0], names[1][keep]
    else:
        labels, codes = coded(list(itertools.compress(names, keep.tolist())))
    used, places = np.unique(codes, return_inverse=True)
    return [labels[code] for code in used.tolist()], places


def _places(i: IntArray, j: IntArray, run: IntArray | None, seed: IntArray | None) -> IntArray:
    """Which run of its configuration on its instance each is."""
    if run is not None:
        return run
    cell = i * (int(j.max()) + 1) + j
    if seed is None:
        order = np.argsort(cell, kind="stable")
        return _ranks(cell[order], np.ones(cell.size, dtype=np.bool_), order)
    most = int(np.bincount(cell).max())
    in_line = _dense_ranks(j, seed)
    # Seeds of its own for each configuration would make a matrix of holes.
    return in_line if int(in_line.max()) < MOST_ROOM * most else _dense_ranks(cell, seed)


def _dense_ranks(group: IntArray, value: IntArray) -> IntArray:
    """The rank of each value among the different ones of its group."""
    order = np.lexsort((value, group))
    group, value = group[order], value[order]
    steps = np.ones(group.size, dtype=np.bool_)
    steps[1:] = (np.diff(value) != 0) | (np.diff(group) != 0)
    return _ranks(group, steps, order)


def _ranks(group: IntArray, steps: BoolArray, order: NDArray[np.intp]) -> IntArray:
    """Ranks within sorted groups, put back into the order before sorting."""
    counts = np.cumsum(steps)
    first = np.ones(group.size, dtype=np.bool_)
    first[1:] = np.diff(group) != 0
    starts = np.maximum.accumulate(np.where(first, counts, 0))
    ranks = np.empty(group.size, dtype=np.int64)
    ranks[order] = counts - starts
    return ranks
