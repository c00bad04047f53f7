"""`truecost report`: what the page costs beside the audit that it draws."""

import time
from collections.abc import Callable
from typing import TypeVar

import numpy as np

from truecost.matrix import CostMatrix
from truecost.show.html import page as render
from truecost.stats.synthetic import runtime_model
from truecost.verbs import audit, report

Answer = TypeVar("Answer")


def reporting(matrix: CostMatrix) -> None:
    """Seconds from runs to a whole file, beside `audit` alone; megabytes of the file, also at 500 ×
    250 × 5.
    """
    rng = np.random.default_rng(1)
    small = runtime_model(configurations=500, rng=rng).draw(instances=250, runs=5, rng=rng)
    few = small.select(configurations=small.configurations[:4], instances=small.instances[:10])
    render(report(few, name="few", splits=10))  # compiles, and puts together the JavaScript
    default = matrix.configurations[0]

    def made(matrix: CostMatrix) -> bytes:
        return render(report(matrix, name="bench", default=default, chosen="from-list")).encode()

    def audited() -> object:
        return audit(matrix, default=default, chosen="from-list")

    page, ours = _timed(lambda: made(matrix))
    _, reference = _timed(audited)
    shape = " × ".join(str(size) for size in matrix.shape)
    print(
        f"\ntruecost report, {shape}, 1,000 splits: {ours:.1f} s, of which the audit is {reference:.2f} s "
        f"({ours / reference:.0f} times it); {len(page) / 1e6:.2f} MB; 500 × 250 × 5: {len(made(small)) / 1e6:.2f} MB",
        flush=True,
    )


def _timed(call: Callable[[], Answer]) -> tuple[Answer, float]:
    """The answer, and the least of two wall times."""
    spent = []
    for _ in range(2):
        start = time.perf_counter()
        answer = call()
        spent.append(time.perf_counter() - start)
    return answer, min(spent)
