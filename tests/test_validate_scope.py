"""Validations with a margin, with families as sampling units, and about a fixed benchmark."""

import json
from collections.abc import Callable
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import validations
from commands import run
from scipy.stats import binom

from truecost import CostMatrix, InputError, Journal, Scenario, assess, configure, import_runs
from truecost.campaigns.validate import Validated, validate
from truecost.campaigns.watching import state_of
from truecost.errors import Refusal
from truecost.judge.question import NonInferiority
from truecost.race.stopping import StoppingRule, criterion
from truecost.runs import NO_SEED
from truecost.stats.inversion import ONE, Look, planned
from truecost.stats.limits import limit
from truecost.stats.quantities import DIFFERENCE

pytestmark = pytest.mark.usefixtures("own_locks")
FREE: dict[str, Any] = {"pool": 2, "pin": False}
# x costs 10 a step: 1 step more in 50 or so.
CLOSE: tuple[dict[str, Any], ...] = {"x": 1, "y": 1}, {"x": 0, "y": 0}
FAMILIES = r"(f\d+)-"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The scenario, with 12 families of 2 to 5 fresh instances; f0 and f1 were trained on."""
    folder = tmp_path_factory.mktemp("scopes")
    validations.written(folder)
    (folder / "families").mkdir()
    for family in range(12):
        for place in range(2 + family % 4):
            file = folder / "families" / f"f{family}-{place}.txt"
            file.write_text(f"{(family + place) % 10} family {family} {place}\n")
    return folder


@pytest.fixture
def here(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Scenario:
    """The scenario, in a place where journals can be written."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s").symlink_to(folder)
    return Scenario.read(folder / "scenario.toml")


def go(here: Scenario, *pair: dict[str, Any], journal: str = "v.db", **options: Any) -> Validated:
    """A validation of a pair of configurations, the usual one if none is given."""
    asked: dict[str, Any] = {"instances": "s/new/*.txt", "budget": "120runs", **FREE, **options}
    return validate(validations.log(*pair), here, journal, **asked)


def trained_on_families(*pair: dict[str, Any]) -> Any:
    """The usual log, its instances in the families f0 and f1."""
    log = validations.log(*pair)
    names = [f"families/f{place % 2}-t{place}.txt" for place in range(5)]
    return replace(log, matrix=CostMatrix(log.matrix.costs, ["w", "d"], names, 0, 110))


def answer_of(validated: Validated) -> NonInferiority:
    """The answer about the margin."""
    answer = validated.assessment.beside.non_inferiority
    assert isinstance(answer, NonInferiority)
    return answer


@pytest.mark.parametrize("margin", ["40", "200%"])
def test_it_stops_within_the_margin(here: Scenario, margin: str) -> None:
    """A winner that is slightly worse could not be accepted, or not from its journal alone."""
    within = go(here, *CLOSE, margin=margin, budget="400runs", runs=1)
    assert within.stop.why == "within margin"
    assert within.shown
    assert not within.assessment.better
    assert within.stop.runs < 120
    answer = answer_of(within)
    assert answer.shown
    assert json.loads(json.dumps(within.assessment.to_dict("non_inferiority")))["non_inferiority"][
        "shown"
    ]
    # The journal knows the margin; a stricter one is not shown by the same runs.
    again = assess(import_runs("v.db")).beside.non_inferiority
    assert again == answer
    strict = assess(import_runs("v.db"), margin="0.5").beside.non_inferiority
    assert isinstance(strict, NonInferiority)
    assert not strict.shown


def test_it_stops_beyond_the_margin(here: Scenario) -> None:
    """Runs would go on for a margin that is shown to be exceeded."""
    worse = go(here, {"x": 5, "y": 1}, {"x": 0, "y": 0}, margin="1", budget="400runs")
    assert (worse.stop.why, worse.shown) == ("beyond margin", False)


