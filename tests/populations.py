"""Made-up instances and configurations of which every true value is a finite sum: what coverage
counts are made with.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Population:
    """Kinds of instances with their chances; on each kind two configurations draw their costs from
    the same few values.

    `first` and `second` hold the chances of the values, (kinds, values).
    """

    name: str
    values: FloatArray
    kinds: FloatArray
    first: FloatArray
    second: FloatArray

    def draw(
        self,
        rng: np.random.Generator,
        sets: int,
        instances: int,
        runs: int,
        *,
        uneven: bool = False,
    ) -> list[FloatArray]:
        """Costs of the first and of the second, (sets, instances, runs); uneven ones miss some, and
        have one at least.
        """
        kinds = rng.choice(len(self.kinds), p=self.kinds, size=(sets, instances))
        costs = []
        for chances in (self.first, self.second):
            draws, where = (
                rng.random((sets, instances, runs)),
                np.zeros((sets, instances, runs), np.int64),
            )
            for step in chances.cumsum(axis=1).T[:-1]:
                where += draws > step[kinds][..., np.newaxis]
            drawn = self.values[where]
            if uneven:
                there = np.arange(runs) < rng.integers(1, runs + 1, size=(sets, instances, 1))
                drawn = np.where(there, drawn, np.nan)
            costs.append(drawn)
        return costs

    def share_within(self, limit: float) -> float:
        """The chance that the first costs at most so much."""
        return float(self.kinds @ self.first[:, self.values <= limit].sum(axis=1))

    def quantile(self, share: float) -> float:
        """Of the first."""
        return float(
            self.values[np.searchsorted((self.kinds @ self.first).cumsum(), share - 1e-12)]
        )

    def wins(self) -> float:
        """The chance that the first costs less, ties half."""
        score = (self.values[:, np.newaxis] < self.values) + 0.5 * (
            self.values[:, np.newaxis] == self.values
        )
        return float(self.kinds @ np.einsum("ki,ij,kj->k", self.first, score, self.second))

    def speed_up(self, share: float) -> float:
        """A quantile of second over first."""
        ratios = (self.values / self.values[:, np.newaxis]).ravel()
        chances = np.einsum("k,ki,kj->ij", self.kinds, self.first, self.second).ravel()
        order = ratios.argsort()
        return float(ratios[order][np.searchsorted(chances[order].cumsum(), share - 1e-12)])

    def means(self) -> tuple[float, float]:
        """The true costs of both."""
        return float(self.kinds @ self.first @ self.values), float(
            self.kinds @ self.second @ self.values
        )


SECONDS = np.array([0.125, 0.5, 1.0, 2.0, 8.0, 50.0])
POPULATIONS = [
    Population(
        name="rare huge costs",
        values=SECONDS,
        kinds=np.array([0.7, 0.27, 0.03]),
        first=np.array(
            [[0.6, 0.3, 0.1, 0, 0, 0], [0.1, 0.2, 0.4, 0.2, 0.1, 0], [0, 0, 0, 0, 0.1, 0.9]]
        ),
        second=np.array(
            [[0.1, 0.3, 0.5, 0.1, 0, 0], [0, 0.2, 0.3, 0.3, 0.2, 0], [0, 0, 0, 0.2, 0.4, 0.4]]
        ),
    ),
    Population(
        name="instances decide all",
        values=SECONDS,
        kinds=np.array([0.5, 0.2, 0.3]),
        first=np.array([[1, 0, 0, 0, 0, 0], [0, 0, 0, 1, 0, 0], [0, 0, 0, 0, 0, 1.0]]),
        second=np.array([[0, 1, 0, 0, 0, 0], [0, 0, 1, 0, 0, 0], [0, 0, 0, 0, 0, 1.0]]),
    ),
    Population(
        name="mostly ties",
        values=SECONDS,
        kinds=np.array([0.9, 0.1]),
        first=np.array([[0.95, 0.05, 0, 0, 0, 0], [0.5, 0, 0, 0, 0, 0.5]]),
        second=np.array([[1, 0, 0, 0, 0, 0], [0, 0, 0, 0.5, 0.5, 0]]),
    ),
    Population(
        name="all solved",
        values=SECONDS,
        kinds=np.array([1.0]),
        first=np.array([[0.5, 0.5, 0, 0, 0, 0]]),
        second=np.array([[0.2, 0.4, 0.2, 0.1, 0.1, 0]]),
    ),
    Population(
        name="none solved",
        values=SECONDS,
        kinds=np.array([1.0]),
        first=np.array([[0, 0, 0, 0, 0, 1.0]]),
        second=np.array([[0, 0, 0, 0, 0, 1.0]]),
    ),
]
