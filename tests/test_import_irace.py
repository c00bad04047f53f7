import bz2
import csv
import gzip
import lzma
import struct
import tracemalloc
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import rwriter as r

from truecost import assess, report
from truecost.errors import InputError
from truecost.importers import packed, rdata
from truecost.importers.detect import import_runs
from truecost.matrix import CostMatrix
from truecost.matrix.imported import Import
from truecost.runs import Status, Step

ROOT = Path(__file__).parent.parent
DATA = Path(__file__).parent / "data" / "irace"
LOGS = sorted(path.stem for path in DATA.glob("*.Rdata"))
SHARED = next(
    (d for d in (ROOT.parent / "shared" / "data", Path("/work/shared/data")) if d.is_dir()),
    Path("/nowhere"),
)


def write(path: Path, content: bytes) -> Path:
    """The path, with this in it."""
    path.write_bytes(content)
    return path


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """A log of irace, packed as R packs it."""
    return write(tmp_path / "irace.Rdata", r.packed(r.irace_log()))


def test_pairs_are_not_instances(log: Path) -> None:
    """Rows of the experiments would be taken for instances, or for the pair at their place instead
    of their name.
    """
    found = import_runs(log, low=0, high=10).matrix
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
    assert found.statuses is not None
    assert (
        found.statuses[1, 2, 0] == Status.CRASHED
    )  # what irace rejects costs infinity: charged, not dropped


def test_what_else_the_log_says(log: Path) -> None:
    """Parameters, origins, elites, numbers of runs or test results of a log would be lost or belong
    to others.
    """
    found = import_runs(log, low=0, high=10, default="2")
    assert found.parameters == {
        "1": {"alpha": 0.5, "kind": "x", "flag": True},
        "2": {"kind": "y", "flag": False},
        "7": {"alpha": 2.0, "kind": "x"},
    }
    assert found.origins == {"1": "initial", "2": "initial", "7": "drawn around 2"}
    trajectory = found.trajectory
    assert (trajectory.tool, trajectory.proposed, trajectory.raced) == (
        "irace 3.4.1",
        "adaptively",
        True,
    )
    assert (trajectory.default, trajectory.incumbent) == ("2", "1")
    assert trajectory.steps == (Step(5, ("2", "1")), Step(9, ("1",)))
    assert found.test is not None
    assert found.test.instances == ("t1.tsp", "t2.tsp")
    np.testing.assert_array_equal(found.test.select(configurations="1").costs[0, :, 0], [2.5, 3.5])
    assert found.test.seeds is not None
    assert found.test.select(configurations="2").seeds.tolist() == [[[91], [-1]]]  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("instances", "names", "obstacle"),
    [
        (r.doubles([10.0, 0.25, 1e5]), ("0.25", "10", "100000"), None),
        (r.compact("compact_intseq", r.doubles([3, 7, 1])), ("8", "7", "9"), None),
        (r.listing([r.doubles([1.0]), r.NIL, r.NIL]), ("2", "1", "3"), "got R objects"),
    ],
)
def test_instances_that_are_numbers(
    tmp_path: Path, instances: bytes, names: tuple[str, ...], obstacle: str | None
) -> None:
    """A scenario from the log would run other instances than irace did, or be refused."""
    scenario = {"instances": instances, "targetRunner": r.strings(["./run"])}
    found = import_runs(write(tmp_path / "log", r.irace_log(scenario=scenario)))
    assert found.matrix.instances == names
    assert (found.obstacle or "").endswith(obstacle or "")
    assert (found.obstacle is None) == (obstacle is None)


def test_a_bound_without_capping_is_no_cutoff(tmp_path: Path) -> None:
    """Tour lengths would be taken for running times because the scenario bounds the time of a run."""
    assert import_runs(write(tmp_path / "log", r.irace_log())).matrix.width == np.inf
    capped = r.irace_log(
        scenario={
            "capping": r.logicals([1]),
            "boundMax": r.doubles([5.0]),
            "boundPar": r.doubles([2.0]),
        }
    )
    found = import_runs(write(tmp_path / "log", capped)).matrix
    assert (found.low, found.high) == (0, 10)
    np.testing.assert_array_equal(found.costs[0, :, 0], [1, 4, 10])
    again = import_runs(tmp_path / "log", par=10).matrix
    assert again.high == 50
    assert again.statuses is not None
    assert again.statuses[0, 2, 0] == Status.TIMEOUT


