import bz2
import gzip
import io
import subprocess
import sys
import zipfile
import zlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from truecost import assess, confidence
from truecost.errors import InputError
from truecost.matrix import CostMatrix
from truecost.runs import Status

ENDINGS = ["npz", "parquet", "csv"]
# Everything but NUL and surrogates, which names must not have.
LETTERS = st.characters(exclude_categories=["Cs"], exclude_characters="\0")
NAMES = [
    "plain",
    "with, comma",
    'with "quotes"',
    "line\nbreak",
    "  spaced  ",
    "日本",
    "007",
    "NA",
    "None",
    "1.0",
]


def full(missing: float = 0.0, seed: int = 0) -> CostMatrix:
    """A matrix with statuses and seeds, awkward names, and a share of missing runs."""
    rng = np.random.default_rng(seed)
    shape = (len(NAMES), 4, 3)
    costs = rng.random(shape) * 10
    statuses = rng.integers(-1, len(Status), size=shape).astype(np.int8)
    seeds = rng.integers(0, 2**62, size=shape)
    gone = rng.random(shape) < missing
    costs[gone], statuses[gone], seeds[gone] = np.nan, -1, -1
    return CostMatrix(costs, NAMES, NAMES[:4], 0, 10, statuses=statuses, seeds=seeds)


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("missing", [0.0, 0.3, 0.9])
def test_files_give_the_same_matrix_back(tmp_path: Path, ending: str, missing: float) -> None:
    """Writing and reading would lose a cost, a digit, a status, a seed, a name or the order of
    names.
    """
    matrix = full(missing)
    path = tmp_path / f"matrix.{ending}"
    matrix.save(path)
    assert CostMatrix.load(path) == matrix
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


@settings(max_examples=60, deadline=None)
@given(
    hnp.arrays(
        np.float64,
        st.tuples(st.integers(1, 4), st.integers(1, 4), st.integers(1, 3)),
        # What is smaller than 1e-150 is refused: its square is 0.
        elements=st.one_of(
            st.floats(-1e9, -1e-150), st.floats(1e-150, 1e9), st.just(0.0), st.just(np.nan)
        ),
    ).filter(lambda costs: not np.isnan(costs).all()),
    st.lists(st.text(LETTERS, min_size=1), min_size=8, max_size=8, unique=True),
)
def test_any_matrix_survives_its_table(costs: Any, names: list[str]) -> None:
    """Some pattern of missing runs, or some name, would not survive the long table."""
    matrix = CostMatrix(costs, names[: costs.shape[0]], names[-costs.shape[1] :], -1e9, 1e9)
    assert CostMatrix.from_table(matrix.to_table()) == matrix


@pytest.mark.parametrize("ending", ENDINGS)
def test_load_goes_by_content(tmp_path: Path, ending: str) -> None:
    """A file with a wrong ending would not be read although its content is clear."""
    full().save(tmp_path / f"matrix.{ending}")
    renamed = (tmp_path / f"matrix.{ending}").rename(tmp_path / "matrix.dat")
    assert CostMatrix.load(renamed) == full()


def test_replace_keeps_the_rest_and_checks_the_new() -> None:
    """A matrix with another range would lose its seeds or its cutoff, or costs outside of it would
    pass.
    """
    matrix = full(0.3).replace(cutoff=2.5)
    wider = matrix.replace(high=20)
    assert (wider.high, wider.cutoff) == (20, 2.5)
    assert wider != matrix
    assert wider.replace(high=10) == matrix
    with pytest.raises(InputError, match="above high"):
        matrix.replace(high=1)


def test_select_by_name() -> None:
    """Selecting by name would give other configurations or instances, or another order."""
    matrix = full(0.2)
    part = matrix.select(configurations=["NA", "plain"], instances="with, comma")
    assert part.configurations == ("NA", "plain")
    assert part.instances == ("with, comma",)
    np.testing.assert_array_equal(part.costs[:, 0], matrix.costs[[7, 0], 1])
    assert part.seeds is not None
    assert matrix.seeds is not None
    np.testing.assert_array_equal(part.seeds[:, 0], matrix.seeds[[7, 0], 1])
    assert matrix.select() == matrix


