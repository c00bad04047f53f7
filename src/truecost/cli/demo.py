"""`truecost demo`."""

from pathlib import Path
from typing import Annotated, Any

from truecost.cli.asking import assessed, context
from truecost.cli.command import command_line
from truecost.cli.options import SPLITS, Json, Quiet, option, out_option
from truecost.cli.printing import Tone, Toned, answer, number, print_line, print_table
from truecost.cli.progress import steps
from truecost.cli.reading import Source
from truecost.show.numbers import at_most, percent, share_at_least

SOLVERS = ("kissat", "lkh", "clasp")
# What to try on one's own runs.
OWN = (
    "truecost report irace.Rdata",
    "truecost report smac3_output/my-run/0",
    "truecost report runs.csv",
)
# From here on optimism is worth a warning, in per cent of the training cost.
TOO_GOOD = 10.0


def demo(
    out: Annotated[Path, out_option("a folder")] = Path("truecost-demo"),
    splits: Annotated[
        int | None,
        option(
            f"{SPLITS}; also the paper's experiments on the same runs, which take minutes.", min=2
        ),
    ] = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Three real solvers, tuned: what each winner will cost on new instances, and whether it beats
    its default.

    Writes a report on each into a folder, and says how to have one on your own runs.
    """
    out.mkdir(parents=True, exist_ok=True)
    synthetic = out / "synthetic.npz"
    _draw(synthetic)
    if not quiet and not json:
        print_line(
            f"Three tuned solvers, with real runs: {', '.join(SOLVERS)}. How good are their "
            "winners really? This takes some 10 seconds, and 30 the very first time."
        )
    with steps("compiling kernels, the first time", quiet=quiet) as tell:
        judged = [
            _judged(
                name,
                out / f"{name}.html",
                lambda what, share, place=place: tell(what, (place + share) / len(SOLVERS)),
            )
            for place, name in enumerate(SOLVERS)
        ]
    claims = _claims(out / "reproduce", splits, quiet) if splits else {}

    def lines() -> None:
        _print(judged)
        if claims:
            _print_claims(claims, out / "reproduce")
        print_line()
        print_line("Written:")
        for solver in judged:
            print_line(f"  {solver['report']}: the report on {solver['name']}", wrap=False)
        print_line(f"  {synthetic}: a matrix drawn from a model, to try commands on", wrap=False)
        print_line("Next, a verdict in the terminal; then a report on your own runs:")
        for line in (command_line("audit", Source(runs=Path(SOLVERS[0]))), *OWN):
            print_line(f"  {line}", "strong", wrap=False)

    verdicts = {
        name: {claim.name: claim.verdict for claim in results} for name, results in claims.items()
    }
    answer(json, lambda: {"matrices": judged, "claims": verdicts}, lines)


def _draw(path: Path) -> None:
    """A matrix drawn from a model, written to a file; the README and the docs speak of it."""
    import numpy as np

    from truecost.stats.synthetic import runtime_model

    rng = np.random.default_rng(2020)
    model = runtime_model(configurations=40, rng=rng, within_share=0.4, timeout_rate=0.1)
    model.draw(instances=60, runs=5, rng=rng).save(path)


def _judged(name: str, path: Path, tell: Any) -> dict[str, Any]:
    """The report on an example, written to a file, and what the summary takes from it."""
    from truecost.show.report import write_page

    source = Source(runs=Path(name))
    assessment = assessed(source)
    about = context(source)
    write_page(assessment, path, about, lambda what, share: tell(f"{name}: {what}", share))
    return {
        "name": name,
        **assessment.to_dict("certificate", "comparison", "statements", "optimism", "outlook"),
        "better": assessment.better,
        "report": str(path),
    }


def _print(judged: list[dict[str, Any]]) -> None:
    print_line()
    print_line(_first(judged), "strong")
    print_line()
    rows: list[list[str | Toned]] = []
    for each in judged:
        tone: Tone = "open" if each["optimism"]["percent"] >= TOO_GOOD else "good"
        shown = _wins(each)
        rows.append(
            [
                each["name"],
                Toned("not shown", "open") if shown is None else Toned(f"≥ {shown}", "good"),
                number(each["default"]["training_cost"]),
                number(each["incumbent"]["training_cost"]),
                Toned(f"≈ {number(each['incumbent']['true_cost'])}", tone),
                f"≤ {at_most(each['certificate']['upper'])}",
            ]
        )
    print_table(
        "The winner of 50 configurations and the default; mean PAR10 s on 50 instances",
        ["solver", "new runs won", "default", "in training", "on new instances", "guaranteed"],
        rows,
    )
    print_line("≥ and ≤ hold with 95 % confidence each. Runs are won against the default.", "aside")
    for each in judged:
        print_line()
        print_line(f"{each['name']}: {_said(each)}")


def _wins(each: dict[str, Any]) -> str | None:
    """What share of new runs it is shown to win against the default, if more than half."""
    (wins,) = (statement for statement in each["statements"] if statement["kind"] == "wins")
    return share_at_least(wins["limit"]) if wins["grade"] == "better" else None


def _first(judged: list[dict[str, Any]]) -> str:
    """What is shown, before anything else."""
    beaten = {each["name"]: shown for each in judged if (shown := _wins(each)) is not None}
    won = [f"{name}'s on at least {shown} of new runs" for name, shown in beaten.items()]
    others = [f"{each['name']}'s" for each in judged if each["name"] not in beaten]
    missing = f" Not shown: {' and '.join(others)}." if others else ""
    return f"Shown: these winners beat their default, {' and '.join(won)}.{missing}"


def _said(each: dict[str, Any]) -> str:
    """What a row of the table says, in words: whether the default is beaten, what training hid, and
    what is missing.
    """
    optimism, compared, reach = each["optimism"], each["comparison"], each["outlook"]["reach"]
    own, true = (number(each["incumbent"][name]) for name in ("training_cost", "true_cost"))
    default = each["default"]["training_cost"]
    if _wins(each) is not None:
        said = "better than the default on most instances. "
    elif compared["gains"] < compared["losses"] and compared["estimate"] < 0:
        loses = f"loses on {compared['losses']} of {compared['instances']} instances"
        said = f"not shown to be better. It is cheaper than the default on average but {loses}. "
    else:
        said = "not shown to be better. "
    no_better = each["incumbent"]["true_cost"] >= default
    if optimism["percent"] >= TOO_GOOD:
        more = (
            f"more than the default's {number(default)} s"
            if no_better
            else f"{percent(optimism['percent'] / 100)} more"
        )
        said += f"Training flatters it: {own} s there, about {true} s on new instances, {more}. "
    else:
        said += f"Training does not flatter it: about {true} s on new instances too. "
    mean = next((each["instances"] for each in reach if each["show"] == "mean"), 0)
    if mean is None:
        said += "To show a lower mean cost is out of reach at this difference."
    elif mean and no_better:
        said += (
            f"If it is as good as it looks, about {mean:,} new instances would show a lower mean "
            "cost."
        )
    elif mean:
        said += (
            "Rare timeouts cannot be ruled out, so a lower mean cost is not shown; about "
            f"{mean:,} new instances would probably settle it."
        )
    return said.rstrip()


def _claims(out: Path, splits: int, quiet: bool) -> dict[str, Any]:
    """What the paper claims, on each example."""
    from truecost import examples, reproduce

    claims = {}
    for name in SOLVERS:
        with steps(name, quiet=quiet) as tell:
            claims[name] = reproduce(
                examples.load_example(name),
                out=out / name,
                splits=splits,
                name=name,
                unit="PAR10 s",
                progress=tell,
            ).claims
    return claims


def _print_claims(claims: dict[str, Any], out: Path) -> None:
    from truecost.cli.reproduce import TONES

    rows: list[list[str | Toned]] = [
        [row[0].says, *(Toned(claim.verdict, TONES[claim.verdict]) for claim in row)]
        for row in zip(*claims.values(), strict=True)
    ]
    print_line()
    print_table("The paper's claims on these runs", ["claim", *claims], rows)
    print_line(f"Figures, data and numbers: {out}/*/results.md", wrap=False)
