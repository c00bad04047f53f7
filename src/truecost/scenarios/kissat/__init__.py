"""kissat on quasigroup completion: the files of an exported scenario, without truecost."""
