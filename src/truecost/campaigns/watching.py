"""How far a campaign is, read from its journal: what `truecost watch` shows.

Only numbers that may be looked at as often as one likes: counts, training costs of a search, and
limits that hold at all times.
"""

import json
import math
from collections import Counter
from datetime import datetime
from typing import Any

import numpy as np

from truecost.errors import InputError
from truecost.journal import searchlog, validationlog
from truecost.journal.file import SEARCHES
from truecost.journal.journal import Journal
from truecost.journal.table import RunTable
from truecost.judge import looks
from truecost.race.stopping import criterion
from truecost.runs import Status
from truecost.stats import forecast
from truecost.stats.grouping import codes_of

# The most rows and columns in a picture of the runs.
CELLS = 120
# Points of a line: each is a limit of its own.
POINTS = 60
# No forecast from fewer sampling units.
FEWEST = 5


def state_of(journal: Journal) -> dict[str, Any]:
    """The campaign as plain data: how far it is, how its runs ended, and what its kind adds."""
    table = journal.table()
    state: dict[str, Any] = {
        "kind": journal.kind,
        "scenario": journal.scenario(),
        "runs": len(table.status),
        "outcomes": {
            Status(status).label: number
            for status, number in sorted(Counter(table.status.tolist()).items())
        },
        **_pace(journal),
    }
    if journal.kind == "validate":
        return state | _validation(journal)
    if journal.kind in SEARCHES:
        return state | _search(journal, table)
    return state | _gather(journal, table)


def _pace(journal: Journal) -> dict[str, Any]:
    """When the first and the last run ended, and how many a minute between."""
    first, last, number = journal.rows("SELECT min(ended), max(ended), count(*) FROM runs")[0]
    if first is None:
        return {"last_run": None, "runs_per_minute": None}
    seconds = (datetime.fromisoformat(last) - datetime.fromisoformat(first)).total_seconds()
    # Times are kept in whole seconds: quick runs have no rate.
    return {"last_run": last, "runs_per_minute": 60 * number / seconds if seconds else None}


def _gather(journal: Journal, table: RunTable) -> dict[str, Any]:
    size = journal.planned() or (0, 0, 0)
    total = math.prod(size)
    counts = np.zeros(size[:2])
    inside = (table.configuration < size[0]) & (table.instance < size[1])
    np.add.at(counts, (table.configuration[inside], table.instance[inside]), 1)
    return {
        "planned": total,
        "share": len(table.status) / total if total else 0.0,
        "size": size,
        "filled": _binned(counts / max(size[2], 1)).round(3).tolist(),
    }


