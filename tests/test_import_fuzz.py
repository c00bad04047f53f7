import io
import json
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import rwriter
import test_import_smac as smac
import test_importers as others
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from truecost.errors import InputError
from truecost.importers.detect import import_runs
from truecost.matrix.imported import Import

DATA = Path(__file__).parent / "data"
# How a file is spoilt: where it ends, and which bytes are changed to what.
CUT = st.one_of(st.none(), st.floats(0, 1))
FLIPS = st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 255)), max_size=4)


def npy() -> bytes:
    """A PM.npy."""
    file = io.BytesIO()
    np.save(file, others.pm())
    return file.getvalue()


CALLS = (
    "wrapper.py inst/1.cnf 0 5.0 2147483647 12 -restarts 10 -heuristic vsids\nResult for ParamILS: TIMEOUT, 5.1, 0, 0, 12\n"
    "wrapper.py --instance inst/1.cnf --cutoff 5 --seed 11 --config -restarts 20\n"
    'Result of this algorithm run: {"status": "SUCCESS", "cost": 3.0, "runtime": 2.25}\n'
)
FILES: dict[str, tuple[str, Callable[[], bytes]]] = {
    "irace": ("log.Rdata", rwriter.irace_log),
    "irace packed": ("log.Rdata", lambda: rwriter.packed(rwriter.irace_log())),
    "smac": ("runhistory.json", lambda: json.dumps(smac.HISTORY).encode()),
    "smac scenario": (
        "scenario.json",
        lambda: b'{"objectives": ["a"], "runtime_cutoff": 5, "_meta": {"version": "2"}}',
    ),
    "smac intensifier": (
        "intensifier.json",
        lambda: (
            b'{"incumbent_ids": [1], "trajectory": [{"config_ids": [1], "costs": [2.0], "trial": 3, "walltime": 1}]}'
        ),
    ),
    "aslib": ("algorithm_runs.arff", others.ARFF.encode),
    "aslib description": ("description.txt", others.DESCRIPTION.encode),
    "acl": ("calls.log", CALLS.encode),
    "pm": ("PM.npy", npy),
    "table": ("runs.csv", others.CAVE_ROWS.encode),
    "cave": ("runhistory.csv", others.CAVE_ROWS.encode),
    "smac1": ("runhistory.json", (DATA / "smac1/runtime/runhistory.json").read_bytes),
    "smac1 trajectory": ("traj.json", (DATA / "smac1/runtime/traj.json").read_bytes),
    "wandb": ("wandb.csv", (DATA / "trackers/wandb.csv").read_bytes),
    "journal": ("search.db", (DATA / "journals/search.db").read_bytes),
}


@cache
def whole(kind: str) -> bytes:
    """What is in such a file."""
    return FILES[kind][1]()


def write(path: Path, content: bytes) -> None:
    """Write a file anew: to write over one waits for the disk."""
    path.unlink(missing_ok=True)
    path.write_bytes(content)


def spoil(content: bytes, cut: float | None, flips: list[tuple[float, int]]) -> bytes:
    """The content, cut off at a share of it and with some bytes changed."""
    spoilt = bytearray(content if cut is None else content[: int(cut * len(content))])
    for place, byte in flips:
        if spoilt:
            spoilt[int(place * len(spoilt))] ^= byte
    return bytes(spoilt)


def attempt(path: Path, **options: float) -> Import | None:
    """The import, None if it is refused; a refusal is one line."""
    try:
        return import_runs(path, **options)  # type: ignore[arg-type]
    except InputError as error:
        message = str(error)
    assert "\n" not in message
    return None


@pytest.mark.parametrize("kind", FILES)
@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cut=CUT, flips=FLIPS)
def test_spoilt_files(
    tmp_path: Path, kind: str, cut: float | None, flips: list[tuple[float, int]]
) -> None:
    """A file cut off or with changed bytes would end in another exception than ours, or in a
    message of several lines.
    """
    name = FILES[kind][0]
    write(tmp_path / name, spoil(whole(kind), cut, flips))
    for others_too in ("smac", "smac1", "aslib"):
        if kind.startswith(f"{others_too} "):
            write(tmp_path / FILES[others_too][0], whole(others_too))
    folder = kind.startswith(("smac", "aslib", "cave"))
    for options in ({"low": 0, "high": 200}, {"cutoff": 5, "par": 2}):
        found = attempt(tmp_path if folder else tmp_path / name, **options)
        assert found is None or found.matrix.counts().sum() > 0


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=400))
def test_anything_at_all(tmp_path: Path, content: bytes) -> None:
    """A file of random bytes would end in another exception than ours."""
    path = tmp_path / "anything"
    for start in (
        b"",
        b"RDX3\nX\n\0\0\0\2" + bytes(8),
        b"\x93NUMPY\1\0",
        b"PK\3\4",
        b"BZh9",
        b"\x1f\x8b\x08",
        b"\xfd7zXZ\0",
        b"{",
    ):
        write(path, start + content)
        attempt(path, low=0, high=10)


JSON = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(-(10**20), 10**20), st.floats(), st.text(max_size=4)
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(st.text(max_size=4), inner, max_size=4)
    ),
    max_leaves=8,
)


@settings(max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from([*smac.ROWS[0]]), JSON, st.sampled_from([*smac.HISTORY, "nowhere"]), JSON)
def test_any_value_in_a_history(
    tmp_path: Path, field: str, value: object, part: str, other: object
) -> None:
    """Some value of the wrong type in a run history would end in another exception than ours."""
    for history in (
        smac.HISTORY | {"data": [smac.ROWS[0] | {field: value}, *smac.ROWS[1:]]},
        smac.HISTORY | {part: other},
        smac.HISTORY | {"configs": {"1": other, "2": {"x": value}}, "config_origins": {"1": value}},
    ):
        path = smac.folder_of(
            tmp_path / "s",
            json.dumps(history),
            intensifier={"trajectory": other, "incumbent_ids": value},
        )
        attempt(path, low=0, high=10)
