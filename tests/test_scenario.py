import json
import math
import os
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scenarios
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from truecost import InputError, Scenario, Status
from truecost.journal.metric import Metric
from truecost.running.execute import Caller
from truecost.running.targets.irace import read_answer
from truecost.running.targets.wrapper import read_wrapper

CPU = scenarios.TABLES["limits"]["cpu"]


def read(folder: Path, **tables: dict[str, Any] | None) -> Scenario:
    """The scenario with these tables."""
    return Scenario.read(scenarios.write(folder, **tables))


def test_a_scenario_says_everything(tmp_path: Path) -> None:
    """A value of the file would not arrive, or a default would be other than documented."""
    scenario = read(tmp_path, limits={"cpu": 2.0}, metric={"kind": "par"})
    assert (scenario.name, scenario.seed, scenario.folder) == ("toy", 3, tmp_path)
    assert scenario.limits.wall == 30
    assert scenario.limits.cutoff == 2
    assert scenario.metric.range() == (0, 20)
    assert sorted(instance.name for instance in scenario.instances) == [
        f"instances/i {n}.txt" for n in range(5)
    ]
    assert all(Path(instance.argument).is_absolute() for instance in scenario.instances)


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        (
            {"target": {"kind": "wrapper", "comand": ["x"]}},
            r"target\.comand: unknown key; did you mean 'command'\?",
        ),
        ({"limits": {"cpu": "5"}}, r"limits\.cpu: expected a valid number, got '5'"),
        ({"limits": {"cpu": -1.0}}, r"limits\.cpu: expected greater than 0, got -1"),
        ({"limits": {"cpu": math.nan}}, r"limits\.cpu: expected a finite number"),
        ({"limits": {}}, "limits: expected cpu or wall"),
        (
            {"limits": {"cpu": 1.0, "cutoff": 2.0}},
            r"limits\.cutoff: expected at most the limit, got 2",
        ),
        ({"limits": None}, "limits: expected, and not there"),
        ({"metric": {"kind": "par", "high": 5.0}}, r"metric\.high: expected none"),
        ({"metric": {"kind": "quality"}}, "metric: expected low < high"),
        ({"metric": {"kind": "quality", "low": 2.0, "high": 1.0}}, "metric: expected low < high"),
        (
            {"metric": {"kind": "par", "cutoff": 9.0}},
            rf"metric\.cutoff: expected at most {CPU}, where runs were stopped",
        ),
        (
            {"metric": {"kind": "par", "factor": 0.5}},
            r"metric\.factor: expected greater than or equal to 1",
        ),
        (
            {"metric": {"kind": "best"}},
            r"metric\.kind: expected 'par', 'utility', 'quality' or 'value', got 'best'",
        ),
        (
            {"metric": {"kind": "utility"}},
            r"metric\.utility: expected one, half-life=60 for instance",
        ),
        (
            {"metric": {"kind": "par", "utility": "step=1"}},
            r"metric\.utility: expected one, .*, and none else",
        ),
        (
            {"metric": {"kind": "utility", "utility": "sometimes=1"}},
            "Expected a utility such as half-life=60",
        ),
        (
            {"metric": {"kind": "utility", "utility": "step=1", "high": 2.0}},
            r"metric\.high: expected none",
        ),
        (
            {"limits": {"wall": 1.0}, "metric": {"kind": "par"}},
            r"metric\.clock: expected limits\.cpu",
        ),
        ({"space": {"file": "none.pcs"}}, r"space\.file: none\.pcs: No such file"),
        ({"space": {"file": "solver.sh"}}, r"space\.file: .*line 3"),
        ({"instances": {"glob": "nothing/*"}}, r"instances\.glob: expected files, got none"),
        ({"instances": {"files": ["a"]}}, r"instances\.files: expected a file, got 'a'"),
        ({"instances": {"files": []}}, r"instances\.files: expected"),
        (
            {"instances": {"names": ["a", "a"]}},
            r"instances\.names: expected different instances, got 'a' twice",
        ),
        (
            {"instances": {"names": ["a"], "glob": "*"}},
            "instances: expected one of glob, files, file, names and generator, got glob, names",
        ),
        ({"instances": {"file": "nowhere.csv"}}, r"instances\.file: .*No such file"),
        (
            {"target": {"kind": "command", "command": ["./solver.sh", "{instance}"]}},
            r"target\.command: expected the words",
        ),
        (
            {
                "target": {
                    "kind": "command",
                    "command": ["x", "{instance}", "{arguments}", "{optimum}"],
                }
            },
            r"target\.command: expected placeholders out of .*, got \{optimum\}",
        ),
        (
            {"target": {"kind": "command", "command": ["x", "{instance}", "-p={arguments}"]}},
            r"target\.command: expected '\{arguments\}' as a word of its own",
        ),
        ({"target": {"kind": "wrapper", "command": []}}, r"target\.command: expected"),
        (
            {"target": {"kind": "python", "command": ["x"]}},
            "target: expected function, and no command",
        ),
        (
            {"target": {"kind": "wrapper", "command": ["x"], "function": "a.py:f"}},
            "target: expected command, and no function",
        ),
        (
            {"target": {"kind": "python", "function": "a.py"}},
            r"target\.function: expected 'file.py:name'",
        ),
        (
            {"target": {"kind": "python", "function": "a.py:f"}},
            r"target\.function: expected a file, got 'a.py'",
        ),
        (
            {"target": {"kind": "wrapper", "command": ["x"], "style": "+name"}},
            r"target\.style: expected '-name value'",
        ),
        ({"target": {"kind": "wrapper", "command": ["x\0"]}}, r"target\.command: expected no NUL"),
        ({"answer": {"solved": "x"}}, "answer: expected only with target.kind = 'command'"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, tables: dict[str, Any], message: str) -> None:
    """A mistake in a scenario file would be found after a weekend, or be told without the file and
    the key.
    """
    path = scenarios.write(tmp_path, **tables)
    with pytest.raises(InputError, match=f"^{re.escape(str(path))}: {message}"):
        Scenario.read(path)


