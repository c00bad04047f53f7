"""A configuration as command-line arguments."""

import re
import shlex
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from truecost.errors import InputError

if TYPE_CHECKING:  # ConfigSpace takes a third of a second to load
    from truecost.space.parameters import Value
    from truecost.space.space import Configuration

STYLES = {
    "-name value": "-{name} {value}",
    "--name value": "--{name} {value}",
    "--name=value": "--{name}={value}",
}


def arguments(configuration: "Configuration", style: str | Mapping[str, str]) -> list[str]:
    """Write a configuration as arguments of a command, for a call without a shell.

    Parameters
    ----------
    configuration
        Its values are written in their order, reals so that they read back as the same number.
    style
        "-name value", "--name value" or "--name=value"; or a template with {value} and usually
        {name}, which is split at its own blanks before names and values are put in, so that values
        may contain blanks; or `Space.switches`: irace's switch and value are glued together and
        then split as a shell does, so that a switch ending in a blank, an empty value, and a value
        of several words give what irace's command line gives.
    """
    values = configuration.values
    if not isinstance(style, str):
        if missing := [name for name in values if name not in style]:
            raise InputError(f"The parameter {missing[0]!r} has no switch. Add one to the style.")
        return [
            word
            for name, value in values.items()
            for word in shell_words(f"{style[name]}{as_r_writes(value)}")
        ]
    template = STYLES.get(style, style)
    if "{value}" not in template or set(re.findall(r"\{.*?\}", template)) - {"{name}", "{value}"}:
        known = ", ".join(map(repr, STYLES))
        raise InputError(
            f"{style!r:.80} is not a style of arguments. Use {known}, or a template with {{name}} "
            "and {value}."
        )
    printed = []
    for name, value in values.items():
        texts = {"{name}": name, "{value}": str(value)}
        # In one pass, so that a value that reads {name} stays one.
        printed += [
            "".join(texts.get(part, part) for part in re.split(r"(\{\w+\})", word))
            for word in template.split()
        ]
    return printed


def shell_words(text: str) -> list[str]:
    """Split a text as a shell does, by blanks and quotes; nothing is expanded."""
    try:
        return shlex.split(text)
    except ValueError:
        # An apostrophe in a file name is not an open quote.
        return text.split()


def as_r_writes(value: "Value") -> str:
    """Write a value as irace does: `format(value, digits = 15, scientific = FALSE)`."""
    if not isinstance(value, float):
        return str(value)
    return np.format_float_positional(float(f"{value:.15g}"), trim="-")
