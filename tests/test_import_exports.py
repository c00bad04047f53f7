"""Tables that other tools export, RDS files, and formats that are not read but named."""

import pickle
from pathlib import Path

import optuna
import pandas as pd
import polars as pl
import pytest
from commands import run

from truecost import import_runs
from truecost.errors import InputError

DATA = Path(__file__).parent / "data"
RAY = (
    "loss,trial_id,training_iteration,time_total_s,pid,config/lr,config/fold,config/seed\n"
    "0.5,a1,1,2.0,7,0.1,f1,1\n0.25,a2,1,2.0,7,0.1,f2,1\n0.75,a3,1,2.0,7,0.01,f1,1\n"
)
MLFLOW = (
    "run_id,status,start_time,metrics.rmse,metrics.mae,params.depth,params.dataset\n"
    "r1,FINISHED,1,2.5,1,3,x\nr2,FINISHED,1,3.5,1,3,y\nr3,FAILED,1,,,5,x\n"
)
WANDB = (
    "Name,State,config.lr,config.task,summary.loss,summary._runtime\n"
    "run-1,finished,0.1,t1,0.5,9\nrun-2,crashed,0.1,t2,,9\n"
)


@pytest.mark.parametrize(
    ("text", "options", "costs", "parameters"),
    [
        (RAY, {}, [[0.5, 0.25], [0.75, None]], {"lr": "0.1"}),
        (MLFLOW, {"objective": "rmse"}, [[2.5, 3.5], [9, None]], {"depth": "3"}),
        (WANDB, {}, [[0.5, 9]], {"lr": "0.1"}),
    ],
)
def test_exported_tables(
    tmp_path: Path,
    text: str,
    options: dict[str, str],
    costs: list[list[float | None]],
    parameters: dict[str, str],
) -> None:
    """Trials with the same parameters would be different configurations, or a failed one be lost."""
    (tmp_path / "export.csv").write_text(text)
    log = import_runs(tmp_path / "export.csv", low=0, high=9, objective=options.get("objective"))
    assert pl.DataFrame(log.matrix.costs[:, :, 0]).fill_nan(None).rows() == [
        tuple(row) for row in costs
    ]
    assert log.parameters["1"] == parameters
    assert any("are one configuration" in note for note in log.notes)


def test_exports_without_instances(tmp_path: Path) -> None:
    """One number for each trial would be judged as if it said something of instances."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=1))
    study.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=3)
    study.trials_dataframe().to_csv(tmp_path / "trials.csv", index=False)
    (tmp_path / "ray.csv").write_text(RAY.replace("config/fold", "config/width"))
    (tmp_path / "several.csv").write_text(MLFLOW)
    for name, words in (
        ("trials.csv", "no per-instance results"),
        ("ray.csv", "no per-instance results"),
        ("several.csv", "one of the metrics rmse, mae"),
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
