"""A document as Markdown, for a comment on a pull request."""

import re
from collections.abc import Iterator

from truecost.show.blocks import Block, Commands, Document, Facts, Fold, Points, Table, Text
from truecost.show.glossary import TERMS

# What Markdown would take for markup in a name.
MARKUP = re.compile(r"([\\`*_{}\[\]<>#|~])")
SIGNS = {"good": "✅ ", "bad": "❌ ", "open": "", "": ""}


def render(document: Document) -> str:
    """The whole document; figures are left out."""
    parts = [
        f"### {SIGNS.get(document.tone, '')}{escaped(document.title)}",
        f"**{escaped(document.badge)}.** {escaped(document.verdict)}",
        escaped(document.more),
        escaped(document.subtitle),
    ]
    for section in document.sections:
        parts += [f"#### {escaped(section.title)}", escaped(section.lead)]
        parts += [text for block in section.blocks for text in _block(block)]
    return "\n\n".join(part for part in parts if part) + "\n"


def escaped(text: str) -> str:
    """Text that no renderer takes for markup."""
    return MARKUP.sub(r"\\\1", " ".join(text.split()))


def _block(block: Block) -> Iterator[str]:
    if block.where == "page":
        return
    if isinstance(block, Text):
        yield escaped(block.text)
    elif isinstance(block, Points):
        yield "\n".join(f"- {escaped(point)}" for point in block.points)
    elif isinstance(block, Facts):
        yield "\n".join(
            f"- {escaped(fact.label or TERMS[fact.term].name)}: {escaped(fact.shown)}"
            for fact in block.facts
        )
    elif isinstance(block, Table):
        yield _table(block)
    elif isinstance(block, Commands):
        yield "```\n" + "\n".join(command for command, _ in block.commands) + "\n```"
    elif isinstance(block, Fold):
        inner = "\n\n".join(text for part in block.blocks for text in _block(part))
        summary = f"<summary>{escaped(block.title)}</summary>"
        yield f"<details>{summary}\n\n{inner}\n\n</details>"


def _table(table: Table) -> str:
    head = [escaped(column.label) or " " for column in table.columns]
    rule = ["--:" if column.numbers else "---" for column in table.columns]
    rows = [
        [f"{SIGNS.get(cell.tone, '')}{escaped(cell.shown)}" for cell in row] for row in table.rows
    ]
    lines = "\n".join(f"| {' | '.join(row)} |" for row in (head, rule, *rows))
    return f"**{escaped(table.title)}**\n\n{lines}" if table.title else lines
