import dataclasses
import itertools
import json
import math
import os
import re
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import scenarios
from commands import Ended, run
from scipy import stats
from starting import Starter

from truecost import InputError, Journal, Scenario, Status, gather, import_runs
from truecost.campaigns.budget import Budget
from truecost.campaigns.campaign import Progress
from truecost.campaigns.configure import Configured, configure
from truecost.campaigns.search import _favoured
from truecost.journal import searchlog
from truecost.journal.file import enter
from truecost.judge import looks
from truecost.judge.assessment import AUDITED
from truecost.judge.question import Chosen
from truecost.race import policy as race
from truecost.race.policy import Cut, Decision, RunOrder, Standing, Stretch
from truecost.space.space import Configuration, Space
from truecost.verbs import certify

HERE = Path(__file__).parent
pytestmark = pytest.mark.usefixtures("own_locks")
# Limits that nothing here comes near.
FAR: dict[str, Any] = {"cpu": 30.0, "wall": 60.0}
# Burns CPU time for good unless alpha is 1.
BURNER = """#!/bin/sh
[ "$7" = 1 ] || while :; do :; done
echo "Result for SMAC: SUCCESS, 0.01, 0, $5, $5"
"""


def toy(
    folder: Path, instances: int = 5, target: str | None = None, **tables: dict[str, Any]
) -> Scenario:
    """The usual scenario of the tests with so many instances, and perhaps another solver."""
    path = scenarios.write(folder, **tables)
    for place in range(instances):
        (folder / "instances" / f"i {place}.txt").write_text(f"{place}\n")
    for place in range(instances, 5):
        (folder / "instances" / f"i {place}.txt").unlink()
    if target is not None:
        (folder / "solver.sh").write_text(target)
    return Scenario.read(path)


def truecost(*words: object, folder: Path, code: int = 0) -> Ended:
    """The command line, ended with the code that is expected."""
    ended = run(*words, cwd=folder)
    assert ended.returncode == code, ended.stderr
    assert "Traceback" not in ended.stderr
    return ended


def rows(path: Path, query: str) -> list[tuple[Any, ...]]:
    """What a query finds in a journal."""
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(query).fetchall()


RUNS = (
    "SELECT c.name, i.name, r.number, r.seed, r.status, r.exit_code, r.time, r.value, r.detail FROM runs r"
    " JOIN configurations c ON c.id = r.configuration JOIN instances i ON i.id = r.instance ORDER BY 1, 2, 3"
)


PROPOSALS = "SELECT p.number, c.name, p.origin FROM proposals p JOIN configurations c ON c.id = p.configuration ORDER BY p.number"
STEPS = (
    "SELECT s.number, s.runs, c.name, s.reason, s.after FROM steps s LEFT JOIN configurations c ON c.id = s.incumbent"
    " ORDER BY s.number"
)


def way(path: Path) -> list[list[tuple[Any, ...]]]:
    """Everything of a search that must not depend on when and where its runs were made."""
    return [rows(path, RUNS), rows(path, PROPOSALS), rows(path, STEPS)]


def statement(found: Configured) -> dict[str, Any]:
    """What a search came to, without the seconds it took."""
    told = {each.name: getattr(found, each.name) for each in dataclasses.fields(found)}
    told["assessment"] = found.assessment.to_dict(*AUDITED)
    text = {key: repr(value) for key, value in told.items() if key not in ("cpu", "notes")}
    return dict(json.loads(json.dumps(text)))


class Allowed(Cut):
    """A cut that everybody passes who costs no more than this in all."""

    __slots__ = ("most",)

    def __init__(self, most: float) -> None:
        super().__init__(contenders=(), stop=0, keep=0)
        object.__setattr__(self, "most", most)

    def limit(self, _: Any) -> float:
        return self.most  # type: ignore[attr-defined, no-any-return]


def some(number: int, runs: int, most: float | None = None) -> Any:
    """A policy that gives the default and number - 1 proposals, one after the other, so many runs,
    and takes the best.

    Proposals may cost no more than `most` in all.
    """

    def decide(standing: Standing, schedule: RunOrder, **_: float) -> Decision:
        size = len(standing.costs)
        means = [
            row[: min(runs, len(row))].mean() for row in np.nan_to_num(standing.costs, nan=math.inf)
        ]
        best = int(np.argmin(means)) if size else None
        if size == number:
            return Decision(batch=(), incumbent=best, reason="enough")
        stop = min(runs, len(schedule.instances))
        stretch = Stretch(configuration=size, start=0, stop=stop)
        if size and most is not None:
            return Decision(
                batch=(), then=(stretch,), cut=Allowed(most), incumbent=best, reason="one more"
            )
        return Decision(batch=(stretch,), incumbent=best, reason="one more")

    return decide


# ---- the search ----------------------------------------------------------------------------------


