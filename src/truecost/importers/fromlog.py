"""A scenario file from a log: what irace says of its target, or SMAC3's space with a target to fill
in.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from truecost.errors import InputError
from truecost.importers import rdata, smac
from truecost.importers.irace import NUMBERS, VARIABLE
from truecost.importers.rdata import RValue
from truecost.matrix.files import whole_file
from truecost.matrix.imported import Import
from truecost.running.scenario import FILL_IN

# irace limits no run by itself, and a scenario must: a day, in seconds.
DAY: Final = 86400.0
PLAIN_LAUNCH: Final = "{targetRunner} {targetRunnerArgs}"
# A run that failed costs so many times what was seen, where nobody knows the most there can be.
FAILED: Final = 100.0
# R's operators as they are written between two sides.
BETWEEN: Final = ("==", "!=", "<", "<=", ">", ">=", "&", "&&", "|", "||", "%in%")


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """A scenario that was written: its file, what is still to be filled in, and what the log says
    beside it.

    `default` is irace's first initial configuration, where it was given some; `deterministic` that
    seeds change nothing.
    """

    path: Path
    fill_in: bool
    default: str | None
    deterministic: bool


def scenario_from_log(
    path: Path, log: Import, folder: Path, *, instances: str | None = None
) -> Written:
    """Write the scenario that a log of irace or SMAC3 was made with into a folder, as far as the
    log says it.

    Parameters
    ----------
    path
        The log.
    log
        What was read from it: its range of costs becomes the metric's.
    folder
        Where to write; what is there already stays.
    instances
        A pattern of files; those the log trained on if not given.
    """
    if log.kind not in ("irace", "smac"):
        raise InputError(
            f"{path}: expected a log of irace or SMAC3, got {log.kind}: no other says what a scenario needs."
        )
    try:
        files, told = (_irace if log.kind == "irace" else _smac)(path, log, instances)
    except InputError as error:
        raise InputError(f"{path}: {error}") from error
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        if not (folder / name).exists():
            with whole_file(folder / name) as file:
                file.write(text.encode())
    return Written(path=folder / "scenario.toml", **told)


def _irace(path: Path, log: Import, pattern: str | None) -> tuple[dict[str, str], dict[str, Any]]:
    with path.open("rb") as file:
        found = rdata.read(file)[VARIABLE]
    scenario = found.get("scenario") or RValue(kind="null")
    runner = _text(scenario, "targetRunner")
    if not runner:
        raise InputError(
            "expected a target runner that is a program, got a function of R: write a `scenario` by hand."
        )
    if _text(scenario, "targetEvaluator"):
        raise InputError(
            "expected a target runner that says the cost, got a target evaluator: write a `scenario` by hand."
        )
    given = _text(scenario, "execDir") or "."
    start = next(
        (each for each in (Path(given), path.parent / given) if each.is_dir()), path.parent
    ).resolve()
    program = next(
        (each for each in (start / runner, path.parent / runner) if each.is_file()), None
    )
    if program is None:
        raise InputError(
            f"expected the target runner {runner!r:.120}, and it is not there: write a `scenario` by hand."
        )
    launcher, launched = (
        _text(scenario, "targetRunnerLauncher"),
        _text(scenario, "targetRunnerLauncherArgs"),
    )
    if launcher and (launched or PLAIN_LAUNCH) != PLAIN_LAUNCH:
        raise InputError(
            f"expected a launcher for {PLAIN_LAUNCH!r}, got {launched!r:.80}: write a `scenario` by hand."
        )
    # irace starts its target in its own folder.
    command = ["env", "-C", str(start), *([launcher] if launcher else []), str(program.resolve())]
    command = [word.replace("{", "{{").replace("}", "}}") for word in command]
    bound = _number(scenario, "boundMax") if _number(scenario, "capping") == 1 else None
    limit = _number(scenario, "targetRunnerTimeout") or DAY
    names = _names(log, pattern, [start, path.parent.resolve(), Path.cwd()])
    text = [
        f"# Written from {path.name}: what irace was run with.",
        f"name = {json.dumps(path.stem)}",
        "",
        "[target]",
        'kind = "irace"',
        f"command = {_words(command)}",
        *([] if bound is None else ["bound = true"]),
        "",
        "[space]",
        'file = "parameters.txt"',
        "",
        "[instances]",
        names,
        "",
        "[limits]",
        f"wall = {max(limit, 2 * (bound or 0)):g}",
        *([] if bound is None else [f"cutoff = {bound:g}"]),
        "",
        *_metric(log, bound, _number(scenario, "boundPar")),
    ]
    told = {
        "fill_in": False,
        "default": log.trajectory.default,
        "deterministic": _number(scenario, "deterministic") == 1,
    }
    return {
        "scenario.toml": "\n".join([*text, ""]),
        "parameters.txt": _parameters(found, scenario, path),
    }, told


def _smac(path: Path, log: Import, pattern: str | None) -> tuple[dict[str, str], dict[str, Any]]:
    folder = (
        next(iter(sorted(path.rglob(smac.HISTORY))), path).parent if path.is_dir() else path.parent
    )
    try:
        space = (folder / "configspace.json").read_text()
    except OSError as error:
        raise InputError(
            f"expected configspace.json beside {smac.HISTORY}: {error.strerror}."
        ) from error
    scenario = folder / "scenario.json"
    try:
        said = json.loads(scenario.read_text()) if scenario.is_file() else {}
    except ValueError as error:
        raise InputError(f"expected JSON in scenario.json: {error}.") from error
    wall = said.get("trial_walltime_limit") if isinstance(said, dict) else None
    text = [
        f"# Written from {folder.name}: SMAC3 does not say how its target is run. Fill that in.",
        f"name = {json.dumps(str(said.get('name') or folder.name) if isinstance(said, dict) else folder.name)}",
        "",
        "[target]",
        '# A program; or a Python function, with kind = "python" and function = "target.py:run" instead of the command.',
        'kind = "command"',
        f"command = {_words([FILL_IN, '{instance}', '{seed}', '{arguments}'])}",
        "",
        "[answer]",
        "# Where the program prints its cost: a regular expression with one group.",
        "value = 'cost: (\\S+)'",
        "",
        "[space]",
        'file = "configspace.json"',
        "",
        "[instances]",
        _names(log, pattern, [folder.resolve(), Path.cwd()]),
        "",
        "[limits]",
        f"wall = {wall if isinstance(wall, int | float) and wall > 0 else DAY:g}",
        "",
        *_metric(log, None, None),
    ]
    told = {
        "fill_in": True,
        "default": None,
        "deterministic": bool(isinstance(said, dict) and said.get("deterministic")),
    }
    return {"scenario.toml": "\n".join([*text, ""]), "configspace.json": space}, told


def _names(log: Import, pattern: str | None, folders: Sequence[Path]) -> str:
    if pattern is not None:
        return f"glob = {json.dumps(str(Path.cwd() / pattern))}"
    found = {
        name: next((folder / name for folder in folders if (folder / name).is_file()), None)
        for name in log.matrix.instances
    }
    if all(found.values()):
        return f"files = {_words([str(place) for place in found.values()])}"
    return f"names = {_words(log.matrix.instances)}"


def _metric(log: Import, bound: float | None, par: float | None) -> list[str]:
    matrix = log.matrix
    if bound is not None:
        return [
            "[metric]",
            'kind = "par"',
            'clock = "reported"',
            f"cutoff = {bound:g}",
            f"factor = {par or 1.0:g}",
        ]
    ends = [
        f"{name} = {value!r}"
        for name, value in (("low", matrix.low), ("high", matrix.high))
        if np.isfinite(value)
    ]
    if not np.isfinite(matrix.high):
        most = float(np.nanmax(np.abs(matrix.costs))) * FAILED
        ends += [
            "# What a run that fails costs; the log does not say the most a run can cost.",
            f"failed = {most or 1.0:g}",
        ]
    return ["[metric]", 'kind = "value"', *ends]


def _parameters(log: RValue, scenario: RValue, path: Path) -> str:
    """irace's table of parameters, from the log; else the file it was read from."""
    table = log.get("parameters") or scenario.get("parameters") or RValue(kind="null")
    try:
        return _table(table, scenario)
    except InputError:
        named = _text(scenario, "parameterFile")
        for place in (Path(named), path.parent / named, Path(_text(scenario, "execDir")) / named):
            if named and place.is_file():
                return place.read_text("utf-8-sig")
        raise


