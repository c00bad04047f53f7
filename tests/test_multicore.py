"""Runs on several cores, limits of containers, conditions of machines, and files that are kept."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import scenarios
from commands import Run as RunCommand

from truecost import InputError, Journal, Scenario, gather
from truecost.running import machine, slots
from truecost.running._processes import PROCESSES, Group
from truecost.running.slots import Slot
from truecost.running.tables import Limits

FREE: dict[str, Any] = {"pool": 2, "pin": False, "keep_going": True}
KEEPING = """#!/bin/sh
echo "proof of $1" > "$TMPDIR/proof.drat"
ln -s /etc/passwd "$TMPDIR/link"
mkfifo "$TMPDIR/pipe"
head -c 3000000 /dev/zero > "$TMPDIR/large"
"""


def tree(folder: Path, files: Mapping[str, str]) -> Path:
    """A folder with these files."""
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


@pytest.fixture
def eight_cores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The processors of a machine with two memory nodes of four cores, two threads each: 0–7 are
    first threads, 8–15 their siblings, and even ones are near node 0.
    """
    folder = tmp_path / "cpu"
    for number in range(16):
        first = number % 8
        tree(
            folder / f"cpu{number}",
            {
                "topology/thread_siblings_list": f"{first},{first + 8}\n",
                "topology/physical_package_id": f"{first % 2}\n",
                f"node{first % 2}/x": "",
                "cpufreq/scaling_governor": "powersave\n",
                "thermal_throttle/core_throttle_count": "2\n",
            },
        )
    tree(folder, {"intel_pstate/no_turbo": "0\n"})
    monkeypatch.setattr(machine, "PROCESSORS", folder)
    monkeypatch.setattr(machine, "CONTROL_GROUPS", tmp_path / "groups")
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(16)))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


@pytest.mark.usefixtures("eight_cores")
def test_cores_of_a_run_are_near_each_other() -> None:
    """Threads of one solver would be on two memory nodes, or two of them on one core."""
    with machine.claimed_cores(None, 2) as claimed:
        assert claimed == [(0, 2), (4, 6), (1, 3), (5, 7)]
    with machine.claimed_cores(2, 3) as claimed:
        assert claimed == [(0, 2, 4), (1, 3, 5)]
        # What is left on each node makes one more, better than none.
        with machine.claimed_cores(1, 2) as spare:
            assert spare == [(6, 7)]
    with (
        pytest.raises(InputError, match=r"at most 2 `workers`, each with the 4 cores"),
        machine.claimed_cores(3, 4),
    ):
        pass
    with (
        machine.claimed_cores(1),
        pytest.raises(InputError, match="another truecost"),
        machine.claimed_cores(2, 4),
    ):
        pass


