"""First runs that all fail stop a campaign; the journal stays reusable."""

from pathlib import Path
from typing import Any

import campaign_tools as tools
import pytest

from truecost.campaigns.configure import configure
from truecost.campaigns.gather import gather
from truecost.campaigns.validate import validate
from truecost.errors import InputError
from truecost.journal.journal import Journal
from truecost.running.pools import Task
from truecost.running.scenario import Scenario
from truecost.runs import Outcome, Status

SIZE: dict[str, Any] = {"configurations": 10, "instances": 5, "runs": 5}


def crash(_task: Task) -> Outcome:
    """Always the same reason, with another process number."""
    return tools.outcome(0.01, Status.CRASHED, detail="no file", value=None, command="./s")


def statuses(path: Path) -> list[int]:
    """How the runs of a journal ended."""
    with Journal.read(path) as journal:
        return [int(status) for status in journal.table().status]


def test_first_runs_that_all_fail_stop_it(tmp_path: Path) -> None:
    """A weekend would be spent on a wrong command line."""
    scenario = tools.scenario(tmp_path)
    with pytest.raises(
        InputError, match=r"first 1\d runs all failed: 1\d crashed \(no file\)"
    ) as e:
        gather(scenario, tmp_path / "g.db", **SIZE, pool=tools.Pool(crash, workers=3))
    message = str(e.value)
    assert "solver.sh" in message.partition("Try by hand: ")[2]
    assert "\n" not in message
    assert 10 <= len(statuses(tmp_path / "g.db")) <= 13
    with Journal.read(tmp_path / "g.db") as journal:
        assert journal.failures()[0].command == "./s"


def test_the_journal_begins_anew_when_the_scenario_is_mended(tmp_path: Path) -> None:
    """Crashes of a wrong scenario would count against configurations, or the journal be lost."""
    scenario = tools.scenario(tmp_path)
    with pytest.raises(InputError):
        gather(scenario, tmp_path / "g.db", **SIZE, pool=tools.Pool(crash))
    wrong = statuses(tmp_path / "g.db")
    (tmp_path / "solver.sh").write_text("#!/bin/sh\n# mended\n")
    mended = Scenario.read(scenario.path)
    gather(mended, tmp_path / "g.db", **{**SIZE, "runs": 1}, pool=tools.Pool())
    assert statuses(tmp_path / "g.db") == [Status.SOLVED] * 50
    assert statuses(tmp_path / "g.db.set-aside-1") == wrong


def test_failures_that_are_a_result_stay(tmp_path: Path) -> None:
    """Runs that somebody wants to keep would be set aside."""
    scenario = tools.scenario(tmp_path)
    size: dict[str, Any] = {"configurations": 2, "instances": 5}
    gather(scenario, tmp_path / "g.db", **size, runs=1, pool=tools.Pool(crash), keep_going=True)
    gather(scenario, tmp_path / "g.db", **size, runs=2, pool=tools.Pool(crash), keep_going=True)
    assert len(statuses(tmp_path / "g.db")) == 20
    assert not list(tmp_path.glob("*set-aside*"))


def test_few_runs_that_all_fail_are_told(tmp_path: Path) -> None:
    """Nine crashes of nine runs would end well."""
    scenario = tools.scenario(tmp_path)
    with pytest.raises(InputError, match="first 3 runs all failed"):
        gather(
            scenario, tmp_path / "g.db", configurations=3, instances=1, runs=1,
            pool=tools.Pool(crash),
        )  # fmt: skip


@pytest.mark.parametrize("kind", ["configure", "validate"])
def test_searches_and_validations_stop_as_well(tmp_path: Path, kind: str) -> None:
    """A search would spend its budget on crashes."""
    scenario = tools.scenario(tmp_path, instances=30)
    pool, path = tools.Pool(crash), tmp_path / "c.db"

    def campaign(pool: tools.Pool, budget: int) -> object:
        if kind == "configure":
            return configure(scenario, path, budget=budget, pool=pool)
        return validate(
            None, scenario, path, configuration={"x": 5, "y": 5}, budget=budget, pool=pool
        )

    with pytest.raises(InputError, match="all failed"):
        campaign(pool, 60)
    assert len(pool.made) < 20
    campaign(tools.Pool(), 60)
    assert set(statuses(path)) <= {Status.SOLVED, Status.CENSORED}


