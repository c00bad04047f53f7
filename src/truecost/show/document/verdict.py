"""The verdict: one sentence, what training hid, and the numbers beside it."""

import math
from typing import Any

import numpy as np

from truecost.judge.assessment import Assessment
from truecost.judge.evidence import UNSORTED
from truecost.judge.statements import Certificate, Comparison
from truecost.show.blocks import Fact, Figure, Tone
from truecost.show.document.context import Context, called, opening, sure, sureness
from truecost.show.numbers import (
    at_least,
    at_most,
    counted,
    ends,
    number,
    percent,
    share_at_least,
    share_at_most,
    signed,
)


def judged(found: Assessment) -> tuple[Tone, str]:
    """The verdict as a colour and in a few words."""
    comparison = found.comparison
    if found.default is None:
        return "open", "No default to compare with"
    if comparison is None:
        return "open", "The default itself"
    wins = found.wins
    if comparison.upper is None and wins is None:
        return "open", "Better than the default? Unknown"
    if comparison.condition is not None:
        sorted_ = comparison.condition == UNSORTED
        return (
            "open",
            "Only if instances are not sorted"
            if sorted_
            else "Only if these runs were not tuned on",
        )
    if comparison.grade != "open":
        return (
            ("good", "Better on average")
            if comparison.grade == "better"
            else ("bad", "Worse on average")
        )
    if wins is not None and wins.grade not in (None, "open"):
        return (
            ("good", "Better on most instances")
            if wins.grade == "better"
            else ("bad", "Worse on most instances")
        )
    return "open", "Not shown to be better than the default"


def verdict_of(found: Assessment, setting: Context) -> str:
    """The answer in one sentence."""
    comparison = found.comparison
    if comparison is not None:
        return against_default(found, comparison, setting)
    incumbent = called(found, found.incumbent)
    if found.default is not None:
        return opening(f"{incumbent} is still the best: nothing better was found.")
    # Nothing to be better than: the answer is what it costs.
    return _hidden(found, setting, incumbent)


def beside(found: Assessment, setting: Context) -> str:
    """What stands below the verdict: what training hid, or where that is the verdict, how the
    configuration was chosen.
    """
    if found.default is not None:
        return hidden(found, setting)
    ran = int((found.costs.runs > 0).sum())
    adjusted = ", after adjusting for instance difficulty" if found.costs.adjusted else ""
    said = f"It has the lowest training cost of {ran:,} configurations{adjusted}."
    if ran == 1:
        said = "It is the only one with runs."
    elif found.costs.order[0] != found.own:
        said = f"It was chosen out of {ran:,}."
    return f"{said}{_heaviest(found, setting)}"


def against_default(found: Assessment, comparison: Comparison, setting: Context) -> str:
    """Whether it is better than the default."""
    who, default = called(found, comparison.configuration), called(found, comparison.default)
    certain, wins = sure(found.asked.delta), found.wins
    limited = comparison.lower is not None and comparison.upper is not None
    if wins is not None and wins.grade in ("better", "worse") and comparison.grade == "open":
        opposite = wins.limit if wins.opposite is None else wins.opposite
        won = (
            f"at least {share_at_least(wins.limit)}"
            if wins.grade == "better"
            else f"at most {share_at_most(opposite)}"
        )
        what = "beats" if wins.grade == "better" else "loses to"
        lower = (
            "expected utility is not shown to be higher"
            if found.log.utility
            else "mean cost is not shown to be lower"
        )
        mean = f"its {lower}" if limited else "nothing is guaranteed of its mean cost"
        return opening(
            f"{who} {what} {default} on most new instances: {certain} it wins {won} of the runs; {mean}."
        )
    if comparison.lower is None or comparison.upper is None:
        if wins is not None:
            return opening(
                f"{who} is not shown to win against {default} on most new instances, nor to lose."
            )
        # What to do about it stands with the next steps.
        why = (comparison.reason or "").partition(";")[0]
        return opening(f"whether {who} is better than {default} is unknown: {why}.")
    what, down, up = (
        ("expected utility", "higher", "lower")
        if found.log.utility
        else ("mean cost", "lower", "higher")
    )
    if comparison.upper < 0:
        gain = setting.cost(at_least(-comparison.upper))
        said = f"{who} is better than {default}: {certain} its {what} is at least {gain} {down}."
    elif comparison.lower > 0:
        loss = setting.cost(at_least(comparison.lower))
        said = f"{who} is worse than {default}: {certain} its {what} is at least {loss} {up}."
    else:
        between = (
            f"{at_most(-comparison.lower)} {down} to {setting.cost(at_most(comparison.upper))} {up}"
        )
        said = f"{who} is not shown to be better than {default}: its {what} may be anything from {between}."
    if wins is not None and {wins.grade, comparison.grade} == {"better", "worse"}:
        most = "loses" if wins.grade == "worse" else "wins"
        said += f" Yet it {most} on most instances."
    return opening(said if comparison.condition is None else f"if {comparison.condition}: {said}")


