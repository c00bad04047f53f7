"""The verdict in words: a badge, two sentences, and the comparison on the same instances.

Every sentence is written once, as a whole, in `sentences`. What qualifies a result is a caveat: a
line of its own.
"""

from dataclasses import asdict, dataclass
from math import inf, isfinite
from typing import TYPE_CHECKING, Any, Literal

from truecost.errors import Refusal, counted
from truecost.show import sentences
from truecost.show.next_steps import next_steps
from truecost.show.numbers import (
    at_least,
    at_most,
    confidence,
    distinct_numbers,
    exact,
    number,
    relative,
    share_at_least,
    share_at_most,
    signed,
)
from truecost.show.words import (
    NAMES,
    Names,
    capitalised,
    is_time,
    mean_of,
    par,
    scope_of,
    unit_of,
    values,
    with_article,
    with_name,
)

if TYPE_CHECKING:
    from truecost.judge.assessment import Assessment, Ladder, Statement
    from truecost.judge.pairs import SameInstances

Tone = Literal["good", "open", "bad"]
BAR = "\\|"  # inside a cell of Markdown
# Over-tuning below this share of the training cost is not worth a sentence.
NEGLIGIBLE = 0.005


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """What every command shows first; what there is nothing to say about is empty.

    Attributes
    ----------
    badge, tone
        The grade, or "Mixed" and "Better up to PAR3"; its colour.
    headline, second
        The answer by the primary criterion, and by the other one.
    title, rows
        The comparison on the same instances: lines of a label and a value.
    training
        What training made the winner look like.
    margin
        Whether the winner is proven at most the margin worse, unless the headline says it.
    """

    badge: str
    tone: Tone
    headline: str
    second: str
    title: str
    rows: tuple[tuple[str, str], ...]
    training: str
    margin: str

    @property
    def answer(self) -> str:
        """The headline behind its grade, for texts without a badge."""
        if self.headline.startswith(("Mixed:", "Better", "Worse")):
            return self.headline
        return f"{self.badge}. {self.headline}"


def block(assessment: "Assessment", names: Names = NAMES) -> Block:
    """Return the verdict."""
    badge, tone = _badge(assessment)
    same, fields = assessment.same, _fields(assessment, names)
    return Block(
        badge=badge,
        tone=tone,
        headline=_headline(assessment, fields),
        second=_second(assessment, fields),
        title="" if same is None else _title(assessment, same),
        rows=() if same is None else tuple(_rows(assessment, same, names)),
        training=_training(assessment, fields),
        margin=_margin(assessment, fields),
    )


def to_dict(assessment: "Assessment", names: Names = NAMES) -> dict[str, Any]:
    """Return the verdict as JSON has it: what the first screen shows."""
    return {**asdict(block(assessment, names)), "next": next_steps(assessment)}


def markdown_block(assessment: "Assessment", names: Names = NAMES) -> str:
    """Return the verdict as Markdown, for a pull request."""
    verdict = block(assessment, names)
    table = [(verdict.title, ""), ("---", "---"), *verdict.rows] if verdict.rows else []
    lines = (f"| {' | '.join(cell.replace('|', BAR) for cell in row)} |" for row in table)
    parts = (f"**{verdict.answer}**", verdict.second, "\n".join(lines), verdict.margin,
             verdict.training)  # fmt: skip
    return "\n\n".join(part for part in parts if part)


def _fields(assessment: "Assessment", names: Names) -> dict[str, str]:
    """Return what sentences are filled with."""
    winner, default = map(with_article, names)
    return {
        "Where": capitalised(scope_of(assessment)),
        "winner": winner,
        "Winner": capitalised(winner),
        "default": default,
        "Default": capitalised(default),
        "mean": mean_of(assessment),
        "level": confidence(assessment.question.delta),
        "margin": relative(assessment.question.margin_share or 0.0),
    }


def _headline(assessment: "Assessment", fields: dict[str, str]) -> str:
    """Return the answer in one sentence."""
    if assessment.default == assessment.winner:
        return sentences.SAME.format(**fields)
    if isinstance(assessment.evidence, Refusal):
        return assessment.evidence.reason
    if assessment.default is None:
        return _alone(assessment, fields)
    if (difference := assessment.statement("difference")) is None:
        return sentences.UNTESTED.format(**fields)
    if (ladder := _deciding_ladder(assessment)) is not None:
        return _of_penalties(assessment, ladder)
    if assessment.question.primary == "wins" and ("wins", assessment.grade) in sentences.HEADLINES:
        template = sentences.HEADLINES["wins", assessment.grade]
        return template.format(**fields | _wins_fields(assessment))
    return _of_mean(assessment, difference, assessment.grade, fields)


