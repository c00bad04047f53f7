import hashlib
import itertools
import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import ConfigSpace
import numpy as np
import pytest
from commands import run
from scipy import stats

from truecost import library
from truecost.campaigns.gather import gather
from truecost.errors import InputError
from truecost.journal.journal import Journal
from truecost.library import quasigroup, sequence, tsp
from truecost.library.clasp import check as clasp_check
from truecost.library.clasp import launch as clasp_launch
from truecost.library.clasp.arguments import build
from truecost.library.kissat import launch as kissat_launch
from truecost.library.lkh import launch as lkh_launch
from truecost.library.qcp import check as qcp_check
from truecost.library.satenstein.arguments import build as satenstein_arguments
from truecost.running.execute import Caller
from truecost.running.scenario import Scenario
from truecost.runs import Status
from truecost.space.space import Space

LIBRARY = Path(library.__file__).parent
# To read one takes longer than to look at it.
space = cache(library.space)
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


def launched(solver: str, *words: object) -> subprocess.CompletedProcess[str]:
    """A solver's process, as a run starts it."""
    found = {"clasp": clasp_launch.find, "kissat": kissat_launch.find}
    command = (
        [*found[solver](), *words]
        if solver in found
        else [sys.executable, LIBRARY / solver / "launch.py", *words]
    )
    return subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)


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
    library.export(name, tmp_path / "a", instances=2)
    library.export(name, tmp_path / "b", instances=2)
    library.export(name, tmp_path / "longer", instances=3)
    short, longer = contents(tmp_path / "a"), contents(tmp_path / "longer")
    assert short == contents(tmp_path / "b")
    drawn = {file for file in short if file.startswith("instances/")}
    assert len(drawn) == 2
    assert all(longer[file] == short[file] for file in drawn)
    assert len(set(longer.values())) == len(longer)
    if not name.startswith("lkh"):  # fresh cities would need reference lengths first
        library.export(name, tmp_path / "fresh", instances=2, seed=2)
        assert not set(contents(tmp_path / "fresh").values()) & {short[file] for file in drawn}


def test_interrupted_export_goes_on(tmp_path: Path) -> None:
    """An export that was interrupted would pass for a whole one, or could not be finished."""
    with pytest.raises(KeyboardInterrupt):
        library.export("clasp-weighted-sequence", tmp_path / "a", instances=3, progress=interrupt)
    with pytest.raises(InputError, match=r"instances\.csv"):
        Scenario.read(tmp_path / "a" / "scenario.toml")
    assert (
        len(
            Scenario.read(
                library.export("clasp-weighted-sequence", tmp_path / "a", instances=3)
            ).instances
        )
        == 3
    )
    library.export("clasp-weighted-sequence", tmp_path / "b", instances=3)
    assert contents(tmp_path / "a") == contents(tmp_path / "b")


def test_exports_are_not_mixed(tmp_path: Path) -> None:
    """Instances of two exports would end up in one folder, or somebody's files be written over."""
    library.export("kissat-qcp", tmp_path / "a", instances=1)
    for other in ({"instances": 2}, {"instances": 1, "seed": 2}, {"instances": 1, "size": "paper"}):
        with pytest.raises(InputError, match="take another folder"):
            library.export("kissat-qcp", tmp_path / "a", **other)
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "thesis.tex").touch()
    with pytest.raises(InputError, match="expected an empty folder"):
        library.export("kissat-qcp", tmp_path / "b", instances=1)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            {"name": "kissat"},
            "out of lkh-uniform-400, lkh-uniform-1000, clasp-weighted-sequence, satenstein-qcp, kissat-qcp",
        ),
        ({"name": "kissat-qcp", "size": "huge"}, "a size out of small, large, paper, got 'huge'"),
        ({"name": "kissat-qcp", "instances": 0}, "at least 1 instance"),
        (
            {"name": "kissat-qcp", "target": "/nowhere/kissat"},
            "a program that can be executed, got '/nowhere/kissat'",
        ),
        ({"name": "lkh-uniform-400", "target": "/bin/true"}, "expected no `target`"),
    ],
)
def test_wrong_exports(words: dict[str, object], message: str, tmp_path: Path) -> None:
    """Wrong arguments would be taken, or refused without saying what is right, or leave a folder
    behind.
    """
    with pytest.raises(InputError, match=message):
        library.export(folder=tmp_path / "x", **words)  # type: ignore[arg-type]
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize("name", library.list_names())
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
            library.export(name, tmp_path / "x", size=size, instances=1, progress=interrupt)
        (drawn,) = (tmp_path / "x" / "instances").iterdir()
        digest = hashlib.sha256(drawn.read_bytes()).hexdigest()[:16]
        (tmp_path / "x" / "references.csv").write_text(f"{digest},123,3\n")
    monkeypatch.setenv("TRUECOST_SATENSTEIN", "/bin/true")
    scenario = Scenario.read(library.export(name, tmp_path / "x", size=size, instances=1))
    assert scenario.name == name
    assert scenario.metric.range() == (0, 10 * library.describe(name).sizes[size].cutoff)
    assert scenario.space.parameters == space(name).parameters


