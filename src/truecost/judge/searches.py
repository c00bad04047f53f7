"""Several searches of one space side by side: their incumbents, and all of their runs together.

Repeated searches (SMAC3's seeds, runs of irace) end in different incumbents, partly by chance. All
runs together estimate each incumbent better than its own log does. They certify nothing: every
search was tuned on these instances.
"""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import stdtrit

from truecost.errors import InputError
from truecost.judge.costs import NOTHING, instance_means
from truecost.judge.evidence import incumbent_of
from truecost.matrix import CostMatrix
from truecost.matrix.imported import Import, Scalar
from truecost.runs import Trajectory

# Between the name of a search and that of its configuration.
BETWEEN = ":"


@dataclass(frozen=True, slots=True, kw_only=True)
class OneSearch:
    """One search beside the others.

    Attributes
    ----------
    name
        What it is called.
    incumbent
        The name of its incumbent among all runs.
    runs
        How many runs it made.
    training_cost
        The mean cost of the incumbent in its log.
    pooled_cost, common_instances
        Its mean cost on the instances common to all incumbents, and their number; NaN and 0 where
        there are none.
    difference, standard_error
        Its mean difference to the lowest of these costs, and the standard error.
    by_chance
        Whether chance may explain it, by a paired t-test at 5 % shared among the searches; None if
        unknown.
    """

    name: str
    incumbent: str
    runs: int
    training_cost: float
    pooled_cost: float
    common_instances: int
    difference: float
    standard_error: float
    by_chance: bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Searches:
    """Several searches.

    Attributes
    ----------
    log
        All runs together; its incumbent is the one to take.
    searches
        Each by itself.
    incumbents
        The different incumbents, the one to take first.
    """

    log: Import
    searches: tuple[OneSearch, ...]
    incumbents: tuple[str, ...]

    @property
    def sentences(self) -> tuple[str, ...]:
        """What is to be said of them."""
        best = self.incumbents[0]
        scores = self.log.trajectory.maximised
        lines = [
            f"{len(self.searches)} searches ended in {len(self.incumbents)} different "
            f"{'incumbent' if len(self.incumbents) == 1 else 'incumbents'}. Take {best}."
        ]
        for search in self.searches:
            if search.incumbent == best:
                continue
            words = {
                True: "it may be chance",
                False: "more than chance explains",
                None: "too few common instances to say more",
            }[search.by_chance]
            difference = f"{search.difference:.3g} ± {search.standard_error:.2g}"
            difference = f"scores {difference} less" if scores else f"costs {difference} more"
            lines.append(
                f"{search.incumbent}, of {search.name}, {difference} on the "
                f"{search.common_instances:,} instances that all incumbents were run on: {words}."
                if search.common_instances
                else f"{search.incumbent}, of {search.name}, was run on other instances."
            )
        lines.append(
            "All searches were tuned on these instances, so these runs certify none of them: "
            "validate the incumbents on new ones."
        )
        return tuple(lines)


def side_by_side(logs: Sequence[Import], names: Sequence[str]) -> Searches:
    """Pool the runs of several searches, and compare their incumbents.

    Parameters
    ----------
    logs
        Two or more, with the same metric. A configuration that has the same parameters in two logs
        is one configuration.
    names
        What the searches are called, each differently.
    """
    if len(logs) < 2 or len(set(names)) != len(logs):
        raise InputError("expected two searches or more, each with a name of its own.")
    # Before anything is pooled: costs of two metrics have no common mean.
    _check_alike(logs, names)
    known: dict[str, str] = {}
    renamed = [_names(log, name, known) for log, name in zip(logs, names, strict=True)]
    matrix = _pooled([log.matrix for log in logs], renamed)
    parameters: dict[str, dict[str, Scalar]] = {}
    pairs = list(zip(logs, renamed, strict=True))
    for log, new in pairs:
        for name, values in log.parameters.items():
            if name in new:
                parameters.setdefault(new[name], dict(values))
    ends = [new[incumbent_of(log.matrix, log.trajectory)] for log, new in pairs]
    searches = _compared(logs, names, ends, matrix)
    ordered = sorted(
        searches,
        key=lambda search: (np.isnan(search.pooled_cost), search.pooled_cost, search.training_cost),
    )
    incumbents = tuple(dict.fromkeys(search.incumbent for search in ordered))
    defaults = {new.get(log.trajectory.default or "") for log, new in pairs}
    left_out: Counter[str] = Counter()
    for log in logs:
        left_out.update(log.left_out)
    log = Import(
        kind=logs[0].kind,
        matrix=matrix,
        trajectory=Trajectory(
            tool=f"{logs[0].trajectory.tool}, {len(logs)} searches",
            proposed="adaptively",
            raced=True,
            default=defaults.pop() if len(defaults) == 1 else None,
            incumbent=incumbents[0],
            maximised=logs[0].trajectory.maximised,
        ),
        parameters=parameters,
        left_out=left_out,
        notes=tuple(dict.fromkeys(note for log in logs for note in log.notes)),
        obstacle=logs[0].obstacle,
    )
    together = Searches(log=log, searches=tuple(searches), incumbents=incumbents)
    return replace(together, log=replace(log, notes=(*together.sentences, *log.notes)))