def test_what_the_policy_sees_and_what_is_run(tmp_path: Path) -> None:
    """The policy would decide by rows with gaps or by others' costs, or its runs be made elsewhere
    than it said.
    """
    scenario = toy(tmp_path, 9)
    standings: list[tuple[Standing, RunOrder, dict[str, Any]]] = []

    def watched(standing: Standing, schedule: RunOrder, **more: Any) -> Decision:
        standings.append((standing, schedule, more))
        return race.decide(standing, schedule, **more)

    found = configure(
        scenario,
        tmp_path / "s.db",
        budget="120runs",
        pool=1,
        pin=False,
        keep_going=True,
        policy=watched,
    )
    assert len(standings[0][0].costs) == 0
    assert standings[0][2] == {
        "runs_left": 96,
        "proposals_left": 144,
        "at_least": 1,
        "capping": False,
        "pace": race.LEARNING,
    }
    with Journal.read(tmp_path / "s.db") as journal:
        settings = searchlog.settings_of(journal)
        matrix, held_out = journal.matrix(), journal.matrix(held_out=True)
    assert settings is not None
    assert (
        len(settings.training) == 5
    )  # 12 of the runs that are kept for each of two would do for more than a third
    assert not set(settings.training) & set(settings.held_out)
    assert set(matrix.instances) <= set(settings.training)
    assert set(held_out.instances) <= set(settings.held_out)
    spent, orders = 0, set()
    for standing, schedule, more in standings:
        done = ~np.isnan(standing.costs)
        assert (np.diff(done.astype(int), axis=1) <= 0).all()
        assert standing.made is not None
        spent = standing.made
        assert more["runs_left"] == 96 - spent
        orders.add(tuple(schedule.instances[:5].tolist()))
        places = [matrix.instances.index(settings.training[i]) for i in schedule.instances]
        for row, mask in zip(standing.costs, done, strict=True):
            positions = np.flatnonzero(mask)
            runs = matrix.costs[:, np.array(places)[positions], schedule.numbers[positions]]
            assert (runs == row[positions]).all(axis=1).any()
    # Every heat has an order of its own.
    assert len(orders) > 3
    # The last runs, too few for another heat, are the incumbent's.
    assert spent <= np.isfinite(matrix.costs).sum() == 96
    assert found.runs == 96 + np.isfinite(held_out.costs).sum() == 120


class Peaceful(NamedTuple):
    """A search that nobody disturbed, and how to search so again."""

    scenario: Scenario
    options: dict[str, Any]
    journal: Path
    found: Configured


@pytest.fixture(scope="module")
def peace(tmp_path_factory: pytest.TempPathFactory) -> Peaceful:
    """A search with so few runs that its model offers something: with more all of the space would
    be one heat.
    """
    folder = tmp_path_factory.mktemp("peace")
    scenario, journal = toy(folder, 9), folder / "peace.db"
    options: dict[str, Any] = {"budget": "240runs", "pool": 1, "pin": False, "keep_going": True}
    return Peaceful(scenario, options, journal, configure(scenario, journal, **options))


