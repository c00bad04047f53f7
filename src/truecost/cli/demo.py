"""`truecost demo`."""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from truecost.cli.printing import Json, Toned, number, print_json, print_line, print_table
from truecost.cli.progress import Quiet, steps
from truecost.errors import InputError

if TYPE_CHECKING:
    from truecost.show.reproduce import Reproduction

# What to try on one's own runs.
NEXT = (
    "truecost import smac3_output/my-run/0 --cutoff 5 -o runs.parquet",
    "truecost report runs.parquet -o report.html",
    "truecost plan runs.parquet --error 0.1",
)
# From here on optimism is worth a warning, in per cent of the training cost.
TOO_GOOD = 10.0


def demo(
    out: Annotated[Path, typer.Option(help="Folder for the demo's files.")] = Path("truecost-demo"),
    splits: Annotated[
        int, typer.Option(help="Also the paper's experiments on the same runs, with so many splits; minutes.")
    ] = 0,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Real runs of three solvers, judged: what the best of 50 configurations costs in training, and what it really costs.

    Writes a report on each into a folder, and says how to have one on your own runs.
    """
    if splits < 0 or splits == 1:
        raise InputError(f"Expected at least 2 splits, or 0 for none, got {splits}.")
    from truecost import examples

    out.mkdir(parents=True, exist_ok=True)
    drawn = _drawn(out / "synthetic.npz")
    names = examples.names()
    if not quiet and not json:
        print_line(
            f"Real runs come with truecost: {', '.join(names)}. This writes a report on each into {out} and sums them up; "
            "it takes some 10 seconds, and 30 at the very first start, when kernels are compiled."
        )
    with steps("loading", quiet=quiet) as tell:
        judged = [
            _judged(name, out / f"{name}.html", lambda what, share, place=place: tell(what, (place + share) / len(names)))
            for place, name in enumerate(names)
        ]
    claims = _claims(out / "reproduce", splits, quiet) if splits else {}
    if json:
        told = {name: {claim.name: claim.verdict for claim in found.claims} for name, found in claims.items()}
        print_json({"matrices": judged, "synthetic": drawn, "claims": told})
        return
    _print(judged)
    if claims:
        _print_claims(claims, out / "reproduce")
    _print_next(judged, drawn)


def _drawn(path: Path) -> dict[str, Any]:
    """A matrix whose truth is known, written to a file; the README speaks of it."""
    import numpy as np

    from truecost.stats.estimate import training_cost
    from truecost.stats.synthetic import runtime_model

    rng = np.random.default_rng(2020)
    model = runtime_model(configurations=40, rng=rng, within_share=0.4, timeout_rate=0.1)
    matrix = model.draw(instances=60, runs=5, rng=rng)
    matrix.save(path)
    costs = training_cost(matrix).cost
    best = int(np.argmin(costs))
    errors = model.true_cost - costs
    return {
        "file": str(path),
        "configuration": matrix.configurations[best],
        "training_cost": costs[best],
        "true_cost": model.true_cost[best],
        "uniform_error": errors.max(),
    }


def _judged(name: str, page: Path, tell: Any) -> dict[str, Any]:
    """The report on an example, written to a file, and what the summary takes from it."""
    from truecost import examples
    from truecost.importers.detect import import_runs
    from truecost.judge.certificate import certify
    from truecost.show import report as reporting

    found = import_runs(examples.path_of(name))
    made = reporting.report(
        found.matrix,
        name=name,
        unit="PAR10 s",
        trajectory=found.trajectory,
        source=reporting.Source(name, found.kind),
        progress=lambda what, share: tell(f"{name}: {what}", share),
    )
    reporting.save(made, page)
    audit = made.numbers["audit"]
    certificate = certify(found.matrix, audit["incumbent"], trajectory=found.trajectory)
    noise = audit["noise"]
    configurations, instances, runs = found.matrix.shape
    return {
        "name": name,
        "configurations": configurations,
        "instances": instances,
        "runs": runs,
        "configuration": audit["incumbent"],
        "training_cost": audit["training_cost"],
        "corrected_cost": audit["corrected_cost"],
        "held_out_cost": audit["held_out_cost"],
        "optimism_percent": audit["gap_percent"],
        "within_share": noise["within"] / (noise["within"] + noise["across"]),
        "true_cost_at_most": certificate.upper,
        "confidence": 1 - certificate.delta,
        "better_than_default": audit["better"],
        "report": str(page),
    }


def _print(judged: list[dict[str, Any]]) -> None:
    print_line()
    rows: list[list[str | Toned]] = []
    for each in judged:
        optimism = f"{each['optimism_percent']:+.{0 if abs(each['optimism_percent']) >= 1 else 1}f} %"
        rows.append(
            [
                each["name"],
                f"{each['configurations']} × {each['instances']} × {each['runs']}",
                number(each["training_cost"], 3),
                f"≈ {number(each['corrected_cost'], 3)}",
                Toned(optimism, "open" if each["optimism_percent"] >= TOO_GOOD else "good"),
                f"{each['within_share']:.0%}",
                f"≤ {number(each['true_cost_at_most'], 3)}",
            ]
        )
    print_table(
        "The configuration with the least training cost, and what it is worth",
        ["solver", "runs", "training cost", "true cost", "optimism", "within", "certified"],
        rows,
        left=2,
    )
    print_line(
        "runs: configurations × instances × runs. Costs are PAR10 seconds. true cost: corrected by what choosing on one "
        "half of the instances and looking at the other shows, in 1,000 splits. within: share of a run's variance that its "
        "seed makes, not its instance. certified: an upper limit of the true cost, with 95 % confidence.",
        "aside",
    )
    print_line()
    print_line(_said(judged), "open")


def _said(judged: list[dict[str, Any]]) -> str:
    """What the table says, in words."""
    worst = max(judged, key=lambda each: each["optimism_percent"])
    least = min(judged, key=lambda each: each["optimism_percent"])
    better = sum(each["better_than_default"] for each in judged)
    shown = f"{better} of the {len(judged)} winners can be shown to be better than their solver's default."
    if not better:
        shown = (
            f"none of the {len(judged)} winners is shown to be better than its solver's default: {worst['instances']} "
            "instances are too few to be sure."
        )
    return (
        f"Over-tuning is real: the best of {worst['configurations']} configurations of {worst['name']} costs "
        f"{number(worst['training_cost'], 3)} s on the instances it was chosen by and about "
        f"{number(worst['corrected_cost'], 3)} s on others, {worst['optimism_percent']:.0f} % more; for {least['name']} it "
        f"is {abs(least['optimism_percent']):.1f} %. And {shown}"
    )


def _claims(out: Path, splits: int, quiet: bool) -> dict[str, "Reproduction"]:
    """What the paper claims, on each example."""
    from truecost import examples
    from truecost.show.reproduce import reproduce

    found = {}
    for name in examples.names():
        with steps(name, quiet=quiet) as tell:
            found[name] = reproduce(
                examples.load_example(name), out=out / name, splits=splits, name=name, unit="PAR10 s", progress=tell
            )
    return found


def _print_claims(found: dict[str, "Reproduction"], out: Path) -> None:
    from truecost.cli.reproduce import TONES

    rows: list[list[str | Toned]] = [
        [row[0].says, *(Toned(claim.verdict, TONES[claim.verdict]) for claim in row)]
        for row in zip(*(each.claims for each in found.values()), strict=True)
    ]
    print_line()
    print_table("The paper's claims on these runs", ["claim", *found], rows)
    print_line(f"Figures, data and numbers: {out}/*/results.md", wrap=False)


def _print_next(judged: list[dict[str, Any]], drawn: dict[str, Any]) -> None:
    print_line()
    print_line(f"The reports, for any browser: {', '.join(each['report'] for each in judged)}")
    print_line(
        f"And {Path(drawn['file']).name}, drawn from a model, so that the truth is known: the true cost of "
        f"{drawn['configuration']} is {number(drawn['true_cost'])} (training cost {number(drawn['training_cost'])}); the "
        f"uniform error of all is {number(drawn['uniform_error'])}. Try: truecost info {shlex.quote(drawn['file'])}",
        "aside",
    )
    print_line()
    print_line("Next, on your own runs, of SMAC3, of irace (its .Rdata), or in a csv file:")
    for line in NEXT:
        print_line(f"  {line}", "strong", wrap=False)
    print_line("--cutoff: costs are seconds, censored there. Other costs have --low and --high.", "aside")
