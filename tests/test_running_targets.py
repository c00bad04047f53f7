"""Targets: called as their convention has it, their answers read, checked and never misread."""

import errno
import json
import math
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial, wraps
from pathlib import Path
from typing import Any

import pytest
import scenarios
from hypothesis import given, settings
from hypothesis import strategies as st
from running_tools import FAR, script, until
from scenarios import read

from truecost.errors import InputError
from truecost.running._call import parameters
from truecost.running.execute import Caller, by_hand, execute
from truecost.running.scenario import Scenario
from truecost.running.slots import LostSlotError, Slot
from truecost.running.tables import Limits
from truecost.running.targets import LINE, Task, identifier_of, parse, read_cost
from truecost.runs import Instance, Outcome, Status

COMMAND: dict[str, Any] = {
    "kind": "command",
    "command": ["./solver.sh", "{instance}", "{arguments}"],
}
WRAPPER: dict[str, Any] = {"kind": "wrapper", "command": ["./solver.sh"]}
CUTOFF = f"{scenarios.TABLES['limits']['cpu']:g}"
SOLVED, TIMEOUT, CRASHED, ABORTED = (
    Status.SOLVED, Status.TIMEOUT, Status.CRASHED, Status.ABORTED
)  # fmt: skip


@pytest.fixture(scope="module")
def slot() -> Iterator[Slot]:
    """One slot for all runs."""
    with Slot() as made:
        yield made


def answering(value: object, **tables: Any) -> Any:
    """A solver that prints this value as a wrapper does, for `script`."""
    return {"text": f'echo "Result for SMAC: SAT, 1, 0, {value}, 1"', **tables}


def task(scenario: Scenario, **changes: Any) -> Task:
    """A run of the default on the first instance."""
    default = {"configuration": scenario.space.default(), "instance": scenario.instances[0]}
    return Task(**{**default, "number": 0, "seed": 9, **changes})


def run(slot: Slot, scenario: Scenario, **changes: Any) -> Outcome:
    """What such a run comes to."""
    return execute(slot, Caller(scenario), task(scenario, **changes))


def words(scenario: Scenario, instance: Instance | None = None) -> list[str]:
    """The command line of the default."""
    return Caller(scenario).command_line(task(scenario, instance=instance or scenario.instances[0]))


def again(scenario: Scenario, outcome: Outcome) -> "subprocess.CompletedProcess[str]":
    """The line to try by hand, tried."""
    line = by_hand(Caller(scenario), task(scenario), outcome)
    return subprocess.run(["sh", "-c", line], capture_output=True, text=True, check=False)


def test_command_lines(tmp_path: Path) -> None:
    """A solver would get its arguments in another order than its convention has."""
    wrapper = read(tmp_path)
    instance = wrapper.instances[0]
    common = ["./solver.sh", instance.argument, "0", CUTOFF, "2147483647", "9"]
    assert words(wrapper) == [*common, "-alpha", "1", "-beta", "1"]
    assert words(wrapper, replace(instance, extras={"specifics": "x=5"}))[2] == "x=5"
    command = read(tmp_path, target=COMMAND, answer={"value": "(.)"})
    assert words(command) == ["./solver.sh", instance.argument, "--alpha=1", "--beta=1"]
    (tmp_path / "f.py").write_text(
        # A dataclass and pickle look their module up.
        "from __future__ import annotations\nimport dataclasses, pickle\n"
        "@dataclasses.dataclass\nclass Words:\n    words: list[str]\n"
        "def f(): ...\ndef build(values):\n"
        "    made = Words(['--' + values['alpha'] + values['beta']])\n"
        "    return pickle.loads(pickle.dumps(made)).words\n"
        "def program(): return ['ulimit', '-c']"
    )
    python = read(tmp_path, target={"kind": "python", "function": "f.py:f"})
    assert json.loads(words(python)[-1])["configuration"] == {"alpha": "1", "beta": "1"}
    built = read(tmp_path, target={**WRAPPER, "builder": "f.py:build"})
    assert words(built)[-1] == "--11"
    program = {"kind": "wrapper", "command": ["{program}", "{scenario}"], "program": "f.py:program"}
    assert words(read(tmp_path, target=program))[:3] == ["ulimit", "-c", str(tmp_path)]
    # A word may be longer than any path.
    target = {"kind": "wrapper", "command": ["./solver.sh", "x" * 300], "own_folder": True}
    assert words(read(tmp_path, target=target))[:2] == [str(tmp_path / "solver.sh"), "x" * 300]
    # The value of a parameter may be called like a file.
    (tmp_path / "1").touch()
    target = {**COMMAND, "own_folder": True, "style": "--name value"}
    scenario = read(tmp_path, target=target, answer={"value": "(.)"})
    assert words(scenario)[2:] == ["--alpha", "1", "--beta", "1"]


