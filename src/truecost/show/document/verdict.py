"""The verdict: badge, headline, what the training cost hides, and the numbers beside them.

Badge, colour and headline follow the primary criterion only; other results go on a neutral second
line.
"""

import math

from truecost.judge.assessment import Assessment
from truecost.judge.evidence import UNSORTED
from truecost.judge.margin import NonInferiority
from truecost.judge.refusal import Refusal
from truecost.judge.statements import Certificate, Comparison, Grade
from truecost.runs import NO_INSTANCE
from truecost.show.blocks import Tone
from truecost.show.document.about import in_a_line
from truecost.show.document.context import (
    Context,
    called,
    mean_scale,
    opening,
    scale_of,
    sure,
    units,
)
from truecost.show.document.wording import COST, SCORE, Scale, with_seed
from truecost.show.numbers import (
    at_least,
    at_most,
    confidence,
    counted,
    ends,
    number,
    percent,
    share_at_least,
    share_at_most,
    signed,
)

# Fewer sampling units than this make changes in per cent that mean nothing.
FEWEST = 8
BADGES: dict[tuple[str, Grade], tuple[Tone, str]] = {
    ("mean", "better"): ("good", "Better on average"),
    ("mean", "worse"): ("bad", "Worse on average"),
    ("mean", "open"): ("open", "Not shown to be better on average"),
    ("wins", "better"): ("good", "Wins more often than the default"),
    ("wins", "worse"): ("bad", "Loses more often than the default"),
    ("wins", "open"): ("open", "Not shown to win more often"),
}


def judged(assessment: Assessment) -> tuple[Tone, str]:
    """Return the verdict as a colour and in a few words."""
    comparison = assessment.comparison
    if assessment.default is None:
        return _best_of_list(assessment)
    if comparison is None:
        return "open", "The default itself"
    if not _testable(assessment, comparison):
        return "open", "Better than the default? Not yet testable"
    grade = assessment.grade_if_met
    tone, badge = BADGES[assessment.primary, grade]
    if comparison.condition is not None and grade != "open":
        tone, badge = "open", f"{badge}, {if_met(comparison.condition)}"
    return with_margin(assessment, tone, badge)


def _best_of_list(assessment: Assessment) -> tuple[Tone, str]:
    """Return the badge of a list without a default: whether the winner is the best of it."""
    sets = assessment.beside.whole_list
    if isinstance(sets, Refusal):
        return "open", "No default to compare with"
    met = "" if sets.condition is None else f", {if_met(sets.condition)}"
    if sets.may_be_best == (assessment.incumbent,):
        tone: Tone = "open" if met else "good"
        return tone, f"Best of {sets.configurations:,}{met}"
    return "open", f"{len(sets.may_be_best):,} of {sets.configurations:,} may be the best{met}"


def with_margin(assessment: Assessment, tone: Tone, badge: str) -> tuple[Tone, str]:
    """Return a badge with the answer about the margin, which is a question of its own: the primary
    criterion says nothing about it, but for a mean that is shown better.
    """
    answer = assessment.beside.non_inferiority
    if not isinstance(answer, NonInferiority) or (assessment.primary == "mean" and tone == "good"):
        return tone, badge
    within = f"at most {answer.margin} worse"
    if not answer.shown:
        return tone, f"{badge}; not shown to be {within}"
    if assessment.grade == "open":
        return "good", f"{opening(within)}; {badge[0].lower()}{badge[1:]}"
    return tone, f"{badge}; {within}{' on average' if assessment.primary == 'wins' else ''}"


def if_met(condition: str) -> str:
    """Return a condition in a few words."""
    return "if in random order" if condition == UNSORTED else "if not tuned on these"


def verdict_of(assessment: Assessment, context: Context) -> str:
    """Return the answer in one or two sentences."""
    comparison = assessment.comparison
    if comparison is not None:
        return against_default(assessment, comparison, context)
    if assessment.default is not None:
        return _default_itself(assessment)
    # Without a default, the answer is the cost.
    return opening(_hidden(assessment, context, called(assessment, assessment.incumbent)))


