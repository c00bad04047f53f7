import hashlib
import itertools
import json
import re
import subprocess
import sys
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import ConfigSpace
import pytest

from truecost import scenarios
from truecost.campaigns.gather import gather
from truecost.errors import InputError
from truecost.journal.journal import Journal
from truecost.running.execute import Caller
from truecost.running.scenario import Scenario
from truecost.runs import Status
from truecost.scenarios import tsp
from truecost.scenarios.clasp import launch as clasp_launch
from truecost.scenarios.clasp.arguments import build
from truecost.scenarios.exporting import HERE
from truecost.scenarios.kissat import launch as kissat_launch
from truecost.scenarios.satenstein.arguments import build as satenstein_arguments
from truecost.space.space import Space

pytestmark = pytest.mark.usefixtures("own_locks")
SHARED = Path("/work/shared/data/spaces")
needs_lkh = pytest.mark.skipif(
    find_spec("LKHpy") is None, reason="LKHpy has no wheels for this Python"
)
SOLVERS = [
    pytest.param("lkh-uniform-400", marks=needs_lkh),
    "clasp-weighted-sequence",
    "kissat-qcp",
]


@cache
def space(name: str) -> Space:
    """The space of a scenario; to read one takes longer than to look at it."""
    folder = Path(scenarios.describe(name).files[0]).parent
    return Space.read(HERE / folder / "space.pcs")


# A stand-in for SATenstein: knows its options, takes none twice, and lets kissat find the model.
STAND_IN = """#!{python}
import subprocess, sys
known = set({known!r})
words = sys.argv[1:]
names, values = words[::2], dict(zip(words[::2], words[1::2], strict=True))
fixed = {{"-alg": "satenstein", "-cutoff": "max", "-target": "0", "-r": "satcomp"}}
if len(set(names)) != len(names) or set(names) - {{"-" + name for name in known}} - set(fixed) - {{"-inst", "-seed"}}:
    sys.exit("options unknown or given twice: " + " ".join(words))
if any(values[name] != value for name, value in fixed.items()) or not values["-seed"].isdigit():
    sys.exit("expected others than " + " ".join(words))
words = [{kissat!r}, "-q", "--seed=" + values["-seed"], values["-inst"]]
print(subprocess.run(words, capture_output=True, text=True).stdout)
"""


