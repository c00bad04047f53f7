import io
import json
import re
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import numpy as np
import pytest
from commands import run

from truecost import cli
from truecost.matrix import CostMatrix
from truecost.stats import bounds
from truecost.stats.allocation import even
from truecost.stats.estimate import training_cost
from truecost.stats.synthetic import runtime_model
from truecost.stats.variance import VarianceComponents, variance_components

TRUECOST = Path(sys.executable).parent / "truecost"


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A matrix in a file."""
    rng = np.random.default_rng(1)
    path = tmp_path_factory.mktemp("matrix") / "matrix.npz"
    runtime_model(configurations=12, rng=rng).draw(instances=15, runs=3, rng=rng).save(path)
    return path


def test_info_numbers(stored: Path) -> None:
    """`info --json` would print other numbers than the package computes."""
    answer = json.loads(run("info", stored, "--json").stdout)
    matrix = CostMatrix.load(stored)
    costs, components = training_cost(matrix, weights="instances"), variance_components(matrix)
    best = int(np.argmin(costs.cost))
    statuses = np.asarray(matrix.statuses)
    assert answer["configurations"][0] == {
        "configuration": matrix.configurations[best],
        "rank": 1,
        "training_cost": costs.cost[best],
        "training_cost_at_least": costs.cost[best],
        "censored": 0,
        "standard_error": costs.standard_error[best],
        "runs": 45,
        "instances": 15,
        "within": components.within[best],
        "across": components.across[best],
        "total": components.total[best],
        "not_solved": (statuses[best] != 0).mean(),
    }
    assert answer["incumbent"]["configuration"] == matrix.configurations[best]
    assert answer["runs"]["missing_runs"] == 0
    assert sum(answer["runs"]["statuses"].values()) == answer["runs"]["runs"] == 12 * 45


def test_info_says_what_cannot_be_known(tmp_path: Path) -> None:
    """From single runs `info` would show within and across as if they were known."""
    path = tmp_path / "single.csv"
    path.write_text("configuration,instance,cost\na,x,1\na,y,3\nb,x,2\nb,y,2\n")
    ended = run("info", path, "--low", 0, "--high", 5)
    assert "cannot be separated" in ended.stdout
    assert (
        json.loads(run("info", path, "--low", 0, "--high", 5, "--json").stdout)["configurations"][
            0
        ]["within"]
        is None
    )


def test_bound_numbers(stored: Path) -> None:
    """`bound --json` on a matrix would print other numbers than the package computes."""
    answer = json.loads(run("bound", stored, "--delta", 0.1, "--json").stdout)["bounds"]
    matrix = CostMatrix.load(stored)
    components, costs = variance_components(matrix), training_cost(matrix)
    best = int(np.argmin(costs.cost))
    own = bounds.finite(
        allocation=even(45, 15),
        components=components,
        width=100,
        delta=0.1,
        tau="per-configuration",
    )
    epsilon = np.asarray(own.epsilon)
    assert answer["selected"]["bennett"] == pytest.approx(epsilon[best])
    assert answer["worst"]["bennett"] == pytest.approx(epsilon.max())
    single = bounds.single(
        allocation=even(45, 15), components=components[best], width=100, delta=0.1, form="printed"
    )
    assert answer["one"]["printed"] == pytest.approx(single.epsilon)
    assert answer["true_cost_at_most"] <= costs.cost[best] + epsilon[best]
    assert answer["guaranteed"] is False
    assert "plug-in" in answer["caveat"]


def test_bound_on_assumptions_and_inverse_questions() -> None:
    """`bound` without a matrix, Theorem 3 and the inverse questions would disagree with the
    package.
    """
    words = "bound --within 50 --across 400 --high 250 --instances 250 --total-runs 1250 --configurations 500 --epsilon 9"
    ended = run(*words.split(), "--dimension", 54, "--lipschitz", 100, "--json")
    answer = json.loads(ended.stdout)["bounds"]
    components = VarianceComponents.known(within=50, across=400)
    expected = bounds.finite(
        allocation=even(1250, 250), components=components, width=250, delta=0.05, configurations=500
    )
    assert answer["worst"]["bennett"] == pytest.approx(expected.epsilon)
    assert answer["space"]["solved"]["epsilon"] == pytest.approx(147.2, abs=0.05)
    assert "does not hold" in answer["space"]["printed"]["caveat"]
    assert answer["guaranteed"] is True
    reached = answer["inverse"]
    for runs, instances, m, delta in (
        (1250, 250, 500, reached["delta"]),
        (1250, 250, reached["configurations"], 0.05),
        (reached["runs"], 250, 500, 0.05),
        (5 * reached["instances"], reached["instances"], 500, 0.05),
    ):
        again = bounds.finite(
            allocation=even(runs, instances),
            components=components,
            width=250,
            delta=delta,
            configurations=m,
        )
        assert again.epsilon == pytest.approx(9, rel=0.01)
    for wording in ("Theorem 3", "reaches ε = 9", "What are the assumptions?"):
        assert wording in run(*words.split(), "--dimension", 54, "--lipschitz", 100).stdout


def test_names_are_data(tmp_path: Path) -> None:
    """A configuration named like markup would be taken for markup."""
    path = tmp_path / "odd.npz"
    CostMatrix(np.array([[[1.0, 2.0], [2.0, 1.0]]]), ["[bold]x[/nope]"], ["i", "j"], 0, 5).save(
        path
    )
    for command in ("info", "bound"):
        ended = run(command, path)
        assert ended.returncode == 0, ended.stderr
        assert "[bold]x[/nope]" in ended.stdout


def test_names_cannot_steer_the_terminal(tmp_path: Path) -> None:
    """A name could send escape sequences to the terminal, or be shown as an emoji it is not."""
    path = tmp_path / "odd.npz"
    names = ["\x1b[31mred", ":smile:", "\x9b31m"]
    CostMatrix(np.arange(12.0).reshape(3, 2, 2), names, ["i", "j"], 0, 50).save(path)
    for words in (
        ["info", path],
        ["bound", path, "--configuration", names[0]],
        ["bound", path, "--configuration", "\x1b[2J"],
    ):
        ended = run(*words)
        assert "\x1b" not in ended.stdout + ended.stderr
        assert "\x9b" not in ended.stdout + ended.stderr
    assert ":smile:" in run("info", path).stdout


def in_ascii(*words: object) -> bytes:
    """What a command prints where nothing but ASCII can be printed."""
    out, err = (
        io.TextIOWrapper(io.BytesIO(), encoding="ascii", write_through=True) for _ in range(2)
    )
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        patch.setattr(sys, "argv", ["truecost", *map(str, words)])
        with pytest.raises(SystemExit, match=r"^0$"):
            cli.main()
    assert err.buffer.getvalue() == b""
    return out.buffer.getvalue()


def test_any_stream_will_do(stored: Path) -> None:
    """An ASCII terminal, a closed stdout or a closed stderr would end in a traceback or in a wrong
    exit code.
    """
    ended = subprocess.run(
        [TRUECOST, "info", stored],
        capture_output=True,
        env={"PYTHONIOENCODING": "ascii"},
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout == in_ascii("info", stored)
    for words in (["bound", stored], ["info", stored, "--json"], ["bound", "--help"]):
        assert in_ascii(*words)
    for closing, code, line in (
        (">&-", 0, f"info '{stored}'"),
        ("2>&-", 2, "info nowhere.npz"),
        ("2>/dev/full", 2, "info nowhere.npz"),
    ):
        shell = subprocess.run(
            ["bash", "-c", f"'{TRUECOST}' {line} {closing}"], capture_output=True, check=False
        )
        assert shell.returncode == code, (closing, shell)
        assert b"Traceback" not in shell.stderr
    full = subprocess.run(
        ["bash", "-c", f"'{TRUECOST}' info '{stored}' --json >/dev/full"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (full.returncode, full.stderr.count("\n")) == (2, 1)
    assert "standard output: No space left" in full.stderr


def test_too_many_runs_are_refused() -> None:
    """Numbers of runs that overflow would give a bound that is too small and guaranteed."""
    base = ["bound", "--within", 50, "--across", 400, "--high", 250, "--instances", 250]
    for runs in (10**11, 2**63 - 1, 2**63, 10**30):
        ended = run(*base, "--total-runs", runs)
        assert ended.returncode == 2
        assert ended.stderr.count("\n") == 1
    assert run(*base, "--total-runs", 3 * 10**9, "--epsilon", 4).returncode == 0
    tiny = run(*base, "--dimension", 3, "--lipschitz", 5e-324)
    assert tiny.returncode == 0, tiny.stderr


def test_unfinished_configurations_are_left_out_of_bounds(tmp_path: Path) -> None:
    """A configuration without runs would break the bounds of the others."""
    path = tmp_path / "gaps.npz"
    costs = np.random.default_rng(1).random((3, 6, 3))
    costs[1] = np.nan
    costs[2, 0, 1:] = np.nan
    CostMatrix(costs, ["a", "b", "c"], list("uvwxyz"), 0, 1).save(path)
    answer = json.loads(run("bound", path, "--json").stdout)
    assert answer["bounds"]["configurations"] == 2


def test_doctor() -> None:
    """`doctor` would not run, or not say where things stand."""
    findings = json.loads(run("doctor", "--json").stdout)["findings"]
    assert {finding["area"] for finding in findings} == {"machine", "limits", "solvers", "extras"}
    assert all(finding["detail"] for finding in findings)
    assert run("doctor").returncode == 0


def test_bad_input_is_one_line_and_exit_code_2(tmp_path: Path, stored: Path) -> None:
    """Wrong input would end in a traceback, in several lines, or in another exit code."""
    text = tmp_path / "notes.txt"
    text.write_text("dear diary\n")
    (tmp_path / "dir").mkdir()
    for words in (
        ["nonsense"],
        ["info"],
        ["info", "nowhere.npz"],
        ["info", tmp_path / "dir"],
        ["info", text],
        ["info", stored, "--top", "ten"],
        ["info", stored, "--top", "0"],
        ["info", stored, "--high", "1"],
        ["info", stored, "--low", "nan"],
        ["bound"],
        ["bound", "--within", "1"],
        ["bound", "--within", "-1", "--across", "1", "--high", "1", "--instances", "3"],
        ["bound", stored, "--within", "1"],
        ["bound", stored, "--configuration", "defualt"],
        ["bound", stored, "--delta", "0"],
        ["bound", stored, "--dimension", "3"],
        ["bound", stored, "--epsilon", "-1"],
        ["bound", stored, "--configurations", "1"],
        ["demo", "--out", text],
    ):
        ended = run(*words, cwd=tmp_path)
        assert ended.returncode == 2, (words, ended)
        assert ended.stdout == ""
        assert re.fullmatch(r"truecost: [^\n]+\n", ended.stderr), (words, ended.stderr)


@pytest.mark.parametrize(("command", "code"), [("info", 0), ("audit", 1)])
def test_reader_that_stops_early(command: str, code: int, stored: Path) -> None:
    """`truecost audit … | head -1` would end in a traceback, or lose the answer "no"."""
    words = [str(TRUECOST), command, str(stored), "--json"]
    words += ["--quiet"] if command == "audit" else []
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()  # before anything was printed
        assert process.stderr.read() == b""
    assert process.returncode == code


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["audit", "kisat"], "kisat: No such file or folder; did you mean 'kissat'?"),
        (["audit", "runs.cvs"], "runs.cvs: No such file or folder; did you mean 'runs.csv'?"),
        (["scenario", "show", "kissat-qc"], "got 'kissat-qc'; did you mean 'kissat-qcp'?"),
        (["gather", "kissat-qc"], "kissat-qcp; did you mean 'kissat-qcp'?"),
        (["audti", "kissat"], "Did you mean 'audit'?"),
    ],
)
def test_slips_of_the_hand(
    words: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who misspells an example, a scenario, a file or a command would have to find it himself."""
    monkeypatch.chdir(tmp_path)
    Path("runs.csv").write_text("")
    ended = run(*words)
    assert ended.returncode == 2
    assert message in ended.stderr


