"""First runs that all fail stop a campaign; the journal stays reusable."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import campaign_tools as tools
import pytest

from truecost.campaigns.configure import configure
from truecost.campaigns.gather import gather
from truecost.campaigns.results import Validated
from truecost.campaigns.validate import validate
from truecost.errors import InputError
from truecost.journal.journal import Journal
from truecost.running.pools import Task
from truecost.running.scenario import Scenario
from truecost.runs import Outcome, Status

SIZE: dict[str, Any] = {"configurations": 10, "instances": 5, "runs": 5}


def crash(_task: Task) -> Outcome:
    """Always the same reason."""
    return tools.outcome(0.01, Status.CRASHED, detail="no file", value=None, command="./s")


def statuses(path: Path) -> list[int]:
    """How the runs of a journal ended."""
    with Journal.read(path) as journal:
        return [int(status) for status in journal.table().status]


def test_first_runs_that_all_fail_stop_it(tmp_path: Path) -> None:
    """A weekend would be spent on a wrong command line, crashes count against configurations, or
    the journal be lost.
    """
    scenario = tools.scenario(tmp_path)
    with pytest.raises(
        InputError, match=r"first 1\d runs all failed: 1\d crashed \(no file\)"
    ) as caught:
        gather(scenario, tmp_path / "g.db", **SIZE, pool=tools.Pool(crash, workers=3))
    message = str(caught.value)
    assert "solver.sh" in message.partition("Try by hand: ")[2]
    assert "\n" not in message
    moved = tmp_path / "g.db.set-aside-1"
    assert f"moved to {moved}" in message
    assert 10 <= len(statuses(moved)) <= 13
    with Journal.read(moved) as journal:
        assert journal.failures().command[0] == "./s"
    (tmp_path / "solver.sh").write_text("#!/bin/sh\n# mended\n")
    mended = Scenario.read(scenario.path)
    gather(mended, tmp_path / "g.db", **{**SIZE, "runs": 1}, pool=tools.Pool())
    assert statuses(tmp_path / "g.db") == [Status.SOLVED] * 50


def test_a_journal_that_is_read_is_moved_whole(tmp_path: Path) -> None:
    """A second program that reads the journal would cost the runs that are moved."""
    scenario, path = tools.scenario(tmp_path), tmp_path / "g.db"
    Journal.write(path, scenario, "gather", {}).close()
    with closing(sqlite3.connect(path)) as reader:
        assert reader.execute("SELECT count(*) FROM runs").fetchone() == (0,)
        with pytest.raises(InputError, match="all failed"):
            gather(scenario, path, **SIZE, pool=tools.Pool(crash))
        assert len(statuses(tmp_path / "g.db.set-aside-1")) >= 10


def test_failures_that_are_a_result_stay(tmp_path: Path) -> None:
    """Runs that somebody wants to keep would be set aside."""
    scenario = tools.scenario(tmp_path)
    how: dict[str, Any] = {"configurations": 5, "instances": 5, "pool": tools.Pool(crash)}
    for runs in (4, 5):
        gather(scenario, tmp_path / "g.db", **how, runs=runs, keep_going=True)
    # More than 100 are no first attempt, whether or not that is said again.
    gather(scenario, tmp_path / "g.db", **how, runs=6)
    assert len(statuses(tmp_path / "g.db")) == 150
    assert not list(tmp_path.glob("*set-aside*"))


def test_few_runs_that_all_fail_are_told(tmp_path: Path) -> None:
    """Nine crashes of nine runs would end well."""
    size: dict[str, Any] = {"configurations": 3, "instances": 1, "runs": 1}
    with pytest.raises(InputError, match="first 3 runs all failed"):
        gather(tools.scenario(tmp_path), tmp_path / "g.db", **size, pool=tools.Pool(crash))


@pytest.mark.parametrize("kind", ["configure", "validate"])
def test_searches_and_validations_stop_as_well(tmp_path: Path, kind: str) -> None:
    """A search would spend its budget on crashes."""
    scenario, path = tools.scenario(tmp_path, instances=30), tmp_path / "c.db"

    def campaign(pool: tools.Pool) -> object:
        if kind == "configure":
            return configure(scenario, path, budget=60, pool=pool)
        return validate(None, scenario, path, configuration={"x": 5, "y": 5}, budget=60, pool=pool)

    pool = tools.Pool(crash)
    with pytest.raises(InputError, match="all failed"):
        campaign(pool)
    assert len(pool.made) < 20
    campaign(tools.Pool())
    assert set(statuses(path)) <= {Status.SOLVED, Status.CENSORED}


def test_one_success_is_enough(tmp_path: Path) -> None:
    """A solver that fails on most instances could not be tuned."""
    made: list[Task] = []

    def mostly(task: Task) -> Outcome:
        made.append(task)
        return tools.outcome(0.5) if len(made) == 4 else crash(task)

    gather(tools.scenario(tmp_path), tmp_path / "g.db", **SIZE, pool=tools.Pool(mostly))
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


@pytest.mark.parametrize("kind", ["gather", "configure", "validate"])
def test_values_outside_the_range_stop_early(tmp_path: Path, kind: str) -> None:
    """Values no statement can be made of would be gathered for a weekend, or the runs be lost when
    the range is corrected.
    """
    metric, path = {"kind": "value", "low": 5.0, "high": 10.0}, tmp_path / "g.db"

    def campaign(low: float, high: float = 10.0) -> int:
        changed = {**metric, "low": low, "high": high}
        scenario = tools.scenario(tmp_path, instances=20, metric=changed)
        pool = tools.Pool()
        if kind == "gather":
            gather(scenario, path, **SIZE, pool=pool)
        elif kind == "configure":
            configure(scenario, path, budget=50, pool=pool)
        else:
            validate(None, scenario, path, configuration={"x": 5, "y": 5}, pool=pool)
        return len(pool.made)

    with pytest.raises(InputError, match=r"not between low = 5 and high = 10.*no run is lost"):
        campaign(5.0)
    before = len(statuses(path))
    assert 0 < before < 20
    made = campaign(0.0)
    assert made == len(statuses(path)) - before
    if kind == "gather":  # whose costs may be judged in any way
        return
    with pytest.raises(InputError, match="widened only"):
        campaign(0.0, 9.0)


def test_a_value_outside_the_range_costs_no_night(tmp_path: Path) -> None:
    """A journal with one late value outside of the range could neither be read nor continued."""
    path, made = tmp_path / "v.db", list[Task]()

    def work(task: Task) -> Outcome:
        made.append(task)
        return tools.outcome(7.0) if len(made) == 25 else tools.better_by_x(task)

    def campaign(high: float) -> Validated:
        metric = {"kind": "value", "low": 0.0, "high": high}
        scenario = tools.scenario(tmp_path, instances=40, metric=metric)
        how: dict[str, Any] = {"configuration": {"x": 1, "y": 5}, "complete": True}
        return validate(None, scenario, path, **how, pool=tools.Pool(work))

    with pytest.raises(InputError, match="above high = 1"):
        campaign(1.0)
    assert campaign(10.0).runs == len(made) == 80


def test_runs_without_a_value_stop_it(tmp_path: Path) -> None:
    """A solver that prints no value would be run for a weekend, each run costing the most."""
    metric = {"kind": "quality", "low": 0.0, "high": 10.0}
    scenario = tools.scenario(tmp_path, metric=metric)
    silent = tools.Pool(lambda _: tools.outcome(1.0, Status.TIMEOUT, value=None))
    with pytest.raises(InputError, match=r"10 gave no value"):
        gather(scenario, tmp_path / "g.db", **SIZE, pool=silent)