def contents(folder: Path) -> dict[str, bytes]:
    """Every file under a folder."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def interrupt(*_news: object) -> None:
    """Ctrl-C after the first instance."""
    raise KeyboardInterrupt


@pytest.mark.parametrize("name", SOLVERS)
def test_same_seed_same_bytes(name: str, tmp_path: Path) -> None:
    """An export would depend on more than its arguments, a longer one would not begin with the
    shorter one, or another seed would not give fresh instances.
    """
    scenarios.export(name, tmp_path / "a", instances=2)
    scenarios.export(name, tmp_path / "b", instances=2)
    scenarios.export(name, tmp_path / "longer", instances=3)
    short, longer = contents(tmp_path / "a"), contents(tmp_path / "longer")
    assert short == contents(tmp_path / "b")
    drawn = {file for file in short if file.startswith("instances/")}
    assert len(drawn) == 2
    assert all(longer[file] == short[file] for file in drawn)
    assert len(set(longer.values())) == len(longer)
    if not name.startswith("lkh"):  # fresh cities would need reference lengths first
        scenarios.export(name, tmp_path / "fresh", instances=2, seed=2)
        assert not set(contents(tmp_path / "fresh").values()) & {short[file] for file in drawn}


def test_interrupted_export_goes_on(tmp_path: Path) -> None:
    """An export that was interrupted would pass for a whole one, or could not be finished."""
    with pytest.raises(KeyboardInterrupt):
        scenarios.export("clasp-weighted-sequence", tmp_path / "a", instances=3, progress=interrupt)
    with pytest.raises(InputError, match=r"instances\.csv"):
        Scenario.read(tmp_path / "a" / "scenario.toml")
    assert (
        len(
            Scenario.read(
                scenarios.export("clasp-weighted-sequence", tmp_path / "a", instances=3)
            ).instances
        )
        == 3
    )
    scenarios.export("clasp-weighted-sequence", tmp_path / "b", instances=3)
    assert contents(tmp_path / "a") == contents(tmp_path / "b")


def test_exports_are_not_mixed(tmp_path: Path) -> None:
    """Instances of two exports would end up in one folder, or somebody's files be written over."""
    scenarios.export("kissat-qcp", tmp_path / "a", instances=1)
    for other in ({"instances": 2}, {"instances": 1, "seed": 2}, {"instances": 1, "size": "paper"}):
        with pytest.raises(InputError, match="Choose another folder"):
            scenarios.export("kissat-qcp", tmp_path / "a", **other)
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "thesis.tex").touch()
    with pytest.raises(InputError, match="is not empty"):
        scenarios.export("kissat-qcp", tmp_path / "b", instances=1)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"name": "kissat"}, "[Dd]id you mean 'kissat-qcp'.*lkh-uniform-400"),
        ({"name": "kissat-qcp", "size": "huge"}, "Choose one of small, large, paper"),
        ({"name": "kissat-qcp", "instances": 0}, "instances is 0. Give a number from 1"),
        ({"name": "kissat-qcp", "seed": -1}, "seed is -1. Give a number from 0"),
        ({"name": "kissat-qcp", "target": "/nowhere/kissat"}, "is no executable program"),
        ({"name": "lkh-uniform-400", "target": "/bin/true"}, "Leave out target"),
    ],
)
def test_wrong_exports(words: dict[str, object], message: str, tmp_path: Path) -> None:
    """Wrong arguments would be taken, or refused without saying what is right, or leave a folder
    behind.
    """
    with pytest.raises(InputError, match=message):
        scenarios.export(folder=tmp_path / "x", **words)  # type: ignore[arg-type]
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize("name", scenarios.names())
@pytest.mark.parametrize("size", ["small", "paper"])
def test_every_size_makes_a_scenario(
    name: str, size: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A template would not fit the format of scenario files, or say another cutoff than the
    catalogue.
    """
    if size == "paper" and name.startswith("lkh"):
        # Their reference lengths take minutes each: one that is found in the folder, as after an
        # interruption, will do.
        with pytest.raises(KeyboardInterrupt):
            scenarios.export(name, tmp_path / "x", size=size, instances=1, progress=interrupt)
        (drawn,) = (tmp_path / "x" / "instances").iterdir()
        digest = hashlib.sha256(drawn.read_bytes()).hexdigest()[:16]
        (tmp_path / "x" / "references.csv").write_text(f"{digest},123,3\n")
    monkeypatch.setenv("TRUECOST_SATENSTEIN", "/bin/true")
    scenario = Scenario.read(scenarios.export(name, tmp_path / "x", size=size, instances=1))
    assert scenario.name == name
    assert scenario.metric.range() == (0, 10 * scenarios.describe(name).sizes[size].cutoff)
    assert scenario.space.parameters == space(name).parameters


@pytest.mark.parametrize("name", ["lkh-uniform-400", "lkh-uniform-1000"])
def test_small_references_are_stored(name: str, tmp_path: Path) -> None:
    """Exporting a small scenario would take the minutes that reference lengths take."""
    folder = scenarios.export(name, tmp_path / "x").parent
    assert not (folder / "references.csv").exists()
    rows = (folder / "instances.csv").read_text().splitlines()
    assert len(rows) == 51
    assert all(int(row.split(",")[2]) == tsp.AGREEING for row in rows[1:])


def test_space_of_kissat() -> None:
    """The space would have an option that kissat has not, a value it refuses, another default, or
    lack one that matters.
    """
    binary = (
        next(path for path in map(Path, sys.path) if (path / "sage_wheels/bin/kissat").is_file())
        / "sage_wheels/bin/kissat"
    )
    told = subprocess.run([binary, "--range"], capture_output=True, text=True, check=True).stdout
    ranges = {name: tuple(map(int, rest)) for name, *rest in map(str.split, told.splitlines())}
    kissat = space("kissat-qcp")
    assert set(ranges) - set(kissat.parameters) == {
        "flushproof",
        "incremental",
        "profile",
        "seed",
        "statistics",
        "verbose",
    }
    for name, parameter in kissat.configspace.items():
        low, default, high = ranges[name]
        if isinstance(parameter, ConfigSpace.CategoricalHyperparameter):
            assert (low, high) == (0, 1)
            assert set(parameter.choices) == {"0", "1"}
        else:
            assert isinstance(parameter, ConfigSpace.UniformIntegerHyperparameter)
            assert low <= parameter.lower < parameter.upper <= high
        assert int(parameter.default_value) == default


def test_space_of_clasp() -> None:
    """The space would have an option that clasp has not, or a word it does not know there."""
    command = [*clasp_launch.find(), "--help=3"]
    told = subprocess.run(command, capture_output=True, text=True, check=False).stdout.split(
        "Default command-line"
    )[0]
    blocks = re.split(r"\n(?=  +--)", told)
    helped: dict[str, str] = {}
    for block in blocks:
        if found := re.match(r" *--(?:\[no-\])?([a-z-]+)", block):
            helped.setdefault(found[1], block)
    for name, parameter in space("clasp-weighted-sequence").configspace.items():
        option, _, part = name.partition(":")
        assert option in helped, name
        if isinstance(parameter, ConfigSpace.CategoricalHyperparameter) and not set(
            parameter.choices
        ) <= {"yes", "no"}:
            for word in itertools.chain(
                *(choice.split("+") for choice in parameter.choices if len(choice) > 1)
            ):
                if not re.fullmatch(r"[\d.]+", word) and word != "no":
                    assert re.search(rf"\b{word}\b", helped[option]), (name, part, word)


def test_clasp_takes_every_configuration(tmp_path: Path) -> None:
    """The argument builder would put parts together in a way that clasp refuses."""
    (tmp_path / "x.aspif").write_text("asp 1 0 0\n1 1 1 1 0 0\n4 1 a 1 1\n0\n")
    script = """
import json, os, sys
from clingo.application import Application, clingo_main
class Clasp(Application):
    program_name = "clasp"
for words in json.load(sys.stdin):
    if (child := os.fork()) == 0:
        os._exit(clingo_main(Clasp(), ["--mode=clasp", "--outf=3", "--verbose=0", sys.argv[1], *words]))
    if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) != 10:
        print(words)
