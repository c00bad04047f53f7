"""The verbs: what is asked of a set of runs, and the assessment that answers."""

from collections.abc import Sequence
from dataclasses import replace
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from truecost.errors import InputError
from truecost.judge import statements
from truecost.judge.assessment import AUDITED, Assessment
from truecost.judge.evidence import Chosen, Primary, Question, RefusedError
from truecost.judge.statements import Certificate
from truecost.matrix import CostMatrix
from truecost.matrix.imported import Import
from truecost.runs import Trajectory
from truecost.stats.random import Rng, seed_of

_UNKNOWN = Trajectory(tool="unknown")


def assess(
    runs: CostMatrix | Import,
    *,
    configuration: str | None = None,
    default: str | None = None,
    test: CostMatrix | Import | None = None,
    trajectory: Trajectory | None = None,
    chosen: Chosen | None = None,
    raced: bool | None = None,
    list_size: int | None = None,
    fresh: Sequence[str] | None = None,
    proposal: int | None = None,
    delta: float = 0.05,
    splits: int = 1000,
    primary: Primary | None = None,
    rng: Rng = None,
) -> Assessment:
    """Assess recorded runs: who is best, what it will cost on new instances, how sure that is, what
    to do next.

    Parameters
    ----------
    runs
        A matrix, or what `import_runs` found; missing runs are allowed.
    configuration, default
        Who is judged, and what it should be better than: by default what the log says; else the one
        with the least training cost, and nothing.
    test
        Runs on fresh instances; by default the log's own.
    trajectory
        Where the configurations of a bare matrix come from.
    chosen, raced, list_size, fresh, proposal
        How the configuration was chosen, where the log does not say; see `truecost.judge.evidence`.
    delta
        The probability with which each guaranteed statement may be wrong.
    splits
        How many times instances are split in halves, to see what choosing adds.
    primary
        What decides whether it is better than the default: `"mean"` cost, or `"wins"`. By default
        the mean, and wins where the range of the cost is not known.
    rng
        Of every random number. None takes a seed from the costs themselves: the same runs give the
        same answers, and instances that are sorted by difficulty do no harm.
    """
    log = (
        runs
        if isinstance(runs, Import)
        else Import(kind="matrix", matrix=runs, trajectory=trajectory or _UNKNOWN)
    )
    asked = Question(
        configuration=configuration,
        default=default,
        chosen=chosen,
        raced=raced,
        list_size=list_size,
        fresh=None if fresh is None else tuple(fresh),
        proposal=proposal,
        delta=delta,
        splits=splits,
        seed=_seed(rng, log.matrix.costs),
        primary=primary,
    )
    if isinstance(test, Import) and test.trajectory.watched is not None:
        # A journal of `validate`: what it has of training is a copy, and looking at it meanwhile
        # has its price.
        log = replace(log, trajectory=replace(log.trajectory, watched=test.trajectory.watched))
        test = test.test
    given = test.matrix if isinstance(test, Import) else test
    if given is not None and chosen not in (None, "test"):
        raise InputError(
            f"Expected no `chosen` with test runs, which speak for themselves, got {chosen}."
        )
    found = Assessment(log=log, asked=asked, test=log.test if given is None else given)
    if given is not None:
        statements.check_names(given, found.incumbent)
    return found


def audit(runs: CostMatrix | Import, **asked: Any) -> Assessment:
    """`assess`, with what an audit speaks of computed at once; parameters as there."""
    found = assess(runs, **asked)
    found.to_dict(*AUDITED)
    return found


def certify(
    runs: CostMatrix | Import, configuration: str | None = None, **asked: Any
) -> Certificate:
    """What the true cost of a configuration does not exceed; parameters as in `assess`.

    `RefusedError` says why there is no valid statement.
    """
    found = assess(runs, configuration=configuration, **asked)
    if found.certificate is None:
        raise RefusedError(found.no_certificate or "")
    return found.certificate


def _seed(rng: Rng, costs: NDArray[np.float64]) -> int:
    if rng is not None:
        return seed_of(rng)
    # Of the set of instances, not of their order: whatever the set, all orders of independent draws
    # are equally likely.
    each = sorted(
        blake2b(column.tobytes(), digest_size=16).digest() for column in np.moveaxis(costs, 1, 0)
    )
    return int.from_bytes(blake2b(b"".join(each), digest_size=6).digest())