def test_twelve_kills_change_nothing(peace: Peaceful, tmp_path: Path) -> None:
    """Killed with -9 at any moment and started again, a search would end elsewhere than in peace."""
    scenario, expected = peace.scenario, peace.found
    words = ["configure", str(scenario.path), str(tmp_path / "killed.db"), "12", "240"]
    ended = subprocess.run(
        [sys.executable, str(HERE / "killing.py"), *words],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    lives = json.loads(ended.stdout)
    assert len(lives) == 12
    assert all(before + told <= after < expected.runs for before, told, after in lives)
    assert way(tmp_path / "killed.db") == way(peace.journal)
    # What a model offered is part of that.
    assert any(origin == "model" for _, _, origin in rows(peace.journal, PROPOSALS))
    again = configure(scenario, tmp_path / "killed.db", pool=1, pin=False, policy=race.decide)
    assert statement(again) == statement(expected)
    assert len(rows(tmp_path / "killed.db", RUNS)) == expected.runs


def test_a_finished_search_runs_nothing(tmp_path: Path) -> None:
    """To be told the result again would cost runs, or cores that are not free."""
    scenario = toy(tmp_path, 6)
    first = configure(
        scenario, tmp_path / "s.db", budget="30runs", pin=False, keep_going=True, policy=some(4, 4)
    )
    (tmp_path / "solver.sh").chmod(0o644)
    again = configure(scenario, tmp_path / "s.db", pool=1, delta=0.2, policy=some(4, 4))
    assert again.assessment.certificate is not None
    assert first.assessment.certificate is not None
    assert again.assessment.certificate.upper < first.assessment.certificate.upper
    assert statement(first)["incumbent"] == statement(again)["incumbent"]


def test_a_search_goes_on_with_a_larger_budget(tmp_path: Path) -> None:
    """More budget would mean to begin anew, or what was decided with the smaller one be decided
    otherwise.
    """
    target = "#!/bin/sh\nread s < $1\necho Result for SMAC: SUCCESS, 0, 0, $((1300 - 100 * $7 + $5 % 50 + s)), 1\n"
    scenario = toy(tmp_path, 9, target=target, limits=FAR)
    options: dict[str, Any] = {"pool": 1, "pin": False}
    first = configure(scenario, tmp_path / "s.db", budget="40runs", **options)
    before = way(tmp_path / "s.db")
    more = configure(scenario, tmp_path / "s.db", budget="90runs", **options)
    after = way(tmp_path / "s.db")
    assert (first.budget.amount, more.budget.amount) == (40, 90)
    assert first.runs < more.runs <= 90
    assert more.configurations > first.configurations
    for old, new in zip(before[1:], after[1:], strict=True):
        assert new[: len(old)] == old
    # The same again, whoever asks, and begun with both.
    assert statement(configure(scenario, tmp_path / "s.db", **options)) == statement(more)
    configure(scenario, tmp_path / "t.db", budget="40runs", **options)
    assert statement(
        configure(scenario, tmp_path / "t.db", budget="90runs", **options)
    ) == statement(more)
    # A second look has a part of delta, and says so.
    assert more.assessment.evidence is not None
    assert more.assessment.evidence.share == pytest.approx(looks.of_look(2))
    assert any("look 2" in claim for claim in more.assessment.evidence.assumptions)
    assert import_runs(tmp_path / "s.db").trajectory.looks == 2


def test_seeds_choose_the_way(tmp_path: Path) -> None:
    """Another seed would search the same way again; or the same seed another."""
    scenario = toy(tmp_path, 6)
    for name, seed in [("a", None), ("b", 3), ("c", 4)]:
        configure(
            scenario,
            tmp_path / name,
            budget="30runs",
            seed=seed,
            pin=False,
            keep_going=True,
            policy=some(4, 4),
        )
    assert way(tmp_path / "a")[1] == way(tmp_path / "b")[1]
    assert way(tmp_path / "b")[1] != way(tmp_path / "c")[1]
    assert way(tmp_path / "b")[1][0] == way(tmp_path / "c")[1][0]


def test_statements_rest_on_fresh_instances(tmp_path: Path) -> None:
    """The certificate would rest on instances the incumbent was chosen by, or on others than the
    default has.
    """
    target = "#!/bin/sh\nread s < $1\necho Result for SMAC: SUCCESS, 0, 0, $((1300 - 100 * $7 + $5 % 50 + s)), 1\n"
    scenario = toy(tmp_path, 12, target=target, limits=FAR)
    found = configure(
        scenario, tmp_path / "s.db", budget="100runs", runs=2, pin=False, policy=some(6, 8)
    )
    assert found.incumbent != found.default
    with Journal.read(tmp_path / "s.db") as journal:
        held_out = journal.matrix(held_out=True)
    assert set(held_out.configurations) == {found.default.name, found.incumbent.name}
    # A search that ends early leaves more rounds: 52 runs are left for 2 x 6 x 2.
    assert found.held_out == np.isfinite(held_out.costs).sum() == 24
    assert found.assessment.certificate is not None
    assert found.assessment.certificate.instances == 6
    assert found.assessment.certificate.estimate == pytest.approx(
        np.nanmean(held_out.select([found.incumbent.name]).costs)
    )
    assert found.assessment.comparison is not None
    assert (found.assessment.comparison.on, found.assessment.comparison.instances) == ("test", 6)
    assert found.assessment.optimism.source == "test runs"


def test_killed_while_it_proposes_it_ends_where_it_would_have(
    peace: Peaceful, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half of a heat's proposals would be kept, and the rest come from another draw of the model
    than in peace.
    """
    origins = [origin for _, _, origin in rows(peace.journal, PROPOSALS)]
    sizes = [
        re.search(r"(\d+) new proposals", reason) for *_, reason, _ in rows(peace.journal, STEPS)
    ]
    ends = np.cumsum([int(each[1]) for each in sizes if each is not None]).tolist()
    heats = [
        [p for p in range(start, end) if origins[p] == "model"]
        for start, end in itertools.pairwise([0, *ends])
    ]
    # Between two offers of one model.
    last, entered = next(offers[1] for offers in heats if len(offers) > 1), 0

    def killed(*what: Any) -> None:
        nonlocal entered
        entered += 1
        if entered > last:
            raise KeyboardInterrupt
        enter(*what)

    with monkeypatch.context() as patch:
        patch.setattr(searchlog, "enter", killed)
        with pytest.raises(KeyboardInterrupt):
            configure(peace.scenario, tmp_path / "killed.db", **peace.options)
    assert 0 < len(rows(tmp_path / "killed.db", PROPOSALS)) < last
    configure(peace.scenario, tmp_path / "killed.db", **peace.options)
    assert way(tmp_path / "killed.db") == way(peace.journal)


def test_chance_alone_is_no_recommendation() -> None:
    """Where the default is as good as any, half of all searches would recommend what chance made
    look better.
    """
    rng = np.random.default_rng(1)
    luck = sum(_favoured(rng.standard_normal(20)) for _ in range(2000))
    assert stats.binomtest(luck, 2000, float(stats.t.sf(1.0, 19))).pvalue > 1e-4
    assert _favoured(np.array([0.3]))
    assert not _favoured(np.array([0.0, 0.0]))
    assert not _favoured(np.array([-1.0, -2.0, 0.5]))
    assert _favoured(np.array([1.0, 1.1, 0.9]))


def test_timeouts_do_not_hide_wins() -> None:
    """An incumbent that wins on nearly every held-out instance would be given up because a few
    timeouts make the mean uncertain; or one would be recommended for its wins although its mean is
    higher.
    """
    wins, timeouts = np.full(17, 0.1), np.array([50.0, 50.0, -50.0])
    assert _favoured(np.concatenate([wins, timeouts]))
    assert not _favoured(np.concatenate([wins, -timeouts]))
    # As uncertain a mean, and as many losses as wins.
    assert not _favoured(np.concatenate([wins[:9], -wins[9:], timeouts]))


@pytest.mark.parametrize("worse", [False, True])
def test_a_loss_is_not_recommended(tmp_path: Path, worse: bool) -> None:
    """A configuration that costs more than the default on fresh instances would be recommended, or
    a better one not be.
    """
    # Some instances are kind to an alpha above 1, the others are not.
    cost = "[ $s = kind ] && c=$((50 - $7)) || c=$((50 + $7))"
    target = f"#!/bin/sh\nread s < $1\n{cost}\necho Result for SMAC: SUCCESS, 0, 0, $c, 1\n"
    scenario = toy(tmp_path, 12, target=target, limits=FAR)
    first = configure(scenario, tmp_path / "names.db", budget="1run", pin=False, policy=some(1, 1))
    assert first.recommended == first.default
    with Journal.read(tmp_path / "names.db") as journal:
        settings = searchlog.settings_of(journal)
    assert settings is not None
    kind = settings.training if worse else (*settings.training, *settings.held_out)
    for instance in scenario.instances:
        Path(instance.argument).write_text("kind\n" if instance.name in kind else "hard\n")
    found = configure(
        Scenario.read(scenario.path),
        tmp_path / "s.db",
        budget="100runs",
        runs=1,
        pin=False,
        policy=some(6, 8),
    )
    assert found.incumbent != found.default
    assert found.recommended == (found.default if worse else found.incumbent)
    # What is certified was fixed before the held-out costs were seen, whatever they recommend.
    assert found.assessment.certificate is not None
    assert found.assessment.certificate.configuration == found.incumbent.name
    said = rows(tmp_path / "s.db", "SELECT reason FROM steps ORDER BY number DESC LIMIT 1")[0][0]
    assert said.endswith("the default is recommended" if worse else "the incumbent is recommended")


def test_what_other_commands_see(tmp_path: Path) -> None:
    """audit, certify and import would take the search for a list fixed beforehand, or train on
    held-out instances.
    """
    scenario = toy(tmp_path, 9)
    found = configure(
        scenario, tmp_path / "s.db", budget="80runs", pin=False, keep_going=True, policy=some(8, 6)
    )
    taken = import_runs(tmp_path / "s.db")
    trajectory = taken.trajectory
    assert (trajectory.tool, trajectory.proposed, trajectory.raced) == (
        "truecost configure",
        "adaptively",
        True,
    )
    assert (trajectory.default, trajectory.incumbent) == (found.default.name, found.incumbent.name)
    assert trajectory.steps[0] == (6, (found.default.name,))
    assert next(iter(taken.origins.values())) == "default"
    assert set(list(taken.origins.values())[1:]) > {"random"}
    assert taken.test is not None
    assert taken.matrix.shape[0] == 8
    assert not set(taken.test.instances) & set(taken.matrix.instances)
    ways: list[Chosen | None] = ["from-list", "on-part", None]
    for chosen in ways:
        with pytest.raises(InputError, match="truecost tuned on these instances"):
            certify(taken.matrix, chosen=chosen, trajectory=trajectory)
    assert (
        certify(taken.matrix, trajectory=trajectory, test=taken.test)
        == found.assessment.certificate
    )


# ---- budgets -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "amount", "unit", "said"),
    [
        ("5000runs", 5000, "runs", "5,000 runs"),
        ("1 run", 1, "runs", "1 run"),
        ("1,500 runs", 1500, "runs", "1,500 runs"),
        ("2h", 7200, "seconds", "2 h"),
        ("90min", 5400, "seconds", "90 min"),
        ("0.5s", 0.5, "seconds", "0.5 s"),
        ("1.5d", 129600, "seconds", "36 h"),
    ],
)
def test_budgets(text: str, amount: float, unit: str, said: str) -> None:
    """A budget would be taken for another."""
    budget = Budget.parse(text)
    assert (budget.amount, budget.unit, str(budget)) == (amount, unit, said)


@pytest.mark.parametrize(
    "text", ["", "5000", "2 hours", "-1h", "0runs", "1.5runs", "nanh", "1e3runs", "2h30min", "infs"]
)
def test_bad_budgets(text: str) -> None:
    """A budget that says nothing would be guessed at."""
    with pytest.raises(InputError, match="expected a `budget`"):
        Budget.parse(text)


@pytest.mark.parametrize("runs", [1, 2, 3, 7, 12])
def test_budgets_smaller_than_a_round(tmp_path: Path, runs: int) -> None:
    """A budget too small for anything would be overdrawn, or end in a fault instead of the default
    and a reason.
    """
    scenario = toy(tmp_path, 12, target="#!/bin/sh\necho Result for SMAC: SUCCESS, 0, 0, $7, 1\n")
    found = configure(scenario, tmp_path / "s.db", budget=f"{runs}runs", pin=False, pool=2)
    assert 1 <= found.runs <= runs
    assert (found.assessment.certificate is None) == (found.held_out == 0)
    if runs == 1:
        assert found.incumbent == found.default
        assert (
            found.untested
            == "the budget left no runs for the instances held out; give a larger one"
        )
        assert found.reason == "the budget is spent"


def test_time_is_counted_from_the_journal(tmp_path: Path) -> None:
    """A budget of time would be counted anew after a kill, or not be kept."""
    target = "#!/bin/sh\nsleep 0.02\necho Result for SMAC: SUCCESS, 0, 0, $7, 1\n"
    scenario = toy(tmp_path, 6, target=target, limits={"cpu": 10.0, "wall": 10.0})
    seen: list[float] = []

    def watched(standing: Standing, schedule: RunOrder, **more: Any) -> Decision:
        seen.append(more["runs_left"])
        return inner(standing, schedule, **more)  # type: ignore[no-any-return]

    inner = some(4, 4)
    options: dict[str, Any] = {"pool": 2, "pin": False, "policy": watched}
    found = configure(scenario, tmp_path / "s.db", budget="40s", **options)
    first, seen[:] = list(seen), []
    wall = sum(row[0] for row in rows(tmp_path / "s.db", "SELECT wall FROM runs"))
    assert found.spent == pytest.approx(wall / 2)
    # Nothing is known before the first run but its limit, and then what runs took: four of them,
    # and four a step after.
    assert first[0] == pytest.approx(0.8 * 2 * 40 / 10)
    table = rows(tmp_path / "s.db", "SELECT wall FROM runs ORDER BY id LIMIT 4")
    mean = sum(row[0] for row in table) / 4
    kept = min(0.2 * 40, 2 * 2 * 5 * mean / 2)
    assert first[1] == pytest.approx(((40 - kept) * 2 - 4 * mean) / mean)
    configure(scenario, tmp_path / "s.db", **options)
    assert seen == first


# ---- caps ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("workers", "capped"), [(1, 1), (2, 2)])
def test_capped_runs_are_kept_apart(tmp_path: Path, workers: int, capped: int) -> None:
    """A run stopped at a cap would count as a timeout, be lost, be done again, or be followed by
    more of its kind.
    """
    scenario = toy(tmp_path, 6, target=BURNER, limits={"cpu": 5.0}, metric={"kind": "par"})
    told: list[Progress] = []
    options: dict[str, Any] = {"pool": workers, "pin": False, "policy": some(3, 4, most=0.2)}
    found = configure(
        scenario, tmp_path / "s.db", budget="40runs", runs=1, progress=told.append, **options
    )
    kept = rows(tmp_path / "s.db", "SELECT cap, cpu FROM capped")
    burning = sum(
        1
        for row in rows(tmp_path / "s.db", 'SELECT "values" FROM configurations')
        if '"alpha": "1"' not in row[0]
    )
    assert burning >= 1
    assert found.capped == len(kept) == capped * burning
    assert all(cap == 0.2 < cpu < 2 for cap, cpu in kept)
    assert all(
        status == Status.SOLVED for (status,) in rows(tmp_path / "s.db", "SELECT status FROM runs")
    )
    assert (
        found.runs
        == told[-1].runs
        == len(rows(tmp_path / "s.db", "SELECT 1 FROM runs")) + len(kept)
    )
    taken = import_runs(tmp_path / "s.db")
    assert not taken.left_out
    assert taken.matrix.shape[0] == 3
    assert taken.matrix.statuses is not None
    # The cap is the least such a run can cost; under a cutoff that it reached it is a timeout.
    assert taken.matrix.costs[taken.matrix.statuses == Status.CENSORED].tolist() == [0.2] * len(
        kept
    )
    again = import_runs(tmp_path / "s.db", cutoff=0.2).matrix
    assert again.statuses is not None
    assert (
        (again.costs[again.statuses == Status.TIMEOUT] == 2).sum()
        >= len(kept)
        > 0
        == again.censored.sum()
    )
    for statement_ in (
        "DELETE FROM capped",
        "UPDATE capped SET cpu = 0",
        "DELETE FROM steps",
        "UPDATE proposals SET number = 9",
    ):
        with (
            closing(sqlite3.connect(tmp_path / "s.db")) as connection,
            pytest.raises(sqlite3.IntegrityError, match="append-only"),
        ):
            connection.execute(statement_)
    before = way(tmp_path / "s.db")
    configure(scenario, tmp_path / "s.db", **options)
    assert way(tmp_path / "s.db") == before


def test_a_capped_run_leaves_no_gap(tmp_path: Path) -> None:
    """What comes after a capped run would be compared, or bring back a configuration that is out."""
    target = (
        "#!/bin/sh\nread s < $1\n[ $7 = 1 ] || [ $((s % 2)) = 0 ] || while :; do :; done\n"
        + BURNER.splitlines()[-1]
    )
    scenario = toy(tmp_path, 12, target=target, limits={"cpu": 5.0}, metric={"kind": "par"})
    last: list[Standing] = []
    inner = some(3, 8, most=0.3)

    def watched(standing: Standing, schedule: RunOrder, **more: Any) -> Decision:
        last[:] = [standing]
        return inner(standing, schedule, **more)  # type: ignore[no-any-return]

    configure(
        scenario, tmp_path / "s.db", budget="80runs", runs=1, pool=8, pin=False, policy=watched
    )
    costs, capped = (
        last[0].costs,
        rows(tmp_path / "s.db", "SELECT DISTINCT configuration FROM capped"),
    )
    assert capped
    with Journal.read(tmp_path / "s.db") as journal:
        names, settings = list(searchlog.origins_of(journal)), searchlog.settings_of(journal)
        values = journal.configurations()
    assert settings is not None
    length = len(settings.training)
    order = race.schedule(length, 1, np.random.default_rng([3, 2])).instances
    odd = [int(settings.training[place].split()[1].partition(".")[0]) % 2 for place in order]
    for row, out, name in zip(costs, last[0].out, names, strict=True):
        burns = values[name]["alpha"] != "1"
        assert out == burns
        assert np.isfinite(row).tolist() == [
            place < odd.index(1) or not burns for place in range(length)
        ]


def test_costs_above_a_cap_put_out(tmp_path: Path) -> None:
    """A crash, which costs more than any cap, would leave a configuration in the race."""
    target = '#!/bin/sh\n[ "$7" = 1 ] || exit 3\necho Result for SMAC: SUCCESS, 0.01, 0, 1, 1\n'
    scenario = toy(tmp_path, 6, target=target, limits={"cpu": 5.0}, metric={"kind": "par"})
    last: list[Standing] = []
    inner = some(5, 4, most=3.0)

    def watched(standing: Standing, schedule: RunOrder, **more: Any) -> Decision:
        last[:] = [standing]
        return inner(standing, schedule, **more)  # type: ignore[no-any-return]

    configure(scenario, tmp_path / "s.db", budget="40runs", pool=1, pin=False, policy=watched)
    crashed = last[0].costs[:, 0] == 50
    assert crashed.any()
    assert (last[0].out == crashed).all()
    assert (np.isfinite(last[0].costs).sum(axis=1) == np.where(crashed, 1, 4)).all()


def test_no_caps_where_costs_are_no_times(tmp_path: Path) -> None:
    """A run would be stopped for a quality that has nothing to do with seconds."""
    told = set()

    def watched(standing: Standing, schedule: RunOrder, **more: Any) -> Decision:
        told.add(more["capping"])
        return some(4, 4)(standing, schedule, **more)  # type: ignore[no-any-return]

    options: dict[str, Any] = {
        "budget": "40runs",
        "pin": False,
        "keep_going": True,
        "policy": watched,
    }
    assert configure(toy(tmp_path, 6), tmp_path / "s.db", **options).capped == 0
    assert told == {False}
    target = "#!/bin/sh\necho Result for SMAC: SUCCESS, 0.01, 0, 1, 1\n"
    timed = toy(tmp_path, 6, target=target, limits={"cpu": 5.0}, metric={"kind": "par"})
    configure(timed, tmp_path / "t.db", **options)
    assert told == {False, True}


# ---- scenarios at the edge -----------------------------------------------------------------------


def test_one_instance(tmp_path: Path) -> None:
    """A scenario with one instance would be certified on what it was trained on, or end in a fault."""
    found = configure(
        toy(tmp_path, 1), tmp_path / "s.db", budget="30runs", pin=False, keep_going=True
    )
    assert found.assessment.certificate is None
    assert found.untested is not None
    assert "the scenario has one instance, and it was trained on" in found.untested
    assert found.runs <= 30
    assert not found.assessment.better


@pytest.mark.parametrize("instances", [2, 3])
def test_one_run_on_few_instances(tmp_path: Path, instances: int) -> None:
    """One run per instance would be too little for the report, or be exceeded."""
    found = configure(
        toy(tmp_path, instances),
        tmp_path / "s.db",
        budget="60runs",
        runs=1,
        pin=False,
        keep_going=True,
    )
    assert found.assessment.certificate is not None
    assert found.assessment.certificate.instances == 1
    assert rows(tmp_path / "s.db", "SELECT max(number) FROM runs") == [(0,)]


def test_a_deterministic_target_is_told(tmp_path: Path) -> None:
    """Runs that repeat each other would be paid for without a word."""
    scenario = toy(
        tmp_path,
        6,
        target="#!/bin/sh\nread s < $1\necho Result for SMAC: SUCCESS, 0, 0, $(($7 + s)), 1\n",
        limits=FAR,
    )
    found = configure(
        scenario, tmp_path / "s.db", budget="80runs", runs=2, pin=False, policy=some(6, 8)
    )
    assert any(note.startswith("seeds seem to change nothing") for note in found.notes)
    assert found.assessment.noise.within == 0


def test_everything_times_out(tmp_path: Path) -> None:
    """Where nothing is ever solved, some configuration would be praised."""
    limits = {"cpu": 600.0, "wall": 0.02}
    scenario = toy(
        tmp_path,
        6,
        target="#!/bin/sh\nsleep 1000000\n",
        limits=limits,
        metric={"kind": "par", "clock": "wall"},
    )
    found = configure(scenario, tmp_path / "s.db", budget="40runs", pin=False, pool=2)
    assert found.notes[0].startswith(
        "every run cost the most there is, 0.2: nothing could be distinguished"
    )
    assert not found.assessment.better
    assert found.assessment.certificate is not None
    assert found.assessment.certificate.upper == pytest.approx(0.2)


def test_a_default_that_crashes(tmp_path: Path) -> None:
    """A default that crashes would stop a search that was told to go on, or go unnoticed in one
    that was not.
    """
    target = '#!/bin/sh\n[ "$7" = 1 ] && { echo no one >&2; exit 3; }\necho Result for SMAC: SUCCESS, 0, 0, $7, 1\n'
    scenario = toy(tmp_path, 30, target=target, limits=FAR)
    options: dict[str, Any] = {"pin": False, "pool": 1, "runs": 1, "policy": some(3, 20)}
    with pytest.raises(
        InputError, match=r"all crashed \(.*no one\)\. If .* `keep_going=True`\. Try by hand: "
    ):
        configure(scenario, tmp_path / "s.db", budget="100runs", **options)
    assert 10 <= len(rows(tmp_path / "s.db", "SELECT 1 FROM runs")) < 20
    found = configure(scenario, tmp_path / "s.db", keep_going=True, **options)
    assert found.incumbent != found.default
    assert found.assessment.better
    assert found.notes[0].startswith(
        "the default cost the most there is, 10000, in all its 20 training runs"
    )


def test_few_runs_that_all_crash_are_refused(tmp_path: Path) -> None:
    """A wrong scenario would be configured without a word, if the budget is smaller than the first
    look.
    """
    scenario = toy(tmp_path, 6, target="#!/bin/sh\nexit 3\n", limits=FAR)
    with pytest.raises(InputError, match="at least one of the first 4 runs, and all crashed"):
        configure(scenario, tmp_path / "s.db", budget="4runs", pin=False, policy=some(2, 2))


def test_a_small_space_is_tried_out(tmp_path: Path) -> None:
    """A search would not end when there is nothing left to propose, or propose something twice."""
    scenarios.write(tmp_path)
    (tmp_path / "space.pcs").write_text("alpha {1,2,3} [1]\nbeta {1,2} [1]\n{alpha=2, beta=2}\n")
    scenario = Scenario.read(tmp_path / "scenario.toml")
    left: list[float] = []

    def greedy(standing: Standing, _: RunOrder, **more: float) -> Decision:
        left.append(more["proposals_left"])
        size = len(standing.costs)
        new = (
            tuple(Stretch(configuration=size + i, start=0, stop=1) for i in range(4))
            if more["proposals_left"]
            else ()
        )
        return Decision(batch=new, incumbent=0 if size else None, reason="all were tried")

    found = configure(
        scenario, tmp_path / "s.db", budget="100runs", pin=False, keep_going=True, policy=greedy
    )
    # The forbidden combination is found out by not finding it.
    assert (found.configurations, found.reason, left) == (5, "all were tried", [6, 2, 0])


def test_costs_outside_their_range_are_refused(tmp_path: Path) -> None:
    """Statements would rest on ends that costs go beyond."""
    scenario = toy(
        tmp_path, 6, target="#!/bin/sh\necho Result for SMAC: SUCCESS, 0, 0, 10001, 1\n", limits=FAR
    )
    with pytest.raises(
        InputError,
        match=r"expected costs in \[0, 10000\], and configuration .* cost 10001\. .* remove",
    ):
        configure(scenario, tmp_path / "s.db", budget="10runs", pin=False)


def test_aborted_runs_are_done_again(tmp_path: Path) -> None:
    """A wrapper's ABORT, that something is wrong with the machine, would decide a race."""
    target = '#!/bin/sh\n[ -e fixed ] && word=SUCCESS || word=ABORT\necho "Result for SMAC: $word, 0, 0, 5, 1"\n'
    scenario = toy(tmp_path, 6, target=target, limits=FAR)
    with pytest.raises(InputError, match="was aborted"):
        configure(scenario, tmp_path / "s.db", budget="12runs", pin=False, policy=some(2, 4))
    (tmp_path / "fixed").touch()
    found = configure(scenario, tmp_path / "s.db", pin=False, policy=some(2, 4))
    assert found.training_cost == 5


# ---- what must not be mixed ----------------------------------------------------------------------


def test_journals_of_two_commands_are_not_mixed(tmp_path: Path) -> None:
    """gather would go on with a search, or configure with a gathering, whose runs were chosen
    otherwise.
    """
    scenario = toy(tmp_path, 6)
    gather(scenario, tmp_path / "g.db", configurations=2, runs=1, pin=False, keep_going=True)
    # As all journals before there were searches.
    assert rows(tmp_path / "g.db", "PRAGMA user_version") == [(1,)]
    configure(
        scenario, tmp_path / "c.db", budget="12runs", pin=False, keep_going=True, policy=some(2, 4)
    )
    with pytest.raises(
        InputError, match="expected a journal of truecost configure, got one of truecost gather"
    ):
        configure(scenario, tmp_path / "g.db", budget="12runs", pin=False)
    with pytest.raises(
        InputError, match="expected a journal of truecost gather, got one of truecost configure"
    ):
        gather(scenario, tmp_path / "c.db", configurations=2, runs=1, pin=False)


def test_another_search_is_refused(tmp_path: Path) -> None:
    """A search would go on with another budget, seed, metric, policy or set of instances than its
    decisions rest on.
    """
    scenario = toy(tmp_path, 6)
    options: dict[str, Any] = {"pin": False, "keep_going": True, "policy": some(3, 4)}
    configure(scenario, tmp_path / "s.db", budget="20runs", **options)
    others: list[tuple[dict[str, Any], str]] = [
        (
            {"budget": "19runs"},
            "the budget of the search, 20 runs, or a larger one of the same kind, got 19 runs",
        ),
        (
            {"budget": "20s"},
            "the budget of the search, 20 runs, or a larger one of the same kind, got 20 s",
        ),
        ({"runs": 2}, "runs per instance: 5, got 2"),
        ({"seed": 4}, "the seed 3, got 4"),
        (
            {"policy": some(2, 5)},
            "expected the search to go the way it went, and the incumbent of step 1 was",
        ),
    ]
    for other, message in others:
        with pytest.raises(InputError, match=message):
            configure(scenario, tmp_path / "s.db", **{**options, **other})
    metric = scenario.metric.model_copy(update={"high": 20000.0})
    with pytest.raises(InputError, match="the metric"):
        configure(dataclasses.replace(scenario, metric=metric), tmp_path / "s.db", **options)
    with pytest.raises(
        InputError, match=r"expected the instances the search was begun with, and .* is not there"
    ):
        configure(
            dataclasses.replace(scenario, instances=scenario.instances[:3]),
            tmp_path / "s.db",
            **options,
        )
    with pytest.raises(InputError, match="expected a `budget` for a new search"):
        configure(scenario, tmp_path / "new.db", **options)
    assert not list(tmp_path.glob("new.db*")), "a refusal leaves no empty journal"
    with pytest.raises(InputError, match="Expected `delta` between 0 and 1"):
        configure(scenario, tmp_path / "s.db", delta=1.0, **options)


def test_a_policy_that_leaves_gaps_is_a_fault(tmp_path: Path) -> None:
    """Costs would be compared that belong to different runs."""

    def gap(*_: object, **more: float) -> Decision:
        assert more["runs_left"] > 1
        return Decision(
            batch=(Stretch(configuration=0, start=1, stop=2),), incumbent=None, reason=""
        )

    with pytest.raises(Exception, match="goes on where a configuration stands"):
        configure(toy(tmp_path, 6), tmp_path / "s.db", budget="12runs", pin=False, policy=gap)


# ---- the command line ----------------------------------------------------------------------------


def test_the_command_line(tmp_path: Path) -> None:
    """The line the design promises would not end with a configuration, a certificate and an audit;
    or not be resumed.
    """
    toy(tmp_path, 9)
    words = [
        "configure",
        "scenario.toml",
        "--budget",
        "60runs",
        "--workers",
        1,
        "--no-pin",
        "--keep-going",
    ]
    said = truecost(*words, folder=tmp_path).stdout
    flat = " ".join(said.split())
    assert flat.startswith(
        "toy: 60 runs, at most 6 s of CPU time; 9 instances, a third to a half of them held out."
    )
    assert "As arguments: -alpha " in flat
    assert "With 95 % confidence the mean cost of " in flat
    assert " the default " in flat
    assert "On new instances it costs " in flat
    assert "truecost audit toy-configure.db" in flat
    # What is recommended without being shown better comes with a way to find out.
    unsure = "not shown to be better" in flat
    assert ("Next: truecost validate toy-configure.db" in flat) == unsure
    assert ("--scenario=scenario.toml" in flat) == unsure
    report = json.loads(
        truecost("configure", "scenario.toml", "--json", "--delta", 0.1, folder=tmp_path).stdout
    )
    assert report["certificate"]["delta"] == 0.1
    assert report["search"]["runs"] <= 60
    assert set(report["search"]["incumbent"]["values"]) == {"alpha", "beta"}
    assert report["incumbent"]["configuration"] == report["search"]["incumbent"]["name"]
    info = " ".join(truecost("info", "toy-configure.db", folder=tmp_path).stdout.split())
    assert f"toy: {report['search']['runs']} runs" in info
    assert "of a search" in info


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["scenario.toml"], "Expected a --budget for a new search"),
        (["scenario.toml", "--budget", "2 fortnights"], "Expected a --budget such as 5000runs"),
        (["scenario.toml", "--budget", "9runs", "--workers", "2", "--dask", "tcp://x"], "got both"),
    ],
)
def test_bad_input_is_one_line(tmp_path: Path, words: list[str], message: str) -> None:
    """A mistake on the command line would end in a traceback, or in a search for the wrong thing."""
    toy(tmp_path)
    ended = truecost("configure", *words, "--quiet", folder=tmp_path, code=2)
    assert message in ended.stderr
    assert ended.stderr.count("\n") == 1


