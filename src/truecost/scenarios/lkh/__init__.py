"""LKH 3 on travelling salesman problems: the files of an exported scenario, which never import
truecost.
"""
