import copy
import csv
import json
import logging
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from truecost.errors import InputError
from truecost.importers.detect import import_runs
from truecost.matrix import CostMatrix
from truecost.runs import NO_INSTANCE, Status, Step

DATA = Path(__file__).parent / "data" / "smac"
INSTANCES = [f"i{number}" for number in range(12)]


def target(config: Any, instance: str, seed: int = 0) -> float:
    """Costs in [0, 2.1] that crash for a part of the space."""
    if config["x"] > 0.8:
        raise ValueError("x is too large")
    return float((config["x"] - int(instance[1:]) / 12) ** 2 + (seed % 7) / 10)


@pytest.fixture(scope="module")
def smac_run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    """A real run of SMAC3 with a random forest, a crash in it, and SMAC's own record of it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # SMAC's own, and those of what it imports
        from ConfigSpace import Categorical, ConfigurationSpace
        from smac import AlgorithmConfigurationFacade as Facade
        from smac import Scenario
        from smac.acquisition.maximizer import LocalAndSortedRandomSearch

        space = ConfigurationSpace({"x": (0.0, 1.0)}, seed=1)
        space.add(Categorical("c", ["a", "b"]))
        folder = tmp_path_factory.mktemp("smac")
        scenario = Scenario(
            space,
            n_trials=48,
            instances=INSTANCES,
            instance_features={name: [place] for place, name in enumerate(INSTANCES)},
            output_directory=folder,
            name="run",
            seed=3,
            crash_cost=3.0,
        )
        smac = Facade(
            scenario,
            target,
            overwrite=True,
            logging_level=logging.ERROR,
            initial_design=Facade.get_initial_design(
                scenario, additional_configs=_additional(space)
            ),
            intensifier=Facade.get_intensifier(scenario, max_config_calls=24),
            config_selector=Facade.get_config_selector(scenario, retrain_after=40),
            acquisition_maximizer=LocalAndSortedRandomSearch(
                space, challengers=50, local_search_iterations=1, seed=3
            ),
        )
        smac.optimize()
    return folder / "run" / "3", smac.runhistory


def _additional(space: Any) -> list[Any]:
    from ConfigSpace import Configuration

    return [Configuration(space, values={"x": 0.9, "c": "b"})]


def test_a_real_run(smac_run: tuple[Path, Any]) -> None:
    """A real run history would give other runs, costs, seeds or statuses than SMAC itself holds."""
    folder, history = smac_run
    found = import_runs(folder, low=0, high=3)
    matrix = found.matrix
    assert matrix.seeds is not None
    assert matrix.statuses is not None
    assert int(matrix.counts().sum()) == len(history) >= 40
    assert len(matrix.instances) >= 10
    assert len(np.unique(matrix.seeds[matrix.seeds >= 0])) >= 2
    for key, value in history.items():
        i, j = matrix.configurations.index(str(key.config_id)), matrix.instances.index(key.instance)
        run = matrix.seeds[i, j].tolist().index(key.seed)
        assert matrix.costs[i, j, run] == value.cost
        assert matrix.statuses[i, j, run] == (
            Status.SOLVED if value.status == 1 else Status.CRASHED
        )
    assert (matrix.statuses == Status.CRASHED).any()
    trajectory = found.trajectory
    assert trajectory.tool.startswith("SMAC3 2.")
    assert trajectory.default == "1"
    assert trajectory.incumbent is not None
    assert trajectory.steps[-1].configurations == (trajectory.incumbent,)
    assert trajectory.proposed == "adaptively"
    assert found.parameters["1"] == {"x": 0.5, "c": "a"}
    assert found.origins["1"] == "Initial Design: Default"
    assert any("keep the cost the log charges them" in note for note in found.notes)


def test_a_real_run_is_audited(smac_run: tuple[Path, Any]) -> None:
    """The report on a real run of SMAC3 would not come, or claim what nobody may claim of
    adaptively proposed runs.
    """
    from truecost.verbs import assess

    folder, history = smac_run
    log = import_runs(folder, low=0, high=3)
    found = assess(log, splits=200)
    assert found.incumbent == log.trajectory.incumbent
    assert found.certificate is None
    assert "SMAC3 tuned on these instances" in str(found.no_certificate)
    assert not found.better
    assert found.optimism.source == "unknown"
    of_instances: dict[str, list[float]] = {}
    for key, value in history.items():
        if str(key.config_id) == found.incumbent:
            of_instances.setdefault(key.instance, []).append(value.cost)
    plain = float(np.mean([np.mean(costs) for costs in of_instances.values()]))
    if len(of_instances) == len(log.matrix.instances):
        assert found.costs.training[found.place] == pytest.approx(plain)
    tested = assess(log, test=renamed(log.matrix), splits=200)
    assert tested.certificate is not None
    assert tested.optimism.true_cost == pytest.approx(found.costs.training[found.place])
    assert tested.certificate.estimate == pytest.approx(plain)


def renamed(matrix: CostMatrix) -> CostMatrix:
    """The same costs, as if on other instances."""
    return CostMatrix(
        matrix.costs,
        matrix.configurations,
        [f"fresh {name}" for name in matrix.instances],
        matrix.low,
        matrix.high,
    )


def test_the_folder_above(smac_run: tuple[Path, Any], tmp_path: Path) -> None:
    """SMAC's output folder, or its run history alone, would not lead to the run."""
    folder, _ = smac_run
    above = import_runs(folder.parent.parent, low=0, high=3).matrix
    assert above == import_runs(folder / "runhistory.json", low=0, high=3).matrix
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "runhistory.json").write_bytes((folder / "runhistory.json").read_bytes())
    with pytest.raises(InputError, match="expected one run of SMAC3, got 2"):
        import_runs(tmp_path, low=0, high=3)


