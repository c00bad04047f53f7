"""The append-only record of runs, searches and validations."""
