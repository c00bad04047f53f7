"""Costs, names, seeds and statuses as people give them, checked."""

import math
from collections.abc import Iterable
from contextlib import suppress
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from truecost.arrays import FloatArray, IntArray, floats
from truecost.errors import InputError, did_you_mean
from truecost.runs import NO_SEED

Number = TypeVar("Number", bound=np.integer[Any])
# What single precision may add to a number, and a little more.
HAIR = 2.0**-22


def inside(costs: FloatArray, low: float, high: float) -> FloatArray:
    """Put costs that single precision rounded past an end of the range back on it."""
    least, most = (end.reduce(costs, axis=None, initial=np.nan) for end in (np.fmin, np.fmax))
    hair = HAIR * max((abs(end) for end in (low, high) if math.isfinite(end)), default=0.0)
    # Without a need the caller's own array stays: no copy.
    near = least >= low - hair and most <= high + hair
    return np.clip(costs, low, high) if near and (least < low or most > high) else costs


def as_costs(costs: ArrayLike) -> FloatArray:
    """Costs as (configurations, instances, runs); one run a cell where there are two dimensions."""
    try:
        given = np.asarray(floats(costs) if hasattr(costs, "filled") else costs)
    except ValueError:
        raise InputError(
            "The costs are lists of different lengths. Put NaN where runs are missing."
        ) from None
    if given.dtype.kind not in "fiu":
        raise InputError(
            f"Costs are {costs!r:.60}. Give numbers: configurations × instances × runs."
        )
    array = given.astype(np.float64, copy=False)
    if array.ndim == 2:
        array = array[:, :, np.newaxis]
    if array.ndim != 3:
        raise InputError(
            f"Costs with {array.ndim} dimensions. Give configurations × instances × runs."
        )
    for size, what in zip(array.shape, ("configuration", "instance", "run"), strict=True):
        if size == 0:
            raise InputError(f"Costs of the shape {array.shape}. Give at least one {what}.")
    return array


def checked_names(names: Iterable[str], what: str) -> tuple[str, ...]:
    """Names that every kind of file keeps, each once."""
    if isinstance(names, str):
        raise InputError(f"The {what} names are the text {names!r:.60}. Give a list.")
    given = tuple(names)
    # Every part of a matrix has its names checked, most often more than it has costs.
    if set(map(type, given)) == {str} and len(set(given)) == len(given) and all(given):
        text = "".join(given)
        if text.isascii() and "\0" not in text:
            return given
    seen: set[str] = set()
    for name in given:
        if not isinstance(name, str) or not name:
            raise InputError(
                f"The {what} name {name!r} is no text, or empty. Give every {what} a name."
            )
        # Neither survives in every kind of file.
        if "\0" in name or (
            not name.isascii() and any("\ud800" <= letter <= "\udfff" for letter in name)
        ):
            raise InputError(
                f"The {what} name {name!r} has NUL or half characters (surrogates). Rename it."
            )
        if name in seen:
            raise InputError(f"The {what} name {name!r} is there twice. Rename one.")
        seen.add(name)
    return tuple(str(name) for name in given)


def positions(
    names: tuple[str, ...], wanted: str | Iterable[str] | None, what: str
) -> NDArray[np.intp] | slice:
    """Where the wanted names stand; everything for None."""
    if wanted is None:
        return slice(None)
    if not isinstance(wanted, Iterable):
        raise InputError(f"{wanted!r:.60} cannot be selected. Give the names of {what}s.")
    wanted = [wanted] if isinstance(wanted, str) else list(wanted)
    if not wanted:
        raise InputError(f"No {what} is selected. Name at least one.")
    # A dictionary: lists of names have thousands, and `index` would search each from the start.
    places = dict(zip(names, range(len(names)), strict=True))
    with suppress(KeyError, TypeError):
        return np.array([places[name] for name in wanted], dtype=np.intp)
    name = next(name for name in wanted if not isinstance(name, str) or name not in places)
    hint = did_you_mean(str(name), names) or f" The first of {len(names)} is {names[0]!r}."
    raise InputError(f"There is no {what} {name!r}.{hint}")


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
            f"The {what} are lists of different lengths. Give them in the shape of the costs."
        ) from None
    if array.ndim == 2:
        array = array[:, :, np.newaxis]
    if not np.issubdtype(array.dtype, np.integer):
        raise InputError(f"The {what} are {array.dtype}. Give whole numbers.")
    # astype would wrap around without a word.
    bounds = np.iinfo(dtype)
    if array.size and not (bounds.min <= int(array.min()) and int(array.max()) <= bounds.max):
        raise InputError(
            f"The {what} reach from {array.min()} to {array.max()}. Give numbers from {bounds.min} "
            f"to {bounds.max}."
        )
    return array.astype(dtype, copy=False)
