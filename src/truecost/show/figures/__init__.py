"""Figures: `<name>_data` shapes the table, `<name>_chart` draws it, `save` writes a file.

Examples
--------
>>> figures.training_test_data([("search", 1.0, 1.5)])["optimism"].item()
0.5
"""

from truecost.show.figures.curves import (
    cactus_chart,
    cactus_data,
    certificate_width_chart,
    certificate_width_data,
    ecdf_chart,
    ecdf_data,
    performance_profile_chart,
    performance_profile_data,
    plan_curve_chart,
    plan_curve_data,
)
from truecost.show.figures.instances import (
    boxes_chart,
    boxes_data,
    paired_differences_chart,
    paired_differences_data,
    scatter_chart,
    scatter_data,
)
from truecost.show.figures.intervals import (
    families_chart,
    families_data,
    glance_chart,
    glance_data,
    ranking_chart,
    ranking_data,
    regret_chart,
    regret_data,
)
from truecost.show.figures.matrix import (
    MatrixPicture,
    matrix_chart,
    matrix_data,
    variance_shares_chart,
    variance_shares_data,
)
from truecost.show.figures.paper import (
    ERRORS,
    ErrorName,
    bounds_chart,
    bounds_data,
    error_curves_chart,
    error_curves_data,
    estimators_chart,
    estimators_data,
)
from truecost.show.figures.training_test import (
    overtuning_along_chart,
    overtuning_along_data,
    overtuning_chart,
    overtuning_data,
    training_test_chart,
    training_test_data,
    waterfall_chart,
    waterfall_data,
)
from truecost.show.saving import save

__all__ = [
    "ERRORS",
    "ErrorName",
    "MatrixPicture",
    "bounds_chart",
    "bounds_data",
    "boxes_chart",
    "boxes_data",
    "cactus_chart",
    "cactus_data",
    "certificate_width_chart",
    "certificate_width_data",
    "ecdf_chart",
    "ecdf_data",
    "error_curves_chart",
    "error_curves_data",
    "estimators_chart",
    "estimators_data",
    "families_chart",
    "families_data",
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
    "performance_profile_chart",
    "performance_profile_data",
    "plan_curve_chart",
    "plan_curve_data",
    "ranking_chart",
    "ranking_data",
    "regret_chart",
    "regret_data",
    "save",
    "scatter_chart",
    "scatter_data",
    "training_test_chart",
    "training_test_data",
    "variance_shares_chart",
    "variance_shares_data",
    "waterfall_chart",
    "waterfall_data",
]