def _table(table: RValue, scenario: RValue) -> str:
    domains, conditions = table.get("domain") or table.get("domains"), table.get("conditions")
    names, types, switches = (_texts(table, key) for key in ("names", "types", "switches"))
    if (
        domains is None
        or conditions is None
        or not names
        or len({len(names), len(types), len(switches)}) != 1
    ):
        raise InputError(
            "expected the parameters in the log of irace, and they are not there: write a `scenario` by hand."
        )
    transform = table.get("transform")
    lines = []
    for place, name in enumerate(names):
        domain, condition = domains.get(name), conditions.get(name)
        if domain is None or domain.kind not in ("character", *NUMBERS) or '"' in switches[place]:
            raise InputError(
                f"expected the values of the parameter {name!r} in the log, got none that can be read."
            )
        values = (
            [json.dumps(value) for value in domain.values]
            if domain.kind == "character"
            else [f"{value:.15g}" for value in domain.values.tolist()]
        )
        log = transform is not None and "log" in _texts(transform, name)
        only = (
            ""
            if condition is None or condition.kind in ("logical", "null")
            else f" | {_deparsed(condition)}"
        )
        kind = f"{types[place]}{',log' if log else ''}"
        lines.append(f'{name} "{switches[place]}" {kind} ({", ".join(values)}){only}')
    digits = _number(table, "digits") or _number(scenario, "digits")
    return "\n".join(
        [*lines, *([] if digits is None else ["[global]", f"digits = {digits:g}"]), ""]
    )


