"""Winner and default on the instances of both: as statements, the verdict and figures need them."""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from truecost.arrays import BoolArray, FloatArray
from truecost.judge.costs import known_means, units_of
from truecost.judge.evidence import common_runs, count_units
from truecost.matrix import CostMatrix
from truecost.matrix.log import Sampled
from truecost.stats.quantities import Runs, Scale


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Pair:
    """Winner (`ours`) and default (`theirs`) on the units that both have."""

    runs: CostMatrix  # of the two, the winner first
    ours: Runs
    theirs: Runs
    scale: Scale
    sampled: Sampled

    @property
    def families(self) -> tuple[str, ...] | None:
        """The family of each instance, where families are the units."""
        return self.runs.families if self.sampled == "family" else None

    @property
    def bounded(self) -> bool:
        """Whether the range of costs is known."""
        return math.isfinite(self.runs.width)

    def unit_costs(self) -> FloatArray:
        """The mean cost of each unit, of winner and default."""
        return units_of(known_means(np.stack([self.ours.costs, self.theirs.costs])), self.families)


def pair_of(runs: CostMatrix, winner: str, default: str, sampled: Sampled) -> Pair | None:
    """The runs of both on the instances that both have; None without any."""
    names = [winner, default]
    if not set(names) <= set(runs.configurations):
        return None
    if (common := common_runs(runs, names, sampled)) is None:
        return None
    return Pair(
        runs=common.select(configurations=names),
        ours=runs_of(common, winner, sampled),
        theirs=runs_of(common, default, sampled),
        scale=scale_of(common),
        sampled=sampled,
    )


def runs_of(runs: CostMatrix, name: str, sampled: Sampled) -> Runs:
    """The runs of one configuration: a row for each instance, or for each run of a single one."""
    place = runs.configurations.index(name)
    parts = {"costs": runs.charged, "failed": runs.failed, "seeds": runs.seeds}
    rows = {name: part[place] for name, part in parts.items() if part is not None}
    return Runs(**{name: row.T if sampled == "seed" else row for name, row in rows.items()})


def scale_of(runs: CostMatrix) -> Scale:
    """The range of costs."""
    return Scale(low=runs.low, high=runs.high, cutoff=runs.cutoff, par=runs.par)


# ---- the block of the verdict --------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class SameInstances:
    """Winner and default on the same instances: the block that every verdict starts with.

    Attributes
    ----------
    winner_cost, default_cost
        Mean costs, each unit weighed equally; `difference` is winner − default, and `change` its
        share of the default's cost: −0.15 for 15 % less, None where a per cent means nothing.
    won, tied, lost
        How many pairs of runs the winner won, tied and lost.
    winner_solved, default_solved
        In how many of these pairs each was solved; None where runs cannot fail.
    """

    source: Literal["test", "training"]
    runs: CostMatrix  # of the two, the winner first
    unit: Sampled
    units: int
    instances: int
    winner_cost: float
    default_cost: float
    difference: float
    change: float | None
    won: int
    tied: int
    lost: int
    winner_solved: int | None = None
    default_solved: int | None = None

    @property
    def pairs(self) -> int:
        """How many pairs of runs there are."""
        return self.won + self.tied + self.lost


def same_instances(pair: Pair, source: Literal["test", "training"]) -> SameInstances:
    """Winner and default on the same instances, run by run."""
    costs = pair.unit_costs()
    cost, rival = costs.mean(axis=1).tolist()
    sides, paired = (pair.ours, pair.theirs), pair.ours.present & pair.theirs.present
    # A failed run loses, whatever it cost.
    mine, theirs = (np.where(side.failed, np.inf, side.costs)[paired] for side in sides)
    # Where the range is unknown, the costs seen may settle that per cent mean nothing.
    negative = -math.inf < pair.scale.low < 0 or bool(np.nanmin(pair.runs.costs) < 0)
    solved: list[int | None] = [None, None]
    if pair.runs.can_fail:
        solved = [int((paired & ~side.failed).sum()) for side in sides]
    return SameInstances(
        source=source,
        runs=pair.runs,
        unit=pair.sampled,
        units=count_units(pair.runs, pair.sampled),
        instances=len(pair.runs.instances),
        winner_cost=cost,
        default_cost=rival,
        difference=float(np.subtract(*costs).mean()),
        change=None if negative else relative_change(cost, rival),
        won=int((mine < theirs).sum()),
        tied=int((mine == theirs).sum()),
        lost=int((mine > theirs).sum()),
        winner_solved=solved[0],
        default_solved=solved[1],
    )


def relative_change(new: float, old: float) -> float | None:
    """(new − old) / old where a per cent means something: both positive and not near 0."""
    if not (new >= 0 and old > 0 and math.isfinite(new) and math.isfinite(old)):
        return None
    change = (new - old) / old
    return change if change <= 10 else None


# ---- figures -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class InstanceCosts:
    """Winner and default on the instances of both.

    Attributes
    ----------
    winner, default
        Mean costs of an instance's runs.
    parts
        What each instance adds to the difference of means; families count equally where these are
        the units.
    winner_runs, default_runs
        Costs of all runs, and whether each was solved.
    """

    instances: tuple[str, ...]
    winner: FloatArray
    default: FloatArray
    parts: FloatArray
    winner_runs: tuple[FloatArray, BoolArray]
    default_runs: tuple[FloatArray, BoolArray]

    @property
    def half(self) -> int:
        """How few instances make up half of the differences; 0 where there are none."""
        parts = np.sort(np.abs(self.parts))[::-1]
        return int(np.searchsorted(np.cumsum(parts), 0.5 * parts.sum())) + 1 if parts.any() else 0


def instance_costs(same: SameInstances) -> InstanceCosts:
    """The costs behind a comparison on the same instances."""
    runs = same.runs
    costs, failed, present = runs.charged, runs.failed, ~np.isnan(runs.charged)
    winner, default = known_means(costs)
    weights = np.full(len(winner), 1 / len(winner))
    if same.unit == "family":
        _, family, sizes = np.unique(runs.families or (), return_inverse=True, return_counts=True)
        weights = 1 / (sizes[family] * len(sizes))
    return InstanceCosts(
        instances=runs.instances,
        winner=winner,
        default=default,
        parts=(winner - default) * weights,
        winner_runs=(costs[0][present[0]], ~failed[0][present[0]]),
        default_runs=(costs[1][present[1]], ~failed[1][present[1]]),
    )
