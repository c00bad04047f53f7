"""Certificates: "with 95 % confidence the true cost of this configuration is at most x", and what that rests on.

The limit itself is one of `truecost.stats.confidence`; here it is decided on which instances and with how much of δ. That
depends on how the configuration was chosen:

before
    It was fixed before any of these costs was seen: fresh instances. All of δ.
from-list
    It was chosen from a list of m that was fixed before any cost was seen: δ/m, the ones dropped on the way included.
on-half
    It has the least training cost on one half of the instances, drawn by a seed, and is certified on the other. All of δ.
progressive
    The t-th proposal of a search, certified only on instances nobody had used before it was proposed:
    δ_t = 6δ/(π²t²), which adds up to δ over all t.

A union over configurations that were proposed adaptively on the same instances is refused. It looks like from-list and is
not valid: each new configuration may be built to fit the very instances, and m, the number of those tried, says nothing of
the number that might have been.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from truecost.errors import InputError
from truecost.judge.selection import instance_means, training_costs
from truecost.matrix import CostMatrix
from truecost.runs import Trajectory
from truecost.stats import confidence

FloatArray = NDArray[np.float64]
Chosen = Literal["before", "from-list", "on-half", "progressive"]


ADAPTIVE = (
    "configurations were proposed from the costs of others on these same instances, which no sharing out of delta makes up "
    "for; take runs on fresh instances (--test)"
)
FIXED = confidence.ASSUMPTIONS[4]
ONE_DISTRIBUTION = confidence.ASSUMPTIONS[0]
COUNTS = confidence.ASSUMPTIONS[3]
STOPPED = (
    "the race decided only when a configuration gets no further instance: instances came in the order they have in the "
    "matrix, each with a number of runs fixed beforehand"
)


class RefusedError(InputError):
    """There is no valid statement of this kind.

    Parameters
    ----------
    reason
        Why, in lower case and without a full stop.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(f"No valid statement can be made: {reason}.")
        self.reason = reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Certificate:
    """With probability at least 1 − delta, the true cost is at most `upper`, if what it `rests_on` holds.

    Attributes
    ----------
    configuration
        Whose true cost.
    estimate
        The mean of its instance means on the instances used.
    lower, upper
        `lower` is the least cost there is, unless both sides were asked for.
    delta
        The probability with which the statement may be wrong.
    chosen
        How the configuration was chosen; see the module.
    instances
        How many decide it.
    method
        Of `truecost.stats.confidence`.
    configurations
        m, over which delta was shared out.
    statement
        In words.
    rests_on
        The assumptions.
    """

    configuration: str
    estimate: float
    lower: float
    upper: float
    delta: float
    chosen: Chosen
    instances: int
    method: str
    configurations: int
    statement: str
    rests_on: tuple[str, ...]


class Evidence(NamedTuple):
    """What a valid statement about a configuration may use.

    `runs` has only instances that may be used, `share` is the part of delta that is left for one configuration, `stopped`
    says that the number of instances depended on costs.
    """

    runs: CostMatrix
    configuration: str
    chosen: Chosen
    configurations: int
    share: float
    stopped: bool
    rests_on: tuple[str, ...]


