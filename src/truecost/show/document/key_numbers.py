"""The numbers beside the verdict, and their figure."""

import math
from typing import Any

import numpy as np

from truecost.judge.assessment import Assessment
from truecost.judge.statements import Comparison
from truecost.show.blocks import Fact, Figure
from truecost.show.document.context import Context, axis_unit, called, drawing, scale_of, units
from truecost.show.document.verdict import (
    adjusted_from,
    both_sides,
    expected_cost,
    guessed,
    if_met,
)
from truecost.show.document.wording import COST
from truecost.show.numbers import confidence, counted, ends, limits, percents, signed

# Statements about a mix of families, or with weights, are weighted; plain means are not.
UNMIXED = "all instances weighted equally"


def key(assessment: Assessment, context: Context) -> tuple[Fact, ...]:
    """Return the numbers beside the verdict; only those that are known."""
    comparison = assessment.comparison
    facts = [
        in_training(assessment, context),
        true_cost(assessment, context),
        _limit(assessment, context),
        None if comparison is None else _to_default(assessment, comparison, context),
        None if assessment.noise.bottleneck is None else _bottleneck(assessment),
    ]
    return tuple(fact for fact in facts if fact is not None)


def at_a_glance(assessment: Assessment, context: Context) -> Figure | None:
    """Return the costs of the verdict as a figure; None if no cost is known."""
    costs = assessment.costs
    # A cost known only as a range has no place on a line.
    known = np.where(costs.lowest < costs.training, np.nan, costs.training)
    training = float(known[assessment.place])
    if not math.isfinite(training):
        return None

    def inputs() -> dict[str, Any]:
        default, optimism = assessment.default, assessment.optimism
        certificate = assessment.certificate
        cost = upper = None
        if default is not None and default != assessment.incumbent:
            cost = float(known[assessment.matrix.configurations.index(default)])
        if certificate is not None and certificate.condition is None:
            same = certificate.configuration == assessment.incumbent
            upper = certificate.upper if same else None
        true = None if optimism.source == "unknown" else optimism.true_cost
        values = {"default": cost, "true": true, "upper": upper}
        finite = {name: v for name, v in values.items() if v is not None and math.isfinite(v)}
        # Standard errors over instances, which say nothing about a choice by training cost.
        errors = {"training": float(costs.standard_error[assessment.place])}
        if default is not None:
            place = assessment.matrix.configurations.index(default)
            errors["default"] = float(costs.standard_error[place])
        return {"training": training, "errors": errors, **finite}

    draw = drawing(
        "glance",
        inputs,
        delta=assessment.question.delta,
        unit=axis_unit(assessment, context),
        fresh=assessment.scope.fresh.removeprefix("on "),
    )
    over = assessment.scope.plural
    note, certificate = f"Thin lines: ± 2 standard errors over {over}.", assessment.certificate
    if certificate is not None and certificate.configuration == assessment.incumbent:
        note += " Bar: up to the guaranteed limit." if certificate.condition is None else ""
    return Figure("glance", f"What the winner {scale_of(assessment).verb}", (note,), draw)


def in_training(assessment: Assessment, context: Context) -> Fact:
    """Return the training cost, or its range."""
    place, scale = assessment.place, scale_of(assessment)
    training, censored = float(assessment.costs.training[place]), int(assessment.censored[place])
    notes = [f"{counted(censored, 'run')} stopped at a cap"] if censored else []
    if adjusted := adjusted_from(assessment):
        notes.append(adjusted)
    if assessment.scope.reweighted:
        notes.append(UNMIXED)
    if assessment.costs.guessed[place]:
        notes.append("with guessed costs of failed runs")
    comparison, ran = assessment.comparison, int(assessment.costs.instances[place])
    if comparison is not None and comparison.on == "training" and comparison.instances < ran:
        # The headline compares the two where both were run.
        notes.append(f"on all {units(assessment, ran)} it was run on")
    shown = ends(*scale.range(float(assessment.costs.lowest[place]), training))
    label = "" if scale is COST else f"training {scale.noun}"
    return Fact("training-cost", training, shown, label, context.in_unit, "; ".join(notes))


