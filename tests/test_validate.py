import json
import shlex
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import chdir, closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import naive
import numpy as np
import pytest
import validations
from commands import Ended, run
from scipy.stats import binom

from truecost import (
    CostMatrix,
    InputError,
    Journal,
    Scenario,
    assess,
    confidence,
    configure,
    gather,
    import_runs,
)
from truecost.campaigns.campaign import Progress
from truecost.campaigns.validate import Validated, validate
from truecost.journal.validationlog import import_of
from truecost.judge.assessment import AUDITED
from truecost.judge.looks import of_round
from truecost.race.stopping import HOPELESS, StoppingRule, criterion
from truecost.running.instances import prepare
from truecost.runs import Status, Watched
from truecost.stats import forecast, scanning
from truecost.stats.forecast import Goal
from truecost.stats.inversion import PLANNED_BETS
from truecost.stats.quantities import DIFFERENCE

HERE = Path(__file__).parent
DATA = HERE / "data"
pytestmark = pytest.mark.usefixtures("own_locks")
FREE: dict[str, Any] = {"pool": 2, "pin": False}


def said(found: Validated) -> dict[str, Any]:
    """Everything an audit says, as JSON has it, but for the runs that were under way when it
    stopped.
    """
    told = dict(json.loads(json.dumps(found.assessment.to_dict(*AUDITED), default=str)))
    return {**told, "runs": {**told["runs"], "left_out": None}}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the scenario of these tests."""
    folder = tmp_path_factory.mktemp("validations")
    validations.written(folder)
    return folder


@pytest.fixture
def here(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Scenario:
    """The scenario, in a place where journals can be written; patterns start at its folder."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s").symlink_to(folder)
    return Scenario.read(folder / "scenario.toml")


def go(here: Scenario, **options: Any) -> Validated:
    """A validation of the usual log on the usual fresh instances."""
    asked: dict[str, Any] = {"instances": "s/new/*.txt", "budget": "100runs", **FREE, **options}
    winner, default = asked.pop("winner", None), asked.pop("rival", None)
    return validate(validations.log(winner, default), here, asked.pop("journal", "v.db"), **asked)


def mean_rule(**changed: Any) -> StoppingRule:
    """A rule about the difference of means, one run on an instance, costs from 0."""
    usual = {"rounds": 1, "quantity": DIFFERENCE, "threshold": 0.0, "low": 0.0}
    return StoppingRule(**{**usual, **changed})


def test_it_stops_when_it_is_shown(here: Scenario) -> None:
    """A clear winner would take the whole budget, or be told otherwise than its journal tells it."""
    told: list[Progress] = []
    found = go(here, progress=told.append)
    assert found.stop.why == "better"
    assert found.shown
    assert found.stop.runs == 2 * found.stop.instances < 50
    assert told[-1].estimate < -10
    assert (told[-1].quantity, told[-1].budget.amount) == ("difference", 100)
    # The limits of the last look, and how all runs ended.
    assert told[-1].interval[0] < told[-1].estimate < told[-1].interval[1] < 0
    assert told[-1].outcomes == {Status.SOLVED: found.runs}
    # From the journal alone, the same.
    again = assess(import_runs("v.db"))
    assert said(replace(found, assessment=again)) == said(found)
    assert again.trajectory.watched == Watched(1, "mean", 50)
    comparison = again.comparison
    assert comparison is not None
    assert comparison.upper is not None
    assert comparison.upper < 0
    assert comparison.on == "test"
    assert comparison.method == PLANNED_BETS
    # One instance less, and it was not shown yet.
    test = import_runs("v.db").test
    assert test is not None
    assert len(test.instances) == found.stop.instances
    rule = mean_rule(planned=50, delta=0.05, high=110)
    costs = test.costs.transpose(2, 1, 0)
    looks = [rule.decide(costs, pairs, 10) for pairs in range(1, found.stop.instances + 1)]
    assert [look and look.why for look in looks] == [*[None] * (len(looks) - 1), "better"]
    # Told again, nothing is run.
    assert said(go(here, budget=None)) == said(found)
    with closing(sqlite3.connect("v.db")) as connection:
        assert connection.execute("SELECT count(*) FROM runs").fetchone()[0] == found.runs


