"""What the page and `--all` show below the verdict: tables as rows of text, and plain sentences."""

import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import inf, isfinite
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from truecost.errors import Refusal, counted
from truecost.show.numbers import (
    at_least,
    at_most,
    confidence,
    given,
    label,
    number,
    percent,
    share_at_least,
    share_at_most,
    short,
    signed,
    visible,
)
from truecost.show.verdict import NAMES, Names, called, mean_of, opening, par, unit_of

if TYPE_CHECKING:
    from truecost.judge.assessment import Assessment, Statement
    from truecost.matrix import Log

# Rows of the ranking that are printed.
MOST_ROWS = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A head and rows of text; `texts` is how many of the first columns are no numbers."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    texts: int = 1


def title(assessment: "Assessment") -> str:
    """Return what the report is about."""
    log, winner = assessment.log, label(assessment.winner)
    name = short(PurePath(log.path).name or log.tool)
    if assessment.default in (None, assessment.winner):
        return f"{name}: configuration {winner}"
    return f"{name}: configuration {winner} against {label(assessment.default or '')}"


def size(log: "Log") -> str:
    """Return how large a log is, in one line."""
    configurations, instances, runs = log.runs.shape
    text = " × ".join(
        (
            counted(configurations, "configuration"),
            counted(instances, "instance"),
            counted(runs, "run"),
        )
    )
    test = "" if log.test is None else f", {counted(len(log.test.instances), 'test instance')}"
    return f"{visible(log.tool)}: {text}{test}"


def _named(assessment: "Assessment", one: "Statement", names: Names) -> str:
    """Return what a statement is about."""
    about = names[0] if one.configuration == assessment.winner else label(one.configuration)
    if one.configuration == assessment.default:
        about = names[1]
    match one.quantity:
        case "mean":
            return f"{mean_of(assessment, one.penalty)}, {about}"
        case "difference":
            return f"difference in {mean_of(assessment, one.penalty)}"
        case "wins":
            return "runs won (a tie counts half)"
        case "solved":
            return f"runs solved, {about}"
        case "solved difference":
            return "difference in runs solved"
        case "median speed-up":
            return "median speed-up"
        case "geometric speed-up":
            return f"geometric speed-up, shift {given(one.shift or 0)} s"
        case "margin":
            margin = given(100 * (assessment.question.margin_share or 0))
            return f"{about} below the margin of {margin} % by"
    return one.quantity


_SHARES = ("wins", "solved", "solved difference")


def values(one: "Statement", *, share: bool = False) -> tuple[str, str, str]:
    """Return the observed value, the guaranteed limits and the approximate interval as text."""
    least: Callable[[float], str] = at_least
    most: Callable[[float], str] = at_most
    plain: Callable[[float], str] = number
    if share or one.quantity in _SHARES:
        least, most, plain = share_at_least, share_at_most, percent
    mark = signed if one.no_difference == 0 else str
    if isfinite(one.lower) and isfinite(one.upper):
        limits = f"{mark(least(one.lower))} to {mark(most(one.upper))}"
    elif isfinite(one.lower):
        limits = f"at least {mark(least(one.lower))}"
    elif isfinite(one.upper):
        limits = f"at most {mark(most(one.upper))}"
    else:
        limits = "–"
    near = "–"
    if one.approximate is not None:
        near = f"{mark(plain(one.approximate[0]))} to {mark(plain(one.approximate[1]))}"
    return mark(plain(one.observed)), limits, near


def statements(assessment: "Assessment", names: Names = NAMES) -> Table:
    """Return all statements: observed, limits, approximate interval, grade."""
    level = confidence(assessment.question.delta)
    rows = []
    for one in assessment.statements:
        grade = "" if one.no_difference is None else one.grade
        rows.append((opening(_named(assessment, one, names)), grade, *values(one)))
    head = ("quantity", "grade", "observed", f"limits, {level} each", "approximate")
    return Table(head=head, rows=tuple(rows), texts=2)