"""
    clasp = space("clasp-weighted-sequence")
    drawn = [build(configuration.values) for configuration in clasp.configurations(150, seed=3)]
    ended = subprocess.run(
        [sys.executable, "-c", script, tmp_path / "x.aspif"],
        input=json.dumps(drawn),
        capture_output=True,
        text=True,
        check=True,
    )
    assert ended.stdout == ""
    used = {word.partition("=")[0] for words in drawn for word in words}
    options = {name.partition(":")[0] for name in clasp.parameters}
    assert options <= {word.removeprefix("--") for word in used} | {"no-gamma"}


def test_arguments_of_clasp_by_hand() -> None:
    """Parts of clasp's options would be left out, or stand in another order than clasp reads them."""
    default = build(space("clasp-weighted-sequence").default().values)
    for word in (
        "--restarts=x,128,1.5", "--deletion=basic,75,activity", "--del-init=3.0,1000,9000", "--del-grow=1.1,20.0",
        "--sat-prepro=2,iter=10,occ=25,frozen=0,time=0", "--counter-restarts=3,10", "--heuristic=Vsids,95", "--eq=0",
        "--strengthen=local,all", "--no-sign-fix", "--backprop", "--contraction=no", "--del-cfl=no",
    ):  # fmt: skip
        assert word in default
    assert not {"--learn-explicit", "--no-learn-explicit", "--no-gamma"} & set(default)
    other = dict(space("clasp-weighted-sequence").default().values) | {
        "restarts": "+", "restarts:addend": 7, "restarts:addend-limit": 9, "dom-mod:mod": "true", "dom-mod:pick": "opt+show",
        "opt-strategy": "usc", "opt-strategy:usc": 5, "del-grow:schedule": "+", "del-grow:schedule-first": 4,
        "del-grow:schedule-addend": 6, "del-grow:schedule-limit": 11, "no-gamma": "yes", "opt-heuristic": "sign+model",
    }  # fmt: skip
    del other["restarts:factor"], other["opt-strategy:bb"]
    for word in (
        "--restarts=+,128,7,9", "--dom-mod=true,opt,show", "--opt-strategy=usc,oll,5", "--del-grow=1.1,20.0,+,4,6,11",
        "--no-gamma", "--opt-heuristic=sign,model",
    ):  # fmt: skip
        assert word in build(other)