def test_latin_squares_are_uniform() -> None:
    """Some of the 576 Latin squares of order 4 would be drawn more often than others, as when the
    chain is stopped at the first proper square after a fixed number of moves.
    """
    rng = np.random.default_rng(5)
    counts = Counter(quasigroup.latin_square(4, rng).tobytes() for _ in range(3000))
    assert len(counts) <= 576
    assert stats.chisquare([*counts.values(), *[0] * (576 - len(counts))]).pvalue > 1e-3


def test_holes() -> None:
    """Balanced holes would not be as many in every row and column, others not as many as asked for,
    or a symbol change.
    """
    rng = np.random.default_rng(1)
    square = quasigroup.latin_square(9, rng)
    balanced = quasigroup.with_holes(square, 36, rng, balanced=True)
    assert ((balanced < 0).sum(axis=0) == 4).all()
    assert ((balanced < 0).sum(axis=1) == 4).all()
    anywhere = quasigroup.with_holes(square, 37, rng, balanced=False)
    assert (anywhere < 0).sum() == 37
    for partial in (balanced, anywhere):
        assert (partial == square)[partial >= 0].all()


def completions(partial: quasigroup.Square) -> int:
    """In how many ways the holes can be filled, by trying."""
    holes = np.argwhere(partial < 0)
    if not len(holes):
        return 1
    row, column = holes[0]
    found = 0
    for symbol in (
        set(range(len(partial))) - set(partial[row].tolist()) - set(partial[:, column].tolist())
    ):
        filled = partial.copy()
        filled[row, column] = symbol
        found += completions(filled)
    return found


def test_formulas_mean_completions(tmp_path: Path) -> None:
    """A formula would have other models than the square has completions."""
    rng = np.random.default_rng(3)
    counts = set()
    for _ in range(4):
        partial = quasigroup.with_holes(quasigroup.latin_square(6, rng), 24, rng, balanced=True)
        (tmp_path / "x.cnf").write_text(quasigroup.cnf(partial, "x"))
        words = [
            sys.executable,
            "-m",
            "clingo",
            "--mode=clasp",
            "--models=0",
            "--quiet=2",
            str(tmp_path / "x.cnf"),
        ]
        answer = subprocess.run(words, capture_output=True, text=True, check=True).stdout
        found = re.search(r"^c Models +: (\d+)$", answer, re.MULTILINE)
        assert found is not None
        assert int(found[1]) == completions(partial)
        counts.add(int(found[1]))
    assert len(counts) > 1


def test_formulas_are_satisfiable_and_models_checked(tmp_path: Path) -> None:
    """A quasigroup instance would not be satisfiable, its model be refused, or a wrong answer be
    accepted.
    """
    scenario = Scenario.read(library.export("kissat-qcp", tmp_path / "x", instances=4))
    for instance in scenario.instances:
        solved = launched("kissat", "-q", "--seed=1", instance.argument)
        assert solved.returncode == 10
        formula = Path(instance.argument).read_text()
        assert qcp_check.fault_of(formula, solved.stdout) is None
        true = re.findall(
            r"(?<= )[1-9]\d*\b", " ".join(re.findall(r"^v (.*)$", solved.stdout, re.MULTILINE))
        )
        flipped = re.sub(rf"(?<= ){true[0]}\b", f"-{true[0]}", solved.stdout)
        assert "is not satisfied" in str(qcp_check.fault_of(formula, flipped))
        assert "both true and false" in str(
            qcp_check.fault_of(formula, solved.stdout + f"v -{true[0]} 0\n")
        )
        assert "is not satisfied" in str(qcp_check.fault_of(formula, "s SATISFIABLE\n"))
        assert "made from a solution" in str(qcp_check.fault_of(formula, "s UNSATISFIABLE\n"))


