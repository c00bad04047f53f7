"""Where random numbers come from."""

import numpy as np

from truecost.errors import InputError

# An int or None makes a new Generator; a Generator is used as it is (SPEC 7 of Scientific Python).
Rng = int | np.random.Generator | None


def generator(rng: Rng) -> np.random.Generator:
    """The Generator to draw from."""
    try:
        return np.random.default_rng(rng)
    except (TypeError, ValueError):
        raise InputError(
            f"`rng` is {rng!r:.60}. Give a number from 0, a Generator or None."
        ) from None