def test_optimism_is_measured(here: Scenario) -> None:
    """Training would be compared with itself, or the seeds of the two be the same."""
    found = go(here)
    test = import_runs("v.db").test
    assert test is not None
    optimism = found.assessment.optimism
    assert optimism.source == "test runs"
    assert optimism.true_cost == pytest.approx(
        float(np.nanmean(test.costs[test.configurations.index("w")]))
    )
    assert optimism.gap == pytest.approx(optimism.true_cost - 12.0)
    assert test.seeds is not None
    assert (test.seeds[0] != test.seeds[1]).all()


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"winner": {"x": 5, "y": 1}, "rival": {"x": 0, "y": 0}}, "worse"),
        ({"winner": {"x": 2, "y": 1}, "rival": {"x": 2, "y": 0}, "budget": "30runs"}, "budget"),
        (
            {
                "winner": {"x": 2, "y": 1},
                "rival": {"x": 2, "y": 0},
                "instances": "s/new/1*.txt",
                "runs": 1,
            },
            "instances",
        ),
        ({"winner": {"x": 3, "y": 1}, "rival": {"x": 2, "y": 0}, "budget": "110runs"}, "forecast"),
        ({"winner": {"x": 2, "y": 1}, "rival": {"x": 2, "y": 0}, "budget": "0.03s"}, "budget"),
    ],
)
def test_it_stops_for_other_reasons(here: Scenario, options: dict[str, Any], why: str) -> None:
    """What is shown false or out of reach would be run to the end of the budget, or beyond it."""
    found = go(here, **options)
    assert found.stop.why == why
    assert not found.shown
    assert found.assessment.grade == ("worse" if why == "worse" else "open")
    if why == "forecast":
        assert found.stop.chance is not None
        assert found.stop.chance < HOPELESS
        assert found.stop.runs < 110
    elif why == "budget" and found.stop.unit == "runs":
        assert found.runs == found.stop.runs == 30


def test_a_larger_budget_goes_on(here: Scenario) -> None:
    """Limits that hold at all times would be of no use, or what is shown depend on what is left of
    the budget.
    """
    close: dict[str, Any] = {"winner": {"x": 1, "y": 1}, "rival": {"x": 4, "y": 0}, "runs": 1}
    assert go(here, budget="20runs", **close).stop.why == "budget"
    assert go(here, budget=None, **close).stop.runs == 20
    longer = go(here, budget="120runs", **close)
    assert longer.stop.why == "better"
    assert longer.stop.runs > 20
    assert said(longer) == said(go(here, budget="400runs", **close))


