"""The ledger of δ: which part of it a limit may spend, so that all limits together stay within it.

Every rule is here, and nothing else divides δ:

* a list of m configurations, fixed beforehand: 1/m each;
* the t-th proposal of a search, and the k-th look at growing test runs: 6/(π²t²), which adds up to
  1 over all t;
* rounds of runs on the same instances, r on each so far: 6/(π²r²) where nobody knows how many rounds
  there will be; where R are the most, 1/r² over the sum of 1/j² up to R.
"""

import math


def of_list(configurations: int) -> float:
    """The part of each configuration on a list."""
    return 1 / configurations


def of_number(number: int) -> float:
    """The part of the t-th of a series without an end, from 1."""
    return 6 / (math.pi * number) ** 2


def of_round(number: int, most: int | None) -> float:
    """The part of looks after this many runs on each instance; all parts together are 1."""
    if most is None:
        return of_number(number)
    return number**-2 / sum(earlier**-2 for earlier in range(1, most + 1))
