"""`truecost compare`: two versions of a solver on their common instances."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from commands import Run

import truecost as tc
from truecost.errors import InputError

DATA = Path(__file__).parent / "data"


def version(path: Path, factor: float, first: int = 0, last: int = 60, spread: float = 0.1) -> None:
    """A table with the running times of one version: those of the old one times a factor."""
    rng = np.random.default_rng(7)
    times = rng.uniform(1, 9, 100)
    noise = np.random.default_rng(int(factor * 1000)).uniform(1 - spread, 1 + spread, 100)
    rows = [f"solver,i{i},{times[i] * factor * noise[i]:.4f}" for i in range(first, last)]
    path.write_text("\n".join(["configuration,instance,cost", *rows]) + "\n")


@pytest.fixture
def versions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The old version, a slower, a faster and an equal one, in the current folder."""
    monkeypatch.chdir(tmp_path)
    version(tmp_path / "old.csv", 1.0)
    version(tmp_path / "slower.csv", 1.5)
    version(tmp_path / "faster.csv", 0.6)
    version(tmp_path / "same.csv", 1.001, first=5, last=80)
    return tmp_path


RANGE = ("--low", "0", "--high", "20")


@pytest.mark.parametrize(
    ("new", "words", "code"),
    [
        ("slower.csv", (), 1),
        ("same.csv", (), 0),
        ("faster.csv", (), 0),
        ("faster.csv", ("--require", "better"), 0),
        ("same.csv", ("--require", "better"), 1),
        ("same.csv", ("--require", "no-worse", "--margin", "40%"), 0),
        ("same.csv", ("--require", "no-worse", "--margin", "0.001"), 1),
        ("same.csv", ("--require", "no-worse", "--margin", "2.5"), 0),
        ("same.csv", ("--require", "no-worse"), 1),
        ("slower.csv", ("--require", "no-worse", "--margin", "40%"), 1),
        ("faster.csv", ("--primary", "wins", "--require", "better"), 0),
    ],
)
@pytest.mark.usefixtures("versions")
def test_exit_codes(new: str, words: tuple[str, ...], code: int, run: Run) -> None:
    """A pull request would fail though no slowdown is shown, or pass though one is."""
    ended = run("compare", "old.csv", new, *RANGE, *words)
    assert (ended.returncode, ended.stderr) == (code, "")


@pytest.mark.usefixtures("versions")
def test_pairs_are_common_instances(run: Run) -> None:
    """Instances that only one version was run on would count, or vanish without a word; or the best
    of fifty configurations pass for one that was fixed before.
    """
    ended = run("compare", "old.csv", "same.csv", *RANGE, "--json")
    data = json.loads(ended.stdout)
    assert data["comparison"]["instances"] == 55
    assert (data["grade"], data["met"], data["require"]) == ("open", True, None)
    assert {"Instances that only old has runs on, left out: 5."} <= set(data["runs"]["notes"])
    printed = run("compare", "old.csv", "same.csv", *RANGE).stdout
    assert "Paired on 55 common instances." in printed
    assert "the default" not in printed
    assert "This assumes that neither was chosen by these runs" in " ".join(printed.split())


@pytest.mark.usefixtures("versions")
def test_regressions_come_first(run: Run) -> None:
    """What got worse would stand below what did not."""
    text = run("compare", "old.csv", "slower.csv", *RANGE).stdout
    assert text.index("Shown to be worse") < text.index("shown worse") < text.index("mean cost  ")
    assert "costs more on 60 instances of 60, less on 0." in " ".join(text.split())


@pytest.mark.usefixtures("versions")
def test_markdown_is_a_table_for_a_pull_request(run: Run) -> None:
    """A comment on a pull request would show bars and dashes instead of a table."""
    text = run("compare", "old.csv", "slower.csv", *RANGE, "--format", "markdown").stdout
    assert text.startswith(
        "### ❌ slower compared with old\n\n**Shown to be worse by mean cost.** With 95 %"
    )
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert rows[1].startswith("| --- | --:")
    assert "❌ shown worse" in rows[2]
    assert len({line.count(" | ") for line in rows[:4]}) == 1


def test_columns_of_a_wide_table(tmp_path: Path, run: Run) -> None:
    """Two columns of one table could not be compared."""
    rng = np.random.default_rng(3)
    rows = [f"i{i},{a:.3f},{1.4 * a:.3f},{a:.3f}" for i, a in enumerate(rng.uniform(1, 40, 80))]
    table = tmp_path / "times.csv"
    table.write_text("\n".join(["instance,v1,v2,v3", *rows]) + "\n")
    words = ["--cutoff", "60", "--primary", "wins", "--json"]
    ended = run("compare", f"{table}:v1", f"{table}:v2", *words)
    assert (ended.returncode, ended.stderr) == (1, "")
    data = json.loads(ended.stdout)
    assert (data["default"]["configuration"], data["incumbent"]["configuration"]) == ("v1", "v2")
    ended = run("compare", f"{table}:v1", table, *words)
    assert ended.returncode == 2
    assert f"name one, as in {table}:v1" in ended.stderr


