"""The command line as scripts see it: exit codes, one line on stderr, JSON, options."""

import json
import shlex
import subprocess
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


def paired_table(path: Path, factor: float, *, instances: int = 80, seed: int = 1) -> Path:
    """A long table: `default`, and `tuned`, which takes `factor` times as long on each instance."""
    rng = np.random.default_rng(seed)
    base = rng.lognormal(0, 0.5, instances)
    frames = [
        pd.DataFrame(
            {
                "configuration": name,
                "instance": [f"i{number}" for number in range(instances)],
                "cost": base * scale * rng.lognormal(0, 0.02, instances),
            }
        )
        for name, scale in (("default", 1.0), ("tuned", factor))
    ]
    pd.concat(frames).to_csv(path, index=False)
    return path


def options_of(command: str) -> set[str]:
    """The options of a command, without --help."""
    tree = typer.main.get_command(cli.app([command]))
    found = getattr(tree, "commands", {}).get(command, tree)
    return {parameter.name for parameter in found.params if parameter.param_type_name == "option"}


@pytest.mark.parametrize("command", [name for name in cli.COMMANDS if name != "scenario"])
def test_a_command_has_at_most_twenty_options_of_its_own(command: str) -> None:
    """A command would grow options until nobody can find the one that matters."""
    reading = {item.name for item in fields(Reading)}
    assert len(options_of(command) - reading) <= 20


def test_there_are_eleven_commands(run: Run) -> None:
    """The overview would miss a command, or list one that does not exist."""
    assert len(cli.COMMANDS) == 11
    printed = run("--help").stdout
    assert all(f"  {name} " in printed for name in cli.COMMANDS)


@pytest.mark.parametrize("command", cli.COMMANDS)
def test_every_command_has_help(run: Run, command: str) -> None:
    """`--help` would fail, or an option would come without a text."""
    ended = run(command, "--help")
    assert ended.returncode == 0
    assert "Usage" in ended.stdout


@pytest.mark.parametrize("command", sorted(cli.GONE))
def test_a_removed_command_names_its_replacement(run: Run, command: str) -> None:
    """Somebody with a script for 0.3 would not learn what to type now."""
    ended = run(command, "runs.db")
    assert ended.returncode == 2
    assert cli.GONE[command] in ended.stderr


def test_fields_of_records_are_options_once() -> None:
    """A field added to a record would not reach the command line, or under another name."""
    assert {item.name for item in fields(Reading)} <= options_of("audit")
    assert {item.name for item in fields(Question)} - {"default"} <= options_of("audit")
    assert options_of("audit") - {"all_", "json"} == options_of("report") - {
        "out",
        "title",
        "latex",
        "json",
    }


