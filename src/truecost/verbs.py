"""The verbs: turn paths, frames and arrays into runs, then have them judged or shown."""

import os
from collections.abc import Mapping, Sequence
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

from truecost.errors import InputError, RefusedError
from truecost.importers import detect
from truecost.judge import assess as judging
from truecost.judge.assessment import AUDITED, Assessment
from truecost.judge.question import Chosen, Primary
from truecost.judge.scope import About, Sampled
from truecost.judge.statements import Certificate
from truecost.matrix import CostMatrix
from truecost.matrix.families import Weight, checked_weights, weights_in
from truecost.matrix.imported import Import
from truecost.matrix.pairing import named_once, paired
from truecost.runs import Trajectory
from truecost.stats.random import Rng

if TYPE_CHECKING:
    from truecost.show.blocks import Document
    from truecost.show.report import Progress


def assess(
    runs: Any,
    *,
    configuration: str | None = None,
    default: str | None = None,
    test: Any = None,
    trajectory: Trajectory | None = None,
    chosen: Chosen | None = None,
    raced: bool | None = None,
    list_size: int | None = None,
    fresh: Sequence[str] | None = None,
    proposal: int | None = None,
    delta: float = 0.05,
    splits: int = 1000,
    primary: Primary | None = None,
    sampled: Sampled | None = None,
    about: About | None = None,
    population: int | None = None,
    mix: Mapping[str, Weight] | None = None,
    weights: str | Path | Mapping[str, float] | None = None,
    margin: str | None = None,
    rng: Rng = None,
    **reading: Any,
) -> Assessment:
    """Assess recorded runs: who is best, what it will cost on new instances, and how sure that is.

    Parameters
    ----------
    runs
        A matrix; what `import_runs` returns; a path or the name of an example; a data frame; or an
        array of costs, configurations × instances (× runs), NaN where a run is missing.
    configuration, default
        The configuration to judge, and the one to compare it with; by default those of the log,
        else the one with the lowest training cost, and none.
    test
        Runs on fresh instances, in any of these forms; by default the log's own.
    trajectory
        Where the configurations of a bare matrix come from, if the file it was loaded from does not
        say.
    chosen, raced, list_size, fresh, proposal
        How the configuration was chosen, where the log does not say; see `truecost.judge.evidence`.
    delta, splits
        The error probability of each guaranteed statement, and how many times instances are split
        in halves, to see what choosing adds.
    primary
        What decides whether it is better than the default: `"mean"` cost, or `"wins"`. By default
        the mean, and wins where the range of the cost is not known.
    sampled, about
        What was sampled independently, `"instance"`, `"family"`, `"seed"` or `"fold"`, and whether
        statements are about `"new"` ones or `"these"`; see `truecost.judge.scope`.
    population
        For statements about these instances: how many the benchmark has, with those not run.
    mix
        For statements about these families: the weight of each, which sum to 1, or pairs (least,
        most) for statements that hold for every mix within them.
    weights
        The weight of each instance, by name; a csv file with them; or `"column"`, that of the
        table. Statements are about these instances with new seeds; with `about="new"` they are
        sampling weights, the probability in question over that of the sampling, with mean 1.
    margin
        How much more than the default is acceptable: `"5%"` of its cost, or an amount, `"0.1"`.
    rng
        None takes a seed from the costs themselves: the same runs give the same answers, and
        instances that are sorted by difficulty do no harm.
    reading
        As in `import_runs`, where `runs` are still to be read: `cutoff=5`, or `low=0, high=1`.

    Examples
    --------
    >>> assessment = tc.assess(tc.load_example("kissat"), chosen="from-list")
    >>> round(assessment.optimism.expected_cost, 2)
    0.42
    """
    read = judging.as_log(read_runs(runs, **reading), trajectory)
    log, test_runs = named_once(read, None if test is None else read_runs(test, **reading))
    asked: dict[str, Any] = {"configuration": configuration, "default": default, "fresh": fresh}
    asked |= {"chosen": chosen, "raced": raced, "list_size": list_size, "proposal": proposal}
    asked |= {"sampled": sampled, "about": about, "population": population, "mix": mix}
    asked |= {"primary": primary, "margin": margin, "delta": delta, "splits": splits}
    return judging.assess(log, test=test_runs, weights=_weighed(weights, log), rng=rng, **asked)


def audit(runs: Any, **asked: Any) -> Assessment:
    """`assess`, with everything an audit prints computed at once; parameters as there.

    Examples
    --------
    >>> tc.audit("kissat").better
    False
    """
    assessment = assess(runs, **asked)
    assessment.to_dict(*AUDITED)
    return assessment


def certify(runs: Any, configuration: str | None = None, **asked: Any) -> Certificate:
    """What the true cost of a configuration does not exceed; parameters as in `assess`.

    `RefusedError` says why there is no valid statement.

    Examples
    --------
    >>> print(f"{tc.certify('kissat').upper:.2f}")
    1.07
    """
    assessment = assess(runs, configuration=configuration, **asked)
    if assessment.certificate is None:
        raise RefusedError(assessment.no_certificate or "")
    return assessment.certificate


