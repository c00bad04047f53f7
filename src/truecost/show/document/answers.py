"""What `plan` and `compare` print: runs and instances for an error, a budget or a statement; and
whether a new version of a solver is shown to be worse than the old one.
"""

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from truecost.judge.assessment import Assessment
from truecost.judge.statements import Comparison
from truecost.show.blocks import Block, Cell, Column, Document, Section, Table, Text, Tone
from truecost.show.document.certificate import what_is_shown
from truecost.show.document.context import (
    COST,
    Case,
    Context,
    Scale,
    opening,
    sure,
    with_seed,
    wording,
)
from truecost.show.document.next_steps import MOST
from truecost.show.document.runs import left_out
from truecost.show.document.verdict import each_limit, secondary, with_margin
from truecost.show.numbers import (
    at_least,
    at_most,
    chance,
    confidence,
    counted,
    limits,
    number,
    percent,
    plural,
    share_at_least,
    share_at_most,
    signed,
)

if TYPE_CHECKING:
    from truecost.judge.outlook import Reach
    from truecost.plan.answers import PlanAnswer
    from truecost.plan.power import Power
    from truecost.plan.sizes import Recommendation, Waste


# Rounding may separate equal numbers by this much.
HAIR = 1e-9


def plan_section(answer: "PlanAnswer", context: Context, sampled: str = "instance") -> Section:
    """Return the recommendation, its alternatives, and what the pilot's allocation wastes.

    `sampled` is what runs are made on: an instance, or a family of them.
    """
    best, hours = answer.best, answer.hours(answer.best)
    scope = f", for each of {best.configurations:,} configurations" * (best.configurations > 1)
    time = "" if hours is None else f", {number(hours)} CPU hours"
    goal = {
        "error": f"A standard error of {answer.target:g} takes",
        "bound": f"A bound of {answer.target:g} takes",
        "budget": f"A budget of {answer.target:,g} buys",
    }[answer.goal]
    lead = f"{goal} {_counts(best, sampled)}{scope}: {_errors(best, context)}{time}."
    blocks: list[Block] = [
        Text(_noise(answer, sampled)),
        *_prices(answer, sampled),
        _curve(answer, sampled),
    ]
    if answer.if_noisier is not None:
        noisier = f"{_counts(answer.if_noisier, sampled)}, {_errors(answer.if_noisier, context)}"
        blocks.append(Text(f"If both variances were one standard error higher: {noisier}."))
    if answer.current is not None:
        blocks.append(Text(_current(answer.current, context, sampled)))
    if answer.pilot.components.across.item() < 0:
        text = "across was estimated below 0, smaller than its own noise, and counts as 0."
        blocks.append(Text(text, aside=True))
    return Section("plan", "", lead, (*blocks, *_caveat(best.caveat)))


def _noise(answer: "PlanAnswer", sampled: str) -> str:
    components, name = answer.pilot.components, answer.pilot.configuration
    start = "Assumed" if name is None else f"Configuration {name}"
    if math.isnan(components.across.item()):
        total = number(components.total.item())
        units = plural(sampled)
        return f"{start}: variance {total}; single runs cannot separate seeds from {units}."
    within, across = (
        _component(getattr(components, part).item(), getattr(components, f"{part}_error").item())
        for part in ("within", "across")
    )
    return (
        f"{start}: variance between runs on one {sampled} (within) {within}, between "
        f"{plural(sampled)} (across) {across}."
    )


def _prices(answer: "PlanAnswer", sampled: str) -> list[Block]:
    if not answer.prices["price_instance"] > 0:
        return []
    classical = answer.best.classical_runs_per_instance
    optimum = "unlimited" if math.isinf(classical) else number(classical)
    price = number(answer.best.price)
    return [Text(f"Price {price}; the classical optimum of runs per {sampled} is {optimum}.")]


