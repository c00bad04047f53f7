"""Makes an example of a journal: `python -m truecost.examples.pack JOURNAL SCENARIO NAME`."""

import json
import sys
from dataclasses import asdict
from pathlib import Path

import numpy as np

from truecost.matrix.files import whole_file
from truecost.running.journal import Journal
from truecost.runs import Status, Trajectory


def pack(journal: Path, scenario: Path, name: str, folder: Path) -> None:
    """Write the matrix of a finished journal, and how it was made, into a folder."""
    with Journal.read(journal) as book:
        table, machines = book.table(), book.machines()
        matrix = book.matrix(table=table)
        configurations, limits = book.configurations(), book.fingerprint()["limits"]
    default = next(iter(configurations))
    matrix.save(
        folder / f"{name}.npz",
        trajectory=Trajectory(tool="truecost gather", proposed="beforehand", raced=False, default=default),
    )
    about = {
        "scenario": scenario.read_text(),
        "runs": len(table.status),
        "cpu_hours": round(float(table.cpu.sum()) / 3600, 2),
        # As the matrix has them: a target that reports more seconds than the cutoff has timed out.
        "statuses": {status.label: int(np.count_nonzero(matrix.statuses == status)) for status in Status},
        "limits": limits,
        "machines": [{**asdict(machine), "host": "", "system": machine.system.split()[0]} for machine in machines],
        "default": default,
        "configurations": configurations,
    }
    with whole_file(folder / f"{name}.json") as file:
        file.write(json.dumps(about).encode())


if __name__ == "__main__":
    pack(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], Path(__file__).parent)
