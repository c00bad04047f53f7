"""Runs as arrays: `CostMatrix`, the `Log` around it, files and pairing."""

from truecost.matrix.cost_matrix import CostMatrix
from truecost.matrix.log import Log, Plan, Step
from truecost.matrix.reading import Reading

__all__ = ["CostMatrix", "Log", "Plan", "Reading", "Step"]
