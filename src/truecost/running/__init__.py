"""Solvers, for Linux: spaces, scenarios, targets."""
