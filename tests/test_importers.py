import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import rwriter
import scenarios
import typer
from commands import run

from truecost import Journal, Outcome, Run, Scenario, load_example
from truecost.campaigns.gather import design_of
from truecost.cli import app
from truecost.errors import InputError
from truecost.importers.detect import import_runs
from truecost.importers.record import Options
from truecost.matrix import CostMatrix, provenance
from truecost.runs import Machine, Status, Step, Trajectory
from truecost.stats.synthetic import runtime_model
from truecost.verbs import assess

ROOT = Path(__file__).parent.parent
DATA = Path(__file__).parent / "data"
SHARED = next(
    (d for d in (ROOT.parent / "shared" / "data", Path("/work/shared/data")) if d.is_dir()),
    Path("/nowhere"),
)

ARFF = """% made by hand
@RELATION algorithm_runs_demo

@ATTRIBUTE instance_id STRING
@ATTRIBUTE repetition NUMERIC
@ATTRIBUTE algorithm STRING
@ATTRIBUTE runtime NUMERIC
@ATTRIBUTE quality NUMERIC
@ATTRIBUTE runstatus {ok, timeout, memout, not_applicable, crash, other}

@DATA
i1,1,fast,2,10,ok
i1,2,fast,3,11,ok
'a, b',1,fast,10,0,timeout
i1,1,"slow one",?,?,crash
i1,2,"slow one",4,?,memout
'a, b',1,"slow one",12,7,ok
'a, b',2,"slow one",?,8,ok
"""
DESCRIPTION = """scenario_id: demo
performance_measures:
- runtime
- quality
maximize: [false, true]
performance_type:
    - runtime
    - solution_quality
algorithm_cutoff_time: 10
features_stochastic: null
"""


def aslib(path: Path, runs: str = ARFF, description: str | None = DESCRIPTION) -> Path:
    """A folder of ASlib."""
    path.mkdir(exist_ok=True)
    (path / "algorithm_runs.arff").write_text(runs)
    if description is not None:
        (path / "description.txt").write_text(description)
    return path


def test_aslib(tmp_path: Path) -> None:
    """Repetitions, quoted names, run statuses or the cutoff of an ASlib scenario would be read
    wrongly.
    """
    found = import_runs(aslib(tmp_path / "demo"), par=2)
    matrix = found.matrix
    assert matrix.configurations == ("fast", "slow one")
    assert matrix.instances == ("i1", "a, b")
    assert (matrix.low, matrix.high) == (0, 20)
    np.testing.assert_array_equal(matrix.costs, [[[2, 3], [20, np.nan]], [[20, 20], [20, np.nan]]])
    assert matrix.statuses is not None
    assert matrix.statuses.tolist() == [
        [[Status.SOLVED, Status.SOLVED], [Status.TIMEOUT, -1]],
        [[Status.CRASHED, Status.MEMORY], [Status.TIMEOUT, -1]],
    ]
    assert found.left_out == {"no value though run status ok": 1}
    assert found.trajectory == Trajectory(tool="ASlib demo", proposed="beforehand", raced=False)
    assert import_runs(tmp_path / "demo" / "algorithm_runs.arff").matrix.high == 100


def test_aslib_quality_is_turned_round(tmp_path: Path) -> None:
    """A measure to be maximised would be taken for a cost, or be censored at the cutoff of the
    running times.
    """
    found = import_runs(aslib(tmp_path / "demo"), objective="quality", low=-20, high=0)
    np.testing.assert_array_equal(found.matrix.costs[0], [[-10, -11], [0, np.nan]])
    np.testing.assert_array_equal(
        found.matrix.costs[1], [[0, 0], [-7, -8]]
    )  # failed without a value: the worst
    unknown = import_runs(tmp_path / "demo", objective="quality")
    assert unknown.matrix.width == np.inf
    np.testing.assert_array_equal(unknown.matrix.costs[1], [[0, 0], [-7, -8]])  # the worst seen
    assert any("the largest cost seen" in note for note in unknown.notes)


def test_aslib_comments_and_unknown_entries(tmp_path: Path) -> None:
    """A comment behind the cutoff would take it away, and an unknown entry give a measure the
    direction of another.
    """
    described = DESCRIPTION.replace("cutoff_time: 10", "cutoff_time: 10  # seconds")
    described = described.replace("[false, true]", "[?, true]  # of both")
    folder = aslib(tmp_path / "demo", description=described)
    plain = import_runs(aslib(tmp_path / "plain"))
    assert import_runs(folder).matrix == plain.matrix
    assert import_runs(folder, objective="quality", low=-20, high=0).trajectory.maximised


