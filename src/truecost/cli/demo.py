"""`truecost demo`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from truecost.cli.options import SPLITS, Json, Quiet
from truecost.cli.printing import Tone, Toned, number, print_json, print_line, print_table
from truecost.cli.progress import steps
from truecost.show.numbers import at_most, percent, share_at_least

if TYPE_CHECKING:
    from truecost.judge.assess import Assessment

# What to try on one's own runs.
NEXT = ("truecost report irace.Rdata", "truecost report smac3_output/my-run/0 --cutoff 5", "truecost report runs.csv")
# From here on optimism is worth a warning, in per cent of the training cost.
TOO_GOOD = 10.0


def demo(
    out: Annotated[Path, typer.Option("--out", "-o", help="Where to write; a folder.")] = Path("truecost-demo"),
    splits: Annotated[
        int | None, typer.Option(min=2, help=f"{SPLITS}; also the paper's experiments on the same runs, which take minutes.")
    ] = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Real runs of three solvers, judged: what the best of 50 configurations costs in training, and what it really costs.

    Writes a report on each into a folder, and says how to have one on your own runs.
    """
    from truecost import examples

    out.mkdir(parents=True, exist_ok=True)
    _draw(out / "synthetic.npz")
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
        told = {name: {claim.name: claim.verdict for claim in found} for name, found in claims.items()}
        print_json({"matrices": judged, "claims": told})
        return
    _print(judged)
    if claims:
        _print_claims(claims, out / "reproduce")
    print_line()
    print_line(f"The reports, for any browser: {', '.join(each['report'] for each in judged)}")
    print_line("Next, on your own runs, of irace, of SMAC3, or in a csv file:")
    for line in NEXT:
        print_line(f"  {line}", "strong", wrap=False)


def _draw(path: Path) -> None:
    """A matrix drawn from a model, written to a file; the README and the docs speak of it."""
    import numpy as np

    from truecost.stats.synthetic import runtime_model

    rng = np.random.default_rng(2020)
    model = runtime_model(configurations=40, rng=rng, within_share=0.4, timeout_rate=0.1)
    model.draw(instances=60, runs=5, rng=rng).save(path)


def _judged(name: str, path: Path, tell: Any) -> dict[str, Any]:
    """The report on an example, written to a file, and what the summary takes from it."""
    from truecost.cli.asking import assessed, setting
    from truecost.cli.reading import Source
    from truecost.show.report import write_page

    source = Source(path=Path(name))
    found: Assessment = assessed(source)
    write_page(found, path, setting(source), lambda what, share: tell(f"{name}: {what}", share))
    comparison, certificate = found.comparison, found.certificate
    assert comparison is not None  # noqa: S101 - examples have a default
    assert certificate is not None  # noqa: S101
    return {
        "name": name,
        **found.to_dict("certificate", "comparison", "statements", "optimism"),
        "better": found.better,
        "report": str(path),
    }


def _print(judged: list[dict[str, Any]]) -> None:
    print_line()
    rows: list[list[str | Toned]] = []
    for each in judged:
        optimism, compared = each["optimism"], each["comparison"]
        tone: Tone = "open" if optimism["percent"] >= TOO_GOOD else "good"
        rows.append(
            [
                each["name"],
                number(each["default"]["training_cost"]),
                number(each["incumbent"]["training_cost"]),
                Toned(f"≈ {number(each['incumbent']['true_cost'])}", tone),
                f"≤ {at_most(each['certificate']['upper'])}",
                f"{compared['gains']} of {compared['instances']}",
                Toned(*_wins(each)),
            ]
        )
    print_table(
        "The best of 50 configurations, each run 5 times on 50 instances",
        ["solver", "default", "best in training", "really", "95 % sure", "wins on", "beats the default"],
        rows,
    )
    print_line(
        "Costs are PAR10 seconds. really: corrected for having been chosen. "
        "95 % sure: a guaranteed upper limit. wins on: instances on which the best costs less than the default; beats the "
        "default: in how many runs on new instances it does so at least, 95 % sure, if that is more than half.",
        "aside",
    )
    print_line()
    print_line(_said(judged), "open")


def _wins(each: dict[str, Any]) -> tuple[str, Tone]:
    """What is guaranteed of wins against the default."""
    (wins,) = (statement for statement in each["statements"] if statement["kind"] == "wins")
    return (f"≥ {share_at_least(wins['limit'])}", "good") if wins["grade"] == "better" else ("not shown", "open")


def _said(judged: list[dict[str, Any]]) -> str:
    """What the table says, in words."""
    worst = max(judged, key=lambda each: each["optimism"]["percent"])
    least = min(judged, key=lambda each: each["optimism"]["percent"])
    beats = [each["name"] for each in judged if _wins(each)[1] == "good"]
    who = f"{' and '.join(beats) or 'None'} {'are' if len(beats) > 1 else 'is'}"
    shown = f"{who} shown to beat the default on most new instances"
    if not any(each["better"] for each in judged):
        shown += "; a lower mean cost is shown for none, since 50 instances cannot rule out rare timeouts"
    for each in judged:
        one = each["comparison"]
        if one["gains"] < one["losses"] and one["estimate"] < 0:
            loses = f"loses on {one['losses']} of {one['instances']} instances"
            shown += f". {each['name']}'s winner is better on average and {loses}"
    own, true = (number(worst["incumbent"][name]) for name in ("training_cost", "true_cost"))
    return (
        f"Over-tuning is real: {worst['name']}'s best configuration costs {own} s on the instances it was chosen by and "
        f"about {true} s on others, {percent(worst['optimism']['percent'] / 100)} more; for {least['name']} it is "
        f"{percent(least['optimism']['percent'] / 100, 1)}. {shown}."
    )


def _claims(out: Path, splits: int, quiet: bool) -> dict[str, Any]:
    """What the paper claims, on each example."""
    from truecost import examples, reproduce

    found = {}
    for name in examples.names():
        with steps(name, quiet=quiet) as tell:
            matrix = examples.load_example(name)
            done = reproduce(matrix, out=out / name, splits=splits, name=name, unit="PAR10 s", progress=tell)
            found[name] = done.claims
    return found


def _print_claims(found: dict[str, Any], out: Path) -> None:
    from truecost.cli.reproduce import TONES

    rows: list[list[str | Toned]] = [
        [row[0].says, *(Toned(claim.verdict, TONES[claim.verdict]) for claim in row)]
        for row in zip(*found.values(), strict=True)
    ]
    print_line()
    print_table("The paper's claims on these runs", ["claim", *found], rows)
    print_line(f"Figures, data and numbers: {out}/*/results.md", wrap=False)
