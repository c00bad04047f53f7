"""Runs as they came in: the same number on each instance, and the part of δ of such a look."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from truecost.arrays import IntArray
from truecost.errors import Refusal
from truecost.judge import looks
from truecost.judge.costs import first_runs
from truecost.judge.evidence import IF_NOT_RACED, UNSORTED, Evidence
from truecost.matrix import CostMatrix

# Families count whole, or when to stop could depend on their costs.
SCATTERED = (
    "families did not come one after the other, and a limit that holds at all times needs whole "
    "families in their order"
)
UNFINISHED = "no family is finished yet"


class Rounds(NamedTuple):
    """Runs in the order of time, r on each instance, the part of δ, and for how many instances
    limits are planned: none, or those of the first plan and in all with each extension.
    """

    runs: CostMatrix
    part: float
    planned: tuple[int, ...]


def in_rounds(evidence: Evidence, names: Sequence[str]) -> Rounds | Refusal:
    """The first r runs of these configurations on each instance, in the order of the matrix.

    Whatever more runs there are is passed over: how many there are may depend on costs.
    """
    runs = evidence.runs.select(configurations=names)
    counts = runs.counts()
    if evidence.plans:
        return _in_plan(evidence, runs, counts.min(axis=0))
    used = counts > 0
    for name, row in zip(names, used, strict=True):
        if not row.any() or not row[: int(row.sum())].all():
            if evidence.condition == UNSORTED:
                # The log does not say that it was a race: uneven runs look like one.
                return Refusal(
                    "the number of runs may depend on costs, as in a race, and limits for races "
                    f"need the instances of {name!r} in the order of the others, from the first; "
                    f"{IF_NOT_RACED}"
                )
            return Refusal(
                f"in a race the instances of {name!r} did not come in the order of the others, "
                "from the first, and a limit that holds at all times needs that; take runs on new "
                "instances"
            )
    length = int(used.all(axis=0).sum())
    # A validation stops at whole families, and its journal tells where these end.
    if evidence.scope.sampled == "family" and evidence.rounds is None:
        whole = _whole_families(runs, length)
        if isinstance(whole, Refusal):
            return whole
        length = whole
    # Later rounds come after later instances, whose costs may have set their caps.
    rounds = 1 if runs.censored[:, :length].any() else int(counts[:, :length].min())
    part = looks.of_round(rounds, evidence.rounds)
    horizon = () if evidence.planned is None else (evidence.planned,)
    return Rounds(first_runs(runs, length, rounds), part, horizon)


def _in_plan(evidence: Evidence, runs: CostMatrix, counts: IntArray) -> Rounds | Refusal:
    """The longest prefix of the recorded order whose runs are all there, by the number of runs that
    the first plan announced; while it has hardly begun with these, by those of the rounds before.
    """

    def prefix(number: int) -> int:
        return int(np.argmin(np.append(counts >= number, False)))

    announced, begun = evidence.plans[0].runs, prefix(1)
    if not begun:
        return Refusal("no instance of the plan has all of its runs yet")
    # Every r has a part of δ of its own, so that the number of finished runs may choose it.
    rounds = announced if 2 * prefix(announced) >= begun else int(counts[:begun].min())
    part = looks.of_plan(evidence.extension, rounds, announced)
    length, sizes = prefix(rounds), [plan.instances for plan in evidence.plans]
    finished = first_runs(runs, length, rounds)
    if evidence.scope.sampled == "family":
        places = _planned_families(runs.families or (), sizes, length)
        if isinstance(places, Refusal):
            return places
        finished = finished.select(instances=[runs.instances[place] for place in places])
        sizes = [plan.families for plan in evidence.plans]
    return Rounds(finished, part, looks.horizons(sizes))


def _planned_families(
    labels: Sequence[str], sizes: Sequence[int], length: int
) -> list[int] | Refusal:
    """The places of the instances of whole families among the first instances."""
    # A family consists of its instances in the first plan that has some of them: whether a later
    # plan adds others may depend on costs.
    places: list[int] = []
    start, ended = 0, set()
    while start < length:
        end = next(
            (k for k in range(start, len(labels)) if labels[k] != labels[start]), len(labels)
        )
        if labels[start] in ended:
            return Refusal(SCATTERED)
        ended.add(labels[start])
        planned = next((size for size in sizes if size > start), 0)
        last = min(end, planned)
        # Where nothing comes after it, more of it may be on the way.
        if last > length or (end == len(labels) and last < planned):
            break
        places += range(start, last)
        start = end
    return places or Refusal(UNFINISHED)


def _whole_families(runs: CostMatrix, length: int) -> int | Refusal:
    """How many of the first instances belong to families that are whole."""
    # The last one may not be finished, and when to stop in it may have depended on costs.
    labels = (runs.families or ())[:length]
    turns = [label for k, label in enumerate(labels) if not k or labels[k - 1] != label]
    if len(set(turns)) < len(turns):
        return Refusal(SCATTERED)
    if length < len(runs.instances) and (runs.families or ())[length] != labels[-1]:
        return length
    kept = length - labels.count(turns[-1]) if turns else 0
    return kept or Refusal(UNFINISHED)
