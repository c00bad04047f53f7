"""Makes the folders in smac1/: `python make_smac1.py`, with smac 1.4, ConfigSpace 0.6, Python 3.9.

Beside each stands, as a table, what SMAC itself holds of it.
"""

import csv
import logging
import shutil
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent / "smac1"
FILES = ("runhistory.json", "scenario.txt", "traj.json", "configspace.json")


def noisy(config: Any, instance: str, seed: int) -> float:
    """Costs in [0, 1.6]; a part of the space crashes."""
    if config["x"] > 0.8:
        raise ValueError("x is too large")
    return float((config["x"] - int(instance[1:]) / 12) ** 2 + (seed % 7) / 10)


def sleeping(config: Any, instance: str, seed: int) -> float:
    """A running time, which SMAC measures and caps."""
    time.sleep(0.05 + config["x"] ** 2 * int(instance[1:]) * 1.5 + 0 * seed)
    return 0.0


def keep(name: str, target: Any, **options: Any) -> None:
    """Run SMAC, and keep what it leaves behind and what it holds."""
    import numpy as np
    from ConfigSpace import ConfigurationSpace
    from ConfigSpace.hyperparameters import CategoricalHyperparameter, UniformFloatHyperparameter
    from smac.facade.smac_ac_facade import SMAC4AC
    from smac.scenario.scenario import Scenario

    space = ConfigurationSpace(seed=1)
    x = UniformFloatHyperparameter("x", 0, 1, default_value=0.5)
    space.add_hyperparameters([x, CategoricalHyperparameter("c", ["a", "b"])])
    instances = [[f"i{number}"] for number in range(8)]
    common = {"cs": space, "instances": instances, "output_dir": "made", "deterministic": "false"}
    scenario = Scenario({**common, **options})
    smac = SMAC4AC(scenario=scenario, rng=np.random.RandomState(3), tae_runner=target)
    smac.optimize()
    (HERE / name).mkdir(parents=True, exist_ok=True)
    for file in FILES:
        text = (Path(smac.output_dir) / file).read_text()
        # Where it was made is nobody's business.
        (HERE / name / file).write_text(text.replace(f"{smac.output_dir}/", ""))
    shutil.rmtree("made")
    with (HERE / f"{name}.csv").open("w", newline="") as table:
        writer = csv.writer(table, lineterminator="\n")
        writer.writerow(["configuration", "instance", "seed", "cost", "time", "status"])
        for key, value in smac.runhistory.data.items():
            row = key.config_id, key.instance_id, key.seed, repr(value.cost), repr(value.time)
            writer.writerow([*row, value.status.name])


if __name__ == "__main__":
    logging.disable(logging.CRITICAL)
    keep("quality", noisy, run_obj="quality", **{"runcount-limit": 60})
    limits = {"cutoff_time": 3, "limit_resources": True, "runcount-limit": 30}
    keep("runtime", sleeping, run_obj="runtime", **limits)
