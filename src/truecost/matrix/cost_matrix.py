"""CostMatrix: configurations x instances x runs, missing runs allowed; npz, parquet or csv."""

import io
import math
import os
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NoReturn, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from truecost.arrays import BoolArray, FloatArray, IntArray
from truecost.errors import InputError
from truecost.matrix import npz, provenance
from truecost.matrix.entries import (
    as_costs,
    at,
    checked_names,
    inside,
    integers,
    positions,
    seeds_of_runs,
)
from truecost.matrix.files import kind_of, whole_file
from truecost.runs import NO_STATUS, Status, Trajectory

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

Scalar = TypeVar("Scalar", bound=np.generic)
Number = TypeVar("Number", bound=np.integer[Any])
# Annotations of a function within a function are made anew with every call.
MaybeArray = NDArray[Any] | None
FIELDS = (
    "configurations", "costs", "cutoff", "families", "high", "instances", "low", "seeds",
    "statuses", "utility",
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
        (M, P, R), or (M, P) for one run each, NaN where a run is not there. Nested lists may differ
        in the number of runs of a cell. An array of float64 is not copied. A run with the status
        censored has its cap here, the least it can cost.
    configurations, instances
        Their names, each different.
    low, high
        The least and the largest cost a run can have; PAR10 with a cutoff of 5 s has 0 and 50. A
        property of the metric, not of the costs seen: limits of means rest on it. Infinite where it
        is not known.
    statuses
        `Status` numbers shaped like `costs`, -1 where nothing is known.
    seeds
        Whole numbers shaped like `costs`; what stands where a run is missing is ignored.
    cutoff
        Where costs are running times, or their penalty: after how long every run was stopped. None
        where it is not known.
    utility
        Where costs are 1 − utility of running times: which, `"half-life=60"` for instance
        (`truecost.Utility`).
    families
        The family of each instance, where instances come in families: statements about new families
        count each of them once. None where nothing says.

    Examples
    --------
    >>> tc.CostMatrix([[[1.0, 2.0]], [[3.0, 4.0]]], ["a", "b"], ["i"], 0, 10)
    CostMatrix(2 configurations x 1 instances x 2 runs, costs in [0, 10])
    """

    __slots__ = (*FIELDS, "_origin", "members")

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
        utility: str | None = None,
        families: Iterable[str] | None = None,
    ) -> None:
        self.configurations: Final = checked_names(configurations, "configuration")
        self.instances: Final = checked_names(instances, "instance")
        self.low: Final = float(low)
        self.high: Final = float(high)
        self.costs: Final = _read_only(inside(as_costs(costs), self.low, self.high))
        codes = None if statuses is None else integers(statuses, np.int8, NO_STATUS, "statuses")
        self.statuses: Final = None if codes is None else _read_only(codes)
        self.seeds: Final = None if seeds is None else _read_only(seeds_of_runs(seeds, self.costs))
        self.cutoff: Final = None if cutoff is None else float(cutoff)
        self.utility: Final = utility
        self.families: Final = None if families is None else _checked_families(families)
        self._origin: str | None = None
        # How many instances a cell holds, each with as many places: more than one where families
        # are cells.
        self.members = 1
        self._check()

    def _check(self) -> None:
        # The width of two finite ends can be too large for a float.
        ends = (self.low, self.high)
        if not self.low < self.high or (np.isinf(self.width) and np.isfinite(ends).all()):
            raise InputError(
                "Expected a cost range with low < high, got low {:g} and high {:g}.".format(*ends)
            )
        if self.cutoff is not None and not 0 < self.cutoff < math.inf:
            raise InputError(f"Expected a cutoff above 0, got {self.cutoff:g}.")
        shape = self.costs.shape
        for size, what in zip(shape, ("configuration", "instance"), strict=False):
            if size != (named := len(getattr(self, f"{what}s"))):
                raise InputError(
                    f"Expected one {what} name for each of {size} in the costs, got {named}."
                )
        if self.families is not None and len(self.families) != shape[1]:
            raise InputError(
                f"Expected a family for each of {shape[1]} instances, got {len(self.families)}."
            )
        # fmin and fmax pass over NaN and make no copy, which keeps large matrices within their
        # memory.
        least, most = np.fmin.reduce(self.costs, axis=None), np.fmax.reduce(self.costs, axis=None)
        if not (max(self.low, -LARGEST) <= least and most <= min(self.high, LARGEST)):
            self._refuse_cost()
        if 0 < (largest := max(-least, most)) < SMALLEST:
            raise InputError(
                f"Expected costs that can be squared, got at most {largest:g}, whose square is 0: "
                "give them in a smaller unit."
            )
        for values, name in [(self.statuses, "statuses"), (self.seeds, "seeds")]:
            if values is not None and values.shape != shape:
                raise InputError(
                    f"Expected {name} of the shape of the costs, {shape}, got {values.shape}."
                )
        if self.statuses is not None:
            known = (self.statuses >= NO_STATUS) & (self.statuses < len(Status))
            if not known.all():
                where = _first(~known)
                raise InputError(
                    f"Expected a status from {NO_STATUS} to {len(Status) - 1}, "
                    f"got {self.statuses[where]} for {self._entry(where)}."
                )
            uncharged = (self.statuses != NO_STATUS) & np.isnan(self.costs)
            if uncharged.any():
                where = _first(uncharged)
                status = Status(int(self.statuses[where])).label
                raise InputError(
                    f"Expected a cost for {self._entry(where)}, which has the status {status}: "
                    "charge a failed run its penalty, do not drop it."
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
                    f"Expected costs in [low, high], got {costs[where]:g}, {what}, for "
                    f"{self._entry(where)}."
                )
        raise InputError("Expected at least one run, got a matrix in which every cost is missing.")

    def _entry(self, where: tuple[int, ...]) -> str:
        configuration, instance, run = where
        names = self.configurations[configuration], self.instances[instance]
        return f"configuration {names[0]!r} on instance {names[1]!r}, run {run}"

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
    def has_statuses(self) -> bool:
        """Whether it is known of any run how it ended."""
        return self.statuses is not None and bool((self.statuses != NO_STATUS).any())

    @property
    def tells_solved(self) -> bool:
        """Whether statuses or a cutoff tell which runs were solved; the highest cost of a score or
        a quality does not.
        """
        return self.has_statuses or self.cutoff is not None

    @property
    def failed(self) -> BoolArray:
        """Which runs were not solved, (M, P, R): by their status; where none is known, those of the
        highest possible cost. Censored runs have not failed.
        """
        if self.statuses is None or not self.has_statuses:
            return np.asarray(self.costs >= self.high)
        return ~np.isin(self.statuses, (NO_STATUS, Status.SOLVED, Status.CENSORED))

    @property
    def most(self) -> FloatArray:
        """The most each run can cost, (M, P, R): its cost, or `high` where it is censored."""
        censored = self.censored
        return np.where(censored, self.high, self.costs) if censored.any() else self.costs

    @property
    def charged(self) -> FloatArray:
        """What estimates charge each run, (M, P, R): `most`, or where no range is known the largest
        cost seen.
        """
        # `most` is the costs themselves where nothing is censored.
        most = self.most
        known = most is self.costs or np.isfinite(self.high)
        return most if known else np.where(np.isinf(most), np.nanmax(self.costs), most)

    def exact_costs(self) -> FloatArray:
        """The costs, for what cannot do with runs whose cost is not known; censored runs are
        refused.
        """
        if censored := int(self.censored.sum()):
            raise InputError(
                f"Expected runs whose cost is known, got {censored:,} that were stopped at a cap "
                "(censored)."
            )
        return self.costs

    def counts(self) -> IntArray:
        """How many runs each configuration has on each instance, (M, P)."""
        # One pass without a copy tells whether anything is missing.
        if not np.isnan(self.costs.sum()):
            return np.full(self.costs.shape[:2], self.costs.shape[2])
        counted = np.zeros(self.costs.shape[:2], dtype=np.int64)
        for run in range(self.costs.shape[2]):
            counted += ~np.isnan(self.costs[:, :, run])
        return counted

    def select(
        self,
        configurations: str | Iterable[str] | None = None,
        instances: str | Iterable[str] | None = None,
    ) -> "CostMatrix":
        """The part with these configurations and instances, in the order asked for; None keeps them
        all.
        """
        rows = positions(self.configurations, configurations, "configuration")
        columns = positions(self.instances, instances, "instance")

        def part(values: MaybeArray) -> MaybeArray:
            return None if values is None else values[rows][:, columns]

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
        matrix = CostMatrix(**self._fields() | changes)
        if matrix.shape[2] == self.shape[2]:
            matrix.members = self.members
        return matrix

    @property
    def trajectory(self) -> Trajectory | None:
        """Where the configurations come from, as the file says that the matrix was loaded from;
        None for any other matrix, also for a part of this one.
        """
        return None if self._origin is None else provenance.from_json(self._origin)

    def _fields(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in FIELDS}

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, CostMatrix):
            return NotImplemented
        return all(_same(getattr(self, name), getattr(other, name)) for name in FIELDS)

    # Equal by content, which is too much to hash.
    __hash__ = None  # type: ignore[assignment]

    def _repr_html_(self) -> str:
        return str(import_module("truecost.show.report").runs_fragment(self))

    def __repr__(self) -> str:
        configurations, instances, runs = self.shape
        size = f"{configurations} configurations x {instances} instances x {runs} runs"
        known = "range of costs not known"
        if np.isfinite(self.width):
            known = f"costs in [{self.low:g}, {self.high:g}]"
        worth = "" if self.utility is None else f", 1 − utility ({self.utility})"
        return f"CostMatrix({size}, {known}{worth})"

    @classmethod
    def load(
        cls, path: str | os.PathLike[str], *, low: float | None = None, high: float | None = None
    ) -> "CostMatrix":
        """Read a matrix from an npz file, or from a parquet or csv long table; the content tells
        which.

        Parameters
        ----------
        path
            The file. `truecost.matrix.longtable` says which columns a long table has.
        low, high
            The cost range, where the file does not say it or says it wrongly.
        """
        try:
            # Opened once: the content that tells the kind is the content that is read, and no name
            # is taken for a pattern.
            with Path(path).open("rb") as file:
                kind = kind_of(file)
                if kind == "npz":
                    matrix = cls(**npz.unpack(npz.read(file), low, high))
                else:
                    from truecost.matrix import longtable

                    matrix = cls.from_table(longtable.read(file, kind), low=low, high=high)
            # From another handle: polars moves this one behind Python's back.
            with Path(path).open("rb") as file:
                matrix._origin = provenance.text_in(file)
            return matrix
        except InputError as error:
            raise InputError(f"{path}: {error}") from error
        except MemoryError:
            raise InputError(
                f"{path}: expected a matrix that fits into memory, and it does not."
            ) from None

    def save(self, path: str | os.PathLike[str], *, trajectory: Trajectory | None = None) -> None:
        """Write the matrix as .npz, .parquet or .csv, by the ending; what was there stays until the
        new file is whole.

        Parameters
        ----------
        path
            The file.
        trajectory
            Where the configurations come from, kept in the same file;
            `truecost.matrix.provenance.read` has it back. Not for .csv.
        """
        path = Path(path)
        if path.suffix not in (".npz", ".parquet", ".csv"):
            raise InputError(f"{path}: expected a name that ends in .npz, .parquet or .csv.")
        if trajectory is not None and path.suffix == ".csv":
            raise InputError(
                f"{path}: expected .parquet or .npz, since a csv table has no place for the "
                "trajectory."
            )
        with whole_file(path) as file:
            if path.suffix == ".npz":
                arrays = npz.pack(self._fields())
                if trajectory is not None:
                    arrays[provenance.KEY] = provenance.as_array(trajectory)
                np.savez_compressed(file, allow_pickle=False, **arrays)
                return
            content = io.BytesIO()
            if path.suffix == ".parquet":
                text = None if trajectory is None else provenance.to_json(trajectory)
                metadata = None if text is None else {provenance.KEY: text}
                self.to_table().write_parquet(content, metadata=metadata)
            else:
                self.to_table().write_csv(content)
            file.write(content.getbuffer())

    def to_table(self) -> "pl.DataFrame":
        """The runs as a polars long table; `from_table` gives the same matrix back."""
        from truecost.matrix import longtable

        return longtable.from_arrays(**self._fields())

    def to_pandas(self) -> "pd.DataFrame":
        """The runs as a long table of pandas, which `import_runs` reads; pandas has to be
        installed.
        """
        try:
            import pandas as pd
        except ModuleNotFoundError:
            raise InputError(
                "expected pandas for a frame of it, and it is not installed; `to_table` needs none."
            ) from None

        columns = {}
        for column in self.to_table():
            # With gaps, pandas would make whole numbers floats.
            gaps = column.dtype.is_integer() and column.null_count()
            columns[column.name] = pd.array(column.to_list(), dtype="Int64" if gaps else None)
        return pd.DataFrame(columns)

    @classmethod
    def from_table(
        cls, table: "pl.DataFrame", *, low: float | None = None, high: float | None = None
    ) -> "CostMatrix":
        """A matrix from a polars long table, with the columns of `truecost.matrix.longtable`."""
        from truecost.matrix import longtable

        return cls(**longtable.to_arrays(table, low, high))


def _checked_families(families: Iterable[str]) -> tuple[str, ...]:
    if isinstance(families, str):
        raise InputError(f"Expected a family for each instance, got the text {families!r:.40}.")
    labels = tuple(families)
    if set(map(type, labels)) == {str} and "" not in labels:
        return labels
    for label in labels:
        if not isinstance(label, str) or not label:
            raise InputError(f"Expected the name of a family, got {label!r:.40}.")
    return tuple(str(label) for label in labels)


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
