"""R's saved workspaces, read without R: the XDR serialisation, versions 2 and 3, packed or not.

Values are read as data only: functions, byte code and pointers are passed over, nothing is ever
evaluated. A vector is believed to have as many elements as there are bytes for, so a small file
cannot ask for much memory.
"""

import bz2
import gzip
import lzma
import struct
import zlib
from dataclasses import dataclass, field
from typing import Any, BinaryIO, Final

import numpy as np

from truecost.errors import InputError

# What a workspace may unpack to, how many values it may have and how deep they may nest. Logs of
# irace stay far below: one of 1,000 runs has 1.3 MB and 95,000 values, 44 deep.
LARGEST: Final = 1 << 30
MOST_VALUES: Final = 4_000_000
DEEPEST: Final = 120
CHUNK: Final = 1 << 20
NA_INTEGER: Final = -(2**31)

MAGIC: Final = (b"RDX2\n", b"RDX3\n")

# The type numbers of R's serialize.c.
_SYMBOL, _PAIRS, _CLOSURE, _ENVIRONMENT, _PROMISE, _CALL = 1, 2, 3, 4, 5, 6
_SPECIAL, _BUILTIN, _CHARS, _LOGICAL, _INTEGER, _REAL, _COMPLEX = 7, 8, 9, 10, 13, 14, 15
_STRINGS, _DOTS, _LIST, _EXPRESSION, _BYTECODE, _POINTER, _WEAK, _RAW, _S4 = (
    16,
    17,
    19,
    20,
    21,
    22,
    23,
    24,
    25,
)
(
    _ALTREP,
    _ATTRIBUTED_PAIRS,
    _ATTRIBUTED_CALL,
    _BASE_ENV,
    _EMPTY_ENV,
    _CODE_REFERENCE,
    _CODE_DEFINITION,
) = range(238, 245)
(
    _PERSISTENT,
    _PACKAGE,
    _NAMESPACE,
    _BASE_NAMESPACE,
    _MISSING_ARG,
    _UNBOUND,
    _GLOBAL_ENV,
    _NIL,
    _REFERENCE,
) = range(247, 256)
_NOTHING = frozenset(
    {_BASE_ENV, _EMPTY_ENV, _BASE_NAMESPACE, _MISSING_ARG, _UNBOUND, _GLOBAL_ENV, _NIL}
)
_PAIRS_LIKE = frozenset({_PAIRS, _CLOSURE, _PROMISE, _CALL, _DOTS})
_CODE_PAIRS = frozenset({_PAIRS, _CALL, _CODE_DEFINITION, _ATTRIBUTED_PAIRS, _ATTRIBUTED_CALL})
_NUMBERS = {_LOGICAL: ">i4", _INTEGER: ">i4", _REAL: ">f8", _COMPLEX: ">c16", _RAW: "u1"}
_TOO_DEEP = f"expected values of R nested at most {DEEPEST} deep, and these go deeper."
_NAMES = {
    _LOGICAL: "logical",
    _INTEGER: "integer",
    _REAL: "double",
    _COMPLEX: "complex",
    _RAW: "raw",
}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RValue:
    """A value of R: what it is, its elements, its attributes.

    `kind` is `"logical"`, `"integer"`, `"double"`, `"complex"` or `"raw"` (an array), `"character"`
    (a list of text, None for NA), `"list"`, `"pairs"` or `"environment"` (a list of values),
    `"call"` (the function's name and its arguments, as a condition has them), `"symbol"`, `"null"`,
    or `"other"`: what is no data.
    """

    kind: str
    values: Any = ()
    attributes: dict[str, "RValue"] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.values)

    @property
    def names(self) -> list[str]:
        """The names of the elements, empty where there are none."""
        found = self.attributes.get("names")
        return (
            [name or "" for name in found.values]
            if found is not None and found.kind == "character"
            else []
        )

    def get(self, name: str) -> "RValue | None":
        """The element of that name in a list or an environment."""
        if self.kind in ("list", "pairs", "environment"):
            for place, each in enumerate(self.names):
                if each == name and place < len(self.values):
                    found: RValue = self.values[place]
                    return found
        return None

    def pairs(self) -> dict[str, "RValue"]:
        """The values of a pair list by their tags, of anything else nothing."""
        return dict(zip(self.names, self.values, strict=True)) if self.kind == "pairs" else {}

    def is_a(self, name: str) -> bool:
        """Whether its class attribute has this name."""
        found = self.attributes.get("class")
        return found is not None and found.kind == "character" and name in found.values


