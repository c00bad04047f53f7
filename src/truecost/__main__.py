"""`python -m truecost`, the same as `truecost`."""

from truecost.cli import main

main()
