"""What the caller adds to every log: range, penalty, default, families, unit."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from truecost.arrays import FloatArray, floats
from truecost.errors import InputError, counted, did_you_mean
from truecost.importers.recorded import Recorded, log_of, numbered
from truecost.matrix.cost_matrix import CostMatrix
from truecost.matrix.log import Log
from truecost.matrix.reading import Reading
from truecost.runs import NO_STATUS, Caveat, Status


def of_array(source: Any, reading: Reading) -> Log:
    """Costs without names: configurations × instances, or with runs as the third axis."""
    try:
        costs = floats(source)
    except (TypeError, ValueError):
        raise InputError("The array holds no numbers, or lists of different lengths.") from None
    if costs.ndim not in (2, 3) or 0 in costs.shape:
        raise InputError(
            f"The array has the shape {costs.shape}. Give configurations × instances, or "
            "configurations × instances × runs."
        )
    names = numbered("configuration", costs.shape[0]), numbered("instance", costs.shape[1])
    costs = costs.reshape(*costs.shape[:2], -1)
    return _log(costs, names, reading)


def changed(log: Log, reading: Reading) -> Log:
    """A log whose costs are settled, with the range or penalty that the caller gives."""
    runs = log.runs
    if reading.maximise is not None and (log.tool != "table" or runs.par is not None):
        raise InputError("These runs have their costs already. Leave out --maximise.")
    if runs.cutoff is not None and runs.par is not None:
        return _with_penalty(log, runs.cutoff, runs.par, reading)
    values = (reading.low, reading.high, reading.cutoff, reading.par, reading.maximise)
    if all(value is None for value in values):
        return log
    if reading.cutoff is None and reading.maximise is None:
        # What is known of the range stays, where nothing else is said.
        low, high = (None if np.isinf(end) else end for end in (runs.low, runs.high))
        reading = replace(
            reading,
            low=low if reading.low is None else reading.low,
            high=high if reading.high is None else reading.high,
        )
    first, *others = (_recharged(part, reading) for part in (runs, log.test) if part is not None)
    return log.replace(
        runs=first.runs,
        test=others[0].runs if others else None,
        caveats=(*log.caveats, *first.caveats),
        cost_unit=first.cost_unit or log.cost_unit,
        maximised=log.maximised or first.maximised,
    )


def _with_penalty(log: Log, cutoff: float, par: float, reading: Reading) -> Log:
    """The log of running times with another penalty of failed runs, or a lower cutoff."""
    wanted = par if reading.par is None else reading.par
    lower = cutoff if reading.cutoff is None else reading.cutoff
    ends = (reading.low, reading.high)
    if lower > cutoff or ends not in ((None, None), (0.0, wanted * lower)):
        raise InputError(
            f"These runs were stopped after {cutoff:g} s. Leave out --low and --high, and give a "
            f"--cutoff of at most {cutoff:g}."
        )
    if (wanted, lower) == (par, cutoff):
        return log
    parts = {
        name: _cut(part, lower, wanted)
        for name, part in (("runs", log.runs), ("test", log.test))
        if part is not None
    }
    # Lines about the penalty are about the old one.
    old, new = (f"{factor:g} × the cutoff" for factor in (par, wanted))
    caveats = [
        Caveat(caveat.code, caveat.sentence.replace(old, new))
        for caveat in log.caveats
        if caveat.code != "par"
    ]
    return log.replace(**parts, cost_unit=f"PAR{wanted:g} s", caveats=tuple(caveats))


def _cut(matrix: CostMatrix, cutoff: float, par: float) -> CostMatrix:
    """Running times as if they had been stopped at a lower cutoff."""
    failed, censored = matrix.failed, matrix.censored
    late = ~failed & np.where(censored, matrix.costs >= cutoff, matrix.costs > cutoff)
    statuses = matrix.statuses
    if late.any():
        known = np.full(matrix.costs.shape, NO_STATUS) if statuses is None else statuses
        statuses = np.where(late, Status.TIMEOUT, known)
    return matrix.replace(
        costs=np.where(failed | late, par * cutoff, matrix.costs),
        statuses=statuses,
        cutoff=cutoff,
        par=par,
        low=0.0,
        high=par * cutoff,
    )


def _recharged(matrix: CostMatrix, reading: Reading) -> Log:
    names, families = (matrix.configurations, matrix.instances), matrix.families
    return _log(
        matrix.costs,
        names,
        reading,
        statuses=matrix.statuses,
        seeds=matrix.seeds,
        families=None if families is None else dict(zip(names[1], families, strict=True)),
    )


def _log(
    costs: FloatArray,
    names: Sequence[Sequence[str]],
    reading: Reading,
    *,
    statuses: Any = None,
    seeds: Any = None,
    families: Mapping[str, str] | None = None,
) -> Log:
    """The log of costs laid out as a matrix, charged as the caller says."""
    made = ~np.isnan(costs)
    i, j, run = np.nonzero(made)
    recorded = Recorded(
        configurations=(list(names[0]), i),
        instances=(list(names[1]), j),
        values=costs[made],
        statuses=None if statuses is None else statuses[made],
        runs=run,
        seeds=None if seeds is None else seeds[made],
        families=families,
        score="score" if reading.maximise else "",
    )
    return log_of(recorded, reading)


def settled(log: Log, reading: Reading, path: str) -> Log:
    """The log with the default, the families and the unit that the caller names."""
    known = {*log.runs.configurations, *(log.test.configurations if log.test else ())}
    if reading.default is not None and reading.default not in known:
        raise InputError(
            f"No configuration is called {reading.default!r:.60}."
            f"{did_you_mean(reading.default, known)} --default names one with runs."
        )
    log = _without_strangers(log, known)
    log = log.replace(
        path=path or log.path,
        reading=reading,
        default=reading.default or log.default,
        cost_unit=reading.cost_unit or log.cost_unit,
    )
    families = reading.families
    # A column of the table is read with it.
    of_column = log.runs.families is not None and isinstance(families, str)
    if families is None or (of_column and not Path(str(families)).is_file()):
        return log
    from truecost.matrix.families import families_of

    parts = {
        name: part.replace(families=families_of(part.instances, families))
        for name, part in (("runs", log.runs), ("test", log.test))
        if part is not None
    }
    return log.replace(**parts)


def _without_strangers(log: Log, known: set[str]) -> Log:
    """The log without a default, a winner or steps that have no runs in it."""
    caveats, changes = list(log.caveats), dict[str, None]()
    for role, what in (("default", "default"), ("incumbent", "winner")):
        name = getattr(log, role)
        if name is not None and name not in known:
            caveats.append(Caveat("no runs", f"The log's {what}, {name:.60}, has no runs in it."))
            changes[role] = None
    steps = tuple(step for step in log.steps if step.configuration in known)
    if lost := len(log.steps) - len(steps):
        sentence = f"Left out: {counted(lost, 'earlier winner')} without runs."
        caveats.append(Caveat("left out", sentence))
    return log.replace(**changes, steps=steps, caveats=tuple(caveats))
