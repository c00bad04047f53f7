"""`truecost bound`."""

from typing import TYPE_CHECKING, Annotated

import typer

from truecost.cli.asking import assessed, show
from truecost.cli.options import (
    Across,
    Configuration,
    Configurations,
    Delta,
    Instances,
    Json,
    TotalRuns,
    Within,
)
from truecost.cli.printing import print_json
from truecost.cli.reading import Source, reads_runs
from truecost.errors import InputError

if TYPE_CHECKING:
    from truecost.judge.bounds import Subject

SPACE = "A whole parameter space (Theorem 3)"


@reads_runs(without="else say what to assume, with the options below")
def bound(
    source: Source,
    configuration: Configuration = None,
    delta: Delta = 0.05,
    configurations: Configurations = None,
    epsilon: Annotated[
        float | None,
        typer.Option(
            help="Also say at which δ, m, N and K the bound reaches this ε (runs spread evenly)."
        ),
    ] = None,
    within: Within = None,
    across: Across = None,
    instances: Instances = None,
    total_runs: TotalRuns = None,
    dimension: Annotated[
        int | None, typer.Option(help="h, the number of parameters.", min=1, rich_help_panel=SPACE)
    ] = None,
    radius: Annotated[
        float, typer.Option(help="R of the ball that holds the space.", rich_help_panel=SPACE)
    ] = 1.0,
    lipschitz: Annotated[
        float | None,
        typer.Option(
            help="L_f: the most a cost can change per unit of distance.", rich_help_panel=SPACE
        ),
    ] = None,
    json: Json = False,
) -> None:
    """How far the true cost can lie above the mean of the runs: of one configuration, of all at
    once, of a whole space.

    The statements need independent instances and seeds, counts fixed independently of costs,
    configurations fixed before any cost was seen, and the true variances. Variances estimated from
    runs make them plug-ins: a guide, not a guarantee.
    """
    from dataclasses import asdict

    from truecost.judge.bounds import paper_bounds, subject_of

    told = {}
    if source.path is None:
        subject = _assumed(source, within, across, instances, total_runs)
    else:
        given = {
            "--within": within,
            "--across": across,
            "--instances": instances,
            "--total-runs": total_runs,
        }
        if wrong := [name for name, value in given.items() if value is not None]:
            raise InputError(
                f"Expected either runs or {wrong[0]}, got both: the runs have their own."
            )
        found = assessed(source, configuration=configuration, delta=delta)
        subject, told = subject_of(found.matrix, found.incumbent), found.to_dict()
    if (dimension is None) != (lipschitz is None):
        raise InputError("Expected --dimension and --lipschitz together: Theorem 3 needs both.")
    several = subject.components.within.size
    if configurations is not None and configurations < several and configuration is None:
        raise InputError(
            f"Expected at least {several} --configurations, as many as there are in the runs, got {configurations}: the "
            "best of them is chosen by its costs. Name the --configuration if it was chosen beforehand."
        )
    space = None if dimension is None or lipschitz is None else (dimension, radius, lipschitz)
    bounds = paper_bounds(
        subject, delta=delta, configurations=configurations, space=space, epsilon=epsilon
    )
    if json:
        print_json({**told, "bounds": asdict(bounds)})
    else:
        from truecost.show.document import bounds_section

        show(bounds_section(bounds), details=True)


def _assumed(
    source: Source,
    within: float | None,
    across: float | None,
    instances: int | None,
    runs: int | None,
) -> "Subject":
    from truecost.judge.bounds import assumed_subject

    needed = {
        "--within": within,
        "--across": across,
        "--instances": instances,
        "--high": source.high,
    }
    if within is None or across is None or instances is None or source.high is None:
        missing = [name for name, value in needed.items() if value is None]
        raise InputError(f"Expected runs, or {', '.join(needed)}: {', '.join(missing)} missing.")
    low = source.low or 0.0
    return assumed_subject(
        within=within, across=across, instances=instances, runs=runs, low=low, high=source.high
    )