def without_empty(table: Table) -> Table:
    """Return a table without the columns that have nothing in any row."""
    kept = [
        place
        for place in range(len(table.head))
        if place == 0 or any(row[place] not in ("", "–") for row in table.rows)
    ]
    return Table(
        head=tuple(table.head[place] for place in kept),
        rows=tuple(tuple(row[place] for place in kept) for row in table.rows),
        texts=sum(place < table.texts for place in kept),
    )


def ladder(assessment: "Assessment") -> Table | None:
    """Return the difference at each penalty tried."""
    if assessment.ladder is None or not assessment.ladder.statements:
        return None
    rows = []
    for one in assessment.ladder.statements:
        observed, limits, _ = values(one, share=one.penalty == inf)
        rows.append((par(one.penalty), one.grade, observed, limits))
    level = confidence(assessment.question.delta)
    return Table(
        head=("a failed run counts", "grade", "difference", f"limits, {level} each"),
        rows=tuple(rows),
        texts=2,
    )


def ranking(assessment: "Assessment") -> Table:
    """Return all configurations, the best first."""
    tested = any(isfinite(row.test_cost) for row in assessment.ranking)
    known = any(row.maybe_best is not None for row in assessment.ranking)
    head = ["configuration", "training cost", "runs", "instances"]
    head += ["test cost"] * tested + ["may be the best"] * known
    rows = []
    for row in assessment.ranking[:MOST_ROWS]:
        role = {assessment.winner: " (winner)", assessment.default: " (default)"}
        name = f"{label(row.configuration)}{role.get(row.configuration, '')}"
        cells = [name, number(row.cost), f"{row.runs:,}", f"{row.instances:,}"]
        cells += [number(row.test_cost)] * tested
        cells += [{True: "yes", False: "no", None: "–"}[row.maybe_best]] * known
        rows.append(tuple(cells))
    return Table(head=tuple(head), rows=tuple(rows))


def best_set(assessment: "Assessment") -> str:
    """Return the sentence on the set that contains the best; empty where there is none."""
    best = assessment.best_set
    if best is None:
        return ""
    level = confidence(assessment.question.delta)
    compared = sum(row.maybe_best is not None for row in assessment.ranking)
    # Configurations that were added after the list was fixed are not compared.
    listed = "" if compared == len(assessment.ranking) else " on the list"
    if len(best) == compared:
        return f"Any of the {compared:,} configurations{listed} may be the truly best one."
    return (
        f"{len(best):,} of the {compared:,} configurations{listed} may be the truly best one "
        f"({level})."
    )


def noise(assessment: "Assessment", names: Names = NAMES) -> str:
    """Return the sentence on where the noise comes from; empty where nothing is known."""
    if assessment.noise is None:
        return ""
    within, across = _components(assessment)
    if not (isfinite(within) and isfinite(across)) or within + across <= 0:
        return ""
    share, runs = within / (within + across), f"{called(names[0])}'s runs"
    if share < 0.5:
        return (
            f"{percent(1 - share)} of the variance of {runs} comes from the instance and "
            f"{percent(share)} from the seed: more instances help more than more seeds."
        )
    return (
        f"{percent(share)} of the variance of {runs} comes from the seed and "
        f"{percent(1 - share)} from the instance: more seeds help, too."
    )


def _components(assessment: "Assessment") -> tuple[float, float]:
    import numpy as np

    noise_ = assessment.noise
    assert noise_ is not None  # noqa: S101 - the caller knows
    within, across = np.ravel(noise_.within), np.ravel(noise_.across)
    return max(0.0, float(within[0])), max(0.0, float(across[0]))


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameters:
    """Winner and default beside each other, and both as arguments to paste."""

    different: Table
    equal: Table
    winner: str
    default: str


