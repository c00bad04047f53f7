"""Configurations and defaults that the user brings."""

import json
from pathlib import Path
from typing import Any

import pytest
import scenarios
from commands import Run as RunCommand

from truecost import InputError, Scenario, Space, assess, configure
from truecost.importers.detect import import_runs
from truecost.judge.whole_list import WholeList
from truecost.space.listed import read_configurations

IRACE = (
    'alpha "--alpha " i (1, 9)\nmode "--mode " c (a, b)\nbeta "--beta " r (0, 1) | mode == "b"\n'
)
FREE: dict[str, Any] = {"pool": 2, "pin": False, "keep_going": True}


@pytest.mark.parametrize(
    "text",
    [
        "alpha,mode,beta\n3,a,\n4,b,0.25\n",
        '[{"alpha": 3, "mode": "a"}, {"alpha": 4, "mode": "b", "beta": 0.25}]',
        '{"x": {"alpha": 3, "mode": "a"}, "y": {"alpha": 4, "mode": "b", "beta": 0.25}}',
        'alpha mode beta\n3 "a" NA\n4 "b" 0.25\n',
        '.ID. alpha mode beta .PARENT.\n7 3 "a" NA NA\n9 4 "b" 0.25 7\n',
        'alpha mode beta\n"1" 3 "a" NA\n"2" 4 "b" 0.25\n',
    ],
)
def test_files_of_configurations(tmp_path: Path, text: str) -> None:
    """A format that people have their configurations in would be read otherwise, or not at all."""
    (tmp_path / "own").write_text(text)
    listed = read_configurations(tmp_path / "own", Space.parse(IRACE))
    assert [dict(each.values) for each in listed] == [
        {"alpha": 3, "mode": "a"},
        {"alpha": 4, "mode": "b", "beta": 0.25},
    ]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "expected configurations, got none"),
        ("alpha,mode\n99,a\n", "configuration 1: .*'alpha', got '99'"),
        ("alpha,mode\n3,a\n3\n", "line 3: expected 2 columns"),
        ("[1]", "a list of objects"),
        ("alpha,gamma\n3,1\n", "'gamma', which it does not have"),
    ],
)
def test_wrong_files_of_configurations(tmp_path: Path, text: str, words: str) -> None:
    """A mistake in the file would be found after hours of runs, or never."""
    (tmp_path / "own").write_text(text)
    with pytest.raises(InputError, match=words):
        read_configurations(tmp_path / "own", Space.parse(IRACE))


def test_gather_runs_the_configurations_of_a_file(tmp_path: Path, run: RunCommand) -> None:
    """Somebody who wants four given configurations compared would have to write a loop."""
    path = scenarios.write(tmp_path)
    (tmp_path / "own.csv").write_text("alpha,beta\n3,4\n5,6\n1,1\n")
    words = ("--configurations", tmp_path / "own.csv", "--runs", 1, "--no-pin", "--keep-going")
    ended = run("gather", path, "--journal", tmp_path / "r.db", *words, "--json")
    assert ended.returncode == 0, ended.stderr
    log = import_runs(tmp_path / "r.db")
    assert [(values["alpha"], values["beta"]) for values in log.parameters.values()] == [
        ("3", "4"),
        ("5", "6"),
        ("1", "1"),
    ]
    # The scenario's default is among them, if not the first.
    assert log.trajectory.default == list(log.parameters)[2]
    # They say nothing about the best of the space, as a random sample of it does.
    assert set(log.origins.values()) == {"the user"}
    sets = assess(log).beside.whole_list
    assert isinstance(sets, WholeList)
    assert sets.best_share is None


def test_a_search_starts_with_given_configurations(tmp_path: Path) -> None:
    """What is known to be good would have to be found again."""
    scenario = Scenario.read(scenarios.write(tmp_path))
    (tmp_path / "own.json").write_text(json.dumps([{"alpha": "3", "beta": "4"}]))
    start = read_configurations(tmp_path / "own.json", scenario.space)
    configure(scenario, tmp_path / "s.db", budget="30runs", start=start, **FREE)
    origins = import_runs(tmp_path / "s.db").origins
    assert list(origins.values())[:2] == ["default", "start"]
    # Resumed with or without the file; with another it is refused.
    configure(scenario, tmp_path / "s.db", **FREE)
    (tmp_path / "own.json").write_text(json.dumps([{"alpha": "7", "beta": "7"}]))
    other = read_configurations(tmp_path / "own.json", scenario.space)
    with pytest.raises(InputError, match="started with"):
        configure(scenario, tmp_path / "s.db", start=other, **FREE)


def written(folder: Path, **space: object) -> Scenario:
    """A scenario with a parameter file of irace."""
    path = scenarios.write(folder, space={"file": "parameters.txt", **space})
    text = 'alpha "-alpha " i (1, 12)\nbeta "-beta " i (1, 12)\n'
    (folder / "parameters.txt").write_text(text)
    return Scenario.read(path)


def test_nobody_invents_a_default(tmp_path: Path, run: RunCommand) -> None:
    """The middle of irace's ranges would be called the default, and beaten."""
    scenario = written(tmp_path)
    with pytest.raises(InputError, match=r"default = \{name = value, …\} in \[space\]"):
        configure(scenario, tmp_path / "s.db", budget="20runs", **FREE)
    run("gather", scenario.path, "--journal", tmp_path / "r.db", "--configurations", 2, "--no-pin")
    assert import_runs(tmp_path / "r.db").trajectory.default is None
    assert written(tmp_path, default="middle").space.default().values["alpha"] == 6


def test_a_default_in_the_scenario(tmp_path: Path) -> None:
    """Somebody whose default is not the file's would have to edit the file."""
    scenario = written(tmp_path, default={"alpha": 2, "beta": 3})
    assert dict(scenario.space.default().values) == {"alpha": 2, "beta": 3}
    assert scenario.space.has_default
    with pytest.raises(InputError, match=r"space\.default: .*'alpha', got 99"):
        written(tmp_path, default={"alpha": 99, "beta": 3})
