"""Makes the folder aslib/kissat-small: `python make_aslib.py`.

A few configurations and instances of the example matrix `kissat`, written as ASlib asks for it.
"""

from pathlib import Path

import numpy as np

from truecost import load_example
from truecost.runs import Status

CUTOFF = 0.5
HEAD = """@RELATION ALGORITHM_RUNS_KISSAT-SMALL

@ATTRIBUTE instance_id STRING
@ATTRIBUTE repetition NUMERIC
@ATTRIBUTE algorithm STRING
@ATTRIBUTE PAR10 NUMERIC
@ATTRIBUTE runstatus {ok, timeout, memout, not_applicable, crash, other}

@DATA
"""
DESCRIPTION = f"""scenario_id: KISSAT-SMALL
performance_measures: PAR10
maximize: false
performance_type: runtime
algorithm_cutoff_time: {CUTOFF}
algorithm_cutoff_memory: '?'
features_cutoff_time: '?'
algorithms_deterministic: ''
algorithms_stochastic: {{names}}
"""


def main() -> None:
    """Write it."""
    matrix = load_example("kissat")
    matrix = matrix.select(matrix.configurations[:6], matrix.instances[:20])
    assert matrix.statuses is not None
    words = {Status.SOLVED: "ok", Status.TIMEOUT: "timeout"}
    lines = [
        f"{matrix.instances[j]},{r + 1},{matrix.configurations[i]},"
        f"{min(float(matrix.costs[i, j, r]), CUTOFF)!r},{words[Status(int(matrix.statuses[i, j, r]))]}"
        for i, j, r in np.ndindex(matrix.shape)
    ]
    folder = Path(__file__).parent / "aslib" / "kissat-small"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "algorithm_runs.arff").write_text(HEAD + "\n".join(lines) + "\n")
    (folder / "description.txt").write_text(
        DESCRIPTION.format(names=", ".join(matrix.configurations))
    )


if __name__ == "__main__":
    main()
