"""Messages name parameters in backquotes, as Python has them; here they become what is typed."""

import re
import sys
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar

from typer.core import TyperCommand

PARAMETER = re.compile(r"`(\w+)(?:=([^`]*))?`")
Told = TypeVar("Told")
# Of the command that runs: what a parameter is called, and what turns a switch off.
_running: dict[str, tuple[str, str | None]] = {}


class Command(TyperCommand):
    """A command that remembers its options, for what is said while it runs and after it failed."""

    def invoke(self, ctx: Any) -> Any:
        """Run it."""
        _running.clear()
        for each in self.params:
            if each.param_type_name == "argument":
                _running[each.name or ""] = ((each.name or "").upper(), None)
            else:
                off = each.secondary_opts[0] if each.secondary_opts else None
                _running[each.name or ""] = (max(each.opts, key=len), off)
        return super().invoke(ctx)

    def get_help(self, ctx: Any) -> str:
        """Its help, in letters that the terminal has."""
        letters = sys.stdout.encoding or "utf-8"
        return str(super().get_help(ctx)).encode(letters, "replace").decode(letters)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Arguments and options under the headings that they were given."""
        groups: dict[str, list[tuple[str, str]]] = {}
        for each in self.get_params(ctx):
            if (record := each.get_help_record(ctx)) is not None:
                usual = "Arguments" if each.param_type_name == "argument" else "Options"
                groups.setdefault(getattr(each, "rich_help_panel", None) or usual, []).append(
                    record
                )
        for title, records in groups.items():
            with formatter.section(title):
                formatter.write_dl(records)


def flagged(text: str) -> str:
    """The text with `low` as --low and `pin=False` as --no-pin, where the command that runs has
    such options.
    """
    return PARAMETER.sub(_typed, text)


def typed(what: Told) -> Told:
    """A document, a section or any part of it with all its words `flagged`."""
    if isinstance(what, str):
        return flagged(what)  # type: ignore[return-value]
    if isinstance(what, tuple):
        parts = [typed(part) for part in what]
        return type(what)(*parts) if hasattr(what, "_fields") else tuple(parts)  # type: ignore[return-value]
    if is_dataclass(what) and not isinstance(what, type):
        return replace(
            what,
            **{each.name: typed(getattr(what, each.name)) for each in fields(what) if each.init},
        )
    return what


def _typed(found: "re.Match[str]") -> str:
    name, value = found.groups()
    if name not in _running:
        return found[0]
    on, off = _running[name]
    if value == "False" and off is not None:
        return off
    return on if value in (None, "True") else f"{on} {value.strip(chr(34))}"