def test_counts_and_nested_lists() -> None:
    """Cells with different numbers of runs would be refused or misplaced although their place is
    clear.
    """
    matrix = CostMatrix([[[1, 2], [3]], [[4], []]], ["a", "b"], ["x", "y"], 0, 5)
    np.testing.assert_array_equal(matrix.counts(), [[2, 1], [1, 0]])
    np.testing.assert_array_equal(matrix.costs[1, 0], [4, np.nan])
    assert CostMatrix([[1, 2]], ["a"], ["x", "y"], 0, 5).shape == (1, 2, 1)


def test_costs_are_read_only() -> None:
    """Costs could be changed behind the back of the checks."""
    with pytest.raises(ValueError, match="read-only"):
        full().costs[0, 0, 0] = 99


def test_csv_by_hand(tmp_path: Path) -> None:
    """A table as people write it, with seeds only and runs in any order, would be laid out wrongly."""
    path = tmp_path / "runs.csv"
    path.write_text(
        "configuration,instance,seed,cost,status,remark\n"
        "b,x,9,3.5,solved,late\nb,x,4,1.5,Timeout,\na,x,4,2,,\na,y,4,1e1,crashed,\na,x,9,5,solved,\n"
    )
    matrix = CostMatrix.load(path, low=0, high=10)
    assert matrix.configurations == ("b", "a")
    assert matrix.instances == ("x", "y")
    np.testing.assert_array_equal(
        matrix.costs, [[[1.5, 3.5], [np.nan, np.nan]], [[2, 5], [10, np.nan]]]
    )
    assert matrix.seeds is not None
    np.testing.assert_array_equal(matrix.seeds[0, 0], [4, 9])
    assert matrix.statuses is not None
    assert matrix.statuses[0, 0, 0] == Status.TIMEOUT
    assert matrix.statuses[1, 0, 0] == -1


