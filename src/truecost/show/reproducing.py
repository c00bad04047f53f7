"""The paper's experimental section on any matrix: figures, data, and a page of verdicts."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import metadata
from pathlib import Path

import polars as pl

from truecost.matrix import CostMatrix
from truecost.matrix.files import whole_file
from truecost.paper import reproduction as paper
from truecost.paper.claims import Claim
from truecost.paper.tables import Store
from truecost.show import figures, results_page
from truecost.show.saving import Format, render, specification
from truecost.show.theme import Chart

FORMATS: tuple[Format, ...] = ("pdf", "png", "svg")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reproduction:
    """The result of `reproduce`.

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

    claims: list[Claim]
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
    progress: paper.Progress | None = None,
) -> Reproduction:
    """Run the paper's experiments on a matrix; figures, data and `results.md` go into a folder.

    Files are written atomically. Data of an earlier call with the same matrix, splits, seed and
    version are kept, so that an interrupted call resumes. The page is written last: if it exists,
    everything does.

    Parameters
    ----------
    matrix
        Every configuration needs a run on every instance; at least 4 configurations and 8
        instances.
    out
        The folder, created if missing.
    splits, seed
        The number of random splits into training and test instances, and the seed of every
        experiment: the numbers are those of `truecost experiment` with the same options.
    name, unit
        The name of the matrix on the page, and the unit of cost in the figures.
    delta
        Bounds and quantiles are at probability 1 − delta.
    formats
        File formats of every figure; the page shows PNG, or the first of them.
    threads
        All cores if not given; the results do not depend on it.
    progress
        Called with the current activity and the finished share of all work.

    Examples
    --------
    >>> matrix = tc.runtime_model(configurations=4, rng=1).draw(instances=8, runs=2, rng=2)
    >>> tc.reproduce(matrix, out="results", splits=20, formats=()).page.name
    'results.md'
    """
    experiments = paper.Experiments(
        matrix=matrix, splits=splits, seed=seed, delta=delta, threads=threads
    )
    folder, page = Path(out), Path(out) / "results.md"
    for part in ("data", "figures"):
        (folder / part).mkdir(parents=True, exist_ok=True)
    page.unlink(missing_ok=True)
    store = Store(folder / "data", experiments.about)
    results = paper.run(experiments, store, progress)
    charts = _charts(experiments, results, store, unit)
    paths = [folder / "figures" / f"{figure}.{kind}" for figure in charts for kind in formats]
    for figure, draw in charts.items():
        spec = specification(draw()) if formats else {}  # drawing takes long
        for kind in formats:
            with whole_file(folder / "figures" / f"{figure}.{kind}") as file:
                file.write(render(spec, kind))
    ending = "png" if "png" in formats else next(iter(formats), None)
    settings = results_page.PageSettings(
        name=name,
        unit=unit,
        splits=splits,
        seed=seed,
        delta=delta,
        version=metadata.version("truecost"),
        figures={figure: f"figures/{figure}.{ending}" for figure in charts if ending},
    )
    with whole_file(page) as file:
        file.write(results_page.results(matrix, settings, results).encode())
    files = [*store.files, *paths, page]
    return Reproduction(claims=results.claims, page=page, files=files, kept=store.kept)


def _charts(
    experiments: paper.Experiments, results: paper.Results, store: Store, unit: str
) -> dict[str, Callable[[], Chart]]:
    """Return how to draw every figure, by name; tables without an experiment are stored, too."""
    matrix, delta = experiments.matrix, experiments.delta
    charts: dict[str, Callable[[], Chart]] = {
        "matrix": lambda: figures.matrix_chart(figures.matrix_data(matrix), unit=unit)
    }
    if matrix.counts().max() > 1:
        noise = results.components
        shares = store.table(
            "variance-shares",
            lambda: figures.variance_shares_data(
                matrix.configurations,
                costs=results.costs,
                within=noise.within,
                across=noise.across,
                share=noise.within_share,
            ),
        )
        charts["variance-shares"] = partial(figures.variance_shares_chart, shares, unit=unit)
    split = store.table("over-tuning", lambda: figures.overtuning_data(results.split))
    charts["over-tuning"] = partial(figures.overtuning_chart, split, unit=unit)
    sweeps = list(results.sweeps.values())
    for error in figures.ERRORS:
        data = figures.error_curves_data(sweeps, results.fits[error], error)
        charts[f"{error}-error"] = partial(figures.error_curves_chart, data, error=error, unit=unit)
    bounds = figures.bounds_data(sweeps, delta=delta)
    charts["bounds"] = partial(figures.bounds_chart, bounds, delta=delta, unit=unit)
    every = figures.estimators_data(results.simulated)
    largest = every.filter(pl.col("k") == pl.col("k").max())
    charts["estimators"] = partial(figures.estimators_chart, largest, unit=unit)
    charts["estimators-all"] = partial(figures.estimators_chart, every, unit=unit)
    return charts
