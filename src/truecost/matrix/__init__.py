"""The costs of configurations on instances, and the files they are kept in."""

from truecost.matrix.cost_matrix import CostMatrix

__all__ = ["CostMatrix"]
