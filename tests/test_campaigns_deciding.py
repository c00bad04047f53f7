"""When a test is decided, and when it is hopeless."""

import numpy as np
import pytest
from scipy.stats import binomtest

from truecost.campaigns.deciding import Decider
from truecost.stats.betting import Watch
from truecost.stats.quantities import Runs, Scale

PAR10 = Scale(low=0.0, high=10.0, cutoff=1.0, par=10.0)
VALUE = Scale(low=0.0, high=1.0)


def one(cost: float, failed: bool = False) -> Runs:
    """A unit of one run."""
    return Runs(costs=np.array([[cost]]), failed=np.array([[failed]]))


def feed(decider: Decider, winner: list[float], default: list[float]) -> int:
    """Add units until it is decided; how many it took. Costs of 10 are timeouts."""
    for place, (ours, theirs) in enumerate(zip(winner, default, strict=True), 1):
        decider.add(one(ours, ours >= 10), one(theirs, theirs >= 10))
        if decider.decided:
            return place
    return 0


@pytest.mark.parametrize(
    ("primary", "margin"), [("mean", None), ("wins", None), ("mean", "5%")]
)  # fmt: skip
@pytest.mark.parametrize("sign", [1, -1])
def test_both_directions_are_decided(primary: str, margin: str | None, sign: int) -> None:
    """A winner that is worse would never be told from one that is better."""
    rng = np.random.default_rng(3)
    good, bad = rng.random(60) * 0.2, 0.6 + rng.random(60) * 0.2
    sides = (good, bad) if sign > 0 else (bad, good)
    decider = Decider(VALUE, primary, margin, 0.05, 60)
    assert 0 < feed(decider, *(side.tolist() for side in sides)) < 40
    known = decider.progress()
    assert known["interval"][0] <= known["estimate"] <= known["interval"][1]


def test_the_declared_penalty_needs_every_step() -> None:
    """A proof at PAR10 alone would be taken for one that the verdict does not give."""
    rng = np.random.default_rng(4)
    # Faster on every instance, but it fails more often: better up to a small penalty only.
    winner = np.where(rng.random(150) < 0.12, 10.0, 0.1).tolist()
    default = np.where(rng.random(150) < 0.02, 10.0, 0.9).tolist()
    decider = Decider(PAR10, "mean", None, 0.05, 150)
    assert not feed(decider, winner, default)
    par2 = Decider(Scale(low=0.0, high=2.0, cutoff=1.0, par=2.0), "mean", None, 0.05, 150)
    assert feed(par2, [min(cost, 2.0) for cost in winner], [min(cost, 2.0) for cost in default])


def test_a_proof_at_the_declared_penalty_alone_decides_nothing() -> None:
    """It would stop as decided where the verdict, which begins at PAR2, says undecided."""
    rng = np.random.default_rng(4)
    winner = np.where(rng.random(100) < 0.02, 10.0, 0.9).tolist()
    default = np.where(rng.random(100) < 0.5, 10.0, 0.1).tolist()
    values = 0.5 + (np.array(winner) - np.array(default)) / 20
    watch = Watch(0.05, planned=100, balanced=True, decide=0.5)
    assert watch.replay(1 - values)[0] >= 0.5
    assert not feed(Decider(PAR10, "mean", None, 0.05, 100), winner, default)


def test_what_is_decided_stays_decided() -> None:
    """Later units would take back a proof that holds at all times."""
    decider = Decider(VALUE, "mean", None, 0.05, 40)
    feed(decider, [0.0] * 30, [1.0] * 30)
    assert decider.decided
    feed(decider, [1.0] * 5, [0.0] * 5)
    assert decider.decided


def test_chances_follow_the_units() -> None:
    """A hopeless test would go on, or a promising one be given up."""
    rng = np.random.default_rng(5)
    noise = Decider(VALUE, "mean", None, 0.05, 100)
    clear = Decider(VALUE, "mean", None, 0.001, 100)
    for number in rng.random((20, 2)):
        noise.add(one(number[0]), one(number[1]))
    for number in rng.random(5) * 0.1:
        clear.add(one(number), one(number + 0.4))
    assert noise.chance(0, 1) == 0
    assert noise.chance(5, 1) < 0.05
    assert noise.chance(5, 1) == noise.chance(5, 1)
    assert clear.chance(2, 1) < 0.5 < clear.chance(80, 1)


def test_the_chance_is_of_being_better() -> None:
    """A validation would go on to prove that its winner is worse."""
    for primary, margin in (("mean", None), ("wins", None), ("mean", "5%")):
        worse = Decider(VALUE, primary, margin, 1e-6, 60)
        for number in np.random.default_rng(6).random(10) * 0.1:
            worse.add(one(number + 0.5), one(number))
        assert worse.chance(50, 1) == 0


@pytest.mark.slow
@pytest.mark.parametrize("primary", ["mean", "wins"])
def test_watched_verdicts_err_rarely(primary: str) -> None:
    """A validation that looks after every instance would find a difference where there is none."""
    rng, delta, wrong, samples = np.random.default_rng(8), 0.1, 0, 400
    for _ in range(samples):
        decider = Decider(VALUE, primary, None, delta, 15)
        rare = rng.random((2, 30)) < 0.1
        costs = np.where(rare, 1.0, 0.3 * rng.random((2, 30)))
        wrong += feed(decider, *costs.tolist()) > 0
    # Either side may err with probability δ.
    assert binomtest(wrong, samples, 2 * delta, alternative="greater").pvalue > 0.001