NULL: Final = RValue(kind="null")
OTHER: Final = RValue(kind="other")


def read(file: BinaryIO) -> dict[str, RValue]:
    """The variables of a workspace that `save()` wrote, by name."""
    content = _unpacked(file)
    if content[:5] not in MAGIC:
        raise InputError(
            f"expected a workspace of R in its binary format (RDX2 or RDX3), got {bytes(content[:5])!r}."
        )
    return _Reader(content).variables()


def is_workspace(file: BinaryIO) -> bool:
    """Whether an open file begins like a workspace, packed or not; it is read from its beginning
    again afterwards.
    """
    try:
        return _opened(file).read(5) in MAGIC
    except (OSError, EOFError, zlib.error, lzma.LZMAError):
        return False
    finally:
        file.seek(0)


def _opened(file: BinaryIO) -> BinaryIO | gzip.GzipFile | bz2.BZ2File | lzma.LZMAFile:
    start = file.read(6)
    file.seek(0)
    if start.startswith(b"\x1f\x8b"):
        return gzip.GzipFile(fileobj=file)
    if start.startswith(b"BZh"):
        return bz2.BZ2File(file)
    if start == b"\xfd7zXZ\0":
        return lzma.LZMAFile(file)
    return file


def _unpacked(file: BinaryIO) -> bytes:
    content = bytearray()
    try:
        stream = _opened(file)
        while chunk := stream.read(CHUNK):
            content += chunk
            if len(content) > LARGEST:
                raise InputError(
                    f"expected a workspace of at most {LARGEST >> 20:,} MB, and it unpacks to more."
                )
    except (OSError, EOFError, zlib.error, lzma.LZMAError) as error:
        raise InputError(
            f"expected a workspace of R, and it cannot be unpacked ({error})."
        ) from error
    return bytes(content)


