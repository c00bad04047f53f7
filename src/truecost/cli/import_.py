"""`truecost import`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from truecost.cli import options
from truecost.cli.options import Json, Quiet
from truecost.cli.printing import print_json, print_line, visible
from truecost.cli.progress import progress
from truecost.cli.reading import MATRICES, Source, check_out, reads_runs
from truecost.errors import InputError

if TYPE_CHECKING:
    from truecost.matrix import CostMatrix
    from truecost.matrix.imported import Import


@reads_runs
def import_(
    source: Source,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            help=f"{options.OUT}; .parquet and .npz keep the trajectory, .csv does not.",
        ),
    ] = None,
    test_out: Annotated[
        Path | None, typer.Option(help="Where runs on test instances go, if the log has some.")
    ] = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Take over runs that SMAC3, irace, ASlib, AClib wrappers or a table recorded; without -o, say
    what is there.
    """
    assert source.path is not None  # noqa: S101 - not optional here
    for place in (out, test_out):
        check_out(place, source.path, endings=MATRICES)
    with progress(f"reading {visible(source.path.name)}", quiet=quiet):
        found = source.read()
    if test_out is not None and found.test is None:
        raise InputError(
            f"{source.path}: expected runs on test instances for {test_out}, and the log has none."
        )
    for place, matrix in ((out, found.matrix), (test_out, found.test)):
        if place is not None and matrix is not None:
            matrix.save(place, trajectory=None if place.suffix == ".csv" else found.trajectory)
    summary = _summary(found, out, test_out)
    if json:
        print_json(summary)
    else:
        _print(summary)


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
    from truecost.show.document.runs import stopped_early, worth

    said = None if found.utility is None else worth(found.utility)
    trajectory = found.trajectory
    return {
        "kind": found.kind,
        **_size(found.matrix),
        "utility": found.utility,
        "test": None if found.test is None else _size(found.test),
        "trajectory": {
            "tool": trajectory.tool,
            "proposed": trajectory.proposed,
            "raced": trajectory.raced,
            "default": trajectory.default,
            "incumbent": trajectory.incumbent,
            "steps": [
                {"runs": step.runs, "configurations": step.configurations}
                for step in trajectory.steps
            ],
        },
        "columns": dict(found.columns),
        "left_out": dict(found.left_out),
        "notes": [*filter(None, [said, stopped_early(found.matrix)]), *found.notes],
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
    raced = {True: ", and how many runs each got depended on costs", False: "", None: ""}[
        trajectory["raced"]
    ]
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
            lost = (
                ", without the trajectory, which .parquet and .npz keep"
                if place.endswith(".csv")
                else ""
            )
            print_line(f"Written to {place}{lost}.", wrap=False)


def _line(size: dict[str, Any]) -> str:
    from truecost.show.numbers import counted

    runs, configurations, instances = (
        counted(size[f"{what}s"], what) for what in ("run", "configuration", "instance")
    )
    shown = _range(size["low"], size["high"])
    return (
        f"{runs} of {configurations} on {instances}, at most {size['runs_per_cell']} each; {shown}"
    )


def _range(low: float, high: float) -> str:
    if high - low < float("inf"):
        return f"costs in [{low:g}, {high:g}]"
    return "what a run can cost at most is not known (--low and --high say it)"
