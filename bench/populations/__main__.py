"""Coverage and sharpness on known populations: `python -m bench.populations`.

A cell is one population, one way of getting and looking at runs, and one δ. *Coverage*: in how many
trials each kind of statement was wrong at any of the looks, with a binomial test against δ, and how
often the badge was green though the configuration is no better. *Sharpness*: how often a truly
better configuration is shown to be better, and how wide limits are next to the narrowest of other
valid methods on the same runs. Cells are kept in `--json` and not counted again; `--out` writes the
tables.
"""

import argparse
import json
import re
import shlex
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import binomtest

import truecost
from bench.populations.sources import Population, Truth, populations
from bench.populations.ways import WAYS, WRONG, Way
from truecost.show.document import Case, Context
from truecost.show.document.verdict import judged
from truecost.stats import confidence

DELTAS = (0.05, 0.2)
REJECTED = 1e-4
SLACK = 1e-9
BADGE = "false good badge"
# Ways whose power is counted: sorted instances have that of unsorted ones.
SHARP = [name for name in WAYS if name != WRONG and "sorted" not in name]
OTHERS: tuple[confidence.Method, ...] = ("betting", "empirical-bernstein", "hoeffding")
DATA = Path(__file__).parents[3] / "shared" / "data"
# Counts of a kind of statement: how often it was made, and how often it was wrong (or shown).
Counts = dict[str, list[int]]


def wrong(assessment: Any, truth: Truth, kinds: set[str]) -> dict[str, bool]:
    """Which statements of an assessment are false."""
    flags: dict[str, bool] = {}
    certificate = assessment.certificate
    slack = SLACK * truth.population.high
    if certificate is not None:
        flags["cost"] = certificate.upper < truth.mean(certificate.configuration) - slack
    comparison = assessment.comparison
    if comparison is not None and comparison.upper is not None:
        gap = truth.mean(comparison.configuration) - truth.mean(comparison.default)
        flags["difference"] = comparison.upper < gap - slack
        flags["difference, below"] = comparison.lower > gap + slack
        by_mean = assessment.primary == "mean"
        won = truth.value("wins", comparison.configuration, comparison.default)
        better = gap < -slack if by_mean else won is not None and won > 0.5 + SLACK
        flags[BADGE] = judged(Case(assessment, Context()))[0] == "good" and not better
    if "statements" in kinds:
        for statement in assessment.statements:
            flags |= _wrong_statement(statement, truth)
    return flags


def _wrong_statement(statement: Any, truth: Truth) -> dict[str, bool]:
    kind = statement.quantity
    # Runs with the same seed are paired otherwise than the truth computed here.
    value = truth.value(kind, statement.configuration, statement.default)
    if statement.same_seed or value is None:
        return {}
    least = most = value
    if kind in ("median", "90th percentile"):
        # What a run that was not solved costs is above the cutoff, whatever it is charged.
        least = min(most, truth.population.cutoff or np.inf)
    flags = {}
    for side, limit in (
        (statement.side, statement.limit),
        ("lower" if statement.side == "upper" else "upper", statement.opposite),
    ):
        if limit is not None:
            name = kind if side == statement.side else f"{kind}, other side"
            slack = SLACK * max(abs(limit), 1.0) if np.isfinite(limit) else 0.0
            flags[name] = limit > most + slack if side == "lower" else limit < least - slack
    return flags


def _looks(
    population: Population, way: Way, delta: float, trial: int, truths: dict[bytes, Truth]
) -> Iterator[tuple[Any, Truth]]:
    """The assessments of one trial, each with the truth it is about, which all trials share."""
    for look in way(population, np.random.default_rng([trial, 11])):
        key = b"" if look.weights is None else look.weights.tobytes()
        if key not in truths:
            truths[key] = Truth(population, look.weights)
        yield truecost.assess(look.runs, delta=delta, splits=1, **look.asked), truths[key]


def count(population: Population, way: Way, delta: float, trials: int, kinds: set[str]) -> Counts:
    """For each statement in how many trials it was made, and in how many it was wrong at a look."""
    counts: Counts = {}
    truths: dict[bytes, Truth] = {}
    for trial in range(trials):
        flags: dict[str, bool] = {}
        for assessment, truth in _looks(population, way, delta, trial, truths):
            for kind, flag in wrong(assessment, truth, kinds).items():
                flags[kind] = flags.get(kind, False) or flag
        for kind, flag in flags.items():
            made, missed = counts.get(kind, [0, 0])
            counts[kind] = [made + 1, missed + flag]
    return counts


