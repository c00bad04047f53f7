import numpy as np
import pytest
from scipy.optimize import curve_fit
from test_resample import runtimes

from truecost.errors import InputError
from truecost.paper import fit, resample

CURVES = {
    "m": lambda x, a, b: a * np.log(x) + b * np.sqrt(np.log(x)),
    "n": lambda x, a, b: a + b * np.sqrt(1 / x),
    "k": lambda x, a, b: a / x + b * np.sqrt(1 / x),
}


@pytest.mark.parametrize("kind", ["m", "n", "k"])
def test_fit_agrees_with_curve_fit(kind: fit.Kind) -> None:
    """The fitted a, b and their errors would not be those of an iterative least-squares program."""
    x = np.arange(1.0, 60.0)
    y = CURVES[kind](x, 2.0, 3.0) + np.random.default_rng(1).normal(0, 0.1, x.size)
    ours = fit.curve(x, y, kind=kind)
    best, covariance = curve_fit(CURVES[kind], x, y, p0=[1, 1])
    np.testing.assert_allclose([ours.a, ours.b], best, rtol=1e-6)
    np.testing.assert_allclose(
        [ours.a_error, ours.b_error], np.sqrt(np.diag(covariance)), rtol=1e-5
    )
    np.testing.assert_allclose(ours(x), CURVES[kind](x, *best), rtol=1e-6, atol=1e-9)
    assert ours.r_squared == pytest.approx(
        1 - ((y - ours(x)) ** 2).sum() / ((y - y.mean()) ** 2).sum()
    )


def test_fits_follow_a_sweep() -> None:
    """On a synthetic matrix the paper's curves would not follow the errors they were derived for."""
    matrix = runtimes(60, 60, 5)
    for kind in ("m", "n", "k"):
        sweep = getattr(resample, f"sweep_{kind}")(matrix, splits=400, rng=np.random.default_rng(2))
        assert fit.curve(sweep.values, sweep.uniform, kind=kind).r_squared > 0.9


@pytest.mark.parametrize(
    ("values", "errors", "kind", "words"),
    [
        ([1, 2, 3], [1, 2, 3], "m", "at least 4 different values .* got 3"),
        ([1, 2, 2, 2, 3], [1, 2, 2, 2, 3], "n", "at least 4 different values .* got 3"),
        ([1, 2, 3, 4], [1, 2, 3], "k", "as many errors as values"),
        ([0, 1, 2, 3, 4], [1, 2, 3, 4, 5], "k", "values of 1 or more"),
        ([1, 2, 3, 4], [1, 2, 3, np.nan], "n", "finite errors"),
        ([1, 2, 3, 4], [1, 2, 3, 4], "q", "one of m, n, k, got 'q'"),
    ],
)
def test_bad_input(values: list[float], errors: list[float], kind: fit.Kind, words: str) -> None:
    """Too few points, or points without meaning, would be fitted."""
    with pytest.raises(InputError, match=words):
        fit.curve(values, errors, kind=kind)
