"""Logs of SMAC3 1.x, which SMAC3 1.4 wrote, and of SMAC 2 and ParamILS, which cannot be installed
here: files as their sources write them.
"""

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import run

from truecost import import_runs
from truecost.errors import InputError
from truecost.runs import Status

DATA = Path(__file__).parent / "data" / "smac1"
HEADER = (
    "Run Number,Run History Configuration ID,Instance ID,Response Value (y),Censored?,"
    "Cutoff Time Used,Seed,Runtime,Run Length,Run Result Code,Run Quality,SMAC Iteration,"
    "SMAC Cumulative Runtime,Run Result,Additional Algorithm Run Data,Wall Clock Time,\n"
)
ROWS = [
    (1, 1, 1, 0, 5, 7, 1.5, "SAT"),
    (2, 1, 2, 0, 5, 8, 5.0, "TIMEOUT"),
    (3, 2, 1, 0, 5, 7, 0.5, "SAT"),
    (4, 2, 2, 1, 2, 8, 2.0, "TIMEOUT"),
    (5, 3, 1, 0, 5, 7, 0.7, "CRASHED"),
    (6, 2, 3, 0, 5, 9, 1.0, "UNSAT"),
    (7, 2, 3, 0, 5, 10, 1.25, "SAT"),
]


def state(folder: Path) -> Path:
    """A state folder of SMAC 2, with an older iteration beside the last."""
    place = folder / "scenario" / "state-run1"
    place.mkdir(parents=True)
    lines = [
        f"{number},{configuration},{instance},{seconds},{censored},{cap},{seed},{seconds},0,1,"
        f"{seconds / 2},1,0,{word},,{seconds},\n"
        for number, configuration, instance, censored, cap, seed, seconds, word in ROWS
    ]
    (place / "runs_and_results-it2.csv").write_text(HEADER + lines[0])
    (place / "runs_and_results-it12.csv").write_text(HEADER + "".join(lines))
    (place / "paramstrings-it12.txt").write_text(
        "1: alpha='1.0', heur='a'\n2: alpha='0.5', heur='b'\n3: alpha='9', heur='b'\n"
    )
    (place / "instances.txt").write_text("inst/a.cnf\ninst/b.cnf 12\ninst/c.cnf\n")
    return folder


def test_a_state_folder(tmp_path: Path) -> None:
    """A capped run would count as a timeout, or the runs of an older iteration be read."""
    log = import_runs(state(tmp_path))
    matrix = log.matrix
    assert matrix.configurations == ("1", "2", "3")
    assert matrix.instances == ("inst/a.cnf", "inst/b.cnf", "inst/c.cnf")
    assert (matrix.low, matrix.high, matrix.cutoff) == (0, 50, 5)
    nan = np.nan
    np.testing.assert_array_equal(
        matrix.costs,
        [[[1.5, nan], [50, nan], [nan, nan]], [[0.5, nan], [2, nan], [1, 1.25]],
         [[50, nan], [nan, nan], [nan, nan]]],
    )  # fmt: skip
    assert matrix.statuses is not None
    assert matrix.statuses[1, 1, 0] == Status.CENSORED
    assert matrix.statuses[2, 0, 0] == Status.CRASHED
    assert log.parameters["2"] == {"alpha": "0.5", "heur": "b"}
    assert (log.trajectory.default, log.trajectory.incumbent) == ("1", "2")
    quality = import_runs(tmp_path, objective="quality", low=0, high=9).matrix
    assert quality.costs[1, 2].tolist() == [0.5, 0.625]


def test_the_last_incumbent_of_a_state_folder(tmp_path: Path) -> None:
    """The winner would be the configuration that the last challenger has beaten: it has as many
    runs, and a higher mean.
    """
    cells = [(1, 1, 2.0), (1, 2, 4.0), (2, 1, 1.0), (2, 2, 2.0), (3, 1, 1.5), (4, 1, 0.5)]
    (tmp_path / "runs_and_results-it1.csv").write_text(
        HEADER
        + "".join(
            f"{number},{name},{instance},{cost},0,5,7,{cost},0,1,0,1,0,SAT,,{cost},\n"
            for number, (name, instance, cost) in enumerate(cells, 1)
        )
    )
    trajectory = import_runs(tmp_path).trajectory
    assert trajectory.incumbent == "2"
    assert [(step.runs, *step.configurations) for step in trajectory.steps] == [(1, "1"), (4, "2")]


