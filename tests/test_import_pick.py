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
import pandas as pd
import pytest
from imports import DATA, codes, load, said, statuses, write

from truecost.campaigns.gather import gather
from truecost.errors import InputError
from truecost.journal.journal import Journal
from truecost.matrix import CostMatrix, Log, Reading
from truecost.matrix.files import write_log
from truecost.runs import NO_STATUS, Status

TABLE = "configuration,instance,cost\na,x,1\nb,x,2\n"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.usefixtures("here")
def test_a_solver_called_like_an_example_does_not_hide_it() -> None:
    """With a folder of instances or a binary called kissat in the way, `truecost audit kissat`
    would fail.
    """
    path = Path("kissat")
    write(path / "README", "not runs\n")
    assert load("kissat").runs.shape == (50, 50, 5)
    (path / "README").unlink()
    path.rmdir()
    for content in (b"\x7fELF\0\0", b"#!/bin/sh\nexec kissat\n", b""):
        path.write_bytes(content)
        assert load(path).default is not None


def test_journals(tmp_path: Path) -> None:
    """A journal of truecost would be taken for a storage of Optuna, or be read otherwise than by
    itself.
    """
    scenario = campaign_tools.scenario(tmp_path)
    path = tmp_path / "runs.db"
    gather(scenario, path, configurations=2, instances=3, runs=1, pool=campaign_tools.Pool())
    log = load(path)
    assert log.runs.shape == (2, 3, 1)
    with Journal.read(path) as journal:
        assert log.runs == journal.matrix()
    assert load(path, format="journal").runs == log.runs
    asked = load(path, par=2.0, cutoff=0.4).runs
    assert (asked.par, asked.cutoff, asked.high) == (2, 0.4, 0.8)


@pytest.mark.usefixtures("here")
def test_runs_called_like_an_example_win() -> None:
    """Somebody's own runs in a file called kissat would silently be answered by ours."""
    write(Path("kissat"), TABLE)
    assert load("kissat").runs.configurations == ("a", "b")


def test_what_is_kept_for_printed_commands(tmp_path: Path) -> None:
    """A printed command would read other runs than the one it was printed by."""
    path = write(tmp_path / "runs.csv", TABLE)
    log = load(str(path), low=0.0, high=5.0)
    assert log.path == str(path)
    assert log.reading == Reading(low=0.0, high=5.0)
    assert load("kissat").path == "kissat"
    assert load(path, cost_unit="tour length").cost_unit == "tour length"


def test_objects_of_python() -> None:
    """Arrays, matrices and logs would be refused, or a cutoff for them be ignored."""
    costs = [[1.0, 7.0], [2.0, np.nan]]
    log = load(np.array(costs), cutoff=5.0, par=2.0)
    assert log.runs.configurations == ("configuration-0", "configuration-1")
    np.testing.assert_array_equal(log.runs.costs[:, :, 0], [[1, 10], [2, np.nan]])
    assert load(costs).runs.width == np.inf
    matrix = CostMatrix(costs, ["a", "b"], ["x", "y"], 0, 10, families=["f", "g"])
    assert load(matrix).runs is matrix
    again = load(matrix, high=8.0)
    assert (again.runs.low, again.runs.high, again.runs.families) == (0, 8, ("f", "g"))
    assert load(again, default="b").default == "b"
    assert load(matrix, maximise=True).runs.costs[0, 0, 0] == -1
    for wrong in (7, None, {"a": 1}, [[1.0], [2.0, 3.0]], ["a"], np.zeros(3)):
        with pytest.raises(InputError):
            load(wrong)


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
        with pytest.raises(InputError):
            load("kissat", **wrong)


def test_own_tables(tmp_path: Path) -> None:
    """A table that truecost wrote would lose what its metadata says."""
    log = load("kissat")
    part = log.runs.select(log.runs.configurations[:3], log.runs.instances[:4])
    write_log(log.replace(runs=part, test=None), tmp_path / "part.csv")
    again = load(tmp_path / "part.csv")
    assert again.runs == part
    assert (again.default, again.cost_unit) == (log.default, "PAR10 s")
    (tmp_path / "part.csv.json").unlink()
    plain = load(tmp_path / "part.csv")
    np.testing.assert_array_equal(plain.runs.costs, part.costs)
    assert plain.default is None


def test_test_runs(tmp_path: Path) -> None:
    """Test runs would be read with another range or penalty than the runs they test."""
    path = write(tmp_path / "train.csv", "solver,instance,time\na,x,1\nb,x,9\n")
    test = write(tmp_path / "test.csv", "solver,instance,time\na,y,2\nb,y,7\n")
    log = load(path, cutoff=5.0, par=2.0, test=str(test))
    assert log.test is not None
    assert (log.test.high, log.test.par) == (10, 2)
    assert log.test.costs.ravel().tolist() == [2, 10]
    from_irace = load(DATA / "irace" / "capped-at-bound.Rdata", test=str(test)).test
    assert from_irace is not None
    assert from_irace.high == 50
    scores = {"columns": {"cost": "time"}, "maximise": True, "high": 10.0, "low": 0.0}
    maximised = load(path, test=str(test), **scores).test
    assert maximised is not None
    assert maximised.costs.ravel().tolist() == [8, 3]
    families = load(path, test=str(test), families="prefix")
    assert families.test is not None
    assert families.test.families == ("y",)
    with pytest.raises(InputError, match="nowhere"):
        load(path, test=str(tmp_path / "nowhere.csv"))


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
    with pytest.raises(InputError) as refusal:
        load(make(tmp_path))
    assert "\n" not in str(refusal.value)
    assert len(str(refusal.value)) < 500


