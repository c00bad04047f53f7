"""What the runs show by themselves, without a guarantee: who is best, what it costs, how noisy that
is.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from truecost.judge import statements
from truecost.judge.costs import Costs, costs_of
from truecost.judge.evidence import Question, fixed_before, incumbent_of
from truecost.judge.noise import Heaviest, Noise, Spread, heaviest_of, noise_of, spread_of
from truecost.judge.optimism import Optimism, OverTuning, correction, optimism_of, over_tuning_of
from truecost.matrix import CostMatrix
from truecost.matrix.imported import Import
from truecost.runs import NO_STATUS, Status, Trajectory
from truecost.stats.utility import Utility

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Estimates:
    """Of a set of runs; each is computed when first asked for. Attributes as in `Assessment`."""

    log: Import
    asked: Question
    test: CostMatrix | None

    def __post_init__(self) -> None:
        if self.log.utility is not None:
            Utility.parse(self.log.utility)
        statements.check_names(self.matrix, self.asked.default)
        if self.asked.configuration is not None:
            statements.check_names(self.matrix, self.asked.configuration)
            statements.check_has_runs(self.matrix, self.asked.configuration)
        if self.asked.chosen == "before":
            fixed_before(self.matrix, self.asked.configuration)

    @property
    def matrix(self) -> CostMatrix:
        """The runs that were there when the configuration was chosen."""
        return self.log.matrix

    @property
    def trajectory(self) -> Trajectory:
        """Where the configurations come from."""
        return self.log.trajectory

    @cached_property
    def costs(self) -> Costs:
        """Training costs of all configurations."""
        return costs_of(self.matrix)

    @cached_property
    def incumbent(self) -> str:
        """The configuration that was chosen: as asked, else the log's, else the one with the least
        training cost.
        """
        return self.asked.configuration or incumbent_of(self.matrix, self.trajectory)

    @cached_property
    def default(self) -> str | None:
        """What it should be better than, where known."""
        known = (
            self.trajectory.default
            if self.trajectory.default in self.matrix.configurations
            else None
        )
        return self.asked.default or known

    @cached_property
    def own(self) -> int:
        """The place of the incumbent."""
        return self.matrix.configurations.index(self.incumbent)

    @property
    def adaptive(self) -> bool:
        """Whether configurations were made from costs on these instances."""
        return self.trajectory.proposed == "adaptively"

    @cached_property
    def fresh(self) -> CostMatrix | None:
        """The test runs on instances that training has not seen; None without any."""
        used = set(self.matrix.instances)
        new = (
            []
            if self.test is None
            else [instance for instance in self.test.instances if instance not in used]
        )
        return self.test.select(instances=new) if self.test is not None and new else None

    @cached_property
    def tested(self) -> Mapping[str, float]:
        """Mean costs on test instances that training has not seen, of those that have runs there."""
        if self.fresh is None:
            return {}
        means = zip(self.fresh.configurations, costs_of(self.fresh).training.tolist(), strict=True)
        return {name: cost for name, cost in means if math.isfinite(cost)}

    def true_cost(self, name: str) -> float:
        """The estimate of a configuration's true cost; NaN is unknown."""
        if name in self.tested:
            return self.tested[name]
        training = float(self.costs.training[self.matrix.configurations.index(name)])
        if name == self.incumbent:
            return self.optimism.true_cost
        if name == self.default:
            # It was there before any cost was seen: nothing was chosen by these.
            return training
        if self.adaptive:
            return math.nan
        place = self.matrix.configurations.index(name)
        return training + correction(self.costs.compared, place, self.optimism.selection_error)

    @cached_property
    def optimism(self) -> Optimism:
        """What the incumbent's training cost hides."""
        return optimism_of(
            self.costs,
            self.own,
            self.tested.get(self.incumbent, math.nan),
            adaptive=self.adaptive and self.incumbent != self.trajectory.default,
            splits=self.asked.splits,
            rng=self.asked.rng(3),
        )

    @cached_property
    def heaviest(self) -> Heaviest | None:
        """The instance that makes up most of the incumbent's mean cost, where one does: on test
        runs if it has some.
        """
        if self.fresh is not None and self.incumbent in self.tested:
            return heaviest_of(self.fresh, self.incumbent, "test")
        return heaviest_of(self.matrix, self.incumbent, "training")

    @cached_property
    def over_tuning(self) -> OverTuning:
        """Whether the search went past something better."""
        names = self.matrix.configurations
        return over_tuning_of(self.costs, names, self.incumbent, self.trajectory, self.tested)

    @cached_property
    def noise(self) -> Noise:
        """Where the noise in the incumbent's training cost comes from."""
        return noise_of(self.matrix, self.costs, self.own)

    @cached_property
    def spread(self) -> Spread:
        """How the incumbent's runs were spread."""
        return spread_of(self.matrix, self.costs, self.own)

    @cached_property
    def failed(self) -> FloatArray:
        """The share of each configuration's runs that failed; censored ones have not. See
        `failed_by_cost`.
        """
        statuses = self.matrix.statuses
        if self.failed_by_cost or statuses is None:
            ended = self.matrix.costs >= self.matrix.high
        else:
            ended = ~np.isin(statuses, (NO_STATUS, Status.SOLVED, Status.CENSORED))
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(ended.sum(axis=(1, 2)) / self.costs.runs)

    @cached_property
    def censored(self) -> NDArray[np.int64]:
        """How many runs of each configuration were stopped at a cap."""
        return np.asarray(self.matrix.censored.sum(axis=(1, 2)))

    @property
    def failed_by_cost(self) -> bool:
        """Whether no status is known, and who has the highest cost counts as failed."""
        statuses = self.matrix.statuses
        return statuses is None or bool((statuses == NO_STATUS).all())

    @property
    def failed_known(self) -> bool:
        """Whether statuses, or the highest possible cost, tell which runs failed."""
        return not self.failed_by_cost or math.isfinite(self.matrix.high)
