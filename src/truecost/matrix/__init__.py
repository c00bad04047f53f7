"""Runs as arrays.

A `CostMatrix` (checked by `checks`) has the costs of configurations on instances; a `Log` has
matrices and what else is known of them, read as a `Reading` says, and kept in `files`. `instances`
finds names that mean the same instance, `families` groups them, and `pairing` puts two logs side by
side.
"""

from truecost.matrix.cost_matrix import CostMatrix
from truecost.matrix.log import Log, Plan, Step
from truecost.matrix.reading import Reading

__all__ = ["CostMatrix", "Log", "Plan", "Reading", "Step"]
