"""Over-tuned or not: what the training cost hides, what the search lost on its way, and the default
instance by instance.
"""

import math
from typing import Any

from truecost.judge.assessment import Assessment
from truecost.judge.optimism import Point
from truecost.judge.statements import Comparison
from truecost.show.blocks import Block, Cell, Column, Fact, Facts, Figure, Section, Table, Text
from truecost.show.document.context import Context, called, opening
from truecost.show.document.verdict import difference, hidden, in_training, true_cost
from truecost.show.numbers import at_least, at_most, counted, number, percent, signed

# So many incumbents on the way are shown in a terminal, the first ones and the last.
SHOWN = 12


def over_tuned(found: Assessment, setting: Context) -> Section:
    """Optimism and over-tuning, the winner among all, the incumbents on the way."""
    seen, lost, unit = found.optimism, found.over_tuning, setting.in_unit
    facts = [in_training(found, setting), true_cost(found, setting)]
    note = f"{signed(seen.percent, 2)} %" if seen.gap and math.isfinite(seen.percent) else ""
    shown = "unknown" if seen.source == "unknown" else signed(seen.gap)
    facts += [
        Fact(
            term="optimism",
            value=seen.gap,
            shown=shown,
            unit="" if shown == "unknown" else unit,
            note=note,
        ),
        Fact(
            term="selection-error",
            value=seen.selection_error,
            shown=number(seen.selection_error),
            unit=unit,
        ),
        Fact(
            term="held-out-cost",
            value=seen.held_out_cost,
            shown=number(seen.held_out_cost),
            unit=unit,
        ),
    ]
    if math.isfinite(lost.lost):
        facts.append(Fact(term="over-tuning", value=lost.lost, shown=number(lost.lost), unit=unit))
        facts.append(
            Fact(term="relative-over-tuning", value=lost.relative, shown=percent(lost.relative))
        )
    blocks: list[Block] = [
        Facts(facts=tuple(facts)),
        *_split(found, setting),
        *_along(found, setting),
    ]
    blocks += _sweeps(found, setting)
    lead = f"{hidden(found, setting)} {passed(found, setting)}"
    return Section(name="over-tuned", title="Is it over-tuned?", lead=lead, blocks=tuple(blocks))


def passed(found: Assessment, setting: Context) -> str:
    """Whether the search went past something better."""
    along, lost = found.over_tuning.along, found.over_tuning.lost
    if math.isfinite(lost):
        tested = sum(math.isfinite(point.true) for point in along)
        if lost <= 0 and tested < len(along):
            return f"None of the {tested} incumbents on the way that were tested has a lower test cost; the others were not."
        if lost <= 0:
            return "No incumbent on the way has a lower test cost."
        best = min(
            (point for point in along if math.isfinite(point.true)), key=lambda point: point.true
        )
        less = setting.cost(number(lost))
        return opening(
            f"{called(found, best.configuration)}, an incumbent on the way, costs {less} less on test runs."
        )
    if len(along) > 1:
        return "Whether the search went past something better is unknown: the other incumbents have no test runs."
    return ""


def _split(found: Assessment, setting: Context) -> list[Block]:
    matrix = found.matrix
    if matrix.shape[0] < 2 or matrix.shape[1] < 2 or matrix.counts().min() == 0:
        return []

    def draw() -> Any:
        from truecost.show import figures

        data = figures.overtuning_data(found.split)
        return data, figures.overtuning_chart(data, unit=setting.unit)

    note = (
        "Each point is a configuration. Above the diagonal training looked too good; winners usually land there, the more "
        "so the fewer the runs."
    )
    title = "One random split: training against test cost"
    return [Figure(name="split", title=title, notes=(note,), draw=draw, where="page")]


