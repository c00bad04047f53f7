"""Families of instances: where they come from, and that files keep them."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest
import scenarios

from truecost import Scenario, assess, examples, gather, import_runs
from truecost.errors import InputError
from truecost.judge.rounds import Rounds, in_rounds
from truecost.matrix import CostMatrix, families

NAMES = ("sat/crypto/a1.cnf", "sat/crypto/a2.cnf", "sat/planning/b1.cnf")


def test_families_come_from_folders_mappings_and_names(tmp_path: Path) -> None:
    """A family would be read from the wrong part of a name, or not be matched by its path's end."""
    assert families.families_of(NAMES, "folder") == ("crypto", "crypto", "planning")
    assert families.families_of(NAMES, r"/([ab])\d") == ("a", "a", "b")
    table = tmp_path / "families.csv"
    table.write_text(
        "benchmark_name,family_name\na1.cnf,x\ncrypto/a2.cnf,y\nother/sat/planning/b1.cnf,z\n"
    )
    assert families.families_of(NAMES, table) == ("x", "y", "z")
    assert families.families_of(NAMES, str(table)) == ("x", "y", "z")
    assert families.families_of(("i1", "i2"), {"i1": "x", "i2": "y"}) == ("x", "y")


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ("folder", "all share one"),
        ("(b1)", "2 of 2 have none"),
        ("((", "regular expression"),
        ({"a1.cnf": "x"}, "1 of 2 have none: sat/a2.cnf"),
        ({"s/a1.cnf": "x", "t/a1.cnf": "y", "a2.cnf": "z"}, "one family for"),
    ],
)
def test_what_has_no_family_is_said(how: str | dict[str, str], message: str) -> None:
    """An instance without a family, or with two, would pass in silence."""
    with pytest.raises(InputError, match=message):
        families.families_of(("sat/a1.cnf", "sat/a2.cnf"), how)


def test_candidates_leave_out_what_is_no_grouping() -> None:
    """One group for all, or one for each instance, would be tested as a grouping."""
    assert families.candidates(NAMES) == {
        "folder": ("crypto", "crypto", "planning"),
        "name": ("a", "a", "b"),
    }
    assert families.candidates(("i1", "i2", "i3")) == {}
    assert families.candidates(("x", "y"), ("f", "f")) == {}


@pytest.mark.parametrize("ending", ["npz", "parquet", "csv"])
def test_files_keep_families(tmp_path: Path, ending: str) -> None:
    """A matrix file would lose the families of its instances, or a selection mix them up."""
    matrix = CostMatrix(np.arange(6.0).reshape(2, 3), ["a", "b"], NAMES, families=["f", "f", "g"])
    matrix.save(tmp_path / f"m.{ending}")
    loaded = CostMatrix.load(tmp_path / f"m.{ending}")
    assert loaded.families == ("f", "f", "g")
    assert loaded == matrix
    assert matrix.select(instances=[NAMES[2], NAMES[0]]).families == ("g", "f")
    assert matrix.replace(families=None) != matrix


@pytest.mark.parametrize(
    ("labels", "message"),
    [(["f"], "each of 3 instances"), (["f", "", "g"], "name of a family"), ("fgh", "the text")],
)
def test_bad_families_are_refused(labels: object, message: str) -> None:
    """A matrix would take families that do not fit its instances."""
    with pytest.raises(InputError, match=message):
        CostMatrix(np.zeros((1, 3)), ["a"], NAMES, families=labels)  # type: ignore[arg-type]


def test_one_instance_has_one_family(tmp_path: Path) -> None:
    """A table that gives an instance two families would be read as if it gave one."""
    table = tmp_path / "t.csv"
    table.write_text("configuration,instance,cost,family\na,i,1,f\nb,i,2,g\n")
    with pytest.raises(InputError, match="one family for instance 'i'"):
        CostMatrix.load(table)


def test_tables_may_have_a_column_of_families() -> None:
    """A column called family, class or group would be passed over, or one that is none be taken."""
    rows = {"solver": ["a", "b"] * 2, "instance": [1, 1, 2, 2], "cost": [1.0, 2.0, 3.0, 4.0]}
    frame = pl.DataFrame(rows | {"class": ["f", "f", "g", "g"]})
    assert import_runs(frame).matrix.families == ("f", "g")
    log = import_runs(pl.DataFrame(rows | {"class": ["sat", "unsat", "sat", "sat"]}))
    assert log.matrix.families is None
    assert "passed over" in " ".join(log.notes)
    assert import_runs(frame, families={"1": "x", "2": "y"}).matrix.families == ("x", "y")
    frame = pl.DataFrame(rows | {"kind": ["f", "g", "f", "f"]})
    with pytest.raises(InputError, match="one family for every instance"):
        import_runs(frame, columns={"family": "kind"})


