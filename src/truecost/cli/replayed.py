"""`truecost experiment configure`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from truecost.cli.experiment import COMPILING, Matrix, Out, Seed, generator, load
from truecost.cli.inputs import check_out
from truecost.cli.printing import High, Json, Low, print_json, print_line, print_table
from truecost.cli.progress import Quiet, progress

if TYPE_CHECKING:
    from truecost.race.replay import Replay


def configure(
    matrix: Matrix,
    budget: Annotated[
        list[float] | None,
        typer.Option(
            help="Share of what all runs of the training half cost; may be given several times. [default: 0.05, 0.2, 0.6]"
        ),
    ] = None,
    repetitions: Annotated[int, typer.Option(help="Splits, each with the proposals in a new order.", min=2)] = 1000,
    cutoff: Annotated[
        float | None, typer.Option(help="Charge a run its seconds, at most so many, instead of counting runs.")
    ] = None,
    delta: Annotated[float, typer.Option(help="The certificate of our choice may fail with probability δ.")] = 0.05,
    seed: Seed = 1,
    out: Out = None,
    figure: Annotated[
        Path | None, typer.Option(help="Draw regret against the budget: .html, .svg, .png or .pdf.", show_default=False)
    ] = None,
    low: Low = None,
    high: High = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Configurators replayed on recorded runs: ours, a fixed N, SMAC3's rule, successive halving, a t-test race."""
    loaded = load(matrix, low, high, out)
    if figure is not None:
        from truecost.show.saving import FORMATS

        check_out(figure, matrix, endings=[f".{each}" for each in FORMATS])
    from truecost.race import replay

    budgets = sorted(set(budget)) if budget else replay.BUDGETS
    with progress("repetitions", quiet=quiet, note=COMPILING) as meter:
        played = replay.replay(
            loaded,
            rng=generator(seed),
            budgets=budgets,
            repetitions=repetitions,
            cutoff=cutoff,
            delta=delta,
            progress=lambda done: meter.count(done, repetitions),
        )
    if out is not None:
        _save(played, out, matrix, seed, cutoff)
    if figure is not None:
        from truecost.show import figures

        figures.save(figures.regret_chart(figures.regret_data(played)), figure)
    if json:
        print_json(_data(played, seed, cutoff))
    else:
        _print(played, cutoff)


def _data(played: "Replay", seed: int, cutoff: float | None) -> dict[str, object]:
    from truecost.race.replay import OURS

    against = {rule: played.against(rule) for rule in played.rules if rule != OURS}
    return {
        "rules": list(played.rules),
        "budgets": list(played.budgets),
        "repetitions": played.regret.shape[0],
        "seed": seed,
        "cutoff": cutoff,
        "regret": played.mean,
        "standard_error": played.standard_error,
        "best_fixed": played.best_fixed(),
        "ours_minus": {rule: {"mean": mean, "standard_error": error} for rule, (mean, error) in against.items()},
        "certificates_missed": played.missed,
        "delta": played.delta,
    }


def _save(played: "Replay", out: Path, matrix: Path, seed: int, cutoff: float | None) -> None:
    import polars as pl

    from truecost.experiments import results

    repetitions, budgets, rules = played.regret.shape
    table = pl.DataFrame(
        {
            "repetition": [r for r in range(repetitions) for _ in range(budgets * rules)],
            "budget": [b for _ in range(repetitions) for b in played.budgets for _ in range(rules)],
            "rule": list(played.rules) * (repetitions * budgets),
            "regret": played.regret.ravel(),
        }
    )
    results.save(table, out, experiment="configure", seed=seed, cutoff=cutoff, matrix=str(matrix))


def _print(played: "Replay", cutoff: float | None) -> None:
    from truecost.race.replay import EVERYTHING, HALVING, OURS, SMAC, STUDENT

    repetitions = played.regret.shape[0]
    rows = []
    for place, budget in enumerate(played.budgets):
        fixed = played.best_fixed()[place]
        mean = dict(zip(played.rules, played.mean[place], strict=True))
        for rule in (OURS, fixed, HALVING, STUDENT, SMAC, EVERYTHING):
            apart, error = (each[place] for each in played.against(rule))
            rows.append(
                [
                    f"{budget:.0%}" if rule == OURS else "",
                    f"fixed {rule}, best in hindsight" if rule == fixed else rule,
                    f"{mean[rule]:.4f}",
                    "" if rule == OURS else f"{apart:+.4f} ± {error:.4f}",
                ]
            )
    print_table(
        f"Regret on the test half: mean of {repetitions:,} repetitions",
        ["budget", "rule", "regret", "truecost minus it"],
        rows,
        left=2,
    )
    charged = "runs" if cutoff is None else f"seconds, at most {cutoff:g} a run"
    print_line(
        f"0: the best configuration of the matrix, 1: the median one. Budgets are shares of all {charged} of the training "
        "half. ± is one standard error over repetitions, of the paired difference. all runs: the least training cost when "
        "everything is known.",
        "aside",
    )
    print_line(
        "Certificates of our choice on instances it was not chosen on: missed "
        f"{', '.join(str(each) for each in played.missed)} of {repetitions:,} (δ = {played.delta:g})."
    )
