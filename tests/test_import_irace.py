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
from imports import DATA, SHARED, cells, codes, load, said, statuses, write

from truecost.errors import InputError
from truecost.importers import packed, rdata
from truecost.matrix import Log, Step
from truecost.runs import Status

IRACE = DATA / "irace"
LOGS = sorted(path.stem for path in IRACE.glob("*.Rdata"))


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """A log of irace, packed as R packs it."""
    return write(tmp_path / "irace.Rdata", r.packed(r.irace_log()))


def test_pairs_are_not_instances(log: Path) -> None:
    """Rows of the experiments would be taken for instances, or for the pair at their place instead
    of their name.
    """
    found = load(log, low=0.0, high=10.0).runs
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


def test_what_else_the_log_says(log: Path) -> None:
    """Parameters, elites, numbers of runs or test results of a log would be lost or belong to
    others.
    """
    found = load(log, low=0.0, high=10.0, default="2")
    assert found.parameters == {
        "1": {"alpha": 0.5, "kind": "x", "flag": True},
        "2": {"kind": "y", "flag": False},
        "7": {"alpha": 2.0, "kind": "x"},
    }
    assert (found.tool, found.adaptive) == ("irace 3.4.1", True)
    assert (found.default, found.incumbent) == ("2", "1")
    assert found.steps == (Step(5, "2"), Step(9, "1"))
    assert found.test is not None
    assert found.test.instances == ("t1.tsp", "t2.tsp")
    np.testing.assert_array_equal(found.test.select(configurations="1").costs[0, :, 0], [2.5, 3.5])
    assert found.test.seeds is not None
    assert found.test.select(configurations="2").seeds.tolist() == [[[91], [-1]]]  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("instances", "names"),
    [
        (r.doubles([10.0, 0.25, 1e5]), ("0.25", "10", "100000")),
        (r.compact("compact_intseq", r.doubles([3, 7, 1])), ("8", "7", "9")),
        (r.listing([r.doubles([1.0]), r.NIL, r.NIL]), ("2", "1", "3")),
        (r.strings(["a", "b", "a"]), ("b", "a")),
    ],
)
def test_names_of_instances(tmp_path: Path, instances: bytes, names: tuple[str, ...]) -> None:
    """Instances that are numbers would be other ones than irace ran, and a file listed twice would
    be two.
    """
    path = write(tmp_path / "log", r.irace_log(scenario={"instances": instances}))
    assert load(path).runs.instances == names


def test_a_bound_without_capping_is_no_cutoff(tmp_path: Path) -> None:
    """Tour lengths would be taken for running times because the scenario bounds the time of a run."""
    assert load(write(tmp_path / "log", r.irace_log())).runs.width == np.inf
    bound = {"capping": r.logicals([1]), "boundMax": r.doubles([5.0]), "boundPar": r.doubles([2.0])}
    path = write(tmp_path / "log", r.irace_log(scenario=bound))
    found = load(path)
    assert (found.runs.low, found.runs.high, found.runs.par) == (0, 10, 2)
    assert found.cost_unit == "PAR2 s"
    np.testing.assert_array_equal(found.runs.costs[0, :, 0], [1, 4, 10])
    again = load(path, par=10.0).runs
    assert again.high == 50
    assert statuses(again)[0, 2, 0] == Status.TIMEOUT


@pytest.mark.parametrize("pack", [bytes, gzip.compress, bz2.compress, lzma.compress])
def test_packings(tmp_path: Path, log: Path, pack: Callable[[bytes], bytes]) -> None:
    """A workspace packed by another of R's methods would not be read."""
    path = write(tmp_path / "other", pack(r.irace_log()))
    assert load(path, low=0.0, high=10.0).runs == load(log, low=0.0, high=10.0).runs


