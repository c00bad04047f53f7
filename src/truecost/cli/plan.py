"""`truecost plan`."""

import re
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from truecost.cli.inputs import check_out, example_or, load_matrix
from truecost.cli.planned import print_comparison, print_plan
from truecost.cli.printing import High, Json, Low, print_json, print_line
from truecost.errors import InputError
from truecost.running.journalfile import is_journal

if TYPE_CHECKING:
    from truecost.matrix import CostMatrix
    from truecost.plan.sizes import Recommendation, Waste
    from truecost.stats.allocation import Allocation
    from truecost.stats.variance import VarianceComponents

GOAL = "What is wanted"
ASSUMED = "Without a matrix"
PRICES = "Prices and limits"
APART = "Two configurations"
EXPORT = "A schedule for other configurators"
SECONDS = {"h": 3600.0, "min": 60.0, "s": 1.0}


class ExportKind(StrEnum):
    """Whose file format, as on the command line."""

    IRACE = "irace"
    PARAMILS = "paramils"
    SMAC = "smac"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Pilot:
    """What is known of the noise, and where from."""

    components: "VarianceComponents"
    width: float | None
    configuration: str | None = None
    allocation: "Allocation | None" = None
    names: tuple[str, ...] = ()
    seconds: float | None = None


def plan(
    matrix: Annotated[
        Path | None,
        typer.Argument(help="Pilot runs: a matrix or a journal; else assume --within and --across.", show_default=False),
    ] = None,
    error: Annotated[
        float | None, typer.Option(help="The cheapest K and N with this standard error.", rich_help_panel=GOAL)
    ] = None,
    bound: Annotated[
        float | None,
        typer.Option(help="The cheapest K and N with which true − training cost is below this.", rich_help_panel=GOAL),
    ] = None,
    budget: Annotated[
        str | None, typer.Option(help="The best K and N for it: 5000runs or, in CPU time, 2h.", rich_help_panel=GOAL)
    ] = None,
    delta: Annotated[float, typer.Option(help="The probability with which a bound may fail.", rich_help_panel=GOAL)] = 0.05,
    configuration: Annotated[
        str | None, typer.Option(help="Whose noise; the least training cost's if not given.", show_default=False)
    ] = None,
    configurations: Annotated[
        int, typer.Option(help="m: how many get these runs; a bound then holds for one of them (Theorem 2).", min=1)
    ] = 1,
    within: Annotated[float | None, typer.Option(help="Variance within instances.", rich_help_panel=ASSUMED)] = None,
    across: Annotated[float | None, typer.Option(help="Variance across instances.", rich_help_panel=ASSUMED)] = None,
    price_run: Annotated[float, typer.Option(help="What a run costs.", rich_help_panel=PRICES)] = 1.0,
    price_instance: Annotated[float, typer.Option(help="What a new instance costs, once.", rich_help_panel=PRICES)] = 0.0,
    instances: Annotated[
        int | None,
        typer.Option(help="How many instances there are; no limit if not given.", min=1, rich_help_panel=PRICES),
    ] = None,
    seconds_per_run: Annotated[
        float | None, typer.Option(help="CPU time of a run; a journal knows it.", rich_help_panel=PRICES)
    ] = None,
    apart: Annotated[
        tuple[str, str] | None,
        typer.Option(help="How many runs tell these two apart?", rich_help_panel=APART, show_default=False),
    ] = None,
    difference: Annotated[
        float | None,
        typer.Option(help="The difference of true costs worth finding; the pilot's if not given.", rich_help_panel=APART),
    ] = None,
    sd: Annotated[
        float | None,
        typer.Option(help="Assumed: standard deviation of the difference on an instance.", rich_help_panel=APART),
    ] = None,
    power: Annotated[float, typer.Option(help="The probability of finding the difference.", rich_help_panel=APART)] = 0.8,
    level: Annotated[
        float, typer.Option(help="The probability of finding one where there is none.", rich_help_panel=APART)
    ] = 0.05,
    export: Annotated[
        ExportKind | None, typer.Option(help="Whose format.", rich_help_panel=EXPORT, show_default=False)
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Where to; standard output if not given.", rich_help_panel=EXPORT, show_default=False)
    ] = None,
    names: Annotated[
        Path | None,
        typer.Option(help="A file with names of instances, one a line; else the matrix's.", rich_help_panel=EXPORT),
    ] = None,
    seed: Annotated[
        int, typer.Option(min=0, help="Of the order of instances and of the seeds.", rich_help_panel=EXPORT)
    ] = 0,
    low: Low = None,
    high: High = None,
    json: Json = False,
) -> None:
    """How many runs on how many instances: for an error, for a budget, to tell two configurations apart.

    Runs are spread evenly (S*). The answer is exact over all numbers of instances and runs; beside it stand other choices,
    and what the allocation of the pilot wastes. Variances from a pilot are estimates, and so is every number from them.

    For instance: truecost plan pilot.npz --error 0.5, truecost plan pilot.npz --budget 5000runs --price-instance 10,
    truecost plan --apart default best pilot.npz, truecost plan pilot.npz --budget 500runs --export irace --out order.txt.
    """
    check_out(out, matrix, names)
    prices: dict[str, Any] = {"price_run": price_run, "price_instance": price_instance, "instances": instances}
    if apart is not None or sd is not None:
        if wrong := [name for name, value in {"--error": error, "--bound": bound, "--budget": budget}.items() if value]:
            raise InputError(f"Expected either {wrong[0]} or two configurations to tell apart, got both.")
        if export is not None:
            raise InputError("Expected no --export where two configurations are told apart.")
        _tell_apart(matrix, apart, sd, difference, {**prices, "power": power, "level": level}, low, high, json)
        return
    given = {"--error": error, "--bound": bound, "--budget": budget}
    if sum(value is not None for value in given.values()) != 1:
        raise InputError(f"Expected one of {', '.join(given)}, or --apart A B: what is to be reached, or spent.")
    pilot = _assumed(within, across, low, high) if matrix is None else _pilot(matrix, configuration, low, high)
    if matrix is not None and (within is not None or across is not None):
        raise InputError("Expected either a matrix or --within and --across, got both: the matrix has its own.")
    seconds = pilot.seconds if seconds_per_run is None else seconds_per_run
    listed = _names(names) if names is not None else pilot.names
    if export is not None:
        if not listed:
            raise InputError("Expected names of instances to export: a matrix, or --names FILE with one a line.")
        prices["instances"] = min(len(listed), instances or len(listed))
    asked = {
        **prices,
        "components": pilot.components,
        "width": pilot.width,
        "delta": delta,
        "configurations": configurations,
    }
    answer = _answer(pilot, asked, error, bound, budget, seconds)
    if export is None:
        if json:
            print_json(answer)
        else:
            print_plan(answer)
        return
    _export(answer, listed, export.value, out, seed, json)