def _default_itself(assessment: Assessment) -> str:
    candidates, scale = int((assessment.costs.runs > 0).sum()), scale_of(assessment)
    if candidates == 1:
        return "Only the default has runs: there is nothing to compare it with."
    if assessment.question.configuration is not None:
        return "This is the default itself: there is nothing to compare it with."
    if assessment.costs.order[0] == assessment.place:
        return opening(
            f"none of the {candidates:,} configurations has a {scale.lower} training {scale.noun} "
            "than the default."
        )
    return "The search returned the default itself."


def beside(assessment: Assessment, context: Context) -> str:
    """Return the line below: secondary results and what training hides, or how it was chosen."""
    if assessment.default is not None:
        # A headline that could not test anything has the training costs already.
        comparison = assessment.comparison
        known = comparison is not None and not _testable(assessment, comparison)
        return (
            f"{secondary(assessment, context)}{hidden(assessment, context, known=known)}"
            f"{in_a_line(assessment, context)}"
        )
    candidates, scale = int((assessment.costs.runs > 0).sum()), scale_of(assessment)
    dropped = sum(assessment.log.left_out.values())
    adjusted = ", after adjusting for instance difficulty" if assessment.costs.adjusted else ""
    best = "lowest" if scale.sign > 0 else "highest"
    choice = f"It has the {best} training {scale.noun} of {candidates:,} configurations{adjusted}."
    if candidates == 1:
        choice = "It is the only configuration with runs."
        if dropped:
            choice = f"It is the only configuration left: {counted(dropped, 'run')} were left out."
    elif assessment.costs.order[0] != assessment.place:
        choice = f"It was selected from {candidates:,} configurations."
    else:
        choice += _next_best(assessment, context)
    return f"{choice}{_heaviest(assessment, context)}{in_a_line(assessment, context)}"


def _next_best(assessment: Assessment, context: Context) -> str:
    """Return who comes second, and how many may be the best."""
    costs, scale, sets = assessment.costs, scale_of(assessment), assessment.beside.whole_list
    if len(costs.order) < 2 or not costs.ranked[costs.order[1]]:
        return ""
    second = int(costs.order[1])
    value = context.cost(number(scale.value(float(costs.training[second]))))
    text = f" The next, {assessment.matrix.configurations[second]}, {scale.verb} {value}."
    if isinstance(sets, Refusal):
        return text
    may, sure_of = len(sets.may_be_best), sure(sets.delta)
    who = "only it" if sets.may_be_best == (assessment.incumbent,) else f"any of {may:,}"
    condition = "" if sets.condition is None else f", {if_met(sets.condition)}"
    return f"{text} {opening(sure_of)} {who} may be the truly best{condition}."


def against_default(assessment: Assessment, comparison: Comparison, context: Context) -> str:
    """Return whether it is better than the default, by the primary criterion."""
    if not _testable(assessment, comparison):
        return _untested(assessment, comparison, context)
    winner = called(assessment, comparison.configuration)
    default = called(assessment, comparison.default)
    relation, effect = _effect(assessment, context, assessment.primary)
    where, condition = assessment.scope.phrase, comparison.condition
    if effect:
        certain = sure(assessment.question.delta)
        sentence = f"{winner} is {relation} than {default} {where}: {certain} {effect}."
    elif assessment.primary == "wins":
        sentence = (
            f"undecided {where}: the runs show neither a majority of wins of {winner} over {default} "
            "nor of losses."
        )
    else:
        what = mean_scale(assessment).mean
        sentence = (
            f"undecided {where}: the difference in {what} between {winner} and {default} lies "
            f"{_interval(assessment, comparison, context)}."
        )
    if condition is not None:
        sentence = f"if {condition}, {'' if effect else 'it is '}{sentence}"
    return opening(sentence)


def _testable(assessment: Assessment, comparison: Comparison) -> bool:
    """Whether these runs allow limits for the primary criterion."""
    return assessment.wins is not None if assessment.primary == "wins" else bool(comparison.method)


