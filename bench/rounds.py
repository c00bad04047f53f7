"""Gather a large matrix in the background; the rounds of an instance are packed once they are done.

python -m bench.rounds gather SCENARIO FOLDER [--configurations 500] [--instances 120] [--runs 5]
    [--workers 1] [--part 0/1]
python -m bench.rounds status FOLDER
python -m bench.rounds rerun SCENARIO FOLDER
python -m bench.rounds assemble SCENARIO FOLDER NAME

A round is one run of every configuration on one instance. `gather` continues after the rounds that
FOLDER has: it needs the exported scenario and FOLDER, nothing else. With `--part 1/2` it makes
every second instance, beginning with the second, so that each core can have a process of its own.
`clasp-large` was gathered in this way from
`truecost scenario export clasp-weighted-sequence DIR --size large --target /usr/bin/clasp`, and
`kissat-large` from `… kissat-qcp DIR --size large` with `private = false` under `[target]`.

CPU time is what counts, and a busy machine inflates it. The load is recorded with every round, and
`rerun` repeats 1 % of the solved runs on the idle machine and prints, for every block of twelve
instances, how much longer the gathered runs took. Delete the files of a block that is off by more
than 5 %, and `gather` makes it again. `assemble` writes the example from all rounds that every
instance has, together with these ratios.
"""

import argparse
import hashlib
import json
import os
import tempfile
import time
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

import truecost
from truecost.campaigns.gather import design_of
from truecost.matrix.files import whole_file
from truecost.running.machine import this_machine
from truecost.runs import Outcome, Run, Status, Trajectory

# Instances in a block, for which gathered and repeated runs are compared.
BLOCK = 12
# Which axis of an array counts rounds.
AXES = {"cpu": 1, "status": 1, "load": 0, "longest": 0, "ended": 0}


def digest(names: list[str]) -> str:
    """Tells apart lists of configurations, whose names are hashes of their parameters."""
    return hashlib.sha256("\n".join(names).encode()).hexdigest()[:16]


def report(text: str) -> None:
    """A line of the log."""
    print(f"{datetime.now(UTC):%H:%M:%S} load {os.getloadavg()[0]:.1f}, {text}", flush=True)


@dataclass
class Packed:
    """The rounds of one instance: CPU microseconds and statuses, (configurations, rounds)."""

    path: Path
    arrays: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path) -> "Packed":
        """The rounds in a file, none if it is not there."""
        if not path.exists():
            return cls(path)
        with np.load(path) as stored:
            return cls(path, {name: stored[name] for name in stored.files})

    @property
    def rounds(self) -> int:
        """How many there are."""
        return self.arrays["cpu"].shape[1] if self.arrays else 0

    def add(self, scenario: truecost.Scenario, journal: Path) -> None:
        """Add the next round of a journal."""
        with truecost.Journal.read(journal) as book:
            table, machines = book.table(), book.machines()
        chosen = table.number == self.rounds
        cpu = np.full((len(table.configurations), 1), -1, dtype=np.int32)
        status = np.full(cpu.shape, -1, dtype=np.int8)
        cpu[table.configuration[chosen], 0] = np.rint(table.cpu[chosen] * 1e6)
        status[table.configuration[chosen], 0] = table.status[chosen]
        if (status < 0).any():
            raise RuntimeError(f"{self.path.name}: expected every run of round {self.rounds}.")
        rows: dict[str, Any] = {
            "cpu": cpu,
            "status": status,
            "load": np.array([os.getloadavg()[0]], dtype=np.float32),
            # Wall time tells whether a run was ever stopped for want of a processor.
            "longest": np.array([table.wall[chosen].max()], dtype=np.float32),
            "ended": np.array([time.time()]),
        }
        if self.arrays:
            rows = {
                name: np.concatenate([self.arrays[name], new], axis=AXES[name])
                for name, new in rows.items()
            }
        machine = machines[-1]
        self.arrays = rows | {
            "instance": np.array(scenario.instances[0].name),
            "configurations": np.array(digest(list(table.configurations))),
            "machine": np.array(f"{machine.cpu}; {machine.method}; {machine.solver}"),
        }
        with whole_file(self.path) as file:
            np.savez_compressed(file, **self.arrays)

    def fill(self, scenario: truecost.Scenario, journal: Path, configurations: int) -> None:
        """Begin a journal with the rounds that are there, so that only the next one is run."""
        design = design_of(scenario, configurations, None, self.rounds)
        names = [configuration.name for configuration in design.configurations]
        if digest(names) != str(self.arrays["configurations"]):
            raise RuntimeError(f"{self.path.name}: was gathered with other configurations.")
        instance = scenario.instances[0].name
        runs = [
            Run(
                configuration=name,
                instance=instance,
                number=number,
                seed=scenario.run_seed(instance, number),
                outcome=Outcome(
                    status=Status(int(self.arrays["status"][row, number])),
                    cpu=self.arrays["cpu"][row, number] / 1e6,
                    wall=0.0,
                    memory=0,
                    exit_code=0,
                ),
            )
            for number in range(self.rounds)
            for row, name in enumerate(names)
        ]
        with truecost.Journal.write(journal, scenario) as book:
            book.begin(design, scenario.metric)
            now = datetime.now(UTC).isoformat(timespec="seconds")
            book.add([(run, this_machine("packed", "")) for run in runs], now)


