"""Text, made safe to show, and where a line of it must not end."""

import re

# A space between a number and its unit.
BEFORE_UNIT = re.compile(r"(?<=\d) (?=(?:%|PAR\d+ s|m?s|min|h|[KMG]B)(?!\w))")
# Columns if there is no terminal.
WIDTH = 80


def visible(text: str) -> str:
    """Escape control characters, so that names from files cannot act on a terminal or a page."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
