"""The append-only record of runs and decisions."""