def test_wins_decide_where_no_range_is_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A log without a range could not be validated, or be judged by a mean nobody can bound."""
    scenario = validations.written(tmp_path, 20, metric={"kind": "value", "failed": 1000.0})
    monkeypatch.chdir(tmp_path)
    log = validations.log()
    open_ended = CostMatrix(
        log.matrix.costs, log.matrix.configurations, log.matrix.instances, -np.inf, np.inf
    )
    found = validate(
        replace(log, matrix=open_ended),
        scenario,
        "v.db",
        instances="new/*",
        budget="40runs",
        **FREE,
    )
    assert (found.stop.why, found.assessment.primary, found.assessment.grade) == (
        "better",
        "wins",
        "better",
    )
    with pytest.raises(InputError, match="low and high"):
        validate(
            replace(log, matrix=open_ended),
            scenario,
            "w.db",
            instances="new/*",
            budget="4runs",
            primary="mean",
            **FREE,
        )


def test_rounds_share_delta(here: Scenario) -> None:
    """Looks after every round would cost nothing, and be wrong more often than they say."""
    found = go(
        here,
        instances="s/new/1*.txt",
        winner={"x": 3, "y": 1},
        rival={"x": 5, "y": 0},
        budget="1d",
        runs=3,
    )
    evidence = found.assessment.evidence
    assert evidence is not None
    assert (evidence.rounds, evidence.at_all_times) == (3, True)
    assert (found.stop.why, found.stop.runs, found.stop.instances) == ("instances", 66, 11)
    comparison = found.assessment.comparison
    assert comparison is not None
    test = import_runs("v.db").test
    assert test is not None
    assert test.shape == (2, 11, 3)
    means = test.costs.mean(axis=2)
    limits = confidence.watched(
        means[0] - means[1], -110, 110, 2 * 0.05 * of_round(3, 3), planned=11
    )
    assert (comparison.lower, comparison.upper) == pytest.approx((limits.lower, limits.upper))
    assert sum(of_round(number, 3) for number in (1, 2, 3)) == pytest.approx(1)
    assert of_round(2, None) == pytest.approx(6 / (4 * np.pi**2))


def test_what_the_log_has_runs_on_is_left_out(here: Scenario, folder: Path, tmp_path: Path) -> None:
    """A winner would be certified on what it was tuned on, by another name of the same file."""
    shutil.copy(folder / "instances" / "i 3.txt", tmp_path / "copied.txt")
    (tmp_path / "fresh.txt").write_text("7 fresh\n")
    for pattern, used, left in (("s/instances/*", 5, 0), ("*.txt", 1, 1), ("s/*/*.txt", 5, 60)):
        if left:
            found = go(here, instances=pattern, budget="2runs", journal=f"{used}{left}.db")
            assert (found.entry.used, len(found.entry.instances)) == (used, left)
        else:
            with pytest.raises(InputError, match="never saw, got 5 and all of them are in the log"):
                go(here, instances=pattern)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"winner": {"x": 0, "z": 1}}, "which it does not have"),
        ({"winner": {"x": 0}}, "'y', which is active, got none"),
        ({"winner": {"x": 7, "y": 1}}, "'x', got 7"),
        ({"winner": {"x": "a", "y": 1}}, "'x', got 'a'"),
        ({"winner": validations.DEFAULT}, "differs from the default"),
        ({"configuration": "nobody"}, "the name of a configuration"),
        ({"budget": None}, "expected a `budget`"),
        ({"budget": "1runs"}, "2 runs at least"),
        ({"delta": 0.0}, "`delta` between 0 and 1"),
        ({"runs": 0}, "at least 1 of `runs`"),
        ({"primary": "median"}, "mean or wins"),
        ({"instances": "s/none/*"}, "expected files"),
    ],
)
def test_what_cannot_be_validated(here: Scenario, options: dict[str, Any], message: str) -> None:
    """A mistake would be found after hours of runs."""
    with pytest.raises(InputError, match=message):
        go(here, **options)


def test_what_was_fixed_stays(here: Scenario, tmp_path: Path) -> None:
    """Somebody who has seen costs could choose delta, rounds or the winner by them."""
    go(here, budget="4runs")
    for options in ({"delta": 0.2}, {"runs": 3}, {"primary": "wins"}, {"winner": {"x": 1, "y": 1}}):
        with pytest.raises(InputError, match="expected what the validation was begun with"):
            go(here, **options)
    with pytest.raises(InputError, match="expected the instances the validation was begun with"):
        go(here, instances="s/new/1*.txt")
    with pytest.raises(
        InputError, match="expected a journal of truecost gather, got one of truecost validate"
    ):
        gather(here, "v.db", configurations=2, runs=1, **FREE)
    other = validations.written(
        tmp_path / "other", metric={"kind": "value", "low": 0.0, "high": 500.0}
    )
    with pytest.raises(InputError, match="expected the metric of the log"):
        go(other, journal="w.db")


def test_killed_it_ends_where_it_would_have_ended(tmp_path: Path) -> None:
    """A power cut would cost runs, or lead to another verdict."""
    folder = tmp_path / "slow"
    validations.written(folder)
    # Long enough that whoever kills finds it at work.
    (folder / "solver.sh").write_text(validations.TARGET.replace("echo", "sleep 0.1\necho"))
    path = folder / "scenario.toml"
    words = [sys.executable, HERE / "killing.py", "validate", path, tmp_path / "killed.db", 2]
    ended = subprocess.run(
        [*map(str, words)], capture_output=True, text=True, check=False, cwd=folder
    )
    assert ended.returncode == 0, ended.stderr
    for before, told, after in json.loads(ended.stdout):
        assert before + told <= after
    log = validations.log({"x": 3, "y": 1}, {"x": 4, "y": 0})
    with chdir(folder):
        found = validate(
            log,
            Scenario.read(path),
            tmp_path / "whole.db",
            instances="new/*.txt",
            budget="80runs",
            **FREE,
        )

    with (
        Journal.read(tmp_path / "killed.db") as killed,
        Journal.read(tmp_path / "whole.db") as whole,
    ):
        one, other = import_of(killed), import_of(whole)
        assert killed.noted("stopped") == whole.noted("stopped")
    assert one.test is not None
    assert other.test is not None
    assert one.test.instances == other.test.instances
    assert len(one.test.instances) == found.stop.instances
    np.testing.assert_array_equal(one.test.costs, other.test.costs)


# ---- the command line ----------------------------------------------------------------------------


@pytest.fixture
def runner(tmp_path: Path) -> Path:
    """A folder as irace leaves it, with its target-runner and fresh instances."""
    validations.irace_folder(tmp_path)
    return tmp_path


FAST = ("--workers", "2", "--no-pin", "--quiet", "--yes")


def test_from_an_irace_log_to_a_certificate(runner: Path) -> None:
    """What irace's log says would have to be said again, or be run otherwise than irace ran it."""
    words = (
        "validate",
        "irace.Rdata",
        "--low",
        "0",
        "--high",
        "12",
        "--instances",
        "t*/*.txt",
        "--budget",
        "120runs",
    )
    dry = run(*words, "--dry-run", cwd=runner)
    assert dry.returncode == 0, dry.stderr
    assert "Winner: configuration 24: --alpha=0.3727 --size 8 --kind fancy -d6" in dry.stdout
    assert "Default: configuration 1: --alpha=0.9 --size 15 --kind plain" in dry.stdout
    assert "60 to run on; 10 left out" in dry.stdout
    assert not (runner / "irace-validate.db").exists()
    ended = run(*words, *FAST, "--json", cwd=runner)
    assert ended.returncode == 0, ended.stderr
    told = json.loads(ended.stdout)
    assert (told["validation"]["why"], told["validation"]["left_out_instances"]) == ("better", 10)
    assert (told["default"]["configuration"], told["comparison"]["grade"]) == ("1", "better")
    assert (runner / "irace-validate.html").stat().st_size > 100_000
    # The journal alone, and beside the log, says the same.
    beside = (
        "irace.Rdata",
        "--low",
        "0",
        "--high",
        "12",
        "--default",
        "1",
        "--test",
        "irace-validate.db",
    )
    for asked in (("irace-validate.db",), beside):
        audited = run("audit", *asked, "--json", "--quiet", cwd=runner)
        assert audited.returncode == 0, audited.stderr
        assert json.loads(audited.stdout)["comparison"] == told["comparison"]
    assert "Test runs: " in run("info", "irace-validate.db", cwd=runner).stdout
    # The target was called as irace calls it, conditions and digits are those of the log.
    parameters = (runner / "irace-validate" / "parameters.txt").read_text()
    assert 'depth "-d" i (1, 9) | kind %in% c("fancy") & !(size == 20)' in parameters
    assert "digits = 4" in parameters


