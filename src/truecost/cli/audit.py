"""`truecost audit`."""

from typing import TYPE_CHECKING, Annotated

import typer

from truecost.cli.certify import Chosen, Cutoff, Default, Delta, Halvings, ListSize, Par, Runs, Test, own_test, read_runs
from truecost.cli.printing import High, Json, Low, Tone, number, print_json, print_line, print_table
from truecost.cli.progress import Quiet, progress

if TYPE_CHECKING:
    from truecost.judge.audit import Audit, Point

# So many incumbents on the way are shown, the first ones and the last.
SHOWN = 12


def audit(
    runs: Runs,
    incumbent: Annotated[
        str | None,
        typer.Option(
            help="Who is audited; by default the log's incumbent, else the least training cost.", show_default=False
        ),
    ] = None,
    default: Default = None,
    test: Test = None,
    chosen: Chosen = None,
    list_size: ListSize = None,
    splits: Halvings = 1000,
    seed: Annotated[int, typer.Option(min=0, help="Of the splits.")] = 1,
    delta: Delta = 0.05,
    cutoff: Cutoff = None,
    par: Par = None,
    low: Low = None,
    high: High = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Look for over-tuning: what the incumbent really costs, and whether it is shown to be better than the default.

    Exit code 0 says that it is shown; 1 that it is not, also where no default is known.
    """
    from dataclasses import asdict

    import numpy as np

    from truecost.judge.audit import audit as look

    with progress("looking at the runs", quiet=quiet):
        found = read_runs(runs, low, high, cutoff, par, default)
        answer = look(
            found.matrix,
            rng=np.random.default_rng(seed),
            incumbent=incumbent,
            default=default,
            test=own_test(found, incumbent, chosen) if test is None else read_runs(test, low, high, cutoff, par).matrix,
            trajectory=found.trajectory,
            chosen=None if chosen is None else chosen.value,
            list_size=list_size,
            splits=splits,
            delta=delta,
        )
    if json:
        print_json(asdict(answer))
    else:
        print_audit(answer)
    if not answer.better:
        raise typer.Exit(1)


def print_audit(report: "Audit") -> None:
    """The report for people."""
    rows = [["training cost", number(report.training_cost)]]
    rows.append([f"corrected: + selection error, {report.splits:,} splits", number(report.corrected_cost)])
    rows.append(["held out, of what one half would choose", number(report.held_out_cost)])
    if report.true_from == "test runs":
        rows.append(["on test runs", number(report.test_cost)])
    print_table(f"Incumbent {report.incumbent}", ["", "cost"], rows)
    _print_interval(report)
    origin = "on test runs" if report.true_from == "test runs" else "corrected"
    percent = "" if report.gap_percent != report.gap_percent else f" ({number(report.gap_percent, 3)} %)"
    print_line(f"Optimism: true cost ({origin}) − training cost = {number(report.gap)}{percent}")
    _print_along(report)
    _print_noise(report)
    _print_comparison(report)
    print_line()
    print_line(report.verdict, tone_of(report))


def tone_of(report: "Audit") -> Tone:
    """Shown to be better, shown to be worse, or neither."""
    found = report.comparison
    if report.better:
        return "good"
    return "bad" if found is not None and found.lower is not None and found.lower > 0 else "open"


def _print_interval(report: "Audit") -> None:
    found = report.interval
    if found is None:
        print_line(f"No valid interval of its true cost: {report.no_interval}.")
        return
    shared = f", delta shared out among {found.configurations:,}" if found.configurations > 1 else ""
    print_line(
        f"With {100 * (1 - report.delta):.10g} % confidence its true cost is between {number(found.lower)} and "
        f"{number(found.upper)} (chosen {found.chosen}{shared}; {found.method} on {found.instances:,} instances)"
    )


def _print_along(report: "Audit") -> None:
    points = report.along
    if len(points) > 1:
        kept = [*points[: SHOWN // 2], *points[-SHOWN // 2 :]] if len(points) > SHOWN else list(points)
        print_line()
        print_table(
            f"{len(kept)} of {len(points)} incumbents on the way, true cost from {report.true_from}",
            ["configuration", "runs by then", "training cost", "true cost", "optimism"],
            [
                [
                    point.configuration,
                    "–" if point.runs is None else f"{point.runs:,}",
                    number(point.training),
                    number(point.true),
                    number(_optimism(point)),
                ]
                for point in kept
            ],
        )
    relative = report.relative_over_tuning
    share = "" if relative != relative else f", {relative:.0%} of the best gain over the first incumbent"
    print_line(f"Over-tuning: true cost above that of the best incumbent on the way: {number(report.over_tuning)}{share}")


def _optimism(point: "Point") -> float:
    """True minus training cost; what is left of two equal numbers by rounding is nothing."""
    gap = point.true - point.training
    return 0.0 if abs(gap) < 1e-12 * abs(point.true) else gap


def _print_noise(report: "Audit") -> None:
    noise, spread = report.noise, report.spread
    what = {"runs": "runs on an instance", "instances": "instances", None: "not known: no instance has two runs"}
    print_line(
        f"Noise: within {number(noise.within)}, across {number(noise.across)}; the bottleneck is {what[noise.bottleneck]}. "
        f"Standard error {number(noise.standard_error, 2)}; with as many runs again on the same instances "
        f"{number(noise.same_instances_again, 2)}, on new ones {number(noise.new_instances, 2)}"
    )
    print_line(
        f"Runs: {spread.runs:,} on {spread.instances:,} instances, {len(spread.never_used):,} others never used; variance "
        f"{number(spread.variance_over_even, 3)} times that of S* with as many runs; {spread.on_other_instances:,} "
        "configurations were run on other instances than it"
    )


def _print_comparison(report: "Audit") -> None:
    found = report.comparison
    if found is None:
        return
    turns = f"without {found.flips:,} of them the sign turns"
    print_line(
        f"Against {found.default}, on {found.instances:,} common {found.on} instances: {number(found.estimate)} on average; "
        f"{'every one of them has that sign' if found.flips == found.instances else turns}"
    )
    for part in found.deciding:
        share = "" if part.share != part.share else f" ({part.share:.0%})"
        print_line(f"  {part.instance}: {number(part.difference)}{share}")
