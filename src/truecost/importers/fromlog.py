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
from truecost.importers.formats import irace, smac
from truecost.importers.rdata import NUMBERS, RValue
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
            f"{path}: expected a log of irace or SMAC3, got {log.kind}: no other says what a "
            "scenario needs."
        )
    try:
        files, about = (_irace if log.kind == "irace" else _smac)(path, log, instances)
    except InputError as error:
        raise InputError(f"{path}: {error}") from error
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        if not (folder / name).exists():
            with whole_file(folder / name) as file:
                file.write(text.encode())
    return Written(path=folder / "scenario.toml", **about)


def _irace(path: Path, log: Import, pattern: str | None) -> tuple[dict[str, str], dict[str, Any]]:
    content = irace.read_log(path)
    scenario = content.get("scenario")
    runner = scenario.text("targetRunner")
    if not runner:
        raise InputError(
            "expected a target runner that is a program, got a function of R: write a `scenario` "
            "by hand."
        )
    if scenario.text("targetEvaluator"):
        raise InputError(
            "expected a target runner that says the cost, got a target evaluator: write a "
            "`scenario` by hand."
        )
    given = scenario.text("execDir") or "."
    folders = [folder for folder in (Path(given), path.parent / given) if folder.is_dir()]
    start = next(iter(folders), path.parent).resolve()
    programs = [file for file in (start / runner, path.parent / runner) if file.is_file()]
    program = next(iter(programs), None)
    if program is None:
        raise InputError(
            f"expected the target runner {runner!r:.120}, and it is not there: write a `scenario` "
            "by hand."
        )
    launcher = scenario.text("targetRunnerLauncher")
    launched = scenario.text("targetRunnerLauncherArgs")
    if launcher and (launched or PLAIN_LAUNCH) != PLAIN_LAUNCH:
        raise InputError(
            f"expected a launcher for {PLAIN_LAUNCH!r}, got {launched!r:.80}: write a `scenario` "
            "by hand."
        )
    # irace starts its target in its own folder.
    command = ["env", "-C", str(start), *([launcher] if launcher else []), str(program.resolve())]
    command = [word.replace("{", "{{").replace("}", "}}") for word in command]
    bound = scenario.number("boundMax") if scenario.number("capping") == 1 else None
    limit = scenario.number("targetRunnerTimeout") or DAY
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
        *_metric(log, bound, scenario.number("boundPar")),
    ]
    about = {
        "fill_in": False,
        "default": log.trajectory.default,
        "deterministic": scenario.number("deterministic") == 1,
    }
    return {
        "scenario.toml": "\n".join([*text, ""]),
        "parameters.txt": _parameters(content, scenario, path),
    }, about


def _smac(path: Path, log: Import, pattern: str | None) -> tuple[dict[str, str], dict[str, Any]]:
    folder = smac.folder_of(path) or path
    try:
        space = (folder / "configspace.json").read_text()
    except OSError as error:
        raise InputError(
            f"expected configspace.json beside {smac.HISTORY}: {error.strerror}."
        ) from error
    scenario = folder / "scenario.json"
    try:
        stored = json.loads(scenario.read_text()) if scenario.is_file() else {}
    except ValueError as error:
        raise InputError(f"expected JSON in scenario.json: {error}.") from error
    options = stored if isinstance(stored, dict) else {}
    wall = options.get("trial_walltime_limit")
    text = [
        f"# Written from {folder.name}: SMAC3 does not say how its target is run. Fill that in.",
        f"name = {json.dumps(str(options.get('name') or folder.name))}",
        "",
        "[target]",
        '# A program; or a Python function: kind = "python" and function = "target.py:run" instead.',
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
    about = {
        "fill_in": True,
        "default": None,
        "deterministic": bool(options.get("deterministic")),
    }
    return {"scenario.toml": "\n".join([*text, ""]), "configspace.json": space}, about


def _names(log: Import, pattern: str | None, folders: Sequence[Path]) -> str:
    if pattern is not None:
        return f"glob = {json.dumps(str(Path.cwd() / pattern))}"
    files = [
        next((str(folder / name) for folder in folders if (folder / name).is_file()), "")
        for name in log.matrix.instances
    ]
    if all(files):
        return f"files = {_words(files)}"
    return f"names = {_words(log.matrix.instances)}"


def _metric(log: Import, bound: float | None, par: float | None) -> list[str]:
    matrix = log.matrix
    if bound is not None:
        lines = ['kind = "par"', 'clock = "reported"', f"cutoff = {bound:g}"]
        return ["[metric]", *lines, f"factor = {par or 1.0:g}"]
    ends = {"low": matrix.low, "high": matrix.high}
    lines = [f"{name} = {value!r}" for name, value in ends.items() if np.isfinite(value)]
    if not np.isfinite(matrix.high):
        most = float(np.nanmax(np.abs(matrix.costs))) * FAILED
        lines += [
            "# What a run that fails costs; the log does not say the most a run can cost.",
            f"failed = {most or 1.0:g}",
        ]
    return ["[metric]", 'kind = "value"', *lines]


def _parameters(log: RValue, scenario: RValue, path: Path) -> str:
    """irace's table of parameters, from the log; else the file it was read from."""
    try:
        return _table(log.get("parameters") or scenario.get("parameters"), scenario)
    except InputError:
        named = scenario.text("parameterFile")
        for place in (Path(named), path.parent / named, Path(scenario.text("execDir")) / named):
            if named and place.is_file():
                return place.read_text("utf-8-sig")
        raise


def _table(table: RValue, scenario: RValue) -> str:
    domains, conditions = table.get("domain") or table.get("domains"), table.get("conditions")
    names, types, switches = (
        [str(text) for text in table.texts(key)] for key in ("names", "types", "switches")
    )
    if not names or not domains or len({len(names), len(types), len(switches)}) != 1:
        raise InputError(
            "expected the parameters in the log of irace, and they are not there: write a "
            "`scenario` by hand."
        )
    lines = []
    for name, kind, switch in zip(names, types, switches, strict=True):
        domain, condition = domains.get(name), conditions.get(name)
        if domain.kind not in ("character", *NUMBERS) or '"' in switch:
            raise InputError(
                f"expected the values of the parameter {name!r} in the log, got none that can be "
                "read."
            )
        texts = domain.kind == "character"
        values = [json.dumps(v) if texts else f"{v:.15g}" for v in list(domain.values)]
        scale = ",log" if "log" in table.texts("transform", name) else ""
        only = ""
        if condition.kind not in ("logical", "null"):
            only = f" | {_deparsed(condition)}"
        lines.append(f'{name} "{switch}" {kind}{scale} ({", ".join(values)}){only}')
    if digits := table.number("digits") or scenario.number("digits"):
        lines += ["[global]", f"digits = {digits:g}"]
    return "\n".join([*lines, ""])


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
        name, sides = value.values[0].values[0], [_deparsed(side) for side in value.values[1:]]
        if name in BETWEEN and len(sides) == 2:
            return f"{sides[0]} {name} {sides[1]}"
        if name == "!" and len(sides) == 1:
            return f"!{sides[0]}"
        if name == "(" and len(sides) == 1:
            return f"({sides[0]})"
        if name == "c":
            return f"c({', '.join(sides)})"
    raise InputError(
        "expected conditions that can be read in the log of irace, got byte code: write a "
        "`scenario` by hand."
    )


def _words(words: Sequence[str]) -> str:
    """A list of texts as TOML writes it."""
    return json.dumps(list(words), ensure_ascii=False)
