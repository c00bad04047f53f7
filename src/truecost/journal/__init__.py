"""The record of a campaign: one SQLite file, append-only, with one writer.

`store` is the file: its schema, its lock, what is refused. `journal` writes and reads runs, events
(decisions), configurations and instances; `question` compares what was asked when a campaign is
resumed. `table` has the runs as columns and as a matrix of costs; `logs` makes a `Log` of it all.
"""
