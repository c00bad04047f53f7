"""`results.md`: the paper's claims on one matrix, with verdicts, numbers and figures."""

import re
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from truecost.matrix import CostMatrix
from truecost.paper import claims
from truecost.paper.fit import FORMULAS
from truecost.paper.reproduction import Results
from truecost.show.text import visible

FloatArray = NDArray[np.float64]

# Which figures stand under which claim.
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
    "estimators": "The estimators at the largest K, mean ± standard deviation over splits (the paper's Figure 1)",
    "estimators-all": "The same at every K of the grid",
    "uniform-error": "Uniform error against m, N and K (the paper's Figure 2)",
    "selection-error": "Selection error against m, N and K (the paper's Figure 3)",
    "bounds": "Theorem 2 against what the splits showed",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What was done, for the head of the page, and where each figure lies."""

    name: str
    unit: str
    splits: int
    seed: int
    delta: float
    version: str
    figures: dict[str, str]


def results(matrix: CostMatrix, said: Said, found: Results) -> str:
    """The page as Markdown."""
    numbered = list(enumerate(found.claims, 1))
    blocks = [
        f"# The paper's experiments on {escaped(said.name)}",
        _head(matrix, said, found.components.within_share),
    ]
    blocks += [
        _table(
            ["", "claim", "verdict"],
            [[str(place), c.says, f"**{c.verdict}**"] for place, c in numbered],
        )
    ]
    blocks += _shown(("matrix", "variance-shares"), said.figures)
    for place, claim in numbered:
        blocks += [
            f"## {place}. {claim.says}",
            f"**{claim.verdict.capitalize()}.** {claim.finding}",
        ]
        if claim.name == "best":
            blocks.append(_estimators(found.simulated))
        if claim.name == "fits":
            blocks.append(_fits(found))
        blocks += _shown(BESIDE.get(claim.name, ()), said.figures)
    blocks += ["## How it was done", _method(matrix, said)]
    return "\n\n".join(blocks) + "\n"


def escaped(text: str) -> str:
    """Text that Markdown shows as it is: control characters visible, everything that could be
    markup escaped.
    """
    return re.sub(r"([!-/:-@\[-`{-~])", r"\\\1", visible(text))


def _head(matrix: CostMatrix, said: Said, share: FloatArray) -> str:
    configurations, instances, runs = matrix.shape
    missing = int(np.isnan(matrix.costs).sum())
    head = (
        f"{configurations:,} configurations × {instances:,} instances × {runs} runs, "
        f"{f'{missing:,} missing' if missing else 'none missing'}; costs in [{matrix.low:g}, {matrix.high:g}] "
        f"({escaped(said.unit)}). {said.splits:,} random splits, seed {said.seed}, truecost {said.version}."
    )
    if np.isnan(share).all():
        return head
    mean = np.nanmean(share)
    return f"{head} On average {mean:.0%} of a configuration's variance is within instances, the rest across them."


def _estimators(simulated: pl.DataFrame) -> str:
    last = simulated.filter(pl.col("k") == pl.col("k").max())
    names = last["estimator"].unique(maintain_order=True).to_list()
    rows = []
    for (n,), part in last.group_by("n", maintain_order=True):
        cells = [
            f"{row['absolute']:.4g} ± {row['absolute_spread']:.2g}"
            for row in part.iter_rows(named=True)
        ]
        rows.append([f"{n:,}", f"{n / part['k'][0]:.2f}", *cells])
    head = f"Absolute error at K = {last['k'][0]:,}, mean ± standard deviation over splits:"
    return f"{head}\n\n{_table(['N', 'N/K', *(claims.NAMES[name] for name in names)], rows)}"


def _fits(found: Results) -> str:
    rows = [
        [
            error,
            FORMULAS[each.kind],
            f"{each.a:.4g}",
            f"{each.b:.4g}",
            claims.written(each.r_squared, ".4f"),
        ]
        for error, fits in found.fits.items()
        for each in fits
    ]
    return _table(["error", "curve", "a", "b", "R²"], rows)


def _method(matrix: CostMatrix, said: Said) -> str:
    half = matrix.shape[1] // 2
    lines = [
        "* A split draws training and test instances without replacement; the cost on the test instances stands for the "
        f"true cost. Errors against m, N and K: {half} training and {half} test instances.",
        "* S* spreads runs evenly, S† takes all runs of one instance after another, S° draws instances and runs with "
        "replacement. Mean squared errors are closed forms without Monte Carlo error; the simulated errors are absolute, "
        "averaged over configurations.",
        f"* Bounds are Theorem 2 at δ = {said.delta:g} with estimated variances: plug-in, not guaranteed.",
        f"* A curve follows from R² = {claims.FOLLOWS:g} on; an error is steady once it is at most {claims.STEADY:.0%} "
        f"above its last value, and nearly so at {claims.NEARLY:.0%}; the selection error is alike if its R² and its "
        f"correlation with the uniform error reach {claims.CONSIDERABLE:g}.",
        "* Every number is in `data/`, every figure in `figures/`.",
    ]
    if np.isnan(matrix.costs).any():
        lines.append(
            "* Runs are missing: S† is not defined and left out, and N ends where the first cell has no more runs."
        )
    if matrix.shape[2] == 1:
        lines.append(
            "* With one run an instance, S† is S*, and within and across cannot be told apart."
        )
    return "\n".join(lines)


def _shown(names: tuple[str, ...], figures: dict[str, str]) -> list[str]:
    return [f"![{CAPTIONS[name]}]({figures[name]})" for name in names if name in figures]


def _table(columns: list[str], rows: list[list[str]]) -> str:
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