def test_ctrl_c_says_how_to_go_on(starter: Starter, tmp_path: Path) -> None:
    """Who interrupts a search would not know that nothing is lost."""
    toy(tmp_path, 9)
    words = ["configure", "scenario.toml", "--budget", "1h", "--quiet", "--no-pin", "--keep-going"]
    with starter.truecost(*words, cwd=tmp_path, stderr=subprocess.PIPE) as search:
        path = tmp_path / "toy-configure.db"
        while not (path.exists() and _some_runs(path)):
            assert search.poll() is None
            time.sleep(0.05)
        # Looked at while it is written.
        assert (
            json.loads(truecost("info", path, "--json", folder=tmp_path).stdout)["journal"]["kind"]
            == "configure"
        )
        os.kill(search.pid, signal.SIGINT)
        assert search.wait() == 130
        assert search.stderr is not None
        said = search.stderr.read()
    assert (
        "To go on: truecost configure scenario.toml --budget 1h --quiet --no-pin --keep-going\n"
        in said
    )


def _some_runs(path: Path) -> bool:
    try:
        return len(rows(path, "SELECT 1 FROM steps")) > 3
    except sqlite3.OperationalError:
        return False


# ---- proposals -----------------------------------------------------------------------------------


def test_proposals_depend_on_their_number_only() -> None:
    """A proposal would depend on how many draws were made before it, and a resumed search go
    elsewhere.
    """
    from truecost.space.propose import Proposal, propose

    space = Space.parse("a {x,y,z} [x]\nb [0,1] [0.5]\nc [1,100] [10]il\n")
    parents = space.configurations(3, rng=9)

    def proposed(seed: int, numbers: Iterable[int], spent: float = 0.5) -> list[Proposal | None]:
        return [
            propose(
                space,
                parents,
                set(),
                seed=seed,
                number=each,
                spent=spent,
                lost=False,
                learnt=lambda: None,
            )
            for each in numbers
        ]

    first = proposed(1, range(20))
    assert first == proposed(1, reversed(range(20)))[::-1]
    assert first[0] is not None
    assert (first[0].configuration, first[0].origin) == (space.default(), "default")
    assert first != proposed(2, range(20))
    assert first != proposed(1, range(20), spent=0.6)


