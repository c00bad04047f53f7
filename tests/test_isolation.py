"""Runs that are made at the same time do not see each other's files, whoever starts them."""

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import scenarios

from truecost import Journal, Scenario, gather
from truecost.running import slots
from truecost.running.slots import Slot
from truecost.running.tables import Limits

LIMITS = Limits(cpu=10.0, wall=60.0)
# What careless wrappers do: a name made of the process number, and fixed names in shared places.
CARELESS = """
for place in {places}; do echo $1 > $place; done
sleep 0.1
for place in {places}; do read value < $place && echo $value; done
"""


def careless(*places: str) -> list[str]:
    """A wrapper that writes its argument to these places and reads it again."""
    return ["sh", "-c", CARELESS.format(places=" ".join(places)), "wrapper"]


def told_by_each(made: list[Slot], words: list[str], folder: Path, **options: Any) -> list[str]:
    """What the wrapper read that was given a number of its own, in slots that work together."""

    def work(slot: Slot) -> list[str]:
        values = [f"{slot.pid}-{run}" for run in range(4)]
        ended = [
            slot.run([*words, value], folder=folder, limits=LIMITS, **options) for value in values
        ]
        return [
            f"{value} read {line}"
            for value, end in zip(values, ended, strict=True)
            for line in end.stdout.decode().split()
            if line != value
        ] + [f"{end.stderr!r}" for end in ended if end.exit_code]

    with ThreadPoolExecutor(len(made)) as threads:
        return [line for lines in threads.map(work, made) for line in lines]


@pytest.fixture(params=["namespace", "no namespace", "subreaper"])
def four(request: pytest.FixtureRequest) -> Iterator[list[Slot]]:
    """Four slots that hold runs together in the same way."""
    options: dict[str, Any] = {
        "namespace": {},
        "no namespace": {"namespace": False},
        "subreaper": {"group": False},
    }
    made = [Slot(**options[request.param]) for _ in range(4)]
    yield made
    for slot in made:
        slot.close()


def test_names_made_of_process_numbers_are_different(four: list[Slot], tmp_path: Path) -> None:
    """A run that writes out.$$ into the common folder would read another run's answer."""
    assert told_by_each(four, careless("out.$$"), tmp_path) == []


def test_temporary_files_and_shared_memory_are_private(four: list[Slot], tmp_path: Path) -> None:
    """Fixed names in /tmp and /dev/shm would be shared by all runs of the machine."""
    if any("tmp" not in slot.method for slot in four):
        pytest.skip("no mount namespaces here")
    words = careless("/tmp/truecost-careless", "/dev/shm/truecost-careless")
    assert told_by_each(four, words, tmp_path) == []
    assert not Path("/tmp/truecost-careless").exists()
    assert not Path("/dev/shm/truecost-careless").exists()


def test_a_folder_of_its_own(four: list[Slot], tmp_path: Path) -> None:
    """A fixed name in the working folder would be shared even with runs on other machines."""
    assert told_by_each(four, careless("out"), tmp_path, own_folder=True) == []
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("place", ["/tmp", "/dev/shm"])
def test_what_the_scenario_uses_stays_visible(tmp_path: Path, place: str) -> None:
    """The private folder would hide a solver or an instance in /tmp or /dev/shm, or keep what a run
    writes into the scenario's folder from being there afterwards.
    """
    with (
        tempfile.TemporaryDirectory(dir=place) as folder,
        tempfile.TemporaryDirectory(dir=place) as other,
    ):
        Path(other, "instance").write_text("5\n")
        path = scenarios.write(Path(folder))
        script = Path(folder) / "solver.sh"
        script.write_text(f"#!/bin/sh\ncat {other}/instance > seen.$5\n{scenarios.TARGET[10:]}")
        scenario = Scenario.read(path)
        gather(
            scenario,
            tmp_path / "runs.db",
            configurations=1,
            runs=1,
            pool=2,
            pin=False,
            keep_going=True,
        )
        assert {file.read_text() for file in Path(folder).glob("seen.*")} == {"5\n"}
        with Journal.read(tmp_path / "runs.db") as journal:
            assert len(journal.table().status) == 5


def test_the_journal_says_what_was_active(tmp_path: Path) -> None:
    """Nobody could tell later which runs were kept apart from others."""
    path = scenarios.write(
        tmp_path, target={"kind": "wrapper", "command": ["./solver.sh"], "private": False}
    )
    gather(Scenario.read(path), tmp_path / "a.db", configurations=1, runs=1, pool=1, pin=False)
    with Journal.read(tmp_path / "a.db") as journal:
        assert not any("tmp" in machine.method for machine in journal.machines())
    with Slot() as slot:
        assert "pids" in slot.method