@pytest.mark.parametrize("pack", [bytes, gzip.compress, bz2.compress, lzma.compress])
def test_packings_and_versions(tmp_path: Path, log: Path, pack: Callable[[bytes], bytes]) -> None:
    """A workspace packed by another of R's methods would not be read."""
    path = write(tmp_path / "other", pack(r.irace_log()))
    assert import_runs(path, low=0, high=10).matrix == import_runs(log, low=0, high=10).matrix


def test_values_of_r(tmp_path: Path) -> None:
    """Some value of R would be read wrongly: a range, a text not yet made, a long vector, a
    reference, a function.
    """
    shared = (
        struct.pack(">i", 4)
        + struct.pack(">i", 0)
        + struct.pack(">i", 242)
        + r.pairs({"x": r.integers([7])})
        + r.NIL
        + r.NIL
    )
    variables = {
        "range": r.compact("compact_intseq", r.doubles([4, 10, 1])),
        "down": r.compact("compact_realseq", r.doubles([3, 2, -1])),
        "late": r.compact(
            "deferred_string", struct.pack(">i", 2) + r.doubles([1.5, 3, float("nan")]) + r.NIL
        ),
        "wrapped": r.compact("wrap_real", r.listing([r.doubles([1.0, 2.0]), r.integers([0, 0])])),
        "long": struct.pack(">iiii", 13, -1, 0, 2) + struct.pack(">ii", 5, 6),
        "texts": r.strings(["ü", None, ""]),
        "space": shared,
        "again": struct.pack(">i", 1 << 8 | 255),
        "closure": struct.pack(">i", 3 | r.TAG) + struct.pack(">i", 253) + r.NIL + r.integers([1]),
        "raw": r.vector(24, b"\x01\x02", 2, {}),
        "complex": r.vector(15, struct.pack(">dd", 1, 2), 1, {}),
    }
    for version in (2, 3):
        with write(tmp_path / "values", r.workspace(variables, version)).open("rb") as file:
            found = rdata.read(file)
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
        assert found["complex"].values.tolist() == [1 + 2j]


def claim(kind: int, size: int) -> bytes:
    """A vector that says how long it is, and has nothing."""
    return r.workspace({"v": struct.pack(">ii", kind, size)})


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (r.packed(r.irace_log())[:200], "cannot be unpacked"),
        (r.irace_log()[:600], "cut off or damaged|claim of"),
        (claim(13, 2**31 - 1), "claim of 2,147,483,647 elements"),
        (claim(16, 2**31 - 1), "claim of 2,147,483,647 elements"),
        (claim(19, 2**31 - 1), "claim of 2,147,483,647 elements"),
        (claim(14, -7), "claim of -7 elements"),
        (
            r.workspace({"v": struct.pack(">iiii", 14, -1, 2**20, 0)}),
            "claim of 4,503,599,627,370,496 elements",
        ),
        (
            r.workspace({"v": r.compact("compact_intseq", r.doubles([1e12, 1, 1]))}),
            "a range of at most",
        ),
        (r.workspace({"v": r.compact("mmap_real", r.NIL)}), "compact form 'mmap_real'"),
        (r.workspace({"v": struct.pack(">ii", 19, 1) * 5000 + r.NIL}), "nested at most 120 deep"),
        (r.workspace({"v": struct.pack(">i", 99 << 8 | 255)}), "a reference to one of"),
        (r.workspace({"v": struct.pack(">i", 77)}), "an R type at"),
        (r.workspace({"v": r.integers([1])}), "workspace with the variable iraceResults"),
        (b"RDX3\nA\n" + bytes(50), "XDR format"),
        (b"RDX3\nX\n" + struct.pack(">iii", 9, 0, 0), "version 2 or 3, got 9"),
        (
            r.irace_log(experiments=None),
            "'experiments' in the log of irace to be double, got nothing",
        ),
        (r.irace_log(experiments=r.strings(["a"])), "to be double, got character"),
        (r.irace_log(experiments=r.doubles([1.0, 2.0])), "to be a matrix"),
        (r.irace_log(experiments=r.doubles([], dim=r.integers([0, 0]))), "has none"),
        (r.irace_log(experiments=r.matrix([[float("nan")]], ["1"], ["1"])), "has none"),
        (r.irace_log(experiments=r.matrix([[1.0]], ["9"], ["1"])), "a pair for each of 1 rows"),
        (r.irace_log(experiments=r.matrix([[1.0]], ["x"], ["1"])), "to be numbered"),
        (r.irace_log(state=None), "pairs of instance and seed"),
        (r.irace_log(scenario={"instances": r.strings(["a"])}), "at least 3 instances"),
        (r.workspace({"iraceResults": r.NIL}), "the variable iraceResults"),
    ],
)
def test_bad_workspaces(tmp_path: Path, content: bytes, words: str) -> None:
    """A damaged or hostile workspace would end in somebody else's exception, or in much memory."""
    path = write(tmp_path / "bad.Rdata", content)
    with pytest.raises(InputError, match=words) as caught:
        import_runs(path, low=0, high=10)
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
    tracemalloc.start()
    try:
        with pytest.raises(InputError, match="at most 32 MB, and it unpacks to more"):
            import_runs(path, low=0, high=10)
        assert tracemalloc.get_traced_memory()[1] < 200 << 20
    finally:
        tracemalloc.stop()


