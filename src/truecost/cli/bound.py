"""`truecost bound`."""

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args

import typer

from truecost.cli.inputs import load_matrix
from truecost.cli.printing import High, Json, Low, number, print_json, print_line, print_table
from truecost.errors import InputError

if TYPE_CHECKING:
    from truecost.matrix import CostMatrix
    from truecost.stats.allocation import AllocationSizes
    from truecost.stats.variance import VarianceComponents

ASSUMED = "Without a matrix"
SPACE = "A whole parameter space (Theorem 3)"
FORMS = {"bennett": "Bennett", "sub-gamma": "sub-gamma", "bernstein": "Bernstein", "printed": "printed"}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Subject:
    """What the bounds speak of: all configurations, one of them chosen."""

    components: "VarianceComponents"
    sizes: "AllocationSizes"
    low: float
    high: float
    chosen: int
    instances: int
    configuration: str | None = None
    training_cost: float | None = None


def bound(
    matrix: Annotated[
        Path | None,
        typer.Argument(help="A matrix; without one, say what to assume with the options below.", show_default=False),
    ] = None,
    delta: Annotated[float, typer.Option(help="The probability with which the bound may fail.")] = 0.05,
    configuration: Annotated[
        str | None, typer.Option(help="The configuration to speak of; the best in training if not given.")
    ] = None,
    configurations: Annotated[
        int | None,
        typer.Option(help="m; those in the matrix, or 1, if not given. Tried and thrown away ones count.", min=1),
    ] = None,
    epsilon: Annotated[
        float | None, typer.Option(help="Also say at which δ, m, N and K the bound reaches this ε (runs spread evenly).")
    ] = None,
    within: Annotated[float | None, typer.Option(help="Variance within instances.", rich_help_panel=ASSUMED)] = None,
    across: Annotated[float | None, typer.Option(help="Variance across instances.", rich_help_panel=ASSUMED)] = None,
    instances: Annotated[int | None, typer.Option(help="K.", min=1, rich_help_panel=ASSUMED)] = None,
    runs: Annotated[
        int | None, typer.Option(help="N, spread evenly; K if not given.", min=1, rich_help_panel=ASSUMED)
    ] = None,
    dimension: Annotated[int | None, typer.Option(help="h, the number of parameters.", min=1, rich_help_panel=SPACE)] = None,
    radius: Annotated[float, typer.Option(help="R of the ball that holds the space.", rich_help_panel=SPACE)] = 1.0,
    lipschitz: Annotated[
        float | None, typer.Option(help="L_f: the most a cost can change per unit of distance.", rich_help_panel=SPACE)
    ] = None,
    low: Low = None,
    high: High = None,
    json: Json = False,
) -> None:
    """How far the true cost can lie above the training cost: of one configuration, of all at once, of a whole space.

    The statements need independent instances and seeds, counts fixed independently of costs, configurations fixed before any
    cost was seen, and the true variances. Variances estimated from a matrix make them plug-ins: a guide, not a guarantee.
    """
    if matrix is None:
        subject = _assumed(within, across, instances, runs, low, high)
    else:
        given = {"--within": within, "--across": across, "--instances": instances, "--runs": runs}
        if wrong := [name for name, value in given.items() if value is not None]:
            raise InputError(f"Expected either a matrix or {wrong[0]}, got both: the matrix has its own.")
        subject = from_matrix(load_matrix(matrix, low, high), configuration)
    if (dimension is None) != (lipschitz is None):
        raise InputError("Expected --dimension and --lipschitz together: Theorem 3 needs both.")
    several = subject.components.within.size
    if configurations is not None and configurations < several and configuration is None:
        raise InputError(
            f"Expected at least {several} --configurations, as many as the matrix has, got {configurations}: the best of "
            "them is chosen by its costs. Name the --configuration if it was chosen beforehand."
        )
    answer = bounds_of(subject, delta, configurations or several)
    if dimension is not None and lipschitz is not None:
        answer["space"] = _space(subject, delta, dimension, radius, lipschitz)
    if epsilon is not None:
        answer["inverse"] = _inverse(subject, delta, answer["configurations"], epsilon)
    if json:
        print_json(answer)
    else:
        print_bounds(answer)


