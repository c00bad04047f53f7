"""The command line as scripts see it: exit codes, one line on stderr, JSON, options."""

import json
import re
import shlex
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import commands
import numpy as np
import pandas as pd
import pytest
import typer

from truecost import cli
from truecost.judge.question import Question
from truecost.matrix.reading import Reading

DATA = Path(__file__).parent / "data"
Run = commands.Run
READING = {entry.name for entry in fields(Reading)}


def paired_table(
    path: Path, factor: float, *, instances: int = 80, names: tuple[str, ...] = ("old", "new")
) -> Path:
    """Runs of two versions, of which the new one takes `factor` times as long."""
    rng = np.random.default_rng(1)
    base = rng.lognormal(0, 0.5, instances)
    rows = [
        (name, f"i{number}", cost)
        for name, scale in (("old", 1.0), ("new", factor))
        for number, cost in enumerate(base * scale * rng.lognormal(0, 0.02, instances))
        if name in names
    ]
    pd.DataFrame(rows, columns=["configuration", "instance", "cost"]).to_csv(path, index=False)
    return path


def options_of(command: str) -> set[str]:
    """The options of a command, without --help."""
    tree = typer.main.get_command(cli.app([command]))
    parameters = getattr(tree, "commands", {}).get(command, tree).params
    return {one.name for one in parameters if one.param_type_name == "option"}


@pytest.mark.parametrize("command", [*cli.COMMANDS, "scenario export", "scenario from-log"])
def test_help_has_a_line_for_each_of_at_most_twenty_options(run: Run, command: str) -> None:
    """`--help` would fail, or show more than a user can survey."""
    ended = run(*command.split(), "--help")
    assert ended.returncode == 0
    assert ended.stdout.startswith(f"Usage: truecost {command}")
    for line in ended.stdout.partition("\n\nArguments:")[2].splitlines():
        assert not line.startswith(" " * 10), line
    if " " not in command and command != "scenario":
        assert len(options_of(command) - READING) <= 20


def test_there_are_eleven_commands(run: Run) -> None:
    """The overview would miss a command, or list one that does not exist."""
    assert len(cli.COMMANDS) == 11
    printed = run("--help").stdout
    assert all(f"  {name} " in printed for name in cli.COMMANDS)


def test_fields_of_records_are_options_once() -> None:
    """A field added to a record would not reach the command line, or under another name."""
    asked = READING | {entry.name for entry in fields(Question)}
    assert options_of("audit") == asked | {"all_", "json"}
    assert options_of("report") == asked | {"out", "latex", "json"}


@pytest.mark.parametrize(
    "words",
    [
        ("audit", "missing.csv"),
        ("audit", "kissat", "--delta", "2"),
        ("audit", "kissat", "--low", "x"),
        ("audit", "kissat", "--configuration", "nobody"),
        ("audit", "kissat", "--nonsense"),
        ("audit", "kissat", "--margin", "five"),
        ("report", "kissat", "-o", "page.pdf"),
        ("compare", "kissat"),
        ("plan", "kissat", "--error", "1e-300"),
        ("gather", "missing.toml"),
        ("configure", "missing.toml", "--budget", "10runs"),
        ("validate", "kissat", "--scenario", "missing.toml"),
        ("scenario", "export", "nothing", "folder"),
        ("reproduce", "missing.csv"),
        ("reproduce", "kissat", "--splits", "1"),
        ("import", "missing.csv"),
        ("import", "kissat", "--columns", "cost"),
        ("import", "kissat", "-o", "missing/runs.csv"),
        ("nothing",),
    ],
    ids=" ".join,
)
def test_bad_input_is_one_line_and_exit_code_2(
    run: Run, tmp_path: Path, words: tuple[str, ...]
) -> None:
    """A user would get a traceback, or a script would take a mistake for an answer."""
    ended = run(*words, cwd=tmp_path)
    assert ended.returncode == 2, ended
    assert ended.stdout == ""
    assert ended.stderr.startswith("truecost: ")
    assert ended.stderr.count("\n") == 1
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("words", "way_out"),
    [
        # The shell has replaced the pattern of --instances by its files.
        ("validate kissat --instances a.csv b.csv", "in quotes"),
        ("validate kissat", "from-log"),
        ("validate kissat --sampled seed", "instance, family"),
        ("import b.csv -o b.csv", "another name"),
        ("import kissat -o missing/runs.csv", "Check the path."),
        ("compare kissat:default kissat:zzz", "It has"),
        ("audit kissat --basis fixed", "'fixed before'"),
        ("audti kissat", "'audit'"),
    ],
)
def test_messages_say_what_to_type(run: Run, tmp_path: Path, words: str, way_out: str) -> None:
    """A newcomer would not find out what was wrong with the command."""
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text("configuration,instance,cost\na,i,1\n")
    ended = run(*words.split(), cwd=tmp_path)
    assert ended.returncode == 2
    assert way_out in ended.stderr


def test_audit_answers_with_its_exit_code(run: Run, tmp_path: Path) -> None:
    """CI would pass a winner that is not proven better, or fail one that is."""
    how = ("--default", "old", "--low", "0", "--high", "8", "--basis", "fixed-before")
    for factor, code in ((0.5, 0), (2.0, 1)):
        table = paired_table(tmp_path / "runs.csv", factor)
        ended = run("audit", table, "--configuration", "new", *how)
        assert (ended.returncode, ended.stderr) == (code, "")


