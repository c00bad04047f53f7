"""Tables of runs with their metadata: everything comes back, and damage is named."""

import gzip
import json
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from truecost.errors import InputError
from truecost.matrix import CostMatrix, Log, Plan, Step
from truecost.matrix.files import metadata_path, read_log, test_path, whole_file, write_log
from truecost.runs import Caveat, Status

# Everything but NUL and surrogates, which names must not have.
LETTERS = st.characters(exclude_categories=["Cs"], exclude_characters="\0")
test_path.__test__ = False  # type: ignore[attr-defined]


def full(seed: int = 0) -> Log:
    """A log in which every field is set."""
    rng = np.random.default_rng(seed)
    shape = (4, 5, 3)
    names = ["plain", "with, comma", 'with "quotes"', "line\nbreak", "  日本  "]
    costs = rng.random(shape) * 10
    statuses = rng.integers(0, len(Status), size=shape).astype(np.int8)
    seeds = rng.integers(0, 2**62, size=shape)
    gone = rng.random(shape) < 0.4
    # A configuration and an instance without runs, and the last run of all missing.
    gone[3], gone[:, 4], gone[:, :, 2] = True, True, True
    costs[gone], statuses[gone] = np.nan, -1
    runs = CostMatrix(
        costs[:, :, :2], names[:4], names, cutoff=2.0, par=5.0, statuses=statuses[:, :, :2],
        seeds=seeds[:, :, :2], families=["f", "g", "f", "g", "h"],
    )  # fmt: skip
    test = CostMatrix([[1.0, 2.0], [3.0, 0.1]], names[:2], ["t0", "t1"], cutoff=2.0, par=5.0)
    plan = Plan(order=tuple(names), planned=3, candidates=("plain",), runs=2, share=0.5)
    return Log(
        runs=runs, test=test, tool="my tool 1.0", default="plain", incumbent="with, comma",
        steps=(Step(3, "plain"), Step(None, "with, comma")),
        parameters={"plain": {"x": 1, "y": "a", "z": True, "w": None}}, adaptive=True, listed=7,
        plan=plan, test_plan=Plan(order=("t0", "t1"), planned=2, watched=False, margin="5%"),
        cost_unit="PAR5 s", maximised=True, caveats=(Caveat("odd", "Something is odd."),),
    )  # fmt: skip


@pytest.mark.parametrize("ending", ["csv", "csv.gz"])
def test_logs_come_back_whole(tmp_path: Path, ending: str) -> None:
    """Writing and reading would lose a cost, a status, a seed, a name or a field of the log."""
    log, path = full(), tmp_path / f"runs.{ending}"
    write_log(log, path)
    again = read_log(path)
    assert again.runs == log.runs
    assert again.test == log.test
    assert again.path == str(path)
    for name in (
        "tool", "default", "incumbent", "steps", "parameters", "adaptive", "listed", "plan",
        "test_plan", "cost_unit", "maximised", "caveats",
    ):  # fmt: skip
        assert getattr(again, name) == getattr(log, name), name
    assert len(list(tmp_path.iterdir())) == 3
    # Test runs may have another range.
    wide = CostMatrix([[1000.0]], ["plain"], ["t"], -5, 2000)
    write_log(log.replace(test=wide), path)
    assert read_log(path).test == wide


@settings(max_examples=40, deadline=None)
@given(
    hnp.arrays(
        np.float64,
        st.tuples(st.integers(1, 4), st.integers(1, 4), st.integers(1, 3)),
        elements=st.one_of(
            st.floats(-1e9, -1e-150), st.floats(1e-150, 1e9), st.just(0.0), st.just(np.nan)
        ),
    ).filter(lambda costs: not np.isnan(costs[:, :, -1]).all()),
    st.lists(st.text(LETTERS, min_size=1), min_size=8, max_size=8, unique=True),
)
def test_any_matrix_survives_its_table(
    tmp_path_factory: pytest.TempPathFactory, costs: np.ndarray, names: list[str]
) -> None:
    """Some pattern of missing runs, some number or some name would not survive the table."""
    path = tmp_path_factory.mktemp("any") / "runs.csv"
    matrix = CostMatrix(costs, names[: costs.shape[0]], names[-costs.shape[1] :], -1e9, 1e9)
    write_log(Log(runs=matrix), path)
    assert read_log(path).runs == matrix


def test_the_same_runs_give_the_same_file(tmp_path: Path) -> None:
    """A packed table would differ from one writing to the next by its time stamp."""
    for name in ("one.csv.gz", "two.csv.gz"):
        write_log(full(), tmp_path / name)
    assert (tmp_path / "one.csv.gz").read_bytes() == (tmp_path / "two.csv.gz").read_bytes()


def test_a_missing_metadata_file_is_announced(tmp_path: Path) -> None:
    """Without its metadata a table would get a range that nobody has said, or nobody be told."""
    path = tmp_path / "runs.csv"
    write_log(full(), path)
    metadata_path(path).unlink()
    log = read_log(path)
    assert (log.runs.low, log.runs.high) == (-np.inf, np.inf)
    assert log.default is None
    assert [caveat.code for caveat in log.caveats] == ["no-metadata"]


def test_missing_test_runs_are_named(tmp_path: Path) -> None:
    """A log whose test runs were not copied along would pass for one without any."""
    path = tmp_path / "runs.csv"
    write_log(full(), path)
    test_path(path).unlink()
    with pytest.raises(InputError, match=r"runs-test\.csv is missing"):
        read_log(path)


