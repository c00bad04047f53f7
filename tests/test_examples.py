"""The examples in the package."""

import json
from typing import Any

import numpy as np
import pytest

from truecost.errors import InputError
from truecost.examples import FOLDER, example_log, example_names, load_example
from truecost.judge import assess
from truecost.runs import Status

SIZES = {
    "clasp": (50, 50, 5),
    "clasp-large": (500, 120, 5),
    "kissat": (50, 50, 5),
    "kissat-large": (150, 200, 5),
    "lkh": (50, 50, 5),
}


def described(name: str) -> dict[str, Any]:
    """How the runs of an example were made."""
    about: dict[str, Any] = json.loads((FOLDER / f"{name}.csv.json").read_bytes())["about"]
    return about


def test_all_examples_are_there() -> None:
    """An example would be missing from the package, or be there without being named."""
    tuned = [f"{name}-tuned" for name in ("clasp", "kissat", "lkh")]
    assert example_names() == sorted([*SIZES, *tuned])
    with pytest.raises(InputError, match="Did you mean 'kissat'"):
        load_example("kisat")


@pytest.mark.parametrize("name", sorted(SIZES))
def test_examples_are_complete(name: str) -> None:
    """A run, a status or the default of an example would be lost."""
    log = example_log(name)
    runs = log.runs
    assert runs.shape == SIZES[name]
    assert not np.isnan(runs.costs).any()
    assert log.default == runs.configurations[0]
    assert log.adaptive is False
    assert list(log.parameters) == list(runs.configurations)
    assert (runs.failed == (runs.costs == runs.high)).all()
    assert runs.par == 10
    about = described(name)
    codes, counts = np.unique(np.asarray(runs.statuses), return_counts=True)
    assert about["statuses"] == {
        Status(code).label: count for code, count in zip(codes, counts.tolist(), strict=True)
    }
    assert about["runs"] == runs.costs.size
    assert "[target]" in about["scenario"]
    assert about["limits"]["cutoff"] == runs.cutoff


@pytest.mark.parametrize("name", ["clasp-tuned", "kissat-tuned", "lkh-tuned"])
def test_tuned_examples_are_searches_with_a_test(name: str) -> None:
    """The demo would judge a search by its training runs, or without saying how it was made."""
    log = example_log(name)
    assert log.adaptive is True
    assert log.test is not None
    assert log.test.configurations == (log.default, log.incumbent)
    assert log.test.counts().sum() == 100
    assert not set(log.test.instances) & set(log.runs.instances)
    about = described(name)
    assert "600runs" in about["recorded"]
    assert "[target]" in about["scenario"]


def test_an_example_is_judged_by_plain_means() -> None:
    """Between the file and the verdict a run would be lost, or a mean be another mean."""
    log = example_log("clasp")
    runs, assessment = log.runs, assess(log)
    means = runs.costs.mean(axis=(1, 2))
    same, best = assessment.same, int(means.argmin())
    assert same is not None
    assert assessment.winner == runs.configurations[best]
    assert [same.winner_cost, same.default_cost] == pytest.approx(means[[best, 0]].tolist())
    stated = {one.quantity: one.observed for one in assessment.statements}
    assert stated["difference"] == pytest.approx(means[best] - means[0])
    assert stated["solved"] == pytest.approx(1 - runs.failed[best].mean())
    assert assessment.noise is not None
    within = runs.costs[best].var(axis=1, ddof=1).mean()
    between = runs.costs[best].mean(axis=1).var(ddof=1)
    assert assessment.noise.within[0] == pytest.approx(within)
    assert assessment.noise.across[0] == pytest.approx(between - within / 5)
