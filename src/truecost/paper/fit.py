"""The curves that Theorem 2 suggests for the error against m, N and K, fitted by least squares."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from truecost.arrays import FloatArray
from truecost.errors import InputError, check_choice

Kind = Literal["m", "n", "k"]
FORMULAS: dict[Kind, str] = {"m": "a·ln m + b·√ln m", "n": "a + b/√N", "k": "a/K + b/√K"}
LETTERS: dict[Kind, str] = {"m": "m", "n": "N", "k": "K"}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Fit:
    """A fitted curve, and the share of the variation it explains (NaN where nothing varies)."""

    kind: Kind
    a: float
    b: float
    r_squared: float

    def __call__(self, values: ArrayLike) -> FloatArray:
        """The curve at these m, N or K."""
        return np.asarray(_basis(values, self.kind) @ np.array([self.a, self.b]))


def curve(values: ArrayLike, errors: ArrayLike, kind: Kind) -> Fit:
    """Fit a·ln m + b·√ln m (kind "m"), a + b/√N ("n") or a/K + b/√K ("k")."""
    check_choice("kind", kind, FORMULAS)
    x, y = np.asarray(values, dtype=np.float64), np.asarray(errors, dtype=np.float64)
    if x.shape != y.shape or not (np.isfinite(y).all() and (x >= 1).all() and len({*x}) > 3):
        raise InputError("A curve needs finite errors at 4 different values of 1 or more.")
    # Linear in a and b, so least squares has one solution and needs no starting point.
    basis = _basis(x, kind)
    solution = np.linalg.lstsq(basis, y)[0]
    residuals = y - basis @ solution
    spread = float(((y - y.mean()) ** 2).sum())
    return Fit(
        kind=kind,
        a=float(solution[0]),
        b=float(solution[1]),
        r_squared=1 - float(residuals @ residuals) / spread if spread else float("nan"),
    )


def _basis(values: ArrayLike, kind: Kind) -> FloatArray:
    x = np.asarray(values, dtype=np.float64)
    if kind == "m":
        return np.stack([np.log(x), np.sqrt(np.log(x))], axis=-1)
    if kind == "n":
        return np.stack([np.ones_like(x), 1 / np.sqrt(x)], axis=-1)
    return np.stack([1 / x, 1 / np.sqrt(x)], axis=-1)
