"""Runs stopped at a cap: read as such, kept as such, and never charged the wrong end."""

import csv
import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import kv
from scipy.stats import binomtest

import truecost
from truecost.errors import InputError, RefusedError
from truecost.importers.detect import import_runs
from truecost.matrix import CostMatrix
from truecost.matrix.imported import Import
from truecost.plan.power import paired_differences
from truecost.runs import Status, Trajectory
from truecost.show.document import Case, Context, audited, what_was_run
from truecost.show.document.verdict import beside
from truecost.stats import confidence, quantiles, rates
from truecost.stats.sample import Ends
from truecost.verbs import assess

FloatArray = NDArray[np.float64]
DATA = Path(__file__).parent / "data" / "irace"
CUTOFF, HIGH, DELTA = 5.0, 50.0, 0.2


def matrix_of(costs: Any, statuses: Any, high: float = HIGH) -> CostMatrix:
    """Configurations w, d, … on instances in the order of time."""
    costs = np.asarray(costs, dtype=np.float64)
    names = ["w", "d", *(f"c{i}" for i in range(2, len(costs)))][: len(costs)]
    return CostMatrix(
        costs,
        names,
        [f"i{j}" for j in range(costs.shape[1])],
        0,
        high,
        statuses=np.asarray(statuses),
    )


@pytest.fixture
def stopped() -> CostMatrix:
    """Three instances: w solves all; d is stopped at 1 s, at 2 s, and solves one in 3 s."""
    return matrix_of([[0.4, 2.5, 1.0], [1.0, 2.0, 3.0]], [[0, 0, 0], [6, 6, 0]])


# ---- reading -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["capped-at-bound", "capped-as-timeout"])
def test_capped_logs_of_irace_run_by_run(name: str) -> None:
    """A run of a capped log would have another status, bound or cost than irace's own log of
    experiments says.
    """
    with (DATA / f"{name}-log.csv").open(newline="") as file:
        history = {
            (int(row["instance"]), row["configuration"]): row for row in csv.DictReader(file)
        }
    with (DATA / f"{name}.csv").open(newline="") as file:
        runs = list(csv.DictReader(file))
    found = import_runs(DATA / f"{name}.Rdata").matrix
    assert found.seeds is not None
    assert found.statuses is not None
    at = {
        (found.configurations[i], found.instances[j], int(found.seeds[i, j, r])): (i, j, r)
        for i, j, r in np.argwhere(~np.isnan(found.costs))
    }
    assert len(at) == len(runs) == len(history) == 161
    by_cell = {
        (row["configuration"], row["instance"], int(row["seed"])): float(row["cost"])
        for row in runs
    }
    pairs: dict[int, tuple[str, int]] = {}
    expected: dict[str, int] = {"solved": 0, "timeout": 0, "censored": 0}
    # irace's number of a pair, from runs whose cost is their time.
    for (pair, configuration), row in history.items():
        time, bound = float(row["time"]), float(row["bound"])
        if time < bound:
            cell = next(
                each for each, cost in by_cell.items() if each[0] == configuration and cost == time
            )
            pairs[pair] = cell[1:]
    for (pair, configuration), row in history.items():
        place = at[configuration, *pairs[pair]]
        time, bound = float(row["time"]), float(row["bound"])
        status = "solved" if time < bound else "timeout" if bound >= CUTOFF else "censored"
        expected[status] += 1
        assert Status(int(found.statuses[place])).label == status
        assert found.costs[place] == {"solved": time, "timeout": HIGH, "censored": bound}[status]
    assert expected == {"solved": 126, "timeout": 5, "censored": 30}


def test_both_settings_of_irace_say_the_same() -> None:
    """What irace charges a run that it stopped (boundAsTimeout) would decide what is said of it."""
    one, two = (
        import_runs(DATA / f"{name}.Rdata").matrix
        for name in ("capped-at-bound", "capped-as-timeout")
    )
    assert one == two


