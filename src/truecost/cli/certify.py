"""`truecost certify`."""

from pathlib import Path
from typing import Annotated

import typer

from truecost.cli.asking import assessed, setting, show
from truecost.cli.options import (
    WAYS,
    ChosenAnyWay,
    Configuration,
    ContentSeed,
    Delta,
    Json,
    ListSize,
    Raced,
    Test,
)
from truecost.cli.printing import print_json
from truecost.cli.reading import Source, names_in, reads_runs


@reads_runs
def certify(
    source: Source,
    configuration: Configuration = None,
    delta: Delta = 0.05,
    test: Test = None,
    chosen: ChosenAnyWay = None,
    raced: Raced = None,
    list_size: ListSize = None,
    fresh: Annotated[
        Path | None,
        typer.Option(
            help="With progressive: a file that names the instances unused before, one a line.",
            rich_help_panel=WAYS,
            show_default=False,
        ),
    ] = None,
    proposal: Annotated[
        int | None,
        typer.Option(
            help="With progressive: its number among the proposals, from 1.",
            rich_help_panel=WAYS,
            show_default=False,
        ),
    ] = None,
    seed: ContentSeed = None,
    json: Json = False,
) -> None:
    """Certify a configuration: "with 95 % confidence its mean cost is at most x", and what that
    rests on.

    How it was chosen decides what may be said. before: it was fixed before any of these costs was
    seen. from-list: it is the best of a list fixed beforehand, as random search and gather have it;
    all of the list share the error probability. on-part: a random fifth of the instances chooses,
    the others certify. progressive: a proposal of a search is certified on instances unused before
    it.

    What a configurator such as SMAC3 or irace chose is certified on test runs only: it tuned on the
    other instances, and no multiple-testing correction makes up for that.

    Exit code 0: certified. 1: not, or only under a condition that nobody has confirmed.
    """
    found = assessed(
        source,
        test=test,
        configuration=configuration,
        delta=delta,
        chosen=chosen,
        raced=raced,
        list_size=list_size,
        fresh=None if fresh is None else names_in(fresh),
        proposal=proposal,
        rng=seed,
    )
    if json:
        print_json(found.to_dict("certificate"))
    else:
        from truecost.show.document import certificate_section

        show(certificate_section(found, setting(source)), details=True)
    if found.certificate is None or found.certificate.condition is not None:
        raise typer.Exit(1)
