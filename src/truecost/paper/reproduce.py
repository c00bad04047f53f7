"""The paper's experiments on one matrix: tables, figures and a report of the eight claims."""

import hashlib
import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

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
    from matplotlib.axes import Axes

PARTS = ("estimators", "m", "n", "k")
# Called with the current part and the share of all work that is done.
Progress = Callable[[str, float], None]
# Curves need four values, and half of the instances are for training.
LEAST_CONFIGURATIONS, LEAST_INSTANCES = 4, 8
CAPTIONS = {
    "estimators": "Figure 1: the estimators at K = P/2, mean ± standard deviation over splits",
    "uniform": "Figure 2: uniform error against m, N and K, with fitted curves",
    "selection": "Figure 3: selection error against m, N and K, with fitted curves",
    "bounds": "Theorem 2 next to the uniform error",
    "bounds-selection": "Theorem 2 next to the selection error",
}
# The figures under each claim.
FIGURES = {
    "best": ("estimators",),
    "fits": ("uniform",),
    "selection": ("selection",),
    "bounds": ("bounds", "bounds-selection"),
}


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
    tables: "Mapping[str, pd.DataFrame]"
    report: Path
    files: tuple[Path, ...]
    kept: tuple[str, ...]

    def summary(self) -> str:
        """The verdicts, one in a line, and where the report is."""
        lines = [f"{claim.verdict:<16} {claim.says}" for claim in self.claims]
        return "\n".join([*lines, f"Report: {self.report}"])

    def to_dict(self) -> dict[str, Any]:
        """Claims with all numbers, and the files."""
        return {
            "claims": [asdict(claim) for claim in self.claims],
            "report": str(self.report),
            "files": [str(file) for file in self.files],
        }


