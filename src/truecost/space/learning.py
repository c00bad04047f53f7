"""What a search learns from its runs: a model of the costs, and the configurations that it offers
to be tried.

The model (`truecost.race.surrogate`) looks at hundreds of random configurations and neighbours of
the best. An offer is the best of them by one sample of what the model knows (Thompson sampling):
the surer it is, the more it keeps to what it found.
"""

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from threadpoolctl import ThreadpoolController

from truecost.arrays import FloatArray, IntArray
from truecost.race.surrogate import Surrogate, effects_of
from truecost.space.points import Coordinates
from truecost.space.propose import nearness
from truecost.space.space import Configuration, Space

# The least and largest number of configurations a model learns from; the candidates it looks at,
# half of them neighbours; it samples the effects of the most promising.
FIRST, MOST = 12, 250
CANDIDATES, PROMISING = 600, 100
# How much of what is not known enters a sample: in many dimensions all of it would drown what is.
TEMPER = 0.5
# Proposals sampled at once.
BATCH = 40
# What samples are drawn from, beside the seed and the number of the first proposal.
SAMPLES = 1
# Of BLAS: more threads wait in a loop for each other, on cores that solvers are measured on.
ONE_THREAD: dict[str, Any] = {"limits": 1, "user_api": "blas"}


@cache
def _libraries() -> ThreadpoolController:
    """The libraries with threads, looked for once: numpy's and scipy's are loaded by now."""
    return ThreadpoolController()


class Learner:
    """A model of the costs, and what it promises."""

    def __init__(self, space: Space) -> None:
        self._points = Coordinates(space)
        self._model: Surrogate | None = None

    def learn(
        self,
        configurations: Sequence[Configuration],
        rows: IntArray,
        cells: IntArray,
        costs: FloatArray,
    ) -> bool:
        """From runs, each of a configuration in a cell; whether they say anything."""
        runs = np.bincount(rows, minlength=len(configurations))
        self._model, tried = None, np.flatnonzero(runs)
        if tried.size < FIRST:
            return False
        effects = effects_of(rows, cells, costs, len(configurations))
        if np.ptp(effects[tried]) == 0:
            return False
        if tried.size > MOST:
            # The better half of what it can take, and of the others an even sample.
            ranked = tried[np.argsort(effects[tried], kind="stable")]
            others = np.linspace(MOST // 2, tried.size - 1, MOST - MOST // 2).astype(np.int64)
            tried = ranked[np.concatenate([np.arange(MOST // 2), others])]
        points = self._points.of([configurations[place] for place in tried.tolist()])
        with _libraries().limit(**ONE_THREAD):
            self._model = Surrogate(points, effects[tried], runs[tried], self._points.categorical)
        return True

    def predict(self, configurations: Sequence[Configuration]) -> FloatArray:
        """The effects of configurations by the model, which must have learnt something."""
        if self._model is None:
            return np.zeros(len(configurations))
        return self._model.mean(self._points.of(configurations))

    def offers(
        self, parents: Sequence[Configuration], spent: float, rng: np.random.Generator
    ) -> list[Configuration]:
        """What to try, the best of several candidates each; nothing before there is a model."""
        if self._model is None or not parents:
            return []
        chosen = np.minimum(rng.geometric(0.5, CANDIDATES // 2), len(parents)) - 1
        near = self._points.of(parents)[chosen]
        spread, keep = (np.full(len(near), share) for share in nearness(spent))
        around = self._points.around(near, rng, spread=spread, keep=keep)
        points = np.concatenate([around, self._points.random(CANDIDATES - len(near), rng)])
        with _libraries().limit(**ONE_THREAD):
            points = points[np.argsort(self._model.promise(points), kind="stable")[:PROMISING]]
            samples = self._model.sampled(points, min(BATCH, len(points)), rng, temper=TEMPER)
        taken: list[int] = []
        for sample in samples:
            order = np.argsort(sample, kind="stable").tolist()
            taken.append(next(place for place in order if place not in taken))
        return [self._points.configuration(points[place]) for place in taken]