GOOD: dict[str, Any] = {
    "costs": [[[1.0], [2.0]]],
    "configurations": ["a"],
    "instances": ["x", "y"],
    "low": 0,
    "high": 5,
}


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (
            {"costs": [[[1.0], [7.0]]]},
            r"got 7, above high = 5, for configuration 'a' on instance 'y', run 0",
        ),
        (
            {"costs": [[[1.0], [-1.0]]]},
            r"got -1, below low = 0, for configuration 'a' on instance 'y', run 0",
        ),
        (
            {"costs": [[[1.0, 2.0], [1.0, np.inf]]]},
            r"got inf, not finite, for configuration 'a' on instance 'y', run 1",
        ),
        (
            {"costs": [[[-np.inf], [1.0]]]},
            r"got -inf, not finite, for configuration 'a' on instance 'x', run 0",
        ),
        ({"costs": [[[np.nan], [np.nan]]]}, "every cost is missing"),
        ({"costs": np.ones((0, 2, 1)), "configurations": []}, "at least one configuration"),
        ({"costs": np.ones((1, 0, 1)), "instances": []}, "at least one instance"),
        ({"costs": np.ones((1, 2, 0))}, "at least one run"),
        ({"costs": np.ones(2)}, "got 1 dimensions"),
        (
            {"costs": [[[1.0], [2.0]], [[1.0]]]},
            "Expected 2 instances for every configuration as for the first, got 1 for number 1",
        ),
        ({"costs": [[["fast"], [2.0]]]}, "got \\['fast'\\]"),
        ({"costs": "many"}, "got 'many'"),
        ({"costs": [[[1 + 2j], [2.0]]]}, r"got \[\(1\+2j\)\]"),
        ({"costs": [[["1.5"], [2.0]]]}, r"got \['1.5'\]"),
        ({"costs": [[[True], [False]]]}, "got"),
        (
            {"costs": [[[10**400], [1]]]},
            "Expected finite costs of configuration number 0 on instance number 0",
        ),
        ({"instances": ["x", "y\0"]}, "without NUL"),
        ({"instances": ["x", "\ud800"]}, "surrogates"),
        ({"low": -1.7e308, "high": 1.7e308}, "a cost range with low < high"),
        ({"statuses": [[[0, 1], [1]]]}, "lists of different lengths"),
        (
            {"configurations": ["a", "b"]},
            "one configuration name for each of 1 in the costs, got 2",
        ),
        ({"instances": ["x", "x"]}, "every instance name once, got 'x' twice"),
        ({"instances": ["x", ""]}, "at least one letter, got ''"),
        ({"instances": ["x", 3]}, "at least one letter, got 3"),
        ({"configurations": "a"}, "list of configuration names"),
        ({"low": 5}, "low < high, got low 5 and high 5"),
        ({"high": np.nan}, "a cost range with low < high"),
        (
            {"statuses": [[[0], [9]]]},
            "status from -1 to 6, got 9 for configuration 'a' on instance 'y'",
        ),
        ({"statuses": [[[0.5], [1.0]]]}, "statuses as whole numbers, got float64"),
        ({"statuses": [[[300], [1]]]}, "statuses from -128 to 127, got 1 to 300"),
        (
            {"statuses": [[[0, 1], [1, 1]]]},
            r"statuses of the shape of the costs, \(1, 2, 1\), got \(1, 2, 2\)",
        ),
        ({"seeds": [[["s"], ["t"]]]}, "seeds as whole numbers"),
        (
            {"costs": [[[1.0], [np.nan]]], "statuses": [[[0], [3]]]},
            "instance 'y', run 0, which has the status crashed: charge a failed run its penalty",
        ),
    ],
)
def test_bad_arrays(wrong: dict[str, Any], words: str) -> None:
    """A matrix that cannot be would be taken, or refused without naming the entry."""
    with pytest.raises(InputError, match=words):
        CostMatrix(**GOOD | wrong)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "empty file"),
        (
            "configuration,instance\na,x\n",
            "a column 'cost', got the columns configuration, instance",
        ),
        ("configuration,instance,cost\n", "at least one run"),
        (
            "configuration,instance,cost\na,x,1\na,x,2\n",
            "column 'run' or 'seed', since configuration 'a' has several runs",
        ),
        (
            "configuration,instance,run,cost\na,x,1,1\nb,x,1,1\na,x,1,2\n",
            "run 1 of configuration 'a' on instance 'x' in rows 1 and 3",
        ),
        (
            "configuration,instance,seed,cost\na,x,7,1\na,x,7,2\n",
            "seed 7 of configuration 'a' on instance 'x' in rows 1 and 2",
        ),
        (
            "configuration,instance,run,cost\na,x,1,fast\n",
            "numbers in the column 'cost', got 'fast' in row 1",
        ),
        (
            "configuration,instance,run,cost\na,x,one,1\n",
            "whole numbers in the column 'run', got 'one' in row 1",
        ),
        (
            "configuration,instance,run,cost\na,x,1.5,1\n",
            "whole numbers in the column 'run', got '1.5' in row 1",
        ),
        (
            "configuration,instance,run,cost\na,x,,1\n",
            "a number in the column 'run', row 1 has none",
        ),
        (
            "configuration,instance,run,cost\na,x,1,1\n,x,1,1\n",
            "a name in the column 'configuration', row 2 has none",
        ),
        (
            "configuration,instance,run,cost,status\na,x,1,1,odd\n",
            "a status out of solved, .* got 'odd' in row 1",
        ),
        (
            "configuration,instance,run,cost,status\na,x,1,,crashed\n",
            "a cost in row 1, which has the status crashed",
        ),
        ("configuration,instance,run,cost\na,x,1,inf\n", "got inf in row 1"),
        (
            "configuration,instance,run,cost\na,x,1,99\n",
            "got 99 in row 1, configuration 'a' on instance 'x'",
        ),
        ("configuration,instance,run,cost\na,x,1,1,1,1\n", "cannot be read"),
        ("\x00\x01\x02", "none of them"),
        (
            "configuration,instance,run,cost,status\na,x,1,1,solved\nb,x,1\n",
            "5 fields in every row, got 3 in row 2",
        ),
        (
            "configuration,instance,run,cost\na,x,1,1\nb,x,2",
            "4 fields in every row, got 3 in row 2",
        ),
        (
            "configuration,instance,run,cost,cost\na,x,1,1,2\n",
            "every column once, got 'cost' 2 times",
        ),
        ("x" * 17_000_000, "a header of at most 16,000,000 bytes"),
    ],
)
def test_bad_tables(tmp_path: Path, text: str, words: str) -> None:
    """A table that cannot be placed would be taken, or refused without naming file, row and column."""
    path = tmp_path / "bad.csv"
    path.write_text(text)
    with pytest.raises(InputError, match=words) as caught:
        CostMatrix.load(path, low=0, high=10)
    assert str(caught.value).startswith(f"{path}: ")
    assert "\n" not in str(caught.value)


