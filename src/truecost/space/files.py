"""Files of parameter spaces: PCS old and new, irace tables, ConfigSpace JSON; conditions and
forbidden combinations.
"""

import ast
import json
import math
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import ConfigSpace
import numpy as np
from ConfigSpace.hyperparameters import Hyperparameter, IntegerHyperparameter

from truecost.errors import InputError, did_you_mean
from truecost.runs import number_or_nan

Value: TypeAlias = str | int | float | bool | None
Parameter: TypeAlias = Hyperparameter[Any, Any]

DECIMALS = 13  # ConfigSpace rounds to these: a value it changed would have another name there.
LARGEST_WHOLE = 2**53  # ConfigSpace keeps whole numbers as floats.

NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
PCS_PARAMETER = re.compile(
    r"(?P<name>[^\s{}\[\]|,]+)(?:\s+(?P<type>categorical|ordinal|integer|real))?"
    r"\s*(?P<domain>\{[^{}]*\}|\[[^\[\]]*\])"
    r"\s*\[(?P<default>[^\[\]]*)\]\s*(?P<scale>\w*)"
)
PCS_HEADING = re.compile(r"(conditionals?|conditions?|forbidden)\s*:", re.IGNORECASE)
IRACE_LINE = re.compile(r'[\w.]+\s+"[^"]*"\s+[rico]\b')
IRACE_DIGITS = re.compile(r"digits\s*=\s*(\d{1,2})", re.ASCII)
IRACE_PARAMETER = re.compile(
    r'(?P<name>[\w.]+)\s+"(?P<switch>[^"]*)"\s+(?P<type>[rico])(?P<log>,log)?\s*'
    r'\((?P<values>(?:"[^"]*"|[^()"|])*)\)\s*(?:\|(?P<condition>.*))?'
)
TOKEN = re.compile(
    r"""\s*(?:"(?P<double>[^"]*)"|'(?P<single>[^']*)'|`(?P<word>[^`]*)`"""
    r"""|(?P<mark>%in%|&&|\|\||[=!<>]=|[&|=!<>(){},])|(?P<bare>[^\s&|=!<>(){},%"'`]+))"""
)
# R and Python bind these alike, so that Python's parser reads them.
PYTHON = {"%in%": "in", "=": "==", "&": "and", "&&": "and", "|": "or", "||": "or"}
PYTHON |= {"!": "not", "{": "(", "}": ")"}
OPERATORS = {ast.In: "in", ast.Eq: "in", ast.NotIn: "not in", ast.NotEq: "not in"}
OPERATORS |= {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}
OPPOSITE = {"in": "not in", "not in": "in", "<": ">=", ">": "<=", "<=": ">", ">=": "<"}


@dataclass(slots=True, kw_only=True)
class Draft:
    """The content of a PCS or irace file; expressions are read when all parameters are known."""

    parameters: dict[str, Parameter] = field(default_factory=dict)
    conditions: dict[str, list[tuple[int, str]]] = field(default_factory=dict)
    forbidden: list[tuple[int, str]] = field(default_factory=list)
    switches: dict[str, str] | None = None
    decimals: int = DECIMALS

    def add(self, parameter: Parameter) -> None:
        """Add a parameter."""
        if parameter.name in self.parameters:
            raise InputError(
                f"The parameter {parameter.name!r} is here twice. Remove or rename one."
            )
        self.parameters[parameter.name] = parameter


def parse_pcs(lines: Sequence[tuple[int, str]]) -> Draft:
    """The numbered lines of a PCS file, without comments."""
    draft = Draft()
    for number, line in lines:
        with at_line(number):
            if match := PCS_PARAMETER.fullmatch(line):
                draft.add(_pcs_parameter(match))
            elif line.startswith("{") and line.endswith("}"):
                draft.forbidden.append((number, line[1:-1]))
            elif "|" in line:
                child, _, condition = line.partition("|")
                draft.conditions.setdefault(child.strip(), []).append((number, condition))
            elif not PCS_HEADING.fullmatch(line):
                raise InputError(
                    f"{line!r:.80} is no parameter, condition or forbidden combination. Write "
                    "name {values} [default], name [low,high] [default], child | condition, or "
                    "{forbidden}."
                )
    return draft


