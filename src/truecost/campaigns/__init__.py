"""The three loops that have runs made: gather, configure and validate."""
