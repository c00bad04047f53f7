"""Coverage on populations with known truth: `python -m bench.populations`.

Every matrix is taken as a population: its instances (or families) are drawn with replacement, its
runs are what a seed may give, and every true value is a finite sum. Training and test sets are
drawn the way people get them, assessed with `truecost.assess`, and every statement is compared with
the truth.
"""
