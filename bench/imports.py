"""A million runs of a SMAC3 run history: time and peak memory of the import, beside plain
`json.load`.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

RUNS = 1_000_000
INSTANCES, SEEDS = 200, 5
PEAK = "import re; print(re.search(r'VmHWM:\\s+(\\d+) kB', open('/proc/self/status').read())[1])"
TIMED = (
    "import sys, time\n{before}\nstart = time.perf_counter()\n{work}\n"
    "print(time.perf_counter() - start, time.process_time())\n" + PEAK
)
OURS = (
    "from truecost.importers.detect import import_runs",
    "print(import_runs(sys.argv[1], low=0, high=100).matrix.counts().sum())",
)
PLAIN = ("import json", "print(len(json.load(open(sys.argv[1] + '/runhistory.json'))['data']))")


def write_history(folder: Path, runs: int = RUNS) -> None:
    """A run history as SMAC3 2.4 lays it out, every tenth run a timeout that costs infinity."""
    rng = np.random.default_rng(1)
    each = INSTANCES * SEEDS // 2  # half of the cells of a configuration, as after a race
    configurations = runs // each
    seeds = rng.integers(0, 2**31, size=SEEDS)
    with (folder / "runhistory.json").open("w") as file:
        file.write(
            f'{{\n  "stats": {{\n    "submitted": {runs},\n    "finished": {runs},\n    "running": 0\n  }},\n  "data": [\n'
        )
        for configuration in range(1, configurations + 1):
            cells = rng.permutation(INSTANCES * SEEDS)[:each]
            costs = rng.random(each) * 100
            for place, cell in enumerate(cells):
                late, cost = place % 10 == 9, costs[place]
                fields = {
                    "config_id": configuration,
                    "instance": f'"instances/{cell % INSTANCES:04d}.cnf"',
                    "seed": seeds[cell // INSTANCES],
                    "budget": "null",
                    "cost": "Infinity" if late else cost,
                    "time": 0 if late else cost / 10,
                    "cpu_time": cost / 10,
                    "status": 3 if late else 1,
                    "starttime": 1.7e9 + place,
                    "endtime": 1.7e9 + place + cost / 10,
                    "additional_info": "{}",
                }
                file.write(
                    "    {\n"
                    + ",\n".join(f'      "{name}": {value}' for name, value in fields.items())
                    + "\n    }"
                )
                file.write("\n" if configuration == configurations and place == each - 1 else ",\n")
        values = ",\n".join(
            f'    "{number}": {{\n      "x": {number / 7}\n    }}'
            for number in range(1, configurations + 1)
        )
        file.write('  ],\n  "configs": {\n' + values + '\n  },\n  "config_origins": {}\n}')


def measured(parts: tuple[str, str], folder: str) -> tuple[float, float, float]:
    """Seconds, CPU seconds with the imports of modules, and peak megabytes of a process."""
    script = TIMED.format(before=parts[0], work=parts[1])
    ended = subprocess.run(
        [sys.executable, "-c", script, folder], check=True, capture_output=True, text=True
    )
    count, seconds, cpu, peak = ended.stdout.split()
    assert int(count) == RUNS
    return float(seconds), float(cpu), int(peak) / 1024


def main() -> None:
    """Write, import, print."""
    with tempfile.TemporaryDirectory() as folder:
        write_history(Path(folder))
        size = (Path(folder) / "runhistory.json").stat().st_size / 1e6
        ours, reference = measured(OURS, folder), measured(PLAIN, folder)
    print(f"\nSMAC3 run history, {RUNS:,} runs, {size:.0f} MB: wall time, CPU time, peak memory")
    for what, (wall, cpu, peak) in (("truecost import", ours), ("json.load alone", reference)):
        print(f"{what:<44} {wall:>9.1f} s {cpu:>12.1f} s {peak:>11,.0f} MB")


if __name__ == "__main__":
    main()
