"""Built-in scenarios: the paper's four and kissat, with spaces, launchers and instances drawn from
a seed.

A folder for each solver holds what an exported scenario consists of. None of it imports truecost,
so it runs where only the solver is installed.
"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from truecost.scenarios.catalogue import Builtin

# Told what is being made, how many are done and of how many.
Progress = Callable[[str, int, int], None]


def names() -> tuple[str, ...]:
    """The names of the built-in scenarios."""
    from truecost.scenarios.catalogue import SCENARIOS

    return tuple(SCENARIOS)


def describe(name: str) -> "Builtin":
    """What is known of a scenario: title, solver, licence, and sizes with instances and cutoff."""
    from truecost.scenarios.exporting import described

    return described(name)


def export(
    name: str,
    folder: str | os.PathLike[str],
    *,
    size: str = "small",
    instances: int | None = None,
    seed: int = 1,
    target: str | os.PathLike[str] | None = None,
    workers: int = 1,
    progress: Progress | None = None,
) -> Path:
    """Write a scenario with its instances into a folder and return its `scenario.toml`.

    The same arguments give the same files. An interrupted export continues where it was.

    Parameters
    ----------
    name
        One of `names()`.
    folder
        A new or empty folder, or one that holds the same export.
    size
        "small" runs for minutes on one machine, "paper" is the paper's; clasp and kissat have a
        "large" one between.
    instances
        Another number of instances; a longer list begins with the shorter one.
    seed
        Another seed gives other instances from the same distribution.
    target
        A solver of your own. SATenstein needs one, here or in TRUECOST_SATENSTEIN.
    workers
        How many reference lengths of LKH are computed at a time.
    progress
        Called with what is being made, how many are done and of how many.
    """
    from truecost.scenarios.exporting import write

    return write(
        name,
        Path(folder),
        size=size,
        instances=instances,
        seed=seed,
        target=target,
        workers=workers,
        progress=progress,
    )
