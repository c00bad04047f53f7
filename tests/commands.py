"""The command line without the second that a process of its own takes, and what it left behind."""

import io
import sys
from collections.abc import Callable
from contextlib import chdir, redirect_stderr, redirect_stdout
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest
import typer

# The tree of commands is the same every time, and takes longer to make than many a command to run.
tree = cache(typer.main.get_command)


class Ended(NamedTuple):
    """What a command left behind."""

    returncode: int
    stdout: str
    stderr: str


Run = Callable[..., Ended]


def run(*words: object, cwd: Path | None = None) -> Ended:
    """A command of truecost, in this process and in this folder."""
    from truecost.cli import main

    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline="", write_through=True) for _ in range(2))
    with pytest.MonkeyPatch.context() as patch, chdir(cwd or Path.cwd()), redirect_stdout(out), redirect_stderr(err):
        patch.setattr(sys, "argv", ["truecost", *map(str, words)])
        patch.setattr(typer.main, "get_command", tree)
        with pytest.raises(SystemExit) as ended:
            main()
    assert isinstance(ended.value.code, int)
    return Ended(ended.value.code, *(stream.buffer.getvalue().decode() for stream in (out, err)))
