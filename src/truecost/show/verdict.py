"""The verdict in words: a badge, two sentences, and the comparison on the same instances.

Every sentence is written once, as a whole, in `sentences`. What qualifies a result is a caveat: a
line of its own.
"""

from dataclasses import asdict, dataclass
from math import inf, isfinite
from typing import TYPE_CHECKING, Any, Literal

from truecost.errors import Refusal, counted
from truecost.show import sentences
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
    signed,
    visible,
)

if TYPE_CHECKING:
    from truecost.judge.assessment import Assessment, Ladder, SameInstances, Statement

Tone = Literal["good", "open", "bad"]
Names = tuple[str, str]
NAMES: Names = ("winner", "default")
_NO_DIFFERENCE = "no relevant difference"
# Over-tuning below this share of the training cost is not worth a sentence.
NEGLIGIBLE = 0.005


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """What every command shows first.

    Attributes
    ----------
    badge, tone
        The grade, or "mixed" and "better up to PAR3"; its colour.
    headline, second
        The answer by the primary criterion, and by the other one.
    title, rows
        The comparison on the same instances: a title, and lines of a label and a value. Empty
        without a default.
    training
        What training made the winner look like; empty where nothing is known.
    margin
        Whether the winner is proven at most the margin worse; empty without a margin, and where the
        headline says it.
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
    """Return the verdict; `names` are what the two sides are called, such as ("NEW", "OLD")."""
    badge, tone = _badge(assessment)
    same = assessment.same
    return Block(
        badge=badge,
        tone=tone,
        headline=headline(assessment, names),
        second=_second(assessment, names),
        title="" if same is None else same_title(assessment, same),
        rows=() if same is None else tuple(_rows(assessment, same, names)),
        training=_training(assessment, names),
        margin=_margin(assessment, names),
    )


def text(assessment: "Assessment") -> str:
    """Return the verdict as the terminal shows it."""
    from truecost.show.terminal import screen

    return screen(assessment)


def to_dict(assessment: "Assessment", names: Names = NAMES) -> dict[str, Any]:
    """Return the verdict as JSON has it: what the first screen shows."""
    from truecost.show.next_steps import next_steps

    return {**asdict(block(assessment, names)), "next": next_steps(assessment)}


def markdown_block(assessment: "Assessment", names: Names = NAMES) -> str:
    """Return the verdict as Markdown, for a pull request."""
    said = block(assessment, names)
    lines = [f"**{said.answer}**", "", said.second]
    if said.rows:
        lines += ["", f"| {said.title} | |", "| --- | --- |"]
        lines += [f"| {_cell(name)} | {_cell(value)} |" for name, value in said.rows]
    lines += [
        text for sentence in (said.margin, said.training) if sentence for text in ("", sentence)
    ]
    return "\n".join(lines)


def _cell(value: str) -> str:
    return value.replace("|", "\\|")


def called(name: str) -> str:
    """Return a side's name inside a sentence: the winner, NEW."""
    return f"the {name}" if name.islower() else name


def opening(sentence: str) -> str:
    """Begin a sentence with a capital letter."""
    return sentence[:1].upper() + sentence[1:]


def where(assessment: "Assessment") -> str:
    """Return what statements are about: on new instances."""
    evidence = assessment.evidence
    return sentences.WHERE["instance" if isinstance(evidence, Refusal) else evidence.sampled]


def is_time(assessment: "Assessment") -> bool:
    """Whether costs are running times in seconds with a penalty for failures."""
    return assessment.log.runs.par is not None


def mean_of(assessment: "Assessment", penalty: float | None = None) -> str:
    """Return what means are of: mean PAR10, mean tour length, mean cost."""
    if is_time(assessment):
        return f"mean {par(assessment.log.runs.par if penalty is None else penalty)}"
    return f"mean {visible(assessment.log.cost_unit) or 'cost'}"


def par(penalty: float | None) -> str:
    """Write a penalty as people know it: PAR10."""
    return "failures only" if penalty == inf else f"PAR{given(penalty or 1)}"


def unit_of(assessment: "Assessment") -> str:
    """Return what follows a cost in a table: s for running times."""
    return " s" if is_time(assessment) else ""


