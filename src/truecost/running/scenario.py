"""Scenario: a target, its space, instances, limits and metric, from one TOML file."""

import hashlib
import json
import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal

import pydantic
from pydantic import Field

from truecost.errors import InputError, prefixed
from truecost.journal.metric import Metric, TomlTable
from truecost.matrix.families import FAMILY
from truecost.running.instances import InstanceTable, read_instances
from truecost.running.tables import (
    AnswerFormat,
    Limits,
    Target,
    cause_of,
    first_problem,
    placeholders,
)
from truecost.running.targets import kinds
from truecost.runs import Instance
from truecost.space.space import STYLES, Space

# Stands in a scenario that was written from a log which does not say what it ran.
FILL_IN = "FILL_IN_YOUR_SOLVER"
# Keys of [target] that came after 0.1.
LATER_KEYS = {"program", "private", "own_folder", "whole", "keep", "warm"}
# What a command may ask for, beside the instance's own columns.
PLACEHOLDERS = (
    "arguments",
    "cutoff",
    "instance",
    "output",
    "program",
    "python",
    "scenario",
    "scratch",
    "seed",
)


class _SpaceTable(TomlTable):
    file: str
    default: Mapping[str, str | int | float | bool] | Literal["middle"] | None = None
    priors: Mapping[str, str | int | float | bool] = Field(default_factory=dict)


class _File(TomlTable):
    """The scenario file as it is written."""

    name: str
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 1
    seeds: Literal["common", "separate"] = "common"
    target: Target
    answer: AnswerFormat | None = None
    space: _SpaceTable
    instances: InstanceTable
    limits: Limits
    metric: Metric


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """Everything that says what a run is; `read` makes one from a TOML file.

    Parameters
    ----------
    path
        The file; relative paths start at its folder, and so do the target's processes.
    name, seed
        What it is called; where configurations, the order of instances and the seeds of runs come
        from.
    instances
        In the order in which they are used: shuffled by the seed, so that the first P are a sample
        of all of them, and adding one moves none of the others. Generated ones come in the order of
        their numbers. Where they have families, whole families are shuffled, and the instances
        within each.
    generator, endless
        The command that makes the instances, where there is one; and whether it makes as many as
        are asked for.
    families
        Whether instances have families, so that these are run one after the other.
    separate_seeds
        Whether `gather` draws seeds for each configuration, instead of the same for all.

    Examples
    --------
    >>> tc.Scenario.read("scenario.toml").name
    'toy'
    """

    path: Path
    name: str
    seed: int
    target: Target
    answer: AnswerFormat
    space: Space
    space_text: str
    instances: tuple[Instance, ...]
    limits: Limits
    metric: Metric
    generator: tuple[str, ...] | None = None
    endless: bool = False
    families: bool = False
    separate_seeds: bool = False

    @property
    def folder(self) -> Path:
        """Where the file is."""
        return self.path.parent

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> "Scenario":
        """Read and check a scenario file."""
        path = Path(path)
        try:
            written = tomllib.loads(path.read_bytes().decode("utf-8-sig"))
        except UnicodeDecodeError as error:
            raise InputError(
                f"{path}: expected UTF-8 text, got {error.object[error.start :][:1]!r}."
            ) from error
        except (tomllib.TOMLDecodeError, RecursionError) as error:
            raise InputError(f"{path}: expected TOML: {cause_of(error)}.") from error
        try:
            file = _File.model_validate(written)
        except pydantic.ValidationError as error:
            raise InputError(f"{path}: {first_problem(error, _File)}") from error
        with prefixed(path):
            return _from_file(file, path.resolve())

    def fingerprint(self) -> dict[str, Any]:
        """What must stay the same for runs to belong together; the metric is not in it, nor the
        list of instances.
        """
        return {
            "seed": self.seed,
            # Keys that came after 0.1 count where they are set: older journals stay the same.
            "target": _settled(self.target, {"version"}, LATER_KEYS),
            "programs": self._programs(),
            "answer": _settled(self.answer, set(), {"unsolved"}),
            "space": self.space_text,
            **({} if self.default is None else {"default": self.default}),
            **({"priors": dict(self.space.priors)} if self.space.priors else {}),
            "limits": _settled(self.limits, set(), {"cores", "keep"}),
            **({} if self.generator is None else {"generator": list(self.generator)}),
            **({"seeds": "separate"} if self.separate_seeds else {}),
        }

    def _programs(self) -> dict[str, str]:
        """Hashes of the programs that the scenario names by a path."""
        # A solver that was built anew is another solver.
        words = [*(self.target.command or ()), *(self.generator or ())]
        words += [] if "check" in self.target.given() else self.target.check or ()
        words += [reference.rpartition(":")[0] for reference in self.target.given().values()]
        hashes = {}
        for word in words:
            word = word.replace("{scenario}", str(self.folder))
            path = self.folder / word
            # What stands on PATH is the system's: its version is recorded, its updates are not ours
            # to refuse.
            local = os.sep in word or path.parent == self.folder
            # Longer than a path can be, it is an argument, a program of its own perhaps.
            is_path = len(word) < 4096 and not {"{", "\0"} & set(word)
            if local and is_path and path.is_file():
                inside = path.is_relative_to(self.folder)
                name = os.path.relpath(path, self.folder) if inside else str(path)
                with path.open("rb") as file:
                    hashes[name] = hashlib.file_digest(file, "sha256").hexdigest()[:16]
        return hashes

    @property
    def default(self) -> dict[str, Any] | None:
        """The default that the scenario itself gives; None where its space does."""
        chosen = self.space.chosen
        return None if chosen is None or isinstance(chosen, str) else dict(chosen)

    def refuse_without_default(self) -> None:
        """Refuse to compare with a default that nobody named."""
        if not self.space.has_default:
            raise InputError(
                f"{self.path}: expected a default to compare with, which irace's parameter files "
                "do not have: write default = {name = value, …} in [space], or default = "
                '"middle" for the middle of every range.'
            )

    @property
    def private(self) -> bool:
        """Whether runs have a temporary folder of their own; not where the scenario is in /tmp
        itself, which would be hidden.
        """
        return self.target.private and self.folder != Path("/tmp").resolve()  # noqa: S108

    def run_seed(self, instance: str, number: int) -> int:
        """The seed of an instance's run, 1 … 2³¹ − 1: the same for every configuration, on every
        machine.
        """
        return 1 + self._hash(f"run {number}", instance) % (2**31 - 1)

    def _hash(self, purpose: str, name: str) -> int:
        text = json.dumps([self.seed, purpose, name])
        return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")

    def place(self, instance: Instance) -> int:
        """A number of the instance that the seed draws."""
        return self._hash("order", instance.name)

    def order(self, instance: Instance) -> tuple[int, int, str]:
        """What instances are sorted by: their families first, so that an unfinished journal has
        whole ones.
        """
        family = instance.extras.get(FAMILY) if self.families else None
        first = 0 if family is None else self._hash("family", family)
        return first, self.place(instance), instance.name


