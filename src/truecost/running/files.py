"""Files of a scenario: their text, and names that need not be files or text."""

import os
from pathlib import Path

from truecost.errors import InputError


def cause_of(error: BaseException) -> str:
    """What an error says, without its full stop."""
    return str(error).rstrip(".") or type(error).__name__


def read_text(path: Path) -> str:
    """The content of a file."""
    try:
        return path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise InputError(f"{error.strerror or error}. Check the path.") from error
    except UnicodeDecodeError as error:
        wrong = error.object[error.start :][:1]
        raise InputError(f"This is not UTF-8 text ({wrong!r}). Save it as UTF-8.") from error


def is_text(name: str) -> bool:
    """Whether a name is UTF-8; names of files may be any bytes."""
    return name.encode(errors="replace").decode() == name


def is_file(path: Path) -> bool:
    """Whether there is a file; a word that is too long for a path is none."""
    return os.path.isfile(path)  # noqa: PTH113 - pathlib raises for long names
