"""The report: one HTML file that loads nothing."""

import re
from dataclasses import dataclass
from importlib import metadata
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from truecost.errors import counted
from truecost.judge.pairs import instance_costs
from truecost.show import latex, sections
from truecost.show.glossary import TERMS
from truecost.show.next_steps import WHY, next_steps
from truecost.show.numbers import distinct_numbers, number, unbroken, visible
from truecost.show.verdict import block, over_tuning
from truecost.show.words import capitalised, is_time, mean_of, phase_of, scope_of

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


def page(assessment: "Assessment", *, title: str | None = None) -> str:
    """Return the report as HTML; by default its title is the log's name and the two
    configurations.
    """
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(_FOLDER), autoescape=True, trim_blocks=True, lstrip_blocks=True,
        undefined=StrictUndefined,
    )  # fmt: skip
    environment.filters |= {"prose": _prose, "held": unbroken}
    # Next to the answer, where the answer depends on it.
    proven = ("better", "worse", "no relevant difference")
    condition = visible(assessment.condition or "") if assessment.grade in proven else ""
    limited = any(isfinite(one.lower) or isfinite(one.upper) for one in assessment.statements)
    return environment.get_template("page.html.j2").render(
        title=title or sections.title(assessment),
        size=sections.size(assessment.log),
        verdict=block(assessment),
        steps=[(step, WHY.get(step.split()[1], "")) for step in next_steps(assessment)],
        statements=sections.statements(assessment) if limited else None,
        ladder=sections.ladder(assessment),
        condition=condition,
        caveats=[line for line in sections.caveats(assessment) if line != condition],
        assumptions=sections.assumptions(assessment),
        parameters=sections.parameters(assessment),
        best=sections.best_set(assessment),
        noise=sections.noise(assessment),
        ranking=sections.ranking(assessment),
        ranking_title=sections.ranking_title(assessment),
        scope=capitalised(scope_of(assessment)),
        latex=latex,
        assessment=assessment,
        terms=TERMS,
        figures=_pictures(assessment),
        version=metadata.version("truecost"),
        style=(_FOLDER / "style.css").read_text(),
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

    def add(name: str, alt: str, caption: str, **how: Any) -> None:
        with page_style():
            draw = getattr(figures, name.removesuffix("_test"))
            drawn[name] = _picture(draw(assessment, **how), alt, caption)

    if (same := assessment.same) is not None:
        time, mean = is_time(assessment), mean_of(assessment)
        winner_cost, default_cost = distinct_numbers((same.winner_cost, same.default_cost))
        add(
            "same_instances",
            f"The winner's {mean} is {winner_cost}, the default's {default_cost}; the winner won "
            f"{same.won} of {counted(same.pairs, 'run')}. Bars show the limits of the difference.",
            "",
        )
        add(
            "ecdf",
            f"Share of runs {'solved within a time' if time else 'that cost at most so much'}, for "
            "winner and default.",
            "The higher line is better.",
        )
        # Of a single instance they would show one point and one bar.
        if (pairs := instance_costs(same)).half and same.instances > 1:
            add(
                "scatter",
                f"One point for each of {same.instances:,} instances: {mean} of the winner against "
                "the default's.",
                "One point per instance. Below the diagonal the winner costs less.",
            )
            add(
                "deciding",
                "The instances with the largest differences, and what each adds to the mean "
                f"difference of {number(same.difference)}.",
                f"Half of the differences, without their signs, come from {pairs.half:,} of "
                f"{same.instances:,} instances.",
            )
    if len(best_over_time(assessment, test=False)) > 1:
        add(
            "incumbents",
            "Training cost of the best configuration so far over the search.",
            "Training costs, each over the instances that the configuration was run on.",
        )
    if len(best_over_time(assessment, test=True)) > 1:
        add(
            "incumbents_test",
            "Test cost of the best configuration so far over the search.",
            "The same configurations on test instances.",
            test=True,
        )
    if (error := over_tuning(assessment)) is not None and assessment.selection is not None:
        add(
            "over_tuning",
            "The winner's training cost, and what it is once over-tuning of "
            f"{number(error)} is taken into account.",
            f"From {counted(assessment.selection.splits, 'random split')}: one half chooses, the "
            "other half tests.",
        )
    # Winner and default alone are compared already.
    if len(assessment.ranking) > 2:
        phase = phase_of(assessment.log)
        adjusted = any(caveat.code == "adjusted" for caveat in assessment.caveats)
        add(
            "ranking",
            f"Costs of the best configurations in {phase}, the best on top.",
            f"The best configurations by {phase} cost"
            f"{', for equally hard instances' if adjusted else ''}.",
        )
        if len(assessment.log.runs.instances) > 1:
            add(
                "matrix",
                "Mean cost of each configuration on each instance; darker costs more.",
                "Dark cells cost more.",
            )
    return drawn


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
