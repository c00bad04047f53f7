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
from truecost.matrix import CostMatrix, Log
from truecost.matrix.files import whole_file
from truecost.paper import claims, exact, figures, fit, sweeps
from truecost.paper.bounds_observed import with_bounds
from truecost.paper.fit import FORMULAS, Kind
from truecost.stats.variance import variance_components

if TYPE_CHECKING:
    import pandas as pd

Tables = Mapping[str, "pd.DataFrame"]
# Called with the current part and the share of all work that is done.
Progress = Callable[[str, float], None]
# How much work a table is, and how to compute it, telling finished splits.
Job = tuple[float, Callable[[Callable[[int], None]], "pd.DataFrame"]]

PARTS = ("estimators", "m", "n", "k")
# Curves need four values, and half of the instances are for training.
LEAST_CONFIGURATIONS, LEAST_INSTANCES = 4, 8
CAPTIONS = {
    "estimators": "Figure 1: the estimators at the largest K",
    "uniform": "Figure 2: uniform error against m, N and K",
    "selection": "Figure 3: selection error against m, N and K",
    "bounds": "Theorem 2 next to both errors",
}
# The figure under a claim.
FIGURES = {
    "best": "estimators", "fits": "uniform", "selection": "selection", "bounds": "bounds"
}  # fmt: skip
METHODS = (
    "A split draws training and test instances without replacement; the mean cost on the test "
    "instances counts as the true cost. S* spreads runs evenly, S† makes all runs of one instance "
    "after another, S° draws instances with replacement. Squared errors of the estimators are "
    "closed forms. Absolute errors are simulated, each configuration with its own order of "
    "instances and runs. All numbers are in `data/`."
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Reproduction:
    """What `reproduce` found and wrote.

    Attributes
    ----------
    claims
        The claims that the requested parts can judge, in the paper's order.
    tables
        The results by name, as in `data/`.
    report
        The report in Markdown, written last.
    files
        Everything in the folder.
    kept
        The tables that an earlier call had finished.
    """

    claims: tuple[claims.Claim, ...]
    tables: Tables
    report: Path
    files: tuple[Path, ...]
    kept: tuple[str, ...]

    def summary(self) -> str:
        """The verdicts, and where the report is."""
        lines = [f"{claim.verdict:<16} {claim.says}" for claim in self.claims]
        return "\n".join([*lines, f"Report: {self.report}"])

    def to_dict(self) -> dict[str, Any]:
        """Claims with all numbers, and the files."""
        files = [str(file) for file in self.files]
        return {"claims": [asdict(claim) for claim in self.claims], "files": files}


def reproduce(
    source: Any,
    folder: str | os.PathLike[str],
    *,
    splits: int = 2500,
    only: Sequence[str] | None = None,
    seed: int = 0,
    delta: float = 0.05,
    workers: int | None = None,
    progress: Progress | None = None,
) -> Reproduction:
    """Repeat the paper's experiments on a matrix.

    Parameters
    ----------
    source
        A `CostMatrix`, a `Log`, or whatever `import_runs` reads without options: the name of an
        example, a path, a DataFrame. `import_runs("PM.npy", cutoff=5)` reads the authors' files.
    folder
        Where `report.md`, `data/` and `figures/` go. The same call continues an interrupted one.
    splits, seed
        Random splits into training and test instances, and the seed of all experiments.
    only
        Some of "estimators", "m", "n" and "k"; all if not given.
    delta
        Bounds stand next to the error that 1 − delta of the splits stay below.
    workers
        Processes; one per core if not given. Results do not depend on it.
    progress
        Called with the current part and the share of all work that is done.

    Examples
    --------
    >>> tc.reproduce("kissat", "kissat-paper", splits=50, workers=1).claims[0].verdict
    <Verdict.HOLDS: 'holds'>
    """
    log = _log(source)
    matrix, folder = log.runs, Path(folder)
    wanted = [part.lower() for part in only or PARTS]
    for part in wanted:
        check_choice("only", part, PARTS)
    configurations, instances, _ = matrix.shape
    if configurations < LEAST_CONFIGURATIONS or instances < LEAST_INSTANCES:
        raise InputError(
            f"{configurations} configurations on {instances} instances are too few to fit curves. "
            f"Give at least {LEAST_CONFIGURATIONS} on {LEAST_INSTANCES}."
        )
    jobs = _jobs(matrix, wanted, delta, {"splits": splits, "rng": seed, "workers": workers})
    asked = {"splits": splits, "seed": seed, "delta": delta, "costs": _digest(matrix)}
    report = folder / "report.md"
    kept = _prepare(folder, report, asked)
    tables = _fill(folder / "data", jobs, splits, progress)
    judged = _judge(tables, delta)
    unit = log.cost_unit or "cost"
    drawn = _draw(tables, folder / "figures", unit)
    name = Path(log.path or (source if isinstance(source, str) else "a matrix")).name
    head = f"# The paper's experiments on {name}\n\n{_about(matrix, unit, splits, seed)}"
    with whole_file(report) as file:
        file.write(_report(head, tables, judged, drawn).encode())
    files = [folder / "data" / f"{name}.csv" for name in tables]
    files += [folder / "figures" / f"{name}.{kind}" for name in drawn for kind in ("svg", "pdf")]
    return Reproduction(
        claims=judged,
        tables=tables,
        report=report,
        files=(*files, report),
        kept=tuple(name for name in tables if name in kept),
    )


def _log(source: Any) -> Log:
    if isinstance(source, Log):
        return source
    if isinstance(source, CostMatrix):
        return Log(runs=source)
    from truecost.importers import import_runs

    return import_runs(source)


def _jobs(
    matrix: CostMatrix, wanted: Sequence[str], delta: float, options: dict[str, Any]
) -> dict[str, Job]:
    """The tables by name, in the order in which they are computed."""

    def sweep(kind: Kind, progress: Callable[[int], None]) -> "pd.DataFrame":
        table = sweeps.sweep(matrix, kind, delta=delta, progress=progress, **options)
        return with_bounds(matrix, table, kind, delta)

    def compare(k: int, runs: Any, progress: Callable[[int], None]) -> "pd.DataFrame":
        return sweeps.compare_estimators(matrix, runs, train=k, progress=progress, **options)

    jobs: dict[str, Job] = {}
    if "estimators" in wanted:
        jobs["exact"] = 1, lambda _: exact.estimator_table(matrix)
        for k, runs in zip(*exact.grid(matrix), strict=True):
            jobs[f"estimators-{k[0]}"] = 3 * runs[-1], partial(compare, int(k[0]), runs)
    work: dict[Kind, float] = {"m": 0.1, "n": matrix.shape[2] / 2, "k": 0.1}
    for kind in FORMULAS:
        if kind in wanted:
            jobs[f"error-{kind}"] = work[kind] * matrix.shape[1], partial(sweep, kind)
    return jobs


def _digest(matrix: CostMatrix) -> str:
    digest = hashlib.sha256(repr((matrix.shape, matrix.low, matrix.high)).encode())
    digest.update(np.ascontiguousarray(matrix.costs).tobytes())
    return digest.hexdigest()


def _prepare(folder: Path, report: Path, asked: dict[str, Any]) -> set[str]:
    """Make the folder; return the names of the tables that are there from the same experiment,
    others are removed.
    """
    data, stamp = folder / "data", folder / "data" / "about.json"
    if not stamp.exists() and (report.exists() or (data.exists() and any(data.iterdir()))):
        raise InputError(f"{folder} holds files of something else. Choose a new folder.")
    for name in ("data", "figures"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    # If the report exists, everything does.
    report.unlink(missing_ok=True)
    # Another version may compute other numbers.
    text = json.dumps({**asked, "truecost": metadata.version("truecost")}, indent=1)
    if stamp.exists() and stamp.read_text() == text:
        return {path.stem for path in data.glob("*.csv")}
    for path in data.glob("*.csv"):
        path.unlink()
    with whole_file(stamp) as file:
        file.write(text.encode())
    return set()


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
            table = compute(partial(tell, name, work))
            with whole_file(path) as file:
                file.write(table.to_csv(index=False).encode())
        else:
            tell(name, work, splits)
        tables[name] = pd.read_csv(path)
    return tables


def _judge(tables: Tables, delta: float) -> tuple[claims.Claim, ...]:
    import pandas as pd

    compared = _estimators(tables)
    simulated = pd.concat(compared) if compared else None
    return claims.judge(tables.get("exact"), simulated, _sweeps(tables), delta)


def _estimators(tables: Tables) -> "list[pd.DataFrame]":
    return [table for name, table in tables.items() if name.startswith("estimators-")]


def _sweeps(tables: Tables) -> "dict[Kind, pd.DataFrame]":
    return {kind: tables[f"error-{kind}"] for kind in FORMULAS if f"error-{kind}" in tables}


def _draw(tables: Tables, folder: Path, unit: str) -> list[str]:
    """Write the figures as SVG and PDF; return their names."""
    from matplotlib.figure import Figure

    from truecost.show.figures.style import page_style, save

    panels: dict[str, list[Callable[..., Any]]] = {name: [] for name in CAPTIONS}
    if compared := _estimators(tables):
        panels["estimators"] = [partial(figures.estimators, compared[-1])]
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


def _about(matrix: CostMatrix, unit: str, splits: int, seed: int) -> str:
    configurations, instances, runs = matrix.shape
    share = variance_components(matrix).within_share
    known = share[~np.isnan(share)]
    within = f" Seeds make {np.median(known):.0%} of the variance (median)." if known.size else ""
    return (
        f"{configurations} configurations × {instances} instances × {runs} runs, costs in "
        f"[{matrix.low:g}, {matrix.high:g}] ({unit}). {splits} splits, seed {seed}, truecost "
        f"{metadata.version('truecost')}.{within}"
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
        if (name := FIGURES.get(claim.name)) in drawn and name:
            blocks.append(f"![{CAPTIONS[name]}](figures/{name}.svg)\n\n*{CAPTIONS[name]}*")
    return "\n\n".join([*blocks, "## Methods", METHODS]) + "\n"


def _fits(tables: Tables) -> str:
    rows = []
    for error in ("uniform", "selection"):
        for kind, table in _sweeps(tables).items():
            curve = fit.curve(table[kind], table[error], kind)
            numbers = [f"{curve.a:.4g}", f"{curve.b:.4g}", f"{curve.r_squared:.4f}"]
            rows.append([error, FORMULAS[kind], *numbers])
    return _table(["error", "curve", "a", "b", "R²"], rows)


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
