"""From a command's options to an assessment, and to what a document about it needs."""

from collections.abc import Mapping
from dataclasses import asdict
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING

from truecost.cli.command import command_line
from truecost.cli.options import Names, Question
from truecost.cli.reading import Source, names_in

if TYPE_CHECKING:
    from truecost.judge.assessment import Assessment
    from truecost.matrix.imported import Import
    from truecost.show.document import Context


def assessed(
    source: Source, question: Question | None = None, log: "Import | None" = None
) -> "Assessment":
    """The assessment that answers a question about these runs, or about those of a log."""
    from truecost.matrix.families import mix_of
    from truecost.verbs import assess

    question = question or Question()
    asked = asdict(question) | {
        "test": None if question.test is None else source.read_test(question.test),
        "fresh": None if question.fresh is None else names_in(question.fresh),
        "mix": None if question.mix is None else mix_of(question.mix),
    }
    # Python takes a generator as well, and calls it so.
    asked["rng"] = asked.pop("seed")
    return assess(source.read() if log is None else log, default=source.default, **asked)


def _target(source: Source, log: "Import | None") -> dict[str, object]:
    """What `validate` has to be told of what was run, and with what to compare."""
    if log is not None and log.kind == "irace" and log.obstacle is None:
        known = log.trajectory.default is not None or source.default is not None
        return {} if known else {"default": log.matrix.configurations[0]}
    folder = f"{source.stem}-scenario/" if log is not None and log.kind == "smac" else ""
    return {"scenario": f"{folder}scenario.toml"}


def context(
    source: Source,
    question: Question | None = None,
    *,
    unit: str | None = None,
    title: str | None = None,
    log: "Import | None" = None,
) -> "Context":
    """What a document about these runs needs: their name, and the writer of commands about them.

    A `log` of irace says what it ran; to be validated, others need a scenario.
    """
    from truecost.show.document import Context

    names = Names(unit=unit)

    def write(command: str, more: Mapping[str, object]) -> str:
        if command == "scenario from-log":
            more = {"out": f"{source.stem}-scenario", **more}
        if command == "validate":
            more = {**_target(source, log), **more}
            if "--" in " ".join(() if log is None else log.matrix.instances):
                # Instances that are texts with arguments stand in a file, one per line.
                more["instances"] = "test.txt"
        return command_line(command, source, question or Question(), names, **more)

    path = source.runs or Path("runs")
    place = path.resolve()
    # SMAC3 calls the folder of a search by its seed, which names nothing.
    name = (
        f"{place.parent.name}/{place.name}" if place.name.isdecimal() else path.name or place.name
    )
    return Context(name=name, title=title, unit=unit or _usual_unit(source, log), writer=write)


def _usual_unit(source: Source, log: "Import | None") -> str:
    """What a unit of cost is called where nobody says: seconds, or penalised ones, where costs are
    running times.
    """
    if source.is_example and source.utility is None:
        return "PAR10 s"
    matrix = None if log is None else log.matrix
    if matrix is None or matrix.cutoff is None or matrix.utility is not None:
        return "cost"
    factor = matrix.high / matrix.cutoff
    return "s" if factor == 1 else f"PAR{factor:g} s" if isfinite(factor) else "cost"
