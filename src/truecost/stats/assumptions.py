"""What limits assume: every sentence is written once, here, and quoted where a limit is stated."""

import warnings
from typing import Final

INSTANCES: Final = "instances are independent draws from one distribution"
FAMILIES: Final = "families are independent draws from one distribution"
WITHIN_FAMILIES: Final = (
    "which instances of a family were run, and how many, was decided without looking at costs"
)
MIXED: Final = "the instances of each family are independent draws from it"
THESE: Final = "the instances are these and no others; only seeds are drawn"
WEIGHTED: Final = (
    "each weight is the probability of the instance in question over that with which it was "
    "sampled, so that their mean is 1"
)
PART: Final = "which instances of the benchmark were run was drawn at random"
REALISED: Final = "every instance of the benchmark is run once, with the seed that it has here"
SEEDS: Final = "seeds are independent"
SEPARATE_SEEDS: Final = "seeds are independent, also those of the two configurations"
DIFFERENT_SEEDS: Final = "seeds are independent; two runs with the same seed are not compared"
SAME_SEED: Final = "seeds are independent, and both configurations are run with the same seed"
RANGE: Final = "every cost lies in the given range"
COUNTS: Final = "who got how many runs was decided without looking at costs"
FIXED: Final = "the configurations were fixed before any of these costs was seen"
ASKED: Final = "the statement and its side were fixed before any of these costs was seen"
SAME_INSTANCES: Final = "both configurations were run on the same instances"

# What was sampled: the design of a sample and its unit decide.
SAMPLED: Final = {
    ("independent", "instance"): (INSTANCES,),
    ("independent", "family"): (FAMILIES, WITHIN_FAMILIES),
    ("independent", "seed"): (),
    ("mix", "instance"): (MIXED,),
    ("fixed", "instance"): (THESE, PART),
    ("fixed", "seed"): (THESE,),
    ("without replacement", "instance"): (PART, REALISED),
    ("weighted", "instance"): (INSTANCES, WEIGHTED),
}

# The number of units and the order in which they are bet on.
ONE_LOOK: Final = "the number of instances was fixed before looking"
PICKED_SEED: Final = "the seed was not picked after seeing results"
DRAWN: Final = "a hash of the costs draws the order of the instances; nobody picked it"
UNSHUFFLED: Final = "the order of the instances has nothing to do with their costs"
IN_ORDER: Final = (
    "instances came in the order of the matrix, which has nothing to do with how hard they are, "
    "and the race decided only who gets no further ones"
)
WATCHED: Final = "instances came in the order of the matrix, and costs decided only when to stop"

IN_PLAN: Final = (
    "instances came in an order that was drawn and recorded before the first run; costs decided "
    "only when to look and whether to go on"
)

# Runs that were stopped early. Hoeffding (1963), binomial limits and order statistics never fall
# when a run rises, so that it does not matter what decided when to stop.
CAPPED: Final = "a run that was stopped at a cap would have cost the cap at least"
CAPS_BEFOREHAND: Final = (
    "where a run was stopped early, when was fixed beforehand, or by instances that come earlier "
    "in an order kept as it is"
)

# What nobody may have said of recorded runs, and a statement needs.
NOT_TUNED: Final = "these configurations were not tuned on these instances"
UNSORTED: Final = (
    "these instances came in this order, which has nothing to do with how hard they are"
)


class Assuming:
    """A record with `assumptions`, which version 0.2 called `rests_on`."""

    __slots__ = ()
    assumptions: tuple[str, ...]

    @property
    def rests_on(self) -> tuple[str, ...]:
        """Deprecated: `assumptions`."""
        warnings.warn("`rests_on` is now `assumptions`.", DeprecationWarning, stacklevel=2)
        return self.assumptions
