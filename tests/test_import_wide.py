import csv
import io
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from imports import SHARED, codes, costs, load, refused, statuses, write

from truecost.runs import Status

BY_INSTANCE = "hash,family,kissat,cadical 2\nf1,x,1.5,5000\nf2,x,2,3\nf3,y,5000,5000\n"
BY_SOLVER = "solver;a/f1.cnf;a/f2.cnf;a/f3.cnf\nkissat;1.5;2;5000\ncadical 2;5000;3;5000\n"
COSTS = np.random.default_rng(4).lognormal(0, 1, (4, 12)).round(4)
SOLVERS = ["kissat", "cadical 1.9", "glucose,syrup", 'maple"x"']
INSTANCES = [f"dir/f {number}.cnf" for number in range(12)]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where a table is written."""
    return tmp_path / "wide.csv"


@pytest.mark.parametrize("text", [BY_INSTANCE, BY_SOLVER])
def test_either_way_round(path: Path, text: str) -> None:
    """Configurations would be taken for instances, or cells stand in the wrong place."""
    runs = load(write(path, text), cutoff=5000.0, par=2.0).runs
    assert runs.configurations == ("kissat", "cadical 2")
    assert [Path(name).stem for name in runs.instances] == ["f1", "f2", "f3"]
    assert runs.costs[:, :, 0].tolist() == [[1.5, 2, 10000], [10000, 3, 10000]]
    assert int((statuses(runs) == Status.TIMEOUT).sum()) == 3
    assert runs.families == (("x", "x", "y") if "family" in text else None)


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
    rows, columns, numbers = INSTANCES, SOLVERS, COSTS.T
    if turned:
        rows, columns, numbers = columns, rows, numbers.T
    text = io.StringIO()
    writer = csv.writer(text, delimiter=separator, quoting=1 if quoted else 0)
    writer.writerow([*([] if counter is None else [counter]), key, *columns])
    for place, (name, row) in enumerate(zip(rows, numbers, strict=True)):
        cells = [str(cost).replace(".", "," if comma else ".") for cost in row]
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
        spelt("anything"),
        spelt("instance", counter=""),
        spelt("anything", counter="Unnamed: 0"),
        spelt("solver", turned=True),
        spelt("Algorithm ID", turned=True, separator=";", comma=True, quoted=True),
    ],
)
def test_spellings(path: Path, content: bytes) -> None:
    """A table with another separator, decimal commas, quotes, a column that counts rows or another
    name of the column of names would be refused, or read wrong.
    """
    matrix = load(write(path, content)).runs
    assert matrix.configurations == tuple(SOLVERS)
    assert matrix.instances == tuple(INSTANCES)
    np.testing.assert_array_equal(matrix.costs[:, :, 0], COSTS)


@pytest.mark.parametrize("key", ["name", ""])
def test_what_rows_are_is_not_guessed(path: Path, key: str) -> None:
    """Instances would be taken for configurations where only their names show what they are."""
    write(path, spelt(key, turned=True))
    key = key or "column 1"
    assert f"configuration={key}" in refused(path)
    assert costs(path, columns={"configuration": key}) == COSTS.tolist()
    assert load(path, columns={"instance": key}).runs.instances == tuple(SOLVERS)
    # More rows than columns, and a name that means configurations in other papers.
    rows = "\n".join(f"m{n},{n}.5,{n}.25" for n in range(9))
    assert "configuration=Model" in refused(write(path, f"Model,iris,wine\n{rows}\n"))


@pytest.mark.parametrize(
    ("mark", "options"),
    [(200, {"cutoff": 100.0, "par": 2.0}), (1000, {"cutoff": 100.0}), (-1, {"low": -1.0})],
)
def test_a_value_for_not_solved_is_refused(path: Path, mark: int, options: dict[str, Any]) -> None:
    """Unsolved runs of a published table would pass for solved ones, or for the best of all."""
    rows = [f"i{n},{n + 0.5},{mark if n % 3 else 99.25}" for n in range(1, 90)]
    reason = refused(write(path, "\n".join(["instance,a,b", *rows])))
    assert f"{mark}." in reason
    assert all(f"--{name}" in reason for name in options)
    assert load(path, **options).runs.costs[1].max() == max(mark, 99.25)
    if mark > 0:
        assert load(path, high=float(mark)).runs.cutoff is None


def test_empty_cells(path: Path) -> None:
    """A run that was not solved would be dropped, and its configuration look better."""
    write(path, "instance,s1,s2\na,1,\nb,Crashed,2\nc,3,inf\n")
    assert "s1 on b" in refused(path)
    assert "-inf" in refused(write(path.with_name("low.csv"), "instance,s1,s2\na,1,-inf\nb,2,3\n"))
    assert costs(path, cutoff=10.0, par=1.0) == [[1, 10, 3], [10, 2, 10]]


@pytest.mark.parametrize("blank", ["timeout", "nan", "inf"])
def test_a_solver_that_solved_nothing(path: Path, blank: str) -> None:
    """A configuration without a single solved run would be left out like a column of notes."""
    write(path, f"instance,s1,s2,notes\na,1,{blank},-\nb,3,{blank},\n")
    assert costs(path, cutoff=5.0, par=2.0) == [[1, 3], [10, 10]]
    frame = pd.DataFrame({"instance": ["a", "b"], "s1": [1.0, 3], "s2": [np.nan, np.nan]})
    assert load(frame, cutoff=5.0).runs.configurations == ("s1", "s2")


def test_thousands_of_columns(path: Path) -> None:
    """A table wider than what is looked at first would not be recognised, or take minutes."""
    numbers = np.random.default_rng(1).random((5, 4000))
    lines = [",".join(["solver", *(f"i{place}" for place in range(4000))])]
    lines += [",".join([f"s{row}", *map(str, cells)]) for row, cells in enumerate(numbers)]
    assert costs(write(path, "\n".join(lines))) == numbers.tolist()


def test_data_frames() -> None:
    """A wide data frame would be refused, or the first column of a bare matrix of numbers become
    the names of its rows.
    """
    columns = {"instance": ["a", "b"], "s1": [1.0, 2.0], "s2": [3.0, 4.5]}
    assert costs(pd.DataFrame(columns)) == [[1, 2], [3, 4.5]]
    named = pd.DataFrame(COSTS.T, index=INSTANCES, columns=SOLVERS)
    assert costs(named) == COSTS.tolist()
    # As `unstack()` leaves a long table.
    stacked = pd.concat({"time": named}, axis=1).rename_axis(index="instance")
    assert load(stacked).runs.configurations == tuple(f"time {name}" for name in SOLVERS)
    refused(pd.DataFrame(COSTS))


def test_totals_are_no_instances(path: Path) -> None:
    """The sum below a table would count as its hardest instance, and the virtual best solver win."""
    text = "instance,s1,s2,VBS,comment\na,1,2,1,x\nb,4,3,3,\nc,5,6,5,y\nTotal,10,11,9,\n"
    log = load(write(path, text))
    assert log.runs.instances == ("a", "b", "c")
    assert log.runs.configurations == ("s1", "s2")
    assert codes(log).count("left out") == 2


def test_seeds_in_a_wide_table(path: Path) -> None:
    """Several runs of an instance would be refused as one name twice, or the seed be a solver."""
    matrix = load(write(path, "instance,seed,s1,s2\na,1,1,2\na,2,3,4\nb,1,5,6\n")).runs
    nan = np.nan
    np.testing.assert_array_equal(matrix.costs, [[[1, 3], [5, nan]], [[2, 4], [6, nan]]])
    assert matrix.seeds is not None
    assert matrix.seeds[0].tolist() == [[1, 2], [1, -1]]
    assert "twice" in refused(write(path, "instance,s1,s2\na,1,2\nb,1,2\na,3,4\n"))


def test_long_tables_stay_long(path: Path) -> None:
    """A table with a row for every run would be read as one with a column for every solver."""
    assert load(write(path, "solver,problem,loss\na,i,1\n")).tool == "table"
    assert load(write(path, "instance,seed,cost\ni,1,1\ni,2,3\n")).tool == "table"
    assert load(write(path, BY_INSTANCE), format="wide", high=5000.0).tool == "wide table"
    assert "No column is called" in refused(path, format="table", high=5000.0)


FEATURES = {
    "n_vars": ["100", "200", "150", "120", "90"],
    "Clauses": ["430", "850", "600", "500", "400"],
    "graph density": ["0.5", "0.25", "0.75", "0.1", "0.2"],
    # Whole numbers where costs are fractions, whatever the name.
    "k": ["3", "4", "5", "6", "7"],
    # The best of each row.
    "vb": ["0.1", "0.35", "0.6", "0.85", "1.1"],
}


@pytest.mark.parametrize("name", FEATURES)
def test_numbers_of_an_instance_are_no_costs(path: Path, name: str) -> None:
    """A column of features would count as a configuration, and with small numbers win."""
    times = [f"{n}.5,{n / 4 + 0.1}" for n in range(5)]
    cells = zip(range(5), FEATURES[name], times, strict=True)
    rows = "\n".join(f"i{n},{feature},{pair}" for n, feature, pair in cells)
    write(path, f"instance,{name},a,b\n{rows}\n")
    assert f"{name}=" in refused(path, cutoff=5.0)
    assert load(path, columns={name: ""}).runs.configurations == ("a", "b")
    assert load(path, format="wide", high=1e4).runs.configurations == (name, "a", "b")


def test_two_columns_are_two_versions(path: Path) -> None:
    """A version that prints whole seconds would be refused beside one that prints fractions."""
    rows = "\n".join(f"i{n},{n},{n * 0.9:.2f}" for n in range(1, 9))
    assert load(write(path, f"instance,old,new\n{rows}\n")).runs.configurations == ("old", "new")


def test_columns_that_are_no_costs(path: Path) -> None:
    """A numeric column of families would be a configuration, or the statuses of runs be dropped: a
    crash after a second would be the best run.
    """
    write(path, "instance,cluster,a,b\nx,1,1.5,2\ny,1,2.5,3\nz,2,3.5,4\n")
    log = load(path, families="cluster")
    assert log.runs.configurations == ("a", "b")
    assert log.runs.families == ("1", "1", "2")
    text = "instance,a_status,a,b_status,b\nx,ok,1.5,ok,2\ny,crash,0.1,ok,3\n"
    reason = refused(write(path, text))
    assert "a_status=" in reason
    assert "row for every run" in reason
    omitted = {"a_status": "", "b_status": ""}
    assert load(path, columns=omitted).runs.configurations == ("a", "b")
    assert "Every column" in refused(
        path, columns=dict.fromkeys(["instance", "a", "b"], "") | omitted
    )


@pytest.mark.beside(SHARED / "sat")
@pytest.mark.parametrize(("name", "turned"), [("main2023", True), ("sat2020-par2", False)])
def test_sat_competitions(name: str, turned: bool) -> None:
    """A published table would give other numbers than a reader of csv finds in it."""
    file = SHARED / "sat" / f"{name}.csv"
    assert "10000" in refused(file)
    matrix = load(file, cutoff=5000.0, par=2.0).runs
    table = pd.read_csv(file, index_col=0)
    table = table.T if turned else table
    np.testing.assert_array_equal(matrix.costs[:, :, 0], table)
    timeouts = int((statuses(matrix) == Status.TIMEOUT).sum())
    assert timeouts == int((table.to_numpy() == 10000).sum())
    assert matrix.configurations == tuple(table.index)


@pytest.mark.parametrize("cells", ["1,2,ERR\ni2,2,3,4\ni3,5,6,7", "1,2,5%\ni2,2,3,4%\ni3,3,4,5%"])
def test_words_among_costs_are_refused(path: Path, cells: str) -> None:
    """A configuration would be left out because of one cell."""
    assert "'c'" in refused(write(path, f"instance,a,b,c\ni1,{cells}\n"))
    notes = load(write(path, "instance,a,b,note\ni1,1,2,hard\ni2,2,3,7\ni3,3,4,easy\n")).runs
    assert notes.configurations == ("a", "b")
