"""What is shown: every statement that these runs allow, with what was observed and what is
guaranteed.
"""

import math
from typing import Final

from truecost.judge.assessment import Assessment
from truecost.judge.statements import Certificate, Comparison, Statement
from truecost.show.blocks import Block, Cell, Column, Section, Table, Text, Tone
from truecost.show.document.context import called, opening, sure
from truecost.show.document.verdict import difference
from truecost.show.numbers import (
    at_least,
    at_most,
    ends,
    number,
    percent,
    share_at_least,
    share_at_most,
    signed,
)

GRADES: Final[dict[str | None, tuple[str, Tone]]] = {
    "better": ("shown better", "good"),
    "worse": ("shown worse", "bad"),
    "open": ("not shown", ""),
    None: ("", ""),
}
# In place of a limit that says nothing, and the share below which one does not.
FEW, LOST, NOTHING = SILENT = ("too few instances to say", "too many are not solved", "nothing")
LEAST: Final = 0.005
UTILITY: Final = "expected utility − that of the default"
APPROXIMATE: Final = {
    "difference of means": "mean cost − that of the default",
    "ratio of means": "mean cost of the default over its own",
}
NAMES: Final = {
    "solved share": "runs solved",
    "median": "half of all runs cost",
    "nine in ten": "nine in ten runs cost",
    "wins": "runs won against the default, ties half",
    "speed-up": "times faster than the default, in the median",
    "ratio of means": "mean cost of the default over its own",
}


def what_is_shown(found: Assessment) -> Section | None:
    """The table of statements; None where there are none."""
    rows = [_row(each) for each in found.statements]
    certificate, comparison = found.certificate, found.comparison
    if certificate is None and not found.statements:
        return None
    who = (
        certificate.configuration if certificate is not None else found.statements[0].configuration
    )
    stated: list[Certificate | Comparison | Statement] = list(found.statements)
    if certificate is not None:
        rows.insert(0, _mean(found, certificate))
        stated.append(certificate)
    limited = comparison is not None and comparison.configuration == who
    if (
        limited
        and comparison is not None
        and comparison.upper is not None
        and comparison.lower is not None
    ):
        rows.append(_difference(found, comparison, comparison.lower, comparison.upper))
        stated.append(comparison)
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
    condition = next((each.condition for each in stated if each.condition is not None), None)
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


def _mean(found: Assessment, certificate: Certificate) -> tuple[Cell, ...]:
    """The mean cost; of a utility, its expectation."""
    what, seen, limit = (
        "mean cost",
        ends(certificate.lowest, certificate.estimate),
        f"at most {at_most(certificate.upper)}",
    )
    if found.log.utility is not None:
        what, limit = (
            f"expected utility ({found.log.utility})",
            f"at least {at_least(1 - certificate.upper)}",
        )
        seen = ends(1 - certificate.estimate, 1 - certificate.lowest)
    return (
        Cell(what, what),
        Cell(certificate.estimate, seen),
        Cell(certificate.upper, limit),
        Cell("", ""),
    )


def _difference(
    found: Assessment, comparison: Comparison, lower: float, upper: float
) -> tuple[Cell, ...]:
    """The difference of means to the default's, of the side that shows something."""
    what, sign = (
        ("mean cost − that of the default", 1) if found.log.utility is None else (UTILITY, -1)
    )
    value = sign * (lower if comparison.grade == "worse" else upper)
    most = (comparison.grade != "worse") == (sign == 1)
    limit = f"at most {at_most(value)}" if most else f"at least {at_least(value)}"
    said, tone = GRADES[comparison.grade]
    seen = difference(comparison, sign)
    return (
        Cell(what, what),
        Cell(comparison.observed, seen),
        Cell(value, limit),
        Cell(said, said, tone=tone),
    )


def _row(each: Statement) -> tuple[Cell, ...]:
    name = NAMES[each.quantity]
    shares = each.quantity in ("solved share", "wins")
    worse = each.grade == "worse" and each.opposite is not None
    value = each.opposite if worse and each.opposite is not None else each.limit
    upper = each.side == "upper" or worse
    if not math.isfinite(value):
        few = FEW if math.isfinite(each.observed) else LOST
        limit = few if each.quantity in ("median", "nine in ten") else NOTHING
    elif shares and not upper and value < LEAST:
        limit = FEW if each.observed > 0 else NOTHING
    elif shares:
        limit = share_at_most(value) if upper else share_at_least(value)
    else:
        limit = at_most(value) if upper else at_least(value)
    said, tone = GRADES[each.grade]
    low, high = sorted((each.observed, each.possible))
    seen = percent(low) if shares else number(low)
    if low < high:
        # Infinite: the runs that were stopped may have taken any time.
        seen += (
            f" to {percent(high) if shares else number(high) if math.isfinite(high) else 'more'}"
        )
    bound = "" if limit in SILENT else "at most " if upper else "at least "
    return (
        Cell(name, name),
        Cell(each.observed, seen),
        Cell(value, f"{bound}{limit}"),
        Cell(said, said, tone=tone),
    )