def test_irace_target_runners_are_called_as_irace_does(tmp_path: Path) -> None:
    """An existing target-runner and parameters.txt of irace would not work as they are."""
    scenarios.write(tmp_path)
    (tmp_path / "parameters.txt").write_text('x "--x=" c (1, 2)\nn "-n " i (1,9)\n')
    tables: dict[str, Any] = {"space": {"file": "parameters.txt"}}
    irace = read(tmp_path, target={"kind": "irace", "command": ["./run"], "bound": True}, **tables)
    instance = irace.instances[0]
    name, number, *rest = words(irace)[1:]
    assert name.isdecimal()
    assert number.isdecimal()
    assert rest == ["9", instance.argument, CUTOFF, "--x=1", "-n", "5"]
    text = replace(instance, argument="--size 5 'a b'", is_file=False, number=7)
    assert words(irace, text)[2:] == ["7", "9", "--size", "5", "a b", CUTOFF, "--x=1", "-n", "5"]
    # Identifiers are integers of R: a log's own, or made from any name.
    assert identifier_of("24") == 24
    names = ("24", "0fa88eb8a1", "9" * 10, "a name", "ä")
    assert len({identifier_of(name) for name in names}) == len(names)
    assert all(0 < identifier_of(name) < 2**31 for name in names)


def test_a_column_that_an_instance_lacks_is_named(tmp_path: Path) -> None:
    """A solver would be called with a placeholder in braces."""
    scenarios.write(tmp_path)
    (tmp_path / "list.csv").write_text("instance,optimum\ninstances/i 0.txt,12\n")
    target = {**COMMAND, "command": [*COMMAND["command"], "{optimum}"]}
    tables: dict[str, Any] = {"instances": {"file": "list.csv"}, "answer": {"value": "(.)"}}
    scenario = read(tmp_path, target=target, **tables)
    with pytest.raises(InputError, match="optimum"):
        words(scenario, replace(scenario.instances[0], extras={}))


@pytest.mark.parametrize(
    "body", ["return 5", "return [5]", "return ['a\\0']", "1/0", "raise SystemExit(3)"]
)
def test_functions_that_fail_are_named(tmp_path: Path, body: str) -> None:
    """Whatever a scenario's own builder or program does wrong would end in a traceback of ours."""
    scenarios.write(tmp_path)
    builder = {**WRAPPER, "builder": "f.py:f"}
    program = {"kind": "wrapper", "command": ["{program}"], "program": "f.py:f"}
    (tmp_path / "f.py").write_text(f"def f(values=None):\n    {body}\n")
    for target in (builder, program):
        with pytest.raises(InputError, match=r"f\.py:f (returns|raises)"):
            words(read(tmp_path, target=target))
    (tmp_path / "f.py").write_text("1/0")
    with pytest.raises(InputError, match=r"target\.builder: f\.py:f raises ZeroDivisionError"):
        words(read(tmp_path, target=builder))


