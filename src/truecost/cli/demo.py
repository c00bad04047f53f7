"""`truecost demo`, `doctor` and `reproduce`."""

from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from truecost.cli.asking import assessed, context
from truecost.cli.command import command_line, declared
from truecost.cli.options import SPLITS, Json, Quiet, Seed, Splits, Threads, Unit, asked, out_option
from truecost.cli.printing import Tone, Toned, answer, number, print_line, print_table
from truecost.cli.progress import steps
from truecost.cli.reading import Source
from truecost.show.numbers import at_most, percent, share_at_least

if TYPE_CHECKING:
    from truecost.judge.assessment import Assessment
    from truecost.show.reproducing import Reproduction


# A claim that nothing can judge is as open as one that holds in part.
TONES: dict[str, Tone] = {
    "holds": "good",
    "holds in part": "open",
    "cannot be judged": "open",
    "fails": "bad",
}


class FigureFormat(StrEnum):
    """What figures are saved as, as on the command line."""

    PDF = "pdf"
    PNG = "png"
    SVG = "svg"
    HTML = "html"


@declared
def reproduce(
    source: Annotated[Source, "every example of the package if not given"],
    out: Annotated[Path, out_option("a folder for figures, data and results.md, made if needed")],
    splits: Splits = 2500,
    seed: Seed = 1,
    unit: Unit = None,
    formats: list[FigureFormat] | None = asked(
        "Format of the figures; may be given several times. [default: pdf, png, svg]", "--format"
    ),
    threads: Threads = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """The paper's whole experimental section on a matrix: figures, data, and whether each of its
    claims holds there.

    Rerun the same command to resume.
    """
    from truecost import examples
    from truecost.show.reproducing import reproduce as run

    sources = {out: source}
    if source.runs is None:
        sources = {out / name: replace(source, runs=Path(name)) for name in examples.names()}
    kinds = formats or (FigureFormat.PDF, FigureFormat.PNG, FigureFormat.SVG)
    results = {}
    for folder, matrix in sources.items():
        name = matrix.runs.name
        with steps("the matrix", quiet=quiet) as tell:
            log = matrix.read()
            what = unit or ("PAR10 s" if matrix.is_example else "cost")
            if log.trajectory.maximised:
                what = f"−{unit or 'score'}"
            results[name] = run(
                log.matrix,
                out=folder,
                splits=splits,
                seed=seed,
                name=name,
                unit=what,
                formats=[kind.value for kind in kinds],
                threads=threads,
                progress=tell,
            )
        # One by one, since each matrix takes minutes.
        if not json:
            print_claims(results[name], name)
    parts, drawn = ("claims", "page", "files", "kept"), {"splits": splits, "seed": seed}
    data = {
        name: drawn | {part: getattr(result, part) for part in parts}
        for name, result in results.items()
    }
    answer(json, {"matrices": data}, lambda: None)


def print_claims(result: "Reproduction", name: str) -> None:
    """Each claim and its verdict, and where the page is."""
    rows: list[list[str | Toned]] = [
        [claim.says, Toned(claim.verdict, TONES[claim.verdict])] for claim in result.claims
    ]
    print_table(f"The paper's claims on {name}", ["claim", "verdict"], rows, left=2)
    if result.kept:
        print_line(
            f"{len(result.kept)} parts were there from an earlier call with the same matrix, "
            "splits and seed."
        )
    print_line(f"{result.page} has the numbers, with figures beside it.", wrap=False)


def doctor(json: Json = False) -> None:
    """What this machine offers: threads, ways to limit and measure runs, solvers, extras."""
    from truecost import doctor as machine

    findings = machine.examine()
    rows: list[list[str | Toned]] = [
        [
            finding.area,
            finding.name,
            Toned("yes", "good") if finding.there else Toned("no", "open"),
            finding.detail,
        ]
        for finding in findings
    ]
    answer(
        json,
        {"findings": findings},
        lambda: print_table("This machine", ["", "", "", ""], rows, left=4),
    )


# The one with the plainest answer first.
SOLVERS = ("kissat", "lkh", "clasp")
# What to try on one's own runs.
OWN = (
    "truecost report irace.Rdata",
    "truecost report smac3_output/my-run/0",
    "truecost report runs.csv",
)
# From here on optimism is worth a warning, in per cent of the training cost.
TOO_GOOD = 10.0


@declared
def demo(
    out: Annotated[Path, out_option("a folder")] = Path("truecost-demo"),
    splits: int | None = asked(
        f"{SPLITS}; if given, the paper's experiments are run too, which takes minutes.", min=2
    ),
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Judge the best of 50 configurations of three solvers: what it will cost on new instances, and
    whether it beats the default.

    Writes a report on each into a folder, and prints the commands for your own runs.
    """
    out.mkdir(parents=True, exist_ok=True)
    synthetic, pages = out / "synthetic.npz", {name: out / f"{name}.html" for name in SOLVERS}
    _draw(synthetic)
    if not quiet and not json:
        print_line(
            f"Three solvers, {', '.join(SOLVERS)}: real runs of the default and 49 random "
            "configurations. How good are the winners really? This takes some 10 seconds, and 30 "
            "the very first time."
        )
    with steps("compiling kernels, the first time", quiet=quiet) as tell:
        judged = {
            name: _judged(
                name,
                pages[name],
                lambda what, share, place=place: tell(what, (place + share) / len(SOLVERS)),
            )
            for place, name in enumerate(SOLVERS)
        }
    claims = _claims(out / "reproduce", splits, quiet) if splits else {}

    def lines() -> None:
        _print(judged)
        if claims:
            _print_claims(claims, out / "reproduce")
        print_line()
        print_line("Written:")
        for name, page in pages.items():
            print_line(f"  {page}: the report on {name}", wrap=False)
        print_line(f"  {synthetic}: simulated runs, to try commands on", wrap=False)
        print_line("Next, a verdict in the terminal; then a report on your own runs:")
        for line in (command_line("audit", Source(runs=Path(SOLVERS[0]))), *OWN):
            print_line(f"  {line}", "strong", wrap=False)

    verdicts = {
        name: {claim.name: claim.verdict for claim in results} for name, results in claims.items()
    }
    answer(
        json,
        lambda: {
            "matrices": [_verdicts(name, judged[name], page) for name, page in pages.items()],
            "claims": verdicts,
        },
        lines,
    )


def _draw(path: Path) -> None:
    """A matrix drawn from a model, written to a file; the README and the docs speak of it."""
    import numpy as np

    from truecost.stats.synthetic import runtime_model

    # Fixed, since the docs show its numbers.
    rng = np.random.default_rng(2020)
    model = runtime_model(configurations=40, rng=rng, within_share=0.4, timeout_rate=0.1)
    model.draw(instances=60, runs=5, rng=rng).save(path)


def _judged(name: str, path: Path, tell: Any) -> "Assessment":
    """The assessment of an example, with a report on it written to a file."""
    from truecost.show.report import write_page

    source = Source(runs=Path(name))
    assessment = assessed(source)
    about = context(source)
    write_page(assessment, path, about, lambda what, share: tell(f"{name}: {what}", share))
    return assessment


def _verdicts(name: str, assessment: "Assessment", path: Path) -> dict[str, Any]:
    parts = assessment.to_dict("certificate", "comparison", "statements", "optimism", "outlook")
    return {"name": name, **parts, "better": assessment.better, "report": path}


def _print(judged: "dict[str, Assessment]") -> None:
    print_line()
    print_line(_first(judged), "strong")
    print_line()
    rows: list[list[str | Toned]] = []
    for name, assessment in judged.items():
        certificate, wins = assessment.certificate, _wins(assessment)
        assert certificate is not None  # noqa: S101 - examples were chosen from a list
        tone: Tone = "open" if assessment.optimism.percent >= TOO_GOOD else "good"
        rows.append(
            [
                name,
                number(_training(assessment, assessment.default)),
                number(_training(assessment, assessment.incumbent)),
                Toned(f"≈ {number(assessment.optimism.true_cost)}", tone),
                f"≤ {at_most(certificate.limit)}",
                Toned("not shown", "open") if wins is None else Toned(f"≥ {wins}", "good"),
            ]
        )
    print_table(
        "The winner of 50 configurations and the default; mean PAR10 s on 50 instances",
        ["solver", "default", "in training", "on new instances", "guaranteed", "new runs won"],
        rows,
    )
    print_line("≥ and ≤ hold with 95 % confidence each. Runs are won against the default.", "aside")
    for name, assessment in judged.items():
        print_line()
        print_line(f"{name}: {_summary(assessment)}")


def _training(assessment: "Assessment", name: str | None) -> float:
    """The training cost of a configuration."""
    place = assessment.matrix.configurations.index(name or "")
    return float(assessment.costs.training[place])


def _wins(assessment: "Assessment") -> str | None:
    """The share of new runs it is shown to win against the default, if more than half."""
    wins = assessment.wins
    return None if wins is None or wins.grade != "better" else share_at_least(wins.limit)


def _first(judged: "dict[str, Assessment]") -> str:
    """The answer by the primary criterion, then by the secondary one."""
    better = [f"{name}'s" for name, assessment in judged.items() if assessment.better]
    wins = {name: _wins(assessment) for name, assessment in judged.items()}
    won = [f"{name}'s wins at least {share}" for name, share in wins.items() if share]
    others = [f"{name}'s" for name, share in wins.items() if not share]
    parts = [" and ".join(won)] if won else []
    parts += [f"no majority is shown for {' and '.join(others)}"] if others else []
    return (
        "A lower mean cost than the default's, the primary criterion, is shown for "
        f"{' and '.join(better) or 'none of these winners yet'}. Secondary, by new runs won "
        f"against the default: {'; '.join(parts)}."
    )


def _summary(assessment: "Assessment") -> str:
    """A row of the table in words: whether a lower mean is shown and what would settle it, whether
    it wins more often, and how much training flatters the winner.
    """
    optimism, wins = assessment.optimism, assessment.wins
    assert wins is not None  # noqa: S101 - examples have a default
    true_cost, default = optimism.true_cost, _training(assessment, assessment.default)
    sentences = [_mean(assessment)]
    if wins.grade == "better":
        sentences.append("It wins more often than the default.")
    elif wins.observed < 0.5:
        sentences.append(f"It wins only {percent(wins.observed)} of these runs.")
    new = f"about {number(true_cost)} PAR10 s on new instances"
    if optimism.percent >= TOO_GOOD:
        more = (
            f"more than the default's {number(default)}"
            if true_cost >= default
            else f"{percent(optimism.percent / 100)} more"
        )
        trained = number(_training(assessment, assessment.incumbent))
        sentences.append(f"Training flatters it: {trained} PAR10 s there, {new}, {more}.")
    else:
        sentences.append(f"Training does not flatter it: {new} too.")
    return " ".join(sentences)


def _mean(assessment: "Assessment") -> str:
    """Whether a lower mean cost is shown, and how many instances would settle it."""
    if assessment.better:
        return "a lower mean cost is shown."
    reach = [goal.forecast.instances for goal in assessment.outlook.reach if goal.what == "mean"]
    if not reach or reach[0] is None:
        return "a lower mean cost is not shown."
    return (
        "a lower mean cost is not shown, since timeouts may be more frequent than seen; about "
        f"{reach[0]:,} new instances would probably settle it."
    )


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
    rows: list[list[str | Toned]] = [
        [row[0].says, *(Toned(claim.verdict, TONES[claim.verdict]) for claim in row)]
        for row in zip(*claims.values(), strict=True)
    ]
    print_line()
    print_table("The paper's claims on these runs", ["claim", *claims], rows)
    print_line(f"Figures, data and numbers: {out}/*/results.md", wrap=False)
