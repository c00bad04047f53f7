"""Scenario files: everything in them arrives, and mistakes are named with the file and the key."""

import math
import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scenarios
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scenarios import read

from truecost.errors import InputError
from truecost.running.checks import FILL_IN
from truecost.running.execute import Caller
from truecost.running.instances import listed, matching
from truecost.running.metric import Metric
from truecost.running.scenario import Scenario
from truecost.running.targets import Task
from truecost.runs import Outcome, Status

COMMAND: dict[str, Any] = {
    "kind": "command",
    "command": ["./solver.sh", "{instance}", "{arguments}"],
}
IRACE_SPACE = 'alpha "--alpha=" c (a, b)\nbeta "--beta=" i (1, 9)\n'


def test_a_scenario_says_everything(tmp_path: Path) -> None:
    """A value of the file would not arrive, or a default be another than documented."""
    scenario = read(tmp_path, limits={"cpu": 2.0}, metric={"kind": "par"})
    assert (scenario.name, scenario.seed, scenario.folder) == ("toy", 3, tmp_path)
    assert scenario.limits.wall == 30
    assert scenario.limits.cutoff == 2
    assert scenario.metric.range() == (0, 20)
    names = sorted(instance.name for instance in scenario.instances)
    assert names == [f"instances/i {n}.txt" for n in range(5)]
    assert all(Path(instance.argument).is_absolute() for instance in scenario.instances)


@pytest.mark.parametrize(
    ("tables", "key"),
    [
        ({"target": {"kind": "wrapper", "comand": ["x"]}}, "Did you mean 'command'"),
        ({"limits": None, "limit": {"cpu": 1.0}}, "Did you mean [limits]"),
        ({"target": {"kind": "wrapper", "command": ["x"], "private": False}}, "target.private"),
        ({"target": {"kind": "wrapper", "command": []}}, "target.command"),
        ({"target": {"kind": "wrapper", "command": "x y"}}, "target.command"),
        ({"target": {"kind": "wrapper", "command": ["x\0"]}}, "target.command"),
        ({"target": {"kind": "wrapper", "command": [FILL_IN]}}, "target.command"),
        ({"target": {"kind": "wrapper", "command": ["x", "{y}"]}}, "target.command"),
        ({"target": {"kind": "wrapper", "command": ["x", "{"]}}, "target.command"),
        ({"target": {"kind": "command", "command": ["x", "{instance}"]}}, "target.command"),
        (
            {"target": {"kind": "command", "command": ["x", "{instance}", "-p={arguments}"]}},
            "target.command",
        ),
        ({"target": {**COMMAND, "command": [*COMMAND["command"], "{seed:5}"]}}, "target.command"),
        ({"target": {"kind": "wrapper", "command": ["x"], "bound": True}}, "takes no bound"),
        ({"target": {"kind": "python", "function": "a.py:f", "style": "-n"}}, "takes no style"),
        ({"target": {"kind": "python", "command": ["x"]}}, "target.kind"),
        (
            {"target": {"kind": "wrapper", "command": ["x"], "function": "a.py:f"}},
            "target.kind",
        ),
        ({"target": {"kind": "python", "function": "a.py"}}, "target.function"),
        ({"target": {"kind": "python", "function": "a.py:f"}}, "target.function"),
        ({"target": {"kind": "wrapper", "command": ["x"], "style": "+name"}}, "target.style"),
        (
            {"target": {"kind": "wrapper", "command": ["x"], "environment": {"a=": "b"}}},
            "target.environment",
        ),
        ({"limits": {"cpu": "5"}}, "limits.cpu"),
        ({"limits": {"cpu": -1.0}}, "limits.cpu"),
        ({"limits": {}}, "[limits]"),
        ({"limits": {"cpu": 1.0, "cutoff": 2.0}}, "limits.cutoff"),
        ({"limits": None}, "limits"),
        ({"metric": {"kind": "par", "high": 5.0}}, "metric.high"),
        ({"metric": {"kind": "quality"}}, "[metric]"),
        ({"metric": {"kind": "quality", "low": 2.0, "high": 1.0}}, "metric.low"),
        (
            {"metric": {"kind": "value", "low": 0.0, "high": 1.0, "failed": 2.0}},
            "metric.failed",
        ),
        ({"metric": {"kind": "par", "cutoff": 9.0}}, "metric.cutoff"),
        ({"metric": {"kind": "par", "factor": 0.5}}, "metric.factor"),
        ({"limits": {"wall": 1.0}, "metric": {"kind": "par"}}, "metric.clock"),
        ({"space": {"file": "none.pcs"}}, "space.file"),
        ({"space": {"file": "solver.sh"}}, "space.file"),
        ({"space": {"file": "space.pcs", "default": {"alpha": "99"}}}, "space.default"),
        ({"instances": {"glob": "nothing/*"}}, "instances.glob"),
        ({"instances": {"files": ["a"]}}, "instances.files"),
        ({"instances": {"names": ["a", "a"]}}, "instances.names"),
        ({"instances": {"names": ["a"], "glob": "*"}}, "[instances]"),
        ({"instances": {"file": "nowhere.csv"}}, "instances.file"),
        ({"answer": {"solved": "x"}}, "[answer]"),
        # A metric of a number that no expression reads would give a journal of crashes.
        ({"target": COMMAND}, "answer.value"),
        ({"target": COMMAND, "metric": {"kind": "par", "clock": "reported"}}, "answer.time"),
        ({"target": COMMAND, "answer": {"value": "cost .*"}}, "answer.value"),
        ({"target": COMMAND, "answer": {"solved": "(("}}, "answer.solved"),
    ],
)
def test_mistakes_are_named(tmp_path: Path, tables: dict[str, Any], key: str) -> None:
    """A mistake would be found after a weekend, or be reported without file and key."""
    path = scenarios.write(tmp_path, **tables)
    with pytest.raises(InputError, match=f"^{re.escape(str(path))}: .*{re.escape(key)}"):
        Scenario.read(path)


