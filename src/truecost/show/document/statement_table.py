"""What these runs show: every statement they allow, observed and guaranteed."""

import math
from typing import Final

from truecost.judge.statements import Statement
from truecost.show.blocks import Block, Cell, Column, Section, Table, Text
from truecost.show.document.context import Case, opening
from truecost.show.document.wording import GRADES, wording, words_of
from truecost.show.numbers import confidence, number, percent, signed

# Under a condition that nobody has confirmed.
IF_SO: Final = {"better": "better, if so", "worse": "worse, if so"}
# In place of a limit that says nothing, and the share below which it does not.
UNSOLVED, NOTHING = ("too many unsolved runs", "nothing")
LEAST: Final = 0.005
NAME: Final = Column("", numbers=False)


def what_is_shown(case: Case) -> Section | None:
    """Return the table of statements; None if there are none."""
    assessment = case.assessment
    statements, comparison = assessment.statements, assessment.comparison
    if not statements:
        return None
    rows = [_row(statement, case) for statement in statements]
    columns = (NAME, Column("observed", "observed"), Column("guaranteed", "guaranteed"), NAME)
    blocks: list[Block] = [Table("statements", "", columns, tuple(rows))]
    if comparison is not None:
        blocks.append(Text(_primary(case), aside=True))
    blocks += _whole_list(case)
    blocks += _approximate(case)
    winner = statements[0].configuration
    lead = f"{case.called(winner)} {assessment.scope.phrase}"
    # The condition of one line is a condition of all.
    condition = next((line.condition for line in statements if line.condition is not None), None)
    lead = opening(f"{lead}{'' if condition is None else f', if {condition}'}.")
    if winner != assessment.incumbent:
        lead += f" {case.best_on_part(winner)}"
    elif statements[0].chosen in ("on-part", "weighted-list"):
        # Otherwise observed values seem to contradict those of all instances in the verdict.
        where = case.units(statements[0].instances)
        lead += f" Observed on the {where} that were not used to choose."
    level = confidence(assessment.question.delta)
    lead += f" Each line holds at {level}; not corrected for reading several lines."
    return Section("shown", "What is shown", lead, tuple(blocks))


def _primary(case: Case) -> str:
    origin = "truecost's default"
    if case.assessment.question.primary is not None:
        origin = "set with `primary`"
    elif case.assessment.trajectory.watched is not None:
        origin = "set when the validation started"
    return f"Primary criterion: {case.criterion} ({origin})."


def _whole_list(case: Case) -> list[Block]:
    """Return how many of a list are shown better than the default, and which has the best limit."""
    lines, scale, assessment = [], case.mean_scale, case.assessment
    for name, better in (
        ("difference", f"to have a {scale.lower} {scale.mean} than"),
        ("wins", "to win more often than"),
    ):
        limits = assessment.beside.shown_better.get(name, {})
        if len(limits) < 1 + (assessment.incumbent in limits):
            continue
        if name == "wins":
            best = max(limits, key=lambda rival: limits[rival])
            limit = wording(name, scale).limit(limits[best], upper=False)
        else:
            best = min(limits, key=lambda rival: limits[rival])
            limit = scale._replace(origin=0.0).limit(limits[best])
        many = f"{len(limits):,} of {len(assessment.matrix.configurations) - 1:,} configurations"
        verb = "is" if len(limits) == 1 else "are"
        lines.append(
            f"{many} {verb} shown {better} the default, all at once; {best} has the best bound "
            f"({limit})."
        )
    return [Text(" ".join(lines))] if lines else []


def _approximate(case: Case) -> list[Block]:
    """Return intervals of means without a guarantee, or why there are none."""
    assessment = case.assessment
    intervals = [part for part in assessment.approximate if not part.reason]
    if not assessment.approximate:
        return []
    if not intervals:
        reason = assessment.approximate[0].reason.replace("instances", assessment.scope.plural)
        return [Text(f"No approximate interval of the means either: {reason}.", aside=True)]
    rows, scale = [], case.mean_scale._replace(origin=0.0)
    for part in intervals:
        paired = part.quantity == "difference of means"
        name = wording("difference" if paired else "ratio of means", case.mean_scale).label
        value, lower, upper = part.observed, part.lower, part.upper
        if paired:
            value, (lower, upper) = scale.value(value), scale.range(lower, upper)
        write = signed if paired else number
        interval = f"{write(lower)} to {write(upper)}"
        rows.append((Cell(name, name), Cell(value, write(value)), Cell(lower, interval)))
    columns = (NAME, Column("observed", "observed"), Column("approximate", "approximate"))
    bad = "large cost" if scale.sign > 0 else f"low {scale.noun}"
    text = (
        f"Paired t and Fieller intervals, approximately {percent(1 - assessment.question.delta)}. "
        f"They can be badly wrong if rare {bad}s are missing from this sample; the data cannot "
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


def _row(statement: Statement, case: Case) -> tuple[Cell, ...]:
    """Return the row of a statement, with the limit of the side that shows something."""
    quantity, grade = statement.quantity, statement.grade_if_met
    words = words_of(statement, case.mean_scale)
    worse = grade == "worse" and statement.opposite is not None
    upper, limit, (low, high) = case.on_scale(statement, opposite=worse)
    few = f"too few {case.assessment.scope.plural}"
    if not math.isfinite(limit):
        few = few if math.isfinite(statement.observed) else UNSOLVED
        written = few if quantity in ("median", "90th percentile") else NOTHING
    elif words.value is percent and not upper and limit < LEAST:
        written = few if statement.observed > 0 else NOTHING
    else:
        written = words.limit(limit, upper)
    # Stopped runs may have taken any time.
    observed, most = words.value(low), words.value(high) if math.isfinite(high) else "more"
    if low < high and observed != most:
        observed += f" to {most}"
    verdict, tone = GRADES[statement.grade]
    verdict = IF_SO.get(grade or "", verdict) if statement.condition is not None else verdict
    cells = (Cell(statement.observed, observed), Cell(limit, written))
    return (Cell(words.label, words.label), *cells, Cell(verdict, verdict, tone=tone))