def certified(
    certificate: Certificate, setting: Context, name: str, utility: str | None = None
) -> str:
    """The certificate as a sentence, without its full stop; of a utility, 1 − cost."""
    what, limit = "mean cost", f"at most {setting.cost(at_most(certificate.upper))}"
    if utility is not None:
        what, limit = f"expected utility ({utility})", f"at least {at_least(1 - certificate.upper)}"
    said = f"{sure(certificate.delta)} the {what} of {name} on new instances is {limit}"
    return opening(said if certificate.condition is None else f"if {certificate.condition}: {said}")


def hidden(found: Assessment, setting: Context) -> str:
    """What the training cost hides, in a sentence or two; and which instance alone makes it, where
    one does.
    """
    # Where a part of the instances chose another one, the verdict before this is about that one.
    compared = found.comparison
    who = (
        "it"
        if compared is None or compared.configuration == found.incumbent
        else called(found, found.incumbent)
    )
    return f"{_hidden(found, setting, who)}{_heaviest(found, setting)}"


def _heaviest(found: Assessment, setting: Context) -> str:
    heaviest = found.heaviest
    if heaviest is None:
        return ""
    cost, runs = (
        setting.cost(number(heaviest.cost)),
        "its test cost" if heaviest.on == "test" else "its training cost",
    )
    return f" One instance alone, {heaviest.instance} with {cost}, makes up {percent(heaviest.share)} of {runs}."


def _hidden(found: Assessment, setting: Context, who: str) -> str:
    seen = found.optimism
    training = setting.cost(ends(found.costs.lowest[found.own], found.costs.training[found.own]))
    true = setting.cost(number(seen.true_cost))
    more = f" ({signed(seen.percent, 2)} %)" if math.isfinite(seen.percent) else ""
    if seen.source == "test runs":
        return f"On new instances{'' if who == 'it' else ','} {who} costs {true} on average, in training {training}{more}."
    if seen.source == "unknown":
        error = seen.selection_error
        training_cost = float(found.costs.training[found.own])
        shown = ""
        if math.isfinite(error):
            shown = ", although splits of the training instances show nothing"
        if error > 0 and training_cost:
            shown = f": splits of the training instances alone show {percent(error / abs(training_cost))}"
        return (
            f"What {who} costs on new instances is unknown: it was tuned on these. In training it costs {training}; expect "
            f"more{shown}."
        )
    if not math.isfinite(seen.gap) or len(found.matrix.instances) == 1:
        return (
            f"In training {who} costs {training}; with one instance nothing can be said of others."
        )
    if seen.gap <= 0:
        large = _if_tuned(found, "it can be large")
        return (
            f"In training {who} costs {training}; splitting the instances shows no optimism{large}."
        )
    expected = f"expect about {true} on new instances{more}{_if_tuned(found, 'more')}"
    return f"In training {who} costs {training}; since it was chosen for that, {expected}."


def _if_tuned(found: Assessment, then: str) -> str:
    """What splits cannot know where nobody has said how the configurations came about."""
    return (
        f", but if it was tuned on these, {then}"
        if found.trajectory.proposed == "unknown" and found.asked.chosen is None
        else ""
    )


def key(found: Assessment, setting: Context) -> tuple[Fact, ...]:
    """The numbers beside the verdict."""
    return (
        in_training(found, setting),
        true_cost(found, setting),
        limit(found, setting),
        *([] if found.comparison is None else [to_default(found, found.comparison, setting)]),
        *([] if found.noise.bottleneck is None else [bottleneck(found)]),
    )


