import fcntl
import io
import os
import pty
import re
import shlex
import shutil
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from contextlib import redirect_stdout
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import commands
import numpy as np
import pytest
import scenarios
import test_json
from commands import Run, tree
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len
from starting import Starter
from test_cli import TRUECOST

from truecost.cli import printing, progress
from truecost.matrix import CostMatrix
from truecost.paper import resample
from truecost.show.reproducing import reproduce
from truecost.stats.synthetic import runtime_model

# Escape sequences that style text; others move the cursor.
STYLED = re.compile(rb"\x1b\[[0-9;]+m")
SHOW_CURSOR, HIDE_CURSOR = b"\x1b[?25h", b"\x1b[?25l"


def hostile(kind: str, place: int) -> str:
    """A name of sixty letters that no terminal should have to see: markup, escape sequences,
    letters of double width.
    """
    if place % 2:
        return (f"[bold]{kind}[/nope] \x1b[31m{place:02d}\x9b\r\t:smile:\u202e" + "x" * 60)[:60]
    return (f"{kind}-{place:02d}-" + "漢" * 20 + "y" * 60)[:60]


def short(place: int) -> str:
    """Such a name that still fits into a sentence."""
    return f"{place}{hostile('c', place)}"[:15]


# Every command, and how it ends.
COMMANDS = {
    "info h.npz --top 12": 0,
    "info h.db": 0,
    "bound h.npz --epsilon 5e6 --dimension 3 --lipschitz 7": 0,
    "plan h.npz --error 1e6 --price-instance 3": 0,
    "plan h.csv --bound 3e7 --configurations 12 --low 0 --high 123456700": 0,
    f"plan h.npz --apart {hostile('configuration', 2)} {hostile('configuration', 4)}": 0,
    "certify h.npz --chosen from-list": 0,
    f"audit h.npz --splits 20 --default {hostile('configuration', 0)} --chosen from-list": 1,
    "import h.csv -o out.parquet": 0,
    "report h.npz -o report.html --splits 20": 0,
    "experiment estimators h.npz --splits 20": 0,
    "experiment m h.npz --splits 20": 0,
    "experiment n h.npz --splits 20": 0,
    "experiment k h.npz --splits 20": 0,
    "experiment configure h.npz --repetitions 3": 0,
    "reproduce h.npz --out results --splits 20": 0,
    "doctor": 0,
    "scenario list": 0,
    "scenario show kissat-qcp": 0,
    "scenario export kissat-qcp exported --instances 2": 0,
    "scenario from-log runner/irace.Rdata --out made": 0,
    "validate runner/irace.Rdata --instances 'hostile/instances/*x*' --budget 10runs --workers 1 --no-pin --yes --journal v.db": 0,
    "gather hostile/scenario.toml --configurations 2 --runs 1 --workers 1 --no-pin --keep-going --journal d.db --dry-run": 0,
    "gather hostile/scenario.toml --configurations 2 --runs 1 --workers 1 --no-pin --keep-going --journal g.db": 0,
    "configure hostile/scenario.toml --budget 40runs --workers 1 --no-pin --keep-going --journal c.db": 0,
    f"compare short.npz:{short(0)} short.npz:{short(2)}": 0,
    "explain found.db --scenario hostile/scenario.toml --guess": 0,
    "watch h.db --json": 0,
}
# What those that count go up to.
COUNTED = {
    "experiment m": 20,
    "experiment n": 20,
    "experiment k": 20,
    "experiment configure": 3,
    "gather": 20,
    "scenario export": 2,
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Matrices, a journal and a scenario with such names, and costs of eight digits."""
    folder = tmp_path_factory.mktemp("terminal")
    rng = np.random.default_rng(1)
    drawn = runtime_model(configurations=12, rng=rng, within_share=0.3).draw(
        instances=16, runs=3, rng=rng
    )
    matrix = CostMatrix(
        np.array(drawn.costs) * 1234567,
        [hostile("configuration", place) for place in range(12)],
        [hostile("instance", place) for place in range(16)],
        0,
        123456700,
    )
    for ending in ("npz", "csv"):
        matrix.save(folder / f"h.{ending}")
    matrix.replace(configurations=map(short, range(12))).save(folder / "short.npz")
    shutil.copytree(Path(__file__).parent / "data" / "runner", folder / "runner")
    scenario = scenarios.write(folder / "hostile")
    text = scenario.read_text().replace('"toy"', scenarios.toml(hostile("scenario", 0)))
    scenario.write_text(text.replace('"instances/*"', '"instances/*x*"'))
    for place in range(5):
        (folder / "hostile" / "instances" / f"[bold]{place}{'x' * 60}").write_text(f"{place}\n")
    words = "--configurations 2 --runs 1 --workers 1 --no-pin --keep-going --quiet --journal h.db"
    assert commands.run("gather", scenario, *words.split(), cwd=folder).returncode == 0
    words = "--budget 40runs --workers 1 --no-pin --keep-going --quiet --journal found.db"
    assert commands.run("configure", scenario, *words.split(), cwd=folder).returncode == 0
    return folder


@pytest.fixture(autouse=True)
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    """No terminal is wide or coloured because the one that runs the tests is; figures, which take
    long, are left out.
    """
    for name in ("COLUMNS", "NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    for place in ("truecost.reproduce", "truecost.show.reproducing.reproduce"):
        monkeypatch.setattr(
            place, lambda *runs, **asked: reproduce(*runs, **{**asked, "formats": ()})
        )


def wide(text: str, columns: int) -> list[str]:
    """Lines that are too wide, but for commands that are there to be copied whole."""
    copied = ("As arguments: ", "Next: ", "  truecost ", "Target, from ", "Winner: ", "Default: ")
    return [
        line
        for line in text.splitlines()
        if cell_len(line) > columns and not line.startswith(copied)
    ]


def forget() -> None:
    """Take away what an earlier command left here: it would be refused, or there would be nothing
    left to run.
    """
    shutil.rmtree("made", ignore_errors=True)
    for journal in ("v.db", "d.db", "g.db", "c.db"):
        for path in Path().glob(f"{journal}*"):
            path.unlink()


@pytest.mark.parametrize(
    "line",
    [line for line in COMMANDS if not line.endswith("--json")],
    ids=lambda line: line.partition(" --")[0],
)
def test_what_is_printed_fits(
    line: str, folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Long names would make lines wider than a terminal, have digits cut off, or send it escape
    sequences.
    """
    monkeypatch.chdir(folder)
    forget()
    monkeypatch.setattr(progress, "LINE_EVERY", 0.0)
    monkeypatch.setattr(resample, "CHUNK", 1000)
    ended = run(*shlex.split(line))
    assert ended.returncode == COMMANDS[line], ended.stderr
    for text in (ended.stdout, ended.stderr):
        assert wide(text, 80) == []
        assert all(letter.isprintable() for letter in text.replace("\n", ""))
    assert "…" not in ended.stdout
    for start, total in COUNTED.items():
        if line.startswith(start):
            counts = [
                int(done)
                for done in re.findall(rf"^\d+%, (\d+)/{total} ", ended.stderr, re.MULTILINE)
            ]
            assert counts == sorted(counts)
            assert counts[-1:] == [total], ended.stderr
    assert line.startswith(("gather", "configure", "validate")) == bool(
        re.search(r" runs, [\d.]+/s, CPU \d", ended.stderr)
    )
    monkeypatch.setenv("COLUMNS", "60")
    assert wide(run(*shlex.split(line)).stdout, 60) == []


@pytest.mark.parametrize("line", COMMANDS, ids=lambda line: line.partition(" --")[0])
def test_json_is_alone(line: str, folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs that read `--json` would find tables, colours or progress in it; or --quiet would
    not be quiet.
    """
    monkeypatch.chdir(folder)
    forget()
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setattr(progress, "LINE_EVERY", 0.0)
    quiet = ["--quiet"] if "quiet" in options(line) else []
    ended = run(*shlex.split(line), "--json", *quiet)
    assert ended.returncode == COMMANDS[line], ended.stderr
    test_json.check(line, ended.stdout)
    assert "\x1b" not in ended.stdout
    assert ended.stderr == ""


def options(line: str) -> set[str]:
    """The options of the command in a line."""
    found = tree()
    for word in line.split():
        found = getattr(found, "commands", {}).get(word, found)
    return {parameter.name for parameter in found.params}


@pytest.mark.parametrize("line", [*COMMANDS, "demo"], ids=lambda line: line.partition(" --")[0])
def test_help_fits(line: str, run: Run) -> None:
    """The help of a command would be wider than a terminal, or fail."""
    words = [word for word in line.split() if re.fullmatch("[a-z][a-z-]+|[mnk]", word)]
    names = words[:2] if words[0] in ("experiment", "scenario") else words[:1]
    ended = run(*names, "--help")
    assert ended.returncode == 0
    assert f"Usage: truecost {' '.join(names)}" in ended.stdout
    assert wide(ended.stdout, 80) == []


@pytest.mark.parametrize("words", [[], ["experiment"], ["scenario"]])
def test_lists_of_commands_are_not_cut(words: list[str], run: Run) -> None:
    """A list of commands would break off in the middle of a sentence."""
    ended = run(*words, "--help")
    listed = [line for line in ended.stdout.split("Commands:")[1].splitlines() if line.strip()]
    assert [line for line in listed if line.endswith("...") or line[-1] not in ".?"] == []


def test_every_command_is_looked_at() -> None:
    """A new command would print what no test here has seen, have no --json, or run long without
    --quiet.
    """

    def walk(found: Any, name: str) -> Iterator[str]:
        if not hasattr(found, "commands"):
            yield name
            return
        for word, each in found.commands.items():
            yield from walk(each, f"{name} {word}".strip())

    names = set(walk(tree(), ""))
    seen = {name for name in names for line in COMMANDS if f"{line} ".startswith(f"{name} ")}
    # It has tests of its own.
    assert names - seen == {"demo"}
    assert [name for name in names if "json" not in options(name)] == []
    long = {
        name
        for name in names
        if name.split()[0] in ("gather", "configure", "experiment", "reproduce", "demo", "import")
    }
    assert [
        name
        for name in long | {"audit", "report", "scenario export"}
        if "quiet" not in options(name)
    ] == []


@given(
    numbers=st.lists(
        st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=7, max_size=7),
        min_size=1,
        max_size=3,
    ),
    name=st.text(max_size=70),
    left=st.integers(0, 2),
    columns=st.sampled_from([60, 80, 200]),
)
@settings(max_examples=50)
def test_tables_lose_no_digit(
    numbers: list[list[float]], name: str, left: int, columns: int
) -> None:
    """A number in a table would be cut off, or broken in two, where the table is too wide."""
    cells = [
        [f"{printing.number(each)} ± {printing.number(each, 2)}" for each in row] for row in numbers
    ]
    printed = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(printed):
        patch.setenv("COLUMNS", str(columns))
        printing.print_table(
            "A title",
            [f"the head {place}" for place in range(left + 7)],
            [[name] * left + row for row in cells],
            left,
        )
    assert wide(printed.getvalue(), columns) == []
    assert {word for row in cells for cell in row for word in cell.split()} <= set(
        printed.getvalue().split()
    )


class Seen(NamedTuple):
    """What a process wrote, and how it ended."""

    out: bytes
    err: bytes
    code: int


@pytest.fixture(scope="module")
def loaded() -> Iterator[Starter]:
    """Starts commands that have loaded what they need."""
    with Starter(
        "truecost.cli.plan",
        "truecost.cli.import_",
        "truecost.cli.asking",
        "truecost.importers.formats.table",
        "truecost.judge.assess",
        "truecost.judge.bounds",
        "truecost.show.document.next_steps",
        "truecost.show.terminal",
    ) as made:
        yield made


def watch(
    starter: Starter | None,
    *words: object,
    out: bool = True,
    err: bool = True,
    stop: bytes | None = None,
    env: dict[str, str] | None = None,
) -> Seen:
    """A command in a real terminal of 80 columns; stdout or stderr may be a pipe. Ctrl-C when
    stderr has shown `stop`.
    """
    ends = [pty.openpty() if wanted else os.pipe() for wanted in (out, err)]
    for parent, _ in ends:
        if os.isatty(parent):
            fcntl.ioctl(parent, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    streams: dict[str, Any] = {
        "stdout": ends[0][1],
        "stderr": ends[1][1],
        "env": {**os.environ, **(env or {})},
    }
    start = (
        partial(subprocess.Popen, [TRUECOST, *map(str, words)])
        if starter is None
        else partial(starter.truecost, *words)
    )
    with start(**streams) as work:
        texts = [b"", b""]
        for _, child in ends:
            os.close(child)
        while stop is not None and stop not in texts[1]:
            texts[1] += os.read(ends[1][0], 4096)
        if stop is not None:
            work.send_signal(signal.SIGINT)
        # What is written is little, so neither stream fills while the other is read.
        for place in (1, 0):
            while piece := _read(ends[place][0]):
                texts[place] += piece
        code = work.wait()
    for parent, _ in ends:
        os.close(parent)
    return Seen(texts[0], texts[1], code)


def _read(parent: int) -> bytes:
    try:
        return os.read(parent, 4096)
    except OSError:  # a terminal that nobody has open any more
        return b""


def test_colours_are_for_terminals(loaded: Starter, folder: Path) -> None:
    """There would be no colours in a terminal; or some in a pipe, with NO_COLOR, in a dumb
    terminal, or in JSON.
    """
    words = ["bound", folder / "h.npz"]
    coloured = watch(None, *words)
    assert coloured.code == 0
    assert b"\x1b[33mPlug-in, not guaranteed" in coloured.out  # yellow
    assert b"\x1b[1m" in coloured.out
    plain = watch(loaded, *words, out=False)
    assert STYLED.sub(b"", coloured.out).replace(b"\r\n", b"\n") == plain.out
    assert b"\x1b" not in plain.out
    for variables in ({"NO_COLOR": "1"}, {"NO_COLOR": "no", "FORCE_COLOR": "1"}, {"TERM": "dumb"}):
        assert b"\x1b" not in watch(loaded, *words, env=variables).out
    assert b"\x1b[33m" in watch(loaded, *words, out=False, env={"FORCE_COLOR": "1"}).out
    assert b"\x1b" not in watch(loaded, *words, "--json", env={"FORCE_COLOR": "1"}).out


def test_errors_are_plain(loaded: Starter) -> None:
    """In a terminal the line that says what was wrong would be coloured, wrapped or more than one."""
    ended = watch(loaded, "info", "nowhere-" + "x" * 90 + ".npz", env={"FORCE_COLOR": "1"})
    assert ended.code == 2
    assert re.fullmatch(rb"truecost: [^\x1b\r\n]+\r\n", ended.err), ended.err


def test_progress_in_a_terminal(loaded: Starter, folder: Path, tmp_path: Path) -> None:
    """A terminal would show no progress, or keep it; a pipe or --quiet would have one; Ctrl-C would
    hide the cursor.
    """
    drawn = runtime_model(configurations=60, rng=np.random.default_rng(1))
    path = tmp_path / "large.npz"
    drawn.draw(instances=200, runs=5, rng=np.random.default_rng(2)).save(path)
    ended = watch(None, "experiment", "n", path, "--splits", 100_000, stop=b"to go")
    assert ended.code == 130
    assert ended.out == b""
    assert re.search(
        rb"\d+%  [\d,]+/100,000 splits  [\d,.]+/s  \d:\d\d:\d\d  \d+:\d\d:\d\d to go", ended.err
    ), ended.err[-300:]
    assert ended.err.endswith(b"truecost: interrupted\r\n")
    assert ended.err.rindex(SHOW_CURSOR) > ended.err.rindex(HIDE_CURSOR)
    assert ended.err.split(b"\x1b[2K")[-1] == b"truecost: interrupted\r\n"
    short = ["import", folder / "h.csv"]
    assert HIDE_CURSOR in watch(loaded, *short).err
    assert watch(loaded, *short, "--quiet").err == b""
    assert watch(loaded, *short, err=False).err == b""
    assert watch(loaded, *short, env={"TERM": "dumb"}).err == b""
    uncoloured = watch(loaded, *short, env={"NO_COLOR": "1"}).err
    assert HIDE_CURSOR in uncoloured
    assert not STYLED.search(uncoloured)


def test_rate_and_forecast_count_from_the_first_report(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs from an earlier start would count as done in no time, and make the forecast too good."""
    now = 0.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    meter = progress.Meter("runs")
    now = 7.0  # the kernels are compiled
    meter.tell(0.5, count=500, total=1000, cpu=5.0)
    now = 17.0
    meter.tell(0.6, count=600, total=1000, cpu=25.0, note="a note")
    assert (
        meter.line(200)
        == "60%, 600/1,000 runs, 10.0/s, CPU 25/105 s, 0:00:17, 0:00:40 to go, a note"
    )
    assert meter.line(70) == "60%, 600/1,000 runs, 10.0/s, CPU 25/105 s, 0:00:17, 0:00:40 to go"
    assert meter.line(40) == "60%, 600/1,000 runs, 0:00:40 to go"
    assert meter.line(1) == "60%"
    now = 27.0  # nothing new for a while: no slower, and nearer the end
    assert meter.line(70) == "60%, 600/1,000 runs, 10.0/s, CPU 25/105 s, 0:00:27, 0:00:30 to go"


def test_bars_fit_whatever_they_say(monkeypatch: pytest.MonkeyPatch) -> None:
    """A long name, a forecast of ages or a narrow terminal would break the bar into several lines,
    or end the command.
    """
    for columns in (60, 80, 200):
        monkeypatch.setenv("COLUMNS", str(columns))
        named, slow = (
            progress.Meter(f"reading {hostile('file', 0)}{'x' * 200}"),
            progress.Meter("runs"),
        )
        slow.tell(0.0, count=0, total=10**12, cpu=0.0)
        slow.tell(1e-300, count=1, total=10**12, cpu=1e9, note=hostile("configuration", 1) * 4)
        for meter, height in ((named, 1), (slow, 2)):
            lines = printing.console().render_lines(meter)
            assert len(lines) == height
            assert all(sum(segment.cell_length for segment in line) <= columns for line in lines)


def test_a_dumb_terminal_has_lines(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A terminal that cannot move its cursor would be told nothing for hours."""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setattr(progress, "LINE_EVERY", 0.0)
    with progress.progress("runs", quiet=False) as meter:
        meter.count(5, 10)
    assert capsys.readouterr().err.startswith("50%, 5/10 runs, 0:00:0")
