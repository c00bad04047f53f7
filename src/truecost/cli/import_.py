"""`truecost import`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from truecost.cli.inputs import MATRICES, check_out, example_or
from truecost.cli.printing import High, Json, Low, print_json, print_line, visible
from truecost.cli.progress import Quiet, progress
from truecost.errors import InputError

if TYPE_CHECKING:
    from truecost.importers.record import Import
    from truecost.matrix import CostMatrix

TIMES = "Running times"
WHAT = "What to take"


def import_(
    path: Annotated[
        Path,
        typer.Argument(
            help="A folder of SMAC3, ASlib, CAVE or AClib wrapper logs, irace's .Rdata, a PM.npy, a table, a journal.",
            show_default=False,
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Where the runs go: .parquet or .npz, which keep the trajectory, or .csv."),
    ] = None,
    test_out: Annotated[Path | None, typer.Option(help="Where runs on test instances go, if the log has some.")] = None,
    cutoff: Annotated[
        float | None, typer.Option(help="Costs are running times, censored at so many seconds.", rich_help_panel=TIMES)
    ] = None,
    par: Annotated[
        float | None,
        typer.Option(
            help="A run not solved by the cutoff costs so many times it; 10 if neither this nor the log says.",
            rich_help_panel=TIMES,
        ),
    ] = None,
    objective: Annotated[
        str | None,
        typer.Option(
            help="Which cost, where there are several; 'time': elapsed time of SMAC3's trials.", rich_help_panel=WHAT
        ),
    ] = None,
    budget: Annotated[
        float | None,
        typer.Option(help="Which budget of a multi-fidelity log; the largest if not given.", rich_help_panel=WHAT),
    ] = None,
    column: Annotated[
        list[str] | None,
        typer.Option(help="A column of a table, cost=PAR10 for instance; several times for several.", rich_help_panel=WHAT),
    ] = None,
    default: Annotated[
        str | None,
        typer.Option(help="The name of the default configuration, where the log does not say.", rich_help_panel=WHAT),
    ] = None,
    kind: Annotated[
        str | None,
        typer.Option(
            help="smac, irace, aslib, acl, table, matrix or journal, where the content should not tell.",
            rich_help_panel=WHAT,
        ),
    ] = None,
    low: Low = None,
    high: High = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Take over runs that SMAC3, irace, ASlib, AClib wrappers or a table recorded; without -o, say what is there."""
    from truecost.importers.detect import import_runs

    for place in (out, test_out):
        check_out(place, path, endings=MATRICES)
    with progress(f"reading {visible(path.name)}", quiet=quiet):
        found = import_runs(
            example_or(path),
            low=low,
            high=high,
            cutoff=cutoff,
            par=par,
            objective=objective,
            budget=budget,
            columns=_columns(column or []),
            default=default,
            kind=kind,
        )
    if test_out is not None and found.test is None:
        raise InputError(f"{path}: expected runs on test instances for {test_out}, and the log has none.")
    if out is not None:
        found.matrix.save(out, trajectory=None if out.suffix == ".csv" else found.trajectory)
    if test_out is not None and found.test is not None:
        found.test.save(test_out, trajectory=None if test_out.suffix == ".csv" else found.trajectory)
    summary = _summary(found, out, test_out)
    if json:
        print_json(summary)
    else:
        _print(summary)


def _columns(words: list[str]) -> dict[str, str]:
    pairs = [word.partition("=") for word in words]
    for word, (ours, sign, theirs) in zip(words, pairs, strict=True):
        if not (ours and sign and theirs):
            raise InputError(f"Expected --column OURS=THEIRS, cost=PAR10 for instance, got {word!r}.")
    return {ours: theirs for ours, _, theirs in pairs}


def _size(matrix: "CostMatrix") -> dict[str, Any]:
    from truecost.runs import Status

    configurations, instances, most = matrix.shape
    statuses = None
    if matrix.statuses is not None:
        statuses = {status.label: int((matrix.statuses == status).sum()) for status in Status}
    return {
        "configurations": configurations,
        "instances": instances,
        "runs": int(matrix.counts().sum()),
        "runs_per_cell": most,
        "low": matrix.low,
        "high": matrix.high,
        "statuses": statuses,
    }


def _summary(found: "Import", out: Path | None, test_out: Path | None) -> dict[str, Any]:
    trajectory = found.trajectory
    return {
        "kind": found.kind,
        **_size(found.matrix),
        "test": None if found.test is None else _size(found.test),
        "trajectory": {
            "tool": trajectory.tool,
            "proposed": trajectory.proposed,
            "raced": trajectory.raced,
            "default": trajectory.default,
            "incumbent": trajectory.incumbent,
            "steps": [{"runs": step.runs, "configurations": step.configurations} for step in trajectory.steps],
        },
        "columns": dict(found.columns),
        "left_out": dict(found.left_out),
        "notes": found.notes,
        "out": None if out is None else str(out),
        "test_out": None if test_out is None else str(test_out),
    }


def _print(summary: dict[str, Any]) -> None:
    trajectory = summary["trajectory"]
    print_line(f"{trajectory['tool']} ({summary['kind']}): {_line(summary)}")
    if summary["statuses"]:
        shares = [f"{name} {count:,}" for name, count in summary["statuses"].items() if count]
        print_line("Runs: " + ", ".join(shares))
    if summary["test"]:
        kept = "" if summary["test_out"] else " (--test-out FILE keeps them)"
        print_line(f"On test instances: {_line(summary['test'])}{kept}")
    ways = {
        "beforehand": "were fixed before any cost was seen",
        "adaptively": "were proposed from the costs of others",
        "unknown": "came about in a way that is not known",
    }
    raced = {True: ", and how many runs each got depended on costs", False: "", None: ""}[trajectory["raced"]]
    print_line(f"Configurations {ways[trajectory['proposed']]}{raced}.")
    for what in ("default", "incumbent"):
        if trajectory[what] is not None:
            print_line(f"The {what} is {trajectory[what]}.")
    for reason, count in summary["left_out"].items():
        print_line(f"Left out: {count:,} — {reason}.")
    for note in summary["notes"]:
        print_line(note)
    for place in (summary["out"], summary["test_out"]):
        if place is not None:
            lost = ", without the trajectory, which .parquet and .npz keep" if place.endswith(".csv") else ""
            print_line(f"Written to {place}{lost}.", wrap=False)


def _line(size: dict[str, Any]) -> str:
    return (
        f"{size['runs']:,} runs of {size['configurations']:,} configurations on {size['instances']:,} instances, at most "
        f"{size['runs_per_cell']} each; costs in [{size['low']:g}, {size['high']:g}]"
    )
