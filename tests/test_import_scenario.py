import shutil
from pathlib import Path

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
    """`validate` would run something else than irace did, or refuse the scenario."""
    log = load(runner)
    made = scenario_from_log(runner, log, tmp_path / "new")
    assert not made.fill_in
    scenario = Scenario.read(made.path)
    assert scenario.target.kind == "irace"
    assert scenario.target.command is not None
    assert scenario.target.command[-1] == str(runner.parent / "target-runner")
    assert {instance.name for instance in scenario.instances} == {
        str(runner.parent / name) for name in log.runs.instances
    }
    assert dict(scenario.space.default().values) == {"alpha": 0.9, "size": 15, "kind": "plain"}
    assert (tmp_path / "new" / "parameters.txt").read_text() == (
        runner.parent / "parameters.txt"
    ).read_text()
    for name in log.runs.configurations:
        assert scenario.space.configuration(log.parameters[name]).values


def test_what_is_to_be_written_before_it_runs_is_said(
    runner: Path, tmp_path: Path, run: Run
) -> None:
    """The command that is printed next would be refused."""
    words = ["scenario", "from-log", str(runner), "-o"]
    unknown = run(*words, str(tmp_path / "a")).stdout
    assert "low and high" in unknown
    assert (
        "low and high" not in run(*words, str(tmp_path / "b"), "--low", "0", "--high", "50").stdout
    )
    assert "No default" not in unknown


def test_what_is_there_stays(runner: Path, tmp_path: Path) -> None:
    """What somebody has filled in would be overwritten."""
    write(tmp_path / "new" / "parameters.txt", "mine")
    scenario_from_log(runner, load(runner), tmp_path / "new")
    assert (tmp_path / "new" / "parameters.txt").read_text() == "mine"


def test_instances_that_are_given(runner: Path, tmp_path: Path) -> None:
    """A pattern or irace's own list of instances would not be taken, or be taken for one file."""
    log = load(runner)
    fresh = [write(tmp_path / "fresh" / f"{number}.txt", "1\n") for number in range(3)]
    pattern = str(tmp_path / "fresh" / "*.txt")
    made = scenario_from_log(runner, log, tmp_path / "a", instances=pattern)
    assert len(Scenario.read(made.path).instances) == 3
    listed = write(tmp_path / "list.txt", "# new\n" + "\n".join(map(str, fresh[:2])))
    made = scenario_from_log(runner, log, tmp_path / "b", instances=str(listed))
    assert len(Scenario.read(made.path).instances) == 2
    with pytest.raises(InputError, match="nothing"):
        scenario_from_log(runner, log, tmp_path / "c", instances="nothing/*.txt")
    assert not (tmp_path / "c").exists()


@pytest.mark.parametrize(
    "changes",
    [
        {"targetRunner": r.strings(["./nowhere"])},
        {"targetRunner": r.NIL},
        {"targetRunner": r.strings(["runner"]), "aclib": r.logicals([1])},
        {"targetRunner": r.strings(["runner"]), "targetEvaluator": r.strings(["e"])},
        {"targetRunner": r.strings(["runner"]), "instances": r.listing([r.NIL] * 3)},
        {"targetRunner": r.strings(["runner"]), "parameterFile": r.strings(["nowhere.txt"])},
        {
            "targetRunner": r.strings(["runner"]),
            "targetRunnerLauncher": r.strings(["--login"]),
        },
        {
            "targetRunner": r.strings(["runner"]),
            "targetRunnerLauncher": r.strings(["bash"]),
            "targetRunnerLauncherArgs": r.strings(["{targetRunner} only"]),
        },
    ],
)
def test_logs_that_say_too_little(tmp_path: Path, changes: dict[str, bytes]) -> None:
    """A scenario would name a runner that is not there, that only irace can run, or an option of
    `env`.
    """
    path = write(tmp_path / "log.Rdata", r.irace_log(scenario=changes))
    write(tmp_path / "runner", "#!/bin/sh\n")
    write(tmp_path / "parameters.txt", 'alpha "--alpha=" r (0, 3)\n')
    with pytest.raises(InputError):
        scenario_from_log(path, load(path), tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_a_launcher_and_capping(tmp_path: Path) -> None:
    """irace's launcher would be left out, or its bound be no cutoff."""
    scenario = {
        "capping": r.logicals([1]),
        "boundMax": r.doubles([5.0]),
        "boundPar": r.doubles([2.0]),
        "targetRunner": r.strings(["runner"]),
        "targetRunnerLauncher": r.strings(["bash"]),
        "targetRunnerLauncherArgs": r.strings(["--norc {targetRunner} {targetRunnerArgs}"]),
    }
    path = write(tmp_path / "log.Rdata", r.irace_log(scenario=scenario))
    write(tmp_path / "runner", "#!/bin/sh\n")
    write(tmp_path / "parameters.txt", 'alpha "--alpha=" r (0, 3)\n')
    made = Scenario.read(scenario_from_log(path, load(path), tmp_path / "new").path)
    assert made.target.command is not None
    assert made.target.command[3:] == ("bash", "--norc", str((tmp_path / "runner").resolve()))
    assert made.target.bound
    assert (made.metric.kind, made.metric.factor, made.metric.cutoff) == ("par", 2, 5)


def test_a_log_of_smac_is_to_be_filled_in(tmp_path: Path) -> None:
    """The space of a SMAC3 run would be lost, or an unfinished scenario be run."""
    source = DATA / "smac" / "instances"
    made = scenario_from_log(source, load(source), tmp_path / "new")
    assert made.fill_in
    with pytest.raises(InputError, match="FILL_IN"):
        Scenario.read(made.path)
    text = made.path.read_text().replace("FILL_IN_YOUR_SOLVER", "/bin/echo")
    write(made.path, text)
    scenario = Scenario.read(made.path)
    assert len(scenario.instances) == 8
    assert scenario.space.has_default
    timed = scenario_from_log(source, load(source, cutoff=5.0), tmp_path / "timed")
    write(timed.path, timed.path.read_text().replace("FILL_IN_YOUR_SOLVER", "/bin/echo"))
    assert Scenario.read(timed.path).metric.cutoff == 5


def test_other_logs_say_nothing(tmp_path: Path) -> None:
    """A table would end in a traceback."""
    with pytest.raises(InputError, match="irace and SMAC3"):
        scenario_from_log("kissat", load("kissat"), tmp_path / "new")
