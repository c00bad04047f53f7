"""Over-tuned or not: optimism, earlier incumbents; the default instance by instance, in the figures
this field knows, and parameter by parameter.
"""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from truecost.errors import Refusal
from truecost.judge.optimism import Point
from truecost.judge.sampling import CostBand, cost_band
from truecost.judge.statements import Comparison
from truecost.matrix import CostMatrix
from truecost.show.blocks import (
    Block,
    Cell,
    Column,
    Commands,
    Fact,
    Facts,
    Figure,
    Fold,
    Section,
    Table,
    Text,
    Tone,
)
from truecost.show.document.context import Case, Scale, drawing, opening
from truecost.show.document.key_numbers import compared_on, difference, in_training, true_cost
from truecost.show.document.verdict import each_limit, guessed, hidden, shown_percent
from truecost.show.numbers import counted, given, limits, number, percent, plural, signed

# Distributions of fewer instances show nothing.
FEWEST_INSTANCES = 5
# Means of a matrix that a page carries.
MOST_CELLS = 20_000
# Configurations of a performance profile besides winner and default.
OTHERS = 4


def scatter(case: Case, comparison: Comparison) -> Figure:
    """Return winner against default, a point for each instance."""
    runs = case.assessment.compared
    inputs = {
        "matrix": runs,
        "incumbent": comparison.configuration,
        "default": comparison.default,
        "families": _families_of(runs),
    }
    scale = case.scale
    side = "below" if scale.sign > 0 else "above"
    note = f"Each point is an instance: {side} the diagonal the winner {scale.verb} {scale.less}."
    return case.figure("scatter", "Winner against default", note, lambda: inputs, wide=False)


def _families_of(matrix: CostMatrix) -> Mapping[str, str] | None:
    """Return the family of every instance, if there are families."""
    if matrix.families is None:
        return None
    return dict(zip(matrix.instances, matrix.families, strict=True))


def more_figures(case: Case, comparison: Comparison) -> Fold:
    """Return ECDF, cactus plot, performance profile and box plots of winner and default."""
    runs, noun = case.assessment.compared, case.scale.noun
    pair = {"winner": comparison.configuration, "default": comparison.default}
    both = {"matrix": runs, "configurations": pair}
    grouped = {**both, "families": _families_of(runs)}
    title = "Runs finished within a cost" if noun == "cost" else f"Distribution of {noun}s"
    best = "Dotted: the best configuration of each instance, chosen with hindsight."
    same = f"The same runs: {case.scale.lower} and longer is better."
    quartiles, solved = "Quartiles, medians and extremes.", runs.tells_solved
    blocks: list[Block] = [
        case.figure("ecdf", title, best, lambda: both, band=_band(case, comparison), solved=solved),
        case.figure("cactus", "Cactus plot", same, lambda: both, solved=solved),
        case.figure("boxes", f"Spread of {noun}s", quartiles, lambda: grouped),
    ]
    if (profiled := _profiled(case, pair)) is not None:
        title = "Performance profile"
        note = "Share of instances on which a configuration is within a factor of the cheapest."
        # Factors have no unit.
        draw = drawing("performance_profile", lambda: {"matrix": runs, "configurations": profiled})
        blocks.insert(2, Figure("performance-profile", title, (note,), draw, page_only=True))
    return Fold("More figures: ECDF, cactus plot, performance profile, box plots", tuple(blocks))


def leaders(case: Case) -> list[Figure]:
    """Return a cactus plot of the best of a list, if they have enough instances in common."""
    assessment, runs = case.assessment, case.assessment.rows
    order = assessment.costs.order[:OTHERS].tolist()
    names = [assessment.matrix.configurations[place] for place in order]
    common = (runs.select(configurations=names).counts() > 0).all(axis=0)
    unlisted = isinstance(assessment.beside.whole_list, Refusal)
    if unlisted or len(names) < 2 or int(common.sum()) < FEWEST_INSTANCES:
        return []
    inputs = {"matrix": runs, "configurations": {name: name for name in names}}
    note = (
        f"{opening(case.scale.lower)} and longer is better. Dotted: the best configuration of each "
        "instance, chosen with hindsight."
    )
    title = f"Cactus plot of the best {len(names)}"
    return [case.figure("cactus", title, note, lambda: inputs, solved=runs.tells_solved)]


