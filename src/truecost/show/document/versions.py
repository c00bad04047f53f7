"""Two versions of a solver compared: is the new one shown to be worse?"""

from dataclasses import replace

from truecost.judge.assessment import Assessment
from truecost.judge.statements import Comparison
from truecost.show.blocks import Block, Cell, Column, Document, Section, Table, Tone
from truecost.show.document.context import Context, mean_scale, opening, scale_of, sure, units
from truecost.show.document.runs import left_out
from truecost.show.document.statement_table import what_is_shown
from truecost.show.document.verdict import secondary, with_margin
from truecost.show.document.wording import with_seed
from truecost.show.numbers import (
    at_least,
    at_most,
    confidence,
    limits,
    number,
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
    tone, graded = BADGES[assessment.grade]
    criterion = "share of runs won" if assessment.primary == "wins" else mean_scale(assessment).mean
    tone, badge = with_margin(assessment, tone, f"{graded} by {criterion}")
    sections = [_statements(assessment, new, old), _instances(assessment, comparison)]
    return Document(
        title=context.title or f"{new} compared with {old}",
        subtitle=f"Paired on {units(assessment, comparison.instances, 'common')}.",
        tone=tone,
        badge=badge,
        verdict=_verdict(assessment, comparison, context),
        more=" ".join([secondary(assessment, context).strip(), *left_out(assessment)]).strip(),
        key=(),
        sections=tuple(section for section in sections if section is not None),
    )


def _verdict(assessment: Assessment, comparison: Comparison, context: Context) -> str:
    new, old = comparison.configuration, comparison.default
    delta, wins = assessment.question.delta, assessment.wins
    certain = opening(sure(delta))
    both = f"{confidence(min(1.0, 2 * delta))} interval"
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
    scale = mean_scale(assessment)
    if assessment.grade != "open":
        worse = assessment.grade == "worse"
        value = context.cost(at_least(comparison.lower if worse else -comparison.upper))
        above = "above" if worse == (scale.sign > 0) else "below"
        where = assessment.scope.phrase
        return f"{certain}, the {scale.mean} of {new} {where} is at least {value} {above} that of {old}."
    low, high = scale._replace(origin=0.0).range(comparison.lower, comparison.upper)
    most = context.cost(at_most(comparison.upper))
    return (
        f"The {scale.mean} of {new} differs from that of {old} by "
        f"{context.cost(limits(low, high))} ({both}). It is not shown to be worse: {sure(delta)} it "
        f"is at most {most} {scale.higher}."
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
    pairs, scale = assessment.pairs, scale_of(assessment)
    rows = [
        (change, name, before, after)
        for change, name, before, after in zip(
            pairs.sure.tolist(),
            pairs.instances,
            pairs.default.tolist(),
            pairs.winner.tolist(),
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
            Column(assessment.scope.unit, "", numbers=False),
            Column(comparison.default, ""),
            Column(comparison.configuration, ""),
            Column("difference", ""),
        ),
        rows=tuple(
            (
                Cell(name, name),
                Cell(before, number(scale.value(before))),
                Cell(after, number(scale.value(after))),
                Cell(change, signed(scale.value(change))),
            )
            for change, name, before, after in rows[:MOST]
        ),
    )
    worse = units(assessment, len(rows))
    lead = (
        f"{comparison.configuration} {scale.verb} {scale.more} on {worse} of "
        f"{comparison.instances:,}, {scale.less} on {comparison.gains:,}. A single instance proves nothing; these changed the most:"
    )
    return Section(name="regressions", title="Where it got worse", lead=lead, blocks=(table,))
