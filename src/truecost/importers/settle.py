"""What the caller adds to every log: range, penalty, default, families, unit."""

from dataclasses import replace
from typing import Any

import numpy as np

from truecost.errors import InputError, counted, did_you_mean
from truecost.importers.recorded import charge, finite, unit_of
from truecost.matrix.cost_matrix import CostMatrix
from truecost.matrix.families import families_of, is_rule
from truecost.matrix.log import Log
from truecost.matrix.reading import Reading
from truecost.runs import NO_STATUS, Caveat, Status


def rescaled(log: Log, reading: Reading) -> Log:
    """The log with the range, cutoff or penalty that the caller gives."""
    runs = log.runs
    ends = (reading.low, reading.high)
    if (*ends, reading.cutoff, reading.par, reading.maximise) == (None,) * 5:
        return log
    if log.maximised and reading.maximise and _agree(runs, reading):
        return log
    if reading.maximise is not None and (log.tool != "table" or runs.par or log.maximised):
        raise InputError("These runs have their costs already. Leave out --maximise.")
    if runs.cutoff is not None and runs.par is not None:
        cutoff, par = reading.cutoff or runs.cutoff, reading.par or runs.par
        if cutoff > runs.cutoff or ends not in ((None, None), (0.0, par * cutoff)):
            raise InputError(
                f"These runs were stopped after {runs.cutoff:g} s. Leave out --low and --high, and "
                f"give a --cutoff of at most {runs.cutoff:g}."
            )
    elif reading.cutoff is None and reading.maximise is None:
        low, high = (
            finite(old if new is None else new)
            for old, new in zip((runs.low, runs.high), ends, strict=True)
        )
        reading = replace(reading, low=low, high=high)
    runs, penalties = _charged(runs, reading)
    return log.replace(
        runs=runs,
        test=None if log.test is None else _charged(log.test, reading)[0],
        caveats=(*(old for old in log.caveats if old.code != "penalty"), *penalties),
        cost_unit=unit_of(runs) or log.cost_unit,
        maximised=log.maximised or bool(reading.maximise),
    )


def _agree(runs: CostMatrix, reading: Reading) -> bool:
    """Whether scores in the range that the caller gives would cost what these runs do."""
    low, high = finite(reading.low), finite(reading.high)
    ends = (-np.inf if high is None else 0.0, np.inf if low is None else (high or 0.0) - low)
    return low is high is None or ends == (runs.low, runs.high)


def _charged(matrix: CostMatrix, reading: Reading) -> tuple[CostMatrix, list[Caveat]]:
    """The runs charged anew; what failed has no running time."""
    values, statuses = matrix.costs, matrix.statuses
    if matrix.par is not None:
        values = np.where(matrix.failed, np.nan, values)
        if statuses is None:
            statuses = np.full(values.shape, NO_STATUS, dtype=np.int8)
        statuses = np.where(matrix.failed & (statuses == NO_STATUS), Status.TIMEOUT, statuses)
    timed = matrix.par is not None or reading.par is not None
    fields, caveats = charge(
        values,
        statuses,
        reading,
        cutoff=matrix.cutoff if timed else None,
        par=matrix.par,
        score="score" if reading.maximise else "",
    )
    return matrix.replace(**fields), caveats


def settled(log: Log, reading: Reading, path: str) -> Log:
    """The log with the default, the families and the unit that the caller names, and without a
    default, a winner or steps that have no runs in it.
    """
    names = {*log.runs.configurations, *(log.test.configurations if log.test else ())}
    if reading.default is not None and reading.default not in names:
        raise InputError(
            f"No configuration is called {reading.default!r:.60}."
            f"{did_you_mean(reading.default, names)} --default names one with runs."
        )
    fields: dict[str, Any] = {"path": path or log.path, "reading": reading}
    caveats = list(log.caveats)
    for role, what in (("default", "default"), ("incumbent", "winner")):
        name = getattr(log, role)
        if name is not None and name not in names:
            caveats.append(Caveat("no runs", f"The log's {what}, {name:.60}, has no runs in it."))
            fields[role] = None
    steps = tuple(step for step in log.steps if step.configuration in names)
    if lost := len(log.steps) - len(steps):
        sentence = f"Left out: {counted(lost, 'earlier winner')} without runs."
        caveats.append(Caveat("left out", sentence))
    if reading.default is not None:
        fields["default"] = reading.default
    if reading.cost_unit is not None:
        fields["cost_unit"] = reading.cost_unit
    families = reading.families
    # A column of the table was read with it.
    if families is not None and (is_rule(families) or log.runs.families is None):
        for part in ("runs", "test"):
            if (matrix := getattr(log, part)) is not None:
                labels = families_of(matrix.instances, families)
                fields[part] = matrix.replace(families=labels)
    return log.replace(**fields, steps=steps, caveats=tuple(caveats))
