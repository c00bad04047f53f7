"""The examples in the package."""

import numpy as np
import pytest

from truecost.errors import InputError
from truecost.examples import describe_example, example_log, example_names, load_example
from truecost.runs import Status

SIZES = {
    "clasp": (50, 50, 5),
    "clasp-large": (500, 120, 5),
    "kissat": (50, 50, 5),
    "kissat-large": (150, 200, 5),
    "lkh": (50, 50, 5),
}


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
    about = describe_example(name)
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
    about = describe_example(name)
    assert "600runs" in about["recorded"]
    assert "[target]" in about["scenario"]
