"""How sure: the certificate, what it rests on, and the paper's bounds beside it."""

from typing import TYPE_CHECKING, Any, Final

from truecost.judge.assessment import Assessment
from truecost.judge.evidence import UNSORTED
from truecost.judge.refusal import Refusal
from truecost.judge.statements import Certificate
from truecost.show.blocks import Block, Cell, Column, Figure, Fold, Points, Section, Table, Text
from truecost.show.document.context import Context, called, opening, sure
from truecost.show.document.verdict import certified
from truecost.show.numbers import counted, ends, number, percent

if TYPE_CHECKING:  # records that came here with what they are computed with
    from truecost.judge.bounds import PaperBounds

FORMS: Final = {
    "bennett": "Bennett",
    "sub-gamma": "sub-gamma",
    "bernstein": "Bernstein",
    "printed": "printed",
}
CHOSEN: Final = {
    "test": "These are test runs",
    "before": "The configuration was fixed beforehand",
    "from-list": "It is the best of a list",
    "on-part": "It was chosen on a fifth of the instances and judged on the others",
    "progressive": "A search proposed it; it is judged on instances unused before that",
}
# Above this probability "one in so many" is no longer rare.
OFTEN: Final = 0.4
WIDE: Final = "A bound as wide as the cost range says nothing: more instances are needed."


def how_sure(found: Assessment, setting: Context) -> Section:
    """The section of a report: the certificate, what more instances would bring, the paper's bounds
    folded.
    """
    blocks = [*_certificate(found, setting), *_width(found, setting)]
    if isinstance(found.bounds, Refusal):
        blocks.append(
            Fold(
                title="And the paper's bounds?",
                blocks=(Text(text=found.bounds.reason, aside=True),),
            )
        )
    else:
        blocks.append(Fold(title="And the paper's bounds?", blocks=tuple(_bounds(found.bounds))))
    return Section(
        name="sure",
        title="How sure is that?",
        lead=certificate_lead(found, setting),
        blocks=tuple(blocks),
    )


def certificate_section(found: Assessment, setting: Context) -> Section:
    """What `certify` says."""
    blocks = tuple(_certificate(found, setting))
    return Section(name="sure", title="", lead=certificate_lead(found, setting), blocks=blocks)


def certificate_lead(found: Assessment, setting: Context) -> str:
    """The certificate in a sentence, or why there is none."""
    if found.certificate is None:
        name = called(found, found.incumbent)
        return f"No guarantee for the mean cost of {name}: {found.no_certificate}."
    return f"{certified(found.certificate, setting, called(found, found.certificate.configuration), found.log.utility)}."


def of_certificate(certificate: Certificate, setting: Context) -> Section:
    """A certificate on its own."""
    lead = f"{certified(certificate, setting, f'configuration {certificate.configuration}')}."
    return Section(name="sure", title="", lead=lead, blocks=tuple(_basis(certificate, setting)))


def _certificate(found: Assessment, setting: Context) -> list[Block]:
    certificate = found.certificate
    if certificate is None:
        if found.evidence is not None:
            return []
        return [
            Text(text="Runs on instances that nobody used to choose would give one.", aside=True)
        ]
    blocks: list[Block] = []
    if certificate.configuration != found.incumbent:
        text = (
            f"It speaks of {called(found, certificate.configuration)}, the best on a random fifth of the instances, which "
            f"chose; {called(found, found.incumbent)} is the best on all of them."
        )
        blocks.append(Text(text=text))
    basis, *more = _basis(certificate, setting)
    return [*blocks, basis, *_apart(found, setting), *more]


def _apart(found: Assessment, setting: Context) -> list[Block]:
    """Where the distance between the limit and the mean comes from."""
    width, certificate = found.width, found.certificate
    if width is None or certificate is None or not width.total > 0:
        return []
    most = setting.cost(number(found.matrix.high))
    rare = f"one instance in {1 / width.chance:.0f} costs {most}"
    if width.chance > OFTEN:
        rare = f"{percent(width.chance)} of all instances cost {most}"
    text = (
        f"Mean and limit are {setting.cost(number(width.total))} apart. {number(width.unseen)} of that is there because "
        f"{counted(certificate.instances, 'instance')} cannot rule out that {rare}, the most there is; the rest is the "
        "spread that was seen. "
    )
    text += (
        "Only more instances narrow the first part."
        if width.unseen > width.rest
        else "More instances narrow both."
    )
    return [Text(text=text)]


