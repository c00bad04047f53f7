"""The numbers beside the verdict, and their figure."""

import math
from typing import Any

import numpy as np

from truecost.judge.statements import Comparison
from truecost.show.blocks import Fact, Figure
from truecost.show.document.context import COST, Case
from truecost.show.document.verdict import (
    UNMIXED,
    adjusted_from,
    each_limit,
    expected_cost,
    guessed,
    if_met,
)
from truecost.show.numbers import confidence, counted, ends, limits, percents, signed


def key(case: Case) -> tuple[Fact, ...]:
    """Return the numbers beside the verdict; only those that are known."""
    comparison = case.assessment.comparison
    facts = [
        in_training(case),
        true_cost(case),
        _limit(case),
        None if comparison is None else _to_default(case, comparison),
        None if case.assessment.noise.bottleneck is None else _bottleneck(case),
    ]
    return tuple(fact for fact in facts if fact is not None)


def at_a_glance(case: Case) -> Figure | None:
    """Return the costs of the verdict as a figure; None if no cost is known."""
    assessment = case.assessment
    costs = assessment.costs
    # A cost known only as a range has no place on a line.
    known = np.where(costs.lowest < costs.training, np.nan, costs.training)
    training = float(known[assessment.place])
    if not math.isfinite(training):
        return None

    certificate, upper = assessment.certificate, None
    note = f"Thin lines: ± 2 standard errors over {assessment.scope.plural}."
    same = certificate is not None and certificate.configuration == assessment.incumbent
    if certificate is not None and same and certificate.condition is None:
        note, upper = f"{note} Bar: up to the guaranteed limit.", certificate.upper

    def inputs() -> dict[str, Any]:
        default, optimism = assessment.default, assessment.optimism
        values = {"true": None if optimism.source == "unknown" else optimism.true_cost}
        # Standard errors over instances, which say nothing about a choice by training cost.
        errors = {"training": float(costs.standard_error[assessment.place])}
        if default is not None:
            place = assessment.matrix.configurations.index(default)
            errors["default"] = float(costs.standard_error[place])
            if default != assessment.incumbent:
                values["default"] = float(known[place])
        finite = {
            name: value
            for name, value in (values | {"upper": upper}).items()
            if value is not None and math.isfinite(value)
        }
        shift = case.mean_scale.origin
        finite = {name: value - shift for name, value in finite.items()}
        return {"training": training - shift, "errors": errors, **finite}

    title, delta = f"What the winner {case.mean_scale.verb}", assessment.question.delta
    fresh = assessment.scope.fresh.removeprefix("on ")
    return case.figure("glance", title, note, inputs, means=True, delta=delta, fresh=fresh)


def in_training(case: Case) -> Fact:
    """Return the training cost, or its range."""
    assessment, scale = case.assessment, case.mean_scale
    costs, place = assessment.costs, assessment.place
    training, censored = float(costs.training[place]), int(assessment.censored[place])
    notes = [f"{counted(censored, 'run')} stopped at a cap"] if censored else []
    if adjusted := adjusted_from(case):
        notes.append(adjusted)
    if assessment.scope.reweighted:
        notes.append(UNMIXED)
    if costs.guessed[place]:
        notes.append("with guessed costs of failed runs")
    comparison, ran = assessment.comparison, int(costs.instances[place])
    if comparison is not None and comparison.on == "training" and comparison.instances < ran:
        # The headline compares the two where both were run.
        notes.append(f"on all {case.units(ran)} it was run on")
    interval = ends(*scale.range(float(costs.lowest[place]), training))
    label = "" if scale is COST else f"training {scale.noun}"
    return Fact("training-cost", training, interval, label, case.context.in_unit, "; ".join(notes))


def true_cost(case: Case) -> Fact | None:
    """Return the estimated cost on new instances, if there is one."""
    assessment, scale = case.assessment, case.mean_scale
    optimism = assessment.optimism
    # Guessed costs, or a single instance, say nothing about new ones; test runs do.
    guess = assessment.costs.guessed[assessment.place]
    single_instance = (
        len(assessment.log.matrix.instances) == 1 and assessment.scope.sampled != "seed"
    )
    unknown = optimism.source == "unknown" or not math.isfinite(optimism.true_cost)
    if unknown or ((guess or single_instance) and optimism.source != "test runs"):
        return None
    training = f"training {scale.noun}"
    corrected = ", corrected for the choice" if optimism.gap else "; no optimism seen"
    note = {
        "test runs": "mean of the test runs",
        "fixed before": f"{training}; it was fixed before these runs",
    }.get(optimism.source, f"{training}{corrected}")
    label, unit = f"{scale.noun} {assessment.scope.fresh}", case.context.in_unit
    return Fact("true-cost", optimism.true_cost, expected_cost(case), label, unit, note)


def _limit(case: Case) -> Fact | None:
    """Return the upper limit of the true cost, if there is one."""
    certificate, scale = case.assessment.certificate, case.mean_scale
    if certificate is None:
        return None
    notes = []
    if certificate.configuration != case.assessment.incumbent:
        notes.append(f"of configuration {certificate.configuration}")
    if certificate.condition is not None:
        notes.append(if_met(certificate.condition))
    # The side of the limit is part of the label: the number stands alone.
    side, _, limit = scale.limit(certificate.upper).rpartition(" ")
    label = f"{side}, {confidence(case.assessment.question.delta)} confidence"
    return Fact("interval", certificate.upper, limit, label, case.context.in_unit, ", ".join(notes))


def _to_default(case: Case, comparison: Comparison) -> Fact | None:
    """Return the mean difference to the default, if they have common instances."""
    if not comparison.instances or guessed(case, comparison):
        return None
    scale = case.apart_scale
    mixed = f", {UNMIXED}" if case.assessment.scope.reweighted else ""
    note = f"on {compared_on(case, comparison)}{mixed}"
    if comparison.configuration != case.assessment.incumbent:
        note = f"of {case.called(comparison.configuration)}, {note}"
    if comparison.lower is not None and comparison.upper is not None:
        interval = limits(*scale.range(comparison.lower, comparison.upper))
        note += f"; guaranteed {interval} ({each_limit(case)})"
    value, text = comparison.observed, difference(comparison, scale.sign)
    expected = case.assessment.beside.expected_difference
    known = comparison.lowest == comparison.highest
    if expected is not None and expected != value and known:
        # What was observed is too good by what choosing adds: show what to expect.
        note = f"corrected for the choice; {text} {note}"
        value, text = expected, signed(scale.sign * expected)
    return Fact("difference", value, text, unit=case.context.in_unit, note=note)


def compared_on(case: Case, comparison: Comparison) -> str:
    """Return on how many of what the two are compared."""
    where = case.units(comparison.instances, comparison.on)
    evidence = comparison.evidence
    part = evidence is not None and evidence.chosen in ("on-part", "weighted-list")
    return f"{where} not used to choose" if part else where


def difference(comparison: Comparison, sign: int = 1) -> str:
    """Return the mean difference, or its range; a sign of −1 turns it into one of scores."""
    low, high = (signed(sign * end) for end in (comparison.lowest, comparison.highest)[::sign])
    return signed(sign * comparison.observed) if low == high else f"{low} to {high}"


def _bottleneck(case: Case) -> Fact:
    noise, scope, note = case.assessment.noise, case.assessment.scope, ""
    if noise.within + noise.across > 0:
        shares = percents(noise.share_low, noise.share_high)
        note = f"{shares} of a run's variance is between {scope.plural}"
    scarce = "runs" if noise.bottleneck == "runs" else scope.plural
    return Fact("bottleneck", noise.bottleneck, f"too few {scarce}", note=note)
