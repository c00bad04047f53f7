"""`truecost reproduce` in a process of its own: the whole section in one go."""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from truecost.matrix import CostMatrix


def reproducing(name: str, matrix: CostMatrix, splits: int) -> None:
    """Wall time, processor time and peak memory, figures included."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "matrix.npz"
        matrix.save(path)
        words = [
            "reproduce",
            str(path),
            "--out",
            str(Path(folder) / "out"),
            "--splits",
            str(splits),
            "--quiet",
        ]
        start = time.perf_counter()
        work = subprocess.Popen(
            [sys.executable, "-m", "truecost.cli", *words], stdout=subprocess.DEVNULL
        )
        _, status, used = os.wait4(work.pid, 0)
        wall = time.perf_counter() - start
        work.returncode = os.waitstatus_to_exitcode(status)
        assert work.returncode == 0
        size = sum(
            file.stat().st_size for file in (Path(folder) / "out").rglob("*") if file.is_file()
        )
    print(
        f"truecost reproduce, {name}, {splits:,} splits: {wall:.0f} s wall, "
        f"{used.ru_utime + used.ru_stime:.0f} s of processor, peak memory {used.ru_maxrss / 1024:.0f} MB; "
        f"{size / 2**20:.1f} MB of figures, data and page",
        flush=True,
    )
