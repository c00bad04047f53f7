"""`truecost compare`."""

import sys
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from truecost.cli.command import declared
from truecost.cli.options import ContentSeed, Delta, Json, Margin, PrimaryCriterion, Unit, asked
from truecost.cli.printing import answer
from truecost.cli.reading import Source


class Require(StrEnum):
    """What must be shown for exit code 0."""

    BETTER = "better"
    NO_WORSE = "no-worse"


class Format(StrEnum):
    """How the answer is written."""

    TEXT = "text"
    MARKDOWN = "markdown"


@declared
def compare(
    source: Source,
    new: Annotated[
        str,
        typer.Argument(
            help="Runs of the new version, in the same formats; FILE:NAME selects one "
            "configuration, or one column of a wide table."
        ),
    ],
    require: Require | None = asked(
        "What must be shown for exit code 0; if not given, 1 means that NEW is shown to be worse."
    ),
    margin: Margin = None,
    delta: Delta = 0.05,
    primary: PrimaryCriterion = None,
    seed: ContentSeed = None,
    unit: Unit = None,
    format_: Format = asked(
        "Output format; markdown for pull requests.", "--format", default=Format.TEXT
    ),
    json: Json = False,
) -> None:
    """Is the new version of a solver worse than the old one? Compares them on the instances they
    have in common.

    RUNS is the old version, NEW the new one.

    Exit code 1 if it is shown to be worse, else 0. With --require better, 0 only if it is shown to
    be better; with --require no-worse --margin 5%, 0 only if it is shown to be at most 5 % worse.

    For instance: truecost compare main.csv branch.csv --cutoff 60, truecost compare runs.db:default
    runs.db:24, truecost compare table.csv:v1 table.csv:v2 --cutoff 5000 --format markdown.
    """
    from truecost import verbs
    from truecost.show import markup
    from truecost.show.document import Context, compared

    # Without a margin, no worse means not a bit worse.
    if margin is None and require is Require.NO_WORSE:
        margin = "0%"
    paths, names = zip(*map(_split, (str(source.runs), new)), strict=True)
    logs = [replace(source, runs=path).read() for path in paths]
    assessment = verbs.compare(
        *logs,
        names=names,
        labels=(str(source.runs), new),
        delta=delta,
        primary=primary,
        margin=margin,
        rng=seed,
    )
    met = {
        None: assessment.grade != "worse",
        Require.BETTER: assessment.better,
        Require.NO_WORSE: getattr(assessment.beside.non_inferiority, "shown", False),
    }[require]
    document = compared(assessment, Context(unit=unit or "cost"))
    if json or format_ is Format.TEXT:
        data: dict[str, Any] = {"require": require, "met": met}
        data |= {name: getattr(assessment, name) for name in ("grade", "primary")}
        parts = assessment.to_dict("comparison", "statements", "approximate", "non_inferiority")
        answer(json, data | parts, lambda: document)
    else:
        sys.stdout.write(markup.render(document))
    if not met:
        raise typer.Exit(1)


def _split(text: str) -> tuple[Path, str | None]:
    """FILE:NAME as its parts, either of which may have colons."""
    from truecost.examples import example_or

    ends = [len(text), *(end for end in range(len(text) - 1, 0, -1) if text[end] == ":")]
    # The longest file that exists; where none does, all before the last colon.
    end = next((end for end in ends if example_or(Path(text[:end])).exists()), ends[:2][-1])
    return Path(text[:end]), text[end + 1 :] or None
