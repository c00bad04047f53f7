"""Figures: `<name>_data` shapes the table, `<name>_chart` draws it, `save` writes a file."""

from truecost.show.figures.bounds import bounds_chart, bounds_data
from truecost.show.figures.certificate_width import certificate_width_chart, certificate_width_data
from truecost.show.figures.error_curves import (
    ERRORS,
    ErrorName,
    error_curves_chart,
    error_curves_data,
)
from truecost.show.figures.estimators import estimators_chart, estimators_data
from truecost.show.figures.glance import glance_chart, glance_data
from truecost.show.figures.matrix import MatrixPicture, matrix_chart, matrix_data
from truecost.show.figures.overtuning import overtuning_chart, overtuning_data
from truecost.show.figures.overtuning_along import overtuning_along_chart, overtuning_along_data
from truecost.show.figures.paired_differences import (
    paired_differences_chart,
    paired_differences_data,
)
from truecost.show.figures.plan_curve import plan_curve_chart, plan_curve_data
from truecost.show.figures.regret import regret_chart, regret_data
from truecost.show.figures.variance_shares import variance_shares_chart, variance_shares_data
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
