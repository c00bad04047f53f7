"""Programs behind claims: speed, coverage, search, and the campaigns of the demo."""
