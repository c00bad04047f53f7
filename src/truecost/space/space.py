"""Parameter spaces on ConfigSpace: read from a file, default and seeded random configurations,
printed as arguments.

Three kinds of files are read, recognised by their content: PCS, old and new, also mixed; irace's
parameters.txt with its sections [forbidden] and [global]; ConfigSpace JSON. Conditions and
forbidden combinations of the first two are comparisons (in, %in%, =, ==, !=, <, <=, >, >=) joined
by !, &, |, &&, || and parentheses. A comparison with a parameter that is not active does not hold,
nor does its opposite.

irace's tables have no default: the middle of every range, on its scale, and the first of every list
of values stand for it, or where that is forbidden, the first random configuration that is not.
Reals have as many decimals as [global] digits says, else the 13 that ConfigSpace keeps.
"""

import hashlib
import json
import math
import os
import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import ConfigSpace
import numpy as np
from ConfigSpace.hyperparameters import FloatHyperparameter, IntegerHyperparameter
from ConfigSpace.types import NotSet

from truecost.errors import InputError
from truecost.runs import number_or_nan
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
    parse_irace,
    parse_json,
    parse_pcs,
    plain,
    reason,
    values_of,
    with_default,
)
from truecost.stats.random import Rng, generator, seed_of

STYLES = {
    "-name value": "-{name} {value}",
    "--name value": "--{name} {value}",
    "--name=value": "--{name}={value}",
}
ATTEMPTS = 10_000
# How far priors are trusted: the share of values drawn near them, and how near, in ranges.
TRUST, NEAR = 0.7, 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """The values of the active parameters, in the order of the space's file, and their name,
    `name_of(values)`; `label` is what the log it comes from calls it.
    """

    name: str
    values: Mapping[str, Value]
    label: str | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        if self.name != (expected := name_of(self.values)):
            raise InputError(f"expected the name {expected!r} for these values, got {self.name!r}.")


