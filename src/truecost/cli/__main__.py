"""`python -m truecost.cli`, the same as `truecost`."""

from truecost.cli import main

main()
