"""SMAC3 with its own intensifier against SMAC3 with ours, on recorded or synthetic matrices.

python -m bench.smac_intensifier [MATRIX ...] [--trials 500] [--seeds 10]

A matrix is a file or the name of an example. Instances are split in halves: SMAC is given one, the
incumbent's cost is its mean over the other. Regret: 0 is the configuration with the least such
cost, 1 the median. Both ways get the same splits, seeds and proposals, rows of the matrix drawn at
random: a space of row numbers has no structure for a model to learn, so SMAC's random facade is the
fair one, and 500 trials take seconds. A second parameter, which does nothing, lets a row be
proposed again, as a copy, when there are fewer rows than proposals. Runs are told without saving:
SMAC writes the whole history after every trial.
"""

import argparse
import logging
import math
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from truecost.examples import load_example
from truecost.matrix import CostMatrix
from truecost.stats.synthetic import runtime_model

FloatArray = NDArray[np.float64]


class Ending(NamedTuple):
    """How one run ended."""

    regret: float
    proposals: int
    runs: int
    seconds: float


def synthetic() -> dict[str, CostMatrix]:
    """Seeds decide in one, what configurations make of an instance in the other."""
    matrices = {}
    for name, within, interaction in (("seeds decide", 0.8, 0.3), ("instances decide", 0.1, 0.6)):
        rng = np.random.default_rng(7)
        model = runtime_model(
            configurations=500,
            rng=rng,
            within_share=within,
            interaction_share=interaction,
            timeout_rate=0.2,
        )
        matrices[name] = model.draw(instances=100, runs=5, rng=rng)
    return matrices


def configured(
    costs: FloatArray, regrets: FloatArray, *, ours: bool, trials: int, seed: int
) -> Ending:
    """One run of SMAC3 on (configurations, instances, runs) of a matrix."""
    from ConfigSpace import ConfigurationSpace, Float, Integer
    from smac import AlgorithmConfigurationFacade, RandomFacade, Scenario
    from smac.acquisition.maximizer import RandomSearch
    from smac.runhistory import TrialValue

    from truecost.smac import AdaptiveIntensifier

    rows, instances, runs = costs.shape
    space = ConfigurationSpace(seed=seed)
    space.add(Integer("row", (0, rows - 1)), Float("copy", (0.0, 1.0)))
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        scenario = Scenario(
            space,
            n_trials=trials,
            instances=[str(i) for i in range(instances)],
            output_directory=Path(folder),
            seed=seed,
        )
        # SMAC's limit of 2000 runs is out of reach with fewer trials, and searching a list of 2000
        # is what takes its time.
        own = AlgorithmConfigurationFacade.get_intensifier(
            scenario, max_config_calls=min(2000, trials)
        )
        smac: Any = RandomFacade(
            scenario,
            intensifier=AdaptiveIntensifier(scenario) if ours else own,
            acquisition_maximizer=RandomSearch(space, challengers=8, seed=seed),
            overwrite=True,
            logging_level=logging.ERROR,
        )
        places: dict[int, int] = {}  # seeds in the order of their coming are the runs of the matrix
        for _ in range(trials):
            info = smac.ask()
            place = places.setdefault(info.seed, len(places)) % runs
            smac.tell(
                info,
                TrialValue(cost=float(costs[info.config["row"], int(info.instance), place])),
                save=False,
            )
        incumbent = smac.intensifier.get_incumbent()
        had = len(smac.runhistory.get_instance_seed_budget_keys(incumbent))
        tried = len(smac.runhistory.get_configs())
    return Ending(float(regrets[incumbent["row"]]), tried, had, time.perf_counter() - start)


def compared(name: str, matrix: CostMatrix, trials: int, seeds: int) -> None:
    if np.isnan(matrix.costs).any():
        raise SystemExit(f"{name}: runs are missing; a matrix with all of them is needed.")
    endings: list[list[Ending]] = [[], []]
    for seed in range(seeds):
        order = np.random.default_rng(seed).permutation(matrix.shape[1])
        half = matrix.shape[1] // 2
        test = matrix.costs[:, order[half:]].mean(axis=(1, 2))
        regrets = (test - test.min()) / (np.median(test) - test.min())
        for ours in (False, True):
            costs = matrix.costs[:, order[:half]]
            endings[ours].append(configured(costs, regrets, ours=ours, trials=trials, seed=seed))
    size = " × ".join(str(n) for n in matrix.shape)
    print(
        f"\n{name}: {size}, {matrix.shape[1] // 2} instances for training, {trials} trials, {seeds} seeds"
    )
    print(f"{'':16}{'regret':>16}{'proposals':>12}{'runs of incumbent':>20}{'seconds':>10}")
    for label, some in zip(("SMAC3's own", "adaptive"), endings, strict=True):
        regret, proposals, runs, seconds = np.array(some).T
        print(
            f"{label:16}{regret.mean():>8.3f} ± {error_of(regret):.3f}{proposals.mean():>12.0f}{runs.mean():>20.0f}"
            f"{seconds.mean():>10.1f}"
        )
    difference = np.array([a.regret - b.regret for b, a in zip(*endings, strict=True)])
    print(
        f"adaptive − own: {difference.mean():+.3f} ± {error_of(difference):.3f}, by seed",
        *np.round(difference, 3),
    )


def error_of(values: FloatArray) -> float:
    return float(values.std(ddof=1)) / math.sqrt(values.size) if values.size > 1 else math.nan


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "matrices",
        nargs="*",
        help="files, or names of examples; two synthetic ones if none is given",
    )
    parser.add_argument("--trials", type=int, default=500)
    parser.add_argument("--seeds", type=int, default=10)
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # SMAC's own
    matrices = {
        name: CostMatrix.load(Path(name)) if Path(name).exists() else load_example(name)
        for name in options.matrices
    }
    for name, matrix in (matrices or synthetic()).items():
        compared(name, matrix, options.trials, options.seeds)


if __name__ == "__main__":
    main()