def name_of(values: Mapping[str, Value]) -> str:
    """The name of these active values: ten hexadecimal digits, whatever their order."""
    canonical = json.dumps(dict(values), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()[:10]


def arguments(configuration: Configuration, style: str | Mapping[str, str]) -> list[str]:
    """The configuration as arguments of a command, which no shell must see.

    Parameters
    ----------
    configuration
        Its parameters are printed in their order; a real so that it reads back as the same number.
    style
        "-name value", "--name value" or "--name=value"; or a template with {value} and, as a rule,
        {name}, split into arguments at its own blanks before names and values, with whatever blanks
        they have, are put in; or `Space.switches`: irace's switch and value are glued together and
        then split as a shell does, so that a switch that ends in a blank, an empty value, and a
        value that is several arguments give what irace's command line gives.
    """
    if not isinstance(style, str):
        if missing := [name for name in configuration.values if name not in style]:
            raise InputError(f"expected a switch for every parameter, got none for {missing[0]!r}.")
        return [
            word
            for name, value in configuration.values.items()
            for word in shell_words(f"{style[name]}{as_r_writes(value)}")
        ]
    template = STYLES.get(style, style)
    if "{value}" not in template or set(re.findall(r"\{.*?\}", template)) - {"{name}", "{value}"}:
        known = ", ".join(map(repr, STYLES))
        raise InputError(
            f"expected {known} or a template with {{name}} and {{value}}, got {style!r:.80}."
        )
    printed = []
    for name, value in configuration.values.items():
        texts = {"{name}": name, "{value}": str(value)}
        # In one pass, so that a value that reads {name} stays one.
        printed += [
            "".join(texts.get(part, part) for part in re.split(r"(\{\w+\})", word))
            for word in template.split()
        ]
    return printed


def shell_words(text: str) -> list[str]:
    """The arguments that a shell makes of a text, by its blanks and quotes; nothing is expanded."""
    try:
        return shlex.split(text)
    except ValueError:
        # An apostrophe in a name is no quote that was left open on purpose.
        return text.split()


def as_r_writes(value: Value) -> str:
    """A value as irace writes it: `format(value, digits = 15, scientific = FALSE)`."""
    if not isinstance(value, float):
        return str(value)
    return np.format_float_positional(float(f"{value:.15g}"), trim="-")


@dataclass(frozen=True, slots=True, kw_only=True)
class Space:
    """A parameter space.

    Parameters
    ----------
    configspace
        The same space for those who speak ConfigSpace, SMAC among them; not to be changed.
    parameters
        The names in the order in which configurations list them.
    switches
        irace's switch of every parameter, a style for `arguments`; None where there are none.
    decimals
        To how many decimals random reals are rounded.
    chosen
        The default where it is not the file's: values, or "middle" for the middle of every range.
    priors
        Values of parameters that are believed to be good.

    Examples
    --------
    >>> len(tc.library.space("kissat-qcp").parameters) > 10
    True
    """

    configspace: ConfigSpace.ConfigurationSpace
    parameters: tuple[str, ...]
    switches: Mapping[str, str] | None = None
    decimals: int = DECIMALS
    chosen: Mapping[str, Value] | str | None = None
    priors: Mapping[str, Value] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.parameters or set(self.parameters) != set(self.configspace):
            raise InputError(
                f"expected the names of all parameters, at least one, got {self.parameters!r:.80}."
            )

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> "Space":
        """Read a PCS, irace or ConfigSpace JSON file; the content tells which."""
        try:
            return cls.parse(Path(path).read_bytes().decode("utf-8-sig"))
        except UnicodeDecodeError as error:
            raise InputError(
                f"{path}: expected UTF-8 text, got {error.object[error.start :][:1]!r}."
            ) from error
        except InputError as error:
            raise InputError(f"{path}: {error}") from error

    @classmethod
    def parse(cls, text: str) -> "Space":
        """The space that this text, in one of the formats that `read` reads, describes."""
        if "\0" in text:
            line = text.partition("\0")[0].count("\n") + 1
            raise InputError(f"line {line}: expected text, got a NUL character.")
        if re.match(r'\s*\{\s*("|\}|$)', text):
            configspace, parameters = parse_json(text)
            return cls(configspace=configspace, parameters=parameters)
        if re.search(r"^hyperparameters:", text, re.MULTILINE):
            raise InputError(
                "expected PCS, an irace table or ConfigSpace's JSON, got ConfigSpace's YAML: save "
                "it with ConfigurationSpace.from_yaml('space.yaml').to_json('space.json')."
            )
        stripped = [line.partition("#")[0].strip() for line in text.split("\n")]
        lines = [(number, line) for number, line in enumerate(stripped, 1) if line]
        irace = any(IRACE_LINE.match(line) for line in stripped)
        return _assemble((parse_irace if irace else parse_pcs)(lines))

    @property
    def has_default(self) -> bool:
        """Whether somebody said what the default is: irace's files do not."""
        return self.switches is None or self.chosen is not None

    def default(self) -> Configuration:
        """The default configuration; the middle of every range where nobody said what it is."""
        if self.chosen is None or isinstance(self.chosen, str):
            return self._configuration(lambda parameter: plain(parameter.default_value))
        return self.configuration_of(self.chosen)

    def configuration_of(self, values: Mapping[str, Any]) -> Configuration:
        """The configuration with these values, as a log has them; what conditions switch off is
        left out.
        """
        self._refuse_unknown(values)

        def choose(parameter: Parameter) -> Any:
            if values.get(parameter.name) is None:
                raise InputError(
                    f"expected a value of the parameter {parameter.name!r}, which is active, got "
                    "none."
                )
            return _taken(parameter, values[parameter.name])

        return self._configuration(choose)

    def with_priors(self, values: Mapping[str, Any]) -> "Space":
        """The same space, with values that are believed to be good."""
        self._refuse_unknown(values)
        known = {name: _taken(self.configspace[name], value) for name, value in values.items()}
        return replace(self, priors=known)

    def _refuse_unknown(self, values: Mapping[str, Any]) -> None:
        if unknown := [name for name in values if name not in self.configspace]:
            raise InputError(
                f"expected parameters of the space, got {unknown[0]!r:.80}, which it does not have."
            )

    def configurations(self, number: int, *, rng: Rng = None) -> list[Configuration]:
        """The default and number - 1 different random configurations: a longer list begins with the
        shorter ones.

        Each is drawn from generators of its own, made of `rng`, its place and the attempt; what is
        forbidden or was there already is drawn again.
        """
        if number < 1:
            raise InputError(f"expected at least 1 configuration, got {number}.")
        first = seed_of(rng)
        by_name = {(default := self.default()).name: default}
        while len(by_name) < number:
            draws = _attempts(self, first, len(by_name))
            allowed = (draw for draw in draws if draw.name not in by_name and self.allows(draw))
            new = next(allowed, None)
            if new is None:
                raise InputError(
                    f"expected a space with at least {number} different configurations, got one "
                    f"with {len(by_name)}, and no other in {ATTEMPTS:,} draws: ask for fewer."
                )
            by_name[new.name] = new
        return list(by_name.values())

    def draw(self, rng: Rng = None) -> Configuration:
        """One random configuration, which may be forbidden."""
        rng = generator(rng)
        return self._configuration(lambda parameter: _sample(parameter, rng, self.decimals))

    def believed(self, rng: Rng = None) -> Configuration:
        """One random configuration near the priors, which may be forbidden.

        Each parameter with a prior is drawn near it with probability `TRUST`, numbers from a normal
        distribution of `NEAR` of their range, and from all of its values otherwise.
        """
        rng = generator(rng)

        def choose(parameter: Parameter) -> Any:
            if parameter.name not in self.priors or rng.random() >= TRUST:
                return _sample(parameter, rng, self.decimals)
            value = self.priors[parameter.name]
            if isinstance(parameter, ConfigSpace.CategoricalHyperparameter):
                return value
            return _stepped(parameter, value, NEAR, rng, self.decimals)

        return self._configuration(choose)

    def around(
        self, configuration: Configuration, rng: Rng = None, *, spread: float, keep: float
    ) -> Configuration:
        """A random configuration near this one, which may be forbidden, or the same.

        Every number (and the place in an ordinal's list) comes from a normal distribution around
        its value, of `spread` times its range on its scale, cut at the ends; every categorical
        parameter keeps its value with probability `keep`, and is drawn afresh otherwise, as is what
        becomes active. What becomes inactive is left out.
        """
        rng = generator(rng)

        def choose(parameter: Parameter) -> Any:
            if parameter.name not in configuration.values:
                return _sample(parameter, rng, self.decimals)
            value = configuration.values[parameter.name]
            if isinstance(parameter, ConfigSpace.CategoricalHyperparameter):
                return value if rng.random() < keep else _sample(parameter, rng, self.decimals)
            return _stepped(parameter, value, spread, rng, self.decimals)

        return self._configuration(choose)

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
                f"expected forbidden values that can be compared, got others ({reason(error)})."
            ) from error

    def _configuration(self, choose: Callable[[Parameter], Any]) -> Configuration:
        """Choose a value for every parameter that the values chosen before make active."""
        conditions = self.configspace.parent_conditions_of
        values: dict[str, Any] = {}
        # ConfigSpace lists parents before children.
        for name, parameter in self.configspace.items():
            active = all(condition.satisfied_by_value(values) for condition in conditions[name])
            values[name] = choose(parameter) if active else NotSet
        chosen = {name: values[name] for name in self.parameters if values[name] is not NotSet}
        return Configuration(name=name_of(chosen), values=chosen)


