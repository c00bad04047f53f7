"""A scenario file from a log: what irace says of its target, or SMAC3's space with a target to fill
in.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from truecost.errors import InputError, prefixed
from truecost.importers import irace, smac
from truecost.importers.rdata import NUMBERS, RValue
from truecost.matrix.files import whole_file
from truecost.matrix.log import Log

# irace limits no run by itself, and a scenario must: a day, in seconds.
DAY = 86400.0
PLAIN_LAUNCH = "{targetRunner} {targetRunnerArgs}"
# A failed run costs this many times the largest observed cost where the maximum is unknown.
FAILED = 100.0
BY_HAND = "Write the scenario by hand."


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """A scenario that was written: its file, and whether something is still to be filled in."""

    path: Path
    fill_in: bool


def scenario_from_log(
    source: str | Path, log: Log, folder: str | Path, *, instances: str | None = None
) -> Written:
    """Write the scenario that a log of irace or SMAC3 was made with, as far as the log says it.

    Parameters
    ----------
    source
        The log's file or folder.
    log
        What was read from it: its range of costs becomes the metric's.
    folder
        Where to write; files that are there already stay.
    instances
        A pattern of files, or irace's instance file; those the log trained on if not given.
    """
    source, folder = Path(source), Path(folder)
    with prefixed(source):
        if log.tool.startswith("irace"):
            files, fill_in = _irace(source, log, instances), False
        elif log.tool.startswith("SMAC3"):
            files, fill_in = _smac(source, log, instances), True
        else:
            raise InputError(
                f"Only logs of irace and SMAC3 say what a scenario needs; this one is of "
                f"{log.tool}. {BY_HAND}"
            )
    folder.mkdir(parents=True, exist_ok=True)
    # What somebody has filled in since is never overwritten.
    for name, text in files.items():
        if not (folder / name).exists():
            with whole_file(folder / name) as file:
                file.write(text.encode())
    return Written(path=folder / "scenario.toml", fill_in=fill_in)


def _irace(path: Path, log: Log, pattern: str | None) -> dict[str, str]:
    scenario = irace.read_variables(path).get("scenario")
    _check_target(scenario)
    # Relative paths start at the log, as it was moved; an absolute one stays as it is.
    start = path.parent / (scenario.text("execDir") or ".")
    start = (start if start.is_dir() else path.parent).resolve()
    file_name = scenario.text("parameterFile") or "parameters.txt"
    parameters = _found(file_name, "parameter file", start, path).read_text("utf-8-sig")
    # irace starts its target in its own folder.
    command = ["env", "-C", str(start), *_program(scenario, start, path)]
    # Braces of a scenario are places to fill in; those of a path are not.
    command = [word.replace("{", "{{").replace("}", "}}") for word in command]
    bound = scenario.number("boundMax") if scenario.number("capping") == 1 else None
    limit = scenario.number("targetRunnerTimeout") or DAY
    folder_names = [scenario.text(f"{kind}InstancesDir") for kind in ("test", "train")]
    folders = [start / name for name in folder_names if name]
    capped = [] if bound is None else [f"cutoff = {bound:.12g}"]
    tables = {
        "target": [
            'kind = "irace"',
            f"command = {_words(command)}",
            *(["bound = true"] if capped else []),
        ],
        "space": ['file = "parameters.txt"', *_default(parameters, log)],
        "instances": [_names(log, pattern, [*folders, start, path.parent.resolve(), Path.cwd()])],
        "limits": [_wall(max(limit, 2 * (bound or 0))), *capped],
        "metric": _metric(log, bound),
    }
    text = _scenario(f"{path.name}: what irace was run with.", path.stem, tables)
    return {"scenario.toml": text, "parameters.txt": parameters}


def _check_target(scenario: RValue) -> None:
    """Refuse what nobody but irace can run."""
    evaluator = scenario.get("targetEvaluator")
    if evaluator.kind not in ("null", "character") or scenario.text("targetEvaluator"):
        raise InputError(f"Its costs come from a targetEvaluator. {BY_HAND}")
    if scenario.number("aclib") == 1:
        raise InputError(f'Its target runner is one of AClib: kind = "wrapper". {BY_HAND}')
    if scenario.get("instances").kind not in ("null", "character", *NUMBERS):
        raise InputError(f"Its instances are objects of R. {BY_HAND}")
    if scenario.get("targetRunner").kind != "character":
        raise InputError(f"Its target runner is a function of R, not a program. {BY_HAND}")


def _found(name: str, what: str, start: Path, path: Path) -> Path:
    """A file of the search, where the log says or beside the log."""
    for place in (start / name, path.parent / name, path.parent / Path(name).name):
        if place.is_file():
            return place.resolve()
    raise InputError(f"The {what} {name:.120} is not there. Copy it beside the log.")


def _program(scenario: RValue, start: Path, path: Path) -> list[str]:
    """The command of the target runner, with the launcher it may have."""
    command = [str(_found(scenario.text("targetRunner"), "target runner", start, path))]
    if launcher := scenario.text("targetRunnerLauncher"):
        from truecost.space.arguments import shell_words

        launch = (scenario.text("targetRunnerLauncherArgs") or PLAIN_LAUNCH).strip()
        if not launch.endswith(PLAIN_LAUNCH):
            raise InputError(f"Its targetRunnerLauncherArgs are {launch!r:.80}. {BY_HAND}")
        command = [launcher, *shell_words(launch.removesuffix(PLAIN_LAUNCH)), *command]
    # What `env` would take for one of its options or variables must not come out of a log.
    if command[0].startswith("-") or "=" in command[0]:
        raise InputError(f"{command[0]!r:.80} is no program that can be started. {BY_HAND}")
    return command


def _default(parameters: str, log: Log) -> list[str]:
    """The default as the file of the scenario has it; irace's parameter files have none."""
    values = log.parameters.get(log.default or "")
    if not values:
        return []
    from truecost.space.space import Space

    chosen = Space.parse(parameters).configuration(values).values
    pairs = (f"{json.dumps(name)} = {_value(value)}" for name, value in chosen.items())
    return [f"default = {{ {', '.join(pairs)} }}"]