def same_title(assessment: "Assessment", same: "SameInstances") -> str:
    """Return what winner and default were compared on."""
    if same.unit == "seed":
        return f"Same instance, {counted(same.units, 'seed')}"
    # Runs that chose the winner are training runs; runs of a fixed list are just runs.
    usable = assessment.statement("difference") is not None
    kind = {"test": "test instance", "training": "training instance"}[same.source]
    kind = "instance" if usable and same.source == "training" else kind
    families = f", {counted(same.units, 'family')}" if same.unit == "family" else ""
    return f"Same {counted(same.instances, kind)}{families}"


def headline(assessment: "Assessment", names: Names = NAMES) -> str:
    """Return the answer in one sentence."""
    winner, default = map(called, names)
    if assessment.default == assessment.winner:
        return sentences.SAME.format(Winner=opening(winner), default=default)
    if isinstance(assessment.evidence, Refusal):
        return assessment.evidence.reason
    if assessment.default is None:
        return _alone(assessment, names)
    if assessment.statement("difference") is None:
        return sentences.UNTESTED.format(Default=opening(default), winner=winner)
    ladder = assessment.ladder
    if ladder is not None and _ladder_decides(assessment, ladder):
        return _of_ladder(assessment, ladder)
    if assessment.question.primary == "wins":
        return _of_wins(assessment, assessment.grade, names)
    return _of_mean(assessment, assessment.grade, names)


def _ladder_decides(assessment: "Assessment", ladder: "Ladder") -> bool:
    """Whether the penalty is what the headline is about."""
    if assessment.question.primary == "wins" or (ladder.better or ladder.worse) is None:
        return False
    return ladder.mixed or assessment.grade == "undecided"


def _of_ladder(assessment: "Assessment", ladder: "Ladder") -> str:
    side = "better" if ladder.better is not None else "worse"
    low, high = ladder.better or ladder.worse or (1.0, 1.0)
    reach = "up to" if low <= 1 else "only" if low == high else "between"
    fields = {"low": given(low), "high": given(high), "declared": given(ladder.declared)}
    same = assessment.same
    if not ladder.mixed or same is None or same.solved_both is None:
        return sentences.LADDER[side, reach].format(**fields)
    neither = same.solved_neither or 0
    failed = neither + (same.solved_only_default or 0)
    rival = neither + (same.solved_only_winner or 0)
    said = sentences.MIXED[side, reach].format(failed=failed, rival=rival, **fields)
    # Units count equally, so families of different sizes can turn the plain counts around.
    agree = failed > rival if side == "better" else failed < rival
    return said if agree else said.replace(f" ({failed} against {rival})", "")


def _fields(assessment: "Assessment", names: Names) -> dict[str, str]:
    winner, default = map(called, names)
    return {
        "Where": opening(where(assessment)),
        "winner": winner,
        "Winner": opening(winner),
        "default": default,
        "mean": mean_of(assessment),
        "level": confidence(assessment.question.delta),
    }


def _of_mean(assessment: "Assessment", grade: str, names: Names) -> str:
    """Return the sentence on the means, for a grade."""
    criterion: sentences.Criterion = "time" if is_time(assessment) else "cost"
    difference = assessment.statement("difference")
    if difference is None:
        return ""
    fields = _fields(assessment, names)
    if grade == _NO_DIFFERENCE:
        share = assessment.question.margin_share or 0.0
        margin = percent(share, _digits(share))
        return sentences.NO_RELEVANT_DIFFERENCE.format(margin=margin, **fields)
    lower, upper = difference.lower, difference.upper
    if grade.startswith("probably") and difference.approximate is not None:
        lower, upper = difference.approximate
        low, high = sorted((abs(lower), abs(upper)))
        amounts = {"least": number(low), "most": number(high)}
        return sentences.HEADLINES[criterion, grade].format(**amounts, **fields)
    if grade == "undecided" and not (isfinite(lower) and isfinite(upper)):
        if difference.approximate is None:
            return sentences.NO_AMOUNT[criterion, grade].format(**fields)
        lower, upper = difference.approximate
        amounts = {"least": number(max(0.0, -lower)), "most": number(max(0.0, upper))}
        return sentences.APPROXIMATELY_UNDECIDED[criterion].format(**amounts, **fields)
    least = {"better": -upper, "worse": lower}.get(grade, inf)
    if grade == "undecided":
        amounts = {"least": at_most(max(0.0, -lower)), "most": at_most(max(0.0, upper))}
    elif least > 0 and isfinite(least):
        amounts = {"least": at_least(least)}
    else:
        return sentences.NO_AMOUNT[criterion, grade].format(**fields)
    return sentences.HEADLINES[criterion, grade].format(**amounts, **fields)


