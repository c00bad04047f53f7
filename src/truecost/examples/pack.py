"""Makes an example of a journal: `python -m truecost.examples.pack JOURNAL SCENARIO NAME [RUNS]`.

RUNS is how many runs of each configuration on each instance are taken; a gathering that was stopped
may have begun another.
"""

import json
import sys
from dataclasses import asdict
from pathlib import Path

import numpy as np

from truecost.journal.journal import Journal
from truecost.matrix.files import whole_file
from truecost.runs import Status, Trajectory


def pack(journal: Path, scenario: Path, name: str, folder: Path, runs: int | None = None) -> None:
    """Write the matrix of a journal, and how it was made, into a folder."""
    with Journal.read(journal) as book:
        table, machines = book.table(), book.machines()
        whole = book.matrix(table=table)
        configurations, limits = book.configurations(), book.fingerprint()["limits"]
    # A gathering that was stopped may have begun another round.
    kept = table.number < (runs or np.inf)
    assert whole.statuses is not None  # noqa: S101 - journals have them
    matrix = whole.replace(
        costs=whole.costs[:, :, :runs],
        statuses=whole.statuses[:, :, :runs],
        seeds=None if whole.seeds is None else whole.seeds[:, :, :runs],
    )
    default = next(iter(configurations))
    matrix.save(
        folder / f"{name}.npz",
        trajectory=Trajectory(
            tool="truecost gather", proposed="beforehand", raced=False, default=default
        ),
    )
    about = {
        "scenario": scenario.read_text(),
        "runs": int(np.count_nonzero(kept)),
        "cpu_hours": round(float(table.cpu[kept].sum()) / 3600, 2),
        # As the matrix has them: a target that reports more seconds than the cutoff has timed out.
        "statuses": {
            status.label: int(np.count_nonzero(matrix.statuses == status)) for status in Status
        },
        "limits": limits,
        "machines": [
            # Whose machine it was is nobody's business.
            {**asdict(machine), "host": "", "system": machine.system.split()[0]}
            for machine in machines
        ],
        "default": default,
        "configurations": configurations,
    }
    with whole_file(folder / f"{name}.json") as file:
        file.write(json.dumps(about).encode())


if __name__ == "__main__":
    number = int(sys.argv[4]) if len(sys.argv) > 4 else None
    pack(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], Path(__file__).parent, number)
