import math
import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
import scenarios

from truecost import CostMatrix, InputError, Journal, Outcome, Run, Scenario, Status
from truecost.campaigns.doubts import doubts
from truecost.campaigns.gather import design_of
from truecost.importers.detect import import_runs
from truecost.journal.design import RunDesign
from truecost.journal.file import JournalError
from truecost.journal.metric import Metric
from truecost.runs import Machine

HERE = Machine(host="here", cpu="fast", system="Linux", method="cgroup", solver="1.0", truecost="0")


def outcome(
    status: Status = Status.SOLVED,
    cpu: float = 1.0,
    value: float | None = 1.0,
    wall: float | None = None,
) -> Outcome:
    """An outcome of which only some fields matter."""
    return Outcome(
        status=status,
        cpu=cpu,
        wall=cpu if wall is None else wall,
        memory=0,
        exit_code=0,
        value=value,
    )


def add(
    journal: Journal,
    plan: RunDesign,
    cells: list[tuple[int, int, int]],
    made: Outcome | None = None,
    machine: Machine = HERE,
) -> None:
    """Write runs (configuration, instance, number), by places in the plan."""
    journal.add(
        [
            (
                Run(
                    configuration=plan.configurations[c].name,
                    instance=plan.instances[i].name,
                    number=n,
                    seed=1,
                    outcome=made or outcome(value=100 * c + 10 * i + n),
                ),
                machine,
            )
            for c, i, n in cells
        ],
        "2026-01-01",
    )


@pytest.fixture
def scenario(tmp_path: Path) -> Scenario:
    """A small scenario."""
    return Scenario.read(scenarios.write(tmp_path))


@pytest.fixture
def journal(tmp_path: Path, scenario: Scenario) -> Iterator[Journal]:
    """A new journal, open for writing."""
    with Journal.write(tmp_path / "runs.db", scenario) as opened:
        yield opened


def begun(
    journal: Journal, scenario: Scenario, configurations: int = 2, instances: int = 3, runs: int = 2
) -> RunDesign:
    """A plan that the journal has taken in."""
    plan = design_of(scenario, configurations, instances, runs)
    journal.begin(plan, scenario.metric)
    return plan


def test_what_is_written_is_read(journal: Journal, scenario: Scenario) -> None:
    """A run would end in another cell of the matrix than its own, or lose its status or seed."""
    plan = begun(journal, scenario)
    cells = [(c, i, n) for n in range(2) for i in range(3) for c in range(2)]
    add(journal, plan, cells)
    matrix = journal.matrix()
    assert matrix.configurations == tuple(
        configuration.name for configuration in plan.configurations
    )
    assert matrix.instances == tuple(instance.name for instance in plan.instances)
    assert matrix.costs.tolist() == [
        [[100 * c + 10 * i + n for n in range(2)] for i in range(3)] for c in range(2)
    ]
    assert (matrix.low, matrix.high) == (0, 10000)
    assert matrix.seeds is not None
    assert (matrix.seeds == 1).all()
    assert journal.done(plan).all()
    assert journal.configurations()[plan.configurations[0].name] == {"alpha": "1", "beta": "1"}


def test_a_run_is_there_once(journal: Journal, scenario: Scenario) -> None:
    """A run that came back twice from a cluster would be counted twice, or take a good one's place."""
    plan = begun(journal, scenario)
    add(journal, plan, [(0, 0, 0)])
    with pytest.raises(sqlite3.IntegrityError):
        add(journal, plan, [(0, 1, 0), (0, 0, 0)])
    assert journal.done(plan).sum() == 1


def test_runs_are_never_changed(journal: Journal, scenario: Scenario) -> None:
    """Somebody with a database tool could rewrite results without anything objecting."""
    add(journal, begun(journal, scenario), [(0, 0, 0)])
    for statement in ("DELETE FROM runs", "UPDATE runs SET cpu = 0"):
        with (
            closing(sqlite3.connect(journal.path)) as connection,
            pytest.raises(sqlite3.IntegrityError, match="append-only"),
        ):
            connection.execute(statement)


def test_aborted_runs_are_done_again(journal: Journal, scenario: Scenario) -> None:
    """An aborted run would count as data, or stand in the way of the run that replaces it."""
    plan = begun(journal, scenario, 1, 1, 1)
    add(journal, plan, [(0, 0, 0)], outcome(Status.ABORTED))
    add(journal, plan, [(0, 0, 0)], outcome(Status.ABORTED))
    assert not journal.done(plan).any()
    add(journal, plan, [(0, 0, 0)])
    assert journal.matrix().costs.tolist() == [[[0]]]