def _basis(certificate: Certificate, setting: Context) -> list[Block]:
    many = certificate.configurations
    shared = f", with a multiple-testing correction for {many:,} configurations" if many > 1 else ""
    mean = setting.cost(ends(certificate.lowest, certificate.estimate))
    text = (
        f"Mean cost on {counted(certificate.instances, 'instance')}: {mean}. {CHOSEN[certificate.chosen]}{shared} "
        f"({certificate.method})."
    )
    blocks: list[Block] = [Text(text=text)]
    if certificate.condition is not None:
        settle = "say how they were chosen (`chosen`)"
        if certificate.condition == UNSORTED:
            settle = "say that they did (`raced`), or that costs did not decide who got which runs (`raced=False`),"
        text = f"Whether {certificate.condition} nobody has said; {settle} to settle it."
        blocks.append(Text(text=text, tone="open"))
    return [
        *blocks,
        Fold(
            title="What does it rest on?",
            blocks=(Points(title="", points=certificate.assumptions),),
        ),
    ]


def _width(found: Assessment, setting: Context) -> list[Block]:
    """Limits against K on the instances and with the part of δ that the certificate has; nothing
    where there is none.
    """
    evidence, certificate = found.evidence, found.certificate
    if (
        evidence is None
        or certificate is None
        or evidence.at_all_times
        or certificate.instances < 2
    ):
        return []

    def draw() -> Any:
        from truecost.show import figures

        limits = found.limits_by_size
        name = evidence.configuration
        data = figures.certificate_width_data(name, limits.instances, limits.estimate, limits.upper)
        return data, figures.certificate_width_chart(
            data, delta=found.asked.delta, unit=setting.unit
        )

    note = f"The limit on the first so many of {counted(certificate.instances, 'instance')}, beside the mean."
    return [
        Figure(
            name="certificate-width",
            title="What more instances buy",
            notes=(note,),
            draw=draw,
            where="page",
        ),
    ]


def bounds_section(bounds: "PaperBounds") -> Section:
    """What `bound` says."""
    lead = (
        f"{counted(bounds.runs, 'run')} on {counted(bounds.instances, 'instance')}, costs in [{bounds.low:g}, "
        f"{bounds.high:g}]: {sure(bounds.delta)}, the true cost lies above the mean of the runs by less than"
    )
    return Section(name="bounds", title="", lead=lead, blocks=tuple(_bounds(bounds)))


def _bounds(bounds: "PaperBounds") -> list[Block]:
    m = bounds.configurations
    rows = [("one, chosen beforehand (Lemma 4)", bounds.one)]
    if m > 1:
        rows += [
            (f"one of {m:,} (Theorem 2)", bounds.selected),
            (f"all {m:,}, the worst (Theorem 2)", bounds.worst),
        ]
    table = Table(
        name="bounds",
        title="",
        columns=(Column("", "", numbers=False), *(Column(label, "") for label in FORMS.values())),
        rows=tuple(
            (Cell(what, what), *(Cell(each[form], number(each[form], 4)) for form in FORMS))
            for what, each in rows
        ),
    )
    blocks: list[Block] = [table]
    if bounds.mean_of_runs is not None and bounds.true_cost_at_most is not None:
        text = (
            f"Configuration {bounds.configuration}: mean of its runs {number(bounds.mean_of_runs, 4)}, true cost at most "
            f"{number(bounds.true_cost_at_most, 4)} (Bennett, m = {m:,}; less than their sum, since no run errs by more "
            "than true cost − low)."
        )
        blocks.append(Text(text=text))
    for form, entry in (bounds.space or {}).items():
        caveat = f" — {entry['caveat']}" if entry["caveat"] else ""
        blocks.append(
            Text(text=f"Whole space (Theorem 3), {form}: {number(entry['epsilon'], 4)}{caveat}")
        )
    if bounds.inverse is not None:
        blocks.append(_inverse(bounds))
    if bounds.worst["bennett"] >= bounds.high - bounds.low:
        blocks.append(Text(text=WIDE, tone="open"))
    if bounds.caveat:
        blocks.append(Text(text=f"{opening(bounds.caveat)}.", tone="open"))
    return [
        *blocks,
        Fold(title="What do they rest on?", blocks=(Points(title="", points=bounds.rests_on),)),
    ]


def _inverse(bounds: "PaperBounds") -> Points:
    inverse = bounds.inverse or {}

    def count(value: int | None) -> str:
        return "no number" if value is None else f"{value:,}" if value < 10**15 else f"{value:.3e}"

    delta = inverse["delta"]
    points = (
        f"with these runs, at δ = {f'{delta:.4g}' if delta < 1 else 'none below 1'}",
        f"with these runs, for m up to {count(inverse['configurations'])}",
        f"on {counted(bounds.instances, 'instance')}, from N = {count(inverse['runs'])}",
        f"with {counted(inverse['runs_per_instance'], 'run')} an instance, from K = {count(inverse['instances'])}",
    )
    return Points(title=f"Theorem 2 (Bennett) reaches ε = {inverse['epsilon']:g}", points=points)