@pytest.mark.parametrize(
    ("text", "status", "time", "value"),
    [
        ("Result for SMAC: SAT, 1.5, 0, 3, 77", SOLVED, 1.5, 3),
        ("Result for ParamILS: UNSAT, 1.5, 0, 3, 77, more, of it", SOLVED, 1.5, 3),
        ("  Result for SMAC:   timeout , 5, 0, 0, 77", TIMEOUT, 5, 0),
        ("Result for SMAC: CRASHED, 5, 0, 0, 77", CRASHED, 5, 0),
        ("Final result of this wrapper: ABORT, 5, 0, 0, 77", ABORTED, 5, 0),
        ("Result of algorithm run: SUCCESS, 5, 0, 2, 77", SOLVED, 5, 2),
        ('Result of this algorithm run: {"status": "SUCCESS", "cost": 2.5, "runtime": 1}', SOLVED, 1, 2.5),
        ("Result of this algorithm run: {'status': 'SAT', 'runtime': 1, 'quality': None}", SOLVED, 1, None),
        ("noise\nResult for SMAC: SAT, 1, 0, 3, 7\nResult for SMAC: SAT, 2, 0, 4, 7\nnoise", SOLVED, 2, 4),
    ],
)  # fmt: skip
def test_answer_lines(text: str, status: Status, time: float, value: float | None) -> None:
    """An answer in one of the wrapper convention's spellings would be misread."""
    answer = parse(LINE.findall(text)[-1])
    assert answer is not None
    assert (answer.status, answer.time, answer.value) == (status, time, value)


@pytest.mark.parametrize(
    "text",
    [
        "SAT",
        "SAT, x, 0, 3, 77",
        "SAT, -1, 0, 3, 77",
        "SAT, nan, 0, inf, 77",
        "FINE, 1, 0, 3, 77",
        '{"status": "SUCC',
        '{"status": 5}',
        "{" + "[" * 100_001,
        '{"status": "SUCCESS", "cost": 1' + "0" * 5000 + "}",
    ],
)
def test_unreadable_answers_are_none(text: str) -> None:
    """Half an answer would be taken for a whole one."""
    assert parse(text) is None
    assert LINE.findall(f"xResult for SMAC: {text}") == []


@pytest.mark.parametrize(
    ("text", "status", "value", "time"),
    [
        ("3.5\n", SOLVED, 3.5, None),
        ("log\n3 0.25\n\n", SOLVED, 3, 0.25),
        ("Inf\n", CRASHED, None, None),
        ("3 -1", CRASHED, None, None),
        ("1 2 3", CRASHED, None, None),
        ("nan", CRASHED, None, None),
        ("", CRASHED, None, None),
    ],
)
def test_last_lines_of_target_runners(
    text: str, status: Status, value: float | None, time: float | None
) -> None:
    """A target-runner's `cost [time]` would be misread."""
    answer = read_cost(text)
    assert (answer.status, answer.value, answer.time) == (status, value, time)


FIELDS = st.one_of(st.text(), st.floats(), st.integers(), st.none(), st.booleans(), st.just([None]))
NAMES = st.sampled_from(["status", "cost", "runtime", "value", "quality"])
ANSWERS = st.one_of(
    st.text(),
    st.lists(st.one_of(st.text(), st.floats().map(str), st.just("SAT"))).map(", ".join),
    st.dictionaries(NAMES, FIELDS).map(lambda d: json.dumps(d) if len(d) % 2 else repr(d)),
)


@given(ANSWERS)
@settings(max_examples=300)
def test_any_output_has_a_reading(text: str) -> None:
    """Some output of a target would end the campaign with an exception."""
    for answer in (parse(text), read_cost(text)):
        if answer is not None:
            assert all(n is None or math.isfinite(n) for n in (answer.time, answer.value))
            assert answer.status != SOLVED or (answer.time or 0) >= 0