def test_an_example_as_aslib() -> None:
    """A folder of ASlib would give other costs, statuses or repetitions than the runs it was
    written from.
    """
    found = import_runs(DATA / "aslib" / "kissat-small").matrix
    expected = load_example("kissat").select(found.configurations, found.instances)
    assert found.shape == expected.shape == (6, 20, 5)
    np.testing.assert_array_equal(found.costs, expected.costs)
    assert (found.low, found.high) == (0, 5)
    assert found.statuses is not None
    assert expected.statuses is not None
    np.testing.assert_array_equal(found.statuses, expected.statuses)


@pytest.mark.beside(SHARED / "aslib")
def test_real_aslib() -> None:
    """A real scenario would give other numbers of runs, statuses or costs than its own file."""
    path = SHARED / "aslib" / "CPMP-2015"
    rows = [
        line.split(",")
        for line in (path / "algorithm_runs.arff").read_text().split("@DATA\n")[1].split()
    ]
    matrix = import_runs(path).matrix
    assert (
        matrix.shape
        == (len({row[2] for row in rows}), len({row[0] for row in rows}), 1)
        == (4, 527, 1)
    )
    assert (matrix.low, matrix.high) == (0, 36000)
    assert matrix.statuses is not None
    for status, word in (
        (Status.SOLVED, "ok"),
        (Status.TIMEOUT, "timeout"),
        (Status.MEMORY, "memout"),
    ):
        assert int((matrix.statuses == status).sum()) == sum(row[4] == word for row in rows) > 0
    for instance, _, algorithm, runtime, word in rows[::10]:
        cell = matrix.costs[
            matrix.configurations.index(algorithm), matrix.instances.index(instance), 0
        ]
        assert cell == (float(runtime) if word == "ok" else 36000)


@pytest.mark.parametrize(
    ("runs", "words"),
    [
        ("", "expected @DATA"),
        (ARFF.split("@DATA")[0], "expected @DATA"),
        (ARFF[:200], "a name and a type"),
        (ARFF.split("i1,1,fast")[0], "at least one run"),
        (ARFF + "i1,3", "6 values in row 8 of algorithm_runs.arff, got 2"),
        (ARFF + "i1,3,fast,2,1,dreaming", "a status such as .*, got 'dreaming'"),
        (ARFF + "i1,x,fast,2,1,ok", "whole numbers as repetition"),
        (ARFF + "i1,1,fast,2,1,ok", "every run once"),
        (ARFF.replace("algorithm STRING", "solver STRING"), "the attribute 'algorithm'"),
        (ARFF.replace("@ATTRIBUTE quality", "@ATTRIBUTE runtime"), "different names"),
        (ARFF.replace("@RELATION", "RELATION"), "expected @RELATION"),
        (ARFF + "\n'unfinished,1,fast,2,1,ok", "values in row"),
        (ARFF + "i1,9,fast,-3,1,ok", r"costs in \[0, 100\], got -3"),
    ],
)
def test_bad_aslib(tmp_path: Path, runs: str, words: str) -> None:
    """A scenario that cannot be read would be taken, or end in a traceback."""
    with pytest.raises(InputError, match=words):
        import_runs(aslib(tmp_path / "bad", runs))


def test_wrapper_answers_with_calls(tmp_path: Path) -> None:
    """Answers of old and new wrappers would lose their configuration, instance, cutoff, seed or
    status.
    """
    path = tmp_path / "calls.log"
    path.write_text(
        "[INFO] python -u wrapper.py inst/1.cnf 0 5.0 2147483647 11 -heuristic 'vsids' -restarts 10\n"
        "c noise - and - dashes\n"
        "Result for SMAC: SAT, 1.5, 0, 77, 11, extra, fields\n"
        "wrapper.py inst/1.cnf 0 5.0 2147483647 12 -restarts 10 -heuristic vsids\n"
        "Result for ParamILS: TIMEOUT, 5.1, 0, 0, 12\n"
        "wrapper.py --instance inst/1.cnf --cutoff 5 --seed 11 --config -restarts 20 -heuristic bmtf\n"
        'Result of this algorithm run: {"status": "SUCCESS", "cost": 3.0, "runtime": 2.25, "misc": ""}\n'
        "wrapper.py --instance inst/2.cnf --cutoff 5 --seed 11 --config -restarts 20 -heuristic bmtf\n"
        'Result of this algorithm run: {"status": "CRASHED", "cost": 9, "runtime": 0.1}\n'
    )
    found = import_runs(path, par=10)
    assert found.matrix.configurations == (
        "heuristic=vsids restarts=10",
        "heuristic=bmtf restarts=20",
    )
    assert found.matrix.instances == ("inst/1.cnf", "inst/2.cnf")
    np.testing.assert_array_equal(
        found.matrix.costs, [[[1.5, 50], [np.nan, np.nan]], [[2.25, np.nan], [50, np.nan]]]
    )
    assert found.parameters["heuristic=bmtf restarts=20"] == {"heuristic": "bmtf", "restarts": "20"}
    quality = import_runs(path, objective="quality", low=0, high=100).matrix
    np.testing.assert_array_equal(quality.costs[0, 0], [77, 0])


