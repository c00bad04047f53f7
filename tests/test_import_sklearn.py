from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from commands import run
from sklearn.datasets import make_classification
from sklearn.experimental import enable_halving_search_cv
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, HalvingGridSearchCV

from truecost import assess, import_runs
from truecost.errors import InputError

assert enable_halving_search_cv is not None
GRID = {"C": [0.01, 0.1, 1.0], "fit_intercept": [True, False]}


@pytest.fixture(scope="module")
def search() -> Any:
    """A small grid search, with two scorers."""
    x, y = make_classification(n_samples=60, n_features=4, random_state=1)
    scoring = ["accuracy", "neg_log_loss"]
    made = GridSearchCV(LogisticRegression(), GRID, cv=3, scoring=scoring, refit="accuracy")
    return made.fit(x, y)


@pytest.mark.parametrize("form", ["search", "dict", "frame", "csv"])
@pytest.mark.parametrize("scorer", ["accuracy", "neg_log_loss"])
def test_every_form(tmp_path: Path, search: Any, form: str, scorer: str) -> None:
    """A score of a fold would stand in the wrong place, keep its sign, or lose its parameters."""
    results = search.cv_results_
    pd.DataFrame(results).to_csv(tmp_path / "results.csv")
    forms = {
        "search": search,
        "dict": results,
        "frame": pd.DataFrame(results),
        "csv": tmp_path / "results.csv",
    }
    log = import_runs(forms[form], objective=scorer)
    expected = -np.array([results[f"split{fold}_test_{scorer}"] for fold in range(3)]).T
    np.testing.assert_allclose(log.matrix.costs[:, :, 0], expected, rtol=1e-12)
    assert assess(log).scope.sampled == "fold"
    assert log.parameters["3"] == results["params"][3]
    assert log.trajectory.proposed == ("beforehand" if form == "search" else "unknown")
    if scorer == "accuracy":
        assert results["mean_test_accuracy"][int(log.trajectory.incumbent or "")] == max(
            results["mean_test_accuracy"]
        )
    assert any("folds stand for instances" in note for note in log.notes)


def test_folds_by_their_numbers(tmp_path: Path, search: Any) -> None:
    """With columns in another order, a fold would bear the name of another one."""
    columns = pd.DataFrame(search.cv_results_).rename(
        columns=lambda name: name.replace("split1_", "split10_")
    )
    columns[sorted(columns.columns, reverse=True)].to_csv(tmp_path / "results.csv")
    matrix = import_runs(tmp_path / "results.csv", objective="accuracy").matrix
    assert matrix.instances == ("fold 0", "fold 2", "fold 10")
    costs = matrix.select(instances=["fold 10"]).costs.ravel()
    np.testing.assert_allclose(costs, -search.cv_results_["split1_test_accuracy"], rtol=1e-12)


def test_a_search_by_halving() -> None:
    """Scores from few samples would be mixed with those from all."""
    x, y = make_classification(n_samples=90, n_features=4, random_state=1)
    search = HalvingGridSearchCV(LogisticRegression(), GRID, cv=3, min_resources=20).fit(x, y)
    log = import_runs(search)
    resources = search.cv_results_["n_resources"]
    most = np.flatnonzero(resources == resources.max())
    assert log.matrix.configurations == tuple(map(str, most))
    assert log.trajectory.raced is True
    assert log.left_out == {"fits with fewer resources": 3 * (len(resources) - len(most))}


def test_a_fit_that_failed(search: Any) -> None:
    """A fold without a score would be left out, and its configuration look better."""
    results = {
        name: values for name, values in search.cv_results_.items() if not name.endswith("log_loss")
    }
    results["split1_test_accuracy"] = np.array([np.nan, *results["split1_test_accuracy"][1:]])
    log = import_runs(results, low=-1, high=0)
    assert log.matrix.costs[0, 1, 0] == 0
    assert any("1 run that failed" in note for note in log.notes)


def test_bad_results(tmp_path: Path, search: Any) -> None:
    """Two scorers would be mixed, or a column that holds no numbers end in a traceback."""
    with pytest.raises(InputError, match="one of the scorers accuracy, neg_log_loss"):
        import_runs(search)
    (tmp_path / "bad.csv").write_text("params,split0_test_score,split1_test_score\n{},x,1\n")
    answer = run("import", tmp_path / "bad.csv")
    assert answer.returncode == 2
    assert answer.stderr.count("\n") == 1
