import bz2
import csv
import gzip
import lzma
import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import rwriter as r
from imports import DATA, SHARED, cells, codes, load, refused, sentences, statuses, write

from truecost.errors import InputError
from truecost.importers import packed, rdata
from truecost.matrix import Log, Step
from truecost.runs import Status

IRACE = DATA / "irace"
LOGS = sorted(path.stem for path in IRACE.glob("*.Rdata"))
CAPPING: dict[str, Any] = {"capping": True, "boundMax": 5.0}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where a log is written, packed as R packs it."""
    return write(tmp_path / "irace.Rdata", gzip.compress(r.irace_log()))


def test_pairs_are_not_instances(path: Path) -> None:
    """Rows of the experiments would be taken for instances, or for the pair at their place instead
    of their name.
    """
    found = load(path, low=0.0, high=10.0).runs
    assert found.configurations == ("1", "2", "7")
    assert found.instances == ("b.tsp", "a.tsp", "c.tsp")
    nan = np.nan
    expected = [
        [[1, 6], [4, nan], [7, nan]],
        [[2, nan], [5, nan], [10, nan]],
        [[3, nan], [nan, nan], [nan, nan]],
    ]
    np.testing.assert_array_equal(found.costs, expected)
    assert found.seeds is not None
    assert found.seeds[0].tolist() == [[11, 13], [12, -1], [15, -1]]
    # What irace rejects costs infinity: charged, not dropped.
    assert statuses(found)[1, 2, 0] == Status.CRASHED


def test_what_else_the_log_says(path: Path) -> None:
    """Parameters, elites, numbers of runs or test results of a log would be lost or belong to
    others.
    """
    found = load(path, low=0.0, high=10.0, default="2")
    assert found.parameters == {
        "1": {"alpha": 0.5, "kind": "x", "flag": True},
        "2": {"kind": "y", "flag": False},
        "7": {"alpha": 2.0, "kind": "x"},
    }
    assert (found.tool, found.adaptive) == ("irace 3.4.1", True)
    assert (found.default, found.incumbent) == ("2", "1")
    assert found.steps == (Step(5, "2"), Step(9, "1"))
    assert found.test is not None
    assert cells(found.test) == {
        ("2", "t1.tsp", 91): 1.5,
        ("1", "t1.tsp", 91): 2.5,
        ("1", "t2.tsp", 92): 3.5,
    }


@pytest.mark.parametrize(
    ("instances", "names"),
    [
        ([10.0, 0.25, 1e5], ("0.25", "10", "100000")),
        (r.compact("compact_intseq", [3.0, 7.0, 1.0]), ("8", "7", "9")),
        ([[1.0], None, None], ("2", "1", "3")),
        (["a", "b", "a"], ("b", "a")),
    ],
)
def test_names_of_instances(path: Path, instances: Any, names: tuple[str, ...]) -> None:
    """Instances that are numbers would be other ones than irace ran, and a file listed twice would
    be two.
    """
    content = r.irace_log(scenario={"instances": instances})
    assert load(write(path, content)).runs.instances == names


def test_a_bound_without_capping_is_no_cutoff(path: Path) -> None:
    """Tour lengths would be taken for running times because the scenario bounds the time of a run."""
    assert load(path).runs.width == np.inf
    write(path, r.irace_log(scenario=CAPPING | {"boundPar": 2.0}))
    found = load(path)
    assert (found.runs.low, found.runs.high, found.runs.par) == (0, 10, 2)
    assert found.cost_unit == "PAR2 s"
    np.testing.assert_array_equal(found.runs.costs[0, :, 0], [1, 4, 10])
    again = load(path, par=10.0).runs
    assert again.high == 50
    assert statuses(again)[0, 2, 0] == Status.TIMEOUT


@pytest.mark.parametrize("pack", [bytes, bz2.compress, lzma.compress])
def test_packings(tmp_path: Path, path: Path, pack: Callable[[bytes], bytes]) -> None:
    """A workspace packed by another of R's methods would not be read."""
    other = write(tmp_path / "other", pack(r.irace_log()))
    assert load(other, low=0.0, high=10.0).runs == load(path, low=0.0, high=10.0).runs


