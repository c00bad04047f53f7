"""Parameter spaces.

`files` reads PCS, irace and ConfigSpace JSON files, with `parameters` and `conditions`.
`space` holds a `Space` and its configurations, which `points` draws, moves and checks by the
hundred. `arguments` writes a configuration for a command line, `listed` reads a file of them.
"""