def test_the_mix_of_proposals() -> None:
    """Random configurations would be too few to find other valleys, or the best not be followed."""
    from truecost.space.propose import EARLY, LEARNT, LOST, RANDOM, propose

    space = Space.parse("a {x,y,z} [x]\nb [0,1] [0.5]\nc [1,100] [10]il\n")
    parents = space.configurations(4, rng=9)

    def origins(
        lost: bool, parents: list[Configuration], spent: float, offered: Configuration | None = None
    ) -> list[str]:
        found = [
            propose(
                space,
                parents,
                set(),
                seed=5,
                number=n,
                spent=spent,
                lost=lost,
                learnt=lambda: offered,
            )
            for n in range(1, 601)
        ]
        return [each.origin for each in found if each is not None]

    for lost, spent, share in (
        (False, 0.0, RANDOM + EARLY),
        (False, 1.0, RANDOM),
        (True, 0.0, LOST),
    ):
        told = origins(lost, parents, spent)
        randoms = told.count("random")
        assert stats.binomtest(randoms, 600, share).pvalue > 1e-4
        of_best = told.count(f"neighbour of {parents[0].name}")
        assert stats.binomtest(of_best, 600 - randoms, 0.5).pvalue > 1e-4
    assert set(origins(False, [], 0.0)) == {"random"}
    of_model = origins(False, parents, 1.0, space.configurations(9, rng=3)[-1]).count("model")
    assert stats.binomtest(of_model, 600, (1 - RANDOM) * LEARNT).pvalue > 1e-4


