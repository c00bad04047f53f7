import bz2
import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from commands import run

from truecost import import_runs
from truecost.errors import InputError
from truecost.runs import Status

DATA = Path(__file__).parent / "data"
RESULTS = DATA / "benchexec"
sys.path.insert(0, str(DATA))


def test_results_agree_with_the_table_generator() -> None:
    """A time, a status or the name of a run would differ from what BenchExec's own reader says."""
    tablegenerator = import_module("benchexec.tablegenerator")
    log = import_runs(RESULTS)
    matrix = log.matrix
    assert matrix.configurations == ("quick", "slow")
    assert matrix.statuses is not None
    for name in matrix.configurations:
        path = str(RESULTS / f"{name}.xml.bz2")
        element = tablegenerator.parse_results_file(path)
        columns = tablegenerator.RunSetResult.create_from_xml(path, element).columns
        titles = [column.title for column in columns]
        assert {"status", "cputime"} <= set(titles)
        for task in element.findall("run"):
            values = {column.get("title"): column.get("value") for column in task}
            at = matrix.configurations.index(name), matrix.instances.index(task.get("name")[3:]), 0
            seconds = float(tablegenerator.util.split_number_and_unit(values["cputime"])[0])
            solved = matrix.statuses[at] == Status.SOLVED
            assert solved == (values["status"] == "done")
            assert matrix.costs[at] == (seconds if solved else 10.0)
    assert [Status(int(code)) for code in matrix.statuses[1, :, 0]] == [
        Status.SOLVED, Status.SOLVED, Status.CRASHED, Status.CRASHED, Status.TIMEOUT,
    ]  # fmt: skip
    assert (matrix.cutoff, matrix.high) == (1, 10)
    assert log.trajectory.proposed == "beforehand"
    assert any("unknown 2" in note and "TIMEOUT 1" in note for note in log.notes)


def test_a_table_of_the_table_generator() -> None:
    """The csv table would give other costs than the results it was made from."""
    table = import_runs(RESULTS / "table.csv", cutoff=1).matrix
    results = import_runs(RESULTS).matrix
    assert table.configurations == ("quick.all", "slow.all")
    assert table.instances == results.instances
    np.testing.assert_array_equal(table.costs, results.costs)
    np.testing.assert_array_equal(table.statuses, results.statuses)
    with pytest.raises(InputError, match="Give the `cutoff`"):
        import_runs(RESULTS / "table.csv")


def test_another_column(tmp_path: Path) -> None:
    """Memory that a failed run used would be taken for what solving takes."""
    path = tmp_path / "plain.xml"
    path.write_bytes(bz2.decompress((RESULTS / "slow.xml.bz2").read_bytes()))
    log = import_runs(path, objective="memory", high=1e9)
    assert log.matrix.configurations == ("arithmetic 1.0 slow",)
    assert log.matrix.costs[0, :, 0].tolist() == [7491584, 7434240, 1e9, 1e9, 1e9]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b'<result benchmarkname="a" tool="b">', "cannot be read"),
        (b'<result benchmarkname="a"></result>', "expected runs with a status"),
        (b'<!DOCTYPE result [<!ENTITY a "b">]><result benchmarkname="a"/>', "without entities"),
        (
            b'<result benchmarkname="a"><run name="t"><column title="status" value="done"/>'
            b'<column title="cputime" value="1s"/></run></result>',
            "cutoff",
        ),
        (b"tool\tx\nrun set\ty\n", "three lines of header"),
        (b"tool\tx\nrun set\ty\n\tstatus\na\tdone\textra\n", "as many fields"),
        (b"tool\tx\nrun set\ty\n\tstatus\na\tdone\n", "expected one of the columns status"),
    ],
)
def test_bad_results(tmp_path: Path, content: bytes, words: str) -> None:
    """A damaged result would end in a traceback, or be read as something else."""
    (tmp_path / "bad.xml").write_bytes(content)
    answer = run("import", tmp_path / "bad.xml")
    assert answer.returncode == 2
    assert words in answer.stderr.replace("\n", " ")
    assert answer.stderr.count("\n") == 1


@pytest.mark.tools
def test_a_new_run_of_benchexec(tmp_path: Path) -> None:
    """The installed BenchExec would write results that are no longer read."""
    import make_benchexec

    make_benchexec.make(tmp_path)
    results = import_runs(tmp_path / "results").matrix
    (table,) = tmp_path.glob("*.table.csv")
    np.testing.assert_array_equal(results.costs, import_runs(table, cutoff=1).matrix.costs)


def test_tables_in_other_units(tmp_path: Path) -> None:
    """Milliseconds would be read as seconds, and every run be a timeout."""
    head = ["tool\tcpa\tcpa", "run set\tall\tall"]
    for unit, times in (("ms", (1500, 500)), ("s", (1.5, 0.5))):
        table = [*head, f"name\tstatus\tcputime ({unit})", *(f"t{t}\ttrue\t{t}" for t in times)]
        path = tmp_path / f"{unit}.csv"
        path.write_text("\n".join(table) + "\n")
        assert import_runs(path, cutoff=60).matrix.costs.ravel().tolist() == [1.5, 0.5]


def test_results_by_run_definition_and_by_tasks(tmp_path: Path) -> None:
    """Runs would count twice in the folder of a benchmark with several sets of tasks, for which
    BenchExec writes a file of the run definition and one of each set.
    """
    whole = bz2.decompress((RESULTS / "slow.xml.bz2").read_bytes())
    (tmp_path / "slow.all.xml").write_bytes(whole)
    (tmp_path / "slow.xml").write_bytes(
        whole.replace(b' block="all"', b"").replace(b'name="slow.all"', b'name="slow"')
    )
    # The same tasks at another time are further runs.
    (tmp_path / "later.xml").write_bytes(whole.replace(b"2026-11-17T19", b"2026-11-18T19"))
    log = import_runs(tmp_path)
    assert log.matrix.shape == (1, 5, 2)
    assert log.left_out == {"again in another file": 5}
