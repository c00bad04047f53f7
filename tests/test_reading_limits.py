"""No input takes up the time or the memory of a machine: one line, exit code 2."""

import subprocess
import sys
from pathlib import Path

import pytest

READER = """
import hashlib, sys, time
from pathlib import Path
from truecost.cli.limits import limited
from truecost.errors import TruecostError
try:
    with limited(Path(sys.argv[1]), **{limits}):
        {work}
except TruecostError as error:
    sys.exit("refused: " + str(error))
print("read")
"""
# Nothing of Python runs meanwhile, and no signal is heard.
DEAF = "hashlib.pbkdf2_hmac('sha256', b'', b'', 10**9)"
GROWING = "parts = []\n        while True: parts.append(bytearray(b'1') * 10**6)"


def read(path: Path, work: str, limits: str) -> subprocess.CompletedProcess[str]:
    """Do some work under these limits."""
    script = READER.replace("{limits}", limits).replace("{work}", work)
    command = [sys.executable, "-c", script, str(path)]
    return subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)


@pytest.mark.parametrize("work", ["while True: pass", "time.sleep(500)", DEAF])
def test_reading_ends_in_time(tmp_path: Path, work: str) -> None:
    """A file that makes a parser loop, or a file that grows, would hang a command for ever."""
    # Whoever hears the signal may be late on a busy machine.
    grace = 0.5 if work == DEAF else 300
    answer = read(tmp_path, work, f"dict(seconds=0.2, grace={grace})")
    assert answer.returncode in (1, 2)
    message = f"{tmp_path}: expected runs that can be read in 0.2 s, and these take longer.\n"
    prefix = "truecost: " if answer.returncode == 2 else "refused: "
    assert answer.stderr == prefix + message
    assert answer.returncode == (2 if work == DEAF else 1)


def test_reading_stays_in_its_memory(tmp_path: Path) -> None:
    """A small file that unpacks to anything would take all memory, and other programs with it."""
    (tmp_path / "small").write_bytes(b"1" * 1000)
    answer = read(tmp_path / "small", GROWING, "dict(memory=100 << 20)")
    assert "with 0.0977 GB of memory, and these take more" in answer.stderr
    large = "parts = bytearray(b'1') * (150 << 20); time.sleep(0.3)"
    assert read(tmp_path / "small", large, "dict(memory=1, per_byte=1 << 20)").stdout == "read\n"


def test_what_is_read_in_time_is_read(tmp_path: Path) -> None:
    """A limit that stayed behind would end a command long after its runs were read."""
    # Doing nothing takes no two seconds, on a busy machine neither.
    for work in ("pass", "pass\n    time.sleep(2.5)"):
        assert read(tmp_path, work, "dict(seconds=2)").stdout == "read\n"


@pytest.mark.parametrize("command", ["info", "audit", "import"])
def test_commands_read_under_limits(tmp_path: Path, command: str) -> None:
    """A command that reads runs in a way of its own would have no limit."""
    rows = "".join(f"c{row % 7},i{row // 7},{row}\n" for row in range(70_000))
    (tmp_path / "runs.csv").write_text(f"configuration,instance,cost\n{rows}")
    script = (
        "import sys; from truecost.cli import limits, main; limits.SECONDS = 0.0;"
        f"sys.argv[1:] = [{command!r}, {str(tmp_path / 'runs.csv')!r}]; main()"
    )
    answer = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=600, check=False
    )
    assert answer.returncode == 2
    assert "expected runs that can be read in 0 s, and these take longer" in answer.stderr
    assert answer.stderr.count("\n") == 1
    assert answer.stdout == ""