@pytest.mark.parametrize("name", ["instances", "deterministic", "timeouts"])
def test_every_trial_is_where_smac_has_it(name: str) -> None:
    """A trial of a real run would be lost, or have another configuration, instance, seed, cost or
    end than SMAC holds.
    """
    found = import_runs(DATA / name, low=-1, high=3)
    matrix = found.matrix
    with (DATA / f"{name}.csv").open(newline="") as file:
        trials = list(csv.DictReader(file))
    assert int(matrix.counts().sum()) == len(trials) >= 8
    assert matrix.statuses is not None
    for trial in trials:
        i = matrix.configurations.index(trial["configuration"])
        j = matrix.instances.index(trial["instance"]) if trial["instance"] else 0
        r = 0 if matrix.seeds is None else matrix.seeds[i, j].tolist().index(int(trial["seed"]))
        assert matrix.costs[i, j, r] == min(float(trial["cost"]), 3)
        stopped = Status.TIMEOUT if name == "timeouts" else Status.CRASHED
        assert matrix.statuses[i, j, r] == (
            Status.SOLVED if trial["status"] == "SUCCESS" else stopped
        )
    assert {trial["status"] for trial in trials} == {"SUCCESS"} | (
        {"CRASHED"} if name != "deterministic" else set()
    )
    assert found.trajectory.tool.startswith("SMAC3 2.")
    assert found.trajectory.incumbent in matrix.configurations
    assert found.trajectory.proposed == ("beforehand" if name == "timeouts" else "adaptively")


def test_real_timeouts() -> None:
    """A trial SMAC stopped, which it records as crashed in no time at infinite cost, would not be a
    timeout.
    """
    stored = json.loads((DATA / "timeouts" / "runhistory.json").read_text())
    stopped = [row for row in stored["data"] if int(row["instance"][1:]) % 2]
    assert stopped
    assert all(row["time"] == 0 and row["cost"] == float("inf") for row in stopped)
    found = import_runs(DATA / "timeouts", low=0, high=5)
    assert found.matrix.statuses is not None
    assert int((found.matrix.statuses == Status.TIMEOUT).sum()) == len(stopped)
    assert (found.matrix.costs[found.matrix.statuses == Status.TIMEOUT] == 5).all()
    timed = import_runs(DATA / "timeouts", objective="time", par=2)
    assert timed.matrix.high == 2  # twice the limit of a trial
    assert timed.matrix.statuses is not None
    assert (timed.matrix.costs[timed.matrix.statuses == Status.TIMEOUT] == 2).all()
    assert (timed.matrix.costs[timed.matrix.statuses == Status.SOLVED] < 1).all()


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
    """A folder as SMAC leaves it."""
    path.mkdir(exist_ok=True)
    (path / "runhistory.json").write_text(
        history if isinstance(history, str) else json.dumps(history)
    )
    for name, content in others.items():
        (path / f"{name}.json").write_text(
            content if isinstance(content, str) else json.dumps(content)
        )
    return path


def test_rows_of_every_version(tmp_path: Path) -> None:
    """Rows as lists, with and without the CPU time, would be read differently from rows as objects."""
    as_objects = import_runs(folder_of(tmp_path / "new"), low=0, high=10)
    for number, without in enumerate((("cpu_time",), ())):
        rows = [[value for name, value in each.items() if name not in without] for each in ROWS]
        as_lists = import_runs(
            folder_of(tmp_path / f"old{number}", HISTORY | {"data": rows}), low=0, high=10
        )
        assert as_lists.matrix == as_objects.matrix
        assert as_lists.left_out == {"still running": 1}
    np.testing.assert_array_equal(
        as_objects.matrix.costs, [[[1, np.nan], [2, np.nan]], [[3, 10], [np.nan, np.nan]]]
    )


