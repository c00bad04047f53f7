import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.mark.slow
def test_no_cell_of_the_benchmark_is_rejected() -> None:
    """A limit of some quantity, unit or look, or the badge, would be wrong more often than δ."""
    command = [sys.executable, "-m", "bench.coverage", "--quick"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "rejected at 0.001: 0" in done.stdout
