"""Put small, realistic faults into a copy of the code and see that the tests notice each.

`mutants.toml` lists them: a file, a text that occurs there exactly once, its replacement, the tests
that must fail, and one sentence that says what the fault would do. Exit code 1 if a mutant survives.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
COPIED = ("src", "tests", "bench", "docs", "pyproject.toml", "README.md", "Makefile", "mkdocs.yml")
# A mutant that makes its tests hang is noticed, too: they take this many times as long as all tests
# take without a mutant.
PATIENCE = 2


class Mutant(NamedTuple):
    """A fault, and the tests that must notice it."""

    file: str
    text: str
    replacement: str
    tests: list[str]
    fault: str


def read_mutants() -> list[Mutant]:
    """The mutants of the list; one whose text is not in its file exactly once is refused."""
    listed = tomllib.loads((ROOT / "tests" / "mutants.toml").read_text())["mutant"]
    mutants = [Mutant(**entry) for entry in listed]
    for mutant in mutants:
        times = (ROOT / mutant.file).read_text().count(mutant.text)
        if times != 1:
            sys.exit(f"{mutant.file}: {mutant.text!r} occurs {times} times, not once.")
    return mutants


def copy_to(folder: Path) -> Path:
    """A copy of the repository that can be changed."""
    for name in COPIED:
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        folder.mkdir(exist_ok=True)
        copy(ROOT / name, folder / name)
    return folder


def run_tests(folder: Path, tests: list[str], seconds: float | None = None) -> tuple[int, str]:
    """The exit code of these tests in a copy, and what they printed; 1 after so many seconds."""
    environment = os.environ | {
        "PYTHONPATH": str(folder / "src"),
        "PYTHONDONTWRITEBYTECODE": "1",
        "OPENBLAS_NUM_THREADS": "1",
    }
    words = [sys.executable, "-m", "pytest", "-x", "-q", "-m", "", "-p", "no:cacheprovider", *tests]
    try:
        ended = subprocess.run(
            words, cwd=folder, env=environment, capture_output=True, text=True, timeout=seconds
        )
    except subprocess.TimeoutExpired:
        return 1, "no end"
    return ended.returncode, ended.stdout


def problem_of(folder: Path, mutant: Mutant, seconds: float) -> str:
    """What is wrong with a mutant: nothing where its tests fail, or do not end in time."""
    file = folder / mutant.file
    before = file.read_text()
    file.write_text(before.replace(mutant.text, mutant.replacement))
    try:
        code, printed = run_tests(folder, mutant.tests, seconds)
    finally:
        file.write_text(before)
    # 1: tests failed. Anything else but 0 means that the tests could not be run.
    return {0: "survives", 1: ""}.get(code, f"its tests cannot be run:\n{printed}")


def main() -> None:
    """Try all mutants, or those whose file or fault contains a given text."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("only", nargs="?", default="", help="part of a file name or of a sentence")
    only = parser.parse_args().only
    mutants = [m for m in read_mutants() if only in m.file or only in m.fault]
    workers = len(os.sched_getaffinity(0))
    with tempfile.TemporaryDirectory() as place, ThreadPoolExecutor(workers) as pool:
        folders: SimpleQueue[Path] = SimpleQueue()
        for number in range(workers):
            folders.put(copy_to(Path(place) / str(number)))

        folder, start = folders.get(), time.monotonic()
        code, printed = run_tests(folder, sorted({t for m in mutants for t in m.tests}))
        if mutants and code:
            sys.exit(f"Without any mutant the tests fail already:\n{printed}")
        folders.put(folder)
        seconds = PATIENCE * (time.monotonic() - start)

        def attempt(mutant: Mutant) -> str:
            folder = folders.get()
            try:
                return problem_of(folder, mutant, seconds)
            finally:
                folders.put(folder)

        survivors = 0
        for mutant, problem in zip(mutants, pool.map(attempt, mutants), strict=True):
            survivors += bool(problem)
            print(f"{problem or 'noticed':9} {mutant.file}: {mutant.fault}", flush=True)
    print(f"{len(mutants) - survivors} passed, {survivors} failed")
    sys.exit(1 if survivors else 0)


if __name__ == "__main__":
    main()
