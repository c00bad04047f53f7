"""The ways in which people get runs and look at them: each gives the looks of one trial."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.populations.sources import Population
from truecost.matrix import CostMatrix
from truecost.matrix.imported import Import
from truecost.runs import RunPlan, Status, Trajectory

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
RUNS_PER_CELL = 2


@dataclass(frozen=True, kw_only=True)
class Look:
    """What is assessed, and how: the arguments of `truecost.assess`.

    `weights` are those of the population's instances in what is true, where not all are alike.
    """

    runs: CostMatrix | Import
    asked: dict[str, Any]
    weights: FloatArray | None = None


Way = Callable[[Population, np.random.Generator], Iterator[Look]]


def journal(matrix: CostMatrix, *, unfinished: bool, plans: tuple[int, ...] = ()) -> Import:
    """Runs as the journal of a gather has them: a list fixed beforehand, in the planned order."""
    configurations, _, runs = matrix.shape
    source = Trajectory(
        tool="truecost",
        proposed="beforehand",
        raced=False,
        unfinished=unfinished,
        plans=tuple(RunPlan(configurations, size, runs) for size in plans),
    )
    return Import(kind="journal", matrix=matrix, trajectory=source)


def some(population: Population, rng: np.random.Generator, most: int) -> list[int]:
    """The default and others drawn from the population's configurations."""
    others = rng.permutation(np.arange(1, len(population.costs)))[: most - 1]
    return [0, *sorted(others.tolist())]


def best_two(population: Population, rng: np.random.Generator) -> list[int]:
    """The default and a configuration that is no better: a statement that it is would be false. Of
    an improvable population, the best one.
    """
    means = population.costs.mean(axis=(1, 2))
    if population.improvable:
        return [0, int(means.argmin())]
    worse = np.flatnonzero(means >= means[0])[1:] if len(means) > 1 else np.array([0])
    closest = worse[np.argsort(means[worse])[:3]] if worse.size else np.array([len(means) - 1])
    return [0, int(rng.choice(closest))]


def listed(
    population: Population, rng: np.random.Generator, *, n: int, chosen: str
) -> Iterator[Look]:
    """A random list on one set of instances; the best of it is named, that of a fifth of the
    instances where the others judge.
    """
    runs = population.draw(rng, some(population, rng, 8), n, RUNS_PER_CELL)
    yield Look(runs=runs, asked={"default": "0", "chosen": chosen, "raced": False})


def progressive(
    population: Population, rng: np.random.Generator, *, proposals: int, n: int
) -> Iterator[Look]:
    """A search whose every proposal, the best on all instances so far, is judged on n new ones."""
    runs = population.draw(rng, some(population, rng, 8), n * proposals, 1)
    proposal = int(rng.integers(1, len(runs.configurations)))
    for number in range(1, proposals + 1):
        seen, name = runs.instances[: n * number], runs.configurations[proposal]
        asked = {
            "default": "0",
            "configuration": name,
            "chosen": "progressive",
            "proposal": number,
            "fresh": seen[-n:],
            "raced": False,
        }
        yield Look(runs=runs.select(configurations=["0", name], instances=seen), asked=asked)
        proposal = 1 + int(runs.costs[1:, : n * number].mean(axis=(1, 2)).argmin())


def fixed(
    population: Population, rng: np.random.Generator, *, n: int, sort: bool = False
) -> Iterator[Look]:
    """One configuration, fixed beforehand, against the default."""
    pair = best_two(population, rng)
    runs = population.draw(rng, pair, n, 1, sort=sort)
    asked = {"default": "0", "configuration": str(pair[1]), "chosen": "before", "raced": False}
    yield Look(runs=runs, asked=asked)


def capped(population: Population, rng: np.random.Generator, *, n: int) -> Iterator[Look]:
    """One configuration, fixed beforehand, and the default, each stopped at twice the time that the
    other one needed on the instance before.
    """
    pair = best_two(population, rng)
    runs = population.draw(rng, pair, n, 1)
    costs, cutoff = np.array(runs.costs), population.cutoff or population.high
    statuses = np.where(costs >= cutoff, Status.TIMEOUT, Status.SOLVED)
    for place in range(1, n):
        caps = 2 * np.minimum(runs.costs[::-1, place - 1], cutoff)
        stopped = (costs[:, place] > caps) & (caps < cutoff)
        costs[:, place] = np.where(stopped, caps, costs[:, place])
        statuses[:, place] = np.where(stopped, Status.CENSORED, statuses[:, place])
    asked = {"default": "0", "configuration": str(pair[1]), "chosen": "before"}
    yield Look(runs=runs.replace(costs=costs, statuses=statuses), asked=asked)