def starved(scenario: truecost.Scenario, journal: Path) -> bool:
    """Whether a run met its wall limit: a timeout for want of a processor, not of the solver."""
    with truecost.Journal.read(journal) as book:
        return bool(book.table().wall.max() >= (scenario.limits.wall or np.inf))


def gather(
    scenario: truecost.Scenario,
    folder: Path,
    sizes: tuple[int, int, int],
    workers: int = 1,
    part: tuple[int, int] = (0, 1),
) -> None:
    """Make and pack the rounds that are not there."""
    configurations, instances, runs = sizes
    for place in range(part[0], instances, part[1]):
        packed = Packed.read(folder / f"instance-{place:03d}.npz")
        alone = replace(scenario, instances=scenario.instances[place : place + 1])
        while packed.rounds < runs:
            with tempfile.TemporaryDirectory() as scratch:
                journal = Path(scratch) / "rounds.db"
                if packed.rounds:
                    packed.fill(alone, journal, configurations)
                truecost.gather(
                    alone,
                    journal,
                    configurations=configurations,
                    runs=runs,
                    pool=workers,
                    pin=False,
                )
                if not starved(alone, journal):
                    while packed.rounds < runs:
                        packed.add(alone, journal)
            report(f"instance {place}: {packed.rounds} rounds")


