"""An intensifier for SMAC3 that gives configurations as many runs as they are worth, and learns
that while configuring.

Needs SMAC3: pip install 'truecost[smac]'. docs/how-to/sizes.md has an example.
"""

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from truecost.errors import InputError
from truecost.plan.worth import Proposals, doubling_cost, proposals_of, runs_worth

try:
    from smac.callback.callback import Callback
    from smac.constants import MAXINT
    from smac.intensifier.intensifier import Intensifier
    from smac.main.smbo import SMBO
    from smac.runhistory.dataclasses import InstanceSeedKey, TrialInfo, TrialValue
    from smac.runhistory.enumerations import StatusType
    from smac.scenario import Scenario
except ModuleNotFoundError as error:
    if (error.name or "").partition(".")[0] != "smac":
        raise
    raise ImportError(
        "truecost.smac needs SMAC3, which is not installed: pip install 'truecost[smac]'."
    ) from error

# Runs on the list before anything is known: enough differences for a first variance, and dear for
# no scenario.
START = 5
# SMAC's own limit for algorithm configuration; more instances than that raise it.
MOST = 2000
# The list grows to one run in this many trials, until every instance is on it: a list of few
# instances on which all goes well would never show the rare ones on which it does not.
LOOKOUT = 50
# The plan is reconsidered whenever the number of finished trials has grown by this factor.
AGAIN = 1.2
# Runs are planned for this multiple of the trials so far, up to all of them: what is known early is
# uncertain, a list that is too long is never shortened, and where time is limited nobody knows how
# many trials there will be.
SOON = 2
# The list is at most this many times as long as the incumbent's part of it, since a wrong guess
# is never taken back.
AHEAD = 1.5


