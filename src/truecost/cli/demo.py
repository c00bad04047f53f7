"""`truecost demo`."""

from pathlib import Path
from typing import Annotated

import typer

from truecost.cli.printing import number, print_line


def demo(
    out: Annotated[Path, typer.Option(help="Folder for the demo's files.")] = Path("truecost-demo"),
) -> None:
    """A tour on a synthetic matrix, whose truth is known: what the runs say, what the bounds promise, what is true."""
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
    print_line("Next, on your own runs, a csv with the columns configuration, instance, run, cost:")
    for line in (
        "truecost info runs.csv --low 0 --high 50",
        "truecost bound runs.csv --low 0 --high 50 --delta 0.05",
        "truecost bound --within 50 --across 400 --high 250 --instances 250 --runs 1250 --configurations 500",
    ):
        print_line(f"  {line}", wrap=False)
