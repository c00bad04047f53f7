"""What a matrix is made of, checked at the door: costs, names, seeds and statuses as people give
them.
"""

import difflib
import math
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from truecost.arrays import FloatArray, IntArray, floats
from truecost.errors import InputError
from truecost.runs import NO_SEED

Number = TypeVar("Number", bound=np.integer[Any])
# What single precision may add to a number, and a little more.
HAIR = 2.0**-22


def inside(costs: FloatArray, low: float, high: float) -> FloatArray:
    """Costs that single precision rounded past an end of the range, put back on it."""
    least, most = (end.reduce(costs, axis=None, initial=np.nan) for end in (np.fmin, np.fmax))
    hair = HAIR * max((abs(end) for end in (low, high) if math.isfinite(end)), default=0.0)
    # Without a need the caller's own array stays: no copy.
    near = least >= low - hair and most <= high + hair
    return np.clip(costs, low, high) if near and (least < low or most > high) else costs


def as_costs(costs: ArrayLike) -> FloatArray:
    """Costs as (configurations, instances, runs); one run a cell where there are two dimensions."""
    if hasattr(costs, "filled"):
        costs = floats(costs)
    try:
        given = np.asarray(costs)
        numeric = given.dtype.kind in "fiu"
        array = given.astype(np.float64, copy=False) if numeric else _pad_runs(costs)
    except (TypeError, ValueError, OverflowError):
        array = _pad_runs(costs)
    if array.ndim == 2:
        array = array[:, :, np.newaxis]
    if array.ndim != 3:
        raise InputError(
            f"Expected costs as (configurations, instances, runs), got {array.ndim} dimensions."
        )
    for size, what in zip(array.shape, ("configuration", "instance", "run"), strict=True):
        if size == 0:
            raise InputError(f"Expected at least one {what}, got costs of shape {array.shape}.")
    return array


def _pad_runs(costs: Any) -> FloatArray:
    """Cells with different numbers of runs are filled up with NaN; anything else that is ragged has
    no place.
    """
    if not _is_list(costs) or not all(_is_list(row) for row in costs):
        raise InputError(
            f"Expected costs as numbers, configurations x instances x runs, got {costs!r:.60}."
        )
    for number, row in enumerate(costs):
        if len(row) != len(costs[0]):
            raise InputError(
                f"Expected {len(costs[0])} instances for every configuration as for the first, "
                f"got {len(row)} for number {number}."
            )
    cells = [[list(cell) if _is_list(cell) else [cell] for cell in row] for row in costs]
    # The most runs a cell has are the third dimension.
    longest = max((len(cell) for row in cells for cell in row), default=0)
    padded = np.full((len(cells), len(cells[0]) if cells else 0, longest), np.nan)
    for i, row in enumerate(cells):
        for j, cell in enumerate(row):
            if not all(
                isinstance(c, int | float | np.integer | np.floating) and not isinstance(c, bool)
                for c in cell
            ):
                raise InputError(
                    f"Expected numbers as costs of configuration number {i} on instance number "
                    f"{j}, got {cell!r:.60}."
                )
            try:
                padded[i, j, : len(cell)] = cell
            except OverflowError:
                raise InputError(
                    f"Expected finite costs of configuration number {i} on instance number {j}."
                ) from None
    return padded


def _is_list(value: object) -> bool:
    return isinstance(value, Sequence | np.ndarray) and not isinstance(value, str)


def checked_names(names: Iterable[str], what: str) -> tuple[str, ...]:
    """Names that every kind of file keeps, each once."""
    if isinstance(names, str):
        raise InputError(f"Expected a list of {what} names, got the single text {names!r}.")
    given = tuple(names)
    if _are_usual(given):
        return given
    seen: set[str] = set()
    for name in given:
        if not isinstance(name, str) or not name:
            raise InputError(
                f"Expected every {what} name to be a text with at least one letter, got {name!r}."
            )
        # Neither survives in every kind of file.
        if "\0" in name or (
            not name.isascii() and any("\ud800" <= letter <= "\udfff" for letter in name)
        ):
            raise InputError(
                f"Expected {what} names without NUL and half characters (surrogates), got {name!r}."
            )
        if name in seen:
            raise InputError(f"Expected every {what} name once, got {name!r} twice.")
        seen.add(name)
    return tuple(str(name) for name in given)


def _are_usual(names: tuple[object, ...]) -> bool:
    """Whether these are plain texts of which nothing is to be said; every part of a matrix has its
    names checked, most often more than it has costs.
    """
    if set(map(type, names)) != {str}:
        return False
    different, text = set(names), "".join(names)  # type: ignore[arg-type]
    return (
        len(different) == len(names) and "" not in different and text.isascii() and "\0" not in text
    )


def positions(
    names: tuple[str, ...], wanted: str | Iterable[str] | None, what: str
) -> NDArray[np.intp] | slice:
    """Where the wanted names stand; everything for None."""
    if wanted is None:
        return slice(None)
    if not isinstance(wanted, Iterable):
        raise InputError(f"Expected the names of {what}s to select, got {wanted!r}.")
    wanted = [wanted] if isinstance(wanted, str) else list(wanted)
    if not wanted:
        raise InputError(f"Expected at least one {what} to select, got none.")
    # A dictionary: lists of names have thousands, and `index` would search each from the start.
    places = dict(zip(names, range(len(names)), strict=True))
    with suppress(KeyError, TypeError):
        return np.array([places[name] for name in wanted], dtype=np.intp)
    name = next(name for name in wanted if not isinstance(name, str) or name not in places)
    near = difflib.get_close_matches(str(name), names, n=1)
    hint = f"the first is {names[0]!r}, there are {len(names)}."
    hint = f"did you mean {near[0]!r}?" if near else hint
    raise InputError(f"Expected the name of a {what} in the matrix, got {name!r}: {hint}")


def at(names: tuple[str, ...], places: NDArray[np.intp] | slice) -> tuple[str, ...]:
    """The names at these places."""
    if isinstance(places, slice):
        return names[places]
    return tuple([names[place] for place in places.tolist()])


def seeds_of_runs(seeds: ArrayLike, costs: FloatArray) -> IntArray:
    """The seeds, NO_SEED where there is no run, so that every kind of file gives the same back."""
    known = integers(seeds, np.int64, NO_SEED, "seeds")
    missing = np.isnan(costs)
    if known.shape != missing.shape or not missing.any():
        return known
    return np.where(missing, NO_SEED, known)


def integers(values: ArrayLike, dtype: type[Number], missing: int, what: str) -> NDArray[Number]:
    """Whole numbers of a type, `missing` for what is masked."""
    try:
        array = np.asarray(values.filled(missing) if hasattr(values, "filled") else values)
    except ValueError:
        raise InputError(
            f"Expected {what} as an array of whole numbers, got lists of different lengths."
        ) from None
    if array.ndim == 2:
        array = array[:, :, np.newaxis]
    if not np.issubdtype(array.dtype, np.integer):
        raise InputError(f"Expected {what} as whole numbers, got {array.dtype}.")
    # astype would wrap around without a word.
    bounds = np.iinfo(dtype)
    if array.size and not (bounds.min <= int(array.min()) and int(array.max()) <= bounds.max):
        raise InputError(
            f"Expected {what} from {bounds.min} to {bounds.max}, got {array.min()} to "
            f"{array.max()}."
        )
    return array.astype(dtype, copy=False)
