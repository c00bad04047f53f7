"""From runs and a question to the assessment that answers it."""

from dataclasses import replace
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from truecost.errors import InputError
from truecost.judge.assessment import Assessment
from truecost.judge.costs import check_names
from truecost.judge.question import Question
from truecost.matrix import CostMatrix
from truecost.matrix.imported import Import
from truecost.runs import Trajectory
from truecost.stats.random import Rng, seed_of

_UNKNOWN = Trajectory(tool="unknown")


def assess(
    runs: CostMatrix | Import,
    *,
    test: CostMatrix | Import | None = None,
    trajectory: Trajectory | None = None,
    rng: Rng = None,
    **asked: Any,
) -> Assessment:
    """The assessment of these runs; `asked` are the fields of a `Question`, its seed drawn by `rng`.

    `truecost.assess` has the same parameters, and says what they mean.
    """
    log = (
        runs
        if isinstance(runs, Import)
        else Import(kind="matrix", matrix=runs, trajectory=trajectory or _UNKNOWN)
    )
    asked["fresh"] = None if asked.get("fresh") is None else tuple(asked["fresh"])
    if asked.get("mix") is not None:
        asked["mix"] = tuple((name, float(weight)) for name, weight in dict(asked["mix"]).items())
    question = Question(**asked, seed=_seed(rng, log.matrix.costs))
    if isinstance(test, Import) and test.trajectory.watched is not None:
        # A journal of `validate`: what it has of training is a copy, and looking at it meanwhile
        # has its price.
        log = replace(log, trajectory=replace(log.trajectory, watched=test.trajectory.watched))
        test = test.test
    given = test.matrix if isinstance(test, Import) else test
    if given is not None and question.chosen not in (None, "test"):
        raise InputError(
            f"Expected no `chosen` with test runs, which speak for themselves, got "
            f"{question.chosen}."
        )
    assessment = Assessment(log=log, asked=question, test=log.test if given is None else given)
    if given is not None:
        check_names(given, assessment.incumbent)
    return assessment


def _seed(rng: Rng, costs: NDArray[np.float64]) -> int:
    if rng is not None:
        return seed_of(rng)
    # Of the set of instances, not of their order: whatever the set, all orders of independent draws
    # are equally likely.
    each = sorted(
        blake2b(column.tobytes(), digest_size=16).digest() for column in np.moveaxis(costs, 1, 0)
    )
    return int.from_bytes(blake2b(b"".join(each), digest_size=6).digest())
