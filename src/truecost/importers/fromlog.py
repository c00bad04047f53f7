"""A scenario file from a log: what irace says of its target, or SMAC3's space with a target to fill
in.
"""

import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from truecost.errors import InputError, prefixed
from truecost.importers.formats import irace, smac
from truecost.importers.rdata import NUMBERS, RValue
from truecost.matrix.files import whole_file
from truecost.matrix.imported import Import
from truecost.running.instances import listed, matching
from truecost.running.scenario import FILL_IN
from truecost.runs import Instance
from truecost.space.space import shell_words

# irace limits no run by itself, and a scenario must: a day, in seconds.
DAY = 86400.0
SHIM = Path(__file__).with_name("runner.R")
PLAIN_LAUNCH = "{targetRunner} {targetRunnerArgs}"
# A failed run costs this many times the largest observed cost where the maximum is unknown.
FAILED = 100.0
# R's operators as they are written between two sides.
BETWEEN = ("==", "!=", "<", "<=", ">", ">=", "&", "&&", "|", "||", "%in%")


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """A scenario that was written.

    Attributes
    ----------
    path
        Its file.
    fill_in
        Whether something is still to be filled in.
    default
        irace's first initial configuration, where it was given some.
    deterministic
        Whether seeds change nothing.
    folders
        Where instances are looked for.
    """

    path: Path
    fill_in: bool
    default: str | None
    deterministic: bool
    folders: tuple[Path, ...] = ()


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
        A pattern of files, or irace's instance file; those the log trained on if not given.
    """
    if log.kind not in ("irace", "smac"):
        raise InputError(
            f"{path}: expected a log of irace or SMAC3, got {log.kind}: no other says what a "
            "scenario needs."
        )
    with prefixed(path):
        files, facts = (_irace if log.kind == "irace" else _smac)(path, log, folder, instances)
    folder.mkdir(parents=True, exist_ok=True)
    # What somebody has filled in since is never overwritten.
    for name, text in files.items():
        if not (folder / name).exists():
            with whole_file(folder / name) as file:
                file.write(text.encode())
    return Written(path=folder / "scenario.toml", **facts)


def instance_list(pattern: str, log: Import, folders: Sequence[Path]) -> list[Instance] | None:
    """The instances in a file that lists them, as irace reads it; None where the pattern means
    files that are instances.

    A file lists instances if a line of it names a file, or if the instances of a log of irace are
    texts.
    """
    path = Path(pattern)
    if not path.is_file():
        return None
    places = (*folders, path.parent, Path.cwd())
    try:
        instances = listed(path, places)
    except InputError:
        return None
    # irace takes any line for an instance, also one that names no file.
    texts = log.kind == "irace" and not any(
        (folder / name).is_file() for name in log.matrix.instances for folder in places
    )
    return instances if texts or any(instance.is_file for instance in instances) else None


def _irace(
    path: Path, log: Import, folder: Path, pattern: str | None
) -> tuple[dict[str, str], dict[str, Any]]:
    content = irace.read_log(path)
    scenario = content.get("scenario")
    if log.obstacle is not None:
        raise InputError(f"{log.obstacle}: write a `scenario` by hand.")
    start_folder = scenario.text("execDir") or "."
    places = [place for place in (Path(start_folder), path.parent / start_folder) if place.is_dir()]
    start = next(iter(places), path.parent).resolve()
    files = {"parameters.txt": _parameters(content, scenario, path)}
    function = scenario.get("targetRunner").kind == "other"
    if function:
        files[SHIM.name] = SHIM.read_text()
        command = _by_r(path, folder)
    else:
        command = _program(scenario, start, path)
    # What `env` would take for one of its options or variables must not come out of a log.
    if command[0].startswith("-") or "=" in command[0]:
        raise InputError(
            f"expected a program that runs the target, got {command[0]!r:.80}: write a `scenario` "
            "by hand."
        )
    # irace starts its target in its own folder.
    command = ["env", "-C", str(start), *command]
    # Braces of a scenario are places to fill in; those of a path are not.
    command = [word.replace("{", "{{").replace("}", "}}") for word in command]
    bound = scenario.number("boundMax") if scenario.number("capping") == 1 else None
    limit = scenario.number("targetRunnerTimeout") or DAY
    folder_names = [scenario.text(f"{kind}InstancesDir") for kind in ("test", "train")]
    folders = [
        *(start / name for name in folder_names if name),
        start,
        path.parent.resolve(),
        Path.cwd(),
    ]
    capped = [] if bound is None else [f"cutoff = {bound:.12g}"]
    tables = {
        "target": [
            'kind = "irace"',
            f"command = {_words(command)}",
            *(["bound = true"] if capped else []),
            *(["whole = true"] if function else []),
        ],
        "space": ['file = "parameters.txt"'],
        "instances": [_names(log, pattern, folders)],
        "limits": [f"wall = {max(limit, 2 * (bound or 0)):g}", *capped],
        "metric": _metric(log, bound),
    }
    text = _scenario(f"{path.name}: what irace was run with.", path.stem, tables)
    facts = {
        "fill_in": False,
        "default": log.trajectory.default,
        "deterministic": scenario.number("deterministic") == 1,
        "folders": tuple(folders),
    }
    return {"scenario.toml": text, **files}, facts


def _program(scenario: RValue, start: Path, path: Path) -> list[str]:
    """The command of a target runner that is a program, with the launcher it may have."""
    runner = scenario.text("targetRunner")
    programs = [file for file in (start / runner, path.parent / runner) if file.is_file()]
    if not runner or not programs:
        raise InputError(
            f"expected the target runner {runner!r:.120}, and it is not there: write a `scenario` "
            "by hand."
        )
    program = str(programs[0].resolve())
    launcher = scenario.text("targetRunnerLauncher")
    if not launcher:
        return [program]
    launch = (scenario.text("targetRunnerLauncherArgs") or PLAIN_LAUNCH).strip()
    if not launch.endswith(PLAIN_LAUNCH):
        raise InputError(
            f"expected a launcher for {PLAIN_LAUNCH!r}, got {launch!r:.80}: write a `scenario` "
            "by hand."
        )
    return [launcher, *shell_words(launch.removesuffix(PLAIN_LAUNCH)), program]


def _by_r(path: Path, folder: Path) -> list[str]:
    """The command of a target runner that is an R function: a script takes it from the log."""
    if shutil.which("Rscript") is None:
        raise InputError(
            "expected R on this machine, since the target runner is an R function: install it, "
            "or write a `scenario` by hand."
        )
    script = str((folder / SHIM.name).absolute())
    return ["Rscript", "--vanilla", script, str(path.resolve())]


def _smac(
    path: Path, log: Import, _: Path, pattern: str | None
) -> tuple[dict[str, str], dict[str, Any]]:
    folder = smac.folder_of(path) or path
    try:
        space = (folder / "configspace.json").read_text()
    except OSError as error:
        raise InputError(
            f"expected configspace.json beside {smac.HISTORY}: {error.strerror}."
        ) from error
    scenario = folder / "scenario.json"
    try:
        content = json.loads(scenario.read_text()) if scenario.is_file() else {}
    except ValueError as error:
        raise InputError(f"expected JSON in scenario.json: {error}.") from error
    options = content if isinstance(content, dict) else {}
    wall = options.get("trial_walltime_limit")
    cutoff = log.matrix.cutoff
    answer = [
        "# Where the program prints its cost: a regular expression with one group.",
        "value = 'cost: (\\S+)'",
    ]
    limit = f"wall = {wall if isinstance(wall, int | float) and wall > 0 else DAY:g}"
    metric = _metric(log, None)
    if cutoff is not None:
        answer = [
            "# Exit codes and output of a run that is solved, here as in SAT competitions.",
            "exit = [10, 20]",
            "solved = '^s (SATISFIABLE|UNSATISFIABLE)$'",
        ]
        limit = f"cpu = {cutoff:.12g}"
        metric = ['kind = "par"', f"factor = {log.matrix.high / cutoff:.12g}"]
    tables = {
        "target": [
            '# Or a Python function: kind = "python" and function = "target.py:run" instead.',
            'kind = "command"',
            f"command = {_words([FILL_IN, '{instance}', '{seed}', '{arguments}'])}",
        ],
        "answer": answer,
        "space": ['file = "configspace.json"'],
        "instances": [_names(log, pattern, [folder.resolve(), Path.cwd()])],
        "limits": [limit],
        "metric": metric,
    }
    # The last folder alone is SMAC3's seed.
    name = "/".join(folder.resolve().parts[-2:])
    source = f"{name}: SMAC3 does not say how its target is run. Fill that in."
    text = _scenario(source, str(options.get("name") or folder.name), tables)
    facts = {
        "fill_in": True,
        "default": None,
        "deterministic": bool(options.get("deterministic")),
    }
    return {"scenario.toml": text, "configspace.json": space}, facts


def _scenario(source: str, name: str, tables: Mapping[str, Sequence[str]]) -> str:
    """The text of a scenario file."""
    lines = [f"# Written from {source}", f"name = {json.dumps(name)}"]
    for table, entries in tables.items():
        lines += ["", f"[{table}]", *entries]
    return "\n".join([*lines, ""])


def _names(log: Import, pattern: str | None, folders: Sequence[Path]) -> str:
    """The table [instances]: the pattern, the list that it names, or what the log trained on."""
    if pattern is not None:
        instances = instance_list(pattern, log, folders)
        if instances is None:
            matching(pattern, Path.cwd())  # refused before anything is written
            return f"glob = {json.dumps(str(Path.cwd() / pattern))}"
        arguments = [instance.argument for instance in instances]
        files = all(instance.is_file for instance in instances)
        return f"{'files' if files else 'names'} = {_words(arguments)}"
    paths = [
        next((str(folder / name) for folder in folders if (folder / name).is_file()), "")
        for name in log.matrix.instances
    ]
    if all(paths):
        return f"files = {_words(paths)}"
    return f"names = {_words(log.matrix.instances)}"


def _metric(log: Import, bound: float | None) -> list[str]:
    matrix = log.matrix
    if bound is not None:
        # The log's own range has the penalty, irace's or the runner's.
        lines = ['kind = "par"', 'clock = "reported"', f"cutoff = {bound:.12g}"]
        return [*lines, f"factor = {matrix.high / bound:.12g}"]
    ends = {"low": matrix.low, "high": matrix.high}
    lines = [f"{name} = {value!r}" for name, value in ends.items() if np.isfinite(value)]
    if not np.isfinite(matrix.high):
        most = float(np.nanmax(np.abs(matrix.costs))) * FAILED
        lines += [
            "# What a run that fails costs; the log does not say the most a run can cost.",
            f"failed = {most or 1.0:g}",
        ]
    return ['kind = "value"', *lines]


def _parameters(log: RValue, scenario: RValue, path: Path) -> str:
    """irace's table of parameters, from the log; else the file it was read from."""
    try:
        return _table(log.get("parameters") or scenario.get("parameters"), scenario)
    except InputError:
        file_name = scenario.text("parameterFile")
        for place in (
            Path(file_name),
            path.parent / file_name,
            Path(scenario.text("execDir")) / file_name,
        ):
            if file_name and place.is_file():
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
    """An R condition as it was written."""
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
