"""Over-tuned or not: optimism, earlier incumbents, and the default instance by instance."""

import math
from typing import Any

from truecost.judge.optimism import Point
from truecost.judge.statements import Comparison
from truecost.show.blocks import Block, Cell, Column, Fact, Facts, Figure, Section, Table, Text
from truecost.show.document.context import Case, opening
from truecost.show.document.field_figures import FEWEST_INSTANCES, more_figures, scatter
from truecost.show.document.key_numbers import compared_on, difference, in_training, true_cost
from truecost.show.document.verdict import both_sides, guessed, hidden, shown_percent
from truecost.show.document.wording import Scale
from truecost.show.numbers import counted, limits, number, percent, signed

# Incumbents shown in a table: the first ones and the last ones.
MOST = 12
# Fewer instances than this say nothing about which of them matter.
FEWEST = 8


def over_tuned(case: Case) -> Section:
    """Return optimism and over-tuning, the winner among all, and the incumbents over time."""
    assessment = case.assessment
    optimism, lost = assessment.optimism, assessment.over_tuning
    estimate, scale, unit = true_cost(case), case.scale, case.context.in_unit
    facts = [in_training(case), *([] if estimate is None else [estimate])]
    # Without the cost of failed runs, no mean is known.
    known = not assessment.costs.guessed[assessment.place] or optimism.source == "test runs"
    # Halves of the instances say nothing about new seeds on all of them.
    halves = known and (assessment.scope.unit, assessment.scope.about) != ("instance", "these")
    if optimism.source != "unknown" and math.isfinite(optimism.gap) and known:
        change = optimism.gap and shown_percent(case)
        note = f"{signed(scale.sign * optimism.percent, 2)} %" if change else ""
        gap = signed(scale.sign * optimism.gap)
        facts.append(Fact("optimism", optimism.gap, gap, unit=unit, note=note))
    held_out = f"{scale.noun} on held-out halves"
    costs = (
        ("selection-error", "", optimism.selection_error, 1),
        ("held-out-cost", held_out, optimism.held_out_cost, scale.sign),
    )
    facts += [
        Fact(term, cost, number(sign * cost), label, unit)
        for term, label, cost, sign in costs
        if math.isfinite(cost) and halves
    ]
    if math.isfinite(lost.lost):
        facts.append(Fact("over-tuning", lost.lost, number(lost.lost), unit=unit))
        facts.append(Fact("relative-over-tuning", lost.relative, percent(lost.relative)))
    blocks = (Facts(tuple(facts)), *_split(case), *_along(case), *_sweeps(case))
    lead = f"{hidden(case)} {_earlier(case)}".rstrip()
    return Section("over-tuned", "Is it over-tuned?", lead, blocks)


def _earlier(case: Case) -> str:
    """Return whether an earlier incumbent was better."""
    along, lost = case.assessment.over_tuning.along, case.assessment.over_tuning.lost
    tested, scale = [point for point in along if math.isfinite(point.true)], case.scale
    if not math.isfinite(lost):
        unknown = "Whether an earlier incumbent was better is unknown: they have no test runs."
        return unknown if len(along) > 1 else ""
    if lost > 0:
        best = case.called(min(tested, key=lambda point: point.true).configuration)
        less = f"{case.cost(number(lost))} {scale.less}"
        return f"An earlier incumbent was better: {best} {scale.verb} {less} on test runs."
    if len(tested) < len(along):
        return f"None of the {len(tested)} tested incumbents is better; the others are untested."
    return f"No earlier incumbent has a {scale.lower} test {scale.noun}."


def _split(case: Case) -> list[Block]:
    matrix = case.assessment.matrix
    if matrix.shape[0] < 2 or matrix.shape[1] < 2 or matrix.counts().min() == 0:
        return []
    if matrix.censored.any():
        return []  # what these runs cost is not known
    scale = case.scale
    note = (
        f"Each point is a configuration. Above the diagonal, the training {scale.noun} was too "
        f"{scale.low}; winners usually land there, more so with fewer runs."
    )
    title = f"One random split: training against test {scale.noun}"
    beside = case.assessment.beside
    return [case.figure("overtuning", title, note, lambda: {"split": beside.split}, "split")]


