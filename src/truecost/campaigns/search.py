"""The search: proposes configurations, races them on the training instances, keeps the best."""

from collections.abc import Sequence
from dataclasses import dataclass

from truecost.campaigns.budget import Purse
from truecost.campaigns.campaign import Campaign
from truecost.matrix.log import Step
from truecost.runs import Instance
from truecost.space.space import Configuration


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResult:
    """What a search came to.

    Attributes
    ----------
    incumbent, origin
        The best configuration, and where it came from: "default", "start", "random", "model" or
        "neighbour of NAME".
    steps
        The best configuration so far, after how many training runs.
    configurations
        How many were tried, the default included.
    training_cost, standard_error
        Mean of the incumbent's instance means on the training instances, optimistic as a rule.
    reason
        Why the search ended.
    """

    incumbent: Configuration
    origin: str
    steps: tuple[Step, ...]
    configurations: int
    training_cost: float
    standard_error: float
    reason: str


def search(
    campaign: Campaign,
    instances: Sequence[Instance],
    purse: Purse,
    *,
    seed: int,
    runs: int = 5,
    starts: Sequence[Configuration] = (),
) -> SearchResult:
    """Search on the training instances until the purse is empty.

    The journal's events and runs say how far an earlier call has come; a larger purse goes on from
    there. Configurations are entered into the journal here, instances by the caller.

    Parameters
    ----------
    instances
        Those to train on, in the same order at every call; there may be more at a later call.
    purse
        What is left for training runs (`campaign.training` is its tally).
    runs
        The most runs of a configuration on an instance.
    starts
        Configurations to try first, after the default, with a first call.
    """
    raise NotImplementedError
