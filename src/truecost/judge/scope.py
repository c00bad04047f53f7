"""What a statement is about: what was sampled, and for which instances the statement holds.

| sampled | about | the statement holds | method |
| --- | --- | --- | --- |
| instance | new | on new instances like these (default) | as in `truecost.stats.inversion` |
| family | new | on new families, each counted equally | the same, on family means |
| family | these | on these families in a given mix, or all within ranges | STaR-Bets over labels |
| instance | these | on this benchmark of N instances, with new seeds | constant bets |
| seed | these | on these instances, with new seeds | constant bets; one: as for instances |
| seed, weights | these | on these weighted instances, with new seeds | constant bets |
| instance, weights | new | on new instances, with the given sampling weights | constant bets |
| fold | – | nothing is guaranteed | corrected resampled t, approximate |

Anything else is refused. Weights of instances are those of a benchmark, unless statements are asked
to be about new instances: then an instance was drawn with a probability that differs from that of
the distribution in question, and its weight is the ratio of the two, whose mean is 1.

The unit is fixed before looking, by the user or by what the log says: one instance with several
runs has seeds for units, and instances that are called folds are folds.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Final, Literal

import numpy as np

from truecost.arrays import FloatArray
from truecost.errors import InputError
from truecost.matrix import CostMatrix
from truecost.matrix.cost_matrix import MaybeArray
from truecost.matrix.families import Weight, instance_weights
from truecost.matrix.pairing import unknown_to
from truecost.runs import NO_STATUS, Status
from truecost.stats.assumptions import SAMPLED
from truecost.stats.grouping import codes_of
from truecost.stats.sample import Design

Sampled = Literal["instance", "family", "seed", "fold"]
About = Literal["new", "these"]

# What is meant where only one of the two is said.
USUAL: Final[dict[str, About]] = {
    "instance": "new",
    "family": "new",
    "seed": "these",
    "fold": "these",
}
ALLOWED: Final = (*USUAL.items(), ("family", "these"), ("instance", "these"))
# Of a benchmark, and of how instances were sampled.
WEIGHTED: Final = (("seed", "these"), ("instance", "new"))
# By how many standard errors the mean of sampling weights may differ from 1.
FAR: Final = 5
# How cross-validation folds are called.
FOLD: Final = re.compile(r"(?:^|[/_\-. ])(?:cv|folds?|splits?|repeats?)[-_ ]?\d+$", re.IGNORECASE)
# Of a mix, how many families a sentence names.
NAMED: Final = 4
ROUNDING: Final = 1e-6
# Every corner of the ranges of a mix takes a limit of its own.
MOST_RANGES: Final = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """What was sampled, and what statements are about.

    Attributes
    ----------
    sampled, about
        What was sampled independently, and whether statements are about new ones.
    units
        How many sampling units there are.
    population
        How many instances a benchmark has.
    mix
        The weight of each family, in order; empty without a mix.
    ranges
        Least and largest weight of each, where statements hold for every mix within them.
    weights
        The weight of each instance, in pairs; empty without weights.
    declared
        Whether it was given as an option.
    """

    sampled: Sampled = "instance"
    about: About = "new"
    units: int = 0
    population: int | None = None
    mix: tuple[tuple[str, float], ...] = ()
    ranges: tuple[tuple[float, float], ...] = ()
    weights: tuple[tuple[str, float], ...] = ()
    declared: bool = False

    @property
    def usual(self) -> bool:
        """Whether it is about new instances like these."""
        return (self.sampled, self.about) == ("instance", "new") and not self.weights

    @property
    def reweighted(self) -> bool:
        """Whether statements weigh instances otherwise than plain means do."""
        return bool(self.mix or self.weights)

    @property
    def phrase(self) -> str:
        """Where statements hold, in one phrase."""
        if self.sampled == "family" and self.about == "new":
            return "on instances from new families, each family counted equally"
        if self.sampled == "family":
            if len(self.mix) > NAMED:
                mix = "every mix within the ranges" if self.ranges else "the given mix"
                return f"on these {len(self.mix)} families, in {mix}"
            if self.ranges:
                parts = [
                    f"{100 * low:.3g} to {100 * high:.3g} % {name}"
                    for (name, _), (low, high) in zip(self.mix, self.ranges, strict=True)
                ]
                return f"on these families, in every mix of {_listed(parts)}"
            shares = [f"{100 * weight:.3g} % are {name}" for name, weight in self.mix]
            return f"on these families, if {_listed(shares)}"
        if self.sampled == "seed":
            these = f"these {self.population} {'weighted ' if self.weights else ''}instances"
            return f"on {'this instance' if self.population == 1 else these}, with new seeds"
        if self.sampled == "fold":
            return "on this data set"
        if self.about == "these":
            return f"on this benchmark of {self.population:,} instances, with new seeds"
        if self.weights:
            return "on new instances, with the given sampling weights"
        return "on new instances like these"

    @property
    def fresh(self) -> str:
        """On what an estimate holds, in two or three words."""
        if self.sampled == "fold":
            return "on new folds of this data set"
        if self.about == "these" and self.sampled != "family":
            return "with new seeds"
        if self.about == "these":
            return "on new instances of these families"
        return f"on new {self.plural}"

    @property
    def unit(self) -> str:
        """What a sampling unit is called; a mix of given families is sampled by instances."""
        return "instance" if self.kind == "mix" else self.sampled

    @property
    def kind(self) -> Literal["independent", "weighted", "mix", "fixed"]:
        """The design of a sample of such units, as `truecost.stats.sample` has it."""
        if self.about == "new":
            return "weighted" if self.weights else "independent"
        if self.sampled == "family":
            return "mix"
        return "independent" if self.sampled == "seed" and self.population == 1 else "fixed"

    @property
    def plural(self) -> str:
        """What sampling units are called."""
        return "families" if self.unit == "family" else f"{self.unit}s"

    @property
    def corners(self) -> tuple[tuple[float, ...], ...]:
        """The mixes that all others within the ranges lie between; without ranges, the mix.

        All weights but one are at an end of their range there.
        """
        if not self.ranges:
            return (tuple(weight for _, weight in self.mix),)
        corners = set()
        for free, (low, high) in enumerate(self.ranges):
            others = [set(ends) for place, ends in enumerate(self.ranges) if place != free]
            for weights in product(*others):
                rest = 1 - sum(weights)
                if low - ROUNDING <= rest <= high + ROUNDING:
                    corner = (*weights[:free], min(max(rest, low), high), *weights[free:])
                    # Rounded: a corner is met once for each weight that may be the free one.
                    corners.add(tuple(round(weight, 12) for weight in corner))
        return tuple(sorted(corners))

    def least_limit(self, delta: float) -> float:
        """The part of the cost range below which no upper limit from this many units can be: a cost
        that occurs with this probability may not have been seen.
        """
        return 1.0 - float(delta ** (1 / max(self.units, 1)))


# What is meant where nobody says anything.
NEW_INSTANCES: Final = Scope()


def scope_of(
    matrix: CostMatrix,
    *,
    sampled: Sampled | None = None,
    about: About | None = None,
    population: int | None = None,
    mix: Mapping[str, Weight] | None = None,
    weights: Mapping[str, float] | None = None,
) -> Scope:
    """What statements about these runs are about, or what is wrong with what was asked for."""
    declared = any(given is not None for given in (sampled, about, population, mix, weights))
    if sampled is None:
        sampled = "family" if mix is not None else _sampled_by(matrix, about)
        if weights is not None:
            sampled = "instance" if about == "new" else "seed"
    if about is None:
        these = mix is not None or population is not None
        about = "these" if these else USUAL.get(sampled, "new")
    if (sampled, about) not in ALLOWED:
        choices = ", ".join(f"{unit} and {target}" for unit, target in ALLOWED)
        raise InputError(
            f"Expected `sampled` and `about` to be one of {choices}; got {sampled} and {about}."
        )
    mixed, benchmark = ((sampled, about) == (unit, "these") for unit in ("family", "instance"))
    if mix is not None and not mixed:
        raise InputError("Expected a `mix` only for statements about these families.")
    if weights is not None and (sampled, about) not in WEIGHTED:
        choices = " or ".join(f"{unit} and {target}" for unit, target in WEIGHTED)
        raise InputError(
            f"Expected `weights` only where `sampled` and `about` are {choices}; got {sampled} and "
            f"{about}."
        )
    if population is not None and not benchmark:
        raise InputError("Expected a `population` only for statements about these instances.")
    if sampled == "family" and matrix.families is None:
        raise InputError("Expected the `families` of the instances, and these runs have none.")
    instances = len(matrix.instances)
    if population is not None and population < instances:
        raise InputError(
            f"Expected a `population` of at least the {instances} instances that have runs, got "
            f"{population}."
        )
    shares, ranges = _mix_of(matrix, mix) if mixed else ((), ())
    units = instances
    if sampled == "seed":
        units = int((~np.isnan(matrix.costs)).any(axis=0).sum())
    elif sampled == "family" and not mixed:
        units = len(set(matrix.families or ()))
    return Scope(
        sampled=sampled,
        about=about,
        units=units,
        population=(population or instances) if benchmark or sampled == "seed" else None,
        mix=shares,
        ranges=ranges,
        weights=tuple((weights or {}).items()),
        declared=declared,
    )


def rows_of(matrix: CostMatrix, scope: Scope, *, scores: bool = False) -> CostMatrix:
    """The runs that samples are made of, one row each: the instances, or where seeds are the units
    the runs, of which `families` then name the instance.

    The worst of `scores` is no failure, unless statuses say how runs ended.
    """
    if scores and not matrix.has_statuses:
        ended = np.where(np.isnan(matrix.costs), NO_STATUS, Status.SOLVED)
        matrix = matrix.replace(statuses=ended.astype(np.int8))
    if scope.sampled != "seed":
        return matrix
    configurations, instances, runs = matrix.shape

    def flat(values: MaybeArray) -> MaybeArray:
        return None if values is None else values.reshape(configurations, instances * runs, 1)

    names = [f"{name} seed {run + 1}" for name in matrix.instances for run in range(runs)]
    owners = [name for name in matrix.instances for _ in range(runs)]
    has_run = (~np.isnan(matrix.costs)).any(axis=0).ravel()
    whole = matrix.replace(
        costs=flat(matrix.costs),
        instances=names,
        families=owners,
        statuses=flat(matrix.statuses),
        seeds=flat(matrix.seeds),
    )
    return whole.select(instances=[name for name, used in zip(names, has_run, strict=True) if used])


def units_of(rows: CostMatrix, scope: Scope) -> CostMatrix:
    """The runs with one column for each sampling unit, what training costs and choices use: all
    runs of a family in one cell, in which its instances count alike.
    """
    if scope.unit != "family" or rows.families is None:
        return rows
    codes, names = codes_of(rows.families), tuple(dict.fromkeys(rows.families))
    configurations, _, runs = rows.shape
    sizes = np.bincount(codes)
    most = int(sizes.max()) * runs
    # Which instance of its family each is.
    order = codes.argsort(kind="stable")
    number = np.empty_like(codes)
    number[order] = np.arange(len(codes)) - (sizes.cumsum() - sizes)[codes[order]]
    owners, places = codes[:, np.newaxis], number[:, np.newaxis] * runs + np.arange(runs)

    def joined(values: MaybeArray, missing: float) -> MaybeArray:
        if values is None:
            return None
        cells = np.full((configurations, len(names), most), missing, dtype=values.dtype)
        cells[:, owners, places] = values
        return cells

    units = rows.replace(
        costs=joined(rows.costs, np.nan),
        instances=names,
        families=None,
        statuses=joined(rows.statuses, -1),
        seeds=None,
    )
    units.members = most // runs
    return units


def sampling_design(rows: CostMatrix, scope: Scope) -> Design:
    """The design of a sample with these rows, whose units come in the order of the rows."""
    if scope.kind == "independent":
        groups = codes_of(rows.families or ()) if scope.sampled == "family" else None
        return Design(unit=scope.sampled, groups=groups)
    if scope.kind == "weighted":
        return Design(kind="weighted", weights=_weights(rows.instances, scope))
    if scope.kind == "mix":
        places = {name: place for place, (name, _) in enumerate(scope.mix)}
        strata = np.array([places[name] for name in rows.families or ()], dtype=np.int64)
        return Design(kind="mix", strata=strata, mix=np.array([w for _, w in scope.mix]))
    if scope.sampled == "seed":
        owners = codes_of(rows.families or ())
        weights = _weights(rows.families or (), scope) / np.bincount(owners)[owners]
        return Design(kind="fixed", unit="seed", weights=weights / weights.sum())
    return Design(kind="fixed", population=scope.population)


def _weights(names: Sequence[str], scope: Scope) -> FloatArray:
    """The weight of each instance, all alike where none are given."""
    return np.array(
        instance_weights(names, dict(scope.weights)) if scope.weights else [1.0] * len(names)
    )


def check_weights(runs: CostMatrix, scope: Scope) -> None:
    """Refuse weights that instances lack, and sampling weights whose mean cannot be 1: those that
    are known up to a factor give no guarantee, since the factor is estimated from the same sample.
    """
    if not scope.weights:
        return
    weights = _weights(runs.instances, scope)
    if scope.about == "these":
        if not weights.any():
            raise InputError("Expected `weights` above 0 for some of the instances, got none.")
        return
    error = float(weights.std()) / math.sqrt(weights.size)
    if abs(weights.mean() - 1) > FAR * error + ROUNDING:
        raise InputError(
            "Expected sampling `weights` to be the probability of an instance in question over "
            "that with which it was sampled, whose mean is 1; these average "
            f"{weights.mean():.4g}. Divide them by their true mean, not by that of this sample."
        )


def sampled_assumptions(scope: Scope) -> tuple[str, ...]:
    """What has to be true of how the units were sampled."""
    return SAMPLED[scope.kind, scope.unit]


def fresh_instances(matrix: CostMatrix, test: CostMatrix, scope: Scope) -> list[str]:
    """The test instances that training says nothing about: those it has not used; where families
    are sampled, those of families it has not used. On these very instances, new seeds are fresh.
    """
    if scope.about == "these" and scope.sampled != "family":
        return list(test.instances)
    new = unknown_to(matrix.instances, test.instances)
    if scope.unit == "family" and test.families is not None:
        known = set(matrix.families or ())
        owner = dict(zip(test.instances, test.families, strict=True))
        new = [instance for instance in new if owner[instance] not in known]
    return new


def _sampled_by(matrix: CostMatrix, about: About | None) -> Sampled:
    """What the runs themselves say was sampled."""
    if len(matrix.instances) == 1 and matrix.shape[2] > 1 and about != "new":
        return "seed"
    names = matrix.instances
    if len(names) > 1 and all(FOLD.search(name) for name in names):
        return "fold"
    return "instance"


def _mix_of(
    matrix: CostMatrix, mix: Mapping[str, Weight] | None
) -> tuple[tuple[tuple[str, float], ...], tuple[tuple[float, float], ...]]:
    """The weight of each family that has runs, as sampled where no mix is given; and the ranges of
    the weights, if they have some.
    """
    labels = matrix.families or ()
    names = list(dict.fromkeys(labels))
    if mix is None:
        return tuple((name, labels.count(name) / len(labels)) for name in names), ()
    ends = {
        name: weight if isinstance(weight, tuple) else (float(weight),) * 2
        for name, weight in mix.items()
    }
    if unknown := [name for name, (_, high) in ends.items() if high > 0 and name not in names]:
        raise InputError(
            f"Expected runs of every family in the `mix`, and {unknown[0]!r} has none."
        )
    ranges = tuple(ends.get(name, (0.0, 0.0)) for name in names)
    least, most = (sum(side) for side in zip(*ranges, strict=True))
    if not all(0 <= low <= high for low, high in ranges) or not (
        least - ROUNDING <= 1 <= most + ROUNDING
    ):
        got = f"{least:.6g}" if least == most else f"{least:.6g} to {most:.6g}"
        if least - ROUNDING <= 1 <= most + ROUNDING:
            got = "one below 0, or a range that ends below its start"
        raise InputError(
            f"Expected the weights of a `mix` to be 0 or more and to sum to 1, got {got}."
        )
    if not any(low < high for low, high in ranges):
        return tuple((name, low / least) for name, (low, _) in zip(names, ranges, strict=True)), ()
    if sum(low < high for low, high in ranges) > MOST_RANGES:
        raise InputError(
            f"Expected at most {MOST_RANGES} ranges in a `mix`: give weights for others."
        )
    # For what needs one mix: the weights at the same part of their ranges.
    part = (1 - least) / (most - least)
    middle = [low + part * (high - low) for low, high in ranges]
    return tuple(zip(names, middle, strict=True)), ranges


def _listed(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