def test_help_is_written_for_people() -> None:
    """Help would show braces and brackets of Python's, or describe groups of options that many
    commands have again and again.
    """
    text = run("audit", "--help").stdout
    assert "Usage: truecost audit [OPTIONS] RUNS\n" in text
    assert not re.search(r"[{<]", text)
    assert "See: truecost import --help" in text
    assert "Penalty factor" not in text
    assert "Penalty factor" in run("import", "--help").stdout
    for subject, described, others in (
        ("gather", "Solver runs at a time", ("configure", "validate", "explain")),
        ("audit", "Whether statements are about new instances", ("report", "certify", "validate")),
    ):
        assert described in run(subject, "--help").stdout
        for other in others:
            text = run(other, "--help").stdout
            assert described not in text
            assert f"See: truecost {subject} --help" in text
            assert "x>=" not in text


def test_an_audit_loads_no_charts_and_no_frames() -> None:
    """An audit would wait for polars and Altair, of which it needs nothing."""
    script = (
        "import sys, truecost.cli as cli; sys.argv[1:] = ['audit', 'kissat', '--json']; cli._run();"
        "print([m for m in ('polars', 'altair', 'jinja2', 'pandas', 'scipy.stats') if m in sys.modules], file=sys.stderr)"
    )
    ended = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert ended.stderr == "[]\n"


