import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from imports import codes, load, said, statuses, write

from truecost.errors import InputError
from truecost.runs import Status

HEADER = "configuration,instance,cost\n"


def text(tmp_path: Path, content: str | bytes, name: str = "runs.csv") -> Path:
    """A table with this content."""
    return write(tmp_path / name, content)


@pytest.mark.parametrize(
    "header",
    [
        "configuration,instance,cost",
        "solver,problem,runtime",
        "Solver Name,Instance Name,Time (s)",
        "version;task;time",
        "config_id\tinstance_id\tCPU time [s]",
        "algorithm|formula|quality",
    ],
)
def test_columns_by_name(tmp_path: Path, header: str) -> None:
    """A usual name of a column would have to be mapped by hand."""
    mark = next(mark for mark in ",;\t|" if mark in header)
    path = text(tmp_path, f"{header}\na,i,1.5\nb,i,2.5\n".replace(",", mark))
    matrix = load(path).runs
    assert (matrix.configurations, matrix.instances) == (("a", "b"), ("i",))
    assert matrix.costs.ravel().tolist() == [1.5, 2.5]


def test_columns_that_are_given(tmp_path: Path) -> None:
    """A column called otherwise could not be named, or the choice between two be made silently."""
    path = text(tmp_path, "Solver\tTask\tTime\tPAR10\na\tx\t1\t3\na\ty\t2\t4\n", "runs.tsv")
    with pytest.raises(InputError, match="--columns cost="):
        load(path)
    assert load(path, columns={"cost": "Time"}).runs.costs[0, 0, 0] == 1
    assert load(path, columns={"cost": "PAR10"}).runs.costs[0, 0, 0] == 3
    with pytest.raises(InputError, match="Tim"):
        load(path, columns={"cost": "Tim"})
    with pytest.raises(InputError, match="'price'"):
        load(path, columns={"price": "Time"})
    own = text(tmp_path, "configuration,instance,time,cost\na,x,9,1\na,y,9,2\n")
    assert load(own).runs.costs.ravel().tolist() == [1, 2]
    status = text(tmp_path, "solver,instance,time,result\na,x,1,17\na,y,2,18\n", "r.csv")
    with pytest.raises(InputError, match="status="):
        load(status)
    assert load(status, columns={"status": ""}).runs.statuses is None


def test_all_missing_columns_at_once(tmp_path: Path) -> None:
    """Missing columns would be told one by one, a command for each."""
    with pytest.raises(InputError, match="configuration=NAME,instance=NAME,cost=NAME"):
        load(text(tmp_path, "a,b\nx,y\n"))


def test_runs_without_a_cost_are_not_dropped(tmp_path: Path) -> None:
    """Timeouts that a table leaves empty would be left out, and whoever has many of them would look
    the best.
    """
    path = text(tmp_path, "solver,problem,runtime\na,x,1\na,y,\nb,x,2\nb,y,3\n")
    with pytest.raises(InputError, match="--cutoff"):
        load(path)
    found = load(path, cutoff=5.0)
    np.testing.assert_array_equal(found.runs.costs[:, :, 0], [[1, 50], [2, 3]])
    assert "timeouts" in codes(found)


@pytest.mark.parametrize("cost", ["", "nan", "inf"])
def test_solved_runs_have_a_cost(tmp_path: Path, cost: str) -> None:
    """A run that was solved would be dropped, or charged the most there is, because its cost was
    lost.
    """
    rows = f"a,x,1,1,solved\na,y,1,{cost},solved\n"
    with pytest.raises(InputError, match="Row 2"):
        load(text(tmp_path, f"configuration,instance,seed,cost,status\n{rows}"), high=10.0)


