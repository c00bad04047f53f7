"""What a search learns from its runs, and the configurations it proposes.

The model is a Gaussian process on the parameters. The cost of a configuration is taken for a sum of
one effect per parameter and one effect of all parameters together. Each part has a variance of its
own, estimated by maximum likelihood: most parameters hardly matter, and their variance goes to 0.

It learns from the fourth root of costs. Ranks forget how expensive rare timeouts are, and costs
themselves know of little else. Where costs can be negative, it learns from normal scores of ranks.

A proposal is the best of some hundred promising points by one sample from the model (Thompson
sampling): the more the model knows, the closer it keeps to what is good.
"""

import math
from contextlib import AbstractContextManager
from functools import cache
from itertools import islice
from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.special import ndtri
from threadpoolctl import ThreadpoolController

from truecost.arrays import BoolArray, FloatArray, IntArray
from truecost.campaigns.grid import Grid, Place
from truecost.campaigns.tried import RunTable, Tried
from truecost.space.space import ATTEMPTS, Configuration, Space

# How far the effect of a number reaches, in ranges; how fast the common effect fades with distance.
REACH, FADING = 0.4, 3.0
# Steps towards the most likely variances; at some of them, the common effect takes over how much
# each parameter has turned out to matter.
STEPS, RELEARNT = 20, (0, 5, 10)
# Parameters with a smaller share of the variance are left out of predictions.
NEGLIGIBLE = 2e-3
# What the model learns from: this power of costs.
MODEL_POWER = 0.25
# Rankings of few runs use this one, and shrink means as so many more average runs would.
RANKING_POWER, SHRINK = 0.5, 2.0
# Sweeps of alternating least squares.
SWEEPS = 20
JITTER = 1e-6  # keeps matrices regular

# The smallest and largest number of configurations to learn from.
LEAST_LEARNT, MOST_LEARNT = 12, 250
# Points the model looks at, half of them neighbours of the best; samples are of the most promising.
CANDIDATES, PROMISING = 600, 100
# The share of the model's uncertainty in a sample: with many parameters, all of it would drown what
# is known.
TEMPER = 0.5
# Proposals made at a time: by the model, and of each other kind.
MODEL_BATCH, BATCH = 40, 32
# How many batches are drawn in search of something new, before a random configuration stands in.
BATCHES = {"model": 1, "neighbour": 6}
# The model learns again when there are this many times the runs.
GROWTH = 1.15

# Random proposals keep the whole space open: this share, and EARLY_SHARE more at first, less and
# less as the budget is spent. Of the others, MODEL_SHARE are the model's and the rest neighbours of
# the best; as long as nothing is better than the default, most of that rest is random, too.
RANDOM_SHARE, EARLY_SHARE, MODEL_SHARE, DEFAULT_LEADS_SHARE = 0.1, 0.2, 0.5, 0.7
# Neighbours: when the share x of the budget is spent, numbers move by a normal distribution of
# WIDEST · NARROWING^x of their range, at least NARROWEST; categories stay with probability
# STAY + STAY_MORE · x. irace narrows in the same way (López-Ibáñez et al. 2016, section 2.2).
WIDEST, NARROWING, NARROWEST = 0.5, 0.1, 0.02
STAY, STAY_MORE = 0.3, 0.65


def effects(
    runs: RunTable, configurations: int, *, power: float = MODEL_POWER, shrink: float = 0.0
) -> FloatArray:
    """(configurations,): how costly each is on the scale of cost^power, adjusted for its columns.

    A configuration that came further in a race met other instances, so effects of configurations
    and columns are fitted together, by least squares. `shrink` pulls both towards the mean as that
    many further average runs would.
    """
    owner = runs.place
    _, column = np.unique(runs.column, return_inverse=True)
    if runs.cost.min(initial=0.0) >= 0:
        scores = runs.cost**power
    else:
        _, place, ties = np.unique(runs.cost, return_inverse=True, return_counts=True)
        scores = ndtri(((ties.cumsum() - ties / 2) / ties.sum())[place])
    scores = (scores - scores.mean()) / (float(scores.std()) or 1.0)
    per_owner = np.maximum(np.bincount(owner, minlength=configurations) + shrink, 1e-9)
    per_column = np.bincount(column) + shrink / 2
    effect = np.zeros(configurations)
    for _ in range(SWEEPS):
        shared = np.bincount(column, scores - effect[owner]) / per_column
        effect = np.bincount(owner, scores - shared[column], minlength=configurations) / per_owner
    return np.asarray(effect)


