"""Scenarios written into a folder."""

import hashlib
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from string import Template

import numpy as np

from truecost.errors import InputError
from truecost.matrix.files import whole_file
from truecost.scenarios import tsp
from truecost.scenarios.catalogue import Builtin, describe

HERE = Path(__file__).parent
# Called with what is being made, how many are done, and of how many.
Progress = Callable[[str, int, int], None]


def export(
    name: str,
    folder: str | os.PathLike[str],
    *,
    size: str = "small",
    instances: int | None = None,
    seed: int = 1,
    target: str | os.PathLike[str] | None = None,
    workers: int = 1,
    progress: Progress = lambda *_: None,
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
        A solver of your own; SATenstein needs one.
    workers
        How many reference lengths of LKH are computed at a time.
    progress
        Called with what is being made, how many are done and of how many.
    """
    builtin, folder = describe(name), Path(folder)
    if size not in builtin.sizes:
        raise InputError(
            f"{name} has no size {size!r:.80}. Choose one of {', '.join(builtin.sizes)}."
        )
    recipe = builtin.sizes[size]
    count = recipe.instances if instances is None else instances
    for what, number, least in (
        ("instances", count, 1), ("seed", seed, 0), ("workers", workers, 1)
    ):  # fmt: skip
        if number < least:
            raise InputError(f"{what} is {number}. Give a number from {least}.")
    binary = _binary(builtin, target)
    # A path is of this machine; launch.py finds the solver wherever the folder is used.
    program = "{program}" if binary is None else binary.replace("{", "{{").replace("}", "}}")
    text = Template((HERE / builtin.folder / "scenario.toml").read_text()).substitute(
        name=name,
        title=builtin.title,
        size=size,
        count=count,
        instance_seed=seed,
        find='program = "launch.py:find"\n' if binary is None else "",
        program=json.dumps(program),
        cutoff=recipe.cutoff,
        cpu=recipe.cutoff + builtin.start,
    )
    _prepare(folder, builtin, text)
    paths = []
    kind = hashlib.sha256(recipe.kind.encode()).digest()[:8]
    for number in range(1, count + 1):
        path = folder / "instances" / f"{recipe.kind}-{seed}-{number:04d}{builtin.suffix}"
        if not path.exists():
            # A stream for each instance: a longer list begins with the shorter ones.
            rng = np.random.default_rng([seed, number, *kind])
            _write(path, recipe.make(rng, path.stem))
        paths.append(path)
        progress("instances", number, count)
    lines = ["instance", *(f"instances/{path.name}" for path in paths)]
    if builtin.folder == "lkh":
        found = tsp.references(paths, folder / "references.csv", workers, progress)
        rows = ["specifics,agreeing", *found]
        lines = [f"{line},{row}" for line, row in zip(lines, rows, strict=True)]
    # Last, so that an interrupted export is none.
    _write(folder / "instances.csv", "\n".join([*lines, ""]))
    return folder / "scenario.toml"


def _binary(builtin: Builtin, target: str | os.PathLike[str] | None) -> str | None:
    """The program to run instead of the package's; None for that."""
    if target is None:
        if builtin.help:
            raise InputError(f"{builtin.name}: {builtin.help} kissat-qcp needs no binary.")
        return None
    name = os.fspath(target)
    if builtin.folder == "lkh":
        raise InputError(f"{builtin.name} runs LKH from the package LKHpy. Leave out target.")
    # The command line turns ./solver into solver, which is on no PATH.
    program = shutil.which(name) or shutil.which(Path(name).absolute())
    if program is None:
        raise InputError(f"{name!r:.120} is no executable program. Give the path of the solver.")
    # The scenario runs in its own folder, where a relative path would be another one.
    return str(Path(program).resolve())


def _prepare(folder: Path, builtin: Builtin, text: str) -> None:
    """Write everything but instances into an empty folder, or one that holds the same export."""
    scenario = folder / "scenario.toml"
    # Another export would mix instances.
    if scenario.exists():
        if scenario.read_text() != text:
            raise InputError(
                f"{scenario} is another scenario, size, number of instances or seed. "
                "Choose another folder."
            )
    elif folder.exists() and any(folder.iterdir()):
        raise InputError(f"{folder} is not empty. Choose a new folder.")
    (folder / "instances").mkdir(parents=True, exist_ok=True)
    for file in ("README.md", "space.pcs", *builtin.programs):
        source = HERE / builtin.folder / file
        _write(folder / source.name, source.read_text())
    _write(scenario, text)


def _write(path: Path, text: str) -> None:
    with whole_file(path) as file:
        file.write(text.encode())