def test_tables_keep_the_cap(tmp_path: Path, stopped: CostMatrix) -> None:
    """A cap or its status would be lost on the way through a file, a selection or a table of
    others.
    """
    for ending in ("npz", "parquet", "csv"):
        stopped.save(tmp_path / f"runs.{ending}")
        assert CostMatrix.load(tmp_path / f"runs.{ending}") == stopped
        assert import_runs(tmp_path / f"runs.{ending}").matrix == stopped
    assert stopped.select(configurations=["d"], instances=["i1"]).censored.all()
    (tmp_path / "other.csv").write_text(
        "solver,problem,time,status\na,x,1.5,CAPPED\na,y,7,capped\nb,x,0.3,SAT\nb,y,5,ok\n"
    )
    found = import_runs(tmp_path / "other.csv", cutoff=5).matrix
    assert found.statuses is not None
    assert found.statuses[:, :, 0].tolist() == [
        [Status.CENSORED, Status.TIMEOUT],
        [Status.SOLVED, Status.SOLVED],
    ]
    assert found.costs[:, :, 0].tolist() == [[1.5, 50], [0.3, 5]]
    (tmp_path / "other.csv").write_text("solver,problem,time,status\na,x,,censored\na,y,1,ok\n")
    with pytest.raises(InputError, match="the cap as the cost of every censored run"):
        import_runs(tmp_path / "other.csv", cutoff=5)


def test_lower_cutoffs_in_calls_are_caps(tmp_path: Path) -> None:
    """A configurator that lowers the cutoff of a wrapper's calls would make timeouts that are none,
    or be refused.
    """
    lines = []
    for x, cutoff, status, time in (
        (1, 5, "SAT", 2),
        (1, 1.5, "TIMEOUT", 1.52),
        (2, 5, "TIMEOUT", 5.01),
        (2, 1.5, "SAT", 1),
    ):
        lines += [
            f"./wrap inst{cutoff}.cnf 0 {cutoff} 999 1 -x {x}",
            f"Result for SMAC: {status}, {time}, 0, 0, 1",
        ]
    (tmp_path / "runs.log").write_text("\n".join(lines) + "\n")
    taken = import_runs(tmp_path / "runs.log")
    found = taken.matrix
    assert found.statuses is not None
    assert found.statuses[:, :, 0].tolist() == [
        [Status.SOLVED, Status.CENSORED],
        [Status.TIMEOUT, Status.SOLVED],
    ]
    assert found.costs[:, :, 0].tolist() == [[2, 1.5], [50, 1]]
    assert "cutoffs from 1.5 to 5" in taken.notes[0]
    assert not import_runs(tmp_path / "runs.log", cutoff=1.5).matrix.censored.any()


def test_caps_of_smac(tmp_path: Path) -> None:
    """A trial that SMAC's capping stopped would pass for solved or for a timeout, or silence for
    knowledge.
    """

    def folder(rows: list[tuple[float, int, dict[str, float]]]) -> Path:
        tmp_path.joinpath("scenario.json").write_text(
            json.dumps({"runtime_cutoff": 5, "adaptive_capping": True})
        )
        data = [
            {"config_id": 1, "instance": f"i{j}", "seed": 0, "budget": None, "cost": cost, "time": cost, "cpu_time": cost,
             "status": status, "starttime": 0.0, "endtime": cost, "additional_info": more}
            for j, (cost, status, more) in enumerate(rows)
        ]  # fmt: skip
        history = {
            "data": data,
            "configs": {"1": {"x": 1}},
            "config_origins": {"1": "Initial Design"},
        }
        tmp_path.joinpath("runhistory.json").write_text(json.dumps(history))
        return tmp_path

    found = import_runs(
        folder([(1, 1, {"cutoff": 5}), (2, 1, {"cutoff": 2}), (1.5, 3, {}), (5, 3, {}), (7, 1, {})])
    )
    assert found.matrix.statuses is not None
    ended = [Status.SOLVED, Status.CENSORED, Status.CENSORED, Status.TIMEOUT, Status.TIMEOUT]
    assert found.matrix.statuses[0, :, 0].tolist() == ended
    assert found.matrix.costs[0, :, 0].tolist() == [1, 2, 1.5, 50, 50]
    assert not any("does not log where" in note for note in found.notes)
    silent = import_runs(folder([(1, 1, {}), (2, 1, {})]))
    assert any(
        "of 2 trials called solved some may have been stopped early" in note
        for note in silent.notes
    )


