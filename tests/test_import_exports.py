"""Tables that other tools export, RDS files, and formats that are not read but named."""

import math
import pickle
import re
import sys
from pathlib import Path

import optuna
import pandas as pd
import polars as pl
import pytest
from commands import run

from truecost import import_runs
from truecost.errors import InputError

DATA = Path(__file__).parent / "data"
sys.path.insert(0, str(DATA))
import make_trackers  # noqa: E402

TRACKERS = DATA / "trackers"
RAY = (
    "loss,trial_id,training_iteration,time_total_s,pid,config/lr,config/fold,config/seed\n"
    "0.5,a1,1,2.0,7,0.1,f1,1\n0.25,a2,1,2.0,7,0.1,f2,1\n0.75,a3,1,2.0,7,0.01,f1,1\n"
)


# The tool, the metric that is asked for, and what a failed run costs where one failed.
EXPORTS = [("mlflow", "rmse", [9.0]), ("wandb", None, None), ("ray", None, [math.nan])]


def check(source: object, objective: str | None, failed: list[float] | None) -> None:
    """Compare every cell of an export with the run that it is of."""
    log = import_runs(source, low=0, high=9, objective=objective)
    assert sorted(log.parameters) == ["1", "2", "3"]
    assert sorted(log.matrix.instances) == ["f1", "f2", "f3"]
    for configuration, values in log.parameters.items():
        assert values.keys() == {"depth", "lr"}
        i = log.matrix.configurations.index(configuration)
        for j, fold in enumerate(log.matrix.instances):
            expected = [make_trackers.cost(int(str(values["depth"])), fold)]
            if failed is not None and (str(values["depth"]), fold) == ("5", "f3"):
                expected = failed
            costs = log.matrix.costs[i, j].tolist()
            assert costs == pytest.approx(expected, abs=1e-12, nan_ok=True)
    assert any("are one configuration" in note for note in log.notes)


@pytest.mark.parametrize(("name", "objective", "failed"), EXPORTS)
@pytest.mark.parametrize("packing", ["csv", "parquet", "frame"])
def test_exported_tables(
    tmp_path: Path, name: str, objective: str | None, failed: list[float] | None, packing: str
) -> None:
    """A cell of a real export would have another cost than the run, or a failed run be lost."""
    source: Path | pd.DataFrame = TRACKERS / f"{name}.csv"
    if packing == "parquet":
        pl.read_csv(source).write_parquet(tmp_path / "runs.parquet")
        source = tmp_path / "runs.parquet"
    elif packing == "frame":
        source = pd.read_csv(source)
    check(source, objective, failed)


@pytest.mark.tools
@pytest.mark.filterwarnings("default")  # theirs
@pytest.mark.parametrize(("name", "objective", "failed"), EXPORTS)
def test_exports_made_here(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    objective: str | None,
    failed: list[float] | None,
) -> None:
    """What the tool that is installed exports would not be read."""
    pytest.importorskip(name)
    monkeypatch.chdir(tmp_path)
    getattr(make_trackers, f"{name}_table")().to_csv("runs.csv", index=name == "wandb")
    check(tmp_path / "runs.csv", objective, failed)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Name,State,Created,Runtime,Sweep,lr,loss\nr,finished,1,2,,0.1,0.5\n", "wandb.Api()"),
        ("summary,config\n{},{}\n", "expected a table"),
        ("summary,config\n\"{'loss': nan}\",\"{'fold': 'a'}\"\n", "metrics"),
        ("loss,trial_id,config/fold\n1,a,f1\n2,b,f2\n", ""),
    ],
)
def test_exports_that_say_too_little(tmp_path: Path, text: str, words: str) -> None:
    """A table that does not tell parameters from results would be read as something else."""
    (tmp_path / "export.csv").write_text(text)
    if not words:
        # Nothing but the fold varies: one configuration.
        assert import_runs(tmp_path / "export.csv").matrix.costs.tolist() == [[[1], [2]]]
        return
    with pytest.raises(InputError, match=re.escape(words)):
        import_runs(tmp_path / "export.csv")


def test_exports_without_instances(tmp_path: Path) -> None:
    """One number for each trial would be judged as if it said something of instances."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=1))
    study.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=3)
    study.trials_dataframe().to_csv(tmp_path / "trials.csv", index=False)
    (tmp_path / "ray.csv").write_text(RAY.replace("config/fold", "config/width"))
    for name, words in (
        ("trials.csv", "no per-instance results"),
        ("ray.csv", "no per-instance results"),
        (TRACKERS / "mlflow.csv", "one of the metrics rmse, mae"),
    ):
        answer = run("import", tmp_path / name)
        assert answer.returncode == 2
        assert words in answer.stderr
        assert answer.stderr.count("\n") == 1


def test_data_frames_that_r_saved() -> None:
    """A factor would be read as numbers, or a missing cost as a number."""
    for name in ("runs.rds", "plain.rds"):
        log = import_runs(DATA / "rds" / name, cutoff=10, par=2)
        assert log.matrix.configurations == ("fast", "slow")
        assert log.matrix.costs[:, :, 0].tolist() == [[1.5, 2, 20], [3, 4.25, 5]]
    with pytest.raises(InputError, match="expected a data frame"):
        import_runs(DATA / "rds" / "other.rds")


def test_rds_files_that_are_damaged(tmp_path: Path) -> None:
    """A file that was cut off would end in a traceback."""
    content = (DATA / "rds" / "plain.rds").read_bytes()
    for size in (3, 14, 30, 100, len(content) - 5):
        (tmp_path / "cut.rds").write_bytes(content[:size])
        answer = run("import", tmp_path / "cut.rds")
        assert answer.returncode == 2
        assert answer.stderr.count("\n") == 1


def test_formats_that_are_not_read_are_named(tmp_path: Path) -> None:
    """A pickle would be called a damaged table, or be opened."""
    study = optuna.create_study()
    for value, words in (
        (study, "a pickle of Optuna: export the study into a storage"),
        (pd.DataFrame({"a": [1]}), "a pickle of pandas"),
        ({"a": 1}, "a pickle, which is never opened"),
    ):
        (tmp_path / "file").write_bytes(pickle.dumps(value, protocol=4))
        with pytest.raises(InputError, match=words):
            import_runs(tmp_path / "file")
    (tmp_path / "file").write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(50))
    with pytest.raises(InputError, match="an HDF5 file"):
        import_runs(tmp_path / "file")


def test_pruned_trials_are_left_out_of_a_table_as_of_a_storage(tmp_path: Path) -> None:
    """The same study would charge pruned trials if it comes as a table, and not as a storage."""

    def objective(trial: optuna.Trial) -> float:
        depth = trial.suggest_int("depth", 1, 2)
        trial.suggest_categorical("instance", ["x", "y"])
        trial.report(9.0, 0)
        if trial.number == 2:
            raise optuna.TrialPruned
        return float(depth)

    study = optuna.create_study(
        sampler=optuna.samplers.GridSampler({"depth": [1, 2], "instance": ["x", "y"]}, seed=1)
    )
    study.optimize(objective, n_trials=4)
    study.trials_dataframe().to_csv(tmp_path / "trials.csv", index=False)
    log = import_runs(tmp_path / "trials.csv", low=0, high=9)
    assert int(log.matrix.counts().sum()) == 3
    assert log.omissions == ["1 trial left out: pruned, running or waiting."]