def _pcs_parameter(match: re.Match[str]) -> Parameter:
    name, kind, domain, default, scale = match.group("name", "type", "domain", "default", "scale")
    values = [value.strip().strip("\"'") for value in domain[1:-1].split(",")]
    default = default.strip().strip("\"'")
    listed = domain.startswith("{")
    if kind and listed != (kind in ("categorical", "ordinal")):
        raise InputError(
            f"{domain!r:.80} does not fit the {kind} parameter {name!r}. Write "
            f"{'a [low,high] range' if listed else 'its {values}'}."
        )
    if "" in values:
        raise InputError(f"A value is missing in {domain!r:.80}. Remove the comma.")
    scales = ("",) if listed else ("", "log") if kind else ("", "i", "l", "il", "li")
    if scale not in scales:
        raise InputError(
            f"{scale!r:.80} after the default of {name!r} has no meaning. Write nothing"
            f"{''.join(f' or {one}' for one in scales[1:])} there."
        )
    if listed:
        return _listed(name, values, default, ordinal=kind == "ordinal")
    whole = kind == "integer" or (not kind and "i" in scale)
    return _ranged(name, values, default, whole=whole, log="l" in scale)


def parse_irace(lines: Sequence[tuple[int, str]]) -> Draft:
    """The numbered lines of an irace table, without comments."""
    digits = [int(match[1]) for _, line in lines if (match := IRACE_DIGITS.fullmatch(line))]
    draft = Draft(switches={}, decimals=min([*digits, DECIMALS]))
    section = ""
    for number, line in lines:
        with at_line(number):
            if line in ("[forbidden]", "[global]"):
                section = line
            elif section == "[forbidden]":
                draft.forbidden.append((number, line))
            elif section == "[global]":
                if not IRACE_DIGITS.fullmatch(line):
                    raise InputError(
                        f"{line!r:.80} has no meaning in [global]. Write digits = NUMBER."
                    )
            elif match := IRACE_PARAMETER.fullmatch(line):
                name = match["name"]
                draft.add(_irace_parameter(match, draft.decimals))
                draft.switches = {**(draft.switches or {}), name: match["switch"]}
                if match["condition"] is not None:
                    draft.conditions[name] = [(number, match["condition"])]
            else:
                raise InputError(
                    f'Cannot read {line!r:.80}. Write name "switch" type (values) [| condition].'
                )
    return draft


def _irace_parameter(match: re.Match[str], decimals: int) -> Parameter:
    name, kind, log = match.group("name", "type", "log")
    # A comma inside of quotes does not separate.
    values = [value.strip() for value in re.split(r',(?=(?:[^"]*"[^"]*")*[^"]*$)', match["values"])]
    if "" in values or (log and kind in "co"):
        raise InputError(
            f"Cannot read {match[0]!r:.80}. Give a value at every comma, and log for numbers only."
        )
    values = [value.strip('"') for value in values]
    if kind in "co":
        return _listed(name, values, values[0], ordinal=kind == "o")
    return _ranged(name, values, None, whole=kind == "i", log=bool(log), decimals=decimals)


def _listed(name: str, values: list[str], default: str, *, ordinal: bool) -> Parameter:
    if again := [value for value in values if values.count(value) > 1]:
        raise InputError(
            f"{name!r} lists {again[0]!r:.80} {values.count(again[0])} times. List it once."
        )
    if default not in values:
        raise InputError(
            f"The default {default!r:.80} of {name!r} is not among its values. Use one of "
            f"{', '.join(map(repr, values)):.80}."
        )
    made = ConfigSpace.OrdinalHyperparameter if ordinal else ConfigSpace.CategoricalHyperparameter
    return made(name, values, default_value=default)


def _ranged(
    name: str,
    ends: Sequence[str],
    default: str | None,
    *,
    whole: bool,
    log: bool,
    decimals: int = DECIMALS,
) -> Parameter:
    if len(ends) != 2:
        raise InputError(f"The range of {name!r} has {len(ends)} ends. Give two.")
    low, high = (_number(end, whole=whole) for end in ends)
    if not (low < high and math.isfinite(high - low) and (low > 0 or not log)):
        above = ", above 0 on a log scale" if log else ""
        raise InputError(
            f"{name!r} cannot range from {low} to {high}. Give the lower end first{above}."
        )
    if default is None:
        value = math.sqrt(low) * math.sqrt(high) if log else (low + high) / 2
        value = round(value) if whole else round(value, decimals)
    else:
        value = _number(default, whole=whole)
    if not low <= value <= high:
        raise InputError(
            f"The default {value} of {name!r} is out of range. Use a number from {low} to {high}."
        )
    if rounded := [
        number for number in (low, high, value) if not math.isclose(round(number, decimals), number)
    ]:
        raise InputError(f"{rounded[0]} in {name!r} has too many decimals. Use at most {decimals}.")
    integer, real = ConfigSpace.UniformIntegerHyperparameter, ConfigSpace.UniformFloatHyperparameter
    return (integer if whole else real)(name, low, high, default_value=value, log=log)


