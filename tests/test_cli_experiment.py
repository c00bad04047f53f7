import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from commands import interrupt, run
from test_resample import runtimes, with_gaps

from truecost.matrix import CostMatrix
from truecost.paper import exact, fit, resample, tables


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A matrix in a file."""
    path = tmp_path_factory.mktemp("matrix") / "matrix.npz"
    runtimes(12, 20, 5).save(path)
    return path


def test_a_range_that_is_missing_is_missed_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Minutes of splits would be computed and thrown away before the range is asked for."""
    runtimes(4, 8, 2).replace(high=np.inf).save(tmp_path / "m.npz")
    monkeypatch.setattr(resample, "sweep", None)
    ended = run("experiment", "n", tmp_path / "m.npz")
    assert (ended.returncode, ended.stdout) == (2, "")
    assert "--high" in ended.stderr


@pytest.mark.parametrize("kind", ["m", "n", "k"])
def test_sweeps_print_what_the_package_computes(
    kind: fit.Kind, stored: Path, tmp_path: Path
) -> None:
    """The command line would show, or write to parquet, other numbers than the package computes
    from the same seed.
    """
    out = tmp_path / "sweep.parquet"
    ended = run(
        "experiment",
        kind,
        stored,
        "--splits",
        70,
        "--seed",
        5,
        "--delta",
        0.2,
        "--json",
        "--out",
        out,
    )
    answer = json.loads(ended.stdout)
    levels = (0.5, 0.8, 0.9, 0.95, 0.99)
    sweep = getattr(resample, f"sweep_{kind}")(
        CostMatrix.load(stored), splits=70, rng=np.random.default_rng(5), levels=levels
    )
    np.testing.assert_allclose(answer["uniform"], sweep.uniform)
    np.testing.assert_allclose(answer["quantiles"]["selection"], sweep.quantiles["selection"])
    fitted = fit.curve(sweep.values, sweep.uniform, kind=kind)
    assert answer["fits"]["uniform"]["a"] == pytest.approx(fitted.a)
    table = pl.read_parquet(out)
    np.testing.assert_allclose(table["uniform"], sweep.uniform)
    np.testing.assert_allclose(table["selection_q80"], sweep.quantiles["selection"][1])
    np.testing.assert_allclose(table["bound_bennett"], answer["bounds"]["bennett"])
    said = tables.about(out)
    assert (said["seed"], said["splits"], said["experiment"]) == (5, 70, kind)
    assert said["version"]
    shown = run("experiment", kind, stored, "--splits", 70).stdout
    assert f"Error against {kind if kind == 'm' else kind.upper()}: 70 splits" in shown
    assert "R² =" in shown


def test_estimators_print_what_the_package_computes(stored: Path, tmp_path: Path) -> None:
    """The exact grid, or the simulation beside it, would not be the package's."""
    out = tmp_path / "grid.parquet"
    answer = json.loads(run("experiment", "estimators", stored, "--json", "--out", out).stdout)
    k, n = exact.grid(20)
    expected = exact.mean_squared_error(
        CostMatrix.load(stored), estimator="concentrated", instances=k, runs=n
    ).mean
    table = pl.DataFrame(answer["exact"]).filter(pl.col("estimator") == "concentrated")
    np.testing.assert_allclose(table["squared"], expected.ravel())
    np.testing.assert_allclose(table["squared"], table["across"] + table["within"] + table["floor"])
    assert pl.read_parquet(out).height == 4 * k.size
    shown = run("experiment", "estimators", stored, "--splits", 50, "--out", out).stdout
    both = pl.read_parquet(out)
    np.testing.assert_allclose(
        both.filter(pl.col("estimator") == "concentrated")["squared"], expected.ravel()
    )
    simulated = both.filter(pl.col("absolute").is_not_null())
    assert simulated["k"].unique().to_list() == [10]
    assert simulated.height == 4 * 16
    assert "S* is best at every (K, N)" in shown
    assert "mean ± std over 50 splits" in shown


def test_estimators_on_any_size(tmp_path: Path) -> None:
    """An odd number of instances, one's own training set, or an empty cell would be refused for a
    wrong reason.
    """
    path = tmp_path / "odd.npz"
    runtimes(4, 13, 4).save(path)
    for words, train in (([], 7), (["--train-instances", 3], 3)):
        ended = run("experiment", "estimators", path, "--splits", 20, "--json", *words)
        assert ended.returncode == 0, ended.stderr
        simulated = pl.DataFrame(json.loads(ended.stdout)["simulated"])
        assert simulated["k"].unique().to_list() == [train]
        assert simulated["n"].max() == 4 * train
    costs = np.array(runtimes(4, 13, 4).costs)
    costs[2, 3] = np.nan
    CostMatrix(costs, list("abcd"), [f"i{i}" for i in range(13)], 0, 100).save(path)
    assert "'c' has none on 'i3'" in run("experiment", "estimators", path).stderr


def test_missing_runs_leave_out_what_is_not_defined(tmp_path: Path) -> None:
    """With missing runs, `experiment estimators` would show estimators that cannot be had, or none."""
    path = tmp_path / "gaps.npz"
    with_gaps(6, 20, 4, least=2).save(path)
    answer = json.loads(run("experiment", "estimators", path, "--json").stdout)
    assert {entry["estimator"] for entry in answer["exact"]} == {"even", "scattered"}


def test_bad_input_costs_no_work(stored: Path, tmp_path: Path) -> None:
    """Wrong options would be noticed only after the work, or end in more than one line."""
    for words in (
        ["experiment", "m", stored, "--splits", 1],
        ["experiment", "m", stored, "--delta", 0],
        ["experiment", "n", stored, "--train-instances", 19, "--test-instances", 5],
        ["experiment", "k", stored, "--threads", 999],
        ["experiment", "k", stored, "--out", tmp_path / "curve.csv"],
        ["experiment", "k", stored, "--out", tmp_path / "nowhere" / "curve.parquet"],
        ["experiment", "k", tmp_path / "nowhere.npz"],
        ["experiment", "q", stored],
    ):
        ended = run(*words)
        assert ended.returncode == 2, (words, ended)
        assert ended.stdout == ""
        assert ended.stderr.count("\n") == 1


def test_interruption_leaves_nothing(tmp_path: Path) -> None:
    """Ctrl-C would end in a traceback or leave a half-written file."""
    path, out = tmp_path / "matrix.npz", tmp_path / "n.parquet"
    runtimes(60, 200, 5).save(path)
    interrupt("experiment", "n", path, "--splits", "100000", "--out", out, when=b"/100,000 splits")
    assert [p.name for p in tmp_path.iterdir()] == ["matrix.npz"]


def test_budgets_and_numbers_of_runs_are_written_once(tmp_path: Path) -> None:
    """Two small budgets would both be 0 %, and few instances have the same N in two rows."""
    runtimes(3, 4, 2).save(tmp_path / "m.npz")
    words = ("experiment", "configure", tmp_path / "m.npz", "--repetitions", 2)
    ended = run(*words, "--share", 0.001, "--share", 0.004)
    assert "0.1 %" in ended.stdout, ended
    assert "0.4 %" in ended.stdout
    shown = run("experiment", "estimators", tmp_path / "m.npz").stdout.splitlines()[3:]
    numbers = [line.split()[0] for line in shown[: shown.index("")]]
    assert len(numbers) == len(set(numbers)) > 1
