import math
from itertools import product

import numpy as np
import pytest
from scipy.stats import binom

from truecost.stats import ladder
from truecost.stats.ladder import climb, has_ladder, penalty_ranges
from truecost.stats.quantities import Runs, Scale, difference, limits

PAR10 = Scale(low=0, high=100, cutoff=10.0, par=10.0)


def pair(
    n: int, seed: int, ours: float = 1.0, theirs: float = 1.0, late: tuple[float, float] = (0, 0)
) -> tuple[Runs, Runs]:
    """Running times with these factors and shares of timeouts."""
    rng = np.random.default_rng(seed)
    level = rng.gamma(4, 0.25, (n, 1))
    sides = []
    for factor, share in ((ours, late[0]), (theirs, late[1])):
        failed = rng.random((n, 1)) < share
        times = np.minimum(factor * level * rng.lognormal(0, 0.2, (n, 1)), 9.9)
        sides.append(Runs(costs=np.where(failed, 100.0, times), failed=failed))
    return sides[0], sides[1]


def test_climbing_stops_at_the_first_that_is_not_proven() -> None:
    """A penalty beyond one that is not proven would be claimed, for some pattern of proofs."""
    outward, inward = (3.0, 5.0, math.inf), (1.5, 1.0)
    every = (*inward[::-1], ladder.START, *outward)
    for pattern in product([False, True], repeat=len(every)):
        proofs = dict(zip(every, pattern, strict=True))
        found = climb(proofs.__getitem__, outward, inward)
        if not proofs[ladder.START]:
            assert found is None
            continue
        assert found is not None
        low, high = found
        inside = [k for k in every if low <= k <= high]
        assert all(proofs[k] for k in inside)
        below, above = every.index(low) - 1, every.index(high) + 1
        assert below < 0 or not proofs[every[below]]
        assert above == len(every) or not proofs[every[above]]


def test_faster_without_timeouts() -> None:
    """A winner that is clearly faster and fails never would not be better up to some penalty, or be
    claimed to solve more.
    """
    found = penalty_ranges(*pair(100, 1, ours=1.0, theirs=3.0), PAR10)
    assert found.better is not None
    assert found.better[0] == 1
    assert 2 <= found.better[1] < math.inf
    assert found.worse is None
    assert set(found.tried) <= {1, 1.5, 2, 3, 5, 7.5, 10, math.inf}


def test_slower_but_solves_more() -> None:
    """A configuration that solves far more would not be better at every penalty; swapped it would
    not be worse.
    """
    ours, theirs = pair(150, 2, ours=1.0, theirs=1.0, late=(0.02, 0.35))
    better = penalty_ranges(ours, theirs, PAR10)
    assert better.better is not None
    assert better.better[1] == math.inf
    worse = penalty_ranges(theirs, ours, PAR10)
    assert worse.worse == better.better
    assert worse.better is None


def test_mixed() -> None:
    """A winner that is faster and fails more often would be called better at a high penalty."""
    ours, theirs = pair(400, 3, ours=0.2, theirs=4.0, late=(0.12, 0.02))
    found = penalty_ranges(ours, theirs, PAR10)
    assert found.better is not None
    assert found.better[1] < 10
    assert found.worse is None


def test_proof_at_the_declared_penalty_is_in_the_limits() -> None:
    """The ladder would claim the declared penalty where the limits printed beside it contain 0."""
    for seed in range(6):
        ours, theirs = pair(80, seed, late=(0.05, 0.3))
        found = penalty_ranges(ours, theirs, PAR10)
        if found.better is not None and found.better[1] >= 10:
            assert limits(difference(ours, theirs, PAR10)).direction == -1


def test_families_and_watching() -> None:
    """Families would not be the units, or looks after every unit decide as one look does."""
    ours, theirs = pair(100, 1, ours=0.3, late=(0.02, 0.4))
    assert penalty_ranges(ours, theirs, PAR10).better is not None
    families = [str(k % 4) for k in range(100)]
    assert penalty_ranges(ours, theirs, PAR10, families=families).better is None
    watched = penalty_ranges(ours, theirs, PAR10, watched=True, planned=100)
    assert watched.better is not None


@pytest.mark.parametrize("null", [1.0, 3.0, math.inf])
def test_false_claims_are_rare(null: float) -> None:
    """Where the difference is 0 at some penalty, a false direction would be claimed too often."""
    delta, sets, n, misses = 0.2, 150, 40, 0
    rng = np.random.default_rng(7)
    # 1 s slower in solved runs against more timeouts: D(k) = 0 at k = null.
    more = 0.15 if math.isfinite(null) else 0.0
    gap = 10 * null * more if math.isfinite(null) else 2.0
    for _ in range(sets):
        failed = rng.random((n, 1)) < 0.15
        other = rng.random((n, 1)) < 0.15 + more
        # Ours solves more, but each solved run takes longer.
        times = np.full((n, 1), gap / 0.85 + (1 - 0.15 - more) / 0.85 if more else 3.0)
        ours = Runs(costs=np.where(failed, 100.0, times), failed=failed)
        theirs = Runs(costs=np.where(other, 100.0, 1.0), failed=other)
        found = penalty_ranges(ours, theirs, PAR10, delta)
        better, worse = found.better, found.worse
        misses += bool(better is not None and better[0] <= null)
        misses += bool(worse is not None and worse[1] >= null)
    # Either direction may err with δ; that both do is rarer.
    assert binom.sf(misses - 1, sets, 2 * delta) > 1e-3


def test_which_costs_have_a_ladder() -> None:
    """Qualities, PAR1 and PAR2 would get several penalties."""
    assert has_ladder(PAR10)
    assert not has_ladder(Scale(low=0, high=20, cutoff=10.0, par=2.0))
    assert not has_ladder(Scale(low=0, high=20))