@pytest.mark.parametrize(
    ("answer", "text", "status", "value", "detail"),
    [
        ({"value": r"^c (\S+)$"}, "echo c 1; echo c 2.5", SOLVED, 2.5, ""),
        ({"value": r"^c (\S+)$"}, "echo nothing", CRASHED, None, "no answer: no value"),
        ({"value": r"^c (\S+)$"}, "echo c 1,5", CRASHED, None, "'1,5'"),
        ({"value": r"^c (\S+)$"}, "echo c inf", CRASHED, None, "'inf'"),
        ({"value": r"^c (\S+)$"}, "echo c 3; exit 2", CRASHED, 3, "exit code 2"),
        ({"value": r"(\d)", "exit": [0, 10]}, "echo 7; exit 10", SOLVED, 7, ""),
        ({"value": r"(\d)"}, "echo oh >&2; kill -SEGV $$", CRASHED, None, "signal 11; oh"),
        ({"value": r"(\d)"}, r"printf '\033[2Joh\000\377' >&2; exit 200", CRASHED, None, "exit code 200; ?[2Joh?"),
        ({"value": r"(\d)", "solved": "^OK"}, "echo 7", CRASHED, 7, "'^OK'"),
        ({"value": r"(\d)", "unsolved": "UNK"}, "echo 7 UNK", TIMEOUT, 7, "unsolved"),
        ({"exit": [10], "value": "()", "unsolved": "^s UNK"}, "echo s UNK", TIMEOUT, None, "unsolved"),
        ({"value": "()", "unsolved": "^s UNK"}, "echo s UNK; kill -SEGV $$", CRASHED, None, "signal 11"),
        ({"value": r"^c (\d)$"}, r"printf '50 %%\rc 7\r\n'", SOLVED, 7, ""),
    ],
)  # fmt: skip
def test_commands_are_read_by_patterns(
    slot: Slot, tmp_path: Path, answer: Any, text: str, status: Status, value: Any, detail: str
) -> None:
    """The output of a command would be read by another pattern, or a number that is none pass."""
    outcome = run(slot, script(tmp_path, text, target=COMMAND, answer=answer))
    assert (outcome.status, outcome.value) == (status, value)
    assert detail in outcome.detail


def test_an_answer_lost_in_dropped_output_says_so(slot: Slot, tmp_path: Path) -> None:
    """Whose answer stood in the middle of too much output would look for it in vain."""
    text = "head -c 30000 /dev/zero; echo; echo value 7; head -c 30000 /dev/zero"
    tables: dict[str, Any] = {"target": COMMAND, "answer": {"value": r"^value (\d+)$"}}
    small = {**FAR, "output": 0.02}
    assert "limits.output" in run(slot, script(tmp_path, text, limits=small, **tables)).detail
    assert "dropped" not in run(slot, script(tmp_path, "echo nothing", **tables)).detail


def test_failed_runs_keep_output_and_command(slot: Slot, tmp_path: Path) -> None:
    """Nobody could find out why a run failed; or secrets of the environment be written down."""
    target = {**WRAPPER, "environment": {"TOKEN": "secret"}}
    scenario = script(tmp_path, "echo out; echo $TOKEN; echo err >&2; exit 3", target=target)
    outcome = run(slot, scenario)
    assert (outcome.status, outcome.exit_code) == (CRASHED, 3)
    assert (outcome.stdout, outcome.stderr) == (b"out\nsecret\n", b"err\n")
    assert "TOKEN=…" in outcome.command
    assert "secret" not in outcome.command
    repeated = again(scenario, outcome)
    assert (repeated.returncode, repeated.stdout.encode()) == (3, outcome.stdout)
    solved = run(slot, script(tmp_path, **answering(2)))
    assert (solved.stdout, solved.command) == (b"", "")


def test_a_cap_stops_below_the_cutoff(slot: Slot, tmp_path: Path) -> None:
    """A capped run would count as a timeout, or one that ends before its cap be another run."""
    tables = {"metric": {"kind": "par"}}
    endless = run(slot, script(tmp_path, "while :; do :; done", **tables), cap=0.1)
    assert (endless.status, endless.cap) == (Status.CENSORED, 0.1)
    assert endless.cpu >= 0.1
    text = 'echo "Result for SMAC: SAT, $3, 0, 2, 1"'
    done = run(slot, script(tmp_path, text, **tables), cap=50.0)
    assert (done.status, done.cap, done.time) == (SOLVED, None, 600)


@pytest.mark.parametrize(("limit", "status"), [("wall", TIMEOUT), ("memory", Status.MEMORY)])
def test_an_answer_before_a_limit_does_not_count(
    slot: Slot, tmp_path: Path, limit: str, status: Status
) -> None:
    """A run that was killed at a limit would count as solved, since it had printed an answer."""
    limits = {"wall": 0.2} if limit == "wall" else {"wall": 600.0, "memory": 1.0}
    text = 'echo "Result for SMAC: SAT, 1, 0, 2, 1"; while :; do sleep 0.1; done'
    assert run(slot, script(tmp_path, text, limits=limits)).status == status


