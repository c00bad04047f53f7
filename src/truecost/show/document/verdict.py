"""The verdict: badge, headline, what the training cost hides, and the numbers beside them.

Badge, colour and headline follow the primary criterion only; other results go on a neutral second
line.
"""

import math
from typing import Any

import numpy as np

from truecost.judge.assessment import Assessment
from truecost.judge.evidence import UNSORTED
from truecost.judge.scope import NEW_INSTANCES
from truecost.judge.statements import Certificate, Comparison
from truecost.runs import NO_INSTANCE
from truecost.show.blocks import Fact, Figure, Tone
from truecost.show.document.about import in_a_line
from truecost.show.document.context import Context, called, drawing, opening, sure
from truecost.show.document.wording import with_seed
from truecost.show.numbers import (
    at_least,
    at_most,
    confidence,
    counted,
    ends,
    limits,
    number,
    percent,
    share_at_least,
    share_at_most,
    signed,
)

# Fewer instances than this make changes in per cent that mean nothing.
FEWEST = 5


def judged(assessment: Assessment) -> tuple[Tone, str]:
    """Return the verdict as a colour and in a few words."""
    comparison = assessment.comparison
    if assessment.default is None:
        return "open", "No default to compare with"
    if comparison is None:
        return "open", "The default itself"
    where = "on average" if assessment.primary == "mean" else "on most instances"
    if assessment.grade == "better":
        return "good", f"Better {where}"
    if assessment.grade == "worse":
        return "bad", f"Worse {where}"
    if not _testable(assessment, comparison):
        return "open", "Better than the default? Not yet testable"
    if comparison.condition is not None:
        unsorted = comparison.condition == UNSORTED
        return "open", f"Only if {'instances are not sorted' if unsorted else 'not tuned on these'}"
    return "open", f"Not shown to be better {where}"


def verdict_of(assessment: Assessment, context: Context) -> str:
    """Return the answer in one or two sentences."""
    comparison = assessment.comparison
    if comparison is not None:
        return against_default(assessment, comparison, context)
    incumbent = called(assessment, assessment.incumbent)
    if assessment.default is not None:
        return opening(f"{incumbent} is still the best: nothing better was found.")
    # Without a default, the answer is the cost.
    return opening(_hidden(assessment, context, incumbent))


def beside(assessment: Assessment, context: Context) -> str:
    """Return the line below: secondary results and what training hides, or how it was chosen."""
    if assessment.default is not None:
        # A headline that could not test anything has the training costs already.
        comparison = assessment.comparison
        told = comparison is not None and not _testable(assessment, comparison)
        return (
            f"{_secondary(assessment, context)}{hidden(assessment, context, told=told)}"
            f"{in_a_line(assessment, context)}"
        )
    candidates = int((assessment.costs.runs > 0).sum())
    dropped = sum(assessment.log.left_out.values())
    adjusted = ", after adjusting for instance difficulty" if assessment.costs.adjusted else ""
    choice = f"It has the lowest training cost of {candidates:,} configurations{adjusted}."
    if candidates == 1:
        choice = "It is the only configuration with runs."
        if dropped:
            choice = f"It is the only configuration left: {counted(dropped, 'run')} were left out."
    elif assessment.costs.order[0] != assessment.own:
        choice = f"It was chosen out of {candidates:,}."
    return f"{choice}{_heaviest(assessment, context)}{in_a_line(assessment, context)}"


def against_default(assessment: Assessment, comparison: Comparison, context: Context) -> str:
    """Return whether it is better than the default, by the primary criterion."""
    if not _testable(assessment, comparison):
        return _untested(assessment, comparison, context)
    winner = called(assessment, comparison.configuration)
    default = called(assessment, comparison.default)
    relation, effect = _effect(assessment, context, assessment.primary)
    where = "" if assessment.scope.usual else f" {assessment.scope.phrase}"
    if effect:
        certain = sure(assessment.asked.delta)
        sentence = f"{winner} is {relation} than {default}{where}: {certain} {effect}."
    elif assessment.primary == "wins":
        sentence = (
            f"undecided{where}: the runs show neither a majority of wins of {winner} over {default} "
            "nor of losses."
        )
    else:
        what = "expected utility" if assessment.log.utility else "mean cost"
        sentence = (
            f"undecided{where}: the difference in {what} between {winner} and {default} lies "
            f"{_interval(assessment, comparison, context)}."
        )
    condition = "" if comparison.condition is None else f"if {comparison.condition}: "
    return opening(f"{condition}{sentence}")


