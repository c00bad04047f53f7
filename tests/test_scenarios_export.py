"""Scenarios written into folders: the same anywhere, and run where only the solver is installed."""

import hashlib
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
from truecost.running.targets import Task
from truecost.runs import Status
from truecost.scenarios import tsp
from truecost.scenarios.clasp.arguments import build
from truecost.scenarios.exporting import HERE
from truecost.scenarios.kissat import launch as kissat_launch
from truecost.scenarios.satenstein.arguments import build as satenstein_arguments
from truecost.space.space import Space

pytestmark = pytest.mark.usefixtures("own_locks")
needs_lkh = pytest.mark.skipif(
    find_spec("LKHpy") is None, reason="LKHpy has no wheels for this Python"
)
CLASP, KISSAT, SATENSTEIN = "clasp-weighted-sequence", "kissat-qcp", "satenstein-qcp"
SOLVERS = [pytest.param("lkh-uniform-400", marks=needs_lkh), CLASP, KISSAT]


@cache
def space(name: str) -> Space:
    """The space of a scenario; to read one takes longer than to look at it."""
    return Space.read(HERE / scenarios.describe(name).folder / "space.pcs")


def contents(folder: Path) -> dict[str, bytes]:
    """Every file under a folder."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def output(*words: object, **how: object) -> str:
    """What a command prints."""
    line = [str(word) for word in words]
    return subprocess.run(line, capture_output=True, text=True, check=False, **how).stdout  # type: ignore[call-overload, no-any-return]


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
        scenarios.export(KISSAT, tmp_path / "a", instances=3, progress=interrupt)
    with pytest.raises(InputError, match=r"instances\.csv"):
        Scenario.read(tmp_path / "a" / "scenario.toml")
    for folder in ("a", "b"):
        scenarios.export(KISSAT, tmp_path / folder, instances=3)
    assert contents(tmp_path / "a") == contents(tmp_path / "b")


def test_exports_are_not_mixed(tmp_path: Path) -> None:
    """Instances of two exports would end up in one folder, or somebody's files be written over."""
    scenarios.export(KISSAT, tmp_path / "a", instances=1)
    for other in ({"instances": 2}, {"instances": 1, "seed": 2}, {"instances": 1, "size": "paper"}):
        with pytest.raises(InputError, match="Choose another folder"):
            scenarios.export(KISSAT, tmp_path / "a", **other)
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "thesis.tex").touch()
    with pytest.raises(InputError, match="is not empty"):
        scenarios.export(KISSAT, tmp_path / "b", instances=1)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"name": "kissat"}, "[Dd]id you mean 'kissat-qcp'.*lkh-uniform-400"),
        ({"size": "huge"}, "Choose one of small, large, paper"),
        ({"instances": 0}, "instances is 0. Give a number from 1"),
        ({"seed": -1}, "seed is -1. Give a number from 0"),
        ({"workers": 0}, "workers is 0. Give a number from 1"),
        ({"target": "/nowhere/kissat"}, "is no executable program"),
        ({"name": "lkh-uniform-400", "target": "/bin/true"}, "Leave out target"),
        ({"name": SATENSTEIN}, "AClib 2.*--target.*kissat-qcp"),
    ],
)
def test_wrong_exports(words: dict[str, object], message: str, tmp_path: Path) -> None:
    """Wrong arguments would be taken, or refused without saying what is right, or leave a folder
    behind.
    """
    with pytest.raises(InputError, match=message):
        scenarios.export(**{"name": KISSAT, "folder": tmp_path / "x", **words})  # type: ignore[arg-type]
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize("name", scenarios.names())
@pytest.mark.parametrize("size", ["small", "paper"])
def test_every_size_makes_a_scenario(name: str, size: str, tmp_path: Path) -> None:
    """A template would not fit the format of scenario files, or say another cutoff than the
    catalogue.
    """
    target = "/bin/true" if name == SATENSTEIN else None
    if size == "paper" and name.startswith("lkh"):
        # Their reference lengths take minutes each: one that is found in the folder, as after an
        # interruption, will do.
        with pytest.raises(KeyboardInterrupt):
            scenarios.export(name, tmp_path / "x", size=size, instances=1, progress=interrupt)
        (drawn,) = (tmp_path / "x" / "instances").iterdir()
        digest = hashlib.sha256(drawn.read_bytes()).hexdigest()[:16]
        (tmp_path / "x" / "references.csv").write_text(f"{digest},123,3\n")
    path = scenarios.export(name, tmp_path / "x", size=size, instances=1, target=target)
    scenario = Scenario.read(path)
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
    lines = output(*kissat_launch.find(), "--range").splitlines()
    ranges = {name: tuple(map(int, rest)) for name, *rest in map(str.split, lines)}
    kissat = space(KISSAT)
    left_out = {"flushproof", "incremental", "profile", "seed", "statistics", "verbose"}
    assert set(ranges) - set(kissat.parameters) == left_out
    for name, parameter in kissat.configspace.items():
        low, default, high = ranges[name]
        if isinstance(parameter, ConfigSpace.CategoricalHyperparameter):
            assert (low, high, set(parameter.choices)) == (0, 1, {"0", "1"})
        else:
            assert isinstance(parameter, ConfigSpace.UniformIntegerHyperparameter)
            assert low <= parameter.lower < parameter.upper <= high
        assert int(parameter.default_value) == default


