"""Runs that others recorded, read as cost matrices: SMAC3, irace, ASlib, AClib wrappers, tables.

Nothing here starts R or opens a pickle, and files may be anything: what cannot be read is refused
in one line.
"""