def test_a_format_that_is_given(tmp_path: Path) -> None:
    """The name of a format would be ignored, or a wrong one end in a traceback."""
    path = write(tmp_path / "log.txt", (DATA / "irace" / "tested.Rdata").read_bytes())
    assert load(path, format="irace").runs == load(path).runs
    for name in ("excel", "smac", "optuna", "aslib", "benchexec", "npy", "journal", "table"):
        with pytest.raises(InputError):
            load(path, format=name)
    for name in ("irace", "table", "journal"):
        with pytest.raises(InputError):
            load(tmp_path, format=name)


def test_importing_is_cheap(tmp_path: Path) -> None:
    """Reading the log of a tool would load the tool, or whatever else takes long to load."""
    path = write(tmp_path / "irace.Rdata", (DATA / "irace" / "tested.Rdata").read_bytes())
    heavy = ("smac", "ConfigSpace", "optuna", "pandas", "pydantic", "scipy", "matplotlib")
    script = (
        "import sys; from truecost.importers import import_runs; import_runs(sys.argv[1])\n"
        f"print([name for name in {heavy} if name in sys.modules])"
    )
    words = [sys.executable, "-c", script, str(path)]
    assert subprocess.run(words, capture_output=True, text=True, check=True).stdout == "[]\n"


def test_a_name_without_runs_is_dropped(tmp_path: Path) -> None:
    """A default or winner that has no runs would end the judgement in a traceback."""
    folder = tmp_path / "s"
    for file in (DATA / "smac" / "instances").iterdir():
        write(folder / file.name, file.read_bytes())
    content = json.loads((folder / "intensifier.json").read_text())
    content["incumbent_ids"] = [999]
    content["trajectory"].append({"config_ids": [999], "trial": 1})
    write(folder / "intensifier.json", json.dumps(content))
    log = load(folder)
    assert log.incumbent is None
    assert all(step.configuration in log.runs.configurations for step in log.steps)
    assert codes(log).count("no runs") == 1


def test_unknown_statuses_stay_unknown() -> None:
    """Costs without a status would count as solved, or as failed."""
    log = load(np.ones((2, 2)))
    assert isinstance(log, Log)
    assert log.runs.statuses is None
    assert (statuses(load(np.array([[1.0, np.inf]]), high=9.0).runs) != NO_STATUS).sum() == 1


@pytest.mark.parametrize(
    ("source", "options"),
    [
        (DATA / "irace" / "tested.Rdata", {"objective": "cost"}),
        (DATA / "irace" / "tested.Rdata", {"columns": {"cost": "time"}}),
        (DATA / "smac" / "instances", {"maximise": True}),
        (DATA / "smac" / "instances", {"steps_are": "instances"}),
        (DATA / "aslib" / "kissat-small", {"maximise": False}),
        (DATA / "benchexec", {"columns": {"cost": "time"}}),
    ],
)
def test_options_without_a_meaning(source: Path, options: dict[str, Any]) -> None:
    """An option that a format has no use for would be passed over without a word."""
    with pytest.raises(InputError, match="means nothing"):
        load(source, **options)


@pytest.mark.parametrize("options", [{"objective": "x"}, {"steps_are": "instances"}])
def test_options_without_a_meaning_for_objects(options: dict[str, Any]) -> None:
    """An option would be passed over without a word."""
    frame = pd.DataFrame({"configuration": ["a"], "instance": ["x"], "cost": [1.0]})
    for source in (frame, frame[["cost"]].to_numpy()):
        with pytest.raises(InputError, match="means nothing"):
            load(source, **options)


@pytest.mark.parametrize(("kind", "file"), [("smac", "runhistory.json"), ("aslib", "algorithm_")])
def test_a_format_whose_files_are_not_there(tmp_path: Path, kind: str, file: str) -> None:
    """The message would say that a file that is there cannot be read."""
    path = write(tmp_path / "t.csv", "configuration,instance,cost\na,x,1\n")
    with pytest.raises(InputError, match=file):
        load(path, format=kind)


def test_lines_about_another_penalty(tmp_path: Path) -> None:
    """A line would say that a failed run costs 10 cutoffs where it costs 2, and --maximise be
    passed over.
    """
    rows = "configuration,instance,cost,status\na,x,1,solved\nb,x,9,crashed\n"
    log = load(write(tmp_path / "t.csv", rows), cutoff=10.0)
    assert "Counted as 10 × the cutoff" in said(log)
    again = load(log, par=2.0)
    assert again.runs.high == 20
    assert "Counted as 2 × the cutoff" in said(again)
    assert "10 ×" not in said(again)
    with pytest.raises(InputError, match="Leave out --maximise"):
        load(log, maximise=True)
