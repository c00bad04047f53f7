"""Runs of solvers: what a scenario says, one run under limits, and many runs at a time.

`scenario` reads the scenario file: its `tables`, `instances` and `metric`, with `checks` of what
the types of its keys do not say; `files` has what these share. `execute` makes one run: it calls
the target by the conventions in `targets`, in one of the `slots`, and reads and checks the answer.

Each slot is a supervisor, a small script without truecost (`_supervisor`, `_processes`,
`_folders`), which starts, limits, measures and kills process trees; Python functions run in
`_call`, in forks of a process that has loaded them (`_forkserver`). `pools` make many runs at a
time, here on claimed cores (`machine`), or by the workers of any executor.
"""