def at_a_glance(found: Assessment, setting: Context) -> Figure | None:
    """The costs that the verdict speaks of, in one picture; none where no cost is known."""
    # What is known by two ends only has no place on a line.
    costs = np.where(found.costs.lowest < found.costs.training, np.nan, found.costs.training)
    training = float(costs[found.own])
    if not math.isfinite(training):
        return None

    def draw() -> Any:
        from truecost.show import figures

        default, seen, certificate = found.default, found.optimism, found.certificate
        compared = default is not None and default != found.incumbent
        own = float(costs[found.matrix.configurations.index(default)]) if compared else math.nan
        limited = (
            certificate is not None
            and certificate.condition is None
            and certificate.configuration == found.incumbent
        )
        data = figures.glance_data(
            training,
            default=own if math.isfinite(own) else None,
            true=None
            if seen.source == "unknown" or not math.isfinite(seen.true_cost)
            else seen.true_cost,
            upper=certificate.upper if certificate is not None and limited else None,
        )
        return data, figures.glance_chart(data, delta=found.asked.delta, unit=setting.unit)

    return Figure(name="glance", title="What the winner costs", notes=(), draw=draw)


def in_training(found: Assessment, setting: Context) -> Fact:
    """The training cost, or its two ends."""
    training, lowest, censored = (
        float(each[found.own])
        for each in (found.costs.training, found.costs.lowest, found.censored)
    )
    note = f"{counted(int(censored), 'run')} stopped at a cap" if censored else ""
    shown = ends(lowest, training)
    return Fact(term="training-cost", value=training, shown=shown, unit=setting.in_unit, note=note)


def true_cost(found: Assessment, setting: Context) -> Fact:
    """The one estimate of the true cost there is."""
    seen = found.optimism
    if seen.source == "unknown":
        return Fact(
            term="true-cost", value=None, shown="unknown", note="needs runs on new instances"
        )
    note = (
        "on test runs" if seen.source == "test runs" else "training cost, corrected for the choice"
    )
    return Fact(
        term="true-cost",
        value=seen.true_cost,
        shown=number(seen.true_cost),
        unit=setting.in_unit,
        note=note,
    )


def limit(found: Assessment, setting: Context) -> Fact:
    """The upper limit of the true cost."""
    certificate = found.certificate
    label = f"at most, {sureness(found.asked.delta)}"
    if certificate is None:
        return Fact(
            term="interval",
            label=label,
            value=None,
            shown="unknown",
            note="see below: How sure is that?",
        )
    notes = (
        []
        if certificate.configuration == found.incumbent
        else [f"of configuration {certificate.configuration}"]
    )
    notes += (
        []
        if certificate.condition is None
        else [
            "if in random order" if certificate.condition == UNSORTED else "if not tuned on these"
        ]
    )
    return Fact(
        term="interval",
        label=label,
        value=certificate.upper,
        shown=at_most(certificate.upper),
        unit=setting.in_unit,
        note=", ".join(notes),
    )


def to_default(found: Assessment, comparison: Comparison, setting: Context) -> Fact:
    """The mean difference to the default."""
    note = f"on {counted(comparison.instances, f'{comparison.on} instance')}"
    if comparison.configuration != found.incumbent:
        note = f"of {called(found, comparison.configuration)}, {note}"
    if comparison.lower is not None and comparison.upper is not None:
        note += f"; {at_least(comparison.lower)} to {at_most(comparison.upper)}, each {sureness(found.asked.delta)}"
    shown = difference(comparison)
    return Fact(
        term="difference", value=comparison.observed, shown=shown, unit=setting.in_unit, note=note
    )


def difference(comparison: Comparison, sign: int = 1) -> str:
    """The mean difference, or its two ends; with a sign of −1 turned round, as a utility has it."""
    low, high = (signed(sign * end) for end in (comparison.lowest, comparison.highest)[::sign])
    return signed(sign * comparison.observed) if low == high else f"{low} to {high}"


def bottleneck(found: Assessment) -> Fact:
    """What the error is mostly from."""
    noise = found.noise
    shown = {"runs": "too few runs", "instances": "too few instances", None: "–"}[noise.bottleneck]
    note = ""
    if noise.bottleneck is not None and noise.within + noise.across > 0:
        share = noise.across / (noise.across + noise.within)
        note = f"{percent(share)} of a run's variance is between instances"
    return Fact(term="bottleneck", value=noise.bottleneck, shown=shown, note=note)