def reproduce(
    source: Any,
    folder: str | os.PathLike[str],
    *,
    splits: int = 2500,
    only: Sequence[str] | None = None,
    seed: int = 1,
    delta: float = 0.05,
    workers: int | None = None,
    progress: Progress | None = None,
) -> Reproduction:
    """Repeat the paper's experiments on a matrix.

    Parameters
    ----------
    source
        A `CostMatrix`, a `Log`, or whatever `import_runs` reads: a path, a DataFrame, the name of
        an example, the paper's `PM.npy`.
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
    _check_size(matrix)
    wanted = tuple(part.lower() for part in (PARTS if only is None else only))
    for part in wanted:
        check_choice("only", part, PARTS)
    jobs = _jobs(matrix, wanted, splits=splits, seed=seed, delta=delta, workers=workers)
    report = folder / "report.md"
    for place in ("data", "figures"):
        (folder / place).mkdir(parents=True, exist_ok=True)
    # If the report exists, everything does.
    report.unlink(missing_ok=True)
    store = _Store(folder / "data", _about(matrix, splits, seed, delta))
    tables = store.fill(jobs, splits, progress)
    if progress is not None:
        progress("figures", 1.0)
    judged = claims.judge(**_evidence(tables), delta=delta)
    unit = log.cost_unit or "cost"
    images = _draw(tables, folder / "figures", unit)
    text = _report(_name(source, log), matrix, unit, tables, judged, images, splits, seed)
    with whole_file(report) as file:
        file.write(text.encode())
    files = [store.path(name) for name in tables]
    files += [path for name in images for path in sorted((folder / "figures").glob(f"{name}.*"))]
    return Reproduction(
        claims=judged, tables=tables, report=report, files=(*files, report), kept=store.kept
    )


def _log(source: Any) -> Log:
    if isinstance(source, Log):
        return source
    if isinstance(source, CostMatrix):
        return Log(runs=source)
    from truecost.importers import import_runs

    return import_runs(source)


def _check_size(matrix: CostMatrix) -> None:
    configurations, instances, _ = matrix.shape
    if configurations < LEAST_CONFIGURATIONS or instances < LEAST_INSTANCES:
        raise InputError(
            f"{configurations} configurations on {instances} instances are too few to fit curves. "
            f"Give at least {LEAST_CONFIGURATIONS} on {LEAST_INSTANCES}."
        )
    exact.check_complete(matrix)


Ticks = Callable[[int], None]
# The work of a table, relative to the others, and how to compute it.
Job = tuple[float, Callable[[Ticks], "pd.DataFrame"]]


def _jobs(
    matrix: CostMatrix, wanted: Sequence[str], *, splits: int, delta: float, seed: int, workers: int | None
) -> dict[str, Job]:
    """The tables by name, in the order in which they are computed."""
    common = {"splits": splits, "rng": seed, "workers": workers}
    configurations, instances, runs = matrix.shape

    def sweep(kind: Kind, progress: Ticks) -> "pd.DataFrame":
        table = sweeps.sweep(matrix, kind, delta=delta, progress=progress, **common)
        return with_bounds(matrix, table, kind, delta)

    def compare(k: int, runs: Any, progress: Ticks) -> "pd.DataFrame":
        return sweeps.compare_estimators(matrix, runs, train=k, progress=progress, **common)

    jobs: dict[str, Job] = {}
    if "estimators" in wanted:
        jobs["exact"] = 1.0, lambda _: exact.estimator_table(matrix)
        sizes, numbers = exact.grid(matrix)
        for k, row in zip(sizes[:, 0].tolist(), numbers, strict=True):
            jobs[f"estimators-{k}"] = 3.0 * row[-1], partial(compare, k, row)
    work = {"m": instances / 10, "n": runs * instances / 2, "k": instances / 10}
    for kind in FORMULAS:
        if kind in wanted:
            jobs[f"error-{kind}"] = work[kind], partial(sweep, kind)
    return jobs


def _evidence(tables: "Mapping[str, pd.DataFrame]") -> dict[str, Any]:
    """The tables as `claims.judge` takes them."""
    import pandas as pd

    simulated = [table for name, table in tables.items() if name.startswith("estimators-")]
    return {
        "exact": tables.get("exact"),
        "simulated": pd.concat(simulated) if simulated else None,
        "sweeps": _sweeps(tables),
    }


def _sweeps(tables: "Mapping[str, pd.DataFrame]") -> "dict[Kind, pd.DataFrame]":
    return {kind: tables[f"error-{kind}"] for kind in FORMULAS if f"error-{kind}" in tables}


def _about(matrix: CostMatrix, splits: int, seed: int, delta: float) -> dict[str, Any]:
    """What the tables depend on; the costs by their digest."""
    digest = hashlib.sha256(repr((matrix.shape, matrix.low, matrix.high)).encode())
    digest.update(np.ascontiguousarray(matrix.costs).tobytes())
    about = {"costs": digest.hexdigest(), "splits": splits, "seed": seed, "delta": delta}
    # Another version may compute other numbers.
    return about | {"truecost": metadata.version("truecost")}


class _Store:
    """Tables in a folder. Those of the same experiment are kept, others are computed again."""

    def __init__(self, folder: Path, about: dict[str, Any]) -> None:
        self._folder = folder
        self.kept: tuple[str, ...] = ()
        stamp, text = folder / "about.json", json.dumps(about, indent=1)
        if not stamp.exists() or stamp.read_text() != text:
            for path in folder.glob("*.csv"):
                path.unlink()
            with whole_file(stamp) as file:
                file.write(text.encode())

    def path(self, name: str) -> Path:
        return self._folder / f"{name}.csv"

    def fill(
        self, jobs: dict[str, Job], splits: int, progress: Progress | None
    ) -> "dict[str, pd.DataFrame]":
        """All tables; progress is told after some splits each."""
        import pandas as pd

        tables, done, total = {}, 0.0, sum(work for work, _ in jobs.values())
        for name, (work, compute) in jobs.items():
            start = done
            if self.path(name).exists():
                # Every digit comes back.
                tables[name] = pd.read_csv(self.path(name), float_precision="round_trip")
                self.kept += (name,)
            else:

                def ticks(number: int, name: str = name, work: float = work) -> None:
                    nonlocal done
                    done += work * number / splits
                    if progress is not None:
                        progress(name, min(done / total, 1.0))

                tables[name] = compute(ticks)
                with whole_file(self.path(name)) as file:
                    file.write(tables[name].to_csv(index=False).encode())
            done = start + work
        return tables


def _draw(tables: "Mapping[str, pd.DataFrame]", folder: Path, unit: str) -> list[str]:
    """Write the figures as SVG and PDF; return their names."""
    from matplotlib.figure import Figure

    from truecost.show.figures.style import page_style, save

    curves = _sweeps(tables)
    panels: dict[str, list[Callable[[Axes], Axes]]] = {}
    compared = [name for name in tables if name.startswith("estimators-")]
    if compared:
        panels["estimators"] = [
            lambda ax: figures.estimators(tables[compared[-1]], unit=unit, ax=ax)
        ]
    for error in ("uniform", "selection"):
        draw = {error: figures.error_curve}
        if all("bound" in table for table in curves.values()):
            draw["bounds" if error == "uniform" else "bounds-selection"] = figures.bounds
        for name, function in draw.items():
            panels[name] = [
                lambda ax, f=function, e=error, k=kind, t=table: f(t, k, e, unit=unit, ax=ax)
                for kind, table in curves.items()
            ]
    drawn = [name for name in CAPTIONS if panels.get(name)]
    for name in drawn:
        with page_style():
            count = len(panels[name])
            figure = Figure(figsize=(3.6 * count if count > 1 else 6.0, 3.6), layout="constrained")
            axes = [figure.add_subplot(1, count, place + 1) for place in range(count)]
            for ax, panel in zip(axes, panels[name], strict=True):
                panel(ax)
            for ending in ("svg", "pdf"):
                save(axes[0], folder / f"{name}.{ending}")
    return drawn


def _name(source: Any, log: Log) -> str:
    return Path(log.path or (source if isinstance(source, str | os.PathLike) else "a matrix")).name


def _report(
    name: str,
    matrix: CostMatrix,
    unit: str,
    tables: "Mapping[str, pd.DataFrame]",
    judged: Sequence[claims.Claim],
    images: Sequence[str],
    splits: int,
    seed: int,
) -> str:
    """The report as Markdown."""
    configurations, instances, runs = matrix.shape
    share = variance_components(matrix).within_share
    within = ""
    if not np.isnan(share).all():
        within = f" Runs of one instance make {np.nanmedian(share):.0%} of the variance (median)."
    blocks = [
        f"# The paper's experiments on {name}",
        f"{configurations} configurations × {instances} instances × {runs} runs, costs in "
        f"[{matrix.low:g}, {matrix.high:g}] ({unit}). {splits} splits, seed {seed}, truecost "
        f"{metadata.version('truecost')}.{within}",
        _table(
            ["", "the paper says", "here"],
            [[str(i), claim.says, f"**{claim.verdict}**"] for i, claim in enumerate(judged, 1)],
        ),
    ]
    for number, claim in enumerate(judged, 1):
        blocks += [f"## {number}. {claim.says}", f"**{claim.verdict.capitalize()}.** {claim.finding}"]
        if claim.name == "fits":
            blocks.append(_fits(tables))
        blocks += [
            f"![{CAPTIONS[image]}](figures/{image}.svg)\n\n*{CAPTIONS[image]}*"
            for image in FIGURES.get(claim.name, ())
            if image in images
        ]
    blocks += [
        "## Methods",
        "A split draws training and test instances without replacement; the mean cost on the test "
        "instances counts as the true cost. S* spreads runs evenly, S† makes all runs of one "
        "instance after another, S° draws instances with replacement. Squared errors of the "
        "estimators are closed forms; absolute errors are simulated, each configuration with its "
        "own order of instances and runs. All numbers are in `data/`.",
    ]
    return "\n\n".join(blocks) + "\n"


def _fits(tables: "Mapping[str, pd.DataFrame]") -> str:
    rows = []
    for error in ("uniform", "selection"):
        for kind, table in _sweeps(tables).items():
            curve = fit.curve(table[kind], table[error], kind)
            r_squared = "–" if np.isnan(curve.r_squared) else f"{curve.r_squared:.4f}"
            rows.append([error, FORMULAS[kind], f"{curve.a:.4g}", f"{curve.b:.4g}", r_squared])
    return _table(["error", "curve", "a", "b", "R²"], rows)


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
