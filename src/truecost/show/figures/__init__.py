"""Figures of an assessment, with matplotlib: each function takes `ax=` and returns Axes.

`save(axes, "figure.pdf", width="column")` writes one for a two-column paper.
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
