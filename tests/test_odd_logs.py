"""Logs and tables as people have them, and no example has: what is said of each must be true of it."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import rwriter as r
from commands import Run

from truecost.errors import InputError
from truecost.importers.detect import import_runs

COMMANDS = (
    ["info"],
    ["audit", "--splits", "20"],
    ["certify"],
    ["bound"],
    ["plan", "--show", "wins"],
    ["import"],
)


def log(
    path: Path, costs: list[list[float]], testing: bytes | None = None, **changes: bytes
) -> Path:
    """A log of irace with these costs: a row for each instance, one configuration a column."""
    instances, columns = len(costs), [str(number + 1) for number in range(len(costs[0]))]
    pairs = r.listing(
        {"instance": r.integers(range(1, instances + 1)), "seed": r.integers(range(instances))}
    )
    scenario = {"instances": r.strings([f"{number}.txt" for number in range(instances)]), **changes}
    content = r.irace_log(
        scenario=scenario,
        experiments=r.matrix(costs, [str(number + 1) for number in range(instances)], columns),
        state=r.listing({".irace": r.environment({"instancesList": pairs})}),
        allElites=r.listing([r.integers([1])]),
        iterationElites=r.integers([1]),
        allConfigurations=None,
        experimentLog=None,
        testing=testing,
    )
    path.write_bytes(content)
    return path


def test_costs_of_zero_are_audited(tmp_path: Path, run: Run) -> None:
    """A search all of whose runs cost nothing would end in a traceback: a share of 0 was taken."""
    path = log(tmp_path / "zero.Rdata", [[0.0] * 4] * 6)
    for words in COMMANDS:
        for json_ in ([], ["--json"]):
            ended = run(words[0], path, *words[1:], *json_)
            assert ended.returncode in (0, 1, 2), ended.stderr
    said = " ".join(run("audit", path, "--splits", "20").stdout.split())
    assert "these runs cannot say how much" in said


def test_nobody_is_said_to_solve_what_is_not_known_to_be_solved(tmp_path: Path, run: Run) -> None:
    """Costs that are no times would be planned for as if runs had been solved, or shown at a
    highest cost nobody knows.
    """
    path = tmp_path / "quality.csv"
    rows = [f"{name},{i},{cost + i}\n" for name, cost in (("a", 1.0), ("b", 2.0)) for i in range(6)]
    path.write_text("".join(["configuration,instance,cost\n", *rows]))
    ended = run("plan", path, "--show", "solved=0.9")
    assert (ended.returncode, ended.stdout) == (2, "")
    assert "--cutoff" in ended.stderr
    assert "highest cost" not in run("info", path).stdout
    assert json.loads(run("info", path, "--json").stdout)["configurations"][0]["not_solved"] is None
    assert run("plan", path, "--show", "solved=0.9", "--cutoff", "20").returncode == 0


def test_test_instances_that_were_trained_on_are_told(tmp_path: Path, run: Run) -> None:
    """Runs on training instances would pass for test runs, or be dropped without a word."""
    costs = [[1.0 + i, 2.0 + i] for i in range(6)]
    tests = r.matrix(
        [[90.0, 90.0], [5.0, 6.0], [7.0, 8.0], [9.0, 8.0]], ["1t", "2t", "3t", "4t"], ["1", "2"]
    )
    path = log(
        tmp_path / "same.Rdata",
        costs,
        r.listing({"experiments": tests}),
        testInstances=r.strings(["0.txt", "7.txt", "8.txt", "8.txt"]),
    )
    found = import_runs(path)
    assert found.test is not None
    assert found.test.instances == (
        "0.txt",
        "7.txt",
        "8.txt",
    )  # one file listed twice is one instance with two runs
    said = json.loads(run("info", path, "--json").stdout)
    assert said["incumbent"]["true_cost"] == pytest.approx((5 + (7 + 9) / 2) / 2)
    for command in ("info", "audit", "certify"):
        words = " ".join(run(command, path).stdout.split())
        assert words.count("Training used 1 of the 3 test instances") == 1, command


def test_an_instance_listed_twice_is_one(tmp_path: Path) -> None:
    """The same file twice in irace's list of instances would count as two independent instances."""
    path = log(
        tmp_path / "twice.Rdata", [[1.0, 2.0]] * 4, instances=r.strings(["a", "b", "a", "c"])
    )
    found = import_runs(path).matrix
    assert found.instances == ("a", "b", "c")
    assert found.counts().tolist() == [[2, 1, 1]] * 2


def test_a_stopped_search_is_called_so(tmp_path: Path) -> None:
    """The log of an irace that was killed would be read as if it had finished, and an empty one
    blamed on nobody.
    """
    pairs = r.listing({"instance": r.integers([1, 2]), "seed": r.integers([1, 2])})
    state = r.listing(
        {".irace": r.environment({"instancesList": pairs}), "completed": r.strings(["Incomplete"])}
    )
    costs = r.matrix([[1.0, 2.0], [3.0, 4.0]], ["1", "2"], ["1", "2"])
    path = tmp_path / "killed.Rdata"
    path.write_bytes(
        r.irace_log(experiments=costs, state=state, testing=None, allConfigurations=None)
    )
    assert any("had not finished" in note for note in import_runs(path).notes)
    path.write_bytes(r.irace_log(experiments=r.matrix([], [], []), state=state, testing=None))
    with pytest.raises(InputError, match="when its first iteration ends"):
        import_runs(path)


