"""Which changes matter: the decisions, on costs that are known."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import ArrayLike, NDArray

from truecost.race.ablation import Changes, Measure, SpentError, simplify, walk

FloatArray = NDArray[np.float64]


class Costs:
    """Costs that fall by the effects of the changes made; runs are counted once each."""

    def __init__(self, effects: ArrayLike, noise: float = 0.0, most: float = np.inf) -> None:
        self._effects, self._noise, self._most = np.array(effects), noise, most
        self.runs: set[tuple[Changes, int]] = set()

    def __call__(self, sets: Sequence[Changes], count: int) -> FloatArray:
        """As `Measure`."""
        wanted = {(made, run) for made in sets for run in range(count)} - self.runs
        if len(self.runs) + len(wanted) > self._most:
            raise SpentError("spent")
        self.runs |= wanted
        difficulty = np.random.default_rng(3).exponential(1.0, count)
        rows = []
        for made in sets:
            rng = np.random.default_rng([7, *sorted(made)])
            gain = self._effects[sorted(made)].sum()
            rows.append(10 - gain + difficulty + self._noise * rng.standard_normal(200)[:count])
        return np.array(rows)


@settings(deadline=None, max_examples=40)
@given(st.sets(st.integers(0, 39), min_size=1, max_size=5), st.integers(0, 1000))
def test_what_matters_is_kept_and_nothing_else(important: set[int], seed: int) -> None:
    """A change that does nothing would be called necessary, or one that matters be undone."""
    effects = np.zeros(40)
    effects[sorted(important)] = 1.0
    order = np.random.default_rng(seed).permutation(40).tolist()
    measure: Measure = Costs(effects)
    kept, _ = simplify(order, measure, 20, 0.05)
    assert kept == important
    steps = walk(kept, measure, 20)
    assert [step.gain for step in steps] == pytest.approx([1.0] * len(important))


def test_few_runs_find_five_of_a_hundred() -> None:
    """Explaining a hundred changes would take as many runs as walking the whole path."""
    effects = np.zeros(100)
    effects[[3, 30, 31, 62, 99]] = [2, 1, 0.5, 1, 3]
    measure = Costs(effects, noise=0.3)
    kept, _ = simplify(range(100), measure, 40, 0.05)
    assert kept == {3, 30, 31, 62, 99}
    steps = walk(kept, measure, 40)
    assert [step.changes for step in steps][:2] == [(99,), (3,)]
    # The whole path takes 100 · 101 / 2 sets of changes.
    assert len(measure.runs) < 0.02 * 40 * 5050


def test_changes_that_only_help_together_are_kept() -> None:
    """Each of two changes that need each other would be undone because it does nothing alone."""

    def measure(sets: Sequence[Changes], count: int) -> FloatArray:
        return np.array([np.full(count, 1.0 if {4, 11} <= made else 5.0) for made in sets])

    kept, _ = simplify(range(16), measure, 10, 0.05)
    assert kept == {4, 11}
    assert [len(step.changes) for step in walk(kept, measure, 10)] == [1, 1]


def test_a_spent_budget_leaves_what_is_known() -> None:
    """Runs would be lost, or a path made up, when the budget ends on the way."""
    effects = np.zeros(30)
    effects[[1, 8, 20]] = [3, 2, 1]
    free = Costs(effects)
    kept, complete = simplify(range(30), free, 10, 0.05)
    assert complete
    walk(kept, free, 10)
    tight = Costs(effects, most=len(free.runs) - 12)
    kept, _ = simplify(range(30), tight, 10, 0.05)
    steps = walk(kept, tight, 10)
    assert frozenset(change for step in steps for change in step.changes) == kept
    assert sum(step.gain for step in steps) == pytest.approx(6.0)
    stopped, complete = simplify(range(30), Costs(effects, most=60), 10, 0.05)
    assert not complete
    assert {1, 8, 20} <= stopped
