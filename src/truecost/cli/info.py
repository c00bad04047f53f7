"""`truecost info`."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from truecost.cli.asking import assessed, setting, show
from truecost.cli.options import Configuration, Json
from truecost.cli.printing import print_json
from truecost.cli.reading import Source, reads_runs

if TYPE_CHECKING:
    from pathlib import Path


@reads_runs
def info(
    source: Source,
    configuration: Configuration = None,
    top: Annotated[
        int, typer.Option(min=1, help="How many configurations to show, the best first.")
    ] = 10,
    json: Json = False,
) -> None:
    """What runs hold: how good each configuration is, how noisy that number is, and where the noise
    comes from.

    Of a journal, also one that is being written, it says as well how far it is and what looks wrong
    in it.
    """
    journal = _journal(source.place)
    if journal is not None and not journal["counted"]:
        if json:
            print_json({"journal": journal})
        else:
            _print_journal(journal)
        return
    found = assessed(source, configuration=configuration)
    if json:
        told = found.to_dict("configurations")
        print_json(told if journal is None else {"journal": journal, **told})
        return
    if journal is not None:
        _print_journal(journal)
    from truecost.show.document import what_was_run

    show(what_was_run(found, setting(source), top))


def _journal(path: "Path | None") -> dict[str, Any] | None:
    """What a journal says of itself; None where the runs are in something else."""
    from truecost.journal.file import is_journal

    if path is None or path.is_dir() or not is_journal(path):
        return None
    from truecost.cli.gather import summary
    from truecost.journal.journal import Journal

    with Journal.read(path) as journal:
        told = summary(journal, journal.table())
    return {**told, "counted": told["runs"] > told["ahead"]}


def _print_journal(told: dict[str, Any]) -> None:
    from truecost.cli.gather import print_summary

    print_summary(told)
