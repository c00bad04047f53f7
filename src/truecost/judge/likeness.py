"""Whether instances that are grouped alike cost alike: then instances are no independent units.

Candidate groupings come from the families, the folders and the names of the instances. One test on
the strongest of them all, at level 1 %. A test that finds nothing proves nothing.
"""

from typing import Final

import numpy as np

from truecost.judge.costs import known_means
from truecost.judge.evidence import Evidence
from truecost.matrix.families import FOLDER, candidate_groupings
from truecost.runs import Caveat

GROUPS: Final = {
    "family": "of one family",
    FOLDER: "in one folder",
    "prefix": "whose names begin alike",
}


def likeness(evidence: Evidence, winner: str, default: str | None, seed: int) -> Caveat | None:
    """A caveat "alike" on instances that are, or that nothing groups them."""
    from truecost.stats.grouping import alike

    if evidence.sampled != "instance" or evidence.units < 3:
        return None
    runs = evidence.runs
    names = [name for name in dict.fromkeys([winner, default]) if name in runs.configurations]
    groupings = candidate_groupings(runs.instances, runs.families)
    if not groupings:
        return Caveat(
            "no-groups",
            "Every instance counts as independent. If some are near-copies of each other, group "
            "them: --families FILE --sampled family.",
        )
    values = known_means(runs.select(configurations=names).costs)
    if len(values) == 2:
        values = np.vstack([values, values[0] - values[1]])
    test = alike(values, groupings, rng=np.random.default_rng([seed, 1]))
    if test is None or not test.significant:
        return None
    rule = "" if test.grouping == "family" else f"--families {test.grouping} "
    return Caveat(
        "alike",
        f"Instances {GROUPS[test.grouping]} cost alike ({test.groups} groups): they are not "
        f"independent, so the guarantees do not hold. Judge by groups: {rule}--sampled family.",
    )