def sharpness(population: Population, way: Way, delta: float, trials: int) -> dict[str, Any]:
    """How often what is true is shown, by mean and by wins, as [true, shown]; and the median widths
    of the certificate and of the difference over those of the narrowest other method.
    """
    population = population.with_better()
    shown: Counts = {"mean": [0, 0], "wins": [0, 0]}
    wide: dict[str, list[list[float]]] = {"cost": [], "difference": []}
    truths: dict[bytes, Truth] = {}
    for trial in range(trials):
        true, seen = set(), set()
        for assessment, truth in _looks(population, way, delta, trial, truths):
            comparison = assessment.comparison
            if comparison is None or comparison.evidence is None:
                continue
            pair = comparison.configuration, comparison.default
            true |= {"mean"} if truth.mean(pair[0]) < truth.mean(pair[1]) else set()
            true |= {"wins"} if (truth.value("wins", *pair) or 0.0) > 0.5 else set()
            seen |= {"mean"} if comparison.grade == "better" else set()
            seen |= {"wins"} if assessment.wins and assessment.wins.grade == "better" else set()
            for kind, row in _widths(assessment, delta).items():
                wide[kind].append(row)
        for kind in true:
            shown[kind] = [shown[kind][0] + 1, shown[kind][1] + (kind in seen)]
    widths = {}
    for kind, rows in wide.items():
        ours, *others = np.median(rows, axis=0).tolist() if rows else (None,)
        widths[kind] = ours / min(others) if rows else None
    return {"shown": shown, "widths": widths}


def _widths(assessment: Any, delta: float) -> dict[str, list[float]]:
    """Distance of limit and mean, ours first, then by the other methods for one look."""
    certificate, comparison = assessment.certificate, assessment.comparison
    evidence = comparison.evidence
    if certificate is None or evidence.at_all_times or evidence.plans:
        return {}
    if not evidence.scope.usual or evidence.runs.censored.any():
        return {}  # the other methods are for independent instances and known costs
    own, low, high = assessment.own_evidence, evidence.runs.low, evidence.runs.high
    (costs,) = own.runs.select(configurations=[certificate.configuration]).costs
    pair = [comparison.configuration, comparison.default]
    first, second = evidence.runs.select(configurations=pair).costs
    upper, other = [certificate.upper], [comparison.upper]
    for method in OTHERS:
        upper.append(confidence.upper(costs, low, high, delta * own.share, method=method).upper)
        part = delta * evidence.share
        gap = confidence.difference(first, second, low, high, part, side="upper", method=method)
        other.append(gap.upper)
    return {
        "cost": [limit - certificate.estimate for limit in upper],
        "difference": [limit - comparison.observed for limit in other],
    }


def chances(counts: Counts, delta: float) -> dict[str, float]:
    """For each kind, the probability of at least this many errors at level δ."""
    return {
        kind: float(binomtest(missed, made, delta, alternative="greater").pvalue)
        for kind, (made, missed) in counts.items()
    }


def rejected(counts: Counts, delta: float) -> list[str]:
    """The kinds that were wrong more often than δ by more than chance."""
    return [kind for kind, chance in chances(counts, delta).items() if chance < REJECTED]


def coverage_row(counts: Counts, delta: float) -> str:
    """The kind of statement with the worst errors, and the badge; a mark where δ is exceeded."""
    tails = {kind: chance for kind, chance in chances(counts, delta).items() if kind != BADGE}
    worst = min(tails, key=lambda kind: tails[kind])
    made, missed = counts[worst]
    beyond = rejected(counts, delta)
    mark = f" **!** {len(beyond)} of {len(tails)} kinds" if beyond else ""
    trials = max(number for number, _ in counts.values())
    badge = f"{counts[BADGE][1] / trials:.1%}" if BADGE in counts else "–"
    return f"{missed / made:.1%} of {made}: {worst}{mark} | {badge}"


def sharpness_row(cell: dict[str, Any]) -> str:
    """Shares shown of what is true, and widths."""
    shown = [
        f"{seen / true:.0%} of {true}" if true else "–" for true, seen in cell["shown"].values()
    ]
    widths = ["–" if width is None else f"{width:.2f}" for width in cell["widths"].values()]
    return " | ".join([*shown, *widths])


class Kept:
    """Cells that were counted, in a file of one JSON object per line."""

    def __init__(self, path: Path | None, counted: bool) -> None:
        self._path, self._counted = path, counted
        self._cells: dict[str, Any] = {}
        if path is not None and path.exists():
            entries = map(json.loads, path.read_text().splitlines())
            self._cells = {entry["cell"]: entry["counts"] for entry in entries}

    def get(self, key: str, make: Any) -> Any:
        """What was counted, or what is counted now; None where nothing more is to be counted."""
        if key not in self._cells and self._counted:
            return None
        if key not in self._cells:
            self._cells[key] = make()
            if self._path is not None:
                with self._path.open("a") as file:
                    file.write(json.dumps({"cell": key, "counts": self._cells[key]}) + "\n")
        return self._cells[key]


