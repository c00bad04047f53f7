"""Which changes of a winner matter: the study from the first run to its statements."""

import json
from pathlib import Path
from typing import Any

import pytest
import scenarios
from commands import run

import truecost as tc
from truecost.campaigns.changes import changed, changes_between
from truecost.campaigns.explain import explain, split_instances
from truecost.errors import InputError
from truecost.space.space import Space

pytestmark = pytest.mark.usefixtures("own_locks")
# Twelve switches, of which two matter, and one with a number that depends on it.
SPACE = "".join(f"s{place} {{off,on}} [off]\n" for place in range(12)) + (
    "mode {plain,deep} [plain]\ndepth [1,9] [5]i\ndepth | mode in {deep}\n"
)
SOLVER = """#!/bin/sh
# solver.sh INSTANCE SPECIFICS CUTOFF RUNLENGTH SEED -name value ...
read size < "$1"
value=$(( 6000 + ($5 / 7) % 97 + size * 13 ))
for word in "$@"; do
  case "$before $word" in
    "-s3 on") value=$((value - 2000));;
    "-s9 on") value=$((value - 1000));;
    "-mode deep") value=$((value - 500));;
  esac
  before=$word
done
echo "Result for SMAC: SUCCESS, 0.01, 0, $value, $5"
"""
WINNER: dict[str, Any] = {f"s{place}": "on" for place in range(12)} | {"mode": "deep", "depth": 7}
BUDGET = "900runs"


def study(folder: Path, instances: int = 40) -> tc.Scenario:
    """The scenario, with so many instances."""
    far = {"cpu": 30.0, "wall": 60.0}
    path = scenarios.write(folder, limits=far)
    for place in range(instances):
        (folder / "instances" / f"i {place}.txt").write_text(f"{place}\n")
    (folder / "solver.sh").write_text(SOLVER)
    (folder / "space.pcs").write_text(SPACE)
    return tc.Scenario.read(path)


def test_changes_that_depend_on_each_other_belong_together() -> None:
    """A parameter would be set though the one that switches it on is not."""
    space = Space.parse(SPACE)
    winner = space.configuration_of(WINNER)
    changes = changes_between(space, space.default(), winner)
    assert ("mode", "depth") in [change.names for change in changes]
    assert len(changes) == 13
    deep = next(change for change in changes if "depth" in change.names)
    some = changed(space, space.default(), [deep])
    assert some.values["depth"] == 7
    assert sum(value == "on" for value in some.values.values()) == 0
    assert changed(space, space.default(), changes).values == winner.values


def test_the_whole_study(tmp_path: Path) -> None:
    """What matters would be lost, what does not be kept, or the simplified winner not be tested
    where nobody tuned.
    """
    scenario = study(tmp_path)
    found = explain(WINNER, scenario, tmp_path / "e.db", budget=BUDGET, pool=2, pin=False)
    assert sorted(change.names for change in found.kept) == [("mode", "depth"), ("s3",), ("s9",)]
    assert [step.changes[0].names[0] for step in found.path] == ["s3", "s9", "mode"]
    assert [step.gain for step in found.path] == pytest.approx([2000, 1000, 500])
    assert found.complete
    assert found.runs <= 900
    assert found.held_out == 20
    assert found.against_default is not None
    assert found.against_default.question.delta == 0.025
    assert found.against_default.better
    # Values alone do not tell what the winner was tuned on.
    assert found.condition == "the winner was not tuned on these instances"
    assert found.most_more is not None
    assert 0 <= found.most_more < 1
    # Asked again, it makes no run and says the same.
    before = (tmp_path / "e.db").read_bytes()
    again = explain(WINNER, scenario, tmp_path / "e.db", pool=1, pin=False)
    assert (tmp_path / "e.db").read_bytes() == before
    assert (again.kept, again.path, again.most_more) == (found.kept, found.path, found.most_more)


def test_a_study_is_not_continued_as_another(tmp_path: Path) -> None:
    """Runs of one winner would be mixed with those of another, or a budget be changed on the way."""
    scenario = study(tmp_path, 12)
    explain(WINNER, scenario, tmp_path / "e.db", budget="300runs", pool=2, pin=False)
    with pytest.raises(InputError, match="begun with, the winner"):
        explain(WINNER | {"s0": "off"}, scenario, tmp_path / "e.db", pool=1, pin=False)
    with pytest.raises(InputError, match="the budget"):
        explain(WINNER, scenario, tmp_path / "e.db", budget="400runs", pool=1, pin=False)
    with pytest.raises(InputError, match="differs from the default"):
        explain(
            {"mode": "plain"} | {f"s{p}": "off" for p in range(12)}, scenario, tmp_path / "f.db"
        )


