"""Scenarios written into a folder, ready to be run there or on a worker that knows nothing of
truecost.
"""

import hashlib
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING

import numpy as np

from truecost.errors import InputError, did_you_mean
from truecost.library import tsp
from truecost.library.catalogue import SCENARIOS, Builtin, Size
from truecost.matrix.files import whole_file

if TYPE_CHECKING:
    from truecost.space.space import Space

HERE = Path(__file__).parent
VARIABLE = "TRUECOST_SATENSTEIN"


def list_names() -> tuple[str, ...]:
    """The names of the scenarios there are."""
    return tuple(SCENARIOS)


def describe(name: str) -> Builtin:
    """What is known of a scenario."""
    if name not in SCENARIOS:
        raise InputError(
            f"Expected a scenario out of {', '.join(SCENARIOS)}, got {name!r:.80}"
            f"{did_you_mean(name, SCENARIOS)}"
        )
    return SCENARIOS[name]


def space(name: str) -> "Space":
    """The parameter space of a scenario."""
    from truecost.space.space import Space

    folder = Path(describe(name).files[0]).parent
    return Space.read(HERE / folder / "space.pcs")


def export(
    name: str,
    folder: str | os.PathLike[str],
    *,
    size: str = "small",
    instances: int | None = None,
    seed: int = 1,
    target: str | os.PathLike[str] | None = None,
    workers: int = 1,
    generator: bool = False,
    progress: Callable[[str, int, int], None] | None = None,
) -> Path:
    """Write a scenario with its instances into a folder and return the path of its `scenario.toml`.

    The same arguments give the same bytes. `instances.csv` is written last: an export that was
    interrupted can be started again and goes on, with the reference lengths it has found.

    Parameters
    ----------
    size
        "small", for minutes on one machine, or "paper", as the paper had it; clasp and kissat have
        a "large" one between, for hours.
    instances
        Another number of instances; a longer list begins with the shorter ones.
    seed
        Another seed gives fresh instances from the same distribution.
    target
        A solver to run instead of the package's; SATenstein's must be named, here or in
        TRUECOST_SATENSTEIN.
    workers
        How many reference lengths are computed at a time.
    generator
        Whether to have instances made when they are needed, as many as are asked for, instead of
        writing them.
    progress
        Called with what is done, how many and of how many.
    """
    builtin = describe(name)
    if size not in builtin.sizes:
        raise InputError(
            f"{name}: expected a size out of {', '.join(builtin.sizes)}, got {size!r:.80}."
        )
    recipe = builtin.sizes[size]
    count = recipe.instances if instances is None else instances
    if count < 1 or seed < 0 or workers < 1:
        raise InputError(
            "expected at least 1 instance and 1 worker, and a seed from 0, "
            f"got {count}, {workers} and the seed {seed}."
        )
    folder = Path(folder)
    text = _scenario_text(builtin, recipe, size, count, seed, _binary(builtin, target))
    if generator:
        # Hours of LKH for each instance cannot be spent when a run begins.
        if builtin.suffix == ".tsp":
            raise InputError(
                f"{name}: expected no `generator`: every instance needs a reference length, "
                "found by hours."
            )
        _prepare(folder, builtin, _generated(text, builtin, size, count, seed, instances))
        return folder / "scenario.toml"
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
    progress: Callable[[str, int, int], None] | None,
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


def _generated(
    text: str, builtin: Builtin, size: str, count: int, seed: int, instances: int | None
) -> str:
    """The scenario whose instances are made when they are needed."""
    words = ["{python}", "-m", "truecost.library.generate", builtin.name, size, "{seed}", "{file}"]
    table = f"generator = {json.dumps(words)}\nsuffix = {json.dumps(builtin.suffix)}"
    table += "" if instances is None else f"\ncount = {instances}"
    head = f", {count} instances from seed {seed}"
    text = text.replace(head, ", instances made when they are needed")
    # Another seed gives other instances, as ever.
    text = text.replace("seed = 1\n", f"seed = {seed}\n", 1)
    return text.replace('file = "instances.csv"', table)


def _binary(builtin: Builtin, target: str | os.PathLike[str] | None) -> str | None:
    """The program that is run instead of the package's; None for that."""
    name = None if target is None else os.fspath(target)
    if builtin.needs_binary:
        name = name or os.environ.get(VARIABLE)
        if name is None:
            raise InputError(
                f"{builtin.name}: expected the path of a UBCSAT binary with SATenstein, as "
                f"`target` or in the environment variable {VARIABLE}, got none; no package "
                "carries one. kissat-qcp runs without it: kissat on quasigroup completion."
            )
    if name is None:
        return None
    if builtin.suffix == ".tsp":
        raise InputError(
            f"{builtin.name}: expected no `target`: LKH is run from the package LKHpy."
        )
    program = shutil.which(name)
    if program is None:
        raise InputError(
            f"{builtin.name}: expected a program that can be executed, got {name!r:.120}."
        )
    # The scenario is run from its own folder: a relative path would be another one there.
    return str(Path(program).resolve())


def _scenario_text(
    builtin: Builtin, recipe: Size, size: str, count: int, seed: int, binary: str | None
) -> str:
    # A path is of this machine; the function finds the solver wherever the folder is used.
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
    """The folder with everything but instances, if it is empty or holds the same export."""
    scenario = folder / "scenario.toml"
    # The same export goes on where it was; another one would mix instances.
    if scenario.exists():
        if scenario.read_text() != text:
            raise InputError(
                f"{scenario}: expected the same scenario, size, number of instances and seed: "
                "take another folder."
            )
    elif folder.exists() and any(folder.iterdir()):
        raise InputError(f"{folder}: expected an empty folder, or one that is not there yet.")
    folder.mkdir(parents=True, exist_ok=True)
    for file in builtin.files[1:]:
        _write(folder / Path(file).name, (HERE / file).read_text())
    _write(scenario, text)


def _write(path: Path, text: str) -> None:
    with whole_file(path) as file:
        file.write(text.encode())