def test_answers_that_can_never_come_are_refused(tmp_path: Path) -> None:
    """A metric of a number that no expression reads would give a journal of crashes."""
    target = {"kind": "command", "command": ["./solver.sh", "{instance}", "{arguments}"]}
    with pytest.raises(
        InputError, match=r"answer\.value: expected a regular expression for the value"
    ):
        read(tmp_path, target=target)
    with pytest.raises(
        InputError, match=r"answer\.time: expected a regular expression for the time"
    ):
        read(tmp_path, target=target, metric={"kind": "par", "clock": "reported"})
    with pytest.raises(
        InputError, match=r"answer\.value: expected a regular expression with one group"
    ):
        read(tmp_path, target=target, answer={"value": "cost .*"})
    with pytest.raises(InputError, match=r"answer\.solved: expected a regular expression: "):
        read(tmp_path, target=target, answer={"solved": "(("})


def test_instances_keep_their_order_when_others_come(tmp_path: Path) -> None:
    """The first P instances would be the alphabet's, or change places when one is added."""
    few = [
        instance.name for instance in read(tmp_path, instances={"glob": "instances/*"}).instances
    ]
    for number in range(5, 40):
        (tmp_path / "instances" / f"i {number}.txt").write_text(f"{number}\n")
    many = [instance.name for instance in Scenario.read(tmp_path / "scenario.toml").instances]
    assert [name for name in many if name in few] == few
    assert many != sorted(many)


def test_seeds_belong_to_instance_and_run(tmp_path: Path) -> None:
    """The same cell would be another run on another machine, or two cells the same one."""
    scenario = read(tmp_path)
    seeds = {
        scenario.run_seed(instance.name, number)
        for instance in scenario.instances
        for number in range(200)
    }
    assert len(seeds) == 1000
    assert all(0 < seed < 2**31 for seed in seeds)
    # Written down once: a change would silently make every journal's continuation another
    # experiment.
    assert scenario.run_seed("instances/i 0.txt", 0) == 1679404256