def _profiled(case: Case, pair: dict[str, str]) -> dict[str, str] | None:
    """Return the configurations of a profile, which needs positive costs on common instances."""
    assessment, runs = case.assessment, case.assessment.compared
    counts, names = runs.counts() > 0, runs.configurations
    common = counts[[names.index(name) for name in pair.values()]].all(axis=0)
    if not common.any() or not np.nanmin(runs.charged) > 0:
        return None
    by_cost = (assessment.matrix.configurations[place] for place in assessment.costs.order.tolist())
    others = [
        name
        for name in by_cost
        if name in names and name not in pair.values() and counts[names.index(name)][common].all()
    ]
    return {**pair, **{name: name for name in others[:OTHERS] if name not in pair}}


def _band(case: Case, comparison: Comparison) -> CostBand | None:
    """Return the guaranteed band of the winner's costs, if there is one without a condition."""
    evidence = case.assessment.evidence
    if evidence is None or evidence.configuration != comparison.configuration:
        return None
    band = cost_band(evidence, case.assessment.question)
    return None if isinstance(band, Refusal) or evidence.condition is not None else band


def pairs(case: Case) -> dict[str, Any]:
    """Return mean costs of all configurations on all instances, and the runs of the compared two.

    Empty if there are too many for a page.
    """
    runs, comparison = case.assessment.compared, case.assessment.comparison
    if comparison is None or runs.costs[..., 0].size > MOST_CELLS:
        return {}
    with np.errstate(invalid="ignore"):
        means = np.nansum(runs.charged, axis=2) / runs.counts()
    # Five digits are more than a point on a screen can show.
    rows = [[float(f"{v:.5g}") if np.isfinite(v) else None for v in row] for row in means]
    names = {"winner": comparison.configuration, "default": comparison.default}
    places = {role: runs.configurations.index(name) for role, name in names.items()}
    single = {
        role: [[float(f"{v:.5g}") for v in cell if np.isfinite(v)] for cell in runs.charged[place]]
        for role, place in places.items()
    }
    ends = {"configurations": list(runs.configurations), "instances": list(runs.instances)}
    limit = runs.high if runs.cutoff is None or runs.utility is not None else runs.cutoff
    finite = limit if math.isfinite(limit) else None
    numbers = {"means": rows, "runs": single, "limit": finite, "sign": case.scale.sign}
    return {**numbers, "pair": names, **ends}


# Parameters a terminal shows.
MOST_PARAMETERS = 20


def configuration_section(case: Case) -> Section | None:
    """Return the parameters of winner and default, changed ones first; None if unknown."""
    assessment = case.assessment
    values = assessment.log.parameters.get(assessment.incumbent)
    if not values:
        return None
    incumbent, default = assessment.incumbent, assessment.default
    defaults = {} if default in (None, incumbent) else assessment.log.parameters.get(default, {})
    names = list(dict.fromkeys([*values, *defaults]))
    changed = [name for name in names if values.get(name) != defaults.get(name)]
    rows = []
    for name in [*changed, *(name for name in names if name not in changed)]:
        tone: Tone = "strong" if defaults and name in changed else ""
        texts = [_written(parameters.get(name)) for parameters in (values, defaults)]
        cells = (Cell(texts[0], texts[0], tone=tone), Cell(texts[1], texts[1]))
        rows.append((Cell(name, name), *(cells if defaults else cells[:1])))
    heads = ("parameter", "winner", "default")[: 3 if defaults else 2]
    columns = tuple(Column(head, numbers=False) for head in heads)
    what = f"has {counted(len(values), 'parameter')}"
    if defaults:
        of = f"{len(changed):,} of {counted(len(names), 'parameter')}"
        what = f"differs from the default in {of}"
    lead = f"{opening(case.winner)} {what}."
    arguments = assessment.log.arguments(incumbent)
    blocks: list[Block] = [
        Table("parameters", "", columns, tuple(rows), MOST_PARAMETERS),
        Commands(((arguments, "all parameters of the winner as arguments"),), "To paste"),
    ]
    if origin := assessment.log.origins.get(incumbent):
        blocks.append(Text(f"Proposed by: {origin}.", aside=True))
    return Section("configuration", "The configuration", lead, tuple(blocks))


