"""A table of a document in LaTeX, with booktabs rules."""

from truecost.show.blocks import Table

SIGNS = {sign: f"\\{sign}" for sign in "&%$#_{}"} | {
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
    head = _row([column.label for column in table.columns])
    rows = [_row([cell.shown for cell in row]) for row in table.rows]
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


def _row(cells: list[str]) -> str:
    return " & ".join(map(_escaped, cells)) + r" \\"


def _escaped(text: str) -> str:
    """Return text that LaTeX prints as it is."""
    return "".join(SIGNS.get(sign, sign) for sign in text)
