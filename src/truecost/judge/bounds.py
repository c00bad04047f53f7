"""The paper's bounds for recorded runs: one configuration, one of m, all, a whole space; and the
inverse questions.
"""

from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context
from functools import partial
from typing import Any, get_args

import numpy as np

from truecost.arrays import FloatArray
from truecost.errors import InputError
from truecost.matrix import CostMatrix
from truecost.stats import bounds
from truecost.stats.allocation import AllocationSizes, even_sizes
from truecost.stats.assumptions import Assuming
from truecost.stats.estimate import training_cost
from truecost.stats.variance import VarianceComponents, variance_components


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Subject:
    """What the bounds speak of: all configurations with runs, one of them, `place`, above all, with
    the mean of its runs.
    """

    components: VarianceComponents
    sizes: AllocationSizes
    low: float
    high: float
    place: int
    instances: int
    configuration: str | None = None
    mean_of_runs: float | None = None
    seen: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PaperBounds(Assuming):
    """How far the true cost can lie above the mean of the runs, with probability 1 − delta.

    Attributes
    ----------
    one, selected, worst
        ε by form: of the one configuration, chosen beforehand (Lemma 4); of it as one of m; of the
        worst of all m (Theorem 2).
    true_cost_at_most
        Bennett's limit of the true cost of the one, as one of m: less than mean + ε, since no run
        errs by more than true cost − low. None where nothing was run.
    space
        ε over a whole parameter space (Theorem 3) by form, with its caveat; None where not asked
        for.
    inverse
        At which δ, m, N and K an ε is reached; None where not asked for.
    guaranteed, caveat, assumptions
        As in `truecost.bounds`.
    """

    delta: float
    low: float
    high: float
    configurations: int
    configuration: str | None
    runs: int
    instances: int
    mean_of_runs: float | None
    one: dict[str, float]
    selected: dict[str, float]
    worst: dict[str, float]
    true_cost_at_most: float | None
    space: dict[str, dict[str, Any]] | None
    inverse: dict[str, Any] | None
    guaranteed: bool
    caveat: str
    assumptions: tuple[str, ...]


def subject_of(matrix: CostMatrix, configuration: str, *, scores: bool = False) -> Subject:
    """The configurations of a matrix that have runs, this one chosen; `scores` where costs are
    minus the scores that `low` and `high` are meant of.
    """
    runs = matrix.counts().sum(axis=1)
    matrix = matrix.select(
        configurations=[name for name, has in zip(matrix.configurations, runs, strict=True) if has]
    )
    place = matrix.configurations.index(configuration)
    matrix.exact_costs()
    costs = training_cost(matrix)
    return Subject(
        components=variance_components(matrix),
        sizes=AllocationSizes.of(matrix.counts()),
        low=matrix.low,
        high=matrix.high,
        place=place,
        instances=int(costs.instances[place]),
        configuration=configuration,
        mean_of_runs=float(costs.cost[place]),
        seen=f" (seen in the log: {_outwards(-matrix.costs if scores else matrix.costs)})",
    )


def _outwards(values: FloatArray) -> str:
    """The values that were seen, rounded so that whoever types these ends leaves none out."""
    # By their shortest digits: 0.1 is a little more than that, and is written as it is.
    ends = ((np.nanmin, ROUND_FLOOR), (np.nanmax, ROUND_CEILING))
    low, high = (
        float(Context(prec=3, rounding=rounding).create_decimal(repr(float(end(values)))))
        for end, rounding in ends
    )
    return f"{low:g} to {high:g}"


def assumed_subject(
    *,
    within: float,
    across: float,
    instances: int,
    runs: int | None = None,
    low: float = 0.0,
    high: float,
) -> Subject:
    """A configuration that nobody has run: N runs, K if not given, evenly over K instances."""
    return Subject(
        components=VarianceComponents.known(within=within, across=across),
        sizes=even_sizes([runs or instances], instances),
        low=low,
        high=high,
        place=0,
        instances=instances,
    )


