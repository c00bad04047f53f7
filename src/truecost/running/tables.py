"""The tables [target], [answer] and [limits] of a scenario file."""

from collections.abc import Mapping
from typing import Annotated

from pydantic import Field

from truecost.journal.metric import Seconds, TomlTable

Words = Annotated[tuple[str, ...], Field(min_length=1, strict=False)]


class Target(TomlTable):
    """How the solver is called; docs/running.md describes each key."""

    kind: str
    command: Words | None = None
    function: str | None = None
    program: str | None = None
    style: str | None = None
    builder: str | None = None
    check: Words | str | None = None
    version: Words | None = None
    environment: Mapping[str, str] = Field(default_factory=dict)
    runlength: int = 2**31 - 1
    bound: bool = False
    private: bool = True
    own_folder: bool = False
    whole: bool = False
    keep: Words | None = None
    warm: bool = False

    def given(self) -> dict[str, str]:
        """The functions it names, 'file.py:name', by what they are for."""
        named = ((key, getattr(self, key)) for key in ("function", "program", "builder", "check"))
        return {key: value for key, value in named if isinstance(value, str)}


class AnswerFormat(TomlTable):
    """How the output of a command is read: the exit codes that count, and regular expressions, for
    numbers with one group.
    """

    exit: Annotated[tuple[int, ...], Field(strict=False)] = (0,)
    solved: str | None = None
    unsolved: str | None = None
    time: str | None = None
    value: str | None = None


class Limits(TomlTable):
    """What a run may use: seconds of CPU time of the whole tree, seconds passed, MB resident,
    cores; MB of output and of files kept.

    `cutoff` is the time the target is told, `cpu` (or `wall`) where it is not given; `grace` the
    seconds between SIGTERM and SIGKILL, none as a rule.
    """

    cpu: Seconds | None = None
    wall: Seconds | None = None
    memory: Seconds | None = None
    cutoff: Seconds | None = None
    output: Seconds = 10.0
    grace: Annotated[float, Field(ge=0, le=60)] = 0.0
    cores: Annotated[int, Field(ge=1)] = 1
    keep: Seconds = 10.0