def test_irace_runs(slot: Slot, tmp_path: Path) -> None:
    """A bound that was reached would be a solved run, or an exit code other than 0 an answer."""
    tables: dict[str, Any] = {
        "target": {"kind": "irace", "command": ["./solver.sh"], "bound": True},
        "limits": {"cpu": 60.0, "wall": 600.0, "cutoff": 5.0},
        "metric": {"kind": "par", "clock": "reported"},
    }
    for text, status, seconds in (
        ("echo 50 5", TIMEOUT, 5),
        ("echo 2.5 1", SOLVED, 2.5),
        ("echo 2; exit 1", CRASHED, None),
        ("echo Inf", CRASHED, None),
    ):
        outcome = run(slot, script(tmp_path, text, **tables))
        assert (outcome.status, outcome.time) == (status, seconds)


@pytest.mark.parametrize("kind", ["wrapper", "irace"])
@pytest.mark.parametrize(
    ("printed", "metric"),
    [
        ('Result of this algorithm run: {"status": "SUCCESS", "runtime": 1}', "value"),
        ('Result of this algorithm run: {"status": "SUCCESS", "cost": 1}', "par"),
        ("5", "par"),
    ],
)
def test_an_answer_without_its_number_is_none(
    slot: Slot, tmp_path: Path, kind: str, printed: str, metric: str
) -> None:
    """Solved runs of a target that reports no time would all count as timeouts, without a word."""
    scenario = script(
        tmp_path,
        f"echo '{printed}'",
        target={"kind": kind, "command": ["./solver.sh"]},
        metric={"kind": "par", "clock": "reported"}
        if metric == "par"
        else scenarios.TABLES["metric"],
    )
    outcome = run(slot, scenario)
    assert outcome.status == CRASHED
    assert "no answer" in outcome.detail


CHECK = """
import sys, dataclasses
@dataclasses.dataclass
class Kept:
    x: int
def check(instance, output):
    value = int(output.split(",")[3])
    open(instance).close()
    if value == 3: 1 / 0
    if value == 4: sys.exit(9)
    if value == 5: import time; time.sleep(1e6)
    return "value is odd" if value % 2 else None
if __name__ == "__main__":
    reason = check(sys.argv[1], open(sys.argv[2]).read())
    if reason: sys.exit(print(reason) or 1)
"""


@pytest.mark.parametrize(
    "check", ["check.py:check", ["{python}", "check.py", "{instance}", "{output}"]]
)
@pytest.mark.parametrize(
    ("value", "status", "detail"),
    [
        (2, SOLVED, ""),
        (7, Status.WRONG, "value is odd"),
        (3, ABORTED, "ZeroDivisionError"),
        (4, ABORTED, "exit code 9"),
        (5, ABORTED, "wall limit"),
    ],
)  # fmt: skip
def test_answers_are_checked_under_limits(
    slot: Slot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    check: Any, value: int, status: Status, detail: str,
) -> None:  # fmt: skip
    """A wrong answer would count as solved, a fault of the check as the solver's; or a check would
    never end.
    """
    if value == 5:
        monkeypatch.setattr("truecost.running.execute.CHECK_LIMITS", Limits(wall=0.5))
    (tmp_path / "check.py").write_text(CHECK)
    scenario = script(tmp_path, **answering(value, target={**WRAPPER, "check": check}))
    outcome = run(slot, scenario)
    assert outcome.status == status
    assert detail in outcome.detail
    if status != SOLVED and value != 5:
        repeated = again(scenario, outcome)
        assert repeated.returncode in (1, 9)
        assert ("odd" in repeated.stdout) == (status == Status.WRONG)
    assert list(slot.folder.iterdir()) == []


