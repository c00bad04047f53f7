"""From a command's words to an assessment, and back to commands that can be pasted."""

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from truecost.cli.reading import Source

if TYPE_CHECKING:
    from truecost.judge.assessment import Assessment
    from truecost.show.blocks import Document, Section
    from truecost.show.document import Context

# What is offered to be pasted.
COMMANDS = ("audit", "certify", "info", "plan", "report", "validate")
# Words of `audit`, `certify` and `report` by the name of what they ask for.
FLAGS = {"list_size": "list"}


def assessed(source: Source, *, test: Path | None = None, **asked: Any) -> "Assessment":
    """What the runs hold, assessed."""
    from truecost.judge.assess import assess

    found = source.read()
    given = None if test is None else source.test_runs(found, test)
    return assess(found, default=source.default, test=given, **_plain(asked))


def setting(
    source: Source,
    *,
    unit: str | None = None,
    title: str | None = None,
    kind: str | None = None,
    **asked: Any,
) -> "Context":
    """What a document about these runs needs: what they are called, and who writes commands about
    them.

    `kind` is that of their log: irace's says what it ran, others need a scenario to be validated
    with.
    """
    from truecost.show.document import Context

    path = source.path or Path("runs")
    kept = _plain(asked)

    def write(command: str, more: Mapping[str, object]) -> str | None:
        if command not in COMMANDS:
            return None
        words = {**kept, **more} if command in ("audit", "certify", "report") else dict(more)
        if command == "validate" and kind != "irace":
            words = {"scenario": "scenario.toml", **words}
        options = [
            f"--{FLAGS.get(name, name).replace('_', '-')}={value}"
            for name, value in words.items()
            if value
        ]
        return shlex.join(["truecost", command, str(path), *source.words(), *options])

    place = path.resolve()
    # SMAC3 calls the folder of a search by its seed, which names nothing.
    named = (
        f"{place.parent.name}/{place.name}" if place.name.isdecimal() else path.name or place.name
    )
    usual = "PAR10 s" if source.is_example and source.utility is None else "cost"
    return Context(name=named, title=title, unit=unit or usual, writer=write)


def _plain(asked: Mapping[str, Any]) -> dict[str, Any]:
    """Without what was not asked; words of an enumeration as text."""
    return {
        name: getattr(value, "value", value) for name, value in asked.items() if value is not None
    }


def show(told: "Document | Section", *, details: bool = False) -> None:
    """Print a document, or a section of it."""
    from truecost.cli.flags import typed
    from truecost.show import terminal
    from truecost.show.blocks import Document

    told = typed(told)
    terminal.show(told if isinstance(told, Document) else [told], details=details)
