"""clasp on weighted sequences: the files of an exported scenario, which never import truecost."""
