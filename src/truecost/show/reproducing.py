"""The paper's experimental section on any matrix: figures, data, and a page of verdicts."""

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import metadata
from pathlib import Path

import numpy as np
import polars as pl

from truecost.matrix import CostMatrix
from truecost.matrix.files import whole_file
from truecost.paper import claims
from truecost.paper.fit import FORMULAS
from truecost.paper.reproduction import Experiments, Progress, Results, run
from truecost.paper.tables import Store
from truecost.show import figures
from truecost.show.saving import Format, render, specification
from truecost.show.text import visible
from truecost.show.theme import MINUS, Chart

# Figures under each claim.
BESIDE = {
    "best": ("estimators", "estimators-all"),
    "fits": ("uniform-error",),
    "selection": ("selection-error", "over-tuning"),
    "bounds": ("bounds",),
}
CAPTIONS = {
    "matrix": "All costs of the matrix",
    "variance-shares": "Where each configuration's noise comes from",
    "over-tuning": "One split: training cost against cost on the test instances",
    "estimators": "The estimators at the largest K, mean ± standard deviation over splits (the "
    "paper's Figure 1)",
    "estimators-all": "The same at every K of the grid",
    "uniform-error": "Uniform error against m, N and K (the paper's Figure 2)",
    "selection-error": "Selection error against m, N and K (the paper's Figure 3)",
    "bounds": "Theorem 2 against what the splits showed",
}


def _page(
    name: str, unit: str, links: dict[str, str], experiments: Experiments, outcome: Results
) -> str:
    """Return the page as Markdown; `links` are those to its figures."""
    numbered = list(enumerate(outcome.claims, 1))
    rows = [[str(place), claim.says, f"**{claim.verdict}**"] for place, claim in numbered]
    blocks = [
        f"# The paper's experiments on {escaped(name)}",
        _head(experiments, unit, outcome),
        _table(["", "claim", "verdict"], rows),
        *_images(("matrix", "variance-shares"), links),
    ]
    for place, claim in numbered:
        verdict = f"**{claim.verdict.capitalize()}.** {claim.finding}"
        blocks += [f"## {place}. {claim.says}", verdict]
        if claim.name == "best":
            blocks.append(_estimators(outcome.simulated))
        if claim.name == "fits":
            blocks.append(_fits(outcome))
        blocks += _images(BESIDE.get(claim.name, ()), links)
    blocks += ["## Methods", _methods(experiments)]
    return "\n\n".join(blocks) + "\n"


def escaped(text: str) -> str:
    """Escape control characters and everything that Markdown could take for markup."""
    return re.sub(r"([!-/:-@\[-`{-~])", r"\\\1", visible(text))


def _head(experiments: Experiments, unit: str, outcome: Results) -> str:
    matrix = experiments.matrix
    configurations, instances, runs = matrix.shape
    missing = int(np.isnan(matrix.costs).sum())
    known = "" if unit == "cost" else f" ({escaped(unit)})"
    head = (
        f"{configurations:,} configurations × {instances:,} instances × {runs} runs, "
        f"{f'{missing:,} missing' if missing else 'none missing'}; costs in "
        f"[{matrix.low:g}, {matrix.high:g}]{known}. {experiments.splits:,} random "
        f"splits, seed {experiments.seed}, truecost {metadata.version('truecost')}."
    )
    share = outcome.components.within_share
    if np.isnan(share).all():
        return head
    within = f"{np.nanmean(share):.0%} of a configuration's variance is within instances"
    return f"{head} On average {within}, the rest across them."


def _estimators(simulated: pl.DataFrame) -> str:
    last = simulated.filter(pl.col("k") == pl.col("k").max())
    names = last["estimator"].unique(maintain_order=True).to_list()
    rows = []
    for (n,), part in last.group_by("n", maintain_order=True):
        errors = part.select("absolute", "absolute_spread").iter_rows()
        cells = [f"{error:.4g} ± {spread:.2g}" for error, spread in errors]
        rows.append([f"{n:,}", f"{n / part['k'][0]:.2f}", *cells])
    head = f"Absolute error at K = {last['k'][0]:,}, mean ± standard deviation over splits:"
    return f"{head}\n\n{_table(['N', 'N/K', *(claims.NAMES[name] for name in names)], rows)}"