def test_a_model_that_offers_what_is_known_does_not_hold_up_the_search() -> None:
    """In a small space, where the model's favourites have all been tried, a proposal would be made
    twice or never.
    """
    from truecost.space.propose import propose

    space = Space.parse("a {x,y,z} [x]\n")
    first, second, third = sorted(
        space.configurations(3, rng=1), key=lambda each: str(each.values["a"])
    )
    offers = [first, second]
    known = {first.name, second.name}
    found = [
        propose(
            space,
            [first],
            known,
            seed=1,
            number=n,
            spent=0.9,
            lost=False,
            learnt=lambda: offers.pop() if offers else None,
        )
        for n in range(1, 20)
    ]
    assert {each.configuration.name for each in found if each is not None} == {third.name}
    assert offers == []


def test_proposals_narrow_as_the_budget_is_spent() -> None:
    """A search would go on far from the best to its end, or near it from the beginning."""
    from truecost.space.propose import EARLY, RANDOM, propose

    space = Space.parse("b [0,1] [0.5]\n")
    spreads = []
    for spent in (0.0, 0.5, 1.0):
        found = [
            propose(
                space,
                [space.default()],
                set(),
                seed=5,
                number=n,
                spent=spent,
                lost=False,
                learnt=lambda: None,
            )
            for n in range(1, 301)
        ]
        near = [
            each.configuration.values["b"]
            for each in found
            if each is not None and each.origin != "random"
        ]
        assert len(near) > 300 * (1 - 2 * RANDOM - EARLY)
        spreads.append(float(np.std(np.array(near, dtype=float))))
    assert spreads[0] > 0.2
    assert spreads[1] == pytest.approx(0.5 * 0.1**0.5, rel=0.2)
    assert spreads[2] == pytest.approx(0.05, rel=0.2)


def test_many_workers_for_few_runs_are_warned_about(tmp_path: Path) -> None:
    """Who gives a small budget to a large cluster would not learn what that costs."""
    toy(tmp_path, 6, limits=FAR)
    words = ["scenario.toml", "--budget=24runs", "--no-pin"]
    few = truecost("configure", *words, "--workers=2", "--journal=few.db", folder=tmp_path)
    many = truecost("configure", *words, "--workers=9", "--journal=many.db", folder=tmp_path)
    warning = "fewer than 20 runs per worker"
    assert [warning in ended.stdout for ended in (few, many)] == [False, True]
