"""A configuration as SATenstein's arguments.

Some of SATenstein's parameters stand in the space more than once, since their conditions differ:
there their names begin with CON or DLS, which SATenstein does not know.
"""

from collections.abc import Mapping


def build(values: Mapping[str, object]) -> list[str]:
    """Names and values, one after the other."""
    words = []
    for name, value in values.items():
        words += ["-" + name.removeprefix("CON").removeprefix("DLS"), str(value)]
    return words
