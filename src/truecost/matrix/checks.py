"""Costs, seeds, statuses, names and ranges as people give them, checked."""

import math
import re
from collections import Counter
from collections.abc import Iterable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from truecost.arrays import FloatArray
from truecost.errors import InputError

Integer = TypeVar("Integer", bound=np.integer[Any])
# NUL and half characters (surrogates) do not survive in every kind of file.
UNWRITABLE = re.compile("[\0\ud800-\udfff]")


def costs_of(values: Any) -> FloatArray:
    """Costs as (configurations, instances, runs), NaN where one is masked."""
    if hasattr(values, "filled"):  # to ask for np.ma would load it
        values = values.astype(np.float64).filled(np.nan)
    return _cells(values, "costs", "fiu").astype(np.float64, copy=False)


def integers_of(
    values: ArrayLike, what: str, dtype: type[Integer], least: int, most: int
) -> NDArray[Integer]:
    """Whole numbers as (configurations, instances, runs), −1 where one is masked."""
    array = _cells(values.filled(-1) if hasattr(values, "filled") else values, what, "iu")
    if not (least <= int(array.min()) and int(array.max()) <= most):
        raise InputError(
            f"The {what} go from {array.min()} to {array.max()}. Give numbers from {least} to "
            f"{most}, −1 where unknown."
        )
    return array.astype(dtype, copy=False)


def _cells(values: Any, what: str, kinds: str) -> NDArray[Any]:
    """An array with three axes; two are one run for each configuration and instance."""
    try:
        array = np.asarray(values)
    except ValueError:
        raise InputError(
            f"The {what} are lists of different lengths. Put NaN where costs are missing, and −1 "
            "for their seeds and statuses."
        ) from None
    if array.dtype.kind not in kinds:
        numbers = "numbers" if "f" in kinds else "whole numbers"
        raise InputError(
            f"The {what} are {values!r:.60}. Give {numbers}: configurations × instances × runs."
        )
    if array.ndim not in (2, 3) or 0 in array.shape:
        raise InputError(
            f"The {what} have the shape {array.shape}. Give three dimensions, configurations × "
            "instances × runs, and at least one of each."
        )
    return array[:, :, np.newaxis] if array.ndim == 2 else array


def names_of(names: Iterable[str], what: str, *, unique: bool = True) -> tuple[str, ...]:
    """Names that every kind of file keeps."""
    if isinstance(names, str):
        raise InputError(f"The {what} names are the text {names!r:.60}. Give a list of names.")
    names = tuple(names)
    for name in names:
        if not isinstance(name, str) or not name or UNWRITABLE.search(name):
            raise InputError(
                f"The {what} name {name!r} is empty, no text, or has NUL or half characters "
                "(surrogates). Rename it."
            )
    if unique and len(set(names)) < len(names):
        name = Counter(names).most_common(1)[0][0]
        raise InputError(f"The {what} name {name!r} is there twice. Rename one.")
    return tuple(map(str, names))


def check_scale(
    low: float | None, high: float | None, cutoff: float | None, par: float | None
) -> None:
    """Refuse a range, a cutoff or a penalty that cannot be."""
    if cutoff is not None and not 0 < cutoff < math.inf:
        raise InputError(f"The cutoff is {cutoff:g}. Give seconds above 0.")
    if par is not None and not 1 <= par < math.inf:
        raise InputError(f"par is {par:g}. Give a number from 1, such as 10 for PAR10.")
    if low is not None and high is not None and not low < high:
        raise InputError(
            f"low = {low:g} is not below high = {high:g}. Give the least and the most a run can "
            "cost."
        )
