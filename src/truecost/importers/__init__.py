"""Runs that other tools recorded, read as `Log`.

`pick` finds the reader of a source: `table` (`columns` as text, their `roles` by name, then a row
for every run in `long` or a column for every configuration in `wide`), `irace` (with `rdata` for
R's files), `smac`, `optuna`, `aslib`, `benchexec` or `array`. A reader hands its runs to
`recorded`, which makes costs of them and lays them out; `settle` adds what the caller says of any
log: range, penalty, default, families. `packed` opens compressed files; `scenario` writes a
scenario file from a log.

Files may be anything: what cannot be read is an `InputError` of one line, nothing starts R, nothing
opens a pickle, nothing is changed. Where a file leaves a choice, the reader refuses and names the
option that settles it.
"""

from truecost.importers.pick import import_runs
from truecost.importers.scenario import scenario_from_log

__all__ = ["import_runs", "scenario_from_log"]
