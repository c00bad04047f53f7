"""When to recommend a search's incumbent instead of the default: rules compared on simulated
held-out runs.

`python -m bench.recommending [--draws 840 860] [--held-out 20 50] [--repetitions 120]` prints, for
each rule, how often it recommends something worse than the default, what it loses against the
better of the two, and how often that is a factor of two. Candidates are random configurations and
neighbours of the default and of a good one; the incumbent is the best of 25 of them on eight
training runs.
"""

import argparse
import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from bench.simulated import CUTOFF, HIGH, TARGETS, TRAINING, UNSEEN, Target

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

NAMES = ("nested", "classes", "settled", "needle", "personal", "crashing", "smooth")
RANDOM, NEIGHBOURS, ENTERED, TRAINED = 40, 30, 25, 8
CRASH = 9.0


def _mean(gains: FloatArray) -> FloatArray:
    return np.asarray(gains.mean(axis=1))


def _error(gains: FloatArray) -> FloatArray:
    return np.asarray(gains.std(axis=1, ddof=1) / math.sqrt(gains.shape[1]))


def _wins(gains: FloatArray) -> FloatArray:
    """More wins than losses, in standard errors of a fair coin."""
    signs = np.sign(gains)
    return np.asarray(signs.sum(axis=1) / np.sqrt(np.maximum(np.abs(signs).sum(axis=1), 1)))


def _with_wins(least: float) -> Callable[[FloatArray], BoolArray]:
    def rule(gains: FloatArray) -> BoolArray:
        mean = _mean(gains)
        return np.asarray((mean > _error(gains)) | ((mean > 0) & (_wins(gains) > least)))

    return rule


RULES: dict[str, Callable[[FloatArray], BoolArray]] = {
    "lower mean": lambda gains: np.asarray(_mean(gains) > 0),
    "lower by half a standard error": lambda gains: np.asarray(_mean(gains) > _error(gains) / 2),
    "lower by a standard error": lambda gains: np.asarray(_mean(gains) > _error(gains)),
    "… or lower, wins by one": _with_wins(1.0),
    "… or lower, wins by two": _with_wins(2.0),
    "… or lower, wins by three": _with_wins(3.0),
}


def trials(
    target: Target, held_out: int, repetitions: int, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray, float]:
    """(repetitions, held_out) gains over the default, the incumbents' true costs, the default's."""
    default = target.space.default()
    found = [target.space.draw(rng) for _ in range(RANDOM)]
    good = min(found, key=target.true_cost)
    for parent in (default, good):
        found += [
            target.space.around(parent, rng, spread=0.25, keep=0.6) for _ in range(NEIGHBOURS)
        ]
    configurations = [default, *found]
    true = np.array([target.true_cost(each) for each in configurations])
    crashed = np.full(TRAINING + UNSEEN, CRASH)
    known = [target.logs(each) for each in configurations]
    logs = np.array([crashed if each is None else each for each in known])

    def costs(rows: list[int], columns: NDArray[np.int64]) -> FloatArray:
        noise = target.noise * rng.standard_normal((len(rows), columns.size))
        times = 10 ** np.minimum(logs[rows][:, columns] + noise, CRASH)
        return np.where(times < CUTOFF, times, HIGH)

    gains, incumbents = np.empty((repetitions, held_out)), np.empty(repetitions)
    for row in range(repetitions):
        order = rng.permutation(TRAINING)
        entered = rng.choice(np.arange(1, len(logs)), ENTERED, replace=False).tolist()
        trained = costs(entered, order[held_out : held_out + TRAINED]).mean(axis=1)
        incumbent = entered[int(trained.argmin())]
        judged = costs([0, incumbent], order[:held_out])
        gains[row], incumbents[row] = judged[0] - judged[1], true[incumbent]
    return gains, incumbents, float(true[0])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--draws", nargs=2, type=int, default=[840, 860])
    parser.add_argument("--held-out", nargs="+", type=int, default=[20, 50])
    parser.add_argument("--repetitions", type=int, default=120)
    options = parser.parse_args()
    targets = [(name, draw) for draw in range(*options.draws) for name in NAMES]
    print("| held out | rule | worse than the default | over the better | more than twice |")
    print("| --- | --- | --- | --- | --- |")
    for held_out in options.held_out:
        over: dict[str, list[FloatArray]] = {rule: [] for rule in RULES}
        worse = dict.fromkeys(RULES, 0)
        for name, draw in targets:
            rng = np.random.default_rng([draw, NAMES.index(name), held_out])
            target = TARGETS[name](draw)
            gains, costs, default = trials(target, held_out, options.repetitions, rng)
            for rule, favours in RULES.items():
                cost = np.where(favours(gains), costs, default)
                worse[rule] += int((cost > 1.02 * default).sum())
                over[rule].append(cost / np.minimum(costs, default))
        for rule, parts in over.items():
            ratios = np.concatenate(parts)
            print(
                f"| {held_out} | {rule} | {worse[rule] / ratios.size:.2%} "
                f"| {np.exp(np.log(ratios).mean()):.4f} | {(ratios > 2).mean():.2%} |"
            )


if __name__ == "__main__":
    main()
