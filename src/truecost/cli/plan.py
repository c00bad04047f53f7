"""`truecost plan`."""

import sys
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from truecost.cli.asking import assessed, setting
from truecost.cli.asking import show as show_
from truecost.cli.options import (
    BUDGET,
    OUT,
    Across,
    Configuration,
    Configurations,
    Delta,
    Instances,
    Json,
    Seed,
    Within,
)
from truecost.cli.printing import print_json, print_line
from truecost.cli.reading import Source, check_out, names_in, reads_runs
from truecost.errors import InputError

if TYPE_CHECKING:
    from truecost.judge.assessment import Assessment
    from truecost.plan.answers import Pilot, PlanAnswer

GOAL = "What is wanted"
PRICES = "Prices and limits"
APART = "Two configurations"
EXPORT = "A schedule for other configurators"


class ExportKind(StrEnum):
    """Whose file format, as on the command line."""

    IRACE = "irace"
    PARAMILS = "paramils"
    SMAC = "smac"


@reads_runs(without="else assume --within and --across")
def plan(
    source: Source,
    error: Annotated[
        float | None,
        typer.Option(help="The cheapest K and N with this standard error.", rich_help_panel=GOAL),
    ] = None,
    bound: Annotated[
        float | None,
        typer.Option(
            help="The cheapest K and N with which true − training cost is below this.",
            rich_help_panel=GOAL,
        ),
    ] = None,
    budget: Annotated[
        str | None,
        typer.Option(
            help=f"{BUDGET}; times are CPU time.", rich_help_panel=GOAL, show_default=False
        ),
    ] = None,
    show: Annotated[
        str | None,
        typer.Option(
            "--show",
            help="New instances to show a statement: mean, wins, wins=0.6, speed-up=1.5 or solved=0.95.",
            rich_help_panel=GOAL,
            show_default=False,
        ),
    ] = None,
    delta: Delta = 0.05,
    configuration: Configuration = None,
    configurations: Configurations = None,
    within: Within = None,
    across: Across = None,
    price_run: Annotated[
        float, typer.Option(help="What a run costs.", rich_help_panel=PRICES)
    ] = 1.0,
    price_instance: Annotated[
        float, typer.Option(help="What a new instance costs, once.", rich_help_panel=PRICES)
    ] = 0.0,
    instances: Instances = None,
    seconds_per_run: Annotated[
        float | None,
        typer.Option(help="CPU time of a run; a journal knows it.", rich_help_panel=PRICES),
    ] = None,
    apart: Annotated[
        tuple[str, str] | None,
        typer.Option(
            help="How many runs tell these two apart?", rich_help_panel=APART, show_default=False
        ),
    ] = None,
    difference: Annotated[
        float | None,
        typer.Option(
            help="The difference of true costs worth finding; the pilot's if not given.",
            rich_help_panel=APART,
        ),
    ] = None,
    sd: Annotated[
        float | None,
        typer.Option(
            help="The standard deviation of the difference on an instance, if it is to be assumed.",
            rich_help_panel=APART,
        ),
    ] = None,
    power: Annotated[
        float,
        typer.Option(help="The probability of finding the difference.", rich_help_panel=APART),
    ] = 0.8,
    level: Annotated[
        float,
        typer.Option(
            help="The probability of finding one where there is none.", rich_help_panel=APART
        ),
    ] = 0.05,
    export: Annotated[
        ExportKind | None,
        typer.Option(
            help="The configurator that is to read it.", rich_help_panel=EXPORT, show_default=False
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            help=f"{OUT}; standard output if not given.",
            rich_help_panel=EXPORT,
            show_default=False,
        ),
    ] = None,
    names: Annotated[
        Path | None,
        typer.Option(
            help="A file with names of instances, one a line; else those of the runs.",
            rich_help_panel=EXPORT,
        ),
    ] = None,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """How many runs on how many instances: for an error, for a budget, to tell two configurations
    apart.

    Runs are spread evenly (S*). The answer is exact over all numbers of instances and runs; beside
    it stand other choices, and what the allocation of the pilot wastes. Variances from a pilot are
    estimates, and so is every number from them.

    For instance: truecost plan pilot.npz --error 0.5, truecost plan pilot.npz --budget 5000runs
    --price-instance 10, truecost plan --apart default best pilot.npz, truecost plan pilot.npz
    --budget 500runs --export irace --out order.txt.
    """
    check_out(out, source.path, names)
    prices: dict[str, Any] = {
        "price_run": price_run,
        "price_instance": price_instance,
        "instances": instances,
    }
    goals = {"--error": error, "--bound": bound, "--budget": budget, "--show": show}
    given = [flag for flag, value in goals.items() if value is not None]
    if apart is not None or sd is not None:
        if given:
            raise InputError(
                f"Expected either {given[0]} or two configurations to tell apart, got both."
            )
        if export is not None:
            raise InputError("Expected no --export where two configurations are told apart.")
        _tell_apart(source, apart, sd, difference, {**prices, "power": power, "level": level}, json)
        return
    if len(given) != 1:
        raise InputError(
            "Expected one of --error, --bound, --budget, --show, or --apart A B: what is to be reached, or spent."
        )
    found = (
        None if source.path is None else assessed(source, configuration=configuration, delta=delta)
    )
    if show is not None:
        if found is None or export is not None:
            raise InputError("Expected runs to show something by with --show, and no --export.")
        _show(found, show, power, json)
        return
    if found is not None and (within is not None or across is not None):
        raise InputError(
            "Expected either runs or --within and --across, got both: the runs have their own."
        )
    pilot = _assumed(source, within, across) if found is None else _pilot(source, found)
    from truecost.plan.answers import answer, with_seconds

    pilot = with_seconds(pilot, seconds_per_run)
    listed = pilot.names if names is None else tuple(names_in(names))
    if export is not None:
        if not listed:
            raise InputError(
                "Expected names of instances to export: runs, or --names FILE with one a line."
            )
        prices["instances"] = min(len(listed), instances or len(listed))
    paid = None if budget is None else _price(budget, price_run, pilot.seconds)
    planned = answer(
        pilot,
        error=error,
        bound=bound,
        budget=paid,
        delta=delta,
        configurations=configurations or 1,
        **prices,
    )
    told = {**({} if found is None else found.to_dict()), "plan": planned.to_dict()}
    from truecost.show.document import plan_section

    if export is not None:
        _export(planned, told, listed, export.value, out, seed, json)
    elif json:
        print_json(told)
    else:
        show_(plan_section(planned, setting(source)))


def _show(found: "Assessment", what: str, power: float, json: bool) -> None:
    from truecost.show.document import show_section

    forecast = found.forecast(what, power=power)
    name = found.incumbent if found.comparison is None else found.comparison.configuration
    if json:
        print_json({**found.to_dict(), "plan": {"show": what, **asdict(forecast.found)}})
        return
    counts = found.compared.select(configurations=[name]).counts()
    default = None if found.default is None else f"the default ({found.default})"
    show_(
        show_section(forecast, f"configuration {name}", default, float(counts[counts > 0].mean()))
    )


def _pilot(source: Source, found: "Assessment") -> "Pilot":
    from truecost.plan.answers import Pilot
    from truecost.stats.allocation import Allocation

    return Pilot(
        components=found.costs.components[found.own],
        width=found.matrix.width if found.matrix.width < float("inf") else None,
        configuration=found.incumbent,
        allocation=Allocation.of(found.matrix.counts()[found.own]),
        names=found.matrix.instances,
        seconds=_seconds(source, found.incumbent),
    )


def _seconds(source: Source, configuration: str) -> float | None:
    """The mean CPU time of its runs, which a journal has."""
    from truecost.journal.file import is_journal

    if source.place is None or not is_journal(source.place):
        return None
    from truecost.journal.journal import Journal

    with Journal.read(source.place) as journal:
        table = journal.table()
    if configuration not in table.configurations:
        return None
    # Runs ahead of slower ones are no sample of all; the matrix leaves them out too.
    cpu = table.cpu[
        ~table.ahead & (table.configuration == table.configurations.index(configuration))
    ]
    return float(cpu.mean()) if cpu.size and cpu.mean() > 0 else None


def _assumed(source: Source, within: float | None, across: float | None) -> "Pilot":
    from truecost.plan.answers import Pilot
    from truecost.stats.variance import VarianceComponents

    if within is None or across is None:
        missing = [
            name
            for name, value in {"--within": within, "--across": across}.items()
            if value is None
        ]
        raise InputError(
            f"Expected runs, or --within and --across: {' and '.join(missing)} missing."
        )
    width = None if source.high is None else source.high - (source.low or 0.0)
    return Pilot(components=VarianceComponents.known(within=within, across=across), width=width)


def _price(text: str, price_run: float, seconds: float | None) -> float:
    """A budget in the unit of the prices."""
    from truecost.campaigns.budget import Budget

    budget = Budget.parse(text)
    if budget.unit == "runs":
        return budget.amount * price_run
    if seconds is None:
        raise InputError(
            f"Expected --seconds-per-run with a --budget of {text}: only a journal knows how long runs take."
        )
    return budget.amount / seconds * price_run


def _export(
    planned: "PlanAnswer",
    told: dict[str, Any],
    names: tuple[str, ...],
    kind: Any,
    out: Path | None,
    seed: int,
    json: bool,
) -> None:
    from truecost.matrix.files import whole_file
    from truecost.plan import schedules
    from truecost.show.document import Context, plan_section

    best = planned.best
    drawn = schedules.draw(names, instances=best.instances, runs=best.runs, rng=seed)
    content = schedules.export(drawn, kind)
    use = schedules.how_to_use(drawn, kind, str(out or "FILE"))
    if out is not None:
        with whole_file(out) as file:
            file.write(content.encode())
    if json:
        print_json(
            {
                **told,
                "export": {"kind": kind, "file": out and str(out), "content": content, "use": use},
            }
        )
    elif out is None:
        sys.stdout.write(content)
    else:
        show_(plan_section(planned, Context()))
        print_line(
            f"{out}: {best.runs:,} runs on {best.instances:,} instances in S* order for {kind}. Use it with"
        )
        for line in use:
            print_line(f"    {line}", wrap=False)


def _tell_apart(
    source: Source,
    pair: tuple[str, str] | None,
    sd: float | None,
    difference: float | None,
    asked: dict[str, Any],
    json: bool,
) -> None:
    from truecost.plan.power import paired_differences, runs_to_tell_apart
    from truecost.show.document import power_section
    from truecost.stats.variance import VarianceComponents, variance_components

    seen, told = None, {}
    if sd is not None:
        if source.path is not None or pair is not None:
            raise InputError("Expected either --sd or runs with --apart A B, got both.")
        if difference is None:
            raise InputError("Expected --difference with --sd: the difference worth finding.")
        if not 0 <= sd < float("inf"):
            raise InputError(f"Expected --sd of 0 or more, got {sd}.")
        components = VarianceComponents.known(within=0, across=sd**2)
    else:
        if source.path is None or pair is None:
            raise InputError("Expected runs with --apart A B, or --sd and --difference.")
        from truecost.stats.estimate import training_cost

        runs = assessed(source)
        differences, told = paired_differences(runs.matrix, *pair), runs.to_dict()
        components = variance_components(differences)
        costs = training_cost(differences, weights="instances")
        seen = (costs.cost.item(), costs.standard_error.item())
    target = difference if difference is not None else 0.0 if seen is None else seen[0]
    if difference is None and target == 0:
        raise InputError("Expected --difference: in the pilot the two cost the same.")
    found = runs_to_tell_apart(components=components, difference=target, **asked)
    if json:
        pairs = {
            "configurations": pair,
            "seen_difference": None if seen is None else seen[0],
            "seen_standard_error": None if seen is None else seen[1],
            "within": components.within.item(),
            "across": components.across.item(),
            **asdict(found),
        }
        print_json({**told, "tell_apart": pairs})
    else:
        show_(power_section(found, pair, seen, own=difference is None))
