"""CostMatrix: configurations x instances x runs, missing runs allowed."""

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final, NoReturn, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from truecost.arrays import BoolArray, FloatArray, IntArray
from truecost.errors import InputError, counted
from truecost.matrix.entries import (
    as_costs,
    at,
    checked_names,
    inside,
    integers,
    positions,
    seeds_of_runs,
)
from truecost.runs import NO_STATUS, Status

if TYPE_CHECKING:
    import pandas as pd

Scalar = TypeVar("Scalar", bound=np.generic)
# Annotations of a function within a function are made anew with every call.
MaybeArray = NDArray[Any] | None
FIELDS = (
    "configurations", "costs", "cutoff", "families", "high", "instances", "low", "par", "seeds",
    "statuses",
)  # fmt: skip
# Squares of costs are summed; what is larger than this would overflow.
LARGEST = 1e150
# Squares of smaller costs are 0, and so would be their variances.
SMALLEST = 1e-150


class CostMatrix:
    """The costs of M configurations on P instances, up to R runs each.

    Parameters
    ----------
    costs
        (M, P, R), or (M, P) for one run each; NaN where a run is missing. A run with the status
        censored has its cap here, the least it can cost.
    configurations, instances
        Their names, each different.
    low, high
        The least and the largest cost a run can have: a property of the metric, not of the costs
        seen, since limits of means rest on it. Infinite where unknown.
    statuses
        `Status` numbers shaped like `costs`, −1 where unknown.
    seeds
        Whole numbers shaped like `costs`.
    cutoff
        Where costs are running times: after how many seconds every run was stopped.
    par
        Where costs are running times: a failed run costs `par` × `cutoff` (10 for PAR10), whatever
        `costs` says. Without a status, a run has failed that took the cutoff or longer. `low` and
        `high` are 0 and `par` × `cutoff` unless they are given.
    families
        The family of each instance; None where instances have none.

    Examples
    --------
    >>> from truecost.matrix import CostMatrix
    >>> CostMatrix([[[1.0, 2.0]], [[3.0, 4.0]]], ["a", "b"], ["i"], 0, 10)
    CostMatrix(2 configurations x 1 instance x 2 runs, costs in [0, 10])
    """

    __slots__ = FIELDS

    def __init__(
        self,
        costs: ArrayLike,
        configurations: Iterable[str],
        instances: Iterable[str],
        low: float = -math.inf,
        high: float = math.inf,
        *,
        statuses: ArrayLike | None = None,
        seeds: ArrayLike | None = None,
        cutoff: float | None = None,
        par: float | None = None,
        families: Iterable[str] | None = None,
    ) -> None:
        self.cutoff: Final = None if cutoff is None else float(cutoff)
        self.par: Final = None if par is None else float(par)
        self._check_penalty()
        if self.par is not None and self.cutoff is not None:
            low = 0.0 if low == -math.inf else low
            high = self.par * self.cutoff if high == math.inf else high
        self.configurations: Final = checked_names(configurations, "configuration")
        self.instances: Final = checked_names(instances, "instance")
        self.low: Final = float(low)
        self.high: Final = float(high)
        codes = None if statuses is None else integers(statuses, np.int8, NO_STATUS, "statuses")
        self.statuses: Final = None if codes is None else _read_only(codes)
        self.costs: Final = _read_only(
            inside(self._penalised(as_costs(costs)), self.low, self.high)
        )
        self.seeds: Final = None if seeds is None else _read_only(seeds_of_runs(seeds, self.costs))
        self.families: Final = None if families is None else _checked_families(families)
        self._check()

    def _check_penalty(self) -> None:
        if self.cutoff is not None and not 0 < self.cutoff < math.inf:
            raise InputError(f"The cutoff is {self.cutoff:g}. Give seconds above 0.")
        if self.par is None:
            return
        if not 1 <= self.par < math.inf:
            raise InputError(f"par is {self.par:g}. Give a number from 1, such as 10 for PAR10.")
        if self.cutoff is None:
            raise InputError("par needs a cutoff. Give the cutoff in seconds.")

    def _penalised(self, costs: FloatArray) -> FloatArray:
        """The costs with every failed run at its penalty."""
        if self.par is None or self.cutoff is None:
            return costs
        penalty = self.par * self.cutoff
        late = np.asarray((costs >= self.cutoff) & (costs <= penalty))
        if self.statuses is not None and self.statuses.shape == costs.shape:
            failed = _is_failure(self.statuses) & ~np.isnan(costs)
            late = np.where(self.statuses == NO_STATUS, late, failed)
        # Without a need the caller's own array stays: no copy.
        return np.where(late, penalty, costs) if (costs[late] != penalty).any() else costs

    def _check(self) -> None:
        # The width of two finite ends can be too large for a float.
        ends = (self.low, self.high)
        if not self.low < self.high or (np.isinf(self.width) and np.isfinite(ends).all()):
            raise InputError(
                "The cost range has low = {:g} and high = {:g}. Give low below high.".format(*ends)
            )
        shape = self.costs.shape
        for size, what in zip(shape, ("configuration", "instance"), strict=False):
            if size != (named := len(getattr(self, f"{what}s"))):
                raise InputError(
                    f"The costs have {counted(size, what)}, and {named} names are given. Give one "
                    f"name for each {what}."
                )
        if self.families is not None and len(self.families) != shape[1]:
            raise InputError(
                f"There are {shape[1]} instances and {len(self.families)} families. Give the "
                "family of each instance."
            )
        # fmin and fmax pass over NaN and make no copy, which keeps large matrices within their
        # memory.
        least, most = np.fmin.reduce(self.costs, axis=None), np.fmax.reduce(self.costs, axis=None)
        if not (max(self.low, -LARGEST) <= least and most <= min(self.high, LARGEST)):
            self._refuse_cost()
        if 0 < (largest := max(-least, most)) < SMALLEST:
            raise InputError(
                f"The largest cost is {largest:g}, whose square is 0. Give costs in a smaller unit."
            )
        for values, name in [(self.statuses, "statuses"), (self.seeds, "seeds")]:
            if values is not None and values.shape != shape:
                raise InputError(
                    f"The {name} have the shape {values.shape}, the costs {shape}. Give both in "
                    "the same shape."
                )
        if self.statuses is not None:
            known = (self.statuses >= NO_STATUS) & (self.statuses < len(Status))
            if not known.all():
                where = _first(~known)
                raise InputError(
                    f"{self._entry(where)} has the status {self.statuses[where]}. Give a number "
                    f"from {NO_STATUS} (unknown) to {len(Status) - 1}."
                )
            uncharged = (self.statuses != NO_STATUS) & np.isnan(self.costs)
            if uncharged.any():
                where = _first(uncharged)
                status = Status(int(self.statuses[where])).label
                raise InputError(
                    f"{self._entry(where)} has the status {status} and no cost. Give a failed run "
                    "its penalty instead of dropping it."
                )

    def _refuse_cost(self) -> NoReturn:
        costs, low, high = self.costs, self.low, self.high
        problems = {
            f"below low = {low:g}": costs < low,
            f"above high = {high:g}": costs > high,
            f"too large to be squared (at most {LARGEST:g})": np.abs(costs) > LARGEST,
        }
        for problem, outside in problems.items():
            if outside.any():
                where = _first(outside)
                what = "not finite" if np.isinf(costs[where]) else problem
                raise InputError(
                    f"{self._entry(where)} costs {costs[where]:g}: {what}. Correct the cost, or "
                    "the range (low, high)."
                )
        raise InputError("Every cost is missing. Give at least one run.")

    def _entry(self, where: tuple[int, ...]) -> str:
        configuration, instance, run = where
        names = self.configurations[configuration], self.instances[instance]
        return f"Run {run} of configuration {names[0]!r} on instance {names[1]!r}"

    @property
    def shape(self) -> tuple[int, int, int]:
        """(M, P, R)."""
        configurations, instances, runs = self.costs.shape
        return configurations, instances, runs

    @property
    def width(self) -> float:
        """C = high − low; infinite where the range is not known."""
        return self.high - self.low

    @property
    def censored(self) -> BoolArray:
        """Which runs were stopped at a cap below the cutoff, (M, P, R): they cost what stands in
        `costs`, or more.
        """
        if self.statuses is None:
            return np.zeros(self.costs.shape, dtype=np.bool_)
        return np.asarray(self.statuses == Status.CENSORED)

    @property
    def can_fail(self) -> bool:
        """Whether runs can fail. The metric says so, never the sample: there is a cutoff, or
        somebody recorded how runs ended.
        """
        if self.cutoff is not None or self.statuses is None:
            return self.cutoff is not None
        return bool((self.statuses != NO_STATUS).any())

    @property
    def failed(self) -> BoolArray:
        """Which runs were not solved, (M, P, R); censored runs have not failed.

        A run of unknown status has failed if there is a cutoff and it has the highest cost.
        """
        highest = np.asarray((self.costs >= self.high) & (self.cutoff is not None))
        if self.statuses is None:
            return highest
        return np.where(self.statuses == NO_STATUS, highest, _is_failure(self.statuses))

    @property
    def charged(self) -> FloatArray:
        """The costs that estimates use, (M, P, R): a censored run counts as `high`, or as the
        largest cost seen where no range is known.
        """
        censored = self.censored
        if not censored.any():
            return self.costs
        worst = self.high if np.isfinite(self.high) else np.nanmax(self.costs)
        return np.where(censored, worst, self.costs)

    def exact_costs(self) -> FloatArray:
        """The costs; raises if any run is censored."""
        if censored := int(self.censored.sum()):
            raise InputError(
                f"{counted(censored, 'run')} stopped at a cap, so the costs are unknown. Leave "
                "these configurations out, or run them again without a cap."
            )
        return self.costs

    def counts(self) -> IntArray:
        """How many runs each configuration has on each instance, (M, P)."""
        # One pass without a copy tells whether anything is missing.
        if not np.isnan(self.costs.sum()):
            return np.full(self.costs.shape[:2], self.costs.shape[2])
        numbers = np.zeros(self.costs.shape[:2], dtype=np.int64)
        for run in range(self.costs.shape[2]):
            numbers += ~np.isnan(self.costs[:, :, run])
        return numbers

    def select(
        self,
        configurations: str | Iterable[str] | None = None,
        instances: str | Iterable[str] | None = None,
        runs: BoolArray | slice | None = None,
    ) -> "CostMatrix":
        """The part with these configurations and instances, in the order asked for, and these runs
        of each; None keeps them all.
        """
        rows = positions(self.configurations, configurations, "configuration")
        columns = positions(self.instances, instances, "instance")

        def part(values: MaybeArray) -> MaybeArray:
            if values is None:
                return None
            values = values[rows][:, columns]
            return values if runs is None else values[:, :, runs]

        return self.replace(
            costs=part(self.costs),
            configurations=at(self.configurations, rows),
            instances=at(self.instances, columns),
            statuses=part(self.statuses),
            seeds=part(self.seeds),
            families=None if self.families is None else at(self.families, columns),
        )

    def replace(self, **changes: Any) -> "CostMatrix":
        """The same matrix with other values of these parameters, checked as any other:
        `matrix.replace(low=0.0, high=50.0)`.
        """
        return CostMatrix(**{name: getattr(self, name) for name in FIELDS} | changes)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, CostMatrix):
            return NotImplemented
        return all(_same(getattr(self, name), getattr(other, name)) for name in FIELDS)

    # Equal by content, which is too much to hash.
    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        nouns = ("configuration", "instance", "run")
        size = " x ".join(map(counted, self.shape, nouns))
        known = "unknown range of costs"
        if np.isfinite(self.width):
            known = f"costs in [{self.low:g}, {self.high:g}]"
        return f"CostMatrix({size}, {known})"

    def to_frame(self) -> "pd.DataFrame":
        """Return the runs as a long table: configuration, instance, run, cost and, where known,
        seed, status and family.
        """
        import pandas as pd

        from truecost.matrix.table import columns_of

        return pd.DataFrame(columns_of(self))

    @classmethod
    def from_frame(cls, frame: "pd.DataFrame", **fields: Any) -> "CostMatrix":
        """Build a matrix from a long table as `to_frame` gives it.

        Parameters
        ----------
        frame
            The table.
        **fields
            What a table does not say: `low`, `high`, `cutoff`, `par`.
        """
        from truecost.matrix.table import matrix_of

        return matrix_of({str(name): column.tolist() for name, column in frame.items()}, **fields)


