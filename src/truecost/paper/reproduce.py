"""The paper's experiments on one matrix: tables, figures and a report of the eight claims."""

import hashlib
import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from truecost.errors import InputError, check_choice
from truecost.importers import import_runs
from truecost.matrix import CostMatrix, Log
from truecost.matrix.files import whole_file
from truecost.paper import claims, exact, figures, fit, sweeps
from truecost.paper.fit import FORMULAS, Kind
from truecost.stats.variance import variance_components

if TYPE_CHECKING:
    import pandas as pd

Tables = Mapping[str, "pd.DataFrame"]
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
    tables: Tables
    report: Path

    def summary(self) -> str:
        """The verdicts, and where the report is."""
        lines = [f"{claim.verdict:<16} {claim.says}" for claim in self.claims]
        return "\n".join([*lines, f"Report: {self.report}"])

    def to_dict(self) -> dict[str, Any]:
        """Claims with all numbers, and the report."""
        return {"claims": [asdict(claim) for claim in self.claims], "report": str(self.report)}


def reproduce(
    source: Any,
    folder: str | os.PathLike[str],
    *,
    splits: int = 2500,
    only: Sequence[str] | None = None,
    seed: int = 0,
    workers: int | None = None,
    progress: Progress | None = None,
) -> Reproduction:
    """Repeat the paper's experiments on a matrix.

    Parameters
    ----------
    source
        Whatever `import_runs` reads without options: a `CostMatrix`, a `Log`, the name of an
        example, a path, a DataFrame. `import_runs("PM.npy", cutoff=5)` reads the authors' files.
    folder
        Where `report.md`, `data/` and `figures/` go. The same call continues an interrupted one.
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
    log, folder = import_runs(source), Path(folder)
    wanted = [part.lower() for part in only or PARTS]
    for part in wanted:
        check_choice("only", part, PARTS)
    configurations, instances, _ = log.runs.shape
    if configurations < LEAST_CONFIGURATIONS or instances < LEAST_INSTANCES:
        raise InputError(
            f"{configurations} configurations on {instances} instances are too few to fit curves. "
            f"Give at least {LEAST_CONFIGURATIONS} on {LEAST_INSTANCES}."
        )
    jobs = _jobs(log.runs, wanted, {"splits": splits, "rng": seed, "workers": workers})
    _prepare(folder, {"splits": splits, "seed": seed, "costs": _digest(log.runs)})
    tables = _fill(folder / "data", jobs, splits, progress)
    judged = claims.judge(tables.get("exact"), _estimators(tables), _sweeps(tables))
    drawn = _draw(tables, folder / "figures", log.cost_unit or "cost")
    name = Path(log.path or "a matrix").name
    head = f"# The paper's experiments on {name}\n\n{_about(log, splits, seed)}"
    with whole_file(folder / "report.md") as file:
        file.write(_report(head, tables, judged, drawn).encode())
    return Reproduction(claims=judged, tables=tables, report=folder / "report.md")


def _jobs(matrix: CostMatrix, wanted: Sequence[str], options: dict[str, Any]) -> dict[str, Job]:
    """The tables by name, in the order in which they are computed."""
    jobs: dict[str, Job] = {}
    if "estimators" in wanted:
        jobs["exact"] = 1, lambda **_: exact.estimator_table(matrix)
        for k, runs in zip(*exact.grid(matrix), strict=True):
            compare = partial(sweeps.compare_estimators, matrix, runs, train=int(k[0]), **options)
            jobs[f"estimators-{k[0]}"] = 3 * runs[-1], compare
    work: dict[Kind, float] = {"m": 0.1, "n": matrix.shape[2] / 2, "k": 0.1}
    for kind in FORMULAS:
        if kind in wanted:
            sweep = partial(sweeps.sweep, matrix, kind, **options)
            jobs[f"error-{kind}"] = work[kind] * matrix.shape[1], sweep
    return jobs


def _digest(matrix: CostMatrix) -> str:
    digest = hashlib.sha256(repr((matrix.shape, matrix.low, matrix.high)).encode())
    digest.update(np.ascontiguousarray(matrix.costs).tobytes())
    return digest.hexdigest()


def _prepare(folder: Path, asked: dict[str, Any]) -> None:
    """Make the folder; remove the report, and tables of another experiment."""
    data, report = folder / "data", folder / "report.md"
    stamp = data / "about.json"
    if not stamp.exists() and (report.exists() or (data.exists() and any(data.iterdir()))):
        raise InputError(f"{folder} holds files of something else. Choose a new folder.")
    for name in ("data", "figures"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    # If the report exists, everything does.
    report.unlink(missing_ok=True)
    # Another version may compute other numbers.
    text = json.dumps({**asked, "truecost": metadata.version("truecost")}, indent=1)
    if not stamp.exists() or stamp.read_text() != text:
        for path in data.glob("*.csv"):
            path.unlink()
        with whole_file(stamp) as file:
            file.write(text.encode())


def _fill(data: Path, jobs: dict[str, Job], splits: int, progress: Progress | None) -> Tables:
    """All tables: read where they are there, else computed and written."""
    import pandas as pd

    tables, done, total = {}, 0.0, sum(work for work, _ in jobs.values())

    def tell(name: str, work: float, number: int) -> None:
        nonlocal done
        done += work * number / splits
        if progress is not None:
            progress(name, done / total)

    for name, (work, compute) in jobs.items():
        path = data / f"{name}.csv"
        if not path.exists():
            table = compute(progress=partial(tell, name, work))
            with whole_file(path) as file:
                file.write(table.to_csv(index=False).encode())
        else:
            tell(name, work, splits)
        tables[name] = pd.read_csv(path)
    return tables


def _estimators(tables: Tables) -> "pd.DataFrame | None":
    import pandas as pd

    parts = [table for name, table in tables.items() if name.startswith("estimators-")]
    return pd.concat(parts) if parts else None


def _sweeps(tables: Tables) -> "dict[Kind, pd.DataFrame]":
    return {kind: tables[f"error-{kind}"] for kind in FORMULAS if f"error-{kind}" in tables}


def _draw(tables: Tables, folder: Path, unit: str) -> list[str]:
    """Write the figures as SVG and PDF; return their names."""
    from matplotlib.figure import Figure

    from truecost.show.figures.style import page_style, save

    panels: dict[str, list[Callable[..., Any]]] = {name: [] for name in FIGURES}
    if (compared := _estimators(tables)) is not None:
        largest = compared[compared["k"] == compared["k"].max()]
        panels["estimators"].append(partial(figures.estimators, largest))
    for kind, table in _sweeps(tables).items():
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


def _about(log: Log, splits: int, seed: int) -> str:
    matrix = log.runs
    configurations, instances, runs = matrix.shape
    share = variance_components(matrix).within_share
    known = share[~np.isnan(share)]
    within = (
        f" Seeds make {100 * np.median(known):.0f} % of the variance (median)."
        if known.size
        else ""
    )
    return (
        f"{configurations} configurations × {instances} instances × {runs} runs, costs in "
        f"[{matrix.low:g}, {matrix.high:g}] ({log.cost_unit or 'cost'}). {splits} splits, seed "
        f"{seed}, truecost {metadata.version('truecost')}.{within}"
    )


def _report(head: str, tables: Tables, judged: Sequence[claims.Claim], drawn: Sequence[str]) -> str:
    """The report as Markdown."""
    rows = [[f"{i}", claim.says, f"**{claim.verdict}**"] for i, claim in enumerate(judged, 1)]
    blocks = [head, _table(["", "the paper says", "here"], rows)]
    for number, claim in enumerate(judged, 1):
        finding = f"**{claim.verdict.capitalize()}.** {claim.finding}"
        blocks += [f"## {number}. {claim.says}", finding]
        if claim.name == "fits":
            blocks.append(_fits(tables))
        for name in drawn:
            place, caption = FIGURES[name]
            if place == claim.name:
                blocks.append(f"![{caption}](figures/{name}.svg)\n\n*{caption}*")
    return "\n\n".join([*blocks, "## Methods", METHODS]) + "\n"


def _fits(tables: Tables) -> str:
    rows = []
    for error in figures.ERRORS:
        for kind, table in _sweeps(tables).items():
            curve = fit.curve(table[kind], table[error], kind)
            numbers = [f"{curve.a:.4g}", f"{curve.b:.4g}", f"{curve.r_squared:.4f}"]
            rows.append([error, FORMULAS[kind], *numbers])
    return _table(["error", "curve", "a", "b", "R²"], rows)


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
