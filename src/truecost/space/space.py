"""Parameter spaces: read from a file, with a default and seeded random configurations.

Three kinds of files are read, recognised by their content: PCS, old and new, also mixed; irace's
parameters.txt with its sections [forbidden] and [global]; ConfigSpace JSON. Conditions and
forbidden combinations of the first two are comparisons (in, %in%, =, ==, !=, <, <=, >, >=) joined
by !, &, |, &&, || and parentheses. A comparison with an inactive parameter does not hold, nor does
its opposite.

irace's tables have no default: the middle of every range, on its scale, and the first of every list
of values stand for it, or where that is forbidden, the first random configuration that is not.
Reals have as many decimals as [global] digits says, else the 13 that ConfigSpace keeps.
"""

import hashlib
import json
import math
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import ConfigSpace
import numpy as np
from ConfigSpace.types import NotSet

from truecost.errors import InputError
from truecost.space.files import (
    CONDITION,
    DECIMALS,
    FORBIDDEN,
    IRACE_LINE,
    Draft,
    Parameter,
    Value,
    at_line,
    expression,
    joined,
    legal_value,
    parse_irace,
    parse_json,
    parse_pcs,
    plain,
    reason,
    with_default,
)
from truecost.space.points import Points

# A forbidden or known configuration is drawn again at most so often.
ATTEMPTS = 10_000
# Configurations drawn at once.
BLOCK = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """A name and the values of the active parameters, in the order of the space's file."""

    name: str
    values: Mapping[str, Value]

    @classmethod
    def of(cls, values: Mapping[str, Value]) -> "Configuration":
        """The configuration named after its values."""
        return cls(name=name_of(values), values=values)


