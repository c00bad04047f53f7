"""R's saved workspaces, read without R: the XDR serialisation, versions 2 and 3.

Values are read as data: functions, byte code and pointers are passed over, nothing is evaluated. A
vector can have at most as many elements as there are bytes left, so a small file cannot ask for
much memory.

A vector becomes a list of texts or numbers, None for NA; a factor its texts; a list, an environment
or a data frame a dictionary, or a list where nothing is named; NULL None.
"""

import struct
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from truecost.arrays import FloatArray
from truecost.errors import InputError

# How many values a workspace may have and how deep they may nest. Logs of irace stay far below: one
# of 1,000 runs has 95,000 values, 44 deep.
MOST_VALUES = 4_000_000
DEEPEST = 120
MAGIC = (b"RDX2\n", b"RDX3\n")
# What is no data.
OPAQUE = object()

# The type numbers of R's serialize.c, those that logs of irace have: data, and functions with what
# they need, which are passed over.
_SYMBOL, _PAIRS, _CLOSURE, _ENVIRONMENT, _PROMISE, _CALL, _SPECIAL, _BUILTIN, _CHARS = range(1, 10)
_LOGICAL, _INTEGER, _DOUBLE, _COMPLEX, _STRINGS, _DOTS, _LIST, _EXPRESSION = (
    10, 13, 14, 15, 16, 17, 19, 20,
)  # fmt: skip
_BYTECODE, _POINTER, _WEAK, _RAW, _S4 = range(21, 26)
_ALTREP, _ATTRIBUTED_PAIRS, _ATTRIBUTED_CALL = 238, 239, 240
_CODE_REFERENCE, _CODE_DEFINITION, _PACKAGE, _NAMESPACE, _REFERENCE = 243, 244, 248, 249, 255
# Environments that are always there, missing arguments, unbound variables, NULL.
_NOTHING = frozenset({241, 242, *range(250, 255)})
_PAIRS_LIKE = frozenset({_PAIRS, _CLOSURE, _PROMISE, _CALL, _DOTS})
_CODE_PAIRS = frozenset({_PAIRS, _CALL, _CODE_DEFINITION, _ATTRIBUTED_PAIRS, _ATTRIBUTED_CALL})
_NUMBERS: Mapping[int, tuple[str, type]] = {
    _LOGICAL: (">i4", bool),
    _INTEGER: (">i4", int),
    _DOUBLE: (">f8", float),
}
_NA_INTEGER = -(2**31)


class Symbol(str):
    """A name in R's code."""

    __slots__ = ()


class Matrix(NamedTuple):
    """The names of the rows and columns of a matrix, and its values, column after column."""

    rows: Any
    columns: Any
    values: list[Any]


def read(content: bytes) -> Any:
    """The variables of an unpacked workspace that `save()` wrote, as a dictionary."""
    if content[:5] not in MAGIC:
        raise InputError(
            f"It starts with {bytes(content[:5])!r}, not RDX2 or RDX3. Save the workspace with R's "
            "save()."
        )
    reader = _Reader(content)
    if (mark := reader.take(2)) != b"X\n":
        raise InputError(
            f"It has R's format {mark!r}, not XDR. Save the workspace with ascii = FALSE."
        )
    version, _, _ = (reader.integer() for _ in range(3))
    if version == 3:
        reader.take(reader.integer())  # its encoding; each text carries its own
    elif version != 2:
        raise InputError(
            f"It has R's serialisation {version}. Save the workspace with version = 3."
        )
    return reader.item()


