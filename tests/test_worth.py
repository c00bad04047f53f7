import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.integrate import quad
from scipy.stats import norm

from truecost.errors import InputError
from truecost.plan.worth import Proposals, doubling_cost, expected_best, proposals_of, runs_worth
from truecost.stats.allocation import even

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


def test_expected_best_of_normals() -> None:
    """The expected maximum of m normals would be off, for whole m or in between, for few or for
    millions.
    """
    for m in (1, 1.3, 2, 7.5, 100, 1e6, 1e12):
        integral = quad(
            lambda z, m=m: z * m * math.exp(norm.logpdf(z) + (m - 1) * norm.logcdf(z)),
            -9,
            12,
            limit=500,
        )[0]
        assert float(expected_best(m)) == pytest.approx(integral, abs=1e-6)
    assert float(expected_best(2)) == pytest.approx(1 / math.sqrt(math.pi), abs=1e-9)
    drawn = np.random.default_rng(1).standard_normal((20_000, 37)).max(axis=1)
    assert abs(drawn.mean() - float(expected_best(37))) < 4 * drawn.std() / math.sqrt(drawn.size)
    assert expected_best(np.array([[1.0, 2.0], [3.0, 4.0]])).shape == (2, 2)


@pytest.mark.parametrize("draw", ["normal", "laplace"])
@pytest.mark.parametrize("most", [1, 2, 7, 32, 50])
def test_what_an_equal_challenger_costs(draw: str, most: int) -> None:
    """The runs a challenger costs in a doubling race would not be those of a race played through,
    for any distribution.
    """
    rng = np.random.default_rng(most)
    differences = getattr(rng, draw)(size=(20_000, most))
    sums = differences.cumsum(axis=1)
    spent = np.empty(len(sums))
    for row, total in enumerate(sums):
        had = 1
        while had < most and (total[:had] < 0).all():
            had = min(2 * had, most)
        spent[row] = had
    assert abs(spent.mean() - float(doubling_cost(most))) <= 4 * spent.std() / math.sqrt(len(spent))


def gain(
    runs: int,
    budget: float,
    within: float,
    across: float,
    spread: float,
    instances: int,
    each: float,
) -> float:
    """What N promises, from the words of the docstring."""
    allocation = even(runs, instances)
    error = within / runs + across * allocation.sum_of_squares / runs**2
    return spread / math.sqrt(spread**2 + error) * float(expected_best(1 + (budget - runs) / each))


@pytest.mark.parametrize("racing", [True, False])
@pytest.mark.parametrize("budget", [1, 20, 500, 3000])
@pytest.mark.parametrize(
    ("within", "across"), [(0.0, 0.0), (1.0, 1.0), (9.0, 0.0), (0.0, 9.0), (100.0, 4.0)]
)
def test_no_other_number_of_runs_promises_more(
    racing: bool, budget: int, within: float, across: float
) -> None:
    """Another N than the chosen one would promise a better configuration by more than the
    coarseness of large N allows.
    """
    chosen = runs_worth(
        budget,
        within=within,
        across=across,
        spread=1.5,
        instances=12,
        most=400,
        cost_of=doubling_cost if racing else None,
    )
    gains = [
        gain(n, budget, within, across, 1.5, 12, float(doubling_cost(n)) if racing else n)
        for n in range(1, min(400, budget) + 1)
    ]
    assert gains[chosen - 1] >= max(gains) * (1 - 1e-4)


def test_little_noise_needs_few_runs_and_much_needs_many() -> None:
    """N would not follow the noise: one run without noise, whole rounds if instances differ, more
    rounds if seeds do.
    """

    def worth(within: float, across: float, spread: float = 1.0) -> int:
        return runs_worth(
            500,
            within=within,
            across=across,
            spread=spread,
            instances=12,
            most=2000,
            cost_of=doubling_cost,
        )

    assert worth(0, 0) == 1
    assert worth(0, 0, spread=0) == 1
    assert worth(-1, -1) == 1
    assert worth(0, 1e6) == 12
    by_within = [worth(within, 0) for within in (0.01, 0.1, 1, 10, 100)]
    assert by_within == sorted(by_within)
    assert by_within[-1] > 12
    assert worth(1, 0, spread=0) == worth(1, 0, spread=1e-6) > 100


