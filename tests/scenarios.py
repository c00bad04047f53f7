"""Scenarios that tests write, and a target that answers by arithmetic: the same run gives the same
answer anywhere.
"""

from pathlib import Path
from typing import Any

from truecost.running.scenario import Scenario
from truecost.runs import Instance, Status
from truecost.space.space import Configuration

# A shell starts in 2 ms. One run in 7 crashes, one in 41 burns CPU time up to its limit; the others
# answer with a number. CPU time, because a run that a busy machine does not let go on has used none
# of it: its limit is met by those alone that burn, and by all of them.
TARGET = """#!/bin/sh
# solver.sh INSTANCE SPECIFICS CUTOFF RUNLENGTH SEED -alpha A -beta B
read size < "$1"
value=$(( ($5 / 7 + $7 * 31 + $9 * 17 + size * 101) % 9973 ))
[ $((value % 7)) = 0 ] && exit 3
[ $((value % 41)) = 0 ] && while :; do :; done
echo "Result for SMAC: SUCCESS, 0.01, 0, $value, $5"
"""
SPACE = "alpha {1,2,3,4,5,6,7,8,9,10,11,12} [1]\nbeta {1,2,3,4,5,6,7,8,9,10,11,12} [1]\n"
TABLES: dict[str, dict[str, Any]] = {
    "target": {"kind": "wrapper", "command": ["./solver.sh"]},
    "space": {"file": "space.pcs"},
    "instances": {"glob": "instances/*"},
    "limits": {"cpu": 0.1, "wall": 600.0},
    "metric": {"kind": "value", "low": 0.0, "high": 10000.0},
}


def toml(value: object) -> str:
    """A value as TOML writes it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return (
            '"'
            + "".join(
                c if c.isprintable() and c not in '"\\' else f"\\U{ord(c):08x}" for c in value
            )
            + '"'
        )
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(toml, value)) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{toml(key)} = {toml(item)}" for key, item in value.items()) + "}"
    return repr(value)


HEAD = 'name = "toy"\nseed = 3\n'


def write(folder: Path, **tables: dict[str, Any] | None) -> Path:
    """A scenario in a folder: the usual tables, or those given; None leaves a table out."""
    (folder / "instances").mkdir(parents=True, exist_ok=True)
    for place in range(5):
        (folder / "instances" / f"i {place}.txt").write_text(f"{place}\n")
    (folder / "solver.sh").write_text(TARGET)
    (folder / "solver.sh").chmod(0o755)
    (folder / "space.pcs").write_text(SPACE)
    chosen = {**TABLES, **tables}
    text = HEAD + "".join(
        f"[{name}]\n" + "".join(f"{key} = {toml(value)}\n" for key, value in table.items())
        for name, table in chosen.items()
        if table is not None
    )
    (folder / "scenario.toml").write_text(text)
    return folder / "scenario.toml"


def read(folder: Path, **tables: dict[str, Any] | None) -> Scenario:
    """The scenario with these tables."""
    return Scenario.read(write(folder, **tables))


NO_ANSWER = (
    "no answer: no line 'Result for SMAC: …' or 'Result of this algorithm run: …'; exit code 3"
)
Cell = tuple[str, str, int, int, int, int, float | None, float | None, str]


def cell(configuration: Configuration, instance: Instance, number: int, seed: int) -> Cell:
    """What a journal must have of a run of the target above: its key, outcome and printed values,
    by arithmetic.
    """
    size = int(Path(instance.argument).read_text())
    alpha, beta = (int(str(configuration.values[name])) for name in ("alpha", "beta"))
    value = (seed // 7 + alpha * 31 + beta * 17 + size * 101) % 9973
    key = (configuration.name, instance.name, number, seed)
    if value % 7 == 0:
        return *key, Status.CRASHED, 3, None, None, NO_ANSWER
    if value % 41 == 0:
        return *key, Status.TIMEOUT, -9, None, None, "CPU limit"
    return *key, Status.SOLVED, 0, 0.01, float(value), ""
