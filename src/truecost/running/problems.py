"""What is wrong with a scenario file, in a line that names the key; the words of its commands."""

import difflib
import json
import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

import pydantic


def placeholders(word: str) -> list[str]:
    """The names in braces in a word of a command."""
    return [name for name in re.findall(r"\{\{|\}\}|\{(\w*)\}", word) if name]


def fill(word: str, values: Mapping[str, str]) -> str:
    """A word of a command with its placeholders filled in, in one pass, so that values are never
    looked into.
    """

    def replacement(match: re.Match[str]) -> str:
        text = match.group()
        return text[0] if text in ("{{", "}}") else values.get(text[1:-1], text)

    return re.sub(r"\{\{|\}\}|\{\w+\}", replacement, word)


def first_problem(error: pydantic.ValidationError, model: type[pydantic.BaseModel]) -> str:
    """The first thing wrong, with the key it is wrong at, in one line; a misspelt name before the
    one that is missing.
    """
    problem = min(
        error.errors(include_url=False), key=lambda each: each["type"] != "extra_forbidden"
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
        example = json.dumps(_words(given) if isinstance(given, str) else [given], default=str)
        return f"{key}: expected a list of {what}, {example} for instance, got {given!r:.60}."
    if problem["type"] == "too_short":
        return f"{key}: expected at least one word, got none."
    message = problem["msg"].removeprefix("Input should be ")
    return f"{key}: expected {message}, got {given!r:.60}."


def _words(text: str) -> list[str]:
    """The words of a command line, as a shell would take them apart."""
    try:
        return shlex.split(text)
    except ValueError:
        return text.split()


def _keys(model: Any, place: Sequence[str]) -> list[str]:
    for part in place:
        options = [model.model_fields[part].annotation] if part in model.model_fields else []
        options += list(getattr(options[0], "__args__", ())) if options else []
        found = [
            option
            for option in options
            if isinstance(option, type) and issubclass(option, pydantic.BaseModel)
        ]
        if not found:
            return []
        model = found[0]
    return list(model.model_fields)


def cause_of(error: BaseException) -> str:
    """What an error says, without its full stop."""
    return str(error).rstrip(".") or type(error).__name__