def rerun(scenario: truecost.Scenario, folder: Path) -> None:
    """Repeat 1 % of the runs, those of a few random configurations, and compare CPU times."""
    files, rng = read_all(folder), np.random.default_rng(1)
    logs: list[list[float]] = [[] for _ in files]
    for place, packed in enumerate(files):
        cpu, status = packed.arrays["cpu"] / 1e6, packed.arrays["status"]
        design = design_of(scenario, len(cpu), None, 1)
        drawn = rng.choice(len(cpu), max(1, len(cpu) // 100), replace=False)
        chosen = replace(design, configurations=tuple(design.configurations[i] for i in drawn))
        alone = replace(scenario, instances=scenario.instances[place : place + 1])
        with tempfile.TemporaryDirectory() as scratch:
            journal = Path(scratch) / "again.db"
            truecost.gather(
                alone,
                journal,
                configurations=list(chosen.configurations),
                runs=packed.rounds,
                pool=1,
                pin=False,
            )
            with truecost.Journal.read(journal) as book:
                table = book.table()
        for row in range(len(table.cpu)):
            name = table.configurations[table.configuration[row]]
            i = next(k for k in drawn if design.configurations[k].name == name)
            number = table.number[row]
            # Runs that were stopped say nothing about speed.
            if table.status[row] == status[i, number] == Status.SOLVED:
                logs[place].append(float(np.log(cpu[i, number] / table.cpu[row])))
        report(f"instance {place}: {len(logs[place])} solved twice")
    blocks = [
        [log for instance in logs[first : first + BLOCK] for log in instance]
        for first in range(0, len(logs), BLOCK)
    ]
    ratios = [float(np.exp(np.mean(block))) for block in blocks]
    for first, (ratio, block) in enumerate(zip(ratios, blocks, strict=True)):
        error = ratio * np.std(block) / np.sqrt(len(block))
        print(
            f"instances {first * BLOCK} to {first * BLOCK + BLOCK - 1}: {ratio:.3f} ± {error:.3f}"
        )
    everything = [log for block in blocks for log in block]
    print(f"all: {np.exp(np.mean(everything)):.3f}, {len(everything):,} runs solved twice")
    (folder / "rerun.json").write_text(
        json.dumps(
            {"ratio": float(np.exp(np.mean(everything))), "blocks": ratios, "runs": len(everything)}
        )
    )


def read_all(folder: Path) -> list[Packed]:
    """Every instance that has a file, in the order of the scenario."""
    return [Packed.read(path) for path in sorted(folder.glob("instance-*.npz"))]


def status(folder: Path) -> None:
    """Tell what is there."""
    files = read_all(folder)
    arrays = {
        name: np.concatenate([packed.arrays[name].ravel() for packed in files])
        for name in ("cpu", "status", "load", "longest")
    }
    print(
        f"{len(files)} instances, {sum(packed.rounds for packed in files)} rounds, "
        f"{arrays['cpu'].size:,} runs, {arrays['cpu'].sum() / 3.6e9:.3f} CPU hours, "
        f"{np.mean(arrays['status'] == Status.SOLVED):.1%} solved; load "
        f"{np.nanmin(arrays['load']):.1f} to {np.nanmax(arrays['load']):.1f}; "
        f"longest run {np.nanmax(arrays['longest']):.1f} s"
    )


def assemble(scenario_file: Path, folder: Path, name: str) -> None:
    """Write NAME.npz and NAME.json, how it was made, from the rounds that every instance has."""
    scenario, files = truecost.Scenario.read(scenario_file), read_all(folder)
    rounds = min(packed.rounds for packed in files)
    cpu = np.stack([packed.arrays["cpu"][:, :rounds] for packed in files], axis=1) / 1e6
    statuses = np.stack([packed.arrays["status"][:, :rounds] for packed in files], axis=1)
    configurations = design_of(scenario, len(cpu), None, 1).configurations
    names = [configuration.name for configuration in configurations]
    instances = [str(packed.arrays["instance"]) for packed in files]
    if {digest(names)} != {str(packed.arrays["configurations"]) for packed in files}:
        raise RuntimeError("expected the configurations of the scenario, got others.")
    metric = scenario.metric
    cutoff, high = float(metric.cutoff or 0), float(metric.factor * (metric.cutoff or 0))
    late = (statuses == Status.SOLVED) & (cpu >= cutoff)
    statuses = np.where(late, Status.TIMEOUT, statuses).astype(np.int8)
    matrix = truecost.CostMatrix(
        np.where(statuses == Status.SOLVED, cpu, high),
        names,
        instances,
        0.0,
        high,
        statuses=statuses,
        seeds=np.broadcast_to(
            [[scenario.run_seed(i, number) for number in range(rounds)] for i in instances],
            cpu.shape,
        ),
        cutoff=cutoff,
    )
    origin = Trajectory(
        tool="truecost gather", proposed="beforehand", raced=False, default=names[0]
    )
    matrix.save(f"{name}.npz", trajectory=origin)
    about = {
        "scenario": scenario_file.read_text(),
        "runs": cpu.size,
        "cpu_hours": round(float(cpu.sum()) / 3600, 2),
        "statuses": {s.label: int(np.count_nonzero(statuses == s)) for s in Status},
        "limits": scenario.limits.model_dump(mode="json"),
        "machines": [
            # Whose machine it was is nobody's business.
            dict(zip(("cpu", "method", "solver"), machine.split("; "), strict=True)) | {"host": ""}
            for machine in sorted({str(packed.arrays["machine"]) for packed in files})
        ],
        # Of each block: the least, the median and the largest at the end of a round.
        "loads": [
            [round(float(end(block)), 1) for end in (np.nanmin, np.nanmedian, np.nanmax)]
            for block in (
                np.concatenate([packed.arrays["load"] for packed in files[first : first + BLOCK]])
                for first in range(0, len(files), BLOCK)
            )
        ],
        "rerun": json.loads((folder / "rerun.json").read_text()),
        "default": names[0],
        "configurations": {c.name: dict(c.values) for c in configurations},
    }
    Path(f"{name}.json").write_text(json.dumps(about))
    print(f"{name}.npz: {matrix}")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.rounds")
    parser.add_argument("action", choices=["gather", "status", "rerun", "assemble"])
    parser.add_argument("paths", nargs="+", type=Path)
    parser.add_argument("--configurations", type=int, default=500)
    parser.add_argument("--instances", type=int, default=120)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--part", default="0/1")
    given = parser.parse_args()
    if given.action == "status":
        status(given.paths[0])
    elif given.action == "assemble":
        assemble(given.paths[0], given.paths[1], str(given.paths[2]))
    else:
        scenario, folder = truecost.Scenario.read(given.paths[0]), given.paths[1]
        folder.mkdir(parents=True, exist_ok=True)
        if given.action == "rerun":
            rerun(scenario, folder)
        else:
            sizes = (given.configurations, given.instances, given.runs)
            first, step = map(int, given.part.split("/"))
            gather(scenario, folder, sizes, given.workers, (first, step))


if __name__ == "__main__":
    main()