def _taken(parameter: Any, value: Any) -> Any:
    """A value of the parameter, whatever type its log wrote it in."""
    constant = isinstance(parameter, ConfigSpace.Constant)
    if listed := (parameter.value,) if constant else values_of(parameter):
        legal = [plain(item) for item in listed if item == value or str(item) == str(value)]
    else:
        number = number_or_nan(value)
        whole = isinstance(parameter, IntegerHyperparameter)
        fits = parameter.lower <= number <= parameter.upper and (number.is_integer() or not whole)
        legal = [int(number) if whole else number] if fits else []
    if not legal:
        raise InputError(
            f"expected a value of the space for the parameter {parameter.name!r}, got "
            f"{value!r:.80}."
        )
    return legal[0]


def _sample(parameter: Parameter, rng: np.random.Generator, decimals: int) -> Any:
    """A random value; computed here where simple, so that names survive another ConfigSpace."""
    match parameter:
        case ConfigSpace.Constant():
            return parameter.value
        case ConfigSpace.OrdinalHyperparameter():
            return parameter.sequence[rng.integers(len(parameter.sequence))]
        case ConfigSpace.CategoricalHyperparameter():
            return parameter.choices[rng.choice(len(parameter.choices), p=parameter.probabilities)]
        case ConfigSpace.UniformIntegerHyperparameter(lower=low, upper=high, log=log):
            if not log:
                return int(rng.integers(low, high, endpoint=True))
            # Each whole number has the stretch around it that rounds to it: the ends are not drawn
            # half as often.
            value = math.exp(rng.uniform(math.log(low - 0.5), math.log(high + 0.5)))
            return min(max(round(value), low), high)
        case ConfigSpace.UniformFloatHyperparameter(lower=low, upper=high, log=log):
            ends = (math.log(low), math.log(high)) if log else (low, high)
            value = rng.uniform(*ends)
            return min(max(round(math.exp(value) if log else value, decimals), low), high)
        case _:
            value = plain(parameter.sample_value(seed=np.random.RandomState(rng.bit_generator)))
            return round(value, decimals) if isinstance(value, float) else value


