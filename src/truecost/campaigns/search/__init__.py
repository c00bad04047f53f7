"""The search of `configure`.

`loop` starts the runs that `schedule` asks for and records its decisions. The rules are in `race`,
on the books that each `heat` keeps; `comparison` compares configurations on common runs. `model`
proposes configurations from the `history` of runs. A `grid` numbers the runs on the instances.
"""
