import math

import numpy as np
import pytest
from numpy.typing import NDArray

from truecost.errors import InputError
from truecost.runs import Status
from truecost.stats.estimate import training_cost
from truecost.stats.synthetic import RuntimeModel, runtime_model

FloatArray = NDArray[np.float64]


def gauss(low: FloatArray, high: FloatArray, panels: int) -> tuple[FloatArray, FloatArray]:
    """Nodes and weights of composite Gauss-Legendre quadrature on [low, high]."""
    nodes, weights = np.polynomial.legendre.leggauss(20)
    ends = low[..., np.newaxis] + (high - low)[..., np.newaxis] * np.linspace(0, 1, panels + 1)
    half = np.diff(ends)[..., np.newaxis] / 2
    centre = (ends[..., 1:] + ends[..., :-1])[..., np.newaxis] / 2
    shape = (*low.shape, panels * 20)
    return (centre + half * nodes).reshape(shape), (half * weights).reshape(shape)


@pytest.mark.parametrize(
    ("location", "across", "noise"),
    [(0.0, 1.2, 0.8), (1.5, 0.3, 1.5), (2.5, 2.0, 0.2), (-4.0, 0.5, 0.5), (1.0, 6.0, 4.0)],
)
def test_truth_by_quadrature(location: float, across: float, noise: float) -> None:
    """True cost, within and across would not be the integrals of the model over instances and runs."""
    cutoff, factor = 10.0, 10.0
    z, weight = gauss(np.array(-9.0), np.array(9.0), 100)
    weight = weight * np.exp(-(z**2) / 2) / math.sqrt(2 * math.pi)
    centre = location + across * z
    edge = np.clip((math.log(cutoff) - centre) / noise, -9, 9)
    first, second = np.zeros_like(z), np.zeros_like(z)
    for low, high, late in ((np.full_like(z, -9), edge, False), (edge, np.full_like(z, 9), True)):
        e, share = gauss(low, high, 10)
        share = share * np.exp(-(e**2) / 2) / math.sqrt(2 * math.pi)
        cost = (
            np.full_like(e, factor * cutoff) if late else np.exp(centre[:, np.newaxis] + noise * e)
        )
        first += (share * cost).sum(axis=1)
        second += (share * cost**2).sum(axis=1)
    mean = weight @ first
    model = RuntimeModel(
        locations=np.array([location]),
        hardness=across,
        interaction=0.0,
        noise=noise,
        cutoff=cutoff,
        factor=factor,
    )
    assert model.true_cost[0] == pytest.approx(mean, rel=1e-9)
    assert model.components.across[0] == pytest.approx(weight @ (first - mean) ** 2, rel=1e-7)
    assert model.components.within[0] == pytest.approx(weight @ (second - first**2), rel=1e-7)


@pytest.mark.parametrize("within_share", [0.0, 0.1, 0.5, 0.9, 1.0])
@pytest.mark.parametrize("timeout_rate", [0.01, 0.3])
def test_chosen_shares(within_share: float, timeout_rate: float) -> None:
    """A configuration of middle quality would not have the share of within and the rate of timeouts
    asked for.
    """
    model = runtime_model(
        configurations=1,
        rng=np.random.default_rng(1),
        quality=0.0,
        within_share=within_share,
        timeout_rate=timeout_rate,
    )
    truth = model.components
    assert truth.within[0] / truth.total[0] == pytest.approx(within_share, abs=1e-6)
    matrix = model.draw(instances=40_000, runs=1, rng=np.random.default_rng(2))
    assert matrix.statuses is not None
    late = (matrix.statuses == Status.TIMEOUT).mean()
    assert abs(late - timeout_rate) < 4 * math.sqrt(timeout_rate / 40_000)


@pytest.mark.parametrize("noise", [1e-2, 1e-5, 1e-9])
def test_within_of_next_to_no_noise(noise: float) -> None:
    """The noise at the cutoff, all there is when noise is small, would be missed by the
    integration.

    Near the cutoff a run is late with probability Φ(x); ∫ Φ(1−Φ) dx = 1/√π, times the squared jump
    and the density there.
    """
    location, across, cutoff = 2.0, 1.2, 10.0
    model = RuntimeModel(
        locations=np.array([location]),
        hardness=across,
        interaction=0.0,
        noise=noise,
        cutoff=cutoff,
        factor=10.0,
    )
    z = (math.log(cutoff) - location) / across
    density = math.exp(-(z**2) / 2) / math.sqrt(2 * math.pi) / across
    edge = (9 * cutoff) ** 2 * density * noise / math.sqrt(math.pi)
    assert model.components.within[0] == pytest.approx(edge, rel=3 * noise + 1e-6)


def test_draws_average_to_the_true_cost() -> None:
    """Drawn costs would not average to the true cost that was computed."""
    rng = np.random.default_rng(3)
    model = runtime_model(configurations=20, rng=rng)
    ours = training_cost(model.draw(instances=5000, runs=2, rng=rng))
    assert (np.abs(ours.cost - model.true_cost) < 4.5 * ours.standard_error).all()


def test_same_seed_same_matrix() -> None:
    """The same seed would draw another matrix."""
    model = runtime_model(configurations=3, rng=np.random.default_rng(4))
    one, two = (model.draw(instances=5, runs=2, rng=np.random.default_rng(5)) for _ in range(2))
    assert one == two
    assert one.configurations[0] == "default"
    assert one.high == 100


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"configurations": 0}, "at least 1 configuration, got 0"),
        ({"within_share": 1.5}, "within_share between 0 and 1, got 1.5"),
        ({"timeout_rate": 0.0}, "timeout_rate between 0 and 1, .* got 0"),
        ({"spread": 0.0}, "spread above 0"),
        ({"interaction_share": -1.0}, "interaction_share between 0 and 1"),
        ({"factor": 0.5}, "factor of at least 1"),
        ({"cutoff": 0.0}, "cutoff above 0"),
        ({"cutoff": 1e200}, "within reason"),
        ({"spread": 30.0}, "up to 10"),
        ({"timeout_rate": 1e-300}, "timeout_rate between 0 and 1"),
    ],
)
def test_bad_input(wrong: dict[str, float], words: str) -> None:
    """A model that cannot be would be drawn from."""
    with pytest.raises(InputError, match=words):
        runtime_model(**{"configurations": 3, "rng": np.random.default_rng(0)} | wrong)  # type: ignore[arg-type]
