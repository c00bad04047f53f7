import gc
import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import commands
import pytest
from hypothesis import settings
from starting import Starter

# No test asserts a time, on machines that are as noisy as ours; and none passes here and fails
# there by its draws. `--hypothesis-profile explore` draws others each time.
settings.register_profile("explore", deadline=None, derandomize=False)
settings.register_profile("same", deadline=None, derandomize=True, database=None)
settings.load_profile("same")

# They wait more than they work, for clusters, kills and limits. One process of xdist begins with
# them while the others work; at the end they would keep everybody waiting.
WAITING = (
    "test_slurm.py",
    "test_cluster_faults.py",
    "test_cluster.py",
    "test_gather.py",
    "test_execute.py",
    "test_litter.py",
)


def pytest_configure() -> None:
    """Keep the folders of tests in memory where it has room and runs programs: journals wait for
    the disk after every run, thousands of times.

    Imports make a million objects that stay: until they are done the collector of garbage looks at
    them for nothing.
    """
    gc.disable()
    memory = Path("/dev/shm")
    if memory.is_dir():
        there = os.statvfs(memory)
        if there.f_bavail * there.f_frsize > 2 << 30 and not there.f_flag & os.ST_NOEXEC:
            os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(memory))


@pytest.fixture
def run() -> commands.Run:
    """The command line without the second that a process of its own takes."""
    return commands.run


@pytest.fixture(scope="session")
def starter() -> Iterator[Starter]:
    """Starts processes that have loaded what gathers and searches, here and on clusters."""
    with Starter(
        "distributed.cli.dask_scheduler",
        "distributed.cli.dask_worker",
        "truecost.cli.configure",
        "truecost.cli.campaign",
        "truecost.running.pools.dask",
        "truecost.campaigns.configure",
        "truecost.campaigns.gather",
        "truecost.show.document.next_steps",
        "truecost.show.terminal",
        "truecost.stats.ratios",
    ) as made:
        yield made


@pytest.fixture
def own_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Cores are claimed among the processes of one test only, whatever else runs on this machine."""
    (tmp_path / "locks").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "locks"))
    monkeypatch.setattr("tempfile.tempdir", None)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out tests of what others wrote where it does not lie beside the repository: ours test
    the same. Then order.
    """
    left_out = [
        item
        for item in items
        if (mark := item.get_closest_marker("beside")) is not None and not mark.args[0].exists()
    ]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item not in left_out]
    places = {name: place for place, name in enumerate(WAITING)}
    items.sort(key=lambda item: places.get(item.path.name, len(places)))


def pytest_collection_finish() -> None:
    """Keep the collector of garbage from going through all that was imported, again and again, for
    nothing.
    """
    gc.enable()
    gc.freeze()


def pytest_unconfigure() -> None:
    """End without going through everything for garbage once more."""
    gc.freeze()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say in one line what was skipped, why, and what to install."""
    reports = terminalreporter.stats.get("skipped", [])
    reasons = Counter(str(report.longrepr[2]).removeprefix("Skipped: ") for report in reports)
    if reasons:
        said = "; ".join(f"{count} × {reason}" for reason, count in reasons.most_common())
        terminalreporter.write_line(f"Not tested here: {said}.")
