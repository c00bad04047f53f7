import json
from pathlib import Path

import numpy as np
import pytest
import scenarios

from bench import rounds
from truecost import CostMatrix, Scenario

SIZES = (3, 2, 2)


@pytest.fixture
def scenario(tmp_path: Path) -> Scenario:
    """A scenario whose runs take no time."""
    target = {"kind": "command", "command": ["/bin/true", "{instance}", "{arguments}"]}
    return Scenario.read(scenarios.write(tmp_path, target=target, metric={"kind": "par"}))


def test_rounds_continue_where_they_stopped(scenario: Scenario, tmp_path: Path) -> None:
    """Rounds that are packed would be run again, or a later session lose or change them."""
    folder = tmp_path / "rounds"
    folder.mkdir()
    configurations, instances, runs = SIZES
    rounds.gather(scenario, folder, (configurations, instances, 1))
    before = [packed.arrays for packed in rounds.read_all(folder)]
    assert [arrays["cpu"].shape for arrays in before] == [(configurations, 1)] * instances
    rounds.gather(scenario, folder, SIZES)
    after = [packed.arrays for packed in rounds.read_all(folder)]
    for old, new in zip(before, after, strict=True):
        assert new["cpu"].shape == new["status"].shape == (configurations, runs)
        assert (new["cpu"][:, :1] == old["cpu"]).all()
        assert new["ended"][0] == old["ended"][0]
    rounds.rerun(scenario, folder)
    rounds.assemble(scenario.path, folder, str(tmp_path / "whole"))
    matrix = CostMatrix.load(tmp_path / "whole.npz")
    assert matrix.shape == SIZES
    assert matrix.seeds is not None
    assert matrix.seeds[0, 1, 1] == scenario.run_seed(matrix.instances[1], 1)


def test_rerun_tells_slow_blocks_apart(
    scenario: Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """CPU times that a busy machine inflated would be shipped: a block whose gathered runs took
    twice as long as their repetitions would pass.
    """
    monkeypatch.setattr(rounds, "BLOCK", 1)
    rounds.gather(scenario, tmp_path, SIZES)
    files = rounds.read_all(tmp_path)
    for packed, factor in zip(files, (1, 1000), strict=True):
        packed.arrays["cpu"] *= factor
        np.savez_compressed(packed.path, **packed.arrays)
    rounds.rerun(scenario, tmp_path)
    normal, slow = json.loads((tmp_path / "rerun.json").read_text())["blocks"]
    assert slow > 50 * normal
