"""What may be said of a set of runs: pure, without files, processes or a clock."""
