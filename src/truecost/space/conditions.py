"""Conditions and forbidden combinations of PCS and irace files.

Both are comparisons (in, %in%, =, ==, !=, <, <=, >, >=) joined by !, &, |, &&, || and parentheses.
A comparison with an inactive parameter does not hold, nor does its opposite. What irace reads
otherwise is refused.
"""

import ast
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from typing import TYPE_CHECKING, Any, NamedTuple

import ConfigSpace

from truecost.errors import InputError, did_you_mean
from truecost.space.parameters import Parameter, legal_value, values_of

if TYPE_CHECKING:
    from truecost.space.files import Draft

# The longest chain of parameters, each with a condition on the one before.
DEEPEST = 10
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


class Word(NamedTuple):
    """A name or value of an expression; only quoted it cannot name another parameter."""

    text: str
    quoted: bool


def expression(text: str, draft: "Draft", *child: Parameter) -> Any:
    """A condition of the child, or without one a forbidden combination, as ConfigSpace has it."""
    tree, words = _parsed(text)
    whole = Expression(text=text.strip(), draft=draft, child=child, words=words)
    # PCS has {a=1, b=2} for a=1 & b=2.
    parts = tree.elts if isinstance(tree, ast.Tuple) and not child else [tree]
    return joined(whole.classes["and"], [whole.translated(part, False) for part in parts])


def _parsed(text: str) -> tuple[ast.expr, dict[str, Word]]:
    """The syntax tree, and the words for which its names stand: Python accepts few of theirs."""
    words: dict[str, Word] = {}
    python: list[str] = []
    position, text = 0, text.strip()
    while position < len(text):
        if not (match := TOKEN.match(text, position)):
            raise InputError(
                f"{text[position:]!r:.80} is no comparison. Compare a parameter with a value."
            )
        position, bare = match.end(), match["bare"]
        if mark := match["mark"] or (bare == "in" and "in"):
            python.append(PYTHON.get(mark, mark))
        # R's c(...) is a list like any other.
        elif bare != "c" or not text[position:].lstrip().startswith("("):
            python.append(f"_{len(words)}")
            kind = str(match.lastgroup)
            words[python[-1]] = Word(match[kind], quoted=kind in ("double", "single"))
    try:
        return ast.parse(" ".join(python), mode="eval").body, words
    except (SyntaxError, ValueError) as error:
        raise InputError(f"Cannot read {text!r:.80}. Join comparisons by & and |.") from error


@dataclass(frozen=True, slots=True, kw_only=True)
class Expression:
    """A condition of the `child`, or without one a forbidden combination, of a file, whose tree has
    other names for its `words`.
    """

    text: str
    draft: "Draft"
    child: tuple[Parameter, ...]
    words: Mapping[str, Word]

    @property
    def classes(self) -> Classes:
        """ConfigSpace's classes for its parts."""
        return CONDITIONS if self.child else FORBIDDEN

    def translated(self, node: ast.expr, negated: bool) -> Any:
        """A part of the tree, or its opposite: ConfigSpace has no negation, so it moves into the
        comparisons.
        """
        match node:
            case ast.BoolOp():
                conjunction = "and" if isinstance(node.op, ast.And) != negated else "or"
                parts = [self.translated(part, negated) for part in node.values]
                return self.classes[conjunction](*parts)
            case ast.UnaryOp(op=ast.Not()):
                return self.translated(node.operand, not negated)
            case ast.Compare(left=ast.Name(id=left), ops=[operation], comparators=[right]):
                operands = right.elts if isinstance(right, ast.Tuple) else [right]
                values = [self.words[item.id] for item in operands if isinstance(item, ast.Name)]
                is_list = isinstance(operation, ast.In | ast.NotIn)
                if 0 < len(values) == len(operands) and (is_list or len(values) == 1):
                    parameter = self._parameter(self.words[left].text)
                    operator = OPERATORS[type(operation)]
                    operator = OPPOSITE[operator] if negated else operator
                    if self.draft.switches is not None:
                        self._check_as_in_r(parameter, operator, values, is_list)
                    return self._comparison(parameter, operator, values)
        raise InputError(f"Cannot read {self.text!r:.80}. Compare parameters with values.")

    def _parameter(self, name: str) -> Parameter:
        if name not in self.draft.parameters:
            raise InputError(
                f"{name!r:.80} in {self.text!r:.80} is no parameter of this file."
                f"{did_you_mean(name, self.draft.parameters)}"
            )
        return self.draft.parameters[name]

    def _check_as_in_r(
        self, parameter: Parameter, operator: str, words: Sequence[Word], is_list: bool
    ) -> None:
        """Refuse what irace, that is R, understands otherwise."""
        name, values = parameter.name, list(values_of(parameter))
        # Values of a list are text in irace, and where they stand in the list does not matter.
        in_order = values == sorted(values, key=str.casefold) and "".join(values).isalnum()
        if "in" not in operator and (not in_order if values else words[0].quoted):
            raise InputError(
                f"irace compares {name!r} as text in {self.text!r:.80}, 10 before 2. "
                + (f"Write {name} %in% c(…)." if values else "Remove the quotes.")
            )
        others = [word.text for word in words if not word.quoted]
        if (self.child or values) and not self.draft.parameters.keys().isdisjoint(others):
            raise InputError(
                f"Cannot compare two parameters in {self.text!r:.80}. Put quotes around a value."
            )
        if operator == "not in" and is_list and name in self.draft.conditions:
            raise InputError(
                f"In irace, {self.text!r:.80} also holds while {name!r} is inactive. Write {name} "
                "!= value."
            )

    def _comparison(self, parameter: Parameter, operator: str, words: Sequence[Word]) -> Any:
        """A comparison built from <, > and = only.

        ConfigSpace's other comparisons hold for parameters that are inactive or do not exist.
        """
        sides, atoms, choices = (*self.child, parameter), self.classes, values_of(parameter)
        other = None if words[0].quoted else self.draft.parameters.get(words[0].text)
        if not (self.child or choices or other is None or values_of(other)):
            atoms, values = RELATIONS, [other]
        else:
            values = [legal_value(parameter, word.text) for word in words]
        if operator == "not in" and choices:
            operator, values = "in", [value for value in choices if value not in values]
        if operator == "in":
            if len(values) != 1:
                return atoms["in"](*sides, values)
            return atoms["=="](*sides, values[0])
        either, both = self.classes["or"], self.classes["and"]
        if operator == "not in":
            apart = [either(atoms["<"](*sides, v), atoms[">"](*sides, v)) for v in values]
            return joined(both, apart)
        if operator in ("<", ">"):
            return atoms[operator](*sides, values[0])
        return either(atoms[operator[0]](*sides, values[0]), atoms["=="](*sides, values[0]))


def check_depth(parents: Mapping[str, Iterable[str]]) -> None:
    """Refuse long chains of conditions, for which ConfigSpace takes four times longer a link."""
    depths: dict[str, int] = {}
    # ConfigSpace itself finds circles.
    with suppress(CycleError):
        for name in TopologicalSorter(parents).static_order():
            depths[name] = 1 + max((depths[parent] for parent in parents.get(name, ())), default=0)
            if depths[name] > DEEPEST:
                raise InputError(
                    f"{name!r:.80} ends a chain of {depths[name]} parameters, each active by the "
                    f"value of the one before. Use chains of at most {DEEPEST}."
                )


def joined(conjunction: Any, parts: Sequence[Any]) -> Any:
    """The conjunction of the parts, or the only part."""
    return parts[0] if len(parts) == 1 else conjunction(*parts)