def _effect(assessment: Assessment, context: Context, criterion: str) -> tuple[str, str]:
    """Return "better" or "worse" by one criterion and by how much; empty if it is undecided."""
    comparison, wins = assessment.comparison, assessment.wins
    if criterion == "wins":
        if wins is not None and wins.limit > 0.5:
            share = share_at_least(wins.limit)
            least = "more than 50 %" if share == "50 %" else f"at least {share}"
            return "better", f"it wins {least} of the runs{with_seed(wins)}"
        if wins is not None and wins.opposite is not None and wins.opposite < 0.5:
            share = share_at_most(wins.opposite)
            most = "less than 50 %" if share == "50 %" else f"at most {share}"
            return "worse", f"it wins {most} of the runs{with_seed(wins)}"
    elif comparison is not None and comparison.upper is not None and comparison.lower is not None:
        scale = mean_scale(assessment)
        if comparison.upper < 0:
            gain = context.cost(at_least(-comparison.upper))
            return "better", f"its {scale.mean} is at least {gain} {scale.lower}"
        if comparison.lower > 0:
            loss = context.cost(at_least(comparison.lower))
            return "worse", f"its {scale.mean} is at least {loss} {scale.higher}"
    return "", ""


def secondary(assessment: Assessment, context: Context) -> str:
    """Return what the criterion that does not decide shows, if anything."""
    comparison = assessment.comparison
    if comparison is None or comparison.condition is not None:
        return ""
    other = "wins" if assessment.primary == "mean" else "mean"
    _, effect = _effect(assessment, context, other)
    return f"Secondary: {effect}. " if effect else ""


def _interval(assessment: Assessment, comparison: Comparison, context: Context) -> str:
    """Return both limits of the difference; each alone is wrong with probability δ."""
    scale = mean_scale(assessment)._replace(origin=0.0)
    low, high = scale.range(comparison.lower or 0.0, comparison.upper or 0.0)
    high_shown = context.cost(f"{'+' if high > 0 else ''}{at_most(high)}")
    return f"between {at_least(low)} and {high_shown} ({both_sides(assessment)} interval)"


def both_sides(assessment: Assessment) -> str:
    """Return the confidence of two limits together, each wrong with probability δ."""
    return confidence(min(1.0, 2 * assessment.question.delta))


def _untested(assessment: Assessment, comparison: Comparison, context: Context) -> str:
    """Return what is known where the primary criterion cannot be tested, and why it cannot."""
    winner = called(assessment, comparison.configuration)
    default = called(assessment, comparison.default)
    scale = scale_of(assessment)
    decisive = assessment.paired["wins" if assessment.primary == "wins" else "difference"]
    # The advice after the semicolon is part of the next steps.
    why = getattr(decisive, "reason", "").partition(";")[0]
    sentences = [f"Not yet testable: {why}."]
    certificate, pairs = assessment.certificate, assessment.pairs
    if certificate is not None and certificate.condition is None:
        sentences.insert(0, f"{certified(assessment, certificate, context, winner)}.")
    unknown = guessed(assessment, comparison)
    if assessment.optimism.source == "test runs" and comparison.on == "training":
        test = context.cost(number(scale.value(assessment.optimism.true_cost)))
        known = f"{winner} {scale.verb} {test} on average"
        if pairs.instances and not unknown:
            rival = context.cost(number(scale.value(pairs.default.mean())))
            known += f"; in training, {default} {scale.verb} {rival}"
        sentences.insert(0, f"On new {assessment.scope.plural}, {known}.")
    elif pairs.instances and comparison.lowest == comparison.highest and not unknown:
        costs = [
            context.cost(number(scale.value(float(values.mean()))))
            for values in (pairs.winner, pairs.default)
        ]
        tuned = assessment.adaptive and comparison.on != "test"
        where = units(assessment, comparison.instances, f"common {comparison.on}")
        known = f"in {comparison.on}, {winner} {scale.verb} {costs[0]} and {default} {costs[1]}"
        sentences.insert(
            0, f"{opening(known)} ({where}{', tuned on, so optimistic' if tuned else ''})."
        )
    return " ".join(sentences)