def _of_wins(assessment: "Assessment", grade: str, names: Names) -> str:
    """Return the sentence on the runs won, for a grade."""
    wins = assessment.statement("wins")
    if wins is None or ("wins", grade) not in sentences.HEADLINES:
        return _of_mean(assessment, grade, names)
    amounts = {"least": share_at_least(wins.lower), "most": share_at_most(wins.upper)}
    fields = _fields(assessment, names) | _level_of_wins(assessment)
    return sentences.HEADLINES["wins", grade].format(**amounts, **fields)


def _level_of_wins(assessment: "Assessment") -> dict[str, str]:
    """Return the level of limits of the runs won; with ties, these are no plain share of runs."""
    level, same = confidence(assessment.question.delta), assessment.same
    tied = same is not None and same.tied > 0
    return {"level": f"{level}, ties ½" if tied else level}


def _alone(assessment: "Assessment", names: Names) -> str:
    """Return what can be said without a default."""
    mean = assessment.statement("mean")
    fields = _fields(assessment, names)
    if mean is not None and isfinite(mean.upper):
        most = f"{at_most(mean.upper)}{unit_of(assessment)}"
        return sentences.ALONE.format(most=most, **fields)
    row = next(row for row in assessment.ranking if row.configuration == assessment.winner)
    cost, units, unit = row.cost, row.instances, "instance"
    if mean is not None and not isinstance(assessment.evidence, Refusal):
        cost, units, unit = mean.observed, mean.units, assessment.evidence.sampled
    return sentences.ALONE_OBSERVED.format(
        observed=f"{number(cost)}{unit_of(assessment)}", units=counted(units, unit), **fields
    )


def _second(assessment: "Assessment", names: Names) -> str:
    """Return the sentence on the criterion that does not decide; the way out of a refusal."""
    if isinstance(assessment.evidence, Refusal):
        return assessment.evidence.way_out
    if assessment.default is None and len(assessment.ranking) > 1:
        return sentences.NAME_DEFAULT
    if assessment.default in (None, assessment.winner):
        return ""
    if assessment.same is None or assessment.statement("difference") is None:
        return sentences.UNTESTED_WAY_OUT.format(default=called(names[1]))
    if assessment.question.primary == "wins":
        difference = assessment.statement("difference")
        return "" if difference is None else _of_mean(assessment, difference.grade, names)
    same, wins = assessment.same, assessment.same.wins
    return sentences.WINS["not testable" if wins is None else wins.grade].format(
        won=f"{same.won:,}",
        runs=counted(same.runs, "run") + (f" ({same.tied:,} tied)" if same.tied else ""),
        least=share_at_least(0.0 if wins is None else wins.lower),
        most=share_at_most(1.0 if wins is None else wins.upper),
        **_fields(assessment, names) | _level_of_wins(assessment),
    )


def _rows(assessment: "Assessment", same: "SameInstances", names: Names) -> list[tuple[str, str]]:
    """Return the lines of the comparison on the same instances."""
    unit, level = unit_of(assessment), confidence(assessment.question.delta)
    difference, change = same.difference, same.change
    relative = "" if change is None else f" ({signed(percent(change, _digits(change)))})"
    rows = [
        (f"{names[0]} ({label(same.winner)})", f"{number(same.winner_cost)}{unit}"),
        (f"{names[1]} ({label(same.default)})", f"{number(same.default_cost)}{unit}"),
        ("difference", f"{signed(number(difference.observed))}{unit}{relative}"),
    ]
    if isfinite(difference.lower) and isfinite(difference.upper) and not _says_limits(assessment):
        rows.append((f"limits, {level} each", between(difference, guaranteed=True)))
    if difference.approximate is not None and not assessment.grade.startswith("probably"):
        rows.append((f"approximate, {level}", between(difference, guaranteed=False)))
    if assessment.question.primary == "wins":
        # Otherwise the second sentence says so.
        tied = f", {same.tied:,} tied" if same.tied else ""
        rows.append(("runs won", f"{same.won:,} of {same.runs:,}{tied}"))
    if same.solved_both is not None:
        # Nothing failed: nothing to tell.
        apart = (same.solved_only_winner or 0) + (same.solved_only_default or 0)
        if apart or same.solved_neither:
            rows.append(("solved", _solved(same, names)))
    return rows


