"""The populations: examples, made-up ones, and tables of others."""

import csv
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import truecost
from truecost.matrix import CostMatrix

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True, eq=False)
class Population:
    """Costs (M, P, R) of configurations on all instances there are, and the family of each.

    Configuration 0 is the default. `improvable` says that comparisons with one fixed beforehand
    take the best one, not one that is no better.
    """

    name: str
    costs: FloatArray
    low: float
    high: float
    cutoff: float | None = None
    families: IntArray | None = None
    improvable: bool = False

    def draw(
        self,
        rng: np.random.Generator,
        configurations: list[int],
        instances: IntArray | int,
        runs: int = 1,
        *,
        prefix: str = "i",
        sort: bool = False,
        common_seeds: bool = False,
    ) -> CostMatrix:
        """A matrix of some configurations on instances drawn with replacement, or on given ones;
        each run with a seed of its own, or one that all configurations have in common; sorted by
        the first configuration's cost if asked for.
        """
        if isinstance(instances, int):
            instances = rng.integers(self.costs.shape[1], size=instances)
        shape = (len(configurations), instances.size, runs)
        seeds = rng.integers(self.costs.shape[2], size=shape)
        if common_seeds:
            seeds[:] = seeds[0]
        costs = np.take_along_axis(self.costs[configurations][:, instances], seeds, axis=2)
        if sort:
            costs = costs[:, np.argsort(costs[0].mean(axis=1), kind="stable")]
        names = tuple(f"{prefix}{k:04}" for k in range(instances.size))
        return CostMatrix(
            costs,
            tuple(str(c) for c in configurations),
            names,
            self.low,
            self.high,
            cutoff=self.cutoff,
            seeds=np.arange(costs[0].size).reshape(1, *shape[1:]).repeat(shape[0], axis=0)
            if common_seeds
            else None,
        )

    def with_better(self) -> "Population":
        """The same with a default that three in four configurations beat on average."""
        order = self.costs.mean(axis=(1, 2)).argsort()
        default = order[3 * order.size // 4]
        places = [default, *(place for place in range(order.size) if place != default)]
        return replace(self, costs=self.costs[places], improvable=True)

    def equal(self) -> "Population":
        """The same instances with the same costs for every configuration, shuffled on each instance:
        nobody is better than anybody.
        """
        rng = np.random.default_rng(7)
        m, p, r = self.costs.shape
        mixed = self.costs.transpose(1, 0, 2).reshape(p, m * r)
        costs = np.stack([rng.permuted(mixed, axis=1) for _ in range(min(m, 20))])
        return replace(self, name=f"{self.name}, all equal", costs=costs)


class Truth:
    """The true values of a population, families weighted by `weights` over instances if given."""

    def __init__(self, population: Population, weights: FloatArray | None = None) -> None:
        self.population = population
        self._values: dict[tuple[str, str, str | None], float | None] = {}
        p = population.costs.shape[1]
        self.weights = np.full(p, 1 / p) if weights is None else weights
        self.means = population.costs.mean(axis=2) @ self.weights

    def value(self, quantity: str, name: str, default: str | None) -> float | None:
        """What a statement is about; None for quantities that have no truth here.

        Values are kept: sorting all pairs of runs takes longer than an assessment.
        """
        key = quantity, name, default
        if key not in self._values:
            self._values[key] = self._value(quantity, name, default or "0")
        return self._values[key]

    def _value(self, quantity: str, name: str, default: str) -> float | None:
        match quantity:
            case "solved share":
                return self.solved(name)
            case "median" | "90th percentile":
                return self.quantile(name, 0.5 if quantity == "median" else 0.9)
            case "wins":
                return self.wins(name, default)
            case "speed-up":
                return self.speed_up(name, default)
            case "ratio of means":
                return self.mean(default) / self.mean(name)
            case "difference of solved shares":
                return self.solved(name) - self.solved(default)
        return None

    def mean(self, name: str) -> float:
        """u of a configuration."""
        return float(self.means[int(name)])

    def solved(self, name: str) -> float:
        """The share of runs below the cutoff; without one, below the largest cost."""
        below = self.population.costs[int(name)] < (self.population.cutoff or self.population.high)
        return float(below.mean(axis=1) @ self.weights)

    def quantile(self, name: str, share: float) -> float:
        """The cost that a share of runs keeps to."""
        costs = self.population.costs[int(name)]
        weights = np.repeat(self.weights / costs.shape[1], costs.shape[1])
        order = costs.ravel().argsort()
        place = np.searchsorted(weights[order].cumsum(), share - 1e-9)
        return float(costs.ravel()[order][place])

    def wins(self, name: str, default: str) -> float:
        """The share of runs won against the default, ties half."""
        one = self.population.costs[int(name)][:, :, np.newaxis]
        two = self.population.costs[int(default)][:, np.newaxis]
        return float(((one < two) + 0.5 * (one == two)).mean(axis=(1, 2)) @ self.weights)

    def speed_up(self, name: str, default: str) -> float:
        """The median of default over configuration; timeouts are longer than any other run, and two
        tie.
        """
        cutoff = self.population.cutoff or np.inf
        one = np.maximum(self.population.costs[int(name)][:, :, np.newaxis], 0.01)
        two = np.maximum(self.population.costs[int(default)][:, np.newaxis], 0.01)
        with np.errstate(invalid="ignore"):
            ratios = np.where(two >= cutoff, np.inf, two) / np.where(one >= cutoff, np.inf, one)
        values = np.where(np.isnan(ratios), 1.0, ratios).ravel()
        weights = np.broadcast_to(self.weights[:, None, None] / ratios[0].size, ratios.shape)
        order = values.argsort()
        return float(values[order][np.searchsorted(weights.ravel()[order].cumsum(), 0.5 - 1e-9)])


def populations(data: Path) -> Iterator[Population]:
    """All that are available: examples, made-up ones, and those with files in a folder."""
    for name in ("clasp", "kissat", "lkh", "kissat-large", "clasp-large"):
        matrix = truecost.load_example(name)
        top = float(matrix.high)
        cutoff = matrix.cutoff if matrix.cutoff is not None else top
        example = Population(
            name=name, costs=np.array(matrix.costs), low=matrix.low, high=top, cutoff=cutoff
        )
        yield example
        if name == "kissat":
            yield example.equal()
    yield from made_up()
    yield from of_others(data)


def made_up() -> Iterator[Population]:
    """Lognormal running times of two spreads, rare timeouts, solved or not, and nested families."""
    rng = np.random.default_rng(1)
    for spread, cutoff in ((1.0, 20.0), (2.5, 300.0)):
        log = spread * (
            0.8 * rng.standard_normal((1, 3000, 1))
            + 0.4 * rng.standard_normal((8, 3000, 1))
            + 0.4 * rng.standard_normal((8, 3000, 2))
        ) + np.linspace(0, 0.6, 8).reshape(-1, 1, 1)
        seconds = np.exp(log)
        yield Population(
            name=f"lognormal {spread:g}",
            costs=np.where(seconds >= cutoff, 10 * cutoff, seconds),
            low=0.0,
            high=10 * cutoff,
            cutoff=cutoff,
        )
    late = rng.random((8, 3000, 2)) < np.linspace(0.01, 0.04, 8).reshape(-1, 1, 1)
    yield Population(
        name="rare timeouts",
        costs=np.where(late, 10.0, rng.beta(1, 8, (8, 3000, 2))),
        low=0.0,
        high=10.0,
        cutoff=1.0,
    )
    chances = rng.beta(0.5, 0.5, (1, 3000, 1)) * np.linspace(0.9, 1, 8).reshape(-1, 1, 1)
    bits = (rng.random((8, 3000, 2)) < chances).astype(float)
    yield Population(name="0/1", costs=bits, low=0.0, high=1.0)
    families = np.repeat(np.arange(60), rng.integers(2, 40, 60))
    centre = rng.beta(0.7, 0.7, (60,))[families]
    effects = 0.25 * rng.standard_normal((6, 60))[:, families]
    noise = 0.1 * rng.standard_normal((6, families.size, 2))
    nested = np.clip(centre[None, :, None] + effects[:, :, None] + noise, 0, 1)
    yield Population(name="nested", costs=nested, low=0.0, high=1.0, families=families)


def of_others(data: Path) -> Iterator[Population]:
    """SAT Competitions and ASlib scenarios, where the folder has them."""
    table, labels = data / "sat" / "sat2020-par2.csv", data / "sat" / "sat2020-families.csv"
    if table.exists():
        with table.open() as file:
            head, *rows = list(csv.reader(file))
        with labels.open() as file:
            family = {row["benchmark_name"]: row["family_name"] for row in csv.DictReader(file)}
        names = [name.rpartition("/")[2] for name in head[1:]]
        codes = {label: k for k, label in enumerate(sorted(set(family.values())))}
        costs = np.array([[float(cell) for cell in row[1:]] for row in rows])[:, :, np.newaxis]
        yield Population(
            name="SAT 2020",
            costs=costs,
            low=0.0,
            high=10_000.0,
            cutoff=5_000.0,
            families=np.array([codes[family[name]] for name in names]),
        )
    table = data / "sat" / "main2023.csv"
    if table.exists():
        with table.open() as file:
            head, *rows = list(csv.reader(file))
        cells = [[float(cell) for cell in row[1 : len(head)]] for row in rows]
        costs = np.array(cells).T[:, :, np.newaxis]
        yield Population(name="SAT 2023", costs=costs, low=0.0, high=10_000.0, cutoff=5_000.0)
    for folder in sorted((data / "aslib").glob("*/")):
        matrix = truecost.import_runs(folder).matrix
        whole = ~np.isnan(matrix.costs).any(axis=(0, 2))
        yield Population(
            name=f"ASlib {folder.name}",
            costs=np.array(matrix.costs[:, whole]),
            low=matrix.low,
            high=matrix.high,
            cutoff=matrix.cutoff,
        )
