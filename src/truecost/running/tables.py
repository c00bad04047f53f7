"""The tables of a scenario file, and its errors in one line."""

import difflib
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

import pydantic
from pydantic import Field

Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Words = Annotated[tuple[str, ...], Field(min_length=1, strict=False)]


# What to add where a table is missing.
EXAMPLES = {
    "name": 'name = "my-solver" at the top',
    "target": '[target] with kind = "command" and command = […]',
    "space": '[space] with file = "params.pcs"',
    "instances": '[instances], for example glob = "instances/*.cnf"',
    "limits": "[limits], for example wall = 10 (seconds per run)",
    "metric": '[metric], for example kind = "par" and factor = 10',
}


class TomlTable(pydantic.BaseModel):
    """A table of the scenario file: no unknown keys, no text for numbers, immutable."""

    model_config = pydantic.ConfigDict(frozen=True, extra="forbid", strict=True)


class Target(TomlTable):
    """How the solver is called; docs/scenario.md describes each key."""

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

    cpu: Positive | None = None
    wall: Positive | None = None
    memory: Positive | None = None
    cutoff: Positive | None = None
    output: Positive = 10.0
    grace: Annotated[float, Field(ge=0, le=60)] = 0.0
    cores: Annotated[int, Field(ge=1)] = 1


def first_problem(error: pydantic.ValidationError, model: type[pydantic.BaseModel]) -> str:
    """The first problem of a file, with its key, in one line; misspelt keys before missing ones."""
    problem = min(
        error.errors(include_url=False), key=lambda problem: problem["type"] != "extra_forbidden"
    )
    *tables, name = place = [str(part) for part in problem["loc"]]
    key, given = ".".join(place), problem["input"]
    if problem["type"] == "extra_forbidden":
        keys = _keys(model, tables)
        near = difflib.get_close_matches(name, keys, 1)
        what, written = ("table", "[{}]") if isinstance(given, dict) else ("key", "'{}'")
        hint = f"Did you mean {written.format(*near)}?" if near else f"Use {', '.join(keys)}."
        return f"{key}: unknown {what}. {hint}"
    if problem["type"] == "missing":
        hint = EXAMPLES.get(key, f"{name} = … under [{'.'.join(tables)}]")
        return f"{key} is missing. Add {hint}."
    if problem["type"] == "too_short":
        return f"{key} is an empty list. Give at least one word."
    expected = problem["msg"].removeprefix("Input should be ")
    if problem["type"] == "tuple_type":
        expected = 'a list, for example ["a", "b"]'
    return f"{key} must be {expected}; it is {given!r:.60}."


def _keys(model: Any, place: Sequence[str]) -> list[str]:
    """The keys of a table of the file."""
    for part in place:
        annotation = model.model_fields[part].annotation
        # Of `AnswerFormat | None`, the first.
        model = getattr(annotation, "__args__", (annotation,))[0]
    return [*model.model_fields]