def test_statuses(tmp_path: Path) -> None:
    """A word of another tool for how a run ended would be lost, or a run that has not ended count."""
    words = ["StatusType.SUCCESS", "TIMEOUT", "memout", "crashed", "wrong", "capped", "RUNNING", ""]
    rows = "".join(f"a,i{place},{place},{word}\n" for place, word in enumerate(words, 1))
    log = load(text(tmp_path, f"solver,instance,time,status\n{rows}"), cutoff=20.0, par=2.0)
    known = [Status.SOLVED, Status.TIMEOUT, Status.MEMORY, Status.CRASHED, Status.WRONG]
    assert statuses(log.runs)[0, :, 0].tolist() == [*known, Status.CENSORED, -1]
    assert log.runs.costs[0, :, 0].tolist() == [1, 40, 40, 40, 40, 6, 8]
    assert "left out" in codes(log)
    with pytest.raises(InputError, match="'UNKNOWN'"):
        load(text(tmp_path, "solver,instance,time,status\na,x,1,UNKNOWN\n"))


def test_a_column_that_says_what_was_solved(tmp_path: Path) -> None:
    """A run that was not solved would cost the time after which it gave up."""
    content = "solver,instance,time,solved\nA,i,3,1\nA,j,4,0\nB,i,5,True\nB,j,9,no\n"
    log = load(text(tmp_path, content), cutoff=10.0)
    assert log.runs.costs[:, :, 0].tolist() == [[3, 100], [5, 100]]


@pytest.mark.parametrize("name", ["accuracy", "F1", "reward", "Score"])
def test_scores_need_a_direction(tmp_path: Path, name: str) -> None:
    """The worst configuration would win where more is better."""
    path = text(tmp_path, f"method,dataset,{name}\na,i,0.5\nb,i,0.7\n")
    with pytest.raises(InputError, match="--maximise"):
        load(path)
    log = load(path, maximise=True)
    assert log.maximised
    assert log.runs.costs.ravel().tolist() == [-0.5, -0.7]
    log = load(path, maximise=True, low=0.0, high=1.0)
    assert (log.runs.low, log.runs.high) == (0, 1)
    np.testing.assert_allclose(log.runs.costs.ravel(), [0.5, 0.3])
    assert load(path, maximise=False).runs.costs.ravel().tolist() == [0.5, 0.7]
    with pytest.raises(InputError, match="cutoff"):
        load(path, maximise=True, cutoff=5.0)


def test_rows_that_agree_are_runs(tmp_path: Path) -> None:
    """Several rows of a configuration on an instance, without seeds, would be refused or overwrite
    each other.
    """
    found = load(text(tmp_path, "config,instance,cost\na,x,1\nb,x,2\na,x,3\n"))
    np.testing.assert_array_equal(found.runs.costs, [[[1, 3]], [[2, np.nan]]])
    assert "repeated" in codes(found)
    with pytest.raises(InputError, match="twice"):
        load(text(tmp_path, "config,instance,run,cost\na,x,1,1\na,x,1,2\n"))


def test_seeds_stand_in_line(tmp_path: Path) -> None:
    """The same seed would stand at different places for two configurations, or lose digits."""
    large = 2**60 + 1
    rows = f"a,x,7.0,1\na,x,{large},2\nb,x,{large},3\n"
    found = load(text(tmp_path, f"config,instance,seed,cost\n{rows}")).runs
    np.testing.assert_array_equal(found.costs, [[[1, 2]], [[np.nan, 3]]])
    assert found.seeds is not None
    assert found.seeds.tolist() == [[[7, large]], [[-1, large]]]


def test_a_table_of_one_configuration(tmp_path: Path) -> None:
    """Two versions measured into a file each could not be compared."""
    found = load(text(tmp_path, "instance,seed,time\nx,1,1\nx,2,2\ny,1,3\n", "new.csv")).runs
    assert found.configurations == ("new",)
    assert found.shape == (1, 2, 2)
    with pytest.raises(InputError, match="--columns configuration"):
        load(text(tmp_path, "instance,time\nx,1\nx,2\n"))


def test_families_of_a_column(tmp_path: Path) -> None:
    """Families that a table has would be lost, or instances without one be given any."""
    content = "solver,instance,family,time\na,x,f,1\na,y,g,2\n"
    path = text(tmp_path, content)
    assert load(path).runs.families == ("f", "g")
    assert load(path, columns={"family": ""}).runs.families is None
    path = text(tmp_path, content.replace("family", "origin"))
    assert load(path, families="origin").runs.families == ("f", "g")
    assert load(path, families={"x": "p", "y": "q"}).runs.families == ("p", "q")
    with pytest.raises(InputError, match="family"):
        load(text(tmp_path, content.replace("g,2", ",2")))