def test_common_seeds_stand_in_line(tmp_path: Path) -> None:
    """The same seed would stand at different places for two configurations, and comparisons by seed
    be wrong.
    """
    rows = [row(1, "a", 5, 1.0), row(1, "a", 9, 2.0), row(2, "a", 9, 3.0)]
    found = import_runs(folder_of(tmp_path / "s", HISTORY | {"data": rows}), low=0, high=10).matrix
    np.testing.assert_array_equal(found.costs, [[[1, 2]], [[np.nan, 3]]])


def test_objectives(tmp_path: Path) -> None:
    """With several costs a trial, one would be taken without being asked for, or a wrong one."""
    rows = [row(1, "a", 5, [1.0, 20.0]), row(2, "a", 5, [3.0, 40.0])]
    path = folder_of(
        tmp_path / "m", HISTORY | {"data": rows}, scenario={"objectives": ["time", "size"]}
    )
    with pytest.raises(
        InputError,
        match="one of the objectives time, size, since trials have 2 costs, and none was named",
    ):
        import_runs(path, low=0, high=50)
    for wanted in ("size", "1"):
        np.testing.assert_array_equal(
            import_runs(path, low=0, high=50, objective=wanted).matrix.costs[:, 0, 0], [20, 40]
        )
    # The objective is called so; without one, it is the elapsed time.
    timed = import_runs(path, low=0, high=50, objective="time").matrix.costs
    np.testing.assert_array_equal(timed[:, 0, 0], [1, 3])
    with pytest.raises(InputError, match="got 'speed'"):
        import_runs(path, low=0, high=50, objective="speed")


def test_a_front_of_incumbents(tmp_path: Path) -> None:
    """Of several objectives, the first of SMAC's incumbents would be called the winner in each."""
    rows = [row(1, "a", 5, [1.0, 40.0]), row(2, "a", 5, [3.0, 20.0])]
    path = folder_of(
        tmp_path / "m",
        HISTORY | {"data": rows},
        scenario={"objectives": ["speed", "size"]},
        intensifier={"incumbent_ids": [1, 2], "trajectory": [{"config_ids": [1, 2], "trial": 2}]},
    )
    for objective, winner in (("speed", "1"), ("size", "2")):
        log = import_runs(path, objective=objective)
        assert log.trajectory.incumbent == winner
        assert log.trajectory.steps[-1].configurations[0] == winner
        assert "SMAC3 kept 2 incumbents" in log.notes[0]


def test_one_failure_is_a_run(tmp_path: Path) -> None:
    """A note would speak of "1 runs"."""
    for status, note in (
        (2, "1 run that failed without a cost is charged 1, the largest cost seen"),
        (1, "1 run ended after the cutoff of 5 though called solved: it counts as a timeout."),
    ):
        rows = [row(1, "a", 5, 1.0), row(2, "a", 5, float("inf") if status == 2 else 7.0, status)]
        path = folder_of(tmp_path / str(status), HISTORY | {"data": rows})
        log = import_runs(path, cutoff=None if status == 2 else 5)
        assert log.notes[0].startswith(note)
    kept = HISTORY | {"data": [row(1, "a", 5, 1.0), row(2, "a", 5, 9.0, 2)]}
    (note,) = import_runs(folder_of(tmp_path / "kept", kept)).notes
    assert note == "1 run that failed keeps the cost the log charges it."


def test_budgets(tmp_path: Path) -> None:
    """Costs at different budgets would be mixed, or left out without a word."""
    rows = [
        row(c, None, 0, 10.0 * c + b, budget=float(b))
        for c in (1, 2)
        for b in (1, 3, 9)
        if (c, b) != (1, 9)
    ]
    path = folder_of(tmp_path / "b", HISTORY | {"data": rows})
    found = import_runs(path, low=0, high=50)
    assert found.matrix.configurations == ("2",)
    assert found.matrix.instances == (NO_INSTANCE,)
    assert found.left_out == {"at another budget": 4}
    np.testing.assert_array_equal(
        import_runs(path, low=0, high=50, fidelity=3).matrix.costs[:, 0, 0], [13, 23]
    )
    with pytest.raises(InputError, match="one of the budgets 1, 3, 9, got 2"):
        import_runs(path, low=0, high=50, fidelity=2)


