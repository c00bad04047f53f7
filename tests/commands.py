"""What a command of truecost left behind, as the fixture `run` answers it."""

from collections.abc import Callable
from typing import NamedTuple


class Ended(NamedTuple):
    """What a command left behind."""

    returncode: int
    stdout: str
    stderr: str


Run = Callable[..., Ended]
