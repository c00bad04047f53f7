"""What Python users call: each function takes paths, data frames, arrays or records.

Options of reading (`cutoff=5`, `maximise=True`) and of the question (`delta=0.01`) are keywords;
the fields of `truecost.Reading` and `truecost.Question` say what there is.
"""

import os
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from truecost.errors import InputError, check_share, did_you_mean
from truecost.judge.assessment import Assessment
from truecost.judge.question import Basis, Question
from truecost.matrix.log import Log, Sampled
from truecost.matrix.reading import Reading

if TYPE_CHECKING:
    from truecost.campaigns.results import Validated
    from truecost.planning import Forecast

PathLike = str | os.PathLike[str]
Record = TypeVar("Record", Reading, Question)


def import_runs(runs: Any, reading: Reading | None = None, **options: Any) -> Log:
    """Read runs.

    Parameters
    ----------
    runs
        A path to a log, a table or a journal; the name of an example; a data frame; an array of
        costs, configurations × instances (× runs); a `CostMatrix` or a `Log`.
    reading, options
        How to read them: a `Reading`, or its fields as keywords.

    Examples
    --------
    >>> tc.import_runs("kissat").runs.shape
    (50, 50, 5)
    """
    from truecost import importers

    return importers.import_runs(runs, _record(Reading, reading, options))


def audit(
    runs: Any, *, reading: Reading | None = None, question: Question | None = None, **options: Any
) -> Assessment:
    """Is the winner better than the default on new instances, by how much, and how sure is that?

    Parameters
    ----------
    runs
        As in `import_runs`.
    reading, question, options
        How to read the runs and what to ask: the records, or their fields as keywords.

    Examples
    --------
    >>> tc.audit("kissat").grade
    'probably better'
    """
    from truecost.judge.assess import assess

    return assess(*_read(runs, reading, question, options))


def report(
    runs: Any,
    path: PathLike | None = None,
    *,
    title: str | None = None,
    reading: Reading | None = None,
    question: Question | None = None,
    **options: Any,
) -> Assessment:
    """Write the verdict and everything behind it as an HTML page.

    Parameters
    ----------
    runs
        As in `import_runs`, or an `Assessment`.
    path
        The file; what was there stays until the new one is complete.
    title
        The title of the page.
    reading, question, options
        As in `audit`.

    Examples
    --------
    >>> tc.report("kissat", "kissat.html").winner
    '0fa88eb8a1'
    """
    from truecost.matrix.files import whole_file
    from truecost.show.page import page

    if isinstance(runs, Assessment):
        assessment = runs
    else:
        assessment = audit(runs, reading=reading, question=question, **options)
    text = page(assessment, title=title)
    if path is not None:
        with whole_file(Path(path)) as file:
            file.write(text.encode())
    return assessment


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """NEW against OLD on the same instances.

    Attributes
    ----------
    assessment
        NEW is its winner, OLD its default.
    exit_code
        1: NEW is worse or probably worse on average, or proven to lose more runs than it wins, each
        at δ/2. With a margin: 0 only if NEW is proven at most that much worse, with all of δ.
    """

    assessment: Assessment

    @property
    def reason(self) -> str:
        """Why the exit code is 1; empty where it is 0."""
        assessment, wins = self.assessment, self.assessment.statement("wins")
        if assessment.question.margin is not None:
            kept = assessment.margin_kept
            return "" if kept else "Exit code 1: it is not proven that NEW keeps to the margin."
        if assessment.grade in ("worse", "probably worse"):
            return f"Exit code 1: NEW is {assessment.grade} on average."
        if wins is not None and wins.grade == "worse":
            return "Exit code 1: NEW is proven to lose more runs than it wins."
        return ""

    @property
    def exit_code(self) -> int:
        """What the command line returns."""
        return int(bool(self.reason))

    def summary(self) -> str:
        """The verdict as text."""
        from truecost.show.terminal import screen

        return screen(self.assessment, ("NEW", "OLD"), steps=())

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        from truecost.show.verdict import to_dict

        return {
            **self.assessment.to_dict(),
            "verdict": to_dict(self.assessment, ("NEW", "OLD")),
            "exit_code": self.exit_code,
            "reason": self.reason,
        }


