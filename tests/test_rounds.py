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


def test_rounds_continue_where_they_stopped(
    scenario: Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rounds that are packed would be run again, or a later session lose or change them."""
    folder = tmp_path / "rounds"
    folder.mkdir()
    # How long runs take depends on the machine: here every calibration is as long as any other.
    monkeypatch.setattr(rounds, "calibrate", lambda _scenario: np.ones((2, 2)))
    np.save(folder / "reference.npy", np.ones((2, 2)))
    configurations, instances, runs = SIZES
    rounds.gather(scenario, folder, (configurations, instances, 1), None)
    before = [packed.arrays for packed in rounds.read_all(folder)]
    assert [arrays["cpu"].shape for arrays in before] == [(configurations, 1)] * instances
    rounds.gather(scenario, folder, SIZES, None)
    after = [packed.arrays for packed in rounds.read_all(folder)]
    for old, new in zip(before, after, strict=True):
        assert new["cpu"].shape == new["status"].shape == (configurations, runs)
        assert (new["cpu"][:, :1] == old["cpu"]).all()
        assert new["ended"][0] == old["ended"][0]
    rounds.assemble(scenario.path, folder, str(tmp_path / "whole"))
    matrix = CostMatrix.load(tmp_path / "whole.npz")
    assert matrix.shape == SIZES
    assert matrix.seeds is not None
    assert matrix.seeds[0, 1, 1] == scenario.run_seed(matrix.instances[1], 1)


def test_rounds_of_a_busy_machine_do_not_count(
    scenario: Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Inflated CPU times would be packed: a round would count though a calibration beside it took
    too long.
    """
    calibrations = iter([1.0, 1.2, 1.2, 1.04, 1.04])
    monkeypatch.setattr(rounds, "PAUSE", 0.0)
    monkeypatch.setattr(rounds, "calibrate", lambda _scenario: np.full((2, 2), next(calibrations)))
    np.save(tmp_path / "reference.npy", np.ones((2, 2)))
    rounds.gather(scenario, tmp_path, (2, 1, 1), None)
    (packed,) = rounds.read_all(tmp_path)
    assert packed.arrays["ratios"] == pytest.approx(np.array([[1.04, 1.04]]))
    assert next(calibrations, None) is None