def paper_bounds(
    subject: Subject,
    *,
    delta: float,
    configurations: int | None = None,
    space: tuple[int, float, float] | None = None,
    epsilon: float | None = None,
) -> PaperBounds:
    """Lemma 4 and Theorem 2 in every form; Theorem 3 for a `space` (dimension, radius, Lipschitz
    constant).
    """
    if not np.isfinite(subject.high - subject.low):
        raise InputError(f"Give the metric's possible range: `low` and `high`{subject.seen}.")
    several = subject.components.within.size
    m = several if configurations is None else configurations
    if np.isnan(subject.components.tau_squared(subject.sizes)).any():
        raise InputError(
            "Expected runs that tell within from across for every configuration, two instances "
            "with two runs each: the paper's bounds need both."
        )
    width = subject.high - subject.low
    components, sizes = subject.components[subject.place], subject.sizes[subject.place]
    stated: dict[str, Any] = {"width": width, "delta": delta}
    every = {
        form: bounds.finite(
            allocation=subject.sizes,
            components=subject.components,
            configurations=max(m, several),
            form=form,
            tau="per-configuration",
            **stated,
        )
        for form in get_args(bounds.Form)
    }
    single = partial(bounds.single, allocation=sizes, components=components, **stated)
    most = None
    if subject.mean_of_runs is not None:
        most = bounds.highest_true_cost(
            training_cost=subject.mean_of_runs,
            low=subject.low,
            high=subject.high,
            delta=delta,
            configurations=m,
            allocation=sizes,
            components=components,
        ).value.item()
    same = ("low", "high", "configuration", "instances", "mean_of_runs")
    promised = ("guaranteed", "caveat", "assumptions")
    return PaperBounds(
        **{name: getattr(subject, name) for name in same},
        **{name: getattr(every["bennett"], name) for name in promised},
        delta=delta,
        configurations=m,
        runs=int(subject.sizes.runs[subject.place]),
        one={form: float(np.ravel(single(form=form).epsilon)[0]) for form in every},
        selected={
            form: float(np.atleast_1d(bound.epsilon)[subject.place])
            for form, bound in every.items()
        },
        worst={form: float(np.max(bound.epsilon)) for form, bound in every.items()},
        true_cost_at_most=most,
        space=None if space is None else _space(subject, delta, *space),
        inverse=None if epsilon is None else _inverse(subject, delta, m, epsilon),
    )


def _space(
    subject: Subject, delta: float, dimension: int, radius: float, lipschitz: float
) -> dict[str, dict[str, Any]]:
    by_form = {
        form: bounds.infinite(
            allocation=subject.sizes[subject.place],
            components=subject.components,
            width=subject.high - subject.low,
            delta=delta,
            dimension=dimension,
            radius=radius,
            lipschitz=lipschitz,
            form=form,
        )
        for form in get_args(bounds.SpaceForm)
    }
    return {
        form: {"epsilon": float(np.max(bound.epsilon)), "caveat": bound.caveat}
        for form, bound in by_form.items()
    }


def _inverse(subject: Subject, delta: float, configurations: int, epsilon: float) -> dict[str, Any]:
    sizes = subject.sizes[subject.place]
    finite = partial(bounds.finite, components=subject.components, width=subject.high - subject.low)
    every = partial(finite, delta=delta, configurations=configurations)
    per_instance = max(1, round(sizes.runs.item() / subject.instances))
    return {
        "epsilon": epsilon,
        "delta": bounds.delta_for(
            epsilon, bound=partial(finite, allocation=sizes, configurations=configurations)
        ).value,
        "configurations": bounds.configurations_for(
            epsilon, bound=partial(finite, allocation=sizes, delta=delta)
        ).value,
        "runs": bounds.runs_for(epsilon, instances=subject.instances, bound=every).value,
        "instances": bounds.instances_for(
            epsilon, runs_per_instance=per_instance, bound=every
        ).value,
        "runs_per_instance": per_instance,
    }
