"""Conditions and forbidden combinations of PCS and irace files.

Both are comparisons (in, %in%, =, ==, !=, <, <=, >, >=) joined by !, &, |, &&, || and parentheses.
A comparison with an inactive parameter does not hold, nor does its opposite.
"""

import ast
import re
from collections.abc import Mapping, Sequence
from typing import Any

import ConfigSpace

from truecost.errors import InputError, did_you_mean
from truecost.space.parameters import Parameter, legal_value, values_of

TOKEN = re.compile(
    r"""\s*(?:"(?P<double>[^"]*)"|'(?P<single>[^']*)'|`(?P<word>[^`]*)`"""
    r"""|(?P<mark>%in%|&&|\|\||[=!<>]=|[&|=!<>(){},])|(?P<bare>[^\s&|=!<>(){},%"'`]+))"""
)
# R and Python bind these alike, so that Python's parser reads them.
PYTHON = {
    "%in%": "in", "=": "==", "&": "and", "&&": "and", "|": "or", "||": "or", "!": "not", "{": "(",
    "}": ")",
}  # fmt: skip
OPERATORS = {
    ast.In: "in", ast.Eq: "in", ast.NotIn: "not in", ast.NotEq: "not in", ast.Lt: "<",
    ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=",
}  # fmt: skip
OPPOSITE = {"in": "not in", "not in": "in", "<": ">=", ">": "<=", "<=": ">", ">=": "<"}
Classes = Mapping[str, Any]
CONDITIONS: Classes = {
    "==": ConfigSpace.EqualsCondition,
    "in": ConfigSpace.InCondition,
    "<": ConfigSpace.LessThanCondition,
    ">": ConfigSpace.GreaterThanCondition,
    "and": ConfigSpace.AndConjunction,
    "or": ConfigSpace.OrConjunction,
}
FORBIDDEN: Classes = {
    "==": ConfigSpace.ForbiddenEqualsClause,
    "in": ConfigSpace.ForbiddenInClause,
    "<": ConfigSpace.ForbiddenLessThanClause,
    ">": ConfigSpace.ForbiddenGreaterThanClause,
    "and": ConfigSpace.ForbiddenAndConjunction,
    "or": ConfigSpace.ForbiddenOrConjunction,
}
# Between two numerical parameters.
RELATIONS: Classes = {
    "==": ConfigSpace.ForbiddenEqualsRelation,
    "<": ConfigSpace.ForbiddenLessThanRelation,
    ">": ConfigSpace.ForbiddenGreaterThanRelation,
}


def expression(text: str, parameters: Mapping[str, Parameter], *child: Parameter) -> Any:
    """A condition of the child, or without one a forbidden combination, as ConfigSpace has it."""
    classes = CONDITIONS if child else FORBIDDEN
    # Words become names that Python accepts, whatever letters they have.
    words: dict[str, str] = {}
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
            python.append(f"_{len(words)}")
            words[python[-1]] = next(group for group in match.groups() if group is not None)

    def translated(node: ast.expr, negated: bool) -> Any:
        # ConfigSpace has no negation: it moves into the comparisons.
        match node:
            case ast.BoolOp():
                conjunction = classes["and" if isinstance(node.op, ast.And) != negated else "or"]
                return conjunction(*[translated(part, negated) for part in node.values])
            case ast.UnaryOp(op=ast.Not()):
                return translated(node.operand, not negated)
            case ast.Compare(left=ast.Name(id=left), ops=[operation], comparators=[right]):
                if (name := words[left]) not in parameters:
                    raise InputError(
                        f"{name!r:.80} in {text!r:.80} is no parameter of this file."
                        f"{did_you_mean(name, parameters)}"
                    )
                operands = right.elts if isinstance(right, ast.Tuple) else [right]
                texts = [words[item.id] for item in operands if isinstance(item, ast.Name)]
                most = len(operands) if isinstance(operation, ast.In | ast.NotIn) else 1
                if 0 < len(texts) == len(operands) <= most:
                    operator = OPERATORS[type(operation)]
                    operator = OPPOSITE[operator] if negated else operator
                    return _comparison((*child, parameters[name]), operator, texts, parameters)
        raise InputError(f"Cannot read {text!r:.80}. Compare parameters with values.")

    try:
        tree = ast.parse(" ".join(python), mode="eval").body
    except (SyntaxError, ValueError) as error:
        raise InputError(f"Cannot read {text!r:.80}. Join comparisons by & and |.") from error
    # PCS has {a=1, b=2} for a=1 & b=2.
    parts = tree.elts if isinstance(tree, ast.Tuple) and not child else [tree]
    return joined(classes["and"], [translated(part, False) for part in parts])


def _comparison(
    sides: tuple[Parameter, ...],
    operator: str,
    texts: list[str],
    parameters: Mapping[str, Parameter],
) -> Any:
    """A comparison built from <, > and = only.

    ConfigSpace's other comparisons hold for parameters that are inactive or do not exist.
    """
    classes = FORBIDDEN if len(sides) == 1 else CONDITIONS
    atoms, choices = classes, values_of(sides[-1])
    other = parameters.get(texts[0])
    if len(sides) == 1 and other is not None and not (choices or values_of(other)):
        atoms, values = RELATIONS, [other]
    else:
        values = [legal_value(sides[-1], text) for text in texts]
    if operator == "not in" and choices:
        operator, values = "in", [value for value in choices if value not in values]
    if operator == "in":
        return atoms["in"](*sides, values) if len(values) != 1 else atoms["=="](*sides, values[0])
    if operator == "not in":
        apart = [classes["or"](atoms["<"](*sides, v), atoms[">"](*sides, v)) for v in values]
        return joined(classes["and"], apart)
    if operator in ("<", ">"):
        return atoms[operator](*sides, values[0])
    return classes["or"](atoms[operator[0]](*sides, values[0]), atoms["=="](*sides, values[0]))


def joined(conjunction: Any, parts: Sequence[Any]) -> Any:
    """The conjunction of the parts, or the only part."""
    return parts[0] if len(parts) == 1 else conjunction(*parts)
