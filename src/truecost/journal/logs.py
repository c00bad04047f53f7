"""A journal as a log: its runs, plans and parameters as every reader of logs takes them."""

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from truecost.errors import InputError
from truecost.matrix.files import read_log, write_log
from truecost.matrix.log import Log, Plan, Step
from truecost.runs import Caveat, Status

if TYPE_CHECKING:
    from truecost.journal.journal import Journal
    from truecost.journal.table import RunTable
    from truecost.running.metric import Metric

# Kinds of events: a plan of gather; a search as it began and as it ended; a test, instances added
# to it, and how it ended.
PLAN, SEARCH, INCUMBENT, SEARCHED = "plan", "search", "incumbent", "searched"
TEST, MORE, BUDGET, STOP = "test", "more instances", "budget", "stop"
# The log that a validation began with, stored as its files.
LOG_FILES = ("log.csv.gz", "log.csv.json", "log-test.csv.gz")
# A run that waited for more than half its time, and half a second, did not have its core for
# itself; some may.
WAITED, WAITED_SECONDS, WAITED_SHARE = 1.5, 0.5, 0.05


def log_of(journal: "Journal", metric: "Metric") -> Log:
    """The log of a journal under a metric."""
    table = journal.table()
    build = {"gather": _gathered, "configure": _configured, "validate": _validated}[journal.kind]
    log = build(journal, metric, table)
    return replace(
        log,
        path=str(journal.path),
        scenario=_scenario(journal),
        cost_unit=f"PAR{metric.factor:g} s" if metric.timed else "",
        caveats=(*log.caveats, *_caveats(journal, metric, table)),
    )


def _scenario(journal: "Journal") -> str:
    """The scenario's file as one would type it here; empty where it is not there."""
    path = Path(journal.noted("scenario") or "")
    if not path.is_file():
        return ""
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)


def _gathered(journal: "Journal", metric: "Metric", table: "RunTable") -> Log:
    plans = [event.data for event in journal.events(PLAN)]
    if not plans:
        raise InputError(f"{journal.path}: no runs yet.")
    first, last = plans[0], plans[-1]
    order = tuple(dict.fromkeys(name for plan in plans for name in plan["instances"]))
    names = dict.fromkeys(name for plan in plans for name in plan["configurations"])
    matrix = journal.matrix(configurations=[*names], instances=order, metric=metric, table=table)
    whole = matrix.shape[:2] == (len(names), len(order)) and bool(
        (matrix.counts() >= last["runs"]).all()
    )
    return Log(
        runs=matrix,
        tool="truecost gather",
        default=first["default"] if first["default"] in matrix.configurations else None,
        parameters=journal.configurations(),
        adaptive=None if first["given"] else False,
        listed=len(first["configurations"]),
        plan=Plan(
            order=order,
            planned=len(first["instances"]),
            candidates=tuple(first["configurations"]),
            runs=first["runs"],
            # A finished first plan is looked at once; everything else perhaps after every unit.
            watched=not whole or _sizes(plans) > 1,
        ),
    )


def _sizes(plans: Sequence[Mapping[str, Any]]) -> int:
    """How many plans there are with other instances or runs."""
    return len({(*plan["instances"], plan["runs"]) for plan in plans})


def _configured(journal: "Journal", metric: "Metric", table: "RunTable") -> Log:
    begun = next((event.data for event in journal.events(SEARCH)), None)
    if begun is None:
        raise InputError(f"{journal.path}: no runs yet.")
    held_out = {*begun["held_out"], *tested_on(journal)}
    training = [name for name in table.instances if name not in held_out]
    searched = journal.events(SEARCHED)
    last: dict[str, Any] = searched[-1].data if searched else {}
    steps = tuple(
        Step(event.data["runs"], event.data["name"]) for event in journal.events(INCUMBENT)
    )
    incumbent = last.get("incumbent", steps[-1].configuration if steps else None)
    test, plan = None, None
    # The latest incumbent's own test; an earlier one is another configuration's.
    mine = [event.data for event in journal.events(TEST) if incumbent in event.data["candidates"]]
    if mine:
        plan = test_plan(journal, mine[-1])
        present = np.unique(table.instance)
        if any(table.instances[place] in held_out for place in present):
            test = journal.matrix(instances=plan.order, metric=metric, table=table)
    runs = journal.matrix(instances=training, metric=metric, table=table)
    return Log(
        runs=runs,
        test=test,
        tool="truecost configure",
        default=begun["default"],
        incumbent=incumbent,
        steps=steps,
        parameters=journal.configurations(),
        adaptive=True,
        test_plan=plan,
    )