def test_clasp_takes_every_configuration(tmp_path: Path) -> None:
    """The space would have an option or a word that clasp has not, or the argument builder put
    parts together in a way that clasp refuses.
    """
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
print("done")
"""
    clasp = space(CLASP)
    configurations = clasp.configurations(300, seed=3)
    tried = {item for one in configurations for item in one.values.items()}
    for name, parameter in clasp.configspace.items():
        assert all((name, word) in tried for word in getattr(parameter, "choices", ())), name
    drawn = [build(one.values) for one in configurations]
    program = (sys.executable, "-c", script, tmp_path / "x.aspif")
    assert output(*program, input=json.dumps(drawn)) == "done\n"
    used = {word.partition("=")[0].removeprefix("--") for words in drawn for word in words}
    assert {name.partition(":")[0] for name in clasp.parameters} <= used | {"no-gamma"}


def test_arguments_of_clasp_by_hand() -> None:
    """Parts of clasp's options would be left out, or stand in another order than clasp reads them."""
    clasp = space(CLASP)
    default = build(clasp.default().values)
    assert set(default) >= {
        "--restarts=x,128,1.5", "--deletion=basic,75,activity", "--sat-prepro=2,iter=10,occ=25,frozen=0,time=0",
        "--counter-restarts=3,10", "--eq=0", "--no-sign-fix", "--backprop", "--contraction=no",
    }  # fmt: skip
    assert not {"--learn-explicit", "--no-learn-explicit", "--no-gamma"} & set(default)
    everything = {name: parameter.default_value for name, parameter in clasp.configspace.items()}
    other = {
        "restarts": "+", "restarts:addend-limited": "yes", "restarts:addend-limit": 9, "heuristic": "Domain",
        "dom-mod:mod": "true", "dom-mod:pick": "opt+show", "opt-strategy": "usc", "opt-strategy:usc": 5,
        "no-gamma": "yes", "opt-heuristic": "sign+model",
    }  # fmt: skip
    assert set(build(clasp.configuration(everything | other).values)) >= {
        "--restarts=+,128,100,9", "--dom-mod=true,opt,show", "--opt-strategy=usc,oll,5", "--no-gamma",
        "--opt-heuristic=sign,model",
    }  # fmt: skip


def test_sizes_of_spaces() -> None:
    """A parameter would be lost from a space."""
    sizes = [len(space(name).parameters) for name in scenarios.names()]
    assert sizes == [23, 23, 90, 54, 147]


def test_extra_candidates_have_a_type() -> None:
    """The condition on LKH's extra candidates would be inverted, as in the file it comes from."""
    for configuration in space("lkh-uniform-400").configurations(60, seed=1):
        wanted = configuration.values["EXTRA_CANDIDATES"] != "0"
        assert ("EXTRA_CANDIDATE_SET_TYPE" in configuration.values) == wanted


def gathered(path: Path, patience: float, configurations: int) -> tuple[list[Status], set[str]]:
    """The statuses and the solver's versions of runs that may take so many times as long, since
    other tests run meanwhile.
    """
    cpu = re.compile(r"(?<=^cpu = )\S+", re.MULTILINE)
    path.write_text(cpu.sub(lambda match: str(patience * float(match[0])), path.read_text()))
    runs = path.with_name("runs.db")
    gather(path, runs, configurations=configurations, instances=2, runs=1, pool=1)
    with Journal.read(runs) as journal:
        versions = {str(machine.solver) for machine in journal.machines()}
        return journal.table().status.tolist(), versions


