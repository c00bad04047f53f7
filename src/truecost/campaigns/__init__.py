"""Making runs: gather, configure and validate."""