def test_help_loads_nothing_heavy() -> None:
    """`truecost --help` would load NumPy, SciPy, polars or Altair and become slow."""
    heavy = ("numpy", "scipy", "polars", "numba", "altair", "ConfigSpace")
    script = f"import sys, truecost, truecost.cli; truecost.cli.app(); print([m for m in {heavy} if m in sys.modules])"
    ended = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert ended.stdout == "[]\n"
    helped = run("--help")
    for command in ("demo", "doctor", "info", "bound"):
        assert command in helped.stdout
    assert run().stdout == helped.stdout
    assert re.fullmatch(r"\d+\.\d+\.\d+\n", run("--version").stdout)


@pytest.mark.parametrize(
    "words",
    [
        ["report", "m.csv", "--low", 0, "--high", 9, "-o", "m.csv"],
        ["report", "m.csv", "--low", 0, "--high", 9, "-o", "link.html"],
        ["report", "kissat", "-o", "missing/r.html"],
        ["import", "m.csv", "--low", 0, "--high", 9, "-o", "m.csv"],
        ["experiment", "n", "m.parquet", "--splits", 5, "--out", "m.parquet"],
        [
            "plan",
            "m.csv",
            "--low",
            0,
            "--high",
            9,
            "--budget",
            "5runs",
            "--export",
            "irace",
            "--out",
            "m.csv",
        ],
        ["report", "kissat", "-o", "/dev/null"],
    ],
)
def test_nothing_is_written_over_what_is_read(words: list[object], tmp_path: Path) -> None:
    """A slip of the hand would cost somebody the runs, or the machine a device."""
    (tmp_path / "m.csv").write_text(
        "configuration,instance,run,cost\na,x,0,1\na,y,0,2\nb,x,0,3\nb,y,0,1\n"
    )
    (tmp_path / "link.html").symlink_to(tmp_path / "m.csv")
    CostMatrix.load(tmp_path / "m.csv", low=0, high=9).save(tmp_path / "m.parquet")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    ended = run(*map(str, words), cwd=tmp_path)
    assert ended.returncode == 2
    assert ended.stderr.count("\n") == 1
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
    assert Path("/dev/null").is_char_device()
