from pathlib import Path

import numpy as np
import pytest
from imports import DATA, SHARED, load, refused, sentences, statuses, write

from truecost.runs import Status

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
    write(path / "algorithm_runs.arff", runs)
    if description is not None:
        write(path / "description.txt", description)
    return path


def test_running_times(tmp_path: Path) -> None:
    """Repetitions, quoted names, run statuses or the cutoff of a scenario would be read wrongly."""
    found = load(aslib(tmp_path / "demo"), par=2.0)
    matrix = found.runs
    assert matrix.configurations == ("fast", "slow one")
    assert matrix.instances == ("i1", "a, b")
    assert (matrix.low, matrix.high, matrix.cutoff) == (0, 20, 10)
    np.testing.assert_array_equal(matrix.costs, [[[2, 3], [20, np.nan]], [[20, 20], [20, np.nan]]])
    assert statuses(matrix).tolist() == [
        [[Status.SOLVED, Status.SOLVED], [Status.TIMEOUT, -1]],
        [[Status.CRASHED, Status.MEMORY], [Status.TIMEOUT, -1]],
    ]
    assert "Left out: 1 run" in sentences(found)
    assert (found.tool, found.adaptive) == ("ASlib demo", False)
    assert load(tmp_path / "demo" / "algorithm_runs.arff").runs.high == 100


def test_quality_is_turned_round(tmp_path: Path) -> None:
    """A measure to be maximised would be taken for a cost, or be censored at the cutoff of the
    running times.
    """
    found = load(aslib(tmp_path / "demo"), objective="quality", low=0.0, high=20.0)
    assert found.maximised
    np.testing.assert_array_equal(found.runs.costs[0], [[10, 9], [20, np.nan]])
    # Failed without a value: the worst.
    np.testing.assert_array_equal(found.runs.costs[1], [[20, 20], [13, 12]])
    unknown = load(tmp_path / "demo", objective="quality").runs
    assert unknown.width == np.inf
    np.testing.assert_array_equal(unknown.costs[1], [[0, 0], [-7, -8]])  # the worst seen


def test_comments_and_unknown_entries(tmp_path: Path) -> None:
    """A comment behind the cutoff would take it away, and an unknown entry give a measure the
    direction of another.
    """
    described = DESCRIPTION.replace("cutoff_time: 10", "cutoff_time: 10  # seconds")
    described = described.replace("[false, true]", "[?, true]  # of both")
    folder = aslib(tmp_path / "demo", description=described)
    assert load(folder).runs == load(aslib(tmp_path / "plain")).runs
    assert load(folder, objective="quality").maximised


def test_what_the_description_does_not_say(tmp_path: Path) -> None:
    """A cutoff, a direction, or the main one of several measures, would be guessed."""
    no_cutoff = DESCRIPTION.replace("algorithm_cutoff_time: 10", "algorithm_cutoff_time: '?'")
    path = aslib(tmp_path / "cutoff", description=no_cutoff)
    assert "--cutoff" in refused(path)
    assert load(path, cutoff=10.0).runs == load(aslib(tmp_path / "demo")).runs
    path = aslib(tmp_path / "none", description=None)
    assert "--objective: runtime, quality" in refused(path)
    assert load(path, objective="runtime", cutoff=10.0).runs.high == 100
    assert "maximize" in refused(path, objective="quality")
    # Described is another measure.
    other = DESCRIPTION.replace("- runtime\n- quality", "- quality2").replace(
        "[false, true]", "true"
    )
    assert "maximize" in refused(aslib(tmp_path / "other", description=other), objective="quality")


def test_an_example_as_aslib() -> None:
    """A folder of ASlib would give other costs, statuses or repetitions than the runs it was
    written from.
    """
    found = load(DATA / "aslib" / "kissat-small").runs
    expected = load("kissat").runs.select(found.configurations, found.instances)
    np.testing.assert_array_equal(found.costs, expected.costs)
    assert (found.low, found.high) == (0, 5)
    np.testing.assert_array_equal(statuses(found), statuses(expected))


@pytest.mark.beside(SHARED / "aslib")
def test_real_aslib() -> None:
    """A real scenario would give other numbers of runs, statuses or costs than its own file."""
    path = SHARED / "aslib" / "CPMP-2015"
    text = (path / "algorithm_runs.arff").read_text().split("@DATA\n")[1]
    rows = [line.split(",") for line in text.split()]
    matrix = load(path).runs
    assert matrix.shape == (len({row[2] for row in rows}), len({row[0] for row in rows}), 1)
    assert (matrix.low, matrix.high) == (0, 36000)
    for instance, _, algorithm, runtime, word in rows:
        at = matrix.configurations.index(algorithm), matrix.instances.index(instance), 0
        assert matrix.costs[at] == (float(runtime) if word == "ok" else 36000)
        words = {"ok": Status.SOLVED, "timeout": Status.TIMEOUT, "memout": Status.MEMORY}
        assert statuses(matrix)[at] == words[word]


@pytest.mark.parametrize(
    "runs",
    [
        "",
        ARFF.split("@DATA", maxsplit=1)[0],
        ARFF[:200],
        ARFF.split("i1,1,fast", maxsplit=1)[0],
        ARFF + "i1,3",
        ARFF + "i1,3,fast,2,1,dreaming",
        ARFF + "i1,x,fast,2,1,ok",
        ARFF + "i1,1,fast,2,1,ok",
        ARFF.replace("algorithm STRING", "solver STRING"),
        ARFF.replace("@ATTRIBUTE quality", "@ATTRIBUTE runtime"),
        ARFF.replace("@RELATION", "RELATION"),
        ARFF + "\n'unfinished,1,fast,2,1,ok",
        ARFF + "i1,9,fast,-3,1,ok",
    ],
)
def test_bad_scenarios(tmp_path: Path, runs: str) -> None:
    """A scenario that cannot be read would be taken, or end in a traceback."""
    refused(aslib(tmp_path / "bad", runs))
