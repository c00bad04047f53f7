"""Configurators replayed on recorded matrices."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from commands import run
from scipy.stats import binomtest, ttest_rel

from truecost.errors import InputError
from truecost.matrix import CostMatrix
from truecost.race import _rules, replay
from truecost.stats.synthetic import runtime_model


def matrix_of(
    configurations: int = 30, instances: int = 24, runs: int = 3, seed: int = 1
) -> CostMatrix:
    """A small matrix."""
    rng = np.random.default_rng(seed)
    return runtime_model(configurations=configurations, rng=rng, within_share=0.7).draw(
        instances=instances, runs=runs, rng=rng
    )


def quantiles(number: int) -> np.ndarray:
    """Of Student's t, by number of runs − 1."""
    from scipy.stats import t

    return np.concatenate([[np.inf], t.ppf(0.975, np.arange(1, number + 1))])


def plain_fixed(costs: np.ndarray, budget: int, runs: int) -> int:
    """A fixed number of runs, in one line."""
    seen = max(budget // runs, 0)
    return int(np.argmin(costs[:seen, :runs].sum(axis=1))) if seen else 0


def plain_doubling(costs: np.ndarray, budget: int) -> int:
    """SMAC3's rule once more, with sets of runs instead of counters."""
    done = {(0, 0)}
    incumbent, turn, quiet = 0, 0, 0
    while quiet <= len(costs):
        turn += 1
        challenger = turn % len(costs)
        before, leader = len(done), incumbent
        if challenger != incumbent:
            runs = sorted(j for c, j in done if c == incumbent)
            if len(runs) < costs.shape[1]:
                runs.append(len(runs))
                done.add((incumbent, runs[-1]))
            size = 1
            while True:
                size = min(size, len(runs))
                done |= {(challenger, j) for j in runs[:size]}
                if costs[challenger, :size].sum() > costs[incumbent, :size].sum():
                    break
                if size == len(runs):
                    leader = challenger
                    break
                size *= 2
        if len(done) > budget:
            return incumbent
        incumbent = leader
        quiet = quiet + 1 if len(done) == before else 0
    return incumbent


def plain_student(costs: np.ndarray, budget: int, first: int) -> int:
    """The t-test race by scipy's own test."""
    alive = list(range(min(len(costs), max(budget // first, 1))))
    runs, spent = 0, 0
    while runs < costs.shape[1] and len(alive) > 1 and spent + len(alive) <= budget:
        spent += len(alive)
        runs += 1
        if runs >= first:
            best = min(alive, key=lambda c: costs[c, :runs].sum())
            alive = [
                c
                for c in alive
                if c == best
                or not (
                    ttest_rel(costs[c, :runs], costs[best, :runs]).pvalue < 0.05
                    and costs[c, :runs].sum() > costs[best, :runs].sum()
                )
            ]
    return min(alive, key=lambda c: costs[c, :runs].sum())


@pytest.mark.parametrize("seed", range(6))
def test_the_others_rules_are_what_they_are_said_to_be(seed: int) -> None:
    """A rival that is played wrongly makes any comparison with it worthless."""
    rng = np.random.default_rng(seed)
    costs = rng.exponential(1.0, (12, 18)) * rng.uniform(0.5, 2, (12, 1))
    ones = np.ones_like(costs)
    budgets = np.array([10.0, 40.0, 90.0, 200.0])
    for runs in (1, 3, 7, 18):
        assert _rules.fixed(costs, ones, budgets, runs).tolist() == [
            plain_fixed(costs, int(b), runs) for b in budgets
        ]
    assert _rules.doubling(costs, ones, budgets, 2000).tolist() == [
        plain_doubling(costs, int(b)) for b in budgets
    ]
    race = _rules.student_race(costs, ones, budgets, 5, quantiles(18))
    assert race.tolist() == [plain_student(costs, int(b), 5) for b in budgets]


def test_halving_spends_its_budget_and_keeps_the_better_half() -> None:
    """Halving that keeps the worse half, or gives up early, is no rival."""
    costs = np.tile(np.arange(16.0)[::-1, np.newaxis], (1, 40)) + np.random.default_rng(
        1
    ).standard_normal((16, 40))
    assert _rules.halving(costs, np.ones_like(costs), np.array([16.0 * 4, 600.0])).tolist() == [
        15,
        15,
    ]


def test_runs_are_charged_by_the_second_where_asked() -> None:
    """Charged by the run, a budget in seconds would let slow configurations have their time for
    nothing.
    """
    costs = np.array([[9.0, 9.0], [1.0, 1.0], [0.5, 0.5]])
    assert _rules.fixed(costs, costs, np.array([19.0, 20.0, 21.0]), 2).tolist() == [0, 1, 2]


def test_regret_is_scaled_and_the_full_knowledge_is_there() -> None:
    """Regret below 0 would mean a choice better than the best there is."""
    played = replay.replay(matrix_of(), rng=np.random.default_rng(2), repetitions=20)
    assert played.regret.min() >= 0
    everything = played.rules.index(replay.EVERYTHING)
    most = played.rules.index("N = 36")
    assert played.regret.shape == (20, 3, len(played.rules))
    assert (played.regret[:, 0, everything] == played.regret[:, 2, everything]).all()
    assert most < everything


def test_the_same_seed_plays_the_same() -> None:
    """Figures that cannot be had again are no figures."""
    first, second = (
        replay.replay(matrix_of(), rng=np.random.default_rng(3), repetitions=5) for _ in range(2)
    )
    assert (first.regret == second.regret).all()


def test_ours_is_no_worse_than_the_best_fixed_number_and_the_rivals() -> None:
    """The aim of the policy, on matrices drawn afresh so that no single matrix decides."""
    shared = [
        replay.replay(matrix_of(50, 50, 5, seed), rng=np.random.default_rng(seed), repetitions=16)
        for seed in range(30)
    ]
    regret = np.concatenate([each.regret for each in shared]).mean(axis=0)
    rules = shared[0].rules
    ours = regret[:, 0]
    fixed = regret[:, [i for i, name in enumerate(rules) if name.startswith("N = ")]].min(axis=1)
    assert (ours <= 1.1 * fixed + 0.002).all()
    assert ours.mean() < regret[:, rules.index(replay.SMAC)].mean()
    assert ours.mean() < regret[:, rules.index(replay.STUDENT)].mean()
    missed = int(sum(each.missed.sum() for each in shared))
    assert binomtest(missed, 30 * 16 * 3, 0.05, alternative="greater").pvalue > 1e-3


def test_incomplete_matrices_and_odd_budgets_are_refused() -> None:
    """A missing run read as a number would be a cost nobody measured."""
    whole = matrix_of()
    costs = whole.costs.copy()
    costs[0, 0, 0] = np.nan
    rng = np.random.default_rng(1)
    gaps = CostMatrix(costs, whole.configurations, whole.instances, whole.low, whole.high)
    with pytest.raises(InputError, match="runs are missing"):
        replay.replay(gaps, rng=rng)
    with pytest.raises(InputError, match="ascending shares"):
        replay.replay(whole, rng=rng, budgets=[0.5, 0.1])
    with pytest.raises(InputError, match="at least 2 configurations"):
        replay.replay(whole.select(configurations=whole.configurations[:1]), rng=rng)


def test_the_command_prints_what_it_computes(tmp_path: Path) -> None:
    """A table that does not carry the numbers of --json, or of the parquet file, says something
    else.
    """
    path, out = tmp_path / "m.npz", tmp_path / "replay.parquet"
    matrix_of().save(path)
    arguments = ["experiment", "configure", str(path), "--repetitions", "10", "--share", "0.2"]
    answer = run(*arguments, "--json", "--out", str(out))
    assert answer.returncode == 0, answer.stderr
    data = json.loads(answer.stdout)
    table = pl.read_parquet(out)
    means = {
        rule: float(table.filter(pl.col("rule") == rule)["regret"].to_numpy().mean())
        for rule in data["rules"]
    }
    assert means == pytest.approx(dict(zip(data["rules"], data["regret"][0], strict=True)))
    drawn = tmp_path / "regret.svg"
    printed = run(*arguments, "--figure", str(drawn))
    assert "mean test regret" in drawn.read_text()
    assert f"{means[replay.OURS]:.4f}" in printed.stdout
    assert max(len(line) for line in printed.stdout.splitlines()) <= 80
    refused = run(*arguments, "--figure", str(tmp_path / "regret.gif"))
    assert refused.returncode == 2
    assert "expected a name that ends in .html, .svg" in refused.stderr
    wrong = run(*arguments[:3], "--share", "1.5")
    assert wrong.returncode == 2
    assert wrong.stderr.count("\n") == 1


def test_runs_that_take_no_time_are_replayed() -> None:
    """Times rounded to 0 would end in an error of Python's: endlessly many runs fit any budget."""
    matrix = matrix_of(4, 8, 2)
    costs = np.where(matrix.costs < 1, 0, matrix.costs)
    costs[:, :, 0] = 0
    for times in (costs, np.zeros_like(costs)):
        played = replay.replay(matrix.replace(costs=times), rng=1, repetitions=3, cutoff=5.0)
        assert np.isfinite(played.regret).all()
