"""Parameters as ConfigSpace has them, made from the text of a file, and their values."""

import math
import re
from collections.abc import Sequence
from typing import Any, TypeAlias

import ConfigSpace
import numpy as np
from ConfigSpace.hyperparameters import Hyperparameter, IntegerHyperparameter

from truecost.errors import InputError
from truecost.runs import number_or_nan

Value: TypeAlias = str | int | float | bool | None
Parameter: TypeAlias = Hyperparameter[Any, Any]

DECIMALS = 13  # ConfigSpace rounds to these: a value it changed would have another name there.
LARGEST_WHOLE = 2**53  # ConfigSpace keeps whole numbers as floats.
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)


def list_parameter(name: str, values: Sequence[str], default: str, *, ordinal: bool) -> Parameter:
    """A parameter with a list of values."""
    made = ConfigSpace.OrdinalHyperparameter if ordinal else ConfigSpace.CategoricalHyperparameter
    return made(name, values, default_value=default)


def range_parameter(
    name: str,
    ends: Sequence[str],
    default: str | None,
    *,
    whole: bool,
    log: bool,
    decimals: int = DECIMALS,
) -> Parameter:
    """A parameter with a range of numbers; its default is the middle, on its scale, if None."""
    if len(ends) != 2:
        raise InputError(f"The range of {name!r} has {len(ends)} ends. Give two.")
    low, high = (_number(end, whole=whole) for end in ends)
    if not (low < high and math.isfinite(high - low) and (low > 0 or not log)):
        above = ", above 0 on a log scale" if log else ""
        raise InputError(
            f"{name!r} cannot range from {low} to {high}. Give the lower end first{above}."
        )
    kinds = ConfigSpace.UniformFloatHyperparameter, ConfigSpace.UniformIntegerHyperparameter
    if default is None:
        value = round(plain(kinds[whole](name, low, high, log=log).default_value), decimals)
    else:
        value = _number(default, whole=whole)
    for number in (low, high, value):
        if not math.isclose(round(number, decimals), number):
            raise InputError(f"{number} in {name!r} has too many decimals. Use at most {decimals}.")
    parameter = kinds[whole](name, low, high, default_value=value, log=log)
    # ConfigSpace rounds all three with NumPy, which makes 1000000000000.0001 of 10¹².
    parameter.default_value = min(max(value, parameter.lower), parameter.upper)
    return parameter


def _number(text: str, *, whole: bool) -> int | float:
    number = float(text) if NUMBER.fullmatch(text) else math.nan
    if not math.isfinite(number):
        raise InputError(
            f"{text!r:.80} is not a number. Write one: ranges cannot depend on other parameters."
        )
    if not whole:
        return number
    if not number.is_integer() or abs(number) > LARGEST_WHOLE:
        raise InputError(f"{text!r:.80} is not a whole number up to {LARGEST_WHOLE}. Write one.")
    return int(number)


def with_default(parameter: Any, value: Any) -> Any:
    """The same parameter with another default."""
    if values := values_of(parameter):
        return type(parameter)(parameter.name, values, default_value=value)
    return type(parameter)(
        parameter.name, parameter.lower, parameter.upper, default_value=value, log=parameter.log
    )


def values_of(parameter: Any) -> tuple[Any, ...]:
    """The values of a parameter that lists them."""
    if isinstance(parameter, ConfigSpace.Constant):
        return (parameter.value,)
    return getattr(parameter, "choices", None) or getattr(parameter, "sequence", None) or ()


def legal_value(parameter: Any, value: Any) -> Any:
    """A value of the parameter, whatever type a file or a log wrote it in."""
    if values := values_of(parameter):
        for legal in values:
            if legal == value or str(legal) == str(value):
                return plain(legal)
        wanted = f"one of {', '.join(map(str, values)):.80}"
    else:
        number, whole = number_or_nan(value), isinstance(parameter, IntegerHyperparameter)
        if parameter.lower <= number <= parameter.upper and (number.is_integer() or not whole):
            return int(number) if whole else number
        wanted = f"a number from {parameter.lower} to {parameter.upper}"
    raise InputError(f"{value!r:.80} is no value of {parameter.name!r}. Use {wanted}.")


def plain(value: Any) -> Any:
    """A NumPy scalar as a Python one."""
    return value.item() if isinstance(value, np.generic) else value
