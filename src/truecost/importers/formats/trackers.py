"""Exports of Ray Tune, MLflow, Weights & Biases and Optuna as tables, one trial a row.

Parameters are columns with a prefix: `config/` (Ray Tune), `params.` (MLflow), `config.` (W&B),
`params_` (Optuna). What the documentation of W&B exports has two columns of dictionaries, `config`
and `summary`. One parameter must say the instance (or fold, data set, task), since a trial with one
number alone says nothing of single instances; one may be the seed. The others make up the
configuration. The cost is the metric that is asked for, or the only one.
"""

import json
import re
from dataclasses import replace
from typing import Any

import polars as pl

from truecost.errors import InputError
from truecost.importers import frames
from truecost.importers.record import Options, literal
from truecost.importers.registry import Candidate, Importer
from truecost.matrix import longtable
from truecost.matrix.imported import Import, Scalar

# The tool, the prefix of its parameters, that of its metrics, and a column that only it has.
TOOLS = (
    ("Ray Tune", "config/", "", "trial_id"),
    ("MLflow", "params.", "metrics.", "run_id"),
    ("Weights & Biases", "config.", "summary.", ""),
    ("Optuna", "params_", "value", "datetime_start"),
)
# Columns of numbers that are no metrics.
ABOUT = re.compile(
    r"(?i)(iterations?_.*|time_.*|.*_since_restore|timestamp|training_iteration|pid|date|_.*"
    r"|runtime|created|logdir|done|hostname|node_ip|episodes_total|timesteps_total|checkpoint_.*)"
)
STATUS = ("status", "State", "state")
MEANING = {
    "TERMINATED": "success",
    # As in a storage of Optuna: its last intermediate value is no cost.
    "PRUNED": "running",
    "WAITING": "running",
}
# What `runs_of` calls trials that have no value of their own.
UNENDED = {"not ended": "trials pruned, running or waiting"}

# W&B's own: dictionaries of a run, and columns that its page alone writes.
DICTIONARIES = ("config", "summary")
FROM_A_PAGE = frozenset({"State", "Created", "Runtime", "Sweep"})


def _tool(columns: list[str]) -> tuple[str, str, str] | None:
    for name, parameters, metrics, mark in TOOLS:
        has_mark = not mark or mark in columns
        if has_mark and all(any(c.startswith(p) for c in columns) for p in (parameters, metrics)):
            return name, parameters, metrics
    return None


def _recognise(candidate: Candidate) -> bool:
    columns = candidate.columns
    tool = set(columns) >= set(DICTIONARIES) or _tool(columns) is not None
    if not tool and set(columns) >= FROM_A_PAGE:
        raise InputError(
            "expected runs that wandb.Api() exports, got a table from a page of Weights & Biases, "
            "which does not say what the parameters are: see docs/import.md."
        )
    return tool


def _flattened(table: pl.DataFrame) -> pl.DataFrame:
    """The table with a column for each entry of W&B's dictionaries."""
    for name in DICTIONARIES if set(DICTIONARIES) <= set(table.columns) else ():
        cells = [cell if isinstance(cell, dict) else literal(cell) for cell in table[name]]
        entries = [cell if isinstance(cell, dict) else {} for cell in cells]
        table = table.drop(name).with_columns(
            pl.Series(f"{name}.{key}", [_plain(entry.get(key)) for entry in entries], strict=False)
            for key in dict.fromkeys(key for entry in entries for key in entry)
        )
    return table


def _plain(value: Any) -> Scalar:
    return json.dumps(value, default=str) if isinstance(value, dict | list | tuple) else value


def _read(source: Any, options: Options) -> Import:
    table = _flattened(frames.as_frame(source))
    tool = _tool(table.columns)
    if tool is None:
        raise InputError("expected a table that Ray Tune, MLflow or Weights & Biases exported.")
    name, prefix, metrics = tool
    inputs = [column for column in table.columns if column.startswith(prefix)]
    roles = frames.guesses([column.removeprefix(prefix) for column in inputs], {})
    if "instance" not in roles:
        raise InputError(
            f"expected a parameter that names the instance, {prefix}instance for example, in what "
            f"{name} exported: every trial has one number, so there are no per-instance results."
        )
    special = {role: prefix + roles[role] for role in ("instance", "seed") if role in roles}
    varied = [column for column in inputs if column not in special.values()]
    cost = _metric(table, inputs, metrics, options.objective or options.columns.get("cost"))
    # Trackers name trials, not configurations: equal parameters are one.
    keys = [
        json.dumps({column.removeprefix(prefix): row[column] for column in varied}, sort_keys=True)
        for row in table.select(varied).to_dicts() or [{}] * table.height
    ]
    names = {key: str(place) for place, key in enumerate(dict.fromkeys(keys), 1)}
    parameters: dict[str, dict[str, Scalar]] = {names[key]: json.loads(key) for key in names}
    runs = table.select(
        pl.Series("configuration", [names[key] for key in keys]),
        *(pl.col(column).alias(role) for role, column in special.items()),
        pl.col(cost).alias("cost"),
        *(
            pl.col(column).cast(pl.String).str.to_uppercase().replace(MEANING).alias("status")
            for column in STATUS
            if column in table.columns
        ),
    )
    frames.check_direction(cost.removeprefix(metrics), options.maximise)
    log = frames.runs_of(runs, replace(options, columns={}, objective=None))
    note = (
        f"{name}: costs are the column {cost}, instances {special['instance']}; trials with the "
        "same other parameters are one configuration."
    )
    if name == "Ray Tune":
        note += " Ray Tune leaves trials that failed out of its table."
    return replace(
        log,
        kind="trackers",
        left_out={UNENDED.get(why, why): count for why, count in log.left_out.items()},
        trajectory=replace(log.trajectory, tool=name),
        parameters=parameters,
        notes=(note, *log.notes),
    )


def _metric(table: pl.DataFrame, inputs: list[str], prefix: str, wanted: str | None) -> str:
    """The column of the costs: what is asked for, else the only one that may be a metric."""
    for column in (wanted, f"{prefix}{wanted}"):
        if wanted is not None and column in table.columns:
            return str(column)
    likely = [
        column
        for column in table.columns
        if column not in inputs
        and column.startswith(prefix)
        and not ABOUT.fullmatch(column.removeprefix(prefix))
        and _numeric(table, column)
    ]
    if wanted is not None or len(likely) != 1:
        choices = ", ".join(column.removeprefix(prefix) for column in likely)
        raise InputError(
            f"expected one of the metrics {choices:.200} as `objective`, got "
            f"{'none' if wanted is None else repr(wanted)}."
        )
    return likely[0]


def _numeric(table: pl.DataFrame, column: str) -> bool:
    try:
        return longtable.numbers(table, column).drop_nulls().len() > 0
    except InputError:
        return False


IMPORTER = Importer(
    name="trackers",
    title="Ray Tune, MLflow, W&B, Optuna (tables)",
    recognise=_recognise,
    read=_read,
)
