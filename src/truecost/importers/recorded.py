"""From recorded runs to a cost matrix: what a failed run costs, and where each run stands."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from truecost.arrays import BoolArray, FloatArray, IntArray
from truecost.errors import InputError, counted
from truecost.matrix.cost_matrix import CostMatrix
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

Names = Sequence[str] | tuple[Sequence[str], IntArray]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Charged:
    """Costs in their range, with the cutoff and the penalty where they are running times."""

    costs: FloatArray
    statuses: NDArray[np.int8]
    low: float
    high: float
    cutoff: float | None = None
    par: float | None = None
    caveats: tuple[Caveat, ...] = ()

    @property
    def unit(self) -> str:
        """What a cost is called: "PAR10 s"; empty where they are no running times."""
        return "" if self.par is None else f"PAR{self.par:g} s"


def charge(
    values: FloatArray,
    statuses: NDArray[np.int8],
    reading: Reading,
    *,
    cutoff: float | None = None,
    par: float | None = None,
) -> Charged:
    """Costs from what was recorded: PARk where there is a cutoff, else the values, and the worst
    for a run that failed without one.

    Parameters
    ----------
    values
        Recorded costs or seconds, NaN or infinite where a run has none; of a censored run its cap.
    statuses
        How each run ended.
    reading
        What the caller says; it counts more than the log.
    cutoff, par
        What the log says.
    """
    cutoff = reading.cutoff if reading.cutoff is not None else cutoff
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
        return Charged(costs=costs, statuses=statuses, low=low, high=high, caveats=tuple(caveats))
    factor = reading.par if reading.par is not None else USUAL_PAR if par is None else par
    if (reading.low, reading.high) not in ((None, None), (0.0, factor * cutoff)):
        raise InputError(
            f"Running times with a cutoff cost 0 to {factor * cutoff:g} (PAR{factor:g}). Leave out "
            "--low and --high, or change --par."
        )
    caveats = []
    if par is None and reading.par is None:
        caveats.append(
            Caveat("par", f"A failed run costs {factor:g} × the cutoff (PAR{factor:g}).")
        )
    # Without a status, a run that reaches the cutoff was stopped by it.
    late = np.where(statuses == NO_STATUS, values >= cutoff, ~failed & (values > cutoff))
    if overran := int((late & (statuses == Status.SOLVED)).sum()):
        runs = counted(overran, "solved run")
        caveats.append(
            Caveat("overran", f"{runs} took longer than the cutoff of {cutoff:g} s: timeouts.")
        )
    statuses[late & ~failed] = Status.TIMEOUT
    failed |= late
    others = failed & (statuses != Status.TIMEOUT)
    for status in np.unique(statuses[others]).tolist():
        number = int((statuses[others] == status).sum())
        noun = _FAILED[Status(status)]
        runs = f"{number:,} {noun} run{'' if number == 1 else 's'}"
        verb = "counts" if number == 1 else "count"
        caveats.append(Caveat("failed", f"{runs} {verb} as {factor:g} × the cutoff."))
    costs[failed] = factor * cutoff
    return Charged(
        costs=costs,
        statuses=statuses,
        low=0.0,
        high=factor * cutoff,
        cutoff=cutoff,
        par=factor,
        caveats=tuple(caveats),
    )


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
    caveats = []
    blank = (failed & ~np.isfinite(costs)) | np.isinf(costs)
    finite = costs[np.isfinite(costs)]
    if not finite.size and not np.isfinite(high):
        raise InputError("Every run failed without a cost. Give the most a run can cost: --high.")
    worst = high if np.isfinite(high) else float(finite.max())
    costs[blank] = worst
    statuses[blank & (statuses == NO_STATUS)] = Status.CRASHED
    if number := int(blank.sum()):
        most = "the most a run can cost"
        if not np.isfinite(high):
            most = "the largest cost seen (--high sets another)"
        runs = counted(number, "failed run")
        verb = "has no cost and counts" if number == 1 else "have no cost and count"
        caveats.append(Caveat("failed", f"{runs} {verb} as {worst:g}, {most}."))
    if number := int((failed & ~blank).sum()):
        keeps = "keeps its recorded cost" if number == 1 else "keep their recorded costs"
        caveats.append(Caveat("failed", f"{counted(number, 'failed run')} {keeps}."))
    return caveats


def left_out(reasons: Mapping[str, int]) -> list[Caveat]:
    """One line for each reason why something is not among the runs: "trial still running": 3."""
    caveats = []
    for reason, count in reasons.items():
        noun, _, why = reason.partition(" ")
        if count:
            caveats.append(Caveat("left out", f"Left out: {counted(count, noun)} {why}."))
    return caveats


def turned(
    values: FloatArray, reading: Reading, score: str
) -> tuple[FloatArray, Reading, list[Caveat]]:
    """Costs from scores of which more is better, and the range as one of costs."""
    if reading.cutoff is not None or reading.par is not None:
        raise InputError("Scores that are maximised have no cutoff. Leave out --cutoff and --par.")
    low, high = reading.low, reading.high
    if high is None:
        sentence = f"Larger {score} is better: the cost is −{score}."
        ends = replace(reading, low=None, high=None if low is None else 0.0 - low)
        return 0.0 - values, ends, [Caveat("maximised", sentence)]
    sentence = f"Larger {score} is better: the cost is {high:g} − {score}."
    ends = replace(reading, low=0.0, high=None if low is None else high - low)
    return high - values, ends, [Caveat("maximised", sentence)]


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


def lay_out(
    configuration: Names,
    instance: Names,
    charged: Charged,
    *,
    run: IntArray | None = None,
    seed: IntArray | None = None,
    families: Mapping[str, str] | None = None,
) -> CostMatrix:
    """The matrix of runs, one entry of every argument for each.

    Runs are placed by their number, else in the order of their seeds, so that common seeds stand
    in line across configurations, else as they come. Runs without a cost are left out.
    """
    keep = ~np.isnan(charged.costs)
    if not keep.any():
        raise InputError("No run has a cost. Give at least one.")
    rows, i = _kept(configuration, keep)
    columns, j = _kept(instance, keep)
    run, seed = (None if part is None else part[keep] for part in (run, seed))
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

    statuses = charged.statuses[keep]
    return CostMatrix(
        spread(charged.costs[keep], np.nan),
        rows,
        columns,
        charged.low,
        charged.high,
        statuses=None if (statuses == NO_STATUS).all() else spread(statuses, NO_STATUS),
        seeds=None if seed is None else spread(seed, NO_SEED),
        cutoff=charged.cutoff,
        par=charged.par,
        families=None if families is None else [families[name] for name in columns],
    )


def _kept(names: Names, keep: BoolArray) -> tuple[list[str], IntArray]:
    """The names that have runs, and the place of each run among them."""
    if isinstance(names, tuple) and len(names) == 2 and isinstance(names[1], np.ndarray):
        labels, codes = list(names[0]), names[1]
    else:
        labels, codes = coded(names)
    codes = codes[keep]
    used, first = np.unique(codes, return_index=True)
    used = used[np.argsort(first)]
    places = np.empty(len(labels), dtype=np.int64)
    places[used] = np.arange(used.size)
    return [labels[code] for code in used.tolist()], places[codes]


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
