"""The paper's experimental section on any matrix: figures, data, and a page that answers claim by claim whether it holds."""

import hashlib
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from truecost.errors import InputError
from truecost.experiments import exact, fit, reality, resample, results
from truecost.matrix import CostMatrix
from truecost.matrix.files import whole_file
from truecost.show import claims, figures, page
from truecost.show.saving import Format, save
from truecost.show.theme import Chart

# Called with what is being done and the share of all work that is done.
Progress = Callable[[str, float], None]
Told = Callable[[int], None]

KINDS: tuple[fit.Kind, ...] = ("m", "n", "k")
# S° of distinct pairs is compared in closed form only: the paper's text has S° otherwise, and a simulation takes its time.
SIMULATED: tuple[exact.Estimator, ...] = ("even", "concentrated", "scattered")
FORMATS: tuple[Format, ...] = ("pdf", "png", "svg")
# The curves need four values each, and half of the instances are for training.
LEAST_CONFIGURATIONS, LEAST_INSTANCES = 4, 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Reproduction:
    """What `reproduce` found and wrote.

    Attributes
    ----------
    claims
        The paper's claims with verdicts.
    page
        The page of results.
    files
        Every file of this matrix in the folder, the page last.
    kept
        The parts whose data an earlier call with the same matrix, splits and seed had finished.
    """

    claims: list[claims.Claim]
    page: Path
    files: list[Path]
    kept: list[str]


