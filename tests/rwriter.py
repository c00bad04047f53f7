"""R's serialisation written from its documentation, as small as the tests need: what the reader is
held against.
"""

import struct
from collections.abc import Mapping, Sequence
from typing import Any

NA = -(2**31)
NIL = struct.pack(">i", 254)
ATTRIBUTES, TAG = 0x200, 0x400
NAN, INF = float("nan"), float("inf")


def text(value: str | None) -> bytes:
    """A CHARSXP; None is NA."""
    raw = b"" if value is None else value.encode()
    return struct.pack(">ii", 9 | 1 << 15, -1 if value is None else len(raw)) + raw


def symbol(name: str) -> bytes:
    """A SYMSXP."""
    return struct.pack(">i", 1) + text(name)


def pairs(entries: Mapping[str, Any]) -> bytes:
    """A pair list with tags."""
    tag = struct.pack(">i", 2 | TAG)
    return b"".join(tag + symbol(name) + value(entry) for name, entry in entries.items()) + NIL


def vector(kind: int, body: bytes, size: int, attributes: Mapping[str, Any]) -> bytes:
    """A vector of any type, its attributes after it."""
    flags = kind | (ATTRIBUTES if attributes else 0)
    return struct.pack(">ii", flags, size) + body + (pairs(attributes) if attributes else b"")


def value(python: Any, **attributes: Any) -> bytes:
    """A value of Python as one of R: texts and numbers as vectors, what is mixed or a mapping as a
    list, None as NULL; bytes are serialised already.
    """
    if python is None or isinstance(python, bytes):
        return python or NIL
    if isinstance(python, Mapping):
        return value([value(entry) for entry in python.values()], names=list(python), **attributes)
    entries = list(python) if isinstance(python, Sequence) and type(python) is not str else [python]
    kinds, size = set(map(type, entries)), len(entries)
    if kinds <= {str, type(None)} and str in kinds:
        return vector(16, b"".join(map(text, entries)), size, attributes)
    for kind, python_type, code in ((10, bool, "i"), (13, int, "i"), (14, float, "d")):
        if kinds == {python_type}:
            return vector(kind, struct.pack(f">{size}{code}", *entries), size, attributes)
    return vector(19, b"".join(map(value, entries)), size, attributes)


def environment(entries: Mapping[str, Any]) -> bytes:
    """An environment around nothing, its variables in a hash table of one slot."""
    return struct.pack(">iii", 4, 0, 242) + NIL + value([pairs(entries)]) + NIL


def compact(name: str, state: Any) -> bytes:
    """What R keeps in a compact form (ALTREP)."""
    about = (symbol(name), symbol("base"), value([13]))
    head = b"".join(struct.pack(">i", 2) + part for part in about) + NIL
    return struct.pack(">i", 238) + head + value(state) + NIL


def matrix(values: Sequence[Sequence[float]], rows: Sequence[str], columns: Sequence[str]) -> bytes:
    """A matrix of numbers, given row by row."""
    flat = [float(row[place]) for place in range(len(columns)) for row in values]
    return value(flat, dim=[len(rows), len(columns)], dimnames=[rows, columns])


def workspace(variables: Mapping[str, Any], version: int = 3) -> bytes:
    """A file of `save()`, not packed."""
    start = f"RDX{version}\nX\n".encode() + struct.pack(">iii", version, 0x040301, 0x030500)
    if version == 3:
        start += struct.pack(">i", 5) + b"UTF-8"
    return start + pairs(variables)


def irace_log(scenario: Mapping[str, Any] | None = None, **changes: Any) -> bytes:
    """A log as irace 3.4 left it: 3 configurations, 5 pairs on 3 instances, pair 4 never run, one
    run rejected.
    """
    rows = [[1.0, 2.0, 3.0], [4.0, 5.0, NAN], [6.0, NAN, NAN], [7.0, INF, NAN]]
    instances = {"instance": [2, 1, 2, 3, 3], "seed": [11, 12, 13, 14, 15]}
    log: dict[str, Any] = {
        "scenario": {
            "instances": ["a.tsp", "b.tsp", "c.tsp"],
            "testInstances": ["t1.tsp", "t2.tsp"],
            "capping": False,
            "boundMax": 20.0,
            "boundPar": 1.0,
            **(scenario or {}),
        },
        "irace.version": "3.4.1",
        "experiments": matrix(rows, ["1", "2", "3", "5"], ["1", "2", "7"]),
        "state": {".irace": environment({"instancesList": instances})},
        "allElites": [[2, 1], [1]],
        "iterationElites": [2, 1],
        "allConfigurations": {
            ".ID.": [1, 2, 7],
            "alpha": [0.5, NAN, 2.0],
            "kind": value([1, 2, 1], levels=["x", "y"]),
            "flag": vector(10, struct.pack(">3i", 1, 0, NA), 3, {}),
            ".PARENT.": [NA, NA, 2],
        },
        "experimentLog": value(
            [1.0] * 5 + [2.0] * 4 + [0.0] * 9,
            dim=[9, 2],
            dimnames=[None, ["iteration", "instance"]],
        ),
        "testing": {
            "experiments": matrix([[1.5, 2.5], [NAN, 3.5]], ["1t", "2t"], ["2", "1"]),
            "seeds": [91, 92],
        },
    }
    kept = {name: entry for name, entry in (log | changes).items() if entry is not None}
    return workspace({"iraceResults": kept})