def _answer(
    pilot: Pilot, asked: dict[str, Any], error: float | None, bound: float | None, budget: str | None, seconds: float | None
) -> dict[str, Any]:
    from truecost.plan.sizes import best_for, runs_needed, wasted

    if seconds is not None and not 0 < seconds < float("inf"):
        raise InputError(f"Expected seconds per run above 0, got {seconds}.")
    paid = None if budget is None else _budget(budget, asked["price_run"], seconds)

    def found(asked: dict[str, Any]) -> "Recommendation":
        return runs_needed(error=error, bound=bound, **asked) if paid is None else best_for(budget=paid, **asked)

    best = found(asked)
    higher = None if (noisier := _noisier(pilot.components)) is None else _attempt(found, {**asked, "components": noisier})
    waste = None if pilot.allocation is None else wasted(allocation=pilot.allocation, **asked)
    components = pilot.components
    return {
        "configuration": pilot.configuration,
        "within": components.within.item(),
        "across": components.across.item(),
        "total": components.total.item(),
        "within_error": components.within_error.item(),
        "across_error": components.across_error.item(),
        "asked": {"error": error, "bound": bound, "budget": budget, "budget_price": paid, "delta": asked["delta"]},
        "price_run": asked["price_run"],
        "price_instance": asked["price_instance"],
        "instances_available": asked["instances"],
        "seconds_per_run": seconds,
        "recommendation": _plain(best, seconds),
        "curve": {name: getattr(best.curve, name) for name in ("instances", "runs", "standard_error", "bound", "price")},
        "if_noisier": None if higher is None else _plain(higher, seconds),
        "current": None if waste is None else _plain_waste(waste, seconds),
        "guaranteed": best.guaranteed,
        "caveat": best.caveat,
        "rests_on": () if best.bound is None else best.bound.rests_on,
    }


