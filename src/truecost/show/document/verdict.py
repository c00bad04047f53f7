"""The verdict: badge, headline, what the training cost hides, and the numbers beside them.

Badge, colour and headline follow the primary criterion only; other results go on a neutral second
line.
"""

import math

from truecost.errors import Refusal
from truecost.judge.assessment import Assessment
from truecost.judge.evidence import UNSORTED
from truecost.judge.question import NonInferiority
from truecost.judge.statements import Certificate, Comparison, Grade
from truecost.show.blocks import Tone
from truecost.show.document.about import in_a_line
from truecost.show.document.context import COST, SCORE, Case, opening, sure, with_seed
from truecost.show.numbers import (
    about_percent,
    at_least,
    at_most,
    confidence,
    ends,
    number,
    percent,
    share_at_least,
    share_at_most,
    signed,
)

# Fewer sampling units than this make changes in per cent that mean nothing.
FEWEST = 8
# Statements about a mix of families, or with weights, are weighted; plain means are not.
UNMIXED = "all instances weighted equally"
BADGES: dict[tuple[str, Grade], tuple[Tone, str]] = {
    ("mean", "better"): ("good", "Better on average"),
    ("mean", "worse"): ("bad", "Worse on average"),
    ("mean", "open"): ("open", "Not shown to be better on average"),
    ("wins", "better"): ("good", "Wins more often than the default"),
    ("wins", "worse"): ("bad", "Loses more often than the default"),
    ("wins", "open"): ("open", "Not shown to win more often"),
}


def judged(case: Case) -> tuple[Tone, str]:
    """Return the verdict as a colour and in a few words."""
    comparison = case.assessment.comparison
    if case.assessment.default is None:
        return _best_of_list(case.assessment)
    if comparison is None:
        return "open", "The default itself"
    if not _testable(case, comparison):
        return "open", "Better than the default? Not yet testable"
    grade = case.assessment.grade_if_met
    tone, badge = BADGES[case.assessment.primary, grade]
    if comparison.condition is not None and grade != "open":
        tone, badge = "open", f"{badge}, {if_met(comparison.condition)}"
    return with_margin(case.assessment, tone, badge)


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


def verdict_of(case: Case) -> str:
    """Return the answer in one or two sentences."""
    comparison = case.assessment.comparison
    if comparison is not None:
        return against_default(case, comparison)
    if case.assessment.default is not None:
        return _default_itself(case)
    # Without a default, the answer is the cost.
    return opening(_hidden(case, case.winner))


def _default_itself(case: Case) -> str:
    candidates, scale = int((case.assessment.costs.runs > 0).sum()), case.mean_scale
    if candidates == 1:
        return "Only the default has runs: there is nothing to compare it with."
    if case.assessment.question.configuration is not None:
        return "This is the default itself: there is nothing to compare it with."
    if case.assessment.costs.order[0] == case.assessment.place:
        return (
            f"None of the {candidates:,} configurations has a {scale.lower} training {scale.noun} "
            "than the default."
        )
    return "The search returned the default itself."


def beside(case: Case) -> str:
    """Return the line below: secondary results and what training hides, or how it was chosen."""
    assessment = case.assessment
    if assessment.default is not None:
        # A headline that could not test anything has the training costs already.
        comparison = assessment.comparison
        known = comparison is not None and not _testable(case, comparison)
        return f"{secondary(case)}{hidden(case, known=known)}{in_a_line(case)}"
    candidates, scale = int((assessment.costs.runs > 0).sum()), case.mean_scale
    omitted = assessment.log.omitted
    adjusted = ", after adjusting for instance difficulty" if assessment.costs.adjusted else ""
    best = "lowest" if scale.sign > 0 else "highest"
    choice = f"It has the {best} training {scale.noun} of {candidates:,} configurations{adjusted}."
    if candidates == 1:
        choice = "It is the only configuration with runs."
        if omitted:
            were = "was" if sum(assessment.log.left_out.values()) == 1 else "were"
            choice = f"It is the only configuration left: {omitted} {were} left out."
    elif assessment.costs.order[0] != assessment.place:
        choice = f"It was selected from {candidates:,} configurations."
    else:
        choice += _next_best(case)
    return f"{choice}{_heaviest(case)}{in_a_line(case)}"