class AdaptiveIntensifier(Intensifier):
    """SMAC3's intensifier with a list of runs that grows as long as further runs are worth it.

    SMAC races challengers against the incumbent on a list of (instance, seed) pairs that it fixes
    at the start: the incumbent gets one more of them with every challenger, up to 2000. Here the
    list is S*, rounds over all instances in random order with one seed a round, so that numbers of
    runs differ by at most one between instances (Theorem 1), and its length N follows
    `truecost.plan.worth.runs_worth` with the components and the spread of the runs so far. It never
    shrinks: runs that were made keep counting.

    Give it to the facade: ``AlgorithmConfigurationFacade(scenario, target,
    intensifier=AdaptiveIntensifier(scenario))``.

    Parameters
    ----------
    scenario
        SMAC's scenario, with one objective and without budgets.
    start
        Length of the list before anything is known.
    most
        The largest length; by default 2000 or the number of instances, whatever is more. Not below
        the number of instances: SMAC would use the first ones only. With `scenario.deterministic`
        there is one seed, and the list ends with the instances.
    seed
        What seeds and orders are drawn from, by default the scenario's.
    """

    def __init__(
        self,
        scenario: Scenario,
        *,
        start: int = START,
        most: int | None = None,
        seed: int | None = None,
    ) -> None:
        if scenario.count_objectives() != 1:
            raise InputError(
                f"Expected one objective, got {scenario.count_objectives()}: several have no "
                "single cost to estimate; use SMAC's own intensifier."
            )
        if scenario.min_budget is not None or scenario.max_budget is not None:
            raise InputError(
                "Expected a scenario without budgets, got min_budget or max_budget; use SMAC's "
                "Hyperband for those."
            )
        self._instances: list[str | None] = (
            list(dict.fromkeys(scenario.instances)) if scenario.instances else [None]
        )
        number = len(self._instances)
        if most is not None and most < number:
            raise InputError(
                f"Expected most of at least the {number} instances, got {most}: the others would "
                "never be run."
            )
        if start < 1:
            raise InputError(f"Expected a start of at least 1 run, got {start}.")
        self._most = (
            number if scenario.deterministic else max(MOST, number) if most is None else most
        )
        self._start = min(start, self._most)
        super().__init__(scenario, max_config_calls=self._most, seed=seed)

    @property
    def meta(self) -> dict[str, Any]:
        """What SMAC compares to know whether a run can be continued."""
        return super().meta | {"start": self._start}

    @property
    def runs(self) -> int:
        """N, the length of the list: the most runs a configuration gets for now."""
        return self._length

    @property
    def proposals(self) -> Proposals | None:
        """`within`, `across` and `spread` the list follows; None before the runs can tell."""
        return self._proposals

    def reset(self) -> None:
        """Back to the start; SMAC calls it before it loads a run."""
        super().reset()
        self._length = self._start
        self._looked_at = 0
        self._proposals: Proposals | None = None

    def get_state(self) -> dict[str, Any]:
        """SMAC's own state, and the list: its seeds, its length, when it was last thought over, and
        from what.
        """
        return super().get_state() | {
            "seeds": self._tf_seeds,
            "length": self._length,
            "looked_at": self._looked_at,
            "proposals": self._proposals,
        }

    def set_state(self, state: dict[str, Any]) -> None:
        """The list as it was saved, so that a continued run goes on with the same."""
        super().set_state(state)
        self._tf_seeds = list(state["seeds"])
        self._length = state["length"]
        self._looked_at = state["looked_at"]
        self._proposals = None if state["proposals"] is None else Proposals(*state["proposals"])
        self._instance_seed_keys = None

    def __post_init__(self) -> None:
        """SMAC collects the seeds of runs that are there already; what they were run on becomes
        part of the list.
        """
        super().__post_init__()
        self._cover((key.instance, key.seed) for key in self.runhistory)

    def get_callback(self) -> Callback:
        """Updates the incumbent as SMAC does, then the list."""
        return _Adapting(self, super().get_callback())

    def get_instance_seed_keys_of_interest(
        self, *, validate: bool = False, seed: int | None = None
    ) -> list[InstanceSeedKey]:
        """The list. For validation: every instance, in as many rounds, with other seeds."""
        if not self._tf_instances:
            raise RuntimeError("SMAC asks for the list before its run history is there.")
        if validate:
            rounds = -(-self._length // len(self._instances))
            # Asked for with the scenario's seed, SMAC would draw those of the training again.
            fresh = self._fresh(np.random.RandomState(0 if seed is None else seed), rounds)
            return [InstanceSeedKey(instance, new) for new in fresh for instance in self._instances]
        if self._instance_seed_keys is None:
            self._instance_seed_keys = self._list()
        return self._instance_seed_keys.copy()

    def adapt(self) -> None:
        """Lengthens the list if the runs so far say so; cheap, and done after every trial."""
        finished = self.runhistory.finished
        if finished < AGAIN * self._looked_at:
            return
        self._looked_at = finished
        self._proposals = self._look()
        lookout = min(finished // LOOKOUT, len(self._instances))
        worth = 0
        if self._proposals is not None:
            worth = runs_worth(
                min(self._scenario.n_trials, SOON * finished),
                within=self._proposals.within,
                across=self._proposals.across,
                spread=self._proposals.spread,
                instances=len(self._instances),
                most=self._most,
                cost_of=doubling_cost,
            )
            # One wrong variance must not send every challenger through thousands of runs.
            incumbent = self.get_incumbent()
            had = len(self.get_instance_seed_budget_keys(incumbent)) if incumbent is not None else 0
            worth = min(worth, math.ceil(AHEAD * had))
        self._lengthen(max(worth, lookout))

    def record(self, info: TrialInfo) -> None:
        """Take up a finished run: its seed, if the user brought one, and its cost."""
        self._cover([(info.instance, info.seed)])
        self.adapt()

    def _lengthen(self, length: int) -> None:
        if length > self._length:
            self._length = length
            self._instance_seed_keys = None

    def _cover(self, runs: Iterable[tuple[str | None, int | None]]) -> None:
        """Makes the list long enough for runs that are there: an incumbent with others could never
        be challenged.
        """
        for instance, seed in runs:
            if seed is None or instance not in self._instances:
                continue
            if seed not in self._tf_seeds:
                self._tf_seeds.append(seed)
            place = self._tf_seeds.index(seed)
            if (place + 1) * len(self._instances) > self._length:
                self._lengthen(
                    place * len(self._instances) + self._order(place).index(instance) + 1
                )

    def _order(self, place: int) -> list[str | None]:
        """The instances as they come in a round: random, since files are often sorted by family or
        size.
        """
        rng = np.random.default_rng([self._seed, place])
        return [self._instances[i] for i in rng.permutation(len(self._instances))]

    def _list(self) -> list[InstanceSeedKey]:
        rounds = -(-self._length // len(self._instances))
        # SMAC's shuffle needs to know every seed.
        self._tf_seeds += self._fresh(
            np.random.RandomState(self._seed), rounds - len(self._tf_seeds)
        )
        keys = [
            InstanceSeedKey(instance, self._tf_seeds[r])
            for r in range(rounds)
            for instance in self._order(r)
        ]
        return keys[: self._length]

    def _fresh(self, rng: np.random.RandomState, number: int) -> list[int]:
        """Seeds that no round has."""
        fresh: list[int] = []
        while len(fresh) < number:
            seed = int(rng.randint(MAXINT))
            if seed not in self._tf_seeds and seed not in fresh:
                fresh.append(seed)
        return fresh

    def _look(self) -> Proposals | None:
        """What the run history says of the proposals, by their differences to the incumbent on the
        same runs.
        """
        incumbent = self.get_incumbent()
        done = [
            (key, value.cost)
            for key, value in self.runhistory.items()
            if value.status != StatusType.RUNNING and isinstance(value.cost, float)
        ]
        finite = [cost for _, cost in done if math.isfinite(cost)]
        if incumbent is None or not finite:
            return None
        # A crash that costs infinity says "as bad as any", and no variance could be computed with
        # it.
        worst = max(finite)
        reference = self.runhistory.get_config_id(incumbent)
        costs = [(key, cost if math.isfinite(cost) else worst) for key, cost in done]
        known = {
            (key.instance, key.seed): cost for key, cost in costs if key.config_id == reference
        }
        place = {instance: i for i, instance in enumerate(self._instances)}
        pairs = [
            (key.config_id, place.get(key.instance, -1), cost - known[key.instance, key.seed])
            for key, cost in costs
            if key.config_id != reference and (key.instance, key.seed) in known
        ]
        if not pairs:
            return None
        configuration, instance, difference = zip(*pairs, strict=True)
        return proposals_of(
            np.array(configuration), np.array(instance), np.array(difference, dtype=np.float64)
        )


class _Adapting(Callback):
    def __init__(self, intensifier: AdaptiveIntensifier, inner: Callback) -> None:
        super().__init__()
        self._intensifier = intensifier
        self._inner = inner

    def on_tell_end(self, smbo: SMBO, info: TrialInfo, value: TrialValue) -> bool | None:
        """The incumbent first: the list follows from differences to it."""
        answer = self._inner.on_tell_end(smbo, info, value)
        self._intensifier.record(info)
        return answer
