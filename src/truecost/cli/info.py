"""`truecost info`."""

from typing import TYPE_CHECKING, Any

from truecost.cli.asking import assessed, context
from truecost.cli.command import declared
from truecost.cli.options import Json, Question, asked
from truecost.cli.printing import answer
from truecost.cli.reading import Source
from truecost.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

    from truecost.show.blocks import Section


# Lines of output of a failed run that are printed; all of them are in the JSON.
SHOWN_LINES = 10


@declared
def info(
    source: Source,
    question: Question,
    top: int = asked("How many configurations to show, the best first.", min=1, default=10),
    failed: bool = asked(
        "Show why runs of a journal failed, what they printed, and how to repeat one.",
        default=False,
    ),
    json: Json = False,
) -> None:
    """Summarise runs: how good each configuration is, how noisy that number is, and where the noise
    comes from.

    For a journal, also while it is being written, it shows progress and warnings as well.
    """
    from truecost.cli.gather import print_summary

    if failed:
        _print_failures(source.place, json)
        return
    journal = _journal(source.place)
    # A journal without a run that counts has nothing to assess yet.
    empty = journal is not None and not journal["counted"]
    assessment = None if empty else assessed(source, question)

    def data() -> dict[str, Any]:
        about = {} if journal is None else {"journal": journal}
        return about | ({} if assessment is None else assessment.to_dict("configurations"))

    def section() -> "Section | None":
        from truecost.show.document import Case, what_was_run

        if journal is not None:
            print_summary(journal)
        if assessment is None:
            return None
        return what_was_run(Case(assessment, context(source, question, log=assessment.log)), top)

    answer(json, data, section)


def _print_failures(path: "Path | None", json: bool) -> None:
    """Failed runs by cause."""
    from truecost.cli.printing import print_line
    from truecost.journal.journal import Journal
    from truecost.show.numbers import counted

    if path is None or _journal(path) is None:
        raise InputError("Expected a journal with --failed: other files keep no output of runs.")
    with Journal.read(path) as journal:
        failures = journal.failures()

    def lines() -> None:
        if not failures:
            print_line("No output of failed runs is kept in this journal.")
        for failure in failures:
            print_line(
                f"{counted(failure.runs, 'run')} {failure.status}: {failure.detail}", "strong"
            )
            print_line(
                f"One of them: configuration {failure.configuration} on {failure.instance}, run "
                f"{failure.number}. To repeat it:"
            )
            print_line(f"  {failure.command}", wrap=False)
            for name, text in (("stdout", failure.stdout), ("stderr", failure.stderr)):
                for line in text.strip().splitlines()[-SHOWN_LINES:]:
                    print_line(f"  {name}: {line}", wrap=False)

    answer(json, {"failures": failures}, lines)


def _journal(path: "Path | None") -> dict[str, Any] | None:
    """What a journal says of itself; None where the runs are in something else."""
    from truecost.journal.file import is_journal

    if path is None or path.is_dir() or not is_journal(path):
        return None
    from truecost.cli.gather import summary
    from truecost.journal.journal import Journal

    with Journal.read(path) as journal:
        data = summary(journal)
    return {**data, "counted": data["runs"] > data["ahead"]}
