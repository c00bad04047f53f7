import json
import os
import random
import re
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scenarios
from commands import Ended, run
from starting import Starter

from truecost import InputError, Journal, Scenario, Status, gather, import_runs
from truecost.campaigns.campaign import Progress
from truecost.campaigns.gather import design_of, forecast, tasks
from truecost.matrix import provenance
from truecost.running import slots
from truecost.running.execute import Caller

HERE = Path(__file__).parent
pytestmark = pytest.mark.usefixtures("own_locks")


def truecost(*words: object, folder: Path, code: int = 0) -> Ended:
    """The command line, ended with the code that is expected."""
    ended = run(*words, cwd=folder)
    assert ended.returncode == code, ended.stderr
    assert "Traceback" not in ended.stderr
    return ended


def cells(path: Path) -> list[tuple[Any, ...]]:
    """What must not depend on when and where a run was made: its key, outcome and printed values."""
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(
            "SELECT c.name, i.name, r.number, r.seed, r.status, r.exit_code, r.time, r.value, r.detail FROM runs r"
            " JOIN configurations c ON c.id = r.configuration JOIN instances i ON i.id = r.instance ORDER BY 1, 2, 3"
        ).fetchall()


def test_what_is_gathered_is_what_was_run(tmp_path: Path) -> None:
    """A run would be journaled with another's seed, outcome or answer, or a limit be met by a run
    that does not burn.
    """
    scenario = Scenario.read(scenarios.write(tmp_path))
    gather(
        scenario,
        tmp_path / "runs.db",
        configurations=6,
        instances=5,
        runs=8,
        pool=2,
        pin=False,
        keep_going=True,
    )
    found = cells(tmp_path / "runs.db")
    assert found == scenarios.expected(scenario, 6, 5, 8)
    assert {row[4] for row in found} == {Status.SOLVED, Status.TIMEOUT, Status.CRASHED}