def parameters(assessment: "Assessment") -> Parameters | None:
    """Return the parameter values of winner and default; None where they are unknown."""
    known = assessment.log.parameters
    mine = known.get(assessment.winner)
    if not mine:
        return None
    theirs = known.get(assessment.default or "", {})
    names = list(dict.fromkeys([*mine, *theirs]))
    rows = [(visible(name), _value(mine.get(name)), _value(theirs.get(name))) for name in names]
    head = ("parameter", "winner", "default") if theirs else ("parameter", "winner", "")
    different = tuple(row for row in rows if row[1] != row[2])
    equal = tuple(row[:2] for row in rows if row[1] == row[2])
    return Parameters(
        different=Table(head=head, rows=different, texts=1),
        equal=Table(head=("parameter", "value"), rows=equal),
        winner=arguments(mine),
        default=arguments(theirs) if theirs else "",
    )


def _value(value: Any) -> str:
    if value is None:
        return "–"
    return given(value) if isinstance(value, float) else visible(str(value))


def arguments(values_: Mapping[str, Any]) -> str:
    """Write parameter values as arguments: --name=value."""
    parts = []
    for name, value in values_.items():
        if value is None:
            continue
        flag = name if str(name).startswith("-") else f"--{name}"
        parts.append(f"{flag}={value}")
    return visible(shlex.join(parts))


ASSUMED_BASIS = {
    "test": "The test instances are fresh: the search never saw them, and they are a random sample "
    "of the instances that matter.",
    "fixed before": "{Winner} was fixed before these runs, and the instances are a random sample "
    "of those that matter.",
    "list": "All {candidates:,} configurations were fixed before the first run; the error "
    "probability of each limit is divided by {divisors}. The instances are a random sample of "
    "those that matter.",
}
ASSUMED_FINALISTS = (
    "{rivals:,} configurations were tested; the error probability of each limit is divided by that."
)
ASSUMED_UNIT = {
    "family": "Families were sampled independently, and each counts equally.",
    "seed": "The statements hold for this instance only, with new seeds.",
}
ASSUMED_LOOKS = {
    True: "The limits stay valid however often the results are looked at.",
    False: "No runs were added after looking at the results.",
}


def assumptions(assessment: "Assessment", names: Names = NAMES) -> tuple[str, ...]:
    """Return what the guaranteed limits rest on."""
    evidence = assessment.evidence
    if isinstance(evidence, Refusal):
        return ()
    winner = opening(called(names[0]))
    divisors = f"{evidence.rivals:,}"
    if evidence.candidates != evidence.rivals:
        divisors += f" (of a mean alone by {evidence.candidates:,})"
    basis = ASSUMED_BASIS[evidence.basis]
    lines = [basis.format(Winner=winner, candidates=evidence.candidates, divisors=divisors)]
    if evidence.basis == "test" and evidence.rivals > 1:
        lines.append(ASSUMED_FINALISTS.format(rivals=evidence.rivals))
    if evidence.sampled in ASSUMED_UNIT:
        lines.append(ASSUMED_UNIT[evidence.sampled])
    lines.append(ASSUMED_LOOKS[evidence.watched])
    runs = evidence.runs
    if isfinite(runs.width):
        unit = unit_of(assessment)
        lines.append(f"A run costs {given(runs.low)} to {given(runs.high)}{unit}.")
    level = confidence(assessment.question.delta)
    lines.append(f"Each limit holds with {level} confidence, but not all of them at once.")
    return tuple(lines)


# Caveats on which the guarantees depend.
CONDITIONS = ("condition", "alike", "picked")


def caveats(assessment: "Assessment") -> tuple[str, ...]:
    """Return what qualifies the result, one line each; the condition first."""
    conditions = [caveat.sentence for caveat in assessment.caveats if caveat.code in CONDITIONS]
    if assessment.condition is not None:
        conditions.insert(0, assessment.condition)
    lines = [visible(text) for text in (*conditions, *(one.sentence for one in assessment.caveats))]
    difference = assessment.statement("difference")
    if difference is not None and difference.no_approximate:
        lines.append(difference.no_approximate)
    return tuple(dict.fromkeys(lines))
