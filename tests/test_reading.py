import json
import re
from collections import defaultdict
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import polars as pl
import pytest
import typer
from commands import Run, run

from truecost.cli import app
from truecost.cli.command import Command, command_line, declared, flagged
from truecost.cli.options import Question
from truecost.cli.reading import Source, names_in
from truecost.errors import InputError
from truecost.examples import example_or, load_example
from truecost.importers.detect import import_runs
from truecost.judge.bounds import paper_bounds, subject_of
from truecost.matrix import CostMatrix
from truecost.runs import Status
from truecost.show.document import Context, audited
from truecost.stats.synthetic import runtime_model
from truecost.verbs import assess


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def drawn() -> CostMatrix:
    """A small matrix."""
    return runtime_model(configurations=3, rng=1).draw(instances=4, runs=2, rng=2)


@pytest.mark.usefixtures("here")
def test_a_solver_called_like_an_example_does_not_hide_it() -> None:
    """With a folder of instances or a binary called kissat in the way, `truecost info kissat` would
    fail.
    """
    path = Path("kissat")
    packaged = example_or(path)
    assert packaged != path
    path.mkdir()
    (path / "README").write_text("not runs\n")
    assert example_or(path) == packaged
    found = Source(runs=path).read()
    assert found.matrix.shape == (50, 50, 5)
    assert "holds no runs" in found.notes[0]
    (path / "README").unlink()
    path.rmdir()
    for content in (b"\x7fELF\0\0", b"#!/bin/sh\nexec kissat\n", b""):
        path.write_bytes(content)
        assert example_or(path) == packaged
        assert Source(runs=path).is_example


def test_runs_called_like_an_example_win(here: Path) -> None:
    """Somebody's own runs in a file or folder called kissat would silently be answered by ours."""
    path = Path("kissat")
    matrix = drawn()
    path.mkdir()
    table = matrix.to_table().rename({"configuration": "config_id", "instance": "instance_id"})
    table.write_csv(path / "runhistory.csv")
    assert example_or(path) == path
    assert Source(runs=path).read().matrix.shape == matrix.shape
    (path / "runhistory.csv").rename("clasp")
    matrix.save(here / "lkh.npz")
    (here / "lkh.npz").rename("lkh")
    for name in ("clasp", "lkh"):
        assert Source(runs=Path(name)).read().matrix == matrix
        assert not Source(runs=Path(name)).is_example


def test_a_matrix_keeps_its_costs(here: Path) -> None:
    """A cutoff or an objective for a matrix whose costs are settled would be ignored without a
    word.
    """
    drawn().save(here / "m.npz")
    for name, value in {"cutoff": 2.0, "par": 10.0, "objective": "time", "fidelity": 3.0}.items():
        with pytest.raises(InputError, match=f"no `{name}` with a matrix"):
            Source(runs=here / "m.npz", **{name: value}).read()  # type: ignore[arg-type]


def test_the_default_that_is_named_counts(here: Path) -> None:
    """A default named by the user would lose to the one that is kept with the runs."""
    matrix = drawn()
    first, second = matrix.configurations[:2]
    kept = import_runs(matrix.to_table(), default=first).trajectory
    for ending in ("npz", "parquet"):
        matrix.save(here / f"m.{ending}", trajectory=kept)
        assert Source(runs=here / f"m.{ending}").read().trajectory.default == first
        assert Source(runs=here / f"m.{ending}", default=second).read().trajectory.default == second
    with pytest.raises(InputError, match="`default`, got 'nobody'"):
        import_runs(matrix.to_table(), default="nobody")


def test_test_runs(here: Path) -> None:
    """Test runs would be read with another range of costs than the runs they test."""
    matrix = drawn()
    matrix.to_table().write_csv(here / "test.csv")
    source = Source(runs=here / "log", low=matrix.low, high=matrix.high, objective="time")
    test = source.read_test(here / "test.csv").matrix
    assert (test.low, test.high) == (matrix.low, matrix.high)
    np.testing.assert_allclose(np.nanmean(test.costs), np.nanmean(matrix.costs))


