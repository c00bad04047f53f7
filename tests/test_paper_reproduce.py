import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from test_paper_exact import matrix_of, random_costs

from truecost.api import import_runs
from truecost.errors import InputError
from truecost.matrix import CostMatrix, Log, Reading
from truecost.paper import figures
from truecost.paper.claims import SAYS
from truecost.paper.reproduce import Reproduction, reproduce
from truecost.paper.sweeps import compare_estimators, sweep


@pytest.fixture(scope="module")
def matrix() -> CostMatrix:
    """Six configurations on twelve instances."""
    return matrix_of(np.minimum(random_costs(1, 6, 12, 3), 20), high=20.0)


def reproduced(matrix: CostMatrix, folder: Path, **options: Any) -> Reproduction:
    """Few splits of some experiments."""
    usual: dict[str, Any] = {"splits": 10, "only": ["k"], "workers": 1}
    return reproduce(matrix, folder, **usual | options)


@pytest.fixture
def no_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Drawing takes most of the time, and one test looks at all figures."""
    monkeypatch.setattr("truecost.paper.reproduce._draw", lambda *_: [])


def test_everything_is_in_the_report(matrix: CostMatrix, tmp_path: Path) -> None:
    """A reader of the report would miss a claim, its verdict or a figure; or numbers in `data/`
    would not be what a Python user computes with the same seed.
    """
    log, shares = Log(runs=matrix, path="solvers.csv", cost_unit="PAR10 s"), [0.0]
    whole = reproduce(
        log, tmp_path / "out", splits=30, seed=3, workers=1,
        progress=lambda _, share: shares.append(share),
    )  # fmt: skip
    assert shares == sorted(shares)
    assert shares[-1] == pytest.approx(1)
    text = whole.report.read_text()
    assert text.startswith("# The paper's experiments on solvers.csv")
    assert [claim.name for claim in whole.claims] == list(SAYS)
    for claim in whole.claims:
        assert claim.says in text
        assert claim.finding in text
    links = re.findall(r"\]\((figures/.*?)\)", text)
    assert len(links) == 4
    for link in links:
        assert (tmp_path / "out" / link).stat().st_size > 1000
        assert (tmp_path / "out" / link).with_suffix(".pdf").exists()
    table = pd.read_csv(tmp_path / "out" / "data" / "error-n.csv")
    pd.testing.assert_frame_equal(table, sweep(matrix, "n", splits=30, rng=3, workers=1))
    assert {path.stem for path in (tmp_path / "out" / "data").iterdir()} == set(whole.tables)
    assert whole.to_dict()["claims"][0]["verdict"] == whole.claims[0].verdict
    assert str(whole.report) in whole.summary()
    for taken in (tmp_path / "out", whole.report):
        with pytest.raises(InputError, match=r"is no empty folder\. Choose a new one"):
            reproduced(matrix, taken)
    assert whole.report.read_text() == text


@pytest.mark.usefixtures("no_figures")
def test_only_some_parts(matrix: CostMatrix, tmp_path: Path) -> None:
    """A part that was not asked for would be run or judged."""
    result = reproduced(matrix, tmp_path, only=["N", "m"])
    assert set(result.tables) == {"error-m", "error-n"}
    assert [claim.name for claim in result.claims] == ["fits", "steady", "selection", "bounds"]
    assert "estimators" not in result.report.read_text().split("## Methods")[0]


@pytest.mark.parametrize("runs", [1, 7])
@pytest.mark.usefixtures("no_figures")
def test_few_and_many_runs(runs: int, tmp_path: Path) -> None:
    """One run a cell leaves variances unknown, and the paper has five: the rest would fail."""
    costs = np.minimum(random_costs(2, 4, 8, runs), 30)
    result = reproduced(matrix_of(costs, high=30.0), tmp_path, only=None)
    assert len(result.claims) == len(SAYS)


@pytest.mark.usefixtures("no_figures")
def test_runs_that_only_some_cells_have(tmp_path: Path) -> None:
    """The report would count runs that no experiment used, or bounds come from other runs than the
    errors beside them.
    """
    costs = np.minimum(random_costs(2, 4, 8, 3), 30)
    costs[1, 2, 1] = np.nan
    gaps = reproduced(matrix_of(costs, high=30.0), tmp_path / "gaps")
    assert "8 instances × 2 runs" in gaps.report.read_text()
    assert "first 2 count" in gaps.report.read_text()
    costs[1, 2, 1:] = [costs[1, 2, 2], np.nan]
    whole = reproduced(matrix_of(costs[:, :, :2], high=30.0), tmp_path / "whole")
    pd.testing.assert_frame_equal(gaps.tables["error-k"], whole.tables["error-k"])


def test_a_matrix_without_a_range(tmp_path: Path) -> None:
    """Costs without a known range have errors and fits; a bound would be made up."""
    result = reproduced(matrix_of(random_costs(3, 4, 8, 2)), tmp_path)
    assert result.claims[-1].verdict == "cannot be judged"
    assert not (tmp_path / "figures" / "bounds.svg").exists()


@pytest.mark.usefixtures("no_figures")
def test_the_authors_file(tmp_path: Path) -> None:
    """The matrices that the paper's authors published could not be read."""
    fields = [("result", "U8"), ("runtime", "f8"), ("quality", "f8"), ("seed", "i8")]
    runs = np.zeros((5, 10, 5), dtype=fields)
    runs["result"], runs["runtime"] = "SAT", np.minimum(random_costs(4, 5, 10, 5), 4.9)
    np.save(tmp_path / "PM.npy", runs)
    log = import_runs(tmp_path / "PM.npy", Reading(cutoff=5.0))
    result = reproduce(log, tmp_path / "out", splits=10, only=["k"], workers=1)
    assert result.tables["error-k"]["k"].tolist() == [1, 2, 3, 4, 5]
    assert "PM.npy" in result.report.read_text().splitlines()[0]


@pytest.mark.parametrize(
    ("shape", "options", "message"),
    [
        ((3, 8, 2), {}, "at least 4 on 8"),
        ((4, 7, 2), {}, "at least 4 on 8"),
        ((4, 8, 2), {"only": ["figures"]}, "estimators, m, n, k"),
        ((4, 8, 2), {"splits": 1}, "at least 2 splits"),
    ],
)
def test_refused(
    shape: tuple[int, int, int], options: dict[str, object], message: str, tmp_path: Path
) -> None:
    """A curve through three points would look like a result, or a refusal leave a folder."""
    with pytest.raises(InputError, match=message):
        reproduced(matrix_of(random_costs(5, *shape)), tmp_path / "out", **options)
    assert not (tmp_path / "out").exists()


def test_figures_take_axes(matrix: CostMatrix) -> None:
    """Users could not put panels into figures of their own."""
    table = sweep(matrix, "n", splits=10, workers=1)
    compared = compare_estimators(matrix, np.array([3, 6, 12]), splits=10, workers=1)
    axes = Figure().subplots(1, 3)
    drawn = [
        figures.error_curve(table, "n", "selection", unit="s", ax=axes[0]),
        figures.bounds(table, "n", unit="s", ax=axes[1]),
        figures.estimators(compared, unit="s", ax=axes[2]),
    ]
    assert drawn == list(axes)
    assert len(axes[1].lines) == 4
    observed, fitted = axes[0].lines
    assert observed.get_ydata()[-1] == table["selection"].iloc[-1]
    assert observed.get_xdata().tolist() == fitted.get_xdata().tolist()
    assert len(axes[2].containers) == 3
    assert figures.bounds(table, "n").get_figure() is not axes[0].get_figure()
