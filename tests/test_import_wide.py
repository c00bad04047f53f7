import csv
import io
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from commands import run

from truecost import import_runs
from truecost.errors import InputError
from truecost.runs import Status

SHARED = next(
    (
        folder
        for folder in (Path(__file__).parents[2] / "shared" / "data", Path("/work/shared/data"))
        if folder.is_dir()
    ),
    Path("/nowhere"),
)
BY_INSTANCE = "hash,family,kissat,cadical 2\nf1,x,1.5,5000\nf2,x,2,3\nf3,y,5000,5000\n"
BY_SOLVER = "solver;a/f1.cnf;a/f2.cnf;a/f3.cnf\nkissat;1.5;2;5000\ncadical 2;5000;3;5000\n"


@pytest.mark.parametrize("text", [BY_INSTANCE, BY_SOLVER])
def test_both_ways_round(tmp_path: Path, text: str) -> None:
    """Solvers would be taken for instances, or cells stand in the wrong place."""
    (tmp_path / "wide.csv").write_text(text)
    log = import_runs(tmp_path / "wide.csv", cutoff=5000, par=2)
    assert log.kind == "wide"
    assert log.matrix.configurations == ("kissat", "cadical 2")
    assert [Path(name).stem for name in log.matrix.instances] == ["f1", "f2", "f3"]
    assert log.matrix.costs[:, :, 0].tolist() == [[1.5, 2, 10000], [10000, 3, 10000]]
    assert log.matrix.statuses is not None
    assert int((log.matrix.statuses == Status.TIMEOUT).sum()) == 3
    assert log.matrix.families == (("x", "x", "y") if "family" in text else None)


def test_the_mark_of_unsolved_runs_is_pointed_out(tmp_path: Path) -> None:
    """The largest value of a third of all cells would pass for a running time without a word."""
    (tmp_path / "wide.csv").write_text(BY_INSTANCE)
    (note,) = (note for note in import_runs(tmp_path / "wide.csv").notes if "cutoff" in note)
    assert note.startswith("3 cells (50 %) have the largest value, 5000")


COSTS = np.random.default_rng(4).lognormal(0, 1, (4, 12)).round(4)
SOLVERS = ["kissat", "cadical 1.9", "glucose,syrup", 'maple"x"']
INSTANCES = [f"dir/f {number}.cnf" for number in range(12)]


def spelt(
    key: str,
    *,
    separator: str = ",",
    comma: bool = False,
    turned: bool = False,
    quoted: bool = False,
    counter: str | None = None,
) -> bytes:
    """The table of `COSTS`, spelt in one of the many ways."""
    rows, columns, costs = INSTANCES, SOLVERS, COSTS.T
    if turned:
        rows, columns, costs = columns, rows, costs.T
    text = io.StringIO()
    writer = csv.writer(text, delimiter=separator, quoting=1 if quoted else 0)
    before = [] if counter is None else [counter]
    writer.writerow([*before, key, *columns])
    for place, (name, numbers) in enumerate(zip(rows, costs, strict=True)):
        cells = [str(cost).replace(".", "," if comma else ".") for cost in numbers]
        writer.writerow([*([] if counter is None else [place]), name, *cells])
    return text.getvalue().encode()


@pytest.mark.parametrize(
    "content",
    [
        spelt("instance"),
        spelt("Instance Name", separator=";", comma=True),
        spelt("problem file", separator="\t", comma=True),
        spelt("benchmark", separator="|"),
        b"\xef\xbb\xbf" + spelt("hash", quoted=True),
        b"sep=;\n" + spelt("file", separator=";"),
        spelt(""),
        spelt("instance", counter=""),
        spelt("anything", counter="Unnamed: 0"),
        spelt("solver", turned=True),
        spelt("Algorithm ID", turned=True, separator=";", comma=True, quoted=True),
        spelt("name", turned=True),
        spelt("", turned=True),
    ],
)
def test_spellings(tmp_path: Path, content: bytes) -> None:
    """A table with another separator, decimal commas, quotes, a column that counts rows or another
    name of the column of names would be refused, or read wrong.
    """
    (tmp_path / "wide.csv").write_bytes(content)
    matrix = import_runs(tmp_path / "wide.csv").matrix
    assert matrix.configurations == tuple(SOLVERS)
    assert matrix.instances == tuple(INSTANCES)
    np.testing.assert_array_equal(matrix.costs[:, :, 0], COSTS)


def test_what_rows_are_can_be_said(tmp_path: Path) -> None:
    """Where names tell nothing, solvers could be taken for instances without a way to say so."""
    path = tmp_path / "wide.csv"
    path.write_text("x,a,b,c\nu,1,2,3\nv,4,5,6\n")
    assert import_runs(path, columns={"instance": "x"}).matrix.instances == ("u", "v")
    assert import_runs(path, columns={"configuration": "x"}).matrix.configurations == ("u", "v")


def test_thousands_of_columns(tmp_path: Path) -> None:
    """A table wider than what is looked at first would not be recognised, or take minutes."""
    costs = np.random.default_rng(1).random((5, 4000))
    lines = [",".join(["solver", *(f"i{place}" for place in range(4000))])]
    lines += [",".join([f"s{row}", *map(str, numbers)]) for row, numbers in enumerate(costs)]
    (tmp_path / "wide.csv").write_text("\n".join(lines))
    np.testing.assert_array_equal(import_runs(tmp_path / "wide.csv").matrix.costs[:, :, 0], costs)


