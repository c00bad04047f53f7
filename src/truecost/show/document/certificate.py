"""How certain: the certificate, its assumptions, and the paper's bounds for comparison."""

from typing import TYPE_CHECKING, Any, Final

from truecost.judge.assessment import Assessment
from truecost.judge.evidence import UNSORTED
from truecost.judge.refusal import Refusal
from truecost.judge.statements import Certificate
from truecost.runs import NO_INSTANCE
from truecost.show.blocks import Block, Cell, Column, Figure, Fold, Points, Section, Table, Text
from truecost.show.document.context import Context, called, drawing, opening, sure
from truecost.show.document.runs import left_out
from truecost.show.document.verdict import certified
from truecost.show.numbers import counted, ends, number, percent

if TYPE_CHECKING:  # loads kernels
    from truecost.judge.bounds import PaperBounds

FORMS: Final = {
    "bennett": "Bennett",
    "sub-gamma": "sub-gamma",
    "bernstein": "Bernstein",
    "printed": "printed",
}
CHOSEN: Final = {
    "test": "From test runs",
    "before": "For a configuration fixed beforehand",
    "from-list": "For the best of a list",
    "weighted-list": "Best of a list, whose shares of δ a fifth of the instances decided",
    "on-part": "Chosen on a fifth of the instances, tested on the others",
    "progressive": "Proposed by a search, tested on instances unused until then",
}
# Above this probability "one in n" is not rare.
OFTEN: Final = 0.4
WIDE: Final = "A bound as wide as the cost range says nothing: more instances are needed."


def how_sure(assessment: Assessment, context: Context) -> Section:
    """Return the certificate, the effect of more instances, and the paper's bounds."""
    bounds = assessment.bounds
    paper: list[Block] = (
        [Text(bounds.reason, aside=True)] if isinstance(bounds, Refusal) else _bounds(bounds)
    )
    blocks = (
        *_certificate(assessment, context),
        *_width(assessment, context),
        Fold("And the paper's bounds?", tuple(paper)),
    )
    return Section("sure", "How certain is that?", certificate_lead(assessment, context), blocks)


def certificate_section(
    assessment: Assessment, context: Context, *, alone: bool = False
) -> Section:
    """Return the certificate; `alone`, as `certify` prints it, with how the runs were read."""
    notes = [Text(line, aside=True) for line in left_out(assessment)] if alone else []
    blocks = (*_certificate(assessment, context), *notes)
    return Section("sure", "", certificate_lead(assessment, context), blocks)


def certificate_lead(assessment: Assessment, context: Context) -> str:
    """Return the certificate in a sentence, or why there is none."""
    certificate = assessment.certificate
    if certificate is None:
        name = called(assessment, assessment.incumbent)
        return f"No guarantee for the mean cost of {name}: {assessment.no_certificate}."
    name = called(assessment, certificate.configuration)
    return f"{certified(certificate, context, name, assessment.log.utility)}."


def of_certificate(certificate: Certificate, context: Context) -> Section:
    """Return a certificate on its own."""
    lead = f"{certified(certificate, context, f'configuration {certificate.configuration}')}."
    return Section("sure", "", lead, tuple(_basis(certificate, context)))


def _certificate(assessment: Assessment, context: Context) -> list[Block]:
    certificate = assessment.certificate
    if certificate is None:
        missing = "Runs on instances not used for tuning would allow a guarantee."
        nowhere = assessment.log.matrix.instances == (NO_INSTANCE,)
        known = nowhere or assessment.evidence is not None
        return [] if known else [Text(missing, aside=True)]
    blocks: list[Block] = []
    if certificate.configuration != assessment.incumbent:
        tested = called(assessment, certificate.configuration)
        best = called(assessment, assessment.incumbent)
        blocks.append(
            Text(
                f"It is about {tested}, the best on the random fifth of the instances that was "
                f"used to choose; {best} is the best on all of them."
            )
        )
    basis, *others = _basis(certificate, context)
    return [*blocks, basis, *_margin(assessment, context), *others]


def _margin(assessment: Assessment, context: Context) -> list[Block]:
    """Return where the distance between limit and mean comes from."""
    width, certificate = assessment.width, assessment.certificate
    if width is None or certificate is None or not width.total > 0:
        return []
    highest = context.cost(number(assessment.matrix.high))
    share = f"one in {1 / width.chance:.0f}" if width.chance <= OFTEN else percent(width.chance)
    cause = (
        "Only more instances reduce that part."
        if width.unseen > width.rest
        else "The rest is the observed spread."
    )
    total, unseen = (context.cost(number(part)) for part in (width.total, width.unseen))
    instances = counted(certificate.instances, "instance")
    text = (
        f"The limit is {total} above the mean. {unseen} of that is unavoidable with {instances}: "
        f"{share} could cost {highest}, the maximum, without appearing here. {cause}"
    )
    return [Text(text)]


def _basis(certificate: Certificate, context: Context) -> list[Block]:
    many = certificate.configurations
    corrected = f", with a multiple-testing correction for {many:,} configurations"
    mean = context.cost(ends(certificate.lowest, certificate.estimate))
    instances = counted(certificate.instances, "instance")
    blocks: list[Block] = [
        Text(
            f"Mean cost on {instances}: {mean}. {CHOSEN[certificate.chosen]}"
            f"{corrected if many > 1 else ''} ({certificate.method})."
        )
    ]
    if certificate.condition is not None:
        remedy = "pass `chosen`"
        if certificate.condition == UNSORTED:
            remedy = (
                "pass `raced` if so, or `raced=False` if the number of runs did not depend on costs"
            )
        text = f"It is unknown whether {certificate.condition}; {remedy}."
        blocks.append(Text(text, tone="open"))
    return [*blocks, Fold("What are the assumptions?", (Points("", certificate.assumptions),))]


def _width(assessment: Assessment, context: Context) -> list[Block]:
    """Return limits against K, on the instances and at the level of the certificate."""
    evidence, certificate = assessment.evidence, assessment.certificate
    if evidence is None or certificate is None or evidence.at_all_times:
        return []
    if certificate.instances < 2:
        return []

    def inputs() -> dict[str, Any]:
        limits = assessment.limits_by_size
        parts = {name: getattr(limits, name) for name in ("instances", "estimate", "upper")}
        return {"configuration": evidence.configuration, **parts}

    delta, unit = assessment.asked.delta, context.unit
    draw = drawing("certificate_width", inputs, delta=delta, unit=unit)
    note = f"Limit − mean on the first K of {counted(certificate.instances, 'instance')}."
    title = "What more instances buy"
    return [Figure("certificate-width", title, (note,), draw, where="page")]


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
    heads = (Column("", "", numbers=False), *(Column(label, "") for label in FORMS.values()))
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

    delta, each = inverse["delta"], counted(inverse["runs_per_instance"], "run")
    points = (
        f"with these runs, at δ = {f'{delta:.4g}' if delta < 1 else 'none below 1'}",
        f"with these runs, for m up to {count(inverse['configurations'])}",
        f"on {counted(bounds.instances, 'instance')}, from N = {count(inverse['runs'])}",
        f"with {each} per instance, from K = {count(inverse['instances'])}",
    )
    return Points(f"Theorem 2 (Bennett) reaches ε = {inverse['epsilon']:g}", points)