def test_instance_files_say_more(tmp_path: Path) -> None:
    """A known optimum in the instance file would not reach the command."""
    path = scenarios.write(tmp_path)
    (tmp_path / "list.csv").write_text(
        'instance,optimum\n"instances/i 0.txt", 12\ninstances/i 1.txt,7\n'
    )
    text = path.read_text().replace('glob = "instances/*"', 'file = "list.csv"')
    text = text.replace(
        'kind = "wrapper"\ncommand = ["./solver.sh"]',
        'kind = "command"\ncommand = ["x", "{instance}", "{optimum}", "{arguments}", "{{{seed}}}"]',
    )
    path.write_text(text + '[answer]\nvalue = "(.)"\n')
    scenario = Scenario.read(path)
    by_name = {instance.name: instance for instance in scenario.instances}
    line = Caller(scenario).command_line(scenario.space.default(), by_name["instances/i 0.txt"], 5)
    assert line == ["x", str(tmp_path / "instances/i 0.txt"), "12", "--alpha=1", "--beta=1", "{5}"]
    (tmp_path / "list.csv").write_text("instance,optimum\ninstances/i 0.txt\n")
    with pytest.raises(InputError, match="line 2: expected 2 columns"):
        Scenario.read(path)
    (tmp_path / "list.csv").write_text("instance,seed\ninstances/i 0.txt,4\n")
    with pytest.raises(InputError, match="expected columns other than"):
        Scenario.read(path)
    (tmp_path / "list.csv").write_text("instances/i 0.txt\n\ninstances/i 3.txt\n")
    path.write_text(text.replace('"{optimum}", ', "") + '[answer]\nvalue = "(.)"\n')
    assert sorted(instance.name for instance in Scenario.read(path).instances) == [
        "instances/i 0.txt",
        "instances/i 3.txt",
    ]


def test_command_lines_of_the_four_kinds(tmp_path: Path) -> None:
    """A wrapper or a target-runner would get its arguments in another order than its convention
    has.
    """
    wrapper = read(tmp_path)
    instance, default = wrapper.instances[0], wrapper.space.default()
    assert Caller(wrapper).command_line(default, instance, 9) == [
        *[
            "./solver.sh",
            instance.argument,
            "0",
            f"{CPU}",
            "2147483647",
            "9",
            "-alpha",
            "1",
            "-beta",
            "1",
        ]
    ]
    irace = read(tmp_path, target={"kind": "irace", "command": ["./run"], "bound": True})
    line = Caller(irace).command_line(default, instance, 9)
    # irace's identifiers are integers of R, and some runners read them as such.
    other = irace.space.configuration_of({"alpha": "1", "beta": "7"})
    assert 0 < int(line[1]) < 2**31
    assert line[1] != Caller(irace).command_line(other, instance, 9)[1]
    assert Caller(irace).command_line(replace(default, label="24"), instance, 9)[1] == "24"
    assert [line[0], *line[3:]] == [
        "./run",
        "9",
        instance.argument,
        f"{CPU}",
        "--alpha",
        "1",
        "--beta",
        "1",
    ]
    assert line[2].isdigit()
    (tmp_path / "f.py").write_text("def f(): ...")
    python = Caller(read(tmp_path, target={"kind": "python", "function": "f.py:f"})).command_line(
        default, instance, 9
    )
    assert json.loads(python[-1])["configuration"] == {"alpha": "1", "beta": "1"}
    (tmp_path / "f.py").write_text(
        'def build(values): return [f\'--both={values["alpha"]},{values["beta"]}\']'
    )
    built = read(
        tmp_path, target={"kind": "wrapper", "command": ["./solver.sh"], "builder": "f.py:build"}
    )
    assert Caller(built).command_line(default, instance, 9)[-1] == "--both=1,1"


@pytest.mark.parametrize("body", ["return 5", "return [5]", "return ['a\\0']", "1/0"])
def test_builders_that_fail_are_named(tmp_path: Path, body: str) -> None:
    """Whatever a scenario's own builder does wrong would end in a traceback of ours."""
    scenarios.write(tmp_path)
    (tmp_path / "f.py").write_text(f"def build(values):\n    {body}\n")
    scenario = read(tmp_path, target={"kind": "wrapper", "command": ["x"], "builder": "f.py:build"})
    with pytest.raises(InputError, match=r"f\.py:build: expected"):
        Caller(scenario).command_line(scenario.space.default(), scenario.instances[0], 1)
    (tmp_path / "f.py").write_text("1/0")
    with pytest.raises(InputError, match=r"target\.builder: f\.py:build: ZeroDivisionError"):
        Caller(scenario)


