"""Built-in scenarios: the paper's four and kissat, with spaces, launchers and instances drawn from
a seed.

`catalogue` lists them with their sizes; `tsp`, `sequence` and `quasigroup` draw instances;
`exporting` writes a scenario into a folder. A folder for each solver holds what an exported
scenario consists of. None of it imports truecost, so it runs where only the solver is installed.
"""

from truecost.scenarios.catalogue import describe, names
from truecost.scenarios.exporting import export

__all__ = ["describe", "export", "names"]
