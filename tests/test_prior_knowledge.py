"""What a search is told beforehand: configurations of an earlier search, and priors."""

import json
import sqlite3
from collections.abc import Iterable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import ConfigSpace
import numpy as np
import pytest
import scenarios
from commands import run

from truecost import InputError, Scenario, import_runs
from truecost.campaigns.configure import configure, starting_points
from truecost.journal import searchlog
from truecost.journal.journal import Journal
from truecost.space.propose import propose
from truecost.space.space import Space

pytestmark = pytest.mark.usefixtures("own_locks")
SPACE = """
mode {a,b,c,d} [a]
size [1,1000] [10]il
rate [0,1] [0.5]
depth {low,middle,high} [low]
"""


def numbers(values: Iterable[Mapping[str, Any]], name: str) -> Any:
    """The values of a parameter in these configurations."""
    return np.array([float(one[name]) for one in values])


def test_a_search_starts_from_an_earlier_one(tmp_path: Path) -> None:
    """The best configurations of a journal would not be tried first, or the default be lost."""
    scenario = Scenario.read(scenarios.write(tmp_path))
    first = configure(
        scenario, tmp_path / "one.db", budget="40runs", pool=1, pin=False, keep_going=True
    )
    log = import_runs(tmp_path / "one.db")
    best = starting_points(log, scenario.space)
    assert best[0].name == first.incumbent.name
    assert 1 < len(best) <= 5
    ended = run(
        *("configure", scenario.path, "--journal", tmp_path / "two.db", "--start"),
        *(tmp_path / "one.db", "--budget", "30runs", "--workers", "1", "--quiet", "--json"),
        cwd=tmp_path,
    )
    assert ended.returncode == 0, ended.stderr
    with Journal.read(tmp_path / "two.db") as journal:
        origins = searchlog.origins_of(journal)
    expected = [one.name for one in best if one.name != first.default.name]
    assert [name for name, origin in origins.items() if origin == "start"] == expected
    assert next(iter(origins)) == first.default.name


def test_a_start_that_is_neither_is_refused_in_one_line(tmp_path: Path) -> None:
    """A file that is no list and no log would end in a traceback."""
    scenario = Scenario.read(scenarios.write(tmp_path))
    (tmp_path / "odd.txt").write_text("alpha,delta\n1,2\n")
    words = ("configure", scenario.path, "--start", tmp_path / "odd.txt", "--budget", "30runs")
    ended = run(*words, cwd=tmp_path)
    assert ended.returncode == 2
    assert len(ended.stderr.strip().splitlines()) == 1
    assert "odd.txt" in ended.stderr


def test_priors_shape_proposals_and_leave_the_space_open() -> None:
    """What is believed would be ignored, or nothing else ever be tried."""
    space = Space.parse(SPACE).with_priors({"mode": "c", "size": 200, "depth": "high"})
    names = set[str]()
    drawn = []
    for number in range(1, 301):
        proposal = propose(
            space, [], names, seed=1, number=number, spent=0.0, lost=True, learnt=lambda: None
        )
        assert proposal is not None
        assert proposal.origin == "prior"
        names.add(proposal.configuration.name)
        drawn.append(proposal.configuration.values)
    modes = [values["mode"] for values in drawn]
    assert 0.65 < modes.count("c") / 300 < 0.9
    assert set(modes) == set("abcd")
    near = np.abs(np.log10(numbers(drawn, "size")) - np.log10(200)) < 0.6
    assert 0.6 < near.mean() < 0.95
    assert numbers(drawn, "rate").std() > 0.25


def test_priors_of_a_scenario(tmp_path: Path) -> None:
    """A scenario's priors would not reach the search, or a journal be resumed with others."""

    def write(priors: dict[str, str]) -> Scenario:
        table = {"file": "space.pcs", "priors": priors}
        return Scenario.read(scenarios.write(tmp_path, space=table))

    scenario = write({"alpha": "1"})
    assert scenario.space.priors == {"alpha": "1"}
    options: dict[str, Any] = {"pool": 1, "pin": False, "keep_going": True}
    configure(scenario, tmp_path / "s.db", budget="40runs", **options)
    with closing(sqlite3.connect(tmp_path / "s.db")) as connection:
        origins = {origin for (origin,) in connection.execute("SELECT origin FROM proposals")}
    assert "prior" in origins
    assert "random" not in origins
    with pytest.raises(InputError, match="priors"):
        configure(write({"alpha": "2"}), tmp_path / "s.db", **options)
    with pytest.raises(InputError, match=r"space\.priors: expected a value of the space"):
        write({"alpha": "77"})


def test_normal_and_beta_parameters_of_configspace() -> None:
    """The distribution a space file gives would be ignored, or neighbours be drawn from it afresh
    wherever their parent is.
    """
    configspace = ConfigSpace.ConfigurationSpace()
    configspace.add(
        ConfigSpace.NormalFloatHyperparameter("x", mu=0.2, sigma=0.05, lower=0.0, upper=1.0),
        ConfigSpace.NormalIntegerHyperparameter("n", mu=20, sigma=5, lower=1, upper=100),
        ConfigSpace.BetaFloatHyperparameter("b", alpha=8, beta=2, lower=0.0, upper=1.0),
    )
    space = Space.parse(json.dumps(configspace.to_serialized_dict()))
    draws = [dict(one.values) for one in space.configurations(200, rng=1)[1:]]
    assert abs(numbers(draws, "x").mean() - 0.2) < 0.02
    assert abs(numbers(draws, "n").mean() - 20) < 2
    assert abs(numbers(draws, "b").mean() - 0.8) < 0.04
    far = space.configuration_of({"x": 0.9, "n": 90, "b": 0.1})
    rng = np.random.default_rng(1)
    near = [space.around(far, rng, spread=0.05, keep=0.9).values for _ in range(100)]
    assert abs(numbers(near, "x").mean() - 0.9) < 0.03
    assert abs(numbers(near, "n").mean() - 90) < 3
    assert abs(numbers(near, "b").mean() - 0.1) < 0.03