def certify(
    matrix: CostMatrix,
    configuration: str | None = None,
    *,
    delta: float = 0.05,
    chosen: Chosen | None = None,
    trajectory: Trajectory | None = None,
    test: CostMatrix | None = None,
    list_size: int | None = None,
    fresh: Sequence[str] | None = None,
    proposal: int | None = None,
    seed: int = 0,
    side: Literal["upper", "both"] = "upper",
) -> Certificate:
    """What the true cost of a configuration does not exceed, by the rules of the module.

    Parameters
    ----------
    matrix
        The runs.
    configuration
        Its name; by default the trajectory's incumbent, else the one with the least training cost (for `"on-half"`, on that
        half). `"before"` asks for a name.
    delta
        The probability with which the statement may be wrong.
    chosen
        How it was chosen. By default the trajectory decides: `"from-list"` if configurations were proposed beforehand,
        `"on-half"` if nobody says, and no statement if they were proposed adaptively.
    trajectory
        Where the configurations come from.
    test
        Runs on fresh instances: the statement is made there, `"before"`. Instances that are in `matrix` too are passed over.
    list_size
        For `"from-list"`: how long the list was, where some of it is not in the matrix.
    fresh, proposal
        For `"progressive"`: the instances unused before the configuration was proposed, and its number t, from 1.
    seed
        Of the split in halves and of the shuffle of instances. To try several and pick is to cheat.
    side
        `"both"` gives a lower limit too, with delta/2 each.
    """
    evidence = gather_evidence(
        matrix,
        configuration,
        chosen=chosen,
        trajectory=trajectory,
        test=test,
        list_size=list_size,
        fresh=fresh,
        proposal=proposal,
        seed=seed,
    )
    row = evidence.runs.select(configurations=[evidence.configuration])
    if np.isnan(row.costs).all():
        raise InputError(f"Expected runs of {evidence.configuration!r} on the instances that may be used, got none.")
    found = _limit(row.costs[0], row.low, row.high, evidence, delta, seed, side)
    return Certificate(
        configuration=evidence.configuration,
        estimate=found.estimate,
        lower=found.lower,
        upper=found.upper,
        delta=delta,
        chosen=evidence.chosen,
        instances=found.instances,
        method=found.method,
        configurations=evidence.configurations,
        statement=_statement(evidence.configuration, found, delta, side),
        rests_on=evidence.rests_on,
    )


class Limits(NamedTuple):
    """Limits of one number, with the instances and the method behind them."""

    estimate: float
    lower: float
    upper: float
    instances: int
    method: str


def difference(evidence: Evidence, default: str, *, delta: float, seed: int) -> Limits:
    """Limits of u(evidence's configuration) − u(default), paired on the evidence's instances, delta/2 for each side."""
    pair = evidence.runs.select(configurations=[evidence.configuration, default])
    means, there = instance_means(pair)
    both = there.all(axis=0)
    if not both.any():
        raise RefusedError(f"{evidence.configuration!r} and {default!r} have no instance in common there")
    if evidence.stopped:
        for row, name in enumerate((evidence.configuration, default)):
            _refuse_race(pair.counts()[row], name)
    apart = np.where(both, means[0] - means[1], np.nan)
    return _limit(apart, -pair.width, pair.width, evidence, delta, seed, "both")


def gather_evidence(
    matrix: CostMatrix,
    configuration: str | None,
    *,
    chosen: Chosen | None = None,
    trajectory: Trajectory | None = None,
    test: CostMatrix | None = None,
    list_size: int | None = None,
    fresh: Sequence[str] | None = None,
    proposal: int | None = None,
    seed: int = 0,
) -> Evidence:
    """The runs a statement may use and the part of delta it has, or `RefusedError`. Parameters as in `certify`."""
    _check(matrix, configuration, chosen, test, list_size, fresh, proposal)
    proposed = "unknown" if trajectory is None else trajectory.proposed
    if test is not None:
        return _on_test(matrix, test, configuration or incumbent_of(matrix, trajectory))
    if chosen is None:
        if proposed == "adaptively":
            raise RefusedError(ADAPTIVE)
        chosen = "from-list" if proposed == "beforehand" else "on-half"
    stopped = trajectory is not None and trajectory.raced is True
    if chosen in ("from-list", "on-half") and proposed == "adaptively":
        raise RefusedError(f"{chosen} is not for these runs, {ADAPTIVE}")
    if chosen == "on-half":
        return _on_half(matrix, configuration, stopped, seed)
    if chosen == "before":
        check_before(matrix, configuration, trajectory)
    name = configuration or incumbent_of(matrix, trajectory)
    runs, m, share, claim = matrix, 1, 1.0, FIXED.replace("the configurations were", "the configuration was")
    if chosen == "from-list":
        m = max(len(matrix.configurations), list_size or 0)
        share = 1 / m
        claim = f"the list of {m:,} configurations was fixed before any of these costs was seen"
    elif chosen == "progressive":
        assert fresh is not None  # noqa: S101 - the door has seen to it
        assert proposal is not None  # noqa: S101
        runs, share = matrix.select(instances=fresh), 6 / (math.pi * proposal) ** 2
        runs = runs.select(instances=sorted(runs.instances, key=matrix.instances.index))
        claim = (
            "no cost on these instances had been seen when the configuration was proposed, number "
            f"{proposal:,} of its search, and every number is certified once at most"
        )
    if stopped:
        _refuse_race(runs.counts()[runs.configurations.index(name)], name)
    return Evidence(runs, name, chosen, m, share, stopped, _rests(claim, stopped))