def test_a_value_for_not_solved_is_pointed_out(tmp_path: Path) -> None:
    """The same largest value of many runs would pass for running times without a word."""
    rows = "".join(f"a,i{n},{n / 8 if n % 3 else 100}\n" for n in range(1, 40))
    path = text(tmp_path, f"solver,instance,time\n{rows}")
    assert "unsolved" in codes(load(path))
    assert "unsolved" not in codes(load(path, high=100.0))
    assert load(path, cutoff=100.0, par=2.0).runs.costs.max() == 200


@pytest.mark.parametrize(
    "content",
    [
        f"{HEADER}a,i,inf\nb,i,inf\n",
        f"{HEADER}a,i,-inf\nb,i,1\n",
        f"{HEADER}a,i,1e200\nb,i,1\n",
        f"{HEADER}a,i,1e-200\nb,i,3e-200\n",
        f"{HEADER}a,i,1_0\n",
        "configuration;instance;cost\na;i;1,500\nb;i;2,500\n",
        "# my runs\nconfiguration,instance,cost\na,i,1\n",
        f"{HEADER}a\xe9,i,1\n".encode("latin-1"),
        "configuration,instance,seed,cost\na,i,1.5,1\n",
        f"configuration,instance,seed,cost\na,i,{'9' * 30},1\n",
        f"{HEADER}a,i,1\n".encode("utf-16"),
        b"PK\x03\x04" + bytes(26) + b"[Content_Types].xml" + bytes(50),
        "configuration,instance,cost,cost\na,i,1,1\n",
        f"{HEADER}a,i\n",
        f"{HEADER}a,i,1,234\n",
        f'{HEADER}a,i,"1,234"\n',
        f"{HEADER}a,,1\n",
        f'{HEADER}"a,b,1\n' * 9,
        '"' * 1001,
        "," * 300_000 + "\n1\n",
        "%PDF-1.7",
        HEADER,
        "",
        b"\x1f\x8b" + bytes(40),
        bytes(range(256)),
    ],
)
def test_bad_tables_are_refused_in_one_line(tmp_path: Path, content: str | bytes) -> None:
    """A table would be read wrongly, or end in the exception of a library."""
    path = text(tmp_path, content)
    with pytest.raises(InputError) as caught:
        load(path)
    assert str(caught.value).count(str(path)) == 1
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("cells", "costs"),
    [
        (["1,5", "0,25", "12"], [1.5, 0.25, 12]),
        (["1,234.5", "12.5", "1,000,000.0"], [1234.5, 12.5, 1e6]),
        (["0,123", "1,234", "5"], [0.123, 1.234, 5]),
        (["+1e-3", " 2 ", "0.1"], [1e-3, 2, 0.1]),
    ],
)
def test_numbers_as_people_write_them(tmp_path: Path, cells: list[str], costs: list[float]) -> None:
    """A table of a German spreadsheet, or with thousands, would have to be written anew."""
    rows = "".join(f"a;i{place};{cell}\n" for place, cell in enumerate(cells))
    found = load(text(tmp_path, f"solver;instance;cost\n{rows}")).runs
    assert found.costs.ravel().tolist() == costs


