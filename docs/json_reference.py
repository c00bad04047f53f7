"""The JSON of every command as a JSON Schema and as a reference page, both from the records.

`python docs/json_reference.py FOLDER` writes them: truecost.schema.json and json.md.
"""

import json
import re
import sys
from collections import Counter
from collections.abc import Iterable
from functools import cache
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

from json_outputs import commands, typed
from pydantic import TypeAdapter

from truecost.cli.printing import SCHEMA
from truecost.judge.assessment import AUDITED

SCHEMA_KEY = {"const": SCHEMA, "description": "Counts the changes that break programs."}


@cache
def schema() -> dict[str, Any]:
    """The JSON Schema of all commands, one definition each."""
    definitions: dict[str, Any] = {}
    for command, (kinds, optional) in commands().items():
        # Numbers that are not finite become null.
        made = _nullable(TypeAdapter(typed(_title(command), kinds)).json_schema())
        definitions |= made.pop("$defs", {})
        made["properties"] = {"schema": SCHEMA_KEY} | made["properties"]
        made["required"] = ["schema", *(key for key in made["required"] if key not in optional)]
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


# Longer descriptions end at a colon or at a clause that adds detail on the page; the schema has the
# full text.
LONG, LONGEST = 9, 14
DETAIL = re.compile(
    r"(?<=\w{2}), (?:at|by|where|with|in|over|fixed|chosen|counted|which|as|that) .*"
)
# Words that add nothing to the name of a key.
EMPTY = {"a", "all", "an", "are", "each", "has", "have", "how", "in", "is", "it", "its", "many"}
EMPTY |= {"of", "on", "the", "there", "they", "were"}
# Keys that many commands have, by what the page calls them.
GROUPS = {
    "*about runs*": ("runs", "chosen", "asked", "scope", "incumbent", "default"),
    "*audited*": AUDITED,
}
HEAD = """# JSON

Every command that prints numbers has `--json`. All digits are printed; a number that is not finite
is `null`. `"schema"` counts the changes that break programs: keys may be added without a new number,
never renamed or removed.

Lower costs are better. Where a score is maximised, `runs.maximised` is true, and costs, limits and
differences are those of minus the score; tables and sentences show the score.

The [JSON Schema](truecost.schema.json) has the full descriptions. Below, `number?` may be null,
`list(number)` is a list, `object(number)` has any keys and such values. An integer without a
line counts what its key names; a boolean is true if its line holds.
"""


def page() -> str:
    """The reference page: the keys of every command, each key explained once, and the objects."""
    definitions = {name: part for name, part in schema()["$defs"].items() if "properties" in part}
    prefix = _title("")
    known: dict[tuple[str, str], list[str]] = {}
    lines = [HEAD, "## Commands", "", "A key in parentheses may be missing.", ""]
    lines += ["command|keys", "---|---"]
    lines += [f"{group}|{', '.join(members)}" for group, members in GROUPS.items()]
    listed: dict[str, list[str]] = {}
    for name, definition in definitions.items():
        if name.startswith(prefix):
            command = name.removeprefix(prefix).replace("-", " ")
            rows = {
                k: _row(k, part) for k, part in definition["properties"].items() if k != "schema"
            }
            text = _keys_of(list(rows), definition["required"])
            listed.setdefault(text, []).append(command)
            for key, row in rows.items():
                known.setdefault((key, row), []).append(command)
    lines += [f"{', '.join(names)}|{text}" for text, names in listed.items()]
    lines += ["", "## Keys of commands", ""]
    several = Counter(key for key, _ in known)
    # Commands that always come together have one name.
    about = next(names for (key, _), names in known.items() if key == "asked")
    swept = next(names for (key, _), names in known.items() if key == "train")
    short = {",".join(about): "*about runs*", ",".join(swept): "experiment k, m, n"}
    lines += _table(
        (
            f"`{key}` ({short.get(','.join(names), ', '.join(names))})"
            if several[key] > 1
            else f"`{key}`",
            row,
        )
        for (key, row), names in sorted(known.items())
    )
    lines += ["", "## Objects", "", "Keys without a line are explained above."]
    printed = set(known)
    objects: dict[str, dict[str, str]] = {}
    for name in sorted(name for name in definitions if not name.startswith(prefix)):
        rows = {key: _row(key, part) for key, part in definitions[name]["properties"].items()}
        new = {key: row for key, row in rows.items() if (key, row) not in printed}
        lines += ["", f"### {name}", ""]
        if repeated := [key for key in rows if key not in new]:
            # An earlier object may stand for its keys.
            texts = [_keys_of(repeated, repeated)]
            for other, part in objects.items():
                missing = [key for key, row in part.items() if rows.get(key) != row]
                but = f" but {', '.join(missing)}" if missing else ""
                shared = f"those of {_link(other)}{but}"
                rest = [shared, *(key for key in repeated if key not in part)]
                if len(missing) < len(part):
                    texts.append(_keys_of(rest, rest))
            lines += [min(texts, key=len), ""]
        if new:
            lines += _table((f"`{key}`", row) for key, row in new.items())
        printed |= set(new.items())
        objects[name] = rows
    return "\n".join(lines) + "\n"