def report(
    runs: Any,
    path: str | os.PathLike[str] | None = None,
    *,
    name: str = "runs",
    title: str | None = None,
    unit: str = "cost",
    progress: "Progress | None" = None,
    **asked: Any,
) -> "Document":
    """A page about recorded runs, written to `path` where one is given.

    Parameters
    ----------
    runs
        As in `assess`, or an assessment. What cannot be computed is left out, with a sentence that
        says why.
    path
        The file; what was there stays until the new one is whole.
    name, title, unit
        What the runs are called, the title of the page if it is to be another one, and what a unit
        of cost is called.
    progress
        Called with what is being done, and the share of all work that is done.
    asked
        As in `assess`.

    Examples
    --------
    >>> page = tc.report("kissat", name="kissat", unit="PAR10 s")
    >>> page.badge
    'Not shown to be better on average'
    """
    from truecost.show.document import Context
    from truecost.show.report import write_page

    assessment = runs if isinstance(runs, Assessment) else assess(runs, **asked)
    return write_page(assessment, path, Context(name=name, title=title, unit=unit), progress)


def compare(
    old: Any,
    new: Any,
    *,
    names: tuple[str | None, str | None] = (None, None),
    labels: tuple[str, str] = ("OLD", "NEW"),
    delta: float = 0.05,
    primary: Primary | None = None,
    margin: str | None = None,
    rng: Rng = None,
    **reading: Any,
) -> Assessment:
    """Compare two versions of a solver on the instances both have runs on.

    The assessment has OLD as its default and NEW as its incumbent: `.better`, `.grade` and
    `.statements` say what is shown. Both versions must have been fixed before these runs; what a
    configurator tuned on the instances is refused.

    Parameters
    ----------
    old, new
        Runs in any form that `assess` takes.
    names
        Which configuration of each; by default the only one, or the incumbent of a search.
    labels
        What to call two configurations of one name.
    delta, primary, margin, rng
        As in `assess`; whether NEW is shown to be at most the margin worse is
        `.beside.non_inferiority`.
    reading
        As in `import_runs`, for both.

    Examples
    --------
    >>> matrix = tc.load_example("kissat")
    >>> old, new = (matrix.select(configurations=[name]) for name in matrix.configurations[:2])
    >>> tc.compare(old, new).better
    False
    """
    logs = [judging.as_log(read_runs(runs, **reading)) for runs in (old, new)]
    log, _ = named_once(paired(logs[0], logs[1], names, labels))
    tuned = log.trajectory.proposed == "adaptively"
    return judging.assess(
        log,
        chosen=None if tuned else "before",
        configuration=log.trajectory.incumbent,
        delta=delta,
        primary=primary,
        margin=margin,
        rng=rng,
    )


def _weighed(
    weights: str | Path | Mapping[str, float] | None, log: Import
) -> dict[str, float] | None:
    """The weights of instances, from wherever they are."""
    if weights is None:
        return None
    if isinstance(weights, Mapping):
        return checked_weights(weights, "the mapping")
    if str(weights) != "column":
        return weights_in(Path(weights))
    if not log.weights:
        raise InputError("Expected a column of `weights` in the table, and it has none.")
    return dict(log.weights)


def read_runs(runs: Any, **reading: Any) -> CostMatrix | Import:
    """Runs in whatever form they come: see `assess`."""
    if isinstance(runs, CostMatrix | Import):
        if reading:
            raise InputError(
                f"Expected no {', '.join(f'`{name}`' for name in reading)} with runs that are "
                "already read."
            )
        return runs
    frame = hasattr(runs, "columns")
    # Frames have __array__, too, and names that an array would lose.
    if isinstance(runs, list | tuple) or (hasattr(runs, "__array__") and not frame):
        return _from_array(runs, **reading)
    return import_runs(runs, **reading)


@wraps(detect.import_runs)
def import_runs(source: Any, **options: Any) -> Import:  # noqa: D103 - as wrapped
    if isinstance(source, str | os.PathLike):
        from truecost.examples import example_or

        source = example_or(Path(source))
    return detect.import_runs(source, **options)


def _from_array(
    costs: Any, low: float | None = None, high: float | None = None, **others: Any
) -> CostMatrix:
    """A matrix of costs whose configurations and instances are numbered."""
    import numpy as np

    from truecost.arrays import floats

    if others:
        raise InputError(
            f"Expected no `{next(iter(others))}` with an array of costs, which are settled: give "
            "it with a table of runs."
        )
    try:
        array = floats(costs)
    except (TypeError, ValueError):
        array = np.empty(0)
    if array.ndim not in (2, 3):
        raise InputError(
            "Expected runs: a matrix, a path, the name of an example, a data frame, or an array of "
            f"costs, configurations × instances (× runs); got {type(costs).__name__}."
        )
    return CostMatrix(
        array,
        [str(place) for place in range(array.shape[0])],
        [str(place) for place in range(array.shape[1])],
        low=-np.inf if low is None else low,
        high=np.inf if high is None else high,
    )
