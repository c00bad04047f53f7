"""Accept clasp's answer to a weighted sequence if it is right.

The leaves, m and the optimum stand in comments of the instance. A satisfiable answer must order all
leaves and colour all but the first with a total of at most m; an unsatisfiable one must not be
given where m is the optimum or more.
"""

import re
from functools import cache
from pathlib import Path


def total_cost(leaves: list[tuple[int, int]], order: list[int], colours: list[str]) -> int:
    """The total over coloured leaves."""
    cost, total = leaves[order[0]][0], 0
    for leaf, colour in zip(order[1:], colours, strict=True):
        weight, cardinality = leaves[leaf]
        costs = {"green": weight + cardinality, "red": cost + weight, "blue": cost + cardinality}
        cost = costs[colour]
        total += cost
    return total


@cache
def _problem(instance: str) -> tuple[list[tuple[int, int]], int, int]:
    """The leaves, m and the optimum of an instance."""
    known = dict(re.findall(r"^10 (leaves|m|optimum) (.*)$", Path(instance).read_text(), re.M))
    pairs = re.findall(r"(\d+),(\d+)", known["leaves"])
    return [(int(w), int(c)) for w, c in pairs], int(known["m"]), int(known["optimum"])


def fault(instance: str, output: str) -> str | None:
    """What is wrong with the answer to the instance in this file; None if nothing is."""
    leaves, most, optimum = _problem(instance)
    # No proof is asked for: the optimum is known from dynamic programming.
    if re.search(r"^UNSATISFIABLE$", output, re.MULTILINE):
        wrong = f"said to be unsatisfiable, but the optimum {optimum} is at most m = {most}"
        return None if most < optimum else wrong
    places = {int(place): int(leaf) for leaf, place in re.findall(r"\bat\((\d+),(\d+)\)", output)}
    colours = dict(re.findall(r"\bcolour\((\d+),(\w+)\)", output))
    everything = list(range(len(leaves)))
    ordered = sorted(places) == sorted(places.values()) == everything
    if not ordered or sorted(map(int, colours)) != everything[1:]:
        return "not every leaf has a place of its own, or not every place but the first a colour"
    order = [places[place] for place in everything]
    total = total_cost(leaves, order, [colours[str(place)] for place in everything[1:]])
    return None if total <= most else f"the total cost is {total}, above m = {most}"
