"""An assessment in words: sections of plain sentences, tables and figures. Every sentence stands
here, once.
"""

from dataclasses import replace

from truecost.judge.assessment import AUDITED, Assessment
from truecost.show.blocks import Document, Fact, Facts, Points, Section
from truecost.show.document.certificate import bounds_section, certificate_section, how_sure
from truecost.show.document.context import Context
from truecost.show.document.next_steps import what_next
from truecost.show.document.noise import how_noisy
from truecost.show.document.over_tuning import instance_by_instance, over_tuned
from truecost.show.document.planned import plan_section, power_section, show_section
from truecost.show.document.runs import what_was_run
from truecost.show.document.statement_table import what_is_shown
from truecost.show.document.verdict import at_a_glance, beside, judged, key, verdict_of
from truecost.show.document.versions import compared
from truecost.show.numbers import counted

__all__ = [
    "Context",
    "audited",
    "bounds_section",
    "certificate_section",
    "compared",
    "document",
    "plan_section",
    "power_section",
    "show_section",
    "what_was_run",
]


def document(found: Assessment, setting: Context) -> Document:
    """Everything, the verdict first: what the page shows."""
    folded = (how_sure, over_tuned, what_was_run, how_noisy)
    sections = [
        what_is_shown(found),
        instance_by_instance(found, setting),
        what_next(found, setting),
        *(
            None if (made := section(found, setting)) is None else replace(made, folded=True)
            for section in folded
        ),
        how_made(found),
    ]
    return replace(
        _of(found, setting, sections),
        version=_version(),
        data=found.to_dict("configurations", *AUDITED, "bounds", "outlook"),
    )


def audited(found: Assessment, setting: Context) -> Document:
    """The verdict and what it rests on: what the terminal shows."""
    sections = [
        what_is_shown(found),
        instance_by_instance(found, setting),
        certificate_section(found, setting),
        over_tuned(found, setting),
        how_noisy(found, setting),
        what_next(found, setting),
    ]
    return _of(found, setting, sections)


def _of(found: Assessment, setting: Context, sections: list[Section | None]) -> Document:
    tone, badge = judged(found)
    return Document(
        title=setting.title or f"{setting.name}: how good is the winner really?",
        subtitle=" × ".join(map(counted, found.matrix.shape, ("configuration", "instance", "run"))),
        tone=tone,
        badge=badge,
        verdict=verdict_of(found, setting),
        more=beside(found, setting),
        picture=at_a_glance(found, setting),
        key=key(found, setting),
        sections=tuple(section for section in sections if section is not None),
    )


def _version() -> str:
    from importlib import (
        metadata,
    )  # here, since it takes long to load, and the terminal does not say it

    return metadata.version("truecost")


def how_made(found: Assessment) -> Section:
    """What another person needs to make the same page."""
    version = _version()
    asked = found.asked
    facts = (
        Fact(term="version", value=version, shown=version),
        Fact(term="splits", value=asked.splits, shown=f"{asked.splits:,}"),
        Fact(term="seed", value=asked.seed, shown=f"{asked.seed}"),
        Fact(term="delta", value=asked.delta, shown=f"{asked.delta:g}"),
    )
    points = (
        "Training cost: the mean of a configuration's instance means; where nothing is missing, the plain mean; where "
        "configurations have runs on different instances, adjusted for instance difficulty by least squares.",
        f"Corrected cost: {asked.splits:,} random splits of the instances in halves, each taken both ways; the held-out − "
        "training cost of what is best on one half, divided by √2, since choosing on all instances errs less, is added to "
        "the training cost.",
        "Guarantees: betting on instance means (STaR-Bets), valid for any number of instances and any distribution in the "
        "cost range; each has all of δ.",
        "Bounds: Lemma 4 and Theorem 2 of Liu, Tang, Lei and Yao, On Performance Estimation in Automatic Algorithm "
        "Configuration (AAAI 2020), in Bennett's form, with estimated variances.",
        "Optimism and over-tuning are told apart as by Schneider, Bischl and Feurer, Overtuning in Hyperparameter "
        "Optimization (2025).",
        "The same runs, options and version give the same page, byte for byte.",
    )
    blocks = (Facts(facts=facts), Points(title="Methods", points=points))
    lead = "Everything above was computed from the runs alone; nothing was fetched, and nothing is sent."
    title = "How was this computed?"
    return Section(name="made", title=title, lead=lead, blocks=blocks, folded=True)
