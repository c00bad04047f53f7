"""How good a tuned algorithm is on instances it has never seen."""
