"""How many runs a configuration is worth while configuring: few buy many proposals, many tell the
proposals apart.

The paper says that N should be chosen by scenario and changed as `within` and `across` become
known; this is the rule. It knows nothing of any configurator.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln, log_ndtr

from truecost.arrays import BoolArray, FloatArray, IntArray
from truecost.errors import InputError
from truecost.stats.allocation import MOST_RUNS, even_sizes

# Nodes of the trapezoidal rule for `expected_best`, which converges faster than any power for so
# smooth an integrand.
_NODES = np.linspace(-9.0, 9.0, 241)
_DENSITY = np.exp(-(_NODES**2) / 2) / math.sqrt(2 * math.pi)
_LOG_CDF = np.asarray(log_ndtr(_NODES), np.float64)
# Beyond this number of proposals the least of them lies outside the nodes.
MOST_PROPOSALS = 1e12
# N up to which every number is looked at; beyond, every further one is 4 % larger.
FINE = 64
# Repeats of runs that `within` being all of the noise is worth before any are seen.
PRIOR_REPEATS = 4
# Posterior mass below which a place on the grid is left out of the finer one.
UNLIKELY = 1e-3
# N within so small a part of the largest gain count as equal, and the smallest is taken.
TIE = 1e-9


def expected_best(proposals: ArrayLike) -> FloatArray:
    """e(m), the expected maximum of m independent standard normals, ∫ z·m·φ(z)·Φ(z)^(m−1) dz, for
    any real m ≥ 1.

    To 10⁻⁶ up to 10¹² proposals.
    """
    m = np.asarray(proposals, np.float64).reshape(-1)
    if not ((m >= 1) & (m <= MOST_PROPOSALS)).all():
        raise InputError(
            f"Expected from 1 to {MOST_PROPOSALS:g} proposals, got {m.min():g} to {m.max():g}."
        )
    density = _DENSITY * m[:, np.newaxis] * np.exp((m[:, np.newaxis] - 1) * _LOG_CDF)
    # The trapezoidal rule: the integrand is next to 0 at both ends.
    best = (_NODES[1] - _NODES[0]) * (density @ _NODES)
    best = np.asarray(np.maximum(best, 0.0), np.float64)  # e(1) is 0 but for rounding
    return best.reshape(np.shape(proposals))


def doubling_cost(runs: ArrayLike) -> FloatArray:
    """Runs spent on one challenger in a race that doubles, as SMAC's does: c(N) = 1 + Σ_j
    q(2^j)·(min(2^(j+1), N) − 2^j).

    The challenger gets 1 run, then 2 in all, then 4 … up to N, all of them runs the incumbent has
    had, and is dropped after the round in which its mean was once not below the incumbent's on the
    same runs. q(n) is the probability to survive the first n.

    For a challenger as good as the incumbent the paired differences are symmetric around 0, and by
    Sparre Andersen's theorem the sums of n such differences are all negative with probability q(n)
    = C(2n, n)/4^n ≈ 1/√(πn), whatever their distribution (if it has no atoms). So c grows like √N
    only: 1.5 at N = 2, 3.7 at N = 10, 12.9 at N = 100. A worse challenger, and one that meets an
    incumbent whose runs were lucky, costs less; better ones are rare. So this is an upper limit of
    what most challengers cost.
    """
    n = np.asarray(runs, np.float64).reshape(-1)
    cost, had = np.ones(n.shape), 1
    while had < n.max(initial=1):
        survives = math.exp(gammaln(2 * had + 1) - 2 * gammaln(had + 1) - had * math.log(4))
        cost += survives * np.clip(np.minimum(2 * had, n) - had, 0, None)
        had *= 2
    return cost.reshape(np.shape(runs))


def runs_worth(
    budget: float,
    *,
    within: float,
    across: float,
    spread: float,
    instances: int,
    most: int,
    cost_of: Callable[[IntArray], FloatArray] | None = None,
) -> int:
    """The N from 1 to `most` that promises the best configuration when `budget` runs are there in
    all.

    A proposal's true cost is normal with standard deviation `spread`; its estimate from N runs,
    evenly over the instances, errs with variance v(N) = within/N + across·Σn_i²/N² (Lemma 2 with
    the counts of S*, Theorem 1). True cost and estimate of one proposal then correlate by ρ(N) =
    spread/√(spread² + v(N)), and the proposal with the least estimate of m is on average
    ρ(N)·e(m)·spread better than a random one, e(m) being `expected_best`. The first proposal costs
    N runs and every other cost_of(N), so m(N) = 1 + (budget − N)/cost_of(N), and the N that
    maximises ρ(N)·e(m(N)) is taken, the smallest of several.

    As `spread` goes to 0, ρ(N)/spread goes to 1/√v(N), which is what is maximised at spread = 0;
    where v is 0 as well, there is nothing to distinguish and N = 1.

    Parameters
    ----------
    budget
        Runs in all.
    within, across
        Variance components of one configuration's cost, without what instances add to the costs of
        all configurations alike: that cancels where proposals are compared on the same instances.
        Half of the components of paired differences (see `proposals_of`). An estimate below 0
        counts as 0.
    spread
        Standard deviation of true costs between proposals.
    instances
        K.
    most
        The largest N there may be.
    cost_of
        Runs that one proposal costs if N is the most it may get, for an array of N; N itself if
        every proposal gets all N runs, `doubling_cost` for a race like SMAC's.
    """
    if not 1 <= budget <= MOST_RUNS:
        raise InputError(f"Expected a budget from 1 to {MOST_RUNS:,} runs, got {budget}.")
    if not (
        math.isfinite(within) and math.isfinite(across) and math.isfinite(spread) and spread >= 0
    ):
        raise InputError(
            f"Expected finite within, across and a spread of 0 or more, got {within}, {across} and "
            f"{spread}."
        )
    if instances < 1 or most < 1:
        raise InputError(f"Expected at least 1 instance and 1 run, got {instances} and {most}.")
    runs = _candidates(min(most, int(budget)), instances)
    sizes = even_sizes(runs, instances)
    error = (
        max(within, 0.0) / runs
        + max(across, 0.0) * sizes.sum_of_squares / runs.astype(np.float64) ** 2
    )
    if spread > 0:
        correlation = 1 / np.sqrt(1 + error / spread**2)
    elif error[0] > 0:
        correlation = np.sqrt(error[-1] / error)
    else:
        return 1
    price = runs.astype(np.float64) if cost_of is None else cost_of(runs)
    gain = correlation * expected_best(1 + (budget - runs) / price)
    return int(runs[np.flatnonzero(gain >= gain.max() * (1 - TIE))[0]])


def _candidates(most: int, instances: int) -> IntArray:
    """N worth a look: all small ones, some large ones, and whole rounds, at which Σn_i²/N² has its
    kinks.
    """
    coarse = FINE * 1.04 ** np.arange(
        1, max(1, 1 + math.ceil(math.log(max(1.0, most / FINE)) / math.log(1.04)))
    )
    rounds = instances * np.arange(1, 1 + min(FINE, most // instances))
    together = np.unique(
        np.concatenate([np.arange(1, FINE + 1), coarse.astype(np.int64), rounds, [most]])
    )
    return np.asarray(together[together <= most], np.int64)


class Proposals(NamedTuple):
    """How proposals differ: what `runs_worth` takes."""

    within: float
    across: float
    spread: float


def proposals_of(
    configuration: IntArray, instance: IntArray, difference: FloatArray
) -> Proposals | None:
    """Components and spread from paired differences of challengers to one incumbent; None without
    any.

    With cost = instance's own part + configuration's part + interaction + noise of the run, the
    difference to the incumbent on the same run loses the instance's own part. What is left varies
    around u(challenger) − u(incumbent) with twice the interaction across instances and twice the
    noise within, so half of its components are those of one configuration that count.

    In a race, who gets further runs depends on the costs so far, and variances of means are biased.
    A likelihood is not: what was seen decides what is seen next. So the differences on new
    instances (all of them, if there is one instance) are taken as normal around a normal
    challenger's part, with variances σ² and spread², and the posterior means of the two are
    returned, for a flat prior on the correlation of one run with the truth. Few runs thus give
    moderate numbers rather than 0 or infinity.

    Of proposals whose first difference lies above the median it is only used that it does. They are
    hopeless ones, with PAR10 costs far out, and would make the spread so large that one run seems
    enough to tell the good ones apart.

    σ² is split by the repeats, runs of one challenger on one instance: `within` is half their
    variance, drawn towards σ²/2 by the weight of `PRIOR_REPEATS`, and `across` the rest. Without
    repeats the two cannot be separated; all is `within` then, the same for N up to K, and beyond
    it lets repeats be made that tell.

    Parameters
    ----------
    configuration, instance, difference
        One entry per run that challenger and incumbent both have, in the order of time; the first
        two are any numbers.
    """
    if difference.size == 0:
        return None
    _, first, configuration = np.unique(configuration, return_index=True, return_inverse=True)
    _, instance = np.unique(instance, return_inverse=True)
    single = int(instance.max()) == 0
    cells, new, cell = np.unique(
        np.stack([configuration, instance]), axis=1, return_index=True, return_inverse=True
    )
    kept = np.arange(difference.size) if single else np.sort(new)
    middle = float(np.median(difference[first]))
    better = difference[first] <= middle
    groups = _groups(configuration[kept], difference[kept] - middle, better)
    posterior = _posterior(groups, int((~better).sum()))
    if posterior is None:
        return Proposals(0.0, 0.0, 0.0)
    noise, spread = posterior
    if single:
        return Proposals(noise / 2, 0.0, spread)
    means = np.bincount(cell, difference) / np.bincount(cell)
    repeats = difference.size - cells.shape[1]
    squares = float(((difference - means[cell]) ** 2).sum())
    within = min(noise, (squares + PRIOR_REPEATS * noise) / (repeats + PRIOR_REPEATS))
    return Proposals(within / 2, (noise - within) / 2, spread)


class _Groups(NamedTuple):
    """Sums over the challengers with equally many runs, arrays over their numbers of runs n."""

    runs: FloatArray
    challengers: FloatArray
    mean: FloatArray
    mean_squares: FloatArray
    deviations: FloatArray


def _groups(configuration: IntArray, difference: FloatArray, better: BoolArray) -> _Groups:
    runs = np.bincount(configuration)
    mean = np.bincount(configuration, difference) / runs
    deviations = np.bincount(configuration, (difference - mean[configuration]) ** 2)
    sizes, group = np.unique(runs[better], return_inverse=True)
    challengers = np.bincount(group).astype(np.float64)
    centre = np.bincount(group, mean[better]) / challengers
    return _Groups(
        sizes.astype(np.float64),
        challengers,
        centre,
        np.bincount(group, (mean[better] - centre[group]) ** 2).astype(np.float64),
        np.bincount(group, deviations[better]).astype(np.float64),
    )


def _posterior(groups: _Groups, above: int) -> tuple[float, float] | None:
    """Posterior means of σ² and of spread (its root mean square), None if nothing differs; `above`
    lie above 0.
    """
    # On a grid of correlation t = √(spread²/(spread² + σ²)), scale T = √(spread² + σ²) and place
    # of the median, drawn together twice around what is likely.
    freedom = groups.challengers.sum() + (groups.challengers * (groups.runs - 1)).sum()
    square = float(
        (groups.mean_squares + groups.challengers * groups.mean**2 + groups.deviations).sum()
        / freedom
    )
    if square == 0:
        return None
    limits = [(0.02, 0.9995), (-2.0, 2.0), (0.5 * math.log(square) - 2, 0.5 * math.log(square) + 2)]
    for _ in range(3):
        t, z, log_scale = (np.linspace(low, high, 15) for low, high in limits)
        axes = np.ix_(t, z, log_scale)
        scale = np.exp(axes[2])
        likely = above * log_ndtr(axes[1]) + np.zeros((t.size, z.size, log_scale.size))
        for n, challengers, mean, mean_squares, deviations in zip(*groups, strict=True):
            noise = scale**2 * (1 - axes[0] ** 2)
            total = noise + n * (scale * axes[0]) ** 2
            around = mean_squares + challengers * (mean - axes[1] * scale) ** 2
            likely -= 0.5 * challengers * ((n - 1) * np.log(noise) + np.log(total))
            likely -= 0.5 * (deviations / noise + n * around / total)
        # Less their maximum: the likelihoods themselves would be 0.
        weight = np.exp(likely - likely.max())
        weight /= weight.sum()
        for axis, values in enumerate((t, z, log_scale)):
            along = weight.sum(axis=tuple(other for other in range(3) if other != axis))
            inside = np.flatnonzero(along > UNLIKELY)
            limits[axis] = (
                float(values[max(0, inside[0] - 1)]),
                float(values[min(values.size - 1, inside[-1] + 1)]),
            )
    spread = math.sqrt(float((weight * (scale * axes[0]) ** 2).sum()))
    return float((weight * scale**2 * (1 - axes[0] ** 2)).sum()), spread
