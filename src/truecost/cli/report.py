"""`truecost report`."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

from truecost.cli.asking import assessed, context
from truecost.cli.command import declared, flagged_parts
from truecost.cli.options import Json, Question, Quiet, Unit, asked, out_option
from truecost.cli.printing import answer, print_line
from truecost.cli.progress import steps
from truecost.cli.reading import Source, check_out
from truecost.cli.several import Others, searches_of


@declared
def report(
    source: Source,
    question: Question,
    others: Others = None,
    out: Annotated[Path | None, out_option("NAME-report.html here if not given")] = None,
    title: str | None = asked("The title of the page."),
    latex: Path | None = asked("Write the table of statements to this file, for LaTeX (booktabs)."),
    unit: Unit = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Write an HTML report on recorded runs: the verdict, how certain it is, whether the winner is
    over-tuned, and what to do next.

    The page needs no network and can be printed. For instance: truecost report kissat, truecost
    report runs.db, truecost report irace.Rdata, truecost report smac3_output/run/0 --cutoff 5.
    Several logs of one search are shown side by side, and their runs pooled: truecost report
    smac3_output/run/0 smac3_output/run/1.
    """
    from truecost.show.document.runs import left_out
    from truecost.show.report import write_page, write_table

    path = Path(f"{source.stem}-report.html") if out is None else out
    check_out(path, source.runs, question.test)
    if latex is not None:
        check_out(latex, source.runs, question.test)
    with steps("the runs", quiet=quiet) as tell:
        searches = searches_of(source, others)
        together = source if searches is None else replace(source, default=None)
        assessment = assessed(together, question, None if searches is None else searches.log)
        about = context(source, question, unit=unit, title=title, log=assessment.log)
        page = write_page(assessment, path, about, tell, flagged_parts)
        if latex is not None:
            write_table(page, latex)

    def lines() -> None:
        print_line(page.verdict, page.tone)
        print_line(page.more)
        for note in left_out(assessment):
            print_line(note, "aside")
        size = path.stat().st_size / 1e6
        print_line(f"{path} has the whole report: {size:.1f} MB, opens in any browser.")
        if latex is not None:
            print_line(f"{latex} has the table of statements for LaTeX.")

    more = {} if searches is None else {"searches": searches.searches}
    answer(json, lambda: {**page.data, **more}, lines)
