import copy
import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from imports import DATA, codes, costs, load, refused, sentences, statuses, write

from truecost.matrix import Step
from truecost.runs import NO_INSTANCE, Status

SMAC = DATA / "smac"


def test_the_folder_above(tmp_path: Path) -> None:
    """SMAC's output folder, or its run history alone, would not lead to the run."""
    content = (SMAC / "instances" / "runhistory.json").read_bytes()
    below = write(tmp_path / "name" / "3" / "runhistory.json", content)
    assert load(tmp_path).runs == load(below).runs
    write(tmp_path / "name" / "4" / "runhistory.json", content)
    assert "2 runs of SMAC3" in refused(tmp_path)


@pytest.mark.parametrize("name", ["instances", "deterministic", "timeouts"])
def test_every_trial_is_where_smac_has_it(name: str) -> None:
    """A trial of a real run would be lost, or have another configuration, instance, seed, cost or
    end than SMAC holds.
    """
    found = load(SMAC / name, low=-1.0, high=3.0)
    matrix = found.runs
    with (SMAC / f"{name}.csv").open(newline="") as file:
        trials = list(csv.DictReader(file))
    assert int(matrix.counts().sum()) == len(trials) >= 8
    for trial in trials:
        i = matrix.configurations.index(trial["configuration"])
        j = matrix.instances.index(trial["instance"]) if trial["instance"] else 0
        run = 0 if matrix.seeds is None else matrix.seeds[i, j].tolist().index(int(trial["seed"]))
        assert matrix.costs[i, j, run] == min(float(trial["cost"]), 3)
        stopped = Status.TIMEOUT if name == "timeouts" else Status.CRASHED
        expected = Status.SOLVED if trial["status"] == "SUCCESS" else stopped
        assert statuses(matrix)[i, j, run] == expected
    assert found.tool.startswith("SMAC3 2.")
    assert found.incumbent in matrix.configurations
    assert found.adaptive is (name != "timeouts")
    assert found.default == (None if name == "deterministic" else "1")


def test_real_timeouts() -> None:
    """A trial SMAC stopped, which it records as crashed in no time at infinite cost, would not be a
    timeout.
    """
    stored = json.loads((SMAC / "timeouts" / "runhistory.json").read_text())
    stopped = [row for row in stored["data"] if int(row["instance"][1:]) % 2]
    found = load(SMAC / "timeouts", low=0.0, high=5.0).runs
    late = statuses(found) == Status.TIMEOUT
    assert int(late.sum()) == len(stopped) > 0
    assert (found.costs[late] == 5).all()
    timed = load(SMAC / "timeouts", objective="time", par=2.0).runs
    assert timed.high == 2  # twice the limit of a trial
    assert (timed.costs[statuses(timed) == Status.TIMEOUT] == 2).all()
    assert (timed.costs[statuses(timed) == Status.SOLVED] < 1).all()


def row(
    config: int, instance: str | None, seed: int | None, cost: Any, status: int = 1, **more: Any
) -> dict[str, Any]:
    """A trial as SMAC3 2.4 writes it."""
    return {
        "config_id": config,
        "instance": instance,
        "seed": seed,
        "budget": None,
        "cost": cost,
        "time": 0.0 if status == 3 else 1.0,
        "cpu_time": 1e-5,
        "status": status,
        "starttime": 100.0,
        "endtime": 102.5,
        "additional_info": {},
    } | more


ROWS = [
    row(1, "a", 5, 1.0),
    row(1, "b", 5, 2.0),
    row(2, "a", 5, 3.0),
    row(2, "a", 9, float("inf"), 3),
    row(2, "b", 5, 0.0, 0),
]
HISTORY: dict[str, Any] = {
    "stats": {"submitted": 5, "finished": 4, "running": 1},
    "data": ROWS,
    "configs": {"1": {"x": 0.5}, "2": {"x": 1.0}},
    "config_origins": {"1": "Initial Design: Default", "2": "Random Search"},
}


def folder_of(path: Path, history: Any = HISTORY, **others: Any) -> Path:
    """A folder as SMAC leaves it; a list is the rows of a history."""
    history = HISTORY | {"data": history} if isinstance(history, list) else history
    for name, content in {"runhistory": history, **others}.items():
        text = content if isinstance(content, str) else json.dumps(content)
        write(path / f"{name}.json", text)
    return path