def compare(
    old: Any,
    new: Any,
    *,
    margin: str | None = None,
    common: bool = False,
    sampled: Sampled | None = None,
    delta: float = 0.05,
    reading: Reading | None = None,
    **options: Any,
) -> Comparison:
    """Compare two versions of a solver that were run on the same instances.

    Parameters
    ----------
    old, new
        As in `import_runs`; `"runs.csv:name"` picks one configuration. Of a validation its test
        runs are compared.
    margin
        `"5%"`: the question is whether NEW is at most 5 % worse.
    common
        Compare the instances that both have; otherwise missing ones are an error.
    sampled
        The independent units: "instance", "family" or "seed".
    delta
        The error probability; shared between mean cost and runs won where there is no margin.
    reading, options
        How both are read, as in `import_runs`.

    Examples
    --------
    >>> tc.compare("kissat:default", "kissat:0fa88eb8a1").exit_code
    0
    """
    from truecost.judge.assess import assess
    from truecost.matrix.pairing import pair_logs

    check_share(delta)
    sources, names = zip(*(_named(runs) for runs in (old, new)), strict=True)
    logs = [import_runs(source, reading, **options) for source in sources]
    log = pair_logs(logs[0], logs[1], names, common=common)
    # Mean cost and runs won share δ where either of them can make NEW fail.
    share = delta if margin is not None else delta / 2
    basis: Basis | None = None if log.adaptive else "fixed before"
    question = Question(
        configuration=log.incumbent, basis=basis, margin=margin, sampled=sampled, delta=share
    )
    return Comparison(assessment=assess(log, question))


def _named(runs: Any) -> tuple[Any, str | None]:
    """A source, and the configuration that is named behind it: FILE:NAME."""
    from truecost.examples import example_names

    if not isinstance(runs, str | os.PathLike):
        return runs, None
    text, known = os.fspath(runs), example_names()
    # The longest file that exists; names and paths may have colons themselves.
    for end in [len(text), *(at for at in range(len(text) - 1, 0, -1) if text[at] == ":")]:
        if Path(text[:end]).exists() or text[:end] in known:
            return text[:end], text[end + 1 :] or None
    return text, None


def plan(
    runs: Any,
    *,
    error: float | None = None,
    budget: int | None = None,
    instances: int | None = None,
    reading: Reading | None = None,
    question: Question | None = None,
    **options: Any,
) -> "Forecast":
    """How many instances and runs are needed.

    Parameters
    ----------
    runs
        As in `import_runs`.
    error, budget, instances
        The standard error to reach, or how many runs can be made; how many instances exist.
    reading, question, options
        As in `audit`.
    """
    from truecost import planning

    log, asked = _read(runs, reading, question, options)
    return planning.plan(log, asked, error=error, budget=budget, instances=instances)


def validate(
    runs: Any,
    scenario: Any = None,
    journal: PathLike | None = None,
    *,
    reading: Reading | None = None,
    **options: Any,
) -> "Validated":
    """Run winner and default on new instances until decided; see
    `truecost.campaigns.validate.validate`. `runs` as in `import_runs`, or several of them.
    """
    from truecost.campaigns.validate import journal_of_test
    from truecost.campaigns.validate import validate as validated
    from truecost.running.scenario import Scenario

    if reading is not None and reading.default is not None:
        # The default to run: the log need not have runs of it.
        options.setdefault("default", reading.default)
        reading = replace(reading, default=None)

    def source(one: Any) -> Any:
        if one is None or isinstance(one, Log | Scenario) or journal_of_test(one) is not None:
            return one
        return import_runs(one, reading)

    several = isinstance(runs, list | tuple)
    sources = [source(one) for one in runs] if several else source(runs)
    return validated(sources, scenario, journal, **options)


def _read(
    runs: Any, reading: Reading | None, question: Question | None, options: dict[str, Any]
) -> tuple[Log, Question]:
    """A log and a question from records, or from keywords of both."""
    asking = {entry.name for entry in fields(Question)}
    about = {name: value for name, value in options.items() if name in asking}
    how = {name: value for name, value in options.items() if name not in asking}
    return import_runs(runs, reading, **how), _record(Question, question, about)


def _record(kind: type[Record], record: Record | None, options: dict[str, Any]) -> Record:
    """The record, or one with these fields; a keyword that is no field is refused."""
    if record is not None and options:
        raise InputError(
            f"Give `{kind.__name__.lower()}` or its fields as keywords, not both: "
            f"{', '.join(options)}."
        )
    names = [entry.name for entry in fields(Reading)] + [entry.name for entry in fields(Question)]
    for name in options:
        if name not in {entry.name for entry in fields(kind)}:
            raise InputError(f"There is no option `{name}`.{did_you_mean(name, names)}")
    return kind(**options) if record is None else record