def test_a_table_by_hand(tmp_path: Path) -> None:
    """A table without run numbers would be laid out wrongly."""
    path = tmp_path / "runs.csv"
    path.write_text("configuration,instance,cost,status\nb,x,3.5,timeout\nb,x,1,\na,x,2,solved\n")
    runs = read_log(path).runs
    assert runs.configurations == ("b", "a")
    np.testing.assert_array_equal(runs.costs, [[[3.5, 1]], [[2, np.nan]]])
    assert runs.statuses is not None
    assert runs.statuses.ravel().tolist() == [Status.TIMEOUT, -1, Status.SOLVED, -1]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "no rows"),
        ("configuration,instance,cost\n", "no rows"),
        ("configuration,instance\na,x\n", "'cost'"),
        ("configuration,instance,cost,cost\na,x,1,2\n", "'cost' once"),
        ("configuration,instance,cost\na,x,1\nb,x\n", "Row 3 does not have 3 fields"),
        ("configuration,instance,cost\na,x,fast\n", "row 2 is 'fast'"),
        ("configuration,instance,cost\na,x,inf\n", "not finite"),
        ("configuration,instance,run,cost\na,x,one,1\n", "'run'"),
        ("configuration,instance,run,cost\na,x,-1,1\n", "negative"),
        ("configuration,instance,run,cost\na,x,0,1\na,x,0,2\n", "there twice"),
        ("configuration,instance,run,cost\na,x,99999999999,2\n", "counts the runs"),
        ("configuration,instance,cost,status\na,x,1,odd\n", "'odd'"),
        ("configuration,instance,cost,status\na,x,,crashed\na,y,1,solved\n", "no cost"),
        ('configuration,instance,cost\na,"x,1\n', "cannot be read"),
        (",instance,cost\n,x,1\n", "'configuration'"),
    ],
)
def test_bad_tables(tmp_path: Path, text: str, words: str) -> None:
    """A table that cannot be placed would be taken, or refused without naming file and row."""
    path = tmp_path / "bad.csv"
    path.write_text(text)
    with pytest.raises(InputError, match=words) as caught:
        read_log(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "change",
    [
        lambda data: data.update(truecost=99),
        lambda data: data.update(configurations=["other"]),
        lambda data: data.update(steps=[1]),
        lambda data: data.update(plan={"order": [], "planned": 0}),
        lambda data: data.update(plan={"surprise": 1}),
        lambda data: data.update(low=5, high=1),
        lambda data: data.clear(),
    ],
)
def test_bad_metadata(tmp_path: Path, change: Callable[[dict[str, object]], None]) -> None:
    """Metadata of another version, or of another table, would be believed."""
    path = tmp_path / "runs.csv"
    write_log(full(), path)
    beside = metadata_path(path)
    data = json.loads(beside.read_text())
    change(data)
    beside.write_text(json.dumps(data))
    with pytest.raises(InputError) as caught:
        read_log(path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("ending", ["csv", "csv.gz"])
def test_damaged_files_raise_our_error(tmp_path: Path, ending: str) -> None:
    """Some damaged byte would end in somebody else's exception."""
    path = tmp_path / f"runs.{ending}"
    write_log(full(), path)
    rng = np.random.default_rng(0)
    for place in (path, metadata_path(path)):
        whole = place.read_bytes()
        for _ in range(150):
            damaged = bytearray(whole)
            damaged[rng.integers(len(whole))] = rng.integers(256)
            place.write_bytes(
                damaged if rng.random() < 0.7 else damaged[: rng.integers(1, len(damaged))]
            )
            with suppress(InputError):
                read_log(path)
        place.write_bytes(whole)


def test_other_endings_are_refused(tmp_path: Path) -> None:
    """A matrix would be written as csv under the name of another format."""
    for name in ("runs.parquet", ".csv", "runs"):
        with pytest.raises(InputError, match="does not end in"):
            write_log(full(), tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_a_packed_file_is_known_by_its_content(tmp_path: Path) -> None:
    """A packed table without .gz in its name would be taken for text."""
    path = tmp_path / "runs.csv"
    write_log(full(), path)
    path.write_bytes(gzip.compress(path.read_bytes()))
    assert read_log(path).runs == full().runs


def test_writers_at_the_same_time(tmp_path: Path) -> None:
    """Two writers of one file would put a half-written one in place."""
    path = tmp_path / "runs.csv"
    contents = [str(number).encode() * 100_000 for number in range(4)]

    def write(number: int) -> None:
        with whole_file(path) as file:
            file.write(contents[number % 4])

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, range(40)))
    assert path.read_bytes() in contents
    assert [place.name for place in tmp_path.iterdir()] == [path.name]


def test_links_and_modes_stay(tmp_path: Path) -> None:
    """Writing would turn a link into a file, or open a private file to everybody."""
    real, link = tmp_path / "real.csv", tmp_path / "link.csv"
    real.write_text("old")
    real.chmod(0o600)
    link.symlink_to(real)
    with whole_file(link) as file:
        file.write(b"new")
    assert link.is_symlink()
    assert real.read_text() == "new"
    assert real.stat().st_mode & 0o777 == 0o600


def test_a_failed_write_keeps_the_old_file(tmp_path: Path) -> None:
    """A write that fails half way would destroy what was there, or leave a torso."""
    path = tmp_path / "runs.csv"
    path.write_text("old")

    def fail() -> None:
        with whole_file(path) as file:
            file.write(b"new")
            raise ValueError("half way")

    with pytest.raises(ValueError, match="half way"):
        fail()
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["runs.csv"]  # noqa: PTH208
    with pytest.raises(FileNotFoundError), whole_file(tmp_path / "nowhere" / "runs.csv"):
        pass