# ---- what is said --------------------------------------------------------------------------------


def test_what_is_known_counts(stopped: CostMatrix) -> None:
    """A rival stopped at 1 s, after the winner took 0.4 s, would not count as beaten, or one
    stopped before it would.
    """
    found = assess(stopped, configuration="w", default="d", chosen="before", raced=False)
    comparison = found.comparison
    assert comparison is not None
    assert (comparison.gains, comparison.losses) == (
        2,
        0,
    )  # on i1, w took 2.5 s and d was stopped at 2
    assert [comparison.lowest, comparison.highest] == pytest.approx(
        [-99.1 / 3, (-0.6 + 0.5 - 2) / 3]
    )
    assert [each.instance for each in comparison.deciding] == ["i2", "i0"]
    said = {each.quantity: each for each in found.statements}
    assert [said["wins"].observed, said["wins"].possible] == pytest.approx([2 / 3, 1])
    theirs = {
        each.quantity: each
        for each in assess(stopped, configuration="d", chosen="before", raced=False).statements
    }
    assert [theirs["solved share"].observed, theirs["solved share"].possible] == pytest.approx(
        [1 / 3, 1]
    )
    assert (theirs["median"].observed, theirs["median"].possible) == (math.inf, 2)
    # The cheapest is not who was stopped first.
    costs = assess(stopped).costs
    assert [costs.training[1], costs.lowest[1]] == pytest.approx([103 / 3, 2])
    assert assess(stopped).incumbent == "w"
    plain = assess(
        stopped.select(configurations=["w"]), configuration="w", chosen="before", raced=False
    )
    assert plain.certificate is not None
    assert plain.certificate.method == "star-bets"


def test_who_may_not_use_them(stopped: CostMatrix) -> None:
    """Costs that are not known would pass for costs, or choose on one part what the other part has
    decided.
    """
    for use in (
        lambda: confidence.upper(stopped),
        lambda: truecost.resample.sweep_m(stopped, splits=2, rng=1),
        lambda: paired_differences(stopped, "w", "d"),
    ):
        with pytest.raises(InputError, match="2 that were stopped at a cap"):
            use()
    with pytest.raises(RefusedError, match="stopped at a cap"):
        truecost.certify(stopped, chosen="on-part", raced=False)
    assert "stopped at a cap" in str(assess(stopped).bounds)


def test_it_is_told(stopped: CostMatrix) -> None:
    """Page, terminal or JSON would keep silent of runs that were stopped, or give one number where
    there are two ends.
    """
    found = assess(stopped, configuration="d", default="w", chosen="before", raced=False)
    told = found.to_dict("configurations", "comparison", "statements")
    assert told["runs"]["statuses"]["censored"] == told["incumbent"]["censored"] == 2
    assert told["incumbent"]["training_cost_at_least"] == 2
    json.dumps(told)
    section = what_was_run(Case(found, Context()))
    assert any(
        "2 runs were stopped at a cap before they finished" in str(block)
        for block in section.blocks
    )
    page = audited(found, Context())
    assert "2.00 to 34.3" in page.more
    assert page.key[0].text == "2.00 to 34.3"
    assert page.key[0].note == "2 runs stopped at a cap"
    unknown = CostMatrix(
        stopped.costs, stopped.configurations, stopped.instances, statuses=stopped.statuses
    )
    assert any(
        "the largest observed cost, 3.00" in str(block)
        for block in what_was_run(Case(assess(unknown), Context())).blocks
    )


# ---- coverage ------------------------------------------------------------------------------------

RATES = np.array([0.5, 0.3])


