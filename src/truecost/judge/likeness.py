"""Whether instances that are grouped alike cost alike: then instances are no independent units.

Candidate groupings come from the families, the folders and the names of the instances. One test on
the strongest of them all, at level 1 %. A test that finds nothing proves nothing.
"""

from typing import Final

import numpy as np

from truecost.judge.costs import instance_means
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
    part = runs.select(configurations=names)
    means = instance_means(part.costs)
    kept = np.asarray(~np.isnan(means).any(axis=0))
    instances = [name for name, there in zip(runs.instances, kept, strict=True) if there]
    families = None
    if runs.families is not None:
        families = [name for name, there in zip(runs.families, kept, strict=True) if there]
    groupings = candidate_groupings(instances, families)
    if not groupings:
        sentence = (
            "The names of the instances show no groups, so nothing checks whether some of them "
            "are alike."
        )
        return Caveat("no-groups", sentence), None
    values = means[:, kept]
    if len(values) == 2:
        values = np.vstack([values, values[0] - values[1]])
    found = alike(values, groupings, rng=np.random.default_rng([seed, 1]))
    if found is None or not found.significant:
        return None, None
    way_out = (
        "--sampled family"
        if found.grouping == "family"
        else (f"--families {found.grouping} --sampled family")
    )
    sentence = (
        f"Instances cost alike within {found.groups} {NOUNS[found.grouping]}, so the guarantees do "
        f"not hold for them as independent. Judge by groups: {way_out}."
    )
    return Caveat("alike", sentence), sentence