@pytest.mark.parametrize(
    ("check", "instance"),
    [
        (qcp_check.fault, "p cnf 1 1\n1 0\n"),
        (clasp_check.fault, "10 leaves 1,1\n10 m 0\n10 optimum 0\n"),
    ],
)
def test_checks_read_the_instance(
    check: Callable[[str, str], str | None], instance: str, tmp_path: Path
) -> None:
    """A check would accept what is wrong, or look at another instance than it is told."""
    path = tmp_path / "instance"
    path.write_text(instance)
    assert check(str(path), "v 1 0\nat(0,0)\n") is None
    assert check(str(path), "v -1 0\nUNSATISFIABLE\n")
    with pytest.raises(FileNotFoundError):
        check(str(tmp_path / "missing"), "v 1 0\n")


def tried(leaves: Sequence[sequence.Leaf]) -> int:
    """The least total cost over all orders and colours."""
    places = range(len(leaves))
    return min(
        clasp_check.total_cost(list(leaves), list(order), list(colours))
        for order in itertools.permutations(places)
        for colours in itertools.product(("green", "red", "blue"), repeat=len(leaves) - 1)
    )


def test_total_cost_by_hand() -> None:
    """The cost of a coloured sequence would be another than the problem says."""
    leaves = [(3, 9), (5, 2), (4, 4), (1, 6)]
    # 1 | green 5 + 2 = 7 | blue 7 + 9 = 16 | red 16 + 4 = 20
    assert clasp_check.total_cost(leaves, [3, 1, 0, 2], ["green", "blue", "red"]) == 7 + 16 + 20


@pytest.mark.parametrize(("leaves", "seed"), [(2, 1), (3, 1), (4, 1), (5, 1), (5, 2), (6, 1)])
def test_weighted_sequences(leaves: int, seed: int, tmp_path: Path) -> None:
    """The optimum would not be the least cost, or clasp on our program say otherwise, or a wrong
    answer be accepted.
    """
    drawn = np.random.default_rng([leaves, seed]).integers(1, 21, size=(leaves, 2)).tolist()
    listed = [(weight, cardinality) for weight, cardinality in drawn]
    best = tried(listed)
    assert sequence.optimum(listed) == best
    answers = []
    for most, code in ((best - 1, 20), (best, 10), (best + 3, 10)):
        path = tmp_path / f"{most}.aspif"
        path.write_text(sequence.ground(listed, most, best))
        answer = launched("clasp", "--seed=1", path)
        assert answer.returncode == code
        assert clasp_check.fault_of(path.read_text(), answer.stdout) is None
        answers.append((path.read_text(), answer.stdout))
    (too_low, none), (tight, good), _ = answers
    assert "above m" in str(clasp_check.fault_of(too_low, good))
    assert "is at most m" in str(clasp_check.fault_of(tight, none))
    assert "a colour for every place" in str(
        clasp_check.fault_of(tight, re.sub(r"colour\(1,\w+\)", "", good))
    )
    assert "in a place of its own" in str(
        clasp_check.fault_of(tight, good.replace("at(0,", "at(1,"))
    )


def test_weighted_sequences_are_of_all_kinds(tmp_path: Path) -> None:
    """All instances would be satisfiable, or none, or what they say of their optimum be wrong."""
    scenario = Scenario.read(
        library.export("clasp-weighted-sequence", tmp_path / "x", instances=20)
    )
    offsets = set()
    for instance in scenario.instances:
        known = dict(
            re.findall(r"^10 (\w+) (.*)$", Path(instance.argument).read_text(), re.MULTILINE)
        )
        leaves = [(int(w), int(c)) for w, c in re.findall(r"(\d+),(\d+)", known["leaves"])]
        assert sequence.optimum(leaves) == int(known["optimum"])
        offsets.add(int(known["m"]) - int(known["optimum"]))
    assert min(offsets) < 0 < max(offsets)


def test_tour_length() -> None:
    """A tour would be measured without TSPLIB's rounding, or something else than a tour pass for
    one.
    """
    cities = [(0, 0), (0, 3), (2, 1), (5, 0)]
    # 3, √8 → 3, √10 → 3, 5
    assert lkh_launch.tour_length(cities, [0, 1, 2, 3, 0]) == 14
    for wrong in ([0, 1, 2, 3], [0, 1, 2, 0], [0, 1, 1, 3, 0], [0, 1, 2, 3, 1]):
        with pytest.raises(ValueError, match="a tour of all cities"):
            lkh_launch.tour_length(cities, wrong)