def _number(text: str, *, whole: bool) -> int | float:
    number = float(text) if NUMBER.fullmatch(text) else math.nan
    legal = number.is_integer() and abs(number) <= LARGEST_WHOLE if whole else True
    if not (math.isfinite(number) and legal):
        wanted = f"a whole number up to {LARGEST_WHOLE}" if whole else "a number"
        raise InputError(f"{text!r:.80} is not {wanted}. Write one.")
    return int(number) if whole else number


def with_default(parameter: Any, value: Any) -> Any:
    """The same parameter with another default."""
    if values := values_of(parameter):
        return type(parameter)(parameter.name, values, default_value=value)
    return type(parameter)(
        parameter.name, parameter.lower, parameter.upper, default_value=value, log=parameter.log
    )


def values_of(parameter: Any) -> tuple[Any, ...]:
    """The values of a parameter that lists them."""
    return getattr(parameter, "choices", None) or getattr(parameter, "sequence", None) or ()


def parse_json(text: str) -> tuple[ConfigSpace.ConfigurationSpace, tuple[str, ...]]:
    """The space in ConfigSpace JSON, and its parameters in the order of the file."""
    try:
        content = json.loads(text)
        if not isinstance(content.get("hyperparameters"), list):
            raise InputError(
                "This JSON has no list 'hyperparameters'. Write the space with ConfigSpace's "
                "to_json."
            )
        with warnings.catch_warnings():
            # ConfigSpace only warns of what it leaves out; that "default" was renamed is all we can
            # do without.
            warnings.simplefilter("error")
            warnings.filterwarnings("ignore", "The field 'default' should be")
            space = ConfigSpace.ConfigurationSpace.from_serialized_dict(content)
        for name, parameter in space.items():
            for value in (*values_of(parameter), plain(parameter.default_value)):
                text_only = isinstance(name, str) and b"\0" not in f"{name}{value}".encode()
                finite = isinstance(value, Value) and value not in (math.inf, -math.inf)
                if not (finite and text_only):
                    raise InputError(
                        f"The value {value!r:.80} of {name!r} cannot be used. Use text, finite "
                        "numbers, true, false or null."
                    )
        return space, tuple(item["name"] for item in content["hyperparameters"])
    except InputError:
        raise
    except json.JSONDecodeError as error:
        raise InputError(
            f"line {error.lineno}: this is no JSON ({error.msg}): {text[error.pos :][:20]!r}."
        ) from error
    except Exception as error:  # whatever a space written by hand makes ConfigSpace raise
        raise InputError(
            f"ConfigSpace cannot read this space ({reason(error)}). Write it with to_json."
        ) from error


CONDITION: dict[str, Any] = {
    "==": ConfigSpace.EqualsCondition,
    "in": ConfigSpace.InCondition,
    "<": ConfigSpace.LessThanCondition,
    ">": ConfigSpace.GreaterThanCondition,
    "and": ConfigSpace.AndConjunction,
    "or": ConfigSpace.OrConjunction,
}
FORBIDDEN: dict[str, Any] = {
    "==": ConfigSpace.ForbiddenEqualsClause,
    "in": ConfigSpace.ForbiddenInClause,
    "<": ConfigSpace.ForbiddenLessThanClause,
    ">": ConfigSpace.ForbiddenGreaterThanClause,
    "and": ConfigSpace.ForbiddenAndConjunction,
    "or": ConfigSpace.ForbiddenOrConjunction,
}
RELATION: dict[str, Any] = {
    "==": ConfigSpace.ForbiddenEqualsRelation,
    "<": ConfigSpace.ForbiddenLessThanRelation,
    ">": ConfigSpace.ForbiddenGreaterThanRelation,
}


def joined(conjunction: Any, parts: Sequence[Any]) -> Any:
    """The conjunction of the parts, or the only part."""
    return parts[0] if len(parts) == 1 else conjunction(*parts)