def _value(value: Any) -> str:
    """A value of a parameter as TOML writes it."""
    if isinstance(value, bool | str):
        return json.dumps(value, ensure_ascii=False)
    return repr(value.item() if isinstance(value, np.generic) else value)


def _smac(path: Path, log: Log, pattern: str | None) -> dict[str, str]:
    from truecost.running.checks import FILL_IN

    folder = smac.folder_of(path) or path
    try:
        space = (folder / "configspace.json").read_text()
    except (OSError, UnicodeDecodeError):
        raise InputError(
            f"configspace.json is not beside {smac.HISTORY}. Copy it from the folder that SMAC3 "
            "wrote."
        ) from None
    options = smac.beside(folder / "scenario.json")
    wall = options.get("trial_walltime_limit")
    answer = [
        "# Where the program prints its cost: a regular expression with one group.",
        "value = 'cost: (\\S+)'",
    ]
    limit = _wall(wall if isinstance(wall, int | float) and wall > 0 else DAY)
    metric = _metric(log, None)
    cutoff, par = log.runs.cutoff, log.runs.par
    if cutoff is not None and par is not None:
        answer = [
            "# Exit codes and output of a run that is solved, here as in SAT competitions.",
            "exit = [10, 20]",
            "solved = '^s (SATISFIABLE|UNSATISFIABLE)$'",
        ]
        limit = f"cpu = {cutoff:.12g}"
        metric = ['kind = "par"', f"factor = {par:.12g}"]
    tables = {
        "target": [
            '# Or a Python function: kind = "python" and function = "../target.py:run" instead,',
            "# with its path from this folder, and no [answer].",
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
    return {"scenario.toml": text, "configspace.json": space}


def _scenario(source: str, name: str, tables: Mapping[str, Sequence[str]]) -> str:
    """The text of a scenario file."""
    lines = [f"# Written from {source}", f"name = {json.dumps(name)}"]
    for table, entries in tables.items():
        lines += ["", f"[{table}]", *entries]
    return "\n".join([*lines, ""])


def _names(log: Log, pattern: str | None, folders: Sequence[Path]) -> str:
    """The table [instances]: the pattern, the list that it names, or what the log trained on."""
    if pattern is not None:
        from truecost.running.instances import listed, matching

        # A file lists instances if a line of it names a file; irace's may be texts.
        path = Path(pattern)
        if path.is_file():
            instances = listed(path, [*folders, path.parent])
            files = [instance.is_file for instance in instances]
            if any(files) or log.tool.startswith("irace"):
                key = "files" if all(files) else "names"
                return f"{key} = {_words([instance.argument for instance in instances])}"
        matching(pattern, Path.cwd())  # refused before anything is written
        return f"glob = {json.dumps(str(Path.cwd() / pattern))}"
    paths = [
        next((str(folder / name) for folder in folders if (folder / name).is_file()), "")
        for name in log.runs.instances
    ]
    if all(paths):
        return f"files = {_words(paths)}"
    return f"names = {_words(log.runs.instances)}"


def _metric(log: Log, bound: float | None) -> list[str]:
    matrix = log.runs
    if bound is not None:
        # The log's own range has the penalty, irace's or the runner's.
        lines = ['kind = "par"', 'clock = "reported"', f"cutoff = {bound:.12g}"]
        return [*lines, f"factor = {matrix.high / bound:.12g}"]
    ends = {"low": matrix.low, "high": matrix.high}
    lines = [f"{name} = {value!r}" for name, value in ends.items() if np.isfinite(value)]
    if not np.isfinite(matrix.high):
        most = float(np.nanmax(np.abs(matrix.costs))) * FAILED
        lines += [
            "# Add low and high, the lowest and highest possible cost: the log does not say them.",
            "# Without them validate can only compare runs won (--primary wins).",
            "# What a run that fails costs:",
            f"failed = {most or 1.0:g}",
        ]
    return ['kind = "value"', *lines]


def _wall(seconds: float) -> str:
    """The limit of a run."""
    note = "  # seconds per run; the log has no limit, so give yours" if seconds == DAY else ""
    return f"wall = {seconds:g}{note}"


def _words(words: Sequence[str]) -> str:
    """A list of texts as TOML writes it."""
    return json.dumps(list(words), ensure_ascii=False)
