"""Commands from records of options, and back: lines to paste, and messages that name options.

Library messages name parameters in backquotes, as Python has them; `flagged` writes them as the
running command's options.
"""

import inspect
import re
import shlex
import sys
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass, replace
from functools import cache, wraps
from pathlib import Path
from typing import Annotated, Any, TypeVar, get_args, get_type_hints

import typer
from typer.core import TyperCommand

from truecost.cli.options import ABOUT, READING, READS, RUNNING, WAYS

# How typer writes kinds of values, and how they are written here; words to choose from stay.
KIND = re.compile(r"<(?:list\[)?([^<>\]]+)\]?>")
KINDS = {
    "str": "TEXT",
    "float": "NUMBER",
    "int": "INTEGER",
    "int range": "INTEGER",
    "path": "PATH",
    "str,str": "TEXT TEXT",
}
# What typer says of the least and the largest number.
RANGE = re.compile(r"\s*\[[\d<=]*x[<>=\d]*\]|; [\d<=]*x[<>=\d]*(?=\])")
# Groups of options that many commands have, and the command that describes them.
SUBJECTS = {WAYS: "audit", ABOUT: "audit", RUNNING: "gather", READING: "import"}
PARAMETER = re.compile(r"`(\w+)(?:=([^`]*))?`")
Part = TypeVar("Part")
# Of the command that runs: what a parameter is called, and what turns a switch off.
_running: dict[str, tuple[str, str | None]] = {}


