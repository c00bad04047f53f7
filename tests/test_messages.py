from pathlib import Path
from typing import Any

import pytest
import scenarios

from truecost import InputError, Journal, Scenario, gather
from truecost.running.execute import Caller
from truecost.space.space import Space

COMMAND = {"kind": "command", "command": ["./print.sh", "{instance}", "{arguments}"]}
PLAIN = "alpha {1,2} [1]\nbeta [0,1] [0.5]\n"


@pytest.mark.parametrize(
    ("space", "message"),
    [
        (
            PLAIN + "beta | alpah in {1}\n",
            r"line 3: expected a parameter of this file in .*, got 'alpah'; did you mean 'alpha'",
        ),
        (
            PLAIN + "{alpha=1, gammma=2}\n",
            r"line 3: expected a parameter of this file in .*, got 'gammma'\.",
        ),
        (
            'a "--a" c (x, y)\nb "--b" i (1, 5) | aa == "x"\n',
            r"line 2: expected a parameter .*, got 'aa'; did you mean 'a'",
        ),
        (
            'ab "--a" c (x, y)\n[forbidden]\nabc == "x"\n',
            r"line 3: expected a parameter .* got 'abc'; did you mean 'ab'",
        ),
    ],
)
def test_unknown_parameters_are_named(space: str, message: str) -> None:
    """Who misspells a parameter in a condition would have to find it himself."""
    with pytest.raises(InputError, match=message):
        Space.parse(space)


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        (
            {"target": {"kind": "command", "command": "minisat -x {instance} {arguments}"}},
            r'target\.command: expected a list of words, \["minisat", "-x", "\{instance\}", "\{arguments\}"\] for instance',
        ),
        (
            {"instances": {"files": "a.cnf"}},
            r'instances\.files: expected a list of names, \["a.cnf"\] for instance',
        ),
        (
            {"target": COMMAND, "answer": {"exit": 10}},
            r"answer\.exit: expected a list of numbers, \[10\] for instance, got 10",
        ),
        (
            {"limits": None, "limit": {"cpu": 1.0}},
            r"limit: unknown table; did you mean \[limits\]\?",
        ),
        (
            {"metric": None, "matrics": {"kind": "par"}},
            r"matrics: unknown table; did you mean \[metric\]\?",
        ),
        (
            {"target": {**COMMAND, "command": ["x", "--seed={seed", "{instance}", "{arguments}"]}},
            r"target\.command: expected braces around a placeholder, .* got '--seed=\{seed' with '\{' alone",
        ),
        (
            {"target": {**COMMAND, "command": ["x", "seed}", "{instance}", "{arguments}"]}},
            r"got 'seed\}' with '\}' alone; a brace is written",
        ),
        (
            {"target": {**COMMAND, "style": "-name=value"}},
            r'target\.style: .*, got \'-name=value\'\. Write "-\{name\}=\{value\}"\.',
        ),
    ],
)
def test_scenario_files(tmp_path: Path, tables: dict[str, Any], message: str) -> None:
    """A mistake in a scenario file would be refused in words that do not say what to write."""
    path = scenarios.write(tmp_path, **tables)
    with pytest.raises(InputError, match=message):
        Scenario.read(path)


def test_braces_that_are_meant(tmp_path: Path) -> None:
    """A solver that wants a brace in its arguments could not have one."""
    words = ["x", '{{"a": {seed}}}', "{instance}", "{arguments}"]
    scenario = Scenario.read(
        scenarios.write(tmp_path, target={**COMMAND, "command": words}, metric={"kind": "par"})
    )
    line = Caller(scenario).command_line(scenario.space.default(), scenario.instances[0], 7)
    assert line[1] == '{"a": 7}'


NO_NUMBERS = ("inf", "1e400", "1,5", "-nan", "1.5e")