def incumbent_of(matrix: CostMatrix, trajectory: Trajectory | None) -> str:
    """The trajectory's incumbent, else the configuration that `training_costs` has for the best."""
    if trajectory is not None and trajectory.incumbent in matrix.configurations:
        assert trajectory.incumbent is not None  # noqa: S101
        return trajectory.incumbent
    means, there = instance_means(matrix)
    return matrix.configurations[int(np.argmin(training_costs(means, there)))]


# ---- the ways of choosing ----------------------------------------------------------------------------------------------


def check_before(matrix: CostMatrix, name: str | None, trajectory: Trajectory | None) -> None:
    """Refuse what cannot have been fixed before any of these costs was seen."""
    if name is None and len(matrix.configurations) == 1:
        name = matrix.configurations[0]
    if name is None:
        raise InputError(
            "Expected the name of the configuration that was fixed before: the one with the least cost is chosen by it."
        )
    if trajectory is not None and trajectory.proposed == "adaptively" and name != trajectory.default:
        raise RefusedError(f"{name!r} was not fixed before these costs were seen, {ADAPTIVE}")


def _on_test(matrix: CostMatrix, test: CostMatrix, name: str) -> Evidence:
    used = set(matrix.instances)
    new = [instance for instance in test.instances if instance not in used]
    if not new:
        raise RefusedError(
            "all instances of the test runs are instances of the other runs too, and statements need fresh ones"
        )
    claim = f"{name} was chosen before any of the test costs was seen"
    return Evidence(test.select(instances=new), name, "before", 1, 1.0, False, _rests(claim, False))