@pytest.mark.parametrize(
    ("line", "status", "time", "value"),
    [
        ("Result for SMAC: SAT, 1.5, 0, 3, 77", Status.SOLVED, 1.5, 3),
        ("Result for ParamILS: UNSAT, 1.5, 0, 3, 77, more, of it", Status.SOLVED, 1.5, 3),
        ("  Result for SMAC:   timeout , 5, 0, 0, 77", Status.TIMEOUT, 5, 0),
        ("Result for SMAC: CRASHED, 5, 0, 0, 77", Status.CRASHED, 5, 0),
        ("Result for SMAC: ABORT, 5, 0, 0, 77", Status.ABORTED, 5, 0),
        ("Result of algorithm run: SUCCESS, 5, 0, 2, 77", Status.SOLVED, 5, 2),
        (
            'Result of this algorithm run: {"status": "SUCCESS", "cost": 2.5, "runtime": 1}',
            Status.SOLVED,
            1,
            2.5,
        ),
        (
            "Result of this algorithm run: {'status': 'SAT', 'runtime': 1, 'quality': None}",
            Status.SOLVED,
            1,
            None,
        ),
        (
            'Result of this algorithm run: {"status": "SUCCESS", "cost": 0.0, "runtime": 1}',
            Status.SOLVED,
            1,
            0,
        ),
        (
            "noise\nResult for SMAC: SAT, 1, 0, 3, 7\nResult for SMAC: SAT, 2, 0, 4, 7\nnoise",
            Status.SOLVED,
            2,
            4,
        ),
    ],
)
def test_answer_lines(line: str, status: Status, time: float, value: float | None) -> None:
    """An answer in one of the wrapper convention's spellings would be misread."""
    answered = read_wrapper(line)
    assert (answered.status, answered.time, answered.value) == (status, time, value)


@pytest.mark.parametrize(
    "line",
    [
        "",
        "Result for SMAC: SAT",
        "Result for SMAC: SAT, x, 0, 3, 77",
        "Result for SMAC: SAT, -1, 0, 3, 77",
        "Result for SMAC: SAT, nan, 0, inf, 77",
        "Result for SMAC: FINE, 1, 0, 3, 77",
        "xResult for SMAC: SAT, 1, 0, 3, 77",
        'Result of this algorithm run: {"status": "SUCC',
        'Result of this algorithm run: {"status": 5}',
        "Result of this algorithm run: {" + "[" * 100_001,
        'Result of this algorithm run: {"status": "SUCCESS", "cost": 1' + "0" * 5000 + "}",
    ],
)
def test_unreadable_answers_are_crashes(line: str) -> None:
    """Half an answer would be taken for a whole one."""
    answered = read_wrapper(line)
    assert answered.status == Status.CRASHED
    assert answered.detail.startswith("no answer")
    assert (answered.time, answered.value) == (None, None)


@pytest.mark.parametrize(
    ("text", "status", "value", "time"),
    [
        ("3.5\n", Status.SOLVED, 3.5, None),
        ("log\n3 0.25\n\n", Status.SOLVED, 3, 0.25),
        ("Inf\n", Status.CRASHED, None, None),
        ("3 -1", Status.CRASHED, None, None),
        ("1 2 3", Status.CRASHED, None, None),
        ("nan", Status.CRASHED, None, None),
        ("", Status.CRASHED, None, None),
    ],
)
def test_target_runner_answers(
    text: str, status: Status, value: float | None, time: float | None
) -> None:
    """A target-runner's `cost [time]` would be misread."""
    answered = read_answer(text)
    assert (answered.status, answered.value, answered.time) == (status, value, time)


def refusal(path: Path) -> str:
    """Why a scenario cannot be read; where it can, its path."""
    try:
        return str(Scenario.read(path).path)
    except InputError as error:
        return str(error)


ANSWERS = st.one_of(
    st.text(),
    st.builds(
        "Result {}:{}".format,
        st.sampled_from(["for SMAC", "for ParamILS", "of this algorithm run", "of algorithm run"]),
        st.one_of(
            st.text(),
            st.lists(
                st.one_of(st.text(), st.floats().map(str), st.sampled_from(["SAT", "TIMEOUT"]))
            ).map(", ".join),
            st.dictionaries(
                st.sampled_from(["status", "cost", "runtime", "value", "quality"]),
                st.one_of(
                    st.text(),
                    st.floats(),
                    st.integers(),
                    st.none(),
                    st.booleans(),
                    st.lists(st.none()),
                ),
            ).map(lambda d: json.dumps(d) if len(d) % 2 else repr(d)),
        ),
    ),
)


@given(ANSWERS)
@settings(max_examples=500)
def test_any_output_has_a_reading(text: str) -> None:
    """Some output of a target would end the gathering with an exception."""
    for answered in (read_wrapper(text), read_answer(text)):
        for number in (answered.time, answered.value):
            assert number is None or math.isfinite(number)
        assert answered.status != Status.SOLVED or answered.time is None or answered.time >= 0