def expression(
    text: str, parameters: Mapping[str, Parameter], kinds: Mapping[str, Any], *child: Parameter
) -> Any:
    """A condition of the child, or without one a forbidden combination, as ConfigSpace has it."""
    words: list[str] = []
    python: list[str] = []
    position, text = 0, text.strip()
    while position < len(text):
        if not (match := TOKEN.match(text, position)):
            raise InputError(
                f"{text[position:]!r:.80} is no comparison. Compare a parameter with a value."
            )
        position = match.end()
        if mark := match["mark"] or (match["bare"] == "in" and "in"):
            python.append(PYTHON.get(mark, mark))
        # R's c(...) is a list like any other.
        elif match["bare"] != "c" or not text[position:].lstrip().startswith("("):
            # Words become names that Python accepts, whatever letters they have.
            python.append(f"_{len(words)}")
            words.append(next(group for group in match.groups() if group is not None))

    def translated(node: ast.expr, negated: bool) -> Any:
        # ConfigSpace has no negation: it moves into the comparisons.
        match node:
            case ast.BoolOp():
                conjunction = kinds["and" if isinstance(node.op, ast.And) != negated else "or"]
                return conjunction(*[translated(part, negated) for part in node.values])
            case ast.UnaryOp(op=ast.Not()):
                return translated(node.operand, not negated)
            case ast.Compare(left=ast.Name(id=name), ops=[operation], comparators=[right]) if (
                words[int(name[1:])] in parameters
            ):
                operands = right.elts if isinstance(right, ast.Tuple) else [right]
                names = [operand.id for operand in operands if isinstance(operand, ast.Name)]
                texts = [words[int(operand[1:])] for operand in names]
                several = isinstance(operation, ast.In | ast.NotIn)
                if texts and len(texts) == len(operands) and (len(texts) == 1 or several):
                    operator = OPERATORS[type(operation)]
                    operator = OPPOSITE[operator] if negated else operator
                    sides = (*child, parameters[words[int(name[1:])]])
                    return _comparison(sides, operator, texts, parameters, kinds)
            case ast.Compare(left=ast.Name(id=name), ops=[_]) if (
                words[int(name[1:])] not in parameters
            ):
                word = words[int(name[1:])]
                raise InputError(
                    f"{word!r:.80} in {text!r:.80} is no parameter of this file"
                    f"{did_you_mean(word, parameters)}"
                )
        raise InputError(f"Cannot read {text!r:.80}. Compare parameters with values.")

    try:
        tree = ast.parse(" ".join(python), mode="eval").body
    except (SyntaxError, ValueError) as error:
        raise InputError(f"Cannot read {text!r:.80}. Join comparisons by & and |.") from error
    # PCS has {a=1, b=2} for a=1 & b=2.
    parts = tree.elts if isinstance(tree, ast.Tuple) and not child else [tree]
    return joined(kinds["and"], [translated(part, False) for part in parts])


def _comparison(
    sides: tuple[Parameter, ...],
    operator: str,
    texts: list[str],
    parameters: Mapping[str, Any],
    kinds: Mapping[str, Any],
) -> Any:
    """A comparison built from <, > and = only.

    ConfigSpace's other comparisons hold for parameters that are inactive or do not exist.
    """
    atoms, listed, values = kinds, values_of(sides[-1]), list[Any]()
    other = parameters.get(texts[0])
    if len(sides) == 1 and other is not None and not (listed or values_of(other)):
        atoms, values = RELATION, [other]
    else:
        values = [legal_value(sides[-1], text) for text in texts]
    if operator == "not in" and listed:
        operator, values = "in", [value for value in listed if value not in values]
    if operator == "in":
        return atoms["in"](*sides, values) if len(values) != 1 else atoms["=="](*sides, values[0])
    if operator == "not in":
        apart = [kinds["or"](atoms["<"](*sides, v), atoms[">"](*sides, v)) for v in values]
        return joined(kinds["and"], apart)
    if operator in ("<", ">"):
        return atoms[operator](*sides, values[0])
    return kinds["or"](atoms[operator[0]](*sides, values[0]), atoms["=="](*sides, values[0]))


def legal_value(parameter: Any, value: Any) -> Any:
    """A value of the parameter, whatever type a file or a log wrote it in."""
    constant = isinstance(parameter, ConfigSpace.Constant)
    if listed := (parameter.value,) if constant else values_of(parameter):
        legal = [plain(item) for item in listed if item == value or str(item) == str(value)]
    else:
        number = number_or_nan(value)
        whole = isinstance(parameter, IntegerHyperparameter)
        fits = parameter.lower <= number <= parameter.upper and (number.is_integer() or not whole)
        legal = [int(number) if whole else number] if fits else []
    if not legal:
        choice = (
            f"one of {', '.join(map(str, listed)):.80}"
            if listed
            else f"a number from {parameter.lower} to {parameter.upper}"
        )
        raise InputError(f"{value!r:.80} is no value of {parameter.name!r}. Use {choice}.")
    return legal[0]


def reason(error: Exception) -> str:
    """The message of another library's exception, in one line."""
    return " ".join(str(error).split())[:200] or type(error).__name__


@contextmanager
def at_line(number: int) -> Iterator[None]:
    """Begin messages of errors inside with the line of the file."""
    try:
        yield
    except InputError as error:
        raise InputError(f"line {number}: {error}") from error
    except Exception as error:
        raise InputError(
            f"line {number}: ConfigSpace cannot hold this ({reason(error)}). Change it."
        ) from error


def plain(value: Any) -> Any:
    """A NumPy scalar as a Python one."""
    return value.item() if isinstance(value, np.generic) else value
