"""The paper's whole experimental section on one matrix: every table it takes, and which of its
claims hold there.
"""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import polars as pl

from truecost.arrays import FloatArray, IntArray
from truecost.errors import InputError
from truecost.matrix import CostMatrix
from truecost.paper import claims, exact, fit, resample, tables
from truecost.paper.bounds_observed import bounds_against_reality, check_width, levels_for
from truecost.paper.one_split import OneSplit, one_split
from truecost.stats.variance import VarianceComponents, run_means, variance_components

# Called with what is being done and the share of all work that is done.
Progress = Callable[[str, float], None]
# Called with the number of splits just finished.
Ticks = Callable[[int], None] | None

# S° of distinct pairs is compared in closed form only: the paper's text has S° otherwise, and a
# simulation takes its time.
SIMULATED: tuple[exact.Estimator, ...] = ("even", "concentrated", "scattered")
# The curves need four values each, and half of the instances are for training.
LEAST_CONFIGURATIONS, LEAST_INSTANCES = 4, 8


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Experiments:
    """What is done: the matrix, how many splits, where random numbers start, and bounds and
    quantiles at 1 − delta.
    """

    matrix: CostMatrix
    splits: int
    seed: int
    delta: float
    threads: int | None

    def __post_init__(self) -> None:
        configurations, instances, _ = self.matrix.shape
        if configurations < LEAST_CONFIGURATIONS or instances < LEAST_INSTANCES:
            raise InputError(
                f"Expected at least {LEAST_CONFIGURATIONS} configurations and {LEAST_INSTANCES} "
                f"instances, which curves can be fitted to, got {configurations} and {instances}."
            )
        resample.check_splits(self.splits)
        levels_for(self.delta)
        resample.check_threads(self.threads)
        exact.check_complete(self.matrix)
        check_width(self.matrix)

    @property
    def about(self) -> dict[str, Any]:
        """What the tables depend on, the costs by their hash."""
        matrix = self.matrix
        named = (matrix.shape, matrix.low, matrix.high, matrix.configurations, matrix.instances)
        # Names and range count too: figures and pages show them.
        digest = hashlib.sha256(repr(named).encode())
        digest.update(np.ascontiguousarray(matrix.costs).tobytes())
        about = {name: getattr(self, name) for name in ("splits", "seed", "delta")}
        return {"matrix": digest.hexdigest(), **about}

    def sweep(self, kind: fit.Kind, ticks: Ticks) -> pl.DataFrame:
        """The error against m, N or K, with Theorem 2 beside it."""
        matrix, levels = self.matrix, levels_for(self.delta)
        sweep = resample.sweep(matrix, kind, levels=levels, progress=ticks, **self._common())
        return tables.sweep_table(sweep, bounds_against_reality(matrix, sweep, delta=self.delta))

    def compare(self, train: int, runs: IntArray, ticks: Ticks) -> pl.DataFrame:
        """The simulated error of the estimators at one K."""
        estimators = exact.defined_on(self.matrix, SIMULATED)
        grid = {"runs": runs, "train": train, "progress": ticks, **self._common()}
        return tables.estimator_table(
            resample.compare_estimators(self.matrix, estimators=estimators, **grid)
        )

    def _common(self) -> dict[str, Any]:
        return {"splits": self.splits, "rng": self.seed, "threads": self.threads}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Results:
    """What the experiments showed.

    Attributes
    ----------
    sweeps
        Tables of the error against m, N and K.
    fits
        The curves of the uniform and of the selection error, in the same order.
    exact, simulated
        Tables of the estimators in closed form, and by absolute error.
    split
        One split of its own.
    costs, components
        The mean cost of every configuration, and where its variance comes from.
    claims
        The paper's, with verdicts.
    """

    sweeps: dict[fit.Kind, pl.DataFrame]
    fits: dict[str, list[fit.Fit]]
    exact: pl.DataFrame
    simulated: pl.DataFrame
    split: OneSplit
    costs: FloatArray
    components: VarianceComponents
    claims: list[claims.Claim]