class _Reader:
    """One pass over the bytes; methods are named after what they read."""

    def __init__(self, content: bytes) -> None:
        self.content = content
        self.at = 5
        self.references: list[Any] = []
        self.left = MOST_VALUES
        self.depth = 0

    def damaged(self) -> InputError:
        return InputError(f"It is cut off or damaged at byte {self.at:,}. Copy it again.")

    def take(self, size: int) -> bytes:
        if not 0 <= size <= len(self.content) - self.at:
            raise self.damaged()
        self.at += size
        return self.content[self.at - size : self.at]

    def integer(self) -> int:
        number: int = struct.unpack(">i", self.take(4))[0]
        return number

    def length(self, least: int) -> int:
        """A number of elements, each of which takes at least `least` bytes."""
        size = self.integer()
        if size == -1:  # a long vector
            size = self.integer() << 32 | self.integer() & 0xFFFFFFFF
        if not 0 <= size * least <= len(self.content) - self.at:
            raise self.damaged()
        return size

    def descend(self) -> None:
        # Counted here, not left to Python, whose limit would end in a traceback.
        self.depth += 1
        if self.depth > DEEPEST:
            raise InputError(f"Its values are nested more than {DEEPEST} deep, too deep for a log.")

    def item(self) -> Any:
        self.left -= 1
        if self.left < 0:
            raise InputError(f"It has more than {MOST_VALUES:,} values, too many for a log.")
        self.descend()
        value = self.typed(self.integer())
        self.depth -= 1
        return value

    def typed(self, flags: int) -> Any:
        kind = flags & 0xFF
        if kind in _NOTHING:
            return None
        if kind == _REFERENCE:
            place = (flags >> 8) or self.integer()
            if not 1 <= place <= len(self.references):
                raise self.damaged()
            return self.references[place - 1]
        if kind in _PAIRS_LIKE:
            return self.pairs(flags)
        if kind == _ENVIRONMENT:
            return self.environment()
        if kind == _SYMBOL:
            return self.remember(Symbol(self.text(self.integer()) or ""))
        if kind in (_NAMESPACE, _PACKAGE):
            self.integer()
            for _ in range(self.length(8)):
                self.item()
            return self.remember(OPAQUE)
        if kind == _ALTREP:
            return self.compact()
        value = self.elements(kind)
        attributes = self.item() if flags & 0x200 else None
        return _with_attributes(value, attributes, of_values=kind in (_LIST, _EXPRESSION))

    def elements(self, kind: int) -> Any:
        if kind in _NUMBERS:
            code, python_type = _NUMBERS[kind]
            size = self.length(int(code[-1]))
            numbers = np.frombuffer(self.take(size * int(code[-1])), code)
            missing = np.isnan(numbers) if kind == _DOUBLE else numbers == _NA_INTEGER
            pairs = zip(numbers.tolist(), missing.tolist(), strict=True)
            return [None if na else python_type(number) for number, na in pairs]
        if kind == _STRINGS:
            return [self.text(self.integer()) for _ in range(self.length(8))]
        if kind in (_LIST, _EXPRESSION):
            return [self.item() for _ in range(self.length(4))]
        if kind == _CHARS:
            return [self.text(_CHARS)]
        if kind == _BYTECODE:
            self.length(0)
            self.code()
        elif kind == _POINTER:
            self.remember(OPAQUE)
            self.item(), self.item()
        elif kind == _WEAK:
            self.remember(OPAQUE)
        elif kind in (_RAW, _COMPLEX):
            size = 1 if kind == _RAW else 16
            self.take(self.length(size) * size)
        elif kind in (_SPECIAL, _BUILTIN):
            self.take(self.integer())
        elif kind != _S4:
            raise self.damaged()
        return OPAQUE

    def remember(self, value: Any) -> Any:
        self.references.append(value)
        return value

    def text(self, flags: int) -> str | None:
        if flags & 0xFF != _CHARS:
            raise self.damaged()
        size = self.integer()
        content = b"" if size == -1 else self.take(size)
        if flags & 0x200:
            self.item()
        try:
            text = content.decode()
        except UnicodeDecodeError:
            text = content.decode("latin-1")
        return None if size == -1 else text

    def pairs(self, flags: int) -> Any:
        """A pair list; calls and functions are read over in the same way."""
        values, names = [], []
        is_data = flags & 0xFF == _PAIRS
        while flags & 0xFF in _PAIRS_LIKE:
            if flags & 0x200:
                self.item()
            names.append(self.item() if flags & 0x400 else "")
            values.append(self.item())
            self.left -= 1
            flags = self.integer()
        # What ends the list: nothing, or the last part of a dotted pair.
        self.typed(flags)
        if not is_data:
            return OPAQUE
        return _by_name(names, values) if any(names) else values

    def environment(self) -> dict[str, Any]:
        """The variables of an environment, frame and hash table together."""
        self.integer()
        # Known before it is filled: what it holds may refer to it.
        variables: dict[str, Any] = self.remember({})
        self.item()  # the environment around it
        frame, table, _ = self.item(), self.item(), self.item()
        for part in (frame, *(table if isinstance(table, list) else ())):
            variables |= part if isinstance(part, dict) else {}
        return variables

    def compact(self) -> Any:
        """What R keeps in a compact form: ranges, texts not yet made, and vectors with a wrapper
        around them.
        """
        about, state, attributes = self.item(), self.item(), self.item()
        name = about[0] if isinstance(about, list) and about else ""
        first = state[0] if isinstance(state, list) and state else None
        if name in ("compact_intseq", "compact_realseq"):
            value: Any = self.sequence(state, int if name == "compact_intseq" else float)
        elif name == "deferred_string" and isinstance(first, list):
            # As R writes numbers: 15 digits where they do, and whole numbers without a point.
            value = [None if number is None else f"{number:.15g}" for number in first]
        elif str(name).startswith("wrap_"):
            value = first
        else:
            raise InputError(f"It has a vector in R's compact form {name!r:.60}, which is unknown.")
        return _with_attributes(value, attributes, of_values=name == "wrap_list")

    def sequence(self, state: Any, python_type: type) -> list[Any]:
        if not isinstance(state, list) or [*map(type, state)] != [float] * 3:
            raise self.damaged()
        size, start, step = state
        # It costs nothing to write down, so its size is bounded like the number of values.
        if not (0 <= size <= self.left and np.isfinite(start) and step in (1.0, -1.0)):
            raise self.damaged()
        self.left -= int(size)
        return [python_type(start + step * place) for place in range(int(size))]

    def code(self) -> None:
        """Byte code and its constants, read over."""
        self.item()
        for _ in range(self.length(4)):
            self.constant(self.integer())

    def constant(self, kind: int) -> None:
        self.descend()
        if kind == _BYTECODE:
            self.code()
        elif kind == _CODE_REFERENCE:
            self.integer()
        elif kind not in _CODE_PAIRS:
            self.item()
        # A call: pairs whose rest follows.
        while kind in _CODE_PAIRS:
            if kind == _CODE_DEFINITION:
                self.integer()
                kind = self.integer()
            if kind in (_ATTRIBUTED_PAIRS, _ATTRIBUTED_CALL):
                self.item()
            self.item()
            self.constant(self.integer())
            kind = self.integer()
            if kind not in _CODE_PAIRS:
                self.constant(kind)
        self.depth -= 1


