"""What the scenarios on quasigroup completion share: the files of an exported scenario, which never
import truecost.
"""
