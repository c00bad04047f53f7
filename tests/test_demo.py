import json
import re
import shlex
import sys
from pathlib import Path
from typing import Any

import commands
import numpy as np
import pytest
from commands import Run
from rich.cells import cell_len
from test_import_smac import HISTORY, folder_of, row

from truecost import examples
from truecost.cli.demo import OWN, SOLVERS
from truecost.importers.detect import import_runs
from truecost.show.reproducing import reproduce
from truecost.verbs import assess


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The demo as a user has it: its folder and what it prints."""
    folder = tmp_path_factory.mktemp("demo")
    ended = commands.run("demo", "--out", "here", cwd=folder)
    assert ended.returncode == 0
    assert ended.stderr == ""
    return folder, ended.stdout


def test_the_summary_is_what_the_package_says(shown: tuple[Path, str]) -> None:
    """The demo would show other numbers than the package has."""
    text = " ".join(shown[1].split())
    rows = {line.split()[0]: line for line in shown[1].splitlines() if "≈" in line and "≤" in line}
    assert tuple(rows) == SOLVERS
    for name, line in rows.items():
        judged = assess(import_runs(examples.path_of(name)))
        assert judged.certificate is not None
        assert judged.comparison is not None
        columns = r"\w+ +(\S+) +(\S+) +≈ (\S+) +≤ (\S+) +(≥ \S+ %|not shown)"
        default, training, true, certified, wins = re.findall(columns, line)[0]
        assert float(default) == pytest.approx(judged.true_cost(str(judged.default)), rel=0.005)
        assert float(training) == pytest.approx(judged.costs.training[judged.place], rel=0.005)
        assert float(true) == pytest.approx(judged.optimism.true_cost, rel=0.005)
        assert 0 <= float(certified) - judged.certificate.upper < 0.01 * judged.certificate.upper
        assert judged.wins is not None
        if judged.wins.grade == "better":
            assert wins.startswith("≥")
            assert 0 <= judged.wins.limit - float(wins.split()[1]) / 100 < 0.01
            assert f"{name}'s wins at least {wins.removeprefix('≥ ')}" in text
        else:
            assert wins == "not shown"
            assert f"no majority is shown for {name}'s" in text
        if name == "kissat":  # where it is worst
            flattered = f"{training} PAR10 s there, about {true} PAR10 s on new instances"
            assert f"Training flatters it: {flattered}" in text
        if name == "clasp":
            assert f"wins only {judged.wins.observed:.0%}".replace("%", " % of these") in text


def test_the_primary_criterion_comes_first(shown: tuple[Path, str]) -> None:
    """The demo would lead with what its reports call secondary."""
    text = " ".join(shown[1].split())
    better = [name for name in SOLVERS if assess(import_runs(examples.path_of(name))).better]
    assert better == []
    headline = "primary criterion, is shown for none of these winners yet. Secondary, by new runs"
    assert headline in text.partition("The winner of 50 configurations")[0]
    for name in SOLVERS:
        assert f"{name}: a lower mean cost is not shown" in text


def test_what_it_leaves_behind(shown: tuple[Path, str]) -> None:
    """A report would be missing or be no page, or lines be too wide for a terminal."""
    folder, text = shown
    for name in SOLVERS:
        assert f"{name}.html" in text
        page = (folder / "here" / f"{name}.html").read_text()
        assert page.startswith("<!DOCTYPE html>")
        assert name in page
    assert [line for line in text.splitlines() if cell_len(line) > 80] == []


def test_the_next_commands_work(
    shown: tuple[Path, str], run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the demo tells people to try next would not work as it is printed."""
    printed = [line.strip() for line in shown[1].splitlines() if line.startswith("  truecost ")]
    assert tuple(printed) == ("truecost audit kissat", *OWN)
    monkeypatch.chdir(tmp_path)
    Path("smac3_output/my-run").mkdir(parents=True)
    rng = np.random.default_rng(1)
    trials = [
        row(c, f"i{i}", seed, float(rng.uniform(0, 5)))
        for c in (1, 2)
        for i in range(10)
        for seed in (1, 2)
    ]
    folder_of(Path("smac3_output/my-run/0"), HISTORY | {"data": trials})
    examples.load_example("lkh").save("runs.csv")
    for line in printed:
        program, *words = shlex.split(line)
        if words[1] != "irace.Rdata":  # a log of irace is a matter of its own tests
            ended = run(*words)
            # An audit says with its exit code that no lower mean is shown.
            assert (program, ended.returncode) == ("truecost", int(words[0] == "audit")), (
                line,
                ended.stderr,
            )
    assert Path("runs-report.html").read_text().startswith("<!DOCTYPE html>")


@pytest.fixture
def one_example(monkeypatch: pytest.MonkeyPatch) -> None:
    """One example instead of three, which is faster."""
    monkeypatch.setattr(sys.modules["truecost.cli.demo"], "SOLVERS", ("lkh",))


@pytest.mark.usefixtures("one_example")
def test_json_and_a_second_time(run: Run, tmp_path: Path) -> None:
    """Programs would find progress or tables in the JSON; a second start in the same folder would
    fail or differ.
    """
    answers: list[Any] = []
    for _ in range(2):
        ended = run("demo", "--out", tmp_path / "new" / "folder", "--json", "--quiet")
        assert (ended.returncode, ended.stderr) == (0, "")
        answers.append(json.loads(ended.stdout))
    assert answers[0] == answers[1]
    assert [each["name"] for each in answers[0]["matrices"]] == ["lkh"]
    assert sorted(path.name for path in (tmp_path / "new" / "folder").iterdir()) == [
        "lkh.html",
        "synthetic.npz",
    ]


@pytest.mark.usefixtures("one_example")
def test_the_papers_claims(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`--splits` would not show the paper's claims with their verdicts."""
    # Without figures, which take long.
    without = lambda *runs, **asked: reproduce(*runs, **{**asked, "formats": ()})  # noqa: E731
    monkeypatch.setattr("truecost.reproduce", without)
    ended = run("demo", "--out", tmp_path, "--splits", 20)
    assert ended.returncode == 0, ended.stderr
    assert "The paper's claims on these runs" in ended.stdout
    assert re.search(r" (holds|fails|holds in|cannot) *$", ended.stdout, re.MULTILINE)
    assert (tmp_path / "reproduce" / "lkh" / "results.md").is_file()


@pytest.mark.parametrize(
    "words", [["--out", "file"], ["--out", "file/below"], ["--splits", "1"], ["--splits", "-3"]]
)
def test_bad_input(
    words: list[str], run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder that cannot be written would end in a traceback, or only after the work."""
    monkeypatch.chdir(tmp_path)
    Path("file").write_text("not a folder")
    ended = run("demo", *words)
    assert ended.returncode == 2
    assert ended.stdout == ""
    assert re.fullmatch(r"truecost: [^\n]+\n", ended.stderr)