def _keys_of(names: list[str], required: list[str]) -> str:
    """The keys of a command, groups of them by their names."""
    for group, members in GROUPS.items():
        if set(members) <= set(names):
            names = [group, *(key for key in names if key not in members)]
            required = [*required, group] if set(members) <= set(required) else required
    return ", ".join(key if key in required else f"({key})" for key in names)


def _table(rows: Iterable[tuple[str, str]]) -> list[str]:
    """A table of keys, types and meanings; keys that follow each other with one meaning share a
    row, and a meaning stands only once.
    """
    lines, meanings = ["key|type|meaning", "---|---|---"], {""}
    for row, group in groupby(rows, key=itemgetter(1)):
        kind, _, meaning = row.partition("|")
        again = meaning in meanings
        lines.append(f"{', '.join(key for key, _ in group)}|{kind}|{'' if again else meaning}")
        meanings.add(meaning)
    return lines


def _row(key: str, part: dict[str, Any]) -> str:
    """Type and meaning: its first sentence, without details if it is long, and without words that
    type or key say already.
    """
    meaning = re.split(r"(?<=[.;]) ", part.get("description", ""))[0].rstrip(".;")
    if len(meaning.split()) > LONG:
        meaning = DETAIL.sub("", meaning)
    if len(meaning.split()) > LONGEST:
        meaning = meaning.partition(": ")[0]
    kind = _type(part)
    start = "(?:Whether )?" if kind.rstrip("?") == "boolean" else "(?:(?:The|A|An) (?!two))?"
    meaning = re.sub(
        f"^{start}(.)", lambda match: match[1].upper() if match.end() > 1 else match[1], meaning
    )
    words = {word.rstrip("s") for word in re.findall(r"\w+", meaning.lower()) if word not in EMPTY}
    if words <= {word.rstrip("s") for word in key.split("_")}:
        meaning = ""
    return f"{kind}|{meaning}"


def _link(name: str) -> str:
    return f"[{name}](#{name.lower().replace(' ', '-')})"


def _type(part: dict[str, Any]) -> str:
    """A type as people read it."""
    if "$ref" in part:
        name = part["$ref"].rpartition("/")[2]
        if "properties" not in (definition := schema()["$defs"][name]):
            return _type(definition)  # the page has no section of it to link to
        return _link(name)
    if "const" in part:
        return f"`{json.dumps(part['const'])}`"
    if "enum" in part:
        return ", ".join(f"`{value}`" for value in part["enum"])
    if "anyOf" in part:
        kinds = [_type(each) for each in part["anyOf"]]
        others = " or ".join(kind for kind in kinds if kind != "null")
        return f"{others}?" if "null" in kinds else others
    kind = part.get("type", "anything")
    if kind == ["number", "null"]:
        return "number"
    if kind == "array":
        return f"list({_type(part.get('items', {}))})"
    if kind == "object" and isinstance(part.get("additionalProperties"), dict):
        return f"object({_type(part['additionalProperties'])})"
    return str(kind)


def write(folder: Path) -> None:
    """Write schema and page."""
    text = json.dumps(schema(), indent=1, ensure_ascii=False)
    (folder / "truecost.schema.json").write_text(f"{text}\n", encoding="utf-8")
    (folder / "json.md").write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
