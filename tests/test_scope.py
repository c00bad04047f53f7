"""What statements are about: the sampling unit, which combinations there are, and what follows."""

import numpy as np
import pytest

from truecost.errors import InputError
from truecost.judge.scope import rows_of, sampling_design, scope_of, units_of
from truecost.matrix import CostMatrix


def matrix(instances: int = 6, runs: int = 2, *, named: str = "i") -> CostMatrix:
    """Two configurations on instances of two families."""
    rng = np.random.default_rng(1)
    return CostMatrix(
        rng.random((2, instances, runs)),
        ["a", "b"],
        [f"{named}{k}" for k in range(instances)],
        0.0,
        1.0,
        families=["f" if k < 2 else "g" for k in range(instances)],
    )


@pytest.mark.parametrize(
    ("asked", "phrase"),
    [
        ({}, "on new instances like these"),
        ({"sampled": "family"}, "on instances from new families, each family counted equally"),
        ({"mix": {"f": 0.7, "g": 0.3}}, "on these families, if 70 % are f and 30 % are g"),
        (
            {"about": "these", "population": 400},
            "on this benchmark of 400 instances, with new seeds",
        ),
        ({"sampled": "seed"}, "on these 6 instances, with new seeds"),
        ({"sampled": "fold"}, "on this data set"),
    ],
)
def test_every_scope_has_its_phrase(asked: dict[str, object], phrase: str) -> None:
    """A statement would not say what it is about."""
    assert scope_of(matrix(), **asked).phrase == phrase  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"sampled": "seed", "about": "new"}, "one of instance and new"),
        ({"sampled": "fold", "about": "new"}, "got fold and new"),
        ({"mix": {"f": 0.7, "g": 0.4}}, "sum to 1"),
        ({"mix": {"f": 0.7, "h": 0.3}}, "'h' has none"),
        ({"mix": {"f": 1.2, "g": -0.2}}, "sum to 1"),
        ({"sampled": "instance", "mix": {"f": 1.0}}, "only for statements about these families"),
        ({"population": 5}, "at least the 6 instances"),
        ({"sampled": "family", "population": 50}, "only for statements about these instances"),
    ],
)
def test_combinations_without_a_meaning_are_refused(asked: dict[str, object], message: str) -> None:
    """A statement would be made about something that was not sampled."""
    with pytest.raises(InputError, match=message):
        scope_of(matrix(), **asked)  # type: ignore[arg-type]


def test_families_have_to_be_known() -> None:
    """Statements about families would be made of runs without any."""
    with pytest.raises(InputError, match="have none"):
        scope_of(matrix().replace(families=None), sampled="family")


def test_the_runs_may_say_what_was_sampled() -> None:
    """Seeds on one instance, or folds of one data set, would be taken for instances."""
    assert scope_of(matrix(1, 5)).phrase == "on this instance, with new seeds"
    assert scope_of(matrix(1, 1)).sampled == "instance"
    assert scope_of(matrix(named="data/fold")).sampled == "fold"
    assert scope_of(matrix(named="cv-")).sampled == "fold"
    assert scope_of(matrix(named="scaffold")).sampled == "instance"


def test_families_are_units_with_equal_weights() -> None:
    """A large family would count more than a small one in training costs."""
    runs = matrix()
    units = units_of(runs, scope_of(runs, sampled="family"))
    assert units.instances == ("f", "g")
    np.testing.assert_allclose(
        np.nanmean(units.costs, axis=2),
        np.stack([runs.costs[:, :2].mean(axis=(1, 2)), runs.costs[:, 2:].mean(axis=(1, 2))], 1),
    )


def test_seeds_are_rows() -> None:
    """Runs on one instance would not become units, or lose their weight where some are missing."""
    runs = matrix(2, 3)
    costs = np.array(runs.costs)
    costs[:, 1, 2] = np.nan
    runs = runs.replace(costs=costs)
    scope = scope_of(runs, sampled="seed")
    rows = rows_of(runs, scope)
    assert rows.shape == (2, 5, 1)
    assert scope.units == 5
    design = sampling_design(rows, scope)
    assert design.weights is not None
    np.testing.assert_allclose(design.weights, [1 / 6] * 3 + [1 / 4] * 2)


def test_what_few_families_can_show() -> None:
    """The least limit that 12 families can show would not be said right: 22 % of the range."""
    names = [str(k) for k in range(12)]
    runs = CostMatrix(np.zeros((1, 12)), ["a"], names, 0, 1, families=names)
    assert scope_of(runs, sampled="family").least_limit(0.05) == pytest.approx(0.22, abs=0.001)