def cells(data: Path, only: str) -> Iterator[tuple[Population, str]]:
    """Populations and ways; families are drawn where there are some, and once where they are made
    up, and sorted instances where order matters most.
    """
    for population in populations(data):
        for name in WAYS:
            if "famil" in name and population.families is None and population.name != "kissat":
                continue
            if "capped" in name and population.cutoff is None:
                continue
            if "sorted" in name and population.name not in ("kissat", "0/1"):
                continue
            if re.search(only, f"{population.name} | {name}"):
                yield population, name


def main() -> None:
    """Count all cells, or some."""
    parser = argparse.ArgumentParser(description=__doc__, prog="python -m bench.populations")
    parser.add_argument("--only", default="", help="a regular expression: population | way")
    parser.add_argument("--trials", type=int, default=400)
    parser.add_argument("--delta", type=float, action="append")
    parser.add_argument("--data", type=Path, default=DATA, help="tables of others")
    parser.add_argument("--json", type=Path, help="keeps what was counted; read when it is there")
    parser.add_argument("--counted", action="store_true", help="only cells that --json has")
    parser.add_argument("--statements", action="store_true", help="beyond means, too")
    parser.add_argument("--sharpness", action="store_true", help="the second table, too")
    parser.add_argument("--out", type=Path, help="writes the tables to a file")
    options = parser.parse_args()
    deltas, kept = options.delta or list(DELTAS), Kept(options.json, options.counted)
    kinds = {"statements"} if options.statements else set()
    lines, fine = _title(options, deltas), True

    def add(line: str) -> None:
        lines.append(line)
        print(line, flush=True)

    for population, name in cells(options.data, options.only):
        row = [population.name, name, str(options.trials)]
        for delta in deltas:
            key = f"{population.name} | {name} | {delta:g} | {options.trials} | {sorted(kinds)}"
            cell = partial(count, population, WAYS[name], delta, options.trials, kinds)
            counts = kept.get(key, cell)
            row.append(coverage_row(counts, delta) if counts else "– | –")
            fine &= name == WRONG or not counts or not rejected(counts, delta)
        if row[3:] != ["– | –"] * len(deltas):
            add(f"| {' | '.join(row)} |")
    if options.sharpness:
        head = (
            "| population | way | δ | mean shown | wins shown | width, cost | width, difference |"
        )
        for line in ("", "## Sharpness", "", SHARPNESS, "", head, "|" + " --- |" * 7):
            add(line)
        for population, name in cells(options.data, options.only):
            if name not in SHARP or "equal" in population.name:
                continue
            trials = options.trials // 2
            for delta in deltas:
                key = f"sharpness | {population.name} | {name} | {delta:g} | {trials}"
                seen = kept.get(key, partial(sharpness, population, WAYS[name], delta, trials))
                if seen:
                    add(f"| {population.name} | {name} | {delta:.0%} | {sharpness_row(seen)} |")
    if options.out is not None:
        options.out.write_text("\n".join(lines) + "\n")
    sys.exit(0 if fine else 1)


SHARPNESS = (
    "The default is one that three in four configurations beat. *Shown*: in how many of the trials "
    "in which the statement is true it is shown, at any look. *Width*: distance of limit and mean, "
    "the median over trials, over that of the narrowest of hedged betting (Waudby-Smith and Ramdas), "
    "empirical Bernstein (Maurer and Pontil) and Hoeffding on the same runs."
)
COVERAGE = (
    "Of some 14 kinds of statements the one whose errors, at any look, are the least probable at "
    "level δ: in how many of the trials with such a statement it was wrong. Badge: in how many of "
    "all trials it was green though the configuration is no better by the primary criterion. **!** "
    "marks "
    f"what exceeds δ at the level {REJECTED:g} (binomial). “{WRONG}” shows what the wrong sampling "
    "unit does; it is expected to fail."
)


def _title(options: argparse.Namespace, deltas: list[float]) -> list[str]:
    # Where files are is no part of what was counted.
    words = [f"--only={options.only}"] if options.only else []
    words += [f"--trials={options.trials}", *(f"--delta={delta:g}" for delta in deltas)]
    words += [f"--{name}" for name in ("statements", "sharpness") if getattr(options, name)]
    command = shlex.join(["python", "-m", "bench.populations", *words])
    columns = [f"δ {delta:.0%}: worst statement | false good badge" for delta in deltas]
    head = f"| population | way | trials | {' | '.join(columns)} |"
    text = ["# Results of `bench.populations`", "", f"Made by `{command}`.", "", "## Coverage", ""]
    return [*text, COVERAGE, "", head, "|" + " --- |" * (3 + 2 * len(deltas))]


if __name__ == "__main__":
    main()
