"""Records as a notebook and `print` show them, from the same document as terminal and page."""

from typing import Any

from truecost.errors import InputError, did_you_mean
from truecost.judge.assess import assess
from truecost.judge.assessment import Assessment
from truecost.judge.statements import Certificate
from truecost.matrix import CostMatrix
from truecost.matrix.imported import Import
from truecost.show import html, terminal
from truecost.show.document import Case, Context, document, in_short, what_was_run
from truecost.show.document.certificate import of_certificate
from truecost.show.document.verdict import judged


def sentence(record: Assessment | Certificate) -> str:
    """Return the answer in a sentence or two."""
    if isinstance(record, Certificate):
        return of_certificate(record).lead
    short = in_short(record, Context())
    return f"{short.verdict} {short.more}"


def fragment(record: Assessment | Certificate) -> str:
    """Return a piece of HTML."""
    if isinstance(record, Certificate):
        return html.fragment([of_certificate(record)])
    return html.fragment(in_short(record, Context()))


def runs_fragment(runs: Import | CostMatrix) -> str:
    """Return the size and origin of runs and the best configurations, as HTML."""
    return html.fragment([what_was_run(Case(assess(runs), Context()))])


def badge(assessment: Assessment) -> str:
    """Return the verdict in a few words."""
    return judged(Case(assessment, Context()))[1]


def summary(assessment: Assessment) -> str:
    """Return one screen of text."""
    console = terminal.console()
    with console.capture() as printed:
        terminal.show(in_short(assessment, Context()), into=console)
    return "\n".join(line.rstrip() for line in printed.get().rstrip().splitlines())


def chart(assessment: Assessment, name: str) -> Any:
    """Return a figure of the report."""
    from truecost.show import figures

    matrix, incumbent, default = assessment.matrix, assessment.incumbent, assessment.default
    # Asked for by name, these are drawn also where the page has too few instances for them.
    if default is not None and default != incumbent:
        labels = {"default": default, "winner": incumbent}
        unit = Case(assessment, Context()).axis_unit
        if name == "scatter":
            data = figures.scatter_data(matrix, incumbent, default)
            return figures.scatter_chart(data, unit=unit)
        if name == "ecdf":
            return figures.ecdf_chart(figures.ecdf_data(matrix, labels), unit=unit)
    drawn = document(assessment, Context()).figures
    if name not in drawn:
        known = ["scatter", "ecdf", *drawn]
        raise InputError(
            f"Expected a figure out of {', '.join(known)}, got {name!r}{did_you_mean(name, known)}"
        )
    return drawn[name].chart
