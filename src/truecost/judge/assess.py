"""From runs and a question to the assessment that answers it."""

from dataclasses import replace
from hashlib import blake2b
from typing import Any

import numpy as np

from truecost.errors import InputError
from truecost.judge.assessment import Assessment
from truecost.judge.costs import check_names
from truecost.judge.question import Question
from truecost.matrix import CostMatrix
from truecost.matrix.imported import Import, few_values
from truecost.runs import Fixed, Trajectory, Watched, is_usual
from truecost.stats.random import Rng, seed_of

# Digits of a utility, in [0, 1], that all machines agree on.
UTILITY_DIGITS = 9


def assess(
    runs: CostMatrix | Import,
    *,
    test: CostMatrix | Import | None = None,
    trajectory: Trajectory | None = None,
    rng: Rng = None,
    **asked: Any,
) -> Assessment:
    """The assessment of these runs; `asked` are the fields of a `Question`, and `rng` draws its
    seed. `truecost.assess` has the same parameters, and says what they mean.
    """
    log = as_log(runs, trajectory)
    # A question holds tuples, which nobody can change.
    asked["fresh"] = None if asked.get("fresh") is None else tuple(asked["fresh"])
    for name in ("mix", "weights"):
        if asked.get(name) is not None:
            asked[name] = tuple(dict(asked[name]).items())
    if isinstance(test, Import) and test.trajectory.watched is not None:
        # A journal of `validate`: what it has of training is a copy, and looking at it meanwhile
        # has its price.
        log = replace(log, trajectory=replace(log.trajectory, watched=test.trajectory.watched))
        test = test.test
    fixed = log.trajectory.watched or log.trajectory.fixed
    if fixed is not None:
        _keep_fixed(asked, fixed)
    given = test.matrix if isinstance(test, Import) else test
    used = log.test if given is None else given
    question = Question(**asked, seed=_seed(rng, log, used))
    if given is not None and question.chosen not in (None, "test"):
        raise InputError(
            f"Expected no `chosen` with test runs, which speak for themselves, got "
            f"{question.chosen}."
        )
    # How test runs came about is known only where they have a log of their own.
    tested = test.trajectory if isinstance(test, Import) else None
    assessment = Assessment(log=log, question=question, test=used, tested_by=tested)
    if given is not None:
        check_names(given, assessment.incumbent)
    return assessment


def as_log(runs: CostMatrix | Import, trajectory: Trajectory | None = None) -> Import:
    """Runs with what is known of where they come from."""
    if isinstance(runs, Import):
        return runs
    known = trajectory or runs.trajectory or Trajectory(tool="unknown")
    return Import(kind="matrix", matrix=runs, trajectory=known)


def _keep_fixed(asked: dict[str, Any], fixed: Watched | Fixed) -> None:
    """Ask what the validation or search asked."""
    # Its limits hold for what it sampled and for nothing else.
    scope = {name: getattr(fixed, name) for name in ("sampled", "about", "population")}
    who = "validation" if isinstance(fixed, Watched) else "search"
    if not is_usual(fixed):
        for name, value in scope.items():
            if asked.get(name) not in (None, value):
                raise InputError(
                    f"Expected `{name}` to be {value}, as the {who} fixed it, got {asked[name]}."
                )
        asked.update(scope)
    if asked.get("margin") is None:
        asked["margin"] = fixed.margin


def _seed(rng: Rng, log: Import, test: CostMatrix | None) -> int:
    """The seed of everything random: as asked, else of the runs themselves."""
    # Of the set of instances, not of their order: whatever the set, all orders of independent
    # draws are equally likely. All costs have a part in it, those of test runs too, since
    # otherwise every sorted test set would come in one order. Where costs have few values, such
    # as 0 and 1, they carry little chance: the names of the instances do, the seeds of the runs,
    # or a number that was drawn when they were imported.
    if rng is not None:
        return seed_of(rng)
    digest = blake2b(str(log.trajectory.order_seed or "").encode(), digest_size=6)
    parts = []
    for runs in (log.matrix, test):
        if runs is not None:
            # Utilities are computed, and the last digit of exp depends on the machine.
            costs = runs.costs if runs.utility is None else runs.costs.round(UTILITY_DIGITS)
            names = runs.instances if few_values(costs) else ()
            parts += [(costs, names), *(() if runs.seeds is None else ((runs.seeds, ()),))]
    for values, names in parts:
        data, size = np.moveaxis(values, 1, 0).tobytes(), values[:, 0].nbytes
        columns = [data[start : start + size] for start in range(0, len(data), size)]
        if names:
            columns = [name.encode() + data for name, data in zip(names, columns, strict=True)]
        for code in sorted([blake2b(column, digest_size=16).digest() for column in columns]):
            digest.update(code)
    return int.from_bytes(digest.digest())
