"""What `--json` prints is an interface: a schema, a page, and outputs that keep to both."""

import json
import sys
from pathlib import Path

import pytest
from commands import Run, tree
from jsonschema import Draft202012Validator

DOCS = Path(__file__).parent.parent / "docs"
sys.path.insert(0, str(DOCS))

from json_reference import command_schema, page, schema  # noqa: E402

REFERENCE = DOCS / "reference"


def test_the_reference_is_up_to_date() -> None:
    """The page or the published schema would list other keys than the commands print.

    `python docs/json_reference.py docs/reference` writes them again.
    """
    assert (REFERENCE / "json.md").read_text() == page()
    assert json.loads((REFERENCE / "truecost.schema.json").read_text()) == schema()


def test_every_command_has_a_schema() -> None:
    """A new command would print JSON that is described nowhere."""
    Draft202012Validator.check_schema(schema())
    names = {
        f"truecost-{name}" if not hasattr(command, "commands") else f"truecost-{name}-{below}"
        for name, command in tree().commands.items()
        for below, end in getattr(command, "commands", {"": command}).items()
        if any(part.name == "json" for part in end.params)
    }
    assert names == {name for name in schema()["$defs"] if name.startswith("truecost-")}


def test_every_key_has_a_meaning() -> None:
    """A key would stand on the page without a word about it."""
    missing = [
        f"{name}.{key}"
        for name, definition in schema()["$defs"].items()
        for key, part in definition.get("properties", {}).items()
        if name.startswith("truecost-") and not part.get("description")
    ]
    assert missing == []


def check(line: str, printed: str) -> None:
    """Compare what a command printed with the schema."""
    words = line.split()
    name = " ".join(words[: 1 + (words[0] in ("scenario", "experiment"))])
    errors = Draft202012Validator(command_schema(name)).iter_errors(json.loads(printed))
    assert [f"{error.json_path}: {error.message[:200]}" for error in errors] == []


@pytest.mark.parametrize(
    "line",
    [
        "audit lkh --splits 20",
        "audit lkh --splits 20 --utility half-life=1",
        "certify kissat",
        "certify table.csv",
        "info lkh",
        "info gather.db",
        "info search.db",
        "watch gather.db",
        "watch search.db",
        "watch validation.db",
        "report table.csv --splits 20",
        "bound lkh",
        "bound --within 1 --across 2 --instances 9 --high 5 --epsilon 1",
        "plan lkh --error 0.01",
        "plan lkh --show wins",
        "plan --within 1 --across 2 --budget 100runs",
        "plan --sd 2 --difference 1",
        "plan lkh --budget 100runs --export irace",
        "compare lkh:ee23f799da lkh:cf050362c6",
        "import table.csv --low 0 --high 9",
        "doctor",
        "scenario list",
        "scenario show kissat-qcp",
    ],
)
def test_outputs_keep_to_the_schema(
    line: str, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A command would print a key that the schema does not have, or leave one out."""
    monkeypatch.chdir(tmp_path)
    rows = [f"{c},i{i},{(3 * c + i) % 7}" for c in range(3) for i in range(9)]
    Path("table.csv").write_text("\n".join(["configuration,instance,cost", *rows]) + "\n")
    journals = Path(__file__).parent / "data" / "journals"
    for kind in ("gather", "search", "validation"):
        Path(f"{kind}.db").write_bytes((journals / f"{kind}.db").read_bytes())
    ended = run(*line.split(), "--json")
    assert ended.returncode in (0, 1), ended.stderr
    check(line, ended.stdout)
