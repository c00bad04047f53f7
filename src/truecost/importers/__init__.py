"""Runs that other tools recorded, read as `Log`.

`pick` finds out what a source is; each format has one module. Files may be anything: what cannot be
read is an `InputError` of one line, nothing starts R, nothing opens a pickle, nothing is changed.
Where a file leaves a choice, the reader refuses and names the option that settles it.
"""

from truecost.importers.pick import import_runs

__all__ = ["import_runs", "scenario_from_log"]


def __getattr__(name: str) -> object:
    # It needs the scenario files' side of the package, which reading runs does not.
    if name == "scenario_from_log":
        from truecost.importers.scenario import scenario_from_log

        return scenario_from_log
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