def test_an_output_that_cannot_be_written_is_one_line(
    slot: Slot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A disk that is full when an answer is to be checked would end in a traceback."""
    scenario = script(tmp_path, **answering(2, target={**WRAPPER, "check": ["true"]}))
    monkeypatch.setattr("truecost.running.execute.Path.write_bytes", no_room)
    with pytest.raises(InputError, match="Make room"):
        run(slot, scenario)


def no_room(*_: object) -> None:
    """A full disk."""
    raise OSError(errno.ENOSPC, "No space left on device")


def test_a_check_in_r_that_stops_is_no_wrong_answer(slot: Slot, tmp_path: Path) -> None:
    """An error in a checker written in R would pass for wrong answers of the solver."""
    stops = "echo 'Error in library(x)' >&2; echo 'Execution halted' >&2; exit 1"
    target = {**WRAPPER, "check": ["sh", "-c", stops]}
    assert run(slot, script(tmp_path, **answering(2, target=target))).status == ABORTED


def test_versions_are_first_lines(slot: Slot, tmp_path: Path) -> None:
    """The version of a solver would be an error message, or the whole manual."""
    for target, version in (
        ({"version": ["sh", "-c", "echo; echo ' v 1.2 '; echo more"]}, "v 1.2"),
        ({"version": ["sh", "-c", "echo v3 >&2"]}, "v3"),
        ({"version": ["sh", "-c", "echo wrong; exit 1"]}, ""),
        ({"version": ["{python}", "-c", "print('{scenario}')"]}, str(tmp_path)),
        ({}, ""),
    ):
        assert Caller(read(tmp_path, target={**WRAPPER, **target})).version(slot) == version


# Writes down when it is loaded, and answers by seed.
FUNCTION = """
import os, subprocess, sys
with open({loads!r}, "a") as file:
    file.write("x")
calls = []
def solve(configuration, instance, seed):
    calls.append(seed)
    if seed == 2:
        raise ValueError("two")
    if seed == 3:
        while True:
            pass
    if seed == 4:
        subprocess.Popen(["sleep", "1000"], start_new_session=True)
    if seed == 5:
        os.kill({loader}, 9)
    if seed == 6:
        return {{"status": "TIMEOUT", "value": 1.0}}
    if seed == 7:
        sys.exit("seven")
    if seed == 9:
        import targets
    print(os.getcwd(), os.environ["TMPDIR"], end="")
    return seed + 1000 * (len(calls) - 1)
"""
THREADED = "import threading, time\nthreading.Thread(target=time.sleep, args=(1e6,), daemon=True).start()\n"
LOADER = "int(open(f'/proc/{os.getppid()}/task/{os.getppid()}/children').read().split()[0])"
ENDS = {
    1: (SOLVED, 1, ""),
    2: (CRASHED, None, "exit code 1; ValueError: two"),
    3: (TIMEOUT, None, "CPU limit"),
    4: (SOLVED, 4, ""),
    6: (TIMEOUT, 1, "the target says TIMEOUT"),
    7: (CRASHED, None, "exit code 1; seven"),
    # Modules of ours are none of its own.
    9: (CRASHED, None, "exit code 1; ModuleNotFoundError: No module named 'targets'"),
    8: (SOLVED, 8, ""),
}


def function(folder: Path, text: str = FUNCTION, before: str = "", cpu: float = 600.0) -> Scenario:
    """A scenario of a Python function."""
    target = {"kind": "python", "function": "f.py:solve"}
    path = scenarios.write(folder, target=target, limits={"cpu": cpu, "wall": 600.0})
    if text == FUNCTION:
        text = text.format(loads=str(folder / "loads"), loader=LOADER)
    (folder / "f.py").write_text(before + text)
    return Scenario.read(path)


def ends(outcome: Outcome) -> tuple[Status, float | None, str]:
    """What a run came to, without times."""
    return outcome.status, outcome.value, outcome.detail


def test_functions_are_loaded_once(slot: Slot, tmp_path: Path) -> None:
    """A function would be loaded for every run, see what another run did, or escape its limits."""
    for seed, expected in ENDS.items():
        scenario = function(tmp_path, cpu=0.2 if seed == 3 else 600.0)
        assert ends(run(slot, scenario, seed=seed)) == expected, seed
    assert (tmp_path / "loads").read_text() == "x"


def test_forks_of_a_function_draw_their_own_numbers(slot: Slot, tmp_path: Path) -> None:
    """All runs of a function that does not use its seed would share NumPy's random numbers."""
    scenario = function(tmp_path, "import numpy.random\ndef solve(): return numpy.random.rand()")
    assert len({run(slot, scenario).value for _ in range(3)}) == 3


def test_processes_that_a_function_starts_know_it(slot: Slot, tmp_path: Path) -> None:
    """A function that works in processes of its own, as joblib does, would never end."""
    text = (
        "from concurrent.futures import ProcessPoolExecutor\nfrom multiprocessing import "
        "get_context\ndef work(x): return x + 1\ndef solve(seed):\n    with ProcessPoolExecutor("
        "1, mp_context=get_context('spawn')) as pool:\n        return sum(pool.map(work, [seed]))"
    )
    assert run(slot, function(tmp_path, text)).value == 10


def test_functions_with_threads_are_loaded_for_every_run(slot: Slot, tmp_path: Path) -> None:
    """A function whose module starts threads would be forked without them, and hang."""
    scenario = function(tmp_path, before=THREADED)
    for seed in (1, 2, 9):
        assert ends(run(slot, scenario, seed=seed)) == ENDS[seed]
    assert len((tmp_path / "loads").read_text()) == 4


def test_a_loaded_function_that_is_killed_is_loaded_again(slot: Slot, tmp_path: Path) -> None:
    """Runs after one that killed its loader would be lost."""
    scenario = function(tmp_path)
    assert [run(slot, scenario, seed=seed).value for seed in (1, 5, 8, 5, 4)] == [1, 5, 8, 5, 4]


def test_loading_can_be_interrupted(tmp_path: Path) -> None:
    """After Ctrl-C, a function that takes long to load would be waited for."""
    before = f"open({str(tmp_path / 'loading')!r}, 'w')\nimport time\ntime.sleep(1e6)\n"
    scenario = function(tmp_path, before=before)
    with Slot() as slot, ThreadPoolExecutor(1) as threads:
        lost = threads.submit(run, slot, scenario)
        until((tmp_path / "loading").exists)
        slot.stop()
        with pytest.raises(LostSlotError):
            lost.result(timeout=50)


@pytest.mark.parametrize(
    ("text", "status", "value", "detail"),
    [
        ("import no_such_module", CRASHED, None, "no_such_module"),
        # SMAC3's functions take a config, and may return additional information.
        ("def solve(config, seed): return seed + len(config), {'info': 1}", SOLVED, 11, ""),
    ],
)
def test_functions_of_other_kinds(
    slot: Slot, tmp_path: Path, text: str, status: Status, value: float | None, detail: str
) -> None:
    """A function that cannot be loaded would hang or not say why; one for SMAC3 would crash."""
    outcome = run(slot, function(tmp_path, text))
    assert (outcome.status, outcome.value) == (status, value)
    assert detail in outcome.detail


def test_functions_get_what_they_name() -> None:
    """A function would be called without what it asks for, or with what it does not know."""

    def plain(seed: int, *, instance: str, **_: object) -> int:
        return seed + len(instance)

    @wraps(plain)
    def wrapped(*values: object, **named: object) -> object:
        return plain(*values, **named)  # type: ignore[arg-type]

    class Solver:
        def solve(self, seed: int, *rest: int) -> int:
            return seed + len(rest)

        def __call__(self, configuration: object) -> object:
            return configuration

    assert parameters(plain) == parameters(wrapped) == ({"seed", "instance"}, True)
    assert parameters(lambda seed=1: seed) == ({"seed"}, False)
    assert parameters(Solver().solve)[0] >= {"seed"}
    assert parameters(Solver()) == ({"configuration"}, False)
    assert parameters(partial(plain, 3)) == ({"instance"}, True)


def test_own_folders_are_empty_and_go(slot: Slot, tmp_path: Path) -> None:
    """A run would find another's files in its own folder, or the scenario's folder be changed."""
    solver = answering("$(ls | wc -l)", target={**WRAPPER, "own_folder": True})
    solver["text"] += "; touch here"
    scenario = script(tmp_path, **solver)
    before = sorted(tmp_path.iterdir())
    assert [run(slot, scenario).value for _ in range(2)] == [0, 0]
    assert sorted(tmp_path.iterdir()) == before


def test_scratch_folders_are_the_runs_own(slot: Slot, tmp_path: Path) -> None:
    """{scratch} and TMPDIR would be different places."""
    solver = answering(5, target={"kind": "wrapper", "command": ["./solver.sh", "{scratch}"]})
    solver["text"] = f'[ "$1" = "$TMPDIR" ] && touch "$1/x" && {solver["text"]}'
    assert run(slot, script(tmp_path, **solver)).value == 5
