import re
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
    wanted = [*project["dependencies"], *(name for group in project["optional-dependencies"].values() for name in group)]
    pinned = {line.split("==")[0].lower().replace("_", "-") for line in (ROOT / "constraints.txt").read_text().splitlines()}
    for requirement in wanted:
        name = re.split(r"[<>=!~;\[ ]", requirement)[0].lower()
        assert name in pinned


def test_version_is_one() -> None:
    """The version of the package, of the citation and of the changelog would differ."""
    for file in ("pyproject.toml", "CITATION.cff", "CHANGELOG.md"):
        assert truecost.__version__ in (ROOT / file).read_text(), file


def test_continuous_integration_runs_what_is_claimed() -> None:
    """A version of Python would be claimed and not be tested, or what is tested elsewhere not be what is tested here."""
    import tomllib

    classifiers = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["classifiers"]
    claimed = [each.rpartition(" ")[2] for each in classifiers if re.search(r"Python :: 3\.\d+$", each)]
    workflow = (ROOT / ".github" / "workflows" / "ci.yml").read_text()
    listed = re.search(r"python: \[(.*)\]", workflow)
    assert listed is not None
    assert re.findall(r'"([\d.]+)"', listed[1]) == claimed
    assert re.findall(r"- run: (.*)", workflow) == [".ci/run"]
    assert re.findall(r"^make (\w+)$", (ROOT / ".ci" / "run").read_text(), re.MULTILINE) == ["check", "test", "demo"]


def test_commits_are_looked_at_as_make_check_does() -> None:
    """A commit would pass by another ruff or mypy than that of `make check`, or by one that is fetched from somewhere."""
    text = (ROOT / ".pre-commit-config.yaml").read_text()
    checks = (ROOT / "Makefile").read_text().partition("\ncheck:")[2].partition("\n\n")[0]
    entries = [entry.replace(" --force-exclude", "") for entry in re.findall(r"entry: (.*)", text)]
    wanted = re.findall(r"\$\(BIN\)/((?:ruff|mypy).*)", checks)
    assert entries == [f".venv/bin/{each.removesuffix(' .')}" for each in wanted]
    assert re.findall(r"repo: (.*)", text) == ["local"]
