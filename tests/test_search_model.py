"""What a search learns from its runs, and where its proposals come from."""

from collections import Counter
from typing import Any

import numpy as np
import pytest
from scipy.stats import spearmanr
from threadpoolctl import threadpool_info, threadpool_limits

from truecost.arrays import FloatArray
from truecost.campaigns.search import model
from truecost.campaigns.search.grid import Cell, ConfigId, Grid
from truecost.campaigns.search.history import History, RunTable
from truecost.campaigns.search.model import (
    LEAST_FITTED,
    MOST_FITTED,
    Proposer,
    Surrogate,
    effects,
    fit,
)
from truecost.space.space import Space


def runs_in(costs: FloatArray) -> RunTable:
    """The runs of a table (configurations, columns), NaN where there is none."""
    rows, columns = np.nonzero(~np.isnan(costs))
    return RunTable(rows, columns, costs[rows, columns])


def tried_in(space: Space, number: int, costs: FloatArray | None = None) -> History:
    """That many configurations, with the costs of a table."""
    history = History()
    for configuration in space.configurations(number, seed=1):
        point = space.points.encode([configuration.values])[0]
        history.enter(configuration, "random", point)
    for run in zip(*(() if costs is None else runs_in(costs)), strict=True):
        history.add_run(ConfigId(int(run[0])), Cell(int(run[1])), float(run[2]))
    return history


def random_points(space: Space, number: int) -> FloatArray:
    """Random points."""
    uniforms = np.random.default_rng(1).random((number, space.points.dimensions))
    return space.points.from_uniforms(uniforms)


# ---- effects -------------------------------------------------------------------------------------


def test_effects_are_mean_roots_where_nobody_dropped_out() -> None:
    """A configuration's effect would not be that of its costs, on the scale that was chosen."""
    costs = np.random.default_rng(3).exponential(1.0, (7, 5))
    effect = effects(runs_in(costs), 7)
    assert np.corrcoef(effect, (costs**0.25).mean(axis=1))[0, 1] == pytest.approx(1.0)
    # Costs that can be negative have no root: their ranks count, however far apart they are.
    ranked = effects(runs_in(costs - 10.0), 7)
    assert ranked == pytest.approx(effects(runs_in(-1 / costs), 7))
    assert spearmanr(ranked, costs.mean(axis=1))[0] > 0.7


def test_who_comes_further_is_not_charged_for_harder_runs() -> None:
    """Survivors of the race, who meet more instances, would look costly when these are hard."""
    nan = np.nan
    costs = np.array(
        [[1.0, 100, 100, 100], [2.0, nan, nan, nan], [3.0, nan, nan, nan], [1.5, 101, 102, 99]]
    )
    effect = effects(runs_in(costs), 4)
    assert effect[0] < effect[1] < effect[2]


def test_a_single_lucky_run_is_worth_less_than_many_good_ones() -> None:
    """Second chances would go to whoever had one easy run."""
    rng = np.random.default_rng(1)
    costs = np.full((30, 40), np.nan)
    costs[:, 0] = 2 + rng.random(30)
    costs[0, :20] = 1.0 + 0.1 * rng.random(20)
    costs[1, 0] = 0.9
    effect = effects(runs_in(costs), 30, power=0.5, shrink=2.0)
    assert effect.argmin() == 0
    assert effects(runs_in(costs), 30, power=0.5).argmin() == 1


# ---- the model -----------------------------------------------------------------------------------


def test_few_parameters_of_many_are_found() -> None:
    """Parameters that do nothing would drown those that do."""
    space = Space.parse(
        "".join(f"n{config_id} [0,1] [0.5]\n" for config_id in range(15))
        + "".join(f"c{p} {{a,b,c,d}} [a]\n" for p in range(10))
    )
    points, names = random_points(space, 260), list(space.configspace)
    worth = (
        4 * (points[:, names.index("n3")] - 0.3) ** 2
        + np.array([0, 1, 0.3, 0.6])[points[:, names.index("c2")].astype(int)]
    )
    noisy = worth[:60] + 0.2 * np.random.default_rng(2).standard_normal(60)
    surrogate = Surrogate(points[:60], noisy, np.full(60, 3), space.points.categorical)
    assert spearmanr(surrogate.mean(points[60:]), worth[60:])[0] > 0.8


def test_inactive_parameters_have_no_effect() -> None:
    """The value a parameter would have had would count where it is switched off."""
    space = Space.parse("kind {a,b,c} [a]\nextra [0,1] [0.5]\nextra | kind in {b,c}\n")
    points = random_points(space, 150)
    extra = points[:, list(space.configspace).index("extra")]
    worth = np.where(np.isnan(extra), 0.0, 2 * extra)
    surrogate = Surrogate(points[:100], worth[:100], np.full(100, 5), space.points.categorical)
    mean = surrogate.mean(points[100:])
    assert np.corrcoef(mean, worth[100:])[0, 1] > 0.95
    assert np.ptp(mean[np.isnan(extra[100:])]) < 0.2 * np.ptp(mean)


def test_samples_have_the_spread_of_what_is_not_known() -> None:
    """Thompson sampling would look where all is known, or nowhere else than at the best so far."""
    space, rng = Space.parse("a [0,1] [0.5]\nb [0,1] [0.5]\n"), np.random.default_rng(1)
    points = random_points(space, 30)
    points[:, 0] *= 0.5  # nothing is known of the other half
    worth = np.sin(6 * points[:, 0])
    surrogate = Surrogate(points, worth, np.full(30, 20), space.points.categorical)
    at = np.array([[0.25, 0.5], [0.98, 0.5]])
    draws = surrogate.sample(at, 4000, rng, temper=1.0)
    assert draws[:, 1].std() > 3 * draws[:, 0].std()
    # The promise is the mean less that spread.
    assert surrogate.promise(at) == pytest.approx(draws.mean(axis=0) - draws.std(axis=0), abs=0.05)


