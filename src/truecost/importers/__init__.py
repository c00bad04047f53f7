"""Runs that others recorded, read as cost matrices: `formats` has one module for each format.

Nothing here starts R or opens a pickle, and files may be anything: what cannot be read is refused
in one line.
"""
