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
from imports import codes, load, said, statuses, write
from optuna.storages.journal import JournalFileBackend
from optuna.trial import TrialState

from truecost.errors import InputError
from truecost.runs import NO_INSTANCE, Status

optuna.logging.set_verbosity(optuna.logging.ERROR)
# SQLite waits for the disk after every operation of a trial: memory is faster, where there is some.
FAST = "/dev/shm" if Path("/dev/shm").is_dir() else None
INSTANCES = 6


def target(trial: optuna.Trial) -> float:
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


def storage_of(kind: str, path: Path) -> Any:
    """A new storage of Optuna in a file."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if kind == "sqlite":
            return optuna.storages.RDBStorage(f"sqlite:///{path}")
        return optuna.storages.JournalStorage(JournalFileBackend(str(path)))


@pytest.fixture(scope="module", params=["sqlite", "journal"])
def storage(request: pytest.FixtureRequest) -> Iterator[tuple[Path, Any]]:
    """A storage of a short search, one trial waiting and one running, and Optuna's own study."""
    with tempfile.TemporaryDirectory(dir=FAST) as folder:
        # A name that a URL would misread.
        path = Path(folder) / "a study?mode=rw#1%20.db"
        opened = storage_of(
            "journal" if request.param == "journal" else "sqlite", Path(folder) / "s"
        )
        sampler = optuna.samplers.RandomSampler(seed=1)
        study = optuna.create_study(storage=opened, study_name="s", sampler=sampler)
        study.enqueue_trial({"x": 0.5, "kind": "b", "size": 3})
        study.optimize(target, n_trials=7, catch=(ValueError,))
        study.enqueue_trial({"x": 0.5, "kind": "b", "size": 3})
        study.optimize(target, n_trials=1)
        study.ask()
        study.enqueue_trial({"x": 0.1, "kind": "a", "size": 1})
        path.write_bytes((Path(folder) / "s").read_bytes())
        yield path, study


def test_cells_agree_with_optuna(storage: tuple[Path, Any]) -> None:
    """A cost, a parameter or the best trial would differ from what Optuna itself reads."""
    path, study = storage
    log = load(path, steps_are="instances")
    ended = [trial for trial in study.trials if trial.state.is_finished()]
    cells: dict[tuple[str, str, int], float] = {}
    for trial in ended:
        # Trial 7 has the parameters of trial 0: its runs are further runs of that configuration.
        name, place = ("0", 1) if trial.number == 7 else (str(trial.number), 0)
        cells |= {(name, str(i), place): cost for i, cost in trial.intermediate_values.items()}
        assert log.parameters[name] == trial.params
    matrix = log.runs
    assert int(matrix.counts().sum()) == len(cells) == 6 * INSTANCES + 3 + 4
    for (name, step, place), cost in cells.items():
        at = matrix.configurations.index(name), matrix.instances.index(step), place
        assert matrix.costs[at] == cost
    assert log.default == "0"
    assert log.incumbent == ("0" if study.best_trial.number == 7 else str(study.best_trial.number))
    assert log.adaptive
    states = [trial.state for trial in study.trials]
    assert states.count(TrialState.RUNNING) == states.count(TrialState.WAITING) == 1
    assert codes(log).count("left out") == 2


def test_costs_by_instance(storage: tuple[Path, Any]) -> None:
    """Costs in the user attribute would lose the names of their instances, or a trial of a study in
    memory be read otherwise than one in a file.
    """
    path, study = storage
    log = load(path)
    assert log.runs.instances == tuple(f"i{place}" for place in range(INSTANCES))
    for trial in study.trials[:4]:
        row = log.runs.costs[log.runs.configurations.index(str(trial.number)), :, 0]
        assert row.tolist() == list(trial.user_attrs["costs"].values())
    in_memory = load(study)
    assert in_memory.runs == log.runs
    assert in_memory.caveats == log.caveats


def test_nothing_is_written(storage: tuple[Path, Any]) -> None:
    """Reading a study would change its file, or leave others beside it."""
    path, _ = storage
    before = path.read_bytes(), sorted(path.parent.iterdir())
    load(path)
    assert (path.read_bytes(), sorted(path.parent.iterdir())) == before


def studied(
    path: Path, objective: Any, name: str = "s", trials: int = 6, **options: Any
) -> tuple[Path, Any]:
    """A journal file of random trials."""
    sampler = options.pop("sampler", optuna.samplers.RandomSampler(seed=1))
    study = optuna.create_study(
        storage=storage_of("journal", path), study_name=name, sampler=sampler, **options
    )
    study.optimize(objective, n_trials=trials)
    return path, study


