"""What a journal records: runs, events, output of failures, and the matrix made of them."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import campaign_tools as tools
import numpy as np
import pytest

from truecost.errors import InputError
from truecost.journal.journal import MOST_OUTPUTS, Journal
from truecost.running.pools import Finished, Task
from truecost.running.scenario import Scenario
from truecost.runs import Outcome, Status


@pytest.fixture
def scenario(tmp_path: Path) -> Scenario:
    """A scenario of running times with 8 instances."""
    return tools.scenario(tmp_path)


@pytest.fixture
def journal(tmp_path: Path, scenario: Scenario) -> Iterator[Journal]:
    """A new journal with 3 configurations and all instances."""
    with Journal.write(tmp_path / "runs.db", scenario, "gather", {}) as opened:
        opened.enter(scenario.space.configurations(3, seed=1), scenario.instances)
        yield opened


def run(
    scenario: Scenario, who: int, where: int, number: int = 0, made: Outcome | None = None
) -> Finished:
    """A finished run, by places."""
    task = Task(
        configuration=scenario.space.configurations(3, seed=1)[who],
        instance=scenario.instances[where],
        number=number,
        seed=7 + number,
    )
    made = made or tools.outcome((1 + 100 * who + 10 * where + number) / 1000)
    return Finished(task=task, outcome=made, machine=tools.MACHINE)


def test_what_is_written_is_read(journal: Journal, scenario: Scenario) -> None:
    """A run would end in another cell than its own, or lose its status or seed."""
    cells = [(c, i, n) for n in range(2) for i in range(4) for c in range(3)]
    journal.add([run(scenario, *cell) for cell in cells])
    matrix = journal.matrix()
    assert matrix.configurations == tuple(journal.configurations())
    assert matrix.instances == tuple(instance.name for instance in scenario.instances[:4])
    expected = [(1 + 100 * c + 10 * i + n) / 1000 for c, i, n in np.ndindex(3, 4, 2)]
    assert matrix.costs.ravel().tolist() == pytest.approx(expected)
    assert (matrix.low, matrix.high, matrix.cutoff, matrix.par) == (0, 10, 1, 10)
    assert matrix.seeds is not None
    assert (matrix.seeds == [7, 8]).all()
    assert journal.machines() == [tools.MACHINE]


def test_parts_of_the_matrix_have_the_order_asked_for(journal: Journal, scenario: Scenario) -> None:
    """The recorded order of a test would be lost on the way to the verdict."""
    journal.add([run(scenario, c, i) for c in range(2) for i in range(3)])
    names = [scenario.instances[place].name for place in (2, 0, 5)]
    who = [*journal.configurations()][1::-1]
    matrix = journal.matrix(instances=names, configurations=who)
    assert matrix.instances == tuple(names[:2])  # the last has no runs
    assert matrix.configurations == tuple(who)
    assert matrix.costs[0, 0, 0] == pytest.approx(0.121)


def test_a_run_is_recorded_once(journal: Journal, scenario: Scenario) -> None:
    """A run that came back twice from a cluster would count twice."""
    journal.add([run(scenario, 0, 0)])
    with pytest.raises(sqlite3.IntegrityError):
        journal.add([run(scenario, 0, 1), run(scenario, 0, 0)])
    assert len(journal.table()) == 1
    # The journal goes on as if the refused batch had never been.
    journal.add([run(scenario, 0, 1)])
    assert len(journal.table()) == 2


def test_rows_are_never_changed(journal: Journal, scenario: Scenario) -> None:
    """A database tool could rewrite results without anything objecting."""
    journal.add([run(scenario, 0, 0)])
    journal.event("plan", commit=True)
    for statement in (
        "DELETE FROM runs", "UPDATE runs SET cpu = 0", "DELETE FROM events",
        "UPDATE events SET data = ''",
    ):  # fmt: skip
        with (
            closing(sqlite3.connect(journal.path)) as connection,
            pytest.raises(sqlite3.IntegrityError, match="append-only"),
        ):
            connection.execute(statement)


def test_aborted_runs_do_not_count(journal: Journal, scenario: Scenario) -> None:
    """An aborted run would count as data, or prevent the run that replaces it."""
    aborted = tools.outcome(0.1, Status.ABORTED)
    journal.add([run(scenario, 0, 0, made=aborted)])
    journal.add([run(scenario, 0, 0, made=aborted)])
    assert not len(journal.table())
    with pytest.raises(InputError, match="no runs"):
        journal.matrix()
    journal.add([run(scenario, 0, 0)])
    assert journal.matrix().shape == (1, 1, 1)


def test_censored_runs_keep_their_cap(journal: Journal, scenario: Scenario) -> None:
    """A run stopped by a race would pass for a timeout, or for a solved run."""
    capped = tools.outcome(0.25, Status.CENSORED, cap=0.25, value=None)
    journal.add([run(scenario, 0, 0, made=capped), run(scenario, 1, 0)])
    matrix = journal.matrix()
    assert matrix.censored.ravel().tolist() == [True, False]
    assert matrix.costs[0, 0, 0] == 0.25
    assert journal.table().cap.tolist()[0] == 0.25


def test_metrics_are_taken_later(journal: Journal, scenario: Scenario) -> None:
    """PAR1, PAR10 or a lower cutoff could not be had from the same runs."""
    outcomes = [tools.outcome(0.2), tools.outcome(0.6), tools.outcome(1.0, Status.TIMEOUT)]
    journal.add([run(scenario, 0, place, made=made) for place, made in enumerate(outcomes)])
    for factor, cutoff, expected in [
        (1, 1, [0.2, 0.6, 1]), (10, 1, [0.2, 0.6, 10]), (10, 0.5, [0.2, 5, 5]),
    ]:  # fmt: skip
        matrix = journal.matrix(metric=journal.metric(par=factor, cutoff=cutoff))
        assert matrix.costs.ravel().tolist() == expected
        assert matrix.high == factor * cutoff
    with pytest.raises(InputError, match="stopped after 1 s"):
        journal.metric(cutoff=2.0)


def test_events_come_back_in_order(journal: Journal, scenario: Scenario) -> None:
    """A resumed campaign would rebuild another state than the one that was interrupted."""
    journal.event("heat", {"order": [1, 2]})
    journal.add([run(scenario, 0, 0)])
    journal.event("over")
    journal.event("heat", {"order": []}, commit=True)
    with Journal.read(journal.path) as reader:
        assert [event.number for event in reader.events()] == [1, 2, 3]
        assert [event.data for event in reader.events("heat")] == [{"order": [1, 2]}, {"order": []}]
        assert reader.decisions == 3


def test_decisions_and_configurations_wait_for_a_commit(
    journal: Journal, scenario: Scenario
) -> None:
    """A proposal would be forgotten when the journal is closed or a batch of runs refused, or be
    there without its configuration after a crash.
    """
    journal.add([run(scenario, 0, 0)])
    new = scenario.space.configurations(5, seed=1)[3:]
    journal.enter([new[0]])
    journal.event("proposal", "a")
    with pytest.raises(sqlite3.IntegrityError):
        journal.add([run(scenario, 0, 0)])
    assert list(journal.configurations())[-1] == new[0].name
    assert [event.data for event in journal.events("proposal")] == ["a"]
    with Journal.read(journal.path) as reader:
        assert new[0].name not in reader.configurations()
        assert not reader.events()
    task = Task(configuration=new[0], instance=scenario.instances[0], number=0, seed=1)
    journal.add([Finished(task=task, outcome=tools.outcome(0.5), machine=tools.MACHINE)])
    journal.enter([new[1]])
    journal.close()
    with Journal.read(journal.path) as reader:
        assert list(reader.configurations())[-2:] == [one.name for one in new]
        assert reader.matrix().configurations[-1] == new[0].name
        assert [event.data for event in reader.events()] == ["a"]


def test_output_of_failures_is_kept(journal: Journal, scenario: Scenario) -> None:
    """Nobody could find out why runs crashed without running them again, or the output of a night
    of crashes fill the disk.
    """
    crash: dict[str, Any] = {"detail": "exit code 3", "command": "./s", "stderr": b"\xff"}
    journal.add(
        run(
            scenario, 0, 0, number,
            tools.outcome(0.1, Status.CRASHED, **crash, stdout=b"%d" % number),
        )
        for number in range(MOST_OUTPUTS + 9)
    )  # fmt: skip
    journal.add([run(scenario, 1, 0), run(scenario, 1, 1, made=tools.outcome(1, Status.TIMEOUT))])
    failures = journal.failures()
    assert len(failures) == MOST_OUTPUTS
    assert failures.iloc[7].to_dict() == {
        "status": "crashed", "detail": "exit code 3", "number": 7, "command": "./s",
        "configuration": scenario.space.configurations(3, seed=1)[0].name,
        "instance": scenario.instances[0].name, "stdout": "7", "stderr": "\ufffd",
    }  # fmt: skip


def test_families_come_with_the_matrix(tmp_path: Path) -> None:
    """Instances that are alike would be taken for independent ones."""
    scenario = tools.scenario(tmp_path, instances=4)
    families = {instance.name: f"f{place % 2}" for place, instance in enumerate(scenario.instances)}
    labelled = [
        replace(instance, extras={"family": families[instance.name]})
        for instance in scenario.instances
    ]
    with Journal.write(tmp_path / "f.db", scenario, "gather", {}) as journal:
        journal.enter(scenario.space.configurations(3, seed=1), labelled)
        journal.add([run(scenario, 0, place) for place in range(4)])
        matrix = journal.matrix()
    assert matrix.families == tuple(families[name] for name in matrix.instances)


def test_a_changed_instance_is_refused(journal: Journal, scenario: Scenario) -> None:
    """Another instance by the same name would be mixed with the old one."""
    journal.enter(instances=scenario.instances)
    Path(scenario.instances[0].argument).write_text("99\n")
    with pytest.raises(InputError, match="has changed"):
        journal.enter(instances=scenario.instances)


def test_large_and_sparse_ids_are_read(journal: Journal, scenario: Scenario) -> None:
    """Memory would be as large as the largest id of a damaged file."""
    journal.add([run(scenario, 0, 0)])
    journal.close()
    with closing(sqlite3.connect(journal.path)) as connection:
        connection.execute("INSERT INTO configurations VALUES (4000000000, 'far', '{}')")
        connection.execute(
            "INSERT INTO runs SELECT 99, 4000000000, instance, number, seed, cap, status, cpu, "
            "wall, memory, exit_code, time, value, detail, machine, ended FROM runs"
        )
        connection.commit()
    with Journal.read(journal.path) as reader:
        assert reader.matrix().configurations[-1] == "far"