def _testable(assessment: Assessment, comparison: Comparison) -> bool:
    """Whether these runs allow limits for the primary criterion."""
    return assessment.wins is not None if assessment.primary == "wins" else bool(comparison.method)


def _effect(assessment: Assessment, context: Context, criterion: str) -> tuple[str, str]:
    """Return "better" or "worse" by one criterion and by how much; empty if it is undecided."""
    comparison, wins = assessment.comparison, assessment.wins
    if criterion == "wins":
        if wins is not None and wins.limit > 0.5:
            return (
                "better",
                f"it wins at least {share_at_least(wins.limit)} of the runs{with_seed(wins)}",
            )
        if wins is not None and wins.opposite is not None and wins.opposite < 0.5:
            return (
                "worse",
                f"it wins at most {share_at_most(wins.opposite)} of the runs{with_seed(wins)}",
            )
    elif comparison is not None and comparison.upper is not None and comparison.lower is not None:
        utility = assessment.log.utility is not None
        what = "expected utility" if utility else "mean cost"
        down, up = ("higher", "lower") if utility else ("lower", "higher")
        if comparison.upper < 0:
            gain = context.cost(at_least(-comparison.upper))
            return "better", f"its {what} is at least {gain} {down}"
        if comparison.lower > 0:
            loss = context.cost(at_least(comparison.lower))
            return "worse", f"its {what} is at least {loss} {up}"
    return "", ""


def _secondary(assessment: Assessment, context: Context) -> str:
    """Return what the criterion that does not decide shows, if anything."""
    comparison = assessment.comparison
    if comparison is None or comparison.condition is not None:
        return ""
    other = "wins" if assessment.primary == "mean" else "mean"
    _, effect = _effect(assessment, context, other)
    return f"Secondary: {effect}. " if effect else ""


def _interval(assessment: Assessment, comparison: Comparison, context: Context) -> str:
    """Return both limits of the difference; each alone is wrong with probability δ."""
    low, high = comparison.lower or 0.0, comparison.upper or 0.0
    if assessment.log.utility is not None:
        low, high = -high, -low
    level = confidence(min(1.0, 2 * assessment.asked.delta))
    high_shown = context.cost(f"{'+' if high > 0 else ''}{at_most(high)}")
    return f"between {at_least(low)} and {high_shown} ({level} interval)"


def _untested(assessment: Assessment, comparison: Comparison, context: Context) -> str:
    """Return what is known where the primary criterion cannot be tested, and why it cannot."""
    winner = called(assessment, comparison.configuration)
    default = called(assessment, comparison.default)
    # The advice after the semicolon is part of the next steps.
    why = (comparison.reason or "").partition(";")[0]
    sentences = [f"Not yet testable: {why}."]
    certificate, pairs = assessment.certificate, assessment.pairs
    if certificate is not None and certificate.condition is None:
        sentences.insert(0, f"{certified(certificate, context, winner, assessment.log.utility)}.")
    if assessment.optimism.source == "test runs" and comparison.on == "training":
        test = context.cost(number(assessment.optimism.true_cost))
        known = f"{winner} costs {test} on average"
        if pairs.instances:
            known += f"; in training, {default} costs {context.cost(number(pairs.default.mean()))}"
        sentences.insert(0, f"On new instances, {known}.")
    elif pairs.instances and comparison.lowest == comparison.highest:
        costs = [
            context.cost(number(float(values.mean()))) for values in (pairs.own, pairs.default)
        ]
        tuned = ", tuned on, so optimistic" if assessment.adaptive else ""
        where = f"{counted(comparison.instances, f'common {comparison.on} instance')}"
        known = f"in {comparison.on}, {winner} costs {costs[0]} and {default} {costs[1]}"
        sentences.insert(
            0, f"{opening(known)} ({where}{tuned if comparison.on != 'test' else ''})."
        )
    return " ".join(sentences)


def certified(
    certificate: Certificate, context: Context, name: str, utility: str | None = None
) -> str:
    """Return the certificate as a sentence without its full stop."""
    what, limit = "mean cost", f"at most {context.cost(at_most(certificate.upper))}"
    if utility is not None:  # costs are 1 − utility
        what, limit = f"expected utility ({utility})", f"at least {at_least(1 - certificate.upper)}"
    usual = certificate.scope == NEW_INSTANCES.phrase
    where = "on new instances" if usual else certificate.scope
    sentence = f"{sure(certificate.delta)} the {what} of {name} {where} is {limit}"
    condition = "" if certificate.condition is None else f"if {certificate.condition}: "
    return opening(f"{condition}{sentence}")