def race(population: Population, rng: np.random.Generator, *, n: int) -> Iterator[Look]:
    """Half of a list is dropped after 5, 10, 20 … instances; the best survivor is named."""
    names = some(population, rng, 8)
    runs = population.draw(rng, names, n, 1)
    costs, alive, size = np.array(runs.costs), np.arange(len(names)), 5
    while size < n and alive.size > 2:
        order = alive[np.argsort(costs[alive, :size, 0].mean(axis=1))]
        dropped = np.setdiff1d(order[(alive.size + 1) // 2 :], [0])
        costs[dropped, size:] = np.nan
        alive, size = np.setdiff1d(alive, dropped), 2 * size
    named = (runs.configurations, runs.instances, runs.low, runs.high)
    raced = CostMatrix(costs, *named, cutoff=runs.cutoff)
    yield Look(runs=raced, asked={"default": "0", "chosen": "from-list", "raced": True})


def tuned(
    population: Population, rng: np.random.Generator, *, n: int, sort: bool = False
) -> Iterator[Look]:
    """The winner of all configurations on n instances, tested on n others."""
    names = some(population, rng, 60)
    # One training log for all trials of sorted tests: what is random is the test set.
    training = population.draw(np.random.default_rng(3) if sort else rng, names, n, 1, prefix="t")
    winner = names[int(training.costs.mean(axis=(1, 2)).argmin())]
    pair = [winner, 0] if winner else best_two(population, rng)[::-1]
    log = Import(
        kind="matrix",
        matrix=training,
        trajectory=Trajectory(
            tool="search", proposed="adaptively", raced=False, default="0", incumbent=str(pair[0])
        ),
    )
    yield Look(runs=log, asked={"test": population.draw(rng, pair, n, 1, sort=sort)})


def watched(
    population: Population, rng: np.random.Generator, *, n: int, looks: int = 23
) -> Iterator[Look]:
    """The journal of a test that is still running, looked at again and again."""
    pair = best_two(population, rng)[::-1]
    training = population.draw(rng, pair, 10, 1, prefix="t")
    whole = population.draw(rng, pair, n, 1)
    log = Import(
        kind="matrix",
        matrix=training,
        trajectory=Trajectory(
            tool="search", proposed="adaptively", raced=False, default="0", incumbent=str(pair[0])
        ),
    )
    for size in np.unique(np.linspace(5, n, looks).astype(int)).tolist():
        part = whole.select(instances=whole.instances[:size])
        test = journal(part, unfinished=size < n, plans=(n,))
        yield Look(runs=log, asked={"test": test})


def grown(population: Population, rng: np.random.Generator, *, n: int) -> Iterator[Look]:
    """A gather that is extended from 25 to 50, 100, 200 instances, and assessed each time."""
    pair = best_two(population, rng)
    whole = population.draw(rng, pair, n, 1)
    sizes = [size for size in (25, 50, 100, 200) if size <= n]
    asked = {"default": "0", "configuration": str(pair[1]), "chosen": "before"}
    for k, size in enumerate(sizes, 1):
        part = whole.select(instances=whole.instances[:size])
        log = journal(part, unfinished=False, plans=tuple(sizes[:k]))
        yield Look(runs=log, asked=asked)


def finished(
    population: Population, rng: np.random.Generator, *, n: int, looks: int = 8
) -> Iterator[Look]:
    """A gather looked at while it runs, and again when it is finished."""
    pair = best_two(population, rng)
    whole = population.draw(rng, pair, n, 1)
    asked = {"default": "0", "configuration": str(pair[1]), "chosen": "before"}
    for size in np.linspace(n // 4, n, looks).astype(int).tolist():
        part = whole.select(instances=whole.instances[:size])
        yield Look(runs=journal(part, unfinished=size < n, plans=(n,)), asked=asked)


def labels(population: Population) -> IntArray:
    """The family of each instance; without families, forty made up of neighbours by difficulty."""
    if population.families is not None:
        return population.families
    order = population.costs.mean(axis=(0, 2)).argsort().argsort()
    return np.asarray(order * 40 // order.size)


def family_weights(codes: IntArray, mix: FloatArray) -> FloatArray:
    """The weight of each instance where families have these."""
    return np.asarray(mix[codes] / np.bincount(codes)[codes])


def families(
    population: Population,
    rng: np.random.Generator,
    *,
    number: int,
    each: int | None,
    sampled: str,
    chosen: str = "before",
) -> Iterator[Look]:
    """Families drawn at random, with as many instances as they really have, or equally many."""
    codes = labels(population)
    present = np.unique(codes)
    drawn = rng.choice(present, number)
    parts, owners = [], []
    for place, family in enumerate(drawn):
        members = np.flatnonzero(codes == family)
        size = members.size if each is None else each
        parts.append(rng.choice(members, size))
        owners += [f"family {place}"] * size
    instances = np.concatenate(parts)
    pair = best_two(population, rng) if chosen == "before" else some(population, rng, 8)
    runs = population.draw(rng, pair, instances, 1).replace(families=owners)
    asked: dict[str, Any] = {"default": "0", "chosen": chosen, "raced": False, "sampled": sampled}
    if chosen == "before":
        asked["configuration"] = str(pair[1])
    mix = np.zeros(int(codes.max()) + 1)
    mix[present] = 1 / present.size
    yield Look(runs=runs, asked=asked, weights=family_weights(codes, mix))


def mixed(population: Population, rng: np.random.Generator, *, each: int) -> Iterator[Look]:
    """Six families, equally many instances of each, and a mix that is far from even."""
    codes = labels(population)
    present = np.unique(codes)
    six = present[np.linspace(0, present.size - 1, 6).astype(int)]
    instances = np.concatenate([rng.choice(np.flatnonzero(codes == f), each) for f in six])
    pair = best_two(population, rng)
    owners = np.repeat([f"family {f}" for f in six], each).tolist()
    runs = population.draw(rng, pair, instances, 1).replace(families=owners)
    shares = [0.4, 0.25, 0.15, 0.1, 0.06, 0.04]
    asked = {
        "default": "0",
        "configuration": str(pair[1]),
        "chosen": "before",
        "raced": False,
        "mix": {f"family {f}": share for f, share in zip(six, shares, strict=True)},
    }
    mix = np.zeros(int(codes.max()) + 1)
    mix[six] = shares
    yield Look(runs=runs, asked=asked, weights=family_weights(codes, mix))


def mixed_within(population: Population, rng: np.random.Generator, *, each: int) -> Iterator[Look]:
    """Three families, and statements for every mix within ranges; what is true is one of the
    extreme mixes.
    """
    codes = labels(population)
    present = np.unique(codes)
    three = present[np.linspace(0, present.size - 1, 3).astype(int)]
    instances = np.concatenate([rng.choice(np.flatnonzero(codes == f), each) for f in three])
    pair = best_two(population, rng)
    owners = np.repeat([f"family {f}" for f in three], each).tolist()
    runs = population.draw(rng, pair, instances, 1).replace(families=owners)
    ranges = [(0.2, 0.6), (0.2, 0.6), (0.2, 0.2)]
    asked = {
        "default": "0",
        "configuration": str(pair[1]),
        "chosen": "before",
        "raced": False,
        "mix": {f"family {f}": ends for f, ends in zip(three, ranges, strict=True)},
    }
    mix = np.zeros(int(codes.max()) + 1)
    mix[three] = [(0.2, 0.6, 0.2), (0.6, 0.2, 0.2)][int(rng.integers(2))]
    yield Look(runs=runs, asked=asked, weights=family_weights(codes, mix))


def benchmark(
    population: Population, rng: np.random.Generator, *, size: int, n: int
) -> Iterator[Look]:
    """A benchmark of so many fixed instances, of which n are drawn and run with random seeds."""
    members = np.linspace(0, population.costs.shape[1] - 1, size).astype(int)
    pair = best_two(population, rng)
    runs = population.draw(rng, pair, rng.permutation(members)[:n], 1)
    asked = {
        "default": "0",
        "configuration": str(pair[1]),
        "chosen": "before",
        "raced": False,
        "about": "these",
        "population": size,
    }
    weights = np.zeros(population.costs.shape[1])
    np.add.at(weights, members, 1 / size)
    yield Look(runs=runs, asked=asked, weights=weights)


def common_seeds(population: Population, rng: np.random.Generator, *, n: int) -> Iterator[Look]:
    """One configuration, fixed beforehand, and the default with the same two seeds."""
    pair = best_two(population, rng)
    runs = population.draw(rng, pair, n, 2, common_seeds=True)
    asked = {"default": "0", "configuration": str(pair[1]), "chosen": "before", "raced": False}
    yield Look(runs=runs, asked=asked)


def seeds(
    population: Population,
    rng: np.random.Generator,
    *,
    size: int,
    runs: int,
    weighted: bool = False,
) -> Iterator[Look]:
    """A fixed number of instances, with new seeds; weighted if asked for, the k-th by 1/k."""
    members = np.linspace(0, population.costs.shape[1] - 1, size).astype(int)
    pair = best_two(population, rng)
    asked: dict[str, Any] = {
        "default": "0",
        "configuration": str(pair[1]),
        "chosen": "before",
        "raced": False,
        "sampled": "seed",
    }
    shares = 1 / np.arange(1, size + 1) if weighted else np.ones(size)
    matrix = population.draw(rng, pair, members, runs)
    if weighted:
        asked["weights"] = dict(zip(matrix.instances, shares.tolist(), strict=True))
    weights = np.zeros(population.costs.shape[1])
    np.add.at(weights, members, shares / shares.sum())
    yield Look(runs=matrix, asked=asked, weights=weights)


def sampling_weights(population: Population, rng: np.random.Generator, *, n: int) -> Iterator[Look]:
    """Hard instances are sampled up to four times as often as easy ones, and weights undo it."""
    ranks = population.costs.mean(axis=(0, 2)).argsort().argsort()
    chances = 1 + 3 * ranks / (ranks.size - 1)
    chances /= chances.sum()
    instances = rng.choice(ranks.size, n, p=chances)
    pair = best_two(population, rng)
    runs = population.draw(rng, pair, instances, 1)
    weights = 1 / (ranks.size * chances[instances])
    asked = {
        "default": "0",
        "configuration": str(pair[1]),
        "chosen": "before",
        "raced": False,
        "about": "new",
        "weights": dict(zip(runs.instances, weights.tolist(), strict=True)),
    }
    yield Look(runs=runs, asked=asked)


WAYS: dict[str, Way] = {
    "random list, 50": partial(listed, n=50, chosen="from-list"),
    "weighted list, 50": partial(listed, n=50, chosen="weighted-list"),
    "on part, 50": partial(listed, n=50, chosen="on-part"),
    "3 proposals, 30 new each": partial(progressive, proposals=3, n=30),
    "race, 60": partial(race, n=60),
    "capped, 40": partial(capped, n=40),
    "fixed, 30": partial(fixed, n=30),
    "fixed, 30 sorted": partial(fixed, n=30, sort=True),
    "fixed, 40 with common seeds": partial(common_seeds, n=40),
    "tuned, tested on 50": partial(tuned, n=50),
    "tuned, sorted test of 20": partial(tuned, n=20, sort=True),
    "test watched to 60": partial(watched, n=60),
    "plan grown to 200": partial(grown, n=200),
    "unfinished, then 100": partial(finished, n=100),
    "15 families": partial(families, number=15, each=None, sampled="family"),
    "27 families of 10": partial(families, number=27, each=10, sampled="family"),
    "27 families of 10, list": partial(
        families, number=27, each=10, sampled="family", chosen="from-list"
    ),
    "27 families of 10, as instances": partial(families, number=27, each=10, sampled="instance"),
    "a mix of 6 families of 12": partial(mixed, each=12),
    "3 families, any mix in ranges": partial(mixed_within, each=20),
    "30 of a benchmark of 40": partial(benchmark, size=40, n=30),
    "all of a benchmark of 40": partial(benchmark, size=40, n=40),
    "40 seeds on 1 instance": partial(seeds, size=1, runs=40),
    "4 seeds on 10 instances": partial(seeds, size=10, runs=4),
    "4 seeds on 10 weighted": partial(seeds, size=10, runs=4, weighted=True),
    "60 with sampling weights": partial(sampling_weights, n=60),
}
# Expected to fail where families matter.
WRONG = "27 families of 10, as instances"
