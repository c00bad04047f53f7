"""Commands offered for copying: each is parsed by the real command line, and asks the same."""

import re
import shlex
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from commands import Run, tree

from truecost.stats.synthetic import runtime_model

COMMAND = re.compile(r"^\s+(truecost .*)$", re.MULTILINE)
# What a printed command may ask for beyond the question it was printed for.
OWN = {
    "plan": {"configuration", "error", "show"},
    "certify": {"configuration"},
    "validate": {"instances", "budget", "scenario", "configuration"},
}
# How commands are printed, which is not part of the question; a page has its own unit.
PRINTED = {"json", "quiet", "out", "unit", "title", "all_parts", "parameters"}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same runs as a matrix and as a table with columns of other names; test runs; names."""
    folder = tmp_path_factory.mktemp("runs")
    model = runtime_model(configurations=5, rng=1, within_share=0.4, timeout_rate=0.1)
    matrix = model.draw(instances=24, runs=1, rng=2)
    matrix.save(folder / "runs.npz")
    model.draw(instances=12, runs=1, rng=3).save(folder / "fresh runs.npz")
    table = matrix.to_table().rename({"cost": "PAR10"})
    table.write_csv(folder / "-table.csv")
    (folder / "names").write_text("\n".join(matrix.instances[:12]))
    return folder


def asked(line: str) -> tuple[str, dict[str, Any]]:
    """The command of a line, and its parameters as the command line parses them."""
    program, name, *words = shlex.split(line)
    assert program == "truecost"
    with tree().commands[name].make_context(name, words) as context:
        return name, dict(context.params)


READING = {
    "runs.npz": [],
    "./-table.csv": ["--column=cost=PAR10", "--low=0", "--high=250.125", "--default=random-1"],
}
SWITCHES = (
    [[], ["--raced"], ["--no-raced"]],
    [[], ["--delta=0.0123456789"]],
    [[], ["--primary", "wins"], ["--primary", "mean", "--seed", "5", "--splits", "7"]],
)
ORIGINS = (
    [],
    ["--chosen", "before", "--configuration=random-2"],
    ["--chosen", "from-list", "--list", "9"],
    ["--chosen", "on-part"],
    ["--test", "fresh runs.npz"],
    ["--chosen", "progressive", "--fresh", "names", "--proposal", "2", "--configuration=random-2"],
)


@pytest.mark.parametrize("origin", ORIGINS, ids=" ".join)
@pytest.mark.parametrize("runs", READING)
def test_printed_commands_ask_the_same(
    runs: str, origin: list[str], files: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A command to copy would fail, or ask another question than the one it was printed for."""
    monkeypatch.chdir(files)
    # All pairs of switches would take long; each value appears with several others.
    combinations = list(product(*SWITCHES))[len(origin) % 2 :: 6]
    for switches in combinations:
        words = [runs, *READING[runs], *origin, *(word for switch in switches for word in switch)]
        line = shlex.join(["truecost", "audit", *words])
        ended = run("audit", *words, "--quiet")
        assert ended.returncode in (0, 1), (line, ended.stderr)
        _, question = asked(line)
        commands = COMMAND.findall(ended.stdout)
        assert commands, line
        for command in commands:
            name, parameters = asked(command)
            own = OWN.get(name, set()) | PRINTED
            shared = parameters.keys() & question.keys() - own
            assert {key: parameters[key] for key in shared} == {
                key: question[key] for key in shared
            }, (line, command)
            # What a command cannot take may only be how the answer is printed.
            assert question.keys() - parameters.keys() <= PRINTED | {"splits"} or name == "validate"


@pytest.mark.parametrize(
    ("log", "scenario"), [("irace/timed.Rdata", None), ("smac/instances", "scenario.toml")]
)
def test_a_validation_asks_as_the_audit(log: str, scenario: str | None, run: Run) -> None:
    """The validation offered after an audit would lose its confidence or its criterion."""
    path = Path(__file__).parent / "data" / log
    words = [path, "--delta", "0.01", "--primary", "wins", "--splits", "7", "--quiet"]
    ended = run("audit", *words)
    assert ended.returncode == 1, ended.stderr
    (command,) = (line for line in COMMAND.findall(ended.stdout) if " validate " in line)
    _, parameters = asked(command)
    kept = {name: parameters[name] for name in ("runs", "delta", "primary")}
    assert kept == {"runs": path, "delta": 0.01, "primary": "wins"}
    assert (parameters["scenario"] and str(parameters["scenario"])) == scenario
