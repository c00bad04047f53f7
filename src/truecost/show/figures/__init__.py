"""Figures: `<name>_data` computes what is shown, `<name>_chart` draws it, `save` writes HTML, SVG, PNG or PDF."""

from truecost.show.figures.configurations import (
    MatrixPicture,
    matrix_chart,
    matrix_data,
    overtuning_chart,
    overtuning_data,
    variance_shares_chart,
    variance_shares_data,
)
from truecost.show.figures.errors import (
    ERRORS,
    ErrorName,
    bounds_chart,
    bounds_data,
    error_curves_chart,
    error_curves_data,
    estimators_chart,
    estimators_data,
)
from truecost.show.saving import save

__all__ = [
    "ERRORS",
    "ErrorName",
    "MatrixPicture",
    "bounds_chart",
    "bounds_data",
    "error_curves_chart",
    "error_curves_data",
    "estimators_chart",
    "estimators_data",
    "matrix_chart",
    "matrix_data",
    "overtuning_chart",
    "overtuning_data",
    "save",
    "variance_shares_chart",
    "variance_shares_data",
]
