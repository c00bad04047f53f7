"""Figures: `<name>_data` shapes the table that is shown, `<name>_chart` draws it, `save` writes
HTML, SVG, PNG or PDF.
"""

from truecost.show.figures.certainty import (
    certificate_width_chart,
    certificate_width_data,
    glance_chart,
    glance_data,
    paired_differences_chart,
    paired_differences_data,
)
from truecost.show.figures.configurations import (
    MatrixPicture,
    matrix_chart,
    matrix_data,
    overtuning_chart,
    overtuning_data,
    variance_shares_chart,
    variance_shares_data,
)
from truecost.show.figures.decisions import (
    overtuning_along_chart,
    overtuning_along_data,
    plan_curve_chart,
    plan_curve_data,
    regret_chart,
    regret_data,
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
    "certificate_width_chart",
    "certificate_width_data",
    "error_curves_chart",
    "error_curves_data",
    "estimators_chart",
    "estimators_data",
    "glance_chart",
    "glance_data",
    "matrix_chart",
    "matrix_data",
    "overtuning_along_chart",
    "overtuning_along_data",
    "overtuning_chart",
    "overtuning_data",
    "paired_differences_chart",
    "paired_differences_data",
    "plan_curve_chart",
    "plan_curve_data",
    "regret_chart",
    "regret_data",
    "save",
    "variance_shares_chart",
    "variance_shares_data",
]