def _plain(best: "Recommendation", seconds: float | None) -> dict[str, Any]:
    total = best.configurations * best.runs
    return {
        "instances": best.instances,
        "runs": best.runs,
        "runs_per_instance": best.runs_per_instance,
        "configurations": best.configurations,
        "standard_error": best.standard_error,
        "bound": None if best.bound is None else best.bound.epsilon,
        "theorem": None if best.bound is None else best.bound.theorem,
        "price": best.price,
        "cpu_hours": None if seconds is None else total * seconds / 3600,
        "classical_runs_per_instance": best.classical_runs_per_instance,
    }


def _plain_waste(waste: "Waste", seconds: float | None) -> dict[str, Any]:
    return {
        "runs": waste.runs,
        "instances": waste.instances,
        "standard_error": waste.standard_error,
        "price": waste.price,
        "even_standard_error": waste.even_standard_error,
        "even_runs": waste.even_runs,
        "variance_ratio": waste.variance_ratio,
        "same_price": _plain(waste.same_price, seconds),
        "same_error": None if waste.same_error is None else _plain(waste.same_error, seconds),
    }


def _noisier(components: "VarianceComponents") -> "VarianceComponents | None":
    """Both components one standard error higher, where they are estimates."""
    from math import isfinite

    from truecost.stats.variance import VarianceComponents

    raised = [
        value.item() + spread.item()
        for value, spread in (
            (components.within, components.within_error),
            (components.across, components.across_error),
        )
    ]
    if not all(map(isfinite, raised)):
        return None
    return VarianceComponents.known(within=max(0.0, raised[0]), across=max(0.0, raised[1]))


def _attempt(found: Any, asked: dict[str, Any]) -> "Recommendation | None":
    try:
        answer: Recommendation = found(asked)
    except InputError:  # out of reach with the instances there are
        return None
    return answer


def _pilot(path: Path, configuration: str | None, low: float | None, high: float | None) -> Pilot:
    from truecost.stats.allocation import Allocation
    from truecost.stats.estimate import training_cost
    from truecost.stats.variance import variance_components

    matrix, cpu = _runs_of(path, low, high)
    runs = matrix.counts().sum(axis=1)
    ran = [name for name, has in zip(matrix.configurations, runs, strict=True) if has]
    if configuration is None:
        some = matrix.select(configurations=ran)
        configuration = ran[int(training_cost(some).cost.argmin())]
    one = matrix.select(configurations=configuration)
    if configuration not in ran:
        raise InputError(f"{path}: expected a configuration with runs, and {configuration!r} has none.")
    return Pilot(
        components=variance_components(one),
        width=matrix.width,
        configuration=configuration,
        allocation=Allocation.of(one.counts()[0]),
        names=matrix.instances,
        seconds=cpu.get(configuration),
    )


def _runs_of(path: Path, low: float | None, high: float | None) -> tuple["CostMatrix", dict[str, float]]:
    """The matrix, and from a journal the mean CPU seconds of every configuration's runs."""
    path = example_or(path)
    if not is_journal(path) or low is not None or high is not None:
        return load_matrix(path, low, high), {}
    from truecost.running.journal import Journal

    with Journal.read(path) as journal:
        table = journal.table()
        matrix = journal.matrix(table=table)
    # Runs ahead of slower ones are no sample of all; the matrix leaves them out too.
    counted = ~table.ahead
    seconds = {}
    for place, name in enumerate(table.configurations):
        cpu = table.cpu[counted & (table.configuration == place)]
        if cpu.size and cpu.mean() > 0:
            seconds[name] = float(cpu.mean())
    return matrix, seconds