@pytest.mark.parametrize("name", SOLVERS)
def test_gathering(name: str, tmp_path: Path) -> None:
    """A scenario could not be gathered: configurations would crash, answers be rejected, or nothing
    be solved.
    """
    size, patience = ("small", 2) if name.startswith("lkh") else ("large", 4)
    path = scenarios.export(name, tmp_path / "x", size=size, instances=2)
    statuses, versions = gathered(path, patience, 3)
    assert len(statuses) == 6
    assert Status.SOLVED in statuses
    assert set(statuses) <= {Status.SOLVED, Status.TIMEOUT}
    assert all(re.search(r"\d+\.\d+", version) for version in versions)


@pytest.mark.parametrize("name", SOLVERS)
def test_launchers_do_without_truecost(name: str, tmp_path: Path) -> None:
    """What an exported scenario calls would need truecost beside the solver."""
    instance = Scenario.read(scenarios.export(name, tmp_path / "x", instances=1)).instances[0]
    script = "import runpy, subprocess, sys; sys.modules['truecost'] = None; del sys.argv[0]; "
    if name.startswith("lkh"):
        script += "runpy.run_path(sys.argv[0], run_name='__main__')"
        words = [instance.argument, instance.extras["specifics"], "10", "10000", "1"]
    else:
        script += "launch = runpy.run_path(sys.argv[0]); "
        script += "subprocess.run([*launch['find'](), *sys.argv[1:]])"
        words = ["--seed=1", instance.argument]
    program = (sys.executable, "-c", script, tmp_path / "x" / "launch.py", *words)
    assert re.search("SUCCESS|SATISFIABLE", output(*program, cwd=tmp_path))


# A stand-in for SATenstein: knows its options, takes none twice, and lets kissat find the model.
STAND_IN = """#!{python}
import subprocess, sys
words = sys.argv[1:]
values = dict(zip(words[::2], words[1::2], strict=True))
fixed = {{"-alg": "satenstein", "-cutoff": "max", "-target": "0", "-r": "satcomp"}}
seed, instance = values.pop("-seed"), values.pop("-inst")
if 2 * len(values) + 4 != len(words) or not fixed.items() <= values.items():
    sys.exit("options given twice or missing: " + " ".join(words))
if unknown := set(values) - set(fixed) - {known!r}:
    sys.exit(f"options unknown: {{unknown}}")
words = [{kissat!r}, "-q", "--seed=" + seed, instance]
print(subprocess.run(words, capture_output=True, text=True).stdout)
"""


def test_satenstein_with_a_stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """SATenstein would get options it does not know, one of them twice, or its model not be
    checked.
    """
    names = {"-" + re.sub("^(CON|DLS)", "", name) for name in space(SATENSTEIN).parameters}
    binary = tmp_path / "ubcsat {stand} in"  # a name that needs care
    (kissat,) = kissat_launch.find()
    binary.write_text(STAND_IN.format(python=sys.executable, known=names, kissat=kissat))
    binary.chmod(0o755)
    # A path relative to the caller's folder, not to the scenario's.
    monkeypatch.chdir(tmp_path)
    path = scenarios.export(SATENSTEIN, tmp_path / "x", instances=2, target=binary.name)
    statuses, versions = gathered(path, 100, 4)
    assert set(statuses) == {Status.SOLVED}
    assert all(re.match("[0-9a-f]{64} ", version) for version in versions)
    for configuration in space(SATENSTEIN).configurations(300, seed=2):
        words = satenstein_arguments(configuration.values)
        assert len(set(words[::2])) == len(words[::2])


@pytest.mark.parametrize("name", [CLASP, KISSAT])
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
    scenario = Scenario.read(path)
    named = Scenario.read(scenarios.export(name, tmp_path / "y", instances=1, target=own))

    def line(scenario: Scenario) -> list[str]:
        default, instance = scenario.space.default(), scenario.instances[0]
        return Caller(scenario).command_line(
            Task(configuration=default, instance=instance, number=0, seed=1)
        )

    assert sys.prefix not in path.read_text()
    assert Path(line(scenario)[0]).is_file()
    # No Python between truecost and a binary; and as little as can be around a library.
    launcher = ["-I", "-S", str(tmp_path / "x" / "launch.py")]
    assert line(scenario)[1:4] == launcher if name == CLASP else line(scenario)[1] == "-q"
    assert line(named)[0] == str(own)
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    monkeypatch.setenv("PATH", str(tmp_path))
    solver = name.split("-")[0]
    with pytest.raises(InputError, match=rf"launch\.py:find.*{solver} not found: install"):
        line(scenario)
    if name == CLASP:
        monkeypatch.setenv("PATH", str(own.parent))
        assert line(scenario)[0] == str(own)