def test_finished_runs_after_a_slow_one_wait_for_it(journal: Journal, scenario: Scenario) -> None:
    """What is there in the middle of a gathering would be the quick runs, and every estimate from
    it too good.
    """
    plan = begun(journal, scenario, 2, 3, 2)
    # S* order is round, instance, configuration: the third run, configuration 0 on instance 1, is
    # still out.
    add(journal, plan, [(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 2, 0)])
    counts = np.zeros((2, 3), dtype=int)
    assert journal.table().ahead.tolist() == [False, False, True, True]
    counts[:, 0] = 1
    assert journal.matrix().counts().tolist() == [[1], [1]]
    assert journal.matrix(ahead=True).counts().tolist() == [[1, 0, 1], [1, 1, 0]]
    add(journal, plan, [(0, 1, 0)])
    assert journal.table().ahead.tolist() == [False] * 5
    # What an earlier plan gathered stays, whatever the next one has not reached yet.
    add(
        journal,
        plan,
        [
            cell
            for cell in np.ndindex(2, 3, 2)
            if cell not in {(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 2, 0), (0, 1, 0)}
        ],
    )
    larger = begun(journal, scenario, 3, 4, 2)
    assert not journal.table().ahead.any()
    add(journal, larger, [(2, 1, 0)])
    assert journal.table().ahead.sum() == 1
    assert journal.matrix().counts().sum() == 12


def test_metrics_are_taken_later(journal: Journal, scenario: Scenario) -> None:
    """PAR1, PAR10 or a lower cutoff could not be had from the same journal."""
    plan = begun(journal, scenario, 1, 3, 1)
    for instance, made in enumerate(
        [outcome(cpu=1), outcome(cpu=3), outcome(Status.TIMEOUT, cpu=5)]
    ):
        add(journal, plan, [(0, instance, 0)], made)
    for factor, cutoff, expected in [(1, 5, [1, 3, 5]), (10, 5, [1, 3, 50]), (10, 2, [1, 20, 20])]:
        matrix = journal.matrix(Metric(kind="par", factor=float(factor), cutoff=float(cutoff)))
        assert matrix.costs.ravel().tolist() == expected
        assert matrix.high == factor * cutoff
        assert matrix.statuses is not None
        assert (matrix.statuses.ravel() == Status.TIMEOUT).tolist() == [
            cost == factor * cutoff for cost in expected
        ]


def test_costs_outside_the_range_are_named(journal: Journal, scenario: Scenario) -> None:
    """A quality above `high` would break the bounds silently, or cost the journal."""
    plan = begun(journal, scenario, 1, 1, 1)
    add(journal, plan, [(0, 0, 0)], outcome(value=12345.0))
    with pytest.raises(
        InputError,
        match=r"expected costs in \[0, 10000\], got 12345 .* change low and high in \[metric\]; no run is lost",
    ):
        journal.matrix()
    assert journal.matrix(Metric(kind="value", low=0.0, high=20000.0)).costs.item() == 12345


def test_one_writer(journal: Journal, scenario: Scenario, tmp_path: Path) -> None:
    """Two gatherings into one journal would do every run twice."""
    with pytest.raises(InputError, match="another truecost does"):
        Journal.write(journal.path, scenario)
    script = "import sys; from truecost import Journal, Scenario; Journal.write(sys.argv[1], Scenario.read(sys.argv[2]))"
    words = [sys.executable, "-c", script, str(journal.path), str(tmp_path / "scenario.toml")]
    other = subprocess.run(words, capture_output=True, text=True, check=False)
    assert "another truecost does" in other.stderr
    with Journal.read(journal.path) as reader:
        assert reader.scenario() == "toy"
    # The reader's closing must not have given up the writer's lock.
    with pytest.raises(InputError, match="another truecost does"):
        Journal.write(journal.path, scenario)


@pytest.mark.parametrize(
    ("old", "new", "difference"),
    [
        (
            "cpu = 0.1",
            "cpu = 0.3",
            r"limits\.cpu was 0\.1, is 0\.3, limits\.cutoff was 0\.1, is 0\.3",
        ),
        ("seed = 3", "seed = 4", "seed was 3, is 4"),
        (
            'command = ["./solver.sh"]',
            'command = ["./solver.sh", "-v"]',
            r'target\.command was \["\./solver\.sh"\], is',
        ),
    ],
)
def test_a_changed_scenario_is_refused(
    tmp_path: Path, scenario: Scenario, old: str, new: str, difference: str
) -> None:
    """Runs of two different experiments would be mixed in one journal."""
    path = tmp_path / "runs.db"
    with Journal.write(path, scenario) as journal:
        add(journal, begun(journal, scenario), [(0, 0, 0)])
    file = tmp_path / "scenario.toml"
    file.write_text(file.read_text().replace(old, new))
    with pytest.raises(
        InputError, match=f"expected the scenario the journal was begun with; {difference}"
    ):
        Journal.write(path, Scenario.read(file))