def test_values_of_r() -> None:
    """Some value of R would be read wrongly: a range, a text not yet made, a long vector, a
    reference, a function.
    """
    number = struct.pack(">i", 4) + struct.pack(">i", 0) + struct.pack(">i", 242)
    shared = number + r.pairs({"x": r.integers([7])}) + r.NIL + r.NIL
    late = struct.pack(">i", 2) + r.doubles([1.5, 3, float("nan")]) + r.NIL
    variables = {
        "range": r.compact("compact_intseq", r.doubles([4, 10, 1])),
        "down": r.compact("compact_realseq", r.doubles([3, 2, -1])),
        "late": r.compact("deferred_string", late),
        "wrapped": r.compact("wrap_real", r.listing([r.doubles([1.0, 2.0]), r.integers([0, 0])])),
        "long": struct.pack(">iiii", 13, -1, 0, 2) + struct.pack(">ii", 5, 6),
        "texts": r.strings(["ü", None, ""]),
        "space": shared,
        "again": struct.pack(">i", 1 << 8 | 255),
        "closure": struct.pack(">i", 3 | r.TAG) + struct.pack(">i", 253) + r.NIL + r.integers([1]),
        "raw": r.vector(24, b"\x01\x02", 2, {}),
    }
    for version in (2, 3):
        found = rdata.read(r.workspace(variables, version))
        assert found["range"].values.tolist() == [10, 11, 12, 13]
        assert found["down"].values.tolist() == [2, 1, 0]
        assert found["late"].values == ["1.5", "3", None]
        assert found["wrapped"].values.tolist() == [1, 2]
        assert found["long"].values.tolist() == [5, 6]
        assert found["texts"].values == ["ü", None, ""]
        assert found["space"].get("x").values.tolist() == [7]
        assert found["again"].values == ["range"]  # the first symbol of the file
        assert found["closure"].kind == "other"
        assert found["raw"].values.tolist() == [1, 2]


def claim(kind: int, size: int) -> bytes:
    """A vector that says how long it is, and has nothing."""
    return r.workspace({"v": struct.pack(">ii", kind, size)})


@pytest.mark.parametrize(
    "content",
    [
        r.packed(r.irace_log())[:200],
        r.irace_log()[:600],
        claim(13, 2**31 - 1),
        claim(16, 2**31 - 1),
        claim(19, 2**31 - 1),
        claim(14, -7),
        r.workspace({"v": struct.pack(">iiii", 14, -1, 2**20, 0)}),
        r.workspace({"v": r.compact("compact_intseq", r.doubles([1e12, 1, 1]))}),
        r.workspace({"v": r.compact("mmap_real", r.NIL)}),
        r.workspace({"v": struct.pack(">ii", 19, 1) * 5000 + r.NIL}),
        r.workspace({"v": struct.pack(">i", 99 << 8 | 255)}),
        r.workspace({"v": struct.pack(">i", 77)}),
        r.workspace({"v": r.integers([1])}),
        b"RDX3\nA\n" + bytes(50),
        b"RDX3\nX\n" + struct.pack(">iii", 9, 0, 0),
        r.irace_log(experiments=None),
        r.irace_log(experiments=r.strings(["a"])),
        r.irace_log(experiments=r.doubles([1.0, 2.0])),
        r.irace_log(experiments=r.doubles([], dim=r.integers([0, 0]))),
        r.irace_log(experiments=r.matrix([[float("nan")]], ["1"], ["1"])),
        r.irace_log(experiments=r.matrix([[1.0]], ["9"], ["1"])),
        r.irace_log(experiments=r.matrix([[1.0]], ["x"], ["1"])),
        r.irace_log(state=None),
        r.irace_log(scenario={"instances": r.strings(["a"])}),
        r.workspace({"iraceResults": r.NIL}),
    ],
)
def test_bad_workspaces(tmp_path: Path, content: bytes) -> None:
    """A damaged or hostile workspace would end in somebody else's exception, or in much memory."""
    path = write(tmp_path / "bad.Rdata", content)
    with pytest.raises(InputError) as caught:
        load(path, low=0.0, high=10.0)
    assert str(caught.value).startswith(f"{path}: ")
    assert "\n" not in str(caught.value)


def test_bombs_do_not_take_the_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A small packed file that unpacks to gigabytes would be unpacked."""
    monkeypatch.setattr(packed, "LARGEST", 32 << 20)
    packer = zlib.compressobj(1, wbits=31)
    log, zeros = (
        packer.compress(part) + packer.flush(zlib.Z_FULL_FLUSH)
        for part in (r.irace_log(), bytes(16 << 20))
    )
    path = write(tmp_path / "bomb.Rdata", log + 64 * zeros)  # a gigabyte
    with pytest.raises(InputError, match="unpacks to more than 32 MB"):
        load(path)


def test_a_workspace_cannot_have_too_many_values(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four bytes a value would become a hundred in memory, without end."""
    monkeypatch.setattr(rdata, "MOST_VALUES", 1000)
    with pytest.raises(InputError, match="more than 1,000 values"):
        rdata.read(r.workspace({"v": r.listing([r.NIL] * 2000)}))


