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


def likeness(
    evidence: Evidence, winner: str, default: str | None, seed: int
) -> tuple[Caveat | None, str | None]:
    """A caveat on instances that are alike, which is a condition of the verdict, too."""
    from truecost.stats.grouping import alike

    if evidence.sampled != "instance" or evidence.units < 3:
        return None, None
    runs = evidence.runs
    names = [name for name in dict.fromkeys([winner, default]) if name in runs.configurations]
    groupings = candidate_groupings(runs.instances, runs.families)
    if not groupings:
        sentence = (
            "Every instance counts as independent. If some are near-copies of each other, group "
            "them: --families FILE --sampled family."
        )
        return Caveat("no-groups", sentence), None
    values = known_means(runs.select(configurations=names).costs)
    if len(values) == 2:
        values = np.vstack([values, values[0] - values[1]])
    found = alike(values, groupings, rng=np.random.default_rng([seed, 1]))
    if found is None or not found.significant:
        return None, None
    rule = "" if found.grouping == "family" else f"--families {found.grouping} "
    sentence = (
        f"Instances {GROUPS[found.grouping]} cost alike ({found.groups} groups): they are not "
        f"independent, so the guarantees do not hold. Judge by groups: {rule}--sampled family."
    )
    return Caveat("alike", sentence), sentence