def _fits(outcome: Results) -> str:
    rows = []
    for error, fits in outcome.fits.items():
        for fit in fits:
            numbers = (f"{fit.a:.4g}", f"{fit.b:.4g}", claims.written(fit.r_squared, ".4f"))
            rows.append([error, FORMULAS[fit.kind], *numbers])
    return _table(["error", "curve", "a", "b", "R²"], rows)


def _methods(experiments: Experiments) -> str:
    matrix = experiments.matrix
    half = matrix.shape[1] // 2
    lines = [
        "A split draws training and test instances without replacement; the cost on the test "
        f"instances serves as the true cost. Errors against m, N and K: {half} training and {half} "
        "test instances.",
        "S* spreads runs evenly, S† takes all runs of one instance after another, S° draws "
        "instances and runs with replacement. Mean squared errors are closed forms without Monte "
        "Carlo error; the simulated errors are absolute, averaged over configurations.",
        f"Bounds are Theorem 2 at δ = {experiments.delta:g} with estimated variances: plug-in, not "
        "guaranteed.",
        f"A curve fits from R² = {claims.FOLLOWS:g} on; an error is steady once it is at most "
        f"{claims.STEADY:.0%} above its last value, and nearly so at {claims.NEARLY:.0%}; the "
        "selection error is similar if its R² and its correlation with the uniform error reach "
        f"{claims.CONSIDERABLE:g}.",
        "All numbers are in `data/`, all figures in `figures/`.",
    ]
    if np.isnan(matrix.costs).any():
        lines.append(
            "Runs are missing: S† is undefined and left out, and N ends where the first cell has "
            "no more runs."
        )
    if matrix.shape[2] == 1:
        lines.append(
            "With one run per instance, S† is S*, and within and across cannot be separated."
        )
    return "\n".join(f"* {line}" for line in lines)


def _images(names: tuple[str, ...], figures: dict[str, str]) -> list[str]:
    return [f"![{CAPTIONS[name]}]({figures[name]})" for name in names if name in figures]


def _table(columns: list[str], rows: list[list[str]]) -> str:
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


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
    experiments = Experiments(matrix=matrix, splits=splits, seed=seed, delta=delta, threads=threads)
    folder, page = Path(out), Path(out) / "results.md"
    for part in ("data", "figures"):
        (folder / part).mkdir(parents=True, exist_ok=True)
    page.unlink(missing_ok=True)
    store = Store(folder / "data", experiments.about)
    results = run(experiments, store, progress)
    charts = _charts(experiments, results, store, unit)
    paths = [folder / "figures" / f"{figure}.{kind}" for figure in charts for kind in formats]
    for figure, draw in charts.items():
        spec = specification(draw()) if formats else {}  # drawing takes long
        for kind in formats:
            with whole_file(folder / "figures" / f"{figure}.{kind}") as file:
                file.write(render(spec, kind))
    ending = "png" if "png" in formats else next(iter(formats), None)
    links = {figure: f"figures/{figure}.{ending}" for figure in charts if ending}
    with whole_file(page) as file:
        file.write(_page(name, unit, links, experiments, results).encode())
    files = [*store.files, *paths, page]
    return Reproduction(claims=results.claims, page=page, files=files, kept=store.kept)


def _charts(
    experiments: Experiments, results: Results, store: Store, unit: str
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
    # Errors are sizes: they are the same of costs and of scores.
    sweeps, size = list(results.sweeps.values()), unit.removeprefix(MINUS)
    for error in figures.ERRORS:
        data = figures.error_curves_data(sweeps, results.fits[error], error)
        charts[f"{error}-error"] = partial(figures.error_curves_chart, data, error=error, unit=size)
    bounds = figures.bounds_data(sweeps, delta=delta)
    charts["bounds"] = partial(figures.bounds_chart, bounds, delta=delta, unit=size)
    every = figures.estimators_data(results.simulated)
    largest = every.filter(pl.col("k") == pl.col("k").max())
    charts["estimators"] = partial(figures.estimators_chart, largest, unit=size)
    charts["estimators-all"] = partial(figures.estimators_chart, every, unit=size)
    return charts
