"""Over-tuned or not: optimism, earlier incumbents, and the default instance by instance."""

import math
from typing import Any

from truecost.judge.assessment import Assessment
from truecost.judge.optimism import Point
from truecost.judge.statements import Comparison
from truecost.show.blocks import Block, Cell, Column, Fact, Facts, Figure, Section, Table, Text
from truecost.show.document.context import Context, called, drawing, opening
from truecost.show.document.field_figures import FEWEST_INSTANCES, more_figures, scatter
from truecost.show.document.verdict import difference, hidden, in_training, shown_percent, true_cost
from truecost.show.numbers import confidence, counted, limits, number, percent, signed

# Incumbents shown in a table: the first ones and the last ones.
MOST = 12
# Fewer instances than this say nothing about which of them matter.
FEWEST = 8


def over_tuned(assessment: Assessment, context: Context) -> Section:
    """Return optimism and over-tuning, the winner among all, and the incumbents over time."""
    optimism, lost = assessment.optimism, assessment.over_tuning
    estimate = true_cost(assessment, context)
    facts = [in_training(assessment, context), *([] if estimate is None else [estimate])]
    if optimism.source != "unknown":
        change = optimism.gap and shown_percent(assessment)
        note = f"{signed(optimism.percent, 2)} %" if change else ""
        gap = signed(optimism.gap)
        facts.append(Fact("optimism", optimism.gap, gap, unit=context.in_unit, note=note))
    costs = {
        "selection-error": optimism.selection_error,
        "held-out-cost": optimism.held_out_cost,
        "over-tuning": lost.lost,
    }
    facts += [
        Fact(term, cost, number(cost), unit=context.in_unit)
        for term, cost in costs.items()
        if math.isfinite(cost)
    ]
    if math.isfinite(lost.lost):
        facts.append(Fact("relative-over-tuning", lost.relative, percent(lost.relative)))
    blocks = (
        Facts(tuple(facts)),
        *_split(assessment, context),
        *_along(assessment, context),
        *_sweeps(assessment, context),
    )
    lead = f"{hidden(assessment, context)} {_earlier(assessment, context)}".rstrip()
    return Section("over-tuned", "Is it over-tuned?", lead, blocks)


def _earlier(assessment: Assessment, context: Context) -> str:
    """Return whether an earlier incumbent was better."""
    along, lost = assessment.over_tuning.along, assessment.over_tuning.lost
    if math.isfinite(lost):
        tested = [point for point in along if math.isfinite(point.true)]
        if lost > 0:
            best = called(assessment, min(tested, key=lambda point: point.true).configuration)
            less = context.cost(number(lost))
            return f"An earlier incumbent was better: {best} costs {less} less on test runs."
        if len(tested) < len(along):
            return (
                f"None of the {len(tested)} tested incumbents is better; the others are untested."
            )
        return "No earlier incumbent has a lower test cost."
    if len(along) > 1:
        return "Whether an earlier incumbent was better is unknown: they have no test runs."
    return ""


def _split(assessment: Assessment, context: Context) -> list[Block]:
    matrix = assessment.matrix
    if matrix.shape[0] < 2 or matrix.shape[1] < 2 or matrix.counts().min() == 0:
        return []
    note = (
        "Each point is a configuration. Above the diagonal, the training cost was too low; winners "
        "usually land there, more so with fewer runs."
    )
    title = "One random split: training against test cost"
    draw = drawing("overtuning", lambda: {"split": assessment.split}, unit=context.unit)
    return [Figure("split", title, (note,), draw, where="page")]