def _binned(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The means of at most CELLS × CELLS blocks."""
    for axis in (0, 1):
        size = values.shape[axis]
        if size > CELLS:
            edges = np.linspace(0, size, CELLS + 1).astype(int)
            sums = np.add.reduceat(values, edges[:-1], axis=axis)
            shape = (-1, 1) if axis == 0 else (1, -1)
            values = sums / np.diff(edges).reshape(shape)
    return values


def _search(journal: Journal, table: RunTable) -> dict[str, Any]:
    settings = searchlog.settings_of(journal)
    budget = None if settings is None else searchlog.budgets_of(journal, settings)[-1]
    trajectory, origins = searchlog.trajectory_of(journal), searchlog.origins_of(journal)
    sources = Counter(origin.partition(" of ")[0] for origin in origins.values())
    trained = (~journal.judging(table) & ~table.ahead).any()
    made = journal.matrix(table=table) if trained else None
    costs: dict[str, float] = {}
    sizes: dict[str, int] = {}
    if made is not None:
        with np.errstate(invalid="ignore"):
            sums, counts = np.nansum(made.costs, axis=2), made.counts()
            means = np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)
        costs = {
            name: float(np.nanmean(row))
            for name, row in zip(made.configurations, means, strict=True)
            if not np.isnan(row).all()
        }
        # A mean of five runs and one of fifty are not read alike.
        sizes = dict(zip(made.configurations, counts.sum(axis=1).tolist(), strict=True))
    runs = sum(1 for _ in searchlog.recorded(journal))
    in_runs = settings is not None and settings.unit == "runs"
    return {
        "share": runs / budget if budget and in_runs else None,
        "planned": budget if in_runs else None,
        "configurations": len(origins),
        "sources": dict(sources),
        "incumbents": [
            {
                "runs": step.runs,
                "configuration": step.configurations[0],
                "training_cost": costs.get(step.configurations[0]),
                "training_runs": sizes.get(step.configurations[0], 0),
            }
            for step in trajectory.steps
        ],
        "default": trajectory.default,
        "default_cost": costs.get(trajectory.default or ""),
        "default_runs": sizes.get(trajectory.default or "", 0),
    }


def _validation(journal: Journal) -> dict[str, Any]:
    terms, stop = validationlog.terms_of(journal), validationlog.stop_of(journal)
    if terms is None:
        return {"share": None, "instances": 0}
    quantity, threshold = criterion(terms.primary, terms.margin)
    most = _most_runs(journal, terms)
    state: dict[str, Any] = {
        "share": min(1.0, len(journal.table().status) / most) if stop is None else 1.0,
        "quantity": quantity.name,
        "side": quantity.side,
        "threshold": threshold,
        "margin": terms.margin,
        "delta": terms.delta,
        "sampled": terms.sampled,
        "planned_units": terms.planned,
        "planned": most,
        "stopped": None if stop is None else stop.why,
        "instances": 0,
        "limits": [],
    }
    try:
        test = validationlog.import_of(journal).test
    except InputError:
        return state  # no run yet, or no whole family
    names = [terms.names[terms.winner], terms.names[terms.default]]
    if test is None or not set(names) <= set(test.configurations):
        return state
    costs = test.select(configurations=names).costs.transpose(2, 1, 0)
    # The first round in its order, as far as both are finished: later rounds are looked at whole.
    finished = ~np.isnan(costs[0]).any(axis=1)
    number = int(np.argmin(np.append(finished, False)))
    if not number:
        return state
    families = None if terms.sampled == "instance" else test.families
    rule = validationlog.rule_of(terms, test.low, test.high, families)
    if rule.one_look:
        sizes = [] if stop is None else [terms.runs * number]
        units = number
    else:
        costs, ends = costs[:1], rule.ends(costs.shape[1])
        sizes, units = ends[ends <= number].tolist(), int((ends <= number).sum())
        sizes = [sizes[k] for k in np.unique(np.linspace(0, units - 1, POINTS).astype(int))]
    lines, best = [], -math.inf if quantity.side == "lower" else math.inf
    for size in sizes:
        look = rule.state(costs, size)
        # What was ruled out at an earlier look stays ruled out.
        best = max(best, look.lower) if quantity.side == "lower" else min(best, look.upper)
        instances = min(size, number)
        lines.append({"instances": instances, "limit": best, "observed": look.observed})
    chance = None
    if stop is None and not rule.one_look and units >= FEWEST and terms.planned > units:
        part = terms.delta * looks.of_round(1, terms.runs)
        more, goal = terms.planned - units, rule.goal(costs, sizes[-1])
        chance = forecast.chance_to_show(goal, more, part, planned=terms.planned)
    return state | {"instances": number, "limits": lines, "chance": chance}


def _most_runs(journal: Journal, terms: validationlog.Terms) -> int:
    """Runs until the end of what is planned; it may stop earlier, or go on with more budget."""
    instances = terms.planned
    if terms.sampled == "family":
        ends = np.flatnonzero(np.diff(codes_of(journal.families(journal.order()) or ()))) + 1
        instances = int([*ends, len(journal.order())][min(terms.planned - 1, ends.size)])
    return 2 * instances * terms.runs


def as_json(state: dict[str, Any]) -> bytes:
    """The state as JSON; what is not a number is null."""

    def plain(value: Any) -> Any:
        if isinstance(value, float) and not math.isfinite(value):
            return None
        if isinstance(value, dict):
            return {key: plain(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [plain(item) for item in value]
        return value

    return json.dumps(plain(state)).encode()
