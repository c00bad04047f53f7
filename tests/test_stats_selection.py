import math
from itertools import combinations

import numpy as np
import pytest

from truecost.errors import InputError
from truecost.stats.selection import (
    ALL_FOR_HALF,
    difficulty,
    selection_error,
)


def test_every_half_by_hand() -> None:
    """The selection error would not be the mean of held-out − training cost over all halves, in the
    paper's sign.
    """
    costs = np.random.default_rng(1).random((5, 6))
    errors, held_outs = [], []
    for half in combinations(range(6), 3):
        train, rest = costs[:, list(half)], np.delete(costs, half, axis=1)
        chosen = int(train.mean(axis=1).argmin())
        errors.append(rest[chosen].mean() - train[chosen].mean())
        held_outs.append(rest[chosen].mean())
    estimate = selection_error(costs)
    assert estimate is not None
    assert estimate.splits == math.comb(6, 3)
    assert estimate.error == pytest.approx(ALL_FOR_HALF * np.mean(errors))
    assert estimate.error > 0
    assert estimate.held_out == pytest.approx(np.mean(held_outs))


def test_random_halves_are_near_all_halves() -> None:
    """Random halves would estimate another number than all of them."""
    costs = np.random.default_rng(2).random((20, 11))
    every, some = selection_error(costs), selection_error(costs, splits=900, rng=1)
    assert every is not None
    assert some is not None
    assert every.splits == 2 * math.comb(11, 5)
    assert some.error == pytest.approx(every.error, rel=0.2)
    again = selection_error(costs, splits=900, rng=1)
    assert again == some


def test_one_configuration_is_never_chosen() -> None:
    """A single configuration would have an error of selection, by rounding or by uneven halves."""
    costs = np.random.default_rng(3).lognormal(0, 2, (1, 9))
    for splits in (1000, 50):
        estimate = selection_error(costs, splits=splits)
        assert estimate is not None
        assert estimate.error == 0


def test_a_clear_best_has_no_error() -> None:
    """A configuration that is best by far would be said to be too good by chance."""
    costs = np.random.default_rng(4).normal(10, 1, (8, 40))
    costs[3] -= 8
    estimate = selection_error(costs, splits=2000)
    assert estimate is not None
    assert abs(estimate.error) < 0.1
    assert estimate.held_out == pytest.approx(costs[3].mean(), abs=0.1)


def test_families_are_split_whole() -> None:
    """Members of a family would stand on both sides of a split."""
    rng = np.random.default_rng(5)
    level = rng.random((30, 6))
    labels = np.repeat(list("abcdef"), 4).tolist()
    costs = np.repeat(level, 4, axis=1)
    split, whole = selection_error(costs), selection_error(costs, families=labels)
    assert split is not None
    assert whole == selection_error(level)
    assert whole is not None
    assert whole.error > split.error


def test_missing_runs_are_adjusted_for() -> None:
    """A configuration that was run on easy instances only would be taken for a good one."""
    rng = np.random.default_rng(6)
    added = np.linspace(-5, 5, 24)
    costs = 5 + rng.random((6, 1)) * 0.01 + added
    costs[0, 12:] = np.nan
    costs[1, :8] = np.nan
    assert difficulty(costs) == pytest.approx(added)
    estimate = selection_error(costs, splits=400)
    assert estimate is not None
    assert abs(estimate.error) < 0.2


def test_too_few_units() -> None:
    """One instance would be split into halves."""
    assert selection_error(np.ones((3, 1))) is None
    assert selection_error(np.ones((2, 3)), families=["a", "a", "a"]) is None
    with pytest.raises(InputError, match="configurations, instances"):
        selection_error(np.ones(3))
