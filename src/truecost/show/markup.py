"""A document as Markdown, for a comment on a pull request; a table of it in LaTeX, for a paper."""

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
        f"### {SIGNS.get(document.tone, '')}{plain_text(document.title)}",
        f"**{plain_text(document.badge)}.** {plain_text(document.verdict)}",
        plain_text(document.more),
        plain_text(document.subtitle),
    ]
    for section in document.sections:
        parts += [f"#### {plain_text(section.title)}", plain_text(section.lead)]
        parts += [text for block in section.blocks for text in _block(block)]
    return "\n\n".join(part for part in parts if part) + "\n"


def plain_text(text: str) -> str:
    """Text that no renderer takes for markup."""
    return MARKUP.sub(r"\\\1", " ".join(text.split()))


def _block(block: Block) -> Iterator[str]:
    match block:
        case Text(page_only=False):
            yield plain_text(block.text)
        case Points():
            yield "\n".join(f"- {plain_text(point)}" for point in block.points)
        case Facts(page_only=False):
            yield "\n".join(
                f"- {plain_text(fact.label or TERMS[fact.term].name)}: {plain_text(fact.text)}"
                for fact in block.facts
            )
        case Table():
            yield _table(block)
        case Commands():
            yield "```\n" + "\n".join(command for command, _ in block.commands) + "\n```"
        case Fold():
            inner = "\n\n".join(text for part in block.blocks for text in _block(part))
            summary = f"<summary>{plain_text(block.title)}</summary>"
            yield f"<details>{summary}\n\n{inner}\n\n</details>"


def _table(table: Table) -> str:
    head = [plain_text(column.label) or " " for column in table.columns]
    rule = ["--:" if column.numbers else "---" for column in table.columns]
    rows = [
        [f"{SIGNS.get(cell.tone, '')}{plain_text(cell.text)}" for cell in row] for row in table.rows
    ]
    lines = "\n".join(f"| {' | '.join(row)} |" for row in (head, rule, *rows))
    return f"**{plain_text(table.title)}**\n\n{lines}" if table.title else lines


LETTERS = {sign: f"\\{sign}" for sign in "&%$#_{}"} | {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "−": "$-$",
    "÷": r"$\div$",
    "×": r"$\times$",
    "½": r"$\frac{1}{2}$",
    "±": r"$\pm$",
    "δ": r"$\delta$",
    "…": r"\ldots{}",
    "–": "--",
}


def latex_table(table: Table, *, caption: str, label: str) -> str:
    """Return the table as a float, for a document that loads booktabs."""
    align = "".join("r" if column.numbers else "l" for column in table.columns)
    head = _latex_row([column.label for column in table.columns])
    rows = [_latex_row([cell.text for cell in row]) for row in table.rows]
    lines = [
        r"% \usepackage{booktabs}",
        r"\begin{table}",
        rf"\caption{{{_escaped(caption)}}}",
        rf"\label{{{label}}}",
        rf"\begin{{tabular}}{{{align}}}",
        r"\toprule",
        head,
        r"\midrule",
        *rows,
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def _latex_row(cells: list[str]) -> str:
    return " & ".join(map(_escaped, cells)) + r" \\"


def _escaped(text: str) -> str:
    """Return text that LaTeX prints as it is."""
    return "".join(LETTERS.get(sign, sign) for sign in text)
