"""Whether a question is decided: winner against default, unit by unit in the recorded order.

It is decided when the declared statement is proven in either direction, by limits that hold at all
times: each side errs with probability δ at most. A forecast only gives up, so it costs no δ.
"""

from typing import Any

import numpy as np

from truecost.arrays import FloatArray
from truecost.judge.question import parse_margin
from truecost.stats import quantities
from truecost.stats.betting import Watch, proving_samples
from truecost.stats.ladder import OUTWARD, START, has_ladder
from truecost.stats.quantities import Numbers, Runs, Scale

# No forecast from fewer units; it gives up below this chance; and how many futures it draws.
PILOT, HOPELESS, DRAWS = 20, 0.01, 400


class Decider:
    """The declared statement about one candidate.

    Parameters
    ----------
    scale
        The range of costs, and the penalty of failed runs.
    primary, margin
        What decides: "mean" or "wins"; or whether the margin ("5%") is kept.
    delta
        The error probability of each side.
    planned
        How many units the first plan has.
    """

    def __init__(
        self, scale: Scale, primary: str, margin: str | None, delta: float, planned: int
    ) -> None:
        self.scale, self.primary = scale, primary
        self.margin = None if margin is None else parse_margin(margin)
        self.delta, self.planned = delta, planned
        self.decided = False
        self._penalties: list[float | None] = [None]
        if margin is None and primary == "mean" and scale.par is not None and has_ladder(scale):
            # Better at the declared penalty needs a proof at every step from the first one to it.
            between = (penalty for penalty in OUTWARD if penalty < scale.par)
            self._penalties = [START, *between, scale.par]
        self._watches: list[Watch] = []
        self._limits = (0.0, 1.0)
        self._values: list[float] = []
        self._declared: Numbers | None = None

    def add(self, winner: Runs, default: Runs) -> None:
        """Take in one unit: the runs of both on its instance, or on its family's."""
        limits = []
        for place, penalty in enumerate(self._penalties):
            # The last is the declared one.
            numbers = self._declared = self._numbers(winner, default, penalty)
            decide = numbers.deciding_number or 0.0
            if place == len(self._watches):
                self._watches.append(
                    Watch(
                        self.delta,
                        planned=self.planned,
                        balanced=numbers.balanced,
                        decide=decide,
                    )
                )
            value = float(np.mean(numbers.values))
            lower, upper = self._watches[place].add(value)
            limits.append((lower >= decide, upper <= decide))
        self._values.append(value)
        self._limits = (lower, upper)
        self.decided |= all(above for above, _ in limits) or all(below for _, below in limits)

    def _numbers(self, winner: Runs, default: Runs, penalty: float | None) -> Numbers:
        if self.margin is not None:
            return quantities.margin(winner, default, self.scale, self.margin)
        if self.primary == "wins":
            return quantities.wins(winner, default, self.scale)
        return quantities.difference(winner, default, self.scale, penalty)

    def progress(self) -> dict[str, Any]:
        """What is known of the declared quantity, as fields of `Progress`."""
        if (numbers := self._declared) is None:
            return {}
        lower, upper = self._limits
        return {
            "quantity": numbers.quantity,
            "estimate": numbers.value(float(np.mean(self._values))),
            "interval": (numbers.value(lower), numbers.value(upper)),
        }

    def chance(self, more: int, seed: int) -> float:
        """The chance that as many more units prove the candidate better, if they are like those so
        far.

        Pólya's urn, the predictive side of the Bayesian bootstrap (Rubin 1981), draws what comes
        next, so that a small pilot is not taken for the truth.
        """
        numbers = self._declared
        if numbers is None or more < 1:
            return 0.0
        values, value = np.array(self._values), numbers.deciding_number or 0.0
        if numbers.quantity == "difference":  # winner − default: small is good
            values, value = 1 - values, 1 - value
        rng = np.random.default_rng([seed, len(values)])
        proven = proving_samples(
            _urn(values, more, rng),
            value,
            self.delta,
            planned=self.planned,
            balanced=numbers.balanced,
        )
        return float(proven.mean())


def _urn(values: FloatArray, more: int, rng: np.random.Generator) -> FloatArray:
    """Futures, one a row: the values so far, and as many more drawn from all before them."""
    n = len(values)
    futures = np.empty((DRAWS, n + more))
    futures[:, :n] = values
    rows = np.arange(DRAWS)
    for t in range(n, n + more):
        futures[:, t] = futures[rows, rng.integers(0, t, DRAWS)]
    return futures
