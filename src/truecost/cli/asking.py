"""From a command's options to an assessment, and the commands that show one: audit, certify, info
and report.
"""

from collections.abc import Mapping
from dataclasses import asdict, replace
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from truecost.cli.command import command_line, declared, flagged_parts
from truecost.cli.options import Json, Names, Question, Quiet, Unit, asked, out_option
from truecost.cli.printing import answer, print_line
from truecost.cli.progress import progress, steps
from truecost.cli.reading import Others, Source, check_out, names_in, searches_of
from truecost.errors import InputError

if TYPE_CHECKING:
    from truecost.judge.assessment import Assessment
    from truecost.matrix.imported import Import
    from truecost.show.blocks import Section
    from truecost.show.document import Context


def assessed(
    source: Source, question: Question | None = None, log: "Import | None" = None
) -> "Assessment":
    """The assessment that answers a question about these runs, or about those of a log."""
    from truecost.matrix.families import mix_of
    from truecost.verbs import assess

    question = question or Question()
    options = asdict(question) | {
        "test": None if question.test is None else source.read_test(question.test),
        "fresh": None if question.fresh is None else names_in(question.fresh),
        "mix": None if question.mix is None else mix_of(question.mix),
    }
    # Python takes a generator as well, and calls it so.
    options["rng"] = options.pop("seed")
    return assess(source.read() if log is None else log, default=source.default, **options)


def _target(source: Source, log: "Import | None") -> dict[str, object]:
    """What `validate` has to be told of what was run, and with what to compare."""
    if log is not None and log.kind == "irace" and log.obstacle is None:
        known = log.trajectory.default is not None or source.default is not None
        return {} if known else {"default": log.matrix.configurations[0]}
    # Where `scenario from-log` writes it, which the same document advises.
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
    # Examples are matrices, which keep no unit.
    if source.is_example and source.utility is None:
        return "PAR10 s"
    matrix = None if log is None else log.matrix
    if matrix is None or matrix.cutoff is None or matrix.utility is not None:
        return "cost"
    factor = matrix.high / matrix.cutoff
    return "s" if factor == 1 else f"PAR{factor:g} s" if isfinite(factor) else "cost"


