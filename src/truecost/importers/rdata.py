"""R's saved workspaces, read without R: the XDR serialisation, versions 2 and 3.

Values are read as data: functions, byte code and pointers are passed over, nothing is evaluated. A
vector can have at most as many elements as there are bytes left, so a small file cannot ask for
much memory.
"""

import struct
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from truecost.errors import InputError

Scalar = str | int | float | bool | None

# How many values a workspace may have and how deep they may nest. Logs of irace stay far below: one
# of 1,000 runs has 95,000 values, 44 deep.
MOST_VALUES = 4_000_000
DEEPEST = 120
NA_INTEGER = -(2**31)
NUMBERS = ("integer", "double")

MAGIC = (b"RDX2\n", b"RDX3\n")

# The type numbers of R's serialize.c, those that logs of irace have: data, and functions with what
# they need, which are passed over.
_SYMBOL, _PAIRS, _CLOSURE, _ENVIRONMENT, _PROMISE, _CALL, _SPECIAL, _BUILTIN, _CHARS = range(1, 10)
_STRINGS, _LIST, _EXPRESSION, _BYTECODE, _POINTER, _S4 = 16, 19, 20, 21, 22, 25
_ALTREP, _ATTRIBUTED_PAIRS, _ATTRIBUTED_CALL = 238, 239, 240
_CODE_REFERENCE, _CODE_DEFINITION, _PACKAGE, _NAMESPACE, _REFERENCE = 243, 244, 248, 249, 255
# Environments that are always there, missing arguments, unbound variables, NULL.
_NOTHING = frozenset({241, 242, *range(250, 255)})
_PAIRS_LIKE = frozenset({_PAIRS, _CLOSURE, _PROMISE, _CALL})
_CODE_PAIRS = frozenset({_PAIRS, _CALL, _CODE_DEFINITION, _ATTRIBUTED_PAIRS, _ATTRIBUTED_CALL})
# What a vector of numbers is called, and how its elements are stored.
_VECTORS = {
    10: ("logical", ">i4"),
    13: ("integer", ">i4"),
    14: ("double", ">f8"),
    24: ("raw", "u1"),
}
_DAMAGED = "The file is cut off or damaged: copy it again."
_TOO_DEEP = f"Its values are nested more than {DEEPEST} deep, which irace never writes. {_DAMAGED}"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RValue:
    """An R value: what it is, its elements, its attributes.

    `kind` is `"logical"`, `"integer"`, `"double"` or `"raw"` (an array), `"character"` (a list of
    text, None for NA), `"list"`, `"pairs"` or `"environment"` (a list of values), `"symbol"`,
    `"null"`, or `"other"`: what is no data.
    """

    kind: str
    values: Any = ()
    attributes: dict[str, "RValue"] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.values)

    @property
    def names(self) -> list[str]:
        """The names of the elements, empty where there are none."""
        return [name or "" for name in self.attributes.get("names", NULL).texts()]

    def get(self, *names: str) -> "RValue":
        """The element of that name in a list or an environment, of the next in that, and so on;
        `NULL` where there is none.
        """
        value = self
        for name in names:
            place = value.names.index(name) if name in value.names else len(value)
            holds = value.kind in ("list", "pairs", "environment") and place < len(value)
            value = value.values[place] if holds else NULL
        return value

    def pairs(self) -> dict[str, "RValue"]:
        """The values of a pair list by their tags, of anything else nothing."""
        return dict(zip(self.names, self.values, strict=True)) if self.kind == "pairs" else {}

    def texts(self, *names: str) -> list[str | None]:
        """The texts of a character vector, or of a list of single texts; none of anything else."""
        value = self.get(*names)
        if value.kind == "list":
            parts = [part for part in value.values if part.kind == "character" and len(part) == 1]
            return [part.values[0] for part in parts]
        return list(value.values) if value.kind == "character" else []

    def text(self, *names: str) -> str:
        """The only text there; empty where there is none, or several."""
        texts = self.texts(*names)
        return (texts[0] or "") if len(texts) == 1 else ""

    def number(self, *names: str) -> float | None:
        """The only number there, 1 for TRUE, where it is finite and above 0."""
        value = self.get(*names)
        if value.kind not in ("logical", *NUMBERS) or len(value) != 1:
            return None
        number = float(value.values[0])
        return number if 0 < number < np.inf else None

    def scalars(self) -> list[Scalar]:
        """The elements of a vector, None for NA; of a factor, the names of its levels."""
        if self.kind == "character":
            return list(self.values)
        if self.kind not in ("logical", *NUMBERS):
            return [None] * len(self)
        values = self.values.tolist()
        levels = self.attributes.get("levels", NULL).texts()
        if self.kind == "integer" and levels:
            return [levels[code - 1] if 1 <= code <= len(levels) else None for code in values]
        known = [value != NA_INTEGER and value == value for value in values]
        kind = bool if self.kind == "logical" else lambda value: value
        return [kind(value) if ok else None for value, ok in zip(values, known, strict=True)]


NULL = RValue(kind="null")
OTHER = RValue(kind="other")


def read(content: bytes) -> dict[str, RValue]:
    """The variables of an unpacked workspace that `save()` wrote, by name."""
    if content[:5] not in MAGIC:
        raise InputError(
            f"It starts with {bytes(content[:5])!r}, not RDX2 or RDX3. Save the workspace with R's "
            "save()."
        )
    return _Reader(content).variables()