@pytest.mark.parametrize("version", [2, 3])
def test_values_of_r(version: int) -> None:
    """Some value of R would be read wrongly: a range, a text not yet made, a long vector, a
    reference, a function.
    """
    frame = struct.pack(">iii", 4, 0, 242) + r.pairs({"x": [7]}) + r.NIL + r.NIL
    late = struct.pack(">i", 2) + r.value([1.5, 3.0, r.NAN]) + r.NIL
    variables = {
        "range": r.compact("compact_intseq", [4.0, 10.0, 1.0]),
        "down": r.compact("compact_realseq", [3.0, 2.0, -1.0]),
        "late": r.compact("deferred_string", late),
        "wrapped": r.compact("wrap_real", [[1.0, 2.0], [0, 0]]),
        "long": struct.pack(">iiii", 13, -1, 0, 2) + struct.pack(">ii", 5, 6),
        "texts": ["ü", None, ""],
        "space": frame,
        "again": struct.pack(">i", 1 << 8 | 255),
        "closure": struct.pack(">ii", 3 | r.TAG, 253) + r.NIL + r.value([1]),
        "raw": r.vector(24, b"\x01\x02", 2, {}),
        "complex": r.vector(15, bytes(32), 2, {}),
        "dots": struct.pack(">i", 17) + r.value([1]) + r.NIL,
        "weak": struct.pack(">i", 23),
    }
    assert rdata.read(r.workspace(variables, version)) == {
        "range": [10, 11, 12, 13],
        "down": [2, 1, 0],
        "late": ["1.5", "3", None],
        "wrapped": [1, 2],
        "long": [5, 6],
        "texts": ["ü", None, ""],
        "space": {"x": [7]},
        "again": "range",  # the first symbol of the file
        "closure": rdata.OPAQUE,
        "raw": rdata.OPAQUE,
        "complex": rdata.OPAQUE,
        "dots": rdata.OPAQUE,
        "weak": rdata.OPAQUE,
    }


def claim(kind: int, size: int) -> bytes:
    """A vector that says how long it is, and has nothing."""
    return r.workspace({"v": struct.pack(">ii", kind, size)})


@pytest.mark.parametrize(
    "content",
    [
        gzip.compress(r.irace_log(), mtime=0)[:200],
        r.irace_log()[:600],
        claim(13, 2**31 - 1),
        claim(16, 2**31 - 1),
        claim(19, 2**31 - 1),
        claim(14, -7),
        r.workspace({"v": struct.pack(">iiii", 14, -1, 2**20, 0)}),
        r.workspace({"v": r.compact("compact_intseq", [1e12, 1.0, 1.0])}),
        r.workspace({"v": r.compact("mmap_real", None)}),
        r.workspace({"v": struct.pack(">ii", 19, 1) * 5000 + r.NIL}),
        r.workspace({"v": struct.pack(">i", 99 << 8 | 255)}),
        r.workspace({"v": struct.pack(">i", 77)}),
        r.workspace({"v": [1]}),
        b"RDX3\nA\n" + bytes(50),
        b"RDX3\nX\n" + struct.pack(">iii", 9, 0, 0),
        r.irace_log(experiments=None),
        r.irace_log(experiments="a"),
        r.irace_log(experiments=[1.0, 2.0]),
        r.irace_log(experiments=r.matrix([], [], [])),
        r.irace_log(experiments=r.matrix([[r.NAN]], ["1"], ["1"])),
        r.irace_log(experiments=r.matrix([[1.0]], ["9"], ["1"])),
        r.irace_log(experiments=r.matrix([[1.0]], ["x"], ["1"])),
        r.irace_log(state=None),
        r.irace_log(scenario={"instances": ["a"]}),
        r.workspace({"iraceResults": None}),
    ],
)
def test_bad_workspaces(path: Path, content: bytes) -> None:
    """A damaged or hostile workspace would end in somebody else's exception, or in much memory."""
    assert refused(write(path, content), low=0.0, high=10.0).startswith(f"{path}: ")