def _curve(answer: "PlanAnswer", sampled: str) -> Table:
    curve, best = answer.best.curve, answer.best
    bound = [] if best.bound is None else ["bound"]
    rows = []
    for place, instances in enumerate(curve.instances.tolist()):
        runs = curve.runs[place].item()
        values = [float(getattr(curve, n)[place]) for n in ("standard_error", *bound, "price")]
        rows.append(
            (
                Cell("", "→" if instances == best.instances else ""),
                Cell(instances, f"{instances:,}"),
                Cell(runs, f"{runs:,}"),
                Cell(runs / instances, number(runs / instances)),
                *(Cell(value, number(value, 4)) for value in values),
            )
        )
    end = "for the same budget" if answer.goal == "budget" else "for the same goal"
    labels = ("", "K", "N", "N/K", "s.e.", *bound, "price")
    columns = tuple(Column(label, "", numbers=bool(label)) for label in labels)
    title = f"Other numbers of {plural(sampled)} K and runs N {end}"
    return Table("curve", title, columns, tuple(rows))


def _current(current: "Waste", context: Context, sampled: str) -> str:
    runs, instances = counted(current.runs, "run"), counted(current.instances, sampled)
    error = context.cost(number(current.standard_error))
    sentences = [f"Now: {runs} on {instances}, standard error {error}."]
    if current.variance_ratio > 1 + HAIR:
        excess = percent(current.variance_ratio - 1)
        sentences.append(
            f"Spread evenly, they would have {number(current.even_standard_error)}, and "
            f"{current.even_runs:,} would suffice: uneven counts add {excess} variance."
        )
    else:
        sentences.append("They are spread evenly.")
    same, cheaper = current.same_price, current.same_error
    if same.standard_error >= current.standard_error * (1 - HAIR):
        sentences.append("Nothing better is available for their price.")
    else:
        saved = ""
        if cheaper is not None:
            less = percent(1 - cheaper.price / current.price)
            saved = f"; the same error takes {_counts(cheaper, sampled)}, {less} less"
        error = number(same.standard_error)
        sentences.append(f"Their price buys {_counts(same, sampled)} with {error}{saved}.")
    return " ".join(sentences)


def _counts(best: "Recommendation", sampled: str) -> str:
    runs, instances = best.runs, best.instances
    repeats = f"{runs // instances} each"
    if runs == instances:
        repeats = "one each"
    elif runs % instances:
        repeats = f"{number(runs / instances)} on average"
    return f"{counted(runs, 'run')} on {counted(instances, sampled)}, {repeats}"


def _errors(best: "Recommendation", context: Context) -> str:
    error = f"standard error {context.cost(number(best.standard_error))}"
    if best.bound is None:
        return error
    epsilon, level = number(float(best.bound.epsilon)), confidence(best.bound.delta)
    many = best.configurations
    whose = "a configuration fixed beforehand" if many == 1 else f"all {many:,} configurations"
    return (
        f"{error}; true − training cost below {epsilon} for {whose} ({level} confidence if these "
        "variances are right)"
    )


def _component(value: float, spread: float) -> str:
    text = number(max(0.0, value))
    return text if math.isnan(spread) else f"{text} ± {number(spread, 2)}"


def power_section(
    power: "Power",
    pair: tuple[str, str] | None,
    seen: tuple[float, float] | None,
    *,
    observed: bool,
    sampled: str = "instance",
) -> Section:
    """Return how many runs distinguish two configurations.

    `seen` is the difference in the pilot and its standard error; `observed` if that one is tested.
    """
    blocks: list[Block] = []
    if pair is not None and seen is not None:
        value = f"{number(seen[0])} ± {number(seen[1], 2)}"
        difference = f"{pair[0]} − {pair[1]} in the pilot: {value}"
        blocks.append(Text(f"{difference} (standard error over {plural(sampled)})."))
    blocks.append(
        Text(
            f"Two-sided paired t-test on {power.instances:,} differences of {sampled} means with "
            f"standard deviation {number(power.sd)}; exact if they are normal."
        )
    )
    if observed:
        text = "If the pilot was used to choose the two, its difference is too large."
        blocks.append(Text(text, aside=True))
    runs, instances = counted(power.runs, "run"), counted(power.instances, sampled)
    lead = (
        f"To detect a difference of {number(power.difference)} with probability {power.power:.3f} "
        f"at level {power.level:g} takes {runs}: {power.runs_each:,} of both on each of "
        f"{instances}; price {number(power.price)}."
    )
    return Section("apart", "", lead, (*blocks, *_caveat(power.caveat)))