def test_from_a_smac_log_to_a_certificate(tmp_path: Path) -> None:
    """A log of SMAC3 could not be validated, or an unfilled scenario be run."""
    source = DATA / "smac" / "instances"
    made = run(
        "scenario", "from-log", source, "--low", "0", "--high", "3", "--out", "s", cwd=tmp_path
    )
    assert made.returncode == 0, made.stderr
    assert "fill in [target]" in made.stdout
    (tmp_path / "new").mkdir()
    for number in range(8, 88):
        (tmp_path / "new" / f"i{number}.txt").write_text(f"{number % 12}\n")
    words = (
        "validate",
        source,
        "--scenario",
        "s/scenario.toml",
        "--low",
        "0",
        "--high",
        "3",
        "--instances",
        "new/*",
        *FAST,
    )
    unfilled = run(*words, "--budget", "160runs", cwd=tmp_path)
    assert (unfilled.returncode, unfilled.stderr.count("\n")) == (2, 1)
    assert "expected your solver in the place of FILL_IN_YOUR_SOLVER" in unfilled.stderr
    (tmp_path / "s" / "solver.sh").write_text(
        '#!/bin/sh\nread n < "$1"\nexec awk -v n="$n" -v seed="$2" -v args="$*" \'BEGIN {\n'
        "  match(args, /--x=[0-9.e-]+/); x = substr(args, RSTART + 4, RLENGTH - 4)\n"
        '  printf "cost: %.4f\\n", (x - n / 12) ^ 2 + (seed % 7) / 10 }\'\n'
    )
    (tmp_path / "s" / "solver.sh").chmod(0o755)
    text = (tmp_path / "s" / "scenario.toml").read_text()
    text = text.replace("FILL_IN_YOUR_SOLVER", "./solver.sh")
    (tmp_path / "s" / "scenario.toml").write_text(text)
    ended = run(
        *words, "--configuration", "12", "--configuration", "5", "--budget", "40runs", cwd=tmp_path
    )
    assert ended.returncode in (0, 1), ended.stderr
    assert "new instances" in ended.stdout
    assert "configuration 5" in ended.stdout.lower().replace("\n", " ") or "(5)" in ended.stdout


