"""Two versions of a solver compared: is the new one shown to be worse?"""

from dataclasses import replace

from truecost.judge.assessment import Assessment
from truecost.judge.statements import Comparison
from truecost.show.blocks import Block, Cell, Column, Document, Section, Table, Tone
from truecost.show.document.certificate import what_is_shown
from truecost.show.document.context import Case, Context, opening, sure, with_seed
from truecost.show.document.runs import left_out
from truecost.show.document.verdict import both_sides, secondary, with_margin
from truecost.show.numbers import (
    at_least,
    at_most,
    limits,
    number,
    share_at_least,
    share_at_most,
    signed,
)

# Of a new version, being worse is what one looks for.
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
        more=" ".join([secondary(case).strip(), *left_out(assessment)]).strip(),
        key=(),
        sections=tuple(section for section in sections if section is not None),
    )


def _verdict(case: Case, comparison: Comparison) -> str:
    assessment = case.assessment
    new, old = comparison.configuration, comparison.default
    delta, wins = assessment.question.delta, assessment.wins
    certain, both = opening(sure(delta)), f"{both_sides(case)} interval"
    if assessment.primary == "wins" and wins is not None:
        least = share_at_least(wins.limit)
        most = share_at_most(1.0 if wins.opposite is None else wins.opposite)
        runs = f"of new runs{with_seed(wins)}"
        if wins.grade == "open":
            return f"{new} wins between {least} and {most} {runs} against {old} ({both})."
        limit = f"at least {least}" if wins.grade == "better" else f"at most {most}"
        return f"{certain}, {new} wins {limit} {runs}."
    if comparison.lower is None or comparison.upper is None:
        reason = (comparison.reason or "").partition(";")[0]
        return f"Whether {new} is worse than {old} is unknown: {reason}."
    scale = case.mean_scale
    if assessment.grade != "open":
        worse = assessment.grade == "worse"
        value = case.cost(at_least(comparison.lower if worse else -comparison.upper))
        above = "above" if worse == (scale.sign > 0) else "below"
        what = f"the {scale.mean} of {new} {assessment.scope.phrase}"
        return f"{certain}, {what} is at least {value} {above} that of {old}."
    low, high = scale._replace(origin=0.0).range(comparison.lower, comparison.upper)
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
    pairs, scale = case.assessment.pairs, case.scale
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
            Cell(change, signed(scale.value(change))),
        )
        for change, name, before, after in changes[:MOST]
    )
    lead = (
        f"{new} {scale.verb} {scale.more} on {case.units(len(changes))} of "
        f"{comparison.instances:,}, {scale.less} on {comparison.gains:,}. A single instance "
        "proves nothing; these changed the most:"
    )
    table = Table("regressions", "", columns, rows)
    return Section("regressions", "Where it got worse", lead, (table,))