@pytest.mark.parametrize("without", [None, {"cpu_time"}, set()])
def test_rows_of_every_version(tmp_path: Path, without: set[str] | None) -> None:
    """Rows as lists, with and without the CPU time, would be read differently from rows as objects."""
    rows: list[Any] = ROWS
    if without is not None:
        rows = [[value for name, value in trial.items() if name not in without] for trial in ROWS]
    found = load(folder_of(tmp_path, rows), low=0.0, high=10.0)
    nan = np.nan
    expected = [[[1, nan], [2, nan]], [[3, 10], [nan, nan]]]
    np.testing.assert_array_equal(found.runs.costs, expected)
    assert statuses(found.runs)[1, 0].tolist() == [Status.SOLVED, Status.TIMEOUT]
    assert "Left out: 1 trial still running." in sentences(found)


def test_common_seeds_stand_in_line(tmp_path: Path) -> None:
    """The same seed would stand at different places for two configurations, and comparisons by seed
    be wrong.
    """
    rows = [row(1, "a", 5, 1.0), row(1, "a", 9, 2.0), row(2, "a", 9, 3.0)]
    found = load(folder_of(tmp_path, rows)).runs
    np.testing.assert_array_equal(found.costs, [[[1, 2]], [[np.nan, 3]]])


def test_objectives(tmp_path: Path) -> None:
    """With several costs a trial, one would be taken without being asked for, or a wrong one."""
    rows = [row(1, "a", 5, [1.0, 20.0]), row(2, "a", 5, [3.0, 40.0])]
    path = folder_of(tmp_path, rows, scenario={"objectives": ["time", "size"]})
    assert "--objective: time, size" in refused(path)
    for wanted in ("size", "1"):
        assert costs(path, objective=wanted) == [[20], [40]]
    # The objective is called so; without one, it is the elapsed time.
    assert costs(path, objective="time") == [[1], [3]]
    assert "'speed'" in refused(path, objective="speed")


def test_a_front_of_incumbents(tmp_path: Path) -> None:
    """Of several objectives, the first of SMAC's incumbents would be called the winner in each."""
    path = folder_of(
        tmp_path,
        [row(1, "a", 5, [1.0, 40.0]), row(2, "a", 5, [3.0, 20.0])],
        scenario={"objectives": ["speed", "size"]},
        intensifier={"incumbent_ids": [1, 2], "trajectory": [{"config_ids": [1, 2], "trial": 2}]},
    )
    for objective, winner in (("speed", "1"), ("size", "2")):
        log = load(path, objective=objective)
        assert log.incumbent == winner == log.steps[-1].configuration
        assert "front" in codes(log)


def test_failures_are_told(tmp_path: Path) -> None:
    """Crashed trials would count as something without a word."""
    path = folder_of(tmp_path, [row(1, "a", 5, 1.0), row(2, "a", 5, float("inf"), 2)])
    log = load(path)
    assert log.runs.costs.max() == 1
    assert "the largest cost seen" in sentences(log)
    log = load(path, cutoff=5.0)
    assert log.runs.costs.max() == 50
    assert "Counted as 10 × the cutoff: 1 crashed run." in sentences(log)
    log = load(folder_of(tmp_path, [row(1, "a", 5, 1.0), row(2, "a", 5, 9.0, 2)]))
    assert log.runs.costs.max() == 9
    assert "as recorded: 1 failed run" in sentences(log)


def test_budgets(tmp_path: Path) -> None:
    """Costs at different budgets would be mixed, or left out without a word."""
    budgets = ((1, 1), (1, 3), (2, 1), (2, 3), (2, 9))
    rows = [row(c, None, 0, 10.0 * c + b, budget=float(b)) for c, b in budgets]
    found = load(folder_of(tmp_path, rows))
    assert found.runs.configurations == ("2",)
    assert found.runs.instances == (NO_INSTANCE,)
    assert "Left out: 4 trials below the highest budget, 9." in sentences(found)
    # The default has no runs at that budget.
    assert found.default is None
    assert "no runs" in codes(found)


def test_par_and_cutoff(tmp_path: Path) -> None:
    """Timeouts would lose their meaning: censored at the cutoff, then charged PARk."""
    path = folder_of(tmp_path / "p")
    found = load(path, cutoff=2.5, par=10.0)
    assert (found.runs.low, found.runs.high, found.runs.cutoff) == (0, 25, 2.5)
    np.testing.assert_array_equal(found.runs.costs[1, 0], [25, 25])  # 3.0 is after the cutoff
    assert "overran" in codes(found)
    capped = folder_of(tmp_path / "c", scenario={"runtime_cutoff": 4})
    assert load(capped, par=2.0).runs.high == 8
    assert "Give the cutoff" in refused(path, par=10.0)
    assert "Leave out --low and --high" in refused(path, cutoff=5.0, high=10.0)
    assert load(path).runs.width == np.inf