def _along(assessment: Assessment, context: Context) -> list[Block]:
    points = assessment.over_tuning.along
    if len(points) < 2:
        return []
    kept = [*points[: MOST // 2], *points[-MOST // 2 :]] if len(points) > MOST else list(points)
    columns = (
        Column("configuration", "configuration", numbers=False),
        Column("runs by then", "run"),
        Column("training cost", "training-cost"),
        Column("test cost", "test-cost"),
    )
    total = counted(len(points), "incumbent")
    title = f"{len(kept)} of {total} over time" if len(kept) < len(points) else f"{total} over time"
    table = Table("along", title, columns, tuple(map(_row, kept)))
    tested = any(math.isfinite(point.true) for point in points)
    note = f"Training {'and test ' if tested else ''}cost of every incumbent."
    inputs = {"over_tuning": assessment.over_tuning}
    draw = drawing("overtuning_along", lambda: inputs, unit=context.unit)
    return [table, Figure("along", "Incumbents over time", (note,), draw, where="page")]


def _row(point: Point) -> tuple[Cell, ...]:
    runs = Cell(math.nan, "–") if point.runs is None else Cell(point.runs, f"{point.runs:,}")
    costs = (Cell(cost, number(cost, 4)) for cost in (point.training, point.true))
    return (Cell(point.configuration, point.configuration), runs, *costs)


def _sweeps(assessment: Assessment, context: Context) -> list[Block]:
    if assessment.no_sweeps is not None:
        text = f"No curve of the error against runs and instances: {assessment.no_sweeps}."
        return [Text(text, where="page")]

    def inputs() -> dict[str, Any]:
        tables, fits = assessment.sweeps
        return {"tables": tables, "fits": fits, "error": "selection"}

    title = "Selection error against the number of runs and of instances"
    note = "Mean over random splits into halves; both scales logarithmic."
    draw = drawing("error_curves", inputs, error="selection", unit=context.unit)
    return [Figure("selection-error", title, (note,), draw, where="page")]


def instance_by_instance(assessment: Assessment, context: Context) -> Section | None:
    """Return the incumbent against the default; None if there is nothing to compare."""
    comparison = assessment.comparison
    if comparison is None:
        return None
    winner = called(assessment, comparison.configuration)
    default = called(assessment, comparison.default)
    title = "Against the default"
    if not comparison.instances:
        lead = f"{opening(winner)} and {default} have no instance in common."
        return Section("default", title, lead, ())
    where = counted(comparison.instances, f"{comparison.on} instance")
    lead = (
        f"{opening(winner)} costs less than {default} on {comparison.gains:,} of {where} and more "
        f"on {comparison.losses:,}; the mean difference is {context.cost(difference(comparison))}."
    )
    robust = _robust(comparison)
    blocks: list[Block] = [Text(robust)] if robust else []
    if comparison.lowest < comparison.highest:
        capped = "Capped runs count only where the outcome is certain."
        blocks.append(Text(capped, aside=True))
    if comparison.instances > 1:
        blocks.append(scatter(assessment, comparison, context))
        blocks.append(
            _paired(assessment, comparison, context, f"{opening(winner)} against {default}")
        )
    columns = (
        Column("instance", "instance", numbers=False),
        Column("difference", "difference"),
        Column("share of the sum", "share"),
    )
    rows = tuple(
        (Cell(name, name), Cell(apart, signed(apart)), Cell(share, percent(share)))
        for name, apart, share in comparison.deciding
    )
    if rows:
        blocks.append(Table("deciding", "Instances with the largest differences", columns, rows))
    if comparison.instances >= FEWEST_INSTANCES:
        blocks.append(more_figures(assessment, comparison, context))
    return Section("default", title, lead, tuple(blocks))


def _robust(comparison: Comparison) -> str:
    if math.isnan(comparison.observed):
        return ""
    if not comparison.observed:
        return "Their mean costs are equal."
    if comparison.lowest < 0 < comparison.highest:
        return "Which of the two costs less on average is unknown: runs were stopped at a cap."
    what = "advantage" if comparison.observed < 0 else "disadvantage"
    if comparison.instances < FEWEST:
        return ""  # to survive dropping 4 of 5 instances says nothing
    if comparison.survives == 0:
        only = comparison.deciding[0].instance
        return f"One instance decides: without {only} the {what} is gone."
    favour = "favours" if comparison.survives == 1 else "favour"
    dropped = f"{counted(comparison.survives, 'instance')} that {favour} it the most"
    return f"The {what} survives dropping the {dropped}."


def _paired(assessment: Assessment, comparison: Comparison, context: Context, title: str) -> Figure:
    lower, upper, delta = comparison.lower, comparison.upper, assessment.asked.delta
    note = f"No guaranteed limits of the mean difference: {comparison.reason}."
    if lower is not None and upper is not None:
        level = confidence(min(1.0, 2 * delta))
        interval = f"{level} interval of the mean difference, {limits(lower, upper)}"
        note = f"Shaded: the guaranteed {interval}."

    def inputs() -> dict[str, Any]:
        pairs = assessment.pairs
        names = {"incumbent": comparison.configuration, "default": comparison.default}
        numbers = {"instances": pairs.instances, "costs": [pairs.own, pairs.default]}
        return {**names, **numbers, "lower": lower, "upper": upper}

    draw = drawing("paired_differences", inputs, delta=delta, unit=context.unit)
    return Figure("paired", f"{title}, instance by instance", (note,), draw, where="page")