def _assumed(
    within: float | None,
    across: float | None,
    instances: int | None,
    runs: int | None,
    low: float | None,
    high: float | None,
) -> Subject:
    from truecost.stats.allocation import even_sizes
    from truecost.stats.variance import VarianceComponents

    needed = {"--within": within, "--across": across, "--instances": instances, "--high": high}
    if within is None or across is None or instances is None or high is None:
        missing = [name for name, value in needed.items() if value is None]
        raise InputError(f"Expected a matrix, or {', '.join(needed)}: {', '.join(missing)} missing.")
    return Subject(
        components=VarianceComponents.known(within=within, across=across),
        sizes=even_sizes([runs or instances], instances),
        low=low or 0.0,
        high=high,
        chosen=0,
        instances=instances,
    )


def from_matrix(matrix: "CostMatrix", configuration: str | None) -> Subject:
    """The configurations of a matrix that have runs; the one with the least training cost chosen if none is named."""
    from truecost.stats.allocation import AllocationSizes
    from truecost.stats.estimate import training_cost
    from truecost.stats.variance import variance_components

    runs = matrix.counts().sum(axis=1)
    matrix = matrix.select(configurations=[name for name, has in zip(matrix.configurations, runs, strict=True) if has])
    costs = training_cost(matrix)
    if configuration is None:
        configuration = matrix.configurations[int(costs.cost.argmin())]
    chosen = matrix.configurations.index(matrix.select(configurations=configuration).configurations[0])
    return Subject(
        components=variance_components(matrix),
        sizes=AllocationSizes.of(matrix.counts()),
        low=matrix.low,
        high=matrix.high,
        chosen=chosen,
        instances=int(costs.instances[chosen]),
        configuration=configuration,
        training_cost=float(costs.cost[chosen]),
    )


def bounds_of(subject: Subject, delta: float, configurations: int) -> dict[str, Any]:
    """Lemma 4 and Theorem 2 in every form, as plain data."""
    import numpy as np

    from truecost.stats import bounds

    width = subject.high - subject.low
    components, sizes = subject.components[subject.chosen], subject.sizes[subject.chosen]
    every = {
        form: bounds.finite(
            allocation=subject.sizes,
            components=subject.components,
            width=width,
            delta=delta,
            configurations=max(configurations, subject.components.within.size),
            form=form,
            tau="per-configuration",
        )
        for form in get_args(bounds.Form)
    }
    one = partial(bounds.single, allocation=sizes, components=components, width=width, delta=delta)
    answer = {
        "delta": delta,
        "low": subject.low,
        "high": subject.high,
        "configurations": configurations,
        "configuration": subject.configuration,
        "runs": subject.sizes.runs[subject.chosen],
        "instances": subject.instances,
        "training_cost": subject.training_cost,
        "one_configuration": {form: one(form=form).epsilon for form in every},
        "this_one_among_all": {form: np.atleast_1d(all_of.epsilon)[subject.chosen] for form, all_of in every.items()},
        "all_configurations": {form: np.max(all_of.epsilon) for form, all_of in every.items()},
        "guaranteed": every["bennett"].guaranteed,
        "caveat": every["bennett"].caveat,
        "rests_on": every["bennett"].rests_on,
    }
    if subject.training_cost is not None:
        answer["true_cost_at_most"] = bounds.highest_true_cost(
            training_cost=subject.training_cost,
            low=subject.low,
            high=subject.high,
            delta=delta,
            configurations=configurations,
            allocation=sizes,
            components=components,
        ).value.item()
    return answer