def _next_best(case: Case) -> str:
    """Return who comes second, and how many may be the best."""
    costs, sets = case.assessment.costs, case.assessment.beside.whole_list
    if len(costs.order) < 2 or not costs.ranked[costs.order[1]]:
        return ""
    second = int(costs.order[1])
    name, value = case.assessment.matrix.configurations[second], float(costs.training[second])
    text = f" The second, configuration {name}, {case.mean_scale.verb} {case.amount(value)}."
    if isinstance(sets, Refusal):
        return text
    alone = sets.may_be_best == (case.assessment.incumbent,)
    who = "only it" if alone else f"any of {len(sets.may_be_best):,}"
    condition = "" if sets.condition is None else f", {if_met(sets.condition)}"
    return f"{text} {opening(sure(sets.delta))} {who} may be the truly best{condition}."


def against_default(case: Case, comparison: Comparison) -> str:
    """Return whether it is better than the default, by the primary criterion."""
    if not _testable(case, comparison):
        return _untested(case, comparison)
    winner, default = case.pair(comparison)
    relation, effect = _effect(case, case.assessment.primary)
    where, condition = case.assessment.scope.phrase, comparison.condition
    if effect:
        certain = sure(case.assessment.question.delta)
        sentence = f"{winner} is {relation} than {default} {where}: {certain} {effect}"
        sentence += f"{_observed(case, comparison)}."
    elif case.assessment.primary == "wins":
        sentence = (
            f"undecided {where}: the runs show neither a majority of wins of {winner} over "
            f"{default} nor of losses."
        )
    else:
        sentence = (
            f"undecided {where}: the difference in {case.criterion} between {winner} and "
            f"{default} lies "
            f"{_interval(case, comparison)}."
        )
    if condition is not None:
        sentence = f"if {condition}, {'' if effect else 'it is '}{sentence}"
    return opening(sentence)


def _testable(case: Case, comparison: Comparison) -> bool:
    """Whether these runs allow limits for the primary criterion."""
    if case.assessment.primary == "wins":
        return case.assessment.wins is not None
    return bool(comparison.method)


def _effect(case: Case, criterion: str) -> tuple[str, str]:
    """Return "better" or "worse" by one criterion and by how much; empty if it is undecided."""
    comparison, wins = case.assessment.comparison, case.assessment.wins
    if criterion == "wins":
        # Rounded to 50 %, "at least" or "at most" would not say that a majority is shown.
        if wins is not None and wins.limit > 0.5:
            share = share_at_least(wins.limit)
            least = "more than 50 %" if share == "50 %" else f"at least {share}"
            return "better", f"it wins {least} of the runs{with_seed(wins)}"
        if wins is not None and wins.opposite is not None and wins.opposite < 0.5:
            share = share_at_most(wins.opposite)
            most = "less than 50 %" if share == "50 %" else f"at most {share}"
            return "worse", f"it wins {most} of the runs{with_seed(wins)}"
    elif comparison is not None and comparison.upper is not None and comparison.lower is not None:
        scale = case.mean_scale
        if comparison.upper < 0:
            gain = case.cost(at_least(-comparison.upper))
            return "better", f"its {scale.mean} is at least {gain} {scale.lower}"
        if comparison.lower > 0:
            loss = case.cost(at_least(comparison.lower))
            return "worse", f"its {scale.mean} is at least {loss} {scale.higher}"
    return "", ""


def _observed(case: Case, comparison: Comparison) -> str:
    """Return the observed effect beside the guaranteed one, where no capped run hides it."""
    if case.assessment.primary == "wins" and case.assessment.wins is not None:
        value = percent(case.assessment.wins.observed)
    elif comparison.lowest == comparison.highest:
        value = case.cost(number(abs(comparison.observed)))
    else:
        return ""
    # Stopping at the first look that shows a difference favours samples with a large one.
    early = case.assessment.trajectory.watched is not None
    return f" (observed: {value}{', which early stopping tends to overstate' if early else ''})"


def secondary(case: Case) -> str:
    """Return what the criterion that does not decide shows, if anything."""
    comparison = case.assessment.comparison
    if comparison is None or comparison.condition is not None:
        return ""
    _, effect = _effect(case, "wins" if case.assessment.primary == "mean" else "mean")
    return f"Secondary: {effect}. " if effect else ""


def _interval(case: Case, comparison: Comparison) -> str:
    """Return both limits of the difference."""
    # Each alone is wrong with probability δ.
    scale = case.apart_scale
    low, high = scale.range(comparison.lower or 0.0, comparison.upper or 0.0)
    high_shown = case.cost(f"{'+' if high > 0 else ''}{at_most(high)}")
    return f"between {at_least(low)} and {high_shown} ({each_limit(case)})"


def each_limit(case: Case) -> str:
    """Return the confidence of two limits, each wrong with probability δ."""
    return f"each limit with {confidence(case.assessment.question.delta)} confidence"


