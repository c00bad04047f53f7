import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from imports import codes, costs, load, refused, sentences, statuses, write

from truecost.runs import Status

HEADER = "configuration,instance,cost\n"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where a table is written."""
    return tmp_path / "runs.csv"


@pytest.mark.parametrize(
    "header",
    [
        "solver,problem,runtime",
        "Solver Name,Instance Name,Time (s)",
        "version;task;time",
        "config_id\tinstance_id\tCPU time [s]",
        "algorithm|formula|quality",
        "configuration,instance,cost,time",
        "solver,instance,time (CPU)",
    ],
)
def test_columns_by_name(path: Path, header: str) -> None:
    """A usual name of a column would have to be mapped by hand, or come before our own name."""
    mark = next(mark for mark in ",;\t|" if mark in header)
    rows = "\na,i,1.5,9\nb,i,2.5,9\n" if "cost,time" in header else "\na,i,1.5\nb,i,2.5\n"
    matrix = load(write(path, header + rows.replace(",", mark))).runs
    assert (matrix.configurations, matrix.instances) == (("a", "b"), ("i",))
    assert matrix.costs.ravel().tolist() == [1.5, 2.5]


def test_columns_that_are_given(path: Path) -> None:
    """A column called otherwise could not be named, or the choice between two be made silently."""
    write(path, "Solver\tTask\tTime\tPAR10\na\tx\t1\t3\na\ty\t2\t4\n")
    assert "--columns cost=" in refused(path)
    assert costs(path, columns={"cost": "Time"}) == [[1, 2]]
    assert costs(path, columns={"cost": "PAR10"}) == [[3, 4]]
    assert "'Tim'" in refused(path, columns={"cost": "Tim"})
    assert "'price'" in refused(path, columns={"price": "Time"})
    write(path, "solver,instance,time,result\na,x,1,17\na,y,2,18\n")
    assert "status=" in refused(path)
    assert load(path, columns={"status": ""}).runs.statuses is None
    # A cutoff is in seconds.
    write(path, "solver,instance,time (ms)\na,x,1500\nb,x,700\n")
    assert "time (ms)" in refused(path, cutoff=5.0)
    write(path, "a,b\nx,y\n")
    assert "configuration=NAME,instance=NAME,cost=NAME" in refused(path)


def test_runs_without_a_cost_are_not_dropped(path: Path) -> None:
    """Timeouts that a table leaves empty would be left out, and whoever has many of them would look
    the best.
    """
    write(path, "solver,problem,runtime\na,x,1\na,y,\nb,x,2\nb,y,3\n")
    assert "--cutoff" in refused(path)
    assert costs(path, cutoff=5.0) == [[1, 50], [2, 3]]
    assert "timeouts" in codes(load(path, cutoff=5.0))
    for lost in ("", "nan", "inf"):
        write(path, f"solver,problem,runtime,status\na,x,1,solved\na,y,{lost},solved\n")
        assert "Row 2" in refused(path, high=10.0)


def test_statuses(path: Path) -> None:
    """A word of another tool for how a run ended would be lost, or a run that has not ended count."""
    words = ["StatusType.SUCCESS", "TIMEOUT", "memout", "crashed", "wrong", "capped", "RUNNING", ""]
    rows = "".join(f"a,i{place},{place},{word}\n" for place, word in enumerate(words, 1))
    log = load(write(path, f"solver,instance,time,status\n{rows}"), cutoff=20.0, par=2.0)
    known = [Status.SOLVED, Status.TIMEOUT, Status.MEMORY, Status.CRASHED, Status.WRONG]
    assert statuses(log.runs)[0, :, 0].tolist() == [*known, Status.CENSORED, -1]
    assert log.runs.costs[0, :, 0].tolist() == [1, 40, 40, 40, 40, 6, 8]
    assert "left out" in codes(log)
    assert "'UNKNOWN'" in refused(write(path, "solver,instance,time,status\na,x,1,UNKNOWN\n"))
    write(path, "solver,instance,time,solved\nA,i,3,1\nA,j,4,0\nB,i,5,True\nB,j,9,no\n")
    assert costs(path, cutoff=10.0) == [[3, 100], [5, 100]]


@pytest.mark.parametrize("name", ["accuracy", "F1", "reward", "Score", "solved", "correct"])
def test_scores_need_a_direction(path: Path, name: str) -> None:
    """The worst configuration would win where more is better."""
    write(path, f"method,dataset,{name}\na,i,0.5\nb,i,0.75\n")
    given: dict[str, Any] = {"columns": {"cost": name}}
    assert "--maximise" in refused(path, **given)
    assert load(path, **given, maximise=True).maximised
    assert costs(path, **given, maximise=True) == [[-0.5], [-0.75]]
    assert costs(path, **given, maximise=True, low=0.0, high=1.0) == [[0.5], [0.25]]
    assert load(path, **given, maximise=True, low=0.0, high=1.0).runs.high == 1
    assert costs(path, **given, maximise=False) == [[0.5], [0.75]]
    assert "cutoff" in refused(path, **given, maximise=True, cutoff=5.0)
    assert "above --high 0.6" in refused(path, **given, maximise=True, high=0.6)


def test_several_runs_of_an_instance(path: Path) -> None:
    """Several rows of a configuration on an instance would be refused or overwrite each other, and
    a table that was put together twice count every run twice.
    """
    found = load(write(path, "config,instance,cost\na,x,1\nb,x,2\na,x,3\n"))
    np.testing.assert_array_equal(found.runs.costs, [[[1, 3]], [[2, np.nan]]])
    assert "repeated" in codes(found)
    assert "twice" in refused(write(path, "config,instance,run,cost\na,x,1,1\na,x,1,2\n"))
    write(path, "config,instance,seed,cost\na,x,1,1\na,x,1,1\nb,x,1,2\n")
    assert "twice" in refused(path)
    assert load(path, columns={"seed": ""}).runs.shape == (2, 1, 2)


def test_seeds_stand_in_line(path: Path) -> None:
    """The same seed would stand at different places for two configurations, or lose digits."""
    large = 2**60 + 1
    rows = f"a,x,7.0,1\na,x,{large},2\nb,x,{large},3\n"
    found = load(write(path, f"config,instance,seed,cost\n{rows}")).runs
    np.testing.assert_array_equal(found.costs, [[[1, 2]], [[np.nan, 3]]])
    assert found.seeds is not None
    assert found.seeds.tolist() == [[[7, large]], [[-1, large]]]
    write(path, "configuration,instance,seed,cost\na,x,s1,1\nb,x,,2\n")
    assert "--columns seed=" in refused(path)
    assert load(path, columns={"seed": ""}).runs.seeds is None


def test_a_table_of_one_configuration(path: Path) -> None:
    """Two versions measured into a file each could not be compared, or runs whose parameters stand
    in columns count as those of one configuration without a word.
    """
    log = load(write(path, "instance,seed,cost\nx,1,1\nx,2,2\ny,1,3\n"))
    assert log.runs.configurations == ("runs",)
    assert log.runs.shape == (1, 2, 2)
    assert codes(log) == []
    log = load(write(path, "alpha,instance,seed,cost\n0.1,x,1,1\n0.2,x,2,2\n"))
    assert "all runs count as one, runs" in sentences(log)
    assert "--columns configuration" in refused(write(path, "instance,time\nx,1\nx,2\n"))


def test_families_of_a_column(path: Path) -> None:
    """Families that a table has would be lost, or instances without one be given any."""
    content = "solver,instance,family,time\na,x,f,1\na,y,g,2\n"
    write(path, content)
    assert load(path).runs.families == ("f", "g")
    assert load(path, columns={"family": ""}).runs.families is None
    assert load(path, families="prefix").runs.families == ("x", "y")
    assert "'familie'" in refused(path, families="familie")
    assert "family" in refused(write(path, content.replace("g,2", ",2")))
    write(path, content.replace("family", "origin"))
    assert load(path, families="origin").runs.families == ("f", "g")
    assert load(path, families={"x": "p", "y": "q"}).runs.families == ("p", "q")


def test_a_value_for_not_solved_is_pointed_out(path: Path) -> None:
    """The same largest value of many runs would pass for running times without a word."""
    rows = "".join(f"a,i{n},{n / 8 if n % 3 else 100}\n" for n in range(1, 40))
    write(path, f"solver,instance,time\n{rows}")
    assert "unsolved" in codes(load(path))
    assert "unsolved" not in codes(load(path, high=100.0))
    assert load(path, cutoff=100.0, par=2.0).runs.costs.max() == 200
    # A negative one would be the best of all.
    write(path, "solver,instance,cost\na,x,5\na,y,-1\nb,x,3\nb,y,2\n")
    assert "--low -1" in refused(path)
    assert costs(path, low=-1.0) == [[5, -1], [3, 2]]
    write(path, "solver,instance,cost\na,x,5\na,y,-0.5\nb,x,3\nb,y,2\n")
    assert costs(path) == [[5, -0.5], [3, 2]]


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
def test_bad_tables_are_refused_in_one_line(path: Path, content: str | bytes) -> None:
    """A table would be read wrongly, or end in the exception of a library."""
    assert refused(write(path, content)).count(str(path)) == 1


@pytest.mark.parametrize(
    ("content", "options", "words"),
    [
        (f"{HEADER}a,x,-1\nb,x,2\n", {"cutoff": 5.0}, "leave it empty"),
        (f"{HEADER}a,x,1\nb,x,timeout\n", {}, "column called status"),
        (f'{HEADER}a,x,1\nb,x,"1.234,5"\n', {}, "1234.5"),
        (f"{HEADER}a,x,1\n", {"objective": "time"}, "--columns cost"),
        (f"{HEADER}default,x,1\nb,x,2\n", {"default": "defualt"}, "Did you mean 'default'"),
        ("configuration instance cost\na x 1\n", {}, "commas"),
    ],
)
def test_what_to_type(path: Path, content: str, options: dict[str, Any], words: str) -> None:
    """A message would not say how to go on."""
    assert words in refused(write(path, content), **options)


@pytest.mark.parametrize(
    ("cells", "numbers"),
    [
        (["1,5", "0,25", "12"], [1.5, 0.25, 12]),
        (["1,234.5", "12.5", "1,000,000.0"], [1234.5, 12.5, 1e6]),
        (["0,123", "1,234", "5"], [0.123, 1.234, 5]),
        (["+1e-3", " 2 ", "0.1"], [1e-3, 2, 0.1]),
    ],
)
def test_numbers_as_people_write_them(path: Path, cells: list[str], numbers: list[float]) -> None:
    """A table of a German spreadsheet, or with thousands, would have to be written anew."""
    rows = "".join(f"a;i{place};{cell}\n" for place, cell in enumerate(cells))
    assert costs(write(path, f"solver;instance;cost\n{rows}")) == [numbers]


PLAIN = f"{HEADER}a,x,1\na,y,2\nb,x,3\n"


@pytest.mark.parametrize(
    "content",
    [
        gzip.compress(PLAIN.encode(), mtime=0),
        b"sep=;\n" + PLAIN.replace(",", ";").encode(),
        b"\xef\xbb\xbf" + PLAIN.encode(),
        PLAIN.replace("\n", "\r").encode(),
        PLAIN.replace("\n", "\r\n").encode(),
        PLAIN.replace("a,y", "\n,,\n a , y ").encode(),
        PLAIN.replace("\na,", '\n"a",').encode(),
    ],
)
def test_tables_as_programs_write_them(path: Path, content: bytes) -> None:
    """Packed tables, a first line sep=;, a byte order mark, lines of old spreadsheets, blank lines
    or blanks around names would make a table unreadable or an instance two.
    """
    expected = load(write(path.with_name("plain.csv"), PLAIN)).runs
    assert load(write(path, content)).runs == expected


def test_frames(path: Path) -> None:
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
    frame.to_csv(path, index=False)
    assert load(path, cutoff=5.0).runs == found
    assert load(frame.set_index(["solver", "problem"]), cutoff=5.0).runs == found
    # A range without ends is none.
    assert load(frame, cutoff=5.0, low=-np.inf, high=np.inf).runs == found
    frame["problem"] = pd.Categorical(["x", None, "y", "y"])
    assert "problem" in refused(frame, cutoff=5.0)
    assert "Two columns" in refused(pd.concat([frame, frame], axis=1))
    assert "no rows" in refused(frame.iloc[:0])
    # pandas makes floats of numbers where one is missing.
    numbered = pd.DataFrame({"config": [7.0, 8.0], "instance": [1, 1], "cost": [1.0, 2.0]})
    assert load(numbered).runs.configurations == ("7", "8")


def test_parquet(path: Path) -> None:
    """A parquet table would be read differently from the frame that wrote it, or damage in it end
    in the exception of a library.
    """
    pytest.importorskip("pyarrow")
    frame = pd.DataFrame({"solver": ["a", "b"], "instance": ["x", "x"], "cost": [1.5, 2.5]})
    frame.to_parquet(path)
    assert load(path).runs == load(frame).runs
    content = path.read_bytes()
    for cut in (8, len(content) // 2, len(content) - 3):
        refused(write(path, content[:cut]))


def test_the_default_is_not_guessed(path: Path) -> None:
    """A configuration would be compared with another because of its name."""
    write(path, f"{HEADER}default,x,1\nb,x,2\n")
    assert load(path).default is None
    assert load(path, default="b").default == "b"


@pytest.mark.parametrize(
    ("rows", "options"),
    [
        # A crash after 0.01 s would be the best run.
        ("a,x,1,solved\na,y,0.01,crashed\nb,x,2,solved\nb,y,3,solved\n", {}),
        ("a,x,1,timeout\nb,x,2,solved\n", {}),
        # Of scores, the largest is the best.
        ("a,x,9,crashed\nb,x,2,solved\n", {"maximise": True}),
    ],
)
def test_failed_runs_do_not_look_best(path: Path, rows: str, options: dict[str, Any]) -> None:
    """A configuration would win by crashing at once."""
    write(path, f"configuration,instance,cost,status\n{rows}")
    assert "--high" in refused(path, **options)
    if not options:
        assert load(path, cutoff=5.0).runs.costs.max() == 50
        assert load(path, high=100.0).runs.costs.max() <= 3
    # A table of PAR1 scores is read as it is.
    write(path, "configuration,instance,cost,status\na,x,1,solved\na,y,5,timeout\nb,x,5,solved\n")
    assert np.nanmax(load(path).runs.costs) == 5