def table(name: str) -> list[dict[str, str]]:
    """What R itself found in a log."""
    with (IRACE / f"{name}.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def taken(name: str) -> Log:
    """A log as it is imported, with the range of its costs where it has none of its own."""
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
    found, expected = cells(taken(name).runs), by_r(name)
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
    found = taken(name)
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
    found = taken("tested")
    assert found.test is not None
    assert cells(found.test) == by_r("tested-test")
    assert not set(found.test.instances) & set(found.runs.instances)
    assert all(taken(name).test is None for name in LOGS if name != "tested")


@pytest.mark.parametrize("name", [name for name in LOGS if name.startswith("capped")])
def test_capped_runs_are_censored(name: str) -> None:
    """Runs that were stopped early would be taken for solved, or for timeouts, at another cost than
    their cap.
    """
    found, caps = taken(name).runs, {}
    for row in table(f"{name}-log"):
        bound = float(row["bound"])
        if bound < 5 and float(row["time"]) >= bound:
            caps[row["configuration"], bound] = True
    assert caps
    censored = np.argwhere(found.censored)
    assert len(censored) >= len(caps) / 2
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
    assert found.tool == f"irace {version}"
    assert found.incumbent == incumbent
    assert set(found.parameters) == set(found.runs.configurations)


def test_a_budget_of_time_is_compared_with_time() -> None:
    """Every search with `maxTime` would be said to have stopped before it used up its budget."""
    assert "unfinished" not in codes(load(IRACE / "timed.Rdata"))


def test_the_first_configuration_irace_was_given_is_the_default() -> None:
    """`audit` would know of no default where `validate` runs one, or take a random configuration
    for it.
    """
    runner = DATA / "runner" / "irace.Rdata"
    assert load(runner).default == "1"
    assert load(IRACE / "tested.Rdata").default is None
    assert load(runner, default="2").default == "2"


def small(path: Path, costs: list[list[float]], **changes: Any) -> Path:
    """A log of irace with these costs: a row for each instance, one configuration a column."""
    rows, columns = ([str(n + 1) for n in range(len(part))] for part in (costs, costs[0]))
    numbers = range(1, len(rows) + 1)
    pairs = r.listing({"instance": r.integers(numbers), "seed": r.integers(numbers)})
    state = {".irace": r.environment({"instancesList": pairs}), **changes.pop("state", {})}
    content = r.irace_log(
        scenario={"instances": r.strings([f"{row}.txt" for row in rows]), **changes},
        experiments=r.matrix(costs, rows, columns),
        state=r.listing(state),
        allElites=r.listing([r.integers([1])]),
        iterationElites=r.integers([1]),
        allConfigurations=None,
        experimentLog=None,
        testing=None,
    )
    return write(path, content)


def test_a_stopped_search_is_called_so(tmp_path: Path) -> None:
    """The log of an irace that was killed would be read as if it had finished."""
    path = tmp_path / "killed.Rdata"
    killed = {"completed": r.strings(["Incomplete"])}
    assert "unfinished" in codes(load(small(path, [[1.0, 2.0], [3.0, 4.0]], state=killed)))
    assert "unfinished" not in codes(load(small(path, [[1.0, 2.0], [3.0, 4.0]])))


def test_initial_configurations_of_a_data_frame_have_the_default(tmp_path: Path) -> None:
    """irace called from R would have no default, though it was given one."""
    first = r.listing({"x": r.doubles([4.0])})
    path = small(tmp_path / "frame.Rdata", [[1.0, 2.0]] * 3, initConfigurations=first)
    assert load(path).default == "1"
    assert load(small(tmp_path / "none.Rdata", [[1.0, 2.0]] * 3)).default is None


def test_a_run_that_reaches_the_bound_is_a_timeout(tmp_path: Path) -> None:
    """irace stops a run at the bound and writes the bound: it would pass for solved."""
    bound = {"capping": r.logicals([1]), "boundMax": r.doubles([5.0])}
    runs = load(small(tmp_path / "b", [[1.0, 5.0], [5.0, 3.0]], **bound)).runs
    late = statuses(runs).ravel() == Status.TIMEOUT
    assert late.tolist() == [False, True, True, False]


def test_a_penalty_of_the_runner_itself(tmp_path: Path) -> None:
    """Timeouts that the target runner charges PAR10 would cost one bound each."""
    bound = {"capping": r.logicals([1]), "boundMax": r.doubles([5.0])}
    log = load(small(tmp_path / "p", [[1.0, 50.0], [50.0, 3.0]], **bound))
    assert log.runs.par == 10
    assert "PAR10" in said(log)
    log = load(small(tmp_path / "p", [[1.0, 5.5], [50.0, 3.0]], boundPar=r.doubles([3.0]), **bound))
    assert log.runs.high == 15
    assert (statuses(log.runs) == Status.TIMEOUT).sum() == 2