def test_scores_have_a_direction() -> None:
    """Accuracy would be taken for a cost, and the worst configuration win."""
    rows = {"config": ["a", "b"] * 2, "instance": ["i", "i", "j", "j"], "accuracy": [0.9, 0.5] * 2}
    frame = pl.DataFrame(rows)
    with pytest.raises(InputError, match="`maximise` for the column 'accuracy'"):
        import_runs(frame)
    with pytest.raises(InputError, match="`maximise`"):
        import_runs(frame, columns={"cost": "accuracy"})
    log = import_runs(frame, maximise=True, low=0.0, high=1.0)
    assert assess(log, splits=2).incumbent == "a"
    assert (log.matrix.low, log.matrix.high) == (-1.0, 0.0)
    assert log.trajectory.maximised
    assert "More accuracy is better" in " ".join(log.notes)
    assert assess(import_runs(frame, maximise=False), splits=2).incumbent == "b"
    with pytest.raises(InputError, match="say themselves what is minimised"):
        import_runs(examples.path_of("kissat"), maximise=True)


def test_a_journal_keeps_families_and_runs_them_one_after_the_other(tmp_path: Path) -> None:
    """An unfinished journal would have parts of many families, or a journal lose the families."""
    path = scenarios.write(tmp_path, instances={"glob": "many/*/*", "families": "folder"})
    for place in range(12):
        file = tmp_path / "many" / f"f{place % 3}" / f"{place}.txt"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{place}\n")
    scenario = Scenario.read(path)
    labels = [instance.extras["family"] for instance in scenario.instances]
    assert sorted(labels) == ["f0"] * 4 + ["f1"] * 4 + ["f2"] * 4
    turns = [label for k, label in enumerate(labels) if not k or labels[k - 1] != label]
    assert len(turns) == 3
    gather(scenario, tmp_path / "runs.db", configurations=2, instances=6, runs=1, pool=1)
    gather(scenario, tmp_path / "runs.db", configurations=2, instances=12, runs=1, pool=1)
    log = import_runs(tmp_path / "runs.db")
    matrix = log.matrix
    assert matrix.families == tuple(labels)
    assert [plan.families for plan in log.trajectory.plans] == [2, 3]
    # Of the family that the first plan cut off, the two instances it had count.
    recorded = assess(log, sampled="family", splits=2).evidence
    assert recorded is not None
    assert len(recorded.plans) == 2
    rounds = in_rounds(recorded, matrix.configurations)
    assert isinstance(rounds, Rounds)
    assert rounds.planned == (2, 3)
    assert rounds.runs.instances == (*matrix.instances[:6], *matrix.instances[8:])
    answer = assess(matrix, sampled="family", chosen="from-list", raced=False, splits=2)
    assert answer.certificate is not None
    assert answer.certificate.instances == 3


def test_a_scenario_says_what_is_wrong_with_its_families(tmp_path: Path) -> None:
    """Families of a scenario that fit no instance would pass in silence."""
    path = scenarios.write(tmp_path, instances={"glob": "instances/*", "families": "folder"})
    with pytest.raises(InputError, match=r"instances\.families: .*all share one"):
        Scenario.read(path)


def test_instances_of_a_family_count_alike() -> None:
    """Training costs or observed differences would weigh the runs of a family, where the statements
    beside them weigh its instances, or would use instances that one of the two was not run on.
    """
    rng = np.random.default_rng(3)
    costs = rng.random((2, 24, 3)) * np.linspace(0.2, 1, 24)[:, np.newaxis]
    # The easy instances of each family have one run, and some of them none of the default.
    costs[:, ::2, 1:] = np.nan
    costs[1, ::4] = np.nan
    names = [f"i{k}" for k in range(24)]
    runs = CostMatrix(costs, ["w", "d"], names, 0, 1, families=[f"f{k // 4}" for k in range(24)])
    judged = assess(
        runs, configuration="w", default="d", chosen="before", raced=False, sampled="family"
    )
    by_family = np.nanmean(costs[0], axis=1).reshape(6, 4).mean(axis=1)
    assert judged.certificate is not None
    assert judged.comparison is not None
    assert judged.certificate.estimate == pytest.approx(by_family.mean())
    assert judged.costs.training[0] == pytest.approx(by_family.mean())
    both = np.nanmean(costs[:, np.arange(24) % 4 > 0], axis=2)
    apart = (both[0] - both[1]).reshape(6, 3).mean(axis=1)
    assert judged.comparison.observed == pytest.approx(apart.mean())
    statement = next(item for item in judged.statements if item.quantity == "difference")
    assert statement.observed == pytest.approx(apart.mean())


def test_quantiles_of_a_family_count_its_instances_alike() -> None:
    """Easy instances with many runs would hide the hard ones: a 90th percentile of less than 1
    beside a mean of 5.
    """
    rng = np.random.default_rng(1)
    costs = np.full((1, 60, 29), np.nan)
    costs[:, ::2] = rng.random((1, 30, 29))
    costs[:, 1::2, 0] = 9 + rng.random((1, 30))
    names = [f"i{k}" for k in range(60)]
    runs = CostMatrix(costs, ["w"], names, 0, 10, families=[f"f{k // 2}" for k in range(60)])
    judged = assess(runs, sampled="family", configuration="w", chosen="before", raced=False)
    stated = {statement.quantity: statement for statement in judged.statements}
    # One hard run in two: four fifths of them are the upper fifth of all runs.
    nine = float(np.quantile(costs[0, 1::2, 0], 0.8, method="inverted_cdf"))
    assert stated["90th percentile"].observed == pytest.approx(nine)
    assert stated["90th percentile"].limit >= nine
    assert stated["median"].limit > 9
    # The figure of what more units buy has families for units, too.
    assert judged.beside.limits_by_size.instances[-1] == 30
