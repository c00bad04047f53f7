"""The tables of a scenario file, the words of its commands, and its errors in one line."""

import contextlib
import difflib
import json
import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

import pydantic
from pydantic import Field

Seconds = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Words = Annotated[tuple[str, ...], Field(min_length=1, strict=False)]


class TomlTable(pydantic.BaseModel):
    """A table of the scenario file: no unknown keys, no text for numbers, immutable."""

    model_config = pydantic.ConfigDict(frozen=True, extra="forbid", strict=True)


class Target(TomlTable):
    """How the solver is called; docs/running.md describes each key."""

    kind: Literal["command", "wrapper", "irace", "python"]
    command: Words | None = None
    function: str | None = None
    program: str | None = None
    style: str | None = None
    builder: str | None = None
    check: Words | str | None = None
    version: Words | None = None
    environment: Mapping[str, str] = Field(default_factory=dict)
    bound: bool = False
    own_folder: bool = False

    def functions(self) -> dict[str, str]:
        """The functions it names, as 'file.py:name', by key."""
        named = ((key, getattr(self, key)) for key in ("function", "program", "builder", "check"))
        return {key: value for key, value in named if isinstance(value, str)}


class AnswerFormat(TomlTable):
    """How the output of a command is read: exit codes of success, and regular expressions, with
    one group where they give a number.
    """

    exit: Annotated[tuple[int, ...], Field(strict=False)] = (0,)
    solved: str | None = None
    unsolved: str | None = None
    time: str | None = None
    value: str | None = None


class SpaceTable(TomlTable):
    """The file with the parameters, and their default where that is not in the file."""

    file: str
    default: Mapping[str, str | int | float | bool] | Literal["middle"] | None = None


class InstanceTable(TomlTable):
    """Exactly one of the first four; `families` says which instances belong together: "folder",
    "prefix" (letters that names begin with), a csv file with instance and family, or a column of
    `file`.
    """

    glob: str | None = None
    files: Words | None = None
    file: str | None = None
    names: Words | None = None
    families: str | None = None


class Limits(TomlTable):
    """What a run may use: seconds of CPU time of the whole tree, seconds passed, MB resident,
    cores, and MB of output.

    `cutoff` is passed to the target; it is `cpu` (or `wall`) unless given. `grace`: seconds between
    SIGTERM and SIGKILL.
    """

    cpu: Seconds | None = None
    wall: Seconds | None = None
    memory: Seconds | None = None
    cutoff: Seconds | None = None
    output: Seconds = 10.0
    grace: Annotated[float, Field(ge=0, le=60)] = 0.0
    cores: Annotated[int, Field(ge=1)] = 1


def placeholders(word: str) -> list[str]:
    """The names in braces in a word of a command."""
    return [name for name in re.findall(r"\{\{|\}\}|\{(\w*)\}", word) if name]


def fill(word: str, values: Mapping[str, str]) -> str:
    """Fill in the placeholders of a word of a command."""
    # In one pass: values may contain braces.

    def replacement(match: re.Match[str]) -> str:
        text = match.group()
        return text[0] if text in ("{{", "}}") else values.get(text[1:-1], text)

    return re.sub(r"\{\{|\}\}|\{\w+\}", replacement, word)


def first_problem(error: pydantic.ValidationError, model: type[pydantic.BaseModel]) -> str:
    """The first problem of a file, with its key, in one line; misspelt keys before missing ones."""
    problem = min(
        error.errors(include_url=False), key=lambda problem: problem["type"] != "extra_forbidden"
    )
    place = [str(part) for part in problem["loc"]]
    key = ".".join(place)
    given = problem.get("input")
    if problem["type"] == "extra_forbidden":
        known = _keys(model, place[:-1])
        near = difflib.get_close_matches(place[-1], known, 1)
        brackets = "[{}]" if isinstance(given, dict) else "'{}'"
        hint = (
            f"Did you mean {brackets.format(near[0])}?"
            if near
            else f"Known keys: {', '.join(known)}."
        )
        return f"{key}: unknown {'table' if isinstance(given, dict) else 'key'}. {hint}"
    if problem["type"] == "missing":
        return f"{key} is missing. {_example(place)}"
    if problem["type"] == "tuple_type":
        what = "words" if place[0] == "target" else "numbers" if key == "answer.exit" else "names"
        words = [given]
        if isinstance(given, str):
            # An open quote in the text must not hide the problem.
            with contextlib.suppress(ValueError):
                words = shlex.split(given)
        example = json.dumps(words, default=str)
        return f"{key} must be a list of {what}. Write {example}."
    if problem["type"] == "too_short":
        return f"{key} is an empty list. Give at least one word."
    message = problem["msg"].removeprefix("Input should be ")
    return f"{key} must be {message}; it is {given!r:.60}."


def _example(place: Sequence[str]) -> str:
    """What to add where a key is missing."""
    lines = {
        "name": 'Add name = "my-solver" at the top.',
        "target": 'Add [target] with kind = "command" and command = […].',
        "space": 'Add [space] with file = "params.pcs".',
        "instances": 'Add [instances], for example glob = "instances/*.cnf".',
        "limits": "Add [limits], for example wall = 10 (seconds per run).",
        "metric": 'Add [metric], for example kind = "par" and factor = 10.',
    }
    if len(place) > 1:
        return f"Add {place[-1]} = … under [{'.'.join(place[:-1])}]."
    return lines.get(place[0], "Add it.")


def _keys(model: Any, place: Sequence[str]) -> list[str]:
    """The keys of a table of the file."""
    for part in place:
        annotation = model.model_fields[part].annotation
        # Of `AnswerFormat | None`, the first.
        model = getattr(annotation, "__args__", (annotation,))[0]
    return [*model.model_fields]


def cause_of(error: BaseException) -> str:
    """What an error says, without its full stop."""
    return str(error).rstrip(".") or type(error).__name__
