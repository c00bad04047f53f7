"""The keys of every command's JSON: what each is called, its type and its meaning.

`json_keys.txt` describes objects that are no records, a line for each key: name, type, meaning.
Types are `str`, `int`, `float`, `bool`, `any`, `values` (an object of anything), or another object;
`[int]` is a list, `{int}` an object with such values, `int?` may be null, `Plan|Refusal` is one of
two. `like X` takes over the keys of X, `like X: a b` two of them. Under its last heading are the
commands, with the objects whose keys each has; those in parentheses may be missing.
"""

import re
from collections.abc import Sequence
from dataclasses import is_dataclass
from functools import cache
from inspect import cleandoc, getdoc
from pathlib import Path
from typing import Annotated, Any, get_type_hints

from pydantic import Field
from typing_extensions import TypedDict

# Called with names and types that only the records know.
typed: Any = TypedDict

# An entry of a numpydoc section: its names, and its words indented below.
ENTRY = re.compile(r"^(\w+(?:, \w+)*)\n((?: {4}.*\n|\n)+)", re.MULTILINE)
TYPES: dict[str, Any] = {
    "str": str,
    "int": int,
    "float": float,
    "bool": bool,
    "any": Any,
    "values": dict[str, Any],
}
KEYS = Path(__file__).with_name("json_keys.txt").read_text(encoding="utf-8")
LINES = {
    title: lines for title, *lines in (part.split("\n") for part in KEYS.strip().split("\n\n"))
}


@cache
def commands() -> dict[str, tuple[dict[str, Any], frozenset[str]]]:
    """The keys of every command with their types, and which of them may be missing."""
    listed: dict[str, tuple[dict[str, Any], frozenset[str]]] = {}
    for line in LINES["commands"]:
        command, _, objects = line.partition(" = ")
        fields: dict[str, Any] = {}
        optional: set[str] = set()
        for name in objects.split(", "):
            own = fields_of(name.strip("()"))
            fields |= own
            optional |= set(own) if name.startswith("(") else set()
        listed[command] = fields, frozenset(optional)
    return listed


@cache
def kind_of(text: str) -> Any:
    """The type that a text of `OBJECTS` names."""
    if text.endswith("?"):
        return kind_of(text[:-1]) | None
    if text[0] == "[":
        return list[kind_of(text[1:-1])]  # type: ignore[misc]
    if text[0] == "{":
        return dict[str, kind_of(text[1:-1])]  # type: ignore[misc]
    if "|" in text:
        first, _, rest = text.partition("|")
        return kind_of(first) | kind_of(rest)
    return TYPES.get(text) or _records().get(text) or typed(text, fields_of(text))


@cache
def fields_of(name: str) -> dict[str, Any]:
    """The keys of an object, or some of them (`parts: outlook`), with types and meanings."""
    if name == "audited":
        from truecost.judge.assessment import AUDITED

        # A part that is not described yet may be anything.
        return {key: fields_of("parts").get(key, Any) for key in AUDITED}
    title, _, picked = name.partition(": ")
    if picked:
        return {key: fields_of(title)[key] for key in picked.split()}
    if name not in LINES:
        return dict(kind_of(name).__annotations__)
    fields: dict[str, Any] = {}
    for line in LINES[name]:
        key, kind, meaning = [*line.split(" ", 2), ""][:3]
        if key == "like":
            fields |= fields_of(line.removeprefix("like "))
            continue
        described: Any = Annotated[kind_of(kind), Field(description=meaning)]
        fields[key] = described if meaning else kind_of(kind)
    return fields