def _untested(case: Case, comparison: Comparison) -> str:
    """Return what is known where the primary criterion cannot be tested, and why it cannot."""
    assessment, scale = case.assessment, case.mean_scale
    winner, default = case.pair(comparison)
    decisive = assessment.paired["wins" if assessment.primary == "wins" else "difference"]
    # The advice after the semicolon is part of the next steps.
    why = getattr(decisive, "reason", "").partition(";")[0]
    sentences = [f"Not yet testable: {why}."]
    certificate, pairs = assessment.certificate, assessment.pairs
    if certificate is not None and certificate.condition is None:
        sentences.insert(0, f"{certified(case, certificate)}.")
    unknown = guessed(case, comparison)
    if assessment.optimism.source == "test runs" and comparison.on == "training":
        test = case.amount(assessment.optimism.true_cost)
        known = f"{winner} {scale.verb} {test} on average"
        # As in the figure below: over all its training instances, not only the common ones.
        place, costs = assessment.matrix.configurations.index(comparison.default), assessment.costs
        rival = float(costs.training[place])
        if math.isfinite(rival) and costs.lowest[place] == rival and not unknown:
            known += f"; in training, {default} {scale.verb} {case.amount(rival)}"
        sentences.insert(0, f"On new {assessment.scope.plural}, {known}.")
    elif pairs.instances and comparison.lowest == comparison.highest and not unknown:
        ours, theirs = (case.amount(float(v.mean())) for v in (pairs.winner, pairs.default))
        where = case.units(comparison.instances, f"common {comparison.on}")
        if assessment.adaptive and comparison.on != "test":
            where += ", tuned on, so optimistic"
        known = f"in {comparison.on}, {winner} {scale.verb} {ours} and {default} {theirs}"
        sentences.insert(0, f"{opening(known)} ({where}).")
    return " ".join(sentences)


def guessed(case: Case, comparison: Comparison) -> bool:
    """Whether a mean of the two has costs of failed runs that nobody knows."""
    names = case.assessment.matrix.configurations
    pair = [names.index(name) for name in (comparison.configuration, comparison.default)]
    return comparison.on == "training" and bool(case.assessment.costs.guessed[pair].any())


def certified(case: Case | None, certificate: Certificate) -> str:
    """Return the certificate as a sentence without its full stop; of a case, in its words."""
    alone = SCORE if certificate.maximised else COST
    scale = alone if case is None else case.mean_scale
    what, limit = scale.mean, scale.limit(certificate.upper)
    name = f"configuration {certificate.configuration}"
    if case is not None:
        name, utility = case.called(certificate.configuration), case.assessment.log.utility
        if utility is None:
            limit = case.cost(limit)
        else:
            what += f" ({utility})"
    where = f"{certificate.scope}," if "," in certificate.scope else certificate.scope
    sentence = f"{sure(certificate.delta)} the {what} of {name} {where} is {limit}"
    condition = "" if certificate.condition is None else f"if {certificate.condition}, "
    return opening(f"{condition}{sentence}")


def hidden(case: Case, *, known: bool = False) -> str:
    """Return what the training cost hides, and the instance that dominates it, if one does.

    `known` if the reader has seen the training cost.
    """
    # If a part of the instances chose another configuration, the headline is about that one.
    comparison = case.assessment.comparison
    same = comparison is None or comparison.configuration == case.assessment.incumbent
    subject = "it" if same else case.winner
    # An adjusted cost is not the mean that the reader has seen.
    known = known and same and bool(case.assessment.pairs.instances) and not adjusted_from(case)
    text = f"{_hidden(case, subject, known)}{_heaviest(case)}"
    return text.strip()


def _heaviest(case: Case) -> str:
    heaviest = case.assessment.beside.heaviest
    if heaviest is None or case.assessment.costs.guessed[case.assessment.place]:
        return ""
    if case.mean_scale.origin:
        return ""  # a utility has no such share
    cost, share = case.cost(number(heaviest.cost)), percent(heaviest.share)
    unit = f"One {case.assessment.scope.unit} alone, {heaviest.instance} with {cost},"
    return f" {unit} accounts for {share} of its {heaviest.on} cost."