def test_par_and_cutoff(tmp_path: Path) -> None:
    """Timeouts would lose their meaning: censored at the cutoff, then charged PARk."""
    path = folder_of(tmp_path / "p")
    found = import_runs(path, cutoff=2.5, par=10)
    assert (found.matrix.low, found.matrix.high) == (0, 25)
    np.testing.assert_array_equal(found.matrix.costs[1, 0], [25, 25])  # 3.0 is after the cutoff
    assert any("1 run ended after the cutoff" in note for note in found.notes)
    capped = folder_of(tmp_path / "c", scenario={"runtime_cutoff": 4})
    assert import_runs(capped, par=2).matrix.high == 8
    with pytest.raises(InputError, match="Give the `cutoff`"):
        import_runs(path, par=10)
    assert import_runs(path).matrix.width == np.inf


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
    history = HISTORY | {"config_origins": {}, "configs": configs}
    path = folder_of(
        tmp_path / "d",
        history,
        configspace=space,
        intensifier={
            "incumbent_ids": [2],
            "trajectory": [{"config_ids": [2], "costs": [3.0], "trial": 4, "walltime": 1.0}],
        },
    )
    found = import_runs(path, low=0, high=10).trajectory
    assert found.default == "2"
    assert found.incumbent == "2"
    assert found.steps == (Step(4, ("2",)),)


def test_only_trials_are_trials(tmp_path: Path) -> None:
    """Something that looks like a trial inside a trial's own notes would become a run."""
    rows = copy.deepcopy(ROWS)
    rows[0]["additional_info"] = {"config_id": 99, "cost": 5.0, "status": 1}
    assert import_runs(
        folder_of(tmp_path / "n", HISTORY | {"data": rows}), low=0, high=10
    ).matrix == (import_runs(folder_of(tmp_path / "o"), low=0, high=10).matrix)


def with_row(**changes: Any) -> dict[str, Any]:
    """A run history whose first trial is changed."""
    return HISTORY | {"data": [ROWS[0] | changes, ROWS[1]]}


@pytest.mark.parametrize(
    ("history", "words"),
    [
        ("", "JSON in runhistory.json, and it cannot be read"),
        (json.dumps(HISTORY)[:300], "cannot be read"),
        ("[" * 100_000, "nested too deeply"),
        ('{"data": ' + "9" * 5000 + "}", "cannot be read"),
        ("[]", "'data' and 'configs'"),
        ({"data": {}}, "'data' and 'configs'"),
        (HISTORY | {"data": []}, "finished trials in runhistory.json, got none among 0"),
        (HISTORY | {"data": [1, 2]}, "a trial with config_id and cost in row 0"),
        ({"notes": ROWS[0], **HISTORY, "data": [0]}, "a trial with config_id and cost in row 0"),
        (HISTORY | {"data": [2**63]}, "a trial with config_id and cost in row 0"),
        (HISTORY | {"data": [[1, 2]]}, "10 or 11 fields in row 0"),
        (HISTORY | {"data": [{"x": 1}]}, "a trial with config_id and cost in row 0"),
        (HISTORY | {"data": [ROWS[4]]}, "got none among 1"),
        (HISTORY | {"data": [ROWS[0], ROWS[0]]}, "every run once"),
        (with_row(cost="1.0"), "numbers as costs in runhistory.json, got '1.0'"),
        (with_row(cost=[1.0]), "as many costs in every trial"),
        (with_row(cost=10**400), "beyond the range of a double"),
        (with_row(cost=-1.0), r"costs in \[0, 10\], got -1"),
        (with_row(cost=11.0), r"costs in \[0, 10\], got 11"),
        (with_row(status=7), "status numbers from 0 to 4 in runhistory.json, got 7"),
        (with_row(status="SUCCESS"), "status numbers from 0 to 4 in runhistory.json, got str"),
        (with_row(status=True), "status numbers from 0 to 4 in runhistory.json, got bool"),
        (with_row(config_id="one"), "whole numbers as config_id"),
        (with_row(instance=3), "text as instance"),
        (with_row(seed=1.5), "whole numbers as seed"),
        (with_row(seed=2**70), "64-bit numbers"),
        (with_row(instance="\ud800"), "half characters|64-bit numbers and text"),
        (with_row(budget="much"), "numbers as budget"),
    ],
)
def test_bad_histories(tmp_path: Path, history: Any, words: str) -> None:
    """A run history that cannot be would be taken, or refused without saying what is wrong."""
    path = folder_of(tmp_path / "bad", history)
    with pytest.raises(InputError, match=words) as caught:
        import_runs(path, low=0, high=10)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["scenario", "intensifier", "configspace"])
@pytest.mark.parametrize("content", ["[]", "{", "[" * 100_000])
def test_bad_files_beside(tmp_path: Path, name: str, content: str) -> None:
    """A damaged file beside the run history would end in a traceback."""
    path = folder_of(tmp_path / "bad", HISTORY | {"config_origins": {}}, **{name: content})
    with pytest.raises(InputError, match=f"{name}.json"):
        import_runs(path, low=0, high=10)
    odd = {
        "scenario": {"objectives": 3, "_meta": []},
        "intensifier": {"trajectory": [1, {}], "incumbent_ids": 3},
    }
    strange = folder_of(tmp_path / "odd", configspace={"hyperparameters": [1]}, **odd)
    assert import_runs(strange, low=0, high=10).trajectory.incumbent is None