def test_range_must_be_said(tmp_path: Path) -> None:
    """A cost range that nobody has said would be guessed from the costs seen, or get lost on the
    way to a file.
    """
    path = tmp_path / "runs.csv"
    path.write_text("configuration,instance,run,cost\na,x,1,1\n")
    found = CostMatrix.load(path)
    assert (found.low, found.high) == (-np.inf, np.inf)
    for ending in ("csv", "parquet", "npz"):
        found.save(tmp_path / f"again.{ending}")
        assert CostMatrix.load(tmp_path / f"again.{ending}") == found
        assert CostMatrix.load(tmp_path / f"again.{ending}", high=3).high == 3
    with pytest.raises(InputError, match="not finite"):
        CostMatrix([[np.inf]], ["a"], ["x"])
    path.write_text("configuration,instance,run,cost,low\na,x,1,1,0\nb,x,1,1,2\n")
    with pytest.raises(InputError, match="the same number in the column 'low', got 2"):
        CostMatrix.load(path)


def npz(**arrays: Any) -> bytes:
    """An npz file with these arrays."""
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


STORED: dict[str, Any] = {
    "costs": np.ones((1, 1, 1)),
    "configurations": np.array(["a"]),
    "instances": np.array(["x"]),
    "range": np.array([0.0, 2.0]),
}


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (npz(**STORED)[:200], "cannot be read"),
        (npz(costs=np.ones((1, 1, 1))), "configurations, instances is not there"),
        (npz(**STORED | {"costs": np.array([[[object()]]], dtype=object)}), "cannot be read"),
        (npz(**STORED | {"configurations": np.array([1])}), "flat list of text, got int64"),
        (npz(**STORED | {"range": np.array([0.0])}), "`low` and `high`"),
        (npz(**STORED, statuses=np.array([[[7]]])), "status numbers from -1 to 6"),
        (
            npz(**STORED, statuses=np.array([[[0]]]), status_names=np.array(["dreaming"])),
            "got 'dreaming'",
        ),
        (b"PAR1" + b"\1" * 50, "parquet table, and it cannot be read"),
    ],
)
def test_bad_files(tmp_path: Path, content: bytes, words: str) -> None:
    """A damaged file would end in somebody else's exception, or a pickle be opened."""
    path = tmp_path / "bad.npz"
    path.write_bytes(content)
    with pytest.raises(InputError, match=words) as caught:
        CostMatrix.load(path)
    assert "\n" not in str(caught.value)


def test_status_numbers_follow_the_names_in_the_file(tmp_path: Path) -> None:
    """A file with its own order of statuses would be read with ours."""
    path = tmp_path / "matrix.npz"
    path.write_bytes(
        npz(**STORED, statuses=np.array([[[1]]]), status_names=np.array(["timeout", "crashed"]))
    )
    statuses = CostMatrix.load(path).statuses
    assert statuses is not None
    assert statuses[0, 0, 0] == Status.CRASHED


def test_zip_bomb_is_not_unpacked(tmp_path: Path) -> None:
    """A small file that claims to unpack to more than the memory would be unpacked."""
    path = tmp_path / "bomb.npz"
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        header, {"descr": "<f8", "fortran_order": False, "shape": (1, 1, 2**42)}
    )
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("costs.npy", header.getvalue())
        for name in ("configurations", "instances"):
            with archive.open(f"{name}.npy", "w") as member:
                np.lib.format.write_array(member, np.array(["a"]))
    with pytest.raises(InputError, match=r"fits into memory, got 32768\.0 GiB"):
        CostMatrix.load(path)


