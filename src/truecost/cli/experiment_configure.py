"""`truecost experiment configure`."""

from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from truecost.cli.command import declared
from truecost.cli.experiment import COMPILING, Out, app, load
from truecost.cli.options import FIGURE, Delta, Json, Quiet, Seed, option
from truecost.cli.printing import answer, print_line, print_table
from truecost.cli.progress import progress
from truecost.cli.reading import Source, check_out

if TYPE_CHECKING:
    from truecost.race.replay import Replay


@app.command(short_help="Configurators replayed on recorded runs.")
@declared
def configure(
    source: Source,
    shares: Annotated[
        list[float] | None,
        option(
            "The budget, as a share of what all runs of the training half cost; may be given "
            "several times. [default: 0.05, 0.2, 0.6]",
            "--share",
            metavar="SHARE",
        ),
    ] = None,
    repetitions: Annotated[
        int, option("Splits, each with the proposals in a new order.", min=2)
    ] = 1000,
    charge_up_to: Annotated[
        float | None,
        option("Charge a run its CPU seconds, up to this many, instead of counting runs."),
    ] = None,
    delta: Delta = 0.05,
    seed: Seed = 1,
    out: Out = None,
    figure: Annotated[Path | None, option(f"{FIGURE}; regret against the budget.")] = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Configurators replayed on recorded runs: ours, a fixed N, SMAC3's rule, successive halving, a
    t-test race.
    """
    matrix = load(source, out)
    if figure is not None:
        from truecost.show import figures
        from truecost.show.saving import FORMATS

        check_out(figure, source.runs, endings=[f".{name}" for name in FORMATS])
    from truecost.race import replay

    budgets = sorted(set(shares)) if shares else replay.BUDGETS
    with progress("repetitions", quiet=quiet, note=COMPILING) as meter:
        played = replay.replay(
            matrix,
            rng=seed,
            budgets=budgets,
            repetitions=repetitions,
            cutoff=charge_up_to,
            delta=delta,
            progress=lambda done: meter.count(done, repetitions),
        )
    if out is not None:
        _save(played, out, source.runs, seed, charge_up_to)
    if figure is not None:
        figures.save(figures.regret_chart(figures.regret_data(played)), figure)
    answer(json, lambda: _data(played, seed, charge_up_to), lambda: _print(played, charge_up_to))


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
        "ours_minus": {
            rule: {"mean": mean, "standard_error": error} for rule, (mean, error) in against.items()
        },
        "certificates_missed": played.missed,
        "delta": played.delta,
    }


def _save(
    played: "Replay", out: Path, source: Path | None, seed: int, cutoff: float | None
) -> None:
    import polars as pl

    from truecost.paper import tables

    places = product(range(played.regret.shape[0]), played.budgets, played.rules)
    table = pl.DataFrame(places, schema=["repetition", "budget", "rule"], orient="row")
    table = table.with_columns(regret=played.regret.ravel())
    tables.save(table, out, experiment="configure", seed=seed, cutoff=cutoff, matrix=str(source))


def _print(played: "Replay", cutoff: float | None) -> None:
    from truecost.race.replay import EVERYTHING, HALVING, OURS, SMAC, STUDENT

    repetitions = played.regret.shape[0]
    rows = []
    for place, budget in enumerate(played.budgets):
        fixed = played.best_fixed()[place]
        mean = dict(zip(played.rules, played.mean[place], strict=True))
        rows.append([f"{budget:.0%}", OURS, f"{mean[OURS]:.4f}", ""])
        for rule in (fixed, HALVING, STUDENT, SMAC, EVERYTHING):
            difference, error = (array[place] for array in played.against(rule))
            label = f"fixed {rule}, best in hindsight" if rule == fixed else rule
            rows.append(["", label, f"{mean[rule]:.4f}", f"{difference:+.4f} ± {error:.4f}"])
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
        f"{', '.join(map(str, played.missed))} of {repetitions:,} (δ = {played.delta:g})."
    )
