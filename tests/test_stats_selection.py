import math
from itertools import combinations

import numpy as np
import pytest
from scipy.stats import binom

from truecost.errors import InputError
from truecost.stats.selection import ALL_FOR_HALF, earlier_incumbent, selection_error


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
    found = selection_error(costs)
    assert found is not None
    assert found.splits == math.comb(6, 3)
    assert found.error == pytest.approx(ALL_FOR_HALF * np.mean(errors))
    assert found.error > 0
    assert found.held_out == pytest.approx(np.mean(held_outs))


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
        found = selection_error(costs, splits=splits)
        assert found is not None
        assert found.error == 0


def test_a_clear_best_has_no_error() -> None:
    """A configuration that is best by far would be said to be too good by chance."""
    costs = np.random.default_rng(4).normal(10, 1, (8, 40))
    costs[3] -= 8
    found = selection_error(costs, splits=2000)
    assert found is not None
    assert abs(found.error) < 0.1
    assert found.held_out == pytest.approx(costs[3].mean(), abs=0.1)


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
    quality, difficulty = rng.random((6, 1)) * 0.01, np.linspace(0, 10, 24)
    costs = quality + difficulty
    costs[0, 12:] = np.nan
    costs[1, :8] = np.nan
    found = selection_error(costs, splits=400)
    assert found is not None
    assert abs(found.error) < 0.2


def test_too_few_units() -> None:
    """One instance would be split into halves."""
    assert selection_error(np.ones((3, 1))) is None
    assert selection_error(np.ones((2, 3)), families=["a", "a", "a"]) is None
    with pytest.raises(InputError, match="configurations, instances"):
        selection_error(np.ones(3))


# ---- earlier incumbents --------------------------------------------------------------------------


def test_a_better_incumbent_is_named() -> None:
    """A search that went past a clearly better configuration would not be told so."""
    rng = np.random.default_rng(7)
    base = rng.random(80)
    tests = [base, base - 0.5, base + 0.1, base + 0.2]
    found = earlier_incumbent(tests, -1, 2)
    assert found is not None
    assert found.place == 1
    assert found.difference == pytest.approx(0.7)
    assert found.proven
    assert 0 <= found.lower < 0.7


def test_the_least_of_noisy_means_proves_nothing() -> None:
    """Among equal incumbents one would be called better more often than δ."""
    rng, sets, wrong = np.random.default_rng(8), 80, 0
    for _ in range(sets):
        tests = list((rng.random((5, 25)) < 0.5).astype(float))
        found = earlier_incumbent(tests, 0, 1, 0.2)
        assert found is not None
        wrong += found.proven
    assert binom.sf(wrong - 1, sets, 0.2) > 1e-3


def test_each_earlier_incumbent_has_its_share() -> None:
    """The limit of one of many earlier incumbents would be as tight as that of a single one."""
    rng = np.random.default_rng(9)
    base = rng.random(60)
    two, many = [base - 0.3, base], [base - 0.3, *(base + 1 for _ in range(8)), base]
    one, ninth = (earlier_incumbent(tests, -1, 2) for tests in (two, many))
    assert one is not None
    assert ninth is not None
    assert ninth.place == 0
    assert ninth.lower < one.lower


def test_incumbents_without_common_units() -> None:
    """Costs on different instances would be compared."""
    nothing = np.array([math.nan, math.nan, 1.0])
    final = np.array([1.0, 2.0, math.nan])
    assert earlier_incumbent([nothing, final], 0, 5) is None
    assert earlier_incumbent([final], 0, 5) is None
    with pytest.raises(InputError, match="Give low and high"):
        earlier_incumbent([final, final], 0, math.inf)
