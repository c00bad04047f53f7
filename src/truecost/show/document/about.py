"""What the statements are about: the sampling unit, families, the whole list, a margin, folds."""

from collections.abc import Iterator
from typing import Final

from truecost.judge.assessment import Assessment
from truecost.judge.families import FamilyResult
from truecost.judge.refusal import Refusal
from truecost.matrix.families import NAME_PATTERN
from truecost.show.blocks import Block, Cell, Column, Commands, Figure, Section, Table, Text, Tone
from truecost.show.document.context import (
    Context,
    axis_unit,
    called,
    drawing,
    opening,
    scale_of,
    sure,
)
from truecost.show.document.wording import Scale
from truecost.show.numbers import (
    confidence,
    counted,
    limits,
    number,
    percent,
    share_at_most,
    signed,
)

GRADES: Final[dict[str, tuple[str, Tone]]] = {
    "better": ("shown better", "good"),
    "worse": ("shown worse", "bad"),
    "open": ("undecided", ""),
}
# How a grouping that was noticed is asked for.
ASKED: Final = {
    "family": {"sampled": "family"},
    "folder": {"sampled": "family", "families": "folder"},
    "name": {"sampled": "family", "families": NAME_PATTERN},
}
GROUPS: Final = {
    "family": ("a family", "families"),
    "folder": ("a folder", "folders"),
    "name": ("a group of similar names", "groups"),
}
# Of a set of configurations, how many a sentence names.
NAMED: Final = 5


def what_about(assessment: Assessment, context: Context) -> Section | None:
    """Return what the statements are about; None where that is new instances and nothing more."""
    scope = assessment.scope
    blocks: list[Block] = [
        *_units(assessment),
        *_likeness(assessment, context),
        *_margin(assessment, context),
        *_realised(assessment, context),
        *_folds(assessment, context),
        *_whole_list(assessment, context),
        *_families(assessment, context),
    ]
    if scope.usual and not blocks:
        return None
    lead = f"The statements hold {scope.phrase}."
    if scope.sampled == "fold":
        lead = "Folds of one data set share training data: nothing is guaranteed."
    return Section("about", "What are the statements about?", lead, tuple(blocks))


def family_warning(assessment: Assessment) -> str:
    """Return the warning that instances within a group are alike; empty if nothing shows that."""
    likeness = assessment.beside.likeness
    if likeness is None or not likeness.significant:
        return ""
    group, groups = GROUPS[likeness.grouping]
    return (
        f" Instances within {group} are alike (design effect {number(likeness.design_effect, 2)}): "
        f"the limits assume that new instances come from these {likeness.groups} {groups} in these "
        "proportions."
    )


def between_families(assessment: Assessment) -> str:
    """Return how many families there are, and their part of the variance; empty without any."""
    families, nested = assessment.log.matrix.families, assessment.beside.components
    if families is None:
        return ""
    text = f"The instances are of {counted(len(set(families)), 'family')}"
    if nested is None:
        return f"{text}."
    share = percent(nested.between)
    return f"{text}: {share} of the variance between instance means lies between families."


def in_a_line(assessment: Assessment, context: Context) -> str:
    """Return what the first screen says of all this: the margin, families, alike instances."""
    margin = "".join(f" {block.text}" for block in _margin(assessment, context))
    families = ""
    if assessment.scope.sampled == "family" and (results := assessment.beside.family_results):
        families = f" Family by family: {_by_family(results)}."
    return f"{margin}{families}{family_warning(assessment)}"


def _by_family(results: tuple[FamilyResult, ...]) -> str:
    better, worse = (
        [result.family for result in results if result.grade == grade]
        for grade in ("better", "worse")
    )
    if all(result.lower is None for result in results):
        return "no limits, since the metric's possible range is unknown"
    shown = f"better on {len(better)} of {counted(len(results), 'family')}"
    return f"{shown}, worse on {_names(tuple(worse), 0)}" if worse else shown


def _units(assessment: Assessment) -> Iterator[Block]:
    scope = assessment.scope
    if scope.sampled != "family" or scope.about != "new":
        return
    share = share_at_most(scope.least_limit(assessment.question.delta))
    yield Text(
        f"With {counted(scope.units, 'family')} no upper limit can be below {share} of "
        "the cost range; more instances of the same families do not change that.",
        aside=True,
    )
    by_instances = assessment.beside.winner_by_instances
    if by_instances != assessment.incumbent and assessment.question.configuration is None:
        winner = called(assessment, assessment.incumbent)
        yield Text(
            f"{opening(winner)} is the best with equal weights for families; with equal weights for "
            f"instances it would be {called(assessment, by_instances)}.",
            tone="open",
        )


def _likeness(assessment: Assessment, context: Context) -> Iterator[Block]:
    likeness = assessment.beside.likeness
    if likeness is None or not likeness.significant:
        return
    yield Text(f"{family_warning(assessment).strip()} For statements about new ones:")
    command = context.command("audit", **ASKED[likeness.grouping])
    if command is not None:
        yield Commands((("statements about new families", command),), title="")


def _margin(assessment: Assessment, context: Context) -> Iterator[Text]:
    answer = assessment.beside.non_inferiority
    if answer is None:
        return
    if isinstance(answer, Refusal):
        yield Text(f"Whether it is within the margin cannot be tested: {answer.reason}.")
        return
    comparison, default = assessment.comparison, assessment.default or ""
    winner = assessment.incumbent if comparison is None else comparison.configuration
    who, rival = called(assessment, winner), called(assessment, default)
    amount = answer.margin if "%" in answer.margin else context.cost(answer.margin)
    scale = scale_of(assessment)
    claim = f"{who} {scale.verb} at most {amount} {scale.more} than {rival}"
    shown = f"Shown {sure(assessment.question.delta)}: {claim}."
    yield Text(
        shown if answer.shown else f"Not shown: that {claim}.", tone="good" if answer.shown else ""
    )


