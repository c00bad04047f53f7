"""What must hold in a scenario file beyond the types of its keys."""

import re
from collections.abc import Collection
from pathlib import Path
from string import Formatter

from truecost.errors import InputError
from truecost.running.files import cause_of
from truecost.running.metric import Metric
from truecost.running.tables import AnswerFormat, Limits, Target

# Stands in a scenario written from a log that does not say what it ran.
FILL_IN = "FILL_IN_YOUR_SOLVER"
# What a command may ask for beside the extra columns of instances.
RUN = {"arguments", "cutoff", "instance", "seed"}
PLACEHOLDERS = RUN | {"output", "program", "python", "scenario", "scratch"}
# Keys of [target] that a kind of target would ignore.
UNUSED = {
    "command": ("function", "bound"),
    "wrapper": ("function", "bound"),
    "irace": ("function",),
    "python": ("command", "style", "builder", "bound"),
}


def complete_limits(limits: Limits) -> Limits:
    """The limits with wall and cutoff."""
    if limits.cpu is None and limits.wall is None:
        raise InputError(
            "[limits] has neither cpu nor wall, so a run may never end. Add one, for example wall "
            "= 10 (seconds per run)."
        )
    # A tree that sleeps uses no CPU time; and a busy machine must not turn a solved run into a
    # timeout.
    wall = limits.wall if limits.wall is not None else 10 * (limits.cpu or 0) + 10
    longest = min(limits.cpu or wall, wall)
    cutoff = limits.cutoff or longest
    if cutoff > longest:
        raise InputError(f"limits.cutoff is {cutoff:g}, above the limit. Give at most {longest:g}.")
    return limits.model_copy(update={"wall": wall, "cutoff": cutoff})


def complete_metric(metric: Metric, limits: Limits) -> Metric:
    """The metric with its cutoff."""
    if metric.timed:
        if metric.clock == "cpu" and limits.cpu is None:
            raise InputError(
                "metric.clock is 'cpu', but there is no limits.cpu. Add it, or set clock = 'wall'."
            )
        longest = metric.longest(limits.model_dump()) or 0.0
        if metric.cutoff is not None and metric.cutoff > longest:
            raise InputError(
                f"metric.cutoff is {metric.cutoff:g}, but runs are stopped after {longest:g} s. "
                f"Give at most {longest:g}."
            )
        for key in ("low", "high", "failed"):
            if getattr(metric, key) is not None:
                raise InputError(f"metric.{key} follows from kind = 'par'. Remove it.")
        usual = limits.wall if metric.clock == "wall" else limits.cutoff
        return metric.model_copy(update={"cutoff": metric.cutoff or usual})
    low, high = metric.range()
    if not low < high:
        raise InputError(f"metric.low ({low:g}) is not below metric.high ({high:g}).")
    if metric.high is None and metric.failed is None:
        raise InputError(
            f"[metric] does not say what a failed run costs. Add low and high, the lowest and "
            f"highest possible {metric.kind}; or failed, if these are unknown."
        )
    if metric.failed is not None and not low <= metric.failed <= high:
        raise InputError(
            f"metric.failed is {metric.failed:g}, outside of [{low:g}, {high:g}], the range of "
            "costs. Change one of them."
        )
    return metric


def check_answer(answer: AnswerFormat, metric: Metric, target: Target) -> None:
    """Refuse patterns that cannot be used, and a metric that nothing can ever fill."""
    for key in ("solved", "unsolved", "time", "value"):
        pattern = getattr(answer, key)
        try:
            groups = re.compile("()" if pattern is None else pattern, re.MULTILINE).groups
        except (re.error, RecursionError, OverflowError) as error:
            raise InputError(
                f"answer.{key} is not a regular expression: {cause_of(error)}."
            ) from error
        if key in ("time", "value") and groups != 1:
            raise InputError(
                f"answer.{key} has {groups} groups (…). Put exactly one around the number."
            )
    needed = metric.reported
    if target.kind == "command" and needed and getattr(answer, needed) is None:
        raise InputError(
            f"answer.{needed} is missing. Add a regular expression for the number that the metric "
            f"needs, for example {needed} = '{needed}: (\\S+)' under [answer]."
        )


def check_target(target: Target, folder: Path, columns: Collection[str]) -> None:
    """Refuse a target that cannot be called, given the extra columns of instances."""
    if any(FILL_IN in word for word in target.command or ()):
        raise InputError(
            f"target.command still has {FILL_IN}. Write the command of your solver in its place."
        )
    wanted = "function" if target.kind == "python" else "command"
    if getattr(target, wanted) is None:
        raise InputError(f"target.kind = {target.kind!r} needs a {wanted}. Add {wanted} = ….")
    for key in UNUSED[target.kind]:
        if getattr(target, key):
            raise InputError(f"target.kind = {target.kind!r} takes no {key}. Remove it.")
    for key, value in target.functions().items():
        if not re.fullmatch(r"[^\0]+\.py:[A-Za-z_]\w*", value):
            raise InputError(f"target.{key} is {value!r:.80}. Write it as 'file.py:name'.")
        path = value.rpartition(":")[0]
        if not (folder / path).is_file():
            raise InputError(f"target.{key}: there is no file {path!r:.80} in {folder}.")
    if target.style is not None and target.builder is not None:
        raise InputError("target has style and builder. Remove one of the two.")
    for name, text in target.environment.items():
        if not name or "=" in name or "\0" in name + text:
            raise InputError(
                f"target.environment: {name!r:.60} cannot be set. Names have no '=', and nothing "
                "has NUL characters."
            )
    if taken := sorted(PLACEHOLDERS.intersection(columns)):
        raise InputError(
            f"instances.file has a column {taken[0]!r}, which is the name of a placeholder. Rename "
            "it."
        )
    everywhere = {"python", "scenario"} | ({"program"} if target.program is not None else set())
    named = {column for column in columns if re.fullmatch(r"[^\d.\[{}!:][^.\[{}!:]*", column)}
    run = RUN | named if target.kind == "command" else set[str]()
    check = {*named, "instance", "seed", "output", "scratch"}
    _check_words("command", target.command, everywhere | run | {"scratch"})
    _check_words("version", target.version, everywhere)
    if not isinstance(target.check, str):
        _check_words("check", target.check, everywhere | check)
    for name in ("{instance}", "{arguments}"):
        if run and not any(name in word for word in target.command or ()):
            raise InputError(f"target.command has no {name!r}. Add it.")


def _check_words(key: str, words: Collection[str] | None, names: set[str]) -> None:
    """Refuse placeholders that cannot be filled in."""
    for word in words or ():
        if "\0" in word:
            raise InputError(f"target.{key} has a NUL character. Remove it.")
        try:
            fields = [tuple(field) for _, *field in Formatter().parse(word)]
        except ValueError as error:
            raise InputError(
                f"target.{key} has a lone brace in {word!r:.80}. Placeholders are written "
                "{seed}, braces {{ and }}."
            ) from error
        for name, *rest in fields:
            if name is not None and (name not in names or any(rest)):
                listed = ", ".join("{" + name + "}" for name in sorted(names))
                raise InputError(
                    f"target.{key} has an unknown placeholder in {word!r:.80}. Use {listed}, as "
                    "they are written here; a brace is written {{."
                )
            if name in ("arguments", "program") and word != f"{{{name}}}":
                raise InputError(
                    f"target.{key}: {{{name}}} is several words. Write it as a word of its own, "
                    f"not as {word!r:.80}."
                )
