"""`truecost demo`."""

from pathlib import Path
from typing import Annotated

import typer

from truecost.cli.printing import number, print_line, print_table
from truecost.errors import InputError


def demo(
    out: Annotated[Path, typer.Option(help="Folder for the demo's files.")] = Path("truecost-demo"),
    splits: Annotated[
        int, typer.Option(help="Splits of the paper's experiments on the real matrices of the package; 0 leaves them out.")
    ] = 250,
) -> None:
    """A tour: a synthetic matrix whose truth is known, then the paper's experiments on real solvers' runs."""
    if splits < 0 or splits == 1:
        raise InputError(f"Expected at least 2 splits, or 0 for none, got {splits}.")
    import numpy as np

    from truecost.cli.bound import bounds_of, from_matrix, print_bounds
    from truecost.cli.info import print_info, summarise
    from truecost.stats.estimate import training_cost
    from truecost.stats.synthetic import runtime_model

    rng = np.random.default_rng(2020)
    model = runtime_model(configurations=40, rng=rng, within_share=0.4, timeout_rate=0.1)
    matrix = model.draw(instances=60, runs=5, rng=rng)
    out.mkdir(parents=True, exist_ok=True)
    path = out / "synthetic.npz"
    matrix.save(path)
    print_line(f"$ truecost info {path} --top 5")
    print_info(summarise(matrix, "runs"), top=5)
    print_line()
    print_line(f"$ truecost bound {path}")
    print_bounds(bounds_of(from_matrix(matrix, None), 0.05, 40))
    print_line()
    costs = training_cost(matrix).cost
    best = int(np.argmin(costs))
    errors = model.true_cost - costs
    print_line(
        f"This matrix is drawn from a model, so the truth is known: the true cost of {matrix.configurations[best]} is "
        f"{number(model.true_cost[best])}, its selection error {number(errors[best])}; "
        f"the uniform error of all is {number(errors.max())}."
    )
    if splits:
        _examples(out / "reproduce", splits)
    print_line("Next, on your own runs, a csv with the columns configuration, instance, run, cost:")
    for line in (
        "truecost info runs.csv --low 0 --high 50",
        "truecost bound runs.csv --low 0 --high 50 --delta 0.05",
        "truecost bound --within 50 --across 400 --high 250 --instances 250 --runs 1250 --configurations 500",
    ):
        print_line(f"  {line}", wrap=False)


def _examples(out: Path, splits: int) -> None:
    """What the paper claims, on each example."""
    from truecost import examples
    from truecost.cli.progress import progress
    from truecost.show.reproduce import reproduce

    print_line()
    print_line(f"$ truecost reproduce --out {out} --splits {splits}", wrap=False)
    found = {}
    for name in examples.names():
        with progress("", quiet=False, note=name) as meter:
            found[name] = reproduce(
                examples.load_example(name),
                out=out / name,
                splits=splits,
                name=name,
                unit="PAR10 s",
                progress=lambda what, share: meter.tell(share, note=what),
            )
    claims = zip(*(each.claims for each in found.values()), strict=True)
    rows = [[row[0].says, *(claim.verdict for claim in row)] for row in claims]
    print_table("The paper's claims on real solvers' runs", ["claim", *found], rows)
    print_line(f"Figures, data and numbers: {out}/*/results.md", wrap=False)
    print_line()
