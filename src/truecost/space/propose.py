"""Proposals of a search: random configurations, neighbours of the best, and what a model of the
costs so far offers.
"""

from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass

import numpy as np

from truecost.space.space import ATTEMPTS, Configuration, Space

# So much of the proposals owes nothing to what was seen, and EARLY more of the first ones, less and
# less as the budget is spent: whatever the costs, the whole space stays open. Of the rest, so much
# is left to the model; without it most is random as long as nothing better than the default is
# known.
RANDOM, EARLY, LEARNT, LOST = 0.1, 0.2, 0.5, 0.7
# How far proposals lie from their parents when the share x of the budget is spent: numbers by a
# normal distribution of WIDE · NARROWING^x of their range, never below LEAST; categories stay with
# probability KEPT + FIRMER·x. irace narrows in the same way, by iterations (López-Ibáñez et al.
# 2016, section 2.2).
WIDE, NARROWING, LEAST = 0.5, 0.1, 0.02
KEPT, FIRMER = 0.3, 0.65
# A neighbour that is forbidden or known is drawn again so often; then a random configuration stands
# in.
TRIES = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """A configuration, and where it comes from: `default`, `start`, `random`, `prior`, `neighbour
    of NAME` or `model`.
    """

    configuration: Configuration
    origin: str


def propose(
    space: Space,
    parents: Sequence[Configuration],
    known: Container[str],
    *,
    seed: int,
    number: int,
    spent: float,
    lost: bool,
    learnt: Callable[[], Configuration | None],
) -> Proposal | None:
    """The search's proposal of this number, 0 for the default; None if no other configuration could
    be found.

    Every number and attempt has a generator of its own, so that a proposal depends on nothing but
    these arguments.

    Parameters
    ----------
    parents
        The best configurations so far, the best first: each is taken half as often as the one
        before it.
    known
        The names of all configurations so far, which are not proposed again.
    spent
        The share of the budget that is spent: the more, the nearer to its parent a proposal is.
    lost
        Whether the default still leads.
    learnt
        What a model of the costs offers, one after the other; None when it has nothing more.
    """
    if number == 0:
        return Proposal(configuration=space.default(), origin="default")
    # Decided once for all attempts: else spaces whose neighbours are mostly known would see fewer
    # of them.
    stream = np.random.SeedSequence(seed, spawn_key=(number,))
    chance, source = np.random.default_rng(stream).random(2)
    random = RANDOM + EARLY * (1 - spent)
    if chance >= random and source < LEARNT:
        while (offer := learnt()) is not None:
            if offer.name not in known and space.allows(offer):
                return Proposal(configuration=offer, origin="model")
    near = len(parents) > 0 and chance >= (max(LOST, random) if lost else random)
    spread, keep = nearness(spent)
    for attempt in range(TRIES + ATTEMPTS):
        rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(number, attempt)))
        if near and attempt < TRIES:
            parent = parents[min(int(rng.geometric(0.5)), len(parents)) - 1]
            candidate = space.around(parent, rng, spread=spread, keep=keep)
            origin = f"neighbour of {parent.name}"
        elif space.priors:
            candidate, origin = space.believed(rng), "prior"
        else:
            candidate, origin = space.draw(rng), "random"
        if candidate.name not in known and space.allows(candidate):
            return Proposal(configuration=candidate, origin=origin)
    return None


def nearness(spent: float) -> tuple[float, float]:
    """How far numbers move, and how probably categories stay."""
    return max(LEAST, WIDE * NARROWING**spent), KEPT + FIRMER * spent