def test_printed_commands_say_the_options_again() -> None:
    """A command to paste would ask another question than the command that prints it."""
    source = Source(
        runs=Path("x"),
        low=0.0,
        high=10.512345678,
        columns=["cost=PAR10", "seed=s"],
        objective="time",
    )
    question = Question(raced=False, delta=0.01, primary="wins", list_size=7)
    assert command_line("audit", source, question) == (
        "truecost audit x --low=0 --high=10.512345678 --objective=time --column=cost=PAR10 "
        "--column=seed=s --delta=0.01 --primary=wins --no-raced --list=7"
    )
    # Only what a command has, unless it is at its default.
    assert command_line("import", Source(runs=Path("-x")), question) == "truecost import ./-x"
    assert command_line("plan", source, Question(raced=True), apart=("a", "b c")) == (
        "truecost plan x --low=0 --high=10.512345678 --objective=time --column=cost=PAR10 "
        "--column=seed=s --raced --apart a 'b c'"
    )
    with pytest.raises(KeyError, match="has no nonsense"):
        command_line("audit", source, nonsense=1)


def test_commands_get_the_options_of_reading() -> None:
    """A command would not hand all options of reading on, or lose its own."""
    seen: list[tuple[Any, ...]] = []
    toy = typer.Typer()

    @toy.command(cls=Command)
    @declared
    def look(
        source: Annotated[Source, "nothing if not given"],
        more: Annotated[int, typer.Option(help="Its own.")] = 1,
    ) -> None:
        """Style."""
        seen.append((source, more))

    words = [
        "runs",
        "--more",
        "3",
        "--low",
        "1",
        "--column",
        "cost=c",
        "--kind",
        "table",
        "--fidelity",
        "2",
        "--par",
        "4",
    ]
    toy(words, standalone_mode=False)
    toy([], standalone_mode=False)
    there = Source(
        runs=Path("runs"), low=1.0, columns=["cost=c"], kind="table", fidelity=2.0, par=4.0
    )
    assert seen == [(there, 3), (Source(runs=None, columns=None), 1)]  # type: ignore[arg-type]
    assert flagged("Give `low`, `columns` or `more=5`, not `rng` for `runs`.") == (
        "Give --low, --column or --more 5, not `rng` for RUNS."
    )
    with pytest.raises(InputError, match="got none"):
        seen[1][0].read()


def test_names_in_files(here: Path) -> None:
    """A list of instances would be taken with its blank lines, or twice the same name."""
    (here / "names").write_text("a\n\n b \na\n")
    assert names_in(here / "names") == ["a", "b"]
    for content in (b"\n", b"\xff\xfe"):
        (here / "names").write_bytes(content)
        with pytest.raises(InputError, match="one per line"):
            names_in(here / "names")


def test_errors_say_what_to_type(run: Run, tmp_path: Path) -> None:
    """A message on the command line would name parameters of Python, or the library's name flags."""
    table = tmp_path / "runs.csv"
    table.write_text("configuration,instance,cost\na,x,0.14\na,y,7.6\n")
    says = "Give the metric's possible range: {} and {} (seen in the log: 0.14 to 7.6)."
    ended = run("bound", table)
    assert ended.returncode == 2
    assert says.format("--low", "--high") in ended.stderr
    with pytest.raises(InputError) as caught:
        paper_bounds(subject_of(import_runs(table).matrix, "a"), delta=0.05)
    assert says.format("`low`", "`high`") in str(caught.value)
    # What is typed as it is read leaves out no cost.
    for costs, ends in {
        ("-0.14159", "7.65432"): ("-0.142", "7.66"),
        ("0.29", "1.1"): ("0.29", "1.1"),
    }.items():
        table.write_text("configuration,instance,cost\na,x,{}\na,y,{}\n".format(*costs))
        low, high = re.findall(r"log: (\S+) to (\S+)\)", run("bound", table).stderr)[0]
        assert (low, high) == ends
        assert run("bound", table, "--low", low, "--high", high).returncode == 0


def test_the_range_of_scores_is_one_of_scores(run: Run, tmp_path: Path) -> None:
    """The range to type for scores would be that of minus the scores, and be refused."""
    table = tmp_path / "runs.csv"
    rows = [f"{name},{score}" for name, score in zip("xxyy", (-1310, 5, 6.107, 4), strict=True)]
    table.write_text("\n".join(["configuration,instance,score", *(f"a,{row}" for row in rows)]))
    ended = run("bound", table, "--maximise")
    assert "(seen in the log: -1310 to 6.11)" in ended.stderr
    ends = ("--low", "-1310", "--high", "6.11")
    assert run("bound", table, "--maximise", *ends).returncode == 0
    refusal = assess(table, maximise=True).bounds
    assert "-1310 to 6.11" in str(refusal)


