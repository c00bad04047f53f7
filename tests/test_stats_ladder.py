import math
from itertools import product

import numpy as np
import pytest
from numpy.typing import ArrayLike

from truecost.stats import ladder
from truecost.stats.ladder import climb, has_ladder, penalty_ranges
from truecost.stats.quantities import Runs, Scale, difference, limits

PAR10 = Scale(low=0, high=100, cutoff=10.0, par=10.0)


def side(times: ArrayLike, failed: ArrayLike) -> Runs:
    """Running times, one per instance; what failed costs PAR10."""
    late = np.atleast_1d(np.asarray(failed, bool))[:, np.newaxis]
    return Runs(costs=np.where(late, 100.0, np.reshape(times, (-1, 1))), failed=late)


def pair(
    n: int, seed: int, ours: float = 1.0, theirs: float = 1.0, late: tuple[float, float] = (0, 0)
) -> tuple[Runs, Runs]:
    """Running times with these factors and shares of timeouts."""
    rng = np.random.default_rng(seed)
    level = rng.gamma(4, 0.25, n)
    winner, default = (
        side(np.minimum(factor * level * rng.lognormal(0, 0.2, n), 9.9), rng.random(n) < share)
        for factor, share in ((ours, late[0]), (theirs, late[1]))
    )
    return winner, default


def test_climbing_stops_at_the_first_that_is_not_proven() -> None:
    """A penalty beyond one that is not proven would be claimed, for some pattern of proofs."""
    outward, inward = (3.0, 5.0, math.inf), (1.5, 1.0)
    every = (*inward[::-1], ladder.START, *outward)
    for pattern in product([False, True], repeat=len(every)):
        proofs = dict(zip(every, pattern, strict=True))
        ends = climb(proofs.__getitem__, outward, inward)
        if not proofs[ladder.START]:
            assert ends is None
            continue
        assert ends is not None
        low, high = (every.index(end) for end in ends)
        assert all(pattern[low : high + 1])
        assert not any(pattern[low - 1 : low])
        assert not any(pattern[high + 1 : high + 2])


def test_faster_and_more_solved() -> None:
    """A winner that is faster would not be better up to some penalty, one that solves far more not
    at every penalty, and one that fails more often would be better at a high one.
    """
    faster = penalty_ranges(*pair(100, 1, theirs=3.0), PAR10)
    assert faster.better is not None
    assert faster.better[0] == 1
    assert 2 <= faster.better[1] < math.inf
    assert faster.worse is None
    assert set(faster.limits) <= {1, 1.5, 2, 3, 5, 7.5, 10, math.inf}
    ours, theirs = pair(150, 2, late=(0.02, 0.35))
    solves, swapped = penalty_ranges(ours, theirs, PAR10), penalty_ranges(theirs, ours, PAR10)
    assert solves.better is not None
    assert solves.better[1] == math.inf
    assert (swapped.better, swapped.worse) == (None, solves.better)
    mixed = penalty_ranges(*pair(400, 3, ours=0.2, theirs=4.0, late=(0.12, 0.02)), PAR10)
    assert mixed.better is not None
    assert mixed.better[1] < 10
    assert mixed.worse is None


def test_limits_are_those_of_the_difference() -> None:
    """The ladder would claim the declared penalty where the limits printed beside it contain 0."""
    ours, theirs = pair(80, 1, late=(0.05, 0.4))
    ranges = penalty_ranges(ours, theirs, PAR10)
    assert ranges.limits[10] == limits(difference(ours, theirs, PAR10))
    assert ranges.limits[10].direction == -1
    assert ranges.better is not None
    assert ranges.better[1] >= 10


def test_families_and_watching() -> None:
    """Families would not be the units, or looks after every unit forget what an earlier one proved."""
    ours, theirs = pair(100, 1, ours=0.3, late=(0.02, 0.4))
    assert penalty_ranges(ours, theirs, PAR10).better is not None
    families = [str(k % 4) for k in range(100)]
    assert penalty_ranges(ours, theirs, PAR10, families=families).better is None
    assert penalty_ranges(ours, theirs, PAR10, planned=100).better is not None
    # First a lead on 80 instances, then only timeouts: proven either way, at different looks.
    late = np.arange(120) >= 80
    ours, theirs = side(np.full(120, 0.1), late), side(np.full(120, 9.0), np.zeros(120))
    turned = penalty_ranges(ours, theirs, PAR10, planned=120)
    assert turned.better == (1.0, 10.0)
    # At 2 only "better" is proven, so what is proven later at 10 counts for nothing.
    assert turned.worse is None
    assert (turned.limits[10].direction, turned.limits[10].lower) == (-1, 0)


@pytest.mark.parametrize("null", [1.0, 3.0, math.inf])
def test_exact_error_over_all_penalties(null: float) -> None:
    """Over all samples of four instances, a false direction would be claimed at some penalty with
    more than δ.
    """
    delta, ours_fails, theirs_fails = 0.45, 0.3, 0.3 if math.isinf(null) else 0.4
    # Ours solves more, but each solved run takes longer: D(k) = 0 at k = null.
    gain = 0 if math.isinf(null) else 10 * null * (theirs_fails - ours_fails)
    time = 3.0 if math.isinf(null) else (gain + 1 - theirs_fails) / (1 - ours_fails)
    errors = np.zeros(2)
    for ours, theirs in product(product([0, 1], repeat=4), repeat=2):
        ranges = penalty_ranges(
            side(np.full(4, time), ours), side(np.ones(4), theirs), PAR10, delta
        )
        chances = np.where(ours, ours_fails, 1 - ours_fails) * np.where(
            theirs, theirs_fails, 1 - theirs_fails
        )
        better, worse = ranges.better, ranges.worse
        # Better is false up to the null, worse from it on.
        false = [better is not None and better[0] <= null, worse is not None and worse[1] >= null]
        errors += np.array(false) * chances.prod()
    assert (errors <= delta).all()
    assert errors.any()


def test_which_costs_have_a_ladder() -> None:
    """Qualities, PAR1 and PAR2 would get several penalties."""
    assert has_ladder(PAR10)
    assert not has_ladder(Scale(low=0, high=20, cutoff=10.0, par=2.0))
    assert not has_ladder(Scale(low=0, high=20))
