"""Files spoilt at random: read correctly, or refused in one line."""

import gzip
import json
import random
import re
from collections.abc import Callable
from pathlib import Path

import pytest
import rwriter
import test_import_array as array
import test_import_aslib as aslib
import test_import_smac as smac
from imports import DATA, load, write

from truecost.errors import InputError

STRANGE = [
    b"nan", b"inf", b"-1", b"1e999", b"null", b"[]", b"{}", b'""', b"9" * 30, b"\0", b"\xff", b",",
    b"\n", b'"', b"true", b"<a>", b"&x;", b"1_0", b"-inf",
]  # fmt: skip
LONG = "solver,instance,seed,time,status\n" + "".join(
    f"s{n % 4},i{n // 8},{n // 4 % 2},{n * 0.37},{'timeout' if n % 7 == 0 else 'ok'}\n"
    for n in range(64)
)
WIDE = "instance,family,a,b\n" + "".join(f"i{n},f{n % 3},{n}.5,{2 * n}.25\n" for n in range(9))
FILES: dict[str, tuple[str, Callable[[Path], bytes]]] = {
    "irace": ("log.Rdata", lambda _: rwriter.irace_log()),
    "irace packed": ("log.Rdata", lambda _: gzip.compress(rwriter.irace_log())),
    "smac": ("runhistory.json", lambda _: json.dumps(smac.HISTORY).encode()),
    "smac scenario": (
        "scenario.json",
        lambda _: b'{"objectives": ["a"], "runtime_cutoff": 5, "_meta": {"version": "2"}}',
    ),
    "smac intensifier": (
        "intensifier.json",
        lambda _: b'{"incumbent_ids": [1], "trajectory": [{"config_ids": [1], "trial": 3}]}',
    ),
    "aslib": ("algorithm_runs.arff", lambda _: aslib.ARFF.encode()),
    "aslib description": ("description.txt", lambda _: aslib.DESCRIPTION.encode()),
    "benchexec": ("r.xml.bz2", lambda _: (DATA / "benchexec" / "slow.xml.bz2").read_bytes()),
    "npy": ("PM.npy", lambda folder: array.saved(folder).read_bytes()),
    "table": ("runs.csv", lambda _: LONG.encode()),
    "wide": ("wide.csv", lambda _: WIDE.encode()),
}


def spoilt(rng: random.Random, content: bytes) -> bytes:
    """The content with one thing wrong: cut off, bytes changed, lost, repeated, or a word that does
    not belong there.
    """
    spoiling = bytearray(content)
    start = rng.randrange(len(content))
    end = start + rng.randrange(1, 60)
    kind = rng.randrange(5)
    if kind == 0:
        return content[:start]
    if kind == 1:
        spoiling[start] ^= rng.randrange(1, 256)
    elif kind == 2:
        del spoiling[start:end]
    elif kind == 3:
        spoiling[start:start] = spoiling[start:end]
    else:
        words = [word.span() for word in re.finditer(rb"-?\d+\.?\d*|\w+", content)]
        spoiling[slice(*rng.choice(words or [(start, start)]))] = rng.choice(STRANGE)
    return bytes(spoiling)


@pytest.mark.parametrize("kind", FILES)
@pytest.mark.parametrize("seed", range(4))
def test_spoilt_files(tmp_path: Path, kind: str, seed: int) -> None:
    """A file that is damaged would end in another exception than ours, or in a message of several
    lines.
    """
    rng = random.Random(f"{kind} {seed}")  # noqa: S311
    name, make = FILES[kind]
    whole = make(tmp_path)
    folder = kind.startswith(("smac", "aslib"))
    for other in ("smac", "aslib", "aslib description"):
        if folder and other.startswith(kind.split()[0]):
            write(tmp_path / FILES[other][0], FILES[other][1](tmp_path))
    path = write(tmp_path / name, whole)
    assert load(tmp_path if folder else path, cutoff=5.0, par=2.0).runs.counts().sum() > 0
    for _ in range(12):
        path.unlink()
        write(path, spoilt(rng, whole))
        for options in ({}, {"cutoff": 5.0, "par": 2.0}):
            try:
                log = load(tmp_path if folder else path, **options)
            except InputError as error:
                assert "\n" not in str(error)  # noqa: PT017 - either is right
            else:
                assert log.runs.counts().sum() > 0


@pytest.mark.parametrize(
    "start",
    [b"", b"RDX3\nX\n\0\0\0\2" + bytes(8), b"\x93NUMPY\1\0", b"PK\3\4", b"BZh9", b"\x1f\x8b\x08",
     b"\xfd7zXZ\0", b"{", b"SQLite format 3\0", b"PAR1", b"<result benchmarkname="],
)  # fmt: skip
def test_anything_at_all(tmp_path: Path, start: bytes) -> None:
    """A file of random bytes would end in another exception than ours."""
    rng = random.Random(start)  # noqa: S311
    for _ in range(20):
        path = write(tmp_path / "anything", start + rng.randbytes(rng.randrange(300)))
        with pytest.raises(InputError):
            load(path)