def test_a_changed_solver_space_or_instance_is_refused(tmp_path: Path, scenario: Scenario) -> None:
    """A solver built anew, another range or another instance by the same name would go unnoticed."""
    path = tmp_path / "runs.db"
    with Journal.write(path, scenario) as journal:
        add(journal, begun(journal, scenario), [(0, 0, 0)])
    (tmp_path / "solver.sh").write_text("#!/bin/sh\n")
    with pytest.raises(InputError, match=r"the file solver\.sh has changed"):
        Journal.write(path, Scenario.read(tmp_path / "scenario.toml"))
    (tmp_path / "solver.sh").write_text(scenarios.TARGET)
    (tmp_path / "space.pcs").write_text(scenarios.SPACE.replace("[1]", "[2]", 1))
    with pytest.raises(InputError, match=r"space: -alpha .*\[1\]; \+alpha .*\[2\]"):
        Journal.write(path, Scenario.read(tmp_path / "scenario.toml"))
    (tmp_path / "space.pcs").write_text(scenarios.SPACE)
    again = Scenario.read(tmp_path / "scenario.toml")
    Path(again.instances[0].argument).write_text("99\n")
    with (
        Journal.write(path, again) as journal,
        pytest.raises(InputError, match=r"the instance 'instances/i \d.txt' to be what it was"),
    ):
        begun(journal, again)


def test_another_metric_is_no_other_scenario(tmp_path: Path, scenario: Scenario) -> None:
    """Changing the metric would cost the runs."""
    path = tmp_path / "runs.db"
    with Journal.write(path, scenario) as journal:
        add(journal, begun(journal, scenario, 1, 1, 1), [(0, 0, 0)], outcome(value=3.0))
    changed = Scenario.read(
        scenarios.write(tmp_path, metric={"kind": "value", "low": 0.0, "high": 5.0})
    )
    with Journal.write(path, changed) as journal:
        begun(journal, changed, 1, 1, 1)
        assert journal.matrix().high == 5


@pytest.mark.parametrize("content", [b"", b"not a journal", b"SQLite format 3\0" + b"x" * 4096])
def test_other_files_are_refused(tmp_path: Path, scenario: Scenario, content: bytes) -> None:
    """A file that is no journal would be overwritten, or end in a traceback."""
    path = tmp_path / "runs.db"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"runs\.db"):
        Journal.read(path)
    if content:
        with pytest.raises(InputError, match=r"runs\.db"):
            Journal.write(path, scenario)
        assert path.read_bytes() == content


def test_somebody_elses_database_is_refused(tmp_path: Path, scenario: Scenario) -> None:
    """An SQLite file of another program would get our tables."""
    with closing(sqlite3.connect(tmp_path / "other.db")) as connection:
        connection.execute("CREATE TABLE mine (x)")
    with pytest.raises(InputError, match="got another SQLite file"):
        Journal.read(tmp_path / "other.db")
    with pytest.raises(InputError, match="got another SQLite file"):
        Journal.write(tmp_path / "other.db", scenario)


def test_a_damaged_journal_says_so(tmp_path: Path, scenario: Scenario) -> None:
    """A journal with overwritten pages would end in a traceback."""
    path = tmp_path / "runs.db"
    with Journal.write(path, scenario) as journal:
        plan = begun(journal, scenario, 2, 5, 5)
        add(journal, plan, list(np.ndindex(2, 5, 5)))
    good = path.read_bytes()
    rng = np.random.default_rng(5)
    readings = set()
    for _ in range(60):
        damaged = bytearray(good)
        start = int(rng.integers(16, len(good) - 600))
        damaged[start : start + 600] = rng.bytes(600)
        path.write_bytes(damaged)
        try:
            with Journal.read(path) as journal:
                journal.matrix()
            readings.add("read")
        except (InputError, JournalError) as error:
            readings.add("refused" if "runs.db" in str(error) else "refused without a name")
    assert "refused" in readings
    assert "refused without a name" not in readings


