"""Parameter spaces: read from a file, with a default and seeded random configurations.

Three kinds of files are read, recognised by their content: PCS, old and new, also mixed; irace's
parameters.txt with its sections [forbidden] and [global]; ConfigSpace JSON.

irace's tables have no default: the middle of every range, on its scale, and the first of every list
of values stand for it, or where that is forbidden, the first random configuration that is not.
Reals have as many decimals as [global] digits says, else the 13 that ConfigSpace keeps.
"""

import hashlib
import json
import math
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import ConfigSpace
import numpy as np
from ConfigSpace.types import NotSet

from truecost.errors import InputError, prefixed
from truecost.space.conditions import CONDITIONS, check_depth, expression, joined
from truecost.space.files import Draft, at_line, parse_json, parse_text
from truecost.space.parameters import (
    DECIMALS,
    Parameter,
    Value,
    legal_value,
    plain,
    values_of,
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
        """The configuration named after its values: a hash of them, whatever their order."""
        canonical = json.dumps(dict(values), sort_keys=True, separators=(",", ":"))
        return cls(name=hashlib.sha256(canonical.encode()).hexdigest()[:10], values=values)


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
        if not self.parameters:
            raise InputError("There are no parameters. Add at least one.")

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> "Space":
        """Read a PCS, irace or ConfigSpace JSON file; the content tells which."""
        with prefixed(path):
            try:
                text = Path(path).read_bytes().decode("utf-8-sig")
            except UnicodeDecodeError as error:
                raise InputError(f"This is not UTF-8 text ({error}). Save it as UTF-8.") from error
            return cls.parse(text)

    @classmethod
    def parse(cls, text: str) -> "Space":
        """Read the text of a file, in one of the formats that `read` reads."""
        if re.match(r'\s*\{\s*("|\}|$)', text):
            configspace, parameters = parse_json(text)
            return cls(configspace=configspace, parameters=parameters)
        if re.search(r"^hyperparameters:", text, re.MULTILINE):
            raise InputError(
                "ConfigSpace's YAML is not read. Save the space as JSON: "
                "ConfigurationSpace.from_yaml('space.yaml').to_json('space.json')."
            )
        return _assembled(parse_text(text))

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

    def configuration(self, values: Mapping[str, Any]) -> Configuration:
        """The configuration with these values, which may be text, as a log has them.

        Inactive parameters are left out.
        """
        if unknown := [name for name in values if name not in self.configspace]:
            raise InputError(
                f"The space has no parameter {unknown[0]!r:.80}. Check its name, or leave it out."
            )

        def choose(parameter: Parameter) -> Any:
            value = values.get(parameter.name, NotSet)
            # None stands for no value, unless it is one of the parameter's.
            if value is NotSet or (value is None and None not in values_of(parameter)):
                raise InputError(f"The active parameter {parameter.name!r} has no value. Add one.")
            return legal_value(parameter, value)

        return self._configuration(choose)

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

        def legal(places: Sequence[int], attempt: int) -> dict[int, tuple[Configuration, int]]:
            """For each place the first draw from this attempt on that is not forbidden, and its
            attempt.
            """
            drawn: dict[int, tuple[Configuration, int]] = {}
            misses = 0
            while pending := [place for place in places if place not in drawn]:
                if max(misses, attempt) >= ATTEMPTS:
                    raise InputError(
                        f"The space has too few configurations: {len(by_name)} were found in "
                        f"{ATTEMPTS:,} draws, and {number} asked for. Ask for fewer."
                    )
                draws = self.draw([(seed, place, attempt) for place in pending])
                hits = {
                    place: (draw, attempt)
                    for place, draw in zip(pending, draws, strict=True)
                    if draw is not None
                }
                drawn |= hits
                misses = 0 if hits else misses + len(pending)
                attempt += 1
            return drawn

        for start in range(1, number, BLOCK):
            places = range(start, min(start + BLOCK, number))
            drawn = legal(places, 0)
            for place in places:
                configuration, attempt = drawn[place]
                while configuration.name in by_name:
                    configuration, attempt = legal([place], attempt + 1)[place]
                by_name[configuration.name] = configuration
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
        return bool(self.points.allowed(self.points.encode([configuration.values]))[0])

    def draw(self, seeds: list[tuple[int, ...]]) -> list[Configuration | None]:
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
        vector = np.full(len(self.configspace), np.nan)
        # ConfigSpace lists parents before children. Its conditions on vectors count, not those on
        # values: for != they differ while the parent is inactive.
        for place, (name, parameter) in enumerate(self.configspace.items()):
            if all(condition.satisfied_by_vector(vector) for condition in conditions[name]):
                values[name] = choose(parameter)
                vector[place] = parameter.to_vector(values[name])
        return Configuration.of({name: values[name] for name in self.parameters if name in values})


def _assembled(draft: Draft) -> Space:
    """The space of a PCS or irace file."""
    conditions = []
    for child, lines in draft.conditions.items():
        parts = []
        for number, text in lines:
            with at_line(number):
                if child not in draft.parameters:
                    raise InputError(
                        f"{child!r:.80} before '|' is no parameter of this file. Check its name."
                    )
                parts.append(expression(text, draft, draft.parameters[child]))
        # Several lines for one parameter must all hold. The last stands for them, where a circle of
        # conditions closes.
        with at_line(number):
            conditions.append((number, joined(CONDITIONS["and"], parts)))
    # ConfigSpace has the parents of a conjunction, and the parent of a condition.
    check_depth(
        {
            condition.child.name: {
                parent.name for parent in getattr(condition, "parents", None) or [condition.parent]
            }
            for _, condition in conditions
        }
    )
    space = Space(
        configspace=_configspace(list(draft.parameters.values()), conditions),
        parameters=tuple(draft.parameters),
        switches=draft.switches,
        decimals=draft.decimals,
    )
    default = dict(space.default().values)
    clauses = []
    for number, text in draft.forbidden:
        with at_line(number):
            clauses.append(expression(text, draft))
            if draft.switches is None and clauses[-1].is_forbidden_value(default):
                raise InputError(
                    "The default configuration is forbidden. Change the default or this line."
                )
    if any(clause.is_forbidden_value(default) for clause in clauses):
        draft.parameters |= {
            name: with_default(draft.parameters[name], value)
            for name, value in _first_legal(space, clauses).items()
        }
        return _assembled(draft)
    for (number, _), clause in zip(draft.forbidden, clauses, strict=True):
        with at_line(number):
            space.configspace.add(clause)
    return space


def _first_legal(space: Space, clauses: Sequence[Any]) -> Mapping[str, Value]:
    """The values of the first random configuration that is not forbidden."""
    for start in range(0, ATTEMPTS, BLOCK):
        for draw in space.draw([(0, place) for place in range(start, start + BLOCK)]):
            values = {} if draw is None else dict(draw.values)
            if values and not any(clause.is_forbidden_value(values) for clause in clauses):
                return values
    raise InputError(f"All of {ATTEMPTS:,} random configurations are forbidden. Forbid less.")


def _configspace(
    parameters: Sequence[Parameter], conditions: Sequence[tuple[int, Any]]
) -> ConfigSpace.ConfigurationSpace:
    """The parameters and their conditions, added at once: ConfigSpace looks through all of them
    with every call.
    """
    try:
        space = ConfigSpace.ConfigurationSpace()
        space.add([*parameters, *(condition for _, condition in conditions)])
    except Exception:
        # One by one, to name the line that ConfigSpace refuses.
        space = ConfigSpace.ConfigurationSpace()
        space.add([*parameters])
        for number, condition in conditions:
            with at_line(number):
                space.add(condition)
    return space
