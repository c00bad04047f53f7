import bz2
import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from imports import DATA, load, refused, sentences, statuses, write

from truecost.runs import Status

RESULTS = DATA / "benchexec"
SLOW = bz2.decompress((RESULTS / "slow.xml.bz2").read_bytes())


def test_results_agree_with_the_table_generator() -> None:
    """A time, a status or the name of a run would differ from what BenchExec's own reader says."""
    tablegenerator = import_module("benchexec.tablegenerator")
    log = load(RESULTS)
    matrix = log.runs
    assert matrix.configurations == ("quick", "slow")
    for name in matrix.configurations:
        element = tablegenerator.parse_results_file(str(RESULTS / f"{name}.xml.bz2"))
        for task in element.findall("run"):
            values = {column.get("title"): column.get("value") for column in task}
            at = matrix.configurations.index(name), matrix.instances.index(task.get("name")[3:]), 0
            seconds = float(tablegenerator.util.split_number_and_unit(values["cputime"])[0])
            solved = statuses(matrix)[at] == Status.SOLVED
            assert solved == (values["status"] == "done")
            assert matrix.costs[at] == (seconds if solved else 10.0)
    assert statuses(matrix)[1, :, 0].tolist() == [
        Status.SOLVED, Status.SOLVED, Status.CRASHED, Status.CRASHED, Status.TIMEOUT,
    ]  # fmt: skip
    assert (matrix.cutoff, matrix.high) == (1, 10)
    assert log.adaptive is False
    assert "TIMEOUT 1" in sentences(log)


def test_another_column(tmp_path: Path) -> None:
    """Memory that a failed run used would be taken for what solving takes."""
    log = load(write(tmp_path / "plain.xml", SLOW), objective="memory", high=1e9)
    assert log.runs.configurations == ("arithmetic 1.0 slow",)
    assert log.runs.costs[0, :, 0].tolist() == [7491584, 7434240, 1e9, 1e9, 1e9]


RUN = (
    b'<result benchmarkname="a"%s><run name="t"><column title="status" value="%s"/>'
    b'<column title="category" value="%s"/><column title="cputime" value="1%s"/></run></result>'
)


@pytest.mark.parametrize(
    "content",
    [
        b'<result benchmarkname="a" tool="b">',
        b'<result benchmarkname="a"></result>',
        b'<!DOCTYPE result [<!ENTITY a "b">]><result benchmarkname="a"/>',
        RUN % (b"", b"done", b"", b"s"),
        RUN % (b' timelimit="5s"', b"done", b"", b"much"),
        b"<other/>",
    ],
)
def test_bad_results(tmp_path: Path, content: bytes) -> None:
    """A damaged result would end in a traceback, or be read as something else."""
    refused(write(tmp_path / "bad.xml", content))


@pytest.mark.parametrize(
    ("word", "category", "status"),
    [
        (b"true", b"correct", Status.SOLVED),
        (b"false(unreach-call)", b"missing", Status.SOLVED),
        (b"false", b"wrong", Status.WRONG),
        (b"true", b"error", Status.CRASHED),
        # An answer to another question than that of the property.
        (b"false(termination)", b"unknown", Status.CRASHED),
        (b"OUT OF MEMORY", b"error", Status.MEMORY),
        (b"OUT OF JAVA MEMORY", b"error", Status.MEMORY),
        (b"TIMEOUT (true)", b"error", Status.TIMEOUT),
        (b"unknown", b"unknown", Status.CRASHED),
    ],
)
def test_statuses(tmp_path: Path, word: bytes, category: bytes, status: Status) -> None:
    """A run that gave no answer, or a wrong one, would count as solved."""
    path = write(tmp_path / "r.xml", RUN % (b' timelimit="5s"', word, category, b"500ms"))
    matrix = load(path).runs
    assert statuses(matrix)[0, 0, 0] == status
    assert matrix.costs[0, 0, 0] == (1.5 if status == Status.SOLVED else 50)


def test_different_limits_are_refused(tmp_path: Path) -> None:
    """One of two time limits would be taken for the cutoff of all runs."""
    for name, limit in (("a", b"5s"), ("b", b"9s")):
        run = RUN % (b' timelimit="%s" tool="%s"' % (limit, name.encode()), b"true", b"", b"s")
        write(tmp_path / f"{name}.xml", run)
    assert "--cutoff 5" in refused(tmp_path)
    assert load(tmp_path, cutoff=5.0).runs.cutoff == 5


def test_results_by_run_definition_and_by_tasks(tmp_path: Path) -> None:
    """Runs would count twice in the folder of a benchmark with several sets of tasks, for which
    BenchExec writes a file of the run definition and one of each set.
    """
    write(tmp_path / "slow.all.xml", SLOW)
    whole = SLOW.replace(b' block="all"', b"").replace(b'name="slow.all"', b'name="slow"')
    write(tmp_path / "slow.xml", whole)
    # The same tasks at another time are further runs.
    write(tmp_path / "later.xml", SLOW.replace(b"2026-11-17T19", b"2026-11-18T19"))
    log = load(tmp_path)
    assert log.runs.shape == (1, 5, 2)
    assert "Left out: 5 runs" in sentences(log)


def test_run_sets_that_differ_in_options(tmp_path: Path) -> None:
    """Two settings of a tool, measured into a file each, would be runs of one configuration."""
    for options in (b"", b"--fast"):
        run = RUN % (b' tool="t" timelimit="5s" options="%s"' % options, b"true", b"", b"s")
        write(tmp_path / f"r{len(options)}.xml", run)
    assert load(tmp_path).runs.configurations == ("t", "--fast")


@pytest.mark.slow
def test_a_new_run_of_benchexec(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The installed BenchExec would write results that are no longer read."""
    monkeypatch.syspath_prepend(str(DATA))
    make = import_module("make_benchexec").make
    assert "make_benchexec" in sys.modules
    make(tmp_path)
    found = load(tmp_path / "results").runs
    np.testing.assert_array_equal(statuses(found), statuses(load(RESULTS).runs))
