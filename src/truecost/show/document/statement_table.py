"""What is shown: every statement that these runs allow, with what was observed and what is
guaranteed.
"""

import math
from typing import Final

from truecost.judge.assessment import Assessment
from truecost.judge.statements import Statement
from truecost.show.blocks import Block, Cell, Column, Section, Table, Text, Tone
from truecost.show.document.context import called, opening, sure
from truecost.show.document.wording import WORDS
from truecost.show.numbers import (
    number,
    percent,
    signed,
)

GRADES: Final[dict[str | None, tuple[str, Tone]]] = {
    "better": ("shown better", "good"),
    "worse": ("shown worse", "bad"),
    "open": ("not shown", ""),
    None: ("", ""),
}
# In place of a limit that says nothing, and the share below which one does not.
FEW, LOST, NOTHING = ("too few instances to say", "too many are not solved", "nothing")
LEAST: Final = 0.005
UTILITY: Final = "expected utility − that of the default"
APPROXIMATE: Final = {
    "difference of means": "mean cost − that of the default",
    "ratio of means": "mean cost of the default over its own",
}


def what_is_shown(found: Assessment) -> Section | None:
    """The table of statements; None where there are none."""
    comparison = found.comparison
    if not found.statements:
        return None
    who = found.statements[0].configuration
    rows = [_row(statement, found.log.utility) for statement in found.statements]
    columns = (
        Column("", "", numbers=False),
        Column("seen", "observed"),
        Column("guaranteed", "guaranteed"),
        Column("", "", numbers=False),
    )
    table = Table(name="statements", title="", columns=columns, rows=tuple(rows))
    mean = "mean cost" if found.log.utility is None else "expected utility"
    primary = mean if found.primary == "mean" else "runs won"
    blocks: list[Block] = [table]
    if comparison is not None:
        blocks.append(
            Text(text=f"The verdict goes by {primary}, as decided before looking.", aside=True)
        )
    blocks += _approximate(found)
    # What one line needs is said of all of them.
    conditions = (statement.condition for statement in found.statements)
    condition = next((line for line in conditions if line is not None), None)
    lead = f"{called(found, who)} on new instances, each line by itself {sure(found.asked.delta)}:"
    lead = opening(lead if condition is None else f"if {condition}: {lead}")
    return Section(name="shown", title="What is shown", lead=lead, blocks=tuple(blocks))


def _approximate(found: Assessment) -> list[Block]:
    """Intervals of means without a guarantee, or why there are none."""
    stated = [each for each in found.approximate if not each.reason]
    blocks: list[Block] = []
    if stated:
        rows = []
        for each in stated:
            name, value, lower, upper = (
                APPROXIMATE[each.what],
                each.estimate,
                each.lower,
                each.upper,
            )
            if found.log.utility is not None:
                name, value, lower, upper = UTILITY, -value, -upper, -lower
            write = signed if each.what == "difference of means" else number
            interval = f"{write(lower)} to {write(upper)}"
            rows.append((Cell(name, name), Cell(value, write(value)), Cell(lower, interval)))
        columns = (
            Column("", "", numbers=False),
            Column("seen", "observed"),
            Column("approximate", "approximate"),
        )
        blocks.append(
            Table(
                name="approximate",
                title="Approximate, not guaranteed",
                columns=columns,
                rows=tuple(rows),
            )
        )
        text = (
            f"By paired t and Fieller's intervals: about {percent(1 - found.asked.delta)} sure, unless rare large costs "
            "were never seen, which no look at these runs can tell."
        )
        blocks.append(Text(text=text, aside=True))
    elif found.approximate:
        blocks.append(
            Text(
                text=f"No approximate interval of the means either: {found.approximate[0].reason}.",
                aside=True,
            )
        )
    return blocks


def _row(statement: Statement, utility: str | None) -> tuple[Cell, ...]:
    """The limit of the side that shows something."""
    words, shares = WORDS[statement.quantity], WORDS[statement.quantity].value is percent
    worse = statement.grade == "worse" and statement.opposite is not None
    limit = statement.opposite if worse and statement.opposite is not None else statement.limit
    upper = (statement.side == "upper") != worse
    low, high = sorted((statement.observed, statement.possible))
    if utility is not None and statement.quantity in ("mean", "difference"):
        # Costs are 1 − utility.
        start = 1 if statement.quantity == "mean" else 0
        label = f"expected utility ({utility})" if statement.quantity == "mean" else UTILITY
        words, upper = words._replace(label=label), not upper
        limit, low, high = start - limit, start - high, start - low
    if not math.isfinite(limit):
        few = FEW if math.isfinite(statement.observed) else LOST
        written = few if statement.quantity in ("median", "nine in ten") else NOTHING
    elif shares and not upper and limit < LEAST:
        written = FEW if statement.observed > 0 else NOTHING
    else:
        written = f"at most {words.most(limit)}" if upper else f"at least {words.least(limit)}"
    seen, most = words.value(low), words.value(high) if math.isfinite(high) else "more"
    # Infinite: the runs that were stopped may have taken any time.
    if low < high and seen != most:
        seen += f" to {most}"
    verdict, tone = GRADES[statement.grade]
    return (
        Cell(words.label, words.label),
        Cell(statement.observed, seen),
        Cell(limit, written),
        Cell(verdict, verdict, tone=tone),
    )