@pytest.mark.parametrize("pack", [gzip.compress, zlib.compress, bz2.compress])
def test_packed_tables_are_not_unpacked(tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    """A compressed table would be unpacked silently, whatever its size."""
    path = tmp_path / "runs.csv"
    path.write_bytes(pack(b"configuration,instance,run,cost\n" + b"a,x,1,1\n" * 10))
    with pytest.raises(InputError, match="packed file: unpack it first"):
        CostMatrix.load(path, low=0, high=1)


def test_names_of_files_are_not_patterns(tmp_path: Path) -> None:
    """A file called runs[1].csv would be taken for a pattern and another file be read."""
    for ending in ENDINGS:
        full(seed=1).save(tmp_path / f"runs[1].{ending}")
        full(seed=2).save(tmp_path / f"runs1.{ending}")
        full(seed=3).save(tmp_path / f"r*.{ending}")
        assert CostMatrix.load(tmp_path / f"runs[1].{ending}") == full(seed=1)
        assert CostMatrix.load(tmp_path / f"r*.{ending}") == full(seed=3)


def test_tables_of_spreadsheets(tmp_path: Path) -> None:
    """Semicolons, tabs, a byte-order mark, Windows line ends, blank lines or rows of commas would
    not be coped with.
    """
    rows = ["configuration,instance,run,cost", "a,x,1,1", "a,x,2,3", "", ",,,", ""]
    for mark in ",;\t":
        path = tmp_path / "runs.csv"
        path.write_bytes(b"\xef\xbb\xbf" + "\r\n".join(rows).replace(",", mark).encode())
        np.testing.assert_array_equal(CostMatrix.load(path, low=0, high=5).costs, [[[1, 3]]])


def test_given_range_overrides_a_wrong_one(tmp_path: Path) -> None:
    """A range that the file says wrongly could not be put right."""
    path = tmp_path / "runs.csv"
    path.write_text("configuration,instance,run,cost,low,high\na,x,1,7,0,5\na,y,1,7,1,5\n")
    assert CostMatrix.load(path, low=0, high=10).high == 10
    path.write_bytes(npz(**{name: array for name, array in STORED.items() if name != "range"}))
    assert CostMatrix.load(path, low=0, high=10).high == 10


def test_masked_runs_are_missing() -> None:
    """The values under a mask would be taken for costs."""
    costs = np.ma.masked_array([[[1.0], [3.0]]], mask=[[[False], [True]]])
    seeds = np.ma.masked_array([[[1], [3]]], mask=[[[False], [True]]])
    matrix = CostMatrix(costs, ["a"], ["x", "y"], 0, 5, seeds=seeds)
    np.testing.assert_array_equal(matrix.costs, [[[1], [np.nan]]])
    assert matrix.seeds is not None
    assert matrix.seeds.ravel().tolist() == [1, -1]
    assert confidence.upper(costs[0], 0, 5).instances == 1
    assert assess(costs).matrix.counts().tolist() == [[1, 0]]


def test_seeds_of_missing_runs_survive_no_file(tmp_path: Path) -> None:
    """A seed where there is no run would survive in one kind of file and not in another."""
    matrix = CostMatrix(np.array([[[1.0, np.nan]]]), ["a"], ["x"], 0, 5, seeds=np.array([[[4, 7]]]))
    for ending in ENDINGS:
        matrix.save(tmp_path / f"matrix.{ending}")
        assert CostMatrix.load(tmp_path / f"matrix.{ending}") == matrix


def test_saves_at_the_same_time(tmp_path: Path) -> None:
    """Two writers of one file would put a half-written one in place."""
    path = tmp_path / "matrix.npz"
    matrices = [full(seed=seed) for seed in range(4)]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda number: matrices[number % 4].save(path), range(80)))
    assert CostMatrix.load(path) in matrices
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


def test_links_and_modes_stay(tmp_path: Path) -> None:
    """Saving would turn a link into a file, or open a private file to everybody."""
    real, link = tmp_path / "real.npz", tmp_path / "link.npz"
    full().save(real)
    real.chmod(0o600)
    link.symlink_to(real)
    full(seed=1).save(link)
    assert link.is_symlink()
    assert CostMatrix.load(real) == full(seed=1)
    assert real.stat().st_mode & 0o777 == 0o600


