"""Making runs, recorded in a journal: gather, configure and validate.

`gather` runs a list of configurations. `configure` lets `search` find a winner on training
instances, and tests it on held-out ones. `validate` tests the winners of any log on new instances,
or continues the test of a journal; `testing` runs both tests, and `deciding` ends them.

What they share: a `campaign` (journal, pool, progress), its `budget`, and `trouble` that the first
runs show; `configurations` and `instances` to run; `results`, which they return.
"""