def test_families_are_run_whole(here: Scenario) -> None:
    """A budget would end inside a family, trained families count, or instances be the units."""
    whole = validate(
        trained_on_families(*CLOSE),
        here,
        "f.db",
        instances="s/families/*.txt",
        budget="41runs",
        runs=1,
        sampled="family",
        families=FAMILIES,
        **FREE,
    )
    log = import_runs("f.db")
    assert log.test is not None
    assert log.test.families is not None
    sizes = {family: log.test.families.count(family) for family in set(log.test.families)}
    assert sizes == {family: 2 + int(family[1:]) % 4 for family in sizes}
    assert not {"f0", "f1"} & set(sizes)
    assert whole.entry.used == 5
    assert whole.stop.why == "budget"
    assert whole.stop.runs == 2 * sum(sizes.values()) <= 41
    assert whole.assessment.scope.sampled == "family"
    assert whole.assessment.scope.units == len(sizes)
    statement = whole.assessment.paired["difference"]
    assert not isinstance(statement, Refusal)
    assert statement.instances == len(sizes)
    assert statement.scope == "on instances from new families, each family counted equally"
    # The page that follows it has a limit after each family.
    with Journal.read("f.db") as book:
        state = state_of(book)
    ends = np.cumsum([len(list(group)) for _, group in groupby(log.test.families)])
    assert [point["instances"] for point in state["limits"]] == ends.tolist()
    assert (state["sampled"], state["planned"]) == ("family", whole.stop.runs)
    # A larger budget goes on with the families that are left, and keeps the question.
    more = validate(
        trained_on_families(*CLOSE),
        here,
        "f.db",
        instances="s/families/*.txt",
        budget="400runs",
        families=FAMILIES,
        **FREE,
    )
    assert more.stop.why == "instances"
    assert more.assessment.scope.units == 10


def test_a_family_that_is_not_finished_does_not_count(here: Scenario) -> None:
    """When to stop inside a family may depend on costs, and its runs would be bet on."""
    stopped: list[int] = []

    def stop(now: Any) -> None:
        stopped.append(now.runs)
        if now.runs >= 15:
            raise KeyboardInterrupt

    ask: dict[str, Any] = {"instances": "s/families/*.txt", "budget": "400runs", "runs": 1}
    ask |= {"sampled": "family", "families": FAMILIES, "pool": 1, "pin": False}
    with pytest.raises(KeyboardInterrupt):
        validate(trained_on_families(*CLOSE), here, "f.db", progress=stop, **ask)
    test = import_runs("f.db").test
    assert test is not None
    assert test.families is not None
    assert 0 < len(test.instances) < 15
    for family in set(test.families):
        assert test.families.count(family) == 2 + int(family[1:]) % 4
    whole = validate(trained_on_families(*CLOSE), here, "f.db", **ask)
    assert whole.stop.why == "instances"


def test_folders_are_families(here: Scenario, folder: Path) -> None:
    """A log whose instances lie in one folder could not be validated on the folders of others."""
    for family in "abc":
        (folder / "tree" / family).mkdir(parents=True, exist_ok=True)
        for place in range(2):
            (folder / "tree" / family / f"{place}.txt").write_text(f"{place} {family}\n")
    asked: dict[str, Any] = {"sampled": "family", "families": "folder", "runs": 1}
    found = go(here, instances="s/tree/*/*.txt", **asked)
    assert found.entry.trained == ("instances",) * 5
    assert found.assessment.scope.units == 3
    # What the journal fixed stays, also for who audits it.
    with pytest.raises(InputError, match="`sampled` to be family"):
        assess(import_runs("v.db"), sampled="instance")


def test_a_search_is_judged_by_its_margin(here: Scenario) -> None:
    """A search could not say that what it found is no worse than the default."""
    found = configure(here, "c.db", budget="60runs", margin="109", **FREE)
    answer = found.assessment.beside.non_inferiority
    assert isinstance(answer, NonInferiority)
    assert answer.margin == "109"
    with pytest.raises(InputError, match="like 5%"):
        configure(here, "d.db", budget="60runs", margin="much", **FREE)


def family_of(name: str) -> str:
    """The family in the name of an instance."""
    return Path(name).name.partition("-")[0]


