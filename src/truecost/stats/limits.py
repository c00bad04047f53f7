"""What statements beyond the mean have in common: what is known of a run, the limit itself, and
what it rests on.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Self, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from truecost.errors import InputError
from truecost.stats import confidence
from truecost.stats.sample import checked_number

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
Side = Literal["lower", "upper"]

INDEPENDENT = "instances are independent draws from one distribution"
SEEDS, _, COUNTS, FIXED = confidence.ASSUMPTIONS[1:]
ASKED = "what is asked, and of which side, was fixed before any of these costs was seen"
BASE = (INDEPENDENT, SEEDS, COUNTS, FIXED, ASKED)
# Hoeffding (1963), binomial limits and order statistics never fall when a run rises.
ANY_CAPS = "a run that was stopped early would have cost at least what it had; what decided when does not matter"
CENSORED = "where a run was stopped early, when was fixed beforehand, or by instances that come earlier in an order kept as it is"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Limit:
    """With probability at least 1 − delta the true value is at least (`side` "lower") or at most
    `value`.

    Attributes
    ----------
    what
        The statement: "solved share", "quantile", "wins", "speed-up", "ratio of means", "utility".
    value
        The limit. Where nothing can be said it is the end of what is possible: 0 or 1, −inf or inf.
    observed
        The same quantity of the runs, with the ends of censored runs that the limit rests on: on
        the safe side.
    side, delta
        As asked for.
    instances, runs
        How many entered; of two configurations the runs of both.
    method
        Which was decided by the numbers of runs alone.
    rests_on
        The assumptions.
    """

    what: str
    value: float
    observed: float
    side: Side
    instances: int
    runs: int
    delta: float
    method: str
    rests_on: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LimitSequence:
    """With probability at least 1 − delta all of these limits hold: one may look after every
    instance, and stop.

    Attributes
    ----------
    value, observed, instances
        As in `Limit`, after 1, 2, … n instances in the order of time. A limit never becomes weaker.
    """

    what: str
    value: FloatArray
    observed: FloatArray
    side: Side
    instances: IntArray
    runs: int
    delta: float
    method: str
    rests_on: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Ends:
    """What is known of runs: each is at least `lower` and at most `upper`, arrays (n, R), NaN in
    both where there is no run.

    A run that was stopped before its end is known from below only. Limits use the end that is safe
    for them.
    """

    lower: FloatArray
    upper: FloatArray

    @classmethod
    def of(
        cls,
        values: "ArrayLike | Ends",
        *,
        cutoff: float = math.inf,
        capped: ArrayLike | None = None,
    ) -> Self:
        """Runs (n,) or (n, R), NaN where there is none.

        Those that reach the cutoff, and those marked in `capped`, were stopped: they are known to
        be at least the cutoff, or what they have, and at most infinity.
        """
        if isinstance(values, cls):
            return values
        try:
            read = np.asarray(values, dtype=np.float64)
        except (TypeError, ValueError):
            raise InputError(
                "Expected runs as numbers, (n,) or (n, R), NaN where there is none."
            ) from None
        if read.ndim not in (1, 2):
            raise InputError(f"Expected runs as (n,) or (n, R), got {read.ndim} dimensions.")
        read = read.reshape(len(read), -1)
        stopped = read >= cutoff
        if capped is not None:
            mask = np.asarray(capped, dtype=bool)
            if mask.size != read.size:
                raise InputError(
                    f"Expected capped to be shaped as the runs, got {mask.shape} and {read.shape}."
                )
            stopped |= mask.reshape(read.shape) & ~np.isnan(read)
        lower = np.minimum(read, cutoff)
        return cls(lower=lower, upper=np.where(stopped, np.inf, read) if stopped.any() else lower)

    @property
    def censored(self) -> bool:
        """Whether any run is not known exactly."""
        return self.lower is not self.upper and bool((self.lower < self.upper).any())

    @property
    def counts(self) -> IntArray:
        """Runs of each instance."""
        return np.asarray((~np.isnan(self.lower)).sum(axis=1))

    def map(self, function: Callable[[FloatArray], FloatArray]) -> "Ends":
        """The ends of a function of the runs that rises, or falls."""
        one = function(self.lower)
        if self.upper is self.lower:
            return Ends(lower=one, upper=one)
        other = function(self.upper)
        return Ends(lower=np.minimum(one, other), upper=np.maximum(one, other))

    def pick(self, side: Side) -> FloatArray:
        """The end that a limit of this side, of something that rises with the runs, may rest on."""
        return self.lower if side == "lower" else self.upper

    def __getitem__(self, instances: NDArray[np.bool_] | IntArray) -> "Ends":
        lower = self.lower[instances]
        return Ends(lower=lower, upper=lower if self.upper is self.lower else self.upper[instances])

    def only(self, instances: NDArray[np.bool_]) -> "Ends":
        """Those of some instances, as arrays that lie in one piece."""
        whole = instances.all() and self.lower.flags.c_contiguous and self.upper.flags.c_contiguous
        return self if whole else self[instances]

    def __post_init__(self) -> None:
        if self.lower.shape != self.upper.shape or self.lower.ndim != 2:
            raise InputError(
                f"Expected both ends as (n, R), got {self.lower.shape} and {self.upper.shape}."
            )
        if self.lower is self.upper:
            return
        if not ((np.isnan(self.lower) & np.isnan(self.upper)) | (self.lower <= self.upper)).all():
            raise InputError(
                "Expected every lower end to be at most the upper one, and both NaN where there is no run."
            )


def read(values: ArrayLike | Ends) -> Ends:
    """The instances that have runs; at least one."""
    ends = Ends.of(values)
    ends = ends.only(ends.counts > 0)
    if not len(ends.lower):
        raise InputError("Expected at least one run, got none.")
    return ends


def read_pair(first: ArrayLike | Ends, second: ArrayLike | Ends) -> tuple[Ends, Ends]:
    """The instances on which both have runs; at least one."""
    one, two = Ends.of(first), Ends.of(second)
    if len(one.lower) != len(two.lower):
        raise InputError(
            f"Expected both on the same instances, got {len(one.lower)} and {len(two.lower)}."
        )
    both = (one.counts > 0) & (two.counts > 0)
    if not both.any():
        raise InputError("Expected at least one instance on which both have runs, got none.")
    return one.only(both), two.only(both)


def runs_of(*ends: Ends) -> int:
    """How many runs there are of all of them."""
    return sum(int(np.count_nonzero(~np.isnan(each.lower))) for each in ends)


def target(delta: float, configurations: int, side: Side) -> float:
    """1 over the part of delta that one limit has."""
    if not 0 < delta < 1:
        raise InputError(f"Expected delta between 0 and 1, got {delta}.")
    if side not in get_args(Side):
        raise InputError(f"Expected side to be one of {', '.join(get_args(Side))}, got {side!r}.")
    number = checked_number(configurations)
    if delta / number < 1e-290:
        raise InputError(
            f"Expected delta over the number of limits to be 1e-290 at least, got {delta} over {number}."
        )
    return number / delta


def row_means(values: FloatArray) -> FloatArray:
    """The mean of each row, NaN passed over; every row has a number."""
    there = ~np.isnan(values)
    with np.errstate(invalid="ignore"):
        return np.asarray(np.where(there, values, 0).sum(axis=1) / there.sum(axis=1))


def hoeffding(instances: int, target: float) -> float:
    """How far the mean of independent numbers in [0, 1] may fall short (Hoeffding 1963, Theorem 2)."""
    return math.sqrt(math.log(target) / (2 * instances))


def caps_rest_on(ends: Ends, monotone: bool) -> tuple[str, ...]:
    """What limits of runs rest on of which some were stopped early; nothing where none was."""
    return () if not ends.censored else (ANY_CAPS,) if monotone else (CENSORED,)


def order_of(shuffle: bool, seeded: bool) -> str:
    """What the order of the instances rests on."""
    return (
        confidence.UNSHUFFLED
        if not shuffle
        else confidence.SHUFFLED
        if seeded
        else confidence.DRAWN
    )