def _space(subject: Subject, delta: float, dimension: int, radius: float, lipschitz: float) -> dict[str, Any]:
    from truecost.stats import bounds

    each = {
        form: bounds.infinite(
            allocation=subject.sizes[subject.chosen],
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
    return {form: {"epsilon": one.epsilon, "caveat": one.caveat} for form, one in each.items()}


def _inverse(subject: Subject, delta: float, configurations: int, epsilon: float) -> dict[str, Any]:
    from truecost.stats import bounds

    sizes = subject.sizes[subject.chosen]
    finite = partial(bounds.finite, components=subject.components, width=subject.high - subject.low)
    every = partial(finite, delta=delta, configurations=configurations)
    per_instance = max(1, round(sizes.runs.item() / subject.instances))
    return {
        "epsilon": epsilon,
        "delta": bounds.delta_for(epsilon, bound=partial(finite, allocation=sizes, configurations=configurations)).value,
        "configurations": bounds.configurations_for(epsilon, bound=partial(finite, allocation=sizes, delta=delta)).value,
        "runs": bounds.runs_for(epsilon, instances=subject.instances, bound=every).value,
        "instances": bounds.instances_for(epsilon, runs_per_instance=per_instance, bound=every).value,
        "runs_per_instance": per_instance,
    }


def print_bounds(answer: dict[str, Any]) -> None:
    """`bounds_of` for people."""
    m = answer["configurations"]
    rows = [("one, chosen beforehand (Lemma 4)", answer["one_configuration"])]
    if m > 1:
        rows.append((f"one of {m:,} (Theorem 2)", answer["this_one_among_all"]))
        rows.append((f"all {m:,}, the worst (Theorem 2)", answer["all_configurations"]))
    print_line(
        f"{answer['runs']:,} runs on {answer['instances']:,} instances, costs in [{answer['low']:g}, {answer['high']:g}]; "
        f"with probability {1 - answer['delta']:.6g} or more, true cost − training cost is below"
    )
    print_table("", ["", *FORMS.values()], [[what, *(number(values[form]) for form in FORMS)] for what, values in rows])
    if answer["training_cost"] is not None:
        print_line(
            f"{answer['configuration']}: training cost {number(answer['training_cost'])}, "
            f"true cost at most {number(answer['true_cost_at_most'])} (Bennett, m = {m:,}; less than "
            "their sum, since no run errs by more than true cost − low)."
        )
    for form, entry in answer.get("space", {}).items():
        caveat = f" — {entry['caveat']}" if entry["caveat"] else ""
        print_line(f"Whole space (Theorem 3), {form}: {number(entry['epsilon'])}{caveat}")
    if "inverse" in answer:
        _print_inverse(answer["inverse"], answer["instances"])
    if answer["all_configurations"]["bennett"] >= answer["high"] - answer["low"]:
        print_line("A bound as wide as the cost range says nothing: more instances are needed.", "open")
    if answer["caveat"]:
        print_line(f"{answer['caveat'][0].upper()}{answer['caveat'][1:]}.", "open")
    print_line(f"Rests on: {'; '.join(answer['rests_on'])}.", "aside")


def _print_inverse(inverse: dict[str, Any], instances: int) -> None:
    def count(value: int | None) -> str:
        return "no number" if value is None else f"{value:,}" if value < 10**15 else f"{value:.3e}"

    print_line(f"Theorem 2 (Bennett) reaches ε = {inverse['epsilon']:g}")
    for what, value in (
        ("with these runs, at δ =", f"{inverse['delta']:.4g}" if inverse["delta"] < 1 else "none below 1"),
        ("with these runs, for m up to", count(inverse["configurations"])),
        (f"on {instances:,} instances, from N =", count(inverse["runs"])),
        (f"with {inverse['runs_per_instance']} run(s) an instance, from K =", count(inverse["instances"])),
    ):
        print_line(f"  {what} {value}")