@cache
def _records() -> dict[str, Any]:
    """Objects that are records of Python, or made from those."""
    from truecost.campaigns.changes import Change
    from truecost.campaigns.configure import Configured
    from truecost.campaigns.explain import PathStep
    from truecost.campaigns.gather import GatherForecast
    from truecost.doctor import Finding
    from truecost.journal.validationlog import Stop
    from truecost.judge import optimism
    from truecost.judge.bounds import PaperBounds
    from truecost.judge.families import FamilyResult
    from truecost.judge.parts import PROPERTIES
    from truecost.judge.question import NonInferiority, Question
    from truecost.judge.scope import Scope
    from truecost.judge.searches import OneSearch
    from truecost.judge.statements import Certificate, Contribution, Statement
    from truecost.judge.whole_list import WholeList
    from truecost.paper.claims import Claim
    from truecost.paper.fit import Fit
    from truecost.plan.power import Power
    from truecost.runs import Machine
    from truecost.stats.approximate import Approximate
    from truecost.stats.folds import FoldInterval
    from truecost.stats.forecast import Forecast, Width
    from truecost.stats.grouping import Alike, NestedComponents

    plain: list[Any] = [Alike, Approximate, Change, Claim, Contribution, FamilyResult, Finding, Fit]
    plain += [FoldInterval, GatherForecast, NestedComponents, NonInferiority, OneSearch]
    plain += [PaperBounds, Power, Question, Scope, Statement, Stop, WholeList]
    made = {
        source.__name__: record(source, *PROPERTIES.get(source.__name__, ())) for source in plain
    }
    corrected = "The difference to the default, corrected for the choice."
    apart: dict[str, Any] = {"configurations": list[str] | None, "within": float, "across": float}
    apart |= dict.fromkeys(("observed_difference", "observed_standard_error"), float | None)
    ended: dict[str, Any] = {"all_runs": int, "cpu": float, "spent": float, "fresh_instances": int}
    ended |= {"left_out_instances": int, "shown": bool, "notes": list[str]}
    return made | {
        "Certificate": record(Certificate, width=record(Width) | None),
        "Comparison": _comparison(made["Contribution"]),
        "Forecast": record(Forecast, show=str),
        "Guess": record(Change, "names", title="Guess", importance=float),
        "Machine": record(Machine, conditions=dict[str, Any]),
        "Noise": record(
            optimism.Noise,
            spread=record(optimism.Spread),
            heaviest=record(optimism.Heaviest) | None,
        ),
        "Optimism": record(
            optimism.Optimism,
            expected_difference=Annotated[float | None, Field(description=corrected)],
        ),
        "OverTuning": record(optimism.OverTuning, along=list[record(optimism.Point)]),  # type: ignore[misc]
        "PathStep": record(PathStep, changes=list[made["Change"]]),  # type: ignore[valid-type]
        "PlanToShow": record(Forecast, title="PlanToShow", show=str),
        "Realised": record(Statement, title="Realised"),
        "Search": record(
            Configured,
            title="Search",
            without=("assessment",),
            **dict.fromkeys(("incumbent", "recommended", "default"), _later("Proposal")),
            budget=_later("Budget"),
        ),
        "TellApart": record(Power, title="TellApart", **apart),
        "Validation": record(Stop, title="Validation", **ended),
    }


def _later(name: str) -> Any:
    return typed(name, fields_of(name))


def _comparison(contribution: Any) -> Any:
    from truecost.judge.parts import COMPARED
    from truecost.judge.statements import Comparison

    hints = get_type_hints(Comparison)
    own = {name: hints[name] for name in COMPARED if name in hints}
    others = [name for name in COMPARED if name not in own and name != "deciding"]
    deciding: dict[str, Any] = {"deciding": list[contribution]}
    return record(Bare(Comparison), *others, title="Comparison", **own, **deciding)


def described(record: Any) -> dict[str, str]:
    """What the fields of a record mean, by its docstring and those of its bases."""
    words: dict[str, str] = {}
    for kind in reversed(getattr(record, "__mro__", (record,))):
        text = f"{cleandoc(kind.__doc__ or '')}\n"
        _, found, entries = text.partition("Attributes\n----------\n")
        if not found:
            entries = text.partition("Parameters\n----------\n")[2]
        for names, meaning in ENTRY.findall(entries):
            words |= dict.fromkeys(names.split(", "), " ".join(meaning.split()))
    return words


def record(
    source: Any, /, *names: str, title: str = "", without: Sequence[str] = (), **more: Any
) -> Any:
    """The fields of a record as JSON has them; `names` are properties of it, or some of its fields.

    Parameters
    ----------
    source
        A dataclass, a named tuple, or a function whose docstring describes `more`.
    names
        Properties to add; of a class without fields to take, the only keys.
    title, without
        What the object is called in the schema, and which fields are left out.
    more
        Further keys with their types.
    """
    fields = (
        dict(get_type_hints(source)) if is_dataclass(source) or hasattr(source, "_fields") else {}
    )
    words = described(source)
    keys = {key: kind for key, kind in fields.items() if key not in {*more, *without}}
    for key in names:
        getter = getattr(source, key).fget
        keys[key] = get_type_hints(getter)["return"]
        words.setdefault(key, (getdoc(getter) or "").partition("\n\n")[0].replace("\n", " "))
    keys |= more
    annotated = {
        key: Annotated[kind, Field(description=words[key])] if words.get(key) else kind
        for key, kind in keys.items()
    }
    return typed(title or source.__name__, annotated)


class Bare:
    """A class whose fields are not taken, only its docstring and the properties that are named."""

    def __init__(self, source: Any) -> None:
        self.__doc__ = source.__doc__
        self._source = source

    def __getattr__(self, name: str) -> Any:
        return getattr(self._source, name)
