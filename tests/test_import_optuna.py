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
from imports import codes, load, refused, sentences, statuses, write
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


def trial(x: float, state: TrialState = TrialState.COMPLETE, **fields: Any) -> Any:
    """A trial of one parameter, whose value it is."""
    space: Any = {"x": optuna.distributions.FloatDistribution(0, 1)}
    if not {"value", "values"} & fields.keys():
        fields["value"] = None if state == TrialState.FAIL else x
    return optuna.create_trial(params={"x": x}, distributions=space, state=state, **fields)


def study_of(*trials: Any, **options: Any) -> Any:
    """A study with these trials."""
    study = optuna.create_study(study_name=options.pop("study_name", "s"), **options)
    study.add_trials(trials)
    return study


def with_costs(*costs: Any, **fields: Any) -> Any:
    """A study whose trials have these costs."""
    numbers = enumerate(costs)
    return study_of(*(trial(n / 10, user_attrs={"costs": c}, **fields) for n, c in numbers))


def test_steps_are_instances_only_if_told() -> None:
    """Epochs would pass for instances, or a study without instances be judged without a word."""
    xs = [0.5, 0.25, 0.75]
    trials = (trial(x, intermediate_values={0: x / 2, 1: x}) for x in xs)
    study = study_of(*trials, direction="maximize")
    log = load(study)
    assert log.runs.instances == (NO_INSTANCE,)
    assert log.runs.costs.ravel().tolist() == [-x for x in xs]
    assert (log.incumbent, log.maximised) == (str(study.best_trial.number), True)
    assert {"no instances", "steps", "maximised"} <= set(codes(log))
    assert load(study, high=1.0).runs.costs.ravel().tolist() == [1 - x for x in xs]
    assert load(study, steps_are="instances").runs.shape == (3, 2, 1)
    assert "--steps-are" in refused(study_of(trial(0.5)), steps_are="instances")


def test_several_studies_and_objectives(tmp_path: Path) -> None:
    """Trials of two studies would be mixed, one of two objectives be taken without a word, or costs
    of instances be taken for those of another objective.
    """
    storage = storage_of("journal", tmp_path / "two")
    attributes = {"costs": {"i": 0.5, "j": 0.75}}
    trials = [trial(x, values=[2 * x, 1 - x], user_attrs=attributes) for x in (0.25, 0.5)]
    directions = ["minimize", "maximize"]
    study = study_of(*trials, storage=storage, study_name="a/b", directions=directions)
    assert "--objective: 0, 1" in refused(study)
    first = load(study, objective="0").runs
    assert first.costs.ravel().tolist() == [0.5, 1]
    second = load(study, objective="1").runs
    assert second.costs.ravel().tolist() == [-0.75, -0.5]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        study.set_metric_names(["time", "quality"])
    assert "--objective: time, quality" in refused(study)
    for wanted in ("quality", "1"):
        assert load(study, objective=wanted).runs == second
    study_of(trial(0.5), storage=storage, study_name="c")
    assert "a/b, c" in refused(tmp_path / "two")
    assert load(tmp_path / "two", objective="a/b/0").runs == first
    assert load(tmp_path / "two", objective="c").runs.shape == (1, 1, 1)
    assert "2 studies" in refused(tmp_path / "two", objective="d")


def test_pruned_and_failed_trials_never_win() -> None:
    """The winner would be a trial that has not run on all instances."""
    # Optuna takes a step for the value of a trial that is pruned.
    states = {TrialState.PRUNED: -100.0, TrialState.FAIL: None}
    bad = [
        trial(0.1, state, value=value, user_attrs={"costs": {"a": -9.0}})
        for state, value in states.items()
    ]
    good = [trial(x, user_attrs={"costs": {"a": x}}) for x in (0.5, 0.25)]
    log = load(study_of(*bad, *good))
    assert log.incumbent == "3"
    assert log.runs.configurations == ("0", "2", "3")
    assert [step.configuration for step in log.steps] == ["2", "3"]
    assert "no winner" in refused(study_of(*bad))


def test_failed_trials_are_charged() -> None:
    """A trial that failed would be dropped, or cost nothing."""
    study = study_of(trial(0.5), trial(0.25, value=math.inf), trial(0.75, TrialState.FAIL))
    log = load(study, low=0.0, high=5.0)
    assert log.runs.costs.ravel().tolist() == [0.5, 5, 5]
    assert statuses(log.runs)[2, 0, 0] == Status.CRASHED
    assert "penalty" in codes(log)


@pytest.mark.parametrize("stored", ["constraints", "constraints:c"])
def test_infeasible_trials_never_win(stored: str) -> None:
    """The winner would be a trial that Optuna itself rejects."""
    attributes = (
        (x, {stored: [limit, -1.0] if stored == "constraints" else limit})
        for x, limit in ((0.1, 1.0), (0.3, -1.0), (0.5, 0.0))
    )
    log = load(study_of(*(trial(x, system_attrs=stored) for x, stored in attributes)))
    assert log.incumbent == "1"
    assert "infeasible" in codes(log)
    assert log.runs.configurations == ("0", "1", "2")


@pytest.mark.parametrize("lost", [math.nan, None])
def test_costs_that_are_missing(lost: float | None) -> None:
    """Runs without a cost would go missing without a word, or take those of their trial along."""
    log = load(with_costs({"a": 1.0, "b": 2.0}, {"a": 1.0, "b": lost}))
    assert int(log.runs.counts().sum()) == 3
    assert "Left out: 1 run" in sentences(log)
    # A whole number beyond floats.
    assert load(with_costs({"a": 1}, {"a": 10**400}), high=5.0).runs.costs.max() == 5


@pytest.mark.parametrize("costs", [[1.0, 2.0], {"a": "1.0"}, 3.0, {"a": True}])
def test_costs_that_are_none(costs: Any) -> None:
    """An attribute that holds something else would be taken for costs, or be ignored."""
    assert "'costs' of trial 0" in refused(with_costs(costs))


def test_which_enqueued_trial_is_the_default() -> None:
    """One of several enqueued trials would be called the default without a word."""
    enqueued = [trial(x, system_attrs={"fixed_params": {"x": x}}) for x in (0.5, 0.25)]
    assert load(study_of(enqueued[0], trial(0.125))).default == "0"
    study = study_of(*enqueued, trial(0.125))
    log = load(study)
    assert log.default is None
    assert "default" in codes(log)
    # A user who has named it would be told to name it.
    log = load(study, default="1")
    assert log.default == "1"
    assert "default" not in codes(log)


def test_a_storage_that_is_being_written(tmp_path: Path) -> None:
    """SQLite would repair a file that another process writes, or delete what its journal names."""
    with sqlite3.connect(tmp_path / "other.db") as base:
        base.execute("CREATE TABLE studies (study_id INTEGER)")
    base.close()
    assert "no storage of Optuna" in refused(tmp_path / "other.db")
    for ending in ("-journal", "-wal"):
        beside = write(tmp_path / f"other.db{ending}", b"x")
        assert f"other.db{ending}" in refused(tmp_path / "other.db")
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
        refused(write(tmp_path / "copy.log", spoilt))