def _deparsed(value: RValue) -> str:
    """A condition of R as it was written."""
    if value.kind == "list" and len(value) == 1:
        return _deparsed(value.values[0])
    if value.kind == "symbol":
        return str(value.values[0])
    if value.kind == "character" and len(value) == 1:
        return json.dumps(value.values[0])
    if value.kind == "logical" and len(value) == 1:
        return json.dumps("TRUE" if value.values[0] else "FALSE")
    if value.kind in NUMBERS and len(value) == 1:
        return f"{float(value.values[0]):.15g}"
    if value.kind == "call" and value.values[0].kind == "symbol":
        name, sides = value.values[0].values[0], [_deparsed(each) for each in value.values[1:]]
        if name in BETWEEN and len(sides) == 2:
            return f"{sides[0]} {name} {sides[1]}"
        if name == "!" and len(sides) == 1:
            return f"!{sides[0]}"
        if name == "(" and len(sides) == 1:
            return f"({sides[0]})"
        if name == "c":
            return f"c({', '.join(sides)})"
    raise InputError(
        "expected conditions that can be read in the log of irace, got byte code: write a `scenario` by hand."
    )


def _texts(found: RValue, name: str) -> list[str]:
    value = found.get(name)
    if value is not None and value.kind == "list":
        return [
            str(each.values[0])
            for each in value.values
            if each.kind == "character" and len(each) == 1
        ]
    return (
        [str(each) for each in value.values]
        if value is not None and value.kind == "character"
        else []
    )


def _text(found: RValue, name: str) -> str:
    texts = _texts(found, name)
    return texts[0] if len(texts) == 1 else ""


def _number(found: RValue, name: str) -> float | None:
    value = found.get(name)
    if (
        value is None
        or value.kind not in ("logical", *NUMBERS)
        or len(value) != 1
        or not value.values[0] > 0
    ):
        return None
    return float(value.values[0])


def _words(words: Sequence[str]) -> str:
    """A list of texts as TOML writes it."""
    return json.dumps(list(words), ensure_ascii=False)