def test_instances_keep_their_order_when_others_come(tmp_path: Path) -> None:
    """The first P instances would be the alphabet's, or change places when one is added."""
    few = [instance.name for instance in read(tmp_path).instances]
    for number in range(5, 40):
        (tmp_path / "instances" / f"i {number}.txt").write_text(f"{number}\n")
    many = [instance.name for instance in Scenario.read(tmp_path / "scenario.toml").instances]
    assert [name for name in many if name in few] == few
    assert many != sorted(many)


def test_families_stay_together(tmp_path: Path) -> None:
    """An unfinished journal would have parts of many families instead of whole ones."""
    scenarios.write(tmp_path)
    rows = [f"instances/i {place}.txt,{'ab'[place % 2]}" for place in range(5)]
    (tmp_path / "list.csv").write_text("\n".join(["instance,kind", *rows, ""]))
    scenario = read(tmp_path, instances={"file": "list.csv", "families": "kind"})
    families = [instance.extras["family"] for instance in scenario.instances]
    assert families in (["a"] * 3 + ["b"] * 2, ["b"] * 2 + ["a"] * 3)


def test_seeds_belong_to_instance_and_run(tmp_path: Path) -> None:
    """The same cell would be another run on another machine, or two cells the same one."""
    scenario = read(tmp_path)
    names = [instance.name for instance in scenario.instances]
    seeds = {scenario.run_seed(name, number) for name in names for number in range(200)}
    separate = {scenario.run_seed(name, 0, f"c{place}") for name in names for place in range(100)}
    assert (len(seeds), len(separate), len(seeds & separate)) == (1000, 500, 0)
    assert all(0 < seed < 2**31 for seed in seeds | separate)
    # Written down once: a change would make every journal's continuation another experiment.
    assert scenario.run_seed("instances/i 0.txt", 0) == 1679404256


def test_instance_files_say_more(tmp_path: Path) -> None:
    """A known optimum in the instance file would not reach the command."""
    target = {
        "kind": "command",
        "command": ["x", "{instance}", "{optimum}", "{best known}", "{arguments}", "{{{seed}}}"],
    }
    (tmp_path / "list.csv").write_text(
        'instance,optimum,best known\n"instances/i 0.txt", 12,a b\ninstances/i 1.txt,7,\n'
    )
    tables: dict[str, Any] = {
        "target": target,
        "instances": {"file": "list.csv"},
        "answer": {"value": "(.)"},
    }
    scenario = read(tmp_path, **tables)
    instance = next(one for one in scenario.instances if one.name.endswith("0.txt"))
    default = scenario.space.default()
    line = Caller(scenario).command_line(
        Task(configuration=default, instance=instance, number=0, seed=5)
    )
    path = str(tmp_path / "instances/i 0.txt")
    assert line == ["x", path, "12", "a b", "--alpha=1", "--beta=1", "{5}"]
    for text, problem in (
        ("instance,family\ninstances/i 0.txt,a\ninstances/i 1.txt,\n", "1.txt' has no family"),
        ("instance,optimum\ninstances/i 0.txt\n", "line 2"),
        ("instance,seed\ninstances/i 0.txt,4\n", "'seed'"),
        ("instance,a,a\ninstances/i 0.txt,4,5\n", "same name"),
        ("instance,a\n", "no instances"),
        ("", "no instances"),
    ):
        (tmp_path / "list.csv").write_text(text)
        with pytest.raises(InputError, match=problem):
            Scenario.read(tmp_path / "scenario.toml")