def test_a_log_goes_wherever_a_matrix_goes(run: Run, tmp_path: Path) -> None:
    """A command that speaks of runs would refuse a log that `import` reads."""
    table = tmp_path / "runs.tsv"
    rows = [
        f"c{c}\ti{i}\t{np.cos(c * i + r):.3f}\n"
        for c in range(3)
        for i in range(6)
        for r in range(2)
    ]
    table.write_text("solver\tproblem\tPAR10\n" + "".join(rows))
    words = (table, "--low", -1, "--high", 1, "--json")
    assert json.loads(run("info", *words).stdout)["runs"]["configurations"] == 3
    assert json.loads(run("bound", *words).stdout)["bounds"]["instances"] == 6
    assert (
        json.loads(run("experiment", "k", *words, "--splits", 5, "--column", "cost=PAR10").stdout)[
            "splits"
        ]
        == 5
    )


def commands(command: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """Every command of the program, with its name."""
    if hasattr(command, "commands"):
        for word, each in command.commands.items():
            yield from commands(each, f"{name} {word}".strip())
    else:
        yield name, command


def test_an_option_means_one_thing() -> None:
    """An option would mean one thing here and another there."""
    meanings: dict[str, dict[tuple[str, str], list[str]]] = defaultdict(lambda: defaultdict(list))
    for name, command in commands(typer.main.get_command(app())):
        for each in command.params:
            if each.param_type_name == "option":
                meaning = each.help.split(";")[0].rstrip(".")
                kind = each.type_descriptor.annotation
                words = isinstance(kind, type) and issubclass(kind, StrEnum)
                kind = "words" if words else f"{kind.__name__}{' list' if each.multiple else ''}"
                for flag in (*each.opts, *each.secondary_opts):
                    meanings[flag][kind, meaning].append(name)
    several = {flag: dict(found) for flag, found in meanings.items() if len(found) > 1}
    # A validation takes files where others take a number of them, and names the winner's rival as a
    # second configuration; a gather takes a file of configurations or their number.
    assert set(several) <= {"--instances", "--configuration", "--configurations", "--format"}
    assert "-o" in meanings
    assert all(names in meanings["--out"].values() for names in meanings["-o"].values())


def test_a_utility_of_whatever_has_times(here: Path) -> None:
    """Costs would not be 1 − utility, a run that was never solved be worth something, or the JSON
    not say which utility.
    """
    matrix = load_example("kissat")
    late = np.asarray(matrix.statuses) != Status.SOLVED
    found = Source(runs=Path("kissat"), utility="half-life=0.5").read()
    assert found.utility == "half-life=0.5"
    assert (found.matrix.low, found.matrix.high) == (0, 1)
    np.testing.assert_allclose(
        found.matrix.costs, np.where(late, 1, 1 - 2 ** (-matrix.costs / 0.5))
    )
    table = import_runs(matrix.select(instances=matrix.instances[:9]).to_table(), utility="step=1")
    assert set(np.unique(table.matrix.costs)) == {0, 1}
    bare = CostMatrix([[[1.0], [4.0], [10.0]]], ["a"], ["x", "y", "z"], 0, 10)
    bare.save(here / "bare.npz")
    known = Source(runs=here / "bare.npz", utility="linear=20").read().matrix
    np.testing.assert_allclose(known.costs[0, :, 0], [0.05, 0.2, 1])
    with pytest.raises(InputError, match="either `par` or `utility`"):
        import_runs(bare.to_table(), utility="step=1", par=10, cutoff=5)
    told = assess(found)
    assert told.to_dict()["runs"]["utility"] == "half-life=0.5"
    assert {each.quantity for each in told.statements} >= {"mean", "solved share", "wins"}
    assert "expected utility (half-life=0.5)" in audited(told, Context()).text


@pytest.fixture
def times(here: Path) -> CostMatrix:
    """Running times, and a file of them."""
    found = load_example("kissat")
    found = found.select(configurations=found.configurations[:3], instances=found.instances[:12])
    found.save(here / "times.npz")
    return found


@pytest.mark.parametrize("ending", ["npz", "parquet", "csv"])
def test_a_matrix_remembers_its_utility(times: CostMatrix, here: Path, ending: str) -> None:
    """A matrix that was saved from a utility would be taken for times by the next utility."""
    place = here / f"worth.{ending}"
    told = run("import", here / "times.npz", "--utility", "half-life=0.1234567", "-o", place)
    assert (told.returncode, told.stderr) == (0, "")
    assert "Costs are 1 − utility (half-life=0.1234567)" in " ".join(told.stdout.split())
    kept = import_runs(place)
    assert kept.utility == "half-life=0.1234567"
    assert kept.matrix == import_runs(place, utility="half-life=0.1234567").matrix
    assert kept.matrix == import_runs(here / "times.npz", utility="half-life=0.1234567").matrix
    assert kept.matrix.select(instances=times.instances[:2]).utility == kept.utility
    assert json.loads(run("info", place, "--json").stdout)["runs"]["utility"] == kept.utility
    for other in (("--utility", "step=1"), ("--cutoff", "0.1")):
        refused = run("info", place, *other)
        assert refused.returncode == 2
        assert refused.stderr.count("\n") == 1
        assert other[0] in refused.stderr


def test_every_command_says_the_utility(times: CostMatrix, here: Path) -> None:
    """A command would call the costs of a utility by the name of times."""
    place, page = here / "worth.csv", here / "page.html"
    import_runs(here / "times.npz", utility="half-life=0.1234567").matrix.save(place)
    default = ("--default", times.configurations[0], "--chosen", "from-list")
    for command in ("info", "audit", "certify"):
        more = () if command == "info" else default
        plain = run(command, place, *more).stdout
        assert "utility (half-life=0.1234567)" in " ".join(plain.split()), command
        if command != "certify":
            assert (
                json.loads(run(command, place, *more, "--json").stdout)["runs"]["utility"]
                == "half-life=0.1234567"
            )
    assert run("report", place, *default, "-o", page).returncode == 0
    assert "half-life=0.1234567" in page.read_text()


def test_a_utility_of_others_is_none() -> None:
    """A column of numbers that somebody calls utility, or cutoffs that differ, would be taken for
    ours.
    """
    table = CostMatrix([[[1.0], [4.0]]], ["a"], ["x", "y"], 0, 10).to_table()
    found = import_runs(
        table.with_columns(pl.Series("utility", [0.5, 0.5]), pl.Series("cutoff", [5.0, 6.0]))
    )
    assert (found.utility, found.matrix.cutoff) == (None, None)
    assert import_runs(table.with_columns(utility=pl.lit("a=b"))).utility is None
    with pytest.raises(InputError, match="Expected a utility such as"):
        assess(CostMatrix([[[0.5]]], ["a"], ["x"], 0, 1, utility="often"))


def test_test_runs_have_the_utility_of_the_others() -> None:
    """Test runs worth something else than the training runs would certify them."""
    train, test = (
        CostMatrix([[[0.5]]], ["a"], [name], 0, 1, utility=f"step={at}")
        for name, at in (("x", 1), ("y", 2))
    )
    with pytest.raises(InputError, match="utility of the others, step=1, got step=2"):
        assess(train, test=test).certificate  # noqa: B018 - to ask is to compute


def test_the_cutoff_is_kept(here: Path) -> None:
    """The cutoff that a log or the caller says would be lost on the way to the matrix or to its
    file.
    """
    table = CostMatrix([[[1.0], [9.0]]], ["a"], ["x", "y"]).to_table()
    matrix = import_runs(table, cutoff=5.0).matrix
    assert (matrix.cutoff, matrix.high) == (5, 50)
    for ending in ("npz", "parquet", "csv"):
        matrix.save(here / f"kept.{ending}")
        assert CostMatrix.load(here / f"kept.{ending}") == matrix
        assert import_runs(here / f"kept.{ending}").matrix.cutoff == 5
    with pytest.raises(InputError, match="cutoff above 0"):
        CostMatrix([[[1.0]]], ["a"], ["x"], cutoff=0)
