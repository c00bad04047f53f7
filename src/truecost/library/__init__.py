"""Built-in scenarios: solvers that packages carry, their parameter spaces, and instances drawn from
a seed.

`list_names`, `describe`, `space` and `export` are all there is to call. One folder for each solver
holds what an exported scenario consists of; none of it imports truecost, so that it also runs where
only the solver is installed.

Examples
--------
>>> tc.library.list_names()[:2]
('lkh-uniform-400', 'lkh-uniform-1000')
"""

from truecost.library.catalogue import Builtin, Size
from truecost.library.exporting import describe, export, list_names, space

__all__ = ["Builtin", "Size", "describe", "export", "list_names", "space"]
