"""Arrays of configurations × instances × runs: costs alone, or the PM.npy of the paper's authors.

The names of a PM.npy are the lines of two text files: `configs.txt` and `instances.txt` beside it,
or `configs/SCENARIO.txt` and `instance_index/SCENARIO.txt` where it is archive/SCENARIO/PM.npy, as
in their repository. A configuration's line is its command line, so it is called by its number.
"""

import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from truecost.errors import InputError
from truecost.importers.packed import text_of
from truecost.importers.recorded import (
    StatusArray,
    charge,
    log_of,
    objective_place,
    statuses_of,
    unit_of,
)
from truecost.matrix.checks import costs_of
from truecost.matrix.cost_matrix import CostMatrix
from truecost.matrix.log import Log
from truecost.matrix.reading import Reading
from truecost.runs import NO_STATUS

ARRAY = "PM.npy"
START = b"\x93NUMPY"
# The fields and the kinds of their entries.
FIELDS = {"result": "SUiu", "runtime": "fiu", "quality": "fiu", "seed": "fiu"}
MEASURES = ("runtime", "quality")


def read_costs(source: Any, reading: Reading) -> Log:
    """The runs in an array or list of costs, or configurations × instances with one run each."""
    costs = costs_of(source)
    fields, caveats = charge(costs, None, reading, score="score" if reading.maximise else "")
    configurations = numbered_names("configuration", costs.shape[0])
    instances = numbered_names("instance", costs.shape[1])
    runs = CostMatrix(configurations=configurations, instances=instances, **fields)
    return Log(
        runs=runs,
        cost_unit=unit_of(runs),
        maximised=bool(reading.maximise),
        caveats=tuple(caveats),
    )


def read(path: Path, reading: Reading) -> Log:
    """The runs in a PM.npy, or in the folder that holds one."""
    path = path / ARRAY if path.is_dir() else path
    measure = MEASURES[objective_place(reading.objective or MEASURES[0], MEASURES)]
    array = _array(path)
    runtime = array["runtime"].astype(np.float64)
    # There, a running time of 0 says that the run was never made.
    made = (runtime != 0) & ~np.isnan(runtime)
    if not made.any():
        raise InputError("No run has a running time above 0, so none was made.")
    if measure == "runtime" and reading.cutoff is None:
        raise InputError(
            f"The file does not say the cutoff. Give it in seconds: --cutoff. The largest running "
            f"time is {float(runtime.max()):g}, which may be a penalty."
        )
    i, j, run = np.nonzero(made)
    configurations = numbered_names("configuration", array.shape[0])
    lines = _lines(path, "configs.txt", "configs", len(configurations))
    names = _lines(path, "instances.txt", "instance_index", array.shape[1])
    instances = names or numbered_names("instance", array.shape[1])
    seed = array["seed"][made]
    return log_of(
        reading,
        configurations=[configurations[place] for place in i.tolist()],
        instances=[instances[place] for place in j.tolist()],
        values=array[measure][made].astype(np.float64),
        statuses=_statuses(array["result"])[made],
        runs=run,
        seeds=seed.astype(np.int64) if seed.dtype.kind in "iu" else None,
        omitted={"run never made (running time 0)": int((~made).sum())},
        tool=ARRAY,
        parameters={
            # A command line `-name value -name value`.
            name: dict(re.findall(r"-([A-Za-z@]\S*)\s+'?([^'\s]+)'?", line))
            for name, line in zip(configurations, lines, strict=False)
        },
    )


def _array(path: Path) -> NDArray[Any]:
    """The array in the file, with its three axes."""
    try:
        # A damaged header can make NumPy warn before it refuses. Mapped, an array cannot claim more
        # than the file has, and pickles stay shut.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            array = np.array(np.lib.format.open_memmap(path, mode="r"))
    except (MemoryError, OSError):
        raise
    except Exception as error:  # NumPy raises a dozen kinds on damaged files
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise InputError(f"It is no npy file ({reason:.100}). Copy it again.") from error
    if array.dtype.names is None or not set(FIELDS) <= set(array.dtype.names):
        raise InputError(
            f"The array has no fields {', '.join(FIELDS)}. Turn costs alone into a CostMatrix in "
            "Python: truecost.CostMatrix(costs, configurations, instances, low, high)."
        )
    for name, kinds in FIELDS.items():
        if array[name].dtype.kind not in kinds or array[name].ndim != array.ndim:
            what = "text" if name == "result" else "numbers"
            raise InputError(f"The field {name!r} holds {array[name].dtype}, not {what}.")
    if array.ndim == 2:
        array = array[:, :, np.newaxis]
    if array.ndim != 3 or 0 in array.shape:
        raise InputError(
            f"The array has the shape {array.shape}, not configurations × instances × runs."
        )
    return array


def _statuses(results: NDArray[Any]) -> StatusArray:
    if results.dtype.kind in "iu":
        # Numbers name nothing: running times alone say what timed out.
        return np.full(results.shape, NO_STATUS, dtype=np.int8)
    try:
        # Numbers that are no characters would make Python itself fail.
        words = results.ravel().astype("S").tolist()
    except UnicodeEncodeError:
        raise InputError("The field 'result' holds more than plain letters.") from None
    statuses = statuses_of([word.decode(errors="replace") for word in words])
    return statuses.reshape(results.shape)


def _lines(path: Path, name: str, folder: str, size: int) -> list[str]:
    """The lines of the file with the names; none where there is no such file."""
    places = [path.with_name(name)]
    if len(parents := path.absolute().parents) > 2:
        places.append(parents[2] / folder / f"{parents[0].name}.txt")
    place = next((place for place in places if place.is_file()), None)
    if place is None:
        return []
    lines = [*map(str.strip, text_of(place).strip().splitlines())]
    if len(lines) != size:
        raise InputError(f"{place} has {len(lines)} lines for {size}. Give one for each.")
    return lines


def numbered_names(what: str, size: int) -> list[str]:
    """Names for what has none: "instance-07"."""
    digits = len(str(size - 1))
    return [f"{what}-{number:0{digits}d}" for number in range(size)]