def _says_limits(assessment: "Assessment") -> bool:
    """Whether the headline has the guaranteed limits already: nothing is said twice."""
    ladder = assessment.ladder
    if assessment.question.primary == "wins" or isinstance(assessment.evidence, Refusal):
        return False
    by_penalty = ladder is not None and _ladder_decides(assessment, ladder)
    return assessment.grade in ("better", "undecided", "worse") and not by_penalty


def _solved(same: "SameInstances", names: Names) -> str:
    both = same.solved_both or 0
    mine, theirs = both + (same.solved_only_winner or 0), both + (same.solved_only_default or 0)
    return f"{names[0]} {mine:,}, {names[1]} {theirs:,} of {same.runs:,}"


def _digits(share: float) -> int:
    """Return decimals of a per cent: 12 %, 5 %, 2.5 %."""
    return 0 if abs(share) >= 0.1 or round(1000 * share) % 10 == 0 else 1


def between(statement: "Statement", *, guaranteed: bool) -> str:
    """Write an interval, a guaranteed one rounded outwards; differences carry signs."""
    mark = signed if statement.no_difference == 0 else str
    if guaranteed:
        low, high = at_least(statement.lower), at_most(statement.upper)
    else:
        lower, upper = statement.approximate or (-inf, inf)
        low, high = number(lower), number(upper)
    return f"{mark(low)} to {mark(high)}"


def _training(assessment: "Assessment", names: Names) -> str:
    """Return the one line on what training made the winner look like."""
    selection, same = assessment.selection, assessment.same
    fields = _fields(assessment, names)
    if same is not None and same.source == "training" and assessment.grade == "not testable":
        return sentences.TRAINING["tuned"].format(**fields)
    if selection is not None and selection.earlier is not None and selection.earlier.proven:
        earlier = label(selection.earlier.configuration)
        return sentences.TRAINING["earlier"].format(earlier=earlier, **fields)
    if same is not None and same.training_difference is not None:
        return sentences.TRAINING["search"].format(
            instances=counted(same.training_instances or 0, "training instance"),
            difference=f"{signed(number(same.training_difference))}{unit_of(assessment)}",
            **fields,
        )
    if selection is None or not over_tuned(assessment):
        return ""
    error = f"{number(selection.error or 0)}{unit_of(assessment)}"
    return sentences.TRAINING["list"].format(error=error, **fields)


def _margin(assessment: "Assessment", names: Names) -> str:
    """Return the sentence on the margin."""
    kept, share = assessment.margin_kept, assessment.question.margin_share
    if kept is None or share is None or assessment.grade in ("not testable", _NO_DIFFERENCE):
        return ""
    fields = _fields(assessment, names)
    return sentences.MARGIN[kept].format(margin=percent(share, _digits(share)), **fields)


def over_tuned(assessment: "Assessment") -> bool:
    """Whether the winner of a list looked noticeably better in training than it is."""
    if assessment.log.runs is assessment.log.test:  # a validation of its own: no training
        return False
    error = None if assessment.selection is None else assessment.selection.error
    # It is the error of whoever looks best, and of nobody else.
    costs = [row.cost for row in assessment.ranking[:1] if row.configuration == assessment.winner]
    return error is not None and bool(costs) and error > NEGLIGIBLE * abs(costs[0])


def _badge(assessment: "Assessment") -> tuple[str, Tone]:
    """Return the badge and its colour."""
    ladder, grade = assessment.ladder, assessment.grade
    if ladder is not None and _ladder_decides(assessment, ladder):
        if ladder.mixed:
            return "Mixed", "open"
        side = "Better" if ladder.better is not None else "Worse"
        low, high = ladder.better or ladder.worse or (1.0, 1.0)
        if low > 1:
            return f"{side} at {par(low)}{'' if low == high else f' to {par(high)}'}", "open"
        return f"{side} up to {par(high)}", "open"
    if assessment.default is None and not isinstance(assessment.evidence, Refusal):
        return "No default", "open"
    if grade == "better" and not assessment.green:
        return "Better, with a condition", "open"
    if grade in ("worse", _NO_DIFFERENCE) and assessment.condition is not None:
        return f"{opening(grade)}, with a condition", "bad" if grade == "worse" else "open"
    tone: Tone = "good" if assessment.green or assessment.margin_kept else "open"
    return opening(grade), "bad" if grade in ("worse", "probably worse") else tone
