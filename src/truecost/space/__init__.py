"""Parameter spaces.

`files` reads the lines of PCS and irace files, and ConfigSpace JSON; `parameters` and `conditions`
make of a line what ConfigSpace has for it. `space` puts a `Space` together, which names, lists and
draws configurations, with `points`, by the hundred. `configuration_files` reads configurations,
`arguments` writes one for a command line.
"""
