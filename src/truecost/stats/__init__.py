"""Statistics: numbers in, limits out; nothing here knows files, processes or charts.

The paper has `allocation`, `variance` and `bounds`. Guarantees: `quantities` turn runs into one
number per unit, `betting` and `exact` these into limits, `ladder` tests several penalties.
`approximate` has intervals without a guarantee, `selection` over-tuning, `grouping` means of
groups and a test of independence.
"""