def table(
    path: Path, costs: list[object], seed: str = "{}", who: tuple[str, str] = ("a", "b")
) -> Path:
    """A csv file: these costs in turn, of two configurations on instances enough."""
    rows = [f"{who[i % 2]},i{i // 2},{seed.format(i // 2)},{cost}" for i, cost in enumerate(costs)]
    path.write_text("\n".join(["configuration,instance,seed,cost", *rows, ""]))
    return path


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("configuration,instance,cost\na,i,inf\nb,i,inf\n", "every run failed without a cost"),
        ("configuration,instance,cost\na,i,-inf\nb,i,1\n", "got -inf"),
        ("configuration,instance,cost\na,i,1e200\nb,i,1\n", "too large to be squared"),
        ("configuration,instance,cost\na,i,1e-200\nb,i,3e-200\n", "give them in a smaller unit"),
        (
            "configuration;instance;cost\na;i;1,500\nb;i;2,500\n",
            "write decimals with a point, 1.500",
        ),
        (
            "# my runs\nconfiguration,instance,cost\na,i,1\n",
            "first line, which must name the columns",
        ),
        ("configuration,instance,cost\na\xe9,i,1\n".encode("latin-1"), "not in UTF-8: save it so"),
        (
            "configuration,instance,seed,cost\na,i,1.5,1\n",
            "expected whole numbers in the column 'seed'",
        ),
        (
            b"PK\x03\x04" + bytes(26) + b"[Content_Types].xml" + bytes(50),
            "a spreadsheet: save it as csv",
        ),
        ("configuration,instance,cost\na,i,1\n".encode("utf-16"), "save it as UTF-8"),
        (
            "configuration,instance,cost,status\na,i,1,UNKNOWN\n",
            "write timeout for a run that was not solved",
        ),
        ("instance,a\ni,1\n", "a row for every run"),
        ('[{"configuration": "a"}]', "got JSON of another name"),
    ],
)
def test_tables_that_cannot_be_read_say_what_to_do(
    tmp_path: Path, content: str | bytes, words: str
) -> None:
    """A table would be read wrongly, or refused in the words of a library, which say not what to
    do.
    """
    path = tmp_path / "runs.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(InputError, match=words) as caught:
        import_runs(path)
    assert str(caught.value).count(str(path)) == 1


def test_tables_of_spreadsheets_and_pandas_are_read(tmp_path: Path) -> None:
    """Seeds that became 7.0, a first line sep=; or a Default with a capital letter would make a
    table unreadable.
    """
    plain = import_runs(table(tmp_path / "plain.csv", [1, 2, 3, 4]))
    assert (
        import_runs(table(tmp_path / "float.csv", [1, 2, 3, 4], seed="{}.0")).matrix == plain.matrix
    )
    text = (tmp_path / "plain.csv").read_text()
    (tmp_path / "sep.csv").write_text("sep=;\n" + text.replace(",", ";"))
    assert import_runs(tmp_path / "sep.csv").matrix == plain.matrix
    assert (
        import_runs(
            table(tmp_path / "named.csv", [1, 2, 3, 4], who=("Default", "b"))
        ).trajectory.default
        == "Default"
    )
    frame = pl.read_csv(tmp_path / "plain.csv").with_columns(pl.col("seed").cast(pl.Float64))
    assert import_runs(frame).matrix == plain.matrix


def test_the_verdict_names_whose_cost_it_tells(tmp_path: Path, run: Run) -> None:
    """Where a part of the instances chose another one than all of them, "it" would be the wrong
    one.
    """
    rng = np.random.default_rng(3)
    rows = ["configuration,instance,cost"]
    rows += [
        f"{name},i{i},{rng.gamma(2) + (name == 'default')}"
        for i in range(20)
        for name in ("a", "b", "c", "default")
    ]
    path = tmp_path / "runs.csv"
    for seed in range(40):
        path.write_text("\n".join([*rows, ""]))
        found = json.loads(run("audit", path, "--splits", "2", "--seed", seed, "--json").stdout)
        if (winner := found["incumbent"]["configuration"]) != found["comparison"]["configuration"]:
            break
    said = " ".join(run("audit", path, "--splits", "2", "--seed", seed, "--all").stdout.split())
    assert f"The winner ({winner}) costs" in said
    assert f"of configuration {found['comparison']['configuration']}, on" in said


def test_one_instance_is_about_its_seeds(tmp_path: Path, run: Run) -> None:
    """The seeds of a single instance would be counted as instances, or said to speak of others."""
    path = tmp_path / "one.csv"
    path.write_text(
        "configuration,instance,seed,cost\n"
        + "".join(f"{n},i,{s},{c + s}\n" for n, c in (("a", 1), ("b", 2)) for s in (1, 2))
    )
    for words in ([], ["--configuration", "b"]):
        said = " ".join(run("audit", path, "--splits", "2", *words).stdout.split())
        assert "2 configurations × 1 instance × 2 runs" in said
        assert "on this instance, with new seeds" in said
        assert "on new instances like these" not in said


def test_initial_configurations_of_a_data_frame_have_the_default(tmp_path: Path) -> None:
    """irace called from R would have no default, though it was given one."""
    first = r.listing({"x": r.doubles([4.0])})
    path = log(tmp_path / "frame.Rdata", [[1.0, 2.0]] * 3, initConfigurations=first)
    assert import_runs(path).trajectory.default == "1"
    assert import_runs(log(tmp_path / "none.Rdata", [[1.0, 2.0]] * 3)).trajectory.default is None
