"""`truecost info`."""

from typing import TYPE_CHECKING, Annotated, Any

from truecost.cli.asking import assessed, context
from truecost.cli.command import declared
from truecost.cli.options import Json, Question, option
from truecost.cli.printing import answer
from truecost.cli.reading import Source

if TYPE_CHECKING:
    from pathlib import Path

    from truecost.show.blocks import Section


@declared
def info(
    source: Source,
    question: Question,
    top: Annotated[int, option("How many configurations to show, the best first.", min=1)] = 10,
    json: Json = False,
) -> None:
    """Summarise runs: how good each configuration is, how noisy that number is, and where the noise
    comes from.

    Of a journal, also one that is being written, it says as well how far it is and what looks wrong
    in it.
    """
    from truecost.cli.gather import print_summary

    journal = _journal(source.place)
    # A journal without a run that counts has nothing to assess yet.
    empty = journal is not None and not journal["counted"]
    assessment = None if empty else assessed(source, question)

    def data() -> dict[str, Any]:
        about = {} if journal is None else {"journal": journal}
        return about | ({} if assessment is None else assessment.to_dict("configurations"))

    def section() -> "Section | None":
        from truecost.show.document import what_was_run

        if journal is not None:
            print_summary(journal)
        if assessment is None:
            return None
        return what_was_run(assessment, context(source, question), top)

    answer(json, data, section)


def _journal(path: "Path | None") -> dict[str, Any] | None:
    """What a journal says of itself; None where the runs are in something else."""
    from truecost.journal.file import is_journal

    if path is None or path.is_dir() or not is_journal(path):
        return None
    from truecost.cli.gather import summary
    from truecost.journal.journal import Journal

    with Journal.read(path) as journal:
        data = summary(journal, journal.table())
    return {**data, "counted": data["runs"] > data["ahead"]}
