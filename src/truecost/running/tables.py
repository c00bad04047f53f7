"""The tables [target], [answer] and [limits] of a scenario file, the words of its commands, and
what is wrong with it, in a line that names the key.
"""

import contextlib
import difflib
import json
import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import pydantic
from pydantic import Field

from truecost.journal.metric import Seconds, TomlTable

Words = Annotated[tuple[str, ...], Field(min_length=1, strict=False)]


class Target(TomlTable):
    """How the solver is called; docs/running.md describes each key."""

    kind: str
    command: Words | None = None
    function: str | None = None
    program: str | None = None
    style: str | None = None
    builder: str | None = None
    check: Words | str | None = None
    version: Words | None = None
    environment: Mapping[str, str] = Field(default_factory=dict)
    runlength: int = 2**31 - 1
    bound: bool = False
    private: bool = True
    own_folder: bool = False
    whole: bool = False
    keep: Words | None = None
    warm: bool = False

    def given(self) -> dict[str, str]:
        """The functions it names, 'file.py:name', by what they are for."""
        named = ((key, getattr(self, key)) for key in ("function", "program", "builder", "check"))
        return {key: value for key, value in named if isinstance(value, str)}


class AnswerFormat(TomlTable):
    """How the output of a command is read: the exit codes that count, and regular expressions, for
    numbers with one group.
    """

    exit: Annotated[tuple[int, ...], Field(strict=False)] = (0,)
    solved: str | None = None
    unsolved: str | None = None
    time: str | None = None
    value: str | None = None


class Limits(TomlTable):
    """What a run may use: seconds of CPU time of the whole tree, seconds passed, MB resident,
    cores; MB of output and of files kept.

    `cutoff` is passed to the target, `cpu` (or `wall`) where it is not given; `grace` the
    seconds between SIGTERM and SIGKILL, none as a rule.
    """

    cpu: Seconds | None = None
    wall: Seconds | None = None
    memory: Seconds | None = None
    cutoff: Seconds | None = None
    output: Seconds = 10.0
    grace: Annotated[float, Field(ge=0, le=60)] = 0.0
    cores: Annotated[int, Field(ge=1)] = 1
    keep: Seconds = 10.0


def placeholders(word: str) -> list[str]:
    """The names in braces in a word of a command."""
    return [name for name in re.findall(r"\{\{|\}\}|\{(\w*)\}", word) if name]


def fill(word: str, values: Mapping[str, str]) -> str:
    """A word of a command with its placeholders filled in."""
    # In one pass, so that values are never looked into.

    def replacement(match: re.Match[str]) -> str:
        text = match.group()
        return text[0] if text in ("{{", "}}") else values.get(text[1:-1], text)

    return re.sub(r"\{\{|\}\}|\{\w+\}", replacement, word)


def first_problem(error: pydantic.ValidationError, model: type[pydantic.BaseModel]) -> str:
    """The first thing wrong, with the key it is wrong at, in one line; a misspelt name before the
    one that is missing.
    """
    problem = min(
        error.errors(include_url=False), key=lambda problem: problem["type"] != "extra_forbidden"
    )
    place = [str(part) for part in problem["loc"]]
    key = ".".join(place)
    given = problem.get("input")
    if problem["type"] == "extra_forbidden":
        near = difflib.get_close_matches(place[-1], _keys(model, place[:-1]), 1)
        brackets = "[{}]" if isinstance(given, dict) else "'{}'"
        hint = (
            f"did you mean {brackets.format(near[0])}?"
            if near
            else f"known are {', '.join(_keys(model, place[:-1]))}."
        )
        return f"{key}: unknown {'table' if isinstance(given, dict) else 'key'}; {hint}"
    if problem["type"] == "missing":
        return f"{key}: expected, and not there."
    if problem["type"] == "tuple_type":
        what = "words" if place[0] == "target" else "numbers" if key == "answer.exit" else "names"
        words = [given]
        if isinstance(given, str):
            # A quote that was left open is no reason not to give an example.
            with contextlib.suppress(ValueError):
                words = shlex.split(given)
        example = json.dumps(words, default=str)
        return f"{key}: expected a list of {what}, {example} for instance, got {given!r:.60}."
    if problem["type"] == "too_short":
        return f"{key}: expected at least one word, got none."
    message = problem["msg"].removeprefix("Input should be ")
    return f"{key}: expected {message}, got {given!r:.60}."


def _keys(model: Any, place: Sequence[str]) -> list[str]:
    for part in place:
        options = [model.model_fields[part].annotation] if part in model.model_fields else []
        options += list(getattr(options[0], "__args__", ())) if options else []
        models = [
            option
            for option in options
            if isinstance(option, type) and issubclass(option, pydantic.BaseModel)
        ]
        if not models:
            return []
        model = models[0]
    return list(model.model_fields)


def cause_of(error: BaseException) -> str:
    """What an error says, without its full stop."""
    return str(error).rstrip(".") or type(error).__name__
