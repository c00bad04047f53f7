"""Records as JSON has them: typed dictionaries with the meaning of every key."""

import re
from collections.abc import Sequence
from dataclasses import is_dataclass
from inspect import cleandoc, getdoc
from typing import Annotated, Any, get_type_hints

from pydantic import Field
from typing_extensions import TypedDict

# Called with names and types that only the records know.
typed: Any = TypedDict

# An entry of a numpydoc section: its names, and its words indented below.
ENTRY = re.compile(r"^(\w+(?:, \w+)*)\n((?: {4}.*\n|\n)+)", re.MULTILINE)


def described(record: Any) -> dict[str, str]:
    """What the fields of a record mean, by its docstring and those of its bases."""
    words: dict[str, str] = {}
    for kind in reversed(getattr(record, "__mro__", (record,))):
        text = f"{cleandoc(kind.__doc__ or '')}\n"
        _, found, entries = text.partition("Attributes\n----------\n")
        if not found:
            entries = text.partition("Parameters\n----------\n")[2]
        for names, meaning in ENTRY.findall(entries):
            words |= dict.fromkeys(names.split(", "), " ".join(meaning.split()))
    return words


def record(
    source: Any, /, *names: str, title: str = "", without: Sequence[str] = (), **more: Any
) -> Any:
    """The fields of a record as JSON has them; `names` are properties of it, or some of its fields.

    Parameters
    ----------
    source
        A dataclass, a named tuple, or a function whose docstring describes `more`.
    names
        Properties to add; of a class without fields to take, the only keys.
    title, without
        What the object is called in the schema, and which fields are left out.
    more
        Further keys with their types.
    """
    fields = (
        dict(get_type_hints(source)) if is_dataclass(source) or hasattr(source, "_fields") else {}
    )
    words = described(source)
    keys = {key: kind for key, kind in fields.items() if key not in {*more, *without}}
    for key in names:
        getter = getattr(source, key).fget
        keys[key] = get_type_hints(getter)["return"]
        words.setdefault(key, (getdoc(getter) or "").partition("\n\n")[0].replace("\n", " "))
    keys |= more
    annotated = {
        key: Annotated[kind, Field(description=words[key])] if words.get(key) else kind
        for key, kind in keys.items()
    }
    return typed(title or source.__name__, annotated)


class Bare:
    """A class whose fields are not taken, only its docstring and the properties that are named."""

    def __init__(self, source: Any) -> None:
        self.__doc__ = source.__doc__
        self._source = source

    def __getattr__(self, name: str) -> Any:
        return getattr(self._source, name)