def test_quotas_of_containers_count(eight_cores: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A container with the time of two processors would run eight solvers at once, each slowed
    down, or promise memory that it does not have.
    """
    assert len(machine.cores()) == 8
    text = "0::/job/step\n5:memory:/a\n4:cpu,cpuacct:/b\n"
    real = machine._text
    monkeypatch.setattr(
        machine, "_text", lambda path: text if str(path) == "/proc/self/cgroup" else real(path)
    )
    assert machine.processors_allowed() is None
    groups = tree(eight_cores / "groups", {"job/cpu.max": "250000 100000\n"})
    tree(groups, {"job/step/cpu.max": "max 100000\n", "job/memory.max": "1000000\n"})
    assert machine.processors_allowed() == 2.5
    assert machine.cores() == [0, 1]
    assert machine.memory_allowed() == 1_000_000
    # Version 1, of which -1 is no limit.
    tree(groups, {"cpu/b/cpu.cfs_quota_us": "50000\n", "cpu/cpu.cfs_quota_us": "-1\n"})
    tree(groups, {"memory/a/memory.limit_in_bytes": "900000\n"})
    assert machine.cores() == [0]
    assert machine.memory_allowed() == 900_000


@pytest.mark.usefixtures("eight_cores")
def test_conditions_of_a_machine() -> None:
    """Nobody could tell later why the same runs took longer on another day."""
    state = machine.conditions()
    assert state.pop("load") == pytest.approx(os.getloadavg()[0], abs=5)
    assert state == {"governor": "powersave", "turbo": "on", "throttled": 32}


def test_conditions_are_in_the_journal(
    tmp_path: Path, run: RunCommand, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The conditions would be lost with the process that saw them."""
    states = iter(
        [{"load": 1.5, "throttled": 3, "governor": "powersave"}, {"load": 0.5, "throttled": 5}]
    )
    scenario = Scenario.read(scenarios.write(tmp_path))
    for runs in (1, 2):
        state = next(states)
        machine._this_machine.cache_clear()
        monkeypatch.setattr(machine, "conditions", lambda state=state: state)
        gather(scenario, tmp_path / "a.db", configurations=1, instances=2, runs=runs, **FREE)
    machine._this_machine.cache_clear()
    with Journal.read(tmp_path / "a.db") as journal:
        (state,) = journal.conditions()
    assert state == {"load": [0.5, 1.5], "throttled": 2, "governor": "powersave"}
    told = run("info", tmp_path / "a.db").stdout
    assert "governor powersave; load 0.5 to 1.5; throttled 2 times" in " ".join(told.split())


def test_a_run_has_its_cores_and_counts_their_time() -> None:
    """A solver with two threads would share one core, or be charged for one of them only."""
    usable = machine.cores()[:2]
    if len(usable) < 2:
        pytest.skip("one core here")
    script = (
        "import os, time; print(sorted(os.sched_getaffinity(0)), flush=True); os.fork()\n"
        "end = time.process_time() + 0.2\nwhile time.process_time() < end: pass\n"
        "os.wait() if os.getpid() == os.getpgrp() else None"
    )
    limits = Limits(cpu=60.0, wall=600.0, cores=2)
    with Slot(cores=usable) as slot:
        ended = slot.run(["python3", "-S", "-c", script], folder=Path("/"), limits=limits)
    assert json.loads(ended.stdout) == usable
    assert ended.cpu >= 0.4


def test_a_scenario_with_cores(tmp_path: Path) -> None:
    """limits.cores would change nothing, or make journals without it another scenario's."""
    plain = Scenario.read(scenarios.write(tmp_path / "a"))
    assert "cores" not in plain.fingerprint()["limits"]
    limits = {"cpu": 5.0, "wall": 600.0, "cores": len(machine.cores()) + 1}
    scenario = Scenario.read(scenarios.write(tmp_path / "b", limits=limits))
    assert scenario.fingerprint()["limits"]["cores"] == limits["cores"]
    with pytest.raises(InputError, match=r"at most 0 `workers`"):
        gather(scenario, tmp_path / "b.db", configurations=1, runs=1)


@pytest.mark.parametrize("own_folder", [False, True])
def test_files_that_are_kept(tmp_path: Path, own_folder: bool) -> None:
    """A proof would be gone with the run's folder; or a link, a pipe or a huge file be read."""
    target = {
        "kind": "wrapper",
        "command": ["./solver.sh"],
        "own_folder": own_folder,
        "keep": ["proof.drat", "link", "pipe", "large", "missing"],
    }
    limits = {"cpu": 5.0, "wall": 600.0, "keep": 1.0}
    path = scenarios.write(tmp_path, target=target, limits=limits)
    solver = KEEPING.replace("$TMPDIR", ".") if own_folder else KEEPING
    (tmp_path / "solver.sh").write_text(solver + scenarios.TARGET.removeprefix("#!/bin/sh\n"))
    gather(Scenario.read(path), tmp_path / "a.db", configurations=2, instances=2, runs=1, **FREE)
    kept = sorted((tmp_path / "a.db.files").rglob("*.drat"))
    assert len(kept) == 4
    assert all(file.read_text().startswith("proof of ") for file in kept)
    names = {file.name for file in (tmp_path / "a.db.files").rglob("*") if file.is_file()}
    assert names == {"proof.drat"}


@pytest.mark.parametrize("name", ["/etc/passwd", "../secret", ""])
def test_files_that_are_not_the_runs_own_are_refused(tmp_path: Path, name: str) -> None:
    """A scenario could copy any file of the machine next to a journal."""
    target = {"kind": "wrapper", "command": ["./solver.sh"], "keep": [name]}
    with pytest.raises(InputError, match=r"target\.keep: expected names of files"):
        Scenario.read(scenarios.write(tmp_path, target=target))


def group(folder: Path, **files: str) -> Path:
    """The files of a control group; what the kernel does with them is not tried here."""
    names = {"cgroup.procs": "", "cpu.stat": "usage_usec 5\n"}
    return tree(folder, {**names, **{name.replace("_", "."): text for name, text in files.items()}})


def test_limits_of_a_control_group(tmp_path: Path) -> None:
    """The kernel's limits would not be set, or a run that it ended pass for a crash."""
    folder = group(
        tmp_path,
        memory_max="max",
        memory_events="low 0\noom_kill 3\n",
        pids_max="max",
    )
    tree(folder, {"memory.oom.group": "0", "memory.swap.max": "max"})
    control = Group(str(folder), namespace=False)
    assert control.limits_memory
    assert control.limits_processes
    assert (folder / "pids.max").read_text() == str(PROCESSES)
    assert (folder / "memory.oom.group").read_text() == "1"
    assert (folder / "memory.swap.max").read_text() == "0"
    control.begin(1234)
    assert (folder / "memory.max").read_text() == "1234"
    assert not control.out_of_memory()
    (folder / "memory.events").write_text("low 0\noom_kill 4\n")
    assert control.out_of_memory()
    control.begin(None)
    assert (folder / "memory.max").read_text() == "max"
    assert not control.out_of_memory()


def test_a_control_group_without_limits(tmp_path: Path) -> None:
    """A kernel without the controllers would stop every run."""
    control = Group(str(group(tmp_path)), namespace=False)
    control.begin(1234)
    assert not any((control.limits_memory, control.limits_processes, control.out_of_memory()))
    assert not (tmp_path / "memory.max").exists()


def test_controllers_are_handed_down(tmp_path: Path) -> None:
    """Groups below ours would have no limits, though the kernel offers them."""
    tree(tmp_path, {"cgroup.controllers": "cpu memory pids\n", "cgroup.subtree_control": "cpu\n"})
    slots._delegate(tmp_path)
    assert (tmp_path / "cgroup.subtree_control").read_text() == "+memory +pids"


@pytest.mark.parametrize("options", [{}, {"group": False}, {"namespace": False}])
@pytest.mark.parametrize("place", ["tmpfs", "memfd", "segment"])
def test_memory_that_is_no_process_s_counts(options: dict[str, Any], place: str) -> None:
    """A run would have as much memory as it likes in /dev/shm, in memory files or in segments."""
    script = {
        "tmpfs": "f = open('/dev/shm/x', 'wb')\nfor _ in range(64): f.write(bytes(1 << 20))",
        "memfd": (
            "import os; f = os.memfd_create('x')\nfor _ in range(64): os.write(f, bytes(1 << 20))"
        ),
        "segment": (
            "import ctypes; c = ctypes.CDLL(None); c.shmat.restype = ctypes.c_void_p\n"
            "i = c.shmget(1, 1 << 26, 0o1600); a = c.shmat(i, None, 0)\n"
            "ctypes.memset(a, 1, 1 << 26); c.shmdt(ctypes.c_void_p(a))"
        ),
    }[place]
    limits = Limits(cpu=60.0, wall=60.0, memory=50.0)
    words = ["python3", "-S", "-c", f"{script}\nimport time; time.sleep(50)"]
    with Slot(**options) as slot:
        if "tmp" not in slot.method:
            pytest.skip("no mount namespaces here")
        ended = slot.run(words, folder=Path("/"), limits=limits)
        again = slot.run(["true"], folder=Path("/"), limits=limits)
    # The private file system is no larger than the limit, and may be full before we look.
    full = place == "tmpfs" and b"No space left" in ended.stderr
    assert full or ended.exceeded == "memory"
    assert full or ended.memory > 50_000_000
    assert again.memory < 30_000_000