def test_capped_trials_are_censored(tmp_path: Path) -> None:
    """A trial that SMAC's capping stopped would count as solved, or as a timeout."""
    info = {"additional_info": {"cutoff": 2.0}}
    rows = [row(1, "a", 5, 1.0), row(2, "a", 5, 2.0, 1, **info), row(2, "b", 5, 4.0, 3)]
    scenario = {"runtime_cutoff": 4}
    found = load(folder_of(tmp_path, rows, scenario=scenario)).runs
    assert found.censored.sum() == 1
    assert found.costs[1, :, 0].tolist() == [2, 40]
    assert "capping" in codes(load(folder_of(tmp_path, rows[:1], scenario=scenario)))


def test_the_default_by_its_values(tmp_path: Path) -> None:
    """A default that no origin names would not be known although its values are the defaults of the
    space.
    """
    space = {
        "hyperparameters": [
            {"name": "x", "default_value": 1.0},
            {"name": "y", "default_value": 3},
            # As ConfigSpace writes a constant.
            {"type": "constant", "name": "z", "value": 7},
        ]
    }
    configs = {"1": {"x": 0.5, "z": 7}, "2": {"x": 1.0, "z": 7}}
    trajectory = [{"config_ids": [2], "costs": [3.0], "trial": 4, "walltime": 1.0}]
    path = folder_of(
        tmp_path,
        HISTORY | {"config_origins": {}, "configs": configs},
        configspace=space,
        intensifier={"incumbent_ids": [2], "trajectory": trajectory},
    )
    found = load(path)
    assert (found.default, found.incumbent, found.steps) == ("2", "2", (Step(4, "2"),))
    assert found.adaptive


def test_a_random_search_is_a_list(tmp_path: Path) -> None:
    """Configurations that no cost had a part in would be called adaptive, or their list be shorter
    than it was.
    """
    configs = {str(number): {"x": number} for number in range(1, 6)}
    history = HISTORY | {"configs": configs}
    blind = history | {"config_origins": dict.fromkeys(configs, "Random Search")}
    found = load(folder_of(tmp_path, blind))
    assert (found.adaptive, found.listed) == (False, 5)
    assert load(folder_of(tmp_path, history | {"config_origins": {}})).adaptive


def test_only_trials_are_trials(tmp_path: Path) -> None:
    """Something that looks like a trial inside a trial's own notes would become a run."""
    rows = copy.deepcopy(ROWS)
    rows[0]["additional_info"] = {"config_id": 99, "cost": 5.0, "status": 1}
    assert load(folder_of(tmp_path / "a", rows)).runs == load(folder_of(tmp_path / "b")).runs


CHANGES: list[dict[str, Any]] = [
    {"cost": "1.0"},
    {"cost": [1.0]},
    {"cost": 10**400},
    {"cost": -1.0},
    {"cost": 11.0},
    {"status": 7},
    {"status": "SUCCESS"},
    {"status": True},
    {"config_id": "one"},
    {"instance": 3},
    {"instance": "\ud800"},
    {"seed": 1.5},
    {"seed": 2**70},
    {"budget": "much"},
]


@pytest.mark.parametrize(
    "history",
    [
        "",
        json.dumps(HISTORY)[:300],
        "[" * 100_000,
        '{"data": ' + "9" * 5000 + "}",
        "[]",
        {"data": {}},
        [],
        [1, 2],
        {"notes": ROWS[0], **HISTORY, "data": [0]},
        [[1, 2]],
        [[[1, "a", 5, 0.0], [1.0, 2.0, {"__enum__": "StatusType.SUCCESS"}]]],
        [{"x": 1}],
        [ROWS[4]],
        [ROWS[0], ROWS[0]],
        *([ROWS[0] | change, ROWS[1]] for change in CHANGES),
    ],
)
def test_bad_histories(tmp_path: Path, history: Any) -> None:
    """A run history that cannot be would be taken, or end in a traceback."""
    refused(folder_of(tmp_path, history), low=0.0, high=10.0)


@pytest.mark.parametrize("name", ["scenario", "intensifier", "configspace"])
@pytest.mark.parametrize("content", ["[]", "{", "[" * 100_000])
def test_bad_files_beside(tmp_path: Path, name: str, content: str) -> None:
    """A damaged file beside the run history would end in a traceback."""
    path = folder_of(tmp_path, HISTORY | {"config_origins": {}}, **{name: content})
    assert f"{name}.json" in refused(path)


def test_odd_files_beside(tmp_path: Path) -> None:
    """Entries that SMAC never writes would end in a traceback."""
    odd = {
        "scenario": {"objectives": 3, "_meta": []},
        "intensifier": {"trajectory": [1, {}], "incumbent_ids": 3},
        "configspace": {"hyperparameters": [1]},
    }
    assert load(folder_of(tmp_path, HISTORY | {"config_origins": {}}, **odd)).incumbent is None
