from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from truecost.errors import InputError
from truecost.paper import resample
from truecost.plan import schedules
from truecost.race import policy, replay
from truecost.space.space import Space
from truecost.stats.allocation import even, scattered
from truecost.stats.random import Rng
from truecost.stats.synthetic import runtime_model
from truecost.stats.variance import bootstrap_components

MODEL = runtime_model(configurations=4, rng=3)
MATRIX = MODEL.draw(instances=8, runs=3, rng=4)
SPACE = Space.parse("a [0,1000][5]i\nb {x,y,z}[x]\n")
# What draws, as a function of where its numbers come from.
DRAWS: dict[str, Callable[[Rng], Any]] = {
    "even": lambda rng: even(13, 10, rng).counts.tolist(),
    "scattered": lambda rng: scattered(40, 10, rng).counts.tolist(),
    "runtime_model": lambda rng: runtime_model(configurations=3, rng=rng).true_cost.tolist(),
    "draw": lambda rng: MODEL.draw(instances=3, runs=2, rng=rng).costs.tolist(),
    "bootstrap": lambda rng: repr(bootstrap_components(MATRIX, rng=rng, resamples=100)),
    "sweep_m": lambda rng: resample.sweep_m(MATRIX, splits=3, rng=rng).uniform.tolist(),
    "sweep_n": lambda rng: resample.sweep_n(MATRIX, splits=3, rng=rng).uniform.tolist(),
    "sweep_k": lambda rng: resample.sweep_k(MATRIX, splits=3, rng=rng).uniform.tolist(),
    "compare_estimators": lambda rng: resample.compare_estimators(
        MATRIX, splits=3, rng=rng, runs=[4]
    ).absolute.tolist(),
    "replay": lambda rng: replay.replay(MATRIX, rng=rng, repetitions=2).regret.tolist(),
    "schedule": lambda rng: policy.schedule(9, 2, rng).instances.tolist(),
    "plan": lambda rng: schedules.draw("abcdef", instances=4, runs=8, rng=rng),
    "Space.draw": lambda rng: SPACE.draw(rng).values,
    "Space.around": lambda rng: SPACE.around(SPACE.default(), rng, spread=0.2, keep=0.5).values,
}


@pytest.mark.parametrize("name", DRAWS)
def test_a_number_is_as_good_as_its_generator(name: str) -> None:
    """A seed would give other results than the Generator made of it, or the same seed others the
    next time.
    """
    draw = DRAWS[name]
    assert draw(7) == draw(np.random.default_rng(7)) == draw(7)


@pytest.mark.parametrize("name", sorted({*DRAWS} - {"even"}))
def test_without_a_number_it_is_fresh(name: str) -> None:
    """None would be refused, or draw the same every time; for `even` it means the order as it is."""
    DRAWS[name](None)
    assert DRAWS["draw"](None) != DRAWS["draw"](None)
    assert DRAWS["even"](None) == DRAWS["even"](None) == sorted(DRAWS["even"](None), reverse=True)


@pytest.mark.parametrize("wrong", [-1, 1.5, "seed"])
def test_what_is_no_source_of_numbers(wrong: Any) -> None:
    """A wrong `rng` would end in a traceback from NumPy."""
    with pytest.raises(InputError, match="`rng` to be a number from 0, a Generator or None"):
        scattered(3, 2, wrong)


def test_a_generator_moves_on() -> None:
    """Lists of configurations from one Generator would all be the same, or from one number differ."""
    rng = np.random.default_rng(1)
    assert SPACE.configurations(5, rng=rng) != SPACE.configurations(5, rng=rng)
    assert SPACE.configurations(5, rng=1) == SPACE.configurations(5, rng=np.int64(1))  # type: ignore[arg-type]
    assert len(SPACE.configurations(5)) == 5