@pytest.mark.beside(SHARED)
def test_spaces_of_the_paper() -> None:
    """A parameter, range, default or condition of the paper's scenarios would have changed on the
    way.
    """
    theirs, ours = Space.read(SHARED / "lkh.pcs"), space("lkh-uniform-400")
    assert set(theirs.parameters) - {"RUNS"} == set(ours.parameters)
    assert all(ours.configspace[name] == theirs.configspace[name] for name in ours.parameters)
    theirs, ours = Space.read(SHARED / "satenstein.pcs"), space("satenstein-qcp")
    assert dict(theirs.configspace) == dict(ours.configspace)
    for one, other in ((theirs, ours), (ours, theirs)):
        for configuration in one.configurations(150, seed=1):
            ConfigSpace.Configuration(
                other.configspace, values=dict(configuration.values)
            ).check_valid_configuration()


def test_sizes_of_spaces() -> None:
    """A parameter would be lost from a space."""
    sizes = [len(space(name).parameters) for name in scenarios.names()]
    assert sizes == [23, 23, 90, 54, 147]


def test_extra_candidates_have_a_type() -> None:
    """The condition on LKH's extra candidates would be inverted, as in the file it comes from."""
    for configuration in space("lkh-uniform-400").configurations(60, seed=1):
        wanted = configuration.values["EXTRA_CANDIDATES"] != "0"
        assert ("EXTRA_CANDIDATE_SET_TYPE" in configuration.values) == wanted


def more_time(path: Path, factor: float) -> Scenario:
    """A scenario whose runs may take so many times as long."""
    longer = re.sub(
        r"(?<=^cpu = )\S+",
        lambda found: str(factor * float(found[0])),
        path.read_text(),
        flags=re.MULTILINE,
    )
    path.write_text(longer)
    return Scenario.read(path)


@pytest.mark.parametrize("name", SOLVERS)
def test_gathering(name: str, tmp_path: Path) -> None:
    """A scenario could not be gathered: configurations would crash, answers be rejected, or nothing
    be solved.
    """
    # Easy instances with time to spare, since other tests run meanwhile.
    size, patience = ("small", 2) if name.startswith("lkh") else ("large", 4)
    path = scenarios.export(name, tmp_path / "x", size=size, instances=2)
    gather(
        more_time(path, patience),
        tmp_path / "runs.db",
        configurations=3,
        instances=2,
        runs=1,
        pool=1,
    )
    with Journal.read(tmp_path / "runs.db") as journal:
        statuses = journal.table().status.tolist()
        versions = {machine.solver for machine in journal.machines()}
    assert len(statuses) == 6
    assert Status.SOLVED in statuses
    assert set(statuses) <= {Status.SOLVED, Status.TIMEOUT}
    assert all(re.search(r"\d+\.\d+", version) for version in versions)


@pytest.mark.parametrize("name", SOLVERS)
def test_launchers_do_without_truecost(name: str, tmp_path: Path) -> None:
    """What an exported scenario calls would need truecost beside the solver."""
    scenario = Scenario.read(scenarios.export(name, tmp_path / "x", instances=1))
    instance = scenario.instances[0]
    hide = "import runpy, sys; sys.modules['truecost'] = None; del sys.argv[0]"
    if name.startswith("lkh"):
        script = f"{hide}; runpy.run_path(sys.argv[0], run_name='__main__')"
        words = [instance.argument, instance.extras["specifics"], "10", "10000", "1"]
    else:
        script = f"{hide}; import subprocess; found = runpy.run_path(sys.argv[0])['find']()"
        script += "; subprocess.run([*found, *sys.argv[1:]])"
        words = ["--seed=1", instance.argument]
    ended = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path / "x" / "launch.py"), *words],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert re.search("SUCCESS|SATISFIABLE", ended.stdout), ended.stderr


