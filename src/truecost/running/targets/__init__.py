"""Kinds of targets: one file each, with one `KIND`. Other packages add theirs by the entry point
group `truecost.targets`.
"""

from functools import cache
from importlib import import_module
from importlib.metadata import entry_points

from truecost.running.targets.kind import Kind

BUILT_IN = ("command", "wrapper", "irace", "python")


@cache
def kinds() -> dict[str, Kind]:
    """Every kind of target by its name."""
    known: dict[str, Kind] = {
        name: import_module(f"truecost.running.targets.{name}").KIND for name in BUILT_IN
    }
    for point in entry_points(group="truecost.targets"):
        known.setdefault(point.name, point.load())
    return known