@pytest.mark.parametrize(
    ("kind", "said"),
    # inf is irace's word for a configuration to reject.
    [("command", NO_NUMBERS), ("wrapper", NO_NUMBERS), ("irace", ("2,5", *NO_NUMBERS[1:]))],
)
def test_an_answer_that_is_no_number_is_quoted(
    tmp_path: Path, kind: str, said: tuple[str, ...]
) -> None:
    """Who prints a number that is none would read that there was no answer, and not see his own."""
    target, answer, printed = {"kind": kind, "command": ["./print.sh"]}, None, "{}"
    if kind == "command":
        target, answer = COMMAND, {"value": r"^(\S+)$"}
    if kind == "wrapper":
        printed = 'Result of this algorithm run: {{"status": "SUCCESS", "cost": "{}"}}'
    answers = "".join(
        f"{place}) echo '{printed.format(word)}';; " for place, word in enumerate(said)
    )
    # The instance is the only argument that is a file, and has its place in it.
    script = (
        f'for word; do [ -f "$word" ] && read place < "$word"; done; case $place in {answers}esac'
    )
    details = failing(tmp_path, script, instances=len(said), target=target, answer=answer)
    assert all("no answer" in detail for detail in details)
    for word in said:
        assert sum(word in detail for detail in details) == 1, (word, details)


def test_an_answer_lost_in_dropped_output_says_so(tmp_path: Path) -> None:
    """Whose answer stood in the middle of too much output would look for it in vain."""
    script = "head -c 30000 /dev/zero; echo; echo value 7; head -c 30000 /dev/zero"
    tables: dict[str, Any] = {"target": COMMAND, "answer": {"value": r"^value (\d+)$"}}
    (detail,) = failing(
        tmp_path / "a", script, limits={"cpu": 5.0, "wall": 100.0, "output": 0.02}, **tables
    )
    assert (
        "no answer: no value in the output; 0.04 MB in the middle of the output were dropped"
        in detail
    )
    assert "raise limits.output" in detail
    # Where nothing was dropped, nothing is said of it.
    (detail,) = failing(tmp_path / "b", "echo nothing", **tables)
    assert "dropped" not in detail


def failing(folder: Path, script: str, instances: int = 1, **tables: Any) -> list[str]:
    """Why the runs of this script crashed."""
    path = scenarios.write(folder, **{"limits": {"cpu": 5.0, "wall": 100.0}, **tables})
    (folder / "print.sh").write_text(f"#!/bin/sh\n{script}\n")
    (folder / "print.sh").chmod(0o755)
    with pytest.raises(InputError, match="all crashed"):
        gather(
            Scenario.read(path),
            folder / "runs.db",
            configurations=1,
            instances=instances,
            runs=1,
            pin=False,
        )
    with Journal.read(folder / "runs.db") as journal:
        return [str(detail) for (detail,) in journal._connection.execute("SELECT detail FROM runs")]


def test_a_mended_scenario_goes_on_in_a_journal_without_runs(tmp_path: Path) -> None:
    """After a program that could not be started, the mended scenario would be refused for runs that
    were never made.
    """
    path = scenarios.write(tmp_path, limits={"cpu": 5.0, "wall": 100.0})
    right = path.read_text()
    path.write_text(right.replace("./solver.sh", "./missing.sh"))
    size: dict[str, Any] = {
        "configurations": 2,
        "instances": 2,
        "runs": 1,
        "pin": False,
        "keep_going": True,
    }
    with pytest.raises(InputError, match="there is no such program"):
        gather(Scenario.read(path), tmp_path / "runs.db", **size)
    path.write_text(right)
    gather(Scenario.read(path), tmp_path / "runs.db", **size)
    path.write_text(right.replace("cpu = 5.0", "cpu = 4.0"))
    with pytest.raises(InputError, match="must not be mixed"):
        gather(Scenario.read(path), tmp_path / "runs.db", **size)


@pytest.mark.parametrize(
    ("program", "words"), [("./plain.txt", "chmod \\+x"), ("./instances", "it is a folder")]
)
def test_what_may_not_be_executed_says_why(tmp_path: Path, program: str, words: str) -> None:
    """A solver that lacks its permission would be answered by two words of the system."""
    path = scenarios.write(tmp_path, target={"kind": "wrapper", "command": [program]})
    (tmp_path / "plain.txt").write_text("#!/bin/sh\n")
    with pytest.raises(InputError, match=words):
        gather(
            Scenario.read(path),
            tmp_path / "runs.db",
            configurations=1,
            instances=1,
            runs=1,
            pin=False,
        )


def test_an_empty_command_is_said_in_plain_words(tmp_path: Path) -> None:
    """A command without words would be refused in the words of a library."""
    path = scenarios.write(tmp_path, target={"kind": "wrapper", "command": []})
    with pytest.raises(InputError, match="expected at least one word, got none"):
        Scenario.read(path)
