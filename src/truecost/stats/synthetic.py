"""Matrices with known truth: a random-effects model of log runtimes, with cutoff and PARk.

For trying a design before buying the CPU hours, and for checking statistics against the truth.

Examples
--------
>>> model = tc.synthetic.runtime_model(configurations=2, rng=1)
>>> model.draw(instances=3, runs=1, rng=2).shape
(2, 3, 1)
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import log_ndtr, ndtr, ndtri

from truecost.arrays import FloatArray
from truecost.errors import InputError
from truecost.matrix import CostMatrix
from truecost.runs import Status
from truecost.stats.random import Rng, generator
from truecost.stats.variance import VarianceComponents

# Standard deviations of ln seconds beyond this are not runtimes any more.
WIDEST = 10.0
# Of the Gauss-Legendre rule on a panel.
NODES, WEIGHTS = np.polynomial.legendre.leggauss(20)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RuntimeModel:
    """ln runtime = location[configuration] + hardness of the instance + interaction of the two +
    noise of the run.

    The last three are normal. A run that reaches the cutoff costs factor × cutoff.

    Attributes
    ----------
    locations
        Mean ln seconds of each configuration, (M,).
    hardness, interaction, noise
        Standard deviations of the three effects. `hardness` is common to all configurations, which
        makes their costs on an instance go together as in practice.
    cutoff, factor
        Seconds, and the k of PARk.
    """

    locations: FloatArray
    hardness: float
    interaction: float
    noise: float
    cutoff: float
    factor: float

    def __post_init__(self) -> None:
        flat = self.locations.ndim == 1 and self.locations.size > 0
        if not (flat and np.isfinite(self.locations).all()):
            raise InputError("Expected locations as a flat array of at least one finite number.")
        effects = (self.hardness, self.interaction, self.noise)
        if not all(0 <= effect <= WIDEST for effect in effects):
            raise InputError(f"Expected hardness, interaction and noise from 0 to {WIDEST:g}.")
        _check_metric(self.cutoff, self.factor)

    @property
    def true_cost(self) -> FloatArray:
        """u of every configuration, in closed form."""
        return _moments(self.locations, self._spread, self.cutoff, self.factor).mean

    @property
    def components(self) -> VarianceComponents:
        """The true `within` and `across` of every configuration, by integration over instances."""
        pairs = [
            _components(location, self._across, self.noise, self.cutoff, self.factor)
            for location in self.locations
        ]
        within, across = np.array(pairs).T
        return VarianceComponents.known(within=within, across=across)

    @property
    def _across(self) -> float:
        return math.hypot(self.hardness, self.interaction)

    @property
    def _spread(self) -> float:
        return math.hypot(self._across, self.noise)

    def draw(self, *, instances: int, runs: int, rng: Rng = None) -> CostMatrix:
        """A matrix of this model: fresh instances, fresh runs."""
        if instances < 1 or runs < 1:
            raise InputError(f"Expected at least 1 instance and 1 run, got {instances} and {runs}.")
        configurations = self.locations.size
        rng = generator(rng)
        log_seconds = self.noise * rng.standard_normal((configurations, instances, runs))
        hardness = self.hardness * rng.standard_normal(instances)
        interaction = self.interaction * rng.standard_normal((configurations, instances))
        cell = self.locations[:, np.newaxis] + hardness + interaction
        log_seconds += cell[:, :, np.newaxis]
        log_cutoff, penalty = math.log(self.cutoff), self.factor * self.cutoff
        timeout = log_seconds >= log_cutoff
        # As many digits as the last one needs, so that names sort as numbers do.
        digits, wide = len(str(configurations)), len(str(instances))
        return CostMatrix(
            np.where(timeout, penalty, np.exp(np.minimum(log_seconds, log_cutoff))),
            ["default", *(f"random-{i:0{digits}d}" for i in range(1, configurations))],
            [f"instance-{i:0{wide}d}" for i in range(1, instances + 1)],
            0.0,
            penalty,
            statuses=np.where(timeout, Status.TIMEOUT, Status.SOLVED).astype(np.int8),
        )


def runtime_model(
    *,
    configurations: int,
    rng: Rng = None,
    within_share: float = 0.5,
    timeout_rate: float = 0.2,
    spread: float = 1.5,
    quality: float = 0.7,
    interaction_share: float = 0.3,
    cutoff: float = 10.0,
    factor: float = 10.0,
) -> RuntimeModel:
    """A model with chosen shares.

    Parameters
    ----------
    configurations
        M.
    rng
        Draws how good each configuration is.
    within_share
        within/(within + across) in cost units, for a configuration of middle quality.
    timeout_rate
        Share of runs such a configuration does not finish.
    spread
        Standard deviation of ln runtime over instances and seeds together.
    quality
        Standard deviation of mean ln runtime between configurations.
    interaction_share
        Share of the variance over instances, on the logarithmic scale, in which configurations
        disagree.

    Examples
    --------
    >>> model = tc.runtime_model(configurations=3, rng=1)
    >>> model.draw(instances=4, runs=2, rng=2).shape
    (3, 4, 2)
    """
    if configurations < 1:
        raise InputError(f"Expected at least 1 configuration, got {configurations}.")
    for value, name in ((within_share, "within_share"), (interaction_share, "interaction_share")):
        if not 0 <= value <= 1:
            raise InputError(f"Expected {name} between 0 and 1, got {value}.")
    _check_metric(cutoff, factor)
    if not 1e-9 <= timeout_rate <= 1 - 1e-9:
        raise InputError(
            f"Expected timeout_rate between 0 and 1, by 10^-9 at least, got {timeout_rate}."
        )
    if not (0 < spread <= WIDEST and 0 <= quality <= WIDEST):
        raise InputError(
            f"Expected a spread above 0 and a quality of 0 or more, up to {WIDEST:g}, got {spread} "
            f"and {quality}."
        )
    middle = math.log(cutoff) - spread * float(ndtri(1 - timeout_rate))
    noise = spread * math.sqrt(_noise_share(within_share, middle, spread, cutoff, factor))
    across = math.sqrt(max(0.0, spread**2 - noise**2))
    return RuntimeModel(
        locations=middle + quality * generator(rng).standard_normal(configurations),
        hardness=across * math.sqrt(1 - interaction_share),
        interaction=across * math.sqrt(interaction_share),
        noise=noise,
        cutoff=cutoff,
        factor=factor,
    )


def _check_metric(cutoff: float, factor: float) -> None:
    if not (1e-9 <= cutoff <= 1e12 and 1 <= factor <= 1e6):
        raise InputError(
            "Expected a cutoff above 0 and a factor of at least 1, within reason, got cutoff "
            f"{cutoff} and factor {factor}."
        )


class _Moments(NamedTuple):
    mean: FloatArray
    variance: FloatArray


def _moments(location: ArrayLike, spread: float, cutoff: float, factor: float) -> _Moments:
    """Mean and variance of the cost if ln runtime is normal: partial moments of the lognormal below
    the cutoff.
    """
    location = np.asarray(location, dtype=np.float64)
    penalty = factor * cutoff
    if spread == 0:
        seconds = np.exp(np.minimum(location, math.log(cutoff)))
        mean = np.where(location < math.log(cutoff), seconds, penalty)
        return _Moments(mean, np.zeros_like(location))
    z = (math.log(cutoff) - location) / spread
    # One exponent each: apart, the factors of a wide spread leave the range of floats.
    first = np.exp(location + spread**2 / 2 + log_ndtr(z - spread))
    second = np.exp(2 * location + 2 * spread**2 + log_ndtr(z - 2 * spread))
    late = ndtr(-z)
    mean = first + penalty * late
    return _Moments(mean, np.maximum(second + penalty**2 * late - mean**2, 0))


def _components(
    location: float, across: float, noise: float, cutoff: float, factor: float
) -> tuple[float, float]:
    """within and across of one configuration: the mean of the conditional variance, the variance of
    the conditional mean.
    """
    whole = _moments(location, math.hypot(across, noise), cutoff, factor)
    if across == 0:
        return float(whole.variance), 0.0
    if noise == 0:
        return 0.0, float(whole.variance)
    # Gauss-Legendre on panels that are narrow around the cutoff, where the conditional mean turns
    # within noise/across.
    edge, turn = (math.log(cutoff) - location) / across, noise / across
    # Beyond 12 standard deviations a normal has less than 10^-32 of its mass.
    places = np.concatenate([np.linspace(-12, 12, 49), edge + turn * np.arange(-12, 13)])
    ends = np.unique(np.clip(places, -12, 12))
    half = np.diff(ends)[:, np.newaxis] / 2
    z = (ends[:-1, np.newaxis] + half + half * NODES).ravel()
    density = (half * WEIGHTS).ravel() * np.exp(-(z**2) / 2) / math.sqrt(2 * math.pi)
    given = _moments(location + across * z, noise, cutoff, factor)
    return float(density @ given.variance), float(density @ (given.mean - whole.mean) ** 2)


def _noise_share(
    within_share: float, location: float, spread: float, cutoff: float, factor: float
) -> float:
    """The share of noise in the variance of ln runtime that gives this share of `within` in cost
    units.
    """
    if within_share in (0.0, 1.0):
        return within_share
    low, high = 0.0, 1.0
    # The share of `within` grows with the share of noise; 50 halvings find it to 10^-15.
    for _ in range(50):
        middle = (low + high) / 2
        parts = spread * math.sqrt(1 - middle), spread * math.sqrt(middle)
        within, across = _components(location, *parts, cutoff, factor)
        low, high = (middle, high) if within / (within + across) < within_share else (low, middle)
    return (low + high) / 2
