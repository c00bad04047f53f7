"""Text from files, as people may see it."""

# Columns where there is no terminal.
WIDTH = 80


def visible(text: str) -> str:
    """The text with control characters shown instead of obeyed: names come from files."""
    return (
        text
        if text.isprintable()
        else "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    )
