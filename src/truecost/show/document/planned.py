"""A plan in words: how many runs on how many instances, and how many tell two configurations apart."""

import math
from typing import TYPE_CHECKING

from truecost.show.blocks import Block, Cell, Column, Section, Table, Text
from truecost.show.document.context import Context, opening, sure
from truecost.show.document.wording import WORDS
from truecost.show.numbers import counted, number, percent

if TYPE_CHECKING:  # records that came here with what they are computed with
    from truecost.judge.outlook import Reach
    from truecost.plan.answers import PlanAnswer
    from truecost.plan.power import Power
    from truecost.plan.sizes import Recommendation, Waste

# What rounding may do to two equal numbers.
HAIR = 1e-9


def plan_section(found: "PlanAnswer", setting: Context) -> Section:
    """The recommendation, the curve around it, and what the allocation of the pilot wastes."""
    best, components = found.best, found.pilot.components
    whose = (
        "Assumed"
        if found.pilot.configuration is None
        else f"Configuration {found.pilot.configuration}"
    )
    if math.isnan(components.across.item()):
        noise = f"{whose}: variance {number(components.total.item())}; single runs cannot tell seeds from instances."
    else:
        within, across = (
            _component(
                getattr(components, name).item(), getattr(components, f"{name}_error").item()
            )
            for name in ("within", "across")
        )
        noise = f"{whose}: variance between runs on one instance (within) {within}, between instances (across) {across}."
    each = (
        f", for each of {best.configurations:,} configurations" if best.configurations > 1 else ""
    )
    hours = found.hours(best)
    time = "" if hours is None else f", {number(hours)} CPU hours"
    goals = {
        "error": f"A standard error of {found.target:g} takes",
        "bound": f"A bound of {found.target:g} takes",
        "budget": f"A budget of {found.target:g} buys",
    }
    lead = f"{goals[found.goal]} {_counts(best)}{each}: {_errors(best, setting)}{time}."
    blocks: list[Block] = [Text(text=noise), *_prices(found), _curve(found)]
    if found.if_noisier is not None:
        noisier = f"{_counts(found.if_noisier)}, {_errors(found.if_noisier, setting)}"
        blocks.append(Text(text=f"If both variances were one standard error higher: {noisier}."))
    if found.current is not None:
        blocks.append(Text(text=_current(found.current, setting)))
    if components.across.item() < 0:
        blocks.append(
            Text(
                text="across came out below 0, smaller than its own noise, and counts as 0.",
                aside=True,
            )
        )
    return Section(name="plan", title="", lead=lead, blocks=(*blocks, *_caveat(best.caveat)))


def _prices(found: "PlanAnswer") -> list[Block]:
    if not found.prices["price_instance"] > 0:
        return []
    classical = found.best.classical_runs_per_instance
    shown = "as many as you like" if math.isinf(classical) else number(classical)
    return [
        Text(
            text=f"Price {number(found.best.price)}; the classical optimum of runs an instance is {shown}."
        )
    ]


def _curve(found: "PlanAnswer") -> Table:
    curve, best = found.best.curve, found.best
    bounded = best.bound is not None
    columns = ["", "K", "N", "N/K", "s.e.", *(["bound"] if bounded else []), "price"]
    rows = []
    for place, instances in enumerate(curve.instances.tolist()):
        runs = curve.runs[place].item()
        values = [
            curve.standard_error[place],
            *([curve.bound[place]] if bounded else []),
            curve.price[place],
        ]
        rows.append(
            (
                Cell("", "→" if instances == best.instances else ""),
                Cell(instances, f"{instances:,}"),
                Cell(runs, f"{runs:,}"),
                Cell(runs / instances, number(runs / instances)),
                *(Cell(float(value), number(float(value), 4)) for value in values),
            )
        )
    end = "for the same budget" if found.goal == "budget" else "to the same end"
    return Table(
        name="curve",
        title=f"Other numbers of instances K and runs N {end}",
        columns=tuple(Column(label, "", numbers=bool(label)) for label in columns),
        rows=tuple(rows),
    )