def _along(found: Assessment, setting: Context) -> list[Block]:
    points = found.over_tuning.along
    if len(points) < 2:
        return []
    kept = [*points[: SHOWN // 2], *points[-SHOWN // 2 :]] if len(points) > SHOWN else list(points)
    table = Table(
        name="along",
        title=f"{len(kept)} of {counted(len(points), 'incumbent')} on the way",
        columns=(
            Column("configuration", "configuration", numbers=False),
            Column("runs by then", "run"),
            Column("training cost", "training-cost"),
            Column("test cost", "test-cost"),
        ),
        rows=tuple(_row(point) for point in kept),
    )
    if not any(math.isfinite(point.true) for point in points):
        return [table]

    def draw() -> Any:
        from truecost.show import figures

        data = figures.overtuning_along_data(found.over_tuning)
        return data, figures.overtuning_along_chart(data, unit=setting.unit)

    note = "Training and test cost of every incumbent, in the order of time."
    return [
        table,
        Figure(name="along", title="The search on its way", notes=(note,), draw=draw, where="page"),
    ]


def _row(point: Point) -> tuple[Cell, ...]:
    runs = Cell(math.nan, "–") if point.runs is None else Cell(point.runs, f"{point.runs:,}")
    costs = (Cell(value, number(value, 4)) for value in (point.training, point.true))
    return (Cell(point.configuration, point.configuration), runs, *costs)


def _sweeps(found: Assessment, setting: Context) -> list[Block]:
    def draw() -> Any:
        from truecost.show import figures

        data = figures.error_curves_data(*found.sweeps, "selection")
        return data, figures.error_curves_chart(data, error="selection", unit=setting.unit)

    if found.no_sweeps is not None:
        return [
            Text(
                text=f"How the error falls with more runs and instances is not drawn: {found.no_sweeps}.",
                where="page",
            )
        ]
    title = "What the winner errs by, against the number of runs and of instances"
    note = "Mean over random splits in training and test instances, half each; both scales logarithmic."
    return [Figure(name="selection-error", title=title, notes=(note,), draw=draw, where="page")]


def instance_by_instance(found: Assessment, setting: Context) -> Section | None:
    """The incumbent against the default; None where there is nothing to compare."""
    comparison = found.comparison
    if comparison is None:
        return None
    who, default = called(found, comparison.configuration), called(found, comparison.default)
    where = counted(comparison.instances, f"{comparison.on} instance")
    lead = (
        f"{who} costs less than {default} on {comparison.gains:,} of {where} and more on {comparison.losses:,}; the mean "
        f"difference is {setting.cost(difference(comparison))}."
        if comparison.instances
        else f"{who} and {default} have no instance in common."
    )
    blocks: list[Block] = [Text(text=_robust(comparison))] if comparison.instances else []
    if comparison.lowest < comparison.highest:
        text = "Of runs that were stopped at a cap only what is sure counts here: who costs less, and by how much at least."
        blocks.append(Text(text=text, aside=True))
    if comparison.instances > 1:
        blocks.append(
            Figure(
                name="paired",
                title=f"{opening(who)} against {default}, instance by instance",
                notes=(_limits(comparison),),
                draw=lambda: _picture(found, comparison, setting),
                where="page",
            )
        )
    rows = tuple(
        (
            Cell(each.instance, each.instance),
            Cell(each.difference, signed(each.difference)),
            Cell(each.share, percent(each.share)),
        )
        for each in comparison.deciding
    )
    columns = (
        Column("instance", "instance", numbers=False),
        Column("difference", "difference"),
        Column("share of the sum", "share"),
    )
    if rows:
        title = "Instances that decide the most"
        blocks.append(Table(name="deciding", title=title, columns=columns, rows=rows))
    return Section(
        name="default", title="Against the default", lead=opening(lead), blocks=tuple(blocks)
    )


def _robust(comparison: Comparison) -> str:
    if not comparison.observed or math.isnan(comparison.observed):
        return "On average the two cost the same."
    if comparison.lowest < 0 < comparison.highest:
        return "Which of the two costs less on average is open: runs were stopped at a cap."
    what = "advantage" if comparison.observed < 0 else "disadvantage"
    if comparison.survives == 0:
        return f"One instance alone decides the {what}: without {comparison.deciding[0].instance} it is gone."
    favour = "favours" if comparison.survives == 1 else "favour"
    return f"The {what} survives dropping the {counted(comparison.survives, 'instance')} that {favour} it the most."


def _limits(comparison: Comparison) -> str:
    if comparison.lower is None or comparison.upper is None:
        return f"No guaranteed limits of the mean difference: {comparison.reason}."
    return f"Shaded: guaranteed limits of the mean difference, {at_least(comparison.lower)} to {at_most(comparison.upper)}."


def _picture(found: Assessment, comparison: Comparison, setting: Context) -> Any:
    from truecost.show import figures

    pairs = found.pairs
    data = figures.paired_differences_data(
        comparison.configuration,
        comparison.default,
        instances=pairs.instances,
        costs=[pairs.own, pairs.default],
        lower=comparison.lower,
        upper=comparison.upper,
    )
    return data, figures.paired_differences_chart(data, delta=found.asked.delta, unit=setting.unit)