class Command(TyperCommand):
    """A command that remembers its options, for messages while it runs and after it failed."""

    def invoke(self, ctx: Any) -> Any:
        """Run it."""
        # One process may run several commands, as tests do.
        _running.clear()
        _running.update({parameter.name: _flags(parameter) for parameter in self.params})
        return super().invoke(ctx)

    def get_help(self, ctx: Any) -> str:
        """Its help, in letters that the terminal has."""
        letters = sys.stdout.encoding or "utf-8"
        return str(super().get_help(ctx)).encode(letters, "replace").decode(letters)

    def collect_usage_pieces(self, ctx: Any) -> list[str]:  # noqa: ARG002
        """What is typed behind the command: RUNS, not {runs}."""
        arguments = (part for part in self.params if part.param_type_name == "argument")
        names = [(part.metavar or _flags(part)[0], part.required) for part in arguments]
        return ["[OPTIONS]", *(name if required else f"[{name}]" for name, required in names)]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Arguments and options under their headings. Groups that many commands have come last:
        only the command whose subject they are describes them, the others name them.
        """
        groups: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            if (record := help_record(parameter, ctx)) is not None:
                usual = "Arguments" if parameter.param_type_name == "argument" else "Options"
                panel = getattr(parameter, "rich_help_panel", None) or usual
                groups.setdefault(panel, []).append(record)
        for title, records in sorted(groups.items(), key=lambda group: group[0] in SUBJECTS):
            with formatter.section(title):
                if SUBJECTS.get(title, self.name) == self.name:
                    formatter.write_dl(records)
                    continue
                formatter.write_text(", ".join(re.split(r"[ ,]", name)[0] for name, _ in records))
                formatter.write_text(f"See: truecost {SUBJECTS[title]} --help")


def help_record(parameter: Any, ctx: Any) -> tuple[str, str] | None:
    """An option and its help, with the kind of its value in words: --low NUMBER."""
    if (record := parameter.get_help_record(ctx)) is None:
        return None
    name, text = record
    if parameter.param_type_name == "argument":
        return parameter.metavar or _flags(parameter)[0], text
    return KIND.sub(lambda match: KINDS.get(match[1], match[1]), name), RANGE.sub("", text)


def declared(command: Callable[..., None]) -> Callable[..., None]:
    """Make a command that takes records one that takes their fields, each as an option; and have
    options that are declared by `asked` understood.

    A record annotated with a string, `Annotated[Source, "else …"]`, is one whose RUNS may be left
    out; the string says in the help what happens then.
    """
    records: dict[str, Any] = {}
    parameters: dict[str, inspect.Parameter] = {}
    for name, parameter in inspect.signature(command, eval_str=True).parameters.items():
        record, *note = get_args(parameter.annotation)[:2] or (parameter.annotation,)
        if not is_dataclass(record):
            parameters[name] = _parameter(name, parameter.annotation, parameter.default)
            continue
        records[name] = record
        hints = get_type_hints(record, include_extras=True)
        for field in fields(record):
            kind: Any = hints[field.name]
            default: Any = field
            if note and field.name == "runs":
                help_text = f"{READS}; {note[0]}."
                kind, default = Annotated[Path | None, typer.Argument(help=help_text)], None
            parameters[field.name] = _parameter(field.name, kind, default)

    @wraps(command)
    def call(**given: Any) -> None:
        values = {
            name: record(**{field.name: given.pop(field.name) for field in fields(record)})
            for name, record in records.items()
        }
        command(**values, **given)

    # Typer reads signature and annotations, and calls with keywords.
    call.__signature__ = inspect.Signature(list(parameters.values()))  # type: ignore[attr-defined]
    call.__annotations__ = {name: item.annotation for name, item in parameters.items()}
    return call


def _parameter(name: str, kind: Any, default: Any) -> inspect.Parameter:
    """A parameter as typer takes it, its option beside its type and not in its default."""
    if isinstance(default, Field):
        option = default.metadata.get("option")
        kind = kind if option is None else Annotated[kind, option]
        default = inspect.Parameter.empty if default.default is MISSING else default.default
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=kind, default=default)


@cache
def _parameters(command: str) -> tuple[Any, ...]:
    """The parameters of a command, as the program itself has them."""
    from truecost.cli import app

    *groups, name = command.split()
    tree: Any = typer.main.get_command(app(groups or [name]))
    for word in (*groups, name):
        # A program with a single command has no level for its name.
        tree = getattr(tree, "commands", {}).get(word, tree)
    return tuple(tree.params)


def command_line(command: str, *records: Any, **more: object) -> str:
    """The line that asks what these records ask, to be pasted into a shell.

    Options come from the command's own declaration: those it does not have are left out, and so are
    those at their default. `more` are further parameters; they go before the records'.
    """
    given = {
        field.name: getattr(record, field.name) for record in records for field in fields(record)
    } | more
    parameters = {parameter.name: parameter for parameter in _parameters(command)}
    if unknown := more.keys() - parameters.keys():
        raise KeyError(f"truecost {command} has no {', '.join(sorted(unknown))}")
    words = ["truecost", *command.split()]
    for name, parameter in parameters.items():
        value = given.get(name)
        if value is not None and value != parameter.default:
            words += _words(parameter, value)
    return shlex.join(words)


def _words(parameter: Any, value: Any) -> list[str]:
    """What is typed to give a parameter this value."""
    on, off = _flags(parameter)
    if parameter.param_type_name == "argument":
        text = _word(value)
        # A dash in front would make an option of it.
        return [f"./{text}" if text.startswith("-") else text]
    if isinstance(value, bool):
        return [on] if value else [off] if off is not None else []
    if parameter.nargs > 1:
        return [on, *map(_word, value)]
    values = value if isinstance(value, list | tuple) else [value]
    return [f"{on}={_word(item)}" for item in values]


def _word(value: Any) -> str:
    """A value as it is typed; floats with all their digits."""
    text = str(getattr(value, "value", value))
    return text.removesuffix(".0") if isinstance(value, float) else text


def _flags(parameter: Any) -> tuple[str, str | None]:
    if parameter.param_type_name == "argument":
        return str(parameter.name).upper(), None
    off = parameter.secondary_opts[0] if parameter.secondary_opts else None
    return max(parameter.opts, key=len), off


def flagged(text: str) -> str:
    """The text with `low` as --low and `pin=False` as --no-pin, where the command that runs has
    such options.
    """
    return PARAMETER.sub(_flag, text)


def flagged_parts(part: Part) -> Part:
    """A document, a section or any part of it with all its words `flagged`."""
    if isinstance(part, str):
        return flagged(part)  # type: ignore[return-value]
    if isinstance(part, tuple):
        parts = [flagged_parts(piece) for piece in part]
        return type(part)(*parts) if hasattr(part, "_fields") else tuple(parts)  # type: ignore[return-value]
    if is_dataclass(part) and not isinstance(part, type):
        texts: Mapping[str, Any] = {
            field.name: flagged_parts(getattr(part, field.name))
            for field in fields(part)
            if field.init
        }
        return replace(part, **texts)
    return part


def _flag(match: "re.Match[str]") -> str:
    name, value = match.groups()
    if name not in _running:
        return match[0]
    on, off = _running[name]
    if value == "False" and off is not None:
        return off
    return on if value in (None, "True") else f"{on} {value.strip(chr(34))}"