def _settled(table: TomlTable, never: set[str], later: set[str]) -> dict[str, Any]:
    """A table without some of its keys, and without later ones that have their default."""
    fields = type(table).model_fields
    unset = {key for key in later if getattr(table, key) == fields[key].default}
    return table.model_dump(mode="json", exclude=never | unset)


def _from_file(file: _File, path: Path) -> Scenario:
    """Put the parts together and check what concerns more than one."""
    folder = path.parent
    limits = _complete_limits(file.limits)
    metric = _complete_metric(file.metric, limits)
    if file.target.kind not in kinds():
        *others, last = map(repr, kinds())
        raise InputError(
            f"target.kind: expected {', '.join(others)} or {last}, got {file.target.kind!r:.60}."
        )
    if file.answer is not None and not kinds()[file.target.kind].formatted:
        raise InputError(
            f"answer: expected only with target.kind = 'command', which {file.target.kind!r} is "
            "not."
        )
    answer = file.answer or AnswerFormat()
    for key in ("solved", "unsolved", "time", "value"):
        numeric = key in ("time", "value")
        _check_expression(f"answer.{key}", getattr(answer, key), groups=numeric)
    if not file.name.strip() or not file.name.isprintable():
        raise InputError(f"name: expected a name in printable letters, got {file.name!r:.60}.")
    try:
        space_path = folder / file.space.file
        space = Space.read(space_path)
        space = replace(space, chosen=file.space.default)
        space_text = space_path.read_text("utf-8-sig")
    except (OSError, ValueError) as error:
        # What is wrong inside of the file begins with its name.
        problem = str(error)
        if isinstance(error, OSError):
            problem = f"{file.space.file}: {error.strerror or error}."
        raise InputError(f"space.file: {problem}") from error
    with prefixed("space.priors"):
        space = space.with_priors(file.space.priors)
    with prefixed("space.default"):
        if not space.allows(space.default()):
            raise InputError("expected a configuration that is not forbidden.")
    instances = read_instances(file.instances, folder, file.seed)
    scenario = Scenario(
        path=path,
        name=file.name,
        seed=file.seed,
        target=file.target,
        answer=answer,
        space=space,
        space_text=space_text,
        instances=tuple(instances),
        limits=limits,
        metric=metric,
        generator=file.instances.generator,
        endless=file.instances.generator is not None and file.instances.count is None,
        families=file.instances.families is not None,
        separate_seeds=file.seeds == "separate",
    )
    _check_target(scenario)
    _check_reports(scenario)
    if scenario.generator is not None:
        return scenario
    return replace(scenario, instances=tuple(sorted(instances, key=scenario.order)))


