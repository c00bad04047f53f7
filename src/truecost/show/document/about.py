"""What the statements are about: the sampling unit, families, the whole list, a margin, folds."""

from collections.abc import Iterator
from typing import Final

from truecost.errors import Refusal
from truecost.judge.families import FamilyResult
from truecost.matrix.families import NAME_PATTERN
from truecost.show.blocks import Block, Cell, Column, Commands, Section, Table, Text
from truecost.show.document.context import GRADES, Case, opening, sure
from truecost.show.numbers import (
    confidence,
    counted,
    limits,
    number,
    percent,
    plural,
    share_at_most,
    signed,
)

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


def what_about(case: Case) -> Section | None:
    """Return what the statements are about; None where that is new instances and nothing more."""
    scope = case.assessment.scope
    blocks: list[Block] = [
        *_units(case),
        *_likeness(case),
        *_margin(case),
        *_realised(case),
        *_folds(case),
        *_whole_list(case),
        *_families(case),
    ]
    if scope.usual and not blocks:
        return None
    lead = f"The statements hold {scope.phrase}."
    if scope.sampled == "fold":
        lead = "Folds of one data set share training data: nothing is guaranteed."
    return Section("about", "What are the statements about?", lead, tuple(blocks))


def family_warning(case: Case) -> str:
    """Return the warning that instances within a group are alike; empty if nothing shows that."""
    likeness = case.assessment.beside.likeness
    if likeness is None or not likeness.significant:
        return ""
    group, groups = GROUPS[likeness.grouping]
    return (
        f" Instances within {group} are alike (design effect {number(likeness.design_effect, 2)}): "
        f"the limits assume that new instances come from these {likeness.groups} {groups} in these "
        "proportions."
    )


def between_families(case: Case) -> str:
    """Return how many families there are, and their part of the variance; empty without any."""
    assessment = case.assessment
    families, nested = assessment.log.matrix.families, assessment.beside.components
    if families is None:
        return ""
    text = f"The instances are of {counted(len(set(families)), 'family')}"
    if nested is None:
        return f"{text}."
    share = percent(nested.between)
    return f"{text}: {share} of the variance between instance means lies between families."


def in_a_line(case: Case) -> str:
    """Return what the first screen says of all this: the margin, families, alike instances."""
    margin = "".join(f" {block.text}" for block in _margin(case))
    families, results = "", case.assessment.beside.family_results
    if results and case.assessment.scope.sampled == "family":
        families = f" Family by family: {_by_family(results)}."
    return f"{margin}{families}{family_warning(case)}"


def _by_family(results: tuple[FamilyResult, ...]) -> str:
    better, worse = (
        [result.family for result in results if result.grade == grade]
        for grade in ("better", "worse")
    )
    if all(result.lower is None for result in results):
        return "no limits, since the metric's possible range is unknown"
    sentence = f"better on {len(better)} of {counted(len(results), 'family')}"
    return f"{sentence}, worse on {_names(tuple(worse), 0)}" if worse else sentence


def _units(case: Case) -> Iterator[Block]:
    assessment = case.assessment
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
        yield Text(
            f"{opening(case.winner)} is the best with equal weights for families; with equal "
            f"weights for instances it would be {case.called(by_instances)}.",
            tone="open",
        )


def _likeness(case: Case) -> Iterator[Block]:
    likeness = case.assessment.beside.likeness
    if likeness is None or not likeness.significant:
        return
    yield Text(f"{family_warning(case).strip()} For statements about new ones:")
    command = case.context.command("audit", **ASKED[likeness.grouping])
    if command is not None:
        yield Commands((("statements about new families", command),), title="")


def _margin(case: Case) -> Iterator[Text]:
    assessment = case.assessment
    answer = assessment.beside.non_inferiority
    if answer is None:
        return
    if isinstance(answer, Refusal):
        yield Text(f"Whether it is within the margin cannot be tested: {answer.reason}.")
        return
    comparison, default = assessment.comparison, assessment.default or ""
    winner = assessment.incumbent if comparison is None else comparison.configuration
    who, rival = case.called(winner), case.called(default)
    amount = answer.margin if "%" in answer.margin else case.cost(answer.margin)
    scale = case.scale
    claim = f"{who} {scale.verb} at most {amount} {scale.more} than {rival}"
    if answer.shown:
        yield Text(f"Shown {sure(assessment.question.delta)}: {claim}.", tone="good")
    else:
        yield Text(f"Not shown: that {claim}.")