def reproduce(
    matrix: CostMatrix,
    *,
    out: str | os.PathLike[str],
    splits: int = 2500,
    seed: int = 1,
    name: str = "a matrix",
    unit: str = "cost",
    delta: float = 0.05,
    formats: Sequence[Format] = FORMATS,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Reproduction:
    """Run the paper's experiments on a matrix; figures, data and `results.md` go into a folder.

    Every file is written whole. Data that are there from the same matrix, splits, seed and version are kept, so that a call
    that was interrupted goes on where it stopped. The page comes last: where it is, everything is.

    Parameters
    ----------
    matrix
        Every configuration needs a run on every instance; at least 4 configurations and 8 instances.
    out
        The folder, made if it is not there.
    splits, seed
        Random splits into training and test instances, and where every experiment's random numbers start: the numbers are
        those of `truecost experiment` with the same.
    name, unit
        What the page calls the matrix, and what figures call a unit of cost.
    delta
        Bounds and quantiles are at probability 1 − delta.
    formats
        Which files of every figure; the page shows PNG, or the first of them.
    threads
        All there are if not given; the results do not depend on it.
    progress
        Told what is being done, and the share of all work that is done.
    """
    _check(matrix, splits, delta, threads)
    k, n = _grid(matrix)
    folder = _Folder(Path(out), formats, {"matrix": _fingerprint(matrix), "splits": splits, "seed": seed, "delta": delta})
    steps = _Steps(matrix, n, splits, progress)
    settings: dict[str, Any] = {"splits": splits, "threads": threads}
    folder.page.unlink(missing_ok=True)

    _draw_matrix(matrix, folder, seed, unit)
    sweeps: dict[fit.Kind, pl.DataFrame] = {}
    for kind in KINDS:
        with_bounds = partial(_sweep, matrix, kind, delta=delta, seed=seed, **settings)
        sweeps[kind] = folder.table(f"error-{kind}", with_bounds, steps.next(f"error against {claims.letter(kind)}"))
    tables = list(sweeps.values())
    for error in figures.ERRORS:
        folder.draw(
            f"{error}-error", figures.error_curves_chart(figures.error_curves_data(tables, error), error=error, unit=unit)
        )
    folder.draw("bounds", figures.bounds_chart(figures.bounds_data(tables, delta=delta), delta=delta, unit=unit))

    closed = folder.table("estimators-exact", lambda _: _closed_forms(matrix, k, n), None)
    parts = []
    for train, runs in zip(k[:, 0].tolist(), n, strict=True):
        compare = partial(_compare, matrix, train=train, runs=runs, seed=seed, **settings)
        parts.append(folder.table(f"estimators-k{train}", compare, steps.next(f"estimators at K = {train}")))
    simulated = pl.concat(parts)
    shown = figures.estimators_data(simulated)
    folder.draw("estimators", figures.estimators_chart(shown.filter(pl.col("k") == pl.col("k").max()), unit=unit))
    folder.draw("estimators-all", figures.estimators_chart(shown, unit=unit))

    found = claims.judge(exact=closed, simulated=simulated, sweeps=sweeps, train=matrix.shape[1] // 2, delta=delta)
    said = page.Said(name=name, unit=unit, splits=splits, seed=seed, delta=delta, version=metadata.version("truecost"))
    text = page.results(matrix, said, found, simulated, sweeps, folder.figures)
    with whole_file(folder.page) as file:
        file.write(text.encode())
    return Reproduction(claims=found, page=folder.page, files=[*folder.files, folder.page], kept=folder.kept)


@dataclass(slots=True)
class _Folder:
    """The folder of results: what is written, and what was there from the same experiment."""

    path: Path
    formats: Sequence[Format]
    about: dict[str, Any]
    files: list[Path] = field(default_factory=list)
    figures: dict[str, str] = field(default_factory=dict)
    kept: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        for part in ("data", "figures"):
            (self.path / part).mkdir(parents=True, exist_ok=True)

    @property
    def page(self) -> Path:
        return self.path / "results.md"

    def table(self, name: str, compute: Callable[[Told | None], pl.DataFrame], told: Told | None) -> pl.DataFrame:
        """The table of a part: the one that is there if it comes from the same experiment, else computed and written."""
        path = self.path / "data" / f"{name}.parquet"
        self.files.append(path)
        about = {"part": name, **self.about}
        # Whatever is wrong with a file that is there, computing it again repairs it.
        with suppress(OSError, ValueError, pl.exceptions.PolarsError):
            if results.about(path) == {"version": metadata.version("truecost"), **about}:
                found = pl.read_parquet(path)
                self.kept.append(name)
                if told is not None:
                    told(self.about["splits"])
                return found
        table = compute(told)
        results.save(table, path, **about)
        return table

    def draw(self, name: str, chart: Chart) -> None:
        for ending in self.formats:
            path = self.path / "figures" / f"{name}.{ending}"
            save(chart, path)
            self.files.append(path)
        if self.formats:
            self.figures[name] = f"figures/{name}.{'png' if 'png' in self.formats else self.formats[0]}"


class _Steps:
    """Progress over parts of different size, each told in splits."""

    def __init__(self, matrix: CostMatrix, n: Any, splits: int, progress: Progress | None) -> None:
        instances, runs = matrix.shape[1:]
        # Costs looked at for each configuration of a split: all means for m and K, each run of the schedule for N, and each
        # run of three estimators, which takes three times as long.
        sweeps = [instances, runs * instances / 2, instances]
        work = np.array([*sweeps, *(9 * n[:, -1])], dtype=np.float64)
        self._shares = iter((work / work.sum() / splits).tolist())
        self._progress = progress
        self._done = 0.0

    def next(self, what: str) -> Told | None:
        """What the next part tells its finished splits."""
        share = next(self._shares)
        if self._progress is None:
            return None
        progress = self._progress
        progress(what, self._done)

        def told(splits: int) -> None:
            self._done = min(1.0, self._done + share * splits)
            progress(what, self._done)

        return told


def _check(matrix: CostMatrix, splits: int, delta: float, threads: int | None) -> None:
    configurations, instances, _ = matrix.shape
    if configurations < LEAST_CONFIGURATIONS or instances < LEAST_INSTANCES:
        raise InputError(
            f"Expected at least {LEAST_CONFIGURATIONS} configurations and {LEAST_INSTANCES} instances, which curves can be "
            f"fitted to, got {configurations} and {instances}."
        )
    if splits < 2:
        raise InputError(f"Expected at least 2 splits, got {splits}.")
    if not 0 < delta < 1:
        raise InputError(f"Expected delta between 0 and 1, got {delta}.")
    resample.check_threads(threads)
    exact.check_complete(matrix)


def _fingerprint(matrix: CostMatrix) -> str:
    digest = hashlib.sha256(repr((matrix.shape, matrix.low, matrix.high, matrix.configurations, matrix.instances)).encode())
    digest.update(np.ascontiguousarray(matrix.costs).tobytes())
    return digest.hexdigest()


def _grid(matrix: CostMatrix) -> tuple[Any, Any]:
    """The paper's K and N: each K once, though few instances round several to one, and no N that the runs do not reach."""
    k, n = exact.grid(matrix.shape[1])
    once = np.append(True, np.diff(k[:, 0]) > 0)
    k, n = k[once], n[once]
    reached = (n <= k * int(matrix.counts().min())).all(axis=0)
    return k[:, reached], n[:, reached]


def _generator(seed: int) -> np.random.Generator:
    return np.random.default_rng(seed)


def _draw_matrix(matrix: CostMatrix, folder: _Folder, seed: int, unit: str) -> None:
    folder.draw("matrix", figures.matrix_chart(figures.matrix_data(matrix), unit=unit))
    if matrix.counts().max() > 1:
        shares = folder.table("variance-shares", lambda _: figures.variance_shares_data(matrix), None)
        folder.draw("variance-shares", figures.variance_shares_chart(shares, unit=unit))
    split = folder.table("over-tuning", lambda _: figures.overtuning_data(matrix, rng=_generator(seed)), None)
    folder.draw("over-tuning", figures.overtuning_chart(split, unit=unit))


def _sweep(
    matrix: CostMatrix, kind: fit.Kind, told: Told | None, *, delta: float, seed: int, **settings: Any
) -> pl.DataFrame:
    run: Callable[..., resample.Sweep] = getattr(resample, f"sweep_{kind}")
    levels = sorted({*resample.LEVELS, 1 - delta})
    sweep = run(matrix, rng=_generator(seed), levels=levels, progress=told, **settings)
    return results.sweep_table(sweep, reality.bounds_against_reality(matrix, sweep, delta=delta))


def _closed_forms(matrix: CostMatrix, k: Any, n: Any) -> pl.DataFrame:
    chosen = _possible(matrix, exact.ESTIMATORS)
    return results.exact_table(
        k, n, {name: exact.mean_squared_error(matrix, estimator=name, instances=k, runs=n) for name in chosen}
    )


def _compare(matrix: CostMatrix, told: Told | None, *, train: int, runs: Any, seed: int, **settings: Any) -> pl.DataFrame:
    chosen = _possible(matrix, SIMULATED)
    errors = resample.compare_estimators(
        matrix, rng=_generator(seed), runs=runs, train=train, estimators=chosen, progress=told, **settings
    )
    return results.estimator_table(errors)


def _possible(matrix: CostMatrix, estimators: tuple[exact.Estimator, ...]) -> list[exact.Estimator]:
    """S† and S° of pairs are defined only where no run is missing."""
    complete = int(matrix.counts().min()) == matrix.shape[2]
    return [name for name in estimators if complete or name in ("even", "scattered")]