def test_json_is_the_same_verdict_as_the_text(run: Run) -> None:
    """A script and a person would get different answers to the same question."""
    answer, text = json.loads(run("audit", "kissat", "--json").stdout), run("audit", "kissat")
    assert answer["schema"] == 2
    assert answer["exit_code"] == text.returncode
    assert answer["verdict"]["headline"] in " ".join(text.stdout.split())


def test_a_report_is_named_after_its_runs(run: Run, tmp_path: Path) -> None:
    """The page or the table for a paper would not be written, or leave half a file beside it."""
    assert run("report", "kissat", "--latex", "table.tex", cwd=tmp_path).returncode == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["kissat-report.html", "table.tex"]


def test_import_writes_a_table_that_reads_back(run: Run, tmp_path: Path) -> None:
    """Converting a log to a table would lose runs, the default or the winner."""
    log = DATA / "irace" / "tested.Rdata"
    assert run("import", log, "-o", tmp_path / "runs.csv").returncode == 0
    before, after = (
        json.loads(run("import", path, "--json").stdout) for path in (log, tmp_path / "runs.csv")
    )
    for key in ("runs", "test", "incumbent", "default"):
        assert before[key] == after[key], key


def test_compare_catches_a_small_slowdown_by_wins(run: Run, tmp_path: Path) -> None:
    """A version that is 10 % slower on 82 of 90 instances would pass CI."""
    base = np.minimum(np.random.default_rng(3).lognormal(0, 1.5, 90), 25)
    changed = np.where(np.arange(90) < 82, 1.1, 0.9) * base
    for name, cost in (("old", base), ("new", changed)):
        frame = {"configuration": name, "instance": np.arange(90), "cost": cost}
        pd.DataFrame(frame).to_csv(tmp_path / f"{name}.csv", index=False)
    slower = run("compare", "old.csv", "new.csv", "--cutoff", "30", cwd=tmp_path)
    assert slower.returncode == 1
    assert "lose more runs" in slower.stdout.splitlines()[-1]
    faster = run("compare", "new.csv", "old.csv", "--cutoff", "30", "--markdown", cwd=tmp_path)
    assert faster.returncode == 0
    assert "| --- |" in faster.stdout
    everything = run("compare", "old.csv", "new.csv", "--cutoff", "30", "--all", cwd=tmp_path)
    assert not re.search("winner|default", everything.stdout)


def test_compare_refuses_rows_that_one_side_lacks(run: Run, tmp_path: Path) -> None:
    """A table that dropped its timeouts would look faster."""
    old = paired_table(tmp_path / "old.csv", 1.0, names=("old",))
    new = paired_table(tmp_path / "new.csv", 1.0, names=("new",))
    pd.read_csv(new).iloc[:60].to_csv(new, index=False)
    ended = run("compare", old, new, "--low", "0", "--high", "20")
    assert ended.returncode == 2
    assert "--common" in ended.stderr
    assert run("compare", old, new, "--low", "0", "--high", "20", "--common").returncode == 0


def test_a_margin_turns_the_burden_of_proof_round(run: Run, tmp_path: Path) -> None:
    """`--margin 5%` would accept a version that nobody showed to be good enough."""
    for factor, code in ((1.0, 0), (1.2, 1)):
        file = paired_table(tmp_path / "runs.csv", factor, instances=400)
        words = (f"{file}:old", f"{file}:new", "--low", "0", "--high", "6", "--margin", "5%")
        assert run("compare", *words).returncode == code, factor


def test_printed_commands_run(run: Run, tmp_path: Path) -> None:
    """A user who copies the next step would get an error."""
    table = paired_table(tmp_path / "my runs.csv", 0.97)
    printed = []
    for words in (
        ("audit", "kissat"),
        ("audit", "clasp", "--delta", "0.1", "--primary", "wins"),
        ("audit", table, "--low", "0", "--high", "50", "--default", "old"),
        ("audit", "lkh", "--margin", "5%"),
    ):
        _, _, steps = run(*words, cwd=tmp_path).stdout.partition("\nNext: ")
        printed += [line.strip() for line in steps.splitlines() if "truecost " in line]
    assert printed
    for line in printed:
        ended = run(*shlex.split(line, comments=True)[1:], cwd=tmp_path)
        assert ended.returncode in (0, 1), (line, ended.stderr)


@pytest.mark.parametrize(
    ("line", "ended"),
    [
        ("import kissat --json | head -c 10", (0, "")),
        ("import kissat > /dev/full", (2, "truecost: standard output: No space left on device.\n")),
        ("import kissat >&-", (0, "")),
    ],
)
def test_lost_output_does_not_change_the_exit_code(line: str, ended: tuple[int, str]) -> None:
    """`truecost audit … | head -1` in a script would fail with a broken pipe, or a full disk go
    unnoticed.
    """
    words = ["bash", "-c", f"set -o pipefail; {sys.executable} -m truecost {line}"]
    done = subprocess.run(words, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == ended


def test_a_fault_of_ours_is_reported_as_one(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bug would look like a mistake of the user's."""
    monkeypatch.delattr("truecost.api.audit")
    ended = run("audit", "kissat")
    assert ended.returncode == 3
    assert "fault in truecost" in ended.stderr