def test_scenarios_of_0_2_have_the_same_fingerprint(tmp_path: Path) -> None:
    """A key that came later would make journals of 0.2 another scenario's."""
    scenario = Scenario.read(scenarios.write(tmp_path))
    assert not {"private", "own_folder", "program"} & set(scenario.fingerprint()["target"])


@pytest.mark.skipif(os.getuid() != 0, reason="root can become somebody else, nobody else can")
@pytest.mark.parametrize("namespace", [True, False])
def test_a_normal_user_is_kept_apart_as_well(namespace: bool) -> None:
    """Only root's runs would be kept apart."""
    python = shutil.which("python3", path="/usr/bin")
    if python is None:
        pytest.skip("no Python here that everybody may start")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o777)
        for script in slots.SUPERVISOR.parent.glob("_*.py"):
            shutil.copy(script, folder)
        options = {
            "cores": None,
            "group": None,
            "namespace": namespace,
            "private": True,
            "temporary": name,
        }
        words = [python, "-I", "-S", str(folder / "_supervisor.py"), json.dumps(options)]
        started = [
            subprocess.Popen(
                words,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                user=65534,
                group=65534,
                extra_groups=[],
            )
            for _ in range(3)
        ]
        hello = [json.loads(process.stdout.readline()) for process in started if process.stdout]
        if "problem" in hello[0]:
            pytest.skip(hello[0]["problem"])
        private = "tmp" in hello[0]["method"]
        assert private or not namespace
        places = ["out.$$", *(["/tmp/truecost-careless", "/dev/shm/truecost-c"] if private else [])]
        request: dict[str, Any] = {
            "environment": {},
            "folder": str(folder),
            "scratch": "nothing",
            "cpu": 10.0,
            "wall": 60.0,
            "memory": None,
            "output": 10**6,
            "grace": 0.0,
            "own_folder": False,
            "keep": [],
            "room": 0,
            "warm": False,
        }
        for place, process in enumerate(started):
            asked = {**request, "arguments": [*careless(*places), str(place)]}
            assert process.stdin is not None
            process.stdin.write(json.dumps(asked).encode() + b"\n")
            process.stdin.flush()
        for place, process in enumerate(started):
            assert process.stdout is not None
            header = json.loads(process.stdout.readline())
            output = process.stdout.read(sum(header["sizes"]))
            assert output.decode() == f"{place}\n" * len(places), header
            process.communicate()


@pytest.mark.parametrize("options", [{}, {"group": False}, {"namespace": False}])
def test_nothing_is_left_for_the_next_run(options: dict[str, Any]) -> None:
    """The mounts of a slot serve several runs: one would read what another wrote, or miss what it
    deleted, changed or unmounted.
    """
    with (
        Slot(**options) as slot,
        tempfile.TemporaryDirectory(dir="/tmp") as other,
        tempfile.TemporaryDirectory(dir="/tmp") as mine,
    ):
        if "tmp" not in slot.method:
            pytest.skip("no mount namespaces here")
        Path(other, "instance").write_text("5\n")

        def output(script: str) -> str:
            return slot.run(["sh", "-c", script], folder=Path(mine), limits=LIMITS).stdout.decode()

        look = (
            f"cat {other}/instance; ls {other}; ls /tmp /dev/shm | grep left; "
            "stat -c %a /tmp; ipcs -m | grep -c '^0x'"
        )
        fresh = output(look)
        for spoiling in (
            "echo 1 > /tmp/left",
            "mkdir -p /tmp/left/a; chmod 0 /tmp/left/a /tmp/left",
            f"echo 6 > {other}/instance",
            f"rm {other}/instance",
            f"echo 1 > {other}/left",
            "chmod 700 /tmp",
            "echo 1 > /dev/shm/left",
            "ipcmk -M 4096",
            "mount -t tmpfs none /tmp; echo 1 > /tmp/left",
            "umount -l /tmp; umount -l /dev/shm",
            "(sleep 0.3; echo 1 > /tmp/left) & setsid sh -c 'sleep 0.2; echo 1 > /tmp/left' &",
        ):
            output(spoiling)
            assert output(look) == fresh, spoiling
        assert Path(other, "instance").read_text() == "5\n"
        # What comes to the real folder is visible at once.
        Path(other, "more").write_text("7\n")
        with tempfile.NamedTemporaryFile(dir="/tmp", prefix="truecost-new-") as new:
            assert set(output(f"ls {new.name} {other}/more").split()) == {
                new.name,
                f"{other}/more",
            }