class _Reader:
    """One pass over the bytes; methods are named after what they read."""

    def __init__(self, content: bytes) -> None:
        self.content = content
        self.at = 5
        self.seen: list[RValue] = []
        self.left = MOST_VALUES
        self.depth = 0

    def heading(self) -> None:
        if (mark := self.take(2)) != b"X\n":
            raise InputError(
                f"It has R's format {mark!r}, not XDR. Save the workspace with ascii = FALSE."
            )
        version = self.integer()
        self.integer(), self.integer()  # the R that wrote it, and the oldest that reads it
        if version == 3:
            self.take(self.integer())  # its encoding; each text carries its own
        elif version != 2:
            raise InputError(
                f"It has R's serialisation {version}. Save the workspace with version = 3."
            )

    def variables(self) -> dict[str, RValue]:
        self.heading()
        bindings = self.item()
        if bindings.kind != "pairs":
            raise InputError("It is a workspace without variables. Save the log with save().")
        return bindings.pairs()

    def take(self, size: int) -> bytes:
        end = self.at + size
        if size < 0 or end > len(self.content):
            raise InputError(
                f"It ends at byte {len(self.content):,}, within a value of {size:,} bytes. "
                f"{_DAMAGED}"
            )
        part = self.content[self.at : end]
        self.at = end
        return part

    def integer(self) -> int:
        number: int = struct.unpack(">i", self.take(4))[0]
        return number

    def length(self, least: int) -> int:
        """A number of elements, each of which takes at least `least` bytes."""
        size = self.integer()
        if size == -1:  # a long vector
            size = self.integer() << 32 | self.integer() & 0xFFFFFFFF
        if size < 0 or size * least > len(self.content) - self.at:
            raise InputError(
                f"A vector at byte {self.at:,} claims {size:,} elements, more than the file has "
                f"room for. {_DAMAGED}"
            )
        return size

    def item(self) -> RValue:
        self.left -= 1
        if self.left < 0:
            raise InputError(f"It has more than {MOST_VALUES:,} values, too many for a log.")
        if self.depth >= DEEPEST:
            raise InputError(_TOO_DEEP)
        self.depth += 1
        # Depth is counted here, not left to Python, whose limit would end in a traceback.
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
                raise InputError(f"It refers to value {place} of {len(self.seen)}. {_DAMAGED}")
            return self.seen[place - 1]
        if kind in _PAIRS_LIKE:
            return self.pairs(flags)
        if kind == _ENVIRONMENT:
            return self.environment()
        if kind == _SYMBOL:
            return self.remember(RValue(kind="symbol", values=[self.item_text()]))
        if kind in (_NAMESPACE, _PACKAGE):
            self.integer()
            for _ in range(self.length(8)):
                self.item()
            return self.remember(OTHER)
        if kind == _POINTER:
            self.remember(OTHER)
            self.item(), self.item()
            return self.ended(OTHER, has_attributes)
        if kind == _ALTREP:
            return self.compact()
        return self.ended(self.elements(kind), has_attributes)

    def elements(self, kind: int) -> RValue:
        if kind in _VECTORS:
            name, dtype = _VECTORS[kind][0], np.dtype(_VECTORS[kind][1])
            size = self.length(dtype.itemsize)
            values = np.frombuffer(self.take(size * dtype.itemsize), dtype=dtype)
            return RValue(kind=name, values=values.astype(dtype.newbyteorder("=")))
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
            raise InputError(f"The value at byte {self.at:,} has the type {kind}. {_DAMAGED}")
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
                f"The text at byte {self.at:,} has the type {flags & 0xFF}. {_DAMAGED}"
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
        """A pair list, as a list with names; calls and functions are read over in the same way."""
        values, names = [], []
        is_data = flags & 0xFF == _PAIRS
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
        # What ends the list: nothing, or the last part of a dotted pair.
        self.typed(flags)
        if not is_data:
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
        head = about.values[0] if about.kind == "pairs" else NULL
        name = str(head.values[0]) if head.kind == "symbol" else ""
        first = state.values[0] if state.kind in ("list", "pairs") and len(state) else NULL
        if name.startswith("compact_") and state.kind == "double" and len(state) == 3:
            value = self.range(state.values, "integer" if name == "compact_intseq" else "double")
        elif name.startswith("wrap_") and len(state) and first is not NULL:
            value = first
        elif name == "deferred_string" and state.kind == "pairs" and first.kind in NUMBERS:
            texts = [_as_text(number) for number in first.values.tolist()]
            value = RValue(kind="character", values=texts)
        else:
            raise InputError(f"It has a vector in R's compact form {name!r:.60}, which is unknown.")
        return RValue(
            kind=value.kind, values=value.values, attributes=value.attributes | attributes.pairs()
        )

    def range(self, state: Any, kind: str) -> RValue:
        size, start, step = (float(number) for number in state)
        # A range costs nothing to write down, so its size is bounded like the number of values.
        if not (0 <= size <= self.left and np.isfinite(start) and step in (1.0, -1.0)):
            raise InputError(f"It has a range of {size:g} numbers, more than a log has. {_DAMAGED}")
        self.left -= int(size)
        values = start + step * np.arange(int(size))
        if kind == "integer" and not (np.abs(values) < 2**31).all():
            raise InputError(f"It has a range of integers beyond 2^31. {_DAMAGED}")
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
