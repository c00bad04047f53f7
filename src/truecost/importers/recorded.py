"""From recorded runs to a log: what each run costs, and its place in the matrix.

Every reader hands its runs to `log_of`. Objects that are a matrix already only need `charge`.
"""

import itertools
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from truecost.arrays import FloatArray, IntArray
from truecost.errors import InputError
from truecost.matrix.cost_matrix import CostMatrix, Names
from truecost.matrix.log import Log
from truecost.matrix.reading import Reading
from truecost.runs import NO_STATUS, Caveat, Status

StatusArray = NDArray[np.int8]
# The factor of the paper, and of most papers on running times.
USUAL_PAR = 10.0
# Common seeds are aligned across configurations while that takes at most this many times the room.
MOST_ROOM = 4

# The status of a run that has not ended: it is left out.
UNFINISHED = -2
# What other tools call the ways a run can end.
_WORDS: Mapping[int, str] = {
    Status.SOLVED: "success sat unsat ok solved complete successful done finished satisfiable "
    "unsatisfiable succes completed",
    Status.TIMEOUT: "timeout timedout time_out timed_out cutoff tle",
    Status.CENSORED: "censored capped",
    Status.MEMORY: "memout memoryout memory memory_out mem_out oom out_of_memory",
    Status.CRASHED: "crashed crash error failed fail other not_applicable",
    Status.WRONG: "wrong wrong_answer",
    Status.ABORTED: "abort aborted killed",
    UNFINISHED: "running stop donotadvance",
}
STATUS_WORDS = {word: status for status, words in _WORDS.items() for word in words.split()}
# Failures besides timeouts, as caveats name them.
FAILURES = {
    Status.MEMORY: "out-of-memory",
    Status.CRASHED: "crashed",
    Status.WRONG: "wrongly answered",
    Status.ABORTED: "aborted",
}


def log_of(
    reading: Reading,
    *,
    configurations: Sequence[str],
    instances: Sequence[str],
    values: FloatArray,
    statuses: StatusArray | None = None,
    runs: IntArray | None = None,
    seeds: IntArray | None = None,
    families: Mapping[str, str] | None = None,
    cutoff: float | None = None,
    par: float | None = None,
    score: str = "",
    omitted: Mapping[str, int] | None = None,
    caveats: Iterable[Caveat] = (),
    **fields: Any,
) -> Log:
    """The log of recorded runs, given as columns with an entry for each run.

    Runs are placed by their number, else in the order of their seeds, so that common seeds stand in
    line across configurations, else as they come.

    Parameters
    ----------
    values
        Costs or seconds, NaN or infinite for a run without any; the cap of a censored run.
    runs
        The number of each run among those of its configuration on its instance.
    families
        The family of each instance.
    cutoff, par
        What the log itself says of running times.
    score
        The name of values of which larger is better.
    omitted
        How many runs the reader left out, by the reason.
    **fields
        Other fields of the log.
    """
    unfinished = 0
    if statuses is not None:
        unfinished = int((statuses == UNFINISHED).sum())
        values = np.where(statuses == UNFINISHED, np.nan, values)
        statuses = np.maximum(statuses, np.int8(NO_STATUS))
    charged, penalties = charge(values, statuses, reading, cutoff=cutoff, par=par, score=score)
    keep = ~np.isnan(charged["costs"])
    if not keep.any():
        raise InputError("No run has a cost. Give at least one.")
    reasons = {
        **(omitted or {}),
        "run not ended": unfinished,
        "run without a cost": int((~keep).sum()) - unfinished,
    }
    rows, columns = (
        distinct(list(itertools.compress(names, keep.tolist())))
        for names in (configurations, instances)
    )
    parts = {"costs": charged.pop("costs"), "statuses": charged.pop("statuses"), "seeds": seeds}
    kept: dict[str, Any] = {
        name: None if part is None else part[keep] for name, part in parts.items()
    }
    numbers = _numbers(rows[1], columns[1], kept["seeds"]) if runs is None else runs[keep]
    matrix = CostMatrix.of_runs(
        rows,
        columns,
        # Without gaps: runs may be numbered from 1.
        np.unique(numbers, return_inverse=True)[1],
        families=None if families is None else [families[name] for name in columns[0]],
        **kept,
        **charged,
    )
    return Log(
        runs=matrix,
        cost_unit=unit_of(matrix),
        maximised=bool(score),
        caveats=(*caveats, *count_caveats("left out", "Left out", reasons), *penalties),
        **fields,
    )