@given(
    st.floats(1e-3, 1e3),
    st.floats(0, 100),
    st.floats(0, 100),
    st.floats(0.01, 100),
    st.integers(1, 60),
)
def test_units_do_not_matter(
    scale: float, within: float, across: float, spread: float, instances: int
) -> None:
    """Costs in milliseconds would get another number of runs than costs in seconds."""
    ones = [
        runs_worth(
            300,
            within=within * s**2,
            across=across * s**2,
            spread=spread * s,
            instances=instances,
            most=200,
        )
        for s in (1.0, scale)
    ]
    gains = [gain(n, 300, within, across, spread, instances, n) for n in ones]
    assert gains[0] == pytest.approx(gains[1], rel=1e-6)


def raced(
    most: int,
    *,
    within: float,
    across: float,
    instances: int,
    budget: int,
    rng: np.random.Generator,
) -> float:
    """True cost of what a doubling race ends with, proposals being standard normal, by SMAC's rules
    in few words.
    """
    keys = np.concatenate([rng.permutation(instances) for _ in range(-(-budget // instances))])

    def proposal() -> tuple[float, FloatArray]:
        u = rng.standard_normal()
        effects = math.sqrt(across) * rng.standard_normal(instances)
        return u, u + effects[keys] + math.sqrt(within) * rng.standard_normal(keys.size)

    best, costs = proposal()
    has, spent = 1, 1
    while spent < budget:
        if has < most:
            has, spent = has + 1, spent + 1
        u, other = proposal()
        order = np.concatenate(
            [
                rng.permutation(np.arange(s, min(s + instances, has)))
                for s in range(0, has, instances)
            ]
        )
        ahead = (other[order] - costs[order]).cumsum() < 0
        had = 1
        while had < has and ahead[:had].all():
            had = min(2 * had, has)
        spent += had
        if had == has and ahead[-1] and spent <= budget:
            best, costs = u, other
    return best


@pytest.mark.parametrize(("within", "across"), [(0.5, 0.5), (2.0, 0.0)])
def test_a_race_ends_better_with_the_chosen_number(within: float, across: float) -> None:
    """A race limited to the chosen N would end no better than with a single run each, or without
    any limit.
    """
    chosen = runs_worth(
        250, within=within, across=across, spread=1, instances=12, most=250, cost_of=doubling_cost
    )
    costs = {
        most: np.array(
            [
                raced(
                    most,
                    within=within,
                    across=across,
                    instances=12,
                    budget=250,
                    rng=np.random.default_rng([seed, most]),
                )
                for seed in range(100)
            ]
        )
        for most in (1, chosen, 250)
    }
    for other in (1, 250):
        error = math.sqrt((costs[chosen].var() + costs[other].var()) / 100)
        assert costs[chosen].mean() < costs[other].mean() - error


def estimated(differences: FloatArray, rng: np.random.Generator) -> Proposals:
    """The estimates from (challengers, instances, runs), the entries in random order."""
    configuration, instance, _ = np.indices(differences.shape)
    order = rng.permutation(differences.size)
    found = proposals_of(
        configuration.ravel()[order], instance.ravel()[order], differences.ravel()[order]
    )
    assert found is not None
    return found


def test_components_of_differences() -> None:
    """`within` and `across` would not be those of one configuration, or the spread not that of the
    true costs.
    """
    rng = np.random.default_rng(5)
    found = []
    for _ in range(60):
        costs = math.sqrt(3.0) * rng.standard_normal((61, 30, 1)) + math.sqrt(
            2.0
        ) * rng.standard_normal((61, 30, 2))
        costs[1:] += 4.0 * rng.standard_normal((60, 1, 1))
        found.append(estimated(costs[1:] - costs[0], rng))
    means, errors = np.mean(found, axis=0), np.std(found, axis=0) / math.sqrt(60)
    for mean, error, truth in zip(means, errors, (2.0, 3.0, 4.0), strict=True):
        assert abs(mean - truth) < 4 * error + 0.04 * truth


def test_repeats_are_no_new_instances() -> None:
    """Ten equal runs on an instance would count as ten instances, and make the noise too small and
    the spread too large.
    """
    rng = np.random.default_rng(11)
    found = []
    for _ in range(30):
        differences = rng.standard_normal((60, 1, 1)) + math.sqrt(2.0) * rng.standard_normal(
            (60, 6, 1)
        )
        found.append(estimated(np.repeat(differences, 10, axis=2), rng))
    within, across, spread = np.mean(found, axis=0)
    assert within < 0.01
    assert within + across == pytest.approx(1.0, rel=0.06)
    assert spread == pytest.approx(1.0, rel=0.06)


def test_a_race_does_not_bias_them() -> None:
    """Whom the race dropped early would change the estimates, as it changes variances of the runs
    that are there.
    """
    rng = np.random.default_rng(6)
    found, pooled = [], []
    for _ in range(40):
        entries: list[tuple[int, float]] = []
        squares, freedom = 0.0, 0
        for challenger in range(300):
            own = 2.0 + rng.standard_normal() + 2.0 * rng.standard_normal(32)
            had = 1
            while had < 32 and (own[:had].cumsum() < 0).all():
                had *= 2
            entries += [(challenger, value) for value in own[:had]]
            squares, freedom = squares + had * own[:had].var(), freedom + had - 1
        configuration, difference = (np.array(column) for column in zip(*entries, strict=True))
        estimate = proposals_of(configuration, np.zeros_like(configuration), difference)
        assert estimate is not None
        assert estimate.across == 0
        found.append((2 * estimate.within, estimate.spread**2))
        pooled.append(squares / freedom)
    assert np.mean(pooled) > 4.4  # what would be believed without a thought
    means = np.mean(found, axis=0)
    assert means[0] == pytest.approx(4.0, rel=0.04)
    assert means[1] == pytest.approx(1.0, rel=0.3)


def test_the_posterior_is_that_of_the_model() -> None:
    """The sums over challengers with equally many runs would not be the likelihood of the model
    written out.
    """
    runs = {0: [-1.0, 0.5, -2.0], 1: [-0.4], 2: [-3.0, -1.5], 3: [4.0, 1.0], 4: [9.0]}
    configuration = np.concatenate([np.full(len(values), name) for name, values in runs.items()])
    difference = np.concatenate(list(runs.values()))
    estimate = proposals_of(configuration, np.zeros_like(configuration), difference)
    assert estimate is not None
    middle = -0.4  # of the first differences; 4 and 9 lie above
    total = noise = spread = 0.0
    for t in np.linspace(0.02, 0.9995, 16):
        for z in np.linspace(-2.0, 2.0, 13):
            for scale in np.exp(np.linspace(-2.0, 3.5, 24)):
                weight = norm.cdf(z) ** 2
                for values in (runs[0], runs[1], runs[2]):
                    covariance = scale**2 * (t**2 + (1 - t**2) * np.eye(len(values)))
                    residual = np.array(values) - middle - z * scale
                    weight *= math.exp(
                        -residual @ np.linalg.solve(covariance, residual) / 2
                    ) / math.sqrt(np.linalg.det(covariance))
                total += weight
                noise += weight * scale**2 * (1 - t**2)
                spread += weight * scale**2 * t**2
    assert 2 * estimate.within == pytest.approx(noise / total, rel=0.1)
    assert estimate.spread**2 == pytest.approx(spread / total, rel=0.1)


def test_hopeless_proposals_do_not_widen_the_spread() -> None:
    """Proposals that cost PAR10 penalties everywhere would make a single run look sufficient."""
    rng = np.random.default_rng(8)
    differences = rng.standard_normal((40, 1, 1)) + rng.standard_normal((40, 6, 1))
    worst = differences[:, 0, 0] > np.quantile(differences[:, 0, 0], 0.7)
    penalised = np.where(worst[:, np.newaxis, np.newaxis], 1e6, differences)
    configuration, instance, _ = np.indices(differences.shape)
    estimates = [
        proposals_of(configuration.ravel(), instance.ravel(), some.ravel())
        for some in (differences, penalised)
    ]
    assert estimates[0] == estimates[1]


def test_without_repeats_all_counts_as_within() -> None:
    """Where no instance was repeated, noise would get lost, or second rounds never be tried."""
    rng = np.random.default_rng(9)
    estimate = estimated(rng.standard_normal((30, 8, 1)), rng)
    assert estimate.across == 0
    assert estimate.within == pytest.approx(0.5, rel=0.2)


def test_a_first_repeat_does_not_decide() -> None:
    """One repeat that happens to agree would make all noise `across`, and end the rounds after the
    first.
    """
    rng = np.random.default_rng(10)
    once = rng.standard_normal((30, 8))
    configuration, instance = np.indices(once.shape)
    again = (np.append(configuration, 3), np.append(instance, 2), np.append(once, once[3, 2]))
    estimate = proposals_of(*again)
    assert estimate is not None
    assert estimate.within > 3 * estimate.across > 0


def test_little_or_nothing_to_tell_from() -> None:
    """A first difference would give extreme numbers, equal costs an error, and no difference an
    estimate.
    """
    none = np.array([], dtype=np.int64)
    assert proposals_of(none, none, np.array([])) is None
    assert proposals_of(np.array([1, 1, 2]), np.array([0, 1, 0]), np.zeros(3)) == Proposals(
        0.0, 0.0, 0.0
    )
    single = proposals_of(np.array([1, 2]), np.array([0, 1]), np.array([1.0, 2.0]))
    assert single is not None
    assert 0.1 < single.spread / math.sqrt(2 * single.within) < 10


@given(st.floats(1e-6, 1e6))
def test_estimates_have_the_units_of_the_costs(scale: float) -> None:
    """Estimates would not scale with the costs."""
    configuration, instance = np.array([1, 1, 2, 3, 3, 3]), np.array([0, 1, 1, 0, 1, 1])
    difference = np.array([-1.0, 2.0, 3.0, -2.0, 1.0, -0.5])
    one, other = (proposals_of(configuration, instance, difference * s) for s in (1.0, scale))
    assert one is not None
    assert other is not None
    assert other.within == pytest.approx(one.within * scale**2, rel=1e-6)
    assert other.across == pytest.approx(one.across * scale**2, rel=1e-6)
    assert other.spread == pytest.approx(one.spread * scale, rel=1e-6)


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"budget": 0}, "a budget from 1"),
        ({"spread": -1.0}, "a spread of 0 or more"),
        ({"within": math.nan}, "finite within"),
        ({"instances": 0}, "at least 1 instance"),
        ({"most": 0}, "at least 1 instance and 1 run"),
    ],
)
def test_wrong_input(changed: dict[str, float], expected: str) -> None:
    """Impossible numbers would give an N instead of a word about what is wrong."""
    arguments = {
        "budget": 100,
        "within": 1.0,
        "across": 1.0,
        "spread": 1.0,
        "instances": 5,
        "most": 50,
    } | changed
    budget = arguments.pop("budget")
    with pytest.raises(InputError, match=expected):
        runs_worth(budget, **arguments)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="proposals"):
        expected_best(0.5)
