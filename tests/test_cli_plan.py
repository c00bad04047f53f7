import json
import math
from pathlib import Path

import numpy as np
import pytest
import scenarios
from commands import Run as RunCommand

from truecost import CostMatrix, Journal, Outcome, Run, Scenario, Status, plan
from truecost.campaigns.gather import design_of
from truecost.plan import power as apart
from truecost.runs import Machine
from truecost.stats.estimate import training_cost
from truecost.stats.synthetic import runtime_model
from truecost.stats.variance import VarianceComponents, variance_components


@pytest.fixture(scope="module")
def pilot(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A pilot matrix with gaps in the runs of one configuration."""
    rng = np.random.default_rng(6)
    matrix = runtime_model(configurations=6, rng=rng).draw(instances=20, runs=3, rng=rng)
    costs = matrix.costs.copy()
    costs[1, 4:, 1:] = np.nan
    path = tmp_path_factory.mktemp("plan") / "pilot.npz"
    CostMatrix(costs, matrix.configurations, matrix.instances, matrix.low, matrix.high).save(path)
    return path


def test_numbers_are_the_packages(pilot: Path, run: RunCommand) -> None:
    """`plan --json` would print other numbers than the package computes, or of another
    configuration.
    """
    matrix = CostMatrix.load(pilot)
    best = matrix.configurations[int(training_cost(matrix, weights="instances").cost.argmin())]
    answer = json.loads(run("plan", pilot, "--error", 1, "--price-instance", 5, "--json").stdout)[
        "plan"
    ]
    components = variance_components(matrix.select(configurations=best))
    expected = plan.runs_needed(
        components=components, error=1, price_instance=5, width=matrix.width
    )
    assert expected.bound is not None
    assert answer["configuration"] == best
    assert answer["recommendation"]["instances"] == expected.instances
    assert answer["recommendation"]["runs"] == expected.runs
    assert answer["recommendation"]["bound"] == expected.bound.epsilon
    assert answer["curve"]["price"] == expected.curve.price.tolist()
    assert (answer["within"], answer["across"]) == (
        components.within.item(),
        components.across.item(),
    )
    assert answer["guaranteed"] is False
    current = answer["current"]
    assert (current["runs"], current["instances"], current["variance_ratio"]) == (60, 20, 1)


def test_current_waste_is_shown(pilot: Path, run: RunCommand) -> None:
    """Uneven counts of the pilot would go unmentioned."""
    matrix = CostMatrix.load(pilot)
    name = matrix.configurations[1]
    answer = json.loads(
        run("plan", pilot, "--configuration", name, "--budget", "100runs", "--json").stdout
    )["plan"]
    assert answer["current"]["runs"] == 28
    assert answer["current"]["variance_ratio"] > 1
    assert answer["current"]["even_runs"] < 28
    said = " ".join(
        run("plan", pilot, "--configuration", name, "--budget", "100runs").stdout.split()
    )
    assert "uneven counts add" in said
    assert "Now: 28 runs on 20 instances" in said


def test_the_answer_for_people(pilot: Path, run: RunCommand) -> None:
    """The recommendation, the curve, the current allocation or the caveat would be missing."""
    ended = run("plan", pilot, "--bound", 20, "--price-instance", 8, "--delta", 0.1)
    said = " ".join(ended.stdout.split())
    assert ended.returncode == 0, ended.stderr
    for words in (
        "A bound of 20 takes",
        "for a configuration fixed beforehand (90 % confidence if these variances are right)",
        "classical optimum",
        "Other numbers of instances K and runs N for the same goal",
        "→",
        "one standard error higher",
        "Now: 60 runs on 20 instances",
        "Plug-in, not guaranteed",
    ):
        assert words in said
    assert max(map(len, ended.stdout.splitlines())) <= 80
    several = run("plan", pilot, "--bound", 20, "--configurations", 6).stdout
    assert "below" in several
    assert "for all 6 configurations (95 %" in " ".join(several.split())


def test_assumed_components(run: RunCommand) -> None:
    """Assumed components would need a matrix, or be called estimates."""
    answer = json.loads(
        run("plan", "--within", 50, "--across", 400, "--error", 2, "--json").stdout
    )["plan"]
    assert (answer["recommendation"]["runs"], answer["recommendation"]["bound"]) == (113, None)
    assert answer["guaranteed"] is True
    assert answer["if_noisier"] is None
    bounded = json.loads(
        run("plan", "--within", 50, "--across", 400, "--high", 250, "--bound", 9, "--json").stdout
    )["plan"]
    expected = plan.runs_needed(
        components=VarianceComponents.known(within=50, across=400), bound=9, width=250
    )
    assert bounded["recommendation"]["runs"] == expected.runs
    words = ["plan", "--within", 5, "--across", 0, "--error", 1, "--price-instance", 1, "--json"]
    free = json.loads(run(*words).stdout)["plan"]
    assert free["recommendation"]["classical_runs_per_instance"] is None  # infinite
    assert (
        run("plan", "--within", 0, "--across", 0, "--error", 1, "--price-instance", 1).returncode
        == 0
    )


def test_budgets_in_runs_and_hours(run: RunCommand) -> None:
    """Hours would be taken for runs, or a price of runs forgotten."""
    noise = ["--within", 3, "--across", 1, "--json"]

    def runs(*words: object) -> int:
        return int(json.loads(run("plan", *noise, *words).stdout)["plan"]["recommendation"]["runs"])

    assert runs("--budget", "500runs") == runs("--budget", "500 runs", "--price-run", 7) == 500
    assert runs("--budget", "1,200runs") == 1200
    assert runs("--budget", "2h", "--seconds-per-run", 10) == 720
    assert (
        runs("--budget", "30min", "--seconds-per-run", 10)
        == runs("--budget", "1800s", "--seconds-per-run", 10)
        == 180
    )
    assert runs("--budget", "500runs", "--configurations", 10) == 50
    priced = json.loads(run("plan", *noise, "--budget", "500runs", "--price-instance", 2).stdout)[
        "plan"
    ]["recommendation"]
    assert priced["runs"] + 2 * priced["instances"] <= 500
    hours = json.loads(run("plan", *noise, "--budget", "2h", "--seconds-per-run", 10).stdout)[
        "plan"
    ]
    assert hours["recommendation"]["cpu_hours"] == 2


def test_a_journal_knows_the_seconds(tmp_path: Path, run: RunCommand) -> None:
    """A budget in hours would need --seconds-per-run though the journal has it, or take another
    configuration's.
    """
    scenario = Scenario.read(scenarios.write(tmp_path))
    whole = design_of(scenario, 2, 3, 2)
    machine = Machine(
        host="here", cpu="fast", system="Linux", method="cgroup", solver="1.0", truecost="0"
    )
    with Journal.write(tmp_path / "runs.db", scenario) as journal:
        journal.begin(whole, scenario.metric)
        cells = [(c, i, n) for n in range(2) for i in range(3) for c in range(2)]
        runs = []
        for c, i, n in cells:
            cpu, value = 4.0 * (c + 1), 100.0 * (c + 1) + 10 * i + n
            outcome = Outcome(
                status=Status.SOLVED, cpu=cpu, wall=cpu, memory=0, exit_code=0, value=value
            )
            names = {
                "configuration": whole.configurations[c].name,
                "instance": whole.instances[i].name,
            }
            runs.append((Run(**names, number=n, seed=1, outcome=outcome), machine))
        journal.add(runs, "2026-01-01")
    for place, words in enumerate(([], ["--configuration", whole.configurations[1].name])):
        answer = json.loads(
            run("plan", tmp_path / "runs.db", "--budget", "1h", *words, "--json").stdout
        )["plan"]
        assert answer["seconds_per_run"] == 4 * (place + 1)
        assert answer["recommendation"]["runs"] == 3600 / (4 * (place + 1))


def test_two_configurations(pilot: Path, run: RunCommand) -> None:
    """`--apart` would print other numbers than the package computes, or hide that the difference is
    the pilot's own.
    """
    matrix = CostMatrix.load(pilot)
    first, second = matrix.configurations[0], matrix.configurations[3]
    components = variance_components(apart.paired_differences(matrix, first, second))
    words = [
        "plan",
        pilot,
        "--apart",
        first,
        second,
        "--power",
        0.9,
        "--level",
        0.01,
        "--price-instance",
        2,
    ]
    answer = json.loads(run(*words, "--difference", 6, "--json").stdout)["tell_apart"]
    expected = apart.runs_to_tell_apart(
        components=components, difference=6, power=0.9, level=0.01, price_instance=2
    )
    assert (answer["instances"], answer["runs_each"], answer["runs"]) == (
        expected.instances,
        expected.runs_each,
        expected.runs,
    )
    own = " ".join(run(*words).stdout.split())
    warning = "If the pilot was used to choose the two, its difference is too large."
    assert warning in own
    assert "level 0.01" in own
    assert warning not in " ".join(run(*words, "--difference", 6).stdout.split())
    assumed = json.loads(run("plan", "--sd", 5, "--difference", 1, "--json").stdout)["tell_apart"]
    assert (assumed["instances"], assumed["runs"]) == (199, 398)


def test_default_and_winner_are_names(run: RunCommand) -> None:
    """Readers would have to look up hashes to compare the two configurations that matter."""
    by_role, by_name = (
        json.loads(run("plan", "kissat", "--apart", *names, "--json").stdout)["tell_apart"]
        for names in (("default", "winner"), ("2cb96f70a0", "0fa88eb8a1"))
    )
    assert by_role | {"configurations": None} == by_name | {"configurations": None}


def test_exports(pilot: Path, run: RunCommand, tmp_path: Path) -> None:
    """An exported file would hold another plan than the one printed, or ask for more instances than
    have names.
    """
    words = ["plan", pilot, "--budget", "50runs", "--export"]
    piped = run(*words, "irace")
    assert sorted(line for line in piped.stdout.splitlines() if not line.startswith("#")) == sorted(
        CostMatrix.load(pilot).instances
    )
    for kind, hint in (
        ("irace", "sampleInstances = 0"),
        ("paramils", "-N 50"),
        ("smac", "max_config_calls"),
    ):
        ended = run(*words, kind, "--out", tmp_path / kind, "--seed", 3)
        assert ended.returncode == 0, ended.stderr
        assert hint in ended.stdout
        assert "50 runs on 20 instances" in ended.stdout
    assert len((tmp_path / "paramils").read_text().splitlines()) == 50
    assert json.loads((tmp_path / "smac").read_text())["max_config_calls"] == 50
    assert run(*words, "paramils", "--seed", 3).stdout == (tmp_path / "paramils").read_text()
    assert run(*words, "paramils", "--seed", 4).stdout != (tmp_path / "paramils").read_text()
    (tmp_path / "names.txt").write_text("\n".join(f"n{i}" for i in range(12)) + "\n")
    assumed = ["plan", "--within", 1, "--across", 1, "--budget", "30runs", "--export", "paramils"]
    listed = run(*assumed, "--names", tmp_path / "names.txt").stdout.splitlines()
    assert {line.split()[1] for line in listed} == {f"n{i}" for i in range(12)}
    answer = json.loads(
        run(*assumed, "--names", tmp_path / "names.txt", "--instances", 5, "--json").stdout
    )
    assert answer["plan"]["recommendation"]["instances"] == 5
    assert len(answer["export"]["content"].splitlines()) == 30


def test_bad_input_is_one_line(pilot: Path, run: RunCommand, tmp_path: Path) -> None:
    """A mistake would end in a traceback, or pass."""
    (tmp_path / "empty.txt").write_text("\n")
    (tmp_path / "blank.txt").write_text("a b\nc d\n")
    single = tmp_path / "single.csv"
    single.write_text("configuration,instance,cost\na,x,1\nb,x,2\n")
    noise = ["plan", "--within", 1, "--across", 1]
    for words in (
        ["plan"],
        ["plan", pilot],
        ["plan", pilot, "--error", 1, "--bound", 2],
        ["plan", pilot, "--error", 0],
        ["plan", pilot, "--error", "nan"],
        ["plan", pilot, "--error", 1, "--within", 3],
        ["plan", pilot, "--error", 0.1, "--instances", 3],
        ["plan", pilot, "--bound", 1, "--delta", 0],
        ["plan", pilot, "--budget", "2h"],
        ["plan", pilot, "--budget", "2h", "--seconds-per-run", 0],
        ["plan", pilot, "--budget", "lots"],
        ["plan", pilot, "--budget", "-5runs"],
        ["plan", pilot, "--budget", "0.2runs"],
        ["plan", pilot, "--budget", "5runs", "--price-run", 0],
        ["plan", pilot, "--error", 1, "--configuration", "nobody"],
        ["plan", tmp_path / "nothing.npz", "--error", 1],
        ["plan", single, "--low", 0, "--high", 5, "--error", 1],
        ["plan", "--within", 1, "--error", 1],
        ["plan", "--within", -1, "--across", 1, "--error", 1],
        [*noise, "--bound", 1],
        [*noise, "--budget", "5runs", "--export", "irace"],
        [*noise, "--budget", "5runs", "--export", "gga"],
        [*noise, "--budget", "5runs", "--export", "irace", "--names", tmp_path / "empty.txt"],
        [*noise, "--budget", "5runs", "--export", "irace", "--names", tmp_path / "blank.txt"],
        [*noise, "--budget", "5runs", "--export", "irace", "--names", pilot],
        ["plan", pilot, "--budget", "5runs", "--export", "irace", "--out", tmp_path],
        ["plan", pilot, "--apart", "default", "nobody"],
        ["plan", pilot, "--apart", "default", "default"],
        ["plan", pilot, "--apart", "default", "random-01", "--error", 1],
        ["plan", pilot, "--apart", "default", "random-01", "--export", "irace"],
        ["plan", "--apart", "default", "random-01"],
        ["plan", "--sd", 1],
        ["plan", "--sd", -1, "--difference", 1],
        ["plan", "--sd", 1, "--difference", 0],
        ["plan", "--sd", 1e200, "--difference", 1],
        ["plan", "--sd", 1e-200, "--difference", 1e-200],
        ["plan", pilot, "--sd", 1, "--difference", 1],
    ):
        ended = run(*words)
        assert (ended.returncode, ended.stdout) == (2, ""), words
        assert len(ended.stderr.splitlines()) == 1, ended.stderr


def test_json_has_no_nan(pilot: Path, run: RunCommand) -> None:
    """JSON would hold NaN or Infinity, which programs refuse."""

    def refuse(constant: str) -> float:
        raise AssertionError(constant)

    for words in (
        ["plan", "--within", 5, "--across", 0, "--error", 1, "--price-instance", 1],
        ["plan", pilot, "--budget", "40runs"],
        ["plan", "--within", 0, "--across", 0, "--budget", "40runs"],
        ["plan", "--sd", 0, "--difference", 1],
    ):
        answer = json.loads(run(*words, "--json").stdout, parse_constant=refuse)
        assert all(
            not isinstance(value, float) or math.isfinite(value) for value in answer.values()
        )


def test_single_runs_are_planned_as_if_all_were_across(
    pilot: Path, tmp_path: Path, run: RunCommand
) -> None:
    """Logs with one run on each instance, as most are, would be refused, or planned with an error
    that is too small.
    """
    matrix = CostMatrix.load(pilot)
    single = CostMatrix(
        matrix.costs[:, :, :1], matrix.configurations, matrix.instances, matrix.low, matrix.high
    )
    single.save(tmp_path / "single.npz")
    best = int(training_cost(single).cost.argmin())
    total = float(single.costs[best, :, 0].var(ddof=1))
    answer = json.loads(run("plan", tmp_path / "single.npz", "--error", 0.1, "--json").stdout)[
        "plan"
    ]
    assert (
        answer["recommendation"]["instances"]
        == answer["recommendation"]["runs"]
        == math.ceil(total / 0.1**2)
    )
    assert answer["across"] is None
    printed = run("plan", tmp_path / "single.npz", "--error", 0.1).stdout
    assert "single runs cannot separate seeds from instances" in " ".join(printed.split())
    assert "all variance is taken for across" in " ".join(printed.split())
    few = run("plan", tmp_path / "single.npz", "--error", 0.1, "--instances", 2)
    assert few.returncode == 2
    assert "2 instances" in few.stderr


def test_what_it_takes_to_show_something(run: RunCommand) -> None:
    """`plan --show` would answer another question than it is asked, without runs, or after the
    fact.
    """
    told = {}
    for what in ("mean", "wins", "wins=0.6", "speed-up=1.5", "solved=0.9"):
        told[what] = json.loads(run("plan", "kissat", "--show", what, "--json").stdout)["plan"]
        assert (told[what]["show"], told[what]["pilot"]) == (what, 50)
    assert told["wins"]["instances"] < told["wins=0.6"]["instances"] < told["mean"]["instances"]
    assert (told["speed-up=1.5"]["above"], told["solved=0.9"]["above"]) == (0.5, 0.9)
    assert "to show that the winner costs less than the default" in " ".join(
        run("plan", "kissat", "--show", "mean").stdout.split()
    )
    assert "No number of new instances" in run("plan", "clasp", "--show", "wins").stdout
    for words, message in (
        (("kissat", "--show", "luck"), "--show: wins, speed-up=1.5"),
        (("kissat", "--show", "mean=2"), "--show: wins, speed-up=1.5"),
        (("kissat", "--show", "speed-up"), "--show: wins, speed-up=1.5"),
        (("kissat", "--show", "wins", "--error", "1"), "Expected one of --error"),
        (("--show", "wins"), "Expected runs to show something by"),
        (("kissat", "--show", "speed-up=2", "--utility", "step=1"), "costs are not running times"),
    ):
        ended = run("plan", *words)
        assert ended.returncode == 2
        assert message in " ".join(ended.stderr.split())


def test_plans_for_families_count_families(tmp_path: Path, run: RunCommand) -> None:
    """A plan would call families instances: 8 runs on 4 instances where there are 8."""
    path = tmp_path / "runs.csv"
    rows = [
        f"{c},i{k},f{k // 2},{(7 * k + 3 * n) % 11}" for k in range(8) for n, c in enumerate("ab")
    ]
    path.write_text("\n".join(["configuration,instance,family,cost", *rows]) + "\n")
    asked = ("plan", path, "--low", 0, "--high", 11, "--sampled", "family")
    text = " ".join(run(*asked, "--error", 0.5).stdout.split())
    assert "Now: 8 runs on 4 families" in text
    assert "instance" not in text
    assert "over families" in run(*asked, "--apart", "a", "b").stdout
    refused = run(*asked, "--error", 0.5, "--export", "irace")
    assert (refused.returncode, refused.stderr.count("\n")) == (2, 1)


def test_a_steep_space_has_a_bound(run: RunCommand) -> None:
    """A huge Lipschitz constant would print a warning of NumPy's before the bound."""
    words = ("--within", 1, "--across", 1, "--instances", 10, "--high", 10, "--dimension", 3)
    ended = run("bound", *words, "--lipschitz", 1e300)
    assert (ended.returncode, ended.stderr) == (0, "")