def hidden(assessment: Assessment, context: Context, *, told: bool = False) -> str:
    """Return what the training cost hides, and the instance that dominates it, if one does.

    `told` if the reader knows the training cost.
    """
    # If a part of the instances chose another configuration, the headline is about that one.
    comparison = assessment.comparison
    same = comparison is None or comparison.configuration == assessment.incumbent
    subject = "it" if same else called(assessment, assessment.incumbent)
    told = told and same and bool(assessment.pairs.instances)
    text = f"{_hidden(assessment, context, subject, told)}{_heaviest(assessment, context)}"
    return text.strip()


def _heaviest(assessment: Assessment, context: Context) -> str:
    heaviest = assessment.heaviest
    if heaviest is None:
        return ""
    cost, share = context.cost(number(heaviest.cost)), percent(heaviest.share)
    instance = f"One instance alone, {heaviest.instance} with {cost},"
    return f" {instance} accounts for {share} of its {heaviest.on} cost."


def _hidden(assessment: Assessment, context: Context, subject: str, told: bool = False) -> str:
    optimism, costs, fresh = assessment.optimism, assessment.costs, assessment.scope.fresh
    training_cost = float(costs.training[assessment.own])
    training = context.cost(ends(costs.lowest[assessment.own], training_cost))
    true = context.cost(number(optimism.true_cost))
    change = f"{signed(optimism.percent, 2)} %" if shown_percent(assessment) else ""
    if optimism.source == "test runs":
        if told:
            return f"In training it cost {training}{f' ({change} on new instances)' if change else ''}."
        behind = f"{training} in training{f', {change}' if change else ''}"
        return f"{opening(fresh)} {subject} costs {true} on average ({behind})."
    if costs.guessed[assessment.own]:
        return _guess(assessment, subject)
    adjusted = _adjusted(assessment)
    where = f"in training{f' ({adjusted})' if adjusted else ''}"
    start = "" if told else f"{opening(subject)} costs {training} {where}."
    if len(assessment.log.matrix.instances) == 1 and assessment.scope.sampled == "instance":
        return f"{start} {_one_instance(assessment)}"
    if optimism.source == "fixed before":
        return f"{start} It was fixed before these runs, so expect the same {fresh}."
    if optimism.source == "unknown":
        error = optimism.selection_error
        if not error > 0 or not training_cost:
            return f"{start} Expect a higher cost {fresh}; these runs cannot say how much."
        higher = f"about {percent(error / abs(training_cost))} more"
        return (
            f"{start} Expect a higher cost {fresh}: cross-validation on the training "
            f"instances suggests {higher}; tuning on them probably makes the true gap larger."
        )
    if not math.isfinite(optimism.gap):
        return f"{start} {_one_instance(assessment)}"
    unknown = assessment.trajectory.proposed == "unknown" and assessment.asked.chosen is None
    if optimism.gap <= 0:
        tuned = "; if it was tuned on them, it can still be large" if unknown else ""
        return f"{start} These runs show no optimism{tuned}."
    behind = f" ({change})" if change else ""
    tuned = "; more if it was tuned on these" if unknown else ""
    expected = f"expect about {true} {fresh}{behind}{tuned}"
    return f"{start} Because it was picked for its low training cost, {expected}."


def shown_percent(assessment: Assessment) -> bool:
    """Whether the change in per cent is worth showing: a few instances can make it anything."""
    enough = assessment.spread.instances >= FEWEST
    return enough and math.isfinite(assessment.optimism.percent)


def _adjusted(assessment: Assessment) -> str:
    """Return what the runs themselves average, if adjusting for difficulty changes it."""
    plain, training = (
        float(costs[assessment.own])
        for costs in (assessment.costs.plain, assessment.costs.training)
    )
    if not assessment.costs.adjusted or number(plain) == number(training):
        return ""
    return f"adjusted for instance difficulty; its own runs average {number(plain)}"


def _guess(assessment: Assessment, subject: str) -> str:
    """Return why there is no mean cost: runs failed, and nobody knows what that costs."""
    failed = percent(float(assessment.failed[assessment.own]))
    return (
        f"{opening(subject)} fails in {failed} of its runs, and what a failed run costs is "
        "unknown, and so its mean cost is: give the largest possible cost (`high`)."
    )


