"""Record the campaigns that `truecost demo` tells: python -m bench.demo FOLDER.

Fixed before the first of them was run, and not changed since:

* targets: the small sizes of kissat-qcp, lkh-uniform-400 and clasp-weighted-sequence, 100 instances
  each, exported with seed 1;
* search: `truecost configure --budget 600runs`, which trains on 50 instances and holds out 50;
* test: `truecost validate --complete`, the winner and the default once on each held-out instance;
* the scenario's seed, one worker per core, whatever comes out.

The journals become the examples NAME-tuned.
"""

import json
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

from truecost.journal.journal import Journal
from truecost.matrix.files import metadata_path

BUDGET = "600runs"
SCENARIOS = {
    "kissat": "kissat-qcp",
    "lkh": "lkh-uniform-400",
    "clasp": "clasp-weighted-sequence",
}


def main() -> None:
    """Run what is not there yet; rerun to resume."""
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, scenario in SCENARIOS.items():
        journal = str(folder / f"{name}.db")
        file = str(folder / name / "scenario.toml")
        for words in (
            ["scenario", "export", scenario, str(folder / name), "--instances", "100"],
            ["configure", file, "--budget", BUDGET, "--journal", journal],
            ["validate", journal, "--scenario", file, "--complete"],
            ["import", journal, "-o", str(folder / f"{name}-tuned.csv.gz")],
        ):
            # Validate answers with 1 where nothing is proven.
            code = subprocess.run([Path(sys.executable).with_name("truecost"), *words]).returncode
            if code not in (0, 1):
                sys.exit(code)
        describe(folder / f"{name}-tuned.csv.gz", Path(journal), Path(file))


def describe(table: Path, journal: Path, scenario: Path) -> None:
    """Say in the metadata of an example how its runs were made."""
    path = metadata_path(table)
    data = json.loads(path.read_text())
    with Journal.read(journal) as book:
        machines = [asdict(machine) for machine in book.machines()]
    for machine in machines:
        machine.pop("host")
    data["about"] = {
        "scenario": scenario.read_text(),
        "recorded": f"truecost configure --budget {BUDGET}, then truecost validate --complete",
        "machines": machines,
    }
    path.write_text(json.dumps(data))


if __name__ == "__main__":
    main()
