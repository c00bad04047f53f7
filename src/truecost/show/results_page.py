"""`results.md`: the paper's claims on one matrix, with verdicts, numbers and figures."""

import re
from dataclasses import dataclass

import numpy as np
import polars as pl

from truecost.matrix import CostMatrix
from truecost.paper import claims
from truecost.paper.fit import FORMULAS
from truecost.paper.reproduction import Results
from truecost.show.text import visible

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


@dataclass(frozen=True, slots=True, kw_only=True)
class PageSettings:
    """The settings of a reproduction, for the head of the page, and the links to its figures."""

    name: str
    unit: str
    splits: int
    seed: int
    delta: float
    version: str
    figures: dict[str, str]


def results(matrix: CostMatrix, settings: PageSettings, outcome: Results) -> str:
    """Return the page as Markdown."""
    numbered = list(enumerate(outcome.claims, 1))
    rows = [[str(place), claim.says, f"**{claim.verdict}**"] for place, claim in numbered]
    blocks = [
        f"# The paper's experiments on {escaped(settings.name)}",
        _head(matrix, settings, outcome),
        _table(["", "claim", "verdict"], rows),
        *_images(("matrix", "variance-shares"), settings.figures),
    ]
    for place, claim in numbered:
        verdict = f"**{claim.verdict.capitalize()}.** {claim.finding}"
        blocks += [f"## {place}. {claim.says}", verdict]
        if claim.name == "best":
            blocks.append(_estimators(outcome.simulated))
        if claim.name == "fits":
            blocks.append(_fits(outcome))
        blocks += _images(BESIDE.get(claim.name, ()), settings.figures)
    blocks += ["## Methods", _methods(matrix, settings)]
    return "\n\n".join(blocks) + "\n"


def escaped(text: str) -> str:
    """Escape control characters and everything that Markdown could take for markup."""
    return re.sub(r"([!-/:-@\[-`{-~])", r"\\\1", visible(text))


def _head(matrix: CostMatrix, settings: PageSettings, outcome: Results) -> str:
    configurations, instances, runs = matrix.shape
    missing = int(np.isnan(matrix.costs).sum())
    head = (
        f"{configurations:,} configurations × {instances:,} instances × {runs} runs, "
        f"{f'{missing:,} missing' if missing else 'none missing'}; costs in "
        f"[{matrix.low:g}, {matrix.high:g}] ({escaped(settings.unit)}). {settings.splits:,} random "
        f"splits, seed {settings.seed}, truecost {settings.version}."
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


def _methods(matrix: CostMatrix, settings: PageSettings) -> str:
    half = matrix.shape[1] // 2
    lines = [
        "A split draws training and test instances without replacement; the cost on the test "
        f"instances serves as the true cost. Errors against m, N and K: {half} training and {half} "
        "test instances.",
        "S* spreads runs evenly, S† takes all runs of one instance after another, S° draws "
        "instances and runs with replacement. Mean squared errors are closed forms without Monte "
        "Carlo error; the simulated errors are absolute, averaged over configurations.",
        f"Bounds are Theorem 2 at δ = {settings.delta:g} with estimated variances: plug-in, not "
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
