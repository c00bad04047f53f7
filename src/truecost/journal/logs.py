"""A journal as a log: its runs, plans and parameters as every reader of logs takes them."""

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from truecost.errors import InputError
from truecost.judge.evidence import NOT_TUNED
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
STARTS = "The guarantees hold only if the starting points were not tuned on the test instances."
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
    """The scenario's file as one would type it here; empty where there is no such file."""
    path, here = Path(journal.meta("scenario") or ""), Path.cwd()
    if not path.is_file():
        return ""
    return str(path.relative_to(here) if path.is_relative_to(here) else path)


def _gathered(journal: "Journal", metric: "Metric", table: "RunTable") -> Log:
    plans = [event.data for event in journal.events(PLAN)]
    if not plans:
        raise InputError(f"{journal.path}: no runs yet.")
    first = plans[0]
    order, names = (
        tuple(dict.fromkeys(name for plan in plans for name in plan[what]))
        for what in ("instances", "configurations")
    )
    matrix = journal.matrix(configurations=names, instances=order, metric=metric, table=table)
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
            watched=False,
        ),
    )


def _configured(journal: "Journal", metric: "Metric", table: "RunTable") -> Log:
    searches, ends = journal.events(SEARCH), journal.events(SEARCHED)
    if not searches:
        raise InputError(f"{journal.path}: no runs yet.")
    held_out = held_out_instances(journal)
    training = [name for name in table.instances if name not in held_out]
    steps = tuple(
        Step(event.data["runs"], event.data["name"]) for event in journal.events(INCUMBENT)
    )
    incumbent = steps[-1].configuration if steps else None
    if ends:
        incumbent = ends[-1].data["incumbent"]["name"]
    # What a log has runs on is not held out.
    unknown = bool(journal.settings["start"]) and not searches[0].data["used"]
    begun, test = current_test(journal), None
    plan = None if begun is None else recorded_plan(journal, begun)
    if plan is not None and (table.places("instance", plan.order) >= 0).any():
        test = journal.matrix(instances=plan.order, metric=metric, table=table)
    return Log(
        runs=journal.matrix(instances=training, metric=metric, table=table),
        test=test,
        tool="truecost configure",
        default=searches[0].data["default"],
        incumbent=incumbent,
        steps=steps,
        parameters=journal.configurations(),
        adaptive=True,
        test_plan=plan,
        caveats=(Caveat("starts", STARTS),) if unknown else (),
    )


def _validated(journal: "Journal", metric: "Metric", table: "RunTable") -> Log:
    begun = current_test(journal)
    if begun is None:
        raise InputError(f"{journal.path}: no runs yet.")
    names, plan = begun["names"], recorded_plan(journal, begun)
    test = journal.matrix(instances=plan.order, metric=metric, table=table)
    test = test.replace(configurations=[names[name] for name in test.configurations])
    plan = replace(plan, candidates=tuple(names[name] for name in plan.candidates))
    # Without one log the only runs are those of the test.
    log = stored_log(journal) or Log(runs=test, tool="truecost validate")
    if not begun["used"]:
        caveat = Caveat("no-log", "No log names training instances. " + NOT_TUNED)
        log = replace(log, caveats=(*log.caveats, caveat))
    parameters = {names[name]: values for name, values in journal.configurations().items()}
    return replace(
        log,
        parameters={**log.parameters, **parameters},
        test=test,
        default=names[begun["default"]],
        incumbent=plan.candidates[0],
        test_plan=plan,
    )


def current_test(journal: "Journal") -> dict[str, Any] | None:
    """The test of a validation, or of a search's latest winner; None where it has not begun."""
    tests = [event.data for event in journal.events(TEST)]
    if ends := journal.events(SEARCHED):
        winner = ends[-1].data["incumbent"]["name"]
        tests = [test for test in tests if winner in test["candidates"]]
    return tests[-1] if tests else None


def last_stop(journal: "Journal", candidates: Sequence[str]) -> dict[str, Any] | None:
    """How the test of these candidates ended the last time; None where it has not."""
    stops = [event.data for event in journal.events(STOP)]
    ended = [stop for stop in stops if stop["candidates"] == list(candidates)]
    return ended[-1] if ended else None


def held_out_instances(journal: "Journal") -> set[str]:
    """The instances that a search held out, and those of all tests."""
    lists = {SEARCH: "held_out", TEST: "order", MORE: "instances"}
    return {name for event in journal.events(*lists) for name in event.data[lists[event.kind]]}


def recorded_plan(journal: "Journal", test: Mapping[str, Any]) -> Plan:
    """The plan of a test, with the instances that were added later at the end of its order."""
    added = [name for event in journal.events(MORE) for name in event.data["instances"]]
    plan = Plan(**{item.name: test[item.name] for item in fields(Plan)})
    order = tuple(dict.fromkeys([*plan.order, *added]))
    return replace(plan, order=order, candidates=tuple(plan.candidates))


def store_log(journal: "Journal", log: Log) -> None:
    """Keep the log that a validation began with, so that the journal alone gives the report."""
    with tempfile.TemporaryDirectory() as folder:
        write_log(log, Path(folder) / LOG_FILES[0])
        for file in Path(folder).iterdir():
            journal.set_meta(file.name, file.read_bytes())


def stored_log(journal: "Journal") -> Log | None:
    """The log that a validation began with; None where it began without one."""
    kept = {name: content for name in LOG_FILES if (content := journal.meta(name)) is not None}
    if not kept:
        return None
    with tempfile.TemporaryDirectory() as folder:
        for name, content in kept.items():
            (Path(folder) / name).write_bytes(content)
        return read_log(Path(folder) / LOG_FILES[0])


def _caveats(journal: "Journal", metric: "Metric", table: "RunTable") -> list[Caveat]:
    """What makes times doubtful, one line each."""
    caveats, machines = {}, journal.machines()
    test = current_test(journal)
    stop = None if test is None else last_stop(journal, test["candidates"])
    if stop is not None and stop["why"] == "forecast":
        caveats["given-up"] = (
            f"The test stopped early, after {stop['units']} units: the rest of its budget had a "
            "chance below 1 % to settle this in favour of the winner."
        )
    if metric.timed and len(models := sorted({machine.cpu for machine in machines})) > 1:
        caveats["machines"] = f"Runs were made on different processors ({'; '.join(models)})."
    if len(solvers := sorted({machine.solver or "unknown" for machine in machines})) > 1:
        caveats["solver"] = f"The solver's version changed on the way: {'; '.join(solvers)}."
    waited = table.wall > WAITED * table.cpu + WAITED_SECONDS
    if metric.timed and metric.clock != "wall" and waited.sum() > WAITED_SHARE * len(table):
        caveats["waiting"] = (
            f"{100 * waited.mean():.0f} % of the runs took far longer than their CPU time: the "
            "solver waits, or other programs used its core."
        )
    failed = np.isin(table.status, [Status.CRASHED, Status.WRONG])
    if failed.sum() > 0.5 * len(table):
        caveats["failed"] = f"{100 * failed.mean():.0f} % of the runs crashed or were wrong."
    return [Caveat(code, sentence) for code, sentence in caveats.items()]