def test_a_search_holds_out_whole_families(here: Scenario, folder: Path) -> None:
    """A family would be both trained on and judged by, or the journal forget what was sampled."""
    text, glob = here.path.read_text(), 'glob = "instances/*"'
    assert glob in text
    file = folder / "by-family.toml"
    file.write_text(text.replace(glob, f"glob = \"families/*.txt\"\nfamilies = '{FAMILIES}'"))
    scenario = Scenario.read(file)
    # The rest of the budget ends within a family, which is then left out.
    asked: dict[str, Any] = {"budget": "110runs", "runs": 1, **FREE}
    found = configure(scenario, "c.db", sampled="family", margin="900%", **asked)
    log = import_runs("c.db")
    assert log.test is not None
    trained, judged = ({family_of(n) for n in m.instances} for m in (log.matrix, log.test))
    sizes = dict.fromkeys(judged, 0)
    for instance in scenario.instances:
        if instance.extras["family"] in sizes:
            sizes[instance.extras["family"]] += 1
    assert not trained & judged
    assert len(judged) >= 3
    assert {f: sum(family_of(n) == f for n in log.test.instances) for f in judged} == sizes
    phrase = "on instances from new families, each family counted equally"
    again = assess("c.db")
    for assessment in (found.assessment, again):
        assert assessment.scope.phrase == phrase
        assert assessment.scope.units == len(judged)
        assert assessment.certificate is not None
        assert assessment.certificate.instances == len(judged)
        answer = assessment.beside.non_inferiority
        assert isinstance(answer, NonInferiority)
        assert answer.margin == "900 %"
    assert again.certificate == found.assessment.certificate
    assert configure(scenario, "c.db", **FREE).assessment.question.margin == "900%"
    with pytest.raises(InputError, match="begun with, margin 900%, got 5%"):
        configure(scenario, "c.db", margin="5%", **FREE)
    with pytest.raises(InputError, match="`sampled` to be family, as the search fixed it"):
        assess("c.db", sampled="instance")
    # Families that judged are known, too: a validation takes those without a run.
    validate(log, scenario, "v.db", sampled="family", budget="40runs", **FREE)
    validation = import_runs("v.db")
    assert validation.test is not None
    assert not {family_of(name) for name in validation.test.instances} & (trained | judged)


def test_a_search_on_a_fixed_benchmark_is_judged_with_new_seeds(here: Scenario) -> None:
    """Instances would be held out of a benchmark that is all there is, or old seeds judge."""
    found = configure(here, "c.db", about="these", budget="120runs", runs=2, **FREE)
    log, number = import_runs("c.db"), len(here.instances)
    assert log.test is not None
    assert set(log.test.instances) == set(log.matrix.instances)
    for name in log.test.instances:
        seeds = [runs.select(instances=[name]).seeds for runs in (log.matrix, log.test)]
        assert seeds[0] is not None
        assert seeds[1] is not None
        assert not {*seeds[0].ravel()} & {*seeds[1].ravel()} - {NO_SEED}
    assert found.held_out >= 2 * number
    for assessment in (found.assessment, assess("c.db")):
        phrase = f"on this benchmark of {number} instances, with new seeds"
        assert assessment.scope.phrase == phrase
        assert assessment.certificate is not None
        assert assessment.certificate.method == "constant bets"
    if found.incumbent.name != found.default.name:
        validated = validate(log, here, "v.db", about="these", budget="60runs", runs=1, **FREE)
        assert validated.assessment.scope.phrase == phrase


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"sampled": "family"}, "expected families"),
        ({"sampled": "family", "about": "these"}, "got family and these"),
        ({"sampled": "seed"}, "got seed and new"),
    ],
)
def test_what_a_search_cannot_be_about(here: Scenario, asked: dict[str, Any], message: str) -> None:
    """A search would begin that no statement can be made of."""
    with pytest.raises(InputError, match=message):
        configure(here, "c.db", budget="30runs", **asked, **FREE)


def test_a_fixed_benchmark_is_looked_at_once(here: Scenario) -> None:
    """A statement about these instances would be made after a look at fewer of them."""
    runs: list[int] = []
    found = go(
        here, about="these", budget="80runs", runs=1, progress=lambda now: runs.append(now.runs)
    )
    # A clear winner is shown after 20 instances, but the number of runs was fixed.
    assert (found.stop.why, found.stop.runs, found.runs) == ("better", 80, 80)
    scope = found.assessment.scope
    assert scope.phrase == "on this benchmark of 60 instances, with new seeds"
    statement = found.assessment.paired["difference"]
    assert not isinstance(statement, Refusal)
    assert statement.method == "constant bets"
    assert statement.instances == 40
    with pytest.raises(InputError, match="how many instances: 40, got 50"):
        go(here, about="these", budget="100runs", runs=1)
    assert go(here, about="these", budget=None, runs=1).stop == found.stop


def test_a_fixed_benchmark_that_is_not_finished_shows_nothing(here: Scenario) -> None:
    """Somebody could stop when the result pleases, and it would count as planned."""

    def stop(now: Any) -> None:
        if now.runs >= 30:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        go(here, about="these", population=100, budget="80runs", runs=1, progress=stop)
    statement = assess(import_runs("v.db")).paired["difference"]
    assert isinstance(statement, Refusal)
    assert "40 of each are planned" in statement.reason
    # Nothing may be looked at yet.
    with Journal.read("v.db") as book:
        state = state_of(book)
    assert (state["limits"], state["stopped"], state["planned"]) == ([], None, 80)
    finished = go(here, about="these", population=100, budget="80runs", runs=1)
    assert finished.shown
    assert "of 100 instances" in finished.assessment.scope.phrase


