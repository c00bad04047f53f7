import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from imports import load, refused, sentences, statuses, write

from truecost.runs import Status

FIELDS = np.dtype([("result", "U10"), ("runtime", "f8"), ("quality", "f16"), ("seed", "i8")])


def pm() -> Any:
    """An array as the paper's authors kept theirs: 2 configurations, 3 instances, 2 runs, one of
    them never made. They charge a timeout its penalty.
    """
    array = np.zeros((2, 3, 2), dtype=FIELDS)
    array["result"], array["runtime"], array["quality"] = "SAT", 1.5, 4
    array["seed"] = np.arange(12).reshape(2, 3, 2)
    array["result"][0, 1, 0], array["runtime"][0, 1, 0] = "TIMEOUT", 50
    array["result"][1, 2, 1], array["runtime"][1, 2, 1] = "", 0
    return array


def saved(folder: Path, array: Any = None) -> Path:
    """A PM.npy in a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    np.save(folder / "PM.npy", pm() if array is None else array)
    return folder / "PM.npy"


def test_runs_of_the_authors(tmp_path: Path) -> None:
    """Running time 0, which says in a PM.npy that a run was never made, would be the best of all
    costs.
    """
    path = saved(tmp_path)
    assert "--cutoff" in refused(path)
    found = load(path, cutoff=5.0, par=10.0)
    assert "Left out: 1 run" in sentences(found)
    expected = np.full((2, 3, 2), 1.5)
    expected[0, 1, 0], expected[1, 2, 1] = 50, np.nan
    np.testing.assert_array_equal(found.runs.costs, expected)
    assert statuses(found.runs)[0, 1, 0] == Status.TIMEOUT
    assert found.runs.seeds is not None
    assert found.runs.seeds[1, 0].tolist() == [6, 7]
    assert load(tmp_path, objective="quality", low=0.0, high=9.0).runs.costs[0, 0, 0] == 4


@pytest.mark.parametrize("theirs", [True, False])
def test_name_lists(tmp_path: Path, theirs: bool) -> None:
    """Instances would be numbers although their names lie beside, where the authors keep them; or
    belong to other runs.
    """
    lists = ("configs/LKH.txt", "instance_index/LKH.txt")
    if not theirs:
        lists = ("archive/LKH/configs.txt", "archive/LKH/instances.txt")
    path = saved(tmp_path / "archive" / "LKH")
    write(tmp_path / lists[0], "-alpha '1.5' -kind 'a'\n-alpha '2' -kind 'b'\n")
    write(tmp_path / lists[1], "./inst/1.tsp\n./inst/2.tsp\n./inst/3.tsp\n")
    log = load(path, cutoff=5.0)
    assert log.runs.instances == ("./inst/1.tsp", "./inst/2.tsp", "./inst/3.tsp")
    assert log.parameters["configuration-1"] == {"alpha": "2", "kind": "b"}
    write(tmp_path / lists[1], "./inst/1.tsp\n")
    assert "1 lines for 3" in refused(path, cutoff=5.0)


class Bomb:
    """What a pickle would run."""

    def __reduce__(self) -> Any:
        return os._exit, (13,)


def test_pickles_stay_shut(tmp_path: Path) -> None:
    """A PM.npy with objects would be unpickled, and its code run."""
    path = tmp_path / "PM.npy"
    np.save(path, np.array([Bomb()], dtype=object), allow_pickle=True)
    assert "objects" in refused(path, cutoff=5.0)


TEXT = [("result", "U3"), ("runtime", "f8"), ("quality", "f8"), ("seed", "i8")]


@pytest.mark.parametrize(
    "array",
    [
        np.zeros(3),
        np.zeros((2, 2, 2), dtype=FIELDS),
        np.zeros(4, dtype=FIELDS),
        np.zeros((2, 2), dtype=[("result", "f8"), *TEXT[1:]]),
        np.zeros((2, 2), dtype=[TEXT[0], ("runtime", "U3"), *TEXT[2:]]),
        np.zeros((2, 2), dtype=[TEXT[0], ("runtime", "f8", 3), *TEXT[2:]]),
        np.zeros((0, 2), dtype=TEXT),
    ],
)
def test_bad_arrays(tmp_path: Path, array: Any) -> None:
    """An array that is no PM.npy would be taken, or end in a traceback."""
    refused(saved(tmp_path, array), cutoff=5.0)


@pytest.mark.parametrize("runtime", [1.5, 0])
def test_text_in_arrays_is_text(tmp_path: Path, runtime: float) -> None:
    """Numbers that are no characters would become text that makes Python itself fail, or a damaged
    array be read as far as its runs were made.
    """
    array = pm()
    array["runtime"][0, 0, 0] = runtime
    path, text = saved(tmp_path, array), "SAT".encode("utf-32-le")
    path.write_bytes(path.read_bytes().replace(text, b"S\0\0\1" + text[4:], 1))
    assert "plain letters" in refused(path, cutoff=5.0)


def test_an_array_cannot_claim_more_than_its_file(tmp_path: Path) -> None:
    """A header that claims a billion rows would make room for them."""
    path = tmp_path / "PM.npy"
    header = {"descr": FIELDS.descr, "fortran_order": False, "shape": (10**9, 10, 10)}
    with path.open("wb") as file:
        np.lib.format.write_array_header_1_0(file, header)
    assert "file size" in refused(path, cutoff=5.0)
