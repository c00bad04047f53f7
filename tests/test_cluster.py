import json
import subprocess
import sys
from pathlib import Path

import pytest
import scenarios
import validations
from test_configure import toy, way
from test_gather import cells
from test_validate import GENERATED

from truecost import Scenario, import_runs
from truecost.running.configuring import configure
from truecost.running.validating import validate

SCRIPT = Path(__file__).with_name("clustered.py")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[int]]:
    """A folder in which a cluster gathered while its workers were killed, searched and validated; and who was killed."""
    folder = tmp_path_factory.mktemp("cluster")
    gathered, configured = scenarios.write(folder / "gather"), toy(folder / "configure", 6).path
    validated = validations.written(folder / "validate", 0, instances=GENERATED).path
    words = [gathered, folder / "runs.db", 3, configured, folder / "there.db", 60, validated, folder / "validated.db"]
    ended = subprocess.run([sys.executable, SCRIPT, *map(str, words)], capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    return folder, json.loads(ended.stdout)


def test_killed_workers_change_nothing(cluster: tuple[Path, list[int]]) -> None:
    """A worker that is killed would cost a run, or journal one twice."""
    folder, killed = cluster
    assert len(set(killed)) == 3
    assert cells(folder / "runs.db") == scenarios.expected(Scenario.read(folder / "gather" / "scenario.toml"), 6, 5, 8)


def test_a_cluster_ends_where_one_machine_does(cluster: tuple[Path, list[int]], tmp_path: Path) -> None:
    """Runs of a search on Dask workers would lead elsewhere, or lose their place."""
    folder, _ = cluster
    scenario = Scenario.read(folder / "configure" / "scenario.toml")
    configure(scenario, tmp_path / "here.db", budget="60runs", workers=2, pin=False, keep_going=True)
    assert way(folder / "there.db") == way(tmp_path / "here.db")


def test_a_cluster_makes_the_same_instances(cluster: tuple[Path, list[int]], tmp_path: Path) -> None:
    """Workers would run on other instances than those whose seeds the journal names, or stop elsewhere."""
    folder, _ = cluster
    scenario = validations.written(tmp_path, 0, instances=GENERATED)
    found = validate(validations.log(), scenario, tmp_path / "here.db", budget="60runs", workers=2, pin=False)
    there = import_runs(folder / "validated.db").test
    here = found.assessment.test
    assert there is not None
    assert here is not None
    assert there.instances == here.instances
    assert there.costs.tolist() == here.costs.tolist()