def _validated(journal: "Journal", metric: "Metric", table: "RunTable") -> Log:
    tests = journal.events(TEST)
    if not tests:
        raise InputError(f"{journal.path}: no runs yet.")
    data, names = tests[-1].data, tests[-1].data["names"]
    plan = test_plan(journal, data)
    test = journal.matrix(instances=plan.order, metric=metric, table=table)
    test = test.replace(configurations=[names[name] for name in test.configurations])
    plan = replace(plan, candidates=tuple(names[name] for name in plan.candidates))
    parameters = {names[name]: values for name, values in journal.configurations().items()}
    origin = stored_log(journal)
    common = {
        "test": test,
        "default": names[data["default"]],
        "incumbent": plan.candidates[0],
        "test_plan": plan,
    }
    if origin is not None:
        return replace(origin, parameters={**origin.parameters, **parameters}, **common)
    # Without a log nothing was trained on: the only runs are those of the test.
    return Log(runs=test, tool="truecost validate", parameters=parameters, **common)


def tested_on(journal: "Journal") -> set[str]:
    """The instances of all tests of a journal."""
    first = {name for event in journal.events(TEST) for name in event.data["order"]}
    return first | {name for event in journal.events(MORE) for name in event.data["instances"]}


def test_plan(journal: "Journal", data: Mapping[str, Any]) -> Plan:
    """The plan of a test, with the instances that were added later at the end of its order."""
    added = [name for event in journal.events(MORE) for name in event.data["instances"]]
    recorded = {item.name: data[item.name] for item in fields(Plan)}
    recorded["order"] = tuple(dict.fromkeys([*data["order"], *added]))
    return Plan(**{**recorded, "candidates": tuple(data["candidates"])})


def store_log(journal: "Journal", log: Log) -> None:
    """Keep the log that a validation began with, so that the journal alone gives the report."""
    with tempfile.TemporaryDirectory() as folder:
        write_log(log, Path(folder) / LOG_FILES[0])
        for name in LOG_FILES:
            if (file := Path(folder) / name).exists():
                journal.note(name, file.read_bytes())


def stored_log(journal: "Journal") -> Log | None:
    """The log that a validation began with; None where it began without one."""
    kept = {name: journal.noted(name) for name in LOG_FILES}
    if kept[LOG_FILES[0]] is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        for name, content in kept.items():
            if content is not None:
                (Path(folder) / name).write_bytes(content)
        return read_log(Path(folder) / LOG_FILES[0])


def _caveats(journal: "Journal", metric: "Metric", table: "RunTable") -> list[Caveat]:
    """What makes times doubtful, one line each."""
    machines = journal.machines()
    used = [machines[place - 1] for place in np.unique(table.machine).tolist()]
    caveats = []
    stops = [event.data for event in journal.events(STOP)]
    if stops and stops[-1]["why"] == "forecast":
        sentence = (
            f"The test stopped early, after {stops[-1]['units']} units: the rest of its budget had "
            "a chance below 1 % to settle this in favour of the winner."
        )
        caveats.append(Caveat("given-up", sentence))
    if metric.timed and len(models := sorted({machine.cpu for machine in used})) > 1:
        caveats.append(
            Caveat("machines", f"Runs were made on different processors ({'; '.join(models)}).")
        )
    if len(solvers := sorted({machine.solver or "unknown" for machine in used})) > 1:
        caveats.append(
            Caveat("solver", f"The solver's version changed on the way: {'; '.join(solvers)}.")
        )
    if len(table) and metric.timed and metric.clock != "wall":
        waited = (table.wall > WAITED * table.cpu + WAITED_SECONDS).mean()
        if waited > WAITED_SHARE:
            caveats.append(
                Caveat(
                    "waiting",
                    f"{100 * waited:.0f} % of the runs took far longer than their CPU time: the "
                    "solver waits, or other programs used its core.",
                )
            )
    failed = np.isin(table.status, [Status.CRASHED, Status.WRONG])
    if len(table) and failed.mean() > 0.5:
        caveats.append(
            Caveat("failed", f"{100 * failed.mean():.0f} % of the runs crashed or were wrong.")
        )
    return caveats
