"""What Python users call: each function takes paths, data frames, arrays or records.

Options of reading (`cutoff=5`, `maximise=True`) and of the question (`delta=0.01`) are keywords;
the fields of `truecost.Reading` and `truecost.Question` say what there is.
"""

import os
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from truecost.errors import InputError, did_you_mean
from truecost.judge.assessment import Assessment
from truecost.judge.question import Basis, Question
from truecost.matrix.log import Log
from truecost.matrix.reading import Reading

if TYPE_CHECKING:
    from truecost.campaigns.results import Configured, Gathered, Validated
    from truecost.paper.reproduce import Reproduction
    from truecost.planning import Plan

PathLike = str | os.PathLike[str]


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

    if reading is not None and options:
        raise InputError("Give a `reading` or its fields as keywords, not both.")
    return importers.import_runs(runs, Reading(**_known(options, Reading)) if options else reading)


def audit(runs: Any, **options: Any) -> Assessment:
    """Is the winner better than the default on new instances, by how much, and how sure is that?

    Parameters
    ----------
    runs
        As in `import_runs`.
    options
        Fields of `Reading` and `Question` as keywords.

    Examples
    --------
    >>> tc.audit("kissat").grade
    'probably better'
    """
    log, question = _asked(runs, options)
    return assess(log, question)


def assess(log: Log, question: Question) -> Assessment:
    """Judge a log that is read already."""
    from truecost.judge.assess import assess as judged

    return judged(log, question)


def report(
    runs: Any,
    path: PathLike | None = None,
    *,
    title: str | None = None,
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
    question, options
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
    elif question is not None:
        assessment = assess(import_runs(runs, **options), question)
    else:
        assessment = audit(runs, **options)
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
    def exit_code(self) -> int:
        """What the command line returns."""
        if self.assessment.question.margin is not None:
            return int(not self.assessment.margin_kept)
        same = self.assessment.same
        loses = same is not None and same.wins is not None and same.wins.grade == "worse"
        return int(self.assessment.grade in ("worse", "probably worse") or loses)

    @property
    def reason(self) -> str:
        """Why the exit code is 1; empty where it is 0."""
        if not self.exit_code:
            return ""
        if self.assessment.question.margin is not None:
            return "Exit code 1: it is not proven that NEW keeps to the margin."
        if self.assessment.grade in ("worse", "probably worse"):
            return f"Exit code 1: NEW is {self.assessment.grade} on average."
        return "Exit code 1: NEW is proven to lose more runs than it wins."

    def summary(self) -> str:
        """The verdict as text."""
        return self.assessment.summary()

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        from truecost.show import verdict

        said = verdict.to_dict(self.assessment, ("NEW", "OLD"))
        return {
            **self.assessment.to_dict(),
            "verdict": said,
            "exit_code": self.exit_code,
            "reason": self.reason,
        }


def compare(
    old: Any,
    new: Any,
    *,
    margin: str | None = None,
    common: bool = False,
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
    delta
        The error probability; shared between mean cost and runs won where there is no margin.
    reading, options
        How both are read, as in `import_runs`.

    Examples
    --------
    >>> tc.compare("kissat:default", "kissat:0fa88eb8a1").exit_code
    0
    """
    from truecost.matrix.pairing import pair_logs

    sources, names = zip(*(_named(runs) for runs in (old, new)), strict=True)
    logs = [import_runs(source, reading, **options) for source in sources]
    log = pair_logs(logs[0], logs[1], names, common=common)
    # Mean cost and runs won share δ where either of them can make NEW fail.
    share = delta if margin is not None else delta / 2
    basis: Basis | None = None if log.adaptive else "fixed before"
    question = Question(configuration=log.incumbent, basis=basis, margin=margin, delta=share)
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


def plan(runs: Any, **options: Any) -> "Plan":
    """How many instances and runs are needed.

    Parameters
    ----------
    runs
        As in `import_runs`.
    options
        `error` or `budget` as in `truecost plan`, and the fields of `Reading` and `Question`.
    """
    from truecost import planning

    sizes = {
        name: options.pop(name) for name in ("error", "budget", "instances") if name in options
    }
    log, question = _asked(runs, options)
    return planning.plan(log, question, **sizes)


def reproduce(runs: Any, folder: PathLike, **options: Any) -> "Reproduction":
    """Repeat the experiments of the paper on a matrix of runs.

    Parameters
    ----------
    runs
        As in `import_runs`.
    folder
        Where the report and its figures are written.
    options
        `splits`, `only`, `seed`, `workers` and `progress`, as in `truecost reproduce`.
    """
    from truecost.paper.reproduce import reproduce as reproduced

    log = import_runs(runs)
    return reproduced(log, Path(folder), **options)


def gather(scenario: Any, journal: PathLike, **options: Any) -> "Gathered":
    """Run configurations on instances; see `truecost.campaigns.gather.gather`."""
    from truecost.campaigns.gather import gather as gathered

    return gathered(scenario, journal, **options)


def configure(scenario: Any, journal: PathLike | None = None, **options: Any) -> "Configured":
    """Search for a better configuration and test it; see
    `truecost.campaigns.configure.configure`.
    """
    from truecost.campaigns.configure import configure as configured

    return configured(scenario, journal, **options)


def validate(
    runs: Any, scenario: Any = None, journal: PathLike | None = None, **options: Any
) -> "Validated":
    """Run winner and default on new instances until decided; see
    `truecost.campaigns.validate.validate`. `runs` as in `import_runs`, or several of them.
    """
    from truecost.campaigns.validate import validate as validated
    from truecost.journal.store import is_journal

    def source(one: Any) -> Any:
        path = isinstance(one, str | os.PathLike)
        return import_runs(one) if path and not is_journal(one) else one

    several = isinstance(runs, list | tuple)
    sources = [source(one) for one in runs] if several else source(runs)
    return validated(sources, scenario, journal, **options)


def _asked(runs: Any, options: dict[str, Any]) -> tuple[Log, Question]:
    """A log and a question from keywords of both."""
    asking = {item.name for item in fields(Question)}
    reading = {name: value for name, value in options.items() if name not in asking}
    _known(options, Reading, Question)
    question = Question(**{name: value for name, value in options.items() if name in asking})
    if isinstance(runs, Log) and set(reading) == {"default"}:
        return replace(runs, default=reading["default"]), question
    return import_runs(runs, **reading), question


def _known(options: dict[str, Any], *records: type) -> dict[str, Any]:
    """The options; one that is no field of these records is refused."""
    names = [item.name for record in records for item in fields(record)]
    for name in options:
        if name not in names:
            raise InputError(f"There is no option `{name}`{did_you_mean(name, names)}")
    return options
