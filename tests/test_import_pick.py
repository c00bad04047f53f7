import json
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import campaign_tools
import numpy as np
import optuna
import pandas as pd
import pytest
from imports import DATA, codes, load, refused, sentences, statuses, write

from truecost.campaigns.gather import gather
from truecost.journal.journal import Journal
from truecost.matrix import CostMatrix, Reading
from truecost.matrix.files import write_log
from truecost.runs import NO_STATUS, Status

TABLE = "configuration,instance,cost\na,x,1\nb,x,2\n"


def test_examples_and_files_of_their_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder of instances or a binary called kissat would hide the example, or somebody's runs in
    a file called kissat be answered by ours.
    """
    monkeypatch.chdir(tmp_path)
    path = Path("kissat")
    write(path / "README", "not runs\n")
    assert load("kissat").runs.shape == (50, 50, 5)
    (path / "README").unlink()
    path.rmdir()
    for content in (b"\x7fELF\0\0", b"#!/bin/sh\nexec kissat\n", b""):
        assert load(write(path, content)).default is not None
    write(path, TABLE)
    assert load("kissat").runs.configurations == ("a", "b")


def test_journals(tmp_path: Path) -> None:
    """A journal of truecost would be taken for a storage of Optuna, or be read otherwise than by
    itself.
    """
    scenario = campaign_tools.scenario(tmp_path)
    path = tmp_path / "runs.db"
    gather(scenario, path, configurations=2, instances=3, runs=1, pool=campaign_tools.Pool())
    runs = load(path).runs
    assert runs.shape == (2, 3, 1)
    with Journal.read(path) as journal:
        assert runs == journal.matrix()
    assert load(path, format="journal").runs == runs
    asked = load(path, par=2.0, cutoff=0.4).runs
    assert (asked.par, asked.cutoff, asked.high) == (2, 0.4, 0.8)


def test_what_is_kept_for_printed_commands(tmp_path: Path) -> None:
    """A printed command would read other runs than the one it was printed by."""
    path = write(tmp_path / "runs.csv", TABLE)
    log = load(str(path), low=0.0, high=5.0, cost_unit="tour length")
    assert (log.path, log.cost_unit) == (str(path), "tour length")
    assert log.reading == Reading(low=0.0, high=5.0, cost_unit="tour length")
    assert load("kissat").path == "kissat"


def test_objects_of_python() -> None:
    """Arrays, matrices and logs would be refused, or a cutoff for them be ignored."""
    array = [[1.0, 7.0], [2.0, np.nan]]
    log = load(np.array(array), cutoff=5.0, par=2.0)
    assert log.runs.configurations == ("configuration-0", "configuration-1")
    np.testing.assert_array_equal(log.runs.costs[:, :, 0], [[1, 10], [2, np.nan]])
    assert load(array).runs.width == np.inf
    # Costs without a status neither are solved nor have failed.
    assert load(array).runs.statuses is None
    infinite = statuses(load(np.array([[1.0, np.inf]]), high=9.0).runs)
    assert (infinite != NO_STATUS).sum() == 1
    matrix = CostMatrix(array, ["a", "b"], ["x", "y"], 0, 10, families=["f", "g"])
    assert load(matrix).runs is matrix
    again = load(matrix, high=8.0)
    assert (again.runs.low, again.runs.high, again.runs.families) == (0, 8, ("f", "g"))
    assert load(again, default="b").default == "b"
    assert load(matrix, maximise=True).runs.costs[0, 0, 0] == -1
    for wrong in (7, None, {"a": 1}, [[1.0], [2.0, 3.0]], ["a"], np.zeros(3)):
        refused(wrong)


def test_another_penalty_for_settled_runs() -> None:
    """PAR2 could not be asked of runs that were stored with PAR10, or would change solved ones."""
    stored, asked = load("kissat").runs, load("kissat", par=2.0)
    assert (asked.runs.high, asked.cost_unit) == (1, "PAR2 s")
    late = statuses(stored) == Status.TIMEOUT
    np.testing.assert_array_equal(asked.runs.costs[late], 1)
    np.testing.assert_array_equal(asked.runs.costs[~late], stored.costs[~late])
    cut = load("kissat", cutoff=0.25).runs
    slow = late | (stored.costs > 0.25)
    assert (cut.cutoff, cut.high) == (0.25, 2.5)
    np.testing.assert_array_equal(cut.costs, np.where(slow, 2.5, stored.costs))
    np.testing.assert_array_equal(statuses(cut) == Status.TIMEOUT, slow)
    for wrong in ({"cutoff": 3.0}, {"high": 100.0}, {"objective": "time"}, {"maximise": True}):
        refused("kissat", **wrong)


def test_lines_about_another_penalty(tmp_path: Path) -> None:
    """A line would say that a failed run costs 10 cutoffs where it costs 2."""
    rows = "configuration,instance,cost,status\na,x,1,solved\nb,x,9,crashed\n"
    log = load(write(tmp_path / "t.csv", rows), cutoff=10.0)
    assert "Counted as 10 × the cutoff" in sentences(log)
    again = load(log, par=2.0)
    assert again.runs.high == 20
    assert "Counted as 2 × the cutoff" in sentences(again)
    assert "10 ×" not in sentences(again)


def test_own_tables(tmp_path: Path) -> None:
    """A table that truecost wrote would lose what its metadata says."""
    log, path = load("kissat"), tmp_path / "part.csv"
    part = log.runs.select(log.runs.configurations[:3], log.runs.instances[:4])
    write_log(log.replace(runs=part, test=None), path)
    again = load(path)
    assert again.runs == part
    assert (again.default, again.cost_unit) == (log.default, "PAR10 s")
    (tmp_path / "part.csv.json").unlink()
    plain = load(path)
    np.testing.assert_array_equal(plain.runs.costs, part.costs)
    assert plain.default is None


def test_test_runs(tmp_path: Path) -> None:
    """Test runs would be read with another range or penalty than the runs they test."""
    path = write(tmp_path / "train.csv", "solver,instance,time\na,x,1\nb,x,9\n")
    test = str(write(tmp_path / "test.csv", "solver,instance,time\na,y,2\nb,y,7\n"))

    def tested(source: Path, **options: Any) -> CostMatrix:
        matrix = load(source, test=test, **options).test
        assert matrix is not None
        return matrix

    timed = tested(path, cutoff=5.0, par=2.0, families="prefix")
    assert (timed.high, timed.par, timed.families) == (10, 2, ("y",))
    assert timed.costs.ravel().tolist() == [2, 10]
    assert tested(DATA / "irace" / "capped-at-bound.Rdata").high == 50
    maximised = tested(path, columns={"cost": "time"}, maximise=True, high=10.0, low=0.0)
    assert maximised.costs.ravel().tolist() == [8, 3]
    assert "nowhere" in refused(path, test=str(tmp_path / "nowhere.csv"))
    # What was done to test runs is a line, too.
    write(tmp_path / "test.csv", "solver,instance,time\na,y,2\nb,y,\n")
    assert "timeouts" in codes(load(path, test=test, cutoff=5.0))
    assert "timeouts" not in codes(load(path, cutoff=5.0))


def test_scores_of_training_and_test(tmp_path: Path) -> None:
    """Test scores would become costs otherwise than those they are compared with, or twice."""
    study = optuna.create_study(direction="maximize")
    space: Any = {"x": optuna.distributions.FloatDistribution(0, 1)}
    study.add_trial(optuna.create_trial(params={"x": 0.5}, distributions=space, value=0.5))
    test = str(write(tmp_path / "test.csv", "method,dataset,accuracy\na,x,0.25\nb,x,0.75\n"))
    stored = tmp_path / "stored.csv"
    write_log(load(test, maximise=True, low=0.25, high=1.0), stored)
    for options, cost in (({}, -0.25), ({"high": 1.0}, 0.75), ({"low": 0.25, "high": 1.0}, 0.75)):
        tests = {test, str(stored)} if "low" in options else {test}
        for source in (study, test):
            for tested in tests:
                reading = options if source is study else options | {"maximise": True}
                matrix = load(source, test=tested, **reading).test
                assert matrix is not None
                assert matrix.costs[0, 0, 0] == cost
    assert "--low and --high" in refused(study, test=str(stored))
    again = load(stored, maximise=True).runs
    assert again == load(stored, maximise=True, low=0.25, high=1.0).runs == load(stored).runs
    assert "Leave out --maximise" in refused(stored, maximise=True, high=2.0)


def pipe(name: str) -> Callable[[Path], Path]:
    """A folder with a pipe of this name, which nobody ever writes to."""

    def make(folder: Path) -> Path:
        os.mkfifo(folder / name)
        return folder

    return make


def a_file(name: str, content: str | bytes) -> Callable[[Path], Path]:
    """A file with this in it."""
    return lambda folder: write(folder / name, content)


@pytest.mark.parametrize(
    "make",
    [
        pipe("runhistory.json"),
        pipe("results.xml"),
        lambda folder: pipe("p")(folder) / "p",
        lambda folder: folder,
        lambda folder: folder / "nowhere.csv",
        lambda folder: folder / "nul\0.csv",
        lambda _: Path("/dev/null"),
        a_file("j.log", '{"op_code": 0, "worker_id": "w", "study_name": "s", "directions": [9]}\n'),
        a_file("t.json", "[" * 300_000),
        a_file("t.json", '[{"configuration": "a"}]'),
        a_file("t.arff", "@relation x"),
        a_file("t.html", "<html>"),
        a_file("t.pkl", pickle.dumps({"pandas": 1})),
        a_file("t.npz", b"PK\x03\x04" + bytes(60)),
        a_file("t.rds", b"X\n\0\0\0\3"),
        a_file("t.db", b"SQLite format 3\0" + bytes(200)),
        a_file("t.db", b"SQLite format 3\0CREATE TABLE events CREATE TABLE runs"),
        a_file("t.Rdata", b"\x1f\x8b\x08" + bytes(50)),
        a_file("PM.npy", b"\x93NUMPY\1\0"),
    ],
)
def test_refused_in_one_line(tmp_path: Path, make: Callable[[Path], Path]) -> None:
    """A pipe, a pickle or something else that holds no runs would hang a command, or end it in a
    traceback.
    """
    refused(make(tmp_path))


def test_a_format_that_is_given(tmp_path: Path) -> None:
    """The name of a format would be ignored, or a wrong one end in a traceback."""
    path = write(tmp_path / "log.txt", (DATA / "irace" / "tested.Rdata").read_bytes())
    assert load(path, format="irace").runs == load(path).runs
    for name in ("excel", "optuna", "benchexec", "npy", "journal", "table"):
        refused(path, format=name)
    for name in ("irace", "table", "journal"):
        refused(tmp_path, format=name)
    # Not that the table, which is there, cannot be read.
    for name, missing in (("smac", "runhistory.json"), ("aslib", "algorithm_runs.arff")):
        assert missing in refused(path, format=name)


def test_importing_is_cheap() -> None:
    """Reading the log of a tool would load the tool, or whatever else takes long to load."""
    heavy = ("smac", "ConfigSpace", "optuna", "pandas", "pydantic", "scipy", "matplotlib")
    script = (
        "import sys; from truecost.importers import import_runs; import_runs(sys.argv[1])\n"
        f"print([name for name in {heavy} if name in sys.modules])"
    )
    words = [sys.executable, "-c", script, str(DATA / "irace" / "tested.Rdata")]
    assert subprocess.run(words, capture_output=True, text=True, check=True).stdout == "[]\n"


def test_a_name_without_runs_is_dropped(tmp_path: Path) -> None:
    """A default or winner that has no runs would end the judgement in a traceback."""
    for file in (DATA / "smac" / "instances").iterdir():
        write(tmp_path / file.name, file.read_bytes())
    content = json.loads((tmp_path / "intensifier.json").read_text())
    content["incumbent_ids"] = [999]
    content["trajectory"].append({"config_ids": [999], "trial": 1})
    write(tmp_path / "intensifier.json", json.dumps(content))
    log = load(tmp_path)
    assert log.incumbent is None
    assert all(step.configuration in log.runs.configurations for step in log.steps)
    assert codes(log).count("no runs") == 1


FRAME = pd.DataFrame({"configuration": ["a"], "instance": ["x"], "cost": [1.0]})


@pytest.mark.parametrize(
    ("source", "options"),
    [
        (DATA / "irace" / "tested.Rdata", {"objective": "cost"}),
        (DATA / "irace" / "tested.Rdata", {"columns": {"cost": "time"}}),
        (DATA / "smac" / "instances", {"maximise": True}),
        (DATA / "smac" / "instances", {"steps_are": "instances"}),
        (DATA / "aslib" / "kissat-small", {"maximise": True}),
        (DATA / "benchexec", {"columns": {"cost": "time"}}),
        (FRAME, {"objective": "x"}),
        (FRAME, {"steps_are": "instances"}),
        (FRAME[["cost"]].to_numpy(), {"objective": "x"}),
    ],
)
def test_options_without_a_meaning(source: Any, options: dict[str, Any]) -> None:
    """An option that a format has no use for would be passed over without a word."""
    assert "means nothing" in refused(source, **options)
