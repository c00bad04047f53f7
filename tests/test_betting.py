"""The gambler's capital is fair, its limits are what it rejects, and the compiled loops do what the
words say.
"""

import subprocess
import sys
from collections.abc import Callable
from itertools import product

import naive
import numpy as np
import pytest
from numpy.typing import NDArray

from truecost.stats import betting

FloatArray = NDArray[np.float64]
# Three means that end a cell or lie inside one, with the chances of the outcomes that have them.
FAIR_GAMES = [
    pytest.param([0.0, 1.0], [0.7, 0.3], 9, id="coin"),
    pytest.param([0.0, 1.0], [0.03, 0.97], 9, id="coin near 1"),
    pytest.param([0.0, 1.0], [0.98, 0.02], 9, id="coin near 0"),
    pytest.param([0.0, 0.05, 1.0], [0.2, 0.7, 0.1], 7, id="three outcomes"),
    pytest.param([0.4, 0.5, 0.9], [0.6, 0.3, 0.1], 7, id="inside"),
]


def all_sequences(
    outcomes: list[float], chances: list[float], rounds: int
) -> tuple[FloatArray, FloatArray]:
    """Every sequence of outcomes, and its probability."""
    rows = np.array(list(product(outcomes, repeat=rounds)))
    return rows, np.array([np.prod(chance) for chance in product(chances, repeat=rounds)])


def bets_of(x: FloatArray, mean: float, target: float, kind: str) -> FloatArray:
    """The bets against a mean."""
    if kind == "star":
        bets, cells = np.zeros(x.size), betting.cells_for(x.size)
        betting.star_bets(x, betting.cell_end(betting.cell_of(mean, cells), cells), target, bets)
        return bets
    bets = betting.plug_in_bets(x, target, kind == "sequence")
    return np.asarray(np.minimum(bets, betting.SHARE / mean))


@pytest.mark.parametrize("kind", ["star", "fixed", "sequence"])
@pytest.mark.parametrize(("outcomes", "chances", "rounds"), FAIR_GAMES)
def test_the_game_is_fair(
    outcomes: list[float], chances: list[float], rounds: int, kind: str
) -> None:
    """Capital would be won on average against the true mean, by a bet that knows its outcome, or be
    lost below 0.
    """
    mean = float(np.dot(outcomes, chances))
    rows, probabilities = all_sequences(outcomes, chances, rounds)
    assert probabilities.sum() == pytest.approx(1)
    for target in (2.0, 20.0, 1000.0):
        factors = np.array([1 + bets_of(x, mean, target, kind) * (x - mean) for x in rows])
        assert factors.min() > 0
        np.testing.assert_allclose(probabilities @ np.cumprod(factors, axis=1), 1, rtol=1e-10)


@pytest.mark.parametrize("kind", ["star", "fixed", "sequence"])
def test_bets_do_not_know_what_comes(kind: str) -> None:
    """A bet would change with the number it is placed on, or with a later one."""
    rng = np.random.default_rng(1)
    x = rng.random(30)
    for t in range(30):
        other = x.copy()
        other[t:] = rng.random(30 - t)
        np.testing.assert_array_equal(
            bets_of(x, 0.4, 20.0, kind)[: t + 1], bets_of(other, 0.4, 20.0, kind)[: t + 1]
        )


LIMITS: dict[str, Callable[[FloatArray, float], FloatArray]] = {
    "star": betting.star_lower,
    "fixed": betting.plug_in_lower,
    "sequence": lambda rows, target: np.asarray(betting.plug_in_lower_sequence(rows, target))[
        :, -1
    ],
    "bernstein": lambda rows, target: np.asarray(betting.bernstein_lower_sequence(rows, target))[
        :, -1
    ],
}


@pytest.mark.parametrize("limit", LIMITS.values(), ids=LIMITS.keys())
@pytest.mark.parametrize("delta", [0.3, 0.05])
def test_coins_are_covered_whatever_their_chance(
    limit: Callable[[FloatArray, float], FloatArray], delta: float
) -> None:
    """The exact probability of a limit above the mean, over all sequences of ten coins, would
    exceed δ for some coin.
    """
    rows = np.array(list(product([0.0, 1.0], repeat=10)))
    limits, heads = limit(rows, 1 / delta), rows.sum(axis=1)
    worst = 0.0
    for chance in np.concatenate([np.linspace(0.001, 0.999, 999), limits[(limits > 0)] - 1e-12]):
        probability = chance**heads * (1 - chance) ** (10 - heads)
        worst = max(worst, float(probability[limits > chance].sum()))
    assert worst <= delta * (1 + 1e-9)
    assert worst > 0  # else the limit is 0 always and the test tests nothing


