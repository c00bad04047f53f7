"""SATenstein on quasigroup completion: the files of an exported scenario, which never import
truecost.
"""