def promising(tried: Tried, grid: Grid, number: int) -> list[Place]:
    """The best with fewer runs than the incumbent, by all runs so far, however few.

    Their means are adjusted for difficult instances and shrunk, on a scale of roots.
    """
    runs = tried.table()
    by_instance = RunTable(runs.place, runs.column // grid.runs, runs.cost)
    effect = effects(by_instance, len(tried.costs), power=RANKING_POWER, shrink=SHRINK)
    most = tried.count(tried.incumbent)
    ranked = (Place(place) for place in np.argsort(effect, kind="stable").tolist())
    chosen = (place for place in ranked if 0 < tried.count(place) < most and not tried.out[place])
    return list(islice(chosen, number))


class Surrogate:
    """The Gaussian process.

    Parameters
    ----------
    points, costs, runs
        (n, parameters), (n,), (n,): configurations (`truecost.space.points`), how costly they are,
        from how many runs.
    categorical
        (parameters,): which coordinates have no order.
    """

    def __init__(
        self, points: FloatArray, costs: FloatArray, runs: IntArray, categorical: BoolArray
    ) -> None:
        size, upper = len(points), np.triu_indices(len(points))
        # All matrices are symmetric: of each the upper triangle, as a row.
        likeness = _likeness(points, points, categorical)[:, upper[0], upper[1]]
        # A parameter that is the same everywhere has no visible effect.
        self._varied = np.flatnonzero(likeness.min(axis=1, initial=1.0) < 1 - 1e-9)
        self._points, self._categorical = points, categorical
        likeness, noise = likeness[self._varied], 1.0 / runs
        twice = np.where(upper[0] == upper[1], 1.0, 2.0)
        centre = float(np.average(costs, weights=runs / (runs + 1.0)))
        standardised = (costs - centre) / (float(costs.std()) or 1.0)
        matrix = np.empty((size, size))
        # Variances: of each parameter's effect, of the common one, of what no point explains, and
        # of one run. At first half of it all is the parameters', in equal parts.
        self._variances = np.full(len(likeness), 0.5 / max(len(likeness), 1))
        self._common, rest, run = 0.2, 0.05, 0.25
        for step in range(STEPS + 1):
            if step == STEPS:
                # Predictions would take a third of the time with those that hardly matter.
                kept = self._variances > NEGLIGIBLE * self._variances.sum()
                self._varied, self._variances = self._varied[kept], self._variances[kept]
                likeness = likeness[kept]
            if step in (*RELEARNT, STEPS):
                self._shares = self._variances / max(float(self._variances.sum()), 1e-12)
                together = np.exp(FADING * (self._shares @ likeness - 1))
            matrix[upper] = self._variances @ likeness + self._common * together
            matrix.T[upper] = matrix[upper]
            matrix[np.diag_indices(size)] += rest + run * noise + JITTER
            if step == STEPS:
                break
            # Minorisation (Zhou, Hu, Zhou and Lange 2019): every step raises the likelihood.
            inverse = np.linalg.inv(matrix)
            weights, diagonal = inverse @ standardised, np.diag(inverse)
            outer = weights[upper[0]] * weights[upper[1]] * twice
            curvature = inverse[upper] * twice
            both = likeness @ np.stack([outer, curvature], axis=1)
            self._variances = self._variances * np.sqrt(np.maximum(both[:, 0], 0.0) / both[:, 1])
            self._common *= math.sqrt(max(float(together @ outer), 0.0) / (together @ curvature))
            rest = max(rest * math.sqrt(float(weights @ weights) / float(diagonal.sum())), 1e-4)
            run = max(run * math.sqrt(float(weights**2 @ noise) / float(diagonal @ noise)), 1e-3)
        self._factor = cho_factor(matrix, lower=True)
        self._weights = cho_solve(self._factor, standardised)

    def mean(self, points: FloatArray) -> FloatArray:
        """(n,): the expected costs at points, standardised."""
        return np.asarray(self._covariance(points, self._points) @ self._weights)

    def promise(self, points: FloatArray) -> FloatArray:
        """(n,): expected cost less its standard deviation; low values promise most."""
        towards = self._covariance(points, self._points)
        explained = (towards.T * cho_solve(self._factor, towards.T)).sum(axis=0)
        variance = self._variances.sum() + self._common - explained
        return np.asarray(towards @ self._weights - np.sqrt(np.maximum(variance, 0.0)))

    def sample(
        self, points: FloatArray, number: int, rng: np.random.Generator, *, temper: float
    ) -> FloatArray:
        """(number, n): possible costs at points; `temper` scales how much they deviate from the
        mean.
        """
        towards = self._covariance(points, self._points)
        spread = self._covariance(points, points) - towards @ cho_solve(self._factor, towards.T)
        spread[np.diag_indices(len(points))] += JITTER
        draws = rng.standard_normal((number, len(points))) @ np.linalg.cholesky(spread).T
        return np.asarray(towards @ self._weights + temper * draws)

    def _covariance(self, points: FloatArray, others: FloatArray) -> FloatArray:
        varied = self._varied
        likeness = _likeness(points[:, varied], others[:, varied], self._categorical[varied])
        flat = likeness.reshape(len(likeness), len(points) * len(others))
        shape = len(points), len(others)
        together = np.exp(FADING * ((self._shares @ flat).reshape(shape) - 1))
        return np.asarray((self._variances @ flat).reshape(shape) + self._common * together)


def _likeness(points: FloatArray, others: FloatArray, categorical: BoolArray) -> FloatArray:
    """(parameters, n, m): how alike a parameter's effects at two points are, from 0 to 1; 0 where
    it is inactive at one of them only.
    """
    missing, absent = np.isnan(points), np.isnan(others)
    likeness = np.empty((points.shape[1], len(points), len(others)))
    for column, part in enumerate(likeness):
        apart = np.nan_to_num(points[:, column])[:, np.newaxis] - np.nan_to_num(others[:, column])
        part[:] = apart == 0 if categorical[column] else np.exp(-0.5 * (apart / REACH) ** 2)
        if missing[:, column].any() or absent[:, column].any():
            one, other = missing[:, column][:, np.newaxis], absent[:, column]
            part[one & other] = 1.0
            part[one ^ other] = 0.0
    return likeness


def learn(tried: Tried, categorical: BoolArray) -> Surrogate | None:
    """A model of all runs; None while they are too few, or all configurations look the same."""
    runs = tried.table()
    made = np.bincount(runs.place, minlength=len(tried.configurations))
    places = np.flatnonzero(made)
    if places.size < LEAST_LEARNT:
        return None
    cost = effects(runs, len(made))
    if np.ptp(cost[places]) == 0:
        return None
    if places.size > MOST_LEARNT:
        # The better half of what the model can take, and of the others an even sample.
        ranked = places[np.argsort(cost[places], kind="stable")]
        half = MOST_LEARNT // 2
        others = np.linspace(half, places.size - 1, MOST_LEARNT - half).astype(np.int64)
        places = ranked[np.concatenate([np.arange(half), others])]
    points = np.stack([tried.points[place] for place in places.tolist()])
    with _one_thread():
        return Surrogate(points, cost[places], made[places], categorical)


@cache
def _libraries() -> ThreadpoolController:
    """The libraries with threads, looked for once: numpy's and scipy's are loaded by now."""
    return ThreadpoolController()


def _one_thread() -> AbstractContextManager[object]:
    """Keep BLAS to one thread: more would spin on cores that solvers are measured on."""
    limited: AbstractContextManager[object] = _libraries().limit(limits=1, user_api="blas")
    return limited


class Proposal(NamedTuple):
    """A configuration, where it came from, and its point."""

    configuration: Configuration
    origin: str
    point: FloatArray


class Proposer:
    """Proposals in batches, made anew when there is more to learn from.

    Parameters
    ----------
    seed
        Every draw is from a generator made of it and the number of events so far.
    """

    def __init__(self, space: Space, seed: int) -> None:
        self._space, self._seed = space, seed
        self._model: Surrogate | None = None
        # How many runs there were when the model was made; and that with the incumbent when the
        # batches were.
        self._learnt_at, self._drawn_at = 0, (0, -1)
        self._batches: dict[str, list[Proposal]] = {}

    def propose(
        self, tried: Tried, *, events: int, spent: float, default_leads: bool
    ) -> Proposal | None:
        """A configuration that was not tried; None if none was found.

        Parameters
        ----------
        events
            The number of events so far.
        spent
            The share of the budget that is spent: the larger, the closer to the best are proposals.
        default_leads
            Whether nothing better than the default is known.
        """
        rng = np.random.default_rng([self._seed, events])
        self._learn(tried)
        chance, source = rng.random(2)
        random = RANDOM_SHARE + EARLY_SHARE * (1 - spent)
        kinds = ["random"]
        elsewhere = max(DEFAULT_LEADS_SHARE, random) if default_leads else random
        if chance >= elsewhere and tried.parents():
            kinds.insert(0, "neighbour")
        if chance >= random and source < MODEL_SHARE and self._model is not None:
            kinds.insert(0, "model")
        for kind in kinds:
            # A space that is nearly exhausted has hardly anything new near the best.
            for _ in range(ATTEMPTS // BATCH if kind == "random" else BATCHES[kind]):
                batch = self._batches.get(kind) or self._draw(kind, tried, spent, rng)
                self._batches[kind] = batch
                while batch:
                    proposal = batch.pop()
                    if proposal.configuration.name not in tried.names:
                        return proposal
        return None

    def _learn(self, tried: Tried) -> None:
        """Learn again, and drop batches, where there is something new."""
        if tried.made > self._learnt_at * GROWTH:
            self._learnt_at = tried.made
            self._model = learn(tried, self._space.points.categorical)
        drawn_at = (self._learnt_at, int(tried.incumbent))
        if drawn_at != self._drawn_at:
            self._drawn_at = drawn_at
            self._batches.clear()

    def _draw(
        self, kind: str, tried: Tried, spent: float, rng: np.random.Generator
    ) -> list[Proposal]:
        """A batch of configurations, to be taken from its end."""
        if kind == "model":
            points = self._sampled(tried, spent, rng)
        elif kind == "neighbour":
            points = self._around(tried, BATCH, spent, rng)
        else:
            points = self._random(BATCH, rng)
        configurations = self._space.at(points)
        return [
            Proposal(configuration, kind, point)
            for configuration, point in zip(configurations, points, strict=True)
        ]

    def _sampled(self, tried: Tried, spent: float, rng: np.random.Generator) -> FloatArray:
        """The best of many points by samples of the model, the best of all samples last."""
        near = self._around(tried, CANDIDATES // 2, spent, rng)
        points = np.concatenate([near, self._random(CANDIDATES - len(near), rng)])
        if self._model is None or not len(points):
            return points[:0]
        with _one_thread():
            points = points[np.argsort(self._model.promise(points), kind="stable")[:PROMISING]]
            number = min(MODEL_BATCH, len(points))
            samples = self._model.sample(points, number, rng, temper=TEMPER)
        taken: list[int] = []
        for sample in samples:
            order = np.argsort(sample, kind="stable").tolist()
            taken.append(next(place for place in order if place not in taken))
        return np.asarray(points[taken[::-1]])

    def _random(self, number: int, rng: np.random.Generator) -> FloatArray:
        """Random points, forbidden ones left out."""
        points = self._space.points
        drawn = points.from_uniforms(rng.random((number, points.dimensions)))
        return np.asarray(drawn[points.allowed(drawn)])

    def _around(
        self, tried: Tried, number: int, spent: float, rng: np.random.Generator
    ) -> FloatArray:
        """Points near the best; each of these is taken half as often as the one before it."""
        parents, points = tried.parents(), self._space.points
        if not parents:
            return np.empty((0, points.dimensions))
        chosen = np.minimum(rng.geometric(0.5, number), len(parents)) - 1
        centres = np.stack([tried.points[place] for place in parents])[chosen]
        spread = max(NARROWEST, WIDEST * NARROWING**spent)
        drawn = points.around(centres, rng, spread=spread, keep=STAY + STAY_MORE * spent)
        return np.asarray(drawn[points.allowed(drawn)])