def show_section(
    reach: "Reach", who: str, default: str | None, runs: float, scale: Scale = COST
) -> Section:
    """Return how many new instances would show a statement.

    `runs` is the number of runs of each configuration per instance of the pilot.
    """
    forecast = reach.forecast
    kind, _, _ = reach.what.partition("=")
    above, pilot = percent(forecast.above), counted(forecast.pilot, "instance")
    words = wording(reach.quantity, scale)
    claim = words.claim.format(who=who, default=default, value=words.value(reach.value))
    power = chance(forecast.power)
    if forecast.observed <= forecast.above:
        lead = (
            f"No number of new instances would show that {claim}, if they resemble these {pilot}."
        )
    elif forecast.instances is None:
        lead = f"Out of reach: {MOST:,} new instances give {power} to show that {claim}."
    else:
        repeats = counted(round(runs), "run") + ("" if kind == "solved" else " of both")
        instances = counted(forecast.instances, "new instance")
        lead = f"About {instances}, with {repeats} on each, give {power} to show that {claim}."
    blocks: list[Block] = []
    # For other quantities the share behind the test means nothing to a reader.
    if words.value is percent or kind == "speed-up":
        observed = percent(forecast.observed)
        # Not what the audit observed: runs that helped to choose are left out here.
        text = (
            f"In runs on {pilot} that did not choose the configuration, the share is {observed}; "
            f"the goal is more than {above}."
        )
        blocks.append(Text(text))
    text = (
        "A forecast, not guaranteed: samples of the pilot are given the same limits, at level δ, "
        "as test runs. No run in the pilot helped to choose the configuration: of a list, random "
        "halves of the instances choose, and the others are the pilot."
    )
    return Section("show", "", lead, (*blocks, Text(text, aside=True)))


def _caveat(caveat: str) -> list[Block]:
    return [Text(f"{opening(caveat)}.", tone="open")] if caveat else []


# Of a new version, being worse is what one looks for.
BADGES: dict[str, tuple[Tone, str]] = {
    "better": ("good", "Shown to be better"),
    "worse": ("bad", "Shown to be worse"),
    "open": ("open", "Neither better nor worse is shown"),
}
# Rows in this order: what got worse is read first.
ORDER: dict[Tone, int] = {"bad": 0, "open": 1, "": 1, "good": 2}
MOST_CHANGES = 5


def compared(assessment: Assessment, context: Context) -> Document:
    """The verdict about NEW, the statements with regressions first, and the instances that lost
    the most.
    """
    case, comparison = Case(assessment, context), assessment.comparison
    assert comparison is not None  # noqa: S101 - a comparison has two configurations
    new, old = comparison.configuration, comparison.default
    tone, graded = BADGES[assessment.grade]
    tone, badge = with_margin(assessment, tone, f"{graded} by {case.criterion}")
    sections = [_statements(case, new, old), _instances(case, comparison)]
    return Document(
        title=context.title or f"{new} compared with {old}",
        subtitle=f"Paired on {case.units(comparison.instances, 'common')}.",
        tone=tone,
        badge=badge,
        verdict=_verdict(case, comparison),
        more=" ".join([secondary(case).strip(), *_unchosen(case), *left_out(assessment)]).strip(),
        key=(),
        sections=tuple(section for section in sections if section is not None),
    )


def _unchosen(case: Case) -> list[str]:
    """Return what must hold of the two, which nothing in their runs can show."""
    if case.assessment.log.trajectory.proposed == "adaptively":
        return []
    return [
        "This assumes that neither was chosen by these runs; for a winner picked from several on "
        "these runs, use truecost audit, which corrects for the choice."
    ]


