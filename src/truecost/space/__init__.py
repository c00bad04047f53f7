"""Parameters, parameter files, encodings and proposals of configurations."""
