"""Tables of runs with their metadata: everything comes back, and damage is named."""

import gzip
import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import fields
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
HEAD = "configuration,instance,run,cost"
test_path.__test__ = False  # type: ignore[attr-defined]


def full() -> Log:
    """A log in which every field is set."""
    rng = np.random.default_rng(0)
    shape = (4, 5, 3)
    names = ["plain", "with, comma", 'with "quotes"', "line\nbreak", "  日本  "]
    costs = rng.random(shape) * 10
    statuses = rng.integers(0, len(Status), size=shape).astype(np.int8)
    gone = rng.random(shape) < 0.4
    # A configuration and an instance without runs.
    gone[3], gone[:, 4] = True, True
    costs[gone], statuses[gone] = np.nan, -1
    runs = CostMatrix(
        costs, names[:4], names, cutoff=2.0, par=5.0, statuses=statuses,
        seeds=rng.integers(0, 2**62, size=shape), families=["f", "g", "f", "g", "h"],
    )  # fmt: skip
    # Test runs may have another range.
    test = CostMatrix([[1000.0, 2.0], [3.0, 0.1]], names[:2], ["t0", "t1"], -5, np.inf)
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
    if ending == "csv":
        # A packed table is known by its content.
        path.write_bytes(gzip.compress(path.read_bytes()))
    again = read_log(path)
    assert again.path == str(path)
    for entry in fields(Log):
        if entry.name not in ("path", "reading", "scenario"):
            assert getattr(again, entry.name) == getattr(log, entry.name), entry.name
    assert len(list(tmp_path.iterdir())) == 3


def test_odd_values_of_parameters(tmp_path: Path) -> None:
    """A log whose parameters are no JSON could not be written."""
    odd = {"a": np.float64(0.5), "b": np.int64(3), "c": np.inf, "d": (1, 2), "e": "\ud800"}
    write_log(full().replace(parameters={"plain": odd}), tmp_path / "runs.csv")
    plain = {"a": 0.5, "b": 3, "c": "inf", "d": "(1, 2)", "e": "\ud800"}
    assert read_log(tmp_path / "runs.csv").parameters == {"plain": plain}


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


@pytest.mark.parametrize("beside", [metadata_path, test_path])
def test_a_missing_file_is_named(tmp_path: Path, beside: Callable[[Path], Path]) -> None:
    """A log whose range or test runs were not copied along would pass for one without any."""
    path = tmp_path / "runs.csv"
    write_log(full(), path)
    beside(path).unlink()
    with pytest.raises(FileNotFoundError) as caught:
        read_log(path)
    assert caught.value.filename == str(beside(path))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "no rows"),
        (HEAD + "\n", "no rows"),
        ("configuration,instance,run\na,x,0\n", "'cost'"),
        (HEAD + ",cost\na,x,0,1,2\n", "'cost' once"),
        (HEAD + "\na,x,0,1\na,x,1\n", "Row 3 does not have 4 fields"),
        (HEAD + "\na,x,0,1\na,x,1,fast\n", "Row 3 has the cost 'fast'"),
        (HEAD + "\na,x,0,inf\n", "not finite"),
        (HEAD + "\na,x,one,1\n", "run 'one'"),
        (HEAD + "\na,x,-1,1\n", "from 0"),
        (HEAD + "\na,x,0,1\na,x,0,2\n", "there twice"),
        (HEAD + "\na,x,99999999999999999999,2\n", "run '9999"),
        (HEAD + "\nb,x,0,1\n", "configuration 'b'"),
        (HEAD + ",status\na,x,0,1,odd\n", "'odd'"),
        (HEAD + ",status\na,x,0,,crashed\na,x,1,1,solved\n", "no cost"),
        (HEAD + '\na,"x,0,1\n', "cannot be read"),
        (f"{HEAD}\na,é,0,1\n".encode("latin1"), "UTF-8"),
        (gzip.compress(b"configuration", mtime=0)[:-4], "damaged"),
    ],
)
def test_bad_tables(tmp_path: Path, text: str | bytes, words: str) -> None:
    """A table that cannot be placed would be taken, or refused without naming file and row."""
    path = tmp_path / "bad.csv"
    write_log(Log(runs=CostMatrix([[1.0]], ["a"], ["x"])), path)
    path.write_bytes(text.encode() if isinstance(text, str) else text)
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
        lambda data: data.pop("test"),
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


def test_files_of_others_stay(tmp_path: Path) -> None:
    """Somebody's file would be deleted or overwritten because of its name."""
    path = tmp_path / "runs.csv"
    theirs = test_path(path)
    theirs.write_text("theirs")
    with pytest.raises(InputError, match=r"runs-test\.csv would be overwritten"):
        write_log(full(), path)
    assert list(tmp_path.iterdir()) == [theirs]
    write_log(full().replace(test=None), path)
    assert read_log(path).test is None
    assert theirs.read_text() == "theirs"


def test_other_endings_are_refused(tmp_path: Path) -> None:
    """A matrix would be written as csv under the name of another format."""
    for name in ("runs.parquet", ".csv", "runs"):
        with pytest.raises(InputError, match="does not end in"):
            write_log(full(), tmp_path / name)
    assert not list(tmp_path.iterdir())


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
    assert list(tmp_path.iterdir()) == [path]


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
    assert list(tmp_path.iterdir()) == [path]
    with pytest.raises(FileNotFoundError), whole_file(tmp_path / "nowhere" / "runs.csv"):
        pass