def test_one_success_is_enough(tmp_path: Path) -> None:
    """A solver that fails on most instances could not be tuned."""
    scenario = tools.scenario(tmp_path)
    first: list[Task] = []

    def mostly(task: Task) -> Outcome:
        first.append(task)
        return tools.outcome(0.5) if len(first) == 4 else crash(task)

    gather(scenario, tmp_path / "g.db", **SIZE, pool=tools.Pool(mostly))
    assert len(statuses(tmp_path / "g.db")) == 250


def test_an_aborted_run_cancels_what_has_not_started(tmp_path: Path) -> None:
    """After an abort every submitted task would still be run, two cutoffs of each worker."""
    scenario = tools.scenario(tmp_path)
    made: list[Task] = []

    def work(task: Task) -> Outcome:
        made.append(task)
        aborts = len(made) == 6
        return tools.outcome(0.1, Status.ABORTED if aborts else Status.SOLVED, detail="stop")

    pool = tools.Pool(work, workers=4)
    with pytest.raises(InputError, match=r"asked to stop .* \(stop\).*the same command continues"):
        gather(scenario, tmp_path / "g.db", **SIZE, pool=pool)
    # Four more had started; the others of the eight that were submitted had not.
    assert len(made) == 6 + 4
    assert len(statuses(tmp_path / "g.db")) == 9
    # The run is made again.
    gather(scenario, tmp_path / "g.db", **{**SIZE, "runs": 1}, pool=tools.Pool())
    assert len(statuses(tmp_path / "g.db")) == 50


def test_values_outside_the_range_stop_early(tmp_path: Path) -> None:
    """Values no statement can be made of would be gathered for a weekend."""
    metric = {"kind": "value", "low": 5.0, "high": 10.0}
    scenario = tools.scenario(tmp_path, metric=metric)
    with pytest.raises(InputError, match=r"not between low = 5 and high = 10.*no run is lost"):
        gather(scenario, tmp_path / "g.db", **SIZE, pool=tools.Pool())
    there = len(statuses(tmp_path / "g.db"))
    assert there < 20
    right = tools.scenario(tmp_path, metric={**metric, "low": 0.0})
    pool = tools.Pool()
    gather(right, tmp_path / "g.db", **SIZE, pool=pool)
    assert len(pool.made) == 250 - there


def test_a_search_with_a_wrong_range_begins_anew(tmp_path: Path) -> None:
    """Decisions made with a wrong range would stay in the journal."""
    metric = {"kind": "value", "low": 5.0, "high": 10.0}
    scenario = tools.scenario(tmp_path, instances=20, metric=metric)
    with pytest.raises(InputError, match="not between low = 5"):
        configure(scenario, tmp_path / "c.db", budget=50, pool=tools.Pool())
    right = tools.scenario(tmp_path, instances=20, metric={**metric, "low": 0.0})
    assert configure(right, tmp_path / "c.db", budget=50, pool=tools.Pool()).runs <= 50
    assert list(tmp_path.glob("c.db.set-aside-1"))


def test_runs_without_a_value_stop_it(tmp_path: Path) -> None:
    """A solver that prints no value would be run for a weekend, each run costing the most."""
    metric = {"kind": "quality", "low": 0.0, "high": 10.0}
    scenario = tools.scenario(tmp_path, metric=metric)
    silent = tools.Pool(lambda _: tools.outcome(1.0, Status.TIMEOUT, value=None))
    with pytest.raises(InputError, match=r"10 gave no value"):
        gather(scenario, tmp_path / "g.db", **SIZE, pool=silent)
