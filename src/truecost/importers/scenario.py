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
from truecost.importers.packed import text_of
from truecost.importers.rdata import number, text
from truecost.matrix.files import whole_file
from truecost.matrix.log import Log

# irace limits no run by itself, and a scenario must: a day, in seconds.
DAY = 86400.0
PLAIN_LAUNCH = "{targetRunner} {targetRunnerArgs}"
# A failed run costs this many times the largest observed cost where the maximum is unknown.
FAILED = 100.0
BY_HAND = "Write the scenario by hand."

# The entries of a table of the scenario; a name that begins with # is a comment.
Entries = dict[str, Any]


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
    fill_in = log.tool.startswith("SMAC3")
    with prefixed(source):
        if not fill_in and not log.tool.startswith("irace"):
            raise InputError(
                f"Only logs of irace and SMAC3 say what a scenario needs; this one is of "
                f"{log.tool}. {BY_HAND}"
            )
        files = (_smac if fill_in else _irace)(source, log, instances)
    folder.mkdir(parents=True, exist_ok=True)
    # What somebody has filled in since is never overwritten.
    for name, content in files.items():
        if not (folder / name).exists():
            with whole_file(folder / name) as file:
                file.write(content.encode())
    return Written(path=folder / "scenario.toml", fill_in=fill_in)


def _irace(path: Path, log: Log, pattern: str | None) -> dict[str, str]:
    scenario: Any = irace.read_variables(path).get("scenario")
    if reason := irace.by_hand(scenario):
        raise InputError(f"{reason} {BY_HAND}")
    # Relative paths start at the log, as it was moved; an absolute one stays as it is.
    start = path.parent / (text(scenario, "execDir") or ".")
    start = (start if start.is_dir() else path.parent).resolve()
    file_name = text(scenario, "parameterFile") or "parameters.txt"
    parameters = text_of(_existing(file_name, "parameter file", start, path))
    if forbidden := text(scenario, "forbiddenFile"):
        lines = text_of(_existing(forbidden, "file of forbidden combinations", start, path))
        parameters = f"{parameters.rstrip()}\n\n[forbidden]\n{lines}"
    # irace starts its target in its own folder.
    command = ["env", "-C", str(start), *_program(scenario, start, path)]
    # Braces of a scenario are places to fill in; those of a path are not.
    command = [word.replace("{", "{{").replace("}", "}}") for word in command]
    space: Entries = {"file": "parameters.txt"}
    if values := log.parameters.get(log.default or ""):
        from truecost.space.space import Space

        # irace's parameter files have no default.
        space["default"] = Space.parse(parameters).configuration(values).values
    folders = [text(scenario, f"{kind}InstancesDir") for kind in ("test", "train")]
    places = [*(start / name for name in folders if name), start, path.parent.resolve(), Path.cwd()]
    wall = number(scenario, "targetRunnerTimeout") or DAY
    target: Entries = {"kind": "irace", "command": command}
    metric = _metric(log)
    limits = _wall(wall)
    if (bound := irace.bound_of(scenario)) is not None:
        target["bound"] = True
        limits = {**_wall(max(wall, 2 * bound)), "cutoff": bound}
        # The log's own range has the penalty, irace's or the runner's.
        factor = log.runs.high / bound
        metric = {"kind": "par", "clock": "reported", "cutoff": bound, "factor": factor}
    tables = {
        "target": target,
        "space": space,
        "instances": _instances(log, pattern, places),
        "limits": limits,
        "metric": metric,
    }
    source = f"{path.name}: what irace was run with."
    return {"scenario.toml": _scenario(source, path.stem, tables), "parameters.txt": parameters}


def _existing(name: str, what: str, start: Path, path: Path) -> Path:
    """A file of the search, where the log says or beside the log."""
    for place in (start / name, path.parent / name, path.parent / Path(name).name):
        if place.is_file():
            return place.resolve()
    raise InputError(f"The {what} {name:.120} is not there. Copy it beside the log.")


def _program(scenario: Any, start: Path, path: Path) -> list[str]:
    """The command of the target runner, with the launcher it may have."""
    command = [str(_existing(text(scenario, "targetRunner"), "target runner", start, path))]
    if launcher := text(scenario, "targetRunnerLauncher"):
        from truecost.space.arguments import shell_words

        launch = (text(scenario, "targetRunnerLauncherArgs") or PLAIN_LAUNCH).strip()
        if not launch.endswith(PLAIN_LAUNCH):
            raise InputError(f"Its targetRunnerLauncherArgs are {launch!r:.80}. {BY_HAND}")
        command = [launcher, *shell_words(launch.removesuffix(PLAIN_LAUNCH)), *command]
    # What `env` would take for one of its options or variables must not come out of a log.
    if command[0].startswith("-") or "=" in command[0]:
        raise InputError(f"{command[0]!r:.80} is no program that can be started. {BY_HAND}")
    return command