@pytest.mark.parametrize(
    "words",
    [
        ("audit", "missing.csv"),
        ("audit", "kissat", "--delta", "2"),
        ("audit", "kissat", "--configuration", "nobody"),
        ("audit", "kissat", "--nonsense"),
        ("audit", "kissat", "--margin", "five"),
        ("report", "kissat", "-o", "page.pdf"),
        ("compare", "kissat"),
        ("plan", "kissat", "--error", "-1"),
        ("gather", "missing.toml"),
        ("configure", "missing.toml", "--budget", "10runs"),
        ("validate", "kissat", "--scenario", "missing.toml"),
        ("scenario", "export", "nothing", "folder"),
        ("reproduce", "missing.csv"),
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


def test_audit_answers_with_its_exit_code(run: Run, tmp_path: Path) -> None:
    """CI would pass a winner that is not proven better, or fail one that is."""
    table = paired_table(tmp_path / "runs.csv", 0.5)
    how = ("--default", "default", "--low", "0", "--high", "8", "--basis", "fixed-before")
    proven = run("audit", table, "--configuration", "tuned", *how)
    assert (proven.returncode, proven.stderr) == (0, "")
    table = paired_table(tmp_path / "worse.csv", 2.0)
    assert run("audit", table, "--configuration", "tuned", *how).returncode == 1


def test_json_is_the_same_verdict_as_the_text(run: Run) -> None:
    """A script and a person would get different answers to the same question."""
    answer = json.loads(run("audit", "kissat", "--json").stdout)
    assert answer["schema"] == 2
    assert answer["exit_code"] == run("audit", "kissat").returncode
    assert answer["grade"].replace("probably ", "") in ("better", "undecided")


def test_a_verdict_fits_on_one_screen(run: Run) -> None:
    """The verdict would scroll away at a terminal of 80 × 24."""
    lines = run("audit", "kissat").stdout.splitlines()
    assert len(lines) <= 24
    assert max(map(len, lines)) <= 80


def test_a_report_is_one_page_that_is_written_whole(run: Run, tmp_path: Path) -> None:
    """A reader would get half a page, or one that loads something from elsewhere."""
    assert run("report", "kissat", "-o", tmp_path / "page.html").returncode == 0
    page = (tmp_path / "page.html").read_text()
    assert page.rstrip().endswith("</html>")
    assert "http://" not in page.replace("http://www.w3.org", "")
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]


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
    rng = np.random.default_rng(3)
    base = np.minimum(rng.lognormal(0, 1.5, 90), 25)
    changed = np.where(np.arange(90) < 82, 1.1, 0.9) * base
    for name, cost in (("old", base), ("new", changed)):
        frame = {"configuration": name, "instance": np.arange(90), "cost": cost}
        pd.DataFrame(frame).to_csv(tmp_path / f"{name}.csv", index=False)
    files = (tmp_path / "old.csv", tmp_path / "new.csv")
    slower = run("compare", *files, "--cutoff", "30")
    assert slower.returncode == 1
    assert "lose more runs" in slower.stdout.splitlines()[-1]
    assert run("compare", *files[::-1], "--cutoff", "30").returncode == 0


def test_compare_refuses_rows_that_one_side_lacks(run: Run, tmp_path: Path) -> None:
    """A table that dropped its timeouts would look faster."""
    paired_table(tmp_path / "runs.csv", 1.0)
    frame = pd.read_csv(tmp_path / "runs.csv")
    frame[frame.configuration == "default"].to_csv(tmp_path / "old.csv", index=False)
    frame[frame.configuration == "tuned"].iloc[:60].to_csv(tmp_path / "new.csv", index=False)
    files = (tmp_path / "old.csv", tmp_path / "new.csv", "--low", "0", "--high", "20")
    ended = run("compare", *files)
    assert ended.returncode == 2
    assert "--common" in ended.stderr
    assert run("compare", *files, "--common").returncode == 0


def test_a_margin_turns_the_burden_of_proof_round(run: Run, tmp_path: Path) -> None:
    """`--margin 5%` would accept a version that nobody showed to be good enough."""
    for name, factor in (("same", 1.0), ("slow", 1.2)):
        paired_table(tmp_path / f"{name}.csv", factor, instances=400)
    for name, code in (("same", 0), ("slow", 1)):
        file = tmp_path / f"{name}.csv"
        words = (f"{file}:default", f"{file}:tuned", "--low", "0", "--high", "6")
        assert run("compare", *words, "--margin", "5%").returncode == code, name


def test_markdown_has_the_verdict(run: Run) -> None:
    """A pull request would get terminal output instead of a table."""
    ended = run("compare", "kissat:default", "kissat:0fa88eb8a1", "--markdown")
    assert ended.returncode == 0
    assert "|" in ended.stdout


def test_messages_of_common_mistakes_say_what_to_type(run: Run, tmp_path: Path) -> None:
    """A newcomer would not find out what was wrong with the command."""
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text("1\n")
    mistakes = {
        # The shell has replaced the pattern of --instances by its files.
        ("validate", "kissat", "--instances", "a.txt", "b.txt"): "in quotes",
        ("validate", "kissat"): "from-log",
        ("compare", "kissat:default", "kissat:zzz"): "It has",
        ("audit", "kissat", "--basis", "fixed"): "'fixed before'",
        ("import", "kissat", "-o", "missing/runs.csv"): "Check the path.",
    }
    for words, way_out in mistakes.items():
        ended = run(*words, cwd=tmp_path)
        assert ended.returncode == 2, words
        assert way_out in ended.stderr, words


def test_printed_commands_run(run: Run, tmp_path: Path) -> None:
    """A user who copies the next step would get an error."""
    table = paired_table(tmp_path / "my runs.csv", 0.97)
    printed = []
    for words in (
        ("audit", "kissat"),
        ("audit", "lkh"),
        ("audit", "clasp", "--delta", "0.1"),
        ("audit", table, "--low", "0", "--high", "50", "--default", "default"),
        ("audit", "kissat", "--primary", "wins"),
        ("audit", "lkh", "--margin", "5%"),
    ):
        text = run(*words, cwd=tmp_path).stdout
        _, _, steps = text.partition("\nNext: ")
        printed += [line.strip() for line in steps.splitlines() if "truecost " in line]
    assert printed
    for line in printed:
        ended = run(*shlex.split(line, comments=True)[1:], cwd=tmp_path)
        assert ended.returncode in (0, 1), (line, ended.stderr)


def test_a_closed_pipe_does_not_change_the_exit_code() -> None:
    """`truecost audit … | head -1` in a script would fail with a broken pipe."""
    line = f"set -o pipefail; {commands.TRUECOST} import kissat --json | head -c 10"
    ended = subprocess.run(["bash", "-c", line], capture_output=True, text=True)
    assert (ended.returncode, ended.stderr) == (0, "")


def test_a_fault_of_ours_is_reported_as_one(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bug would look like a mistake of the user's."""

    def broken(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("truecost.api.assess", broken)
    ended = run("audit", "kissat")
    assert ended.returncode == 3
    assert "fault in truecost" in ended.stderr
