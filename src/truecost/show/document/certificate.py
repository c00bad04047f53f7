"""How certain: the certificate, every statement these runs allow, and the paper's bounds for
comparison.
"""

import math
from typing import TYPE_CHECKING, Any, Final

from truecost.errors import Refusal
from truecost.judge.evidence import UNSORTED
from truecost.judge.statements import Certificate, Statement
from truecost.show.blocks import Block, Cell, Column, Fold, Points, Section, Table, Text
from truecost.show.document.context import (
    COST,
    GRADES,
    SCORE,
    Case,
    opening,
    sure,
    wording,
    words_of,
)
from truecost.show.document.runs import left_out
from truecost.show.document.verdict import certified
from truecost.show.numbers import confidence, counted, ends, number, percent, plural, signed

if TYPE_CHECKING:  # loads kernels
    from truecost.judge.bounds import PaperBounds


FORMS: Final = {
    "bennett": "Bennett",
    "sub-gamma": "sub-gamma",
    "bernstein": "Bernstein",
    "printed": "printed",
}
# How a configuration was chosen decides what its runs can certify: said before the method.
CHOSEN: Final = {
    "test": "From test runs",
    "before": "For a configuration fixed beforehand",
    "from-list": "For the best of a list",
    "weighted-list": "Best of a list, whose shares of δ a fifth of the {units} decided",
    "on-part": "Chosen on a fifth of the {units}, tested on the others",
    "progressive": "Proposed by a search, tested on instances unused until then",
}
# Above this probability "one in n" is not rare.
OFTEN: Final = 0.4
WIDE: Final = "A bound as wide as the cost range says nothing: more instances are needed."


def how_sure(case: Case) -> Section:
    """Return the certificate, the effect of more instances, and the paper's bounds."""
    bounds = case.assessment.bounds
    paper: list[Block] = (
        [Text(bounds.reason, aside=True)] if isinstance(bounds, Refusal) else _bounds(bounds)
    )
    blocks = (*_certificate(case), *_width(case), Fold("And the paper's bounds?", tuple(paper)))
    return Section("sure", "How certain is that?", certificate_lead(case), blocks)


def certificate_section(case: Case, *, alone: bool = False) -> Section:
    """Return the certificate; `alone`, as `certify` prints it, with how the runs were read."""
    blocks, lead = _certificate(case), certificate_lead(case)
    if alone:
        certificate, reason = case.assessment.certificate, case.assessment.no_certificate or ""
        # Alone, there are no next steps to give the advice.
        if ";" in reason:
            lead, blocks = f"{lead[:-1]}; {reason.partition('; ')[2]}.", []
        if certificate is not None and certificate.configuration != case.assessment.incumbent:
            blocks.insert(0, Text(case.best_on_part(certificate.configuration)))
        blocks += [Text(line, aside=True) for line in left_out(case.assessment)]
    return Section("sure", "", lead, tuple(blocks))


def certificate_lead(case: Case) -> str:
    """Return the certificate in a sentence, or why there is none."""
    certificate = case.assessment.certificate
    if certificate is None:
        # The advice after the semicolon is part of the next steps.
        why = (case.assessment.no_certificate or "").partition(";")[0]
        return f"No guarantee for the {case.mean_scale.mean} of {case.winner}: {why}."
    return f"{certified(case, certificate)}."


def of_certificate(certificate: Certificate) -> Section:
    """Return a certificate on its own."""
    lead = f"{certified(None, certificate)}."
    return Section("sure", "", lead, tuple(_basis(None, certificate)))


def _certificate(case: Case) -> list[Block]:
    certificate = case.assessment.certificate
    if certificate is None:
        missing = "Runs on new instances would allow a guarantee."
        folds = case.assessment.scope.sampled == "fold"
        known = case.nowhere or folds or case.assessment.evidence is not None
        return [] if known else [Text(missing, aside=True)]
    basis, *others = _basis(case, certificate)
    return [basis, *_margin(case), *others]


