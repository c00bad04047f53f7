"""Figures of an assessment, with matplotlib.

Each function takes the assessment and `ax=`, the axes to draw into (those of a new figure unless
given), and returns the axes. `save(axes, "figure.pdf", width="column")` writes one for a two-column
paper.
"""

from truecost.show.figures.comparison import deciding, ecdf, same_instances, scatter
from truecost.show.figures.search import incumbents, matrix, over_tuning, ranking
from truecost.show.figures.style import save

__all__ = [
    "deciding",
    "ecdf",
    "incumbents",
    "matrix",
    "over_tuning",
    "ranking",
    "same_instances",
    "save",
    "scatter",
]