def test_tables_as_programs_write_them(tmp_path: Path) -> None:
    """Packed tables, a first line sep=;, a byte order mark, lines of old spreadsheets, blank lines
    or blanks around names would make a table unreadable or an instance two.
    """
    plain = f"{HEADER}a,x,1\na,y,2\nb,x,3\n"
    expected = load(text(tmp_path, plain)).runs
    spellings = {
        "gz.csv.gz": gzip.compress(plain.encode()),
        "sep.csv": b"sep=;\n" + plain.replace(",", ";").encode(),
        "mark.csv": b"\xef\xbb\xbf" + plain.encode(),
        "old.csv": plain.replace("\n", "\r").encode(),
        "windows.csv": plain.replace("\n", "\r\n").encode(),
        "blank.csv": plain.replace("a,y", "\n,,\n a , y ").encode(),
        "quoted.csv": plain.replace("a", '"a"').replace('"a"tion', "ation").encode(),
    }
    spellings["quoted.csv"] = plain.replace("\na,", '\n"a",').encode()
    for name, content in spellings.items():
        assert load(text(tmp_path, content, name)).runs == expected, name


def test_frames(tmp_path: Path) -> None:
    """A data frame would be read differently from its file, or what pandas has for missing values
    be taken for names.
    """
    columns: dict[str, Any] = {
        "solver": pd.Categorical(["a", "b", "a", "b"]),
        "problem": ["x", "x", "y", "y"],
        "seconds": [1.0, np.nan, 2.0, 3.0],
        "status": ["ok", "timeout", np.nan, pd.NA],
        "seed": pd.array([1, 1, 2, 2], dtype="Int64"),
    }
    frame = pd.DataFrame(columns, index=[7, 7, 8, 9])
    found = load(frame, cutoff=5.0).runs
    np.testing.assert_array_equal(found.costs[:, :, 0], [[1, 2], [50, 3]])
    path = tmp_path / "frame.csv"
    frame.to_csv(path, index=False)
    assert load(path, cutoff=5.0).runs == found
    named = frame.set_index(["solver", "problem"])
    assert load(named, cutoff=5.0).runs == found
    frame["problem"] = pd.Categorical(["x", None, "y", "y"])
    with pytest.raises(InputError, match="problem"):
        load(frame, cutoff=5.0)
    with pytest.raises(InputError, match="Two columns"):
        load(pd.concat([frame, frame], axis=1))
    with pytest.raises(InputError, match="no rows"):
        load(frame.iloc[:0])


def test_numbers_that_are_names() -> None:
    """Configurations numbered by pandas, with a gap or without, would be called 7.0."""
    frame = pd.DataFrame({"config": [7.0, 8.0], "instance": [1, 1], "cost": [1.0, 2.0]})
    found = load(frame).runs
    assert (found.configurations, found.instances) == (("7", "8"), ("1",))


def test_there_and_back_with_pandas() -> None:
    """A matrix handed over to pandas would lose runs, statuses or digits of seeds."""
    matrix = load("kissat").runs
    matrix = matrix.select(matrix.configurations[:3], matrix.instances[:4])
    again = load(matrix.to_frame(), low=matrix.low, high=matrix.high).runs
    np.testing.assert_array_equal(again.costs, matrix.costs)
    np.testing.assert_array_equal(statuses(again), statuses(matrix))
    assert again.seeds is not None
    np.testing.assert_array_equal(again.seeds, matrix.seeds)


