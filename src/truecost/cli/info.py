"""`truecost info`."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from truecost.cli.inputs import example_or, load_matrix
from truecost.cli.printing import High, Json, Low, number, print_json, print_line, print_table
from truecost.errors import InputError
from truecost.running.journalfile import is_journal

if TYPE_CHECKING:
    from truecost.matrix import CostMatrix


class Weights(StrEnum):
    """How runs are weighted, as on the command line."""

    RUNS = "runs"
    INSTANCES = "instances"
    BEST = "best"


def info(
    matrix: Annotated[
        Path, typer.Argument(help="A matrix: .npz, a long table as .parquet or .csv, or a journal.", show_default=False)
    ],
    weights: Annotated[
        Weights, typer.Option(help="Training cost as mean of runs, mean of instance means, or by best linear weights.")
    ] = Weights.RUNS,
    top: Annotated[int, typer.Option(min=1, help="How many configurations to show, the best first.")] = 10,
    low: Low = None,
    high: High = None,
    par: Annotated[float | None, typer.Option(help="Of a journal: failed runs cost so many times the cutoff.")] = None,
    cutoff: Annotated[float | None, typer.Option(help="Of a journal: a lower cutoff than the runs had, in seconds.")] = None,
    json: Json = False,
) -> None:
    """What a matrix holds: how good each configuration is, how noisy that number is, and where the noise comes from.

    Of a journal, also one that is being written, it says as well how far it is and what looks wrong in it.
    """
    matrix = example_or(matrix)
    if is_journal(matrix):
        _info_of_journal(matrix, weights.value, top, par, cutoff, json)
        return
    if par is not None or cutoff is not None:
        raise InputError(f"{matrix}: expected a journal for --par and --cutoff: a matrix has its costs for good.")
    summary = summarise(load_matrix(matrix, low, high), weights.value)
    if json:
        print_json(summary)
    else:
        print_info(summary, top)


def _info_of_journal(path: Path, weights: str, top: int, par: float | None, cutoff: float | None, json: bool) -> None:
    from truecost.cli.gather import print_summary
    from truecost.cli.gather import summary as journal_summary
    from truecost.running.journal import Journal

    with Journal.read(path) as journal:
        table = journal.table()
        report = journal_summary(journal, table)
        counted = report["runs"] > report["ahead"]
        summary = (
            summarise(journal.matrix(journal.metric(par=par, cutoff=cutoff), table=table), weights) if counted else None
        )
    if json:
        print_json({"journal": report, "matrix": summary})
        return
    print_summary(report)
    if summary is not None:
        print_info(summary, top)


def summarise(matrix: "CostMatrix", weights: Any) -> dict[str, Any]:
    """What `info` says of a matrix, as plain data; configurations with the least training cost first."""
    import numpy as np

    from truecost.runs import Status
    from truecost.stats.estimate import training_cost
    from truecost.stats.variance import variance_components

    components = variance_components(matrix)
    costs = training_cost(matrix, weights=weights, components=components)
    order = np.argsort(costs.cost, kind="stable")
    statuses = None
    if matrix.statuses is not None:
        statuses = {status.label: int((matrix.statuses == status).sum()) for status in Status}
    configurations, instances, runs = matrix.shape
    return {
        "configurations": configurations,
        "instances": instances,
        "runs_per_cell": runs,
        "low": matrix.low,
        "high": matrix.high,
        "runs": int(costs.runs.sum()),
        "missing_runs": int(matrix.costs.size - costs.runs.sum()),
        "statuses": statuses,
        "weights": weights,
        "within_identifiable": bool(np.isfinite(components.within).any()),
        "table": [
            {
                "configuration": matrix.configurations[i],
                "training_cost": costs.cost[i],
                "standard_error": costs.standard_error[i],
                "runs": costs.runs[i],
                "instances": costs.instances[i],
                "within": components.within[i],
                "across": components.across[i],
                "total": components.total[i],
            }
            for i in order
        ],
    }


def print_info(summary: dict[str, Any], top: int) -> None:
    """`summarise` for people."""
    size = f"{summary['configurations']} configurations × {summary['instances']} instances × {summary['runs_per_cell']} runs"
    missing = f", {summary['missing_runs']:,} missing" if summary["missing_runs"] else ", none missing"
    print_line(f"{size}: {summary['runs']:,} runs{missing}; costs in [{summary['low']:g}, {summary['high']:g}]")
    if summary["statuses"]:
        shares = [f"{name} {count / summary['runs']:.1%}" for name, count in summary["statuses"].items() if count]
        print_line("Runs: " + ", ".join(shares))
    print_line()
    rows = []
    for rank, entry in enumerate(summary["table"][:top], 1):
        within, across = max(entry["within"], 0), max(entry["across"], 0)
        share = f"{within / (within + across):.0%}" if within + across > 0 else "–"
        rows.append(
            [
                str(rank),
                entry["configuration"],
                number(entry["training_cost"]),
                f"± {number(entry['standard_error'], 2)}",
                number(within),
                number(across),
                share,
            ]
        )
    shown = min(top, len(summary["table"]))
    print_table(
        f"The {shown} best of {len(summary['table'])} by training cost",
        ["", "configuration", "training cost", "s.e.", "within", "across", "within share"],
        rows,
        left=2,
    )
    _print_footnotes(summary, top)


def _print_footnotes(summary: dict[str, Any], top: int) -> None:
    if not summary["within_identifiable"]:
        print_line(
            "within and across cannot be told apart: no instance has two runs of a configuration. Run some again.", "open"
        )
    if any(entry["across"] < 0 for entry in summary["table"][:top]):
        print_line("An across shown as 0 came out below 0: it is smaller than its own noise.", "aside")
    if len(summary["table"]) > top:
        print_line(f"--top {len(summary['table'])} shows all; --json has every number.", "aside")
    print_line(
        "s.e.: standard error over instances. within: variance between runs on an instance. across: between instances.",
        "aside",
    )
