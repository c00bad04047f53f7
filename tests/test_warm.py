"""Python targets that stay loaded: forked for each run, held and counted like any other."""

from functools import partial, wraps
from pathlib import Path
from typing import Any

import pytest
import scenarios

from truecost import InputError, Journal, Scenario, Status, gather
from truecost.running._call import parameters
from truecost.running.execute import Caller, execute
from truecost.running.slots import Slot
from truecost.runs import Outcome

# Counts how often it was loaded, and how often it was called in one process.
TARGET = """
import os, subprocess, sys
with open({loads!r}, "a") as file:
    file.write("x")
calls = []
def solve(configuration, instance, seed):
    calls.append(seed)
    if seed == 2:
        raise ValueError("two")
    if seed == 3:
        while True:
            pass
    if seed == 4:
        subprocess.Popen(["sleep", "1000"], start_new_session=True)
    if seed == 5:
        os.kill(os.getppid(), 9)
    if seed == 6:
        open("/tmp/truecost-left", "w")
    if seed == 7:
        sys.exit("seven")
    print(os.getcwd(), os.environ["TMPDIR"], os.path.exists("/tmp/truecost-left"))
    return seed + 1000 * (len(calls) - 1)
"""
# Enough for Python to start, many times over; one run burns it all.
CPU = 0.4
KINDS: dict[str, Any] = {
    "default": {},
    "subreaper": {"group": False},
    "bare": {"group": False, "namespace": False},
    "shared": {"private": False},
}


def written(folder: Path, **target: Any) -> Scenario:
    """A scenario of the function."""
    path = scenarios.write(
        folder,
        target={"kind": "python", "function": "target.py:solve", **target},
        limits={"cpu": CPU, "wall": 600.0},
    )
    (folder / "target.py").write_text(TARGET.format(loads=str(folder / "loads")))
    return Scenario.read(path)


@pytest.mark.parametrize("kind", KINDS)
def test_a_loaded_target_answers_as_one_that_is_started(tmp_path: Path, kind: str) -> None:
    """A forked run would see what another did, escape its limits, or answer otherwise than a run in
    a new process.
    """
    outcomes: dict[bool, list[Outcome]] = {}
    for warm in (False, True):
        scenario = written(tmp_path / str(warm), warm=warm)
        caller, default = Caller(scenario), scenario.space.default()
        with Slot(**KINDS[kind]) as slot:
            outcomes[warm] = [
                execute(slot, caller, default, scenario.instances[0], seed)
                for seed in (1, 2, 3, 4, 6, 7, 8, 9)
            ]
    for cold, hot in zip(outcomes[False], outcomes[True], strict=True):
        assert (hot.status, hot.value, hot.detail) == (cold.status, cold.value, cold.detail)
        assert hot.exit_code == cold.exit_code
    loads = [len((tmp_path / str(warm) / "loads").read_text()) for warm in (False, True)]
    assert loads[0] == 8
    assert loads[1] < 8
    assert outcomes[True][2].cpu >= CPU
    Path("/tmp/truecost-left").unlink(missing_ok=True)


def test_a_loaded_target_that_is_killed_is_loaded_again(tmp_path: Path) -> None:
    """Runs after one that killed its parent would be lost."""
    scenario = written(tmp_path, warm=True)
    caller, default = Caller(scenario), scenario.space.default()
    with Slot() as slot:
        values = [
            execute(slot, caller, default, scenario.instances[0], seed).value
            for seed in (1, 5, 8, 5, 9)
        ]
    assert values == [1, 5, 8, 5, 9]


def test_a_target_that_cannot_be_loaded_says_why(tmp_path: Path) -> None:
    """An error while loading would hang, or have no message."""
    scenario = written(tmp_path, warm=True)
    (tmp_path / "target.py").write_text("import no_such_module\ndef solve(seed): return 1\n")
    with Slot() as slot:
        caller, default = Caller(scenario), scenario.space.default()
        outcome = execute(slot, caller, default, scenario.instances[0], 1)
    assert outcome.status == Status.CRASHED
    assert "no_such_module" in outcome.detail


def test_a_function_gets_what_it_names() -> None:
    """A function would be called without what it asks for, or with what it does not know."""

    def plain(seed: int, *, instance: str, **_: object) -> int:
        return seed + len(instance)

    @wraps(plain)
    def counted(*values: object, **named: object) -> object:
        return plain(*values, **named)  # type: ignore[arg-type]

    class Solver:
        def solve(self, seed: int, *rest: int) -> int:
            return seed + len(rest)

        def __call__(self, configuration: object) -> object:
            return configuration

    assert parameters(plain) == parameters(counted) == ({"seed", "instance"}, True)
    assert parameters(lambda seed=1: seed) == ({"seed"}, False)
    assert parameters(Solver().solve)[0] >= {"seed"}
    assert parameters(Solver()) == ({"configuration"}, False)
    assert parameters(partial(plain, 3)) == ({"instance"}, True)


@pytest.mark.parametrize("warm", [False, True])
def test_a_function_for_smac3_is_called(tmp_path: Path, warm: bool) -> None:
    """A target function of SMAC3, `train(config, …)` with additional information in its answer,
    would crash.
    """
    scenario = written(tmp_path, warm=warm)
    (tmp_path / "target.py").write_text(
        "def solve(config, instance, seed):\n    return seed + len(config), {'info': instance}\n"
    )
    with Slot() as slot:
        caller, default = Caller(scenario), scenario.space.default()
        outcome = execute(slot, caller, default, scenario.instances[0], 40)
    assert (outcome.status, outcome.value) == (Status.SOLVED, 40 + len(default.values))


def test_warm_is_for_python(tmp_path: Path) -> None:
    """A command would be said to be loaded, and be started each time."""
    target = {"kind": "wrapper", "command": ["./solver.sh"], "warm": True}
    with pytest.raises(InputError, match=r"target\.warm: expected only with kind = 'python'"):
        Scenario.read(scenarios.write(tmp_path, target=target))


def test_a_gather_with_loaded_targets(tmp_path: Path) -> None:
    """Rows would be missing, or be of another instance."""
    scenario = written(tmp_path, warm=True)
    (tmp_path / "target.py").write_text(
        "def solve(instance, seed): return int(open(instance).read()) + seed % 100 / 1000\n"
    )
    scenario = Scenario.read(scenario.path)
    gather(
        scenario, tmp_path / "a.db", configurations=3, runs=3, pool=2, pin=False, keep_going=True
    )
    with Journal.read(tmp_path / "a.db") as journal:
        table = journal.table()
    assert len(table.status) == 45
    for place, seed, value in zip(table.instance, table.seed, table.value, strict=True):
        size = int(Path(tmp_path / table.instances[place]).read_text())
        assert value == pytest.approx(size + seed % 100 / 1000)