def name_of(values: Mapping[str, Value]) -> str:
    """Ten hexadecimal digits of a hash of the active values, whatever their order."""
    canonical = json.dumps(dict(values), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()[:10]


@dataclass(frozen=True, kw_only=True)
class Space:
    """A parameter space.

    Parameters
    ----------
    configspace
        The same space as a `ConfigSpace.ConfigurationSpace`; not to be changed.
    parameters
        The names in the order in which configurations list them.
    switches
        irace's switch of every parameter, a style for `arguments`; None where there are none.
    decimals
        To how many decimals random reals are rounded.
    chosen
        The values of the default where they are not the file's.
    """

    configspace: ConfigSpace.ConfigurationSpace
    parameters: tuple[str, ...]
    switches: Mapping[str, str] | None = None
    decimals: int = DECIMALS
    chosen: Mapping[str, Value] | None = None

    def __post_init__(self) -> None:
        if not self.parameters or set(self.parameters) != set(self.configspace):
            raise InputError(
                f"{self.parameters!r:.80} are not the parameters of the space. Name each of them "
                "once."
            )

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> "Space":
        """Read a PCS, irace or ConfigSpace JSON file; the content tells which."""
        try:
            return cls.parse(Path(path).read_bytes().decode("utf-8-sig"))
        except UnicodeDecodeError as error:
            raise InputError(
                f"{path}: this is not UTF-8 text ({error.object[error.start :][:1]!r}). Save it as "
                "UTF-8."
            ) from error
        except InputError as error:
            raise InputError(f"{path}: {error}") from error

    @classmethod
    def parse(cls, text: str) -> "Space":
        """Read the text of a file, in one of the formats that `read` reads."""
        if "\0" in text:
            line = text.partition("\0")[0].count("\n") + 1
            raise InputError(f"line {line}: there is a NUL character. Save the file as plain text.")
        if re.match(r'\s*\{\s*("|\}|$)', text):
            configspace, parameters = parse_json(text)
            return cls(configspace=configspace, parameters=parameters)
        if re.search(r"^hyperparameters:", text, re.MULTILINE):
            raise InputError(
                "ConfigSpace's YAML is not read. Save the space as JSON: "
                "ConfigurationSpace.from_yaml('space.yaml').to_json('space.json')."
            )
        stripped = [line.partition("#")[0].strip() for line in text.split("\n")]
        lines = [(number, line) for number, line in enumerate(stripped, 1) if line]
        irace = any(IRACE_LINE.match(line) for line in stripped)
        return _assemble((parse_irace if irace else parse_pcs)(lines))

    @property
    def has_default(self) -> bool:
        """Whether somebody chose the default: irace's files have none."""
        return self.switches is None or self.chosen is not None

    @cached_property
    def points(self) -> Points:
        """Configurations as points, to draw and learn from."""
        return Points(self.configspace, self.decimals)

    def default(self) -> Configuration:
        """The default configuration; the middle of every range where nobody chose one."""
        if self.chosen is not None:
            return self.configuration(self.chosen)
        return self._configuration(lambda parameter: plain(parameter.default_value))

    def configuration(self, values: Mapping[str, Any], name: str | None = None) -> Configuration:
        """The configuration with these values, which may be text, as a log has them.

        Inactive parameters are left out.
        """
        if unknown := [name for name in values if name not in self.configspace]:
            raise InputError(
                f"The space has no parameter {unknown[0]!r:.80}. Check its name, or leave it out."
            )

        def choose(parameter: Parameter) -> Any:
            if values.get(parameter.name) is None:
                raise InputError(f"The active parameter {parameter.name!r} has no value. Add one.")
            return legal_value(parameter, values[parameter.name])

        configuration = self._configuration(choose)
        if name is None:
            return configuration
        return Configuration(name=name, values=configuration.values)

    def configurations(self, number: int, *, seed: int) -> list[Configuration]:
        """The default and number - 1 different random configurations.

        A longer list begins with the shorter ones: each configuration is drawn from a generator of
        its own, made from the seed, its place in the list, and the attempt, since what is forbidden
        or already in the list is drawn again.
        """
        if number < 1:
            raise InputError(f"A list of {number} configurations was asked for. Ask for 1 or more.")
        default = self.default()
        by_name = {default.name: default}
        for start in range(1, number, BLOCK):
            places = range(start, min(start + BLOCK, number))
            # The first attempts of all at once; repetitions, which are rare, one by one.
            draws = self._draw([(seed, place, 0) for place in places])
            for place, draw in zip(places, draws, strict=True):
                attempt = 1
                while draw is None or draw.name in by_name:
                    if attempt == ATTEMPTS:
                        raise InputError(
                            f"The space has too few configurations: {len(by_name)} were found in "
                            f"{ATTEMPTS:,} draws, and {number} asked for. Ask for fewer."
                        )
                    draw = self._draw([(seed, place, attempt)])[0]
                    attempt += 1
                by_name[draw.name] = draw
        return list(by_name.values())

    def at(self, points: Any) -> list[Configuration]:
        """The configurations at these points."""
        decoded = self.points.decode(points)
        return [
            Configuration.of({name: values[name] for name in self.parameters if name in values})
            for values in decoded
        ]

    def size(self) -> float:
        """The most different configurations; infinite with a real parameter or beyond a float."""
        return math.prod(float(parameter.size) for parameter in self.configspace.values())

    def allows(self, configuration: Configuration) -> bool:
        """Whether no forbidden combination is among the values."""
        try:
            return not any(
                clause.is_forbidden_value(dict(configuration.values))
                for clause in self.configspace.forbidden_clauses
            )
        except TypeError as error:
            raise InputError(
                f"Forbidden values cannot be compared ({reason(error)}). Compare numbers with "
                "numbers only."
            ) from error

    def _draw(self, seeds: list[tuple[int, ...]]) -> list[Configuration | None]:
        """Random configurations, one for each seed; None where it is forbidden."""
        dimensions = self.points.dimensions
        uniforms = np.array(
            [np.random.default_rng(seed).random(dimensions) for seed in seeds]
        ).reshape(-1, dimensions)
        points = self.points.from_uniforms(uniforms)
        allowed = self.points.allowed(points)
        return [
            configuration if legal else None
            for configuration, legal in zip(self.at(points), allowed, strict=True)
        ]

    def _configuration(self, choose: Callable[[Parameter], Any]) -> Configuration:
        """Choose a value for every parameter that the values chosen before make active."""
        conditions = self.configspace.parent_conditions_of
        values: dict[str, Any] = {}
        # ConfigSpace lists parents before children.
        for name, parameter in self.configspace.items():
            active = all(condition.satisfied_by_value(values) for condition in conditions[name])
            values[name] = choose(parameter) if active else NotSet
        return Configuration.of(
            {name: values[name] for name in self.parameters if values[name] is not NotSet}
        )


def _assemble(draft: Draft) -> Space:
    conditions = []
    for child, texts in draft.conditions.items():
        parts = []
        for number, text in texts:
            with at_line(number):
                if child not in draft.parameters:
                    raise InputError(
                        f"{child!r:.80} before '|' is no parameter of this file. Check its name."
                    )
                parts.append(expression(text, draft.parameters, CONDITION, draft.parameters[child]))
        # Several lines for one parameter must all hold. The last stands for them, where a circle of
        # conditions closes.
        with at_line(number):
            conditions.append((number, joined(CONDITION["and"], parts)))
    space = _with_conditions(draft, conditions)
    made = Space(
        configspace=space,
        parameters=tuple(draft.parameters),
        switches=draft.switches,
        decimals=draft.decimals,
    )
    default, clauses = made.default(), []
    for number, text in draft.forbidden:
        with at_line(number):
            clauses.append(expression(text, draft.parameters, FORBIDDEN))
            if draft.switches is None and clauses[-1].is_forbidden_value(dict(default.values)):
                raise InputError(
                    "The default configuration is forbidden. Change the default or this line."
                )
    if any(clause.is_forbidden_value(dict(default.values)) for clause in clauses):
        draws = (
            dict(draw.values)
            for start in range(0, ATTEMPTS, BLOCK)
            for draw in made._draw([(0, place) for place in range(start, start + BLOCK)])
            if draw is not None
        )
        legal = (draw for draw in draws if not any(c.is_forbidden_value(draw) for c in clauses))
        values = next(legal, None)
        if values is None:
            raise InputError(
                f"All of {ATTEMPTS:,} random configurations are forbidden. Forbid less."
            )
        draft.parameters |= {
            name: with_default(draft.parameters[name], value) for name, value in values.items()
        }
        return _assemble(draft)
    for (number, _), clause in zip(draft.forbidden, clauses, strict=True):
        with at_line(number):
            space.add(clause)
    return made


def _with_conditions(
    draft: Draft, conditions: list[tuple[int, Any]]
) -> ConfigSpace.ConfigurationSpace:
    """The parameters and their conditions, added at once: ConfigSpace looks through all of them
    with every call.
    """
    try:
        space = ConfigSpace.ConfigurationSpace()
        space.add([*draft.parameters.values(), *(condition for _, condition in conditions)])
    except Exception:
        # One by one, so that the line is told that ConfigSpace refuses.
        space = ConfigSpace.ConfigurationSpace()
        space.add(list(draft.parameters.values()))
        for number, condition in conditions:
            with at_line(number):
                space.add(condition)
    return space
