"""What the page and `--all` show below the verdict: tables as rows of text, and plain sentences."""

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite, isnan, nan
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Final

from truecost.errors import Refusal, counted
from truecost.show.numbers import (
    confidence,
    distinct_numbers,
    exact,
    label,
    percent,
    short,
    visible,
)
from truecost.show.words import (
    NAMES,
    Names,
    capitalised,
    mean_of,
    par,
    phase_of,
    unit_of,
    values,
    with_article,
)

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


def _table(head: Sequence[str], rows: Iterable[Sequence[str]], texts: int = 1) -> Table:
    """Return a table without the columns that say nothing in any row."""
    rows = tuple(rows)
    kept = [
        place
        for place in range(len(head))
        if place == 0 or any(row[place] not in ("", "–") for row in rows)
    ]
    return Table(
        head=tuple(head[place] for place in kept),
        rows=tuple(tuple(row[place] for place in kept) for row in rows),
        texts=sum(place < texts for place in kept),
    )


def title(assessment: "Assessment") -> str:
    """Return what the report is about."""
    log, winner = assessment.log, label(assessment.winner)
    name = short(PurePath(log.path).name or log.tool)
    if assessment.default in (None, assessment.winner):
        return f"{name}: configuration {winner}"
    return f"{name}: configuration {winner} against {label(assessment.default or '')}"


def size(log: "Log") -> str:
    """Return how large a log is, in one line."""
    alone = log.runs is log.test
    nouns = ("configuration", "test instance" if alone else "instance", "run")
    counts = " × ".join(map(counted, log.runs.shape, nouns))
    if log.test is not None and not alone:
        counts += f", {counted(len(log.test.instances), 'test instance')}"
    return f"{visible(log.tool)}: {counts}"


QUANTITIES: Final = {
    "mean": "{mean}, {about}",
    "difference": "Difference in {mean}",
    "wins": "Runs won (a tie counts half)",
    "solved": "Runs solved, {about}",
    "solved difference": "Difference in runs solved",
    "median speed-up": "Median speed-up",
    "geometric speed-up": "Geometric speed-up, shift {shift} s",
    "margin": "{rival} + {margin} % − {about}",
}


def quantity_name(assessment: "Assessment", one: "Statement", names: Names = NAMES) -> str:
    """Return what a statement is about."""
    mean, shift = mean_of(assessment, one.penalty), exact(one.shift or 0)
    about, rival = names if one.configuration == assessment.winner else names[::-1]
    margin = exact(100 * (assessment.question.margin_share or 0))
    template = QUANTITIES[one.quantity]
    return capitalised(
        template.format(mean=mean, about=about, rival=rival, shift=shift, margin=margin)
    )


def statements(assessment: "Assessment", names: Names = NAMES) -> Table:
    """Return all statements; the block has the one approximate interval."""
    level = confidence(assessment.question.delta)
    head = ("quantity", "grade", "observed", f"limits, {level} each")
    rows = [
        (
            quantity_name(assessment, one, names),
            "" if one.no_difference is None else one.grade,
            *values(one)[:2],
        )
        for one in assessment.statements
    ]
    return _table(head, rows, texts=2)


def ladder(assessment: "Assessment") -> Table | None:
    """Return the difference at each penalty tried."""
    if assessment.ladder is None or not assessment.ladder.statements:
        return None
    level = confidence(assessment.question.delta)
    return _table(
        ("a failed run counts", "grade", "difference", f"limits, {level} each"),
        [(par(one.penalty), one.grade, *values(one)[:2]) for one in assessment.ladder.statements],
        texts=2,
    )


def ranking_title(assessment: "Assessment", most: int = MOST_ROWS) -> str:
    """Return what the ranking is of."""
    total = len(assessment.ranking)
    return "All configurations" if total <= most else f"The best {most} of {total:,} configurations"


def ranking(assessment: "Assessment", most: int = MOST_ROWS) -> Table:
    """Return the best configurations, the best first."""
    roles = {assessment.winner: " (winner)", assessment.default: " (default)"}
    cost = f"{phase_of(assessment.log)} cost"
    head = ("configuration", cost, "runs", "instances", "test cost", "may be the best")
    ranked = assessment.ranking[:most]
    costs = distinct_numbers([row.cost for row in ranked])
    test_costs = distinct_numbers([row.test_cost for row in ranked])
    rows = [
        (
            f"{label(row.configuration)}{roles.get(row.configuration, '')}",
            cost,
            f"{row.runs:,}",
            f"{row.instances:,}",
            test_cost,
            {True: "yes", False: "no", None: "–"}[row.maybe_best],
        )
        for row, cost, test_cost in zip(ranked, costs, test_costs, strict=True)
    ]
    return _table(head, rows)