@pytest.mark.parametrize("limit", LIMITS.values(), ids=LIMITS.keys())
def test_three_outcomes_are_covered_whatever_their_chances(
    limit: Callable[[FloatArray, float], FloatArray],
) -> None:
    """The exact probability of a limit above the mean would exceed δ for some chances of three
    costs.
    """
    outcomes = [0.0, 0.3, 1.0]
    rows = np.array(list(product(outcomes, repeat=7)))
    counts = np.array([(rows == outcome).sum(axis=1) for outcome in outcomes])
    rng = np.random.default_rng(2)
    for delta in (0.2, 0.05):
        limits = limit(rows, 1 / delta)
        for chances in rng.dirichlet([0.5, 0.5, 0.5], size=1000):
            probability = np.prod(chances[:, np.newaxis] ** counts, axis=0)
            assert probability[limits > chances @ outcomes].sum() <= delta * (1 + 1e-9)


def samples(rng: np.random.Generator, rows: int, rounds: int) -> FloatArray:
    """Numbers of several kinds, some missing."""
    kinds = np.stack([
        rng.random((rows, rounds)),
        (rng.random((rows, rounds)) < 0.9).astype(float),
        rng.beta(0.3, 3, (rows, rounds)),
        np.where(rng.random((rows, rounds)) < 0.1, 0.0, 1 - rng.beta(1, 20, (rows, rounds))),
        np.full((rows, rounds), 0.25),
    ])  # fmt: skip
    x = kinds[rng.integers(len(kinds), size=rows), np.arange(rows)]
    return np.where(rng.random(x.shape) < 0.1, np.nan, x)


@pytest.mark.parametrize("delta", [0.2, 0.01])
def test_the_limit_is_what_the_capital_rejects(delta: float) -> None:
    """The search for the limit would pass over a mean that the capital does not reject, or stop at
    one that it does.
    """
    target = 1 / delta
    rows = samples(np.random.default_rng(3), 60, 40)
    limits = {
        "star": betting.star_lower(rows, target),
        "fixed": betting.plug_in_lower(rows, target),
    }
    means = np.linspace(0.0005, 0.9995, 1000)
    for kind, found in limits.items():

        def rejects(mean: float, row: int, kind: str = kind) -> bool:
            one = rows[row : row + 1]
            if kind == "star":
                return bool(betting.star_reaches(one, mean, target, True, False)[0])
            return bool(betting.plug_in_rejects(one, mean, target, False)[0])

        for row, limit in enumerate(found):
            assert all(limit <= mean for mean in means if not rejects(mean, row))
            if limit > 0:
                assert rejects(limit, row)
            assert not rejects(limit + 1e-9, row)


def test_the_sequence_is_what_the_capital_rejects_by_then() -> None:
    """The limits of a sequence would not be the means rejected so far, or would depend on numbers
    still to come.
    """
    rows = samples(np.random.default_rng(4), 30, 25)
    whole = betting.plug_in_lower_sequence(rows, 10.0)
    bernstein = betting.bernstein_lower_sequence(rows, 10.0)
    for k in range(1, 26):
        first = rows[:, :k].copy()  # in one piece, as what the loops are compiled for
        np.testing.assert_array_equal(betting.plug_in_lower_sequence(first, 10.0), whole[:, :k])
        np.testing.assert_array_equal(
            betting.bernstein_lower_sequence(first, 10.0), bernstein[:, :k]
        )
        for row in range(30):
            if whole[row, k - 1] > 0:
                assert betting.plug_in_rejects(
                    rows[row : row + 1, :k], whole[row, k - 1], 10.0, True
                )[0]
            assert not betting.plug_in_rejects(
                rows[row : row + 1, :k], whole[row, k - 1] + 1e-9, 10.0, True
            )[0]


