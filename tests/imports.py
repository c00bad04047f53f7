"""What the tests of importers share."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from truecost.errors import InputError
from truecost.importers import import_runs
from truecost.matrix import CostMatrix, Log, Reading

DATA = Path(__file__).parent / "data"
# Real files of others, where they lie beside the repository.
SHARED = Path(__file__).parent.parent.parent / "shared" / "data"


def load(source: Any, **options: Any) -> Log:
    """Runs, read with these options."""
    return import_runs(source, Reading(**options))


def costs(source: Any, **options: Any) -> Any:
    """The costs of runs, one run a cell, as nested lists."""
    return load(source, **options).runs.costs[:, :, 0].tolist()


def refused(source: Any, **options: Any) -> str:
    """Why runs are refused: one line."""
    with pytest.raises(InputError) as refusal:
        load(source, **options)
    assert "\n" not in str(refusal.value)
    assert len(str(refusal.value)) < 600
    return str(refusal.value)


def write(path: Path, content: str | bytes) -> Path:
    """The path, with this in it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def codes(log: Log) -> list[str]:
    """The codes of the caveats."""
    return [caveat.code for caveat in log.caveats]


def sentences(log: Log) -> str:
    """The caveats as one text."""
    return " ".join(caveat.sentence for caveat in log.caveats)


def statuses(matrix: CostMatrix) -> Any:
    """How runs ended; an error where nothing says it."""
    assert matrix.statuses is not None
    return matrix.statuses


def cells(matrix: CostMatrix) -> dict[tuple[str, str, int], float]:
    """The cost of each run, by configuration, instance and seed."""
    assert matrix.seeds is not None
    return {
        (matrix.configurations[i], matrix.instances[j], int(matrix.seeds[i, j, r])): float(
            matrix.costs[i, j, r]
        )
        for i, j, r in np.argwhere(~np.isnan(matrix.costs))
    }
