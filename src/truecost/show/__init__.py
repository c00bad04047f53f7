"""What the numbers look like: figures, and the paper's experimental section on any matrix."""
