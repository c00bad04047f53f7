"""What is shown: every statement that these runs allow, with what was observed and what is guaranteed."""

import math
from typing import TYPE_CHECKING, Final

from truecost.judge.assess import Assessment
from truecost.show.blocks import Block, Cell, Column, Section, Table, Text, Tone
from truecost.show.document.context import called, opening, sure
from truecost.show.document.verdict import difference
from truecost.show.numbers import at_least, at_most, ends, number, percent, share_at_least, share_at_most

if TYPE_CHECKING:  # records that came here with what they are computed with
    from truecost.judge.beyond import Statement

GRADES: Final[dict[str | None, tuple[str, Tone]]] = {
    "better": ("shown better", "good"),
    "worse": ("shown worse", "bad"),
    "open": ("not shown", ""),
    None: ("", ""),
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
    if certificate is not None:
        mean = (
            Cell(certificate.estimate, ends(certificate.lowest, certificate.estimate)),
            Cell(certificate.upper, f"at most {at_most(certificate.upper)}"),
        )
        rows.insert(0, (Cell("mean cost", "mean cost"), *mean, Cell("", "")))
    if comparison is not None and comparison.upper is not None and comparison.lower is not None:
        worse = comparison.grade == "worse"
        limit = f"at least {at_least(comparison.lower)}" if worse else f"at most {at_most(comparison.upper)}"
        said, tone = GRADES[comparison.grade]
        cells = (Cell(comparison.estimate, difference(comparison)), Cell(comparison.upper, limit))
        rows.append((Cell("m", "mean cost − that of the default"), *cells, Cell(said, said, tone=tone)))
    if not rows:
        return None
    who = certificate.configuration if certificate is not None else found.statements[0].configuration
    columns = (
        Column("", "", numbers=False),
        Column("seen", "observed"),
        Column("guaranteed", "guaranteed"),
        Column("", "", numbers=False),
    )
    table = Table(name="statements", title="", columns=columns, rows=tuple(rows))
    each = f"Each line is wrong with probability {found.asked.delta:g} at most, on its own."
    primary = "mean cost" if found.primary == "mean" else "wins"
    blocks: list[Block] = [
        table,
        Text(text=f"{each} What decides whether it is better: {primary}, chosen before looking.", aside=True),
    ]
    condition = None if certificate is None else certificate.condition
    lead = f"{sure(found.asked.delta)} of {called(found, who)} on new instances:"
    lead = opening(lead if condition is None else f"if {condition}, {lead}")
    return Section(name="shown", title="What is shown", lead=lead, blocks=tuple(blocks))


def _row(each: "Statement") -> tuple[Cell, ...]:
    name = NAMES[each.kind]
    shares = each.kind in ("solved share", "wins")
    worse = each.grade == "worse" and each.opposite is not None
    value = each.opposite if worse and each.opposite is not None else each.limit
    upper = each.side == "upper" or worse
    if not math.isfinite(value):
        limit = "too few instances to say" if each.kind in ("median", "nine in ten") else "nothing"
    elif shares:
        limit = share_at_most(value) if upper else share_at_least(value)
    else:
        limit = at_most(value) if upper else at_least(value)
    said, tone = GRADES[each.grade]
    low, high = sorted((each.observed, each.possible))
    seen = percent(low) if shares else number(low)
    if low < high:
        # Infinite: the runs that were stopped may have taken any time.
        seen += f" to {percent(high) if shares else number(high) if math.isfinite(high) else 'more'}"
    bound = "" if not math.isfinite(value) else "at most " if upper else "at least "
    return (Cell(name, name), Cell(each.observed, seen), Cell(value, f"{bound}{limit}"), Cell(said, said, tone=tone))