def true_cost(rate: FloatArray) -> FloatArray:
    """The mean PAR10 cost of exponential times with cutoff 5."""
    late = np.exp(-rate * CUTOFF)
    return np.asarray((1 - late * (1 + rate * CUTOFF)) / rate + HIGH * late)


def races(
    number: int, instances: int, rng: np.random.Generator
) -> Iterator[tuple[CostMatrix, CostMatrix]]:
    """Searches with known truth that cap both configurations by what the other one took so far; and
    what they would cost.
    """
    for _ in range(number):
        times = rng.exponential(1 / RATES[:, np.newaxis], (2, instances))
        spent, caps = np.zeros(2), np.full((2, instances), CUTOFF)
        for j in range(instances):
            for i in (0, 1) if j % 2 else (1, 0):
                # What it may take before its total passes the other's by a second, other instances
                # included.
                caps[i, j] = np.clip(spent[1 - i] + 1 - spent[i], 0.3, CUTOFF)
                spent[i] += min(times[i, j], caps[i, j])
        late, early = times >= CUTOFF, (times >= caps) & (caps < CUTOFF)
        costs = np.where(late, HIGH, times)
        status = np.where(
            early, Status.CENSORED, np.where(late, Status.TIMEOUT, Status.SOLVED)
        ).astype(np.int8)
        yield (
            matrix_of(np.where(early, caps, costs), status),
            matrix_of(costs, np.where(late, 1, 0)),
        )


def too_often(misses: int, number: int) -> bool:
    """Whether that many misses are more than chance allows at δ."""
    return binomtest(misses, number, DELTA, alternative="greater").pvalue < 1e-3


@pytest.mark.parametrize("raced", [True, False])
def test_limits_of_capped_runs_hold(raced: bool) -> None:
    """Limits from capped runs would be wrong more often than δ; or a cap would do as a cost."""
    number, truth = 150, true_cost(RATES)
    gap = truth[0] - truth[1]
    misses = dict.fromkeys(("upper", "difference", "wins", "median", "solved", "cap as cost"), 0)
    rng = np.random.default_rng(17)
    late = np.exp(-CUTOFF * RATES)
    wins = RATES[0] / RATES.sum() * (1 - late.prod()) + 0.5 * late.prod()
    asked: dict[str, Any] = {
        "configuration": "w",
        "chosen": "before",
        "delta": DELTA,
        "raced": raced,
    }
    for seen, _ in races(number, 30, rng):
        found = assess(seen, default="d", **asked)
        assert found.certificate is not None
        assert found.comparison is not None
        misses["upper"] += found.certificate.upper < truth[0]
        assert found.comparison.lower is not None
        assert found.comparison.upper is not None
        misses["difference"] += not found.comparison.lower <= gap <= found.comparison.upper
        said = {each.quantity: each for each in found.statements}
        assert said["wins"].opposite is not None
        misses["wins"] += not said["wins"].limit <= wins <= said["wins"].opposite
        misses["median"] += said["median"].limit < math.log(2) / RATES[0]
        misses["solved"] += said["solved share"].limit > 1 - late[0]
        assert seen.statuses is not None
        as_if = matrix_of(seen.costs, np.where(seen.censored, Status.SOLVED, seen.statuses))
        misses["cap as cost"] += truecost.certify(as_if, **asked).upper < truth[0]
    wrong = misses.pop("cap as cost")
    # A bracket is two statements.
    assert not any(
        too_often(count, number)
        for name, count in misses.items()
        if name not in ("difference", "wins")
    )
    assert max(misses["difference"], misses["wins"]) <= 2 * DELTA * number
    assert too_often(wrong, number)


def share_within(t: float) -> float:
    """P(X ≤ t) of a run that is exponential with a mean that is exponential with mean 2: 1 −
    z·K₁(z), z = 2√(t/2).
    """
    z = 2 * math.sqrt(t / 2)
    return 1 - z * float(kv(1, z))


