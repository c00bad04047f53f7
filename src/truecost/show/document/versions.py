"""Two versions of a solver compared: is the new one shown to be worse?"""

from dataclasses import replace

from truecost.judge.assessment import Assessment
from truecost.judge.statements import Comparison
from truecost.show.blocks import Block, Cell, Column, Document, Section, Table, Tone
from truecost.show.document.context import Context, opening, sure
from truecost.show.document.runs import left_out
from truecost.show.document.statement_table import what_is_shown
from truecost.show.document.wording import with_seed
from truecost.show.numbers import (
    at_least,
    at_most,
    counted,
    number,
    percent,
    share_at_least,
    share_at_most,
    signed,
)

BADGES: dict[str, tuple[Tone, str]] = {
    "better": ("good", "Shown to be better"),
    "worse": ("bad", "Shown to be worse"),
    "open": ("open", "Neither better nor worse is shown"),
}
# Rows in this order: what got worse is read first.
ORDER: dict[Tone, int] = {"bad": 0, "open": 1, "": 1, "good": 2}
MOST = 5


def compared(assessment: Assessment, context: Context) -> Document:
    """The verdict about NEW, the statements with regressions first, and the instances that lost
    the most.
    """
    comparison = assessment.comparison
    assert comparison is not None  # noqa: S101 - a comparison has two configurations
    new, old = comparison.configuration, comparison.default
    tone, badge = BADGES[assessment.grade]
    sections = [_statements(assessment, new, old), _instances(assessment, comparison)]
    return Document(
        title=context.title or f"{new} compared with {old}",
        subtitle=f"Paired on {counted(comparison.instances, 'common instance')}.",
        tone=tone,
        badge=badge,
        verdict=_verdict(assessment, comparison, context),
        more=" ".join(left_out(assessment)),
        key=(),
        sections=tuple(section for section in sections if section is not None),
    )


def _verdict(assessment: Assessment, comparison: Comparison, context: Context) -> str:
    new, old = comparison.configuration, comparison.default
    delta, wins = assessment.asked.delta, assessment.wins
    certain = opening(sure(delta))
    both = f"{percent(1 - 2 * delta)} interval"
    if assessment.primary == "wins" and wins is not None:
        lower, upper = wins.limit, 1.0 if wins.opposite is None else wins.opposite
        if wins.grade == "better":
            return f"{certain}, {new} wins at least {share_at_least(lower)} of new runs{with_seed(wins)}."
        if wins.grade == "worse":
            return f"{certain}, {new} wins at most {share_at_most(upper)} of new runs{with_seed(wins)}."
        return (
            f"{new} wins between {share_at_least(lower)} and {share_at_most(upper)} of new runs{with_seed(wins)} "
            f"against {old} ({both})."
        )
    if comparison.lower is None or comparison.upper is None:
        reason = (comparison.reason or "").partition(";")[0]
        return f"Whether {new} is worse than {old} is unknown: {reason}."
    if assessment.grade == "worse":
        value = context.cost(at_least(comparison.lower))
        return f"{certain}, the mean cost of {new} is at least {value} above that of {old}."
    if assessment.grade == "better":
        value = context.cost(at_least(-comparison.upper))
        return f"{certain}, the mean cost of {new} is at least {value} below that of {old}."
    ends = f"{signed(comparison.lower)} and {signed(comparison.upper)}"
    if assessment.log.utility is not None:
        ends = f"{signed(-comparison.upper)} and {signed(-comparison.lower)} in utility"
    return (
        f"The mean cost of {new} differs from that of {old} by between {context.cost(ends)} "
        f"({both}). No slowdown is shown, and none is ruled out below {at_most(comparison.upper)}."
    )


def _statements(assessment: Assessment, new: str, old: str) -> Section | None:
    """The statement table, worse lines first, with the name of OLD instead of "the default"."""
    section = what_is_shown(assessment)
    if section is None:
        return None
    blocks: list[Block] = []
    for block in section.blocks:
        if isinstance(block, Table):
            rows = [
                tuple(cell._replace(shown=_named(cell.shown, old, new)) for cell in row)
                for row in sorted(block.rows, key=lambda row: ORDER.get(row[-1].tone, 1))
            ]
            blocks.append(replace(block, rows=tuple(rows)))
        else:
            blocks.append(block)
    return replace(section, lead=_named(section.lead, old, new), blocks=tuple(blocks))


def _named(text: str, old: str, new: str) -> str:
    roles = {f"the default ({old})": old, "the default": old, "default": old, "winner": new}
    for role, name in roles.items():
        text = text.replace(role, name)
    return text


def _instances(assessment: Assessment, comparison: Comparison) -> Section | None:
    """The instances where NEW lost the most."""
    pairs = assessment.pairs
    rows = [
        (change, name, before, after)
        for change, name, before, after in zip(
            pairs.sure.tolist(),
            pairs.instances,
            pairs.default.tolist(),
            pairs.own.tolist(),
            strict=True,
        )
        if change > 0
    ]
    if not rows:
        return None
    rows.sort(reverse=True)
    table = Table(
        name="regressions",
        title="",
        columns=(
            Column("instance", "", numbers=False),
            Column(comparison.default, ""),
            Column(comparison.configuration, ""),
            Column("difference", ""),
        ),
        rows=tuple(
            (
                Cell(name, name),
                Cell(before, number(before)),
                Cell(after, number(after)),
                Cell(change, signed(change)),
            )
            for change, name, before, after in rows[:MOST]
        ),
    )
    worse = counted(len(rows), "instance")
    lead = (
        f"{comparison.configuration} costs more on {worse} of {comparison.instances:,}, less on "
        f"{comparison.gains:,}. A single instance proves nothing; these changed the most:"
    )
    return Section(name="regressions", title="Where it got worse", lead=lead, blocks=(table,))
