"""Counts how often statements about known populations are wrong: `python -m bench.populations`.

Every line is one population, one way of getting and looking at runs, and one δ: how many of the
trials had a wrong statement, of each kind, at any of their looks, with the p-value of a binomial
test against δ. A cell that was counted is kept in `--json` and not counted again.
"""

import argparse
import json
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import binomtest

import truecost
from bench.populations.sources import Population, Truth, populations
from bench.populations.ways import WAYS, Way

DELTAS = (0.05, 0.2)
REJECTED = 1e-4
# Statements of one configuration and of two, as they are called, with their true values.
SLACK = 1e-9


def wrong(assessment: Any, truth: Truth, kinds: set[str]) -> dict[str, bool]:
    """Which statements of an assessment are false."""
    flags: dict[str, bool] = {}
    certificate = assessment.certificate
    if certificate is not None:
        u = truth.mean(certificate.configuration)
        flags["cost"] = certificate.upper < u - SLACK * truth.population.high
    comparison = assessment.comparison
    if comparison is not None and comparison.upper is not None:
        gap = truth.mean(comparison.configuration) - truth.mean(comparison.default)
        slack = SLACK * truth.population.high
        flags["difference"] = comparison.upper < gap - slack
        flags["difference, below"] = comparison.lower > gap + slack
        flags["false better"] = comparison.grade == "better" and gap >= -slack
    if "statements" in kinds:
        for statement in assessment.statements:
            flags |= _wrong_statement(statement, truth)
    return flags


def _wrong_statement(statement: Any, truth: Truth) -> dict[str, bool]:
    own, other = statement.configuration, statement.default
    kind = statement.quantity
    values: tuple[float, float]
    if kind == "solved share":
        values = (truth.solved(own),) * 2
    elif kind in ("median", "nine in ten"):
        value = truth.quantile(own, 0.5 if kind == "median" else 0.9)
        # What a run that was not solved costs is above the cutoff, whatever it is charged.
        values = (min(value, truth.population.cutoff or np.inf), value)
    elif kind == "wins":
        values = (truth.wins(own, other),) * 2
    elif kind == "speed-up":
        values = truth.speed_up(own, other)
    elif kind == "ratio of means":
        values = (truth.mean(other) / truth.mean(own),) * 2
    elif kind == "difference of solved shares":
        values = (truth.solved(own) - truth.solved(other),) * 2
    else:
        return {}
    least, most = values
    flags = {}
    for side, limit in (
        (statement.side, statement.limit),
        ("lower" if statement.side == "upper" else "upper", statement.opposite),
    ):
        if limit is not None:
            name = kind if side == statement.side else f"{kind}, other side"
            # A share is given without a slack to speak of; the truth may be unknown in between.
            slack = SLACK * max(abs(limit), 1.0) if np.isfinite(limit) else 0.0
            flags[name] = limit > most + slack if side == "lower" else limit < least - slack
    return flags


def count(
    population: Population, way: Way, delta: float, trials: int, kinds: set[str]
) -> dict[str, list[int]]:
    """For each statement in how many trials it was made, and in how many it was wrong at a look."""
    truths: dict[bytes, Truth] = {}
    counts: dict[str, list[int]] = {}
    for trial in range(trials):
        rng = np.random.default_rng([trial, 11])
        any_look: dict[str, bool] = {}
        for look in way(population, rng):
            assessment = truecost.assess(look.runs, delta=delta, splits=1, **look.asked)
            key = b"" if look.weights is None else look.weights.tobytes()
            truth = truths.setdefault(key, Truth(population, look.weights))
            for kind, flag in wrong(assessment, truth, kinds).items():
                any_look[kind] = any_look.get(kind, False) or flag
        for kind, flag in any_look.items():
            made, missed = counts.get(kind, [0, 0])
            counts[kind] = [made + 1, missed + flag]
    return counts


def table(cell: str, counts: dict[str, list[int]], delta: float) -> bool:
    """Print one cell; whether every statement kept to δ."""
    parts, fine = [], True
    for kind, (made, missed) in counts.items():
        chance = float(binomtest(missed, made, delta, alternative="greater").pvalue)
        mark = " !" if chance < REJECTED else ""
        fine &= not mark
        parts.append(f"{kind} {missed / made:.1%}{mark}")
    print(f"| {cell} | {delta:.0%} | {max(n for n, _ in counts.values())} | {'; '.join(parts)} |")
    return fine


def main() -> None:
    """Count all cells, or some."""
    parser = argparse.ArgumentParser(description=__doc__, prog="python -m bench.populations")
    parser.add_argument("--only", default="", help="a regular expression: population | way")
    parser.add_argument("--trials", type=int, default=400)
    parser.add_argument("--delta", type=float, action="append")
    parser.add_argument("--json", type=Path, help="keeps what was counted; read when it is there")
    parser.add_argument("--statements", action="store_true", help="beyond means, too")
    options = parser.parse_args()
    kept: dict[str, dict[str, list[int]]] = {}
    if options.json is not None and options.json.exists():
        lines = options.json.read_text().splitlines()
        kept = {entry["cell"]: entry["counts"] for entry in map(json.loads, lines)}
    kinds = {"statements"} if options.statements else set()
    print("| population | way | δ | trials | wrong in |\n| --- | --- | --- | --- | --- |")
    fine = True
    for population in populations():
        for name, way in WAYS.items():
            if not re.search(options.only, f"{population.name} | {name}"):
                continue
            for delta in options.delta or DELTAS:
                cell = f"{population.name} | {name}"
                key = f"{cell} | {delta:g} | {options.trials} | {sorted(kinds)}"
                if key not in kept:
                    kept[key] = count(population, way, delta, options.trials, kinds)
                    if options.json is not None:
                        with options.json.open("a") as file:
                            file.write(json.dumps({"cell": key, "counts": kept[key]}) + "\n")
                fine &= table(cell, kept[key], delta)
                sys.stdout.flush()
    sys.exit(0 if fine else 1)


if __name__ == "__main__":
    main()