def test_wrapper_answers_in_folders(tmp_path: Path) -> None:
    """Answers in files configuration/instance.log would not be placed by the names of their files."""
    for configuration in ("a", "b"):
        for instance in ("x.cnf", "sub/y.cnf"):
            file = tmp_path / configuration / f"{instance}.log"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(
                "".join(f"\nResult for SMAC: SUCCESS, {seed}.5, 0, 0, {seed}\n" for seed in (1, 2))
            )
    (tmp_path / "notes.txt").write_text("nothing here")
    found = import_runs(tmp_path, cutoff=5).matrix
    assert found.configurations == ("a", "b")
    assert set(found.instances) == {"x.cnf", "sub/y.cnf"}
    assert (found.costs == [1.5, 2.5]).all()
    with pytest.raises(InputError, match="Give the `cutoff`"):
        import_runs(tmp_path)
    with pytest.raises(InputError, match=r"the call of the wrapper before its answer"):
        import_runs(tmp_path / "a" / "x.cnf.log", cutoff=5)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Result for SMAC: SAT, 1.5\n", "status, runtime, runlength, quality and seed"),
        ("Result for SMAC: HAPPY, 1.5, 0, 0, 1\n", "in an answer in i.log"),
        ('Result of this algorithm run: {"status": \n', "in an answer in i.log"),
        ('Result of this algorithm run: {"runtime": 1}\n', "in an answer in i.log"),
        ("Result of this algorithm run: " + '{"a":' * 50_000 + "\n", "in an answer in i.log"),
        ("Result for SMAC: SAT, fast, 0, 0, 1\n", "in an answer in i.log"),
    ],
)
def test_bad_answers(tmp_path: Path, text: str, words: str) -> None:
    """An answer that cannot be read would be passed over silently."""
    (tmp_path / "c").mkdir()
    (tmp_path / "c" / "i.log").write_text(text)
    with pytest.raises(InputError, match=words):
        import_runs(tmp_path, cutoff=5)


PM = np.dtype([("result", "U10"), ("runtime", "f8"), ("quality", "f8"), ("seed", "i8")])


def pm() -> Any:
    """An array as the paper's authors kept theirs: 2 configurations, 3 instances, 2 runs, one of
    them never made.
    """
    array = np.zeros((2, 3, 2), dtype=PM)
    array["result"], array["runtime"], array["quality"] = "SAT", 1.5, 4
    array["seed"] = np.arange(12).reshape(2, 3, 2)
    array["result"][0, 1, 0], array["runtime"][0, 1, 0] = "TIMEOUT", 5.01
    array["result"][1, 2, 1], array["runtime"][1, 2, 1] = "", 0
    return array


def test_pm_array(tmp_path: Path) -> None:
    """Running time 0, which says in a PM.npy that a run was never made, would be the best of all
    costs.
    """
    path = tmp_path / "PM.npy"
    np.save(path, pm())
    found = import_runs(path, cutoff=5, par=10)
    assert found.left_out == {"never made (running time 0)": 1}
    expected = np.full((2, 3, 2), 1.5)
    expected[0, 1, 0], expected[1, 2, 1] = 50, np.nan
    np.testing.assert_array_equal(found.matrix.costs, expected)
    assert found.matrix.seeds is not None
    assert found.matrix.seeds[1, 0].tolist() == [6, 7]
    assert found.matrix.configurations[1] == "configuration-1"
    assert import_runs(tmp_path, objective="quality", low=0, high=9).matrix.costs[0, 0, 0] == 4
    with pytest.raises(InputError, match="Give the `cutoff`"):
        import_runs(path)


class Bomb:
    """What a pickle would run."""

    def __reduce__(self) -> Any:
        return os._exit, (13,)


def test_pickles_stay_shut(tmp_path: Path) -> None:
    """A PM.npy with objects would be unpickled, and its code run."""
    path = tmp_path / "PM.npy"
    np.save(path, np.array([Bomb()], dtype=object), allow_pickle=True)
    with pytest.raises(InputError, match="without pickles"):
        import_runs(path, cutoff=5)


