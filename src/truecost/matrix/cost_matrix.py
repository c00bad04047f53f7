"""CostMatrix: configurations × instances × runs, missing runs allowed."""

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final, NoReturn, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from truecost.arrays import BoolArray, FloatArray, IntArray
from truecost.errors import InputError, counted, did_you_mean
from truecost.matrix.checks import check_scale, costs_of, integers_of, names_of
from truecost.runs import NO_SEED, NO_STATUS, Status

if TYPE_CHECKING:
    import pandas as pd

Scalar = TypeVar("Scalar", bound=np.generic)
# The different names, and the place of each run's name among them.
Names = tuple[Sequence[str], IntArray]
FIELDS = (
    "configurations", "costs", "cutoff", "families", "high", "instances", "low", "par", "seeds",
    "statuses",
)  # fmt: skip
# Squares of costs are summed: those of larger costs overflow, those of smaller ones are 0.
LARGEST, SMALLEST = 1e150, 1e-150
# What rounding to single precision may add to a number, and a little more.
HAIR = 2.0**-22
# A matrix this large and this empty is a mistake in the columns it is made of.
MOST_CELLS, MOST_EMPTY = 2**27, 1000


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
        if par is not None:
            if cutoff is None:
                raise InputError("par needs a cutoff. Give the cutoff in seconds.")
            low = 0.0 if low == -math.inf else low
            high = par * cutoff if high == math.inf else high
        check_scale(low, high, cutoff, par)
        self.cutoff: Final = None if cutoff is None else float(cutoff)
        self.par: Final = None if par is None else float(par)
        self.low: Final = float(low)
        self.high: Final = float(high)
        self.configurations: Final = names_of(configurations, "configuration")
        self.instances: Final = names_of(instances, "instance")
        self.families: Final = (
            None if families is None else names_of(families, "family", unique=False)
        )
        values = costs_of(costs)
        missing = np.isnan(values)
        codes = numbers = None
        if statuses is not None:
            codes = integers_of(statuses, "statuses", np.int8, NO_STATUS, max(Status))
        if seeds is not None:
            ends = np.iinfo(np.int64)
            numbers = integers_of(seeds, "seeds", np.int64, int(ends.min), int(ends.max))
        self._check_shapes(values.shape, statuses=codes, seeds=numbers)
        if codes is not None and (uncharged := (codes != NO_STATUS) & missing).any():
            run = _first(uncharged)
            raise InputError(
                f"{self._run(run)} has the status {Status(codes[run]).label} and no cost. Give a "
                "failed run its penalty instead of dropping it."
            )
        if numbers is not None and missing.any():
            # Files keep no seed of a run that does not exist.
            numbers = np.where(missing, NO_SEED, numbers)
        self.statuses: Final = None if codes is None else _read_only(codes)
        self.seeds: Final = None if numbers is None else _read_only(numbers)
        self.costs: Final = _read_only(self._within_range(self._penalised(values)))

    def _check_shapes(self, shape: tuple[int, ...], **others: NDArray[Any] | None) -> None:
        names = {"configuration": self.configurations, "instance": self.instances}
        if self.families is not None:
            names["family"] = self.families
        for what, given in names.items():
            size = shape[0 if what == "configuration" else 1]
            if len(given) != size:
                raise InputError(
                    f"The costs have the shape {shape}, and {len(given)} {what} names are given. "
                    f"Give {size}."
                )
        for what, values in others.items():
            if values is not None and values.shape != shape:
                raise InputError(
                    f"The {what} have the shape {values.shape}, the costs {shape}. Give both in "
                    "the same shape."
                )

    def _penalised(self, costs: FloatArray) -> FloatArray:
        """The costs with every failed run at its penalty."""
        if self.par is None or self.cutoff is None:
            return costs
        penalty = self.par * self.cutoff
        failed = np.asarray((costs >= self.cutoff) & (costs <= penalty))
        if self.statuses is not None:
            recorded = _is_failure(self.statuses) & ~np.isnan(costs)
            failed = np.where(self.statuses == NO_STATUS, failed, recorded)
        # Without a need the caller's own array stays: no copy.
        return np.where(failed, penalty, costs) if (costs[failed] != penalty).any() else costs

    def _within_range(self, costs: FloatArray) -> FloatArray:
        """The costs; raises if one is out of range by more than single precision explains."""
        # fmin and fmax pass over NaN and make no copy, which keeps large matrices within their
        # memory.
        least, most = (float(end.reduce(costs, axis=None)) for end in (np.fmin, np.fmax))
        if math.isnan(least):
            raise InputError("Every cost is missing. Give at least one run.")
        low, high = max(self.low, -LARGEST), min(self.high, LARGEST)
        hair = HAIR * max(abs(end) for end in (self.low, self.high, 0) if abs(end) < LARGEST)
        if not (low - hair <= least and most <= high + hair):
            self._refuse_cost(costs, low, high)
        if 0 < (largest := max(-least, most)) < SMALLEST:
            raise InputError(
                f"The largest cost is {largest:g}, whose square is 0. Give costs in a smaller unit."
            )
        return costs if low <= least and most <= high else np.clip(costs, low, high)

    def _refuse_cost(self, costs: FloatArray, low: float, high: float) -> NoReturn:
        run = _first((costs < low) | (costs > high))
        cost = costs[run]
        problem = f"below low = {low:g}" if cost < self.low else f"above high = {high:g}"
        if self.low <= cost <= self.high:
            problem = f"too large to be squared (at most {LARGEST:g})"
        if math.isinf(cost):
            problem = "not finite"
        raise InputError(
            f"{self._run(run)} costs {cost:g}: {problem}. Correct the cost, or the range (low, "
            "high)."
        )

    def _run(self, place: tuple[int, ...]) -> str:
        configuration, instance, run = place
        names = self.configurations[configuration], self.instances[instance]
        return f"Run {run} of configuration {names[0]!r} on instance {names[1]!r}"

    @classmethod
    def of_runs(
        cls,
        configurations: Names,
        instances: Names,
        numbers: IntArray,
        costs: FloatArray,
        *,
        statuses: NDArray[np.integer[Any]] | None = None,
        seeds: IntArray | None = None,
        **fields: Any,
    ) -> "CostMatrix":
        """Lay out columns that have an entry for each run.

        Parameters
        ----------
        configurations, instances
            The different names, and the place of each run's name among them.
        numbers
            Which run of its configuration on its instance each is, from 0.
        costs, statuses, seeds
            Of each run.
        **fields
            The other parameters of a matrix.
        """
        (rows, i), (columns, j) = configurations, instances
        shape = (len(rows), len(columns), int(numbers.max()) + 1)
        if numbers.min() < 0 or math.prod(shape) > max(MOST_CELLS, MOST_EMPTY * numbers.size):
            raise InputError(
                f"{numbers.size:,} runs would fill little of {shape[0]:,} configurations × "
                f"{shape[1]:,} instances × {shape[2]:,} runs. Check which columns name them, and "
                "number the runs of a configuration on an instance from 0."
            )
        places = np.ravel_multi_index((i, j, numbers), shape)
        taken = np.bincount(places)
        if taken.max() > 1:
            row, column, number = map(int, np.unravel_index(int(taken.argmax()), shape))
            raise InputError(
                f"Run {number} of {rows[row]!r:.60} on {columns[column]!r:.60} is there twice. "
                "Remove one of them, or give them different numbers or seeds (--columns seed= "
                "reads a table without them)."
            )

        cells: dict[str, Any] = {}
        for name, values, missing in (
            ("costs", costs, np.nan),
            ("statuses", statuses, NO_STATUS),
            ("seeds", seeds, NO_SEED),
        ):
            if values is not None:
                cells[name] = np.full(shape, missing, dtype=values.dtype)
                cells[name].flat[places] = values
        return cls(configurations=rows, instances=columns, **cells, **fields)

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
        """Which runs were stopped at a cap below the cutoff, (M, P, R); they cost it or more."""
        if self.statuses is None:
            return np.zeros(self.costs.shape, dtype=np.bool_)
        return np.asarray(self.statuses == Status.CENSORED)

    @property
    def can_fail(self) -> bool:
        """Whether runs can fail: there is a cutoff, or statuses are recorded.

        The metric says so, never the sample.
        """
        recorded = self.statuses is not None and bool((self.statuses != NO_STATUS).any())
        return self.cutoff is not None or recorded

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
        worst = self.high if math.isfinite(self.high) else np.nanmax(self.costs)
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
        if not math.isnan(self.costs.sum()):
            return np.full(self.shape[:2], self.shape[2])
        return np.asarray(np.count_nonzero(~np.isnan(self.costs), axis=2))

    def select(
        self,
        configurations: str | Iterable[str] | None = None,
        instances: str | Iterable[str] | None = None,
        runs: BoolArray | slice | None = None,
    ) -> "CostMatrix":
        """The part with these configurations and instances, in the order asked for, and these runs
        of each; None keeps them all.
        """
        rows = _places(self.configurations, configurations, "configuration")
        columns = _places(self.instances, instances, "instance")
        parts = {}
        for name in ("costs", "statuses", "seeds"):
            if (values := getattr(self, name)) is not None:
                values = values if configurations is None else values[rows]
                values = values if instances is None else values[:, columns]
                parts[name] = values if runs is None else values[:, :, runs]
        return self.replace(
            **parts,
            configurations=[self.configurations[row] for row in rows],
            instances=[self.instances[column] for column in columns],
            families=self.families and [self.families[column] for column in columns],
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
        size = " x ".join(map(counted, self.shape, ("configuration", "instance", "run")))
        known = "unknown range of costs"
        if math.isfinite(self.width):
            known = f"costs in [{self.low:g}, {self.high:g}]"
        return f"CostMatrix({size}, {known})"

    def columns(self) -> dict[str, list[Any]]:
        """The runs as columns, missing runs left out: configuration, instance, run, cost and, where
        known, seed, status and family. Unknown statuses and seeds are "".
        """
        where = np.nonzero(~np.isnan(self.costs))
        rows, places, numbers = (indices.tolist() for indices in where)
        columns: dict[str, list[Any]] = {
            "configuration": [self.configurations[row] for row in rows],
            "instance": [self.instances[place] for place in places],
            "run": numbers,
        }
        if self.seeds is not None:
            columns["seed"] = [
                "" if seed == NO_SEED else seed for seed in self.seeds[where].tolist()
            ]
        columns["cost"] = self.costs[where].tolist()
        if self.statuses is not None:
            labels = {NO_STATUS: "", **{status.value: status.label for status in Status}}
            columns["status"] = [labels[status] for status in self.statuses[where].tolist()]
        if self.families is not None:
            columns["family"] = [self.families[place] for place in places]
        return columns

    def to_frame(self) -> "pd.DataFrame":
        """Return the runs as a long table: configuration, instance, run, cost and, where known,
        seed, status and family.
        """
        import pandas as pd

        return pd.DataFrame(self.columns())


def _places(names: Sequence[str], wanted: str | Iterable[str] | None, what: str) -> list[int]:
    """Where the wanted names stand; everything for None."""
    if wanted is None:
        return list(range(len(names)))
    wanted = [wanted] if isinstance(wanted, str) else list(wanted)
    if not wanted:
        raise InputError(f"No {what} is selected. Name at least one.")
    places = {name: place for place, name in enumerate(names)}
    if unknown := [name for name in wanted if name not in places]:
        hint = (
            did_you_mean(str(unknown[0]), names) or f" The first of {len(names)} is {names[0]!r}."
        )
        raise InputError(f"There is no {what} {unknown[0]!r}.{hint}")
    return [places[name] for name in wanted]


def _is_failure(statuses: NDArray[np.int8]) -> BoolArray:
    """Whether runs are known to have failed."""
    return ~np.isin(statuses, (NO_STATUS, Status.SOLVED, Status.CENSORED))


def _read_only(array: NDArray[Scalar]) -> NDArray[Scalar]:
    # The caller keeps an array that can be written to; this view of it cannot.
    view = array.view()
    view.flags.writeable = False
    return view


def _first(mask: BoolArray) -> tuple[int, ...]:
    return tuple(int(place) for place in np.argwhere(mask)[0])


def _same(mine: Any, theirs: Any) -> bool:
    if isinstance(mine, np.ndarray) and isinstance(theirs, np.ndarray):
        return np.array_equal(mine, theirs, equal_nan=mine.dtype.kind == "f")
    return bool(mine is theirs or (type(mine) is type(theirs) and mine == theirs))