def _smac(path: Path, log: Log, pattern: str | None) -> dict[str, str]:
    from truecost.running.checks import FILL_IN

    folder = (smac.folder_of(path) or path).resolve()
    if not (folder / "configspace.json").is_file():
        raise InputError(
            f"configspace.json is not beside {smac.HISTORY}. Copy it from the folder that SMAC3 "
            "wrote."
        )
    options = smac.json_object(folder / "scenario.json")
    cutoff, par = log.runs.cutoff, log.runs.par
    answer: Entries = {
        "# Where the program prints its cost: a regular expression with one group.": None,
        "value": r"cost: (\S+)",
    }
    wall = options.get("trial_walltime_limit")
    limits = _wall(wall if isinstance(wall, int | float) and wall > 0 else DAY)
    metric = _metric(log)
    if cutoff is not None and par is not None:
        answer = {
            "# Exit codes and output of a run that is solved, here as in SAT competitions.": None,
            "exit": [10, 20],
            "solved": "^s (SATISFIABLE|UNSATISFIABLE)$",
        }
        limits, metric = {"cpu": cutoff}, {"kind": "par", "factor": par}
    tables = {
        "target": {
            '# Or a Python function: kind = "python" and function = "../target.py:run" instead,\n'
            "# with its path from this folder, and no [answer].": None,
            "kind": "command",
            "command": [FILL_IN, "{instance}", "{seed}", "{arguments}"],
        },
        "answer": answer,
        "space": {"file": "configspace.json"},
        "instances": _instances(log, pattern, [folder, Path.cwd()]),
        "limits": limits,
        "metric": metric,
    }
    # The last folder alone is SMAC3's seed.
    source = "/".join(folder.parts[-2:])
    source += ": SMAC3 does not say how its target is run. Fill that in."
    content = _scenario(source, str(options.get("name") or folder.name), tables)
    return {"scenario.toml": content, "configspace.json": text_of(folder / "configspace.json")}


def _scenario(source: str, name: str, tables: Mapping[str, Entries]) -> str:
    """The text of a scenario file."""
    lines = [f"# Written from {source}", f"name = {_toml(name)}"]
    for table, entries in tables.items():
        lines += ["", f"[{table}]"]
        lines += [
            key if key.startswith("#") else f"{key} = {_toml(value)}"
            for key, value in entries.items()
        ]
    return "\n".join([*lines, ""])


def _toml(value: Any) -> str:
    if isinstance(value, Mapping):
        entries = (f"{json.dumps(key)} = {_toml(entry)}" for key, entry in value.items())
        return f"{{ {', '.join(entries)} }}"
    if isinstance(value, list):
        return f"[{', '.join(map(_toml, value))}]"
    value = value.item() if isinstance(value, np.generic) else value
    return json.dumps(value, ensure_ascii=False) if isinstance(value, bool | str) else repr(value)


def _instances(log: Log, pattern: str | None, folders: Sequence[Path]) -> Entries:
    """The pattern, the list that it names, or what the log trained on."""
    if pattern is not None:
        from truecost.running.instances import listed, matching

        # A file lists instances if a line of it names a file; irace's may be texts.
        path = Path(pattern)
        if path.is_file():
            instances = listed(path, [*folders, path.parent])
            files = [instance.is_file for instance in instances]
            if any(files) or log.tool.startswith("irace"):
                key = "files" if all(files) else "names"
                return {key: [instance.argument for instance in instances]}
        matching(pattern, Path.cwd())  # refused before anything is written
        return {"glob": str(Path.cwd() / pattern)}
    paths = [
        next((str(folder / name) for folder in folders if (folder / name).is_file()), "")
        for name in log.runs.instances
    ]
    return {"files": paths} if all(paths) else {"names": list(log.runs.instances)}


def _metric(log: Log) -> Entries:
    """The range of costs that are no running times."""
    runs = log.runs
    ends = {"low": runs.low, "high": runs.high}
    metric: Entries = {"kind": "value"}
    metric |= {name: value for name, value in ends.items() if np.isfinite(value)}
    if not np.isfinite(runs.high):
        metric |= {
            "# Add low and high, the lowest and highest possible cost: the log does not say them.\n"
            "# Without them validate can only compare runs won (--primary wins).\n"
            "# What a run that fails costs:": None,
            "failed": float(np.nanmax(np.abs(runs.costs))) * FAILED or 1.0,
        }
    return metric


def _wall(seconds: float) -> Entries:
    """The limit of a run."""
    if seconds != DAY:
        return {"wall": seconds}
    return {"# Seconds per run: the log has no limit, so give yours.": None, "wall": seconds}
