"""Weighted sequence: order leaves and colour all but the first so that the total cost is at most m.

cost(l₀) = w₀; cost(lᵢ) is wᵢ + cᵢ if green, cost(lᵢ₋₁) + wᵢ if red, cost(lᵢ₋₁) + cᵢ if blue;
the total is over coloured leaves.
"""

import subprocess
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from truecost.errors import InputError
from truecost.scenarios.clasp import launch

Leaf = tuple[int, int]  # weight and cardinality

ENCODING = Path(__file__).parent / "clasp" / "encoding.lp"


def instance(
    leaves: int, largest: int, offsets: Sequence[int], rng: np.random.Generator, _name: str
) -> str:
    """A random ground program for clasp: weights and cardinalities 1 … largest, m at an offset from
    the optimum.
    """
    numbers = rng.integers(1, largest, (leaves, 2), endpoint=True).tolist()
    pairs = [(weight, cardinality) for weight, cardinality in numbers]
    # Around the optimum both answers occur, and proving either takes search.
    best = optimum(pairs)
    most = best + int(rng.choice(offsets))
    return ground(pairs, most, best)


def ground(leaves: Sequence[Leaf], most: int, best: int) -> str:
    """The program that asks for a total of at most `most`, grounded by clingo; comments tell
    `check.py` what it needs.
    """
    clingo = launch.clingo()
    if not clingo:
        raise InputError(
            "The package clingo must ground these instances. Type pip install 'truecost[solvers]'."
        )
    facts = "".join(
        f"leaf({leaf}, {weight}, {cardinality}).\n"
        for leaf, (weight, cardinality) in enumerate(leaves)
    )
    words = [*clingo, "--mode=gringo", "--single-shot", f"--const=m={most}", str(ENCODING), "-"]
    done = subprocess.run(  # noqa: S603
        words, input=facts, capture_output=True, text=True, check=True
    )
    header, _, rest = done.stdout.partition("\n")
    if header != "asp 1 0 0" or done.stderr:
        raise RuntimeError(f"clingo did not ground the program: {done.stderr or header}")
    pairs = " ".join(f"{weight},{cardinality}" for weight, cardinality in leaves)
    return "\n".join([header, f"10 leaves {pairs}", f"10 m {most}", f"10 optimum {best}", rest])


def optimum(leaves: Sequence[Leaf]) -> int:
    """The least total cost, by dynamic programming over the set of leaves placed and the cost of
    the last one.

    Of two ways to place the same leaves, one with neither a lower last cost nor a lower total
    cannot do better later.
    """
    whole = (1 << len(leaves)) - 1
    fronts: dict[int, list[tuple[int, int]]] = {
        1 << leaf: [(weight, 0)] for leaf, (weight, _) in enumerate(leaves)
    }
    for placed in range(1, whole):
        for leaf, (weight, cardinality) in enumerate(leaves):
            if placed & 1 << leaf:
                continue
            best: dict[int, int] = {}
            # Red and blue add to the last cost, so the lesser of weight and cardinality is enough.
            for last, total in fronts[placed]:
                for cost in (weight + cardinality, last + min(weight, cardinality)):
                    best[cost] = min(best.get(cost, total + cost), total + cost)
            grown = placed | 1 << leaf
            fronts[grown] = _front([*fronts.get(grown, []), *best.items()])
    return min(total for _, total in fronts[whole])


def _front(ways: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The pairs (last cost, total) that no other is at most as large as in both."""
    front: list[tuple[int, int]] = []
    for last, total in sorted(ways):
        if not front or total < front[-1][1]:
            front.append((last, total))
    return front