class _Reader:
    """One pass over the bytes; methods are named after what they read."""

    def __init__(self, content: bytes) -> None:
        self.content = content
        self.at = 5
        self.seen: list[RValue] = []
        self.left = MOST_VALUES
        self.depth = 0

    def variables(self) -> dict[str, RValue]:
        if (mark := self.take(2)) != b"X\n":
            raise InputError(
                f"expected R's XDR format, got {mark!r}: save the workspace with ascii = FALSE."
            )
        version = self.integer()
        self.integer(), self.integer()  # the R that wrote it, and the oldest that reads it
        if version == 3:
            self.take(self.integer())  # its encoding; each text carries its own
        elif version != 2:
            raise InputError(f"expected R's serialisation of version 2 or 3, got {version}.")
        bindings = self.item()
        if bindings.kind != "pairs":
            raise InputError("expected a workspace with named variables, and it has none.")
        return bindings.pairs()

    def take(self, size: int) -> bytes:
        end = self.at + size
        if size < 0 or end > len(self.content):
            raise InputError(
                f"expected {size:,} more bytes at {self.at:,} of {len(self.content):,}: the file is cut off or damaged."
            )
        taken = self.content[self.at : end]
        self.at = end
        return taken

    def integer(self) -> int:
        number: int = struct.unpack(">i", self.take(4))[0]
        return number

    def length(self, least: int) -> int:
        """A number of elements of which each takes so many bytes at least."""
        size = self.integer()
        if size == -1:  # a long vector
            size = self.integer() << 32 | self.integer() & 0xFFFFFFFF
        if size < 0 or size * least > len(self.content) - self.at:
            left = len(self.content) - self.at
            raise InputError(
                f"expected {left:,} bytes of elements at most at {self.at:,}, got a claim of {size:,} elements."
            )
        return size

    def item(self) -> RValue:
        self.left -= 1
        if self.left < 0:
            raise InputError(f"expected a workspace of at most {MOST_VALUES:,} values, got more.")
        if self.depth >= DEEPEST:
            raise InputError(_TOO_DEEP)
        self.depth += 1
        value = self.typed(self.integer())
        self.depth -= 1
        return value

    def typed(self, flags: int) -> RValue:
        kind, has_attributes = flags & 0xFF, bool(flags & 0x200)
        if kind in _NOTHING:
            return NULL
        if kind == _REFERENCE:
            place = (flags >> 8) or self.integer()
            if not 1 <= place <= len(self.seen):
                raise InputError(
                    f"expected a reference to one of {len(self.seen)} values, got {place}: the file is damaged."
                )
            return self.seen[place - 1]
        if kind in _PAIRS_LIKE:
            return self.pairs(flags)
        if kind == _ENVIRONMENT:
            return self.environment()
        if kind == _SYMBOL:
            return self.remember(RValue(kind="symbol", values=[self.item_text()]))
        if kind in (_NAMESPACE, _PACKAGE, _PERSISTENT):
            self.integer()
            for _ in range(self.length(8)):
                self.item()
            return self.remember(OTHER)
        if kind in (_POINTER, _WEAK):
            self.remember(OTHER)
            if kind == _POINTER:
                self.item(), self.item()
            return self.ended(OTHER, has_attributes)
        if kind == _ALTREP:
            return self.compact()
        return self.ended(self.elements(kind), has_attributes)

    def elements(self, kind: int) -> RValue:
        if kind in _NUMBERS:
            dtype = np.dtype(_NUMBERS[kind])
            size = self.length(dtype.itemsize)
            values = np.frombuffer(self.take(size * dtype.itemsize), dtype=dtype)
            return RValue(kind=_NAMES[kind], values=values.astype(dtype.newbyteorder("=")))
        if kind == _STRINGS:
            return RValue(
                kind="character", values=[self.item_text() for _ in range(self.length(8))]
            )
        if kind in (_LIST, _EXPRESSION):
            return RValue(kind="list", values=[self.item() for _ in range(self.length(4))])
        if kind == _CHARS:
            return RValue(kind="character", values=[self.text()])
        if kind == _BYTECODE:
            self.length(0)
            self.code()
        elif kind in (_SPECIAL, _BUILTIN):
            self.take(self.integer())
        elif kind != _S4:
            raise InputError(
                f"expected a type of R at {self.at:,}, got number {kind}: the file is damaged."
            )
        return OTHER

    def ended(self, value: RValue, has_attributes: bool) -> RValue:
        """The value with the attributes that follow it."""
        if not has_attributes:
            return value
        return RValue(kind=value.kind, values=value.values, attributes=self.item().pairs())

    def remember(self, value: RValue) -> RValue:
        self.seen.append(value)
        return value

    def item_text(self) -> str | None:
        flags = self.integer()
        if flags & 0xFF != _CHARS:
            raise InputError(
                f"expected a text at {self.at:,}, got type {flags & 0xFF}: the file is damaged."
            )
        text = self.text()
        if flags & 0x200:
            self.item()
        return text

    def text(self) -> str | None:
        size = self.integer()
        if size == -1:
            return None
        content = self.take(size)
        try:
            return content.decode()
        except UnicodeDecodeError:
            return content.decode("latin-1")

    def pairs(self, flags: int) -> RValue:
        """A pair list, as a list with names; a call as a list without; a function is read over in
        the same way.
        """
        values, names = [], []
        first = flags & 0xFF
        while True:
            if flags & 0x200:
                self.item()
            tag = self.item() if flags & 0x400 else NULL
            names.append((tag.values[0] or "") if tag.kind == "symbol" else "")
            values.append(self.item())
            self.left -= 1
            flags = self.integer()
            if flags & 0xFF not in _PAIRS_LIKE:
                break
        self.typed(flags)
        if first == _CALL:
            return RValue(kind="call", values=values)
        if first != _PAIRS:
            return OTHER
        return RValue(
            kind="pairs",
            values=values,
            attributes={"names": RValue(kind="character", values=names)},
        )

    def environment(self) -> RValue:
        """The variables of an environment, frame and hash table together."""
        self.integer()
        names: list[str] = []
        values: list[RValue] = []
        # Known before it is filled: what it holds may refer to it.
        whole = self.remember(
            RValue(
                kind="environment",
                values=values,
                attributes={"names": RValue(kind="character", values=names)},
            )
        )
        self.item()  # the environment around it
        frame, table, attributes = self.item(), self.item(), self.item()
        for part in (frame, *(table.values if table.kind == "list" else ())):
            names.extend(part.pairs())
            values.extend(part.pairs().values())
        whole.attributes.update(
            {name: value for name, value in attributes.pairs().items() if name != "names"}
        )
        return whole

    def compact(self) -> RValue:
        """What R keeps in a compact form: ranges, texts not yet made, and vectors with a wrapper
        around them.
        """
        about, state, attributes = self.item(), self.item(), self.item()
        name = (
            about.values[0].values[0]
            if about.kind == "pairs" and about.values[0].kind == "symbol"
            else ""
        )
        value = OTHER
        if (
            name in ("compact_intseq", "compact_realseq")
            and state.kind == "double"
            and len(state) == 3
        ):
            value = self.range(state.values, "integer" if name == "compact_intseq" else "double")
        elif str(name).startswith("wrap_") and state.kind in ("list", "pairs") and state.values:
            value = state.values[0]
        elif (
            name == "deferred_string"
            and state.kind == "pairs"
            and state.values[0].kind in ("integer", "double")
        ):
            value = RValue(
                kind="character",
                values=[_as_text(number) for number in state.values[0].values.tolist()],
            )
        else:
            raise InputError(
                f"expected a vector of R, got one in the compact form {name!r}, which is not known here."
            )
        return RValue(
            kind=value.kind, values=value.values, attributes=value.attributes | attributes.pairs()
        )

    def range(self, state: Any, kind: str) -> RValue:
        size, start, step = (float(number) for number in state)
        # A range costs nothing to write down, so its size is bounded like the number of values.
        if not (0 <= size <= self.left and np.isfinite(start) and step in (1.0, -1.0)):
            raise InputError(f"expected a range of at most {self.left:,} numbers, got {size:g}.")
        self.left -= int(size)
        values = start + step * np.arange(int(size))
        if kind == "integer" and not (np.abs(values) < 2**31).all():
            raise InputError("expected a range of whole numbers of R, got numbers beyond 2^31.")
        return RValue(kind=kind, values=values.astype(np.int32) if kind == "integer" else values)

    def code(self) -> None:
        """Byte code and its constants, read over."""
        self.item()
        for _ in range(self.length(4)):
            self.constant(self.integer())

    def constant(self, kind: int) -> None:
        if self.depth >= DEEPEST:
            raise InputError(_TOO_DEEP)
        self.depth += 1
        if kind == _BYTECODE:
            self.code()
        elif kind in _CODE_PAIRS:
            self.call(kind)
        elif kind == _CODE_REFERENCE:
            self.integer()
        else:
            self.item()
        self.depth -= 1

    def call(self, kind: int) -> None:
        """A call among the constants: pairs whose rest follows, so the rest is a loop."""
        while kind in _CODE_PAIRS:
            if kind == _CODE_DEFINITION:
                self.integer()
                kind = self.integer()
            if kind in (_ATTRIBUTED_PAIRS, _ATTRIBUTED_CALL):
                self.item()
            self.item()
            self.constant(self.integer())
            kind = self.integer()
        self.constant(kind)


def _as_text(number: float) -> str | None:
    """A number as R writes it: 15 digits where they do, and whole numbers without a point."""
    if number != number or number == NA_INTEGER:
        return None
    return f"{number:.15g}"