def true_cost(assessment: Assessment, context: Context) -> Fact | None:
    """Return the estimated cost on new instances, if there is one."""
    optimism = assessment.optimism
    if optimism.source == "unknown" or not math.isfinite(optimism.true_cost):
        return None
    if assessment.costs.guessed[assessment.place] and optimism.source != "test runs":
        return None
    one = len(assessment.log.matrix.instances) == 1 and assessment.scope.sampled != "seed"
    if one and optimism.source != "test runs":
        return None
    scale = scale_of(assessment)
    training = f"training {scale.noun}"
    corrected = ", corrected for the choice" if optimism.gap else "; no optimism seen"
    note = {
        "test runs": "mean of the test runs",
        "fixed before": f"{training}; it was fixed before these runs",
    }.get(optimism.source, f"{training}{corrected}")
    label = f"{scale.noun} {assessment.scope.fresh}"
    shown = expected_cost(assessment)
    return Fact("true-cost", optimism.true_cost, shown, label, context.in_unit, note)


def _limit(assessment: Assessment, context: Context) -> Fact | None:
    """Return the upper limit of the true cost, if there is one."""
    certificate, scale = assessment.certificate, scale_of(assessment)
    if certificate is None:
        return None
    notes = []
    if certificate.configuration != assessment.incumbent:
        notes.append(f"of configuration {certificate.configuration}")
    if certificate.condition is not None:
        notes.append(if_met(certificate.condition))
    side, _, shown = scale.limit(certificate.upper).rpartition(" ")
    label = f"{side}, {confidence(assessment.question.delta)} confidence"
    return Fact("interval", certificate.upper, shown, label, context.in_unit, ", ".join(notes))


def _to_default(assessment: Assessment, comparison: Comparison, context: Context) -> Fact | None:
    """Return the mean difference to the default, if they have common instances."""
    if not comparison.instances or guessed(assessment, comparison):
        return None
    scale = scale_of(assessment)
    mixed = f", {UNMIXED}" if assessment.scope.reweighted else ""
    note = f"on {compared_on(assessment, comparison)}{mixed}"
    if comparison.configuration != assessment.incumbent:
        note = f"of {called(assessment, comparison.configuration)}, {note}"
    if comparison.lower is not None and comparison.upper is not None:
        interval = limits(*scale.range(comparison.lower, comparison.upper))
        note += f"; {both_sides(assessment)} interval {interval}"
    value, shown = comparison.observed, difference(comparison, scale.sign)
    expected = assessment.beside.expected_difference
    known = comparison.lowest == comparison.highest
    if expected is not None and expected != value and known:
        # What was observed is too good by what choosing adds: show what to expect.
        note = f"corrected for the choice; {shown} {note}"
        value, shown = expected, signed(scale.sign * expected)
    return Fact("difference", value, shown, unit=context.in_unit, note=note)


def compared_on(assessment: Assessment, comparison: Comparison) -> str:
    """Return on how many of what the two are compared."""
    where = units(assessment, comparison.instances, comparison.on)
    evidence = comparison.evidence
    part = evidence is not None and evidence.chosen in ("on-part", "weighted-list")
    return f"{where} not used to choose" if part else where


def difference(comparison: Comparison, sign: int = 1) -> str:
    """Return the mean difference, or its range; a sign of −1 turns it into one of scores."""
    low, high = (signed(sign * end) for end in (comparison.lowest, comparison.highest)[::sign])
    return signed(sign * comparison.observed) if low == high else f"{low} to {high}"


def _bottleneck(assessment: Assessment) -> Fact:
    noise, scope = assessment.noise, assessment.scope
    note = ""
    if noise.within + noise.across > 0:
        shares = percents(noise.share_low, noise.share_high)
        note = f"{shares} of a run's variance is between {scope.plural}"
    scarce = "runs" if noise.bottleneck == "runs" else scope.plural
    return Fact("bottleneck", noise.bottleneck, f"too few {scarce}", note=note)
