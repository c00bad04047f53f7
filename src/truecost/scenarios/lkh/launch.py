"""Run LKH 3, as the package LKHpy carries it, on one instance until a tour as short as the
reference is found.

launch.py INSTANCE REFERENCE CUTOFF RUNS SEED [-PARAMETER value ...]

The wrapper convention of AClib. The tour is measured here, not taken from LKH, and the run is a
success when it is no longer than the reference; one that beats the reference is a success too, and
said so. The time is the CPU time of LKH without the start of Python; after CUTOFF seconds of it, 0
for none, the run is ended. REFERENCE 0: just the best of the given number of runs of LKH.
"""

import itertools
import json
import math
import os
import signal
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
    """The length of a closed tour in TSPLIB's EUC_2D, each distance rounded; refused if it is no
    tour of all cities.
    """
    if tour[0] != tour[-1] or sorted(tour[1:]) != list(range(len(cities))):
        raise ValueError(f"expected a tour of all cities, got {tour[:10]}…")
    points = [cities[city] for city in tour]
    return sum(int(math.dist(a, b) + 0.5) for a, b in itertools.pairwise(points))


def parameter_file(instance: Path, reference: str, runs: str, seed: str, words: list[str]) -> str:
    """What LKH reads; parameters of the configuration come last."""
    lines = {
        "PROBLEM_FILE": instance,
        "SEED": seed,
        "RUNS": min(int(runs), 10_000),
        "TRACE_LEVEL": 0,
        # Without a population LKH goes on after the optimum is met.
        "POPULATION_SIZE": 2,
    }
    if int(reference):
        lines["OPTIMUM"] = reference
    lines |= zip((word.removeprefix("-") for word in words[::2]), words[1::2], strict=True)
    return "".join(f"{name} = {value}\n" for name, value in lines.items())


def answer(status: str, **fields: float | str) -> None:
    """What truecost reads."""
    print("Result of this algorithm run:", json.dumps({"status": status, **fields}), flush=True)


def solve(file: Path, cities: list[tuple[int, int]], reference: int, cutoff: float) -> None:
    """Run LKH in this process, which a timer of CPU seconds ends: while LKH runs, Python cannot."""
    import LKHpy

    # The default action ends the process at once; a handler in Python would wait for LKH.
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_PROF, cutoff)
    start = time.process_time()
    tour = LKHpy.par_file(str(file)).tolist()
    seconds = time.process_time() - start
    signal.setitimer(signal.ITIMER_PROF, 0)
    length = tour_length(cities, tour)
    fields: dict[str, float | str] = {"runtime": round(seconds, 6), "quality": length}
    if length < reference:
        fields["misc"] = f"shorter than the reference by {reference - length}"
    answer("SUCCESS" if length <= reference or not reference else "TIMEOUT", **fields)


def main(words: list[str]) -> None:
    """Read the command line and let a child do the work, so that there is an answer however that
    ends.
    """
    if words == ["--version"]:
        from importlib.metadata import version

        print(f"LKHpy {version('LKHpy')}")
        return
    instance, reference, cutoff, runs, seed, *parameters = words
    # Here, so that neither the child's clock nor its limit has the start of NumPy in it.
    import LKHpy  # noqa: F401

    path = Path(instance).resolve()
    cities = coordinates(path.read_text())
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "run.par"
        file.write_text(parameter_file(path, reference, runs, seed, parameters))
        # The child has everything loaded, so that its CPU time is LKH's alone.
        child = os.fork()
        if child == 0:
            solve(file, cities, int(reference), float(cutoff))
            os._exit(0)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if status == -signal.SIGPROF:
        answer("TIMEOUT", runtime=float(cutoff))
    elif status:
        answer("CRASHED", misc=f"LKH ended with {status}")


if __name__ == "__main__":
    main(sys.argv[1:])