def _complete_limits(limits: Limits) -> Limits:
    if limits.cpu is None and limits.wall is None:
        raise InputError(
            "limits: expected cpu or wall, in seconds: a run without a limit may never end."
        )
    # A tree that sleeps uses no CPU time; and a busy machine must not turn a solved run into a
    # timeout.
    wall = limits.wall if limits.wall is not None else 10 * (limits.cpu or 0) + 10
    cutoff = limits.cutoff or min(limits.cpu or wall, wall)
    if cutoff > min(wall, limits.cpu or wall):
        raise InputError(f"limits.cutoff: expected at most the limit, got {cutoff:g}.")
    return limits.model_copy(update={"wall": wall, "cutoff": cutoff})


def _complete_metric(metric: Metric, limits: Limits) -> Metric:
    if (metric.utility is None) == (metric.kind == "utility"):
        raise InputError(
            "metric.utility: expected one, half-life=60 for instance, with kind = 'utility', and "
            "none else."
        )
    if metric.timed:
        if metric.kind == "utility":
            metric.worth()
        if metric.clock == "cpu" and limits.cpu is None:
            raise InputError("metric.clock: expected limits.cpu for CPU time; or clock = 'wall'.")
        longest = {"cpu": limits.cpu, "wall": limits.wall, "reported": limits.cutoff}[metric.clock]
        usual = limits.wall if metric.clock == "wall" else limits.cutoff
        assert longest is not None  # noqa: S101 - _complete_limits filled it in
        if metric.cutoff is not None and metric.cutoff > longest:
            raise InputError(
                f"metric.cutoff: expected at most {longest:g}, where runs were stopped, got "
                f"{metric.cutoff:g}."
            )
        if surplus := [
            key for key in ("low", "high", "failed") if getattr(metric, key) is not None
        ]:
            raise InputError(
                f"metric.{surplus[0]}: expected none with kind = '{metric.kind}': it follows."
            )
        return metric.model_copy(update={"cutoff": metric.cutoff or usual})
    low, high = metric.range()
    if not low < high or (metric.high is None and metric.failed is None):
        raise InputError(
            f"metric: expected low < high, the least and the largest {metric.kind} there can be: "
            "every bound depends on them. If they are unknown, give the cost of a failed run: "
            "failed."
        )
    if metric.failed is not None and not low <= metric.failed <= high:
        raise InputError(
            f"metric.failed: expected a cost in [{low:g}, {high:g}], got {metric.failed:g}."
        )
    return metric


def _check_expression(key: str, pattern: str | None, *, groups: bool) -> None:
    if pattern is None:
        return
    try:
        compiled = re.compile(pattern, re.MULTILINE)
    except (re.error, RecursionError, OverflowError) as error:
        raise InputError(f"{key}: expected a regular expression: {cause_of(error)}.") from error
    if groups and compiled.groups != 1:
        raise InputError(
            f"{key}: expected a regular expression with one group (…), the number, got "
            f"{compiled.groups}."
        )


