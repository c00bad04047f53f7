"""The JSON of every command as a JSON Schema and as a reference page, both from the records.

`python -m truecost.cli.schema FOLDER` writes them: truecost.schema.json and json.md.
"""

import json
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from truecost.cli.meanings import MEANINGS
from truecost.cli.outputs import commands
from truecost.cli.printing import SCHEMA
from truecost.cli.records import typed


@cache
def schema() -> dict[str, Any]:
    """The JSON Schema of all commands, one definition each."""
    definitions: dict[str, Any] = {}
    for command, (kinds, optional) in commands().items():
        # Numbers that are not finite become null.
        made = _nullable(TypeAdapter(typed(_title(command), kinds)).json_schema())
        definitions |= made.pop("$defs", {})
        made["properties"] = {"schema": {"const": SCHEMA}} | made["properties"]
        made["required"] = ["schema", *(key for key in made["required"] if key not in optional)]
        for key, text in MEANINGS.items():
            if key in made["properties"]:
                made["properties"][key].setdefault("description", text)
        definitions[_title(command)] = made
    for definition in definitions.values():
        if definition.get("type") == "object" and "properties" in definition:
            definition["additionalProperties"] = False
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"truecost --json, schema {SCHEMA}",
        "$defs": dict(sorted(definitions.items())),
    }


def command_schema(command: str) -> dict[str, Any]:
    """The schema of one command's JSON."""
    return schema() | {"$ref": f"#/$defs/{_title(command)}"}


def _title(command: str) -> str:
    return f"truecost-{command.replace(' ', '-')}"


def _nullable(part: Any) -> Any:
    if isinstance(part, list):
        return [_nullable(each) for each in part]
    if not isinstance(part, dict):
        return part
    made = {key: _nullable(value) for key, value in part.items() if key != "title"}
    if isinstance(part.get("title"), dict):  # a key that is called title
        made["title"] = _nullable(part["title"])
    return made | {"type": ["number", "null"]} if part.get("type") == "number" else made


HEAD = """# JSON

Every command that prints numbers has `--json`. The names are those of the tables, the options and
the Python records. All digits are printed; a number that is not finite is `null`. `"schema"` counts
the changes that break programs: keys may be added without a new number, never renamed or removed.

[truecost.schema.json](truecost.schema.json) is the JSON Schema of everything below. Both files are
generated from the records: `python -m truecost.cli.schema docs/reference`.
"""


def page() -> str:
    """The reference page: every key of every command."""
    definitions = schema()["$defs"]
    lines = [HEAD, "## Commands"]
    ordered = sorted(definitions, key=lambda name: (not name.startswith("truecost-"), name))
    for name in ordered:
        if "properties" not in definitions[name]:
            continue
        if not name.startswith("truecost-") and "## Objects" not in lines:
            lines += ["", "## Objects"]
        lines += ["", f"### {name}", "", *_table(definitions[name])]
    return "\n".join(lines) + "\n"


def _table(definition: dict[str, Any]) -> Iterator[str]:
    yield "| key | type | meaning |"
    yield "| --- | --- | --- |"
    for key, part in definition["properties"].items():
        missing = "" if key in definition.get("required", ()) else " (may be missing)"
        meaning = part.get("description", "").replace("|", "\\|")
        yield f"| `{key}`{missing} | {_type(part)} | {meaning} |"


def _type(part: dict[str, Any]) -> str:
    """A type as people read it."""
    if "$ref" in part:
        name = part["$ref"].rpartition("/")[2]
        if "properties" not in (definition := schema()["$defs"][name]):
            return _type(definition)  # the page has no section of it to link to
        return f"[{name}](#{name.lower().replace(' ', '-')})"
    if "const" in part:
        return f"`{json.dumps(part['const'])}`"
    if "enum" in part:
        return ", ".join(f"`{value}`" for value in part["enum"])
    if "anyOf" in part:
        return " or ".join(_type(each) for each in part["anyOf"])
    kind = part.get("type", "anything")
    if kind == ["number", "null"]:
        return "number"
    if kind == "array":
        return f"list of {_type(part.get('items', {}))}"
    if kind == "object" and isinstance(part.get("additionalProperties"), dict):
        return f"object of {_type(part['additionalProperties'])}"
    return str(kind)


def write(folder: Path) -> None:
    """Write schema and page."""
    text = json.dumps(schema(), indent=1, ensure_ascii=False)
    (folder / "truecost.schema.json").write_text(f"{text}\n", encoding="utf-8")
    (folder / "json.md").write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