def test_the_default_of_a_log_is_a_name(run: Run) -> None:
    """`runs.db:default` of the help would be refused where the default is called by its hash."""
    words = ["kissat:0fa88eb8a1", "--json"]
    by_role, by_name = (
        json.loads(run("compare", old, *words).stdout)
        for old in ("kissat:default", "kissat:2cb96f70a0")
    )
    assert by_role["default"]["configuration"] == "default"
    assert by_role["comparison"]["upper"] == by_name["comparison"]["upper"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("old.csv", "no.csv"), "no.csv: No such file"),
        (("old.csv", "other.csv"), "both have runs on, got none"),
        (("old.csv", "old.csv:nobody"), "got 'nobody'"),
        (
            ("old.csv", "same.csv", "--require", "no-worse", "--margin", "x"),
            "--margin like 5% or 0.1",
        ),
    ],
)
def test_wrong_words(words: tuple[str, ...], message: str, versions: Path, run: Run) -> None:
    """A mistake would end in a traceback, or pass for a comparison."""
    version(versions / "other.csv", 1.0, first=80, last=90)
    ended = run("compare", *words)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert message in ended.stderr
    assert len(ended.stderr.splitlines()) == 1


def test_tuned_versions_are_refused() -> None:
    """The winner of a search would be compared on the instances that it was tuned on."""
    matrix = tc.load_example("lkh")
    first, second = matrix.configurations[:2]
    tuned = tc.Import(
        kind="smac",
        matrix=matrix,
        trajectory=tc.Trajectory(tool="SMAC3", proposed="adaptively", incumbent=second),
    )
    assessment = tc.compare(matrix, tuned, names=(first, None))
    assert assessment.grade == "open"
    assert assessment.statements == ()
    with pytest.raises(InputError, match="one metric"):
        tc.compare(matrix, matrix.replace(cutoff=7.0), names=(first, second))


def test_false_alarms_are_rare() -> None:
    """Equal versions would be called slower more often than the confidence level allows."""
    rng = np.random.default_rng(5)
    alarms = 0
    for _ in range(120):
        times = rng.lognormal(0, 1, (40, 1)) * rng.lognormal(0, 0.3, (40, 2))
        old, new = (np.minimum(times[:, [side]].T, 20.0) for side in (0, 1))
        alarms += tc.compare(old, new, low=0, high=20, delta=0.2, rng=1).grade == "worse"
    # Binomial(120, 0.2): 37 or more has a probability below 0.3 %.
    assert alarms <= 36


def test_tables_of_one_solver(tmp_path: Path, run: Run) -> None:
    """A table of instances and times, the plainest there is, would be refused for having no column
    that names the solver.
    """
    for name, factor in (("main", 1.0), ("branch", 1.6)):
        rows = "".join(f"i{place}.cnf,{factor * (1 + place % 7)}\n" for place in range(80))
        (tmp_path / f"{name}.csv").write_text(f"instance,time\n{rows}")
    paths = (tmp_path / "main.csv", tmp_path / "branch.csv")
    answer = run("compare", *paths, "--cutoff", 60, "--primary", "wins")
    assert answer.returncode == 1
    assert answer.stdout.startswith("branch compared with main")
    # Two runs on an instance may be of two solvers, which nothing tells apart.
    (tmp_path / "main.csv").write_text("instance,time\na,1\na,2\n")
    assert "expected a column for the configuration" in run("info", paths[0]).stderr


def test_an_instance_under_two_names_is_paired_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Copies of a file would count as independent instances, and limits be wrong too often."""
    monkeypatch.chdir(tmp_path)
    for name in ("a", "b"):
        (tmp_path / name).write_text("the same\n")
    names = ["a", "./a", "b", "c"]
    matrix = tc.CostMatrix(np.arange(8.0).reshape(2, 4, 1), ["v1", "v2"], names, 0, 10)
    old, new = (matrix.select(configurations=[name]) for name in matrix.configurations)
    assessment = tc.compare(old, new)
    assert assessment.matrix.instances == ("a", "c")
    assert list(assessment.log.left_out.values()) == [4]


def test_what_reading_left_out_is_said(tmp_path: Path, run: Run) -> None:
    """Runs that were dropped when a version was read would go missing without a word."""
    shutil.copytree(DATA / "smac" / "instances", tmp_path / "run")
    history = tmp_path / "run" / "runhistory.json"
    content = json.loads(history.read_text())
    trials = content["data"]
    trials[-1]["status"] = 0  # still running
    history.write_text(json.dumps(content))
    ended = run("compare", f"{tmp_path}/run:1", f"{tmp_path}/run:12", "--low", "0", "--high", "3")
    assert "1 run left out" in " ".join(ended.stdout.split())
