"""Scenarios, targets, resource limits, the supervisor, and the pools that execute runs."""