def test_learning_waits_for_runs_that_differ() -> None:
    """A model would be made of too little, or of costs that are all the same, and fail."""
    space = Space.parse("a [0,1] [0.5]\nb {x,y} [x]\n")
    costs = np.full((MOST_FITTED + 30, 4), np.nan)
    costs[: LEAST_FITTED - 1, 0] = np.arange(LEAST_FITTED - 1)
    assert fit(tried_in(space, len(costs), costs), space.points.categorical) is None
    costs[:, 0] = 7.0
    assert fit(tried_in(space, len(costs), costs), space.points.categorical) is None
    costs[:, 0] = np.arange(len(costs))
    assert fit(tried_in(space, len(costs), costs), space.points.categorical) is not None


def test_a_model_leaves_the_cores_to_the_solvers(monkeypatch: pytest.MonkeyPatch) -> None:
    """A search would compute with a thread on every core while solvers are measured there."""
    seen: list[int] = []

    class Watched(Surrogate):
        def __init__(self, *given: Any) -> None:
            self.watch()
            super().__init__(*given)

        def promise(self, points: Any) -> Any:
            self.watch()
            return super().promise(points)

        def watch(self) -> None:
            seen.extend(
                each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"
            )

    monkeypatch.setattr(model, "Surrogate", Watched)
    space = Space.parse("a [0,1] [0.5]\n")
    history = tried_in(space, LEAST_FITTED, np.arange(float(LEAST_FITTED))[:, np.newaxis])
    with threadpool_limits(2, user_api="blas"):
        proposals = propose(space, history, 40)
    assert {"model"} < {proposal.origin for proposal in proposals}
    assert len(seen) >= 2
    assert set(seen) == {1}


# ---- proposals -----------------------------------------------------------------------------------


def propose(
    space: Space, history: History, number: int, *, spent: float = 0.5, default_leads: bool = False
) -> list[model.Proposal]:
    """That many proposals, each of which is entered."""
    proposer, proposals = Proposer(space, seed=1), list[model.Proposal]()
    for events in range(number):
        proposal = proposer.propose(
            history, events=events, spent=spent, default_leads=default_leads
        )
        if proposal is None:
            break
        assert proposal.configuration.name not in history.names
        assert space.allows(proposal.configuration)
        history.enter(*proposal)
        proposals.append(proposal)
    return proposals


def test_the_mix_of_proposals() -> None:
    """Random configurations would be too few to find other valleys, or the best not be followed."""
    space = Space.parse("a [0,1] [0.5]\nb [0,1] [0.5]\nc {x,y} [x]\n")
    costs = np.random.default_rng(1).random((40, 3))
    shares = {}
    for default_leads in (False, True):
        for spent in (0.0, 1.0):
            history = tried_in(space, 40, costs)
            proposals = propose(space, history, 300, spent=spent, default_leads=default_leads)
            shares[default_leads, spent] = Counter(proposal.origin for proposal in proposals)
    assert shares[False, 1.0]["random"] == pytest.approx(30, abs=20)
    assert shares[False, 0.0]["random"] == pytest.approx(90, abs=35)
    assert shares[True, 1.0]["random"] > 2 * shares[False, 1.0]["random"]
    assert min(counts["model"] for counts in shares.values()) > 80
    assert shares[False, 1.0]["neighbour"] > 80


def test_proposals_narrow_as_the_budget_is_spent() -> None:
    """A search would go on far from the best to its end, or near it from the beginning."""
    space = Space.parse("a [0,1] [0.5]\nb [0,1] [0.5]\n")
    apart = []
    for spent in (0.1, 0.5, 0.9):
        history = tried_in(space, 3, np.array([[1.0], [9.0], [9.0]]))
        proposals = propose(space, history, 200, spent=spent)
        near = [each for each in proposals if each.origin == "neighbour"]
        apart.append(
            np.median([abs(float(str(each.configuration.values["a"])) - 0.5) for each in near])
        )
    assert apart[0] > apart[1] > apart[2]


def test_a_small_space_is_proposed_completely() -> None:
    """Where the favourites of the model are all known, the rest would never be proposed."""
    space = Space.parse("a [1,40] [1]i\nb {x,y} [x]\n")
    history = tried_in(space, 20, np.random.default_rng(1).random((20, 2)))
    assert len(propose(space, history, 100)) == 60


# ---- what was tried ------------------------------------------------------------------------------


def test_the_best_are_compared_with_the_incumbent_on_common_runs() -> None:
    """Who met easy instances, or had one lucky run, would be followed."""
    space, nan = Space.parse("a [0,1] [0.5]\n"), np.nan
    costs = np.array(
        [[1.0, 9, 1, 9], [0.9, nan, 1.1, nan], [0.8, 8.0, nan, nan], [0.1, nan, nan, nan]]
    )
    history = tried_in(space, 4, costs)
    assert history.parents() == [2, 0, 1]
    history.eliminated[2] = True
    history.add_run(ConfigId(1), Cell(7), 3.0)
    assert history.parents() == [0, 1]


def test_training_cost_is_the_mean_of_instance_means() -> None:
    """An instance with more runs would count more."""
    history = tried_in(Space.parse("a [0,1] [0.5]\n"), 1, np.array([[1.0, 3.0, 6.0, np.nan]]))
    assert history.training_cost(Grid(2, 2)) == pytest.approx((4.0, 2.0))
    assert np.isnan(History().training_cost(Grid(2, 2))).all()
