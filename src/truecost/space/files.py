"""The text of a parameter file: PCS old and new, irace's parameters.txt, ConfigSpace JSON."""

import json
import math
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import ConfigSpace

from truecost.errors import InputError
from truecost.space.conditions import check_depth
from truecost.space.parameters import (
    DECIMALS,
    Parameter,
    Value,
    list_parameter,
    plain,
    range_parameter,
    values_of,
)

Line = tuple[int, str]

PCS_PARAMETER = re.compile(
    r"(?P<name>[^\s{}\[\]|,\0]+)(?:\s+(?P<type>categorical|ordinal|integer|real))?"
    r"\s*(?P<domain>\{[^{}\0]*\}|\[[^\[\]]*\])"
    r"\s*\[(?P<default>[^\[\]]*)\]\s*(?P<scale>\w*)"
)
PCS_HEADING = re.compile(r"(conditionals?|conditions?|forbidden)\s*:", re.IGNORECASE)
IRACE_START = re.compile(r'[\w.]+\s+"[^"]*"\s+[rico]\b')
IRACE_DIGITS = re.compile(r"digits\s*=\s*(\d{1,2})", re.ASCII)
IRACE_PARAMETER = re.compile(
    r'(?P<name>[\w.]+)\s+"(?P<switch>[^"\0]*)"\s+(?P<type>[rico])(?P<log>,log)?\s*'
    r'\((?P<values>(?:"[^"\0]*"|[^()"|\0])*)\)\s*(?:\|(?P<condition>.*))?'
)
# A comma inside of quotes does not separate.
COMMA = re.compile(r',(?=(?:[^"]*"[^"]*")*[^"]*$)')


@dataclass(slots=True, kw_only=True)
class Draft:
    """The content of a PCS or irace file; conditions and forbidden combinations as numbered lines,
    which are read when all parameters are known.
    """

    parameters: dict[str, Parameter] = field(default_factory=dict)
    conditions: dict[str, list[Line]] = field(default_factory=dict)
    forbidden: list[Line] = field(default_factory=list)
    switches: dict[str, str] | None = None
    decimals: int = DECIMALS

    def add(self, parameter: Parameter) -> None:
        """Add a parameter."""
        if parameter.name in self.parameters:
            raise InputError(
                f"The parameter {parameter.name!r} is here twice. Remove or rename one."
            )
        self.parameters[parameter.name] = parameter


def parse_text(text: str) -> Draft:
    """The content of a PCS or irace file."""
    stripped = [line.partition("#")[0].strip() for line in text.split("\n")]
    lines = [(number, line) for number, line in enumerate(stripped, 1) if line]
    irace = any(IRACE_START.match(line) for line in stripped)
    return _parse_irace(lines) if irace else _parse_pcs(lines)


def _parse_pcs(lines: Sequence[Line]) -> Draft:
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
    is_list = domain.startswith("{")
    if kind and is_list != (kind in ("categorical", "ordinal")):
        raise InputError(
            f"{domain!r:.80} does not fit the {kind} parameter {name!r}. Write "
            f"{'a [low,high] range' if is_list else 'its {values}'}."
        )
    if "" in values:
        raise InputError(f"A value is missing in {domain!r:.80}. Remove the comma.")
    scales = ("",) if is_list else ("", "log") if kind else ("", "i", "l", "il", "li")
    if scale not in scales:
        raise InputError(
            f"{scale!r:.80} after the default of {name!r} has no meaning. Write nothing"
            f"{''.join(f' or {one}' for one in scales[1:])} there."
        )
    if is_list:
        return list_parameter(name, values, default, ordinal=kind == "ordinal")
    whole = kind == "integer" or (not kind and "i" in scale)
    return range_parameter(name, values, default, whole=whole, log="l" in scale)


def _parse_irace(lines: Sequence[Line]) -> Draft:
    digits = [int(match[1]) for _, line in lines if (match := IRACE_DIGITS.fullmatch(line))]
    switches: dict[str, str] = {}
    draft = Draft(switches=switches, decimals=min([*digits, DECIMALS]))
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
                draft.add(_irace_parameter(match, draft.decimals))
                switches[match["name"]] = match["switch"]
                if match["condition"] is not None:
                    draft.conditions[match["name"]] = [(number, match["condition"])]
            else:
                raise InputError(
                    f'Cannot read {line!r:.80}. Write name "switch" type (values) [| condition].'
                )
    return draft


def _irace_parameter(match: re.Match[str], decimals: int) -> Parameter:
    name, kind, log = match.group("name", "type", "log")
    values = [value.strip() for value in COMMA.split(match["values"])]
    if "" in values or (log and kind in "co"):
        raise InputError(
            f"Cannot read {match[0]!r:.80}. Give a value at every comma, and log for numbers only."
        )
    values = [value.strip('"') for value in values]
    if kind in "co":
        return list_parameter(name, values, values[0], ordinal=kind == "o")
    return range_parameter(name, values, None, whole=kind == "i", log=bool(log), decimals=decimals)


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
            check_depth({item["child"]: _parents(item) for item in content.get("conditions", ())})
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
            f"ConfigSpace cannot read this space ({_reason(error)}). Write it with to_json."
        ) from error


def _parents(condition: Mapping[str, Any]) -> set[str]:
    """The parameters on whose values a condition in ConfigSpace JSON depends."""
    if "conditions" not in condition:
        return {condition["parent"]}
    return set().union(*map(_parents, condition["conditions"]))


@contextmanager
def at_line(number: int) -> Iterator[None]:
    """Begin messages of errors inside with the line of the file."""
    try:
        yield
    except InputError as error:
        raise InputError(f"line {number}: {error}") from error
    except Exception as error:
        raise InputError(
            f"line {number}: ConfigSpace cannot hold this ({_reason(error)}). Change it."
        ) from error


def _reason(error: Exception) -> str:
    """The message of another library's exception, in one line."""
    return " ".join(str(error).split())[:200] or type(error).__name__