def guessed(assessment: Assessment, comparison: Comparison) -> bool:
    """Whether a mean of the two has costs of failed runs that nobody knows."""
    names = assessment.matrix.configurations
    pair = [names.index(name) for name in (comparison.configuration, comparison.default)]
    return comparison.on == "training" and bool(assessment.costs.guessed[pair].any())


def certified(
    assessment: Assessment | None, certificate: Certificate, context: Context, name: str
) -> str:
    """Return the certificate as a sentence without its full stop."""
    alone = SCORE if certificate.maximised else COST
    scale: Scale = alone if assessment is None else mean_scale(assessment)
    utility = None if assessment is None else assessment.log.utility
    what = f"{scale.mean} ({utility})" if utility is not None else scale.mean
    where = f"{certificate.scope}," if "," in certificate.scope else certificate.scope
    limit = scale.limit(certificate.upper)
    limit = limit if utility is not None else context.cost(limit)
    sentence = f"{sure(certificate.delta)} the {what} of {name} {where} is {limit}"
    condition = "" if certificate.condition is None else f"if {certificate.condition}, "
    return opening(f"{condition}{sentence}")


def hidden(assessment: Assessment, context: Context, *, known: bool = False) -> str:
    """Return what the training cost hides, and the instance that dominates it, if one does.

    `known` if the reader has seen the training cost.
    """
    # If a part of the instances chose another configuration, the headline is about that one.
    comparison = assessment.comparison
    same = comparison is None or comparison.configuration == assessment.incumbent
    subject = "it" if same else called(assessment, assessment.incumbent)
    known = known and same and bool(assessment.pairs.instances)
    text = f"{_hidden(assessment, context, subject, known)}{_heaviest(assessment, context)}"
    return text.strip()


def _heaviest(assessment: Assessment, context: Context) -> str:
    heaviest = assessment.beside.heaviest
    if heaviest is None or assessment.costs.guessed[assessment.place]:
        return ""
    cost, share = context.cost(number(heaviest.cost)), percent(heaviest.share)
    unit = f"One {assessment.scope.unit} alone, {heaviest.instance} with {cost},"
    return f" {unit} accounts for {share} of its {heaviest.on} cost."


def _hidden(assessment: Assessment, context: Context, subject: str, known: bool = False) -> str:
    optimism, costs, fresh = assessment.optimism, assessment.costs, assessment.scope.fresh
    scale = scale_of(assessment)
    training_cost = float(costs.training[assessment.place])
    training = context.cost(
        ends(*scale.range(float(costs.lowest[assessment.place]), training_cost))
    )
    change = f"{signed(scale.sign * optimism.percent, 2)} %" if shown_percent(assessment) else ""
    if optimism.source == "test runs":
        if known:
            behind = f" ({change} {fresh})" if change else ""
            return f"Its training {scale.noun} was {training}{behind}."
        true = context.cost(number(scale.value(optimism.true_cost)))
        behind = f"{training} in training{f', {change}' if change else ''}"
        return f"{opening(fresh)} {subject} {scale.verb} {true} on average ({behind})."
    if costs.guessed[assessment.place]:
        return _guess(assessment, subject)
    adjusted = adjusted_from(assessment)
    where = f"in training{f' ({adjusted})' if adjusted else ''}"
    start = "" if known else f"{opening(subject)} {scale.verb} {training} {where}. "
    if len(assessment.log.matrix.instances) == 1 and assessment.scope.sampled == "instance":
        return f"{start}{_one_instance(assessment)}"
    if optimism.source == "fixed before":
        return f"{start}It was fixed before these runs, so expect the same {fresh}."
    if optimism.source == "unknown":
        error = optimism.selection_error
        expect = f"Expect a {scale.higher} {scale.noun} {fresh}"
        if assessment.scope.reweighted:
            given = "in the given mix" if assessment.scope.mix else "with the given weights"
            return f"{start}What to expect {given} is not estimated beyond the limits."
        if assessment.scope.about == "these":
            return f"{start}{expect} if seeds matter; these runs cannot say how much."
        if not error > 0 or not training_cost:
            return f"{start}{expect}; these runs cannot say how much."
        change = f"about {percent(error / abs(training_cost))} {scale.more}"
        return (
            f"{start}{expect}: cross-validation on the training instances suggests {change}; "
            "tuning on them probably makes the true gap larger."
        )
    if not math.isfinite(optimism.gap):
        return f"{start}{_one_instance(assessment)}"
    return f"{start}{_expected(assessment, context, change)}"


