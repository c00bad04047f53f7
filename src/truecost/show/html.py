"""A report as one HTML file: escaped text, charts as data, and nothing that is loaded from elsewhere.

Names come from files and are data: in the page they are escaped text, in the charts JSON that no script runs. Only the two
scripts whose hashes the page's policy has are run at all.
"""

import hashlib
from base64 import b64encode
from html import escape
from importlib import resources
from typing import Any

from truecost.show.content import Block, Commands, Fact, Facts, Figure, Points, Report, Section, Table, Text
from truecost.show.glossary import TERMS
from truecost.show.saving import bundle, script_json, specification, visible
from truecost.show.theme import AMBER, BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, Chart

# What a chart's colours become: variables of the style sheet, which has a light and a dark value for each.
COLOURS = {
    BLACK: "var(--ink)",
    BLUE: "var(--blue)",
    ORANGE: "var(--orange)",
    GREEN: "var(--green)",
    GREY: "var(--grey)",
    PURPLE: "var(--purple)",
    AMBER: "var(--amber)",
    "#F0C987": "var(--sand)",
    "#555555": "var(--soft)",
    "#999999": "var(--edge)",
    "#e6e6e6": "var(--line)",
}
_PLAIN: dict[str, Any] = {
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
# Letters of a name that fit into its cell.
LONG = 80
MARKS = {"good": "✓", "bad": "✗", "open": "?"}


def page(report: Report) -> str:
    """The whole file."""
    scripts = [bundle(), _resource("report.js")]
    charts = {figure.name: chart_spec(figure.chart) for figure in report.figures.values()}
    body = [
        _head(report),
        "<main>",
        '<noscript><p class="aside">The charts need JavaScript; the numbers, tables and words do not.</p></noscript>',
        _verdict(report),
        *(_section(section) for section in report.sections),
        _glossary(),
        "</main>",
        f"<footer>Made by truecost {_text(report.version)}. One file: it loads nothing and sends nothing.</footer>",
        *(_popover(term) for term in TERMS),
        f'<script type="application/json" id="charts">{script_json(charts)}</script>',
        *(f"<script>{script}</script>" for script in scripts),
    ]
    policy = "; ".join(
        (
            "default-src 'none'",
            f"script-src {' '.join(_hash(script) for script in scripts)}",
            "style-src 'unsafe-inline'",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
        )
    )
    return "\n".join(
        (
            "<!DOCTYPE html>",
            '<html lang="en">',
            "<head>",
            '<meta charset="UTF-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta name="color-scheme" content="light dark">',
            f'<meta name="generator" content="truecost {_text(report.version)}">',
            f"<title>{_text(report.title)}</title>",
            f"<style>{_resource('report.css')}</style>",
            "</head>",
            "<body>",
            *body,
            "</body>",
            "</html>",
            "",
        )
    )


def chart_spec(chart: Chart) -> dict[str, Any]:
    """The chart's specification in the colours of the page, without its title, which is text of the page."""
    spec: dict[str, Any] = _recoloured(specification(chart))
    spec.pop("title", None)
    for name, value in _PLAIN.items():
        spec["config"][name] = {**spec["config"].get(name, {}), **value} if isinstance(value, dict) else value
    return spec


def _recoloured(value: Any) -> Any:
    """Everything but the data in other colours: a name may be that of a colour."""
    if isinstance(value, str):
        return COLOURS.get(value, value)
    if isinstance(value, list):
        return [_recoloured(item) for item in value]
    if isinstance(value, dict):
        # A title is words, or words with a colour of theirs.
        words = ("data", "datasets", "from", *(("text", "subtitle") if "text" in value else ()))
        return {
            key: item if key in words or (key == "title" and not isinstance(item, dict)) else _recoloured(item)
            for key, item in value.items()
        }
    return value


def _head(report: Report) -> str:
    links = [("verdict", "Verdict"), *((section.name, section.title) for section in report.sections), ("words", "Words")]
    listed = "".join(f'<a href="#{name}">{_text(title)}</a>' for name, title in links)
    return (
        f'<header><h1>{_text(report.title)}</h1><p class="size">{_text(report.subtitle)}</p></header>\n'
        f'<nav aria-label="Sections"><div>{listed}</div>'
        '<button type="button" id="theme" aria-label="Light or dark">◐</button></nav>'
    )


def _verdict(report: Report) -> str:
    return (
        f'<section id="verdict" class="verdict {report.tone}" aria-labelledby="badge">\n'
        f'<p id="badge" class="badge"><span aria-hidden="true">{MARKS[report.tone]}</span> {_text(report.badge)}</p>\n'
        f'<p class="said">{_text(report.verdict)}</p>\n<p class="more">{_text(report.more)}</p>\n'
        f"{_facts(report.key)}\n</section>"
    )


def _section(section: Section) -> str:
    blocks = "\n".join(_block(block) for block in section.blocks)
    head = f'<h2>{_text(section.title)}</h2>\n<p class="lead">{_text(section.lead)}</p>'
    return f'<section id="{section.name}">\n{head}\n{blocks}\n</section>'


def _block(block: Block) -> str:
    match block:
        case Facts(facts=facts):
            return _facts(facts)
        case Text(text=text, aside=aside):
            return f'<p class="{"aside" if aside else "plain"}">{_text(text)}</p>'
        case Points(title=title, points=points):
            return f"<h3>{_text(title)}</h3>\n<ul>{''.join(f'<li>{_text(point)}</li>' for point in points)}</ul>"
        case Commands(commands=commands):
            lines = "".join(
                f'<li><div class="line"><code>{_text(line)}</code><button type="button" class="copy">Copy</button></div>'
                f"<p>{_text(why)}</p></li>"
                for line, why in commands
            )
            return f'<h3>Commands to copy</h3>\n<ol class="commands">{lines}</ol>'
        case Table():
            return _table(block)
        case Figure():
            return _figure(block)


def _facts(facts: tuple[Fact, ...]) -> str:
    items = []
    for fact in facts:
        unit = f' <span class="unit">{_text(fact.unit)}</span>' if fact.unit else ""
        note = f'<dd class="note">{_text(fact.note)}</dd>' if fact.note else ""
        label = _asked(fact.label or TERMS[fact.term].name, fact.term)
        items.append(f"<div><dt>{label}</dt><dd>{_text(fact.shown)}{unit}</dd>{note}</div>")
    return f'<dl class="facts">{"".join(items)}</dl>'


def _figure(figure: Figure) -> str:
    notes = "".join(f"<p>{_text(note)}</p>" for note in figure.notes)
    return (
        f'<figure id="figure-{figure.name}"><figcaption><h3>{_text(figure.title)}</h3>{notes}</figcaption>'
        f'<div class="chart" data-chart="{figure.name}"{"" if figure.wide else " data-fixed"} role="group" '
        f'aria-label="{_text(figure.title)}"></div></figure>'
    )


def _table(table: Table) -> str:
    heads = "".join(
        f'<th scope="col"{"" if column.numbers else " class=name"}>'
        f'<button type="button" class="sort">{_text(column.label)}</button>{_why(column.term) if column.term else ""}'
        # Browsers repeat the head on every sheet of paper, but no buttons.
        f'<span class="paper">{_text(column.label)}</span></th>'
        for column in table.columns
    )
    rows = []
    for row in table.rows:
        cells = []
        for column, cell in zip(table.columns, row, strict=True):
            tags = "".join(f' <span class="tag">{_text(tag)}</span>' for tag in cell.tags)
            if column.numbers:
                cells.append(f'<td data-v="{cell.value!r}">{_text(cell.shown)}{tags}</td>')
            else:
                # Long names are cut on the screen; the whole one is shown to the pointer, and on paper.
                whole = f' title="{_text(cell.shown)}"' if len(cell.shown) > LONG else ""
                cells.append(f'<td class="name"><span{whole}>{_text(cell.shown)}</span>{tags}</td>')
        rows.append(f"<tr>{''.join(cells)}</tr>")
    return (
        f'<h3 id="of-{table.name}">{_text(table.title)}</h3>\n'
        f'<div class="scroll" tabindex="0" role="region" aria-labelledby="of-{table.name}"><table id="table-{table.name}">'
        f"<thead><tr>{heads}</tr></thead>\n<tbody>{chr(10).join(rows)}</tbody></table></div>"
    )


def _asked(label: str, term: str) -> str:
    """A label with the button that explains it, which stays beside the last word."""
    first, _, last = label.rpartition(" ")
    return f'{_text(first)} <span class="last">{_text(last)}{_why(term)}</span>'


def _why(term: str) -> str:
    name = escape(TERMS[term].name, quote=True)
    return f'<button type="button" class="why" popovertarget="why-{term}" aria-label="What is this: {name}?">?</button>'


def _popover(term: str) -> str:
    name, words = TERMS[term]
    return f'<div popover class="words" id="why-{term}"><strong>{_text(name)}</strong><p>{_text(words)}</p></div>'


def _glossary() -> str:
    terms = sorted(TERMS.values(), key=lambda term: term.name.casefold())
    listed = "".join(f"<div><dt>{_text(name)}</dt><dd>{_text(words)}</dd></div>" for name, words in terms)
    return f'<section id="words"><h2>Words</h2>\n<dl class="glossary">{listed}</dl></section>'


def _text(text: str) -> str:
    """Text of the page, whatever it says: markup escaped, control characters shown."""
    return escape(visible(text), quote=True)


def _hash(script: str) -> str:
    return f"'sha256-{b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"


def _resource(name: str) -> str:
    return resources.files("truecost.show").joinpath(name).read_text(encoding="utf-8")