def _check_target(scenario: Scenario) -> None:
    target, kind = scenario.target, kinds()[scenario.target.kind]
    if any(FILL_IN in word for word in target.command or ()):
        raise InputError(
            f"target.command: expected your solver in the place of {FILL_IN}, got it as it was "
            "written."
        )
    wanted, other = ("function", "command") if kind.needs == "function" else ("command", "function")
    if getattr(target, wanted) is None or getattr(target, other) is not None:
        raise InputError(f"target: expected {wanted}, and no {other}, with kind = {target.kind!r}.")
    for key, value in target.given().items():
        if not re.fullmatch(r"[^\0]+\.py:[A-Za-z_]\w*", value):
            raise InputError(f"target.{key}: expected 'file.py:name', got {value!r:.80}.")
        path = value.rpartition(":")[0]
        if not (scenario.folder / path).is_file():
            raise InputError(f"target.{key}: expected a file, got {path!r:.80}, which is none.")
    if target.style is not None and target.builder is not None:
        raise InputError("target: expected style or builder, got both.")
    if target.style is not None and target.style not in STYLES and "{value}" not in target.style:
        known = ", ".join(map(repr, STYLES))
        template = re.sub(r"\b(name|value)\b", r"{\1}", target.style)
        hint = f' Write "{template}".' if "{value}" in template else ""
        raise InputError(
            f"target.style: expected {known} or a template with {{name}} and {{value}}, got "
            f"{target.style!r:.60}.{hint}"
        )
    for name, text in target.environment.items():
        if not name or "=" in name or "\0" in name + text:
            raise InputError(
                "target.environment: expected names without '=', and no NUL characters."
            )
    if target.warm and kind.needs != "function":
        raise InputError("target.warm: expected only with kind = 'python', which can be loaded.")
    for name in target.keep or ():
        if Path(name).is_absolute() or ".." in Path(name).parts or not name or "\0" in name:
            raise InputError(
                "target.keep: expected names of files in the run's own folder, proof.drat for "
                f"instance, got {name!r:.80}."
            )
    _check_words(scenario)


def _check_words(scenario: Scenario) -> None:
    """Whether every placeholder in the commands of [target] is one that can be filled in there."""
    target, kind = scenario.target, kinds()[scenario.target.kind]
    columns = {column for instance in scenario.instances for column in instance.extras}
    if taken := sorted(columns & set(PLACEHOLDERS)):
        raise InputError(
            f"instances: expected columns other than {', '.join(PLACEHOLDERS)}, got {taken[0]!r}."
        )
    everywhere = {"python", "scenario"} | ({"program"} if target.program is not None else set())
    allowed = {
        "command": everywhere | {"scratch"} | kind.placeholders,
        "check": everywhere | columns | {"instance", "seed", "output", "scratch"},
        "version": everywhere,
    }
    if "instance" in kind.placeholders:
        allowed["command"] |= columns
    for key, names in allowed.items():
        for word in () if key in target.given() else getattr(target, key) or ():
            _check_word(f"target.{key}", word, names)
    if kind.placeholders and not {"{arguments}", "{instance}"} <= set(
        re.findall(r"\{\w+\}", " ".join(target.command or ()))
    ):
        raise InputError("target.command: expected the words '{instance}' and '{arguments}' in it.")


def _check_word(key: str, word: str, names: set[str]) -> None:
    if "\0" in word:
        raise InputError(f"{key}: expected no NUL character, got one.")
    if lone := re.search(r"[{}].{0,20}", re.sub(r"\{\{|\}\}|\{\w+\}", "", word)):
        raise InputError(
            f"{key}: expected braces around a placeholder, {{seed}} for instance, got {word!r:.80} "
            f"with {lone[0][0]!r} alone; a brace is written {{{{ or }}}}."
        )
    if unknown := [name for name in placeholders(word) if name not in names]:
        raise InputError(
            f"{key}: expected placeholders out of "
            f"{', '.join('{' + name + '}' for name in sorted(names))}, got {{{unknown[0]}}}; "
            "a brace is written {{."
        )
    for several in ("{arguments}", "{program}"):
        if several in word and word != several:
            raise InputError(f"{key}: expected {several!r} as a word of its own, got {word!r:.80}.")


def _check_reports(scenario: Scenario) -> None:
    # A metric that nothing can ever fill is a mistake that must not cost a weekend.
    metric, answer = scenario.metric, scenario.answer
    if not kinds()[scenario.target.kind].formatted:
        return
    if not metric.timed and answer.value is None:
        raise InputError(
            f"answer.value: expected a regular expression for the {metric.kind} that the metric "
            "needs."
        )
    if metric.timed and metric.clock == "reported" and answer.time is None:
        raise InputError(
            "answer.time: expected a regular expression for the time that metric.clock = "
            "'reported' needs."
        )
