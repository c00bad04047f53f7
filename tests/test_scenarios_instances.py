import itertools
import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from truecost import scenarios
from truecost.running.scenario import Scenario
from truecost.scenarios import quasigroup, sequence, tsp
from truecost.scenarios.clasp import check as clasp_check
from truecost.scenarios.clasp import launch as clasp_launch
from truecost.scenarios.kissat import check as qcp_check
from truecost.scenarios.kissat import launch as kissat_launch
from truecost.scenarios.lkh import launch as lkh_launch

FOLDER = Path(scenarios.__file__).parent
needs_lkh = pytest.mark.skipif(
    find_spec("LKHpy") is None, reason="LKHpy has no wheels for this Python"
)


def launched(solver: str, *words: object) -> subprocess.CompletedProcess[str]:
    """A solver's process, as a run starts it."""
    found = {"clasp": clasp_launch.find, "kissat": kissat_launch.find}
    launcher = [sys.executable, FOLDER / solver / "launch.py"]
    command = [*(found[solver]() if solver in found else launcher), *words]
    return subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)


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
    total = 0
    for symbol in set(range(len(partial))) - set(partial[row]) - set(partial[:, column]):
        filled = partial.copy()
        filled[row, column] = symbol
        total += completions(filled)
    return total


def test_formulas_mean_completions(tmp_path: Path) -> None:
    """A formula would have other models than the square has completions."""
    rng = np.random.default_rng(3)
    counts = set()
    for _ in range(4):
        partial = quasigroup.with_holes(quasigroup.latin_square(6, rng), 24, rng, balanced=True)
        (tmp_path / "x.cnf").write_text(quasigroup.cnf(partial, "x"))
        answer = launched("clasp", "--models=0", "--quiet=2", tmp_path / "x.cnf").stdout
        models = re.search(r"^c Models +: (\d+)$", answer, re.MULTILINE)
        assert models is not None
        assert int(models[1]) == completions(partial)
        counts.add(models[1])
    assert len(counts) > 1


def test_formulas_are_satisfiable_and_models_checked(tmp_path: Path) -> None:
    """A quasigroup instance would not be satisfiable, its model be refused, or a wrong answer be
    accepted.
    """
    scenario = Scenario.read(scenarios.export("kissat-qcp", tmp_path / "x", instances=4))
    for instance in scenario.instances:
        solved = launched("kissat", "-q", "--seed=1", instance.argument)
        assert solved.returncode == 10
        true = next(iter(re.findall(r"^v (?:.* )?([1-9]\d*)\b", solved.stdout, re.MULTILINE)))
        for output, fault in (
            (solved.stdout, "None"),
            (re.sub(rf"(?<= ){true}\b", f"-{true}", solved.stdout), "is not satisfied"),
            (f"{solved.stdout}v -{true} 0\n", "both true and false"),
            ("s SATISFIABLE\n", "is not satisfied"),
            ("s UNSATISFIABLE\n", "made from a solution"),
        ):
            assert fault in str(qcp_check.fault(instance.argument, output))


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
    answers = {}
    for most, code in ((best - 1, 20), (best, 10), (best + 3, 10)):
        path = tmp_path / f"{most}.aspif"
        path.write_text(sequence.ground(listed, most, best))
        answer = launched("clasp", "--seed=1", path)
        assert answer.returncode == code
        assert clasp_check.fault(str(path), answer.stdout) is None
        answers[most] = answer.stdout
    too_low, tight = (str(tmp_path / f"{most}.aspif") for most in (best - 1, best))
    none, good = answers[best - 1], answers[best]
    for instance, output, fault in (
        (too_low, good, "above m"),
        (tight, none, "is at most m"),
        (tight, re.sub(r"colour\(1,\w+\)", "", good), "a colour"),
        (tight, good.replace("at(0,", "at(1,"), "a place of its own"),
    ):
        assert fault in str(clasp_check.fault(instance, output))


def test_weighted_sequences_are_of_all_kinds() -> None:
    """All instances would be satisfiable, or none, or what they say of their optimum be wrong."""
    offsets = set()
    for seed in range(20):
        rng = np.random.default_rng(seed)
        text = sequence.instance(4, 9, (-1, 0, 2), rng, "x")
        known = dict(re.findall(r"^10 (\w+) (.*)$", text, re.MULTILINE))
        leaves = [(int(w), int(c)) for w, c in re.findall(r"(\d+),(\d+)", known["leaves"])]
        assert sequence.optimum(leaves) == int(known["optimum"])
        offsets.add(int(known["m"]) - int(known["optimum"]))
    assert offsets == {-1, 0, 2}


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


@pytest.mark.slow
@needs_lkh
def test_references_are_computed_once(tmp_path: Path) -> None:
    """Reference lengths that were found would be lost or computed again, or a line that a crash
    left torn be read.
    """
    files = [tmp_path / f"{number}.tsp" for number in range(3)]
    for number, file in enumerate(files):
        file.write_text(tsp.instance(7, np.random.default_rng(number), "x"))
    store, news = tmp_path / "references.csv", []
    first, second = tsp.references(files[:2], store, 2, lambda *one: news.append(one))
    assert all(row.endswith(f",{tsp.AGREEING}") for row in (first, second))
    assert news == [("reference lengths", 1, 2), ("reference lengths", 2, 2)]
    # What another length in the store shows: nothing was computed anew; but the second line is
    # torn.
    store.write_text(store.read_text().replace(f",{first}", ",1,3").rstrip()[:-4])
    again = tsp.references(files, store, 1, lambda *_: None)
    assert again[:2] == ["1,3", second]
    assert tsp.references(files, store, 1, lambda *_: None) == again
