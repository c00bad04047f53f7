"""One module for each format that is read; every one has an `IMPORTER`, and knows no other.

To add a format, add a file here. A package of its own can add one, too, with an entry point in the
group `truecost.importers`.
"""
