"""Arrays in, named results out: allocations, variance components, estimates, bounds, and matrices
with known truth.
"""