@pytest.mark.parametrize(
    ("array", "words"),
    [
        (np.zeros(3), "a structured array with the fields"),
        (np.zeros((2, 2, 2), dtype=PM), "running time above 0"),
        (np.zeros(4, dtype=PM), "configurations × instances × runs"),
        (
            np.zeros(
                (2, 2),
                dtype=[("result", "f8"), ("runtime", "f8"), ("quality", "f8"), ("seed", "i8")],
            ),
            "text in the field",
        ),
        (
            np.zeros(
                (2, 2),
                dtype=[("result", "U3"), ("runtime", "U3"), ("quality", "f8"), ("seed", "i8")],
            ),
            "numbers in the field",
        ),
        (
            np.zeros(
                (2, 2),
                dtype=[("result", "U3"), ("runtime", "f8", 3), ("quality", "f8"), ("seed", "i8")],
            ),
            "numbers in the",
        ),
    ],
)
def test_bad_arrays(tmp_path: Path, array: Any, words: str) -> None:
    """An array that is no PM.npy would be taken, or end in a traceback."""
    np.save(tmp_path / "PM.npy", array)
    with pytest.raises(InputError, match=words):
        import_runs(tmp_path / "PM.npy", cutoff=5)


def test_text_in_arrays_is_text(tmp_path: Path) -> None:
    """Numbers that are no characters would become text that makes Python itself fail."""
    text = "SAT".encode("utf-32-le")
    np.save(tmp_path / "PM.npy", pm())
    names = np.array(["SAT"])
    np.savez(
        tmp_path / "m.npz",
        costs=np.ones((1, 1, 1)),
        configurations=names,
        instances=names,
        range=np.array([0.0, 5.0]),
    )
    for name in ("PM.npy", "m.npz"):
        whole = (tmp_path / name).read_bytes()
        assert text in whole
        (tmp_path / name).write_bytes(whole.replace(text, b"S\0\0\1" + text[4:], 1))
    with pytest.raises(InputError, match="no characters"):
        import_runs(tmp_path / "PM.npy", cutoff=5)
    with pytest.raises(InputError, match=r"no characters|CRC"):
        import_runs(tmp_path / "m.npz")


def test_an_array_cannot_claim_more_than_its_file(tmp_path: Path) -> None:
    """A header that claims a billion rows would make room for them."""
    path = tmp_path / "PM.npy"
    with path.open("wb") as file:
        np.lib.format.write_array_header_1_0(
            file, {"descr": PM.descr, "fortran_order": False, "shape": (10**9, 10, 10)}
        )
    with pytest.raises(InputError, match=r"bytes of numbers in the npy file, got 0"):
        import_runs(path, cutoff=5)


CAVE = "cost,time,status,seed,config_id,instance_id\n"
CAVE_ROWS = (
    CAVE
    + "1,0.5,StatusType.SUCCESS,3,7,x\n4,0.5,SUCCESS,4,7,x\n9,9,TIMEOUT,3,8,x\n,,RUNNING,4,8,x\n,1,,5,8,x\n"
)


def test_a_configuration_called_default_is_the_default(tmp_path: Path) -> None:
    """Somebody with a table would have to say what its names say already."""
    path = tmp_path / "runs.csv"
    path.write_text("configuration,instance,seed,cost\ndefault,x,1,1\nb,x,1,2\n")
    assert import_runs(path, low=0, high=10).trajectory.default == "default"
    assert import_runs(path, low=0, high=10, default="b").trajectory.default == "b"


def test_runs_without_a_cost_are_not_dropped(tmp_path: Path) -> None:
    """Timeouts that a table leaves empty would be left out, and whoever has many of them would look
    the best.
    """
    path = tmp_path / "runs.csv"
    path.write_text("solver,problem,runtime\na,x,1\na,y,\nb,x,2\nb,y,3\n")
    with pytest.raises(
        InputError, match=r"1 of 4 rows has no cost, the first is row 2\. If these runs timed out"
    ):
        import_runs(path)
    found = import_runs(path, cutoff=5)
    np.testing.assert_array_equal(found.matrix.costs[:, :, 0], [[1, 50], [2, 3]])
    assert "Runs without a cost count as timeouts: 1." in found.notes


def test_messages_name_the_columns_of_the_table(tmp_path: Path) -> None:
    """Somebody would be told of a column that the table does not have, or of decimals where a comma
    separates thousands.
    """
    path = tmp_path / "runs.csv"
    path.write_text("solver,problem,runtime (ms)\na,x,1 s\na,y,2 s\n")
    with pytest.raises(InputError, match=r"in the column 'runtime \(ms\)', got '1 s' in row 1"):
        import_runs(path)
    path.write_text('solver,problem,runtime (ms)\na,x,1500\na,y,"2,250"\n')
    with pytest.raises(InputError, match=r"point, 2\.250, thousands without a comma, 2250\."):
        import_runs(path)
    path.write_text("solver,problem,runtime (ms)\na,x,1500\na,y,20\n")
    log = import_runs(path, cutoff=1000)
    assert "The cutoff of 1000 is meant in ms, as the costs are." in log.notes


