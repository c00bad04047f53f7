"""R's serialisation written from its documentation, as small as the fixtures need: what the reader
is held against.
"""

import gzip
import struct
from collections.abc import Mapping, Sequence
from typing import Any

NA = -(2**31)
NIL = struct.pack(">i", 254)
ATTRIBUTES, TAG = 0x200, 0x400


def text(value: str | None) -> bytes:
    """A CHARSXP; None is NA."""
    if value is None:
        return struct.pack(">ii", 9, -1)
    raw = value.encode()
    return struct.pack(">ii", 9 | 1 << 15, len(raw)) + raw


def symbol(name: str) -> bytes:
    """A SYMSXP."""
    return struct.pack(">i", 1) + text(name)


def pairs(entries: Mapping[str, bytes]) -> bytes:
    """A pair list with tags."""
    body = b"".join(
        struct.pack(">i", 2 | TAG) + symbol(name) + value for name, value in entries.items()
    )
    return body + NIL


def vector(kind: int, body: bytes, size: int, attributes: Mapping[str, bytes]) -> bytes:
    """A vector of any type, its attributes after it."""
    flags = kind | (ATTRIBUTES if attributes else 0)
    return struct.pack(">ii", flags, size) + body + (pairs(attributes) if attributes else b"")


def integers(values: Sequence[int], **attributes: bytes) -> bytes:
    """An INTSXP."""
    return vector(13, struct.pack(f">{len(values)}i", *values), len(values), attributes)


def logicals(values: Sequence[int], **attributes: bytes) -> bytes:
    """A LGLSXP."""
    return vector(10, struct.pack(f">{len(values)}i", *values), len(values), attributes)


def doubles(values: Sequence[float], **attributes: bytes) -> bytes:
    """A REALSXP."""
    return vector(14, struct.pack(f">{len(values)}d", *values), len(values), attributes)


def strings(values: Sequence[str | None], **attributes: bytes) -> bytes:
    """A STRSXP."""
    return vector(16, b"".join(map(text, values)), len(values), attributes)


def listing(entries: Mapping[str, bytes] | Sequence[bytes], **attributes: bytes) -> bytes:
    """A list, with names if it is given as a mapping."""
    if isinstance(entries, Mapping):
        attributes = {"names": strings(list(entries)), **attributes}
        entries = list(entries.values())
    return vector(19, b"".join(entries), len(entries), attributes)


def environment(entries: Mapping[str, bytes]) -> bytes:
    """An environment around nothing, its variables in a hash table of one slot."""
    return struct.pack(">ii", 4, 0) + struct.pack(">i", 242) + NIL + listing([pairs(entries)]) + NIL


def compact(name: str, state: bytes) -> bytes:
    """What R keeps in a compact form (ALTREP)."""
    about = (
        struct.pack(">i", 2)
        + symbol(name)
        + struct.pack(">i", 2)
        + symbol("base")
        + struct.pack(">i", 2)
        + integers([13])
        + NIL
    )
    return struct.pack(">i", 238) + about + state + NIL


def matrix(values: Sequence[Sequence[float]], rows: Sequence[str], columns: Sequence[str]) -> bytes:
    """A matrix of numbers, given row by row."""
    flat = [row[place] for place in range(len(columns)) for row in values]
    return doubles(
        flat,
        dim=integers([len(rows), len(columns)]),
        dimnames=listing([strings(rows), strings(columns)]),
    )


def workspace(variables: Mapping[str, bytes], version: int = 3) -> bytes:
    """A file of `save()`, not packed."""
    start = f"RDX{version}\nX\n".encode() + struct.pack(">iii", version, 0x040301, 0x030500)
    if version == 3:
        start += struct.pack(">i", 5) + b"UTF-8"
    return start + pairs(variables)


def irace_log(**changes: Any) -> bytes:
    """A log as irace 3.4 left it: 3 configurations, 5 pairs on 3 instances, pair 4 never run, one
    run rejected.
    """
    nan, inf = float("nan"), float("inf")
    scenario = {
        "instances": strings(["a.tsp", "b.tsp", "c.tsp"]),
        "testInstances": strings(["t1.tsp", "t2.tsp"]),
        "capping": logicals([0]),
        "boundMax": doubles([20.0]),
        "boundPar": doubles([1.0]),
    } | changes.pop("scenario", {})
    log = {
        "scenario": listing(scenario),
        "irace.version": strings(["3.4.1"]),
        "experiments": matrix(
            [[1.0, 2.0, 3.0], [4.0, 5.0, nan], [6.0, nan, nan], [7.0, inf, nan]],
            ["1", "2", "3", "5"],
            ["1", "2", "7"],
        ),
        "state": listing(
            {
                ".irace": environment(
                    {
                        "instancesList": listing(
                            {
                                "instance": integers([2, 1, 2, 3, 3]),
                                "seed": integers([11, 12, 13, 14, 15]),
                            }
                        )
                    }
                )
            }
        ),
        "allElites": listing([integers([2, 1]), integers([1])]),
        "iterationElites": integers([2, 1]),
        "allConfigurations": listing(
            {
                ".ID.": integers([1, 2, 7]),
                "alpha": doubles([0.5, nan, 2.0]),
                "kind": integers([1, 2, 1], levels=strings(["x", "y"])),
                "flag": logicals([1, 0, NA]),
                ".PARENT.": integers([NA, NA, 2]),
            }
        ),
        "experimentLog": doubles(
            [1, 1, 1, 1, 1, 2, 2, 2, 2, *[0.0] * 9],
            dim=integers([9, 2]),
            dimnames=listing([NIL, strings(["iteration", "instance"])]),
        ),
        "testing": listing(
            {
                "experiments": matrix([[1.5, 2.5], [nan, 3.5]], ["1t", "2t"], ["2", "1"]),
                "seeds": integers([91, 92]),
            }
        ),
    } | changes
    return workspace(
        {"iraceResults": listing({name: value for name, value in log.items() if value is not None})}
    )


def packed(content: bytes) -> bytes:
    """As R packs it."""
    return gzip.compress(content)
