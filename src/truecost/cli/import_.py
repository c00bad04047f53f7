"""`truecost import`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from truecost.cli.command import declared
from truecost.cli.options import Json, Quiet, asked, out_option
from truecost.cli.printing import answer, print_line, visible
from truecost.cli.progress import progress
from truecost.cli.reading import MATRICES, Source, check_out
from truecost.errors import InputError
from truecost.show.numbers import counted

if TYPE_CHECKING:
    from truecost.matrix.imported import Import


@declared
def import_(
    source: Source,
    out: Annotated[
        Path | None, out_option(".parquet and .npz keep the trajectory, .csv does not")
    ] = None,
    test_out: Path | None = asked("Where runs on test instances go, if the log has some."),
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Read the runs of another tool and show what was found; -o writes them to a file."""
    # Before a long log is read, not after it.
    for place in (out, test_out):
        check_out(place, source.runs, endings=MATRICES)
    from truecost.matrix.pairing import named_once

    with progress(f"reading {visible(source.runs.name)}", quiet=quiet):
        # As audit counts them.
        log, _ = named_once(source.read())
    if test_out is not None and log.test is None:
        raise InputError(
            f"{source.runs}: expected runs on test instances for {test_out}, and the log has none."
        )
    for place, matrix in ((out, log.matrix), (test_out, log.test)):
        if place is not None and matrix is not None:
            matrix.save(
                place, trajectory=None if place.suffix == ".csv" else log.trajectory_to_keep()
            )
    data = _data(log, out, test_out)
    answer(json, data, lambda: _print(data))


def _data(log: "Import", out: Path | None, test_out: Path | None) -> dict[str, Any]:
    from truecost.judge.parts import size_of
    from truecost.show.document.runs import stopped_early, worth

    utility = None if log.utility is None else worth(log.utility)
    trajectory = log.trajectory
    known = ("tool", "proposed", "raced", "default", "incumbent")
    return {
        "kind": log.kind,
        **size_of(log.matrix),
        "utility": log.utility,
        "test": None if log.test is None else size_of(log.test),
        "trajectory": {
            **{name: getattr(trajectory, name) for name in known},
            "steps": trajectory.steps,
        },
        "columns": log.columns,
        "left_out": log.left_out,
        "notes": [*filter(None, [utility, stopped_early(log.matrix)]), *log.notes],
        "out": out,
        "test_out": test_out,
    }


def _print(data: dict[str, Any]) -> None:
    trajectory = data["trajectory"]
    print_line(f"{trajectory['tool']} ({data['kind']}): {_line(data)}")
    if data["statuses"]:
        shares = [f"{name} {count:,}" for name, count in data["statuses"].items() if count]
        print_line("Runs: " + ", ".join(shares))
    if data["test"]:
        kept = "" if data["test_out"] else " (--test-out FILE keeps them)"
        print_line(f"On test instances: {_line(data['test'])}{kept}")
    origins = {
        "beforehand": "Configurations were fixed before any cost was seen",
        "adaptively": "Configurations were proposed from the costs of others",
        "unknown": "Origin of the configurations: unknown",
    }
    raced = ", and the number of runs depended on observed costs" if trajectory["raced"] else ""
    print_line(f"{origins[trajectory['proposed']]}{raced}.")
    for role in ("default", "incumbent"):
        if trajectory[role] is not None:
            print_line(f"{role.capitalize()}: {trajectory[role]}.")
    for reason, count in data["left_out"].items():
        print_line(f"Left out: {count:,} — {reason}.")
    for note in data["notes"]:
        print_line(note)
    for place in filter(None, (data["out"], data["test_out"])):
        bare = place.suffix == ".csv"
        lost = ", without the trajectory, which .parquet and .npz keep" if bare else ""
        print_line(f"Written to {place}{lost}.", wrap=False)


def _line(size: dict[str, Any]) -> str:
    runs, configurations, instances = (
        counted(size[f"{noun}s"], noun) for noun in ("run", "configuration", "instance")
    )
    low, high = size["low"], size["high"]
    costs = (
        f"costs in [{low:g}, {high:g}]"
        if high - low < float("inf")
        else "the largest possible cost is not known (give --low and --high)"
    )
    most = size["runs_per_cell"]
    return f"{runs} of {configurations} on {instances}, at most {most} each; {costs}"