def _margin(case: Case) -> list[Block]:
    """Return where the distance between limit and mean comes from."""
    width, certificate = case.assessment.beside.width, case.assessment.certificate
    if width is None or certificate is None or not width.total > 0:
        return []
    scale = case.mean_scale
    worst = case.amount(case.assessment.matrix.high)
    share = f"one in {1 / width.chance:.0f}" if width.chance <= OFTEN else percent(width.chance)
    more = f"more {case.assessment.scope.plural}"
    if certificate.configurations > 1:
        more += " or test runs, which need no correction,"
    cause = (
        f"{opening(more)} reduce that part."
        if width.unseen > width.rest
        else "The rest is the observed spread."
    )
    unseen, end = case.cost(number(width.unseen)), "maximum" if scale is COST else "minimum"
    text = (
        f"Of the distance between limit and mean, about {unseen} covers what "
        f"{case.units(certificate.instances)} may have missed: {plural(scale.noun)} of {worst}, "
        f"the {end}, on up to {share}. {cause}"
    )
    return [Text(text)]


def _basis(case: Case | None, certificate: Certificate) -> list[Block]:
    many = certificate.configurations
    corrected = f", with a multiple-testing correction for {many:,} configurations"
    scale = SCORE if certificate.maximised else COST
    scale = scale if case is None else case.mean_scale
    mean = ends(*scale.range(certificate.lowest, certificate.estimate))
    unit = certificate.sampling_unit
    if case is not None:
        mean, unit = case.cost(mean), case.assessment.scope.unit
    plural = "families" if unit == "family" else f"{unit}s"
    blocks: list[Block] = [
        Text(
            f"Mean {scale.noun} on {counted(certificate.instances, unit)}: {mean}. "
            f"{CHOSEN[certificate.chosen].format(units=plural)}{corrected if many > 1 else ''} "
            f"({certificate.method})."
        )
    ]
    if certificate.condition is not None:
        remedy = "pass `chosen`"
        if certificate.condition == UNSORTED:
            remedy = (
                "pass `raced` if so, or `raced=False` if the number of runs did not depend on costs"
            )
        text = f"Nothing says that {certificate.condition}; {remedy}."
        blocks.append(Text(text, tone="open"))
    return [*blocks, Fold("What are the assumptions?", (Points("", certificate.assumptions),))]


def _width(case: Case) -> list[Block]:
    """Return limits against K, on the instances and at the level of the certificate."""
    evidence, certificate = case.assessment.evidence, case.assessment.certificate
    # The figure is about a single look: limits that hold at all times are wider.
    if evidence is None or certificate is None or evidence.at_all_times:
        return []
    # A curve needs two points, and a mix or a fixed benchmark another limit.
    if certificate.instances < 2 or evidence.scope.kind != "independent":
        return []

    def inputs() -> dict[str, Any]:
        limits = case.assessment.beside.limits_by_size
        parts = {name: getattr(limits, name) for name in ("instances", "estimate", "upper")}
        return {"configuration": evidence.configuration, **parts}

    delta = case.assessment.question.delta
    title = f"What more {evidence.scope.plural} buy"
    note = f"Limit − mean on the first K of {case.units(certificate.instances)}."
    return [case.figure("certificate_width", title, note, inputs, signed=False, delta=delta)]


def bounds_section(bounds: "PaperBounds") -> Section:
    """Return what `bound` prints."""
    runs, instances = counted(bounds.runs, "run"), counted(bounds.instances, "instance")
    lead = (
        f"{runs} on {instances}, costs in [{bounds.low:g}, {bounds.high:g}]: {sure(bounds.delta)}, "
        "the true cost exceeds the mean of the runs by less than"
    )
    return Section("bounds", "", lead, tuple(_bounds(bounds)))


