"""Makes the tables in trackers/: `python make_trackers.py NAME`, with ray[tune], mlflow or wandb.

Each is the export that the tool's documentation shows. The cost follows from the parameters, so a
test can work out every cell.
"""

import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent / "trackers"
FOLDS = ("f1", "f2", "f3")
DEPTHS = (2, 3, 5)


def cost(depth: int, fold: str) -> float:
    """What a run costs."""
    return (depth - 3) ** 2 / 10 + 0.1 * FOLDS.index(fold) + 0.01


def mlflow_table() -> Any:
    """One run fails before it has a metric."""
    import mlflow

    mlflow.set_tracking_uri("sqlite:///made.db")
    mlflow.set_experiment("runs")
    for depth in DEPTHS:
        for fold in FOLDS:
            try:
                with mlflow.start_run():
                    mlflow.log_params({"depth": depth, "lr": 0.1, "fold": fold, "seed": 1})
                    if (depth, fold) == (5, "f3"):
                        raise RuntimeError
                    mlflow.log_metrics({"rmse": cost(depth, fold), "mae": 1.0})
            except RuntimeError:
                continue
    return mlflow.search_runs()


def wandb_table() -> Any:
    """Offline runs, in the form of W&B's page "Import and export data"."""
    import pandas
    import wandb

    rows = []
    for depth in DEPTHS:
        for fold in FOLDS:
            config = {"depth": depth, "lr": 0.1, "fold": fold, "seed": 1}
            with wandb.init(project="runs", config=config, dir="made", mode="offline") as run:
                run.log({"loss": cost(depth, fold)})
                rows.append({"summary": dict(run.summary), "config": config, "name": run.id})
    return pandas.DataFrame(rows)


def ray_table() -> Any:
    """A grid; one trial fails."""
    from ray import tune

    def train(config: dict[str, Any]) -> None:
        if (config["depth"], config["fold"]) == (5, "f3"):
            raise RuntimeError
        tune.report({"loss": cost(config["depth"], config["fold"])})

    grid = {"depth": tune.grid_search(list(DEPTHS)), "fold": tune.grid_search(list(FOLDS))}
    folder = str(Path("made").absolute())
    where = tune.RunConfig(storage_path=folder, name="runs", verbose=0)
    space = {**grid, "lr": 0.1, "seed": 1}
    return tune.Tuner(train, param_space=space, run_config=where).fit().get_dataframe()


if __name__ == "__main__":
    tables = {"mlflow": mlflow_table, "wandb": wandb_table, "ray": ray_table}
    HERE.mkdir(exist_ok=True)
    for name in sys.argv[1:]:
        # An index is part of W&B's export. Where it was made is nobody's business.
        text = tables[name]().to_csv(index=name == "wandb").replace(str(Path.cwd()), "")
        (HERE / f"{name}.csv").write_text(text)
