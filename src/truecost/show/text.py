"""Text from files, made safe to show."""

# Columns if there is no terminal.
WIDTH = 80


def visible(text: str) -> str:
    """Escape control characters, so that names from files cannot act on a terminal or a page."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