@pytest.mark.parametrize(
    ("options", "message"),
    [({"cutoff": 0}, "a `cutoff` above 0, got 0"), ({"cutoff": 1, "par": 0.5}, "at least 1")],
)
def test_cutoffs_and_penalties_that_make_no_sense(options: dict[str, float], message: str) -> None:
    """A cutoff of 0 would be taken, or refused in a sentence that nobody understands."""
    with pytest.raises(InputError, match=message):
        Options(**options)  # type: ignore[arg-type]


def test_the_range_of_a_score_has_no_minus_zero(tmp_path: Path) -> None:
    """Costs would be said to lie in [-1, -0]."""
    path = tmp_path / "runs.csv"
    path.write_text("solver,problem,accuracy\na,x,0.5\nb,x,0.7\n")
    matrix = import_runs(path, maximise=True, low=0.0, high=1.0).matrix
    assert f"[{matrix.low:g}, {matrix.high:g}]" == "[-1, 0]"


@pytest.mark.parametrize(
    ("cost", "instead"),
    [
        ("1,234", "got '1,234' in row 1: write decimals with a point, 1.234"),
        (
            "TIMEOUT",
            "got 'TIMEOUT' in row 1: write 'TIMEOUT' into a column called status, and leave the number empty",
        ),
        ("0.5s", "got '0.5s' in row 1."),
    ],
)
def test_costs_that_are_no_numbers_say_what_to_write(
    tmp_path: Path, cost: str, instead: str
) -> None:
    """Whoever writes decimals or timeouts in another way would have to guess how they are written
    here.
    """
    path = tmp_path / "runs.csv"
    path.write_text(f"configuration;instance;cost\na;x;{cost}\nb;x;1\n")
    with pytest.raises(InputError, match=re.escape(instead)):
        import_runs(path)


@pytest.mark.parametrize("cost", ["", "nan", "inf"])
def test_solved_runs_have_a_cost(tmp_path: Path, cost: str) -> None:
    """A run that says it was solved would be dropped, or charged the most there is, because its
    cost was lost.
    """
    (tmp_path / "runs.csv").write_text(
        f"configuration,instance,seed,cost,status\na,x,1,1,solved\na,y,1,{cost},solved\n"
    )
    with pytest.raises(InputError, match="expected a cost in row 2, which has the status solved"):
        import_runs(tmp_path / "runs.csv", low=0, high=10)


def test_cave(tmp_path: Path) -> None:
    """CAVE's layout would not be known by its columns, or its parameters be lost."""
    (tmp_path / "runhistory.csv").write_text(CAVE_ROWS)
    (tmp_path / "configurations.csv").write_text("config_id,x,mode\n7,0.5,a\n8,0.25,\n")
    found = import_runs(tmp_path, low=0, high=10)
    assert found.columns == {
        "configuration": "config_id", "instance": "instance_id", "cost": "cost", "seed": "seed", "status": "status",
    }  # fmt: skip
    np.testing.assert_array_equal(found.matrix.costs, [[[1, 4]], [[9, np.nan]]])
    assert found.left_out == {"not ended": 1, "no cost": 1}
    assert found.parameters == {"7": {"x": "0.5", "mode": "a"}, "8": {"x": "0.25"}}
    assert import_runs(tmp_path, cutoff=5, par=10).matrix.costs[1, 0, 0] == 50


def test_guesses_can_be_put_right(tmp_path: Path) -> None:
    """A column guessed wrongly could not be put right, or a guess would not be shown."""
    path = tmp_path / "runs.tsv"
    path.write_text("Solver\tTask\tTime\tPAR10\na\tx\t1\t3\na\ty\t2\t4\n")
    found = import_runs(path, low=0, high=50)
    assert found.columns == {"configuration": "Solver", "instance": "Task", "cost": "PAR10"}
    assert "PAR10 is the cost" in found.notes[0]
    assert import_runs(path, low=0, high=50, columns={"cost": "Time"}).matrix.costs[0, 0, 0] == 1
    with pytest.raises(InputError, match="cost=Tim to name a column"):
        import_runs(path, low=0, high=50, columns={"cost": "Tim"})
    with pytest.raises(InputError, match="on the left of a column, got 'price'"):
        import_runs(path, low=0, high=50, columns={"price": "Time"})
    path.write_text("Solver\tTime\na\t1\n")
    with pytest.raises(InputError, match=r"a column for the instance, .* `columns` instance=NAME"):
        import_runs(path, low=0, high=50)


def test_rows_that_agree_are_runs(tmp_path: Path) -> None:
    """Several rows of a configuration on an instance, without seeds, would be refused or overwrite
    each other.
    """
    path = tmp_path / "runs.csv"
    path.write_text("config,instance,cost\na,x,1\nb,x,2\na,x,3\n")
    found = import_runs(path, low=0, high=5)
    np.testing.assert_array_equal(found.matrix.costs, [[[1, 3]], [[2, np.nan]]])
    assert any("in the order of the table" in note for note in found.notes)