def _verdict(case: Case, comparison: Comparison) -> str:
    assessment = case.assessment
    new, old = comparison.configuration, comparison.default
    delta, wins = assessment.question.delta, assessment.wins
    certain, both = opening(sure(delta)), each_limit(case)
    if assessment.primary == "wins" and wins is not None:
        least = share_at_least(wins.limit)
        most = share_at_most(1.0 if wins.opposite is None else wins.opposite)
        runs = f"of new runs{with_seed(wins)}"
        if wins.grade == "open":
            return f"{new} wins between {least} and {most} {runs} against {old} ({both})."
        limit = f"at least {least}" if wins.grade == "better" else f"at most {most}"
        return f"{certain}, {new} wins {limit} {runs}."
    if comparison.lower is None or comparison.upper is None:
        # The advice behind the semicolon is for a search.
        reason = (comparison.reason or "").partition(";")[0]
        return f"Whether {new} is worse than {old} is unknown: {reason}."
    scale = case.mean_scale
    if assessment.grade != "open":
        worse = assessment.grade == "worse"
        value = case.cost(at_least(comparison.lower if worse else -comparison.upper))
        above = "above" if worse == (scale.sign > 0) else "below"
        what = f"the {scale.mean} of {new} {assessment.scope.phrase}"
        return f"{certain}, {what} is at least {value} {above} that of {old}."
    low, high = case.apart_scale.range(comparison.lower, comparison.upper)
    most = case.cost(at_most(comparison.upper))
    return (
        f"The {scale.mean} of {new} differs from that of {old} by "
        f"{case.cost(limits(low, high))} ({both}). It is not shown to be worse: {sure(delta)} it "
        f"is at most {most} {scale.higher}."
    )


def _statements(case: Case, new: str, old: str) -> Section | None:
    """The statement table, worse lines first, with the name of OLD instead of "the default"."""
    section = what_is_shown(case)
    if section is None:
        return None
    blocks: list[Block] = []
    for block in section.blocks:
        if isinstance(block, Table):
            rows = [
                tuple(cell._replace(text=_named(cell.text, old, new)) for cell in row)
                for row in sorted(block.rows, key=lambda row: ORDER.get(row[-1].tone, 1))
            ]
            blocks.append(replace(block, rows=tuple(rows)))
        else:
            blocks.append(block)
    return replace(section, lead=_named(section.lead, old, new), blocks=tuple(blocks))


def _named(text: str, old: str, new: str) -> str:
    # In this order: each of them is part of the one before.
    roles = {f"the default ({old})": old, "the default": old, "default": old, "winner": new}
    for role, name in roles.items():
        text = text.replace(role, name)
    return text


def _instances(case: Case, comparison: Comparison) -> Section | None:
    """The instances where NEW lost the most."""
    pairs, scale = case.assessment.pairs, case.mean_scale
    new, old = comparison.configuration, comparison.default
    values = (pairs.sure.tolist(), pairs.instances, pairs.default.tolist(), pairs.winner.tolist())
    changes = sorted((row for row in zip(*values, strict=True) if row[0] > 0), reverse=True)
    if not changes:
        return None
    name = Column(case.assessment.scope.unit, numbers=False)
    columns = (name, *(Column(label) for label in (old, new, "difference")))
    rows = tuple(
        (
            Cell(name, name),
            *(Cell(cost, number(scale.value(cost))) for cost in (before, after)),
            Cell(change, signed(case.apart_scale.value(change))),
        )
        for change, name, before, after in changes[:MOST_CHANGES]
    )
    lead = (
        f"{new} {scale.verb} {scale.more} on {case.units(len(changes))} of "
        f"{comparison.instances:,}, {scale.less} on {comparison.gains:,}. A single instance "
        "proves nothing; these changed the most:"
    )
    table = Table("regressions", "", columns, rows)
    return Section("regressions", "Where it got worse", lead, (table,))
