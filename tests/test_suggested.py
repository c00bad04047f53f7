"""What a report offers to run next fits the log."""

from pathlib import Path

import pytest
import rwriter
from commands import run

from truecost import import_runs
from truecost.errors import InputError

DATA = Path(__file__).parent / "data"


def offered(*words: object, cwd: Path | None = None, every: bool = True) -> str:
    """The lines of an audit that are commands."""
    answer = run("audit", *words, *(["--all"] if every else []), cwd=cwd)
    lines = [line.strip() for line in answer.stdout.splitlines()]
    return "\n".join(line for line in lines if line.startswith("truecost "))


@pytest.mark.parametrize("every", [True, False])
def test_a_log_of_smac3_needs_a_scenario_first(every: bool) -> None:
    """The offered validation would ask for a scenario file that nothing writes."""
    lines = offered(DATA / "smac" / "instances", every=every)
    made = lines.index("scenario from-log")
    assert "--out=instances-scenario" in lines
    assert made < lines.index("--scenario=instances-scenario/scenario.toml")


def test_a_log_of_irace_without_a_default() -> None:
    """The offered validation would be refused for want of something to compare with."""
    assert "--default=1" in offered(DATA / "irace" / "tested.Rdata")
    assert "--default" not in offered(DATA / "runner" / "irace.Rdata")


def test_what_only_irace_can_run(tmp_path: Path) -> None:
    """A validation would be offered, or begun, for a runner that nobody but irace can call."""
    path = tmp_path / "log.Rdata"
    path.write_bytes(rwriter.irace_log())
    log = import_runs(path)
    assert log.obstacle == "expected a target runner in the log, got none"
    answer = run("validate", path, "--budget", "4runs", "--default", "1", cwd=tmp_path)
    assert answer.returncode == 2
    assert "write a `scenario` by hand" in answer.stderr.replace("--scenario", "`scenario`")
    assert "--scenario=scenario.toml" in offered(path, "--low", "0", "--high", "10")


def test_an_instance_list_that_names_nothing(tmp_path: Path) -> None:
    """A pattern without files would leave a scenario behind that stops the next attempt, too."""
    path = DATA / "runner" / "irace.Rdata"
    answer = run("validate", path, "--instances", "no/*", "--budget", "4runs", cwd=tmp_path)
    assert answer.returncode == 2
    assert not list(tmp_path.iterdir())


def test_numbers_of_an_instance_file(tmp_path: Path) -> None:
    """Comments would be taken for instances, or files and texts be mixed up."""
    from truecost.running.instances import listed

    (tmp_path / "a.cnf").write_text("p")
    (tmp_path / "list.txt").write_text("# all\n  a.cnf  # a file\n\n--size 5 --kind 'x y'\n")
    file, text = listed(tmp_path / "list.txt", [tmp_path])
    assert (file.name, file.argument, file.is_file) == ("a.cnf", str(tmp_path / "a.cnf"), True)
    assert (text.argument, text.is_file, text.number) == ("--size 5 --kind 'x y'", False, 2)
    (tmp_path / "list.txt").write_text("# nothing\n")
    with pytest.raises(InputError, match="expected instances, one per line"):
        listed(tmp_path / "list.txt", [tmp_path])