def _realised(assessment: Assessment, context: Context) -> Iterator[Block]:
    scale = scale_of(assessment)
    for statement in assessment.beside.realised:
        if statement.quantity == "difference":
            ends = scale.range(statement.opposite or statement.limit, statement.limit)
            text = f"the difference to the default will be {context.cost(limits(*ends))}"
        else:
            value = context.cost(scale.limit(statement.limit))
            name = called(assessment, statement.configuration)
            text = f"the {scale.mean} of {name} will be {value}"
        yield Text(
            f"Realised results, {statement.scope}: {text}. This describes one run of the benchmark "
            "and decides nothing: other seeds give other results.",
            aside=True,
        )


def _folds(assessment: Assessment, context: Context) -> Iterator[Block]:
    interval = assessment.beside.folds
    if interval is None:
        return
    if isinstance(interval, Refusal):
        yield Text(opening(f"{interval.reason}."))
        return
    compared = assessment.default not in (None, assessment.incumbent)
    scale = scale_of(assessment)
    what = f"difference of {scale.mean}s, winner − default" if compared else scale.mean
    write = signed if compared else number
    low, high = map(write, scale.range(interval.lower, interval.upper))
    ends = context.cost(f"{low} to {high}")
    yield Text(
        f"Approximately {percent(1 - interval.delta)}, not guaranteed: the {what} is {ends} "
        f"(corrected resampled t over {counted(interval.folds, 'fold')}, Nadeau and Bengio 2003). "
        "In simulations 95 % intervals of this kind held in 91 to 99 % of the data sets."
    )
    yield Text(
        "For a guarantee, use results on other data sets as instances, or a test set whose rows are "
        "the instances: the loss of each row is a run.",
        aside=True,
    )


def _whole_list(assessment: Assessment, context: Context) -> Iterator[Block]:
    sets = assessment.beside.whole_list
    if isinstance(sets, Refusal):
        return
    level, many = confidence(sets.delta), sets.configurations
    ranked = [assessment.matrix.configurations[place] for place in assessment.costs.order.tolist()]
    best = _names(tuple(sorted(sets.may_be_best, key=ranked.index)), many)
    condition = "" if sets.condition is None else f"if {sets.condition}, "
    certain = f"{condition}with {level} confidence the truly best of the {many:,} is among {best}."
    sentences = [opening(certain)]
    if assessment.default is not None:
        sentences.append(
            f"Shown better than the default by {scale_of(assessment).mean}: "
            f"{_names(sets.better, many)}; "
            f"shown worse: {_names(sets.worse, many)}. Each of the three sets holds at {level}."
        )
    if sets.best_share is not None:
        sentences.append(
            "The truly best of the sampled configurations, not necessarily the winner, is among "
            f"the best {share_at_most(sets.best_share)} of the space."
        )
    yield Text(" ".join(sentences))
    costs, default = assessment.costs, assessment.default
    inputs = {
        "configurations": assessment.matrix.configurations,
        "costs": costs.training,
        "standard_errors": costs.standard_error,
        "may_be_best": sets.may_be_best,
        "tags": {
            **({} if default is None else {default: "default"}),
            assessment.incumbent: "winner",
        },
    }
    note = f"Blue: may be the best, with {level} confidence that the truly best one is among them."
    draw = drawing("ranking", lambda: inputs, unit=axis_unit(assessment, context))
    yield Figure("ranking", "Which may be the best?", (note,), draw, where="page")


def _names(names: tuple[str, ...], many: int) -> str:
    if not names:
        return "none"
    if len(names) == many and many > NAMED:
        return f"all {many:,}"
    listed = ", ".join(names[:NAMED])
    return f"{len(names):,} ({listed}{', …' if len(names) > NAMED else ''})"


def _families(assessment: Assessment, context: Context) -> Iterator[Block]:
    results = assessment.beside.family_results
    if text := between_families(assessment):
        yield Text(text, aside=True)
    # One family is no table, and single instances are in the table of instances.
    if len(results) < 2 or all(result.instances == 1 for result in results):
        return
    level, scale = confidence(assessment.question.delta), scale_of(assessment)
    condition = getattr(assessment.pair_evidence, "condition", None)
    condition = "" if condition is None else f", if {condition}"
    columns = (
        Column("family", "", numbers=False),
        Column("instances", ""),
        Column("difference", ""),
        Column("limits", ""),
        Column("runs won", ""),
        Column("", "", numbers=False),
    )
    rows = tuple(_row(result, context, scale) for result in results)
    yield Text(
        f"Family by family, winner − default: {_by_family(results)} ({level} for all families "
        f"together{condition})."
    )
    yield Table("families", "", columns, rows, most=15)
    note = f"Lines are limits that hold for all families at once ({level})."
    unit = axis_unit(assessment, context)
    draw = drawing("families", lambda: {"results": results}, unit=unit)
    yield Figure("families", "Family by family", (note,), draw, where="page")


def _row(result: FamilyResult, context: Context, scale: Scale) -> tuple[Cell, ...]:
    shown, tone = GRADES[result.grade]
    bounded = result.lower is not None and result.upper is not None
    ends = scale.range(result.lower or 0.0, result.upper or 0.0)
    interval = limits(*ends) if bounded else "–"
    return (
        Cell(result.family, result.family),
        Cell(result.instances, str(result.instances)),
        Cell(result.observed, context.cost(signed(scale.value(result.observed)))),
        Cell(result.upper or 0.0, interval),
        Cell(result.wins, percent(result.wins)),
        Cell(shown, shown, tone=tone),
    )