def test_parquet(tmp_path: Path) -> None:
    """A parquet table would be read differently from the frame that wrote it, or damage in it end
    in the exception of a library.
    """
    pytest.importorskip("pyarrow")
    path = tmp_path / "runs.parquet"
    frame = pd.DataFrame({"solver": ["a", "b"], "instance": ["x", "x"], "cost": [1.5, 2.5]})
    frame.to_parquet(path)
    assert load(path).runs == load(frame).runs
    content = path.read_bytes()
    for cut in (8, len(content) // 2, len(content) - 3):
        with pytest.raises(InputError):
            load(write(tmp_path / "bad.parquet", content[:cut]))


def test_the_default_is_not_guessed(tmp_path: Path) -> None:
    """A configuration would be compared with another because of its name."""
    path = text(tmp_path, f"{HEADER}default,x,1\nb,x,2\n")
    assert load(path).default is None
    assert load(path, default="b").default == "b"
    with pytest.raises(InputError, match="Did you mean 'default'"):
        load(path, default="defualt")


def test_a_table_has_one_cost(tmp_path: Path) -> None:
    """An objective for a table would be ignored without a word."""
    path = text(tmp_path, f"{HEADER}a,x,1\n")
    with pytest.raises(InputError, match="--columns cost"):
        load(path, objective="time")
    assert "columns" not in said(load(path))


@pytest.mark.parametrize(
    ("table", "message"),
    [
        # A crash after 0.01 s would be the best run.
        ("a,x,1,solved\na,y,0.01,crashed\nb,x,2,solved\nb,y,3,solved\n", "--cutoff"),
        ("a,x,1,timeout\nb,x,2,solved\n", "--high"),
    ],
)
def test_failed_runs_do_not_look_best(tmp_path: Path, table: str, message: str) -> None:
    """A configuration would win by crashing at once."""
    path = text(tmp_path, f"configuration,instance,cost,status\n{table}")
    with pytest.raises(InputError, match=message):
        load(path)
    assert load(path, cutoff=5.0).runs.costs.max() == 50
    assert load(path, high=100.0).runs.costs.max() <= 3
    # Of scores, the largest is the best.
    scores = text(tmp_path, "configuration,instance,cost,status\na,x,9,crashed\nb,x,2,solved\n")
    assert load(scores).runs.costs.max() == 9
    with pytest.raises(InputError, match="--low and --high"):
        load(scores, maximise=True)


def test_failed_runs_that_cost_the_most_are_read(tmp_path: Path) -> None:
    """A table of PAR1 scores would be refused."""
    rows = "a,x,1,solved\na,y,5,timeout\nb,x,5,solved\n"
    runs = load(text(tmp_path, f"configuration,instance,cost,status\n{rows}")).runs
    assert runs.costs[0, 1, 0] == 5


def test_a_run_of_one_seed_is_made_once(tmp_path: Path) -> None:
    """A table that was put together twice would count every run twice, and lose its seeds."""
    rows = "configuration,instance,seed,cost\na,x,1,1\na,x,1,1\nb,x,1,2\n"
    path = text(tmp_path, rows)
    with pytest.raises(InputError, match=r"several rows.*--columns seed="):
        load(path)
    assert load(path, columns={"seed": ""}).runs.shape == (2, 1, 2)


@pytest.mark.parametrize(
    ("rows", "options", "message"),
    [
        ("a,x,-1\nb,x,2\n", {"cutoff": 5.0}, "leave it empty"),
        ("a,x,50\nb,x,.2\n", {"maximise": True, "high": 1.0}, "above --high 1"),
        ("a,x,1\nb,x,timeout\n", {}, "column called status"),
        ("a,x,1\nb,x,'1.234,5'\n".replace("'", '"'), {}, "1234.5"),
    ],
)
def test_what_to_do_about_a_number(
    tmp_path: Path, rows: str, options: dict[str, Any], message: str
) -> None:
    """The message would be about something the user never wrote."""
    with pytest.raises(InputError, match=message):
        load(text(tmp_path, HEADER + rows), **options)


def test_seeds_that_are_no_numbers_can_be_left_out(tmp_path: Path) -> None:
    """A table with named or missing seeds could not be read."""
    path = text(tmp_path, "configuration,instance,seed,cost\na,x,s1,1\nb,x,,2\n")
    with pytest.raises(InputError, match="--columns seed="):
        load(path)
    assert load(path, columns={"seed": ""}).runs.seeds is None


@pytest.mark.parametrize("name", ["solved", "success", "correct"])
def test_solved_is_no_cost(tmp_path: Path, name: str) -> None:
    """The configuration that solves the least would win."""
    path = text(tmp_path, f"configuration,instance,{name}\na,x,1\nb,x,0\n")
    with pytest.raises(InputError, match="--maximise"):
        load(path, columns={"cost": name})
    costs = load(path, columns={"cost": name}, maximise=True, high=1.0).runs.costs
    assert costs.ravel().tolist() == [0, 1]


def test_fields_apart_by_spaces(tmp_path: Path) -> None:
    """The message would ask for names of columns, which does not help."""
    with pytest.raises(InputError, match="commas"):
        load(text(tmp_path, "configuration instance cost\na x 1\n"))
