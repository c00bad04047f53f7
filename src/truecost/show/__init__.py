"""What people see. No statistics here.

`verdict` makes the badge, the sentences (of `sentences`) and the comparison that `terminal`,
`page`, `latex` and JSON begin with; `sections` has the tables and lines below it; `words` and
`numbers` say what things are called and how numbers are written; `figures` draws.
"""
