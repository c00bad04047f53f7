"""What commands print: lines for people, JSON for programs."""

import json
import math
import sys
from collections.abc import Mapping
from typing import Any


def visible(text: str) -> str:
    """The text with control characters escaped: names come from strangers' files."""
    return "".join(
        character if character.isprintable() else repr(character)[1:-1] for character in text
    )


def print_text(text: str) -> None:
    """Print lines as they are."""
    sys.stdout.write(f"{text.rstrip()}\n")


def print_json(value: Mapping[str, Any]) -> None:
    """Print JSON; numbers that are not finite are null, except the penalty "inf"."""
    sys.stdout.write(f"{json.dumps(plain(dict(value)), indent=2, ensure_ascii=False)}\n")


def plain(value: Any) -> Any:
    """The same made of what JSON has."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(item) for item in value]
    if hasattr(value, "tolist"):  # NumPy's numbers and arrays
        return plain(value.tolist())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, str | int | bool):
        return value
    return str(value)