def _along(case: Case) -> list[Block]:
    points = case.assessment.over_tuning.along
    if len(points) < 2:
        return []
    kept = [*points[: MOST // 2], *points[-MOST // 2 :]] if len(points) > MOST else list(points)
    scale = case.scale
    columns = (
        Column("configuration", "configuration", numbers=False),
        Column("runs by then", "run"),
        Column(f"training {scale.noun}", "training-cost"),
        Column(f"test {scale.noun}", "test-cost"),
    )
    total = counted(len(points), "incumbent")
    title = f"{len(kept)} of {total} over time" if len(kept) < len(points) else f"{total} over time"
    table = Table("along", title, columns, tuple(_row(point, scale) for point in kept))
    tested = any(math.isfinite(point.true) for point in points)
    note = f"Training {'and test ' if tested else ''}{scale.noun} of every incumbent."
    title, inputs = "Incumbents over time", {"over_tuning": case.assessment.over_tuning}
    return [table, case.figure("overtuning_along", title, note, lambda: inputs, "along")]


def _row(point: Point, scale: Scale) -> tuple[Cell, ...]:
    runs = Cell(math.nan, "–") if point.runs is None else Cell(point.runs, f"{point.runs:,}")
    costs = (Cell(cost, number(scale.value(cost), 4)) for cost in (point.training, point.true))
    return (Cell(point.configuration, point.configuration), runs, *costs)


def _sweeps(case: Case) -> list[Block]:
    beside = case.assessment.beside
    if beside.no_sweeps is not None:
        text = f"No curve of the error against runs and instances: {beside.no_sweeps}."
        return [Text(text, page_only=True)]

    def inputs() -> dict[str, Any]:
        tables, fits = beside.sweeps
        return {"tables": tables, "fits": fits, "error": "selection"}

    title = "Selection error against the number of runs and of instances"
    note = "Mean over random splits into halves; both scales logarithmic."
    name, error = "selection-error", "selection"
    return [case.figure("error_curves", title, note, inputs, name, signed=False, error=error)]


def instance_by_instance(case: Case) -> Section | None:
    """Return the incumbent against the default; None if there is nothing to compare."""
    comparison = case.assessment.comparison
    if comparison is None:
        return None
    heading, (winner, default) = "Against the default", case.pair(comparison)
    winner = opening(winner)
    if not comparison.instances:
        lead = f"{winner} and {default} have no instance in common."
        return Section("default", heading, lead, ())
    scale, where = case.scale, compared_on(case, comparison)
    mean, robust = "unknown, since costs of failed runs are guesses", ""
    if not guessed(case, comparison):
        mean = case.cost(difference(comparison, scale.sign))
        robust = _robust(case, comparison)
    lead = (
        f"{winner} {scale.verb} {scale.less} than {default} on {comparison.gains:,} of {where} "
        f"and {scale.more} on {comparison.losses:,}; the mean difference is {mean}."
    )
    blocks: list[Block] = [Text(robust)] if robust else []
    if comparison.lowest < comparison.highest:
        capped = "Capped runs count only where the outcome is certain."
        blocks.append(Text(capped, aside=True))
    if comparison.instances > 1:
        blocks.append(scatter(case, comparison))
        blocks.append(_paired(case, comparison, f"{winner} against {default}"))
    columns = (
        Column(case.assessment.scope.unit, "instance", numbers=False),
        Column("difference", "difference"),
        Column("share of the sum", "share"),
    )
    rows = tuple(
        (Cell(name, name), Cell(apart, signed(scale.value(apart))), Cell(share, percent(share)))
        for name, apart, share in comparison.deciding
    )
    if rows:
        title = f"{opening(case.assessment.scope.plural)} with the largest differences"
        blocks.append(Table("deciding", title, columns, rows))
    if comparison.instances >= FEWEST_INSTANCES:
        blocks.append(more_figures(case, comparison))
    return Section("default", heading, lead, tuple(blocks))


def _robust(case: Case, comparison: Comparison) -> str:
    scale, unit = case.scale, case.assessment.scope.unit
    if not comparison.observed:
        return f"Their {scale.mean}s are equal."
    if comparison.lowest < 0 < comparison.highest:
        which = f"Which of the two {scale.verb} {scale.less} on average"
        return f"{which} is unknown: runs were stopped at a cap."
    # To survive dropping 4 of 5 instances says nothing.
    if comparison.instances < FEWEST or math.isnan(comparison.observed):
        return ""
    what = "advantage" if comparison.observed < 0 else "disadvantage"
    if comparison.survives == 0:
        only = comparison.deciding[0].instance
        return f"One {unit} decides: without {only} the {what} is gone."
    favour = "favours" if comparison.survives == 1 else "favour"
    dropped = f"{counted(comparison.survives, unit)} that {favour} it the most"
    return f"The {what} survives dropping the {dropped}."


def _paired(case: Case, comparison: Comparison, title: str) -> Figure:
    lower, upper, delta = comparison.lower, comparison.upper, case.assessment.question.delta
    note = f"No guaranteed limits of the mean difference: {comparison.reason}."
    if lower is not None and upper is not None:
        ends = limits(*case.scale.range(lower, upper))
        interval = f"{both_sides(case)} interval of the mean difference, {ends}"
        note = f"Shaded: the guaranteed {interval}."

    def inputs() -> dict[str, Any]:
        pairs = case.assessment.pairs
        names = {"incumbent": comparison.configuration, "default": comparison.default}
        numbers = {"instances": pairs.instances, "costs": [pairs.winner, pairs.default]}
        return {**names, **numbers, "lower": lower, "upper": upper}

    by = case.assessment.scope.unit
    title = f"{title}, {by} by {by}"
    return case.figure("paired_differences", title, note, inputs, "paired", delta=delta)
