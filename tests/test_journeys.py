"""What happens between commands: a resumed line without its options, a file that is not what it
was, an odd name, a question that nobody answers.
"""

import io
import json
import sqlite3
import subprocess
import sys
import urllib.request
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest
import scenarios
import validations
from commands import run
from test_watch import journal, served

from truecost import InputError, Journal, Scenario, gather, validate
from truecost.campaigns.gather import merge

DATA = Path(__file__).parent / "data"
FAST = ("--workers", 1, "--no-pin", "--quiet")
SMALL = ("--configurations", 2, "--instances", 2, "--runs", 1)


def written(folder: Path, **tables: dict[str, Any]) -> Path:
    """A scenario that always answers, in a folder."""
    path = scenarios.write(folder, **tables)
    (folder / "solver.sh").write_text(
        '#!/bin/sh\necho "Result for SMAC: SUCCESS, 0.01, 0, $(($5 % 9)), 1"\n'
    )
    return path


def runs_of(path: Path) -> set[tuple[str, str, int]]:
    """The cells of a journal that have runs."""
    with Journal.read(path) as book:
        table = book.table()
        pairs = zip(table.configuration, table.instance, table.number.tolist(), strict=True)
        return {(table.configurations[c], table.instances[i], n) for c, i, n in pairs}


def test_configurations_of_a_file_are_kept_when_more_runs_are_asked_for(tmp_path: Path) -> None:
    """A gather that is resumed without the file would go on with random configurations."""
    written(tmp_path)
    (tmp_path / "list.csv").write_text("alpha,beta\n2,3\n4,5\n6,7\n")
    words = ("gather", "scenario.toml", "--journal", "runs.db", *FAST)
    first = run(*words, "--configurations", "list.csv", "--instances", 2, "--runs", 1, cwd=tmp_path)
    assert first.returncode == 0, first
    before = {configuration for configuration, _, _ in runs_of(tmp_path / "runs.db")}
    assert run(*words, "--runs", 2, cwd=tmp_path).returncode == 0
    after = runs_of(tmp_path / "runs.db")
    assert {configuration for configuration, _, _ in after} == before
    assert len(after) == 3 * 2 * 2


def test_a_part_says_what_it_will_run(tmp_path: Path) -> None:
    """An array job would announce, and forecast, the runs of all other jobs as well."""
    written(tmp_path)
    words = ("gather", "scenario.toml", "--workers", 1, "--no-pin", "--part", "2/5")
    size = ("--configurations", 4, "--instances", 3, "--runs", 2)
    forecast = run(*words, *size, "--dry-run", "--json", "--journal", "a.db", cwd=tmp_path)
    assert forecast.returncode == 0, forecast
    assert json.loads(forecast.stdout)["planned"] == 5
    assert len(runs_of(tmp_path / "a.db")) == 5
    ended = run(*words, *size, "--journal", "b.db", cwd=tmp_path)
    assert "= 24 runs; part 2 of 5 has 5, at most 0.5 s" in " ".join(ended.stdout.split())
    assert runs_of(tmp_path / "a.db") == runs_of(tmp_path / "b.db")


def test_merging_sets_nothing_aside(tmp_path: Path) -> None:
    """Runs that crash, as the user said they may, would be gone after a merge."""
    scenario = Scenario.read(scenarios.write(tmp_path))
    (tmp_path / "solver.sh").write_text("#!/bin/sh\nexit 3\n")
    size: dict[str, Any] = {"configurations": 2, "instances": 2, "runs": 1}
    for number in (1, 2):
        part = tmp_path / f"{number}.db"
        gather(scenario, part, **size, part=(number, 2), pool=1, pin=False, keep_going=True)
    assert merge(scenario, tmp_path / "1.db", [tmp_path / "2.db"]) == 2
    assert len(runs_of(tmp_path / "1.db")) == 4
    assert not list(tmp_path.glob("*set-aside*"))


def test_a_merge_that_cannot_be_leaves_nothing(tmp_path: Path) -> None:
    """A misspelt part would leave an empty journal behind."""
    words = ("gather", written(tmp_path), "--journal", tmp_path / "x.db", *FAST)
    assert run(*words, "--merge", tmp_path / "missing.db").returncode == 2
    assert not (tmp_path / "x.db").exists()