def _hidden(case: Case, subject: str, known: bool = False) -> str:
    assessment, scale = case.assessment, case.mean_scale
    optimism, costs, fresh = assessment.optimism, assessment.costs, assessment.scope.fresh
    training_cost = float(costs.training[assessment.place])
    training = case.cost(ends(*scale.range(float(costs.lowest[assessment.place]), training_cost)))
    change = f"{signed(scale.sign * optimism.percent, 2)} %" if shown_percent(case) else ""
    if optimism.source == "test runs":
        if known:
            behind = f" ({change} {fresh})" if change else ""
            return f"Its training {scale.noun} was {training}{behind}."
        true = case.amount(optimism.true_cost)
        behind = f"{training} in training{f', {change}' if change else ''}"
        return f"{opening(fresh)} {subject} {scale.verb} {true} on average ({behind})."
    if costs.guessed[assessment.place]:
        failed = percent(float(assessment.failed[assessment.place]))
        return (
            f"{opening(subject)} fails in {failed} of its runs. What a failed run costs is "
            "unknown, so its mean cost is unknown, too: give the largest possible cost (`high`)."
        )
    notes = filter(None, (adjusted_from(case), UNMIXED if assessment.scope.reweighted else ""))
    behind = "; ".join(notes)
    where = f"in training{f' ({behind})' if behind else ''}"
    start = "" if known else f"{opening(subject)} {scale.verb} {training} {where}. "
    if len(assessment.log.matrix.instances) == 1 and assessment.scope.sampled == "instance":
        return f"{start}{_one_instance(case)}"
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
        whole = abs(scale.value(training_cost))
        if not error > 0 or not whole:
            return f"{start}{expect}; these runs cannot say how much."
        change = f"{about_percent(error / whole)} {scale.more}"
        return (
            f"{start}{expect}: cross-validation on the training instances suggests {change}; "
            "tuning on them probably makes the true gap larger."
        )
    if not math.isfinite(optimism.gap):
        return f"{start}{_one_instance(case)}"
    return f"{start}{_expected(case, change)}"


def _expected(case: Case, change: str) -> str:
    """Return what to expect on new instances by what splits of these show."""
    assessment = case.assessment
    optimism, fresh, scale = assessment.optimism, assessment.scope.fresh, case.mean_scale
    # Nobody tunes the default.
    unknown = assessment.trajectory.proposed == "unknown" and assessment.question.chosen is None
    unknown = unknown and assessment.incumbent != assessment.default
    if int((assessment.costs.runs > 0).sum()) == 1:
        tuned = f"; a {scale.higher} {scale.noun} if it was tuned on these" if unknown else ""
        return f"Nothing was chosen by these runs, so expect about the same {fresh}{tuned}."
    true, behind = case.cost(expected_cost(case)), f" ({change})" if change else ""
    tuned = "; if it was tuned on them, it can still be large" if unknown else ""
    if optimism.gap <= 0:
        return f"Cross-validation shows no optimism{tuned}."
    if true == case.amount(float(assessment.costs.training[assessment.place])):
        return f"Cross-validation shows hardly any optimism{behind}{tuned}."
    tuned = f"; {scale.more} if it was tuned on these" if unknown else ""
    picked = f"Because it was picked for its {scale.low} training {scale.noun}"
    return f"{picked}, expect about {true} {fresh}{behind}{tuned}."


def expected_cost(case: Case) -> str:
    """Write the estimated cost on new instances; a range where runs were stopped at a cap."""
    optimism, costs, place = case.assessment.optimism, case.assessment.costs, case.assessment.place
    low, high = float(costs.lowest[place]), float(costs.training[place])
    if optimism.source == "test runs" or not low < high:
        low = high = 0.0
    return ends(*case.mean_scale.range(optimism.true_cost - (high - low), optimism.true_cost))


def shown_percent(case: Case) -> bool:
    """Whether the change in per cent is worth showing: a few instances can make it anything."""
    # Per cent of a cost are none of a utility.
    enough = case.assessment.spread.instances >= FEWEST and not case.mean_scale.origin
    return enough and math.isfinite(case.assessment.optimism.percent)


def adjusted_from(case: Case) -> str:
    """Return what the runs themselves average, if adjusting for difficulty changes it."""
    costs, place = case.assessment.costs, case.assessment.place
    plain, training = (
        number(case.mean_scale.value(float(means[place])))
        for means in (costs.plain, costs.training)
    )
    if not costs.adjusted or plain == training:
        return ""
    return f"adjusted for instance difficulty; its own runs average {plain}"


def _one_instance(case: Case) -> str:
    """Return what a search on one instance, or on none, says about anything else."""
    if not case.nowhere:
        return "One instance says nothing about others."
    if case.assessment.spread.runs > 1:
        return "There are no instances; its runs differ by their seeds only."
    once = f"that is its {case.mean_scale.noun} if seeds do not matter"
    return f"It was run once, and there are no instances: {once}."
