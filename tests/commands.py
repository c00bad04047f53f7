"""The command line without the second that a process of its own takes, and what it left behind."""

import io
import math
import os
import pty
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import chdir, redirect_stderr, redirect_stdout, suppress
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import typer

from truecost import cli
from truecost.cli import progress

TRUECOST = Path(sys.executable).with_name("truecost")
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


def interrupt(*words: object, when: bytes) -> None:
    """Start a command at a terminal, press Ctrl-C when this is to be read there, and see that it
    ends as it should: with code 130 and a line that says so.
    """
    parent, child = pty.openpty()
    with subprocess.Popen(
        [TRUECOST, *map(str, words)], stdout=subprocess.PIPE, stderr=child
    ) as work:
        os.close(child)
        seen = b""
        while when not in seen:
            seen += os.read(parent, 4096)
        work.send_signal(signal.SIGINT)
        # Reading fails when nobody holds the other end any more.
        with suppress(OSError):
            while True:
                seen += os.read(parent, 4096)
        assert work.stdout is not None
        assert work.stdout.read() == b""
    os.close(parent)
    assert work.returncode == 130
    assert b"interrupted" in seen
    assert b"Traceback" not in seen
