"""What these runs show: every statement they allow, observed and guaranteed."""

import math
from typing import Final

from truecost.judge.assessment import Assessment
from truecost.judge.statements import Statement
from truecost.show.blocks import Block, Cell, Column, Section, Table, Text, Tone
from truecost.show.document.context import called, opening
from truecost.show.document.wording import WORDS, words_of
from truecost.show.numbers import confidence, number, percent, signed

GRADES: Final[dict[str | None, tuple[str, Tone]]] = {
    "better": ("shown better", "good"),
    "worse": ("shown worse", "bad"),
    "open": ("undecided", ""),
    None: ("", ""),
}
# In place of a limit that says nothing, and the share below which it does not.
FEW, UNSOLVED, NOTHING = ("too few instances", "too many unsolved runs", "nothing")
LEAST: Final = 0.005
UTILITY: Final = "difference of expected utilities, winner − default"
NAME: Final = Column("", "", numbers=False)


def what_is_shown(assessment: Assessment) -> Section | None:
    """Return the table of statements; None if there are none."""
    statements, comparison = assessment.statements, assessment.comparison
    if not statements:
        return None
    winner = statements[0].configuration
    rows = [_row(statement, assessment.log.utility) for statement in statements]
    columns = (NAME, Column("observed", "observed"), Column("guaranteed", "guaranteed"), NAME)
    blocks: list[Block] = [Table("statements", "", columns, tuple(rows))]
    if comparison is not None:
        blocks.append(Text(_primary(assessment), aside=True))
    blocks += _whole_list(assessment)
    blocks += _approximate(assessment)
    level = confidence(assessment.asked.delta)
    where = "on new instances" if assessment.scope.usual else assessment.scope.phrase
    lead = (
        f"{called(assessment, winner)} {where}. Each line holds at {level}; not corrected "
        "for reading several lines."
    )
    # The condition of one line is a condition of all.
    condition = next((line.condition for line in statements if line.condition is not None), None)
    lead = opening(lead if condition is None else f"if {condition}: {lead}")
    return Section("shown", "What is shown", lead, tuple(blocks))


def _primary(assessment: Assessment) -> str:
    mean = "mean cost" if assessment.log.utility is None else "expected utility"
    criterion = mean if assessment.primary == "mean" else "share of runs won"
    origin = "truecost's default"
    if assessment.asked.primary is not None:
        origin = "set with `primary`"
    elif assessment.trajectory.watched is not None:
        origin = "set when the validation started"
    return f"Primary criterion: {criterion} ({origin})."


def _whole_list(assessment: Assessment) -> list[Block]:
    """Return how many of a list are shown better than the default, and which has the best limit."""
    lines = []
    for name, phrase in (
        ("difference", "lower mean costs than"),
        ("wins", "to win more often than"),
    ):
        limits = assessment.beside.shown_better.get(name, {})
        if len(limits) < 1 + (assessment.incumbent in limits):
            continue
        words = WORDS[name]
        best = (max if name == "wins" else min)(limits, key=lambda each: limits[each])
        limit = (
            f"at least {words.least(limits[best])}"
            if name == "wins"
            else f"at most {words.most(limits[best])}"
        )
        rivals = len(assessment.matrix.configurations) - 1
        many = f"{len(limits):,} of {rivals:,} configurations are shown"
        what = f"{phrase} the default" if name == "wins" else f"to have {phrase} the default"
        lines.append(f"{many} {what}, all at once; the best bound has {best} ({limit}).")
    return [Text(" ".join(lines))] if lines else []


def _approximate(assessment: Assessment) -> list[Block]:
    """Return intervals of means without a guarantee, or why there are none."""
    intervals = [part for part in assessment.approximate if not part.reason]
    if not intervals:
        reasons = [part.reason for part in assessment.approximate]
        text = "No approximate interval of the means either: "
        return [Text(f"{text}{reasons[0]}.", aside=True)] if reasons else []
    rows = []
    for part in intervals:
        paired = part.quantity == "difference of means"
        name = WORDS["difference" if paired else "ratio of means"].label
        value = part.observed
        lower, upper = part.lower, part.upper
        if assessment.log.utility is not None:
            name, value, lower, upper = UTILITY, -value, -upper, -lower
        write = signed if paired else number
        interval = f"{write(lower)} to {write(upper)}"
        rows.append((Cell(name, name), Cell(value, write(value)), Cell(lower, interval)))
    columns = (NAME, Column("observed", "observed"), Column("approximate", "approximate"))
    text = (
        f"Paired t and Fieller intervals, approximately {percent(1 - assessment.asked.delta)}. "
        "They can be badly wrong if rare large costs are missing from this sample; the data cannot "
        "reveal that."
    )
    table = Table("approximate", "Approximate, not guaranteed", columns, tuple(rows))
    blocks: list[Block] = [table, Text(text, aside=True)]
    if any(part.too_wide for part in intervals):
        warning = (
            "The logarithms of these costs spread so much that such intervals are too short: "
            "intervals called 95 % held in as few as 64 % of samples like these."
        )
        blocks.append(Text(warning, tone="open"))
    return blocks


def _row(statement: Statement, utility: str | None) -> tuple[Cell, ...]:
    """Return the row of a statement, with the limit of the side that shows something."""
    words, quantity = words_of(statement), statement.quantity
    worse = statement.grade == "worse" and statement.opposite is not None
    limit = statement.opposite if worse and statement.opposite is not None else statement.limit
    upper = (statement.side == "upper") != worse
    low, high = sorted((statement.observed, statement.possible))
    if utility is not None and quantity in ("mean", "difference"):
        # Costs are 1 − utility.
        start = 1 if quantity == "mean" else 0
        label = f"expected utility ({utility})" if quantity == "mean" else UTILITY
        words, upper = words._replace(label=label), not upper
        limit, low, high = start - limit, start - high, start - low
    if not math.isfinite(limit):
        few = FEW if math.isfinite(statement.observed) else UNSOLVED
        written = few if quantity in ("median", "nine in ten") else NOTHING
    elif words.value is percent and not upper and limit < LEAST:
        written = FEW if statement.observed > 0 else NOTHING
    else:
        written = f"at most {words.most(limit)}" if upper else f"at least {words.least(limit)}"
    # Stopped runs may have taken any time.
    observed, most = words.value(low), words.value(high) if math.isfinite(high) else "more"
    if low < high and observed != most:
        observed += f" to {most}"
    grade, tone = GRADES[statement.grade]
    cells = (Cell(statement.observed, observed), Cell(limit, written))
    return (Cell(words.label, words.label), *cells, Cell(grade, grade, tone=tone))