def test_from_a_smac_log_of_running_times(tmp_path: Path) -> None:
    """The scenario of a search with a cutoff would not time a solver that answers as in SAT
    competitions, or have another range of costs than the log.
    """
    source, cutoff = DATA / "smac" / "instances", ("--cutoff", "5", "--par", "10")
    made = run("scenario", "from-log", source, *cutoff, "--out", "s", cwd=tmp_path)
    assert made.returncode == 0, made.stderr
    (tmp_path / "s" / "solver").write_text("#!/bin/sh\necho s UNSATISFIABLE\nexit 20\n")
    (tmp_path / "s" / "solver").chmod(0o755)
    (tmp_path / "new.txt").write_text("new\n")
    path = tmp_path / "s" / "scenario.toml"
    path.write_text(path.read_text().replace("FILL_IN_YOUR_SOLVER", "./solver"))
    metric = Scenario.read(path).metric
    assert (metric.kind, metric.range()) == ("par", (0.0, 50.0))
    words = ("--scenario", path, "--instances", "new.txt", "--budget", "2runs", "--json", *FAST)
    ended = run("validate", source, *cutoff, *words, cwd=tmp_path)
    assert ended.returncode == 1, ended.stderr
    statements = {each["quantity"]: each for each in json.loads(ended.stdout)["statements"]}
    assert statements["solved share"]["observed"] == 1


def test_a_program_named_by_a_log_is_not_started_without_asking(runner: Path) -> None:
    """The log of a stranger would run a program of his choice."""
    words = ("irace.Rdata", "--low", "0", "--high", "12", "--instances", "test/*")
    ended = run("validate", *words, "--budget", "20runs", "--no-pin", cwd=runner)
    assert (ended.returncode, ended.stderr.count("\n")) == (2, 1), ended
    assert "--yes" in ended.stderr
    assert "target-runner" in ended.stderr
    assert not list(runner.glob("*.db"))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("irace.Rdata", "--instances", "train/*"), "got 10 and all of them are in the log"),
        (("irace.Rdata", "--instances", "nix/*"), "expected files, got none"),
        (
            ("irace.Rdata", "--instances", "test/*", "--configuration", "99"),
            "name of a configuration of the log, got '99'",
        ),
        (
            ("irace.Rdata", "--instances", "test/*", *("--configuration", "1") * 3),
            "--configuration once or twice",
        ),
        (
            ("irace.Rdata", "--instances", "test/*", "--dask", "x", "--workers", "2"),
            "--workers or --dask",
        ),
        (("table.csv", "--instances", "test/*"), "Expected a --scenario"),
        (
            ("table.csv", "--instances", "test/*", "--scenario", "s/scenario.toml"),
            "has none: take the log itself",
        ),
        (
            ("irace.Rdata", "--instances", "test/*", "--scenario", "other/scenario.toml"),
            "which it does not have",
        ),
    ],
)
def test_wrong_words(runner: Path, words: tuple[str, ...], message: str) -> None:
    """A mistake would end in a traceback, or in runs."""
    (runner / "table.csv").write_text("configuration,instance,cost\na,1,0.5\nb,1,0.7\n")
    validations.written(runner / "other", 0)
    run("scenario", "from-log", "irace.Rdata", "--out", "s", cwd=runner)
    ended = run("validate", *words, "--budget", "10runs", cwd=runner)
    assert (ended.returncode, ended.stderr.count("\n")) == (2, 1), ended
    assert message in ended.stderr
    assert not list(runner.glob("*.db"))


