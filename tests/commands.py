"""The command line without the second that a process of its own takes, and what it left behind."""

import io
import math
import sys
from collections.abc import Callable
from contextlib import chdir, redirect_stderr, redirect_stdout
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import typer

from truecost import cli
from truecost.cli import progress

USUAL = progress.LINE_EVERY
# Commands are the same every time, and take longer to make than many a one to run.
_app = cache(cli.app)
_command = cache(typer.main.get_command)


def tree() -> Any:
    """All commands with their options, as click has them."""
    return _command(_app(tuple(cli.COMMANDS)))


class Ended(NamedTuple):
    """What a command left behind."""

    returncode: int
    stdout: str
    stderr: str


Run = Callable[..., Ended]


def run(*words: object, cwd: Path | None = None) -> Ended:
    """A command of truecost, in this process and in this folder."""
    out, err = (
        io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline="", write_through=True)
        for _ in range(2)
    )
    with (
        pytest.MonkeyPatch.context() as patch,
        chdir(cwd or Path.cwd()),
        redirect_stdout(out),
        redirect_stderr(err),
    ):
        patch.setattr(sys, "argv", ["truecost", *map(str, words)])
        patch.setattr(cli, "app", lambda names: _app(tuple(names)))
        patch.setattr(typer.main, "get_command", _command)
        if progress.LINE_EVERY == USUAL:
            # Lines that only a busy machine takes long enough for.
            patch.setattr(progress, "LINE_EVERY", math.inf)
        with pytest.raises(SystemExit) as ended:
            cli.main()
    assert isinstance(ended.value.code, int)
    return Ended(ended.value.code, *(stream.buffer.getvalue().decode() for stream in (out, err)))
