"""Cores, claimed by one truecost at a time, and the quotas of containers."""

import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from truecost.errors import InputError
from truecost.running import machine


def tree(folder: Path, files: Mapping[str, str]) -> Path:
    """A folder with these files."""
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


@pytest.fixture
def eight_cores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The processors of a machine with eight cores, two threads each: 8–15 are second threads."""
    folder = tmp_path / "cpu"
    for number in range(16):
        siblings = f"{number % 8},{number % 8 + 8}\n"
        tree(folder / f"cpu{number}", {"topology/thread_siblings_list": siblings})
    monkeypatch.setattr(machine, "PROCESSORS", folder)
    monkeypatch.setattr(machine, "CONTROL_GROUPS", tmp_path / "groups")
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(16)))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


@pytest.mark.usefixtures("eight_cores")
def test_cores_are_claimed_once() -> None:
    """Two campaigns would put their solvers on the same cores, or two threads on one core."""
    with machine.claimed_cores(None) as claimed:
        assert claimed == [(core,) for core in range(8)]
        with pytest.raises(InputError, match="another truecost"), machine.claimed_cores(1):
            pass
    with machine.claimed_cores(2, 3) as claimed:
        assert claimed == [(0, 1, 2), (3, 4, 5)]
        with machine.claimed_cores(1, 2) as spare:
            assert spare == [(6, 7)]
    with machine.claimed_cores(None, 3) as claimed:
        assert len(claimed) == 2
        # What is left over is given back.
        with machine.claimed_cores(2) as spare:
            assert spare == [(6,), (7,)]
    with (
        pytest.raises(InputError, match="3 workers need 12 cores"),
        machine.claimed_cores(3, 4),
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
    # Version 1, where -1 is no limit.
    tree(groups, {"cpu/b/cpu.cfs_quota_us": "50000\n", "cpu/cpu.cfs_quota_us": "-1\n"})
    tree(groups, {"memory/a/memory.limit_in_bytes": "900000\n"})
    assert machine.cores() == [0]
    assert machine.memory_allowed() == 900_000
