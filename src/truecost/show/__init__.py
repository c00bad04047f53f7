"""What people see. No statistics here: `judge` computes every number.

`verdict` makes the badge, the sentences (of `sentences`) and the comparison that `terminal`,
`page`, `latex` and JSON begin with; `next_steps` the commands that follow; `sections` the tables
and lines below them. `summaries` says what imports and campaigns did, `glossary` explains the terms
of the page. `words` and `numbers` say what things are called and how numbers are written; `figures`
draws.
"""
