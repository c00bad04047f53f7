"""Built-in scenarios: solvers that packages carry, their parameter spaces, and instances drawn from a seed.

`list_names`, `describe` and `export` are all there is to call. One folder for each solver holds what an exported scenario
consists of; none of it imports truecost, so that an exported scenario also runs where only the solver is installed.
"""

from truecost.library.catalogue import Builtin, Size
from truecost.library.export import describe, export, list_names

__all__ = ["Builtin", "Size", "describe", "export", "list_names"]