def test_a_workspace_cannot_have_too_many_values(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Four bytes a value would become a hundred in memory, without end."""
    monkeypatch.setattr(rdata, "MOST_VALUES", 1000)
    path = write(tmp_path / "many.Rdata", r.workspace({"v": r.listing([r.NIL] * 2000)}))
    with pytest.raises(InputError, match="at most 1,000 values"):
        import_runs(path, low=0, high=10)


def table(name: str) -> list[dict[str, str]]:
    """What R itself found in a log."""
    with (DATA / f"{name}.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def taken(name: str) -> Import:
    """A log as it is imported, with the range of its costs where it has none of its own."""
    path = DATA / f"{name}.Rdata"
    return import_runs(path) if name.startswith("capped") else import_runs(path, low=-100, high=20)


def cells(matrix: CostMatrix) -> dict[tuple[str, str, int], float]:
    """The cost of each run, by configuration, instance and seed."""
    assert matrix.seeds is not None
    return {
        (matrix.configurations[i], matrix.instances[j], int(matrix.seeds[i, j, r])): float(
            matrix.costs[i, j, r]
        )
        for i, j, r in np.argwhere(~np.isnan(matrix.costs))
    }


def by_r(name: str) -> dict[tuple[str, str, int], float]:
    """The same by R; a deterministic scenario has no seeds."""
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
    found, expected = cells(taken(name).matrix), by_r(name)
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
    """The elites of an iteration, the runs made until then, or the incumbent would be others than
    the log's.
    """
    found = taken(name)
    elites: dict[int, list[str]] = {}
    for row in table(f"{name}-elites"):
        elites.setdefault(int(row["iteration"]), []).append(row["configuration"])
    history = [int(row["iteration"]) for row in table(f"{name}-log")]
    assert found.trajectory.tool.startswith("irace 3.5")
    assert found.trajectory.steps == tuple(
        Step(sum(each <= iteration for each in history), tuple(names))
        for iteration, names in sorted(elites.items())
    )
    assert found.trajectory.incumbent == elites[max(elites)][0]
    assert set(found.parameters) == set(found.origins) >= set(found.matrix.configurations)


def test_test_runs_are_where_r_has_them() -> None:
    """Runs on test instances would be lost, be mixed with those trained on, or appear where there
    are none.
    """
    found = import_runs(DATA / "tested.Rdata", low=0, high=20)
    assert found.test is not None
    assert cells(found.test) == by_r("tested-test")
    assert not set(found.test.instances) & set(found.matrix.instances)
    assert all(
        import_runs(DATA / f"{name}.Rdata", low=-100, high=50).test is None
        for name in LOGS
        if name != "tested"
    )


def test_capping_is_seen() -> None:
    """Runs that were stopped early would be taken for solved without a word; or bounds where there
    are none.
    """
    for name in LOGS:
        bounds = [float(row["bound"]) for row in table(f"{name}-log") if row["bound"] != "NA"]
        assert bool(bounds) == name.startswith("capped")
        if bounds:
            assert min(bounds) < 5 == max(bounds)
            assert import_runs(DATA / f"{name}.Rdata").matrix.high == 50


@pytest.mark.beside(SHARED / "irace")
@pytest.mark.parametrize(
    ("name", "version", "configurations", "pairs", "instances", "test", "incumbent"),
    [
        ("irace-acotsp", "4.4.0.d5a98af", 145, 17, 17, (17, 50), "119"),
        ("guide-example", "3.5.36369bb-dirty", 809, 21, 21, (33, 400), "809"),
    ],
)
def test_real_logs(
    name: str,
    version: str,
    configurations: int,
    pairs: int,
    instances: int,
    test: tuple[int, int],
    incumbent: str,
) -> None:
    """A real log would give other numbers of configurations, instances and runs, or other costs,
    than its own tables.
    """
    path = SHARED / "irace" / f"{name}.Rdata"
    found = import_runs(path, low=0, high=1e8)
    with path.open("rb") as file:
        log = rdata.read(file)["iraceResults"]
    experiments = log.get("experiments")
    state = log.get("state")
    assert experiments is not None
    assert state is not None
    rows, columns = experiments.attributes["dim"].values
    assert (rows, columns) == (pairs, configurations)
    table = experiments.values.reshape((rows, columns), order="F")
    assert found.matrix.shape[:2] == (configurations, instances)
    assert int(found.matrix.counts().sum()) == int((~np.isnan(table)).sum())
    # The log keeps every run a second time, one a row: instance (a pair), configuration, iteration.
    history = state.get("experiment_log")
    assert history is not None
    keys = [history.get(column).values.astype(int) for column in ("configuration", "instance")]
    assert keys[0].size == int(found.matrix.counts().sum())
    drawn = state.get("instances_log")
    names = log.get("scenario").get("instances").values
    assert drawn is not None
    assert found.matrix.seeds is not None
    for configuration, pair in list(zip(*keys, strict=True))[::7]:
        number = drawn.get("instanceID").values[pair - 1]
        cell = found.matrix.select(configurations=str(configuration), instances=names[number - 1])
        place = cell.seeds.tolist()[0][0].index(drawn.get("seed").values[pair - 1])  # type: ignore[union-attr]
        assert cell.costs[0, 0, place] == table[pair - 1, configuration - 1]
    assert found.test is not None
    assert found.test.shape == (*test, 1)
    assert found.trajectory.tool == f"irace {version}"
    assert found.trajectory.incumbent == incumbent
    assert found.trajectory.steps[-1].runs == keys[0].size
    assert set(found.parameters) == set(found.matrix.configurations) == set(found.origins)


def test_a_budget_of_time_is_compared_with_time() -> None:
    """Every search with `maxTime` would be said to have stopped before it used up its budget."""
    assert not any("irace stopped" in note for note in import_runs(DATA / "timed.Rdata").notes)


def test_the_first_configuration_irace_was_given_is_the_default() -> None:
    """`audit` would know of no default where `validate` runs one, or take a random configuration
    for it.
    """
    assert import_runs(DATA.parent / "runner" / "irace.Rdata").trajectory.default == "1"
    assert import_runs(DATA / "tested.Rdata").trajectory.default is None
    assert (
        import_runs(DATA.parent / "runner" / "irace.Rdata", default="2").trajectory.default == "2"
    )


def test_arguments_are_those_of_irace() -> None:
    """What a report offers to paste would have other switches than the target knows."""
    log = import_runs(Path(__file__).parent / "data" / "runner" / "irace.Rdata")
    assert log.switches == {
        "alpha": "--alpha=",
        "size": "--size ",
        "kind": "--kind ",
        "depth": "-d",
    }
    incumbent = log.trajectory.incumbent or ""
    values = log.parameters[incumbent]
    pasted = log.arguments(incumbent)
    expected = f"--alpha={values['alpha']} --size {values['size']:g} --kind {values['kind']}"
    assert pasted == f"{expected} -d{values['depth']:g}"
    assessment = assess(log)
    assert assessment.to_dict()["incumbent"]["arguments"] == pasted
    section = next(part for part in report(assessment).sections if part.name == "configuration")
    assert pasted in str(section)
    # A function of R takes values by their names.
    assert "--alpha=" in import_runs(DATA / "tested.Rdata").arguments("1")
