"""The command line in this process, without the second that a process of its own takes."""

import io
import sys
from collections.abc import Callable
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import NamedTuple

import pytest

from truecost import cli

TRUECOST = Path(sys.executable).with_name("truecost")


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
        with pytest.raises(SystemExit) as ended:
            cli.main()
    assert isinstance(ended.value.code, int)
    return Ended(ended.value.code, *(stream.buffer.getvalue().decode() for stream in (out, err)))