@needs_lkh
def test_lkh_reaches_the_shortest_tour(tmp_path: Path) -> None:
    """LKH's tour would be measured wrong, or a run be solved that missed its reference, or a better
    one not be told.
    """
    path = tmp_path / "x.tsp"
    path.write_text(tsp.instance(8, np.random.default_rng(1), "x"))
    cities = lkh_launch.coordinates(path.read_text())
    best = min(
        lkh_launch.tour_length(cities, [0, *order, 0])
        for order in itertools.permutations(range(1, 8))
    )

    def answer(reference: int, runs: int, *parameters: str) -> dict[str, object]:
        told = launched("lkh", path, reference, 5, runs, 1, *parameters).stdout
        return dict(json.loads(told.removeprefix("Result of this algorithm run: ")))

    assert answer(0, 1)["quality"] == best
    met = answer(best, 10_000)
    assert (met.pop("status"), met.pop("quality")) == ("SUCCESS", best)
    assert 0 <= float(str(met.pop("runtime"))) < 5
    assert met == {}
    assert answer(best + 7, 10_000)["misc"] == "shorter than the reference by 7"
    missed = answer(best - 1, 2)
    assert (missed["status"], missed["quality"]) == ("TIMEOUT", best)
    assert answer(best, 1, "-NONSENSE", "1")["status"] == "CRASHED"


@needs_lkh
def test_lkh_is_ended_at_its_cutoff(tmp_path: Path) -> None:
    """A run that cannot reach its reference would go on past the cutoff, or be a crash."""
    path = tmp_path / "x.tsp"
    path.write_text(tsp.instance(300, np.random.default_rng(1), "x"))
    told = launched("lkh", path, 1, 0.2, 2**31 - 1, 1).stdout
    assert told == 'Result of this algorithm run: {"status": "TIMEOUT", "runtime": 0.2}\n'


@needs_lkh
def test_references_are_computed_once(tmp_path: Path) -> None:
    """Reference lengths that were found would be lost or computed again, or a line that a crash
    left torn be read.
    """
    files = [tmp_path / f"{number}.tsp" for number in range(3)]
    for number, file in enumerate(files):
        file.write_text(tsp.instance(7, np.random.default_rng(number), "x"))
    store, told = tmp_path / "references.csv", []
    found = tsp.references(files[:2], store, workers=2, progress=lambda *news: told.append(news))
    assert [each.agreeing for each in found] == [tsp.AGREEING] * 2
    assert told == [("reference lengths", 1, 2), ("reference lengths", 2, 2)]
    # What another length in the store shows: nothing was computed anew; but the second line is
    # torn.
    store.write_text(store.read_text().replace(f",{found[0].length},", ",1,").rstrip()[:-4])
    again = tsp.references(files, store, workers=1, progress=None)
    assert [again[0].length, again[1]] == [1, found[1]]
    assert tsp.references(files, store, workers=1, progress=None) == again


@pytest.mark.parametrize("name", ["lkh-uniform-400", "lkh-uniform-1000"])
def test_small_references_are_stored(name: str, tmp_path: Path) -> None:
    """Exporting a small scenario would take the minutes that reference lengths take."""
    folder = library.export(name, tmp_path / "x").parent
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
    told = launched("clasp", "--help=3").stdout.split("Default command-line")[0]
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
    drawn = [build(configuration.values) for configuration in clasp.configurations(150, rng=3)]
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
        for configuration in one.configurations(150, rng=1):
            ConfigSpace.Configuration(
                other.configspace, values=dict(configuration.values)
            ).check_valid_configuration()


def test_sizes_of_spaces() -> None:
    """A parameter would be lost from a space."""
    sizes = [len(space(name).parameters) for name in library.list_names()]
    assert sizes == [23, 23, 90, 54, 147]