def _bounds(bounds: "PaperBounds") -> list[Block]:
    m = bounds.configurations
    values = {"one, chosen beforehand (Lemma 4)": bounds.one}
    if m > 1:
        values[f"one of {m:,} (Theorem 2)"] = bounds.selected
        values[f"all {m:,}, the worst (Theorem 2)"] = bounds.worst
    rows = tuple(
        (Cell(what, what), *(Cell(forms[form], number(forms[form], 4)) for form in FORMS))
        for what, forms in values.items()
    )
    heads = (Column("", numbers=False), *(Column(label) for label in FORMS.values()))
    blocks: list[Block] = [Table("bounds", "", heads, rows)]
    if bounds.mean_of_runs is not None and bounds.true_cost_at_most is not None:
        mean, limit = (number(v, 4) for v in (bounds.mean_of_runs, bounds.true_cost_at_most))
        blocks.append(
            Text(
                f"Configuration {bounds.configuration}: mean of its runs {mean}, true cost at most "
                f"{limit} (Bennett, m = {m:,}; less than their sum, since no run errs by more than "
                "true cost − low)."
            )
        )
    for form, entry in (bounds.space or {}).items():
        caveat = f" — {entry['caveat']}" if entry["caveat"] else ""
        epsilon = number(entry["epsilon"], 4)
        blocks.append(Text(f"Whole space (Theorem 3), {form}: {epsilon}{caveat}"))
    if bounds.inverse is not None:
        blocks.append(_inverse(bounds, bounds.inverse))
    if bounds.worst["bennett"] >= bounds.high - bounds.low:
        blocks.append(Text(WIDE, tone="open"))
    if bounds.caveat:
        blocks.append(Text(f"{opening(bounds.caveat)}.", tone="open"))
    return [*blocks, Fold("What are the assumptions?", (Points("", bounds.assumptions),))]


def _inverse(bounds: "PaperBounds", inverse: Any) -> Points:
    """Return what it takes to reach the given bound."""

    def count(value: int | None) -> str:
        return "no number" if value is None else f"{value:,}" if value < 10**15 else f"{value:.3e}"

    delta, runs = inverse["delta"], counted(inverse["runs_per_instance"], "run")
    points = (
        f"with these runs, at δ = {f'{delta:.4g}' if delta < 1 else 'none below 1'}",
        f"with these runs, for m up to {count(inverse['configurations'])}",
        f"on {counted(bounds.instances, 'instance')}, from N = {count(inverse['runs'])}",
        f"with {runs} per instance, from K = {count(inverse['instances'])}",
    )
    return Points(f"Theorem 2 (Bennett) reaches ε = {inverse['epsilon']:g}", points)


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
    rows = [_statement_row(statement, case) for statement in statements]
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
        lead += f" Observed on the {where} not used to choose."
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
            limit = case.apart_scale.limit(limits[best])
        many = f"{len(limits):,} of {len(assessment.matrix.configurations) - 1:,} configurations"
        verb = "is" if len(limits) == 1 else "are"
        lines.append(
            f"{many} {verb} shown {better} the default, all at once; configuration "
            f"{best} has the best bound ({limit})."
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
    rows, scale = [], case.apart_scale
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


def _statement_row(statement: Statement, case: Case) -> tuple[Cell, ...]:
    """Return the row of a statement, with the limit of the side that shows something."""
    quantity, grade = statement.quantity, statement.grade_if_met
    words = words_of(statement, case.mean_scale)
    worse = grade == "worse" and statement.opposite is not None
    upper, limit, (low, high) = case.on_scale(statement, opposite=worse)
    few = f"too few {case.assessment.scope.plural}"
    if not math.isfinite(limit):
        few = few if math.isfinite(statement.observed) else UNSOLVED
        guaranteed = few if quantity in ("median", "90th percentile") else NOTHING
    elif words.value is percent and not upper and limit < LEAST:
        guaranteed = few if statement.observed > 0 else NOTHING
    else:
        guaranteed = words.limit(limit, upper)
    # Stopped runs may have taken any time.
    observed, most = words.value(low), words.value(high) if math.isfinite(high) else "more"
    if low < high and observed != most:
        observed += f" to {most}"
    verdict, tone = GRADES[statement.grade]
    verdict = IF_SO.get(grade or "", verdict) if statement.condition is not None else verdict
    cells = (Cell(statement.observed, observed), Cell(limit, guaranteed))
    return (Cell(words.label, words.label), *cells, Cell(verdict, verdict, tone=tone))
