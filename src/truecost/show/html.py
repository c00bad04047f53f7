"""A document as one HTML file: escaped text, charts as data, nothing loaded from elsewhere.

Names come from files: in the page they are escaped text, in the charts JSON that no script runs.
The page's policy allows only two scripts, by their hashes.
"""

import hashlib
import re
from base64 import b64encode
from collections.abc import Sequence
from functools import cache
from importlib import resources
from typing import Any

import polars as pl
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from truecost.show.blocks import Document, Section
from truecost.show.glossary import TERMS
from truecost.show.saving import PANELS, Spec, bundle, render, script_json, specification, untitled
from truecost.show.text import BEFORE_UNIT, visible
from truecost.show.theme import BLACK, PALETTE, SOFT

# A chart's colours become variables of the style sheet, with a light and a dark value each.
COLOURS = {
    BLACK: "var(--ink)",
    SOFT: "var(--soft)",
    "#999999": "var(--edge)",
    "#e6e6e6": "var(--line)",
    **{light: f"var(--{name})" for name, (light, _) in PALETTE.items()},
}
_PLAIN: dict[str, Any] = {
    # The element around the chart has the text for screen readers.
    "aria": False,
    "background": "transparent",
    "font": "system-ui, -apple-system, 'Segoe UI', Roboto, 'Liberation Sans', sans-serif",
    "text": {"color": "var(--ink)"},
    "axis": {
        "labelColor": "var(--soft)",
        "titleColor": "var(--ink)",
        "tickColor": "var(--edge)",
        "domainColor": "var(--edge)",
    },
    "legend": {"labelColor": "var(--ink)", "titleColor": "var(--ink)"},
    "title": {"color": "var(--ink)", "subtitleColor": "var(--soft)"},
    "header": {"labelColor": "var(--soft)", "titleColor": "var(--ink)"},
}
# Letters of a name that fit into a cell.
LONG = 80
MARKS = {"good": "✓", "bad": "✗"}


def page(document: Document) -> str:
    """Render the whole file."""
    scripts, figures = [bundle(), _resource("report.js")], document.figures
    specs = {name: specification(figures[name].chart, validate=False) for name in figures}
    data = {name: csv(figure.data) for name, figure in figures.items()}
    template = _templates().get_template("page.html.j2")
    return template.render(
        document=document,
        sections=document.sections,
        mark=MARKS.get(document.tone, "?"),
        style=style_sheet(),
        scripts=scripts,
        hashes=" ".join(map(_hash, scripts)),
        charts=script_json({name: in_page(spec) for name, spec in specs.items()}),
        alts={name: alternative(spec) for name, spec in specs.items()},
        data=script_json({"csv": data, **document.pairs}),
    )


def fragment(what: Document | Sequence[Section]) -> str:
    """Render sentences, numbers, tables and the verdict's picture, for a notebook: no scripts."""
    document, sections = (what, what.sections) if isinstance(what, Document) else (None, what)
    picture = ""
    if document is not None and document.picture is not None:
        spec = untitled(specification(document.picture.chart, validate=False))
        picture = f"data:image/svg+xml;base64,{b64encode(render(spec, 'svg')).decode()}"
    template = _templates().get_template("fragment.html.j2")
    return template.render(document=document, sections=sections, picture=picture)


def style_sheet() -> str:
    """Return the page's style sheet, with the colours of the charts."""
    names = {light: COLOURS[light][len("var(") : -1] for light, _ in PALETTE.values()}
    pairs = PALETTE.values()
    colours = "".join(f"{names[light]}:light-dark({light},{dark});" for light, dark in pairs)
    return f":root{{{colours}}}\n{_resource('report.css')}"


def csv(data: Any) -> str:
    """Return the data of a figure as comma-separated values."""
    table = data if isinstance(data, pl.DataFrame) else data.cells
    return str(table.write_csv())


def alternative(spec: Spec) -> str:
    """Return the titles of a chart as text for those who do not see it."""
    texts = []
    for part in (spec, *(panel for kind in PANELS for panel in spec.get(kind, []))):
        title = part.get("title") or ""
        title = {"text": title} if isinstance(title, str) else title
        below = title.get("subtitle") or []
        texts += [title["text"], *([below] if isinstance(below, str) else below)]
    return " ".join(f"{text.rstrip('.:')}." for text in texts if text)


def in_page(spec: Spec) -> Spec:
    """Return a specification in the page's colours, without its title, which is HTML."""
    spec = _recoloured(spec)
    spec.pop("title", None)
    # Parts of the look, such as font sizes, stay.
    for name, value in _PLAIN.items():
        spec["config"][name] = (
            {**spec["config"].get(name, {}), **value} if isinstance(value, dict) else value
        )
    return spec


def _recoloured(value: Any) -> Any:
    """Replace colours everywhere but in the data."""
    # A name may look like a colour.
    if isinstance(value, list):
        return [_recoloured(item) for item in value]
    if not isinstance(value, dict):
        return COLOURS.get(value, value) if isinstance(value, str) else value
    # A title is a text, or a text with a colour.
    words = {"data", "datasets", "from", *(("text", "subtitle") if "text" in value else ())}
    if not isinstance(value.get("title"), dict):
        words.add("title")
    return {key: item if key in words else _recoloured(item) for key, item in value.items()}


@cache
def _templates() -> Environment:
    """Return templates in which every value is text: escaped, without control characters."""
    environment = Environment(
        loader=PackageLoader("truecost", "show"),
        autoescape=True,
        finalize=lambda value: (
            visible(value) if isinstance(value, str) and not hasattr(value, "__html__") else value
        ),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["unbroken"] = unbroken
    environment.globals |= {
        "terms": TERMS,
        "long": LONG,
        "zip": zip,
        "kind_of": lambda block: type(block).__name__,
    }
    return environment


def unbroken(text: str) -> Markup:
    """Keep a number and its unit, and the name of an option, on one line."""
    escaped = BEFORE_UNIT.sub("&nbsp;", str(escape(visible(text))))
    whole = re.sub(r"(?<![\w-])--[a-z][\w-]*", r"<span class='whole'>\g<0></span>", escaped)
    return Markup(whole)  # noqa: S704 - escaped


def _hash(script: str) -> str:
    return f"'sha256-{b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"


def _resource(name: str) -> str:
    return resources.files("truecost.show").joinpath(name).read_text(encoding="utf-8")
