import shutil
from pathlib import Path
from typing import Any

import pytest
import rwriter as r
from commands import Run
from imports import DATA, load, write

from truecost.errors import InputError
from truecost.importers import scenario_from_log
from truecost.running.scenario import Scenario


@pytest.fixture
def runner(tmp_path: Path) -> Path:
    """The log of an irace whose runner and instances lie beside it, as on the machine it ran on."""
    folder = tmp_path / "run"
    shutil.copytree(DATA / "runner", folder)
    for number in range(1, 11):
        write(folder / "train" / f"{number}.txt", f"{number}\n")
    return folder / "irace.Rdata"


def test_a_log_of_irace_becomes_a_scenario(runner: Path, tmp_path: Path) -> None:
    """`validate` would run something else than irace did, refuse the scenario, or a file that
    somebody has filled in be overwritten.
    """
    log, folder = load(runner), tmp_path / "new"
    made = scenario_from_log(runner, log, folder)
    assert not made.fill_in
    scenario = Scenario.read(made.path)
    assert scenario.target.kind == "irace"
    assert scenario.target.command is not None
    assert scenario.target.command[-1] == str(runner.parent / "target-runner")
    assert {instance.name for instance in scenario.instances} == {
        str(runner.parent / name) for name in log.runs.instances
    }
    assert dict(scenario.space.default().values) == {"alpha": 0.9, "size": 15, "kind": "plain"}
    parameters = (runner.parent / "parameters.txt").read_text()
    assert (folder / "parameters.txt").read_text() == parameters
    for name in log.runs.configurations:
        assert scenario.space.configuration(log.parameters[name]).values
    write(folder / "parameters.txt", "mine")
    scenario_from_log(runner, log, folder)
    assert (folder / "parameters.txt").read_text() == "mine"


def test_what_is_to_be_written_before_it_runs_is_said(
    runner: Path, tmp_path: Path, run: Run
) -> None:
    """The command that is printed next would be refused."""
    words = ["scenario", "from-log", str(runner), "-o"]
    unknown = run(*words, str(tmp_path / "a")).stdout
    assert "low and high" in unknown
    assert "No default" not in unknown
    ranged = run(*words, str(tmp_path / "b"), "--low", "0", "--high", "50").stdout
    assert "low and high" not in ranged


def test_instances_that_are_given(runner: Path, tmp_path: Path) -> None:
    """A pattern or irace's own list of instances would not be taken, or be taken for one file."""
    log = load(runner)
    fresh = [write(tmp_path / "fresh" / f"{number}.txt", "1\n") for number in range(3)]
    listed = write(tmp_path / "list.txt", "# new\n" + "\n".join(map(str, fresh[:2])))
    for given, count in ((tmp_path / "fresh" / "*.txt", 3), (listed, 2)):
        made = scenario_from_log(runner, log, tmp_path / str(count), instances=str(given))
        assert len(Scenario.read(made.path).instances) == count
    with pytest.raises(InputError, match="nothing"):
        scenario_from_log(runner, log, tmp_path / "c", instances="nothing/*.txt")
    assert not (tmp_path / "c").exists()


@pytest.fixture
def beside(tmp_path: Path) -> Path:
    """Where a log is written, beside a runner and its parameters."""
    write(tmp_path / "runner", "#!/bin/sh\n")
    write(tmp_path / "parameters.txt", 'alpha "--alpha=" r (0, 3)\n')
    write(tmp_path / "latin.txt", 'alpha "--größe=" r (0, 3)\n'.encode("latin-1"))
    return tmp_path / "log.Rdata"


@pytest.mark.parametrize(
    "changes",
    [
        {"targetRunner": "./nowhere"},
        {"targetRunner": None},
        {"aclib": True},
        {"targetEvaluator": "e"},
        {"instances": [None] * 3},
        {"parameterFile": "nowhere.txt"},
        {"parameterFile": "latin.txt"},
        {"targetRunnerLauncher": "--login"},
        {"targetRunnerLauncher": "bash", "targetRunnerLauncherArgs": "{targetRunner} only"},
    ],
)
def test_logs_that_say_too_little(beside: Path, changes: dict[str, Any]) -> None:
    """A scenario would name a runner that is not there, that only irace can run, or an option of
    `env`.
    """
    write(beside, r.irace_log(scenario={"targetRunner": "runner", **changes}))
    with pytest.raises(InputError):
        scenario_from_log(beside, load(beside), beside.parent / "new")
    assert not (beside.parent / "new").exists()


def test_a_launcher_and_capping(beside: Path) -> None:
    """irace's launcher would be left out, or its bound be no cutoff."""
    scenario = {
        "capping": True,
        "boundMax": 5.0,
        "boundPar": 2.0,
        "targetRunner": "runner",
        "targetRunnerLauncher": "bash",
        "targetRunnerLauncherArgs": "--norc {targetRunner} {targetRunnerArgs}",
    }
    write(beside, r.irace_log(scenario=scenario))
    made = Scenario.read(scenario_from_log(beside, load(beside), beside.parent / "new").path)
    assert made.target.command is not None
    assert made.target.command[3:] == ("bash", "--norc", str(beside.with_name("runner").resolve()))
    assert made.target.bound
    assert (made.metric.kind, made.metric.factor, made.metric.cutoff) == ("par", 2, 5)


def test_forbidden_combinations(beside: Path) -> None:
    """A search that goes on would run what irace was forbidden to run."""
    write(beside.with_name("forbidden.txt"), "# too slow\nalpha > 1\n")
    scenario = {"targetRunner": "runner", "forbiddenFile": "forbidden.txt"}
    write(beside, r.irace_log(scenario=scenario))
    space = Scenario.read(scenario_from_log(beside, load(beside), beside.parent / "new").path).space
    drawn = [one.values["alpha"] for one in space.configurations(50, seed=1)]
    assert max(map(float, map(str, drawn))) <= 1


def test_a_log_of_smac_is_to_be_filled_in(tmp_path: Path) -> None:
    """The space of a SMAC3 run would be lost, or an unfinished scenario be run."""
    source = DATA / "smac" / "instances"
    for name, options in (("plain", {}), ("timed", {"cutoff": 5.0})):
        made = scenario_from_log(source, load(source, **options), tmp_path / name)
        assert made.fill_in
        with pytest.raises(InputError, match="FILL_IN"):
            Scenario.read(made.path)
        text = made.path.read_text().replace("FILL_IN_YOUR_SOLVER", "/bin/echo")
        scenario = Scenario.read(write(made.path, text))
        assert len(scenario.instances) == 8
        assert scenario.space.has_default
        assert scenario.metric.cutoff == options.get("cutoff")


def test_other_logs_say_nothing(tmp_path: Path) -> None:
    """A table would end in a traceback."""
    with pytest.raises(InputError, match="irace and SMAC3"):
        scenario_from_log("kissat", load("kissat"), tmp_path / "new")