def _realised(case: Case) -> Iterator[Block]:
    scale = case.mean_scale
    for statement in case.assessment.beside.realised:
        if statement.quantity == "difference":
            ends = case.apart_scale.range(statement.opposite or statement.limit, statement.limit)
            text = f"the difference to the default will be {case.cost(limits(*ends))}"
        else:
            value = case.cost(scale.limit(statement.limit))
            name = case.called(statement.configuration)
            text = f"the {scale.mean} of {name} will be {value}"
        yield Text(
            f"Realised results, {statement.scope}: {text}. This describes one run of the benchmark "
            "and decides nothing: other seeds give other results.",
            aside=True,
        )


def _folds(case: Case) -> Iterator[Block]:
    interval = case.assessment.beside.folds
    if interval is None:
        return
    if isinstance(interval, Refusal):
        yield Text(opening(f"{interval.reason}."))
        return
    paired = case.assessment.default not in (None, case.assessment.incumbent)
    scale = case.apart_scale if paired else case.mean_scale
    what = f"difference of {plural(scale.mean)}, winner − default" if paired else scale.mean
    write = signed if paired else number
    low, high = map(write, scale.range(interval.lower, interval.upper))
    ends = case.cost(f"{low} to {high}")
    yield Text(
        f"Approximately {percent(1 - interval.delta)}, not guaranteed: the {what} is {ends} "
        f"(corrected resampled t over {counted(interval.folds, 'fold')}, Nadeau and Bengio 2003). "
        "In simulations 95 % intervals of this kind held in 91 to 99 % of the data sets."
    )
    yield Text(
        "For a guarantee, use results on other data sets as instances, or a test set whose rows "
        "are the instances: the loss of each row is a run.",
        aside=True,
    )


def _whole_list(case: Case) -> Iterator[Block]:
    assessment = case.assessment
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
            f"Shown better than the default by {case.mean_scale.mean}: "
            f"{_names(sets.better, many)}; "
            f"shown worse: {_names(sets.worse, many)}. Each of the three sets holds at {level}."
        )
    if sets.best_share is not None:
        sentences.append(
            "The truly best of the sampled configurations, not necessarily the winner, is among "
            f"the best {share_at_most(sets.best_share)} of the space."
        )
    yield Text(" ".join(sentences))
    note = f"Blue: may be the best, with {level} confidence that the truly best one is among them."
    costs, default = assessment.costs, assessment.default
    tags = {} if default is None else {default: "default"}
    inputs = {
        "configurations": assessment.matrix.configurations,
        "costs": costs.training,
        "standard_errors": costs.standard_error,
        "may_be_best": sets.may_be_best,
        "tags": {**tags, assessment.incumbent: "winner"},
    }
    yield case.figure("ranking", "Which may be the best?", note, lambda: inputs)


def _names(names: tuple[str, ...], many: int) -> str:
    if not names:
        return "none"
    if len(names) == many and many > NAMED:
        return f"all {many:,}"
    listed = ", ".join(names[:NAMED])
    return f"{len(names):,} ({listed}{', …' if len(names) > NAMED else ''})"


def _families(case: Case) -> Iterator[Block]:
    results = case.assessment.beside.family_results
    if text := between_families(case):
        yield Text(text, aside=True)
    # One family is no table, and single instances are in the table of instances.
    if len(results) < 2 or all(result.instances == 1 for result in results):
        return
    level = confidence(case.assessment.question.delta)
    condition = getattr(case.assessment.pair_evidence, "condition", None)
    condition = "" if condition is None else f", if {condition}"
    columns = (
        Column("family", numbers=False),
        Column("instances"),
        Column("difference"),
        Column("limits"),
        Column("runs won"),
        Column("", numbers=False),
    )
    rows = tuple(_row(result, case) for result in results)
    yield Text(
        f"Family by family, winner − default: {_by_family(results)} ({level} for all families "
        f"together{condition})."
    )
    yield Table("families", "", columns, rows, most=15)
    note = f"Lines are limits that hold for all families at once ({level})."
    inputs = {"results": results}
    yield case.figure("families", "Family by family", note, lambda: inputs, means=True)


def _row(result: FamilyResult, case: Case) -> tuple[Cell, ...]:
    grade, tone = GRADES[result.grade]
    scale, interval = case.apart_scale, "–"
    if result.lower is not None and result.upper is not None:
        interval = limits(*scale.range(result.lower, result.upper))
    return (
        Cell(result.family, result.family),
        Cell(result.instances, str(result.instances)),
        Cell(result.observed, case.cost(signed(scale.value(result.observed)))),
        Cell(result.upper or 0.0, interval),
        Cell(result.wins, percent(result.wins)),
        Cell(grade, grade, tone=tone),
    )
