"""Runs that other tools recorded, read as `Log`.

`pick` finds out what a source is; each format has one module. Files may be anything: what cannot be
read is an `InputError` of one line, nothing starts R, nothing opens a pickle, nothing is changed.
Where a file leaves a choice, the reader refuses and names the option that settles it.
"""

from truecost.importers.pick import import_runs
from truecost.importers.scenario import scenario_from_log

__all__ = ["import_runs", "scenario_from_log"]