def test_frames() -> None:
    """A data frame in memory would be read differently from its file."""
    frame = pl.DataFrame(
        {"config": ["a", "b"], "instance": ["x", "x"], "seed": [1, 1], "cost": [1.0, float("inf")]}
    )
    found = import_runs(frame, low=0, high=5)
    np.testing.assert_array_equal(found.matrix.costs[:, 0, 0], [1, 5])
    with pytest.raises(InputError, match="a path or a data frame, got int"):
        import_runs(7)
    assert (
        import_runs(pd.DataFrame(frame.to_dict(as_series=False)), low=0, high=5).matrix
        == found.matrix
    )


def test_pandas_frames() -> None:
    """What pandas has for missing values and for words that repeat would be taken for names, or
    refused.
    """
    frame = pd.DataFrame(
        {
            "solver": pd.Categorical(["a", "b", "a", "b"]),
            "problem": ["x", "x", "y", "y"],
            "seconds": [1.0, np.nan, 2.0, 3.0],
            "status": ["ok", "timeout", np.nan, pd.NA],
            "seed": pd.array([1, 1, 2, 2], dtype="Int64"),
        },
        index=[7, 7, 8, 9],
    )
    found = import_runs(frame, cutoff=5)
    np.testing.assert_array_equal(found.matrix.costs[:, :, 0], [[1, 2], [50, 3]])
    assert found.matrix.configurations == ("a", "b")
    frame["problem"] = pd.Categorical(["x", None, "y", "y"])
    with pytest.raises(InputError, match="instance"):
        import_runs(frame, cutoff=5)
    with pytest.raises(InputError, match="a data frame of polars or pandas"):
        import_runs(pd.concat([frame, frame], axis=1))


def test_there_and_back_with_pandas() -> None:
    """A matrix handed over to pandas would lose runs, statuses or digits of seeds."""
    matrix = runtime_model(configurations=3, rng=1).draw(instances=4, runs=2, rng=2)
    costs, seeds = (
        matrix.costs.copy(),
        np.arange(matrix.costs.size).reshape(matrix.costs.shape) + 2**60,
    )
    costs[0, 1, 1] = np.nan
    seeds[0, 1, 1] = -1
    holes = CostMatrix(
        costs, matrix.configurations, matrix.instances, matrix.low, matrix.high, seeds=seeds
    )
    for each in (matrix, holes):
        frame = each.to_pandas()
        assert list(frame.columns) == each.to_table().columns
        assert import_runs(frame).matrix == each


