"""Configurators replayed on recorded runs, tables of bench/RESULTS.md.

`python -m bench.replaying [REPETITIONS] [seconds] [paper | fresh | lists]`: on the examples of the
package and on four matrices of the runtime model, within- or across-dominated, with few or many
timeouts; on such four of the paper's size; on matrices that are drawn afresh, 40 of each model,
which share nothing between the halves of a split but the configurations; or on lists of 20 to 60
configurations with 5 % of all runs, where a budget has only a few runs for each.
"""

import dataclasses
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor

import numpy as np

from truecost import examples
from truecost.matrix import CostMatrix
from truecost.race import policy as race
from truecost.race import replay
from truecost.stats.synthetic import runtime_model

MODELS = {
    "within, easy": {"within_share": 0.85, "timeout_rate": 0.1},
    "within, hard": {"within_share": 0.85, "timeout_rate": 0.5},
    "across, easy": {"within_share": 0.1, "timeout_rate": 0.1},
    "across, hard": {"within_share": 0.1, "timeout_rate": 0.5},
}


def drawn(name: str, size: int, seed: int = 7) -> CostMatrix:
    rng = np.random.default_rng(seed)
    return runtime_model(configurations=size, rng=rng, **MODELS[name]).draw(
        instances=size, runs=5, rng=rng
    )


def matrices(size: str) -> Iterator[str]:
    if not size:
        yield from examples.names()
    yield from MODELS


def play(name: str, repetitions: int, seconds: bool, size: str) -> tuple[str, replay.Replay, float]:
    start = time.perf_counter()
    if name in examples.names():
        some = [examples.load_example(name)]
    else:
        some = [
            drawn(name, 500 if size == "paper" else 50, seed)
            for seed in range(7, 47 if size == "fresh" else 8)
        ]
    rng = np.random.default_rng(1)
    parts = [
        replay.replay(
            matrix,
            rng=rng,
            repetitions=max(2, repetitions // len(some)),
            cutoff=matrix.high / 10 if seconds else None,
        )
        for matrix in some
    ]
    played = dataclasses.replace(
        parts[0],
        regret=np.concatenate([part.regret for part in parts]),
        missed=np.sum([part.missed for part in parts], axis=0),
    )
    return name, played, time.perf_counter() - start


def deciding() -> None:
    """What a decision costs with 1,000 configurations in the race."""
    rng = np.random.default_rng(1)
    costs = runtime_model(configurations=1000, rng=rng).draw(instances=100, runs=2, rng=rng).costs
    order = race.schedule(100, 2, rng)
    training = costs[:, order.instances, order.numbers]
    start = time.perf_counter()
    _, counts = replay.run_race(replay.Course(training), order, 20_000, 0.0)
    spent = time.perf_counter() - start
    print(
        f"\nDeciding with 1,000 configurations: {1e6 * spent / counts.sum():.1f} µs a run, {counts.sum():,} runs"
    )


def replaying(repetitions: int, seconds: bool = False, size: str = "") -> None:
    charged = "seconds" if seconds else "runs"
    print(f"\nReplay, {repetitions:,} repetitions, budgets in {charged}{size and ', '}{size}:")
    print(
        "regret on the test half, ± one standard error; differences are ours minus theirs, paired\n"
    )
    print(
        "| matrix | budget | truecost | best fixed N | all runs | − SMAC3's rule | − t-test race | − halving | missed |"
    )
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    wins: dict[str, list[bool]] = {replay.SMAC: [], replay.STUDENT: []}
    average: dict[str, list[float]] = {rule: [] for rule in (replay.OURS, *wins)}
    within: list[bool] = []
    with ProcessPoolExecutor(2) as pool:
        names = list(matrices(size))
        for name, played, spent in pool.map(
            play, names, *([each] * len(names) for each in (repetitions, seconds, size))
        ):
            for place, budget in enumerate(played.budgets):
                mean = dict(zip(played.rules, played.mean[place], strict=True))
                fixed = played.best_fixed()[place]
                within.append(mean[replay.OURS] <= 1.1 * mean[fixed] + 0.002)
                cells = []
                for rule in (replay.SMAC, replay.STUDENT, replay.HALVING):
                    apart, error = (each[place] for each in played.against(rule))
                    cells.append(f"{apart:+.4f} ± {error:.4f}")
                for rule, won in wins.items():
                    won.append(mean[replay.OURS] < mean[rule])
                for rule, values in average.items():
                    values.append(mean[rule])
                fits = "" if within[-1] else " *"
                print(
                    f"| {name} | {budget:.0%} | {mean[replay.OURS]:.4f} ± {played.standard_error[place, 0]:.4f} | "
                    f"{mean[fixed]:.4f} ({fixed}){fits} | {mean[replay.EVERYTHING]:.4f} | {' | '.join(cells)} | "
                    f"{played.missed[place]} |",
                    flush=True,
                )
            print(f"{name}: {spent:.0f} s", file=sys.stderr)
    print(
        f"\nWithin 10 % + 0.002 of the best fixed N: {sum(within)} of {len(within)} (* where not)."
    )
    for rule, won in wins.items():
        ours, theirs = np.mean(average[replay.OURS]), np.mean(average[rule])
        print(
            f"Lower than {rule}: {sum(won)} of {len(won)}; on average {ours:.4f} against {theirs:.4f}."
        )


def lists(repetitions: int, draws: int = 10) -> None:
    """Ours against successive halving on short lists, at 5 % of all runs."""
    print("| matrix | configurations | runs for each | truecost | halving | truecost − halving |")
    print("| --- | --- | --- | --- | --- | --- |")
    for name, options in MODELS.items():
        for size in (20, 30, 36, 45, 60):
            for instances in (20, 40, 50):
                rng = np.random.default_rng(11)
                parts = []
                for _ in range(draws):
                    model = runtime_model(configurations=size, rng=rng, **options)
                    matrix = model.draw(instances=instances, runs=5, rng=rng)
                    played = replay.replay(
                        matrix, rng=rng, repetitions=max(2, repetitions // draws), budgets=(0.05,)
                    )
                    parts.append(played.regret[:, 0])
                rules, regret = played.rules, np.concatenate(parts)
                ours, theirs = (
                    regret[:, rules.index(rule)] for rule in (replay.OURS, replay.HALVING)
                )
                apart = ours - theirs
                error = apart.std(ddof=1) / np.sqrt(len(apart))
                print(
                    f"| {name} | {size} | {0.05 * (instances // 2) * 5:.3g} | {ours.mean():.4f} | {theirs.mean():.4f} | "
                    f"{apart.mean():+.4f} ± {error:.4f} |",
                    flush=True,
                )


if __name__ == "__main__":
    words = sys.argv[1:]
    number = next((int(word) for word in words if word.isdigit()), 1000)
    if "lists" in words:
        lists(number)
        sys.exit()
    replaying(
        number, "seconds" in words, next((word for word in words if word in ("paper", "fresh")), "")
    )
    deciding()
