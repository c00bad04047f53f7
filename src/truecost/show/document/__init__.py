"""An assessment in words: sections of sentences, tables and figures, each written once, here."""

from dataclasses import replace
from hashlib import sha256

from truecost.judge.assessment import AUDITED, Assessment
from truecost.show.blocks import Block, Commands, Document, Fact, Facts, Points, Section, Text
from truecost.show.document.about import what_about
from truecost.show.document.answers import compared, plan_section, power_section, show_section
from truecost.show.document.certificate import (
    bounds_section,
    certificate_section,
    how_sure,
    what_is_shown,
)
from truecost.show.document.context import Case, Context, words_of
from truecost.show.document.key_numbers import at_a_glance, key
from truecost.show.document.next_steps import next_step, recommendation, what_next
from truecost.show.document.over_tuning import (
    configuration_section,
    instance_by_instance,
    leaders,
    over_tuned,
    pairs,
)
from truecost.show.document.runs import how_noisy, how_read, left_out, sizes_of, what_was_run, worth
from truecost.show.document.verdict import beside, judged, verdict_of
from truecost.show.numbers import confidence

__all__ = [
    "Case",
    "Context",
    "audited",
    "bounds_section",
    "certificate_section",
    "compared",
    "configuration_section",
    "document",
    "in_short",
    "plan_section",
    "power_section",
    "recommendation",
    "show_section",
    "what_was_run",
]


def document(assessment: Assessment, context: Context) -> Document:
    """Return everything, the verdict first: the page."""
    case, version = Case(assessment, context), _version()
    statements, default, about = what_is_shown(case), instance_by_instance(case), what_about(case)
    if about is not None and assessment.default is None:
        # A list without a default has its figures here.
        about = replace(about, brief=True, blocks=(*about.blocks, *leaders(case)))
    sections = [
        None if statements is None else replace(statements, brief=True),
        about,
        None if default is None else replace(default, brief=True),
        configuration_section(case),
        what_next(case),
        *(
            replace(section(case), folded=True)
            for section in (how_sure, over_tuned, what_was_run, how_noisy)
        ),
        citation(case, version),
        methods(assessment, version),
    ]
    command = context.command("report")
    return replace(
        _document(case, sections),
        origin=f"Input sha256 {digest(case)[:16]}{f'; command: {command}' if command else ''}.",
        pairs=pairs(case),
        version=version,
        data=assessment.to_dict("configurations", *AUDITED, "bounds", "outlook"),
    )


def audited(assessment: Assessment, context: Context, *, parameters: bool = False) -> Document:
    """Return the verdict and what supports it, with the parameters if wanted: the terminal."""
    case = Case(assessment, context)
    sections = [
        what_is_shown(case),
        what_about(case),
        instance_by_instance(case),
        configuration_section(case) if parameters else None,
        certificate_section(case),
        over_tuned(case),
        how_noisy(case),
        how_read(case),
        what_next(case),
    ]
    return _document(case, sections)


def in_short(assessment: Assessment, context: Context, *, parameters: bool = False) -> Document:
    """Return verdict, statement table, parameters if wanted, and next step: one screen."""
    case = Case(assessment, context)
    document = _document(case, [what_is_shown(case)])
    # What was left out or assumed decides how far the verdict can be trusted.
    utility = assessment.log.utility
    lines = [*([worth(utility)] if utility else []), *left_out(assessment)]
    notes = tuple(Text(line, aside=True) for line in lines)
    sections = tuple(
        replace(section, blocks=(*_until_approximate(section.blocks), *notes))
        for section in document.sections
    ) or ((Section("notes", "", "", notes),) if notes else ())
    chosen = configuration_section(case) if parameters else None
    sections = sections if chosen is None else (*sections, chosen)
    return replace(document, key=(), sections=(*sections, next_step(case)))


def _until_approximate(blocks: tuple[Block, ...]) -> tuple[Block, ...]:
    """Return the guaranteed statements and the primary criterion."""
    names = [getattr(block, "name", "") for block in blocks]
    return blocks[: names.index("approximate")] if "approximate" in names else blocks


def _document(case: Case, sections: list[Section | None]) -> Document:
    tone, badge = judged(case)
    return Document(
        title=case.context.title or f"{case.context.name}: how good is the winner really?",
        subtitle=sizes_of(case),
        tone=tone,
        badge=badge,
        verdict=verdict_of(case),
        more=beside(case),
        picture=at_a_glance(case),
        key=key(case),
        sections=tuple(section for section in sections if section is not None),
    )


