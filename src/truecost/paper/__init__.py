"""The paper's experiments. `reproduce` runs all of them on one matrix: `exact` and `sweeps` compute
the errors, `fit` the curves, `claims` judges, `figures` draws.
"""
