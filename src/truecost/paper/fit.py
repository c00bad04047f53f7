"""The paper's curves, fitted by least squares.

Examples
--------
>>> sorted(tc.fit.FORMULAS)
['k', 'm', 'n']
"""

from dataclasses import dataclass
from typing import Literal, cast, get_args

import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from truecost.arrays import FloatArray
from truecost.errors import InputError, check_choice

Kind = Literal["m", "n", "k"]
FORMULAS: dict[Kind, str] = {"m": "a·ln m + b·√ln m", "n": "a + b/√N", "k": "a/K + b/√K"}


def letter(kind: str) -> str:
    """m, N or K, as the paper writes it."""
    return kind if kind == "m" else kind.upper()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Fit:
    """A fitted curve: a, b, their standard errors, and the share of the variation it explains.

    The standard errors take the points for independent, which the points of one sweep are not: they
    describe the fit, not the uncertainty of the experiment.
    """

    kind: Kind
    a: float
    b: float
    a_error: float
    b_error: float
    r_squared: float

    def __call__(self, values: ArrayLike) -> FloatArray:
        """The curve at these m, N or K."""
        return np.asarray(
            _basis(np.asarray(values, dtype=np.float64), self.kind) @ np.array([self.a, self.b])
        )


def curve(values: ArrayLike, errors: ArrayLike, *, kind: Kind) -> Fit:
    """Fit a·ln m + b·√ln m (kind "m"), a + b/√N ("n") or a/K + b/√K ("k") to errors at these
    values.
    """
    check_choice("kind", kind, get_args(Kind))
    x, y = np.asarray(values, dtype=np.float64), np.asarray(errors, dtype=np.float64)
    if x.ndim != 1 or x.shape != y.shape:
        raise InputError(
            f"Expected as many errors as values, in flat lists, got shapes {y.shape} and {x.shape}."
        )
    if not (np.isfinite(y).all() and (x >= 1).all()):
        raise InputError("Expected finite errors at values of 1 or more.")
    if np.unique(x).size < 4:
        raise InputError(
            "Expected at least 4 different values to fit two parameters to, got "
            f"{np.unique(x).size}."
        )
    # Linear in a and b, so that least squares has one solution and needs no start.
    basis = _basis(x, kind)
    solution = np.linalg.lstsq(basis, y)[0]
    residuals = y - basis @ solution
    # Two parameters were fitted.
    variance = float(residuals @ residuals) / (x.size - 2)
    covariance = variance * np.linalg.inv(basis.T @ basis)
    spread = float(((y - y.mean()) ** 2).sum())
    return Fit(
        kind=kind,
        a=float(solution[0]),
        b=float(solution[1]),
        a_error=float(np.sqrt(covariance[0, 0])),
        b_error=float(np.sqrt(covariance[1, 1])),
        r_squared=1 - float(residuals @ residuals) / spread if spread > 0 else float("nan"),
    )


def to_table(table: pl.DataFrame, error: str) -> Fit:
    """The curve of an error in a table of `tables.sweep_table`, whose first column is what was
    swept.
    """
    kind = cast(Kind, table.columns[0])
    return curve(table[kind].to_numpy(), table[error].to_numpy(), kind=kind)


def _basis(x: FloatArray, kind: Kind) -> FloatArray:
    if kind == "m":
        return np.stack([np.log(x), np.sqrt(np.log(x))], axis=-1)
    if kind == "n":
        return np.stack([np.ones_like(x), 1 / np.sqrt(x)], axis=-1)
    return np.stack([1 / x, 1 / np.sqrt(x)], axis=-1)
