"""What stopping early saves, and how often it is wrong: `python -m bench.validating`.

Simulated validations of winners whose true share of wins is known, δ = 5 %, one run of each on
every instance: how many instances a sample of fixed size needs to show the winner better with 80 %
power (STaR-Bets, one look at the end), and what `truecost validate` uses when it has twice as many
at its disposal.
"""

import numpy as np

from truecost.race.stopping import OFTEN, PILOT, StoppingRule
from truecost.stats import betting, forecast
from truecost.stats.quantities import WINS

DELTA, SIMULATIONS = 0.05, 100


def main() -> None:
    """Print a table of bench/RESULTS.md."""
    print(
        "| wins | fixed size | budget | shown | shown falsely | given up | instances used: median | mean |"
    )
    print("| --- | --- | --- | --- | --- | --- | --- | --- |", flush=True)
    rng = np.random.default_rng(1)
    for share in (0.5, 0.6, 0.7, 0.8, 0.9):
        fixed = _fixed(share, rng) if share > 0.5 else None
        budget = 2 * fixed if fixed else 400
        ends = [_validated(share, budget, rng) for _ in range(SIMULATIONS)]
        counts = {
            why: np.mean([each[0] == why for each in ends])
            for why in ("better", "worse", "forecast")
        }
        used = np.array([each[1] for each in ends])
        right, wrong = ("better", "worse") if share > 0.5 else ("worse", "better")
        row = [
            f"{share:.0%}",
            fixed or "–",
            budget,
            f"{counts[right]:.0%}",
            f"{counts[wrong]:.1%}",
            f"{counts['forecast']:.0%}",
        ]
        print(
            "|",
            " | ".join(map(str, [*row, f"{np.median(used):.0f}", f"{used.mean():.0f}"])),
            "|",
            flush=True,
        )


def _fixed(share: float, rng: np.random.Generator) -> int:
    values = (rng.random((2000, 400)) < share).astype(float)
    few, many = 1, 400
    while many - few > 1:
        middle = (few + many) // 2
        if np.mean(betting.star_reaches(values[:, :middle], 0.5, 1 / DELTA, False, False)) >= 0.8:
            many = middle
        else:
            few = middle
    return many


def _validated(share: float, budget: int, rng: np.random.Generator) -> tuple[str, int]:
    won = rng.random(budget) < share
    costs = np.stack([1.0 - won, won], axis=-1)[np.newaxis]
    rule = StoppingRule(
        rounds=1, planned=budget, delta=DELTA, quantity=WINS, threshold=0.5, low=0.0, high=1.0
    )
    # What is shown once stays shown: when it was first is found by halving.
    few, shown = 0, budget
    while shown - few > 1:
        middle = (few + shown) // 2
        goal = rule.goal(costs, middle)
        if any(
            forecast.is_shown(each, DELTA, planned=budget)
            for each in (goal, forecast.refutation(goal))
        ):
            shown = middle
        else:
            few = middle
    for pairs in range(1, shown + 1):
        if pairs == shown or (pairs >= PILOT and pairs % max(1, pairs // OFTEN) == 0):
            ended = rule.decide(costs, pairs, budget - pairs)
            if ended is not None:
                return ended.why, pairs
    raise AssertionError


if __name__ == "__main__":
    main()