@declared
def audit(
    source: Source,
    question: Question,
    unit: Unit = None,
    everything: bool = asked(
        "Print everything: instances, certificate, noise, all commands.", "--all", default=False
    ),
    parameters: bool = asked(
        "Show the parameters of winner and default side by side.", default=False
    ),
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Is the winner over-tuned, and does it beat the default?

    Prints the verdict, the guarantees and the next step; --all prints everything.

    Exit code 0: shown to be better. 1: not shown, or no default is known.
    """
    with progress("looking at the runs", quiet=quiet):
        assessment = assessed(source, question)
        from truecost.judge.assessment import AUDITED

        # Parts are computed when first asked for: here, where progress is shown.
        data = assessment.to_dict(*AUDITED, "outlook")
    from truecost.show.document import audited, in_short

    about = context(source, question, unit=unit, log=assessment.log)
    write = audited if everything else in_short
    answer(json, data, lambda: write(assessment, about, parameters=parameters))
    if not assessment.better:
        raise typer.Exit(1)


@declared
def certify(source: Source, question: Question, json: Json = False) -> None:
    """Certify a configuration: "with 95 % confidence its mean cost is at most x", with the
    assumptions.

    The guarantee depends on --chosen. before: the configuration was fixed before any of these costs
    was seen. from-list: it is the best of a list fixed beforehand, as in random search and gather,
    with a multiple-testing correction. weighted-list: the same, with a weighted correction that a
    random fifth of the instances decides. on-part: a random fifth of the instances chooses, the
    others certify. progressive: a proposal of a search, on instances unused before it.

    The winner of SMAC3 or irace needs test runs: it was tuned on the other instances, and no
    multiple-testing correction helps there.

    Exit code 0: certified. 1: not certified, or only under a condition that --chosen confirms.
    """
    assessment = assessed(source, question)
    from truecost.show.document import Case, certificate_section

    case = Case(assessment, context(source, question, log=assessment.log))
    answer(
        json,
        lambda: assessment.to_dict("certificate"),
        lambda: certificate_section(case, alone=True),
        details=True,
    )
    if assessment.certificate is None or assessment.certificate.condition is not None:
        raise typer.Exit(1)


# Lines of output of a failed run that are printed; all of them are in the JSON.
SHOWN_LINES = 10


@declared
def info(
    source: Source,
    question: Question,
    top: int = asked("How many configurations to show, the best first.", min=1, default=10),
    failed: bool = asked(
        "Show why runs of a journal failed, what they printed, and how to repeat one.",
        default=False,
    ),
    json: Json = False,
) -> None:
    """Summarise runs: how good each configuration is, how noisy that number is, and where the noise
    comes from.

    For a journal, also while it is being written, it shows progress and warnings as well.
    """
    from truecost.cli.campaign import print_summary

    if failed:
        _print_failures(source.place, json)
        return
    journal = _journal_summary(source.place)
    # A journal without a run that counts has nothing to assess yet.
    empty = journal is not None and not journal["counted"]
    assessment = None if empty else assessed(source, question)

    def data() -> dict[str, Any]:
        about = {} if journal is None else {"journal": journal}
        return about | ({} if assessment is None else assessment.to_dict("configurations"))

    def section() -> "Section | None":
        from truecost.show.document import Case, what_was_run

        if journal is not None:
            print_summary(journal)
        if assessment is None:
            return None
        return what_was_run(Case(assessment, context(source, question, log=assessment.log)), top)

    answer(json, data, section)


def _print_failures(path: Path | None, json: bool) -> None:
    """Failed runs by cause."""
    from truecost.journal.journal import Journal
    from truecost.show.numbers import counted

    if path is None or _journal_summary(path) is None:
        raise InputError("Expected a journal with --failed: other files keep no output of runs.")
    with Journal.read(path) as journal:
        failures = journal.failures()

    def lines() -> None:
        if not failures:
            print_line("No run of this journal failed; timeouts are not failures.")
        for failure in failures:
            print_line(
                f"{counted(failure.runs, 'run')} {failure.status}: {failure.detail}", "strong"
            )
            example = f"configuration {failure.configuration} on {failure.instance}"
            repeat = "To repeat it:" if failure.command else "Its output is not kept."
            print_line(f"One of them: {example}, run {failure.number}. {repeat}")
            if failure.command:
                print_line(f"  {failure.command}", wrap=False)
            for name, text in (("stdout", failure.stdout), ("stderr", failure.stderr)):
                for line in text.strip().splitlines()[-SHOWN_LINES:]:
                    print_line(f"  {name}: {line}", wrap=False)

    answer(json, {"failures": failures}, lines)


def _journal_summary(path: Path | None) -> dict[str, Any] | None:
    """What a journal says of itself; None where the runs are in something else."""
    from truecost.journal.file import is_journal

    if path is None or not is_journal(path, marked=True):
        return None
    from truecost.cli.campaign import summary
    from truecost.journal.journal import Journal

    with Journal.read(path) as journal:
        data = summary(journal)
    return {**data, "counted": data["runs"] > data["ahead"]}


@declared
def report(
    source: Source,
    question: Question,
    others: Others = None,
    out: Annotated[Path | None, out_option("NAME-report.html here if not given")] = None,
    title: str | None = asked("The title of the page."),
    latex: Path | None = asked("Write the table of statements to this file, for LaTeX (booktabs)."),
    unit: Unit = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Write an HTML report on recorded runs: the verdict, how certain it is, whether the winner is
    over-tuned, and what to do next.

    The page needs no network and can be printed. For instance: truecost report kissat, truecost
    report runs.db, truecost report irace.Rdata, truecost report smac3_output/run/0 --cutoff 5.
    Several logs of one search are shown side by side, and their runs pooled: truecost report
    smac3_output/run/0 smac3_output/run/1.
    """
    from truecost.show.document.runs import left_out
    from truecost.show.report import write_page, write_table

    path = Path(f"{source.stem}-report.html") if out is None else out
    check_out(path, source.runs, question.test)
    if latex is not None:
        check_out(latex, source.runs, question.test)
    with steps("the runs", quiet=quiet) as tell:
        searches = searches_of(source, others)
        # `searches_of` has settled the default.
        together = source if searches is None else replace(source, default=None)
        assessment = assessed(together, question, None if searches is None else searches.log)
        about = context(source, question, unit=unit, title=title, log=assessment.log)
        page = write_page(assessment, path, about, tell, flagged_parts)
        if latex is not None:
            write_table(page, latex)

    def lines() -> None:
        print_line(page.verdict, page.tone)
        print_line(page.more)
        for note in left_out(assessment):
            print_line(note, "aside")
        # Whoever is to mail it wants to know.
        size = path.stat().st_size / 1e6
        print_line(f"{path} has the whole report: {size:.1f} MB, opens in any browser.")
        if latex is not None:
            print_line(f"{latex} has the table of statements for LaTeX.")

    more = {} if searches is None else {"searches": searches.searches}
    answer(json, lambda: {**page.data, **more}, lines)
