"""A gather in parts, for array jobs, and the parts put together."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scenarios
from commands import Run as RunCommand

from truecost import InputError, Journal, Scenario, Status, gather
from truecost.campaigns.gather import design_of, merge, part_of
from truecost.importers.detect import import_runs

FREE: dict[str, Any] = {"pool": 2, "pin": False, "keep_going": True}
SIZE: dict[str, Any] = {"configurations": 3, "instances": 4, "runs": 2}


def test_parts_are_the_whole_once(tmp_path: Path) -> None:
    """A run would be in two parts, or in none."""
    design = design_of(Scenario.read(scenarios.write(tmp_path)), 3, 4, 2)
    parts = [part_of(design, (number, 7)) for number in range(1, 8)]
    assert (np.sum(parts, axis=0) == 1).all()
    sizes = [int(part.sum()) for part in parts]
    assert max(sizes) - min(sizes) <= 1
    with pytest.raises(InputError, match="1 ≤ i ≤ n"):
        part_of(design, (8, 7))


def test_merged_parts_are_a_whole_gather(tmp_path: Path, run: RunCommand) -> None:
    """Parts put together would lack runs or what failed ones printed, have some twice, or give another
    matrix than one gather.
    """
    path = scenarios.write(tmp_path)
    words = ("--configurations", 3, "--instances", 4, "--runs", 2, "--no-pin", "--keep-going")
    names = [tmp_path / f"part{number}.db" for number in (1, 2, 3)]
    for number, name in enumerate(names, 1):
        ended = run("gather", path, "--part", f"{number}/3", "--journal", name, *words, "--json")
        assert ended.returncode == 0, ended.stderr
    merged = [word for name in (*names, names[0]) for word in ("--merge", name)]
    ended = run("gather", path, "--journal", tmp_path / "all.db", *merged, *words, "--json")
    assert ended.returncode == 0, ended.stderr
    scenario = Scenario.read(path)
    # Nothing is left to run, and nothing was run again.
    assert merge(scenario, tmp_path / "all.db", names) == 0
    gather(scenario, tmp_path / "whole.db", **SIZE, **FREE)
    log, whole = import_runs(tmp_path / "all.db"), import_runs(tmp_path / "whole.db")
    assert log.matrix.configurations == whole.matrix.configurations
    assert log.trajectory.default == whole.trajectory.default
    order = [log.matrix.instances.index(name) for name in whole.matrix.instances]
    assert np.array_equal(log.matrix.costs[:, order], whole.matrix.costs, equal_nan=True)
    assert log.matrix.counts().sum() == 24
    with Journal.read(tmp_path / "all.db") as all_parts, Journal.read(names[0]) as part:
        assert sum(failure.runs for failure in part.failures()) > 0
        crashed = [failure for failure in all_parts.failures() if failure.status == "crashed"]
    assert sum(failure.runs for failure in crashed) == np.sum(log.matrix.statuses == Status.CRASHED)
    assert all(failure.command for failure in crashed)


def test_parts_of_another_scenario_are_refused(tmp_path: Path) -> None:
    """Runs of two scenarios would be mixed."""
    scenario = Scenario.read(scenarios.write(tmp_path / "a"))
    other = Scenario.read(scenarios.write(tmp_path / "b", limits={"cpu": 0.2, "wall": 600.0}))
    gather(other, tmp_path / "b.db", **SIZE, part=(1, 8), **FREE)
    with pytest.raises(InputError, match=r"limits\.cpu"):
        merge(scenario, tmp_path / "a.db", [tmp_path / "b.db"])
    with Journal.read(tmp_path / "a.db") as journal:
        assert len(journal.table().status) == 0


@pytest.mark.parametrize("part", ["0/3", "4/3", "3", "a/b", "1/"])
def test_wrong_parts(tmp_path: Path, run: RunCommand, part: str) -> None:
    """A mistyped part would run something else, or end in a traceback."""
    ended = run("gather", scenarios.write(tmp_path), "--part", part)
    assert (ended.returncode, ended.stderr.count("\n")) == (2, 1)
    assert "3/20" in ended.stderr
