import json
import math
import sqlite3
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import optuna
import pytest
from commands import run
from optuna.storages.journal import JournalFileBackend
from optuna.trial import TrialState

from truecost import import_runs
from truecost.errors import InputError

optuna.logging.set_verbosity(optuna.logging.ERROR)
# SQLite waits for the disk after every operation of a trial: memory is faster, where there is some.
FAST = "/dev/shm" if Path("/dev/shm").is_dir() else None
INSTANCES = 6


def objective(trial: optuna.Trial) -> float:
    """The mean over instances, each a step; some trials fail, are pruned, or keep attributes."""
    x = trial.suggest_float("x", 0, 1)
    kind = trial.suggest_categorical("kind", ["a", "b", None])
    size = trial.suggest_int("size", 1, 5, log=True)
    costs = []
    for instance in range(INSTANCES):
        cost = (x - 0.3) ** 2 + 0.1 * instance * size + 0.2 * (kind == "b")
        trial.report(cost, instance)
        costs.append(cost)
        if trial.number == 4 and instance == 2:
            raise ValueError("a trial that fails")
        if trial.number == 5 and instance == 3:
            raise optuna.TrialPruned
    trial.set_user_attr("costs", {f"i{place}": cost for place, cost in enumerate(costs)})
    return float(np.mean(costs))


@pytest.fixture(scope="module", params=["sqlite", "journal"])
def storage(request: pytest.FixtureRequest) -> Iterator[tuple[Path, Any]]:
    """A storage of a short search, one trial waiting and one running, and what Optuna opens it
    with.
    """
    with tempfile.TemporaryDirectory(dir=FAST) as folder:
        path = Path(folder) / "study.db"
        opened = _storage(request.param, path)
        study = optuna.create_study(
            storage=opened, study_name="s", sampler=optuna.samplers.RandomSampler(seed=1)
        )
        study.enqueue_trial({"x": 0.5, "kind": "b", "size": 3})
        study.optimize(objective, n_trials=7, catch=(ValueError,))
        study.enqueue_trial({"x": 0.5, "kind": "b", "size": 3})
        study.optimize(objective, n_trials=1)
        study.ask()
        study.enqueue_trial({"x": 0.1, "kind": "a", "size": 1})
        yield path, opened


def _storage(kind: str, path: Path) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if kind == "sqlite":
            return optuna.storages.RDBStorage(f"sqlite:///{path}")
        return optuna.storages.JournalStorage(JournalFileBackend(str(path)))


def test_cells_agree_with_optuna(storage: tuple[Path, Any]) -> None:
    """A cost, a parameter or the best trial would differ from what Optuna itself reads."""
    path, opened = storage
    study = optuna.load_study(study_name="s", storage=opened)
    log = import_runs(path)
    ended = [trial for trial in study.trials if trial.state.is_finished()]
    cells: dict[tuple[str, str, int], float] = {}
    for trial in ended:
        # Trial 7 has the parameters of trial 0: its runs are further runs of that configuration.
        name, place = ("0", 1) if trial.number == 7 else (str(trial.number), 0)
        cells |= {(name, str(i), place): cost for i, cost in trial.intermediate_values.items()}
        assert log.parameters[name] == trial.params
    matrix = log.matrix
    assert int(matrix.counts().sum()) == len(cells) == 6 * INSTANCES + 3 + 4
    for (name, step, place), cost in cells.items():
        at = matrix.configurations.index(name), matrix.instances.index(step), place
        assert matrix.costs[at] == cost
    assert log.trajectory.default == "0"
    assert log.trajectory.incumbent in (str(study.best_trial.number), "0")
    assert log.trajectory.raced is True
    states = [trial.state for trial in study.trials]
    assert log.left_out == {
        "trials still running": states.count(TrialState.RUNNING),
        "trials waiting": states.count(TrialState.WAITING),
    }
    assert any("Every step of a trial is taken for an instance" in note for note in log.notes)


def test_user_attributes(storage: tuple[Path, Any]) -> None:
    """Costs in a user attribute would lose the names of their instances."""
    path, opened = storage
    log = import_runs(path, objective="costs")
    assert log.matrix.instances == tuple(f"i{place}" for place in range(INSTANCES))
    for trial in optuna.load_study(study_name="s", storage=opened).trials[:4]:
        row = log.matrix.costs[log.matrix.configurations.index(str(trial.number)), :, 0]
        assert row.tolist() == list(trial.user_attrs["costs"].values())
    assert log.left_out["trials ended without a value"] == 2
    assert "2 trials left out: ended without a value." in log.omissions