def test_logs_that_do_not_say_what_they_ran(runner: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A target that is a function of R where there is no R, or is gone, would be started all the
    same.
    """
    (runner / "target-runner").unlink()
    monkeypatch.setenv("PATH", str(runner))
    for log, message in (
        (runner / "irace.Rdata", "'target-runner', and it is not there"),
        (DATA / "irace" / "tested.Rdata", "expected R on this machine"),
    ):
        ended = run("scenario", "from-log", log, "--out", "s", cwd=runner)
        assert ended.returncode == 2
        assert message in ended.stderr


# ---- instances from a generator ------------------------------------------------------------------

GENERATED: dict[str, Any] = {"generator": ["./generate.sh", "{seed}", "{file}"], "suffix": ".txt"}


def test_instances_are_made_when_they_are_needed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A generator would be asked for all instances at once, or what it made be lost to those who
    come later.
    """
    scenario = validations.written(tmp_path, 0, instances=GENERATED)
    monkeypatch.chdir(tmp_path)
    assert len({each.name for each in scenario.instances}) > 9_000
    gather(scenario, "g.db", configurations=2, instances=4, runs=1, **FREE)
    made = sorted(tmp_path.glob("generated/*/*"))
    assert sorted(each.name for each in made) == sorted(
        each.name for each in scenario.instances[:4]
    )
    with closing(sqlite3.connect("g.db")) as connection:
        rows = connection.execute("SELECT name, extras FROM instances").fetchall()
    assert all(f"seed-{json.loads(extras)['generator_seed']}.txt" == name for name, extras in rows)
    # Made anew from the seed alone, it is the same.
    content = made[0].read_bytes()
    made[0].unlink()
    prepare(next(each for each in scenario.instances if each.name == made[0].name))
    assert made[0].read_bytes() == content
    log = import_runs("g.db")
    best, worst = sorted(log.parameters, key=lambda name: int(str(log.parameters[name]["x"])))
    found = validate(
        log, scenario, "v.db", configuration=worst, default=best, budget="60runs", **FREE
    )
    assert found.entry.used == 4
    assert not found.shown
    assert len(list(tmp_path.glob("generated/*/*"))) > 4 + found.stop.instances - 1
    with pytest.raises(InputError, match="expected `instances`, how many the generator is to make"):
        gather(scenario, "h.db", configurations=2, runs=1, **FREE)


def test_a_search_on_generated_instances(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A search would find no instances where a generator makes them, or judge on those it trained
    on.
    """
    monkeypatch.chdir(tmp_path)
    scenario = validations.written(tmp_path, instances={**GENERATED, "count": 12})
    configure(scenario, "s.db", budget="60runs", **FREE)
    log = import_runs("s.db")
    assert log.test is not None
    assert not set(log.test.instances) & set(log.matrix.instances)
    made = {each.name for each in tmp_path.glob("generated/*/*")}
    assert {*log.test.instances, *log.matrix.instances} <= made


@pytest.mark.parametrize(
    ("text", "table", "message"),
    [
        ("date +%N > $2", {}, "the same instance from the same seed"),
        ("echo no such thing >&2; exit 4", {}, "exit code 0, got 4 \\(no such thing\\)"),
        (":", {}, "got an empty one"),
        ("", {"generator": ["./generate.sh", "{seed}"]}, "'{seed}' and '{file}'"),
        ("", {"generator": ["./nothing.sh", "{seed}", "{file}"]}, "cannot start './nothing.sh'"),
        ("", {"suffix": "a/b"}, "an ending such as"),
        ("", {"count": 0}, "count"),
        ("", {"glob": "instances/*"}, "expected one of"),
    ],
)
def test_generators_that_cannot_be_trusted(
    tmp_path: Path, text: str, table: dict[str, Any], message: str
) -> None:
    """Two workers would run on two instances of one name."""

    def try_it() -> None:
        scenario = validations.written(tmp_path, 0, instances={**GENERATED, **table})
        (tmp_path / "generate.sh").write_text(f"#!/bin/sh\n{text}\n")
        gather(scenario, tmp_path / "g.db", configurations=2, instances=2, runs=1, **FREE)

    with pytest.raises(InputError, match=message):
        try_it()


# ---- sureness ------------------------------------------------------------------------------------


def _timeouts(rng: np.random.Generator, size: tuple[int, ...]) -> np.ndarray[Any, Any]:
    hard = rng.random(size[:-1])[..., np.newaxis]
    return np.where(rng.random(size) < 0.3 * hard, 10.0, rng.random(size))


def _coins(rng: np.random.Generator, size: tuple[int, ...]) -> np.ndarray[Any, Any]:
    return 10.0 * (rng.random(size) < 0.5)


@pytest.mark.parametrize("primary", ["mean", "wins"])
@pytest.mark.parametrize("draw", [_timeouts, _coins])
def test_a_winner_that_is_none(draw: Callable[..., Any], primary: Any) -> None:
    """Looking after every instance would show a winner that equals its default more often than
    delta.
    """
    rng, simulations, instances, delta = np.random.default_rng(17), 2000, 150, 0.1
    quantity, threshold = criterion(primary)
    rule = mean_rule(
        planned=instances, delta=delta, high=10.0, quantity=quantity, threshold=threshold
    )
    shown = 0
    for costs in draw(rng, (simulations, 1, instances, 2)):
        # Looks after every instance are one look at all of them: a limit never becomes weaker.
        ended = rule.decide(costs, instances, 10)
        shown += ended is not None and ended.why == "better"
    assert binom.sf(shown - 1, simulations, delta) > 1e-3
    assert shown > 0.2 * delta * simulations


def test_looks_after_every_instance_are_one_look() -> None:
    """What was shown once would be taken back, and the simulation above speak of something else
    than validations do.
    """
    rng, rows = np.random.default_rng(3), []
    for costs in _timeouts(rng, (30, 1, 60, 2)):
        rule = mean_rule(planned=40, delta=0.3, high=10.0)
        looks = [
            forecast.is_shown(rule.goal(costs, pairs), 0.3, planned=40) for pairs in range(1, 61)
        ]
        assert looks == sorted(looks)
        rows.append(looks)
    # Some were shown early, some beyond what was planned.
    assert {bool(look) for looks in rows for look in (looks[-1], looks[39])} == {False, True}


def test_watching_costs_half_of_delta_at_most() -> None:
    """Watching would cost more than half of delta, or planned bets be others than those of a sample
    of that size.
    """
    x = np.random.default_rng(4).random(50) ** 2
    one = confidence.interval(x, 0, 1, 0.1, shuffle=False)
    # Half of the capital in STaR-Bets, which are as good as those with half of delta.
    half = confidence.interval(x, 0, 1, 0.05, shuffle=False)
    found = confidence.watched(x, 0, 1, 0.1, planned=50)
    assert half.lower <= found.lower <= one.lower + 0.01
    assert one.upper - 0.01 <= found.upper <= half.upper
    early = confidence.watched(x[:20], 0, 1, 0.1, planned=50)
    assert early.lower <= found.lower < x.mean() < found.upper <= early.upper
    with pytest.raises(InputError):
        confidence.watched(x, 0, 1, 0.1, planned=0)


def test_forecasts_of_the_rest() -> None:
    """A validation would be given up that had a fair chance, or go on without any."""
    rng = np.random.default_rng(5)
    values = (rng.random(40) < 0.75).astype(float)
    chances = [
        forecast.chance_to_show(
            Goal(values=values, above=0.5), more, 0.001, planned=40 + more, rng=1
        )
        for more in (0, 20, 400)
    ]
    assert chances[0] == 0.0
    assert 0.1 < chances[1] < 0.95 < chances[2]
    even = Goal(values=np.tile([0.0, 1.0], 40), above=0.5)
    assert forecast.chance_to_show(even, 20, 0.05, planned=100, rng=1) < HOPELESS
    # The urn by plain Python.
    draws = np.random.default_rng(8).random((20, 15))
    shown = []
    for row in draws.tolist():
        urn = values[:10].tolist()
        for number in row:
            urn.append(urn[int(number * len(urn))])
        shown.append(naive.watched_shows(urn, 0.5, 0.2, 25))
    assert scanning.urn_shows(values[:10], draws, 0.5, 5.0, 25).tolist() == shown
    with pytest.raises(InputError):
        forecast.chance_to_show(even, -1, planned=5)


def test_the_line_to_paste(runner: Path) -> None:
    """The advice to validate would come without the line that does it, or with one that does not
    run.
    """
    ended: Ended = run("audit", "irace.Rdata", "--low", "0", "--high", "12", "--quiet", cwd=runner)
    line = next(line.strip() for line in ended.stdout.splitlines() if "truecost validate" in line)
    assert (
        line == "truecost validate irace.Rdata --low=0 --high=12 '--instances=test/*' --budget=2h"
    )
    dry = run(*shlex.split(line)[1:], "--dry-run", cwd=runner)
    assert dry.returncode == 0, dry.stderr