def test_files_are_kept_of_instances_of_any_name(tmp_path: Path) -> None:
    """A name of dots would lead out of the folder of a run, and a long one end every attempt."""
    names = ["..", ".", "a/b", "ü" * 60 + "1", "ü" * 60 + "2"]
    scenario = Scenario.read(
        written(
            tmp_path,
            target={
                "kind": "command",
                "command": ["sh", "-c", "echo $0 > proof", "{instance}", "{arguments}"],
                "own_folder": True,
                "keep": ["proof"],
            },
            answer={},
            metric={"kind": "par"},
            instances={"names": names},
        )
    )
    gather(scenario, tmp_path / "x.db", configurations=1, runs=1, pool=1, pin=False)
    folder = tmp_path / "x.db.files" / scenario.space.default().name
    proofs = [path.read_text().strip() for path in folder.glob("*/0/proof")]
    assert sorted(proofs) == sorted(names)


def test_a_journal_may_have_any_name(tmp_path: Path) -> None:
    """`:memory:`, which means something to SQLite, would lose every run."""
    written(tmp_path)
    for name in (":memory:", "file:x?mode=memory", "-ü b.db"):
        ended = run("gather", "scenario.toml", f"--journal={name}", *SMALL, *FAST, cwd=tmp_path)
        assert ended.returncode == 0, ended
        assert len(runs_of(tmp_path / name)) == 4


def test_a_database_of_somebody_else_is_not_changed(tmp_path: Path) -> None:
    """A journal named by mistake, the storage of Optuna for instance, would change its mode."""
    scenario, path = Scenario.read(written(tmp_path)), tmp_path / "other.db"
    with closing(sqlite3.connect(path)) as base:
        base.execute("CREATE TABLE studies (study_id INTEGER)")
    before = path.read_bytes()
    with pytest.raises(InputError, match="got another SQLite file"):
        gather(scenario, path, configurations=2, instances=2, runs=1, pool=1, pin=False)
    assert path.read_bytes() == before


def test_a_folder_is_planned_from(tmp_path: Path) -> None:
    """`plan` would refuse every log that is a folder, those of SMAC3 among them."""
    ended = run("plan", DATA / "smac" / "instances", "--error", 0.5, "--low", 0, "--high", 100)
    assert ended.returncode == 0, ended
    (tmp_path / "runs.csv").write_text("configuration,instance,cost\na,x,1\na,y,2\nb,x,3\nb,y,3\n")
    test = ("--test", DATA / "smac" / "instances", "--low", 0, "--high", 100)
    assert "Is a directory" not in run("audit", tmp_path / "runs.csv", *test).stderr


def test_a_budget_beyond_all_numbers_is_refused(tmp_path: Path) -> None:
    """It would end in a traceback."""
    ended = run("configure", written(tmp_path), "--budget", f"{'9' * 400}runs")
    assert (ended.returncode, ended.stderr.count("\n")) == (2, 1)


def test_a_page_outlives_its_journal(tmp_path: Path) -> None:
    """A journal that is moved away would print a traceback every two seconds, and show nothing."""
    path = journal(tmp_path, "gather")
    with served(path) as address:
        path.rename(tmp_path / "away.db")
        # What was read when it began is shown for a moment.
        while True:
            with urllib.request.urlopen(address + "state.json") as answer:  # noqa: S310
                state = json.loads(answer.read())
            if "error" in state:
                break
    assert state["error"] == f"{path}: No such file or directory"


@pytest.mark.parametrize("kind", ["configure", "explain"])
def test_a_journal_of_a_search_has_no_plan(tmp_path: Path, kind: str) -> None:
    """`info` would speak of a plan of 0 runs."""
    scenario = Scenario.read(written(tmp_path))
    with Journal.write(tmp_path / "x.db", scenario, kind):  # type: ignore[arg-type]
        pass
    ended = run("info", "x.db", cwd=tmp_path)
    assert "of a search" in ended.stdout, ended


def test_a_written_scenario_is_gathered_by_the_line_that_is_printed(tmp_path: Path) -> None:
    """The line would be split at the blanks of a folder's name."""
    words = ("scenario", "export", "kissat-qcp", "a b", "--generator", "--quiet")
    ended = run(*words, cwd=tmp_path)
    assert ended.stdout == "Written. Next: truecost gather 'a b/scenario.toml'\n", ended


