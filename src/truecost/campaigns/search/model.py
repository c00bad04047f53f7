"""The model of a search, and the configurations it proposes.

The model is a Gaussian process. The cost of a configuration is a sum of one effect per parameter
and one effect of all parameters together. Each effect has a variance of its own, estimated by
maximum likelihood: most parameters hardly matter, and their variance goes to 0.

It is fitted to the fourth root of costs. Ranks ignore how expensive rare timeouts are, and plain
costs are dominated by them. Where costs can be negative, it is fitted to normal scores of ranks.

A proposal is the best of some hundred promising points by one sample from the model (Thompson
sampling): the more the model knows, the closer the proposals are to the best.
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
from truecost.campaigns.search.grid import ConfigId, Grid
from truecost.campaigns.search.history import History, RunTable
from truecost.space.space import ATTEMPTS, Configuration, Space

# How far the effect of a number reaches, in ranges; how fast the common effect fades with distance.
REACH, FADING = 0.4, 3.0
# Steps towards the most likely variances; at some of them, the common effect weighs parameters by
# their variances so far.
STEPS, REWEIGHED = 20, (0, 5, 10)
# Parameters with a smaller share of the variance are left out of predictions.
NEGLIGIBLE = 2e-3
# The model is fitted to this power of costs.
MODEL_POWER = 0.25
# Rankings of few runs use this power, and shrink means as this many more average runs would.
RANKING_POWER, SHRINK = 0.5, 2.0
# Sweeps of alternating least squares.
SWEEPS = 20
JITTER = 1e-6  # keeps matrices regular

# The smallest and largest number of configurations to fit the model to.
LEAST_FITTED, MOST_FITTED = 12, 250
# Points that the model predicts, half of them neighbours of the best; it samples the promising.
CANDIDATES, PROMISING = 600, 100
# The share of the model's uncertainty in a sample: with many parameters, all of it would outweigh
# the predicted differences.
TEMPER = 0.5
# Proposals made at a time: by the model, and of each other kind.
MODEL_BATCH, BATCH = 40, 32
# How many batches are drawn in search of something new, before a random configuration stands in.
BATCHES = {"model": 1, "neighbour": 6}
# The model is fitted again when there are this many times the runs.
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
    """(configurations,): the effect of each on cost^power, adjusted for its columns.

    A configuration that survived longer was run on more instances, so effects of configurations and
    columns are fitted together, by least squares. `shrink` pulls both towards the mean as that many
    further average runs would.
    """
    owner = runs.config_id
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


def promising(history: History, grid: Grid, number: int) -> list[ConfigId]:
    """The best configurations with fewer runs than the incumbent, however few.

    They are ranked by means of square roots, adjusted for the difficulty of instances and shrunk.
    """
    runs = history.table()
    by_instance = RunTable(runs.config_id, runs.column // grid.runs, runs.cost)
    effect = effects(by_instance, len(history.costs), power=RANKING_POWER, shrink=SHRINK)
    most = history.count(history.incumbent)
    ranked = (ConfigId(row) for row in np.argsort(effect, kind="stable").tolist())
    eligible = (
        one for one in ranked if 0 < history.count(one) < most and not history.eliminated[one]
    )
    return list(islice(eligible, number))


class Surrogate:
    """The Gaussian process.

    Parameters
    ----------
    points, costs, runs
        (n, parameters), (n,), (n,): configurations as points (`truecost.space.points`), their
        effects, and from how many runs.
    categorical
        (parameters,): which coordinates are categories.
    """

    def __init__(
        self, points: FloatArray, costs: FloatArray, runs: IntArray, categorical: BoolArray
    ) -> None:
        size, upper = len(points), np.triu_indices(len(points))
        # All matrices are symmetric: of each the upper triangle, as a row.
        similarity = _similarity(points, points, categorical)[:, upper[0], upper[1]]
        # A parameter that is the same everywhere has no visible effect.
        self._varied = np.flatnonzero(similarity.min(axis=1, initial=1.0) < 1 - 1e-9)
        self._points, self._categorical = points, categorical
        similarity, noise = similarity[self._varied], 1.0 / runs
        twice = np.where(upper[0] == upper[1], 1.0, 2.0)
        centre = float(np.average(costs, weights=runs / (runs + 1.0)))
        standardised = (costs - centre) / (float(costs.std()) or 1.0)
        matrix = np.empty((size, size))
        # Variances: of each parameter's effect, of the common one, of what no point explains, and
        # of one run. At first half of it all is the parameters', in equal parts.
        self._variances = np.full(len(similarity), 0.5 / max(len(similarity), 1))
        self._common, rest, run = 0.2, 0.05, 0.25
        for step in range(STEPS + 1):
            if step == STEPS:
                # Predictions would take a third of the time with those that hardly matter.
                kept = self._variances > NEGLIGIBLE * self._variances.sum()
                self._varied, self._variances = self._varied[kept], self._variances[kept]
                similarity = similarity[kept]
            if step in (*REWEIGHED, STEPS):
                self._shares = self._variances / max(float(self._variances.sum()), 1e-12)
                together = np.exp(FADING * (self._shares @ similarity - 1))
            matrix[upper] = self._variances @ similarity + self._common * together
            matrix.T[upper] = matrix[upper]
            matrix[np.diag_indices(size)] += rest + run * noise + JITTER
            if step == STEPS:
                break
            # Minorisation (Zhou, Hu, Zhou and Lange 2019): every step raises the likelihood.
            inverse = np.linalg.inv(matrix)
            weights, diagonal = inverse @ standardised, np.diag(inverse)
            outer = weights[upper[0]] * weights[upper[1]] * twice
            curvature = inverse[upper] * twice
            both = similarity @ np.stack([outer, curvature], axis=1)
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
        similarity = _similarity(points[:, varied], others[:, varied], self._categorical[varied])
        flat = similarity.reshape(len(similarity), len(points) * len(others))
        shape = len(points), len(others)
        together = np.exp(FADING * ((self._shares @ flat).reshape(shape) - 1))
        return np.asarray((self._variances @ flat).reshape(shape) + self._common * together)


def _similarity(points: FloatArray, others: FloatArray, categorical: BoolArray) -> FloatArray:
    """(parameters, n, m): the correlation of a parameter's effects at two points, from 0 to 1.

    It is 0 where the parameter is inactive at one of them only.
    """
    missing, absent = np.isnan(points), np.isnan(others)
    similarity = np.empty((points.shape[1], len(points), len(others)))
    for column, part in enumerate(similarity):
        apart = np.nan_to_num(points[:, column])[:, np.newaxis] - np.nan_to_num(others[:, column])
        part[:] = apart == 0 if categorical[column] else np.exp(-0.5 * (apart / REACH) ** 2)
        if missing[:, column].any() or absent[:, column].any():
            one, other = missing[:, column][:, np.newaxis], absent[:, column]
            part[one & other] = 1.0
            part[one ^ other] = 0.0
    return similarity


def fit(history: History, categorical: BoolArray) -> Surrogate | None:
    """Fit a model to all runs; None if they are too few, or all configurations cost the same."""
    runs = history.table()
    made = np.bincount(runs.config_id, minlength=len(history.configurations))
    places = np.flatnonzero(made)
    if places.size < LEAST_FITTED:
        return None
    cost = effects(runs, len(made))
    if np.ptp(cost[places]) == 0:
        return None
    if places.size > MOST_FITTED:
        # Half of them the best, the other half an even sample of the rest.
        ranked = places[np.argsort(cost[places], kind="stable")]
        half = MOST_FITTED // 2
        others = np.linspace(half, places.size - 1, MOST_FITTED - half).astype(np.int64)
        places = ranked[np.concatenate([np.arange(half), others])]
    points = np.stack([history.points[place] for place in places.tolist()])
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
    """A configuration, how it was proposed, and its point."""

    configuration: Configuration
    origin: str
    point: FloatArray


class Proposer:
    """Proposals in batches, renewed when there are more runs to learn from.

    Random generators are seeded by `seed` and the number of events so far.
    """

    def __init__(self, space: Space, seed: int) -> None:
        self._space, self._seed = space, seed
        self._model: Surrogate | None = None
        # The number of runs when the model was fitted; and the same with the incumbent when the
        # batches were drawn.
        self._fitted_at, self._drawn_at = 0, (0, -1)
        self._batches: dict[str, list[Proposal]] = {}

    def propose(
        self, history: History, *, events: int, spent: float, default_leads: bool
    ) -> Proposal | None:
        """A configuration that was not tried; None if there is none.

        Parameters
        ----------
        events
            The number of events so far.
        spent
            The share of the budget that is spent: the larger it is, the closer are proposals to the
            best configurations.
        default_leads
            Whether the incumbent is the default.
        """
        rng = np.random.default_rng([self._seed, events])
        self._refit(history)
        chance, source = rng.random(2)
        random = RANDOM_SHARE + EARLY_SHARE * (1 - spent)
        kinds = ["random"]
        elsewhere = max(DEFAULT_LEADS_SHARE, random) if default_leads else random
        if chance >= elsewhere and history.parents():
            kinds.insert(0, "neighbour")
        if chance >= random and source < MODEL_SHARE and self._model is not None:
            kinds.insert(0, "model")
        for kind in kinds:
            # In a nearly exhausted space, hardly any neighbour of the best is new.
            for _ in range(ATTEMPTS // BATCH if kind == "random" else BATCHES[kind]):
                batch = self._batches.get(kind) or self._draw(kind, history, spent, rng)
                self._batches[kind] = batch
                while batch:
                    proposal = batch.pop()
                    if proposal.configuration.name not in history.names:
                        return proposal
        return None

    def _refit(self, history: History) -> None:
        """Fit the model again, and drop batches, if there are enough new runs."""
        if history.runs > self._fitted_at * GROWTH:
            self._fitted_at = history.runs
            self._model = fit(history, self._space.points.categorical)
        drawn_at = (self._fitted_at, int(history.incumbent))
        if drawn_at != self._drawn_at:
            self._drawn_at = drawn_at
            self._batches.clear()

    def _draw(
        self, kind: str, history: History, spent: float, rng: np.random.Generator
    ) -> list[Proposal]:
        """A batch of configurations, the first one last."""
        if kind == "model":
            points = self._sampled(history, spent, rng)
        elif kind == "neighbour":
            points = self._around(history, BATCH, spent, rng)
        else:
            points = self._random(BATCH, rng)
        configurations = self._space.at(points)
        return [
            Proposal(configuration, kind, point)
            for configuration, point in zip(configurations, points, strict=True)
        ]

    def _sampled(self, history: History, spent: float, rng: np.random.Generator) -> FloatArray:
        """The best of many points by samples of the model, the best of all samples last."""
        near = self._around(history, CANDIDATES // 2, spent, rng)
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
        """Random points without forbidden ones."""
        points = self._space.points
        drawn = points.from_uniforms(rng.random((number, points.dimensions)))
        return np.asarray(drawn[points.allowed(drawn)])

    def _around(
        self, history: History, number: int, spent: float, rng: np.random.Generator
    ) -> FloatArray:
        """Points near the best configurations, of each half as many as of the one before it."""
        parents, points = history.parents(), self._space.points
        if not parents:
            return np.empty((0, points.dimensions))
        chosen = np.minimum(rng.geometric(0.5, number), len(parents)) - 1
        centres = np.stack([history.points[place] for place in parents])[chosen]
        spread = max(NARROWEST, WIDEST * NARROWING**spent)
        drawn = points.around(centres, rng, spread=spread, keep=STAY + STAY_MORE * spent)
        return np.asarray(drawn[points.allowed(drawn)])