def test_a_long_sequence_is_as_valid_as_the_exact_one() -> None:
    """Limits after many numbers would pass the exact ones, lie far from them, or depend on numbers
    still to come.
    """
    rng, n = np.random.default_rng(8), betting.EXACT + 600
    rows = np.stack(
        [
            rng.random(n),
            rng.random(n) < 0.05,
            1 - 1e-3 * rng.random(n),
            np.full(n, 0.3),
            np.linspace(0, 1, n),
        ]
    )
    rows[0, rng.random(n) < 0.2] = np.nan
    found, target = betting.plug_in_lower_sequence(rows, 20.0), 20.0
    assert (np.diff(found, axis=1) >= 0).all()
    for k in (betting.EXACT, betting.EXACT + 1, betting.EXACT + 250, n):
        np.testing.assert_array_equal(
            betting.plug_in_lower_sequence(rows[:, :k].copy(), target), found[:, :k]
        )
        for row, limit in zip(rows[:, :k], found[:, k - 1], strict=True):
            seen = row[~np.isnan(row)]
            assert betting.plug_in_rejects(seen[np.newaxis], limit, target, True)[0]
            open_ = (
                1e-9
                if k <= betting.EXACT
                else betting.CLOSE * max(seen.mean() - limit, 1 / seen.size) + 1e-9
            )
            assert not betting.plug_in_rejects(seen[np.newaxis], limit + open_, target, True)[0]


def test_the_closed_form_of_empirical_bernstein() -> None:
    """The sequence of empirical Bernstein limits would not be Waudby-Smith and Ramdas's formula."""
    x = np.random.default_rng(5).beta(1, 4, 60)
    target, needed = 10.0, np.log(10.0)
    guesses = np.concatenate([[0.5], (0.5 + np.cumsum(x)) / np.arange(2, 62)])
    variances = (0.25 + np.concatenate([[0], np.cumsum((x - guesses[1:]) ** 2)])) / np.arange(1, 62)
    t = np.arange(1, 61)
    bets = np.minimum(0.5, np.sqrt(2 * needed / (variances[:-1] * t * np.log(1 + t))))
    psi = (-np.log(1 - bets) - bets) / 4
    price = needed + np.cumsum(4 * (x - guesses[:-1]) ** 2 * psi)
    formula = (np.cumsum(bets * x) - price) / np.cumsum(bets)
    np.testing.assert_allclose(
        betting.bernstein_lower_sequence(x[np.newaxis], target)[0],
        np.maximum.accumulate(np.maximum(formula, 0)),
        atol=1e-12,
    )


def test_star_bets_agree_with_plain_python() -> None:
    """The compiled STaR-Bets would reject another mean than Algorithm 4 written in plain Python."""
    rng = np.random.default_rng(6)
    decided = []
    for x in samples(rng, 120, 35):
        seen = x[~np.isnan(x)].tolist()
        mean = float(np.clip(np.mean(seen) - rng.uniform(0, 0.25), 0.01, 0.99))
        path = naive.star_capital(seen, mean, 0.1, betting.cells_for(len(seen)))
        decided.append(max(path) >= 10)
        assert betting.star_reaches(x[np.newaxis], mean, 10.0, True, False)[0] == decided[-1]
    assert 20 < sum(decided) < 100


def test_plug_in_bets_agree_with_plain_python() -> None:
    """The compiled plug-in bets would reject another mean than the formulas written in plain
    Python.
    """
    rng = np.random.default_rng(7)
    decided = []
    for x in samples(rng, 120, 35):
        seen = x[~np.isnan(x)].tolist()
        mean = float(np.clip(np.mean(seen) - rng.uniform(0, 0.3), 0.01, 0.99))
        for sequence in (False, True):
            decided.append(max(naive.plug_in_capital(seen, mean, 0.1, sequence=sequence)) >= 10)
            assert betting.plug_in_rejects(x[np.newaxis], mean, 10.0, sequence)[0] == decided[-1]
    assert 40 < sum(decided) < 200


def test_every_mean_has_its_cell() -> None:
    """A mean would be tested with bets that are too large for it, or be left out between two cells."""
    for rounds in (1, 10, 250, 4000):
        cells = betting.cells_for(rounds)
        ends = np.array([betting.cell_end(j, cells) for j in range(cells + 1)])
        assert ends[0] == 0
        assert ends[-1] == 1
        for mean in np.concatenate(
            [np.random.default_rng(8).random(500), ends[1:], np.nextafter(ends[1:-1], 1), [1e-300]]
        ):
            j = betting.cell_of(mean, cells)
            assert ends[j - 1] < mean <= ends[j]


def test_a_compiled_kernel_is_loaded_without_the_compiler() -> None:
    """Every command that states a limit would load all of Numba, which takes longer than the limit."""
    script = "import sys; from truecost.stats import confidence as c; c.upper([0.1, 0.5], 0, 1); print(*sys.modules)"
    # The first may have to compile it.
    loaded = [
        subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
        for _ in range(2)
    ]
    assert not {"numba.np.arraymath", "scipy.special"} & set(loaded[1].stdout.split())