def _deciding_ladder(assessment: "Assessment") -> "Ladder | None":
    """Return the ladder where the penalty is what the headline is about."""
    ladder = assessment.ladder
    if ladder is None or ladder.proven is None or assessment.question.primary == "wins":
        return None
    return ladder if ladder.mixed or assessment.grade == "undecided" else None


def _of_penalties(assessment: "Assessment", ladder: "Ladder") -> str:
    """Return the sentence on the penalties at which it is proven."""
    side, low, high = ladder.proven or ("better", 1.0, 1.0)
    penalties = exact(high) if low == high else f"{exact(low)} to {exact(high)}"
    penalties = f"at most {exact(high)}" if low <= 1 else penalties
    if not ladder.mixed:
        declared = exact(assessment.log.runs.par or 1)
        return sentences.LADDER.format(
            Side=capitalised(side), penalties=penalties, declared=declared
        )
    counts, same = "", assessment.same
    if same is not None and same.winner_solved is not None:
        failed, rival = same.pairs - same.winner_solved, same.pairs - (same.default_solved or 0)
        # Units count equally, so families of different sizes can turn the plain counts around.
        agree = failed > rival if side == "better" else failed < rival
        counts = f" ({failed} against {rival})" if agree else ""
    return sentences.MIXED[side].format(penalties=penalties, counts=counts)


def _of_mean(
    assessment: "Assessment", difference: "Statement", grade: str, fields: dict[str, str]
) -> str:
    """Return the sentence on the means, for a grade."""
    if grade == "no relevant difference":
        return sentences.NO_RELEVANT_DIFFERENCE.format(**fields)
    criterion: sentences.Criterion = "time" if is_time(assessment) else "cost"
    template, write = sentences.HEADLINES[criterion, grade], number
    lower, upper = difference.lower, difference.upper
    if grade == "undecided":
        if isfinite(lower) and isfinite(upper):
            write = at_most
        elif difference.approximate is None:
            return sentences.UNKNOWN_RANGE.format(**fields)
        else:
            template = sentences.APPROXIMATELY_UNDECIDED
            lower, upper = difference.approximate
        least, most = max(0.0, -lower), max(0.0, upper)
    elif difference.approximate is not None and grade.startswith("probably"):
        least, most = sorted(map(abs, difference.approximate))
    else:
        least, most, write = max(-upper, lower), inf, at_least
        if not 0 < least < inf:
            template = sentences.NO_AMOUNT[criterion, grade]
    return template.format(least=write(least), most=write(most), **fields)


def _wins_fields(assessment: "Assessment") -> dict[str, str]:
    """Return the runs won and their limits; with ties these are no plain share of runs."""
    wins, same = assessment.statement("wins"), assessment.same
    if wins is None or same is None:
        return {}
    level = confidence(assessment.question.delta)
    return {
        "won": f"{same.won:,}",
        "runs": counted(same.pairs, "run") + (f" ({same.tied:,} tied)" if same.tied else ""),
        "least": share_at_least(wins.lower),
        "most": share_at_most(wins.upper),
        "level": f"{level}, ties ½" if same.tied else level,
    }


def _alone(assessment: "Assessment", fields: dict[str, str]) -> str:
    """Return what can be said without a default."""
    mean, evidence = assessment.statement("mean"), assessment.evidence
    if mean is None or isinstance(evidence, Refusal):
        return ""
    unit = unit_of(assessment)
    if isfinite(mean.upper):
        return sentences.ALONE.format(most=f"{at_most(mean.upper)}{unit}", **fields)
    kind = "test " if evidence.basis == "test" else ""
    units = counted(evidence.units, f"{kind}{evidence.sampled}")
    observed = f"{number(mean.observed)}{unit}"
    return sentences.ALONE_OBSERVED.format(observed=observed, units=units, **fields)


def _second(assessment: "Assessment", fields: dict[str, str]) -> str:
    """Return the sentence on the criterion that does not decide; the way out of a refusal."""
    if isinstance(assessment.evidence, Refusal):
        return assessment.evidence.way_out
    if assessment.default is None:
        return sentences.NAME_DEFAULT if len(assessment.ranking) > 1 else ""
    if assessment.default == assessment.winner:
        return ""
    difference, wins = assessment.statement("difference"), assessment.statement("wins")
    if difference is None or wins is None:
        return sentences.UNTESTED_WAY_OUT.format(**fields)
    if assessment.question.primary == "wins":
        return _of_mean(assessment, difference, difference.grade, fields)
    return sentences.WINS[wins.grade].format(**fields | _wins_fields(assessment))