def stand_in(folder: Path) -> Path:
    """A program that speaks SATenstein's options, under a name that needs care."""
    names = {re.sub("^(CON|DLS)", "", name) for name in space("satenstein-qcp").parameters}
    path = folder / "ubcsat {stand} in"
    path.write_text(
        STAND_IN.format(python=sys.executable, known=names, kissat=kissat_launch.find()[0])
    )
    path.chmod(0o755)
    return path


def test_satenstein_with_a_stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """SATenstein would get options it does not know, one of them twice, or its model not be
    checked.
    """
    # A path relative to the caller's folder, not to the scenario's.
    monkeypatch.chdir(tmp_path)
    binary = stand_in(tmp_path).relative_to(tmp_path)
    scenario = more_time(
        scenarios.export("satenstein-qcp", tmp_path / "x", instances=2, target=binary), 100
    )
    gather(scenario, tmp_path / "runs.db", configurations=4, instances=2, runs=1, pool=1)
    with Journal.read(tmp_path / "runs.db") as journal:
        assert (journal.table().status == Status.SOLVED).all()
    for configuration in space("satenstein-qcp").configurations(300, seed=2):
        words = satenstein_arguments(configuration.values)
        assert len(set(words[::2])) == len(words[::2])


def test_satenstein_without_a_binary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without SATenstein one would not be told what is needed and what runs instead."""
    monkeypatch.delenv("TRUECOST_SATENSTEIN", raising=False)
    with pytest.raises(InputError, match=r"AClib 2.*--target.*TRUECOST_SATENSTEIN.*kissat-qcp"):
        scenarios.export("satenstein-qcp", tmp_path / "x")
    monkeypatch.setenv("TRUECOST_SATENSTEIN", str(stand_in(tmp_path)))
    scenario = Scenario.read(scenarios.export("satenstein-qcp", tmp_path / "x", instances=1))
    version = Caller(scenario).version_line()
    assert version is not None
    assert re.match(
        "[0-9a-f]{64} ", subprocess.run(version, capture_output=True, text=True, check=True).stdout
    )


@pytest.mark.parametrize("name", ["clasp-weighted-sequence", "kissat-qcp"])
def test_exported_scenarios_find_their_solver_anywhere(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder exported here would name a path of this machine, or not say what is missing
    elsewhere.
    """
    own = tmp_path / "bin" / "clasp"
    own.parent.mkdir()
    own.write_text("#!/bin/sh\n")
    own.chmod(0o755)
    path = scenarios.export(name, tmp_path / "x", instances=1)
    named = Scenario.read(scenarios.export(name, tmp_path / "y", instances=1, target=own))
    assert sys.prefix not in path.read_text()
    scenario = Scenario.read(path)
    configuration, instance = scenario.space.default(), scenario.instances[0]
    line = Caller(scenario).command_line(configuration, instance, 1)
    assert Path(line[0]).is_file()
    # No Python between truecost and a binary; and as little as can be around a library.
    assert (
        line[1] == "-q"
        if name == "kissat-qcp"
        else line[1:4] == ["-I", "-S", str(tmp_path / "x" / "launch.py")]
    )
    assert Caller(named).command_line(configuration, instance, 1)[0] == str(own)
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(
        InputError,
        match=rf"target\.program: launch\.py:find.*{name.split('-')[0]} not found: install",
    ):
        Caller(scenario).command_line(configuration, instance, 1)
    if name.startswith("clasp"):
        monkeypatch.setenv("PATH", str(own.parent))
        assert Caller(scenario).command_line(configuration, instance, 1)[0] == str(own)