def _written(value: object) -> str:
    """Return a value as people read it; a dash for a parameter that is not active."""
    if value is None:
        return "–"
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return given(float(value)) if number else str(value)  # type: ignore[arg-type]


# Incumbents shown in a table: the first ones and the last ones.
MOST = 12
# Fewer instances than this say nothing about which of them matter.
FEWEST = 8


def over_tuned(case: Case) -> Section:
    """Return optimism and over-tuning, the winner among all, and the incumbents over time."""
    assessment = case.assessment
    optimism, lost = assessment.optimism, assessment.over_tuning
    estimate, scale, unit = true_cost(case), case.mean_scale, case.context.in_unit
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
        ("selection-error", "", optimism.selection_error, optimism.selection_error),
        ("held-out-cost", held_out, optimism.held_out_cost, scale.value(optimism.held_out_cost)),
    )
    facts += [
        Fact(term, cost, number(value), label, unit)
        for term, label, cost, value in costs
        if math.isfinite(cost) and halves
    ]
    if math.isfinite(lost.lost):
        facts.append(Fact("over-tuning", lost.lost, number(lost.lost), unit=unit))
        facts.append(Fact("relative-over-tuning", lost.relative, percent(lost.relative)))
    blocks = (Facts(tuple(facts)), *_split(case), *_along(case), *_sweeps(case))
    lead = f"{hidden(case)} {_earlier(case)}".rstrip()
    title = f"Is the training {case.mean_scale.noun} too good?"
    return Section("over-tuned", title, lead, blocks)


def _earlier(case: Case) -> str:
    """Return whether an earlier incumbent was better."""
    along, lost = case.assessment.over_tuning.along, case.assessment.over_tuning.lost
    tested, scale = [point for point in along if math.isfinite(point.true)], case.mean_scale
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
    side = "Above" if scale.sign > 0 else "Below"
    note = (
        f"Each point is a configuration. {side} the diagonal, the training {scale.noun} was too "
        f"{scale.low}; winners usually land there, more so with fewer runs."
    )
    title = f"One random split: training against test {scale.noun}"
    beside = case.assessment.beside
    return [case.figure("overtuning", title, note, lambda: {"split": beside.split}, "split")]


def _along(case: Case) -> list[Block]:
    points = case.assessment.over_tuning.along
    if len(points) < 2:
        return []
    rows = [*points[: MOST // 2], *points[-MOST // 2 :]] if len(points) > MOST else list(points)
    scale = case.mean_scale
    columns = (
        Column("configuration", "configuration", numbers=False),
        Column("runs by then", "run"),
        Column(f"training {scale.noun}", "training-cost"),
        Column(f"test {scale.noun}", "test-cost"),
    )
    total = counted(len(points), "incumbent")
    title = f"{len(rows)} of {total} over time" if len(rows) < len(points) else f"{total} over time"
    table = Table("along", title, columns, tuple(_row(point, scale) for point in rows))
    tested = any(math.isfinite(point.true) for point in points)
    note = f"Training {'and test ' if tested else ''}{case.scale.noun} of every incumbent."
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
    scale, where = case.apart_scale, compared_on(case, comparison)
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
    scale, unit = case.mean_scale, case.assessment.scope.unit
    if not comparison.observed:
        return f"Their {plural(scale.mean)} are equal."
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
        ends = limits(*case.apart_scale.range(lower, upper))
        note = f"Shaded: the guaranteed mean difference, {ends} ({each_limit(case)})."

    def inputs() -> dict[str, Any]:
        pairs, shift = case.assessment.pairs, case.mean_scale.origin
        names = {"incumbent": comparison.configuration, "default": comparison.default}
        costs = np.array([pairs.winner, pairs.default]) - shift
        numbers = {"instances": pairs.instances, "costs": costs}
        return {**names, **numbers, "lower": lower, "upper": upper}

    by = case.assessment.scope.unit
    title = f"{title}, {by} by {by}"
    return case.figure("paired_differences", title, note, inputs, "paired", means=True, delta=delta)