def test_steps_are_instances_only_if_told(tmp_path: Path) -> None:
    """Epochs would pass for instances, or a study without instances be judged without a word."""

    def learning(trial: optuna.Trial) -> float:
        rate = trial.suggest_float("rate", 0, 1)
        for epoch in range(4):
            trial.report(rate / (1 + epoch), epoch)
        return float(1 - rate / 4)

    path, study = studied(tmp_path / "s", learning, trials=4, direction="maximize")
    log = load(path)
    assert log.runs.instances == (NO_INSTANCE,)
    assert log.runs.costs[:, 0, 0].tolist() == [-1 * trial.value for trial in study.trials]
    assert log.incumbent == str(study.best_trial.number)
    assert log.maximised
    assert {"no instances", "steps", "maximised"} <= set(codes(log))
    ranged = load(path, high=1.0).runs
    np.testing.assert_allclose(ranged.costs[:, 0, 0], [1 - trial.value for trial in study.trials])
    assert load(path, steps_are="instances").runs.shape == (4, 4, 1)
    plain, _ = studied(tmp_path / "p", lambda trial: trial.suggest_float("x", 0, 1))
    with pytest.raises(InputError, match="--steps-are"):
        load(plain, steps_are="instances")


def test_several_studies_and_objectives(tmp_path: Path) -> None:
    """Trials of two studies would be mixed, one of two objectives be taken without a word, or costs
    of instances be taken for those of another objective.
    """

    def both(trial: Any) -> tuple[float, float]:
        x = trial.suggest_float("x", 0, 1)
        trial.set_user_attr("costs", {"i": x, "j": 3 * x})
        return 2 * x, 1 - x

    path, study = studied(
        tmp_path / "two", both, "a/b", trials=3, directions=["minimize", "maximize"]
    )
    with pytest.raises(InputError, match="--objective: 0, 1"):
        load(path)
    by_instance = load(path, objective="0").runs
    xs = [trial.params["x"] for trial in study.trials]
    assert by_instance.costs[:, :, 0].tolist() == [[x, 3 * x] for x in xs]
    values = load(path, objective="1").runs
    assert values.costs.ravel().tolist() == [-trial.values[1] for trial in study.trials]
    studied(path, lambda trial: trial.suggest_float("x", 0, 1), "c")
    with pytest.raises(InputError, match="a/b, c"):
        load(path)
    assert load(path, objective="a/b/0").runs == by_instance
    assert load(path, objective="c").runs.shape == (6, 1, 1)
    with pytest.raises(InputError, match="2 studies"):
        load(path, objective="d")


def test_pruned_and_failed_trials_never_win(tmp_path: Path) -> None:
    """The winner would be a trial that has not run on all instances."""

    def target(trial: Any) -> float:
        x = trial.suggest_float("x", 0, 1)
        trial.set_user_attr("costs", {"a": x - 10 * (trial.number < 2)})
        if trial.number == 0:
            trial.report(-100.0, 0)  # Optuna takes it for the value of a trial that is pruned
            raise optuna.TrialPruned
        return math.nan if trial.number == 1 else float(x)

    path, study = studied(tmp_path / "s", target)
    log = load(path)
    assert log.incumbent == str(study.best_trial.number) not in ("0", "1")
    assert set(log.runs.configurations) == {str(number) for number in range(6)}
    assert all(step.configuration not in ("0", "1") for step in log.steps)
    only_pruned, _ = studied(tmp_path / "p", target, trials=2)
    with pytest.raises(InputError, match="no winner"):
        load(only_pruned)


def test_failed_trials_are_charged(tmp_path: Path) -> None:
    """A trial that failed would be dropped, or cost nothing."""

    def target(trial: Any) -> float:
        x = trial.suggest_float("x", 0, 1)
        return {2: math.inf, 3: math.nan}.get(trial.number, float(x))

    log = load(studied(tmp_path / "s", target)[0], low=0.0, high=5.0)
    assert log.runs.costs[2:4].ravel().tolist() == [5, 5]
    assert statuses(log.runs)[3, 0, 0] == Status.CRASHED
    assert "failed" in codes(log)


@pytest.mark.parametrize("stored", ["constraints", "constraints:c"])
def test_infeasible_trials_never_win(stored: str) -> None:
    """The winner would be a trial that Optuna itself rejects."""
    study = optuna.create_study(study_name="s")
    for x, limit in ((0.1, 1.0), (0.3, -1.0), (0.5, 0.0)):
        study.add_trial(
            optuna.create_trial(
                params={"x": x},
                distributions={"x": optuna.distributions.FloatDistribution(0, 1)},
                value=x,
                system_attrs={stored: [limit, -1.0] if stored == "constraints" else limit},
            )
        )
    log = load(study)
    assert log.incumbent == "1"
    assert "infeasible" in codes(log)
    assert log.runs.configurations == ("0", "1", "2")