def test_monotone_limits_of_many_runs_hold() -> None:
    """With several runs an instance, limits that must hold whatever stopped them would not; or the
    wrong end would pass.
    """
    number, rng = 300, np.random.default_rng(3)
    misses = dict.fromkeys(("solved", "solved by most", "quantile", "wins", "cap as cost"), 0)
    for _ in range(number):
        hard = rng.exponential(2, (25, 1))
        first, second = rng.exponential(hard, (25, 3)), rng.exponential(1.3 * hard, (25, 2))
        # Stopped by the costs of all, those of later instances too.
        cap = 0.5 * np.median(second)
        ends = Ends.of(np.minimum(first, cap), capped=first > cap)
        options: dict[str, Any] = {"delta": DELTA, "monotone": True}
        misses["solved"] += rates.solved(rates.within(ends, 0.1), **options).value > share_within(
            0.1
        )
        misses["solved by most"] += rates.solved(
            rates.within(ends, 5.0), side="upper", **options
        ).value < share_within(5.0)
        misses["quantile"] += share_within(quantiles.quantile(ends, 0.2, **options).value) < 0.2
        misses["wins"] += rates.wins(ends, second, **options).value > 1.3 / 2.3
        misses["cap as cost"] += (
            share_within(quantiles.quantile(np.minimum(first, cap), 0.5, **options).value) < 0.5
        )
    wrong = misses.pop("cap as cost")
    assert not any(too_often(count, number) for count in misses.values())
    assert too_often(wrong, number)


def test_searches_with_known_truth() -> None:
    """Of 200 adaptive searches something guaranteed would be wrong in more than δ, or something
    unknown be told as known.
    """
    rng, number, wrong = np.random.default_rng(11), 200, {"upper": 0, "better": 0}
    for turn in range(number):
        rate = np.full(8, 0.5)
        rate[1:] *= rng.uniform(0.6, 1.3, 7)
        costs, status = np.full((8, 12, 1), np.nan), np.full((8, 12, 1), -1, dtype=np.int8)
        best = 0
        for c in range(8):
            # Each proposal fits the instances that have been seen a little better than its rate
            # says.
            times = rng.exponential(1 / rate[c], 12) * (0.8 if c else 1)
            cap = CUTOFF if c == 0 else min(CUTOFF, 1.5 * float(np.nanmean(costs[best])))
            early, late = (times >= cap) & (cap < CUTOFF), times >= CUTOFF
            costs[c, :, 0] = np.where(early, cap, np.where(late, HIGH, times))
            status[c, :, 0] = np.where(
                early, Status.CENSORED, np.where(late, Status.TIMEOUT, Status.SOLVED)
            )
            if not early.any() and costs[c].mean() < costs[best].mean():
                best = c
        names = [f"c{c}" for c in range(8)]
        runs = CostMatrix(costs, names, [f"i{j}" for j in range(12)], 0, HIGH, statuses=status)
        way = Trajectory(
            tool="simulated", proposed="adaptively", raced=True, default="c0", incumbent=f"c{best}"
        )
        tested = turn % 2 == 0
        times = rng.exponential(1 / rate[[0, best]][:, np.newaxis], (2, 40))
        fresh = np.where(times >= CUTOFF, HIGH, times)[: 2 if best else 1]
        test = CostMatrix(
            fresh, ["c0", f"c{best}"][: 2 if best else 1], [f"t{j}" for j in range(40)], 0, HIGH
        )
        log = Import(kind="matrix", matrix=runs, trajectory=way, test=test if tested else None)
        found = assess(log, delta=DELTA, splits=4)
        truth = true_cost(rate)
        if tested:
            assert found.certificate is not None
            wrong["upper"] += found.certificate.upper < truth[best]
            wrong["better"] += found.better and truth[best] >= truth[0]
            assert found.optimism.source == "test runs"
        elif best:
            assert found.certificate is None
            assert found.grade == "open"
            assert not found.statements
            assert (found.optimism.source, math.isnan(found.optimism.gap)) == ("unknown", True)
            assert math.isnan(found.over_tuning.lost)
            assert "Expect a higher cost" in beside(Case(found, Context()))
    assert not any(too_often(count, number // 2) for count in wrong.values())