def test_training_instances_belong_to_their_benchmark(here: Scenario) -> None:
    """A benchmark that was tuned on would shrink to what the search never saw."""
    found = go(here, about="these", instances="s/instances/*.txt", budget="50runs")
    assert (found.entry.used, len(found.entry.instances)) == (0, 5)
    assert found.assessment.scope.population == 5


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sampled": "family"}, "families"),
        ({"sampled": "family", "about": "these"}, "family and new"),
        ({"sampled": "seed"}, "instance and new"),
        ({"population": 70}, "with `about` these"),
        ({"about": "these", "population": 7}, "at least the 60"),
        ({"about": "these", "budget": "1h"}, "in runs"),
        ({"margin": "5%", "primary": "wins"}, "no `margin`"),
        ({"margin": "much"}, "5% or 0.1"),
        ({"margin": "110"}, "below 110"),
    ],
)
def test_what_cannot_be_asked(here: Scenario, options: dict[str, Any], message: str) -> None:
    """A mistake would be found after hours of runs, or leave a journal behind."""
    with pytest.raises(InputError, match=message):
        go(here, **options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"margin": "10"}, "the margin 40, got 10"),
        ({"about": "these"}, "about: new, got these"),
        ({"primary": "wins"}, "what decides: mean, got wins"),
    ],
)
def test_the_question_stays(here: Scenario, options: dict[str, Any], message: str) -> None:
    """Somebody who has seen costs could choose margin or scope by them."""
    go(here, *CLOSE, margin="40", budget="20runs")
    if "primary" in options:
        options = {**options, "margin": None}
    with pytest.raises(InputError, match=message):
        go(here, *CLOSE, **{"margin": "40", "budget": "20runs", **options})


def test_the_command_line_has_them(here: Scenario, tmp_path: Path) -> None:
    """The options would be lost between the command and the validation."""
    words = ("validate", "v.db", "--scenario", "s/scenario.toml", "--no-pin", "--quiet", "--json")
    go(here, *CLOSE, margin="40", budget="20runs", runs=1)
    asked = ("--journal", "w.db", "--instances", "s/new/*.txt", "--budget", "300runs", "--runs", 1)
    ended = run(*words, *asked, "--margin", "40", "--workers", 2, cwd=tmp_path)
    assert ended.returncode == 0, ended.stderr
    data = json.loads(ended.stdout)
    assert data["validation"]["why"] == "within margin"
    assert data["non_inferiority"]["shown"]
    again = run(*words, *asked, "--margin", "41", "--workers", 2, cwd=tmp_path)
    assert (again.returncode, again.stdout) == (2, "")
    assert "the margin 40, got 41" in again.stderr
    about = ("--journal", "x.db", *asked[2:4], "--budget", "100runs", "--about", "these")
    ended = run(*words, *about, "--population", 70, "--workers", 2, cwd=tmp_path)
    assert json.loads(ended.stdout)["validation"]["runs"] == 100, ended.stderr


# ---- coverage: false stops at δ = 20 %, and a rule that is wrong --------------------------------

DELTA, TRIALS = 0.2, 300
Draw = Callable[[np.random.Generator], np.ndarray[Any, Any]]


def passes(rule: StoppingRule, costs: np.ndarray[Any, Any], pairs: int, look: Look) -> bool:
    """Whether the limit of one look passes the threshold."""
    quantity = rule.quantity
    value = limit(quantity, rule.sample(costs, pairs), quantity.side, DELTA, look).value
    return value > rule.threshold if quantity.side == "lower" else value < rule.threshold


def false_stops(rule: StoppingRule, draw: Draw, seed: int) -> int:
    """In how many validations of a true null the statement is shown, at any look: looks after every
    unit are one look at all of them, since a limit never becomes weaker.
    """
    rng, shown = np.random.default_rng(seed), 0
    for _ in range(TRIALS):
        costs = draw(rng)
        ended = rule.decide(costs, costs.shape[1], 10)
        shown += ended is not None and ended.why in ("better", "within margin")
    return shown


