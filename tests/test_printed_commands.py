"""Commands that are printed to be copied ask the question of the command that printed them."""

import html
import json
import re
import shlex
import shutil
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from commands import run, tree

from truecost import CostMatrix, load_example

DATA = Path(__file__).parent / "data"
# The default, and the configuration with the lowest training cost, of the example kissat.
DEFAULT, WINNER = "2cb96f70a0", "0fa88eb8a1"
# Options that a printed command may have although the question had them not: what it is for.
PURPOSE = {
    "certify": {"configuration"},
    "plan": {"configuration", "error", "show"},
    "validate": {"scenario", "instances", "budget", "configuration", "default"},
    "report": {"out"},
}
RUNS: dict[str, tuple[str, ...]] = {
    "kissat": ("kissat",),
    "utility": ("kissat", "--utility=half-life=1.25"),
    "irace": ("data/runner/irace.Rdata", "--low=0", "--high=20.5"),
    "a range without a default": ("data/irace/timed.Rdata", "--low=-1e-07", "--high=1e+22"),
    "smac": ("data/smac/timeouts", "--cutoff=5", "--par=2.5", "--default=1"),
    "table": ("-odd name.csv", "--column=cost=PAR 10", "--column=seed=run", "--high=50", "--low=0"),
    "test runs": ("train.npz", "--test=rest of it.npz", f"--default={DEFAULT}"),
    "race": ("raced.npz", f"--default={DEFAULT}"),
}
WAYS: tuple[tuple[str, ...], ...] = (
    (),
    ("--chosen=from-list", "--list=200"),
    ("--chosen=on-part",),
    ("--chosen=before", "--configuration=CONFIGURATION"),
)
OPTIONS: tuple[tuple[str, ...], ...] = (
    (),
    ("--raced", "--primary=wins"),
    ("--no-raced", "--delta=0.01", "--seed=0"),
    ("--delta=0.2", "--primary=mean", "--splits=20", "--seed=7", "--unit=PAR10 s"),
)


@pytest.fixture(scope="module", autouse=True)
def here(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A folder with runs of every kind, some with names that a shell takes apart."""
    folder = tmp_path_factory.mktemp("printed")
    (folder / "data").symlink_to(DATA)
    matrix = load_example("kissat")
    instances = matrix.instances
    matrix.select(instances=instances[:20]).save(folder / "train.npz")
    matrix.select(instances=instances[20:]).save(folder / "rest of it.npz")
    costs = matrix.costs.copy()
    for place in range(len(costs)):
        costs[place, max(3, 60 - 2 * place) :] = float("nan")
    names = (matrix.configurations, instances, matrix.low, matrix.high)
    CostMatrix(costs, *names).save(folder / "raced.npz")
    small = matrix.select(configurations=[DEFAULT, WINNER], instances=instances[:6])
    lines = [
        f"{name},{instance},{number},{small.costs[place, column, number]:.6g}"
        for place, name in enumerate(small.configurations)
        for column, instance in enumerate(small.instances)
        for number in range(5)
    ]
    header = "configuration,instance,run,PAR 10"
    (folder / "-odd name.csv").write_text("\n".join([header, *lines]))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("COLUMNS", "1000")
        yield folder
    shutil.rmtree(folder)


def parsed(line: str) -> tuple[str, dict[str, Any]]:
    """The command of a line, and the values of its options, as the command line reads them."""
    program, name, *words = shlex.split(line)
    assert program == "truecost"
    command = tree().commands[name]
    context = command.make_context(name, words)
    return name, dict(context.params)


def printed(text: str) -> list[str]:
    """The commands that stand in a text."""
    return [line.strip() for line in text.splitlines() if line.strip().startswith("truecost ")]


def asked(kind: str, way: tuple[str, ...], options: tuple[str, ...]) -> list[str]:
    """The words of an audit."""
    names = {"irace": "24", "a range without a default": "17", "smac": "2"}
    given = [word.replace("CONFIGURATION", names.get(kind, WINNER)) for word in (*way, *options)]
    runs, *more = RUNS[kind]
    # 1,000 splits, of which nothing printed depends, would take most of the time.
    quick = ["--splits=30"] if options and not any("splits" in word for word in options) else []
    return [*more, *given, *quick, "--", runs]


CASES = [
    pytest.param(kind, way, options, id=f"{kind}-{' '.join(way)}-{' '.join(options)}")
    for kind, way, options in product(RUNS, WAYS, OPTIONS)
    # Test runs speak for themselves; one way without options is enough.
    if not (way and (kind == "test runs" or not options))
]


@pytest.mark.parametrize(("kind", "way", "options"), CASES)
def test_what_an_audit_prints_asks_the_same(
    kind: str, way: tuple[str, ...], options: tuple[str, ...]
) -> None:
    """A printed command would not be one, or lose or change an option of the question."""
    words = asked(kind, way, options)
    ended = run("audit", "--all", "--quiet", *words)
    assert ended.returncode in (0, 1), ended.stderr
    lines = printed(ended.stdout)
    assert len(lines) >= 2
    _, original = parsed(shlex.join(["truecost", "audit", *words]))
    for line in lines:
        name, params = parsed(line)
        for key, value in params.items():
            expected = original.get(key)
            added = key == "configuration" or (expected is None and key in PURPOSE.get(name, ()))
            if key in original and not added:
                assert Path(value) == expected if key == "runs" else value == expected, (key, line)
        if original["configuration"] is not None:
            given = params.get("configuration")
            assert given in (original["configuration"], [original["configuration"]]), line


@pytest.mark.parametrize(
    ("kind", "way", "options"),
    [case for case in CASES if case.values[2] == OPTIONS[2]],
)
def test_what_an_audit_prints_gives_the_same_answer(
    kind: str, way: tuple[str, ...], options: tuple[str, ...]
) -> None:
    """A printed command would speak of another configuration, or show another limit."""
    words = asked(kind, way, options)
    answer = json.loads(run("audit", "--json", "--quiet", *words).stdout)
    for line in printed(run("audit", "--all", "--quiet", *words).stdout):
        _, name, *more = shlex.split(line)
        if name == "validate":  # which would run a solver
            continue
        ended = run(name, "--json", *more)
        assert ended.returncode in (0, 1), (line, ended.stderr)
        data = json.loads(ended.stdout)
        for key in ("incumbent", "default", "runs", "chosen"):
            assert data[key] == answer[key], (key, line)
        if "certificate" in data:
            assert data["certificate"] == answer["certificate"], line


@pytest.mark.parametrize("kind", ["kissat", "irace"])
def test_what_a_page_prints_is_what_the_terminal_prints(kind: str, here: Path) -> None:
    """A report would offer other commands than an audit, or spoil them in its page."""
    words = asked(kind, (), OPTIONS[2])
    ended = run("report", "--splits=20", "--out=page.html", "--quiet", *words)
    assert ended.returncode == 0, ended.stderr
    page = (here / "page.html").read_text()
    texts = [
        html.unescape(re.sub(r"<[^>]*>", "", text)) for text in re.split(r"</?pre|</?code", page)
    ]
    on_page = {line for text in texts for line in printed(text.partition(">")[2])}
    in_terminal = set(printed(run("audit", "--all", "--splits=20", "--quiet", *words).stdout))
    assert in_terminal
    for line in on_page:
        name, params = parsed(line)
        assert params["runs"] == Path(words[-1])
        assert name == "audit" or params.get("delta") in (0.01, None), line
    assert {parsed(line)[0] for line in in_terminal} <= {parsed(line)[0] for line in on_page} | {
        "report"
    }