def _current(current: "Waste", setting: Context) -> str:
    said = [
        f"Now: {counted(current.runs, 'run')} on {counted(current.instances, 'instance')}, standard error "
        f"{setting.cost(number(current.standard_error))}."
    ]
    if current.variance_ratio > 1 + HAIR:
        said.append(
            f"Spread evenly they would have {number(current.even_standard_error)}, and {current.even_runs:,} would do: "
            f"uneven counts cost {percent(current.variance_ratio - 1)} more variance."
        )
    else:
        said.append("They are spread evenly.")
    same, cheaper = current.same_price, current.same_error
    if same.standard_error >= current.standard_error * (1 - HAIR):
        said.append("Their price buys nothing better.")
    else:
        saved = ""
        if cheaper is not None:
            saved = f"; the same error takes {_counts(cheaper)}, {percent(1 - cheaper.price / current.price)} less"
        said.append(f"Their price buys {_counts(same)} with {number(same.standard_error)}{saved}.")
    return " ".join(said)


def _counts(best: "Recommendation") -> str:
    runs, instances = best.runs, best.instances
    each = (
        f"{number(runs / instances)} on average"
        if runs % instances
        else f"{runs // instances} each"
    )
    return f"{counted(runs, 'run')} on {counted(instances, 'instance')}, {'one each' if runs == instances else each}"


def _errors(best: "Recommendation", setting: Context) -> str:
    error = f"standard error {setting.cost(number(best.standard_error))}"
    if best.bound is None:
        return error
    epsilon = number(float(best.bound.epsilon))
    return f"{error}; {sure(best.bound.delta)} true − training cost below {epsilon} ({best.bound.theorem})"


def _component(value: float, spread: float) -> str:
    shown = number(max(0.0, value))
    return shown if math.isnan(spread) else f"{shown} ± {number(spread, 2)}"


def power_section(
    found: "Power", pair: tuple[str, str] | None, seen: tuple[float, float] | None, *, own: bool
) -> Section:
    """How many runs tell two configurations apart; `own` if the difference is the one `seen`, with
    its standard error.
    """
    blocks: list[Block] = []
    if pair is not None and seen is not None:
        value = f"{number(seen[0])} ± {number(seen[1], 2)}"
        blocks.append(
            Text(
                text=f"{pair[0]} − {pair[1]} in the pilot: {value} (standard error over instances)."
            )
        )
    blocks.append(
        Text(
            text=f"By the two-sided paired t-test on {found.instances:,} differences of instance means, whose standard "
            f"deviation is {number(found.sd)}; exact for normal ones."
        )
    )
    if own:
        blocks.append(
            Text(
                text="The difference is the pilot's own: if that chose the two, it is too large.",
                aside=True,
            )
        )
    lead = (
        f"To find a difference of {number(found.difference)} with probability {found.power:.3f} at level {found.level:g} "
        f"takes {counted(found.runs, 'run')}: {found.runs_each:,} of both on each of "
        f"{counted(found.instances, 'instance')}; price {number(found.price)}."
    )
    return Section(name="apart", title="", lead=lead, blocks=(*blocks, *_caveat(found.caveat)))


def show_section(reach: "Reach", who: str, default: str | None, runs: float) -> Section:
    """How many new instances would show a statement; the pilot has so many `runs` of each on an
    instance.
    """
    found = reach.forecast
    kind, _, _ = reach.what.partition("=")
    above, seen, pilot = (
        percent(found.above),
        percent(found.observed),
        counted(found.pilot, "instance"),
    )
    words = WORDS[reach.quantity]
    said = words.claim.format(who=who, default=default, value=words.value(reach.value))
    if found.observed <= found.above:
        lead = f"No number of new instances would show that {said}, if they are like these {pilot}."
    elif found.instances is None:
        lead = f"Out of reach: 20,000 new instances would show that {said} in {percent(found.power)} of tries."
    else:
        each = counted(round(runs), "run") + ("" if kind == "solved" else " of both")
        lead = (
            f"About {counted(found.instances, 'new instance')}, with {each} on each, would show that {said}, in "
            f"{percent(found.power)} of tries."
        )
    blocks: list[Block] = []
    # Of other quantities the share behind the test has no meaning to a reader.
    if words.value is percent or kind == "speed-up":
        blocks.append(
            Text(
                text=f"In the pilot of {pilot} it is so in {seen} of runs; to be shown is more than {above}."
            )
        )
    text = (
        "A forecast, not guaranteed: samples of the pilot are put to the same limits, with all of δ, as test runs have it. "
        "It is too optimistic if the pilot chose the configuration."
    )
    return Section(name="show", title="", lead=lead, blocks=(*blocks, Text(text=text, aside=True)))


def _caveat(caveat: str) -> list[Block]:
    return [Text(text=f"{opening(caveat)}.", tone="open")] if caveat else []