def unit_of(matrix: CostMatrix) -> str:
    """What a cost is called, empty where nothing says it."""
    return "" if matrix.par is None else f"PAR{matrix.par:g} s"


def count_caveats(code: str, what: str, numbers: Mapping[str, int]) -> list[Caveat]:
    """A caveat for each number above 0: "Left out: 3 trials still running."."""

    def plural(reason: str) -> str:
        return re.sub(r"\b(run|trial|row)\b", r"\1s", reason, count=1)

    return [
        Caveat(code, f"{what}: {number:,} {plural(reason) if number > 1 else reason}.")
        for reason, number in numbers.items()
        if number
    ]


def charge(
    values: FloatArray,
    statuses: StatusArray | None,
    reading: Reading,
    *,
    cutoff: float | None = None,
    par: float | None = None,
    score: str = "",
) -> tuple[dict[str, Any], list[Caveat]]:
    """The costs of runs, in the shape of their values, and the other fields of a matrix.

    With a cutoff a failed run costs PARk. Without one, costs are the values, and a run that failed
    without a value costs the most a run can. What the caller says counts more than the log. NaN
    stays where there is no run.
    """
    cutoff = cutoff if reading.cutoff is None else reading.cutoff
    low, high = finite(reading.low), finite(reading.high)
    if cutoff is None and reading.par is not None:
        raise InputError("A penalty needs a cutoff. Give the cutoff in seconds, with --cutoff.")
    caveats: list[Caveat] = []
    if score:
        if reading.cutoff is not None:
            raise InputError("Scores that are maximised have no cutoff. Leave out --cutoff.")
        if high is not None and (values > high).any():
            raise InputError(
                f"The {score} {np.nanmax(values):g} is above --high {high:g}. Give the best "
                "possible."
            )
        cost = f"−{score}" if high is None else f"{high:g} − {score}"
        caveats.append(Caveat("maximised", f"Larger {score} is better: the cost is {cost}."))
        best = high or 0.0
        values = best - values
        low, high = None if high is None else 0.0, None if low is None else best - low
    statuses = np.full(values.shape, NO_STATUS, dtype=np.int8) if statuses is None else statuses
    solved, censored = statuses == Status.SOLVED, statuses == Status.CENSORED
    if not np.isfinite(values[censored]).all():
        raise InputError("A censored run has no cost. Give each its cap, where it was stopped.")
    if np.isneginf(values).any():
        raise InputError("A run costs -inf. Give finite costs, or inf for a run that failed.")
    failed = ~(solved | censored | (statuses == NO_STATUS))
    if cutoff is None:
        late = np.isinf(values) & ~failed
        statuses = np.where(late, np.int8(Status.CRASHED), statuses)
        blank = late | (failed & ~np.isfinite(values))
        worst, what = _worst(values, high)
        caveats += count_caveats("penalty", what, {"failed run without a cost": int(blank.sum())})
        with_cost = {"failed run": int((failed & ~blank).sum())}
        caveats += count_caveats("penalty", "Cost as recorded", with_cost)
        scale = {
            "low": -np.inf if low is None else low,
            "high": np.inf if high is None else high,
        }
    else:
        given = par if reading.par is None else reading.par
        factor = USUAL_PAR if given is None else given
        worst = factor * cutoff
        if (low, high) not in ((None, None), (0.0, worst)):
            raise InputError(
                f"Running times with a cutoff cost 0 to {worst:g} (PAR{factor:g}). Leave out "
                "--low and --high, or change --par."
            )
        if (values < 0).any():
            raise InputError(
                f"A running time is {np.nanmin(values):g}. If that means not solved, leave it "
                "empty."
            )
        # A solved run may take exactly the cutoff; any other that reaches it was stopped by it.
        late = ~failed & np.where(solved, values > cutoff, values >= cutoff)
        statuses = np.where(late, np.int8(Status.TIMEOUT), statuses)
        blank = failed | late
        if given is None:
            sentence = f"A failed run costs {factor:g} × the cutoff (PAR{factor:g})."
            caveats.append(Caveat("penalty", sentence))
        overran = {f"solved run that took longer than {cutoff:g} s": int((late & solved).sum())}
        caveats += count_caveats("overran", "Counted as timeouts", overran)
        failures = {f"{what} run": int((statuses == code).sum()) for code, what in FAILURES.items()}
        caveats += count_caveats("penalty", f"Counted as {factor:g} × the cutoff", failures)
        scale = {"low": 0.0, "high": worst, "cutoff": cutoff, "par": factor}
    unknown = bool((statuses == NO_STATUS).all())
    costs = np.where(blank, worst, values)
    return {"costs": costs, "statuses": None if unknown else statuses, **scale}, caveats