def repeated_looks(rule: StoppingRule, draw: Draw, seed: int) -> int:
    """The same by a wrong rule: a limit for one look, taken after every fourth instance."""
    rng = np.random.default_rng(seed)
    drawn = (draw(rng) for _ in range(TRIALS))
    return sum(any(passes(rule, costs, pairs, ONE) for pairs in range(4, 61, 4)) for costs in drawn)


def holds(shown: int) -> bool:
    """Whether so many false stops are compatible with δ."""
    return bool(binom.sf(shown - 1, TRIALS, DELTA) > 1e-3)


def rule_of(margin: str | None, **changed: Any) -> StoppingRule:
    """A rule about costs in [0, 1], 60 instances planned."""
    quantity, threshold = criterion("mean", margin)
    usual = {"rounds": 1, "planned": 60, "delta": DELTA, "low": 0.0, "high": 1.0}
    asked = {**usual, "quantity": quantity, "threshold": threshold, **changed}
    return StoppingRule(margin=margin is not None, **asked)


def unsolved(winner: float, default: float) -> Draw:
    """Costs are 1 with these probabilities, else 0."""
    return lambda rng: np.asarray((rng.random((1, 60, 2)) < [winner, default]).astype(float))


@pytest.mark.parametrize(
    ("margin", "draw"), [("0.1", unsolved(0.55, 0.45)), ("50%", unsolved(0.6, 0.4))]
)
def test_margins_are_rarely_accepted_falsely(margin: str, draw: Draw) -> None:
    """Looks after every instance would accept what is as bad as the margin more often than δ."""
    assert holds(false_stops(rule_of(margin), draw, 1))
    # The rule has power: a margin well above the truth is mostly shown.
    assert false_stops(rule_of("0.5"), draw, 2) > TRIALS / 2
    assert not holds(repeated_looks(rule_of(margin), draw, 1))


def test_ratios_are_watched_as_differences_are() -> None:
    """A margin in per cent would be shown at one look and taken back at the next."""
    rule, rng = rule_of("50%"), np.random.default_rng(7)
    answers = set()
    for _ in range(20):
        costs = unsolved(0.7, 0.55)(rng)
        looks = [passes(rule, costs, pairs, planned(60)) for pairs in range(1, 61)]
        assert looks == sorted(looks)
        ended = rule.decide(costs, 60, 10)
        assert (ended is not None and ended.why == "within margin") == looks[-1]
        answers.add(looks[-1])
    assert answers == {False, True}


def in_families(rng: np.random.Generator) -> np.ndarray[Any, Any]:
    """12 families of 5 instances each, on which one of two equal solvers is much better."""
    favoured = rng.random(12) < 0.5
    base = np.where(favoured[:, np.newaxis], [0.1, 0.9], [0.9, 0.1])
    return np.asarray(
        np.clip(np.repeat(base, 5, axis=0) + 0.05 * rng.standard_normal((60, 2)), 0, 1)
    )[np.newaxis]


def test_families_are_the_units() -> None:
    """Instances of one family would count as independent evidence."""
    families = np.repeat(np.arange(12), 5)
    rule = rule_of(None, planned=12, families=families)
    assert holds(false_stops(rule, in_families, 3))
    # Instances as units are wrong here.
    assert not holds(false_stops(rule_of(None), in_families, 3))


def benchmark(rng: np.random.Generator) -> np.ndarray[Any, Any]:
    """40 of a benchmark of 60 instances with unlike means, equal for both on average; seeds add
    noise.
    """
    means = np.concatenate([np.full((30, 2), [0.3, 0.7]), np.full((30, 2), [0.7, 0.3])])
    chosen = rng.permutation(60)[:40]
    return np.asarray((rng.random((40, 2)) < means[chosen]).astype(float))[np.newaxis]


def test_a_benchmark_takes_one_look() -> None:
    """The expected cost over seeds on a fixed benchmark would be missed more often than δ."""
    one = rule_of(None, planned=40, one_look=True)
    assert one.ends(40).tolist() == [40]
    assert holds(false_stops(one, benchmark, 5))
    sorted_rule = replace(one, one_look=False)

    def easy_first(rng: np.random.Generator) -> np.ndarray[Any, Any]:
        means = np.concatenate([np.full((20, 2), [0.2, 0.8]), np.full((20, 2), [0.8, 0.2])])
        return np.asarray((rng.random((40, 2)) < means).astype(float))[np.newaxis]

    # Constant bets need no order; sequential ones on unlike instances do.
    assert holds(false_stops(one, easy_first, 6))
    assert not holds(false_stops(sorted_rule, easy_first, 6))
    assert one.quantity is DIFFERENCE