def run(experiments: Experiments, store: tables.Store, progress: Progress | None = None) -> Results:
    """The experiments one after the other, those in the store read from there; progress is told
    after some splits each.
    """
    matrix = experiments.matrix
    instances, runs = matrix.shape[1:]
    k, n = _grid(matrix)
    # Costs looked at for each configuration of a split, by the CPU time that takes: all means for
    # K, and for m, where they are also sorted; each run of the schedule for N, and of three
    # estimators.
    work = {"m": 3 * instances, "n": runs * instances, "k": instances}
    parts: dict[str, tuple[float, str, Callable[[Ticks], pl.DataFrame]]] = {}
    for kind in fit.FORMULAS:
        sweep = partial(experiments.sweep, kind)
        parts[f"error-{kind}"] = (work[kind], f"error against {fit.letter(kind)}", sweep)
    for train, numbers in zip(k[:, 0].tolist(), n, strict=True):
        compare = partial(experiments.compare, train, numbers)
        parts[f"estimators-k{train}"] = (9 * numbers[-1], f"estimators at K = {train}", compare)
    closed = store.table(
        "estimators-exact", lambda: tables.exact_table(k, n, exact.by_estimator(matrix, k, n))
    )
    if progress is not None:
        _compile(experiments)
    # In the order of their work: what is told as done is a share of all of it.
    finished = {}
    done, total = 0.0, sum(size for size, *_ in parts.values())
    for name, (size, label, compute) in parts.items():
        start, done = done / total, done + size
        per_split = (done / total - start) / experiments.splits
        part = partial(_with_progress, compute, progress, label, start, per_split, done / total)
        finished[name] = store.table(name, part)
    if progress is not None:
        progress("figures", 1.0)
    sweeps = {kind: finished.pop(f"error-{kind}") for kind in fit.FORMULAS}
    simulated = pl.concat(finished.values())
    return Results(
        sweeps=sweeps,
        fits={
            error: [fit.to_table(table, error) for table in sweeps.values()]
            for error in ("uniform", "selection")
        },
        exact=closed,
        simulated=simulated,
        split=one_split(matrix, rng=experiments.seed),
        costs=run_means(matrix.costs)[0].mean(axis=1),
        components=variance_components(matrix),
        claims=claims.judge(
            exact=closed,
            simulated=simulated,
            sweeps=sweeps,
            train=instances // 2,
            delta=experiments.delta,
        ),
    )


def _compile(experiments: Experiments) -> None:
    """Run every kernel on a corner of the matrix: a forecast would take their compilation, at the
    very first start, for slow work.
    """
    matrix = experiments.matrix
    corner = matrix.select(
        configurations=matrix.configurations[:LEAST_CONFIGURATIONS],
        instances=matrix.instances[:LEAST_INSTANCES],
    )
    small = replace(experiments, matrix=corner, splits=2)
    for kind in fit.FORMULAS:
        small.sweep(kind, None)
    k, n = _grid(corner)
    small.compare(int(k[-1, 0]), n[-1], None)


def _with_progress(
    compute: Callable[[Ticks], pl.DataFrame],
    progress: Progress | None,
    label: str,
    done: float,
    per_split: float,
    end: float,
) -> pl.DataFrame:
    """A part that tells its finished splits: the share of all work before it, that of each split,
    and that at its end.
    """
    if progress is None:
        return compute(None)
    progress(label, done)

    def ticks(splits: int) -> None:
        nonlocal done
        done = min(end, done + per_split * splits)
        progress(label, done)

    return compute(ticks)


def _grid(matrix: CostMatrix) -> tuple[IntArray, IntArray]:
    """The grid within the runs with each K once, though few instances round several to one."""
    k, n = exact.grid_within(matrix)
    once = np.append(True, np.diff(k[:, 0]) > 0)
    return k[once], n[once]