def _with_attributes(value: Any, attributes: Any, *, of_values: bool) -> Any:
    """A list by its names, a factor as its texts, a matrix with its names; else the value."""
    if not isinstance(value, list) or not isinstance(attributes, dict):
        return value
    names, levels, dim, dimnames = map(attributes.get, ("names", "levels", "dim", "dimnames"))
    if of_values:
        return _by_name(names, value) if isinstance(names, list) else value
    if isinstance(levels, list):
        return [*map(dict(enumerate(levels, 1)).get, value)]
    if isinstance(dimnames, dict):
        dimnames = list(dimnames.values())
    if isinstance(dimnames, list) and isinstance(dim, list) and len(dimnames) == len(dim) == 2:
        return Matrix(rows=dimnames[0], columns=dimnames[1], values=value)
    return value


def _by_name(names: Iterable[Any], values: Iterable[Any]) -> dict[str, Any]:
    """Values by their names, the first of several with one name."""
    items: dict[str, Any] = {}
    for name, value in zip(names, values, strict=False):
        items.setdefault(name if isinstance(name, str) else "", value)
    return items


def get(value: Any, *names: str) -> Any:
    """The element of that name, of the next in that, and so on; None where there is none."""
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def vector(value: Any, *names: str) -> list[Any]:
    """The elements of a vector or of a list without names; none of anything else."""
    value = get(value, *names)
    return value if isinstance(value, list) else []


def texts(value: Any, *names: str) -> list[str]:
    """The texts of a vector, or of a list of single texts; none of anything else."""
    entries = (entry if isinstance(entry, list) else [entry] for entry in vector(value, *names))
    return [entry[0] for entry in entries if len(entry) == 1 and isinstance(entry[0], str)]


def text(value: Any, *names: str) -> str:
    """The only text there; empty where there is none, or several."""
    only = texts(value, *names)
    return only[0] if len(only) == 1 else ""


def numbers(value: Any, *names: str) -> FloatArray | None:
    """A vector or matrix of numbers, NaN for NA; None for anything else."""
    value = get(value, *names)
    entries = value.values if isinstance(value, Matrix) else value
    if not isinstance(entries, list) or not {*map(type, entries)} <= {bool, int, float, type(None)}:
        return None
    return np.array(entries, dtype=np.float64)


def number(value: Any, *names: str) -> float | None:
    """The only number there, 1 for TRUE, where it is finite and above 0."""
    only = numbers(value, *names)
    return float(only[0]) if only is not None and only.size == 1 and 0 < only[0] < np.inf else None