def finite(end: float | None) -> float | None:
    """An end of the range of costs, None where it is not known."""
    return None if end is None or math.isinf(end) else end


def _worst(values: FloatArray, high: float | None) -> tuple[float, str]:
    """What a run costs that failed without a cost, and the words of its caveat."""
    if high is not None:
        return high, f"Counted as {high:g}, the most a run can cost"
    finite = values[np.isfinite(values)]
    if not finite.size:
        raise InputError("Every run failed without a cost. Give the most a run can cost: --high.")
    worst = float(finite.max())
    return worst, f"Counted as {worst:g}, the largest cost seen (--high sets another)"


def _numbers(i: IntArray, j: IntArray, seeds: IntArray | None) -> IntArray:
    """The number of each run among those of its configuration on its instance."""
    cells = i * (int(j.max()) + 1) + j
    in_order = ranks(cells, np.arange(cells.size))
    if seeds is None:
        return in_order
    aligned = ranks(j, seeds)
    # Different seeds for every configuration would make a matrix of holes.
    wide = int(aligned.max()) >= MOST_ROOM * (int(in_order.max()) + 1)
    return ranks(cells, seeds) if wide else aligned


def ranks(groups: IntArray, values: IntArray) -> IntArray:
    """The rank of each value among the different values of its group."""
    groups, values = (np.unique(part, return_inverse=True)[1] for part in (groups, values))
    starts = groups * (int(values.max()) + 1)
    different, places = np.unique(starts + values, return_inverse=True)
    return np.asarray(places - np.searchsorted(different, starts))


def distinct(names: Sequence[str]) -> Names:
    """The different names in order of appearance, and the place of each among them."""
    places: dict[str, int] = {}
    codes = [places.setdefault(name, len(places)) for name in names]
    return list(places), np.array(codes, dtype=np.int64)


def objective_place(wanted: str | None, names: Sequence[str]) -> int:
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


def statuses_of(words: Sequence[str | None]) -> StatusArray:
    """How runs ended by what other tools call it, `NO_STATUS` for no word."""
    # Each word once: a table of a million runs has a handful of them.
    codes = {word: _status_of(word or "") for word in dict.fromkeys(words)}
    return np.array([codes[word] for word in words], dtype=np.int8)


def _status_of(word: str) -> int:
    plain = word.strip().strip("'\"").lower().removeprefix("statustype.").replace(" ", "_")
    if plain and plain not in STATUS_WORDS:
        raise InputError(
            f"The status {word!r:.60} is not known. Write solved, timeout for a run that was not "
            "solved in time, or crashed for one that failed otherwise."
        )
    return STATUS_WORDS.get(plain, NO_STATUS)
