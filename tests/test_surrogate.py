"""The model of the costs that proposals of a search come from, and configurations as points."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import norm as normal
from scipy.stats import rankdata, spearmanr
from threadpoolctl import threadpool_info, threadpool_limits

from truecost.library import catalogue
from truecost.race.surrogate import Surrogate, effects_of
from truecost.space import learning
from truecost.space.learning import FIRST, MOST, Coordinates, Learner
from truecost.space.space import Space

MIXED = """
kind {a,b,c} [a]
size [1,1000] [10]il
rate [0.01,10] [1]l
depth [0,7] [3]i
level ordinal {low,middle,high} [low]
fixed {only} [only]
extra [0,1] [0.5]
extra | kind in {b,c}
{kind=c, level=high}
"""

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


def spaces() -> list[Space]:
    """A space of every kind of parameter, and four of real solvers."""
    folder = catalogue.__file__.rpartition("/")[0]
    real = [
        Space.read(f"{folder}/{name}/space.pcs")
        for name in ("kissat", "clasp", "lkh", "satenstein")
    ]
    return [Space.parse(MIXED), *real]


# ---- points --------------------------------------------------------------------------------------


@pytest.mark.parametrize("space", spaces(), ids=["mixed", "kissat", "clasp", "lkh", "satenstein"])
def test_a_point_is_its_configuration(space: Space) -> None:
    """The model would learn from other configurations than were run, or offer some that are not in
    the space.
    """
    points, rng = Coordinates(space), np.random.default_rng(1)
    drawn = space.configurations(40, rng=2)
    assert [points.configuration(each) for each in points.of(drawn)] == drawn
    near = points.around(points.of(drawn), rng, spread=np.full(40, 0.2), keep=np.full(40, 0.6))
    for point in np.concatenate([near, points.random(60, rng)]):
        found = points.configuration(point)
        assert space.allows(found)
        # Just the parameters that its own values make active, each with a value of the space.
        assert space.configuration_of(found.values) == found


def test_neighbours_are_as_near_as_they_are_asked_to_be() -> None:
    """Candidates would not narrow as the budget is spent, leave their range, or change categories
    at another rate.
    """
    space = Space.parse("a {x,y,z,w} [x]\nb [0,1] [0.5]\nc [1,1000] [30]il\n")
    points, rng = Coordinates(space), np.random.default_rng(1)
    parents = np.repeat(points.of([space.default()]), 4000, axis=0)
    for spread, keep in ((0.05, 0.9), (0.2, 0.4)):
        found = points.around(parents, rng, spread=np.full(4000, spread), keep=np.full(4000, keep))
        kind, real, whole = (list(space.configspace).index(name) for name in "abc")
        assert np.std(found[:, real] - 0.5) == pytest.approx(spread, rel=0.1)
        assert np.std(found[:, whole]) == pytest.approx(spread, rel=0.1)
        assert np.mean(found[:, kind] == parents[:, kind]) == pytest.approx(
            keep + (1 - keep) / 4, abs=0.03
        )
        assert ((found >= 0) & (found <= 3)).all()
    corner = np.repeat(
        points.of([space.configuration_of({"a": "x", "b": 1.0, "c": 1})]), 500, axis=0
    )
    found = points.around(corner, rng, spread=np.full(500, 0.5), keep=np.full(500, 0.5))
    assert (found[:, [real, whole]] <= 1).all()
    assert (found[:, [real, whole]] >= 0).all()


# ---- effects -------------------------------------------------------------------------------------


def runs_in(costs: FloatArray) -> tuple[IntArray, IntArray, FloatArray]:
    """The runs of a table (C, J) with NaN where there is none."""
    rows, columns = np.nonzero(~np.isnan(costs))
    return rows, columns, costs[rows, columns]


def test_effects_are_those_of_normal_scores() -> None:
    """Where nobody dropped out, a configuration's effect would not be its mean score, or ties be
    broken by their order.
    """
    costs = np.random.default_rng(3).integers(0, 4, (7, 5)).astype(float)
    scores = normal.ppf((rankdata(costs).reshape(costs.shape) - 0.5) / costs.size)
    effects = effects_of(*runs_in(costs), len(costs))
    assert effects - effects.mean() == pytest.approx(scores.mean(axis=1) - scores.mean())


def test_who_comes_further_is_not_charged_for_harder_runs() -> None:
    """Survivors of the race, who meet more instances, would look costly when the later instances
    are hard.
    """
    costs = np.array(
        [
            [1.0, 100.0, 100.0, 100.0],
            [2.0, np.nan, np.nan, np.nan],
            [3.0, np.nan, np.nan, np.nan],
            [1.5, 101, 102, 99],
        ]
    )
    effects = effects_of(*runs_in(costs), len(costs))
    assert effects[0] < effects[1] < effects[2]


# ---- the model -----------------------------------------------------------------------------------


def test_few_parameters_of_many_are_found() -> None:
    """Parameters that do nothing would drown those that do, and the model promise nothing of
    configurations not yet run.
    """
    space = Space.parse(
        "".join(f"n{place} [0,1] [0.5]\n" for place in range(15))
        + "".join(f"c{p} {{a,b,c,d}} [a]\n" for p in range(10))
    )
    points, rng = Coordinates(space), np.random.default_rng(1)
    some = points.random(260, rng)
    names = list(space.configspace)
    worth = (
        4 * (some[:, names.index("n3")] - 0.3) ** 2
        + np.array([0, 1, 0.3, 0.6])[some[:, names.index("c2")].astype(int)]
    )
    told = worth[:60] + 0.2 * rng.standard_normal(60)
    model = Surrogate(some[:60], told, np.full(60, 3), points.categorical)
    (mean,) = model.sampled(some[60:], 1, rng, temper=0.0)
    assert spearmanr(mean, worth[60:])[0] > 0.8


def test_what_is_inactive_has_no_effect() -> None:
    """The value a parameter would have had would count where it is switched off."""
    space = Space.parse(MIXED)
    points, rng = Coordinates(space), np.random.default_rng(1)
    some = points.random(150, rng)
    extra = some[:, list(space.configspace).index("extra")]
    worth = np.where(np.isnan(extra), 0.0, 2 * extra)
    model = Surrogate(some[:100], worth[:100], np.full(100, 5), points.categorical)
    (mean,) = model.sampled(some[100:], 1, rng, temper=0.0)
    assert np.corrcoef(mean, worth[100:])[0, 1] > 0.95
    assert np.ptp(mean[np.isnan(extra[100:])]) < 0.2 * np.ptp(mean)


def test_samples_have_the_spread_of_what_is_not_known() -> None:
    """Thompson sampling would look where all is known, or nowhere else than at the best so far."""
    space = Space.parse("a [0,1] [0.5]\nb [0,1] [0.5]\n")
    points, rng = Coordinates(space), np.random.default_rng(1)
    some = points.random(30, rng)
    some[:, 0] *= 0.5  # nothing is known of the other half
    model = Surrogate(some, np.sin(6 * some[:, 0]), np.full(30, 20), points.categorical)
    at = np.array([[0.25, 0.5], [0.98, 0.5]])
    draws = model.sampled(at, 4000, rng, temper=1.0)
    assert draws[:, 1].std() > 3 * draws[:, 0].std()
    # The promise is the mean less that spread.
    assert model.promise(at) == pytest.approx(draws.mean(axis=0) - draws.std(axis=0), abs=0.05)


def test_learning_waits_for_runs_that_differ() -> None:
    """A model would be made of too little, or of costs that are all the same, and fail."""
    space = Space.parse("a [0,1] [0.5]\nb {x,y} [x]\n")
    some = space.configurations(MOST + 30, rng=1)
    learner, rng = Learner(space), np.random.default_rng(1)
    costs = np.full((len(some), 4), np.nan)
    costs[: FIRST - 1, 0] = np.arange(FIRST - 1)
    assert not learner.learn(some, *runs_in(costs))
    assert learner.offers(some[:2], 0.5, rng) == []
    costs[:, 0] = 7.0
    assert not learner.learn(some, *runs_in(costs))
    costs[:, 0] = [float(str(each.values["a"])) for each in some]
    assert learner.learn(some, *runs_in(costs))
    offers = learner.offers(some[:2], 0.5, rng)
    assert len({each.name for each in offers}) == len(offers) > 10
    assert np.mean([float(str(each.values["a"])) for each in offers]) < 0.2


def test_a_model_leaves_the_cores_to_the_solvers(monkeypatch: pytest.MonkeyPatch) -> None:
    """A search would compute with a thread on every core while solvers are measured there."""
    seen: list[int] = []

    class Watched(Surrogate):
        def __init__(self, *given: Any) -> None:
            seen.extend(
                each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"
            )
            super().__init__(*given)

        def promise(self, points: Any) -> Any:
            seen.extend(
                each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"
            )
            return super().promise(points)

    monkeypatch.setattr(learning, "Surrogate", Watched)
    space = Space.parse("a [0,1] [0.5]\n")
    some, learner = space.configurations(FIRST, rng=1), Learner(space)
    with threadpool_limits(2, user_api="blas"):
        assert learner.learn(some, *runs_in(np.arange(float(FIRST))[:, np.newaxis]))
        assert learner.offers(some[:2], 0.5, np.random.default_rng(1))
    assert len(seen) >= 2
    assert set(seen) == {1}
