"""What commands print: text for people, JSON for programs."""

import json as jsons
import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from truecost.judge.assessment import Assessment
    from truecost.show.words import Names

NARROWEST, WIDEST = 40, 100


def print_text(text: str) -> None:
    """Print lines as they are."""
    write(f"{text.rstrip()}\n")


def print_result(data: Mapping[str, Any], text: str, *, json: bool) -> None:
    """Print a result, with --json its data; numbers that are not finite are null."""
    from truecost.judge.assessment import SCHEMA, plain

    if json:
        content = plain({"schema": SCHEMA, **data})
        text = jsons.dumps(content, indent=2, ensure_ascii=False, default=str)
    print_text(text)


def verdict_text(
    assessment: "Assessment",
    names: "Names" = ("winner", "default"),
    *,
    everything: bool = False,
    steps: tuple[str, ...] | None = None,
) -> str:
    """The verdict, the same instances, statements and next steps; in colour where somebody watches
    (https://no-color.org).
    """
    from truecost.show.terminal import screen

    colour = sys.stdout.isatty() and "NO_COLOR" not in os.environ
    return screen(assessment, names, all=everything, steps=steps, width=width(), colour=colour)


def width() -> int:
    """Columns to write in; 80 where nobody watches."""
    if not sys.stdout.isatty():
        return 80
    return max(NARROWEST, min(shutil.get_terminal_size().columns, WIDEST))


def write(text: str) -> None:
    """Write to standard output. If its reader, `head` perhaps, has seen enough, the rest is dropped
    and the command still has its exit code.
    """
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except OSError as error:
        # What is left in the buffer would fail again at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):
            raise OSError(error.errno, error.strerror, "standard output") from error


def stem(runs: str) -> str:
    """The name of a source without folder and endings; names of what is written begin with it."""
    return Path(runs).resolve().name.partition(".")[0]
