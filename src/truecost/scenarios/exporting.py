"""Scenarios written into a folder."""

import hashlib
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from string import Template

import numpy as np

from truecost.errors import InputError, did_you_mean
from truecost.matrix.files import whole_file
from truecost.scenarios import tsp
from truecost.scenarios.catalogue import SCENARIOS, Builtin, Size

HERE = Path(__file__).parent
VARIABLE = "TRUECOST_SATENSTEIN"
Progress = Callable[[str, int, int], None]


def described(name: str) -> Builtin:
    """The scenario of this name."""
    if name not in SCENARIOS:
        raise InputError(
            f"There is no built-in scenario {name!r:.80}.{did_you_mean(name, SCENARIOS)} "
            f"Choose one of {', '.join(SCENARIOS)}."
        )
    return SCENARIOS[name]


def write(
    name: str,
    folder: Path,
    *,
    size: str,
    instances: int | None,
    seed: int,
    target: str | os.PathLike[str] | None,
    workers: int,
    progress: Progress | None,
) -> Path:
    """Write the folder; `instances.csv` comes last, so that an interrupted export continues."""
    builtin = described(name)
    if size not in builtin.sizes:
        sizes = ", ".join(builtin.sizes)
        raise InputError(f"{name} has no size {size!r:.80}. Choose one of {sizes}.")
    recipe = builtin.sizes[size]
    count = recipe.instances if instances is None else instances
    for number, least, what in (
        (count, 1, "instances"),
        (seed, 0, "seed"),
        (workers, 1, "workers"),
    ):
        if number < least:
            raise InputError(f"{what} is {number}. Give a number from {least}.")
    text = _scenario_text(builtin, recipe, size, count, seed, _binary(builtin, target))
    _prepare(folder, builtin, text)
    names = _write_instances(folder, builtin, recipe, count, seed, progress)
    lines = ["instance", *names]
    if builtin.suffix == ".tsp":
        paths, store = [folder / instance for instance in names], folder / "references.csv"
        references = tsp.references(paths, store, workers=workers, progress=progress)
        lines = ["instance,specifics,agreeing"]
        lines += [
            f"{instance},{reference.length},{reference.agreeing}"
            for instance, reference in zip(names, references, strict=True)
        ]
    _write(folder / "instances.csv", "\n".join([*lines, ""]))
    return folder / "scenario.toml"


def _write_instances(
    folder: Path,
    builtin: Builtin,
    recipe: Size,
    count: int,
    seed: int,
    progress: Progress | None,
) -> list[str]:
    """Write the instances that are missing; return the names of all, relative to the folder."""
    (folder / "instances").mkdir(exist_ok=True)
    names = [
        f"instances/{recipe.kind}-{seed}-{number:04d}{builtin.suffix}"
        for number in range(1, count + 1)
    ]
    kind = hashlib.sha256(recipe.kind.encode()).digest()[:8]
    for number, instance in enumerate(names, 1):
        path = folder / instance
        if not path.exists():
            # A stream for each instance: a longer list begins with the shorter ones.
            rng = np.random.default_rng([seed, number, *kind])
            _write(path, recipe.make(rng, path.stem))
        if progress is not None:
            progress("instances", number, count)
    return names


def _binary(builtin: Builtin, target: str | os.PathLike[str] | None) -> str | None:
    """The program to run instead of the package's; None for that."""
    name = None if target is None else os.fspath(target)
    if builtin.help:
        name = name or os.environ.get(VARIABLE)
        if name is None:
            raise InputError(f"{builtin.name}: {builtin.help} kissat-qcp needs no binary.")
    if name is None:
        return None
    if builtin.suffix == ".tsp":
        raise InputError(f"{builtin.name} runs LKH from the package LKHpy. Leave out target.")
    # The command line turns ./solver into solver, which is on no PATH.
    program = shutil.which(name) or shutil.which(Path(name).absolute())
    if program is None:
        raise InputError(f"{name!r:.120} is no executable program. Give the path of the solver.")
    # The scenario runs in its own folder, where a relative path would be another one.
    return str(Path(program).resolve())


def _scenario_text(
    builtin: Builtin, recipe: Size, size: str, count: int, seed: int, binary: str | None
) -> str:
    # A path is of this machine; launch.py finds the solver wherever the folder is used.
    program = "{program}" if binary is None else binary.replace("{", "{{").replace("}", "}}")
    return Template((HERE / builtin.files[0]).read_text()).substitute(
        name=builtin.name,
        title=builtin.title,
        size=size,
        count=count,
        instance_seed=seed,
        find='program = "launch.py:find"\n' if binary is None else "",
        program=json.dumps(program),
        cutoff=recipe.cutoff,
        cpu=recipe.cutoff + builtin.start,
    )


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
    folder.mkdir(parents=True, exist_ok=True)
    for file in builtin.files[1:]:
        _write(folder / Path(file).name, (HERE / file).read_text())
    _write(scenario, text)


def _write(path: Path, text: str) -> None:
    with whole_file(path) as file:
        file.write(text.encode())