def _checked_families(families: Iterable[str]) -> tuple[str, ...]:
    if isinstance(families, str):
        raise InputError(
            f"families is the text {families!r:.40}. Give a list with the family of each instance."
        )
    labels = tuple(families)
    if set(map(type, labels)) == {str} and "" not in labels:
        return labels
    for label in labels:
        if not isinstance(label, str) or not label:
            raise InputError(f"The family {label!r:.40} is no name. Give a text.")
    return tuple(str(label) for label in labels)


def _is_failure(statuses: NDArray[np.int8]) -> BoolArray:
    """Whether runs are known to have failed."""
    return ~np.isin(statuses, (NO_STATUS, Status.SOLVED, Status.CENSORED))


def _read_only(array: NDArray[Scalar]) -> NDArray[Scalar]:
    # The caller keeps an array that can be written to; this view of it cannot.
    view = array.view()
    view.flags.writeable = False
    return view


def _first(mask: BoolArray) -> tuple[int, ...]:
    return tuple(int(i) for i in np.unravel_index(int(mask.argmax()), mask.shape))


def _same(mine: Any, theirs: Any) -> bool:
    if isinstance(mine, np.ndarray) and isinstance(theirs, np.ndarray):
        return np.array_equal(mine, theirs, equal_nan=mine.dtype.kind == "f")
    return bool(mine is theirs or (type(mine) is type(theirs) and mine == theirs))
