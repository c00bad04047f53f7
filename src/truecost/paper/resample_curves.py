"""From the splits of an experiment to curves: means over splits, standard errors, quantiles."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from truecost.arrays import FloatArray, IntArray
from truecost.paper import _resample_kernels as kernels
from truecost.paper.exact import subset_weights

Item = TypeVar("Item")
Result = TypeVar("Result")

NAMES = ("uniform", "selection", "training", "test")


class Curve(NamedTuple):
    """Mean over splits, its standard error, and quantiles (levels, values)."""

    mean: FloatArray
    error: FloatArray
    quantiles: FloatArray


def over_splits(curves: FloatArray, levels: Sequence[float], threads: int) -> dict[str, Curve]:
    """The four curves from the uniform error, the selection error and the lowest training cost of
    each split, (3, splits, values).
    """
    uniform, selection, training = curves
    # Some swept values at a time: a copy of all would double the memory.
    width = uniform.shape[1]
    blocks = [slice(start, min(start + 64, width)) for start in range(0, width, 64)]

    def curve(name: str) -> Curve:
        out = Curve(np.empty(width), np.empty(width), np.empty((len(levels), width)))
        for block in blocks:
            part = named[name][:, block]
            if name == "test":  # what was selected costs this more than it seemed to
                part = part + selection[:, block]
            out.mean[block], out.error[block] = part.mean(axis=0), _error_of_mean(part)
            ordered = np.sort(np.ascontiguousarray(part.T), axis=1)
            out.quantiles[:, block] = ordered[:, _quantile_places(levels, uniform.shape[0])].T
        return out

    named = dict(zip(NAMES, (uniform, selection, training, training), strict=True))
    return dict(zip(NAMES, _in_threads(curve, NAMES, threads), strict=True))


def over_subsets(
    training: FloatArray, tests: FloatArray, sizes: IntArray, levels: Sequence[float], threads: int
) -> dict[str, Curve]:
    """The four curves over random m-subsets of all configurations, from everybody's training and
    test cost in each split.
    """
    splits, configurations = training.shape
    # Every configuration's costs in order of training cost, with its ties, and the errors in order
    # of their own.
    costs, in_order, errors = (np.empty_like(training) for _ in range(3))
    first, last = np.empty(training.shape, np.int32), np.empty(training.shape, np.int32)

    def sort(part: slice) -> None:
        by_cost = np.argsort(training[part], axis=1)
        costs[part] = np.take_along_axis(training[part], by_cost, axis=1)
        in_order[part] = np.take_along_axis(tests[part], by_cost, axis=1)
        np.subtract(tests[part], training[part], out=errors[part])
        errors[part].sort(axis=1)
        kernels.ties(costs[part], first[part], last[part])

    _in_threads(sort, [slice(start, start + 256) for start in range(0, splits, 256)], threads)
    # The uniform error has no ties to share: every place is its own group.
    rank = np.broadcast_to(np.arange(configurations, dtype=np.int32), training.shape)
    largest = subset_weights(configurations, sizes)
    smallest = np.ascontiguousarray(largest[:, ::-1])
    values = {"uniform": errors, "selection": in_order - costs, "training": costs, "test": in_order}

    def quantiles(name: str) -> FloatArray:
        if name == "uniform":
            return _mixture_quantiles(errors, rank, rank, largest, levels)
        whole = _mixture_quantiles(values[name], first, last, smallest, levels)
        # Which of several equal training costs is the least is a matter of chance: for the means,
        # ties are shared.
        kernels.average_ties(values[name], last)
        return whole

    by_name = dict(zip(NAMES, _in_threads(quantiles, NAMES, threads), strict=True))
    means = {
        name: _weigh(values[name], largest if name == "uniform" else smallest) for name in NAMES[:3]
    }
    means["test"] = means["training"] + means["selection"]

    def curve(name: str) -> Curve:
        return Curve(means[name].mean(axis=0), _error_of_mean(means[name]), by_name[name])

    return dict(zip(NAMES, _in_threads(curve, NAMES, threads), strict=True))


def _weigh(values: FloatArray, weights: FloatArray) -> FloatArray:
    """values @ weights.T, some rows of weights at a time and without the places where all of these
    are negligible.
    """
    out = np.empty((values.shape[0], weights.shape[0]))
    for start in range(0, weights.shape[0], 64):
        rows = weights[start : start + 64]
        # Most weights of large m are next to 0: leaving them out saves most of the products.
        matters = np.flatnonzero((rows > 1e-18).any(axis=0))
        places = slice(matters[0], matters[-1] + 1)
        out[:, start : start + 64] = values[:, places] @ rows[:, places].T
    return out


def _mixture_quantiles(
    values: FloatArray,
    first: NDArray[np.int32],
    last: NDArray[np.int32],
    weights: FloatArray,
    levels: Sequence[float],
) -> FloatArray:
    """Quantiles over splits and m-subsets, where the value at a place has the mean weight of the
    places first … last.
    """
    packed = np.empty(values.size, np.int64)
    kernels.pack(values.ravel(), first.ravel(), last.ravel(), packed)
    # One sort of whole numbers moves a value and its places together.
    packed.sort()
    cumulative = np.zeros((weights.shape[0], weights.shape[1] + 1))
    np.cumsum(weights, axis=1, out=cumulative[:, 1:])
    out = np.empty((len(levels), weights.shape[0]))
    block = max(1024, values.size // 2048)
    kernels.mixture_quantiles(
        packed, cumulative, values.shape[0], np.asarray(levels, np.float64), block, out
    )
    return out


def _quantile_places(levels: Sequence[float], splits: int) -> IntArray:
    """Where the quantiles stand in order: the first value at which the share of splits reaches the
    level.
    """
    # Rounded first: 0.95·20 is a little above 19 in floating point.
    places = np.ceil(np.round(np.array(levels) * splits, 9)).astype(np.int64) - 1
    return np.maximum(places, 0)


def _error_of_mean(values: FloatArray) -> FloatArray:
    return np.asarray(values.std(axis=0, ddof=1) / np.sqrt(values.shape[0]))


def _in_threads(
    function: Callable[[Item], Result], items: Sequence[Item], threads: int
) -> list[Result]:
    """The function of every item."""
    # NumPy's sorting and our kernels leave the interpreter's lock to each other.
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(function, items))
