"""The PM.npy of the paper's authors: a structured array of configurations × instances × runs.

Their names are the lines of two text files: `configs.txt` and `instances.txt` beside the array, or
`configs/SCENARIO.txt` and `instance_index/SCENARIO.txt` where the array is archive/SCENARIO/PM.npy,
as in their repository. A configuration's line is its command line, so it is called by its number.
"""

import math
import os
import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from truecost.errors import InputError
from truecost.importers.recorded import Recorded, chosen, log_of, numbered, statuses_of
from truecost.matrix.log import Log
from truecost.matrix.reading import Reading
from truecost.runs import NO_STATUS

ARRAY = "PM.npy"
START = b"\x93NUMPY"
FIELDS = ("result", "runtime", "quality", "seed")
MEASURES = ("runtime", "quality")


def read(path: Path, reading: Reading) -> Log:
    """The runs in a PM.npy, or in the folder that holds one."""
    path = path / ARRAY if path.is_dir() else path
    measure = MEASURES[chosen(reading.objective or MEASURES[0], MEASURES)]
    array = _array(path)
    statuses = _results(array["result"])
    runtime = array["runtime"].astype(np.float64)
    values = runtime if measure == "runtime" else array["quality"].astype(np.float64)
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
    configurations, lines = _configurations(path, array.shape[0])
    seed = array["seed"]
    return log_of(
        Recorded(
            configurations=(configurations, i),
            instances=(_instances(path, array.shape[1]), j),
            values=values[made],
            statuses=statuses[made],
            runs=run,
            seeds=seed[made].astype(np.int64) if seed.dtype.kind in "iu" else None,
        ),
        reading,
        omitted={"run never made (running time 0)": int((~made).sum())},
        tool=ARRAY,
        parameters={
            name: _parameters(line) for name, line in zip(configurations, lines, strict=False)
        },
    )


def array_of(path: Path) -> NDArray[Any]:
    """The array in an npy file without pickles, no larger than the file."""
    try:
        # Damaged numbers can make NumPy warn before they are refused.
        with path.open("rb") as file, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            version = np.lib.format.read_magic(file)
            header = (
                np.lib.format.read_array_header_1_0
                if version == (1, 0)
                else np.lib.format.read_array_header_2_0
            )
            shape, _, dtype = header(file)
            size = math.prod(shape) * dtype.itemsize
            available = os.fstat(file.fileno()).st_size - file.tell()
            if dtype.hasobject:
                raise InputError("It holds pickled objects, which are never opened.")
            # Nothing is packed here, so a claim beyond the file is a lie.
            if size > available:
                raise InputError(f"It claims {size:,} bytes of numbers and has {available:,}.")
            file.seek(0)
            return np.lib.format.read_array(file, allow_pickle=False)
    except (InputError, MemoryError, OSError):
        raise
    except Exception as error:  # NumPy raises a dozen kinds on damaged files
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise InputError(f"It is no npy file ({reason:.100}). Copy it again.") from error


def _array(path: Path) -> NDArray[Any]:
    array = array_of(path)
    if array.dtype.names is None or not set(FIELDS) <= set(array.dtype.names):
        raise InputError(
            f"The array has no fields {', '.join(FIELDS)}. Turn costs alone into a CostMatrix in "
            "Python: truecost.CostMatrix(costs, configurations, instances, low, high)."
        )
    for name in FIELDS:
        kinds, what = ("SUiu", "text") if name == "result" else ("fiu", "numbers")
        if array[name].dtype.kind not in kinds or array[name].ndim != array.ndim:
            raise InputError(f"The field {name!r} holds {array[name].dtype}, not {what}.")
    if array.ndim == 2:
        array = array[:, :, np.newaxis]
    if array.ndim != 3 or 0 in array.shape:
        raise InputError(
            f"The array has the shape {array.shape}, not configurations × instances × runs."
        )
    return array


def _results(result: NDArray[Any]) -> NDArray[np.int8]:
    if result.dtype.kind in "iu":
        # Numbers name nothing: running times alone say what timed out.
        return np.full(result.shape, NO_STATUS, dtype=np.int8)
    if result.dtype.kind == "S":
        words = [word.decode(errors="replace") for word in result.ravel().tolist()]
    else:
        # Numbers that are no characters would make Python itself fail.
        codes = np.frombuffer(np.ascontiguousarray(result).tobytes(), dtype=np.uint32)
        if codes.size and int(codes.max()) > 0x10FFFF:
            raise InputError("The field 'result' holds numbers that are no characters.")
        words = result.ravel().tolist()
    return statuses_of(words)[0].reshape(result.shape)


def _lines(path: Path, name: str, folder: str) -> list[str]:
    """The lines of the file with the names; none where there is no such file."""
    parents = path.absolute().parents
    places = [path.with_name(name)]
    if len(parents) > 2:
        places.append(parents[2] / folder / f"{parents[0].name}.txt")
    for place in places:
        if place.is_file():
            try:
                return place.read_text("utf-8-sig").strip().splitlines()
            except UnicodeDecodeError:
                raise InputError(f"{place} is not in UTF-8. Save it so.") from None
    return []


def _configurations(path: Path, size: int) -> tuple[list[str], list[str]]:
    lines = _lines(path, "configs.txt", "configs")
    if lines and len(lines) != size:
        raise InputError(f"There are {len(lines)} lines of configurations for {size}.")
    return numbered("configuration", size), lines


def _parameters(line: str) -> dict[str, Any]:
    """The values in a command line `-name value -name value`."""
    words = re.findall(r"-([A-Za-z@]\S*)\s+'?([^'\s]+)'?", line)
    return dict(words)


def _instances(path: Path, size: int) -> list[str]:
    lines = [line.strip() for line in _lines(path, "instances.txt", "instance_index")]
    if not lines:
        return numbered("instance", size)
    if len(lines) != size:
        raise InputError(f"There are {len(lines)} names of instances for {size}.")
    return lines