def _title(assessment: "Assessment", same: "SameInstances") -> str:
    """Return what winner and default were compared on."""
    if same.unit == "seed":
        return f"Same instance, {counted(same.units, 'seed')}"
    # Runs that chose the winner are training runs; runs of a fixed list are just runs.
    usable = same.source == "training" and assessment.statement("difference") is not None
    kind = "instance" if usable else f"{same.source} instance"
    families = f", {counted(same.units, 'family')}" if same.unit == "family" else ""
    return f"Same {counted(same.instances, kind)}{families}"


def _rows(assessment: "Assessment", same: "SameInstances", names: Names) -> list[tuple[str, str]]:
    """Return the lines of the comparison on the same instances."""
    unit, level = unit_of(assessment), confidence(assessment.question.delta)
    change = "" if same.change is None else f" ({signed(relative(same.change))})"
    winner_cost, default_cost = distinct_numbers((same.winner_cost, same.default_cost))
    rows = [
        (with_name(names[0], assessment.winner), f"{winner_cost}{unit}"),
        (with_name(names[1], assessment.default), f"{default_cost}{unit}"),
        ("difference", f"{signed(number(same.difference))}{unit}{change}"),
    ]
    by_wins, grade = assessment.question.primary == "wins", assessment.grade
    if (difference := assessment.statement("difference")) is not None:
        _, limits, near = values(difference)
        # Nothing is said twice: these headlines have the limits, or the interval.
        limited = grade in ("better", "undecided", "worse") and not by_wins
        if limits != "–" and not (limited and _deciding_ladder(assessment) is None):
            rows.append((f"limits, {level} each", f"{limits}{unit}"))
        if near != "–" and not grade.startswith("probably"):
            rows.append((f"approximate, {level}", f"{near}{unit}"))
    if by_wins:
        tied = f", {same.tied:,} tied" if same.tied else ""
        rows.append(("runs won", f"{same.won:,} of {same.pairs:,}{tied}"))
    mine, theirs = same.winner_solved, same.default_solved
    # Nothing failed: nothing to tell.
    if mine is not None and theirs is not None and mine + theirs < 2 * same.pairs:
        rows.append(("solved", f"{names[0]} {mine:,}, {names[1]} {theirs:,} of {same.pairs:,}"))
    return rows


def _training(assessment: "Assessment", fields: dict[str, str]) -> str:
    """Return the one line on what training made the winner look like."""
    same, unit = assessment.same, unit_of(assessment)
    if same is not None and same.source == "training" and assessment.grade == "not testable":
        chosen = assessment.log.adaptive or assessment.question.configuration is None
        return sentences.TUNED_HERE.format(**fields) if chosen else ""
    if (training := assessment.training) is not None:
        return sentences.IN_TRAINING.format(
            instances=counted(training.instances, "training instance"),
            difference=f"{signed(number(training.difference))}{unit}",
            **fields,
        )
    if (error := over_tuning(assessment)) is None:
        return ""
    return sentences.OVER_TUNED.format(error=f"{number(error)}{unit}", **fields)


def over_tuning(assessment: "Assessment") -> float | None:
    """Return by how much the winner of a list looked better in training than it is, if noticeably.

    It is the error of the configuration that looks best, and of no other.
    """
    best = assessment.ranking[0]
    # A validation of its own has no training.
    if best.configuration != assessment.winner or assessment.log.runs is assessment.log.test:
        return None
    error = 0.0 if assessment.selection is None else assessment.selection.error
    return error if error > NEGLIGIBLE * abs(best.cost) else None


def _margin(assessment: "Assessment", fields: dict[str, str]) -> str:
    """Return the sentence on the margin, unless the headline says it."""
    kept = assessment.margin_kept
    if kept is None or assessment.grade in ("not testable", "no relevant difference"):
        return ""
    return sentences.MARGIN[kept].format(**fields)


def _badge(assessment: "Assessment") -> tuple[str, Tone]:
    """Return the badge and its colour."""
    ladder, grade = _deciding_ladder(assessment), assessment.grade
    if ladder is not None and ladder.proven is not None:
        side, low, high = ladder.proven
        if ladder.mixed:
            return "Mixed", "open"
        reach = par(high) if low == high else f"{par(low)} to {par(high)}"
        return f"{capitalised(side)} {f'up to {par(high)}' if low <= 1 else f'at {reach}'}", "open"
    if assessment.default is None and not isinstance(assessment.evidence, Refusal):
        return "No default", "open"
    badge = capitalised(grade)
    tone: Tone = "bad" if grade in ("worse", "probably worse") else "open"
    if grade in ("better", "worse", "no relevant difference") and assessment.condition is not None:
        return f"{badge}, with a condition", tone
    if tone == "open" and (assessment.green or assessment.margin_kept):
        tone = "good"
    return badge, tone