@pytest.mark.parametrize("cells", ["", "1,1,,1,0,,1,1,0,1,0,1,1,SAT,,1,\n"])
def test_a_state_folder_without_runs(tmp_path: Path, cells: str) -> None:
    """No run, or one without a cutoff, would end in a traceback."""
    (tmp_path / "runs_and_results-it1.csv").write_text(HEADER + cells)
    with pytest.raises(InputError, match=r"finished runs|Give the `cutoff`"):
        import_runs(tmp_path)


def test_a_state_folder_that_is_damaged(tmp_path: Path) -> None:
    """A table without a column would end in a traceback."""
    path = state(tmp_path) / "scenario" / "state-run1" / "runs_and_results-it12.csv"
    path.write_text(HEADER.replace("Censored?", "Maybe") + "1\n")
    answer = run("import", tmp_path)
    assert answer.returncode == 2
    assert answer.stderr.count("\n") == 1


def history(folder: Path, rows: list[Any], scenario: str = "") -> Path:
    """A folder of SMAC3 1.x."""
    stored = {
        "data": rows,
        "config_origins": {"1": "Default", "2": "Random Search"},
        "configs": {"1": {"x": 0.5}, "2": {"x": 0.25}},
    }
    (folder / "runhistory.json").write_text(json.dumps(stored))
    (folder / "scenario.txt").write_text(scenario)
    return folder


def trial(
    configuration: int, instance: str, cost: float, seconds: float, word: str, *, budget: float = 0
) -> list[Any]:
    """A row of SMAC3 1.4."""
    enum = {"__enum__": f"StatusType.{word}"}
    return [[configuration, instance, 12345, budget], [cost, seconds, enum, 1.0, 1.0 + seconds, {}]]


@pytest.mark.parametrize("name", ["quality", "runtime"])
def test_smac3_before_2(name: str) -> None:
    """A trial of a real run would be lost or changed, a capped one pass for solved or keep its
    penalty, or the incumbents be unknown.
    """
    log = import_runs(DATA / name, low=0)
    matrix = log.matrix
    with (DATA / f"{name}.csv").open(newline="") as file:
        trials = list(csv.DictReader(file))
    assert int(matrix.counts().sum()) == len(trials) >= 27
    assert matrix.statuses is not None
    assert matrix.seeds is not None
    for row in trials:
        i = matrix.configurations.index(row["configuration"])
        j = matrix.instances.index(row["instance"])
        r = matrix.seeds[i, j].tolist().index(int(row["seed"]))
        capped = row["status"] == "CAPPED"
        assert matrix.costs[i, j, r] == float(row["time" if capped else "cost"])
        status = {"SUCCESS": Status.SOLVED, "CAPPED": Status.CENSORED, "CRASHED": Status.CRASHED}
        assert matrix.statuses[i, j, r] == status[row["status"]]
    assert len({row["status"] for row in trials}) == 2
    trajectory = log.trajectory
    assert (trajectory.tool, trajectory.default) == ("SMAC3 1", "1")
    incumbents = [(step.runs, *step.configurations) for step in trajectory.steps]
    assert incumbents == [(1, "1"), (4, "2"), (13, "4")][: 3 if name == "quality" else 2]
    assert trajectory.incumbent == trajectory.steps[-1].configurations[0]
    assert matrix.cutoff == (3 if name == "runtime" else None)


def test_statuses_of_smac3_before_2(tmp_path: Path) -> None:
    """A status would be read as another one, or a timeout keep the penalty that SMAC put on it."""
    rows = [
        trial(1, "a", 3.0, 3.0, "SUCCESS"),
        trial(1, "b", 50.0, 5.0, "TIMEOUT"),
        trial(2, "a", 1.5, 1.5, "MEMOUT"),
        trial(2, "b", 2.0, 2.0, "RUNNING"),
    ]
    scenario = "run_obj = runtime\ncutoff_time = 5.0\npar_factor = 2\n"
    log = import_runs(history(tmp_path, rows, scenario))
    np.testing.assert_array_equal(log.matrix.costs[:, :, 0], [[3, 10], [10, np.nan]])
    assert log.matrix.statuses is not None
    assert log.matrix.statuses[1, 0, 0] == Status.MEMORY
    assert log.left_out == {"still running": 1}


@pytest.mark.parametrize(
    "row", [[[1], [2]], [[1, "a", 1], [1, 1, "x"]], [[1, "a", 1], [1, 1, {"__enum__": "ODD"}]]]
)
def test_damaged_rows(tmp_path: Path, row: list[Any]) -> None:
    """A row that is no trial would end in a traceback."""
    answer = run("import", history(tmp_path, [row]))
    assert answer.returncode == 2
    assert answer.stderr.count("\n") == 1