def test_a_search_about_these_instances_holds_out_none(tmp_path: Path) -> None:
    """The announcement would speak of held-out instances."""
    words = ("configure", written(tmp_path), "--budget", "30runs", "--workers", 1, "--no-pin")
    ended = run(*words, "--about", "these", "--journal", tmp_path / "x.db")
    assert "5 instances, judged with new seeds." in " ".join(ended.stdout.split()), ended


def test_a_killed_validation_knows_its_budget(tmp_path: Path) -> None:
    """Resumed without a budget it would call itself new, and refuse."""
    scenario, log = validations.written(tmp_path), validations.log()

    def stop(_: object) -> None:
        raise KeyboardInterrupt

    fresh = validations.written(tmp_path / "more", instances={"glob": "new/*"}).instances
    given: dict[str, Any] = {"instances": fresh, "pool": 1, "pin": False}
    with suppress(KeyboardInterrupt):
        validate(log, scenario, tmp_path / "v.db", budget="12runs", progress=stop, **given)
    validated = validate(log, scenario, tmp_path / "v.db", **given)
    assert validated.stop.budget == 12


def test_names_with_colons_are_compared(tmp_path: Path) -> None:
    """FILE:NAME would be split inside of a name."""
    rows = [f"{name},{k},{k + cost}" for name, cost in (("v:1", 1), ("v:2", 5)) for k in range(9)]
    text = "\n".join(["configuration,instance,cost", *rows])
    for name in ("runs.csv", "a:b.csv"):
        (tmp_path / name).write_text(text)
        words = (f"{name}:v:1", f"{name}:v:2", "--low", 0, "--high", 20)
        ended = run("compare", *words, cwd=tmp_path)
        assert ended.returncode in (0, 1), ended
    ended = run("compare", "nofile.csv:v:1", "runs.csv:v:1", cwd=tmp_path)
    assert (ended.returncode, ended.stderr.count("\n")) == (2, 1)


def test_a_place_that_cannot_be_written_is_refused_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Hours of runs would end with a matrix that cannot be saved."""
    path, folder = written(tmp_path), tmp_path / "closed"
    folder.mkdir()
    monkeypatch.setattr("os.access", lambda place, _: Path(place) != folder)
    words = ("gather", path, "--journal", tmp_path / "x.db", "--out", folder / "x.npz")
    ended = run(*words, *SMALL, *FAST)
    assert (ended.returncode, ended.stderr.count("\n")) == (2, 1)
    assert not (tmp_path / "x.db").exists()


def test_a_question_that_is_not_answered_is_no_fault_of_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-D where a log's program is to be allowed would end in a traceback."""

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    validations.irace_folder(tmp_path)
    monkeypatch.setattr("sys.stdin", Terminal())
    words = (
        "--low",
        0,
        "--high",
        12,
        "--instances",
        "test/*",
        "--budget",
        "20runs",
        "--default",
        1,
    )
    ended = run("validate", "irace.Rdata", *words, "--no-pin", cwd=tmp_path)
    assert ended.returncode == 130, ended
    assert ended.stderr.endswith("truecost: interrupted\n")
    assert not list(tmp_path.glob("*.db"))


INTERRUPTED = """
import os, signal, threading
import polars
from truecost.cli.campaign import campaign
from truecost.cli.options import Pool

reading, writing = os.pipe()
with campaign(Pool(), quiet=True):
    threading.Timer(1, os.kill, (os.getpid(), signal.SIGINT)).start()
    os.read(reading, 1)
"""


def test_an_interrupt_does_not_wait_for_a_run() -> None:
    """Ctrl-C would be heard when the run under way is over, hours later."""
    words = [sys.executable, "-c", INTERRUPTED]
    ended = subprocess.run(words, capture_output=True, timeout=60, check=False)
    assert b"Nothing is lost" in ended.stderr


def test_a_deep_file_is_no_configuration(tmp_path: Path) -> None:
    """A file of brackets given to `explain` would end in a traceback."""
    written(tmp_path)
    (tmp_path / "deep.json").write_text("[" * 200_000)
    ended = run("explain", "deep.json", "--scenario", "scenario.toml", cwd=tmp_path)
    assert (ended.returncode, ended.stderr.count("\n")) == (2, 1), ended.stderr[-300:]
