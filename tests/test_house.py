import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import truecost

ROOT = Path(__file__).parent.parent


@pytest.mark.parametrize("name", truecost.__all__)
def test_public_names_resolve(name: str) -> None:
    """A public name would be promised and not be there."""
    assert getattr(truecost, name) is not None
    assert name in dir(truecost)


def test_unknown_names_fail_as_usual() -> None:
    """A misspelt name would fail with something other than AttributeError."""
    with pytest.raises(AttributeError, match="no attribute 'evne'"):
        _ = truecost.evne  # type: ignore[attr-defined]


def test_constraints_are_names_and_versions() -> None:
    """A pinned dependency would carry an address, or leave its version open."""
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    assert lines
    for line in lines:
        assert re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9._]+", line), line


def test_every_direct_dependency_is_pinned() -> None:
    """A dependency named in pyproject.toml would be installed in whatever version is newest."""
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = [
        *project["dependencies"],
        *(name for group in project["optional-dependencies"].values() for name in group),
    ]
    pinned = {
        line.split("==")[0].lower().replace("_", "-")
        for line in (ROOT / "constraints.txt").read_text().splitlines()
    }
    for requirement in wanted:
        name = re.split(r"[<>=!~;\[ ]", requirement)[0].lower()
        assert name in pinned


def test_version_is_one() -> None:
    """The version of the package, of the citation and of the changelog would differ."""
    for file in ("pyproject.toml", "CITATION.cff", "CHANGELOG.md"):
        assert truecost.__version__ in (ROOT / file).read_text(), file


SOURCE = ROOT / "src" / "truecost"
# Programs of their own: they call solvers, whose words begin with dashes, and answer on stdout.
SCRIPTS = ("library/", "running/_supervisor.py", "running/_call.py")
# Whole strings that are words of other programs, which we read or write.
THEIRS = {
    "doctor.py": {"try systemd-run --user --scope -p Delegate=yes truecost gather"},
    "running/_warm.py": {"--warm"},
    "importers/fromlog.py": {"--vanilla"},
    "matrix/imported.py": {"--"},
    "show/markup.py": {"--"},
    "importers/formats/acl.py": {"--instance", "--config", "--cutoff", "--seed"},
    "running/targets/command.py": {"--name=value"},
    "running/targets/irace.py": {"--name value"},
    "space/space.py": {"--name=value", "--name value", "--{name}={value}", "--{name} {value}"},
}
# Not a variable of CSS; an f-string may go on with the name.
FLAG = re.compile(r"(?<!var\()(?<![\w-])--(?:[a-z][\w-]*|(?=\{|$))")


def modules(*without: str) -> list[tuple[str, ast.Module]]:
    """The modules outside the command line, by their paths."""
    paths = [path.relative_to(SOURCE).as_posix() for path in sorted(SOURCE.rglob("*.py"))]
    kept = [path for path in paths if not path.startswith(("cli/", *without))]
    return [(path, parsed(path)) for path in kept]


@cache
def parsed(path: str) -> ast.Module:
    """A module of the package."""
    return ast.parse((SOURCE / path).read_text())


def texts(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Every string that is no docstring."""
    nodes = list(ast.walk(tree))
    documents = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    for node in nodes:
        if (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and id(node) not in documents
        ):
            yield node.lineno, node.value


def test_only_the_command_line_names_flags() -> None:
    """A message of the library would tell a user of Python to type a flag."""
    named = [
        f"{path}:{line}: {flag}"
        for path, tree in modules(*SCRIPTS)
        for line, text in texts(tree)
        for flag in FLAG.findall(text)
        if text not in THEIRS.get(path, ())
    ]
    assert named == []


STREAMS = ("stdout", "stderr")


def test_only_the_command_line_prints() -> None:
    """A function called from a notebook or a server would write to its terminal."""
    printed = [
        f"{path}:{node.lineno}"
        for path, tree in modules(*SCRIPTS)
        for node in ast.walk(tree)
        if (isinstance(node, ast.Name) and node.id == "print")
        or (
            isinstance(node, ast.Attribute)
            and node.attr in STREAMS
            and ast.unparse(node.value) == "sys"
        )
    ]
    assert printed == []


# One thing with several makers, called with its module: smac.load, irace.load; the limit rates.wins
# and its forecast.wins; kernels of one kind of bets, ledger.lower and constant.lower.
ALIKE = {
    "import_runs",
    "careful_bets",
    "limit",
    "lower",
    "reaches",
    "rejects",
    "star_bets",
    "win_shares",
    "assess",
    "load",
    "fragment",
    "wins",
    "solved",
    "quantile",
    "speed_up",
    "difference",
    "read",
    "save",
    "render",
    "instance",
    "export",
    "pack",
}


def test_one_name_one_thing() -> None:
    """Two classes or functions would bear one name, and a reader take one for the other."""
    homes: dict[str, list[str]] = {}
    for path, tree in modules(*(script for script in SCRIPTS if script != "library/")):
        if path.count("/") < 2 or not path.startswith(
            "library/"
        ):  # what is exported knows nothing of the rest
            for node in tree.body:
                if isinstance(node, ast.ClassDef | ast.FunctionDef) and not node.name.startswith(
                    "_"
                ):
                    homes.setdefault(node.name, []).append(path)
    assert {
        name: paths for name, paths in homes.items() if len(paths) > 1 and name not in ALIKE
    } == {}


def test_continuous_integration_runs_what_is_claimed() -> None:
    """A version of Python would be claimed and not be tested, or what is tested elsewhere not be
    what is tested here.
    """
    import tomllib

    classifiers = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["classifiers"]
    claimed = [
        each.rpartition(" ")[2] for each in classifiers if re.search(r"Python :: 3\.\d+$", each)
    ]
    workflow = (ROOT / ".github" / "workflows" / "ci.yml").read_text()
    listed = re.search(r"python: \[(.*)\]", workflow)
    assert listed is not None
    assert re.findall(r'"([\d.]+)"', listed[1]) == claimed
    assert re.findall(r"- run: (.*)", workflow) == [".ci/run"]
    assert re.findall(r"^make (\w+)$", (ROOT / ".ci" / "run").read_text(), re.MULTILINE) == [
        "check",
        "test",
        "demo",
    ]


def test_commits_are_looked_at_as_make_check_does() -> None:
    """A commit would pass by another ruff or mypy than that of `make check`, or by one that is
    fetched from somewhere.
    """
    text = (ROOT / ".pre-commit-config.yaml").read_text()
    checks = (ROOT / "Makefile").read_text().partition("\ncheck:")[2].partition("\n\n")[0]
    entries = [entry.replace(" --force-exclude", "") for entry in re.findall(r"entry: (.*)", text)]
    wanted = re.findall(r"\$\(BIN\)/((?:ruff|mypy).*)", checks)
    assert entries == [f".venv/bin/{each.removesuffix(' .')}" for each in wanted]
    assert re.findall(r"repo: (.*)", text) == ["local"]