def test_a_table_of_a_million_runs_is_not_needed_to_be_complete(
    journal: Journal, scenario: Scenario
) -> None:
    """An empty journal would be an error of ours instead of an answer."""
    with pytest.raises(InputError, match="none was planned"):
        journal.matrix()
    begun(journal, scenario)
    with pytest.raises(InputError, match="expected runs, got none so far"):
        journal.matrix()


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting needs root")
def test_a_full_disk_costs_nothing_that_was_written(tmp_path: Path, scenario: Scenario) -> None:
    """When the disk fills up, runs that were reported done would be gone, or the journal
    unreadable.
    """
    small = tmp_path / "small"
    small.mkdir()
    if subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(small)], check=False
    ).returncode:
        pytest.skip("no tmpfs can be mounted here")
    try:
        path = small / "runs.db"
        written = 0
        journal = Journal.write(path, scenario)
        plan = begun(journal, scenario, 100, 5, 100)
        with pytest.raises(JournalError, match="what is in the journal stays readable"):  # noqa: PT012
            for cell in np.ndindex(100, 5, 100):
                add(journal, plan, [cell], outcome())
                written += 1
        assert written > 100
        assert journal.done(plan).sum() == written
        with Journal.read(path) as reader:
            assert reader.matrix(ahead=True).counts().sum() == written
        journal.close()
        subprocess.run(["mount", "-o", "remount,size=10m", str(small)], check=True)
        with Journal.write(path, scenario) as journal:
            journal.begin(plan, scenario.metric)
            assert journal.done(plan).sum() == written
            add(journal, plan, [(99, 4, 99)], outcome())
        subprocess.run(["mount", "-o", "remount,ro", str(small)], check=True)
        with Journal.read(path) as reader:
            assert reader.matrix(ahead=True).counts().sum() == written + 1
        with pytest.raises(
            InputError, match=r"expected a journal that can be written: Read-only file system"
        ):
            Journal.write(path, scenario)
    finally:
        subprocess.run(["umount", "-l", str(small)], check=True)


def test_doubts(journal: Journal, scenario: Scenario) -> None:
    """Mixed CPUs, crowded cores or seeds without effect would pass without a word."""
    plan = begun(journal, scenario, 4, 5, 2)
    cells = list(np.ndindex(4, 5, 2))
    metric = Metric(kind="par", cutoff=10.0)
    # Half the runs waited; in every cell both runs are alike; the second half ran on another CPU.
    other = Machine(
        host="there", cpu="slow", system="Linux", method="cgroup", solver="1.1", truecost="0"
    )
    for place, cell in enumerate(cells):
        late = place % 2 == 0
        add(
            journal,
            plan,
            [cell],
            outcome(cpu=1.0, wall=9.0 if late else 1.0, value=5.0),
            HERE if place < 20 else other,
        )
    found = " ".join(doubts(journal.table(), journal.machines(), metric))
    for phrase in (
        "CPUs are mixed (fast; slow)",
        "version changed",
        "50 % of the runs took far more wall time",
        "seeds seem to change nothing",
    ):
        assert phrase in found


def test_no_doubts_without_reason(journal: Journal, scenario: Scenario) -> None:
    """A sound journal would be called doubtful, and nobody would read the next warning."""
    plan = begun(journal, scenario, 4, 5, 2)
    for place, cell in enumerate(np.ndindex(4, 5, 2)):
        add(journal, plan, [cell], outcome(cpu=1 + 0.1 * (place % 2), value=float(place)))
    assert doubts(journal.table(), journal.machines(), Metric(kind="par", cutoff=10.0)) == []


def test_matrix_of_gaps_keeps_them(journal: Journal, scenario: Scenario, tmp_path: Path) -> None:
    """A run that was not made would appear as a cost."""
    plan = begun(journal, scenario, 2, 2, 2)
    add(journal, plan, [(0, 0, 0), (1, 0, 0), (0, 1, 0)])
    matrix = journal.matrix()
    assert math.isnan(matrix.costs[1, 1, 0])
    matrix.save(tmp_path / "m.npz")
    assert CostMatrix.load(tmp_path / "m.npz") == matrix


def test_a_journal_has_a_utility_of_its_times(journal: Journal, scenario: Scenario) -> None:
    """The times of a journal of whatever metric would be worth nothing, or something where a run
    was not solved.
    """
    plan = begun(journal, scenario, 1, 2, 1)
    add(journal, plan, [(0, 0, 0)], outcome(cpu=0.1))
    add(journal, plan, [(0, 1, 0)], outcome(Status.TIMEOUT, cpu=0.1))
    metric = journal.metric(utility="linear=0.4")
    assert (metric.kind, metric.cutoff) == ("utility", 0.1)
    assert journal.matrix(metric).costs.ravel().tolist() == [0.25, 1.0]
    found = import_runs(journal.path, utility="linear=0.4")
    assert (found.utility, found.matrix.high) == ("linear=0.4", 1.0)
    with pytest.raises(InputError, match="either `par` or `utility`"):
        journal.metric(par=2, utility="linear=0.4")