def _assumed(within: float | None, across: float | None, low: float | None, high: float | None) -> Pilot:
    from truecost.stats.variance import VarianceComponents

    if within is None or across is None:
        missing = [name for name, value in {"--within": within, "--across": across}.items() if value is None]
        raise InputError(f"Expected a matrix, or --within and --across: {' and '.join(missing)} missing.")
    width = None if high is None else high - (low or 0.0)
    return Pilot(components=VarianceComponents.known(within=within, across=across), width=width)


def _budget(text: str, price_run: float, seconds: float | None) -> float:
    """A budget in the unit of the prices."""
    parts = re.fullmatch(r"\s*([0-9][0-9_,]*\.?[0-9]*(?:[eE][0-9]+)?)\s*(runs?|h|min|s)?\s*", text)
    if parts is None:
        raise InputError(f"Expected a --budget such as 5000runs or 2h (CPU hours; min and s too), got {text!r:.60}.")
    amount = float(parts[1].replace(",", "").replace("_", ""))
    if parts[2] in SECONDS:
        if seconds is None:
            raise InputError(
                f"Expected --seconds-per-run with a --budget of {text}: only a journal knows how long runs take."
            )
        amount = amount * SECONDS[parts[2]] / seconds
    return amount * price_run


def _names(path: Path) -> tuple[str, ...]:
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError:
        raise InputError(f"{path}: expected names of instances, one a line, got something that is no text.") from None
    found = tuple(line.strip() for line in lines if line.strip())
    if not found:
        raise InputError(f"{path}: expected names of instances, one a line, got none.")
    return found


def _export(answer: dict[str, Any], names: tuple[str, ...], kind: Any, out: Path | None, seed: int, json: bool) -> None:
    import numpy as np

    from truecost.matrix.files import whole_file
    from truecost.plan import schedules as schedule

    best = answer["recommendation"]
    drawn = schedule.draw(names, instances=best["instances"], runs=best["runs"], rng=np.random.default_rng(seed))
    content = schedule.export(drawn, kind)
    use = schedule.how_to_use(drawn, kind, str(out or "FILE"))
    if out is not None:
        with whole_file(out) as file:
            file.write(content.encode())
    if json:
        print_json({**answer, "export": {"kind": kind, "file": out and str(out), "content": content, "use": use}})
    elif out is None:
        import sys

        sys.stdout.write(content)
    else:
        print_plan(answer)
        print_line()
        print_line(f"{out}: {best['runs']:,} runs on {best['instances']:,} instances in S* order for {kind}. Use it with")
        for line in use:
            print_line(f"    {line}", wrap=False)


def _tell_apart(
    path: Path | None,
    pair: tuple[str, str] | None,
    sd: float | None,
    difference: float | None,
    asked: dict[str, Any],
    low: float | None,
    high: float | None,
    json: bool,
) -> None:
    from truecost.plan.power import paired_differences, runs_to_tell_apart
    from truecost.stats.variance import VarianceComponents, variance_components

    seen = None
    if sd is not None:
        if path is not None or pair is not None:
            raise InputError("Expected either --sd or a matrix with --apart A B, got both.")
        if difference is None:
            raise InputError("Expected --difference with --sd: the difference worth finding.")
        if not 0 <= sd < float("inf"):
            raise InputError(f"Expected --sd of 0 or more, got {sd}.")
        components = VarianceComponents.known(within=0, across=sd**2)
    else:
        if path is None or pair is None:
            raise InputError("Expected a matrix with --apart A B, or --sd and --difference.")
        from truecost.stats.estimate import training_cost

        differences = paired_differences(load_matrix(path, low, high), *pair)
        components = variance_components(differences)
        seen = training_cost(differences, weights="instances")
    target = difference if difference is not None else seen.cost.item() if seen is not None else 0.0
    if difference is None and target == 0:
        raise InputError("Expected --difference: in the pilot the two cost the same.")
    found = runs_to_tell_apart(components=components, difference=target, **asked)
    answer = {
        "configurations": pair,
        "seen_difference": None if seen is None else seen.cost.item(),
        "seen_standard_error": None if seen is None else seen.standard_error.item(),
        "within": components.within.item(),
        "across": components.across.item(),
        **asdict(found),
    }
    if json:
        print_json(answer)
        return
    print_comparison(answer, own=difference is None)
