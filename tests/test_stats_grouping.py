import numpy as np
from scipy.stats import binom

from truecost.stats.grouping import alike, codes_of


def test_families_that_are_alike_are_test() -> None:
    """Instances of families would pass for independent draws."""
    rng = np.random.default_rng(1)
    labels = np.repeat(np.arange(12), 6).tolist()
    values = rng.normal(0, 1, 12)[labels] + rng.normal(0, 0.5, 72)
    other = rng.permutation(labels).tolist()
    test = alike([rng.random(72), values], {"shuffled": other, "family": labels})
    assert test is not None
    assert test.grouping == "family"
    assert test.groups == 12
    assert test.significant


def test_labels_without_a_meaning_are_rarely_significant() -> None:
    """The maximum over groupings and variables would not be what a permutation is compared with."""
    rng, sets, wrong = np.random.default_rng(2), 120, 0
    for _ in range(sets):
        groupings = {str(k): rng.integers(5, size=30).tolist() for k in range(4)}
        test = alike(rng.lognormal(0, 2, (3, 30)), groupings, rng=rng)
        assert test is not None
        wrong += test.p_value <= 0.1
    assert binom.sf(wrong - 1, sets, 0.1) > 1e-3


def test_groups_that_say_nothing() -> None:
    """One group, a group for each instance, or constant costs would be tested."""
    values = np.arange(6.0)
    assert alike(values, {"one": ["a"] * 6, "each": list("abcdef")}) is None
    assert alike(np.ones(6), {"two": list("aabbab")}) is None


def test_groups_that_explain_everything() -> None:
    """Rounding would make the variance within groups negative."""
    labels = list("aaabbbccc")
    test = alike(np.array([1.0] * 3 + [2.0] * 3 + [3.0] * 3) / 3, {"g": labels})
    assert test is not None
    assert test.p_value < 0.05


def test_labels_are_numbered_as_they_come() -> None:
    """Families would be mixed up."""
    assert codes_of(list("bab")).tolist() == [0, 1, 0]
