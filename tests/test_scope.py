"""What statements are about: the sampling unit, which combinations there are, and what follows."""

import numpy as np
import pytest

from truecost.errors import InputError
from truecost.judge.scope import check_weights, rows_of, sampling_design, scope_of, units_of
from truecost.matrix import CostMatrix

WEIGHTS = {f"i{k}": k / 2.5 for k in range(6)}


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
        ({"weights": WEIGHTS}, "on these 6 weighted instances, with new seeds"),
        (
            {"weights": WEIGHTS, "about": "new"},
            "on new instances, with the given sampling weights",
        ),
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
        ({"weights": WEIGHTS, "sampled": "family"}, "only where `sampled` and `about` are seed"),
        ({"weights": WEIGHTS, "about": "these", "sampled": "instance"}, "got instance and these"),
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


def test_weights_of_a_benchmark_weigh_instances_not_runs() -> None:
    """An instance with more runs would count for more than its weight says."""
    runs = matrix()
    runs = runs.replace(costs=np.where(np.arange(2) < [[1]] * 5 + [[2]], runs.costs, np.nan))
    scope = scope_of(runs, weights=WEIGHTS)
    rows = rows_of(runs, scope)
    weights = sampling_design(rows, scope).weights
    assert weights is not None
    by_instance = dict.fromkeys(WEIGHTS, 0.0)
    for name, weight in zip(rows.families or (), weights, strict=True):
        by_instance[name] += weight
    total = sum(WEIGHTS.values())
    assert by_instance == pytest.approx({name: w / total for name, w in WEIGHTS.items()})


def test_sampling_weights_have_mean_one() -> None:
    """Weights known up to a factor would be taken for probabilities, and limits be wrong."""
    runs = matrix()
    check_weights(runs, scope_of(runs, weights=WEIGHTS, about="new"))
    factor = {name: 100 * weight + 50 for name, weight in WEIGHTS.items()}
    check_weights(runs, scope_of(runs, weights=factor))
    with pytest.raises(InputError, match=r"whose mean is 1; these average 150"):
        check_weights(runs, scope_of(runs, weights=factor, about="new"))
    few = scope_of(runs, weights=dict.fromkeys(list(WEIGHTS)[:5], 1.0))
    with pytest.raises(InputError, match="1 of 6 have none: i5"):
        check_weights(runs, few)