@pytest.fixture
def good(tmp_path: Path) -> str:
    """What is in the file of a scenario that can be read."""
    return scenarios.write(tmp_path).read_text()


@given(
    text=st.one_of(st.text(), st.binary().map(lambda b: b.decode("latin-1"))),
    cut=st.integers(0, 400),
    put=st.text(max_size=5),
)
@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_file_has_a_reading(tmp_path: Path, good: str, text: str, cut: int, put: str) -> None:
    """Some scenario file would end in an exception that is not ours."""
    path = tmp_path / "scenario.toml"
    for content in (
        text,
        good[:cut] + put + good[cut:],
        good[:cut],
        good[:cut] + good[cut + len(put) :],
    ):
        path.unlink()  # to write over a file waits for the disk
        path.write_bytes(content.encode("utf-8", "surrogatepass"))
        assert str(path) in refusal(path)


@given(
    st.recursive(
        st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text()),
        lambda inner: st.one_of(
            st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=3), inner, max_size=3)
        ),
        max_leaves=4,
    ).filter(lambda value: value is not None and "None" not in repr(value)),
    st.sampled_from([(name, key) for name, table in scenarios.TABLES.items() for key in table]),
)
@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_value_at_any_key_is_read_or_refused(
    tmp_path: Path, value: object, place: tuple[str, str]
) -> None:
    """A value of the wrong type somewhere would end in an exception that is not ours."""
    table, key = place
    path = scenarios.write(tmp_path, **{table: {**scenarios.TABLES[table], key: value}})
    assert str(path) in refusal(path)


def test_names_that_are_not_text_are_refused(tmp_path: Path) -> None:
    """A file name that is not UTF-8 would break the journal in the middle of the night."""
    path = scenarios.write(tmp_path)
    (tmp_path / "instances" / os.fsdecode(b"\xff")).write_text("")
    with pytest.raises(InputError, match="expected names in UTF-8"):
        Scenario.read(path)


def charge(metric: Metric) -> tuple[list[float], list[int]]:
    """The costs of eight runs: solved early, late and at the cutoff, and one of every other status."""
    statuses = np.array([0, 0, 0, *range(1, 6)], dtype=np.int8)
    cpu = np.array([1.0, 3.0, 2.0, 5.1, 1.0, 0.1, 1.0, 0.0])
    value = np.array([7.0, 8.0, np.nan, 9.0, 6.0, 5.0, 4.0, 3.0])
    costs, after = metric.charge(statuses, cpu, cpu + 0.5, cpu / 2, value)
    return costs.tolist(), after.tolist()


def test_costs_follow_from_outcomes() -> None:
    """PARk, a lower cutoff, another clock or a quality would be computed wrongly from what was
    observed.
    """
    nan = pytest.approx(math.nan, nan_ok=True)
    costs, after = charge(Metric(kind="par", cutoff=5.0, factor=10.0))
    assert costs == [1, 3, 2, 50, 50, 50, 50, nan]
    assert after == [0, 0, 0, 1, 2, 3, 4, 5]
    costs, after = charge(Metric(kind="par", cutoff=2.0, factor=1.0))
    assert costs == [1, 2, 2, 2, 2, 2, 2, nan]
    assert after == [0, 1, 0, 1, 2, 3, 4, 5]
    assert charge(Metric(kind="par", cutoff=2.0, factor=2.0, clock="wall"))[0] == [
        1.5,
        4,
        4,
        4,
        4,
        4,
        4,
        nan,
    ]
    assert charge(Metric(kind="par", cutoff=2.0, factor=2.0, clock="reported"))[0] == [
        0.5,
        1.5,
        1,
        4,
        4,
        4,
        4,
        nan,
    ]
    costs, after = charge(Metric(kind="utility", utility="half-life=1", cutoff=2.5))
    assert costs == [0.5, 1, 0.75, 1, 1, 1, 1, nan]
    assert after == [0, 1, 0, 1, 2, 3, 4, 5]
    assert Metric(kind="utility", utility="half-life=1", cutoff=2.5).range() == (0, 1)
    assert charge(Metric(kind="quality", low=0.0, high=10.0))[0] == [7, 8, 10, 9, 10, 10, 10, nan]
    assert charge(Metric(kind="value", low=0.0, high=10.0, failed=9.5))[0] == [
        7,
        8,
        9.5,
        9.5,
        9.5,
        9.5,
        9.5,
        nan,
    ]