def best_set(assessment: "Assessment") -> str:
    """Return the sentence on the set that contains the best; empty where there is none."""
    compared = [row.maybe_best for row in assessment.ranking if row.maybe_best is not None]
    m, best = len(compared), sum(compared)
    if not m:
        return ""
    # Configurations that were added after the list was fixed are not compared.
    listed = "" if m == len(assessment.ranking) else " on the list"
    if best == m:
        return f"Each of the {m:,} configurations{listed} may be the truly best one."
    level = confidence(assessment.question.delta)
    return f"{best:,} of the {m:,} configurations{listed} may be the truly best one ({level})."


def noise(assessment: "Assessment", names: Names = NAMES) -> str:
    """Return the sentence on where the noise comes from; empty where nothing is known."""
    share = nan if assessment.noise is None else float(assessment.noise.within_share[0])
    if isnan(share):
        return ""
    runs = f"{with_article(names[0])}'s runs"
    if share < 0.5:
        return (
            f"{percent(1 - share)} of the variance of {runs} comes from the instance and "
            f"{percent(share)} from the seed: more instances help more than more seeds."
        )
    return (
        f"{percent(share)} of the variance of {runs} comes from the seed and "
        f"{percent(1 - share)} from the instance: more seeds help, too."
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameters:
    """Winner and default beside each other, and both as arguments to paste."""

    different: Table
    equal: Table
    winner: str
    default: str


def parameters(assessment: "Assessment") -> Parameters | None:
    """Return the parameter values of winner and default; None where they are unknown."""
    values_of = assessment.log.parameters
    mine = values_of.get(assessment.winner)
    theirs = values_of.get(assessment.default or "", {})
    if not mine:
        return None
    rows = [
        (visible(name), _value(mine.get(name)), _value(theirs.get(name)))
        for name in dict.fromkeys([*mine, *theirs])
    ]
    different = [row for row in rows if row[1] != row[2]]
    equal = [row[:2] for row in rows if row[1] == row[2]]
    return Parameters(
        different=_table(("parameter", "winner", "default"), different),
        equal=_table(("parameter", "value"), equal),
        winner=arguments(mine),
        default=arguments(theirs),
    )


def _value(value: Any) -> str:
    if value is None:
        return "–"
    return exact(value) if isinstance(value, float) else visible(str(value))


def arguments(parameters: Mapping[str, Any]) -> str:
    """Write parameter values as arguments: --name=value."""
    return visible(
        shlex.join(
            f"{'' if name.startswith('-') else '--'}{name}={value}"
            for name, value in parameters.items()
            if value is not None
        )
    )


ASSUMED_BASIS: Final = {
    "test": "The test instances are fresh: the search never saw them.",
    "fixed before": "{Winner} was fixed before these runs.",
    "list": "The {candidates:,} configurations were fixed before the first run.",
}
ASSUMED_UNIT: Final = {
    "instance": "The instances are a random sample of those that matter.",
    "family": "The families are a random sample of those that matter, and each counts equally.",
    "seed": "The statements hold for this instance only, with new seeds.",
}
ASSUMED_LOOKS: Final = {
    True: "The limits stay valid however often the results are looked at.",
    False: "No runs were added after looking at the results.",
}


def assumptions(assessment: "Assessment", names: Names = NAMES) -> tuple[str, ...]:
    """Return what the guaranteed limits rest on."""
    evidence = assessment.evidence
    if isinstance(evidence, Refusal):
        return ()
    candidates, rivals, runs = evidence.candidates, evidence.rivals, evidence.runs
    winner, level = with_article(names[0]), confidence(assessment.question.delta)
    basis = "fixed before" if candidates == 1 and evidence.basis == "list" else evidence.basis
    lines = [ASSUMED_BASIS[basis].format(Winner=capitalised(winner), candidates=candidates)]
    if candidates > 1:
        lines.append(
            f"Error probabilities are divided by {rivals:,} in comparisons and by {candidates:,} "
            f"for the mean of {winner} alone."
        )
    lines += [ASSUMED_UNIT[evidence.sampled], ASSUMED_LOOKS[evidence.watched]]
    if isfinite(runs.width):
        low, high = exact(runs.low), exact(runs.high)
        lines.append(f"A run costs between {low} and {high}{unit_of(assessment)}.")
    lines.append(f"Each limit holds with {level} confidence, but not all of them at once.")
    return tuple(lines)


def caveats(assessment: "Assessment") -> tuple[str, ...]:
    """Return what qualifies the result, one line each; the condition first."""
    lines = [visible(caveat.sentence) for caveat in assessment.caveats]
    difference = assessment.statement("difference")
    if difference is not None and difference.no_approximate:
        lines.append(difference.no_approximate)
    return tuple(dict.fromkeys(lines))