def _version() -> str:
    from importlib import metadata  # takes long to load, and the terminal does not need it

    return metadata.version("truecost")


def methods(assessment: Assessment, version: str) -> Section:
    """Return what another person needs to reproduce the page."""
    question = assessment.question
    facts = (
        Fact("version", version, version),
        Fact("splits", question.splits, f"{question.splits:,}"),
        Fact("seed", question.seed, f"{question.seed}"),
        Fact("delta", question.delta, f"{question.delta:g}"),
    )
    points = (
        "Training cost: the mean of a configuration's instance means; if configurations have runs "
        "on different instances, adjusted for instance difficulty by least squares.",
        f"Corrected cost: {question.splits:,} random splits of the instances into halves, each "
        "used both ways; held-out − training cost of the best on one half, divided by √2 because "
        "choosing on all instances errs less, is added to the training cost.",
        "Guarantees: betting on instance means (STaR-Bets), valid for any number of instances and "
        "any distribution in the cost range; each at level δ.",
        "Bounds: Lemma 4 and Theorem 2 of Liu, Tang, Lei and Yao, On Performance Estimation in "
        "Automatic Algorithm Configuration (AAAI 2020), in Bennett's form, with estimated "
        "variances.",
        "Optimism and over-tuning: as defined by Schneider, Bischl and Feurer, Overtuning in "
        "Hyperparameter Optimization (2025).",
        "The same runs, options and version give the same page, byte for byte.",
    )
    lead = "Everything was computed from the runs alone; nothing was fetched, nothing is sent."
    blocks = (Facts(facts), Points("Methods", points))
    return Section("made", "How was this computed?", lead, blocks, folded=True)


SOFTWARE = """@software{{truecost, title = {{truecost}}, author = {{{{The truecost authors}}}}, \
version = {{{version}}}, year = {{2026}}}}"""
PAPER = """@inproceedings{liu2020performance, title = {On Performance Estimation in Automatic \
Algorithm Configuration}, author = {Liu, Shengcai and Tang, Ke and Lei, Yunwen and Yao, Xin}, \
booktitle = {Proceedings of the AAAI Conference on Artificial Intelligence}, year = {2020}}"""


def citation(case: Case, version: str) -> Section:
    """Return the sentence and the references."""
    lines = (
        (paper_sentence(case, version), "a sentence for the results section"),
        (SOFTWARE.format(version=version), "BibTeX of truecost"),
        (PAPER, "BibTeX of the paper behind it"),
    )
    lead = "A sentence with the numbers a reviewer asks for, and the references."
    return Section("paper", "For a paper", lead, (Commands(lines, "To copy"),), folded=True)


def paper_sentence(case: Case, version: str) -> str:
    """Return the primary result with n, method, δ, criterion, input and version."""
    assessment = case.assessment
    primary = "difference" if assessment.primary == "mean" else "wins"
    if assessment.comparison is None:
        primary = "mean"
    level = confidence(assessment.question.delta)
    end = f"truecost {version}, input sha256 {digest(case)[:12]}"
    statement = next((s for s in assessment.statements if s.quantity == primary), None)
    if statement is None:
        reason = assessment.no_certificate or "no statement is available"
        return f"No guarantee can be given for {case.context.name}: {reason} ({end})."
    words = words_of(statement, case.mean_scale)
    upper, value, (_, observed_value) = case.on_scale(statement)
    whose = case.called(statement.configuration)
    if statement.default is not None:
        whose += f" against {case.called(statement.default)}"
    result = f"{words.label} {words.limit(value, upper)}"
    observed = f"observed {words.value(observed_value)}"
    many = statement.configurations
    corrected = f", Bonferroni correction over {many:,} configurations" if many > 1 else ""
    condition = "" if statement.condition is None else f", if {statement.condition}"
    return (
        f"For {whose} on {case.units(statement.instances)} of {case.context.name}, {result} "
        f"({observed}; {level} confidence, one-sided, {statement.method}{corrected}{condition}; "
        f"primary criterion: {words.label}; {end})."
    )


def digest(case: Case) -> str:
    """Return a digest of the runs: costs, names and range."""
    matrix = case.assessment.matrix
    names = "\0".join((*matrix.configurations, "", *matrix.instances))
    content = matrix.costs.tobytes() + names.encode(errors="surrogatepass")
    return sha256(content + repr((matrix.low, matrix.high)).encode()).hexdigest()
