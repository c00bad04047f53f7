"""`truecost audit`."""

from typing import Any

import typer

from truecost.cli.asking import assessed, setting, show
from truecost.cli.options import (
    Chosen,
    Configuration,
    ContentSeed,
    Delta,
    Json,
    ListSize,
    PrimaryStatement,
    Quiet,
    Raced,
    Splits,
    Test,
    Unit,
)
from truecost.cli.printing import print_json
from truecost.cli.progress import progress
from truecost.cli.reading import Source, reads_runs


@reads_runs
def audit(
    source: Source,
    configuration: Configuration = None,
    delta: Delta = 0.05,
    test: Test = None,
    chosen: Chosen = None,
    raced: Raced = None,
    primary: PrimaryStatement = None,
    list_size: ListSize = None,
    splits: Splits = 1000,
    seed: ContentSeed = None,
    unit: Unit = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Look for over-tuning: what the winner really costs, and whether it is shown to be better than
    the default.

    Exit code 0: shown to be better. 1: not shown, also where no default is known.
    """
    asked: dict[str, Any] = {
        "test": test,
        "chosen": chosen,
        "raced": raced,
        "primary": primary,
        "list_size": list_size,
        "configuration": configuration,
    }
    with progress("looking at the runs", quiet=quiet):
        found = assessed(source, delta=delta, splits=splits, rng=seed, **asked)
        from truecost.judge.assessment import AUDITED

        told = found.to_dict(*AUDITED, "outlook")
    if json:
        print_json(told)
    else:
        from truecost.show.document import audited

        show(audited(found, setting(source, unit=unit, kind=found.log.kind, **asked)))
    if not found.better:
        raise typer.Exit(1)
