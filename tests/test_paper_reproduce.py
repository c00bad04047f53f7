import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from test_paper_exact import matrix_of, random_costs

from truecost.errors import InputError
from truecost.importers import import_runs
from truecost.matrix import CostMatrix, Log, Reading
from truecost.paper import figures
from truecost.paper.claims import SAYS
from truecost.paper.reproduce import Reproduction, reproduce
from truecost.paper.sweeps import compare_estimators, sweep


@pytest.fixture(scope="module")
def matrix() -> CostMatrix:
    """Six configurations on twelve instances."""
    return matrix_of(np.minimum(random_costs(1, 6, 12, 3), 20), high=20.0)


@pytest.fixture
def no_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Drawing takes most of the time, and one test looks at all figures."""
    monkeypatch.setattr("truecost.paper.reproduce._draw", lambda *_: [])


@pytest.fixture(scope="module")
def whole(matrix: CostMatrix, tmp_path_factory: pytest.TempPathFactory) -> Reproduction:
    """All experiments."""
    folder = tmp_path_factory.mktemp("whole")
    log = Log(runs=matrix, path="solvers.csv", cost_unit="PAR10 s")
    return reproduce(log, folder, splits=30, seed=3, workers=1)


def tables_in(folder: Path) -> dict[str, int]:
    """The tables there, with the time each was written."""
    return {path.stem: path.stat().st_mtime_ns for path in (folder / "data").glob("*.csv")}


def test_everything_is_in_the_report(whole: Reproduction) -> None:
    """A reader of the report needs every claim with its verdict, and links that lead somewhere."""
    text = whole.report.read_text()
    assert text.startswith("# The paper's experiments on solvers.csv")
    assert [claim.name for claim in whole.claims] == list(SAYS)
    for claim in whole.claims:
        assert claim.says in text
        assert claim.finding in text
    links = re.findall(r"\]\((figures/.*?)\)", text)
    assert len(links) == 4
    for link in links:
        assert (whole.report.parent / link).stat().st_size > 1000
        assert (whole.report.parent / link).with_suffix(".pdf").exists()
    data = {path.stem for path in (whole.report.parent / "data").glob("*.csv")}
    assert data == set(whole.tables)
    assert whole.to_dict()["claims"][0]["verdict"] == whole.claims[0].verdict
    assert str(whole.report) in whole.summary()


def test_tables_are_those_of_the_functions(whole: Reproduction, matrix: CostMatrix) -> None:
    """The numbers in `data/` are what a Python user computes with the same seed."""
    table = sweep(matrix, "n", splits=30, rng=3, workers=1)
    pd.testing.assert_frame_equal(whole.tables["error-n"], table, check_dtype=False)


@pytest.mark.usefixtures("no_figures")
def test_interrupted_runs_continue(whole: Reproduction, matrix: CostMatrix, tmp_path: Path) -> None:
    """What was finished before Ctrl-C is not computed again, and the result is the same."""

    def stop(part: str, _share: float) -> None:
        if part == "error-n":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        reproduce(matrix, tmp_path, splits=30, seed=3, workers=1, progress=stop)
    assert not (tmp_path / "report.md").exists()
    kept = tables_in(tmp_path)
    assert set(whole.tables) - set(kept) == {"error-n", "error-k"}
    shares: list[float] = []

    def tell(_part: str, share: float) -> None:
        shares.append(share)

    rest = reproduce(matrix, tmp_path, splits=30, seed=3, workers=1, progress=tell)
    assert kept.items() <= tables_in(tmp_path).items()
    assert rest.claims == whole.claims
    assert shares == sorted(shares)
    assert shares[-1] == pytest.approx(1)


@pytest.mark.parametrize("change", [{"splits": 31}, {"seed": 4}, {"costs": None}])
@pytest.mark.usefixtures("no_figures")
def test_other_experiments_are_not_mixed(
    matrix: CostMatrix, tmp_path: Path, change: dict[str, float]
) -> None:
    """Tables of other splits, another seed or matrix would be reported as this one's."""
    options = {"splits": 30, "seed": 3, "only": ["k"], "workers": 1}
    reproduce(matrix, tmp_path, **options)  # type: ignore[arg-type]
    first = tables_in(tmp_path)
    reproduce(matrix, tmp_path, **options)  # type: ignore[arg-type]
    assert tables_in(tmp_path) == first
    if "costs" in change:
        matrix = matrix.replace(costs=matrix.costs * 0.5)
        change = {}
    reproduce(matrix, tmp_path, **options | change)  # type: ignore[arg-type]
    assert tables_in(tmp_path) != first