def test_fifty_kills_change_nothing(tmp_path: Path) -> None:
    """Killed with -9 at any moment and started again, a gathering would lose runs, do some twice,
    or leave solvers.
    """
    scenario = Scenario.read(scenarios.write(tmp_path))
    ended = subprocess.run(
        [
            sys.executable,
            str(HERE / "killing.py"),
            "gather",
            str(scenario.path),
            str(tmp_path / "runs.db"),
            "50",
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    lives = json.loads(ended.stdout)
    assert len(lives) == 50
    # Every life did something, lost nothing it had told of, and was ended in the middle of its
    # work.
    assert all(before + told <= after < 600 for before, told, after in lives)
    assert cells(tmp_path / "runs.db") == scenarios.expected(scenario, 6, 5, 20)


def supervisors() -> list[int]:
    """The supervisors that this process has now; what ends meanwhile is passed over."""
    found = []
    for task in Path("/proc/self/task").iterdir():
        with suppress(OSError):
            for pid in (task / "children").read_text().split():
                with suppress(OSError):
                    if b"_supervisor.py" in Path(f"/proc/{pid}/cmdline").read_bytes():
                        found.append(int(pid))
    return found


def test_a_killed_supervisor_costs_no_run(tmp_path: Path) -> None:
    """A run whose supervisor is killed under it would be lost, or end the gathering."""
    scenario = Scenario.read(scenarios.write(tmp_path))
    rng = random.Random(3)  # noqa: S311 - whom to kill
    killed: set[int] = set()
    due = 10

    def kill(progress: Progress) -> None:
        nonlocal due
        # Where one killed before has no successor yet, the next run is waited for.
        if progress.runs >= due and len(there := supervisors()) == 2:
            due += 20
            victim = rng.choice(there)
            os.kill(victim, signal.SIGKILL)
            killed.add(victim)

    gather(
        scenario,
        tmp_path / "runs.db",
        configurations=6,
        instances=5,
        runs=8,
        pool=2,
        pin=False,
        keep_going=True,
        progress=kill,
    )
    assert len(killed) >= 5
    assert cells(tmp_path / "runs.db") == scenarios.expected(scenario, 6, 5, 8)


def test_a_supervisor_killed_while_it_starts_costs_no_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A supervisor that takes the place of a killed one, and is killed before it says a word, would
    end the gathering.
    """
    scenario = Scenario.read(scenarios.write(tmp_path))
    doom, script = tmp_path / "doom", tmp_path / "supervisor.py"
    script.write_text(
        f"import os, runpy\nif os.path.exists({str(doom)!r}):\n    os.remove({str(doom)!r})\n    os.kill(os.getpid(), 9)\n"
        f"runpy.run_path({str(slots.SUPERVISOR)!r}, run_name='__main__')\n"
    )
    monkeypatch.setattr(slots, "SUPERVISOR", script)
    killed: list[str] = []

    def kill(progress: Progress) -> None:
        if progress.runs >= 5 and not killed:
            doom.touch()
            children = " ".join(
                path.read_text() for path in Path("/proc/self/task").glob("*/children")
            ).split()
            killed.extend(
                pid
                for pid in children
                if str(script).encode() in Path(f"/proc/{pid}/cmdline").read_bytes()
            )
            os.kill(int(killed[0]), signal.SIGKILL)

    options: dict[str, Any] = {"pool": 1, "pin": False, "keep_going": True, "progress": kill}
    gather(scenario, tmp_path / "runs.db", configurations=2, instances=5, runs=2, **options)
    assert len(killed) == 1
    assert not doom.exists()
    assert cells(tmp_path / "runs.db") == scenarios.expected(scenario, 2, 5, 2)


def test_any_prefix_of_the_schedule_is_even(tmp_path: Path) -> None:
    """Stopped anywhere, what was gathered would favour some instances or configurations."""
    scenario = Scenario.read(scenarios.write(tmp_path))
    plan = design_of(scenario, 4, 5, 3)
    counts = np.zeros((4, 5), dtype=int)
    names = [configuration.name for configuration in plan.configurations]
    places = [instance.name for instance in plan.instances]
    for task in tasks(scenario, plan, np.ones((3, 5, 4), dtype=bool)):
        assert (
            task.number
            == counts[names.index(task.configuration.name), places.index(task.instance.name)]
        )
        counts[names.index(task.configuration.name), places.index(task.instance.name)] += 1
        assert counts.max() - counts.min() <= 1
        assert np.ptp(counts.sum(axis=1)) <= 1
    assert (counts == 3).all()


def test_a_journal_grows_in_any_direction(tmp_path: Path) -> None:
    """Asked for more, a gathering would repeat what is there, or choose other configurations,
    instances or seeds.
    """
    scenario = Scenario.read(scenarios.write(tmp_path))
    path = tmp_path / "runs.db"
    seen: list[tuple[Any, ...]] = []
    for size in [(2, 2, 1), (3, 2, 1), (3, 4, 1), (3, 4, 2), (2, 5, 3)]:
        told: list[Progress] = []
        gather(
            scenario,
            path,
            configurations=size[0],
            instances=size[1],
            runs=size[2],
            pin=False,
            keep_going=True,
            progress=told.append,
        )
        now = cells(path)
        assert set(seen) <= set(now)
        assert told[-1].runs - told[0].runs == len(now) - len(seen)
        seen = now
    assert len(seen) == 2 * 5 * 3 + 4 * 2
    assert set(seen) <= set(scenarios.expected(scenario, 3, 5, 3))


def test_the_command_line_from_scenario_to_matrix(tmp_path: Path) -> None:
    """The line the design promises would not end with a journal, a matrix and an answer."""
    scenarios.write(tmp_path)
    words = [
        "gather",
        "scenario.toml",
        "--journal",
        "runs.db",
        "--configurations",
        4,
        "--instances",
        3,
        "--runs",
        2,
    ]
    forecasted = json.loads(truecost(*words, "--dry-run", "--json", folder=tmp_path).stdout)
    assert (forecasted["planned"], forecasted["left"], forecasted["pilot"]) == (24, 4, 20)
    assert (
        0 < forecasted["lower"] <= forecasted["cpu"] <= forecasted["upper"] <= forecasted["worst"]
    )
    said = truecost(*words, "--out", "m.npz", folder=tmp_path).stdout
    origin = provenance.read(tmp_path / "m.npz")
    assert origin is not None
    assert (origin.tool, origin.proposed) == ("truecost gather", "beforehand")
    assert "4 configurations × 3 instances × 2 runs = 24 runs" in said
    report = json.loads(truecost("info", "runs.db", "--json", folder=tmp_path).stdout)
    assert report["journal"]["runs"] == 24
    alone = json.loads(truecost("info", "m.npz", "--json", folder=tmp_path).stdout)
    assert report["configurations"] == alone["configurations"]
    lower = json.loads(
        truecost("info", "runs.db", "--json", "--par", 1, "--cutoff", 0.05, folder=tmp_path).stdout
    )
    assert lower["runs"]["high"] == 0.05
    truecost("import", "runs.db", "-o", "taken.parquet", "--par", 1, folder=tmp_path)
    taken = json.loads(truecost("import", "taken.parquet", "--json", folder=tmp_path).stdout)
    assert (taken["runs"], taken["high"], taken["trajectory"]["proposed"]) == (
        24,
        0.1,
        "beforehand",
    )
    # Without a size it goes on with the last one.
    assert (
        json.loads(
            truecost(
                "gather", "scenario.toml", "--journal", "runs.db", "--json", folder=tmp_path
            ).stdout
        )["runs"]
        == 24
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nowhere.toml"], "nowhere.toml: No such file"),
        (
            ["scenario.toml", "--instances", "9"],
            "Expected 1 to 5 instances, as many as the scenario has, got 9",
        ),
        (
            ["scenario.toml", "--configurations", "1000"],
            "Expected a space with at least 1000 different configurations",
        ),
        (
            ["scenario.toml", "--journal", "scenario.toml"],
            "expected a journal of truecost, an SQLite file",
        ),
        (
            ["scenario.toml", "--journal", "no/where.db"],
            "expected a journal that can be written: No such file",
        ),
        (["scenario.toml", "--out", "m.txt"], "expected a name that ends in .npz"),
        (["scenario.toml", "--workers", "99"], "workers, one per core, got 99"),
        (
            ["scenario.toml", "--workers", "2", "--dask", "tcp://x"],
            "Expected --workers or --dask, got both",
        ),
        (
            ["scenario.toml", "--dask", "tcp://127.0.0.1:9"],
            "Expected a Dask scheduler with workers",
        ),
    ],
)
def test_bad_input_is_one_line(tmp_path: Path, words: list[str], message: str) -> None:
    """A mistake on the command line would end in a traceback, or in a run of the wrong thing."""
    scenarios.write(tmp_path)
    ended = truecost("gather", *words, "--quiet", folder=tmp_path, code=2)
    assert message in ended.stderr
    assert ended.stderr.count("\n") == 1


def test_a_wrong_scenario_stops_early(tmp_path: Path) -> None:
    """A target whose answer can never be read would run for a weekend."""
    (tmp_path / "mute.sh").write_text("#!/bin/sh\necho hello; echo oh no >&2; exit 0\n")
    (tmp_path / "mute.sh").chmod(0o755)
    scenarios.write(tmp_path, target={"kind": "wrapper", "command": ["./mute.sh"]})
    ended = truecost("gather", "scenario.toml", "--journal", "runs.db", folder=tmp_path, code=2)
    assert "all crashed (no answer: no line 'Result for SMAC: …'" in ended.stderr
    assert "oh no" in ended.stderr
    assert len(cells(tmp_path / "runs.db")) < 20
    # The line to try by hand does what the run did, blanks in names and all.
    by_hand = ended.stderr.partition("Try by hand: ")[2]
    tried = subprocess.run(["sh", "-c", by_hand], capture_output=True, text=True, check=False)
    assert (tried.stdout, tried.stderr) == ("hello\n", "oh no\n")
    few = truecost(
        "gather",
        "scenario.toml",
        "--journal",
        "few.db",
        "--configurations",
        1,
        "--instances",
        2,
        "--runs",
        1,
        folder=tmp_path,
        code=2,
    )
    assert "all crashed" in few.stderr
    size = ["--configurations", 2, "--instances", 5, "--runs", 2]
    truecost(
        "gather", "scenario.toml", "--journal", "go.db", *size, "--keep-going", folder=tmp_path
    )
    assert {row[4] for row in cells(tmp_path / "go.db")} == {Status.CRASHED}


def test_a_missing_program_stops_at_once(tmp_path: Path) -> None:
    """A binary that is not there would count as a solver that crashes."""
    scenarios.write(tmp_path, target={"kind": "wrapper", "command": ["./missing"]})
    ended = truecost("gather", "scenario.toml", "--journal", "runs.db", folder=tmp_path, code=2)
    assert "cannot start './missing': there is no such program; try by hand: cd " in ended.stderr
    assert cells(tmp_path / "runs.db") == []


def test_abort_stops_and_is_done_again(tmp_path: Path) -> None:
    """A wrapper's ABORT, that something is wrong with the machine, would count as a bad
    configuration.
    """
    (tmp_path / "w.sh").write_text(
        '#!/bin/sh\n[ -e fixed ] && word=SUCCESS || word=ABORT\necho "Result for SMAC: $word, 0, 0, 5, 1"\n'
    )
    (tmp_path / "w.sh").chmod(0o755)
    scenarios.write(tmp_path, target={"kind": "wrapper", "command": ["./w.sh"]})
    words = [
        "gather",
        "scenario.toml",
        "--journal",
        "runs.db",
        "--configurations",
        2,
        "--runs",
        1,
        "--json",
    ]
    ended = truecost(*words, folder=tmp_path, code=2)
    assert "was aborted (the target says ABORT); it will be done again" in ended.stderr
    (tmp_path / "fixed").touch()
    assert json.loads(truecost(*words, folder=tmp_path).stdout)["statuses"]["solved"] == 10


def test_a_check_can_veto(tmp_path: Path) -> None:
    """A wrong answer of a solver would count as solved; or a check that itself fails as the
    solver's fault.
    """
    check = "import sys; n = int(open(sys.argv[2]).read().split(',')[3]); print('bad', n); sys.exit(n % 2 if n % 3 else 4)"
    (tmp_path / "check.py").write_text(check.replace("4", "int(len(sys.argv) > 3) * 4"))
    path = scenarios.write(
        tmp_path,
        target={
            "kind": "wrapper",
            "command": ["./solver.sh"],
            "check": ["{python}", "check.py", "{instance}", "{output}"],
        },
    )
    gather(
        Scenario.read(path),
        tmp_path / "runs.db",
        configurations=4,
        runs=2,
        pin=False,
        keep_going=True,
    )
    with Journal.read(tmp_path / "runs.db") as journal:
        table = journal.table()
    vetoed = (table.value % 2 == 1) & (table.value % 3 != 0)
    assert vetoed.any()
    assert (table.status[vetoed] == Status.VETOED).all()
    assert (table.status[~vetoed] != Status.VETOED).all()
    assert "bad" in next(row[8] for row in cells(tmp_path / "runs.db") if row[4] == Status.VETOED)
    path.write_text(path.read_text().replace('"{output}"', '"{output}", "fail"'))
    with pytest.raises(
        InputError, match=r"aborted \(the check itself failed \(exit code 4\): bad \d+\)"
    ):
        gather(
            Scenario.read(path),
            tmp_path / "failing.db",
            configurations=4,
            runs=2,
            pin=False,
            keep_going=True,
        )


def test_a_check_can_be_a_function(tmp_path: Path) -> None:
    """A function that checks answers would not be asked, be given something else than instance and
    output, or its own fault count as the solver's; or the command to try it by hand would not work.
    """
    (tmp_path / "check.py").write_text(
        "from pathlib import Path\n"
        "def fault(instance, output):\n"
        "    assert Path(instance).is_file()\n"
        "    number = int(output.split(',')[3])\n"
        "    return f'bad {number}' if number % 2 else None\n"
        "def broken(instance, output):\n"
        "    return output.missing\n"
    )
    target = {"kind": "wrapper", "command": ["./solver.sh"], "check": "check.py:fault"}
    path = scenarios.write(tmp_path, target=target)
    scenario = Scenario.read(path)
    size: dict[str, Any] = {"configurations": 4, "runs": 2, "pin": False, "keep_going": True}
    gather(scenario, tmp_path / "runs.db", **size)
    with Journal.read(tmp_path / "runs.db") as journal:
        table = journal.table()
    assert ((table.status == Status.VETOED) == (table.value % 2 == 1)).all()
    assert (table.status == Status.VETOED).any()
    (tmp_path / "output").write_text("a,b,c,7,e")
    words = Caller(scenario).check_line(scenario.instances[0], 1, str(tmp_path / "output"))
    printed = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    assert printed == "bad 7\n"
    path.write_text(path.read_text().replace("check.py:fault", "check.py:broken"))
    with pytest.raises(InputError, match=r"aborted \(the check itself failed: AttributeError"):
        gather(Scenario.read(path), tmp_path / "failing.db", **size)


def test_python_functions(tmp_path: Path) -> None:
    """A Python function would not be called with what it asks for, or its failure be taken for an
    answer.
    """
    (tmp_path / "helper.py").write_text("offset = 1000\n")
    (tmp_path / "solve.py").write_text(
        "import helper\n"
        "def solve(configuration, seed, instance):\n"
        "    print('chatty', end='')\n"
        "    alpha = int(configuration['alpha'])\n"
        "    if alpha == 2: raise RuntimeError('not two')\n"
        "    if alpha == 3: return {'status': 'TIMEOUT', 'value': 1.0}\n"
        "    return helper.offset + alpha\n"
    )
    path = scenarios.write(
        tmp_path, target={"kind": "python", "function": "solve.py:solve"}, limits={"cpu": 5.0}
    )
    gather(
        Scenario.read(path), tmp_path / "runs.db", configurations=10, instances=1, runs=1, pin=False
    )
    with Journal.read(tmp_path / "runs.db") as journal:
        alphas = {name: int(values["alpha"]) for name, values in journal.configurations().items()}
    for row in cells(tmp_path / "runs.db"):
        alpha = alphas[row[0]]
        expected = {2: (Status.CRASHED, None), 3: (Status.TIMEOUT, 1)}.get(
            alpha, (Status.SOLVED, 1000 + alpha)
        )
        assert (row[4], row[7]) == expected
        if alpha == 2:
            assert "RuntimeError: not two" in row[8]
    assert {2, 3} & set(alphas.values())


def test_irace_target_runners(tmp_path: Path) -> None:
    """An existing target-runner and parameters.txt of irace would not work as they are."""
    (tmp_path / "runner.sh").write_text(
        '#!/bin/sh\n# id instance seed path args\necho "$(( ${#5} + $3 % 10 )) 0.5"\n'
    )
    (tmp_path / "runner.sh").chmod(0o755)
    scenarios.write(tmp_path)
    (tmp_path / "space.pcs").write_text(
        'algorithm "--" c (as, mmas, eas, ras, acs)\nants "--ants " i,log (5, 100)\n'
    )
    path = scenarios.write(
        tmp_path,
        target={"kind": "irace", "command": ["./runner.sh"]},
        metric={"kind": "quality", "low": 0.0, "high": 50.0},
    )
    (tmp_path / "space.pcs").write_text(
        'algorithm "--" c (as, mmas, eas, ras, acs)\nants "--ants " i,log (5, 100)\n'
    )
    scenario = Scenario.read(path)
    gather(scenario, tmp_path / "runs.db", configurations=4, runs=1, pin=False)
    with Journal.read(tmp_path / "runs.db") as journal:
        names = {name: values["algorithm"] for name, values in journal.configurations().items()}
    for name, instance, number, seed, status, _, seconds, value, _ in cells(tmp_path / "runs.db"):
        assert (status, seconds) == (Status.SOLVED, 0.5)
        assert value == len("--" + names[name]) + seed % 10
        assert seed == scenario.run_seed(instance, number)


def test_separate_seeds(tmp_path: Path) -> None:
    """`seeds = "separate"` would give configurations the same seeds, or journals of common seeds
    would be continued with others.
    """
    path = scenarios.write(tmp_path)
    sizes: dict[str, Any] = {"configurations": 3, "instances": 2, "runs": 2, "pin": False}
    gather(Scenario.read(path), tmp_path / "common.db", **sizes)
    path.write_text('seeds = "separate"\n' + path.read_text())
    scenario = Scenario.read(path)
    gather(scenario, tmp_path / "separate.db", **sizes)
    common, separate = (
        import_runs(tmp_path / name).matrix.seeds for name in ("common.db", "separate.db")
    )
    assert common is not None
    assert separate is not None
    assert np.unique(common).size == 4
    assert np.unique(separate).size == 12
    with pytest.raises(InputError, match="seeds"):
        gather(scenario, tmp_path / "common.db", **sizes)


def test_info_while_it_is_written(starter: Starter, tmp_path: Path) -> None:
    """A journal could not be looked at before its gathering is over."""
    scenarios.write(tmp_path)
    words = [
        "gather",
        "scenario.toml",
        "--journal",
        "runs.db",
        "--runs",
        "100",
        "--quiet",
        "--no-pin",
    ]
    with starter.truecost(*words, cwd=tmp_path) as gathering:
        seen: list[int] = []
        while len(seen) < 3:
            assert gathering.poll() is None
            if not (tmp_path / "runs.db").exists() or len(cells_or_none(tmp_path / "runs.db")) <= (
                seen[-1] if seen else 0
            ):
                time.sleep(0.05)
                continue
            seen.append(
                json.loads(truecost("info", "runs.db", "--json", folder=tmp_path).stdout)[
                    "journal"
                ]["runs"]
            )
        assert seen == sorted(seen)
        assert seen[0] < seen[-1]
        # And Ctrl-C loses nothing that was finished.
        gathering.send_signal(signal.SIGINT)
        assert gathering.wait() == 130
    assert len(cells(tmp_path / "runs.db")) >= seen[-1]


def cells_or_none(path: Path) -> list[tuple[Any, ...]]:
    """The cells, none while the tables are being made."""
    try:
        return cells(path)
    except sqlite3.OperationalError:
        return []


def test_memory_limits_the_machine_cannot_hold_are_refused(tmp_path: Path) -> None:
    """A limit above what the machine has would be enforced by nobody."""
    path = scenarios.write(tmp_path, limits={"cpu": 1.0, "memory": 1e9})
    with pytest.raises(
        InputError, match=r"limits\.memory: expected at most .* it could not be enforced"
    ):
        gather(Scenario.read(path), tmp_path / "runs.db", configurations=1, runs=1, pin=False)


def test_forecast_of_a_finished_plan_is_nothing(tmp_path: Path) -> None:
    """A plan with nothing left would be forecast to cost something."""
    scenario = Scenario.read(scenarios.write(tmp_path))
    size: dict[str, Any] = {
        "configurations": 2,
        "instances": 2,
        "runs": 1,
        "pin": False,
        "keep_going": True,
    }
    gather(scenario, tmp_path / "runs.db", **size)
    found = forecast(scenario, tmp_path / "runs.db", **size)
    assert (found.left, found.cpu, found.worst) == (0, 0, 0)


KISSAT = next(
    iter(sorted(Path(sys.prefix).glob("lib/python*/site-packages/sage_wheels/bin/kissat"))), None
)


def test_a_real_solver(tmp_path: Path) -> None:
    """A solver nobody here wrote, kissat, would not run as its own manual says."""
    assert KISSAT is not None, "make test installs passagemath-kissat"
    scenarios.write(tmp_path)
    rng = random.Random(1)  # noqa: S311 - instances, not secrets
    for name in ("a b;$(x).cnf", "ünsat'\".cnf", "c\nd.cnf"):
        clauses = [
            [rng.choice([-1, 1]) * v for v in rng.sample(range(1, 61), 3)]
            for _ in range(270 if "ü" in name else 200)
        ]
        text = "".join(" ".join(map(str, clause)) + " 0\n" for clause in clauses)
        (tmp_path / "instances" / name).write_text(f"p cnf 60 {len(clauses)}\n{text}")
    scenarios.write(
        tmp_path,
        target={
            "kind": "command",
            "command": [str(KISSAT), "--seed={seed}", "{arguments}", "{instance}"],
            "version": [str(KISSAT), "--version"],
        },
        answer={
            "exit": [10, 20],
            "solved": "^s (SATISFIABLE|UNSATISFIABLE)$",
            "value": r"^c conflicts:\s+(\d+)",
        },
        instances={"glob": "instances/*.cnf"},
        limits={"cpu": 5.0, "memory": 500.0},
        metric={"kind": "par"},
    )
    (tmp_path / "space.pcs").write_text(
        "target {0,1,2} [1]\nreduceint [2,100000] [1000]il\nphase {true,false} [true]\n"
    )
    words = [
        "gather",
        "scenario.toml",
        "--journal",
        "runs.db",
        "--configurations",
        5,
        "--runs",
        2,
        "--no-pin",
        "--json",
    ]
    report = json.loads(truecost(*words, folder=tmp_path).stdout)
    assert report["statuses"]["solved"] == 30
    assert re.fullmatch(r"\d+\.\d+\.\d+", report["machines"][0]["solver"])
    with Journal.read(tmp_path / "runs.db") as journal:
        matrix = journal.matrix()
    assert (matrix.low, matrix.high) == (0, 50)
    assert {instance.rpartition("/")[2] for instance in matrix.instances} == {
        "a b;$(x).cnf",
        "ünsat'\".cnf",
        "c\nd.cnf",
    }
    exits = {row[1].rpartition("/")[2]: row[5] for row in cells(tmp_path / "runs.db")}
    assert exits["a b;$(x).cnf"] == 10


def test_scratch_folders_reach_the_command(tmp_path: Path) -> None:
    """A solver told to put its files into {scratch} would get a name that is no folder."""
    (tmp_path / "s.sh").write_text(
        '#!/bin/sh\n[ -d "$3" ] && [ "$3" = "$TMPDIR" ] && touch "$3/x" && echo ok 5\n'
    )
    (tmp_path / "s.sh").chmod(0o755)
    path = scenarios.write(
        tmp_path,
        target={
            "kind": "command",
            "command": ["./s.sh", "{instance}", "{seed}", "{scratch}", "{arguments}"],
        },
        answer={"solved": "^ok", "value": r"(\d+)"},
    )
    gather(
        Scenario.read(path), tmp_path / "runs.db", configurations=1, instances=2, runs=1, pin=False
    )
    assert {row[4] for row in cells(tmp_path / "runs.db")} == {Status.SOLVED}
