"""Logs and tables as people have them, and no example has: what is said of each must be true of it."""

import json
from pathlib import Path

import pytest
import rwriter as r
from commands import Run

from truecost.errors import InputError
from truecost.importers.detect import import_runs

COMMANDS = (["info"], ["audit", "--splits", "20"], ["certify"], ["bound"], ["plan", "--show", "wins"], ["import"])


def log(path: Path, costs: list[list[float]], testing: bytes | None = None, **changes: bytes) -> Path:
    """A log of irace with these costs: a row for each instance, one configuration a column."""
    instances, columns = len(costs), [str(number + 1) for number in range(len(costs[0]))]
    pairs = r.listing({"instance": r.integers(range(1, instances + 1)), "seed": r.integers(range(instances))})
    scenario = {"instances": r.strings([f"{number}.txt" for number in range(instances)]), **changes}
    content = r.irace_log(
        scenario=scenario,
        experiments=r.matrix(costs, [str(number + 1) for number in range(instances)], columns),
        state=r.listing({".irace": r.environment({"instancesList": pairs})}),
        allElites=r.listing([r.integers([1])]),
        iterationElites=r.integers([1]),
        allConfigurations=None,
        experimentLog=None,
        testing=testing,
    )
    path.write_bytes(content)
    return path


def test_costs_of_zero_are_audited(tmp_path: Path, run: Run) -> None:
    """A search all of whose runs cost nothing would end in a traceback: a share of 0 was taken."""
    path = log(tmp_path / "zero.Rdata", [[0.0] * 4] * 6)
    for words in COMMANDS:
        for json_ in ([], ["--json"]):
            ended = run(words[0], path, *words[1:], *json_)
            assert ended.returncode in (0, 1, 2), ended.stderr
    assert "splits of the training instances show nothing" in run("audit", path, "--splits", "20").stdout


def test_nobody_is_said_to_solve_what_is_not_known_to_be_solved(tmp_path: Path, run: Run) -> None:
    """Costs that are no times would be planned for as if runs had been solved, or shown at a highest cost nobody knows."""
    path = log(tmp_path / "quality.Rdata", [[1.0 + i, 2.0 + i] for i in range(6)])
    ended = run("plan", path, "--show", "solved=0.9")
    assert (ended.returncode, ended.stdout) == (2, "")
    assert "--cutoff" in ended.stderr
    assert "highest cost" not in run("info", path).stdout
    assert json.loads(run("info", path, "--json").stdout)["configurations"][0]["not_solved"] is None
    assert run("plan", path, "--show", "solved=0.9", "--cutoff", "20").returncode == 0


def test_test_instances_that_were_trained_on_are_told(tmp_path: Path, run: Run) -> None:
    """Runs on training instances would pass for test runs, or be dropped without a word."""
    costs = [[1.0 + i, 2.0 + i] for i in range(6)]
    tests = r.matrix([[90.0, 90.0], [5.0, 6.0], [7.0, 8.0], [9.0, 8.0]], ["1t", "2t", "3t", "4t"], ["1", "2"])
    path = log(
        tmp_path / "same.Rdata",
        costs,
        r.listing({"experiments": tests}),
        testInstances=r.strings(["0.txt", "7.txt", "8.txt", "8.txt"]),
    )
    found = import_runs(path)
    assert found.test is not None
    assert found.test.instances == ("0.txt", "7.txt", "8.txt")  # one file listed twice is one instance with two runs
    said = json.loads(run("info", path, "--json").stdout)
    assert said["incumbent"]["true_cost"] == pytest.approx((5 + (7 + 9) / 2) / 2)
    assert "Training had seen 1 of these instances" in " ".join(run("info", path).stdout.split())


def test_an_instance_listed_twice_is_one(tmp_path: Path) -> None:
    """The same file twice in irace's list of instances would count as two independent instances."""
    path = log(tmp_path / "twice.Rdata", [[1.0, 2.0]] * 4, instances=r.strings(["a", "b", "a", "c"]))
    found = import_runs(path).matrix
    assert found.instances == ("a", "b", "c")
    assert found.counts().tolist() == [[2, 1, 1]] * 2


def test_a_stopped_search_is_called_so(tmp_path: Path) -> None:
    """The log of an irace that was killed would be read as if it had finished, and an empty one blamed on nobody."""
    pairs = r.listing({"instance": r.integers([1, 2]), "seed": r.integers([1, 2])})
    state = r.listing({".irace": r.environment({"instancesList": pairs}), "completed": r.strings(["Incomplete"])})
    costs = r.matrix([[1.0, 2.0], [3.0, 4.0]], ["1", "2"], ["1", "2"])
    path = tmp_path / "killed.Rdata"
    path.write_bytes(r.irace_log(experiments=costs, state=state, testing=None, allConfigurations=None))
    assert any("had not finished" in note for note in import_runs(path).notes)
    path.write_bytes(r.irace_log(experiments=r.matrix([], [], []), state=state, testing=None))
    with pytest.raises(InputError, match="when its first iteration ends"):
        import_runs(path)
