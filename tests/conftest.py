import gc
import os
from collections import Counter
from pathlib import Path

import commands
import pytest
from hypothesis import settings

# No test asserts a time, and none passes here and fails there by its draws.
# `--hypothesis-profile explore` draws others each time.
settings.register_profile("explore", deadline=None, derandomize=False)
settings.register_profile("same", deadline=None, derandomize=True, database=None)
settings.load_profile("same")


def pytest_configure() -> None:
    """Keep the folders of tests in memory where it has room and runs programs: journals wait for
    the disk after every batch of runs.
    """
    memory = Path("/dev/shm")
    if memory.is_dir():
        shared = os.statvfs(memory)
        if shared.f_bavail * shared.f_frsize > 2 << 30 and not shared.f_flag & os.ST_NOEXEC:
            os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(memory))


@pytest.fixture
def run() -> commands.Run:
    """The command line, without the second that a process of its own takes."""
    return commands.run


@pytest.fixture
def own_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Cores are claimed among the processes of one test only, whatever else runs here."""
    (tmp_path / "locks").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "locks"))
    monkeypatch.setattr("tempfile.tempdir", None)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out tests of files that lie beside the repository on some machines only."""
    left_out = [
        item
        for item in items
        if (mark := item.get_closest_marker("beside")) is not None and not mark.args[0].exists()
    ]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item not in left_out]


def pytest_collection_finish() -> None:
    """Keep the garbage collector from going through all imported modules again and again."""
    gc.freeze()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say in one line what was skipped, and why."""
    reports = terminalreporter.stats.get("skipped", [])
    reasons = Counter(str(report.longrepr[2]).removeprefix("Skipped: ") for report in reports)
    if reasons:
        listed = "; ".join(f"{count} × {reason}" for reason, count in reasons.most_common())
        terminalreporter.write_line(f"Not tested here: {listed}.")