def test_extra_candidates_have_a_type() -> None:
    """The condition on LKH's extra candidates would be inverted, as in the file it comes from."""
    for configuration in space("lkh-uniform-400").configurations(60, rng=1):
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
    """A scenario could not be gathered: configurations would crash, answers be vetoed, or nothing
    be solved.
    """
    for patience in (
        1,
        10,
        100,
    ):  # on a slow machine little is solved within the limits of a small scenario
        path = library.export(name, tmp_path / f"x{patience}", instances=2)
        gather(
            more_time(path, patience),
            tmp_path / f"{patience}.db",
            configurations=3,
            instances=2,
            runs=1,
            pool=1,
        )
        with Journal.read(tmp_path / f"{patience}.db") as journal:
            table, matrix = journal.table(), journal.matrix()
            versions = {machine.solver for machine in journal.machines()}
        assert len(table.status) == 6
        assert set(table.status.tolist()) <= {Status.SOLVED, Status.TIMEOUT}
        if patience == 1:
            assert matrix.high == 10 * library.describe(name).sizes["small"].cutoff
        if (table.status == Status.SOLVED).sum() >= 2:
            break
    else:
        pytest.fail("nothing is solved")
    assert all(re.search(r"\d+\.\d+", version) for version in versions)


@pytest.mark.parametrize("name", SOLVERS)
def test_launchers_do_without_truecost(name: str, tmp_path: Path) -> None:
    """What an exported scenario calls would need truecost beside the solver."""
    scenario = Scenario.read(library.export(name, tmp_path / "x", instances=1))
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


def test_satenstein_with_a_stand_in(tmp_path: Path) -> None:
    """SATenstein would get options it does not know, one of them twice, or its model not be
    checked.
    """
    binary = stand_in(tmp_path)
    scenario = more_time(
        library.export("satenstein-qcp", tmp_path / "x", instances=2, target=binary), 100
    )
    gather(scenario, tmp_path / "runs.db", configurations=4, instances=2, runs=1, pool=1)
    with Journal.read(tmp_path / "runs.db") as journal:
        assert (journal.table().status == Status.SOLVED).all()
    for configuration in space("satenstein-qcp").configurations(300, rng=2):
        words = satenstein_arguments(configuration.values)
        assert len(set(words[::2])) == len(words[::2])


def test_satenstein_without_a_binary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without SATenstein one would not be told what is needed and what runs instead."""
    monkeypatch.delenv("TRUECOST_SATENSTEIN", raising=False)
    ended = run("scenario", "export", "satenstein-qcp", tmp_path / "x")
    assert ended.returncode == 2
    assert re.search("UBCSAT binary.*--target.*TRUECOST_SATENSTEIN.*kissat-qcp", ended.stderr)
    monkeypatch.setenv("TRUECOST_SATENSTEIN", str(stand_in(tmp_path)))
    scenario = Scenario.read(library.export("satenstein-qcp", tmp_path / "x", instances=1))
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
    path = library.export(name, tmp_path / "x", instances=1)
    named = Scenario.read(library.export(name, tmp_path / "y", instances=1, target=own))
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
        match=rf"target\.program: launch\.py:find: .*{name.split('-')[0]} not found: install",
    ):
        Caller(scenario).command_line(configuration, instance, 1)
    if name.startswith("clasp"):
        monkeypatch.setenv("PATH", str(own.parent))
        assert Caller(scenario).command_line(configuration, instance, 1)[0] == str(own)


def test_command_line(tmp_path: Path) -> None:
    """`truecost scenario` would not list, show or export what the library has."""
    listing = json.loads(run("scenario", "list", "--json").stdout)["scenarios"]
    assert [scenario["name"] for scenario in listing] == list(library.list_names())
    listed = run("scenario", "list").stdout
    assert all(name in listed for name in library.list_names())
    shown = json.loads(run("scenario", "show", "clasp-weighted-sequence", "--json").stdout)
    assert shown["parameters"] == 90
    assert shown["sizes"]["paper"]["cutoff"] == 25
    assert "6 leaves" in run("scenario", "show", "clasp-weighted-sequence").stdout
    ended = run("scenario", "export", "kissat-qcp", tmp_path / "x", "--instances", 1, "--seed", 3)
    assert ended.returncode == 0
    assert f"truecost gather {tmp_path / 'x' / 'scenario.toml'}" in ended.stdout
    assert [path.name for path in (tmp_path / "x" / "instances").iterdir()] == [
        "qcp-29-348b-3-0001.cnf"
    ]
    for words in (("show", "nonsense"), ("export", "nonsense", tmp_path / "y")):
        ended = run("scenario", *words)
        assert (ended.returncode, ended.stderr.count("\n")) == (2, 1)
