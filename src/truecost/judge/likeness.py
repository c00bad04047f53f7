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

NOUNS: Final = {"family": "families", FOLDER: "folders", "prefix": "first letters of the names"}


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
            "The names of the instances show no groups, so it cannot be checked whether some of "
            "them are alike."
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
        f"Instances cost alike within {found.groups} {NOUNS[found.grouping]}: they are not "
        f"independent, as the guarantees need. Judge by groups: {rule}--sampled family."
    )
    return Caveat("alike", sentence), sentence