@pytest.mark.parametrize(("penalty", "cutoff", "par"), [(200, 100, 2), (1000, 100, 10)])
def test_penalties_are_recognised(tmp_path: Path, penalty: int, cutoff: int, par: int) -> None:
    """Unsolved runs of a published table would pass for solved ones, and no guarantee be given."""
    rows = [f"i{n},{n},{penalty if n % 3 else 99.5}" for n in range(1, 90)]
    path = tmp_path / "wide.csv"
    path.write_text("\n".join(["instance,a,b", *rows]))
    log = import_runs(path)
    assert log.matrix.cutoff == cutoff
    assert log.matrix.high == penalty
    assert log.matrix.statuses is not None
    assert int((log.matrix.statuses == Status.TIMEOUT).sum()) == 60
    assert any(f"`cutoff` {cutoff} `par` {par}" in note for note in log.notes)
    # What the caller says counts more; a gap that fits no penalty is only pointed out.
    assert import_runs(path, cutoff=50, par=1).matrix.high == 50
    path.write_text("\n".join(["instance,a,b", *rows]).replace(f",{penalty}", f",{penalty + 77}"))
    assert import_runs(path).matrix.cutoff is None


def test_numbers_alone_are_no_names() -> None:
    """The first column of a bare matrix of numbers would become the names of its rows."""
    frame = pd.DataFrame(COSTS)
    with pytest.raises(InputError, match="expected a column"):
        import_runs(frame)
    for size in (2, 4):
        named = pd.DataFrame(COSTS[:size].T, index=INSTANCES, columns=SOLVERS[:size])
        matrix = import_runs(named).matrix
        assert matrix.instances == tuple(INSTANCES)
        np.testing.assert_array_equal(matrix.costs[:, :, 0], COSTS[:size])


@pytest.mark.parametrize("library", ["polars", "pandas"])
def test_data_frames(library: str) -> None:
    """A wide data frame would be taken for a table with a row for every run, and be refused."""
    columns = {"instance": ["a", "b"], "s1": [1.0, 2.0], "s2": [3.0, 4.0]}
    frame = pl.DataFrame(columns) if library == "polars" else pd.DataFrame(columns)
    assert import_runs(frame).matrix.costs[:, :, 0].tolist() == [[1, 2], [3, 4]]


def test_empty_cells(tmp_path: Path) -> None:
    """A run that was not solved would be dropped, and its solver look better."""
    (tmp_path / "wide.csv").write_text("instance,s1,s2\na,1,\nb,timeout,2\n")
    with pytest.raises(
        InputError, match="2 of 4 cells have no number, the first is that of s1 on b"
    ):
        import_runs(tmp_path / "wide.csv")
    matrix = import_runs(tmp_path / "wide.csv", cutoff=10, par=1).matrix
    assert matrix.costs[:, :, 0].tolist() == [[1, 10], [10, 2]]


def test_totals_are_no_instances(tmp_path: Path) -> None:
    """The sum below a table would count as its hardest instance, and the virtual best solver win."""
    text = "instance,s1,s2,VBS\na,1,2,1\nb,4,3,3\nc,5,6,5\nTotal,10,11,9\n"
    (tmp_path / "wide.csv").write_text(text)
    log = import_runs(tmp_path / "wide.csv")
    assert log.matrix.instances == ("a", "b", "c")
    assert log.matrix.configurations == ("s1", "s2")
    assert "Left out, since they sum up others: Total, VBS." in log.notes


def test_long_tables_stay_long(tmp_path: Path) -> None:
    """A table with a row for every run would be read as one with a column for every solver."""
    path = tmp_path / "runs.csv"
    path.write_text("solver,problem,loss\na,i,1\n")
    assert import_runs(path).kind == "table"
    for text, missing in (
        ("alg,inst,seed,t\na,i,1,2\na,j,1,2\n", "the configuration and the cost"),
        ("a,b\nx,1\n", "the configuration and the instance and the cost"),
    ):
        path.write_text(text)
        with pytest.raises(InputError, match=f"expected a column for {missing}"):
            import_runs(path)


def test_twice_the_same_name(tmp_path: Path) -> None:
    """One of two rows of a name would be lost, or it would end in a traceback."""
    rows = "".join(f"i{number},1,2\n" for number in range(30))
    (tmp_path / "wide.csv").write_text(f"instance,s1,s2\n{rows}i3,1,2\n")
    answer = run("import", tmp_path / "wide.csv")
    assert answer.returncode == 2
    assert "got one twice" in answer.stderr
    assert answer.stderr.count("\n") == 1


@pytest.mark.beside(SHARED / "sat")
def test_sat_competitions() -> None:
    """A published table would give other numbers than a reader of csv finds in it."""
    for name, turned in (("main2023", True), ("sat2020-par2", False)):
        path = SHARED / "sat" / f"{name}.csv"
        table = pd.read_csv(path, index_col=0)
        matrix = import_runs(path).matrix
        costs = table.to_numpy().T if turned else table.to_numpy()
        np.testing.assert_array_equal(matrix.costs[:, :, 0], costs)
        assert matrix.cutoff == 5000
        assert matrix.statuses is not None
        assert int((matrix.statuses == Status.TIMEOUT).sum()) == int((costs == 10000).sum())
        solvers = table.columns if turned else table.index
        assert matrix.configurations == tuple(solvers)
