"""SMAC 2 and the ParamILS of the same framework: state folders, with runs_and_results-it….csv and
paramstrings-it….txt.

Runs that were capped stay censored: `Censored?` is 1, or the cutoff that was used is lower than the
largest. Costs are running times, or with the objective quality the solution quality.
"""

import re
from pathlib import Path

import numpy as np
import polars as pl

from truecost.arrays import FloatArray
from truecost.errors import InputError
from truecost.importers.record import Options, charge, matrix_of, only_folder, statuses_of
from truecost.importers.registry import Candidate, Importer
from truecost.matrix import longtable
from truecost.matrix.imported import Import, Scalar
from truecost.runs import Status, Step, Trajectory

RUNS = re.compile(r"runs_and_results(?:-it(\d+))?\.csv")
COLUMNS = {
    "configuration": "Run History Configuration ID",
    "instance": "Instance ID",
    "censored": "Censored?",
    "cap": "Cutoff Time Used",
    "seed": "Seed",
    "runtime": "Runtime",
    "quality": "Run Quality",
    "status": "Run Result",
}
PAIR = re.compile(r"([\w.@:-]+)='([^']*)'")
# How far below a folder the state is looked for: SMAC writes scenario/state-run1/.
DEEPEST = 2


def _state(path: Path) -> Path | None:
    """The runs of the last iteration in a state folder, up to two folders below; None without."""
    if path.is_file():
        return path if RUNS.fullmatch(path.name) else None
    folder = only_folder(path, "runs_and_results*.csv", DEEPEST, "SMAC 2")
    files = [] if folder is None else [file for file in folder.iterdir() if _number(file)]
    return max(files, key=_number, default=None)


def _number(file: Path) -> int:
    """The iteration of a file, from 1; 0 for another file."""
    match = RUNS.fullmatch(file.name)
    return 0 if match is None else int(match[1] or 0) + 1


def _recognise(candidate: Candidate) -> bool:
    return candidate.path is not None and _state(candidate.path) is not None


def _read(path: Path, options: Options) -> Import:
    state = _state(path)
    if state is None:
        raise InputError("expected runs_and_results-it….csv of SMAC 2, got none.")
    with state.open("rb") as file:
        content = longtable.read(file, "csv", every=True)
    # The header ends in a comma in some versions, so that there is a column without a name.
    plain = {name.strip(): name for name in content.columns}
    if missing := [name for name in COLUMNS.values() if name not in plain]:
        raise InputError(f"expected the column {missing[0]!r} in {state.name}, got none.")
    table = content.select(pl.col(plain[theirs]).alias(ours) for ours, theirs in COLUMNS.items())
    measure = options.objective or "runtime"
    if measure not in ("runtime", "quality"):
        raise InputError(f"expected the objective runtime or quality, got {options.objective!r}.")
    statuses, unfinished = statuses_of([word or "running" for word in table["status"].to_list()])
    keep = ~unfinished
    if not keep.any():
        raise InputError(f"expected finished runs in {state.name}, got none.")
    values, caps, censored = (
        longtable.numbers(table, name).fill_null(np.nan).to_numpy()
        for name in (measure, "cap", "censored")
    )
    cutoff = None
    if measure == "runtime":
        cutoff = options.cutoff or float(np.fmax.reduce(caps))
        if not 0 < cutoff < np.inf:
            raise InputError(f"Give the `cutoff`, in seconds: {state.name} has none.")
        # A timeout at a lower cutoff than the others have was capped.
        capped = (censored == 1) | (statuses == Status.TIMEOUT)
        below_cutoff = capped & (caps < cutoff)
        values = np.where(below_cutoff, caps, values)
        statuses = np.where(below_cutoff, np.int8(Status.CENSORED), statuses)
    charged = charge(values[keep], statuses[keep], options, cutoff=cutoff)
    runs = _runs(table, state)
    names = longtable.whole_numbers(table, "configuration").filter(pl.Series(keep)).to_list()
    steps = _steps(names, np.where(censored[keep] == 1, np.inf, charged.costs))
    return Import(
        kind="smac2",
        matrix=matrix_of(runs.filter(pl.Series(keep)), charged),
        trajectory=Trajectory(
            tool="SMAC 2",
            proposed="adaptively",
            raced=True,
            default="1",
            incumbent=steps[-1].configurations[0],
            steps=steps,
        ),
        parameters=_parameters(state),
        left_out={"not ended": int(unfinished.sum())},
        notes=charged.notes,
    )


def _runs(table: pl.DataFrame, state: Path) -> pl.DataFrame:
    """Configuration, instance and seed of each run; instances by name where a list is beside."""
    numbers = longtable.whole_numbers(table, "instance")
    instances = numbers.cast(pl.String)
    list_file = state.with_name("instances.txt")
    if list_file.is_file():
        lines = [
            line for line in list_file.read_text(errors="replace").splitlines() if line.strip()
        ]
        if numbers.is_between(1, len(lines)).all() and not numbers.null_count():
            # A line is the instance, and what is specific to it behind a blank.
            names = [line.split()[0] for line in lines]
            instances = pl.Series([names[number - 1] for number in numbers.to_list()])
    runs = pl.DataFrame(
        {
            "configuration": longtable.whole_numbers(table, "configuration").cast(pl.String),
            "instance": instances,
            "seed": longtable.whole_numbers(table, "seed"),
        }
    )
    # Seeds name runs only where none was made twice.
    again = runs.is_duplicated().any() or runs["seed"].null_count()
    return runs.drop("seed") if again else runs


def _steps(names: list[int], costs: FloatArray) -> tuple[Step, ...]:
    """SMAC's incumbent has the most runs at every time, and of those with as many the lowest mean:
    a challenger that is not worse on all runs of the incumbent takes its place.
    """
    sums: dict[int, tuple[int, float]] = {}
    steps: list[Step] = []
    best = names[0]
    for place, (name, cost) in enumerate(zip(names, costs.tolist(), strict=True), 1):
        count, total = sums.get(name, (0, 0.0))
        sums[name] = count + 1, total - cost
        if sums[name] >= sums[best] and (name != best or not steps):
            steps.append(Step(place, (str(name),)))
            best = name
    return tuple(steps)


def _parameters(state: Path) -> dict[str, dict[str, Scalar]]:
    """Lines `1: name='value', name='value'` of the file of the same iteration."""
    path = state.with_name(
        state.name.replace("runs_and_results", "paramstrings").replace(".csv", ".txt")
    )
    if not path.is_file():
        return {}
    parameters: dict[str, dict[str, Scalar]] = {}
    for line in path.read_text(errors="replace").splitlines():
        number, _, pairs = line.partition(":")
        if number.strip().isdecimal():
            parameters[number.strip()] = dict(PAIR.findall(pairs))
    return parameters


IMPORTER = Importer(
    name="smac2", title="SMAC 2, ParamILS (state folders)", recognise=_recognise, read=_read
)