def test_bombs_do_not_take_the_memory(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A small packed file that unpacks to gigabytes would be unpacked."""
    monkeypatch.setattr(packed, "LARGEST", 32 << 20)
    packer = zlib.compressobj(1, wbits=31)
    log, zeros = (
        packer.compress(part) + packer.flush(zlib.Z_FULL_FLUSH)
        for part in (r.irace_log(), bytes(16 << 20))
    )
    # A gigabyte.
    assert "unpacks to more than 32 MB" in refused(write(path, log + 64 * zeros))


def test_a_workspace_cannot_have_too_many_values(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four bytes a value would become a hundred in memory, without end."""
    monkeypatch.setattr(rdata, "MOST_VALUES", 1000)
    with pytest.raises(InputError, match="more than 1,000 values"):
        rdata.read(r.workspace({"v": [r.NIL] * 2000}))


def table(name: str) -> list[dict[str, str]]:
    """What R itself found in a log."""
    with (IRACE / f"{name}.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def imported(name: str) -> Log:
    """A log, with the range of its costs where it has none of its own."""
    ends = {} if name.startswith("capped") else {"low": -100.0, "high": 20.0}
    return load(IRACE / f"{name}.Rdata", **ends)


def by_r(name: str) -> dict[tuple[str, str, int], float]:
    """The runs by R; a deterministic scenario has no seeds."""
    return {
        (
            row["configuration"],
            row["instance"],
            0 if row["seed"] == "NA" else int(row["seed"]),
        ): float(row["cost"])
        for row in table(name)
    }


@pytest.mark.parametrize("name", LOGS)
def test_every_run_is_where_r_has_it(name: str) -> None:
    """A run of a real log would be lost, or have another configuration, instance, seed or cost than
    R finds in it.
    """
    found, expected = cells(imported(name).runs), by_r(name)
    assert len(expected) == len(table(name)) > 100
    assert found.keys() == expected.keys()
    if name.startswith("capped"):
        # What a run that was stopped costs is another matter: that of the metric.
        assert sum(cost < 5 for cost in expected.values()) > 50
        assert all(found[key] == cost for key, cost in expected.items() if cost < 5)
    else:
        assert found == {key: 20.0 if cost == np.inf else cost for key, cost in expected.items()}
    assert (np.inf in expected.values()) == (name == "rejected")


@pytest.mark.parametrize("name", LOGS)
def test_who_led_is_as_r_has_it(name: str) -> None:
    """The best of an iteration, the runs made until then, or the winner would be others than the
    log's.
    """
    found = imported(name)
    elites: dict[int, list[str]] = {}
    for row in table(f"{name}-elites"):
        elites.setdefault(int(row["iteration"]), []).append(row["configuration"])
    history = [int(row["iteration"]) for row in table(f"{name}-log")]
    assert found.tool.startswith("irace 3.5")
    assert found.steps == tuple(
        Step(sum(end <= iteration for end in history), names[0])
        for iteration, names in sorted(elites.items())
    )
    assert found.incumbent == elites[max(elites)][0]
    assert set(found.parameters) >= set(found.runs.configurations)


def test_test_runs_are_where_r_has_them() -> None:
    """Runs on test instances would be lost, be mixed with those trained on, or appear where there
    are none.
    """
    found = imported("tested")
    assert found.test is not None
    assert cells(found.test) == by_r("tested-test")
    assert not set(found.test.instances) & set(found.runs.instances)
    assert all(imported(name).test is None for name in LOGS if name != "tested")


@pytest.mark.parametrize("name", [name for name in LOGS if name.startswith("capped")])
def test_capped_runs_are_censored(name: str) -> None:
    """Runs that were stopped early would be taken for solved, or for timeouts, at another cost than
    their cap.
    """
    found = imported(name).runs
    caps = {
        (row["configuration"], float(row["bound"]))
        for row in table(f"{name}-log")
        if float(row["bound"]) < 5 and float(row["time"]) >= float(row["bound"])
    }
    censored = np.argwhere(found.censored)
    assert len(censored) >= len(caps) / 2 > 0
    for i, j, run in censored:
        assert (found.configurations[i], float(found.costs[i, j, run])) in caps
    assert found.high == 50


@pytest.mark.beside(SHARED / "irace")
@pytest.mark.parametrize(
    ("name", "version", "configurations", "pairs", "tested", "incumbent"),
    [
        ("irace-acotsp", "4.4.0.d5a98af", 145, 17, (17, 50), "119"),
        ("guide-example", "3.5.36369bb-dirty", 809, 21, (33, 400), "809"),
    ],
)
def test_real_logs(
    name: str,
    version: str,
    configurations: int,
    pairs: int,
    tested: tuple[int, int],
    incumbent: str,
) -> None:
    """A real log would give other numbers of configurations, instances and runs than it holds."""
    found = load(SHARED / "irace" / f"{name}.Rdata", low=0.0, high=1e8)
    assert found.runs.shape == (configurations, pairs, 1)
    assert found.test is not None
    assert found.test.shape == (*tested, 1)
    assert (found.tool, found.incumbent) == (f"irace {version}", incumbent)
    assert set(found.parameters) == set(found.runs.configurations)


def small(
    path: Path,
    costs: list[list[float]],
    completed: str = "",
    history: Any = None,
    **scenario: Any,
) -> Path:
    """A log of irace with these costs: a row for each instance, one configuration a column."""
    rows, columns = ([str(n + 1) for n in range(len(part))] for part in (costs, costs[0]))
    numbers = list(range(1, len(rows) + 1))
    pairs = {"instance": numbers, "seed": numbers}
    content = r.irace_log(
        scenario={"instances": [f"{row}.txt" for row in rows], **scenario},
        experiments=r.matrix(costs, rows, columns),
        state={".irace": r.environment({"instancesList": pairs}), "completed": completed},
        allElites=[[1]],
        iterationElites=[1],
        allConfigurations=None,
        experimentLog=history,
        testing=None,
    )
    return write(path, content)


def test_a_stopped_search_is_called_so(path: Path) -> None:
    """The log of an irace that was killed would be read as if it had finished."""
    assert "unfinished" in codes(load(small(path, [[1.0, 2.0]], completed="Incomplete")))
    assert "unfinished" not in codes(load(small(path, [[1.0, 2.0]])))
    assert "unfinished" not in codes(load(IRACE / "timed.Rdata"))


def test_the_first_configuration_irace_was_given_is_the_default(path: Path) -> None:
    """`audit` would know of no default where `validate` runs one, or take a random configuration
    for it.
    """
    runner = DATA / "runner" / "irace.Rdata"
    assert load(runner).default == "1"
    assert load(runner, default="2").default == "2"
    assert load(IRACE / "tested.Rdata").default is None
    # irace called from R.
    assert load(small(path, [[1.0, 2.0]], initConfigurations={"x": [4.0]})).default == "1"
    assert load(small(path, [[1.0, 2.0]])).default is None


def test_a_run_that_reaches_the_bound_is_a_timeout(path: Path) -> None:
    """irace stops a run at the bound and writes the bound: it would pass for solved."""
    runs = load(small(path, [[1.0, 5.0], [5.0, 3.0]], **CAPPING)).runs
    late = statuses(runs).ravel() == Status.TIMEOUT
    assert late.tolist() == [False, True, True, False]


def test_a_penalty_of_the_runner_itself(path: Path) -> None:
    """Timeouts that the target runner charges PAR10 would cost one bound each."""
    log = load(small(path, [[1.0, 50.0], [50.0, 3.0]], **CAPPING))
    assert log.runs.par == 10
    assert "PAR10" in sentences(log)
    # It charges runs that irace stopped earlier in the same way.
    stopped = {
        "instance": [1, 1, 2, 2], "configuration": [1, 2, 1, 2], "time": [1.0, 5.0, 2.0, 3.0],
        "bound": [5.0, 5.0, 2.0, 5.0],
    }  # fmt: skip
    log = load(small(path, [[1.0, 50.0], [20.0, np.inf]], history=stopped, **CAPPING))
    assert log.runs.costs.ravel().tolist() == [1, 2, 50, 50]
    assert log.runs.censored.sum() == 1
    log = load(small(path, [[1.0, 5.5], [50.0, 3.0]], boundPar=3.0, **CAPPING))
    assert log.runs.high == 15
    assert (statuses(log.runs) == Status.TIMEOUT).sum() == 2
