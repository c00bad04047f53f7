"""Input that was made to hang, to fill the memory or to end in a traceback."""

import os
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from truecost import import_runs
from truecost.errors import InputError

HEADER = "configuration,instance,cost\n"
STUDY = '{"op_code": 0, "worker_id": "w", "study_name": "s", "directions": [1]}\n'
TRIAL = '{"op_code": 4, "worker_id": "w", "study_id": 0, "state": 1, "value": 1.0}\n\n'
OPTUNA = (
    "create table studies(study_id, study_name)",
    "create table study_directions(study_id, direction, objective)",
    "create table trials(trial_id, study_id, number, state)",
    "create table trial_params(trial_id, param_name, param_value, distribution_json)",
    "create table trial_values(trial_id, objective, value, value_type)",
    "insert into studies values(1, 's')",
    "insert into study_directions values(1, 'MINIMIZE', 0)",
    "insert into trials values(1, 1, 0, 'COMPLETE')",
)
ENDLESS = (
    "create view trial_user_attributes as with recursive c(x) as (select 1 union all select x + 1 "
    "from c) select 1 as trial_id, x as key, '1' as value_json from c"
)


def base(*statements: str) -> Callable[[Path], Path]:
    """An SQLite file made by these statements."""

    def make(folder: Path) -> Path:
        path = folder / "study.db"
        with sqlite3.connect(path) as connection:
            for statement in (*OPTUNA, *statements):
                connection.execute(statement)
        connection.close()
        return path

    return make


def pipe(name: str) -> Callable[[Path], Path]:
    """A folder with a pipe of this name, which nobody ever writes to."""

    def make(folder: Path) -> Path:
        os.mkfifo(folder / name)
        return folder

    return make


def text(name: str, content: str) -> Callable[[Path], Path]:
    """A file with this text."""

    def make(folder: Path) -> Path:
        (folder / name).write_text(content)
        return folder / name

    return make


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (pipe("runhistory.json"), "it holds none"),
        (pipe("results.xml"), "it holds none"),
        (pipe("calls.log"), "it holds none"),
        (base(ENDLESS), "every run failed without a cost"),
        (base("insert into trial_values values(1, 0, 'abc', 'FINITE')"), "could not convert"),
        (base("insert into trials values(2, 7, 0, 'COMPLETE')"), "KeyError"),
        (text("j.log", STUDY.replace("[1]", "[9]")), "operation of Optuna in line 1"),
        (text("j.log", STUDY + STUDY.replace("0, ", "7, ", 1) + "{}\n"), "operation .* in line 2"),
        (text("t.csv", HEADER + '"a,b,1\n' * 9), "separated by commas, semicolons, tabs"),
        (text("t.csv", '"' * 1001), "expected a column for"),
        (text("t.csv", "%PDF-1.7"), "got a PDF"),
        (text("t.csv", HEADER + "a,i,1,234\n"), "more fields than the first line"),
        (text("t.csv", HEADER + 'a,i,"1,234"\n'), "write decimals with a point"),
        (text("t.csv", "," * 300_000 + "\n1\n"), "expected"),
        (text("t.json", "[" * 300_000), "expected a column for"),
        (text("t.json", '[{"configuration": "a"}]'), "write other runs as a csv table"),
        (text("j.log", STUDY.replace("[1]", "[]") + TRIAL), "expected the direction"),
        (text("cv.csv", "params,split0_test_score\n"), "at least one configuration"),
        (text("cv.csv", "n_resources,split0_test_score\n,1\n"), "at least one configuration"),
    ],
)
def test_refused_in_one_line(tmp_path: Path, make: Callable[[Path], Path], words: str) -> None:
    """A pipe, a view without an end, a value that is no number or a header without one would hang
    a command, or end it in a traceback.
    """
    with pytest.raises(InputError, match=words) as refusal:
        import_runs(make(tmp_path))
    assert "\n" not in str(refusal.value)
    assert "InputError" not in str(refusal.value)


def test_lines_of_old_spreadsheets(tmp_path: Path) -> None:
    """A table whose lines end in CR alone would be refused with advice for programmers."""
    (tmp_path / "t.csv").write_bytes(f"{HEADER}a,i,1\nb,i,2\n".replace("\n", "\r").encode())
    assert import_runs(tmp_path / "t.csv").matrix.costs.ravel().tolist() == [1, 2]


@pytest.mark.parametrize(
    "header",
    [
        "solver name,instance name,time (s)",
        "Solver,Benchmark,wallclock time",
        "config,instance_file,runtime_s",
        "model,dataset,rmse",
        "strategy;problem;total_time [s]",
        "algorithm|formula|gap",
    ],
)
def test_columns_are_recognised_by_their_words(tmp_path: Path, header: str) -> None:
    """Every spelling of a column that is not in a list would have to be mapped by hand."""
    mark = next(mark for mark in ",;|" if mark in header)
    (tmp_path / "t.csv").write_text(f"{header}\na,i,1.5\nb,i,2.5\n".replace(",", mark))
    log = import_runs(tmp_path / "t.csv")
    assert log.matrix.configurations == ("a", "b")
    assert log.matrix.costs.ravel().tolist() == [1.5, 2.5]


@pytest.mark.parametrize("name", ["test accuracy", "F1-Score", "mean_reward", "val_acc", "ROC AUC"])
def test_scores_need_a_direction(tmp_path: Path, name: str) -> None:
    """The worst configuration would win where more is better."""
    (tmp_path / "t.csv").write_text(f"method,dataset,{name}\na,i,0.5\nb,i,0.7\n")
    with pytest.raises(InputError, match="expected `maximise`"):
        import_runs(tmp_path / "t.csv")
    assert import_runs(tmp_path / "t.csv", maximise=True).matrix.costs.ravel().tolist() == [
        -0.5,
        -0.7,
    ]


def test_all_missing_columns_at_once(tmp_path: Path) -> None:
    """Missing columns would be told one by one, a command for each."""
    (tmp_path / "t.csv").write_text("a,b,c\nx,y,1\n")
    with pytest.raises(InputError) as refusal:
        import_runs(tmp_path / "t.csv")
    assert str(refusal.value).endswith(
        "give `columns` configuration=NAME `columns` instance=NAME `columns` cost=NAME."
    )


@pytest.mark.parametrize(
    ("cells", "costs"),
    [
        (["1,5", "0,25", "12"], [1.5, 0.25, 12]),
        (["1,234.5", "12.5", "1,000,000.0"], [1234.5, 12.5, 1e6]),
        (["0,123", "1,234", "5"], [0.123, 1.234, 5]),
    ],
)
def test_commas_in_numbers(tmp_path: Path, cells: list[str], costs: list[float]) -> None:
    """A table of a spreadsheet in German, or with thousands, would have to be written anew."""
    rows = "".join(f"a;i{place};{cell}\n" for place, cell in enumerate(cells))
    (tmp_path / "t.csv").write_text(f"solver;instance;cost\n{rows}")
    assert import_runs(tmp_path / "t.csv").matrix.costs.ravel().tolist() == costs
