"""The paper's experimental section: estimators compared, and the error against m, N and K, for any
matrix.
"""
