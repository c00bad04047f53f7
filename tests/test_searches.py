"""Several logs of one search: side by side, pooled, validated together."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from commands import run

from truecost import CostMatrix, import_runs
from truecost.errors import InputError
from truecost.judge.searches import side_by_side
from truecost.matrix.imported import Import
from truecost.runs import Trajectory

DATA = Path(__file__).parent / "data"


def log(
    costs: list[list[float]], values: list[float], incumbent: str, *, high: float = 9
) -> Import:
    """A search over one parameter, on instances a, b and c."""
    names = [str(place) for place in range(1, len(costs) + 1)]
    return Import(
        kind="smac",
        matrix=CostMatrix(costs, names, ["a", "b", "c"], min(0, np.min(costs)), high),
        trajectory=Trajectory(
            tool="SMAC3", proposed="adaptively", raced=True, default="1", incumbent=incumbent
        ),
        parameters={name: {"x": value} for name, value in zip(names, values, strict=True)},
        notes=("A note.",),
        left_out={"still running": 1},
    )


def test_the_same_parameters_are_one_configuration() -> None:
    """Runs of one configuration would be judged apart, or numbers of two logs be mixed up."""
    first = log([[5, 5, 5], [1, 2, 3]], [0.0, 0.5], "2")
    second = log([[4, 6, 5], [2, 2, 2], [1, 1, 1]], [0.0, 0.7, 0.9], "3")
    searches = side_by_side([first, second], ["s1", "s2"])
    matrix = searches.log.matrix
    assert matrix.configurations == ("s1:1", "s1:2", "s2:2", "s2:3")
    np.testing.assert_array_equal(matrix.costs[0], [[5, 4], [5, 6], [5, 5]])
    assert searches.incumbents == ("s2:3", "s1:2")
    assert searches.log.trajectory.default == "s1:1"
    assert searches.log.trajectory.incumbent == "s2:3"
    assert searches.log.left_out == {"still running": 2}
    assert "A note." in searches.log.notes
    loser = searches.searches[0]
    assert (loser.difference, loser.common_instances) == (1, 3)
    assert loser.standard_error == pytest.approx(1 / np.sqrt(3))
    assert loser.by_chance is True
    assert "Take s2:3" in searches.sentences[0]


def test_metrics_and_spaces_must_agree() -> None:
    """Costs of two metrics would be averaged, or two programs be compared by chance of a name."""
    first, other = log([[1, 2, 3]], [0.5], "1"), log([[1, 2, 3]], [0.5], "1", high=8)
    with pytest.raises(InputError, match=r"same metric, got high 9.0 in s1 and 8.0 in s2"):
        side_by_side([first, other], ["s1", "s2"])
    with pytest.raises(InputError, match="two searches or more"):
        side_by_side([first, first], ["s1", "s1"])


def test_scores_stay_scores() -> None:
    """Searches for a high score would be reported as costs below 0, or be mixed with costs."""
    costs = log([[-5, -4, -6], [-1, -2, -3]], [0.0, 0.5], "1")
    first, second = (
        replace(
            costs,
            matrix=costs.matrix.replace(low=-9, high=0),
            trajectory=replace(costs.trajectory, maximised=True, incumbent=incumbent),
        )
        for incumbent in ("1", "2")
    )
    searches = side_by_side([first, second], ["s1", "s2"])
    assert searches.log.trajectory.maximised
    assert searches.sentences[1].startswith("s1:2, of s2, scores 3 ± ")
    assert " less on the 3 instances" in searches.sentences[1]
    minimised = replace(second, trajectory=replace(second.trajectory, maximised=False))
    with pytest.raises(InputError, match="only costs or only scores, got one of each in s1 and s2"):
        side_by_side([first, minimised], ["s1", "s2"])


@pytest.mark.parametrize(("instances", "by_chance"), [(2, True), (5, True), (6, False)])
def test_equal_differences_are_no_proof(instances: int, by_chance: bool) -> None:
    """A difference of 1 on both of two instances would be more than chance explains."""
    base = log([[5, 5, 5]], [0.0], "1")
    names = [f"i{place}" for place in range(instances)]
    first, second = (
        replace(
            base,
            matrix=CostMatrix(
                [[cost] * instances, [3 - cost] * instances], ["1", "2"], names, 0, 9
            ),
            parameters={"1": {"x": cost}, "2": {"x": 3 - cost}},
        )
        for cost in (1.0, 2.0)
    )
    searches = side_by_side([first, second], ["s1", "s2"]).searches
    assert [search.by_chance for search in searches] == [True, by_chance]


def test_several_logs_on_the_command_line(tmp_path: Path) -> None:
    """A second log would be passed over, or a folder of several be refused."""
    for seed in ("0", "1"):
        shutil.copytree(DATA / "smac" / "instances", tmp_path / "runs" / seed)
    page = tmp_path / "page.html"
    named = [tmp_path / "runs" / seed for seed in ("0", "1")]
    one = import_runs(named[0]).matrix
    for paths in (named, [tmp_path / "runs"]):
        answer = run("report", *paths, "--out", page, "--json")
        assert answer.returncode == 0, answer.stderr
        searches = json.loads(answer.stdout)["searches"]
        assert [search["name"] for search in searches] == ["0", "1"]
        assert {search["incumbent"] for search in searches} == {
            f"0:{import_runs(named[0]).trajectory.incumbent}"
        }
        assert searches[0]["runs"] == int(one.counts().sum())
    assert "tuned on these instances" in page.read_text()


@pytest.mark.usefixtures("own_locks")
def test_one_validation_covers_all_incumbents(tmp_path: Path) -> None:
    """Each of two winners would be tested with the whole error probability, or one be left out."""
    logs = [tmp_path / "runs" / seed for seed in ("0", "1")]
    for path in logs:
        shutil.copytree(DATA / "smac" / "instances", path)
    state = json.loads((logs[1] / "intensifier.json").read_text())
    (logs[1] / "intensifier.json").write_text(json.dumps({**state, "incumbent_ids": [3]}))
    low_high = ("--low", "0", "--high", "3")
    run("scenario", "from-log", logs[0], *low_high, "--out", "s", cwd=tmp_path)
    text = (tmp_path / "s" / "scenario.toml").read_text()
    text = text.replace("FILL_IN_YOUR_SOLVER", "./solver.sh")
    (tmp_path / "s" / "scenario.toml").write_text(text)
    (tmp_path / "s" / "solver.sh").write_text('#!/bin/sh\necho "cost: 0.$(( $2 % 10 ))"\n')
    (tmp_path / "s" / "solver.sh").chmod(0o755)
    (tmp_path / "new").mkdir()
    for number in range(8):
        (tmp_path / "new" / f"n{number}.txt").write_text(f"{number}\n")
    answer = run(
        "validate", *logs, *low_high, "--scenario", "s/scenario.toml", "--instances", "new/*",
        "--default", "5", "--budget", "8runs", "--delta", "0.1", "--no-pin", "--json", cwd=tmp_path,
    )  # fmt: skip
    assert answer.returncode in (0, 1), answer.stderr
    data = json.loads(answer.stdout)
    assert data["delta"] == 0.05
    assert len(data["validations"]) == 2
    for place, validation in enumerate(data["validations"], 1):
        assert validation["journal"] == f"0-validate-{place}.db"
        again = import_runs(tmp_path / validation["journal"])
        assert again.test is not None
        assert "0:5" in again.test.configurations
