import numpy as np
import pytest
from test_resample import runtimes

from truecost.errors import InputError
from truecost.paper import bounds_observed as reality
from truecost.paper import resample
from truecost.stats import bounds
from truecost.stats.allocation import even
from truecost.stats.variance import variance_components

FORMS: tuple[bounds.Form, bounds.Form] = ("bennett", "printed")


def test_bounds_at_the_swept_values() -> None:
    """A bound beside a sweep would belong to another m, N or K than the point it stands at."""
    matrix = runtimes(12, 30, 3)
    components = variance_components(matrix)
    best = int(matrix.costs.mean(axis=(1, 2)).argmin())
    for kind, place, m, allocation in (
        ("m", 4, 5, even(45, 15)),
        ("n", 19, 12, even(20, 15)),
        ("k", 6, 12, even(21, 7)),
    ):
        sweep = getattr(resample, f"sweep_{kind}")(matrix, splits=50, rng=np.random.default_rng(1))
        ours = reality.bounds_against_reality(matrix, sweep, delta=0.05)
        lines = ((ours.bennett, ours.bennett_own), (ours.printed, ours.printed_own))
        for form, (worst, own) in zip(FORMS, lines, strict=True):
            for part, line in ((components, worst), (components[best], own)):
                one = bounds.finite(
                    allocation=allocation,
                    components=part,
                    width=100,
                    delta=0.05,
                    configurations=m,
                    form=form,
                )
                assert line[place] == pytest.approx(one.epsilon)
        np.testing.assert_array_equal(ours.uniform, sweep.quantiles["uniform"][2])
        np.testing.assert_array_equal(ours.selection, sweep.quantiles["selection"][2])
        assert (ours.bennett <= ours.printed).all()
        assert "plug-in" in ours.caveat


def test_bounds_lie_above_what_was_seen() -> None:
    """On a well-behaved synthetic matrix Theorem 2 would lie below the errors it bounds."""
    matrix = runtimes(40, 60, 5, within_share=0.4)
    for kind in ("m", "n", "k"):
        sweep = getattr(resample, f"sweep_{kind}")(matrix, splits=300, rng=np.random.default_rng(2))
        ours = reality.bounds_against_reality(matrix, sweep)
        assert (ours.bennett >= ours.uniform).mean() > 0.95


def test_unknown_level() -> None:
    """A quantile that the sweep does not have would be made up."""
    matrix = runtimes(3, 8, 2)
    sweep = resample.sweep_k(matrix, splits=20, rng=np.random.default_rng(3))
    with pytest.raises(InputError, match=r"one of the sweep's levels .* got delta 0\.2"):
        reality.bounds_against_reality(matrix, sweep, delta=0.2)
