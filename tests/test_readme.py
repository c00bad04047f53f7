import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()
TRUECOST = Path(sys.executable).parent / "truecost"
DEMO = "demo --out demo"


def blocks(language: str) -> list[str]:
    """The fenced blocks of the README in this language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("code", blocks("python"))
def test_python_runs_as_printed(code: str, tmp_path: Path) -> None:
    """The README's example would not run as it stands, or be longer than it claims to be short."""
    ended = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The folder that the README's commands are typed in, after the demo; and what that printed."""
    folder = tmp_path_factory.mktemp("readme")
    ended = subprocess.run([TRUECOST, *DEMO.split()], cwd=folder, check=True, capture_output=True, text=True)
    return folder, ended.stdout


@pytest.mark.parametrize("session", blocks("console"))
def test_console_output_is_real(session: str, demo: tuple[Path, str]) -> None:
    """What the README shows would not be what the commands print."""
    folder, said = demo
    for command, shown in re.findall(r"^\$ truecost (.*?)\n(.*?)(?=^\$ |\Z)", session, re.DOTALL | re.MULTILINE):
        text = said
        if command != DEMO:
            words: list[str | Path] = [TRUECOST, *shlex.split(command)]
            text = subprocess.run(words, cwd=folder, check=True, capture_output=True, text=True).stdout
        printed = [line.rstrip() for line in text.splitlines()]
        assert printed == shown.rstrip("\n").splitlines()


def test_the_demo_says_what_the_readme_says(demo: tuple[Path, str]) -> None:
    """The true cost and the error quoted in the README would not be those of the demo."""
    said = " ".join(demo[1].split())
    cost, error = re.findall(
        r"is (\d+\.\d+) in that model, and the largest estimation error of the 40 is (\d+\.\d+)", README
    )[0]
    assert f"the true cost of random-26 is {cost}" in said
    assert f"the uniform error of all is {error}" in said


def test_the_scenario_file_is_read(tmp_path: Path) -> None:
    """A scenario file copied from the README would be refused."""
    from truecost import Scenario

    (file,) = blocks("toml")
    (tmp_path / "instances").mkdir()
    (tmp_path / "instances" / "a.cnf").write_text("p cnf 0 0\n")
    (tmp_path / "params.pcs").write_text("a {1,2} [1]\n")
    (tmp_path / "scenario.toml").write_text(file)
    assert Scenario.read(tmp_path / "scenario.toml").metric.kind == "par"