def _stepped(
    parameter: Parameter, value: Any, spread: float, rng: np.random.Generator, decimals: int
) -> Any:
    match parameter:
        case ConfigSpace.Constant():
            return value
        case ConfigSpace.OrdinalHyperparameter():
            values = parameter.sequence
            place = _whole_step(values.index(value), 0, len(values) - 1, False, spread, rng)
            return values[place]
        # Uniform, normal and beta alike: what a file believes shapes random draws only.
        case IntegerHyperparameter(lower=low, upper=high, log=log):
            return _whole_step(value, int(low), int(high), log, spread, rng)
        case FloatHyperparameter(lower=low, upper=high, log=log):
            drawn = round(_step(value, float(low), float(high), log, spread, rng), decimals)
            return min(max(drawn, float(low)), float(high))
        case _:
            return _sample(parameter, rng, decimals)


def _whole_step(
    value: int, low: int, high: int, log: bool, spread: float, rng: np.random.Generator
) -> int:
    # As in _sample, each whole number has the stretch that rounds to it.
    return min(max(round(_step(value, low - 0.5, high + 0.5, log, spread, rng)), low), high)


def _step(
    value: float, low: float, high: float, log: bool, spread: float, rng: np.random.Generator
) -> float:
    """A draw from the normal distribution around the value, cut at the ends of the range."""
    if log:
        return math.exp(_step(math.log(value), math.log(low), math.log(high), False, spread, rng))
    while True:
        drawn = float(rng.normal(value, spread * (high - low)))
        if low <= drawn <= high:
            return drawn


def _attempts(space: Space, seed: int, *place: int) -> Iterator[Configuration]:
    """Random configurations, each from a generator of its own."""
    for attempt in range(ATTEMPTS):
        stream = np.random.SeedSequence(seed, spawn_key=(*place, attempt))
        yield space.draw(np.random.default_rng(stream))


def _assemble(draft: Draft) -> Space:
    conditions = []
    for child, texts in draft.conditions.items():
        parts = []
        for number, text in texts:
            with at_line(number):
                if child not in draft.parameters:
                    raise InputError(f"expected a parameter before '|', got {child!r:.80}.")
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
                    "expected a default configuration that is not forbidden, got one that is."
                )
    if any(clause.is_forbidden_value(dict(default.values)) for clause in clauses):
        draws = (dict(draw.values) for draw in _attempts(made, 0))
        legal = (draw for draw in draws if not any(c.is_forbidden_value(draw) for c in clauses))
        values = next(legal, None)
        if values is None:
            raise InputError(
                f"expected configurations that are not forbidden, got none in {ATTEMPTS:,} draws."
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
