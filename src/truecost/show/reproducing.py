"""The paper's experimental section on any matrix: figures, data, and a page that answers claim by
claim whether it holds.
"""

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

    Every file is written whole. Data that are there from the same matrix, splits, seed and version
    are kept, so that a call that was interrupted goes on where it stopped. The page comes last:
    where it is, everything is.

    Parameters
    ----------
    matrix
        Every configuration needs a run on every instance; at least 4 configurations and 8
        instances.
    out
        The folder, made if it is not there.
    splits, seed
        Random splits into training and test instances, and where every experiment's random numbers
        start: the numbers are those of `truecost experiment` with the same.
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
    drawn = {
        figure: [folder / "figures" / f"{figure}.{ending}" for ending in formats]
        for figure in charts
    }
    for figure, paths in drawn.items():
        if paths:  # a chart takes long to make, and is made where it is wanted only
            spec = specification(charts[figure]())
            for path, kind in zip(paths, formats, strict=True):
                with whole_file(path) as file:
                    file.write(render(spec, kind))
    ending = "png" if "png" in formats else next(iter(formats), None)
    links = {figure: f"figures/{figure}.{ending}" for figure in charts if ending}
    said = results_page.Said(
        name=name,
        unit=unit,
        splits=splits,
        seed=seed,
        delta=delta,
        version=metadata.version("truecost"),
        figures=links,
    )
    with whole_file(page) as file:
        file.write(results_page.results(matrix, said, results).encode())
    files = [*store.files, *(path for paths in drawn.values() for path in paths), page]
    return Reproduction(claims=results.claims, page=page, files=files, kept=store.kept)


def _charts(
    experiments: paper.Experiments, results: paper.Results, store: Store, unit: str
) -> dict[str, Callable[[], Chart]]:
    """How to draw every figure, by its name; the tables of those that need no experiment go into
    the store too.
    """
    matrix, delta = experiments.matrix, experiments.delta
    charts: dict[str, Callable[[], Chart]] = {
        "matrix": lambda: figures.matrix_chart(figures.matrix_data(matrix), unit=unit)
    }
    if matrix.counts().max() > 1:
        noise = results.components
        numbers = {
            "costs": results.costs,
            "within": noise.within,
            "across": noise.across,
            "share": noise.within_share,
        }
        shares = store.table(
            "variance-shares",
            lambda: figures.variance_shares_data(matrix.configurations, **numbers),
        )
        charts["variance-shares"] = partial(figures.variance_shares_chart, shares, unit=unit)
    split = store.table("over-tuning", lambda: figures.overtuning_data(results.split))
    charts["over-tuning"] = partial(figures.overtuning_chart, split, unit=unit)
    swept = list(results.sweeps.values())
    for error in figures.ERRORS:
        data = figures.error_curves_data(swept, results.fits[error], error)
        charts[f"{error}-error"] = partial(figures.error_curves_chart, data, error=error, unit=unit)
    charts["bounds"] = partial(
        figures.bounds_chart, figures.bounds_data(swept, delta=delta), delta=delta, unit=unit
    )
    errors = figures.estimators_data(results.simulated)
    charts["estimators"] = partial(
        figures.estimators_chart, errors.filter(pl.col("k") == pl.col("k").max()), unit=unit
    )
    charts["estimators-all"] = partial(figures.estimators_chart, errors, unit=unit)
    return charts