def test_without_pandas(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where pandas is not installed, `to_pandas` would end in a traceback."""
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(InputError, match="expected pandas"):
        runtime_model(configurations=1, rng=1).draw(instances=1, runs=1, rng=2).to_pandas()


def test_damaged_parquet_does_not_end_the_process(tmp_path: Path) -> None:
    """A damaged byte in a parquet file would abort the whole process."""
    path = tmp_path / "runs.parquet"
    frame = pl.DataFrame(
        {
            "config": [f"c{i % 50}" for i in range(2000)],
            "instance": [f"i{i // 50}" for i in range(2000)],
        }
    )
    frame.with_columns(cost=pl.Series(np.random.default_rng(1).random(2000))).write_parquet(path)
    whole = path.read_bytes()
    # The first makes polars 2.1 abort.
    places = [
        (152, 1),
        (4, 255),
        (len(whole) - 5, 255),
        *((place, 255) for place in range(1000, len(whole), 7000)),
    ]
    for number, (place, byte) in enumerate(places):
        (tmp_path / str(number)).write_bytes(
            whole[:place] + bytes([whole[place] ^ byte]) + whole[place + 1 :]
        )
    script = (
        "import sys; from truecost.importers.detect import import_runs\n"
        "from truecost.errors import InputError\n"
        "for path in sys.argv[1:]:\n"
        "    try:\n        print(import_runs(path, low=0, high=1).kind)\n"
        "    except InputError as error:\n        print(error)\n"
    )
    words = [
        sys.executable,
        "-c",
        script,
        *(str(tmp_path / str(number)) for number in range(len(places))),
    ]
    ended = subprocess.run(words, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended
    assert len(ended.stdout.splitlines()) == len(places)
    assert "cannot be read" in ended.stdout


def trajectory() -> Trajectory:
    """One with everything in it."""
    return Trajectory(
        tool="irace 4",
        proposed="adaptively",
        raced=True,
        default="a",
        incumbent="b",
        steps=(Step(3, ("b",)), Step(None, ("b", "a"))),
    )


@pytest.mark.parametrize("ending", ["parquet", "npz"])
def test_trajectories_stay_with_their_matrix(tmp_path: Path, ending: str) -> None:
    """Where the configurations come from would be lost with the log, or disturb readers that do not
    ask for it.
    """
    path = tmp_path / f"runs.{ending}"
    matrix = CostMatrix([[1.0, 2.0], [3.0, 4.0]], ["a", "b"], ["x", "y"], 0, 5)
    matrix.save(path, trajectory=trajectory())
    assert CostMatrix.load(path) == matrix
    assert provenance.read(path) == trajectory()
    again = import_runs(path)
    assert again.matrix == matrix
    assert again.trajectory == trajectory()
    matrix.save(path)
    assert provenance.read(path) is None
    with pytest.raises(InputError, match="a csv table has no place for the trajectory"):
        matrix.save(tmp_path / "runs.csv", trajectory=trajectory())


@pytest.mark.parametrize(
    "text", ["", "{}", "[]", '{"tool": 1}', provenance.to_json(trajectory()).replace("adaptively", "by magic"), "[" * 99_999,
             provenance.to_json(trajectory()).replace("[3,", '["3",'),
             provenance.to_json(trajectory()).replace('"irace 4"', "7")]
)  # fmt: skip
def test_bad_trajectories(text: str) -> None:
    """A trajectory that cannot be would be taken."""
    with pytest.raises(InputError):
        provenance.from_json(text)


def test_import_command(tmp_path: Path) -> None:
    """`truecost import` would write other runs than the package reads, or lose what the log says on
    the way.
    """
    log, out, test = tmp_path / "irace.Rdata", tmp_path / "runs.parquet", tmp_path / "test.npz"
    log.write_bytes(rwriter.packed(rwriter.irace_log()))
    ended = run(
        "import",
        log,
        "--low",
        0,
        "--high",
        10,
        "-o",
        out,
        "--test-out",
        test,
        "--default",
        "2",
        "--json",
    )
    assert ended.returncode == 0, ended.stderr
    answer = json.loads(ended.stdout)
    found = import_runs(log, low=0, high=10, default="2")
    assert found.test is not None
    assert CostMatrix.load(out) == found.matrix
    assert CostMatrix.load(test) == found.test
    kept = provenance.read(out)
    assert kept is not None
    # The order of costs with few values is drawn when they are written down.
    assert kept.order_seed is not None
    assert replace(kept, order_seed=None) == found.trajectory
    assert (answer["runs"], answer["configurations"], answer["instances"]) == (8, 3, 3)
    assert answer["test"]["runs"] == 3
    assert answer["trajectory"]["incumbent"] == "1"
    shown = run("import", log, "--low", 0, "--high", 10, "-o", tmp_path / "runs.csv").stdout
    for words in (
        "8 runs of 3 configurations on 3 instances",
        "Incumbent: 1",
        "without the trajectory",
    ):
        assert words in " ".join(shown.split())
    assert CostMatrix.load(tmp_path / "runs.csv") == found.matrix


def test_import_refuses_in_one_line(tmp_path: Path) -> None:
    """Wrong words to `import` would end in a traceback, or after the work."""
    table = tmp_path / "runs.csv"
    table.write_text("config,instance,cost\na,x,1\n")
    (tmp_path / "empty").mkdir()
    (tmp_path / "nothing").write_bytes(b"")
    (tmp_path / "zip.gz").write_bytes(b"\x1f\x8b" + bytes(40))
    (tmp_path / "other.json").write_text("{}")
    (tmp_path / "other.arff").write_text("@RELATION x")
    (tmp_path / "binary").write_bytes(bytes(range(256)))
    range_ = ["--low", 0, "--high", 5]
    for words in (
        [],
        ["nowhere.csv"],
        [tmp_path / "empty", *range_],
        [tmp_path / "nothing", *range_],
        [tmp_path / "zip.gz", *range_],
        [tmp_path / "other.json", *range_],
        [tmp_path / "other.arff", *range_],
        [tmp_path / "binary", *range_],
        ["/dev/null", *range_],
        [table, *range_, "-o", "runs.xlsx"],
        [table, *range_, "-o", "no/such/folder/runs.csv"],
        [table, *range_, "--test-out", tmp_path / "test.csv"],
        [table, *range_, "--column", "cost"],
        [table, *range_, "--kind", "excel"],
        [table, *range_, "--kind", "smac"],
        [table, *range_, "--kind", "irace"],
        [table, *range_, "--default", "nobody"],
        [table, "--cutoff", 0],
        [table, "--cutoff", 5, "--par", 0.5],
        [table, "--cutoff", "nan"],
    ):
        with pytest.raises((InputError, FileNotFoundError, typer.TyperException)) as caught:
            app()(["import", *map(str, words)], standalone_mode=False)
        assert "\n" not in str(caught.value)
    for words in (["nowhere.csv"], [table, *range_, "-o", "runs.xlsx"]):
        ended = run("import", *words, cwd=tmp_path)
        assert ended.returncode == 2, (words, ended)
        assert ended.stdout == ""
        assert re.fullmatch(r"truecost: [^\n]+\n", ended.stderr), (words, ended.stderr)


def test_importing_needs_neither_r_nor_smac(tmp_path: Path) -> None:
    """Reading the log of a tool would load the tool, or something that opens pickles."""
    (tmp_path / "irace.Rdata").write_bytes(rwriter.irace_log())
    script = (
        "import sys; from truecost.importers.detect import import_runs\n"
        "import_runs(sys.argv[1], low=0, high=10)\n"
        "print([name for name in ('smac', 'ConfigSpace', 'rpy2', 'pandas', 'yaml') if name in sys.modules])"
    )
    words = [sys.executable, "-c", script, str(tmp_path / "irace.Rdata")]
    assert subprocess.run(words, capture_output=True, text=True, check=True).stdout == "[]\n"


def test_columns_with_line_ends_are_told_in_one_line(tmp_path: Path) -> None:
    """A column name with a line end in it would break the one line of the refusal."""
    (tmp_path / "runs.csv").write_text('"config\nuration",b\n1,2\n')
    with pytest.raises(InputError, match=r"'config\\nuration', b looks like it") as refused:
        import_runs(tmp_path / "runs.csv")
    assert "\n" not in str(refused.value)


def test_a_gathering_that_is_not_finished_says_so(tmp_path: Path) -> None:
    """Runs that are looked at while they are made would be certified as if this were the only look,
    wrong beyond delta.
    """
    scenario = Scenario.read(scenarios.write(tmp_path))
    whole = design_of(scenario, 2, 5, 2)
    machine = Machine(
        host="here", cpu="fast", system="Linux", method="cgroup", solver="1.0", truecost="0"
    )
    cells = [(c, i, n) for n in range(2) for i in range(5) for c in range(2)]
    runs = []
    for c, i, n in cells:
        outcome = Outcome(
            status=Status.SOLVED, cpu=0.01, wall=0.01, memory=0, exit_code=0, value=100.0 * c + i
        )
        names = {"configuration": whole.configurations[c].name, "instance": whole.instances[i].name}
        runs.append((Run(**names, number=n, seed=1, outcome=outcome), machine))
    with Journal.write(tmp_path / "runs.db", scenario) as journal:
        journal.begin(whole, scenario.metric)
        journal.add(runs[:14], "2026-01-01")
    begun = import_runs(tmp_path / "runs.db")
    assert begun.trajectory.unfinished
    found = assess(begun)
    assert found.certificate is not None
    assert "recorded plan" in found.certificate.method
    with Journal.write(tmp_path / "runs.db", scenario) as journal:
        journal.add(runs[14:], "2026-01-01")
    ended = import_runs(tmp_path / "runs.db")
    assert not ended.trajectory.unfinished
    assert assess(ended).certificate is not None
    begun.matrix.save(tmp_path / "kept.npz", trajectory=begun.trajectory)
    assert import_runs(tmp_path / "kept.npz").trajectory.unfinished


def test_blanks_around_names_are_not_part_of_them(tmp_path: Path) -> None:
    """An instance would be two, one of them with a blank behind its name."""
    long, wide = tmp_path / "long.csv", tmp_path / "wide.csv"
    long.write_text(
        'configuration,instance,cost\na,x.cnf,1\n"a "," x.cnf ",2\nb,x.cnf,3\nb,x.cnf,4\n'
    )
    wide.write_text('instance," a ",b\n" x.cnf ",1,2\ny.cnf,3,4\n')
    for table, instances in ((long, ("x.cnf",)), (wide, ("x.cnf", "y.cnf"))):
        matrix = import_runs(table).matrix
        assert (matrix.configurations, matrix.instances) == (("a", "b"), instances)
    wide.write_text('instance,a,b\n"x.cnf ",1,2\nx.cnf,3,4\n')
    with pytest.raises(InputError, match="got one twice"):
        import_runs(wide, kind="wide")


def test_a_column_that_says_what_was_solved(tmp_path: Path) -> None:
    """A run that was not solved would cost the time after which it gave up."""
    path = tmp_path / "runs.csv"
    path.write_text("solver,instance,time,solved\nA,i,3,1\nA,j,4,0\nB,i,5,True\nB,j,9,no\n")
    log = import_runs(path, cutoff=10)
    assert log.matrix.costs[:, :, 0].tolist() == [[3, 100], [5, 100]]
    assert "Runs that were not solved count as timeouts: 2." in log.notes
