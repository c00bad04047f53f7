"""The paper's experiments on one matrix: tables, figures and a report of the eight claims."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from truecost.errors import InputError, check_choice, counted
from truecost.importers import import_runs
from truecost.matrix import CostMatrix, Log
from truecost.paper import claims, exact, figures, fit, sweeps
from truecost.paper.fit import FORMULAS, Kind
from truecost.stats.variance import variance_components

if TYPE_CHECKING:
    import pandas as pd

    Tables = Mapping[str, pd.DataFrame]
    Sweeps = Mapping[Kind, pd.DataFrame]

# Called with the current part and the share of all work that is done.
Progress = Callable[[str, float], None]
# How much work a table is, and what computes it; `progress=` is told finished splits.
Job = tuple[float, Callable[..., "pd.DataFrame"]]

PARTS = ("estimators", "m", "n", "k")
# Curves need four values, and half of the instances are for training.
LEAST_CONFIGURATIONS, LEAST_INSTANCES = 4, 8
# The figures: the claim each stands under, and its caption.
FIGURES = {
    "estimators": ("best", "Figure 1: the estimators at the largest K"),
    "uniform": ("fits", "Figure 2: uniform error against m, N and K"),
    "selection": ("selection", "Figure 3: selection error against m, N and K"),
    "bounds": ("bounds", "Theorem 2 next to both errors"),
}
METHODS = (
    "A split draws training and test instances without replacement. The mean cost on the test "
    "instances counts as the true cost. S* spreads runs evenly, S† makes all runs of one instance "
    "after another, S° draws instances with replacement. Mean squared errors of the estimators are "
    "exact. All other errors are means over the splits. The variances in Theorem 2 are estimated, "
    "so the bounds are no guarantee here. All numbers are in `data/`."
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Reproduction:
    """The claims that the parts can judge, in the paper's order; the tables by name, as in `data/`;
    the report.
    """

    claims: tuple[claims.Claim, ...]
    tables: "Tables"
    report: Path

    def summary(self) -> str:
        """The verdicts, and where the report is."""
        lines = [f"{claim.verdict:<16} {claim.says}" for claim in self.claims]
        return "\n".join([*lines, f"Report: {self.report}"])

    def to_dict(self) -> dict[str, Any]:
        """Claims with all numbers, and the report."""
        return {"claims": [asdict(claim) for claim in self.claims], "report": str(self.report)}


def reproduce(
    runs: Any,
    folder: str | os.PathLike[str],
    *,
    splits: int = 2500,
    only: Sequence[str] | None = None,
    seed: int = 0,
    workers: int | None = None,
    progress: Progress | None = None,
) -> Reproduction:
    """Repeat the paper's experiments on a matrix of runs.

    Parameters
    ----------
    runs
        Whatever `import_runs` reads without options: a `CostMatrix`, a `Log`, the name of an
        example, a path, a DataFrame. `import_runs("PM.npy", cutoff=5)` reads the authors' files.
    folder
        A new or empty one: where `report.md`, `data/` and `figures/` go, when all is computed.
    splits, seed
        Random splits into training and test instances, and the seed of all experiments.
    only
        Some of "estimators", "m", "n" and "k"; all if not given.
    workers
        Processes; one per core if not given. Results do not depend on it.
    progress
        Called with the current part and the share of all work that is done.

    Examples
    --------
    >>> tc.reproduce("kissat", "kissat-paper", splits=50, workers=1).claims[0].verdict
    <Verdict.HOLDS: 'holds'>
    """
    log, folder = import_runs(runs), Path(folder)
    wanted = [part.lower() for part in only or PARTS]
    for part in wanted:
        check_choice("only", part, PARTS)
    configurations, instances, _ = log.runs.shape
    if configurations < LEAST_CONFIGURATIONS or instances < LEAST_INSTANCES:
        raise InputError(
            f"{configurations} configurations on {instances} instances are too few to fit curves. "
            f"Give at least {LEAST_CONFIGURATIONS} on {LEAST_INSTANCES}."
        )
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError(f"{folder} is no empty folder. Choose a new one.")
    matrix = exact.complete(log.runs)
    tables = _tables(matrix, wanted, splits, seed, workers, progress)
    compared = [table for name, table in tables.items() if name.startswith("estimators-")]
    swept = {kind: tables[f"error-{kind}"] for kind in FORMULAS if f"error-{kind}" in tables}
    judged = claims.judge(tables.get("exact"), compared, swept)
    for name in ("data", "figures"):
        (folder / name).mkdir(parents=True)
    for name, table in tables.items():
        table.to_csv(folder / "data" / f"{name}.csv", index=False)
    drawn = _draw(compared, swept, folder / "figures", log.cost_unit or "cost")
    report = folder / "report.md"
    head = _head(log, matrix, splits, seed)
    report.write_text(_report(head, swept, judged, drawn), encoding="utf-8")
    return Reproduction(claims=judged, tables=tables, report=report)


def _tables(
    matrix: CostMatrix,
    wanted: Sequence[str],
    splits: int,
    seed: int,
    workers: int | None,
    progress: Progress | None,
) -> "dict[str, pd.DataFrame]":
    """The tables by name, in the order in which they are computed."""
    options: dict[str, Any] = {"splits": splits, "rng": seed, "workers": workers}
    jobs: dict[str, Job] = {}
    if "estimators" in wanted:
        jobs["exact"] = 0, lambda **_: exact.estimator_table(matrix)
        for k, runs in zip(*exact.grid(matrix), strict=True):
            compare = partial(sweeps.compare_estimators, matrix, runs, train=int(k[0]), **options)
            jobs[f"estimators-{k[0]}"] = 3 * runs[-1], compare
    work: dict[Kind, float] = {"m": 0.1, "n": matrix.shape[2] / 2, "k": 0.1}
    for kind in FORMULAS:
        if kind in wanted:
            sweep = partial(sweeps.sweep, matrix, kind, **options)
            jobs[f"error-{kind}"] = work[kind] * matrix.shape[1], sweep
    tables, done, total = {}, 0.0, sum(effort for effort, _ in jobs.values())

    def tell(name: str, effort: float, number: int) -> None:
        nonlocal done
        done += effort * number / splits
        if progress is not None:
            progress(name, done / total)

    for name, (effort, compute) in jobs.items():
        tables[name] = compute(progress=partial(tell, name, effort))
    return tables


def _draw(
    compared: "Sequence[pd.DataFrame]", swept: "Sweeps", folder: Path, unit: str
) -> list[str]:
    """Write the figures as SVG and PDF; return their names."""
    from matplotlib.figure import Figure

    from truecost.show.figures.style import page_style, save

    panels: dict[str, list[Callable[..., Any]]] = {name: [] for name in FIGURES}
    # The largest K comes last.
    panels["estimators"] = [partial(figures.estimators, table) for table in compared[-1:]]
    for kind, table in swept.items():
        for error in figures.ERRORS:
            panels[error].append(partial(figures.error_curve, table, kind, error))
        if "bound" in table:
            panels["bounds"].append(partial(figures.bounds, table, kind))
    drawn = [name for name, parts in panels.items() if parts]
    for name in drawn:
        with page_style():
            columns = len(panels[name])
            figure = Figure(figsize=(max(5.0, 3.6 * columns), 3.3), layout="constrained")
            for place, panel in enumerate(panels[name], 1):
                ax = panel(unit=unit, ax=figure.add_subplot(1, columns, place))
            for ending in ("svg", "pdf"):
                save(ax, folder / f"{name}.{ending}")
    return drawn


def _head(log: Log, matrix: CostMatrix, splits: int, seed: int) -> str:
    """The title of the report, and what it is about."""
    configurations, instances, runs = matrix.shape
    most = log.runs.shape[2]
    gaps = f" Some cells have {most} runs: their first {runs} count." if most > runs else ""
    share = variance_components(matrix).within_share
    shares = share[~np.isnan(share)]
    within = (
        f" Seeds make {100 * np.median(shares):.0f} % of the variance (median)."
        if shares.size
        else ""
    )
    return (
        f"# The paper's experiments on {Path(log.path or 'a matrix').name}\n\n"
        f"{configurations} configurations × {instances} instances × {counted(runs, 'run')}, "
        f"costs in [{matrix.low:g}, {matrix.high:g}] ({log.cost_unit or 'cost'}). {splits} splits, "
        f"seed {seed}, truecost {metadata.version('truecost')}.{gaps}{within}"
    )


def _report(
    head: str, swept: "Sweeps", judged: Sequence[claims.Claim], drawn: Sequence[str]
) -> str:
    """The report as Markdown."""
    rows = [[f"{i}", claim.says, f"**{claim.verdict}**"] for i, claim in enumerate(judged, 1)]
    blocks = [head, _table(["", "the paper says", "here"], rows)]
    for number, claim in enumerate(judged, 1):
        finding = f"**{claim.verdict.capitalize()}.** {claim.finding}"
        blocks += [f"## {number}. {claim.says}", finding]
        if claim.name == "fits":
            blocks.append(_fits(swept))
        for name in drawn:
            place, caption = FIGURES[name]
            if place == claim.name:
                blocks.append(f"![{caption}](figures/{name}.svg)\n\n*{caption}*")
    return "\n\n".join([*blocks, "## Methods", METHODS]) + "\n"


def _fits(swept: "Sweeps") -> str:
    rows = []
    for error in figures.ERRORS:
        for kind, table in swept.items():
            curve = fit.curve(table[kind], table[error], kind)
            quality = "–" if np.isnan(curve.r_squared) else f"{curve.r_squared:.4f}"
            rows.append([error, FORMULAS[kind], f"{curve.a:.4g}", f"{curve.b:.4g}", quality])
    return _table(["error", "curve", "a", "b", "R²"], rows)


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