def test_one_number_for_a_trial(tmp_path: Path) -> None:
    """Epochs would pass for instances, or a study without instances be judged without a word."""
    path = tmp_path / "study.log"

    def learning(trial: optuna.Trial) -> float:
        rate = trial.suggest_float("rate", 0, 1)
        for epoch in range(4):
            trial.report(rate / (1 + epoch), epoch)
        return float(1 - rate / 4)

    study = optuna.create_study(
        storage=_storage("journal", path),
        direction="maximize",
        sampler=optuna.samplers.RandomSampler(seed=1),
    )
    study.optimize(learning, n_trials=4)
    log = import_runs(path)
    assert log.matrix.instances == ("objective",)
    assert log.matrix.costs[:, 0, 0].tolist() == [-1 * (trial.value or 0) for trial in study.trials]
    assert log.trajectory.incumbent == str(study.best_trial.number)
    for words in ("no per-instance results", "taken for epochs", "costs are negated"):
        assert any(words in note for note in log.notes)
    assert import_runs(path, objective="steps").matrix.shape == (4, 4, 1)


def test_several_studies_and_objectives(tmp_path: Path) -> None:
    """Trials of two studies would be mixed, or one of two objectives be taken without a word."""
    storage = _storage("journal", tmp_path / "two.log")
    for name in ("first", "second"):
        study = optuna.create_study(
            storage=storage, study_name=name, directions=["minimize", "maximize"]
        )
        study.optimize(lambda trial: (trial.suggest_float("x", 0, 1), 2.0), n_trials=2)
    optuna.delete_study(study_name="first", storage=storage)
    with pytest.raises(InputError, match="place of an objective from 0 to 1"):
        import_runs(tmp_path / "two.log")
    assert import_runs(tmp_path / "two.log", objective="1").matrix.costs.ravel().tolist() == [
        -2,
        -2,
    ]
    optuna.create_study(storage=storage, study_name="third")
    with pytest.raises(InputError, match="one of the studies second, third"):
        import_runs(tmp_path / "two.log")
    assert import_runs(tmp_path / "two.log", objective="second/0").matrix.shape == (2, 1, 1)


def test_costs_of_one_of_several_objectives(tmp_path: Path) -> None:
    """Costs in a user attribute would be taken for those of another objective, and be negated with
    it.
    """

    def objective(trial: Any) -> tuple[float, float]:
        x = trial.suggest_float("x", 0, 1)
        trial.set_user_attr("costs", {"i": x, "j": 3 * x})
        return 2 * x, 1 - x

    study = optuna.create_study(
        storage=_storage("journal", tmp_path / "two.log"), directions=["minimize", "maximize"]
    )
    study.optimize(objective, n_trials=3)
    trials = study.trials
    by_instance = import_runs(tmp_path / "two.log", objective="0").matrix
    assert by_instance.costs[:, :, 0].tolist() == [
        [trial.params["x"], 3 * trial.params["x"]] for trial in trials
    ]
    values = import_runs(tmp_path / "two.log", objective="1").matrix
    assert values.costs.ravel().tolist() == [-trial.values[1] for trial in trials]


def test_damaged_storages(tmp_path: Path, storage: tuple[Path, Any]) -> None:
    """A damaged storage would end in a traceback; a last line that was cut off would cost a log."""
    path, _ = storage
    content = path.read_bytes()
    copy = tmp_path / "copy.db"
    if content.startswith(b"SQLite"):
        copy.write_bytes(content)
        with sqlite3.connect(copy) as base:
            base.execute("UPDATE trial_params SET distribution_json = '[1'")
        base.close()
    else:
        copy.write_bytes(content[:-30])
        assert import_runs(copy).matrix.shape == import_runs(path).matrix.shape
        copy.write_bytes(content.replace(b'"op_code":5', b'"op_code":5,'))
    answer = run("import", copy)
    assert answer.returncode == 2
    assert answer.stderr.count("\n") == 1


def test_a_storage_that_is_being_written(tmp_path: Path) -> None:
    """SQLite would repair a file that another process writes, or delete what its journal names."""
    with sqlite3.connect(tmp_path / "other.db") as base:
        base.execute("CREATE TABLE studies (study_id INTEGER)")
    base.close()
    with pytest.raises(InputError, match="a journal of truecost or a storage of Optuna"):
        import_runs(tmp_path / "other.db")
    (tmp_path / "other.db-journal").write_bytes(b"x")
    with pytest.raises(InputError, match=r"other.db-journal is there"):
        import_runs(tmp_path / "other.db")
    assert (tmp_path / "other.db-journal").exists()


def test_values_that_are_not_finite(tmp_path: Path) -> None:
    """An infinite value would be lost, or a run that failed cost nothing."""
    path = tmp_path / "study.log"
    study = optuna.create_study(storage=_storage("journal", path))
    study.optimize(
        lambda trial: float("inf") if trial.number else trial.suggest_float("x", 0, 1), n_trials=2
    )
    assert json.loads(path.read_text().splitlines()[-1])["values"] == [float("inf")]
    log = import_runs(path, low=0, high=5)
    assert log.matrix.costs.max() == 5


def test_costs_that_are_nan(tmp_path: Path) -> None:
    """Runs without a cost would go missing without a word, or take those of their trial along."""

    def kept(trial: optuna.Trial) -> float:
        x = trial.suggest_float("x", 0, 1)
        lost = {2: math.nan, 3: None}.get(trial.number, x)
        trial.set_user_attr("costs", {"a": x, "b": lost, "c": x})
        return x

    log = import_runs(_studied(tmp_path / "s.log", kept))
    assert int(log.matrix.counts().sum()) == 3 * 6 - 2
    assert log.left_out == {"runs whose cost is NaN": 2}