def test_plain_lists_of_instances(tmp_path: Path) -> None:
    """A file with one instance a line would not be read, or irace's strings be taken for files."""
    (tmp_path / "list.txt").write_text("instances/i 0.txt\n\ninstances/i 3.txt\n")
    scenario = read(tmp_path, instances={"file": "list.txt"})
    assert {one.name for one in scenario.instances} == {"instances/i 0.txt", "instances/i 3.txt"}
    (tmp_path / "train.txt").write_text("i 0.txt # easy\n--size 5 'a b'\n\ni 0.txt\n")
    lines = listed(tmp_path / "train.txt", [tmp_path / "instances"])
    assert [(one.is_file, one.number) for one in lines] == [(True, 1), (False, 2)]
    assert lines[1].argument == "--size 5 'a b'"
    names = [one.name for one in matching("instances/*", tmp_path)]
    assert names == [f"instances/i {place}.txt" for place in range(5)]


def test_a_default_may_be_the_scenarios(tmp_path: Path) -> None:
    """irace's files have no default: the first configuration would be compared as if it were one."""
    scenarios.write(tmp_path)
    (tmp_path / "irace.txt").write_text(IRACE_SPACE)
    assert not read(tmp_path, space={"file": "irace.txt"}).space.has_default
    for default, values in (
        ("middle", {"alpha": "a", "beta": 5}),
        ({"alpha": "b", "beta": 2}, {"alpha": "b", "beta": 2}),
    ):
        scenario = read(tmp_path, space={"file": "irace.txt", "default": default})
        assert scenario.space.has_default
        assert scenario.space.default().values == values


def test_names_that_are_not_text_are_refused(tmp_path: Path) -> None:
    """A file name that is not UTF-8 would break the journal in the middle of the night."""
    path = scenarios.write(tmp_path)
    (tmp_path / "instances" / os.fsdecode(b"\xff")).write_text("")
    with pytest.raises(InputError, match="UTF-8"):
        Scenario.read(path)
    path = scenarios.write(tmp_path / os.fsdecode(b"\xff"))
    with pytest.raises(InputError, match="name of its folder"):
        Scenario.read(path)


def refusal(path: Path) -> str:
    """Why a scenario cannot be read; where it can, its path."""
    try:
        return str(Scenario.read(path).path)
    except InputError as error:
        return str(error)


@pytest.fixture
def good(tmp_path: Path) -> str:
    """The text of a scenario that can be read."""
    return scenarios.write(tmp_path).read_text()


@given(
    text=st.one_of(st.text(), st.binary().map(lambda b: b.decode("latin-1"))),
    cut=st.integers(0, 400),
    put=st.text(max_size=5),
)
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_file_is_read_or_refused(
    tmp_path: Path, good: str, text: str, cut: int, put: str
) -> None:
    """Some scenario file would end in an exception that is not ours."""
    path = tmp_path / "scenario.toml"
    for content in (text, good[:cut] + put + good[cut:], good[:cut], good[:cut] + good[cut + 3 :]):
        path.write_bytes(content.encode("utf-8", "surrogatepass"))
        assert str(path) in refusal(path)


@given(
    st.recursive(
        st.one_of(st.booleans(), st.integers(), st.floats(), st.text()),
        lambda inner: st.one_of(
            st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=3), inner, max_size=3)
        ),
        max_leaves=4,
    ),
    st.sampled_from([(name, key) for name, table in scenarios.TABLES.items() for key in table]),
)
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_value_at_any_key_is_read_or_refused(
    tmp_path: Path, value: object, place: tuple[str, str]
) -> None:
    """A value of the wrong type somewhere would end in an exception that is not ours."""
    table, key = place
    path = scenarios.write(tmp_path, **{table: {**scenarios.TABLES[table], key: value}})
    assert str(path) in refusal(path)