def _expected(assessment: Assessment, context: Context, change: str) -> str:
    """Return what to expect on new instances by what splits of these show."""
    optimism, fresh, scale = assessment.optimism, assessment.scope.fresh, scale_of(assessment)
    # Nobody tunes the default.
    unknown = assessment.trajectory.proposed == "unknown" and assessment.question.chosen is None
    unknown = unknown and assessment.incumbent != assessment.default
    if int((assessment.costs.runs > 0).sum()) == 1:
        tuned = f"; a {scale.higher} {scale.noun} if it was tuned on these" if unknown else ""
        return f"Nothing was chosen by these runs, so expect about the same {fresh}{tuned}."
    true = context.cost(expected_cost(assessment))
    tuned = "; if it was tuned on them, it can still be large" if unknown else ""
    if optimism.gap <= 0:
        return f"Cross-validation shows no optimism{tuned}."
    if true == context.cost(
        number(scale.value(float(assessment.costs.training[assessment.place])))
    ):
        shown = f" ({change})" if change else ""
        return f"Cross-validation shows hardly any optimism{shown}{tuned}."
    behind = f" ({change})" if change else ""
    tuned = f"; {scale.more} if it was tuned on these" if unknown else ""
    picked = f"Because it was picked for its {scale.low} training {scale.noun}"
    return f"{picked}, expect about {true} {fresh}{behind}{tuned}."


def expected_cost(assessment: Assessment) -> str:
    """Write the estimated cost on new instances; a range where runs were stopped at a cap."""
    optimism, costs, own = assessment.optimism, assessment.costs, assessment.place
    low, high = float(costs.lowest[own]), float(costs.training[own])
    if optimism.source == "test runs" or not low < high:
        low = high = 0.0
    scale = scale_of(assessment)
    return ends(*scale.range(optimism.true_cost - (high - low), optimism.true_cost))


def shown_percent(assessment: Assessment) -> bool:
    """Whether the change in per cent is worth showing: a few instances can make it anything."""
    enough = assessment.spread.instances >= FEWEST
    return enough and math.isfinite(assessment.optimism.percent)


def adjusted_from(assessment: Assessment) -> str:
    """Return what the runs themselves average, if adjusting for difficulty changes it."""
    plain, training = (
        number(scale_of(assessment).value(float(costs[assessment.place])))
        for costs in (assessment.costs.plain, assessment.costs.training)
    )
    if not assessment.costs.adjusted or plain == training:
        return ""
    return f"adjusted for instance difficulty; its own runs average {plain}"


def _guess(assessment: Assessment, subject: str) -> str:
    """Return why there is no mean cost: runs failed, and nobody knows what that costs."""
    failed = percent(float(assessment.failed[assessment.place]))
    return (
        f"{opening(subject)} fails in {failed} of its runs. What a failed run costs is unknown, so "
        "its mean cost is unknown, too: give the largest possible cost (`high`)."
    )


def _one_instance(assessment: Assessment) -> str:
    """Return what a search on one instance, or on none, says about anything else."""
    if assessment.log.matrix.instances != (NO_INSTANCE,):
        return "One instance says nothing about others."
    if assessment.spread.runs > 1:
        return "There are no instances; its runs differ by their seeds only."
    noun = scale_of(assessment).noun
    return (
        f"It was run once, and there are no instances: that is its {noun} if seeds do not matter."
    )