def test_whole_numbers_beyond_floats(tmp_path: Path) -> None:
    """A cost of 400 digits would end in a traceback."""

    def kept(trial: optuna.Trial) -> float:
        x = trial.suggest_float("x", 0, 1)
        trial.set_user_attr("costs", {"a": x, "b": x if trial.number else 10**400})
        return x

    log = import_runs(_studied(tmp_path / "s.log", kept), low=0, high=5)
    assert log.matrix.costs.max() == 5


def test_targets_that_return_when_told_to_prune(tmp_path: Path) -> None:
    """Trials that ended early would pass for runs whose number did not depend on costs."""

    def stopped(trial: optuna.Trial) -> float:
        x = trial.suggest_float("x", 0, 1)
        costs = [x + instance for instance in range(6 if x < 0.5 else 3)]
        for instance, cost in enumerate(costs):
            trial.report(cost, instance)
        return float(np.mean(costs))

    log = import_runs(_studied(tmp_path / "s.log", stopped))
    assert log.matrix.shape[1] == 6
    assert log.trajectory.raced


@pytest.mark.parametrize("total", [np.sum, np.mean])
@pytest.mark.parametrize("by_step", [True, False])
def test_sums_and_single_attributes(tmp_path: Path, total: Any, by_step: bool) -> None:
    """Costs of instances would be taken for epochs, or not be seen at all."""

    def reported(trial: optuna.Trial) -> float:
        x = trial.suggest_float("x", 0, 1)
        trial.set_user_attr("parameters", 17)
        trial.set_user_attr("cost_spread", 3.0)
        for instance in range(4):
            if by_step:
                trial.report(x + instance, instance)
            else:
                trial.set_user_attr(f"cost_i{instance}", x + instance)
        return float(total([x + instance for instance in range(4)]))

    log = import_runs(_studied(tmp_path / "s.log", reported))
    assert log.matrix.shape == (6, 4, 1)
    for name, values in log.parameters.items():
        costs = log.matrix.select(configurations=[name]).costs[0, :, 0]
        assert sorted(costs) == pytest.approx(
            [float(values["x"] or 0) + place for place in range(4)]
        )


def test_names_of_studies_with_slashes(tmp_path: Path) -> None:
    """A study called so could not be named together with an objective."""
    path = _studied(tmp_path / "s.log", lambda trial: trial.suggest_float("x", 0, 1), "a/b")
    _studied(path, lambda trial: trial.suggest_float("x", 0, 1), "c")
    assert import_runs(path, objective="a/b/0").matrix.shape[0] == 6
    with pytest.raises(InputError, match="one of the studies a/b, c"):
        import_runs(path)


def _studied(path: Path, target: Any, name: str = "s") -> Path:
    """A journal file of six random trials."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        storage = optuna.storages.JournalStorage(JournalFileBackend(str(path)))
    sampler = optuna.samplers.RandomSampler(seed=1)
    study = optuna.create_study(storage=storage, study_name=name, sampler=sampler)
    study.optimize(target, n_trials=6)
    return path


def test_a_storage_is_no_journal_of_truecost(storage: tuple[Path, Any]) -> None:
    """A study in SQLite would be refused by `info`, which the other commands read."""
    ended = run("info", storage[0])
    assert ended.returncode == 0, ended.stderr
    assert "Recorded by Optuna" in " ".join(ended.stdout.split())


@pytest.mark.parametrize("kind", ["sqlite", "journal"])
@pytest.mark.parametrize("stored", ["constraints", "constraints:c"])
def test_a_trial_that_violates_a_constraint_does_not_win(
    tmp_path: Path, kind: str, stored: str
) -> None:
    """The winner would be a trial that Optuna itself rejects."""
    path = tmp_path / "study.db"
    study = optuna.create_study(storage=_storage(kind, path), study_name="s")
    for x, limit in ((0.1, 1.0), (0.3, -1.0), (0.5, 0.0)):
        study.add_trial(
            optuna.create_trial(
                params={"x": x},
                distributions={"x": optuna.distributions.FloatDistribution(0, 1)},
                value=x,
                system_attrs={stored: [limit, -1.0] if stored == "constraints" else limit},
            )
        )
    log = import_runs(path)
    assert log.trajectory.incumbent == str(study.best_trial.number) == "1"
    assert log.notes[-1] == "1 trial violates a constraint and cannot be the winner."
    assert log.matrix.configurations == ("0", "1", "2")


def test_trials_are_not_counted_as_runs(tmp_path: Path) -> None:
    """Trials that wait or are running would be added up and called runs."""
    path = tmp_path / "study.db"
    study = optuna.create_study(storage=_storage("journal", path), study_name="s")
    study.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=1)
    study.ask()
    study.enqueue_trial({"x": 0.1})
    text = " ".join(run("audit", path, "--low", 0, "--high", 1).stdout.split())
    assert "2 trials were left out" in text