@pytest.mark.usefixtures("no_figures")
def test_only_some_parts(matrix: CostMatrix, tmp_path: Path) -> None:
    """A part that was not asked for is neither run nor judged."""
    result = reproduce(matrix, tmp_path, splits=10, only=["N", "m"], workers=1)
    assert set(result.tables) == {"error-m", "error-n"}
    assert [claim.name for claim in result.claims] == ["fits", "steady", "selection", "bounds"]
    assert "estimators" not in result.report.read_text().split("## Methods")[0]


@pytest.mark.parametrize("runs", [1, 7])
@pytest.mark.usefixtures("no_figures")
def test_few_and_many_runs(runs: int, tmp_path: Path) -> None:
    """One run a cell leaves variances unknown, and the paper has five."""
    costs = np.minimum(random_costs(2, 4, 8, runs), 30)
    result = reproduce(matrix_of(costs, high=30.0), tmp_path, splits=10, workers=1)
    assert len(result.claims) == len(SAYS)


def test_a_matrix_without_a_range(tmp_path: Path) -> None:
    """Costs without a known range have errors and fits, only no bound."""
    costs = random_costs(3, 4, 8, 2)
    matrix = CostMatrix(costs, list("abcd"), list("ijklmnop"))
    result = reproduce(matrix, tmp_path, splits=10, only=["k"], workers=1)
    assert result.claims[-1].verdict == "cannot be judged"
    assert not (tmp_path / "figures" / "bounds.svg").exists()


@pytest.mark.usefixtures("no_figures")
def test_the_authors_file(tmp_path: Path) -> None:
    """The matrices that the paper's authors published can be read."""
    fields = [("result", "U8"), ("runtime", "f8"), ("quality", "f8"), ("seed", "i8")]
    runs = np.zeros((5, 10, 5), dtype=fields)
    runs["result"], runs["runtime"] = "SAT", np.minimum(random_costs(4, 5, 10, 5), 4.9)
    np.save(tmp_path / "PM.npy", runs)
    log = import_runs(tmp_path / "PM.npy", Reading(cutoff=5.0))
    result = reproduce(log, tmp_path / "out", splits=10, only=["k"], workers=1)
    assert result.tables["error-k"]["k"].tolist() == [1, 2, 3, 4, 5]
    assert "PM.npy" in result.report.read_text().splitlines()[0]


@pytest.mark.usefixtures("no_figures")
def test_an_example(tmp_path: Path) -> None:
    """The name of an example is enough."""
    result = reproduce("kissat", tmp_path, splits=10, only=["k"], workers=1)
    assert len(result.tables["error-k"]) == 25


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
    """A curve through three points would look like a result."""
    matrix = matrix_of(random_costs(5, *shape))
    with pytest.raises(InputError, match=message):
        reproduce(matrix, tmp_path, workers=1, **{"splits": 5, **options})  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["report.md", "data/exact.csv"])
def test_files_of_others_are_kept(matrix: CostMatrix, tmp_path: Path, name: str) -> None:
    """`--out .` would delete a user's own tables or report."""
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text("mine")
    with pytest.raises(InputError, match="Choose a new folder"):
        reproduce(matrix, tmp_path, splits=5, only=["k"], workers=1)
    assert (tmp_path / name).read_text() == "mine"


def test_figures_take_axes(matrix: CostMatrix) -> None:
    """Users put panels into figures of their own."""
    table = sweep(matrix, "n", splits=10, workers=1)
    compared = compare_estimators(matrix, np.array([3, 6, 12]), splits=10, workers=1)
    figure = Figure()
    axes = figure.subplots(1, 3)
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
    assert figures.bounds(table, "n").get_figure() is not figure
