"""Proposals of a search: random configurations, and neighbours of the best; who wants a model uses SMAC3."""

from collections.abc import Container, Sequence
from dataclasses import dataclass

import numpy as np

from truecost.running.space import ATTEMPTS, Configuration, Space

# So much of the proposals owes nothing to what was seen: whatever the costs, the whole space stays open.
RANDOM = 1 / 3
# A neighbour that is forbidden or known is drawn again so often; then a random configuration stands in.
TRIES = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """A configuration, and where it comes from: `default`, `random` or `neighbour of NAME`."""

    configuration: Configuration
    origin: str


def propose(
    space: Space, parents: Sequence[Configuration], known: Container[str], *, seed: int, number: int
) -> Proposal | None:
    """The search's proposal of this number, 0 for the default; None if no other configuration could be found.

    Every number and attempt has a generator of its own, so that a proposal depends on nothing but these arguments.

    Parameters
    ----------
    parents
        The best configurations so far, the best first: each is taken half as often as the one before it. Their neighbours
        are one parameter away with probability 1/2, two with 1/4, and so on.
    known
        The names of all configurations so far, which are not proposed again.
    """
    if number == 0:
        return Proposal(configuration=space.default(), origin="default")
    # Decided once for all attempts: else spaces whose neighbours are mostly known would see fewer of them.
    near = len(parents) > 0 and np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(number,))).random() >= RANDOM
    for attempt in range(TRIES + ATTEMPTS):
        rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(number, attempt)))
        if near and attempt < TRIES:
            parent = parents[min(int(rng.geometric(0.5)), len(parents)) - 1]
            found, origin = parent, f"neighbour of {parent.name}"
            for _ in range(int(rng.geometric(0.5))):
                found = space.neighbour(found, rng)
        else:
            found, origin = space.draw(rng), "random"
        if found.name not in known and space.allows(found):
            return Proposal(configuration=found, origin=origin)
    return None