def _check_alike(logs: Sequence[Import], names: Sequence[str]) -> None:
    """Costs of different metrics must not be pooled, nor configurations of different spaces."""
    first, *others = logs
    for log, name in zip(others, names[1:], strict=True):
        if log.trajectory.maximised != first.trajectory.maximised:
            raise InputError(
                f"expected only costs or only scores, got one of each in {names[0]} and {name}."
            )
        for field in ("low", "high", "cutoff", "utility"):
            mine, theirs = getattr(first.matrix, field), getattr(log.matrix, field)
            if mine != theirs:
                raise InputError(
                    f"expected searches with the same metric, got {field} {mine} in {names[0]} and "
                    f"{theirs} in {name}: give `low`, `high` or `cutoff`, or report them one by "
                    "one."
                )
        spaces = [
            {key for values in search.parameters.values() for key in values}
            for search in (first, log)
        ]
        if all(spaces) and not spaces[0] & spaces[1]:
            raise InputError(
                f"expected searches of the same space, and {names[0]} and {name} have no parameter "
                "in common."
            )


def _names(log: Import, search: str, known: dict[str, str]) -> dict[str, str]:
    """New names of a log's configurations: those with known parameters have a name already."""
    new = {}
    for name in log.matrix.configurations:
        full_name, values = f"{search}{BETWEEN}{name}", log.parameters.get(name)
        # Without parameters nothing says that two names mean one configuration.
        key = json.dumps(values, sort_keys=True, default=str) if values else full_name
        new[name] = known.setdefault(key, full_name)
    return new


def _pooled(matrices: Sequence[CostMatrix], renamed: Sequence[dict[str, str]]) -> CostMatrix:
    import polars as pl

    tables = []
    for matrix, new in zip(matrices, renamed, strict=True):
        table = matrix.to_table().filter(pl.col("cost").is_not_null())
        tables.append(table.with_columns(pl.col("configuration").replace_strict(new)))
    pooled = pl.concat(tables, how="diagonal_relaxed")
    cell = ("configuration", "instance")
    # Seeds of different searches mean nothing to each other: runs stand in the order of the logs.
    runs = pooled.drop("run", "seed", strict=False).with_columns(
        pl.int_range(pl.len()).over(cell).alias("run")
    )
    return CostMatrix.from_table(runs)


def _compared(
    logs: Sequence[Import], names: Sequence[str], ends: Sequence[str], matrix: CostMatrix
) -> list[OneSearch]:
    means, mask = instance_means(matrix)
    places = [matrix.configurations.index(name) for name in ends]
    common = mask[places].all(axis=0)
    shared, number = means[places][:, common], int(common.sum())
    costs = shared.mean(axis=1) if number else np.full(len(ends), np.nan)
    best = int(np.argmin(costs)) if number else 0
    # Everyone is compared with the best: the level is shared out, and the few instances count.
    tail = 0.025 / max(len(logs) - 1, 1)
    most = stdtrit(number - 1, 1 - tail) if number > 1 else np.nan
    searches = []
    for place, (log, name, end) in enumerate(zip(logs, names, ends, strict=True)):
        differences = shared[place] - shared[best]
        error = differences.std(ddof=1) / np.sqrt(number) if number > 1 else np.nan
        by_chance = bool(differences.mean() <= most * error) if error >= 0 else None
        if number > 1 and np.ptp(differences) <= NOTHING * np.abs(shared).max():
            # A t-test takes two equal differences for proof; that all n have one sign is chance in
            # 2^(1 − n) of all cases.
            by_chance = not differences.any() or 2.0 ** (1 - number) > 2 * tail
        alone = log.matrix.select(configurations=[incumbent_of(log.matrix, log.trajectory)])
        costs_here, used = instance_means(alone)
        searches.append(
            OneSearch(
                name=name,
                incumbent=end,
                runs=int(log.matrix.counts().sum()),
                training_cost=float(costs_here[used].mean()),
                pooled_cost=float(costs[place]),
                common_instances=number,
                difference=float(differences.mean()) if number else float("nan"),
                standard_error=float(error),
                by_chance=by_chance,
            )
        )
    return searches
