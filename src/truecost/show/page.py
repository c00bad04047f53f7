"""The report: one HTML file that loads nothing."""

import base64
import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from importlib import metadata
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import numpy as np

from truecost.errors import counted
from truecost.show import latex, sections
from truecost.show.glossary import TERMS
from truecost.show.next_steps import WHY, next_steps
from truecost.show.numbers import number, percent, unbroken, visible
from truecost.show.verdict import NAMES, Names, block, is_time, mean_of, over_tuned

if TYPE_CHECKING:
    from markupsafe import Markup
    from matplotlib.axes import Axes

    from truecost.judge.assessment import Assessment

_FOLDER = Path(__file__).parent


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """A figure of the page: an image without a file, what it shows, and what to look for."""

    source: str
    alt: str
    caption: str
    width: int
    height: int


def page(assessment: "Assessment", names: Names = NAMES, *, title: str | None = None) -> str:
    """Return the report as HTML.

    Parameters
    ----------
    assessment
        Of `truecost.audit`.
    names
        What the two sides are called.
    title
        By default the log's name and the two configurations.
    """
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    said = block(assessment, names)
    script = (_FOLDER / "sort.js").read_text()
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    environment = Environment(
        loader=FileSystemLoader(_FOLDER), autoescape=True, trim_blocks=True, lstrip_blocks=True,
        undefined=StrictUndefined,
    )  # fmt: skip
    # Beside the answer, where the answer depends on it.
    proven = ("better", "worse", "no relevant difference")
    condition = visible(assessment.condition or "") if assessment.grade in proven else ""
    environment.filters |= {"prose": _prose, "held": unbroken}
    return environment.get_template("page.html.j2").render(
        title=title or sections.title(assessment),
        size=sections.size(assessment.log),
        said=said,
        steps=[(step, WHY.get(step.split()[1], "")) for step in next_steps(assessment)],
        statements=sections.without_empty(sections.statements(assessment, names))
        if any(isfinite(one.lower) or isfinite(one.upper) for one in assessment.statements)
        else None,
        ladder=sections.ladder(assessment),
        condition=condition,
        caveats=[line for line in sections.caveats(assessment) if line != condition],
        assumptions=sections.assumptions(assessment, names),
        parameters=sections.parameters(assessment),
        best=sections.best_set(assessment),
        noise=sections.noise(assessment, names),
        ranking=sections.ranking(assessment),
        paper={
            "sentence": latex.sentence(assessment),
            "table": latex.table(assessment),
            "bibtex": latex.bibtex(),
        },
        terms=TERMS,
        figures=_pictures(assessment),
        version=metadata.version("truecost"),
        style=(_FOLDER / "style.css").read_text(),
        script=script,
        digest=f"sha256-{digest}",
    )


def _prose(text: str) -> "Markup":
    """Return a sentence whose options are not broken and whose commands look like commands."""
    from markupsafe import Markup, escape

    safe = re.sub(
        r"(?<!\S)--[\w-]+", r'<span class="whole">\g<0></span>', str(escape(unbroken(text)))
    )
    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", safe))  # noqa: S704 - escaped above


def _pictures(assessment: "Assessment") -> dict[str, Picture]:
    """Draw the figures that this assessment has."""
    from truecost.show import figures
    from truecost.show.figures.search import best_over_time
    from truecost.show.figures.style import page_style

    drawn: dict[str, Picture] = {}

    def add(name: str, draw: Callable[..., "Axes"], alt: str, caption: str, **options: Any) -> None:
        with page_style():
            drawn[name] = _picture(draw(assessment, **options), alt, caption)

    mean, same, selection = mean_of(assessment), assessment.same, assessment.selection
    if same is not None:
        won = f"the winner won {same.won} of {counted(same.runs, 'run')}"
        add(
            "same_instances",
            figures.same_instances,
            f"The winner's {mean} is {number(same.winner_cost)}, the default's "
            f"{number(same.default_cost)}; {won}. Bars show the limits of the difference.",
            "",
        )
        add(
            "scatter",
            figures.scatter,
            f"One point for each of {counted(same.instances, 'instance')}: {mean} of the winner "
            "against the default's.",
            "One point per instance. Below the diagonal the winner costs less.",
        )
        time = is_time(assessment)
        add(
            "ecdf",
            figures.ecdf,
            f"Share of runs {'solved within a time' if time else 'that cost at most so much'}, for "
            "winner and default.",
            "The higher line is better.",
        )
        add(
            "deciding",
            figures.deciding,
            "The instances with the largest differences, and what each adds to the mean "
            f"difference of {number(same.difference.observed)}.",
            _deciding(assessment),
        )
    steps = best_over_time(assessment)
    for name, test, what in (
        ("incumbents", False, "training"),
        ("incumbents_test", True, "test"),
    ):
        known = [step.test if test else step.training for step in steps]
        if np.isfinite(known).sum() > 1:
            add(
                name,
                figures.incumbents,
                f"{what.capitalize()} cost of the best configuration so far over the search.",
                "Training costs, as the search saw them."
                if not test
                else "The same configurations on test instances.",
                test=test,
            )
    if over_tuned(assessment):
        assert selection is not None  # noqa: S101 - it is what is drawn
        add(
            "over_tuning",
            figures.over_tuning,
            f"The winner's training cost, and what it is once over-tuning of "
            f"{number(selection.error or 0)} is taken into account.",
            f"From {counted(selection.splits, 'random split')} of the instances: one half chooses, "
            "the other half tests.",
        )
    if len(assessment.ranking) > 1:
        add(
            "ranking",
            figures.ranking,
            "Training costs of the best configurations, the best on top.",
            "The best configurations by training cost, for equally hard instances."
            if any(one.code == "adjusted" for one in assessment.caveats)
            else "The best configurations by training cost.",
        )
        add(
            "matrix",
            figures.matrix,
            "Mean cost of each configuration on each instance; darker costs more.",
            "Dark cells cost more.",
        )
    return drawn


def _deciding(assessment: "Assessment") -> str:
    """Say how concentrated the difference is."""
    from truecost.show.figures.pairs import needed

    both = needed(assessment)
    parts = np.sort(np.abs((both.winner - both.default) * both.weights))[::-1]
    if parts.sum() == 0:
        return "Both cost the same on every instance."
    half = int(np.searchsorted(np.cumsum(parts), 0.5 * parts.sum())) + 1
    share = percent(half / len(parts))
    return f"Half of the differences comes from {counted(half, 'instance')} ({share})."


def _picture(axes: "Axes", alt: str, caption: str) -> Picture:
    from truecost.show.figures.style import svg

    text = svg(axes)
    size = re.search(r'width="([\d.]+)pt" height="([\d.]+)pt"', text)
    width, height = (float(part) * 4 / 3 for part in size.groups()) if size else (480.0, 320.0)
    return Picture(
        source=f"data:image/svg+xml,{quote(text, safe=' /:;,=()?!@$*+-._~')}",
        alt=alt,
        caption=caption,
        width=round(width),
        height=round(height),
    )
