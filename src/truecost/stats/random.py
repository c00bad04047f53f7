"""Where random numbers come from."""

import numpy as np

from truecost.errors import InputError

# What everything that draws takes, as SPEC 7 of Scientific Python has it.
Rng = int | np.random.Generator | None


def generator(rng: Rng) -> np.random.Generator:
    """The Generator that is drawn from: a new one for an int or for None, which is different every
    time; else itself.
    """
    try:
        return np.random.default_rng(rng)
    except (TypeError, ValueError):
        raise InputError(
            f"Expected `rng` to be a number from 0, a Generator or None, got {rng!r:.60}."
        ) from None


def seed_of(rng: Rng) -> int:
    """The number that several generators are made of: an int as it is, else one that is drawn."""
    if isinstance(rng, int | np.integer) and rng >= 0:
        return int(rng)
    return int(generator(rng).integers(2**63))