# Damaged parquet can abort the process inside polars, which no exception handler sees.
@pytest.mark.parametrize("ending", ["npz", "csv"])
def test_damaged_files_raise_our_error(tmp_path: Path, ending: str) -> None:
    """Some damaged byte would end in somebody else's exception."""
    path = tmp_path / f"matrix.{ending}"
    full(0.2).save(path)
    whole = bytearray(path.read_bytes())
    rng = np.random.default_rng(0)
    for _ in range(300):
        damaged = bytearray(whole)
        damaged[rng.integers(len(whole))] = rng.integers(256)
        path.write_bytes(
            damaged if rng.random() < 0.7 else damaged[: rng.integers(1, len(damaged))]
        )
        with suppress(InputError):
            CostMatrix.load(path)


def test_global_run_numbers_are_refused() -> None:
    """A table that numbers all its runs through would be laid out as a nearly empty giant."""
    rows = 20_000
    table = pl.DataFrame(
        {
            "configuration": [f"c{i % 100}" for i in range(rows)],
            "instance": [f"i{i // 100}" for i in range(rows)],
            "run": range(rows),
            "cost": 1.0,
        }
    )
    with pytest.raises(InputError, match="counts the runs of one configuration on one instance"):
        CostMatrix.from_table(table, low=0, high=2)


def test_unknown_names_and_endings(tmp_path: Path) -> None:
    """A misspelt name or ending would not be answered by what to do."""
    with pytest.raises(InputError, match="got 'plian': did you mean 'plain'"):
        full().select(configurations="plian")
    with pytest.raises(InputError, match="at least one instance to select"):
        full().select(instances=[])
    with pytest.raises(InputError, match=r"ends in \.npz, \.parquet or \.csv"):
        full().save(tmp_path / "matrix.xlsx")
    with pytest.raises(FileNotFoundError):
        full().save(tmp_path / "nowhere" / "matrix.npz")


def test_failed_save_keeps_the_old_file(tmp_path: Path) -> None:
    """A write that fails half way would destroy what was there."""
    path = tmp_path / "matrix.npz"
    full().save(path)
    before = path.read_bytes()
    script = (
        "import resource, signal, sys, numpy as np\n"
        "from truecost.matrix import CostMatrix\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))\n"
        "big = CostMatrix(np.random.default_rng(0).random((50, 50, 5)), [str(i) for i in range(50)], "
        "[str(i) for i in range(50)], 0, 1)\n"
        "try:\n    big.save(sys.argv[1])\nexcept OSError:\n    sys.exit(7)\n"
    )
    ended = subprocess.run([sys.executable, "-c", script, str(path)], check=False)
    assert ended.returncode == 7
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


def test_large_matrix_stays_within_three_times_its_size(tmp_path: Path) -> None:
    """Loading 500 x 20000 costs and computing with them would take more than three times their 80
    MB.
    """
    path = tmp_path / "large.npz"
    rng = np.random.default_rng(0)
    shape = (500, 20_000, 1)
    np.savez(
        path,
        costs=rng.random(shape),
        configurations=np.array([f"c{i}" for i in range(shape[0])]),
        instances=np.array([f"i{i}" for i in range(shape[1])]),
        range=np.array([0.0, 1.0]),
    )
    script = (
        "import re, sys, truecost\n"
        "matrix = truecost.CostMatrix.load(sys.argv[1])\n"
        "truecost.variance_components(matrix)\n"
        "truecost.training_cost(matrix, weights='best')\n"
        "print(1024 * int(re.search(r'VmHWM:\\s+(\\d+) kB', open('/proc/self/status').read())[1]))\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", script, str(path)], check=True, capture_output=True, text=True
    )
    assert int(ended.stdout) < 3 * 8 * np.prod(shape)


def test_costs_of_single_precision_at_the_end_of_the_range() -> None:
    """Costs that a file in single precision rounded past `high` would be refused, or larger ones be
    cut down to it.
    """
    costs = np.full((1, 2, 1), 0.1, np.float32)
    assert CostMatrix(costs, ["a"], ["x", "y"], 0, 0.1).costs.max() == 0.1
    with pytest.raises(InputError, match="above high"):
        CostMatrix([[[0.1 * (1 + 1e-6)]]], ["a"], ["x"], 0, 0.1)
    with pytest.raises(InputError, match="below low"):
        CostMatrix(np.array([[[np.float32(0.1)], [-3]]], float), ["a"], ["x", "y"], 0, 0.1)
