import json
import shlex
from pathlib import Path

import numpy as np
import pytest
from commands import Run

from truecost.cli.asking import context
from truecost.cli.reading import Source
from truecost.matrix import CostMatrix
from truecost.runs import Trajectory
from truecost.stats.synthetic import runtime_model
from truecost.verbs import assess, certify

BEFOREHAND = Trajectory(tool="random search", proposed="beforehand", default="default")
ADAPTIVE = Trajectory(
    tool="a configurator", proposed="adaptively", default="default", incumbent="random-03"
)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same runs as of a list and as of a configurator, and runs on fresh instances."""
    rng, folder = np.random.default_rng(2), tmp_path_factory.mktemp("runs")
    model = runtime_model(configurations=20, rng=rng, quality=1.5)
    matrix, test = (model.draw(instances=80, runs=2, rng=rng) for _ in range(2))
    for ending in ("parquet", "npz"):
        matrix.save(folder / f"list.{ending}", trajectory=BEFOREHAND)
    matrix.save(folder / "searched.npz", trajectory=ADAPTIVE)
    renamed = CostMatrix(
        test.costs, test.configurations, [f"new-{i}" for i in range(80)], test.low, test.high
    )
    renamed.save(folder / "test.npz")
    (folder / "fresh.txt").write_text("\n".join(matrix.instances[50:]) + "\n\n")
    return folder


def test_certify_numbers(files: Path, run: Run) -> None:
    """`certify` would print another limit than the package computes."""
    matrix = CostMatrix.load(files / "list.parquet")
    answer = json.loads(
        run("certify", files / "list.parquet", "--delta", 0.1, "--list", 50, "--json").stdout
    )["certificate"]
    expected = certify(matrix, delta=0.1, trajectory=BEFOREHAND, list_size=50)
    assert (answer["limit"], answer["configuration"]) == (expected.limit, expected.configuration)
    assert (answer["chosen"], answer["configurations"]) == ("from-list", 50)
    words = [
        "--configuration",
        "random-03",
        "--chosen",
        "progressive",
        "--fresh",
        files / "fresh.txt",
        "--proposal",
        2,
    ]
    answer = json.loads(run("certify", files / "searched.npz", *words, "--json").stdout)[
        "certificate"
    ]
    assert (answer["instances"], answer["chosen"]) == (30, "progressive")


def test_certify_says_what_it_rests_on(files: Path, run: Run) -> None:
    """A limit would come without its confidence, its method or its assumptions."""
    ended = run("certify", files / "searched.npz", "--test", files / "test.npz")
    said = " ".join(ended.stdout.split())
    assert ended.returncode == 0
    assert said.startswith(
        "With 95 % confidence the mean cost of the winner (random-03) on new instances like these is "
        "at most "
    )
    for words in (
        "star-bets",
        "From test runs",
        "What are the assumptions?",
        "random-03 was chosen before any of the test costs",
    ):
        assert words in said


def test_certify_refuses_the_union_over_a_search(files: Path, run: Run) -> None:
    """The tempting certificate would be given out, or refused without a reason and what to do."""
    for words in ([], ["--chosen", "from-list"], ["--chosen", "on-part"]):
        ended = run("certify", files / "searched.npz", *words)
        assert (ended.returncode, ended.stderr) == (1, "")
        said = " ".join(ended.stdout.split())
        assert "tuned on these instances, so they cannot certify its winner" in said
        assert "run the winner and the default on new instances" in said
        told = json.loads(run("certify", files / "searched.npz", *words, "--json").stdout)
        assert "tuned on these instances" in told["certificate"]["reason"]


def test_unknown_origin_needs_a_word(files: Path, run: Run, tmp_path: Path) -> None:
    """A table that a search may have left would be certified without an if, or nobody told how to
    settle it.
    """
    CostMatrix.load(files / "list.npz").save(tmp_path / "runs.csv")
    ended = run("certify", tmp_path / "runs.csv")
    said = " ".join(ended.stdout.split())
    assert ended.returncode == 1
    assert said.startswith(
        "If these configurations were not tuned on these instances, with 95 % confidence"
    )
    assert "--chosen" in said
    settled = run("certify", tmp_path / "runs.csv", "--chosen", "on-part")
    assert settled.returncode == 0
    assert settled.stdout.startswith("With 95 % confidence")


def test_audit_numbers_and_exit_code(files: Path, run: Run) -> None:
    """`audit` would print other numbers than the package computes, or exit 0 though nothing is
    shown.
    """
    ended = run("audit", files / "list.npz", "--splits", 50, "--seed", 3, "--json")
    answer = json.loads(ended.stdout)
    expected = assess(CostMatrix.load(files / "list.npz"), rng=3, trajectory=BEFOREHAND, splits=50)
    assert expected.certificate is not None
    assert (
        answer["optimism"]["true_cost"]
        == answer["incumbent"]["true_cost"]
        == expected.optimism.true_cost
    )
    assert answer["certificate"]["limit"] == expected.certificate.limit
    assert answer["comparison"]["grade"] == "better"
    assert expected.better
    assert ended.returncode == 0
    assert run("audit", files / "searched.npz", "--splits", 50).returncode == 1
    assert run("audit", files / "list.npz", "--configuration", "default").returncode == 1


def test_audit_for_people(files: Path, run: Run) -> None:
    """The audit would leave out one of its parts, or its first sentence not be the verdict."""
    asked = (files / "searched.npz", "--test", files / "test.npz", "--splits", 50)
    ended = run("audit", *asked, "--all")
    said = " ".join(ended.stdout.split())
    for phrase in (
        "training cost",
        "On new instances it costs",
        "optimism",
        "on 80 test instances",
        "Against the default",
        "Instances with the largest differences",
        "What to do next",
        f"truecost certify {files / 'searched.npz'} --test={files / 'test.npz'}",
    ):
        assert phrase in said, phrase
    better = "The winner (random-03) is better than the default on new instances like these:"
    assert (better in said) == (ended.returncode == 0)
    assert ended.stderr == ""


def test_an_audit_fits_on_a_screen(files: Path, run: Run) -> None:
    """An audit would scroll its verdict away, or not end with a command that works."""
    for words in (["lkh"], [files / "searched.npz"], [files / "list.npz", "--delta", "0.1"]):
        lines = run("audit", *words, "--splits", 50).stdout.rstrip().splitlines()
        assert len(lines) <= 40, words
        program, *command = shlex.split(lines[-1])
        assert program == "truecost", lines[-1]
        if command[0] != "validate":  # which would run a solver
            assert run(*command).returncode in (0, 1), lines[-1]
            assert ("--delta=0.1" in command) == ("--delta" in words)


def test_bad_input_is_one_line(files: Path, run: Run, tmp_path: Path) -> None:
    """A mistake would end in a traceback, or pass."""
    (tmp_path / "empty.txt").write_text("\n")
    runs, fresh = files / "list.npz", ["--chosen", "progressive", "--proposal", 1, "--fresh"]
    for words in (
        ["certify", tmp_path / "nothing.npz"],
        ["certify", runs, "--configuration", "nobody"],
        ["certify", runs, "--delta", 2],
        ["certify", runs, "--chosen", "luck"],
        ["certify", runs, *fresh, tmp_path / "empty.txt"],
        ["certify", runs, *fresh, files / "test.npz"],
        ["audit", runs, "--chosen", "progressive"],
        ["audit", runs, "--default", "nobody"],
        ["audit", runs, "--test", tmp_path / "nothing.npz"],
        ["audit", tmp_path],
    ):
        ended = run(*words)
        assert (ended.returncode, ended.stdout) == (2, ""), words
        assert len(ended.stderr.splitlines()) == 1, ended.stderr


def test_a_folder_called_by_a_number_is_named_with_its_parent() -> None:
    """SMAC3 calls a search's folder by its seed, and a page would be called "0"."""
    assert context(Source(runs=Path("smac3_output/mine/0"))).name == "mine/0"
    assert context(Source(runs=Path("runs.csv"))).name == "runs.csv"


def test_a_report_says_how_the_file_was_read(run: Run, tmp_path: Path) -> None:
    """Whoever gives a table would not see which columns were guessed, or read names of Python's on
    the page.
    """
    rows = "".join(
        f"{solver},{problem},{place + problem}\n"
        for place, solver in enumerate("ab")
        for problem in range(6)
    )
    (tmp_path / "runs.csv").write_text(f"solver,problem,runtime\n{rows}")
    ended = run("report", "runs.csv", "--splits", 20, "--quiet", cwd=tmp_path)
    assert ended.returncode == 0, ended.stderr
    told = " ".join(ended.stdout.split())
    assert (
        "Columns: solver is the configuration, problem is the instance, runtime is the cost."
        in told
    )
    page = (tmp_path / "runs-report.html").read_text()
    assert "--low and --high" in page
    assert "`low`" not in page
