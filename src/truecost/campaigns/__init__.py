"""Making runs, recorded in a journal: gather, configure and validate.

`campaign` is what they share, with `budget` and `trouble` (a wrong scenario). `gather` runs a list
of configurations. `configure` lets `search` find a winner and tests it on held-out instances;
`validate` tests the winners of any log (`contestants`) on new instances (`fresh`). Both tests are
those of `testing`, and `deciding` ends them. `results` has what the three commands return.

The search: `schedule` says how it goes, in heats (`heat`, `race`, `comparison`) of proposals
(`model`, `tried`) on a `grid` of runs.
"""
