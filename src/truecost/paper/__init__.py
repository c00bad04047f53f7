"""The experiments of the paper: exact errors, sweeps over m, N and K, fits, eight claims, figures.

`reproduce` runs all of them on one matrix.
"""
