"""The figures this field knows: winner and default as scatter, ECDF, cactus, profile, boxes."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from truecost.judge.band import CostBand, cost_band
from truecost.judge.refusal import Refusal
from truecost.judge.statements import Comparison
from truecost.matrix import CostMatrix
from truecost.show.blocks import Block, Figure, Fold
from truecost.show.document.context import Case, drawing

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
    same = "The same runs: lower and longer is better."
    quartiles = "Quartiles, medians and extremes."
    blocks: list[Block] = [
        case.figure("ecdf", title, best, lambda: both, band=_band(case, comparison)),
        case.figure("cactus", "Cactus plot", same, lambda: both),
        case.figure("boxes", f"Spread of {noun}s", quartiles, lambda: grouped),
    ]
    if (compared := _profiled(case, pair)) is not None:
        title = "Performance profile"
        note = "Share of instances on which a configuration is within a factor of the cheapest."
        # Factors have no unit.
        draw = drawing("performance_profile", lambda: {"matrix": runs, "configurations": compared})
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
        "Lower and longer is better. Dotted: the best configuration of each instance, chosen with "
        "hindsight."
    )
    title = f"Cactus plot of the best {len(names)}"
    return [case.figure("cactus", title, note, lambda: inputs)]


def _profiled(case: Case, pair: dict[str, str]) -> dict[str, str] | None:
    """Return the configurations of a profile, which needs positive costs on common instances."""
    assessment, runs = case.assessment, case.assessment.compared
    counts, names = runs.counts() > 0, runs.configurations
    common = counts[[names.index(name) for name in pair.values()]].all(axis=0)
    if not common.any() or not np.nanmin(runs.charged) > 0:
        return None
    ranked = (assessment.matrix.configurations[place] for place in assessment.costs.order.tolist())
    others = [
        name
        for name in ranked
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


def ranking(case: Case) -> Figure:
    """Return the best configurations with the uncertainty of their costs."""
    assessment = case.assessment

    def inputs() -> dict[str, Any]:
        costs, names = assessment.costs, assessment.matrix.configurations
        ranked = np.where(costs.ranked, costs.training, np.nan)
        tags = {assessment.incumbent: "winner"}
        if assessment.default is not None:
            tags[assessment.default] = "default"
        errors = {"costs": ranked, "standard_errors": costs.standard_error}
        return {"configurations": names, **errors, "tags": tags}

    note = "Bars are two standard errors either way; where they overlap, the order is uncertain."
    return case.figure("ranking", "The best configurations", note, inputs)
