"""Run LKH 3, as the package LKHpy carries it, on one instance until a tour as short as the reference is found.

launch.py --seed=N [--reference=LENGTH] [--runs=N] INSTANCE [--PARAMETER=value ...]

Prints the length of the best tour, measured here and not taken from LKH; the CPU seconds that LKH took, without the start of
Python; and "solved" when the tour is no longer than the reference. A tour that beats it is solved too, and said so.
"""

import itertools
import math
import os
import sys
import tempfile
import time
from pathlib import Path

# LKH needs no threads of NumPy; starting them takes longer than many a run.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def coordinates(text: str) -> list[tuple[int, int]]:
    """The cities of a TSPLIB file of type EUC_2D."""
    lines = text.split("NODE_COORD_SECTION", 1)[1].split("EOF", 1)[0].strip().splitlines()
    return [(int(x), int(y)) for _, x, y in map(str.split, lines)]


def tour_length(cities: list[tuple[int, int]], tour: list[int]) -> int:
    """The length of a closed tour in TSPLIB's EUC_2D, each distance rounded; no answer if it is no tour of all cities."""
    if len(tour) != len(cities) + 1 or tour[0] != tour[-1] or sorted(tour[1:]) != list(range(len(cities))):
        raise SystemExit(f"LKH returned something that is no tour: {tour[:10]}…")
    points = [cities[city] for city in tour]
    return sum(int(math.dist(a, b) + 0.5) for a, b in itertools.pairwise(points))


def parameter_file(instance: Path, own: dict[str, str], parameters: list[str]) -> str:
    """What LKH reads; parameters of the configuration come last."""
    lines = {
        "PROBLEM_FILE": str(instance),
        "SEED": own["seed"],
        "RUNS": own.get("runs", "10000"),
        "TRACE_LEVEL": "0",
        # Without a population LKH goes on after the optimum is met.
        "POPULATION_SIZE": "2",
    }
    if "reference" in own:
        lines["OPTIMUM"] = own["reference"]
    for parameter in parameters:
        name, _, value = parameter.removeprefix("--").partition("=")
        lines[name] = value
    return "".join(f"{name} = {value}\n" for name, value in lines.items())


def solve(instance: Path, own: dict[str, str], parameters: list[str]) -> None:
    """Run LKH and print what truecost reads."""
    import LKHpy

    cities = coordinates(instance.read_text())
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "run.par"
        file.write_text(parameter_file(instance, own, parameters))
        start = time.process_time()
        tour = LKHpy.par_file(str(file)).tolist()
        seconds = time.process_time() - start
    length = tour_length(cities, tour)
    print(f"length {length}")
    print(f"time {seconds:.6f}")
    if "reference" in own:
        ahead = int(own["reference"]) - length
        if ahead > 0:
            print(f"shorter than the reference by {ahead}")
        if ahead >= 0:
            print("solved")


def main(words: list[str]) -> None:
    """Read the command line: our own options stand before the instance, LKH's behind it."""
    if words == ["--version"]:
        from importlib.metadata import version

        print(f"LKHpy {version('LKHpy')}")
        return
    places = [place for place, word in enumerate(words) if not word.startswith("--")]
    if len(places) != 1:
        raise SystemExit(f"expected one instance among {words}")
    own = dict(word.removeprefix("--").split("=", 1) for word in words[: places[0]])
    solve(Path(words[places[0]]).resolve(), own, words[places[0] + 1 :])


if __name__ == "__main__":
    main(sys.argv[1:])