def _on_half(matrix: CostMatrix, name: str | None, stopped: bool, seed: int) -> Evidence:
    if stopped:
        raise RefusedError(
            "on-half is not valid for a race: which configurations are left to choose from depended on costs on both halves"
        )
    instances = len(matrix.instances)
    if instances < 2:
        raise RefusedError("on-half needs two instances at least")
    order = _generator(seed).permutation(instances)
    first, second = np.sort(order[: instances // 2]), np.sort(order[instances // 2 :])
    means, there = instance_means(matrix)
    costs = training_costs(means[:, first], there[:, first])
    if not np.isfinite(costs).any():
        raise RefusedError("there are no runs on the half of the instances that is for the choice")
    winner = matrix.configurations[int(np.argmin(costs))]
    if name is not None and name != winner:
        matrix.select(configurations=[name])  # a name that is not there is another mistake
        raise RefusedError(
            "on-half certifies the configuration with the least training cost on one half of the instances, which is "
            f"{winner!r} and not {name!r}"
        )
    claim = "the configurations were not made from costs on these instances"
    runs = matrix.select(instances=[matrix.instances[i] for i in second])
    return Evidence(runs, winner, "on-half", 1, 1.0, False, _rests(claim, False))


def _refuse_race(counts: NDArray[np.int64], name: str) -> None:
    """A race that cannot have gone as `STOPPED` says; `counts` are those of one configuration."""
    used = np.flatnonzero(counts)
    if np.unique(counts[used]).size > 1:
        raise RefusedError(
            f"in a race the instances of {name!r} have different numbers of runs, which depended on costs; take runs on "
            "fresh instances (--test)"
        )
    if used.size and used[-1] - used[0] >= used.size:
        raise RefusedError(
            f"in a race the instances of {name!r} did not come in the order of the others, and a limit that holds at all "
            "times needs their order; take runs on fresh instances (--test)"
        )


def _rests(claim: str, stopped: bool) -> tuple[str, ...]:
    kept = [text for text in confidence.ASSUMPTIONS if text not in (FIXED, COUNTS)]
    if stopped:
        return (*kept, STOPPED, claim)
    return (*kept, COUNTS, claim, confidence.ONE_LOOK, confidence.SHUFFLED)


def _limit(
    costs: FloatArray, low: float, high: float, evidence: Evidence, delta: float, seed: int, side: Literal["upper", "both"]
) -> Limits:
    _check_delta(delta)
    delta = delta * evidence.share
    if evidence.stopped:
        steps = confidence.sequence(costs, low, high, delta, side=side)
        return Limits(
            float(steps.estimate[-1]),
            float(steps.lower[-1]),
            float(steps.upper[-1]),
            int(steps.instances[-1]),
            "betting, at all times",
        )
    limits = confidence.upper if side == "upper" else confidence.interval
    found = limits(costs, low, high, delta, rng=seed)
    return Limits(float(found.estimate), float(found.lower), float(found.upper), int(found.instances), found.method)


def _statement(name: str, found: Limits, delta: float, side: str) -> str:
    sure = f"With {100 * (1 - delta):.10g} % confidence the true cost of {name}"
    if side == "both":
        return f"{sure} is between {figure(found.lower)} and {figure(found.upper)}"
    return f"{sure} is at most {figure(found.upper)}"


def figure(value: float) -> str:
    """A number in a sentence: five digits, and whole numbers as they are."""
    return f"{value:,.0f}" if 1e5 <= abs(value) < 1e15 else f"{value:.5g}"


# ---- doors -------------------------------------------------------------------------------------------------------------


def _check(
    matrix: CostMatrix,
    configuration: str | None,
    chosen: str | None,
    test: CostMatrix | None,
    list_size: int | None,
    fresh: Sequence[str] | None,
    proposal: int | None,
) -> None:
    if chosen is not None and chosen not in get_args(Chosen):
        raise InputError(f"Expected chosen to be one of {', '.join(get_args(Chosen))}, got {chosen!r}.")
    if test is not None and chosen not in (None, "before"):
        raise InputError(f"Expected no way of choosing but before with test runs, got {chosen}.")
    if test is not None and (test.low, test.high) != (matrix.low, matrix.high):
        raise InputError(
            f"Expected test runs with costs in [{matrix.low:g}, {matrix.high:g}], as the others have them, got "
            f"[{test.low:g}, {test.high:g}]."
        )
    if list_size is not None and (list_size < 1 or chosen not in (None, "from-list")):
        raise InputError("Expected the length of the list (--list) to be 1 or more, and for from-list only.")
    if chosen == "progressive":
        if fresh is None or proposal is None:
            raise InputError(
                "Expected the fresh instances and the number of the proposal for progressive (--fresh FILE --proposal T)."
            )
        if not 1 <= proposal <= 10**9:
            raise InputError(f"Expected the number of the proposal from 1 to 10^9, got {proposal}.")
    elif fresh is not None or proposal is not None:
        raise InputError(
            "Expected fresh instances and the number of a proposal for progressive only (--chosen progressive)."
        )
    if configuration is not None:
        (matrix if test is None else test).select(configurations=[configuration])


def _check_delta(delta: float) -> None:
    if not 0 < delta < 1:
        raise InputError(f"Expected delta between 0 and 1, got {delta}.")


def _generator(seed: int) -> np.random.Generator:
    if not isinstance(seed, int) or seed < 0:
        raise InputError(f"Expected a seed of 0 or more, got {seed!r}.")
    return np.random.default_rng(seed)