def test_a_budget_that_is_too_small_can_be_raised(tmp_path: Path) -> None:
    """The refusal of a small budget would begin a study, which then refused the larger one."""
    scenario = study(tmp_path, 12)
    with pytest.raises(InputError, match="at least 29 runs: 20 training runs"):
        explain(WINNER, scenario, tmp_path / "g.db", budget="28runs", pool=1, pin=False)
    assert not list(tmp_path.glob("g.db*")), "a refusal leaves no empty journal"
    found = explain(WINNER, scenario, tmp_path / "g.db", budget="29runs", pool=2, pin=False)
    assert 20 <= found.runs <= 29


def test_changes_nobody_could_try_are_not_listed_one_by_one(tmp_path: Path) -> None:
    """Where the budget ends early, one cell of the table would name a hundred changes."""
    study(tmp_path, 12)
    (tmp_path / "winner.json").write_text(json.dumps(WINNER))
    ended = run(
        *("explain", "winner.json", "--scenario=scenario.toml", "--budget=40runs", "--no-pin"),
        cwd=tmp_path,
    )
    assert ended.returncode == 0, ended.stderr
    words = " ".join(ended.stdout.split("cost after it")[1].split("Simplified:")[0].split())
    assert "13 changes that were not tried one by" in words
    assert words.count("→") == 4
    assert "can undo more" in " ".join(ended.stdout.split())


def test_a_search_is_explained_from_the_command_line(tmp_path: Path) -> None:
    """A finished search could not be explained by the command that its user types next."""
    study(tmp_path, 24)
    steps = [
        ["configure", "scenario.toml", "--budget=250runs", "--journal=s.db", "--no-pin", "--quiet"],
        ["explain", "s.db", "--scenario=scenario.toml", "--budget=500runs", "--no-pin", "--json"],
    ]
    for words in steps:
        ended = run(*words, cwd=tmp_path)
        assert ended.returncode == 0, ended.stderr
    data = json.loads(ended.stdout)
    assert data["complete"]
    kept = {name for change in data["kept"] for name in change["names"]}
    assert "s3" in kept
    assert data["simplified"]["arguments"]
    text = run("explain", "s.db", "--scenario=scenario.toml", "--no-pin", cwd=tmp_path)
    assert text.returncode == 0, text.stderr
    assert "can be undone" in text.stdout
    refused = run("explain", "s.db", cwd=tmp_path)
    assert refused.returncode == 2
    assert "scenario" in refused.stderr
    assert len(refused.stderr.splitlines()) == 1


def test_instances_of_the_search_are_not_held_out(tmp_path: Path) -> None:
    """The winner would be shown to be better on instances that it was chosen on."""
    scenario = study(tmp_path, 12)
    tc.gather(scenario, tmp_path / "runs.db", configurations=8, runs=1, pool=2, pin=False)
    log = tc.import_runs(tmp_path / "runs.db")
    default = scenario.space.default().name
    names = [name for name in log.matrix.configurations if name != default]
    options: dict[str, Any] = {"configuration": names[0], "pool": 2, "pin": False}
    journal = tmp_path / "e.db"
    tuned = explain(log, scenario, journal, budget="200runs", **options)
    assert (tuned.held_out, tuned.against_default) == (0, None)
    text = run(
        *("explain", "runs.db", f"--configuration={names[0]}", "--scenario=scenario.toml"),
        *("--journal=e.db", "--no-pin"),
        cwd=tmp_path,
    )
    assert text.returncode == 0, text.stderr
    said = " ".join(text.stdout.split())
    assert "used every instance of the scenario" in said
    assert "Nothing is shown for new instances" in said
    # Instances that are added are new.
    (tmp_path / "instances" / "new.txt").write_text("99\n")
    training, held_out = split_instances(log, tc.Scenario.read(tmp_path / "scenario.toml"))
    assert (len(training), held_out) == (12, ["instances/new.txt"])