def test_fingerprints_notice_what_changes_runs(tmp_path: Path) -> None:
    """Runs of another solver, space or limit would go into the same journal; or the same be refused
    for another metric or a new instance.
    """
    first = read(tmp_path).fingerprint()
    (tmp_path / "instances" / "new.txt").write_text("1\n")
    same = read(tmp_path, metric={"kind": "value", "low": 0.0, "high": 1.0}).fingerprint()
    assert same == first
    (tmp_path / "solver.sh").write_text("#!/bin/sh\necho other\n")
    assert Scenario.read(tmp_path / "scenario.toml").fingerprint() != first
    assert read(tmp_path, limits={"cpu": 0.2, "wall": 600.0}).fingerprint() != first
    # A word may be longer than any path.
    for changes in ({"environment": {"A": "b"}}, {"command": ["./solver.sh", "x" * 300]}):
        target = {**scenarios.TABLES["target"], **changes}
        assert read(tmp_path, target=target).fingerprint() != first


NAN = pytest.approx(math.nan, nan_ok=True)


@pytest.mark.parametrize(
    ("metric", "costs", "statuses"),
    [
        (Metric(kind="par", cutoff=5.0), [1, 3, 2, 50, 50, 50, 50, NAN, 4], [0, 0, 0, 1, 2, 3, 4, 5, 6]),
        (Metric(kind="par", cutoff=2.0, factor=1.0), [1, 2, 2, 2, 2, 2, 2, NAN, 2], [0, 1, 0, 1, 2, 3, 4, 5, 1]),
        (Metric(kind="par", cutoff=2.0, factor=2.0, clock="wall"), [1.5, 4, 4, 4, 4, 4, 4, NAN, 4], [0, 1, 1, 1, 2, 3, 4, 5, 1]),
        (Metric(kind="par", cutoff=2.0, factor=2.0, clock="reported"), [0.5, 1.5, 1, 4, 4, 4, 4, NAN, 4], [0, 0, 0, 1, 2, 3, 4, 5, 1]),
        (Metric(kind="quality", low=0.0, high=10.0), [7, 8, 10, 9, 10, 10, 10, NAN, 10], [0, 0, 0, 1, 2, 3, 4, 5, 6]),
        (Metric(kind="value", low=0.0, high=10.0, failed=9.5), [7, 8, 9.5, 9.5, 9.5, 9.5, 9.5, NAN, 9.5], [0, 0, 0, 1, 2, 3, 4, 5, 6]),
    ],
)  # fmt: skip
def test_costs_follow_from_outcomes(metric: Metric, costs: list[Any], statuses: list[int]) -> None:
    """PARk, a lower cutoff, another clock or a quality would be computed wrongly."""
    # Solved early, late, and at the cutoff; one of every other status.
    given_statuses = np.array([0, 0, 0, *range(1, 7)], dtype=np.int8)
    cpu = np.array([1.0, 3.0, 2.0, 5.1, 1.0, 0.1, 1.0, 0.0, 4.0])
    value = np.array([7.0, 8.0, np.nan, 9.0, 6.0, 5.0, 4.0, 3.0, 2.0])
    cap = np.where(given_statuses == Status.CENSORED, 4.0, np.nan)
    charged, after = metric.costs(given_statuses, cpu, cpu + 0.5, cpu / 2, value, cap)
    assert charged.tolist() == costs
    assert after.tolist() == statuses
    for place, status in enumerate(given_statuses):
        outcome = Outcome(
            status=Status(status),
            cpu=cpu[place],
            wall=cpu[place] + 0.5,
            memory=0,
            exit_code=0,
            time=cpu[place] / 2,
            value=None if np.isnan(value[place]) else value[place],
            cap=None if np.isnan(cap[place]) else cap[place],
        )
        assert metric.charged(outcome) == (costs[place], statuses[place])


def test_a_metric_may_be_stricter_later() -> None:
    """Runs would be judged by a cutoff that they never had, or the factor be ignored."""
    metric, limits = Metric(kind="par", cutoff=5.0), {"cpu": 5.0, "wall": 60.0, "cutoff": 5.0}
    assert metric.changed(limits, par=2.0, cutoff=None).range() == (0, 10)
    assert metric.changed(limits, par=None, cutoff=3.0).range() == (0, 30)
    for par, cutoff in ((None, 6.0), (None, 0.0), (0.5, None), (math.inf, None)):
        with pytest.raises(InputError, match="--"):
            metric.changed(limits, par=par, cutoff=cutoff)
    with pytest.raises(InputError, match="no CPU limit"):
        Metric(kind="value", low=0.0, high=1.0).changed({"cpu": None}, par=2.0, cutoff=None)