def _one_instance(assessment: Assessment) -> str:
    """Return what a search on one instance, or on none, says about anything else."""
    if assessment.log.matrix.instances != (NO_INSTANCE,):
        return "One instance says nothing about others."
    if assessment.spread.runs > 1:
        return "There are no instances; its runs differ by their seeds only."
    return "It was run once, and there are no instances: that is its cost if seeds do not matter."


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
    training = float(known[assessment.own])
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
        errors = {"training": float(costs.standard_error[assessment.own])}
        if default is not None:
            place = assessment.matrix.configurations.index(default)
            errors["default"] = float(costs.standard_error[place])
        return {"training": training, "errors": errors, **finite}

    draw = drawing("glance", inputs, delta=assessment.asked.delta, unit=context.unit)
    note = "Thin lines: ± 2 standard errors over instances."
    certificate = assessment.certificate
    if certificate is not None and certificate.configuration == assessment.incumbent:
        note += " Bar: up to the guaranteed limit." if certificate.condition is None else ""
    return Figure("glance", "What the winner costs", (note,), draw)


def in_training(assessment: Assessment, context: Context) -> Fact:
    """Return the training cost, or its range."""
    place = assessment.own
    training, censored = float(assessment.costs.training[place]), int(assessment.censored[place])
    notes = [f"{counted(censored, 'run')} stopped at a cap"] if censored else []
    if adjusted := _adjusted(assessment):
        notes.append(adjusted)
    if assessment.costs.guessed[place]:
        notes.append("failed runs are charged the largest cost seen")
    note = "; ".join(notes)
    shown = ends(float(assessment.costs.lowest[place]), training)
    return Fact("training-cost", training, shown, unit=context.in_unit, note=note)


def true_cost(assessment: Assessment, context: Context) -> Fact | None:
    """Return the estimated cost on new instances, if there is one."""
    optimism = assessment.optimism
    if optimism.source == "unknown" or not math.isfinite(optimism.true_cost):
        return None
    if assessment.costs.guessed[assessment.own]:
        return None
    if len(assessment.log.matrix.instances) == 1 and optimism.source != "test runs":
        return None
    note = {
        "test runs": "mean of the test runs",
        "fixed before": "training cost; it was fixed before these runs",
    }.get(optimism.source, "training cost, corrected for the choice")
    shown = number(optimism.true_cost)
    return Fact("true-cost", optimism.true_cost, shown, unit=context.in_unit, note=note)


def _limit(assessment: Assessment, context: Context) -> Fact | None:
    """Return the upper limit of the true cost, if there is one."""
    certificate = assessment.certificate
    if certificate is None:
        return None
    notes = []
    if certificate.configuration != assessment.incumbent:
        notes.append(f"of configuration {certificate.configuration}")
    if certificate.condition is not None:
        unsorted = certificate.condition == UNSORTED
        notes.append("if in random order" if unsorted else "if not tuned on these")
    label = f"at most, {confidence(assessment.asked.delta)} confidence"
    shown, note = at_most(certificate.upper), ", ".join(notes)
    return Fact("interval", certificate.upper, shown, label, context.in_unit, note)


def _to_default(assessment: Assessment, comparison: Comparison, context: Context) -> Fact | None:
    """Return the mean difference to the default, if they have common instances."""
    names = assessment.matrix.configurations
    pair = [names.index(name) for name in (comparison.configuration, comparison.default)]
    if not comparison.instances or assessment.costs.guessed[pair].any():
        return None
    note = f"on {counted(comparison.instances, f'{comparison.on} instance')}"
    if comparison.configuration != assessment.incumbent:
        note = f"of {called(assessment, comparison.configuration)}, {note}"
    if comparison.lower is not None and comparison.upper is not None:
        level = confidence(min(1.0, 2 * assessment.asked.delta))
        note += f"; {level} interval {limits(comparison.lower, comparison.upper)}"
    value, shown = comparison.observed, difference(comparison)
    expected = assessment.expected_difference
    if expected is not None and comparison.lowest == comparison.highest:
        # What was observed is too good by what choosing adds: show what to expect.
        value, shown, note = expected, signed(expected), f"corrected for the choice; {shown} {note}"
    return Fact("difference", value, shown, unit=context.in_unit, note=note)


def difference(comparison: Comparison, sign: int = 1) -> str:
    """Return the mean difference, or its range; a sign of −1 turns it into one of utilities."""
    low, high = (signed(sign * end) for end in (comparison.lowest, comparison.highest)[::sign])
    return signed(sign * comparison.observed) if low == high else f"{low} to {high}"


def _bottleneck(assessment: Assessment) -> Fact:
    noise = assessment.noise
    note = ""
    if noise.within + noise.across > 0:
        low, high = percent(noise.share_low), percent(noise.share_high)
        note = f"{low} to {high} of a run's variance is between instances"
    return Fact("bottleneck", noise.bottleneck, f"too few {noise.bottleneck}", note=note)
