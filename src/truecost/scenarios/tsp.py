"""Travelling salesman: cities uniform in a square, as TSPLIB files, and the reference lengths that
runs have to reach.
"""

import hashlib
import os
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from truecost.errors import InputError

SIDE = 1_000_000
LKH = Path(__file__).parent / "lkh"
STORED = LKH / "references.csv"

# A reference is the least length of long runs with several seeds, once enough have found it.
SEEDS, AGREEING, RUNS = 10, 3, 10


def instance(cities: int, rng: np.random.Generator, name: str) -> str:
    """A TSPLIB file of cities with whole coordinates, uniform in a square."""
    places = rng.integers(0, SIDE, size=(cities, 2))
    lines = [f"NAME : {name}", "TYPE : TSP", f"DIMENSION : {cities}"]
    lines += ["EDGE_WEIGHT_TYPE : EUC_2D", "NODE_COORD_SECTION"]
    lines += [f"{number} {x} {y}" for number, (x, y) in enumerate(places.tolist(), 1)]
    return "\n".join([*lines, "EOF", ""])


def references(
    files: Sequence[Path], store: Path, workers: int, progress: Callable[[str, int, int], None]
) -> list[str]:
    """The best known length of each instance and how many seeds found it, as "length,seeds": from
    the package or `store`; the others are computed and added to `store`.

    Whatever interrupts this, it goes on where it was.
    """
    # By content: the same instance has one reference, whatever its name.
    digests = [hashlib.sha256(file.read_bytes()).hexdigest()[:16] for file in files]
    known = _read(STORED) | _read(store)
    pairs = zip(files, digests, strict=True)
    missing = [(file, digest) for file, digest in pairs if digest not in known]
    if missing:
        if find_spec("LKHpy") is None:
            raise InputError(
                f"The package LKHpy must find the reference lengths of {len(missing)} instances. "
                "Type pip install 'truecost[solvers]' (Python below 3.13)."
            )
        # Here, because it takes more than a second, and nothing else in the library needs it.
        from truecost.space.arguments import arguments
        from truecost.space.space import Space

        default = arguments(Space.read(LKH / "space.pcs").default(), "-name value")
        with store.open("a") as file, ThreadPoolExecutor(workers) as pool:
            computed = pool.map(lambda pair: compute(pair[0], default), missing)
            try:
                for number, (row, (_, digest)) in enumerate(zip(computed, missing, strict=True), 1):
                    known[digest] = row
                    # A line that a crash left torn ends here, and is not read.
                    file.write(f"\n{digest},{row}\n")
                    file.flush()
                    os.fsync(file.fileno())
                    progress("reference lengths", number, len(missing))
            except BaseException:
                pool.shutdown(cancel_futures=True)
                raise
    return [known[digest] for digest in digests]


def compute(file: Path, default: list[str]) -> str:
    """The best length of long runs of the default configuration, until several seeds agree; and how
    many found it.
    """
    lengths: list[int] = []
    for seed in range(1, SEEDS + 1):
        command = (sys.executable, LKH / "launch.py", file, 0, 0, RUNS, seed, *default)
        words = [str(word) for word in command]
        done = subprocess.run(words, capture_output=True, text=True, check=False)  # noqa: S603
        answer = re.search(r'"SUCCESS".*"quality": (\d+)', done.stdout)
        if answer is None:
            raise RuntimeError(
                f"LKH found no tour of {file}: {done.stderr.strip() or done.returncode}"
            )
        lengths.append(int(answer[1]))
        # Several seeds that agree are as good a sign of the optimum as can be had.
        if lengths.count(min(lengths)) == AGREEING:
            break
    return f"{min(lengths)},{lengths.count(min(lengths))}"


def _read(store: Path) -> dict[str, str]:
    text = store.read_text() if store.exists() else ""
    return dict(re.findall(r"^([0-9a-f]{16}),(\d+,\d+)\n", text, re.MULTILINE))
