"""What works where Python has no Linux-only modules: reading logs and judging them."""

import json
import subprocess
import sys
from pathlib import Path

DATA = Path(__file__).parent / "data"
# Modules that Python has on Unix only.
HIDDEN = ("fcntl", "grp", "pty", "pwd", "resource", "syslog", "termios", "tty")
# A command, its exit code, and what it says.
COMMANDS = [
    (["audit", f"{DATA}/irace/tested.Rdata"], 1, "on new instances"),
    (["audit", f"{DATA}/smac/instances", "--low=0", "--high=3"], 1, "SMAC3 tuned"),
    (["certify", "kissat"], 0, "With 95 % confidence"),
    (["report", "clasp", "-o", "page.html"], 0, "page.html"),
    (["plan", "kissat", "--error=0.05"], 0, "instances"),
    (["compare", "kissat:2cb96f70a0", "kissat:0fa88eb8a1"], 0, "common instances"),
]
PROGRAM = """
import contextlib, io, json, sys

hidden, commands = json.loads(sys.argv[1])
for name in hidden:
    sys.modules[name] = None  # importing it fails
from truecost.cli import main

for words, code, answer in commands:
    sys.argv, printed = ["truecost", *words], io.BytesIO()
    out = io.TextIOWrapper(printed, encoding="utf-8", write_through=True)
    with contextlib.redirect_stdout(out):
        try:
            main()
            ended = 0
        except SystemExit as error:
            ended = error.code or 0
    assert ended == code, (words, ended)
    text = printed.getvalue().decode()
    assert answer in text.replace("\\n", " "), (words, text)
"""


def test_logs_are_judged_without_linux(tmp_path: Path) -> None:
    """Somebody on another system could not even read a log that was made elsewhere."""
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM, json.dumps([HIDDEN, COMMANDS])],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