@pytest.mark.parametrize("lost", [math.nan, None])
def test_costs_that_are_missing(tmp_path: Path, lost: float | None) -> None:
    """Runs without a cost would go missing without a word, or take those of their trial along."""

    def kept(trial: optuna.Trial) -> float:
        x = trial.suggest_float("x", 0, 1)
        trial.set_user_attr("costs", {"a": x, "b": lost if trial.number == 2 else x, "c": x})
        return x

    log = load(studied(tmp_path / "s", kept)[0])
    assert int(log.runs.counts().sum()) == 3 * 6 - 1
    assert "Left out: 1 run" in said(log)


@pytest.mark.parametrize("costs", [[1.0, 2.0], {"a": "1.0"}, 3.0, {"a": True}])
def test_costs_that_are_none(tmp_path: Path, costs: Any) -> None:
    """An attribute that holds something else would be taken for costs, or be ignored."""

    def kept(trial: optuna.Trial) -> float:
        trial.set_user_attr("costs", costs)
        return trial.suggest_float("x", 0, 1)

    with pytest.raises(InputError, match="'costs' of trial 0"):
        load(studied(tmp_path / "s", kept)[0])


def test_whole_numbers_beyond_floats(tmp_path: Path) -> None:
    """A cost of 400 digits would end in a traceback."""

    def kept(trial: optuna.Trial) -> float:
        x = trial.suggest_float("x", 0, 1)
        trial.set_user_attr("costs", {"a": x, "b": x if trial.number else 10**400})
        return x

    assert load(studied(tmp_path / "s", kept)[0], low=0.0, high=5.0).runs.costs.max() == 5


def test_which_enqueued_trial_is_the_default() -> None:
    """One of several enqueued trials would be called the default without a word."""
    study = optuna.create_study(study_name="s", sampler=optuna.samplers.RandomSampler(seed=1))
    for x in (0.5, 0.25):
        study.enqueue_trial({"x": x})
    study.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=1)
    assert load(study).default == "0"
    study.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=3)
    log = load(study)
    assert log.default is None
    assert "default" in codes(log)
    assert load(study, default="1").default == "1"
    # A user who has named it would be told to name it.
    assert "default" not in codes(load(study, default="1"))


def test_a_storage_that_is_being_written(tmp_path: Path) -> None:
    """SQLite would repair a file that another process writes, or delete what its journal names."""
    with sqlite3.connect(tmp_path / "other.db") as base:
        base.execute("CREATE TABLE studies (study_id INTEGER)")
    base.close()
    with pytest.raises(InputError, match="no storage of Optuna"):
        load(tmp_path / "other.db")
    for ending in ("-journal", "-wal"):
        beside = write(tmp_path / f"other.db{ending}", b"x")
        with pytest.raises(InputError, match=f"other.db{ending}"):
            load(tmp_path / "other.db")
        assert beside.exists()
        beside.unlink()


ENDLESS = (
    "create view trial_user_attributes as with recursive c(x) as (select 1 union all select x + 1 "
    "from c) select 1 as trial_id, x as key, '1' as value_json from c"
)


@pytest.mark.parametrize("storage", ["sqlite"], indirect=True)
@pytest.mark.parametrize(
    "statement",
    [
        ENDLESS,
        "update trial_params set distribution_json = '[1'",
        "update trials set state = 'DONE'",
        "drop table version_info",
        "drop table trial_user_attributes",
        "delete from studies",
        "update study_directions set direction = 7",
    ],
)
def test_damaged_storages(tmp_path: Path, storage: tuple[Path, Any], statement: str) -> None:
    """A damaged storage would end in a traceback, or one with a view hang for ever."""
    path = write(tmp_path / "copy.db", storage[0].read_bytes())
    with sqlite3.connect(path) as base:
        if statement == ENDLESS:
            base.execute("drop table trial_user_attributes")
        base.execute(statement)
    base.close()
    try:
        load(path)
    except InputError as error:
        assert "\n" not in str(error)  # noqa: PT017 - some of these can be read


@pytest.mark.parametrize("storage", ["journal"], indirect=True)
def test_damaged_journals(tmp_path: Path, storage: tuple[Path, Any]) -> None:
    """A damaged journal file would end in a traceback."""
    content = storage[0].read_bytes()
    for spoilt in (content.replace(b'"op_code":5', b'"op_code":5,'), content + b"{}\n{}\n"):
        with pytest.raises(InputError) as caught:
            load(write(tmp_path / "copy.log", spoilt))
        assert "\n" not in str(caught.value)
