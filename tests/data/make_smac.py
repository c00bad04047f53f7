"""Makes the folders in smac/: `python make_smac.py`, with SMAC3.

Each is of a short real run on a target that is arithmetic. Beside each stands, as a table, what
SMAC itself holds of it.
"""

import csv
import logging
import math
import shutil
import time
import warnings
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent / "smac"
INSTANCES = [f"i{number}" for number in range(8)]


def noisy(config: Any, instance: str, seed: int = 0) -> float:
    """Costs in [0, 2.1]; a part of the space crashes."""
    if config["x"] > 0.7:
        raise ValueError("x is too large")
    return float((config["x"] - int(instance[1:]) / 12) ** 2 + (seed % 7) / 10)


def sleeping(config: Any, instance: str, seed: int = 0) -> float:
    """A trial that SMAC has to stop, for every other instance."""
    if int(instance[1:]) % 2:
        time.sleep(1000)
    return float(config["x"]) + seed % 3


def alone(config: Any, seed: int = 0) -> float:
    """A cost without instances, and without noise."""
    return float(math.sin(5 * config["x"]) + (config["c"] == "a") + 0 * seed)


def keep(name: str, smac: Any) -> None:
    """Run it, and keep what it leaves behind and what it holds."""
    smac.optimize()
    made = next(path for path in (HERE / "made").rglob("runhistory.json")).parent
    shutil.rmtree(HERE / name, ignore_errors=True)
    (HERE / name).mkdir()
    for file in ("runhistory", "scenario", "intensifier", "configspace"):
        # Where it was made is nobody's business.
        text = (made / f"{file}.json").read_text().replace(str(HERE.parents[2]), "")
        (HERE / name / f"{file}.json").write_text(text)
    shutil.rmtree(HERE / "made")
    with (HERE / f"{name}.csv").open("w", newline="") as table:
        writer = csv.writer(table, lineterminator="\n")
        writer.writerow(["configuration", "instance", "seed", "cost", "status"])
        for key, value in smac.runhistory.items():
            writer.writerow(
                [key.config_id, key.instance or "", key.seed, repr(value.cost), value.status.name]
            )


def main() -> None:
    """Make all of them."""
    from ConfigSpace import Categorical, ConfigurationSpace
    from smac import (
        AlgorithmConfigurationFacade,
        HyperparameterOptimizationFacade,
        RandomFacade,
        Scenario,
    )

    def space() -> Any:
        made = ConfigurationSpace({"x": (0.0, 1.0)}, seed=1)
        made.add(Categorical("c", ["a", "b"]))
        return made

    common: dict[str, Any] = {"output_directory": HERE / "made", "name": "run", "seed": 3}
    quiet: dict[str, Any] = {"overwrite": True, "logging_level": logging.CRITICAL}
    features = {name: [float(place)] for place, name in enumerate(INSTANCES)}
    scenario = Scenario(
        space(),
        n_trials=60,
        instances=INSTANCES,
        instance_features=features,
        crash_cost=3.0,
        **common,
    )
    keep("instances", AlgorithmConfigurationFacade(scenario, noisy, **quiet))
    scenario = Scenario(space(), n_trials=25, deterministic=True, **common)
    keep("deterministic", HyperparameterOptimizationFacade(scenario, alone, **quiet))
    scenario = Scenario(
        space(), n_trials=8, instances=INSTANCES[:4], trial_walltime_limit=1, **common
    )
    keep("timeouts", RandomFacade(scenario, sleeping, **quiet))


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        main()
